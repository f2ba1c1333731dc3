// Numbers to places on a picture, and to text.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * power >= raw * 0.999) * power;
  const places = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) {
    const value = k * step;
    const plain = Math.abs(value) < 1e7 && (Math.abs(step) >= 1e-7 || value === 0);
    found.push({ value, text: minus(plain ? value.toFixed(places) : value.toExponential(2)) });
  }
  return found;
}

const minus = (text) => text.replace(/^-0(\.0+)?$/, "0").replaceAll("-", "−");

// A number with its errors is broken only between the errors.
const unbroken = (text) => text.replaceAll("± ", "±\u00a0").replaceAll(" (", "\u00a0(");

function scale(low, high, from, to) {
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  return Object.assign(place, { low, high });
}

// The range of some numbers with air around it; never of no width.
function range(values, air = 0.06) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const width = high - low || Math.abs(high) * 0.1 || 1;
  return [low - air * width, high + air * width];
}

const brief = (value) => minus(String(Number(value.toPrecision(5))));

// A label with its error, two digits of the error, as scientists write it.
function withError(value, lower, upper) {
  const exact = minus(String(Number(value.toPrecision(8))));
  if (lower === undefined) return exact;
  if (lower === 0 && upper === 0) return `${exact} ± 0`;
  const small = Math.min(...[lower, upper].filter((e) => e > 0));
  const places = Math.max(0, Math.min(12, 1 - Math.floor(Math.log10(small))));
  if (Math.abs(value) >= 1e9 || places === 12) return `${brief(value)} ± ${brief(upper)}`;
  const fixed = (number) => minus(number.toFixed(places));
  return lower === upper ? `${fixed(value)} ± ${fixed(upper)}` : `${fixed(value)} +${fixed(upper)} −${fixed(lower)}`;
}

const percent = (share) => {
  const size = Math.abs(share) * 100;
  return minus(`${(share * 100).toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 4)} %`);
};
