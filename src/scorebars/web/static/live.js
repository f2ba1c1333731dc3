// "What if": a change of the form is asked of the server after a pause; the new answer stands beside the one before.
const form = byId("what-if");
const PAUSE = 350;
let asking = null;
let timer = null;
let before = null; // the answers of the last view, by model and metric
const first = { query: queryOf(), form: new FormData(form) };

function queryOf() {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") given.append(name, value);
  return given.toString();
}

function answersOf(shown) {
  const found = {};
  shown.models.forEach((model, i) =>
    shown.metrics.forEach((metric, k) => {
      found[JSON.stringify([model, metric.name])] = shown.scores[i][k].answers.map((answer) => answer.text);
    }),
  );
  return found;
}

// The answer of the last view below the new one, where they differ.
function showBefore() {
  for (const old of document.querySelectorAll(".before")) old.remove();
  if (!before) return;
  const key = JSON.stringify([data.models[state.model], data.metrics[state.metric].name]);
  if (!(key in before)) return;
  NAMES.forEach((name, k) => {
    const [was, now] = [before[key][k], data.scores[state.model][state.metric].answers[k].text];
    if (was === now) return;
    const note = html("small", { class: "before", id: `${name}-before` }, "before: ", html("b", {}, unbroken(minus(was))));
    byId(`${name}-number`).after(note);
  });
}

function say(text, busy = false) {
  byId("what-if-said").textContent = text;
  form.classList.toggle("busy", busy);
  byId("report").classList.toggle("stale", busy);
  byId("what-if-stop").hidden = !busy;
}

const pause = (time, signal) =>
  new Promise((done, failed) => {
    const wait = setTimeout(done, time);
    signal.addEventListener("abort", () => {
      clearTimeout(wait);
      failed(new DOMException("", "AbortError"));
    });
  });

// The page of a view, waited for as long as it is worked on.
async function pageOf(address, signal) {
  for (;;) {
    const answer = await fetch(address, { signal, headers: { "x-live": "1" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const waiting = page.getElementById("waiting");
    if (answer.status !== 202 || !waiting) return page;
    say(`${page.getElementById("stage").textContent} …`, true);
    signal.addEventListener("abort", () => fetch(`/jobs/${waiting.dataset.job}/stop`, { method: "POST" }), { once: true });
    await pause(400, signal);
  }
}

function showPage(page) {
  before = answersOf(data);
  const shown = [data.models[state.model], data.metrics[state.metric].name];
  data = JSON.parse(page.getElementById("data").textContent);
  byId("report").replaceChildren(...page.getElementById("report").childNodes);
  byId("export").replaceWith(page.getElementById("export"));
  state.model = Math.max(0, data.models.indexOf(shown[0]));
  state.metric = Math.max(0, data.metrics.findIndex((metric) => metric.name === shown[1]));
  if (data.matrix ? !["expected", "observed", "truth"].includes(state.view) : !["residual", "parity"].includes(state.view)) {
    state.view = data.matrix ? "expected" : "residual";
  }
  if (!byId("metric-list").contains(document.activeElement)) {
    byId("metric-list").replaceWith(page.getElementById("metric-list")); // a cut has other metrics than numbers
  }
  document.querySelector(".tabs").replaceWith(page.querySelector(".tabs"));
  start();
  withChoice();
}

async function ask() {
  if (asking) asking.abort();
  const mine = (asking = new AbortController());
  const query = queryOf();
  const address = `${form.getAttribute("action")}?${query}`;
  say("Asking the library …", true);
  look();
  try {
    const page = await pageOf(address, mine.signal);
    if (mine !== asking) return;
    const problem = page.getElementById("problem");
    if (problem || !page.getElementById("data")) {
      say(problem ? problem.textContent : "The server does not answer.");
      return;
    }
    showPage(page);
    if (looked().join() !== (seen ? seen.about.join() : "")) lookHere();
    history.replaceState(null, "", address);
    byId("what-if-back").hidden = query === first.query;
    say(query === first.query ? "As at the start." : "The answer before stands below each number.");
  } catch (why) {
    if (mine !== asking) return;
    say(why.name === "AbortError" ? "Stopped." : "The server does not answer. Is it still running?");
  }
}

// The score that is looked at, before the whole page is there, with the one before below it.
let glance = null;
let seen = null; // what stands in the row "now": model and metric, and the text of each answer

const looked = () => [data.models[state.model], data.metrics[state.metric].name];

function showGlance(about, texts, what) {
  const same = seen && seen.about.join() === about.join();
  for (const name of NAMES) {
    byId(`quick-${name}`).textContent = minus(texts[name]);
    byId(`quick-${name}-before`).textContent = same ? minus(seen.texts[name]) : "";
  }
  byId("quick-before").hidden = !same;
  byId("quick-what").textContent = what;
  byId("quick").hidden = false;
  seen = { about, texts };
}

// Another model or metric of the view that is there already.
function lookHere() {
  const { answers } = data.scores[state.model][state.metric];
  seen = null;
  showGlance(looked(), Object.fromEntries(NAMES.map((name, k) => [name, answers[k].text])), "");
  if (byId("anew").value.trim() !== "1") look();
}

async function look() {
  if (glance) glance.abort();
  const mine = (glance = new AbortController());
  const asked = new URLSearchParams(queryOf());
  const about = looked();
  asked.set("shown_model", about[0]);
  asked.set("shown_metric", about[1]);
  try {
    const answer = await fetch(`${form.getAttribute("action").replace(/result$/, "quick.json")}?${asked}`, { signal: mine.signal });
    const found = await answer.json();
    if (mine !== glance) return;
    if (found.problem) {
      byId("quick-what").textContent = found.problem;
      return;
    }
    const texts = Object.fromEntries(NAMES.map((name) => [name, found.answers[name].text]));
    showGlance(about, texts, found.anew > 1 ? `measured again ${found.anew} times` : "");
  } catch {
    // a newer question took its place
  }
}

// Links to what can be taken along speak of the model and metric that are shown.
function withChoice() {
  showBefore();
  for (const link of document.querySelectorAll("[data-export]")) {
    const address = new URL(link.href);
    address.searchParams.set("shown_model", data.models[state.model]);
    address.searchParams.set("shown_metric", data.metrics[state.metric].name);
    link.href = address.href;
  }
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  ask();
});
form.addEventListener("input", (event) => {
  if (event.target.id === "scale-range") byId("scale-errors").value = event.target.value;
  if (event.target.id === "scale-errors" && byId("scale-range")) byId("scale-range").value = event.target.value;
  if (event.target.name || event.target.id === "scale-range") later();
});
byId("what-if-stop").onclick = () => asking && asking.abort();
byId("what-if-back").onclick = () => {
  form.reset();
  ask();
};
document.addEventListener("change", (event) => ["model", "metric"].includes(event.target.id) && (withChoice(), lookHere()));
document.addEventListener("click", (event) => event.target.closest("#forest button") && (withChoice(), lookHere()));
byId("what-if-show").hidden = true;
if (matchMedia("(max-width: 760px)").matches) form.querySelector("details").open = false;
withChoice();
lookHere();
