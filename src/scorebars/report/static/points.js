// Labels as points: residuals or predictions against the labels, with the label's error bar.
const LISTED = 8;

function sharesOf(state) {
  const part = data.metrics[state.metric].part;
  return part === null ? null : data.points.models[state.model].shares[part];
}

// Whether a label is an upper limit (-1), a lower limit (1) or a number (0).
function sideOf(i) {
  return data.points.sides === null ? 0 : data.points.sides[i];
}

// Labels in the order of how much of the score they make (or of the size of their residual).
function byWeight(state) {
  const weight = sharesOf(state) || data.points.models[state.model].residual;
  return weight.map((_, i) => i).sort((a, b) => Math.abs(weight[b]) - Math.abs(weight[a]) || a - b);
}

function pointLines(state, i) {
  const { points } = data;
  const residual = points.models[state.model].residual[i];
  const bars = points.lower === null ? [] : [points.lower[i], points.upper[i]];
  const shares = sharesOf(state);
  const unit = data.unit ? ` ${data.unit}` : "";
  const side = sideOf(i);
  const label = side ? `${side < 0 ? "<" : ">"} ${brief(points.y[i])}` : withError(points.y[i], ...bars);
  const lines = [
    [points.ids[i], "id"],
    [`label ${label}${unit}`],
    [`prediction ${withError(points.y[i] + residual, ...bars).split(" ")[0]}${unit}`],
    [`prediction − label ${side ? (side < 0 ? "at least " : "at most ") : ""}${brief(residual)}${unit}`],
  ];
  if (!side && points.lower !== null && points.lower[i] + points.upper[i] > 0) {
    const pull = Math.abs((2 * residual) / (points.lower[i] + points.upper[i]));
    lines.push([`that is ${Number(pull.toPrecision(2))} times the label's error`]);
  }
  lines.push([
    shares ? `${percent(shares[i])} of the ${data.metrics[state.metric].part}` : "no share: this metric is not a sum over labels",
  ]);
  return lines;
}

function pointPlaces(state, width, height) {
  const { points } = data;
  const { residual } = points.models[state.model];
  const parity = state.view === "parity";
  const upright = parity ? points.y.map((y, i) => y + residual[i]) : residual;
  const across = range(parity ? [...points.y, ...upright] : points.y);
  const along = parity ? across : range([...upright, 0]);
  const x = scale(...across, 62, width - 12);
  const y = scale(...along, height - 46, 12);
  return { x, y, at: points.y.map((value, i) => [x(value), y(upright[i])]) };
}

function axes(picture, { x, y }, width, height, across, upright) {
  for (const tick of ticks(x.low, x.high, Math.max(2, width / 120))) {
    picture.append(svg("line", { x1: x(tick.value), x2: x(tick.value), y1: 12, y2: height - 46, class: "grid" }));
    picture.append(svg("text", { x: x(tick.value), y: height - 28, "text-anchor": "middle" }, tick.text));
  }
  for (const tick of ticks(y.low, y.high, 6)) {
    picture.append(svg("line", { x1: 62, x2: width - 12, y1: y(tick.value), y2: y(tick.value), class: "grid" }));
    picture.append(svg("text", { x: 56, y: y(tick.value) + 4, "text-anchor": "end" }, tick.text));
  }
  picture.append(svg("text", { x: (62 + width - 12) / 2, y: height - 8, "text-anchor": "middle", class: "axis-name" }, across));
  picture.append(
    svg("text", { transform: `translate(14 ${(height - 34) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-name" }, upright),
  );
}

function errorBars(state, places) {
  const { points } = data;
  if (points.lower === null) return "";
  const parity = state.view === "parity";
  const unit = parity ? places.x(1) - places.x(0) : places.y(1) - places.y(0);
  return points.y.map((_, i) => {
    if (sideOf(i)) return "";
    const [x, y] = places.at[i];
    const low = points.lower[i] * unit;
    const high = points.upper[i] * unit;
    // a label that moves up makes the residual go down
    return parity ? `M${x - low} ${y}h${low + high}` : `M${x} ${y - high}v${low + high}`;
  }).join("");
}

// Arrows that point to where the label of a limit, or its residual, may lie.
function limitArrows(state, places) {
  const arrow = (i) => {
    const [x, y] = places.at[i];
    const along = 14 * sideOf(i); // on the page y grows downwards, and so do residuals of labels that go up
    const back = 4 * sideOf(i);
    return state.view === "parity"
      ? `M${x} ${y}h${along}m${-back} -3l${back} 3l${-back} 3`
      : `M${x} ${y}v${along}m-3 ${-back}l3 ${back}l3 ${-back}`;
  };
  return data.points.y.map((_, i) => (sideOf(i) ? arrow(i) : "")).join("");
}

function showPoints(state) {
  const place = byId("points");
  const wide = place.clientWidth > 560;
  const { picture, width, height } = drawing(place, wide ? 430 : 340, { "aria-hidden": "true" });
  const places = pointPlaces(state, width, height);
  const unit = data.unit ? ` (${data.unit})` : "";
  axes(picture, places, width, height, `label${unit}`, `${state.view === "parity" ? "prediction" : "prediction − label"}${unit}`);
  picture.append(svg("clipPath", { id: "inside" }, svg("rect", { x: 62, y: 12, width: width - 74, height: height - 58 })));
  const area = svg("g", { "clip-path": "url(#inside)" });
  const { x, y } = places;
  const zero = state.view === "parity" ? [x.low, x.low, x.high, x.high] : [x.low, 0, x.high, 0];
  const dots = (order) => order.map((i) => `M${places.at[i][0].toFixed(1)} ${places.at[i][1].toFixed(1)}h0`).join("");
  const order = byWeight(state);
  const first = order.slice(0, Math.min(LISTED, data.points.listed));
  area.append(
    svg("path", { d: errorBars(state, places), class: "error-bars" }),
    svg("path", { d: limitArrows(state, places), class: "limits" }),
    svg("line", { x1: x(zero[0]), y1: y(zero[1]), x2: x(zero[2]), y2: y(zero[3]), class: "zero" }),
    svg("path", { d: dots(order), class: order.length > 800 ? "dots many" : "dots" }),
    svg("path", { d: dots(first), class: "dots heavy" }),
  );
  const ring = svg("circle", { r: 7, class: "ring", visibility: "hidden" });
  picture.append(area, ring);
  const point = (i) => {
    const tip = byId("point-tip");
    if (i === null) {
      tip.hidden = true;
      ring.setAttribute("visibility", "hidden");
      return;
    }
    ring.setAttribute("visibility", "visible");
    const [px, py] = places.at[i];
    ring.setAttribute("cx", px);
    ring.setAttribute("cy", py);
    const ratio = place.clientWidth / width;
    showTip(tip, place, px * ratio, py * ratio, pointLines(state, i));
  };
  hoverPoints(place, places, width, order, point);
  listHeavy(state, first, point);
}

function hoverPoints(place, places, width, order, point) {
  place.onpointermove = (event) => {
    const box = place.getBoundingClientRect();
    const ratio = width / box.width;
    const [px, py] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    let best = null;
    let nearest = 26 ** 2;
    places.at.forEach(([x, y], i) => {
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    point(best);
  };
  place.onpointerdown = place.onpointermove;
  place.onpointerleave = unlessTouch(() => point(null));
  place.onpointercancel = place.onblur = () => point(null);
  let position = -1;
  place.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") point(null);
    if (step === undefined) return;
    event.preventDefault();
    position = (position + step + order.length) % order.length;
    point(order[position]);
  };
}

function listHeavy(state, first, point) {
  const { points } = data;
  const shares = sharesOf(state);
  byId("heavy-title").textContent = shares
    ? `Labels that make most of the ${data.metrics[state.metric].part}`
    : "Labels with the largest residuals";
  byId("heavy").replaceChildren(
    ...first.map((i) => {
      const name = html("button", { type: "button" }, points.ids[i]);
      name.onfocus = name.onpointerenter = () => point(i);
      name.onblur = () => point(null);
      name.onpointerleave = unlessTouch(() => point(null));
      const unit = data.unit && ` ${data.unit}`;
      const amount = shares ? percent(shares[i]) : `${brief(points.models[state.model].residual[i])}${unit}`;
      return html("tr", {}, html("td", {}, name), html("td", { class: "number" }, amount));
    }),
  );
}
