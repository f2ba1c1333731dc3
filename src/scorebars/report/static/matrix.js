// The confusion matrix as a heat map: rows are labels, columns predictions.
function cellText(value) {
  return minus(Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toFixed(1))));
}

function cellLines(state, row, column) {
  const { classes, models } = data.matrix;
  const lines = [[`label ${classes[row]}, predicted ${classes[column]}`, "id"]];
  for (const [name, cells] of Object.entries(models[state.model])) {
    const error = cells.std === null ? "" : ` ± ${brief(Number(cells.std[row][column].toPrecision(2)))}`;
    lines.push([`${name} ${cellText(cells.value[row][column])}${error}`]);
  }
  return lines;
}

function showMatrix(state) {
  const place = byId("matrix");
  const { classes, models } = data.matrix;
  const cells = models[state.model][state.view] || models[state.model].expected;
  const count = classes.length;
  const longest = Math.max(...classes.map((name) => name.length));
  const left = Math.min(26 + 7 * Math.min(longest, 14), 130);
  const size = Math.max(6, Math.min((place.clientWidth - left - 8) / count, 92));
  const turned = longest * 7 > size;
  const top = turned ? left : 46;
  const { picture } = drawing(place, top + size * count + 8, { "aria-hidden": "true" });
  const short = (name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);
  const written = size >= 44;
  picture.append(svg("text", { x: left + (size * count) / 2, y: 14, "text-anchor": "middle", class: "axis-name" }, "prediction"));
  picture.append(
    svg("text", { transform: `translate(14 ${top + (size * count) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-name" }, "label"),
  );
  classes.forEach((name, k) => {
    const middle = size * (k + 0.5);
    picture.append(svg("text", { x: left - 6, y: top + middle + 4, "text-anchor": "end" }, short(name)));
    const where = `translate(${left + middle + (turned ? 4 : 0)} ${top - 7})${turned ? " rotate(-90)" : ""}`;
    picture.append(svg("text", { transform: where, "text-anchor": turned ? "start" : "middle" }, short(name)));
  });
  cells.value.forEach((row, r) => {
    const total = row.reduce((sum, value) => sum + Math.max(value, 0), 0) || 1;
    row.forEach((value, c) => {
      const [x, y] = [left + size * c, top + size * r];
      const share = Math.max(0, Math.min(value / total, 1));
      picture.append(svg("rect", { x: x + 1, y: y + 1, width: size - 2, height: size - 2, class: "cell-ground" }));
      picture.append(
        svg("rect", { x: x + 1, y: y + 1, width: size - 2, height: size - 2, class: r === c ? "cell right" : "cell wrong",
          "fill-opacity": (0.05 + 0.85 * Math.sqrt(share)).toFixed(3) }),
      );
      if (!written) return;
      const strong = share > 0.45 ? "cell-text on" : "cell-text";
      const error = cells.std === null ? null : cells.std[r][c];
      picture.append(svg("text", { x: x + size / 2, y: y + size / 2 + (error === null ? 4 : -1), "text-anchor": "middle", class: strong }, cellText(value)));
      if (error !== null) {
        picture.append(svg("text", { x: x + size / 2, y: y + size / 2 + 13, "text-anchor": "middle", class: `${strong} error` }, `± ${brief(Number(error.toPrecision(2)))}`));
      }
    });
  });
  const ring = svg("rect", { width: size - 2, height: size - 2, class: "ring", visibility: "hidden" });
  picture.append(ring);
  hoverCells(state, place, { left, top, size, count }, ring);
}

function hoverCells(state, place, { left, top, size, count }, ring) {
  const tip = byId("matrix-tip");
  let at = [0, -1];
  const point = (row, column) => {
    const inside = row >= 0 && column >= 0 && row < count && column < count;
    tip.hidden = !inside;
    ring.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    ring.setAttribute("x", left + size * column + 1);
    ring.setAttribute("y", top + size * row + 1);
    at = [row, column];
    showTip(tip, place, left + size * (column + 0.5), top + size * (row + 0.5), cellLines(state, row, column));
  };
  place.onpointermove = (event) => {
    const box = place.getBoundingClientRect();
    point(Math.floor((event.clientY - box.top - top) / size), Math.floor((event.clientX - box.left - left) / size));
  };
  place.onpointerdown = place.onpointermove;
  place.onpointerleave = unlessTouch(() => point(-1, -1));
  place.onpointercancel = place.onblur = () => point(-1, -1);
  place.onkeydown = (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Escape") point(-1, -1);
    if (!step) return;
    event.preventDefault();
    point(...at.map((value, k) => Math.max(0, Math.min(value + step[k], count - 1))));
  };
}
