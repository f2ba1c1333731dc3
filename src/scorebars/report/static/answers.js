// The five questions: each number with its interval on one common scale.
const NAMES = ["observed", "expected", "truth", "remeasured", "perfect"];

function spanOf(answers) {
  return range(answers.flatMap((answer) => [answer.value, answer.low, answer.high]), 0.05);
}

// One line of the scale: the interval from label errors, thin that of label errors and sample, and the mark.
function whisker(place, name, answer, total, [low, high], height = 26) {
  const { picture, width } = drawing(place, height, { "aria-hidden": "true" });
  const x = scale(low, high, 8, width - 8);
  const middle = height / 2;
  picture.append(svg("line", { x1: 8, x2: width - 8, y1: middle, y2: middle, class: "rail" }));
  if (total) {
    picture.append(svg("line", { x1: x(total.low), x2: x(total.high), y1: middle, y2: middle, class: `bar total ${name}` }));
  }
  if (answer.low !== null && answer.high !== null) {
    picture.append(svg("line", { x1: x(answer.low), x2: x(answer.high), y1: middle, y2: middle, class: `bar ${name}` }));
  }
  if (answer.value !== null) picture.append(shape(name, x(answer.value), middle));
}

function axisLine(place, [low, high]) {
  const { picture, width } = drawing(place, 24, { "aria-hidden": "true" });
  const x = scale(low, high, 8, width - 8);
  axisAt(picture, x, 1, 8, width - 8, 17);
}

// A line with ticks, and their numbers so far below it.
function axisAt(picture, x, y, from, to, below) {
  picture.append(svg("line", { x1: from, x2: to, y1: y, y2: y, class: "axis" }));
  for (const tick of ticks(x.low, x.high, Math.max(3, (to - from) / 75))) {
    const at = x(tick.value);
    picture.append(svg("line", { x1: at, x2: at, y1: y, y2: y + 4, class: "axis" }));
    const anchor = at < from + 16 ? "start" : at > to - 16 ? "end" : "middle";
    picture.append(svg("text", { x: at, y: y + below, "text-anchor": anchor }, tick.text));
  }
}

// What is said of a model that does better than the label errors allow; else nothing.
const tooGood = (model) => data.checks[model] && data.checks[model].too_good;

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function sentences(list, lines) {
  list.replaceChildren(...lines.map((line) => html("li", {}, line)));
}

function showAnswers(state) {
  const score = data.scores[state.model][state.metric];
  const metric = data.metrics[state.metric];
  const span = spanOf([...score.answers, ...(score.total ? [score.total] : [])]);
  byId("score-title").textContent = `${metric.title} of ${data.models[state.model]}`;
  byId("score-way").textContent = metric.unit ? `${metric.way}, in ${metric.unit}` : metric.way;
  NAMES.forEach((name, k) => {
    const answer = score.answers[k];
    byId(`${name}-number`).textContent = unbroken(minus(answer.text));
    const total = name === "truth" ? score.total : null;
    const unit = metric.unit && ` ${metric.unit}`;
    const ends = [["labels", answer], ["labels and sample", total]].filter(([, found]) => found && found.between);
    byId(`${name}-between`).replaceChildren(
      ...ends.map(([of, found]) => html("span", {}, `${data.level}: ${minus(found.between)}${unit} (${of})`)),
    );
    byId(`${name}-note`).textContent = answer.note && `${capital(answer.note).replace(/\.$/, "")}.`;
    whisker(byId(`${name}-line`), name, answer, total, span);
  });
  axisLine(byId("scale-line"), span);
  byId("noise").textContent = score.noise
    ? `Noise share ${score.noise}: how much of the observed error is label error.`
    : "";
  sentences(byId("explained"), score.explained);
  const contest = data.contests[state.metric];
  byId("sentence").textContent = score.sentence;
  byId("contest-sentence").textContent = contest ? contest.sentence : "";
  byId("score-badge").hidden = !tooGood(state.model);
  byId("sentence-doubt").textContent = tooGood(state.model) ? capital(tooGood(state.model)) : "";
  const check = data.checks[state.model];
  const warnings = [...score.warnings, ...(check ? check.warnings : [])];
  sentences(byId("warnings"), warnings.map(capital));
  byId("no-warnings").hidden = warnings.length + data.notes.length > 0;
  sentences(byId("check"), check ? check.lines.map(capital) : []);
  byId("check-part").hidden = !check;
}
