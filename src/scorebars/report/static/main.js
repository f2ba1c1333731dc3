// What is shown now, and the switches that change it.
const state = { model: 0, metric: 0, answer: "truth", view: data.matrix ? "expected" : "residual" };

function options(select, names) {
  select.replaceChildren(...names.map((name, k) => html("option", { value: k }, name)));
}

function show() {
  byId("model").value = state.model;
  byId("metric").value = state.metric;
  showAnswers(state);
  showLaw(state);
  if (data.points) showPoints(state);
  if (data.matrix) showMatrix(state);
  if (data.models.length > 1) showForest(state, (model) => change({ model }));
  for (const table of document.querySelectorAll(".scroll")) {
    table.classList.toggle("cut", table.scrollWidth > table.clientWidth + 1);
  }
}

function change(what) {
  Object.assign(state, what);
  for (const tip of document.querySelectorAll(".tip")) tip.hidden = true;
  show();
}

// Fill the switches and draw; once more where a page around this one brings new data.
function start() {
  options(byId("model"), data.models.map((name, k) => (tooGood(k) ? `${name} (too good?)` : name)));
  options(byId("metric"), data.metrics.map((metric) => metric.title));
  byId("model").onchange = (event) => change({ model: Number(event.target.value) });
  byId("metric").onchange = (event) => change({ metric: Number(event.target.value) });
  for (const choice of document.querySelectorAll("input[name=view]")) {
    choice.checked = choice.value === state.view;
    choice.disabled = Boolean(data.matrix) && !data.matrix.models.every((model) => choice.value in model);
    choice.onchange = () => change({ view: choice.value });
  }
  for (const choice of document.querySelectorAll("input[name=answer]")) {
    choice.onchange = () => change({ answer: choice.value });
  }
  document.documentElement.classList.add("ready");
  show();
}

start();

let width = document.body.clientWidth;
new ResizeObserver(() => {
  if (document.body.clientWidth === width || matchMedia("print").matches) return;
  width = document.body.clientWidth;
  show();
}).observe(document.body);
