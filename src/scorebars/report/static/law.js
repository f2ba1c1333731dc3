// How far the metric moves: its law when the labels move within their errors, with the answers marked.
function showLaw(state) {
  const score = data.scores[state.model][state.metric];
  const place = byId("law");
  const law = score.law;
  byId("law-none").hidden = law !== null;
  place.hidden = byId("law-words").hidden = law === null;
  if (law === null) return;
  const { picture, width, height } = drawing(place, 250, { role: "img", "aria-labelledby": "law-title" });
  const base = height - 30;
  const top = 92;
  const x = scale(law.low, law.high, 14, width - 14);
  const y = (share) => base - share * (base - top);
  const expected = score.answers[1];

  const steps = law.bars ? law.height.length : law.height.length - 1;
  const at = (k) => x(law.low + ((law.high - law.low) * k) / steps);
  const tops = law.height.map((share, k) => `L${at(k)} ${y(share)}${law.bars ? `H${at(k + 1)}` : ""}`);
  picture.append(svg("path", { d: `M${x(law.low)} ${base}${tops.join("")}V${base}z`, class: "law" }));
  if (expected.low !== null && expected.high !== null) {
    const from = Math.max(x(expected.low), 14);
    const to = Math.min(x(expected.high), width - 14);
    picture.append(svg("rect", { x: from, width: Math.max(to - from, 1), y: base + 1, height: 4, class: "interval" }));
  }
  picture.append(svg("line", { x1: 14, x2: width - 14, y1: base, y2: base, class: "axis" }));
  for (const tick of ticks(law.low, law.high, Math.max(3, width / 75))) {
    const here = x(tick.value);
    const anchor = here < 30 ? "start" : here > width - 30 ? "end" : "middle";
    picture.append(svg("text", { x: here, y: base + 22, "text-anchor": anchor }, tick.text));
  }
  const words = [];
  NAMES.forEach((name, k) => {
    const { value, text } = score.answers[k];
    if (value === null) return;
    const row = 14 + 16 * k;
    const said = `${name} ${minus(text)}`;
    if (value < law.low || value > law.high) {
      const below = value < law.low;
      const place = { x: below ? 4 : width - 4, y: row + 4, "text-anchor": below ? "start" : "end", class: "said" };
      words.push(svg("text", place, below ? `← ${said}` : `${said} →`));
      return;
    }
    const here = x(value);
    const left = value < expected.value ? here > 190 : here > width - 190; // away from the crowd, if there is room
    picture.append(svg("line", { x1: here, x2: here, y1: row, y2: base, class: `rule ${name}` }));
    words.push(
      shape(name, here, row),
      svg("text", { x: here + (left ? -10 : 10), y: row + 4, "text-anchor": left ? "end" : "start", class: "said" }, said),
    );
  });
  picture.append(...words); // above all lines
}
