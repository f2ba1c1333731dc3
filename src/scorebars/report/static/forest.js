// All models on one scale, best first.
function chance(value) {
  if (value === null) return "–";
  return value > 0.999 ? "> 0.999" : value < 0.001 ? "< 0.001" : value.toFixed(3);
}

function showForest(state, choose) {
  const contest = data.contests[state.metric];
  const scores = data.scores.map((row) => row[state.metric].answers);
  const metric = data.metrics[state.metric];
  const best = { "larger is better": (v) => -v, "smaller is better": (v) => v }[metric.way] || ((v) => Math.abs(v - Number(metric.way.slice(8))));
  const order = scores.map((_, i) => i).sort((a, b) => best(scores[a][0].value) - best(scores[b][0].value) || a - b);
  const shown = [0, 1, 2, 4];
  const span = range(scores.flatMap((answers) => shown.flatMap((k) => [answers[k].value, answers[k].low, answers[k].high])), 0.04);
  const places = [];
  const focused = byId("forest").contains(document.activeElement);
  byId("forest").replaceChildren(
    ...order.map((i) => {
      const name = html("button", { type: "button", "aria-pressed": String(i === state.model) }, data.models[i]);
      name.onclick = () => choose(i);
      const line = html("div", { class: "line" });
      places.push([line, scores[i]]);
      const chances = contest && contest.leader === i
        ? [html("td", { colspan: 2, class: "number quiet" }, "leads")]
        : contest
          ? [html("td", { class: "number" }, chance(contest.labels[i])), html("td", { class: "number" }, chance(contest.items[i]))]
          : [];
      return html("tr", i === state.model ? { class: "chosen" } : {},
        html("th", { scope: "row" }, name, ...(tooGood(i) ? [" ", html("span", { class: "badge" }, "too good?")] : [])), html("td", { class: "picture" }, line),
        html("td", { class: "number wide" }, minus(scores[i][1].cell)), html("td", { class: "number" }, minus(scores[i][2].cell)), ...chances);
    }),
  );
  if (focused) byId("forest").querySelector("[aria-pressed=true]").focus();
  for (const [line, answers] of places) forestLine(line, answers, span, shown);
  axisLine(byId("forest-axis"), span);
  for (const cell of document.querySelectorAll(".contest")) cell.hidden = !contest;
  byId("forest-title").textContent = `${metric.title}${metric.unit && ` in ${metric.unit}`}, ${metric.way}`;
  byId("leader").textContent = contest ? data.models[contest.leader] : "";
  byId("contest-note").hidden = !contest;
}

function forestLine(place, answers, [low, high], shown) {
  const { picture, width } = drawing(place, 26, { "aria-hidden": "true" });
  const x = scale(low, high, 8, width - 8);
  picture.append(svg("line", { x1: 8, x2: width - 8, y1: 13, y2: 13, class: "rail" }));
  for (const k of shown) {
    const { value, low: from, high: to } = answers[k];
    if (from !== null && to !== null && NAMES[k] !== "perfect") {
      picture.append(svg("line", { x1: x(from), x2: x(to), y1: 13, y2: 13, class: `bar ${NAMES[k]}` }));
    }
    if (value !== null) picture.append(shape(NAMES[k], x(value), 13, NAMES[k] === "observed" ? 5 : 4));
  }
}
