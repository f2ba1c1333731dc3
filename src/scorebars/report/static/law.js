// How far an answer moves with the label errors: its distribution, with the other answers marked.
const ROW = 16;
const NAME_ROOM = 84; // right of the curve, so that each name has room right of its mark

// The curve of one answer: low and high end, and heights; null where it does not move.
function curveOf(score, k) {
  if (NAMES[k] === "expected") return score.law;
  const { value, low, high } = score.answers[k];
  if (value === null || low === null || high === null || !(low < high)) return null;
  const sides = [value - low, high - value].map((side) => Math.max(side, (high - low) / 1e3) / data.normal);
  const [from, to] = [value - 4 * sides[0], value + 4 * sides[1]];
  const height = Array.from({ length: 121 }, (_, step) => {
    const away = from + ((to - from) * step) / 120 - value;
    return Math.exp(-0.5 * (away / sides[away < 0 ? 0 : 1]) ** 2);
  });
  return { low: from, high: to, bars: false, height };
}

const LAW_WORDS = {
  expected: "The distribution of the metric if every label were redrawn from its error bar.",
  truth: "How well the labels determine the metric against the true values.",
  remeasured: "Where the metric will fall on labels measured once more.",
  perfect: "Where a perfect model would fall on these labels.",
};

// The answer asked for, or one that has a curve.
function askedAnswer(state) {
  const score = data.scores[state.model][state.metric];
  const moving = [state.answer, "truth", "expected"].map((name) => NAMES.indexOf(name));
  return moving.find((k) => curveOf(score, k) !== null) ?? 1;
}

function showLaw(state) {
  const score = data.scores[state.model][state.metric];
  const place = byId("law");
  const asked = askedAnswer(state);
  const name = NAMES[asked];
  const law = curveOf(score, asked);
  byId("law-none").hidden = law !== null;
  place.hidden = byId("law-words").hidden = law === null;
  for (const choice of document.querySelectorAll("input[name=answer]")) {
    choice.checked = choice.value === name;
    choice.disabled = curveOf(score, NAMES.indexOf(choice.value)) === null;
  }
  if (law === null) return;
  const total = name === "truth" ? score.total : null;
  const drawn = name === "expected" ? "" : " Drawn as a normal curve on either side, through the ends of its interval.";
  byId("law-words").textContent = `${LAW_WORDS[name]}${drawn} The bar below the curve is the ${data.level} interval (labels)${
    total ? ", the thin one that of labels and sample" : ""
  }. The other answers are marked; an arrow points to those that lie outside.`;
  const height = 256;
  const { picture, width } = drawing(place, height, { role: "img", "aria-labelledby": "law-title" });
  const base = height - 46;
  const top = 12 + ROW * NAMES.length;
  const ends = total ? [Math.min(law.low, total.low), Math.max(law.high, total.high)] : [law.low, law.high];
  const x = scale(...ends, 14, width - NAME_ROOM);
  const y = (share) => base - share * (base - top);

  const steps = law.bars ? law.height.length : law.height.length - 1;
  const at = (k) => x(law.low + ((law.high - law.low) * k) / steps);
  const tops = law.height.map((share, k) => `L${at(k)} ${y(share)}${law.bars ? `H${at(k + 1)}` : ""}`);
  picture.append(svg("path", { d: `M${x(law.low)} ${base}${tops.join("")}V${base}z`, class: `law ${name}` }));
  const bar = ({ low, high }, thick, down) => {
    if (low === null || high === null) return;
    const [from, to] = [Math.max(x(low), 14), Math.min(x(high), width - NAME_ROOM)];
    picture.append(svg("rect", { x: from, width: Math.max(to - from, 1), y: base + down, height: thick, class: `interval ${name}` }));
  };
  bar(score.answers[asked], 4, 1);
  if (total) bar(total, 1.5, 6.5);
  axisAt(picture, x, base, 14, width - NAME_ROOM, 24);
  const { unit } = data.metrics[state.metric];
  const metric = data.metrics[state.metric].title;
  picture.append(svg("text", { x: (14 + width - NAME_ROOM) / 2, y: height - 4, "text-anchor": "middle", class: "axis-name" }, unit ? `${metric} (${unit})` : metric));

  // answers outside first, then from left to right: a line only goes down, so it crosses no name
  const marks = NAMES.map((mark, k) => ({ mark, ...score.answers[k] })).filter(({ value }) => value !== null);
  const outside = ({ value }) => value < ends[0] || value > ends[1];
  marks.sort((a, b) => outside(b) - outside(a) || a.value - b.value);
  const words = marks.map(({ mark, value, text }, k) => {
    const row = 14 + ROW * k;
    if (value < ends[0]) return [svg("text", { x: 4, y: row + 4, class: "said" }, `← ${mark} ${minus(text)}`)];
    if (value > ends[1]) {
      return [svg("text", { x: width - 4, y: row + 4, "text-anchor": "end", class: "said" }, `${mark} ${minus(text)} →`)];
    }
    const here = x(value);
    picture.append(svg("line", { x1: here, x2: here, y1: row, y2: base, class: `rule ${mark}` }));
    return [shape(mark, here, row), svg("text", { x: here + 10, y: row + 4, class: "said" }, mark)];
  });
  picture.append(...words.flat());
}
