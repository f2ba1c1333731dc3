// The data of the page, and elements made without ever reading text as markup.
let data = JSON.parse(document.getElementById("data").textContent);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const byId = (id) => document.getElementById(id);

// A drawing as wide as its place; it scales as a whole when the page is printed.
function drawing(place, height, attributes = {}) {
  const width = Math.max(place.clientWidth, 120);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "drawing", ...attributes });
  place.replaceChildren(picture);
  return { picture, width, height };
}

function shape(name, x, y, size = 5) {
  const s = size;
  const outlines = {
    observed: `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    expected: `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    truth: `M${x} ${y - s - 1}l${s + 1} ${s + 1}l${-s - 1} ${s + 1}l${-s - 1} ${-s - 1}z`,
    remeasured: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    perfect: `M${x} ${y - s}l${s + 1} ${2 * s - 1}h${-2 * s - 2}z`,
  };
  return svg("path", { d: outlines[name], class: `mark ${name}` });
}

// A finger that is lifted leaves the note; a mouse that leaves takes it along.
const unlessTouch = (hide) => (event) => event.pointerType !== "touch" && hide();

// A note beside the pointer that stays inside its figure.
function showTip(tip, figure, x, y, lines) {
  tip.replaceChildren(...lines.map(([text, kind]) => html("span", { class: kind }, text)));
  tip.hidden = false;
  const room = figure.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x + 14, room))}px`;
  tip.style.top = `${y - tip.offsetHeight - 12 < 0 ? y + 16 : y - tip.offsetHeight - 12}px`;
}
