// The five questions: each number with its interval on one common scale.
const NAMES = ["observed", "expected", "truth", "remeasured", "perfect"];

function spanOf(answers) {
  return range(answers.flatMap((answer) => [answer.value, answer.low, answer.high]), 0.05);
}

// One line of the scale: interval and mark.
function whisker(place, name, answer, [low, high], height = 26) {
  const { picture, width } = drawing(place, height, { "aria-hidden": "true" });
  const x = scale(low, high, 8, width - 8);
  const middle = height / 2;
  picture.append(svg("line", { x1: 8, x2: width - 8, y1: middle, y2: middle, class: "rail" }));
  if (answer.low !== null && answer.high !== null) {
    picture.append(svg("line", { x1: x(answer.low), x2: x(answer.high), y1: middle, y2: middle, class: `bar ${name}` }));
  }
  if (answer.value !== null) picture.append(shape(name, x(answer.value), middle));
}

function axisLine(place, [low, high]) {
  const { picture, width } = drawing(place, 24, { "aria-hidden": "true" });
  const x = scale(low, high, 8, width - 8);
  picture.append(svg("line", { x1: 8, x2: width - 8, y1: 1, y2: 1, class: "axis" }));
  for (const tick of ticks(low, high, Math.max(3, width / 75))) {
    const at = x(tick.value);
    picture.append(svg("line", { x1: at, x2: at, y1: 1, y2: 5, class: "axis" }));
    const anchor = at < 24 ? "start" : at > width - 24 ? "end" : "middle";
    picture.append(svg("text", { x: at, y: 18, "text-anchor": anchor }, tick.text));
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function sentences(list, lines) {
  list.replaceChildren(...lines.map((line) => html("li", {}, line)));
}

function showAnswers(state) {
  const score = data.scores[state.model][state.metric];
  const metric = data.metrics[state.metric];
  const span = spanOf(score.answers);
  byId("score-title").textContent = `${metric.title} of ${data.models[state.model]}`;
  byId("score-way").textContent = metric.unit ? `${metric.way}, in ${metric.unit}` : metric.way;
  NAMES.forEach((name, k) => {
    const answer = score.answers[k];
    byId(`${name}-number`).textContent = minus(answer.text);
    byId(`${name}-between`).textContent = answer.between && `${data.level}: ${minus(answer.between)}`;
    byId(`${name}-note`).textContent = answer.note && `${capital(answer.note).replace(/\.$/, "")}.`;
    whisker(byId(`${name}-line`), name, answer, span);
  });
  axisLine(byId("scale-line"), span);
  byId("noise").textContent = score.noise
    ? `Noise share ${score.noise}: how much of the observed error is label error.`
    : "";
  sentences(byId("explained"), score.explained);
  const check = data.checks[state.model];
  const warnings = [...score.warnings, ...(check ? check.warnings : [])];
  sentences(byId("warnings"), warnings.map(capital));
  byId("no-warnings").hidden = warnings.length + data.notes.length > 0;
  sentences(byId("check"), check ? check.lines.map(capital) : []);
  byId("check-part").hidden = !check;
}
