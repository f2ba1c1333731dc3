"""Look at every page of the built documentation, wide and narrow, light and dark. Run: python tools/look_at_site.py build/docs

Says where a page is wider than the screen, misses an image, writes to the console, cuts off words, or has words too pale to
read (a contrast below 4.5, of large ones below 3). A folder after the site keeps a picture of each page. Needs playwright and
a chromium, as `make test-browser` sets them up.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

SCREENS = {"wide": {"viewport": {"width": 1280, "height": 900}}, "narrow": {"viewport": {"width": 390, "height": 844}}}
LOOK = r"""() => {
  const page = document.documentElement, found = [];
  if (page.scrollWidth > page.clientWidth + 1) found.push(`wider than the screen by ${page.scrollWidth - page.clientWidth}`);
  for (const image of document.images)
    if (!image.complete || !image.naturalWidth) found.push(`no image ${image.src}`);
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const colour = text => {  // of any notation, as red, green, blue and opacity
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const above = (upper, lower, opacity) => lower.map((x, i) => upper[i] * opacity + x * (1 - opacity));
  const ground = e => {
    if (!e) return [255, 255, 255];
    const own = colour(getComputedStyle(e).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : above(own, ground(e.parentElement), own[3]);
  };
  const linear = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = new Set();
  while (words.nextNode()) {
    const node = words.currentNode, e = node.parentElement, style = getComputedStyle(e), text = node.textContent.trim();
    if (!text || e.closest("script, style, noscript, annotation, .visually-hidden")) continue;
    if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const key = [style.color, style.fontSize, e.tagName, e.parentElement.className].join();
    for (let box = e; box && box !== document.body; box = box.parentElement) {
      const clip = getComputedStyle(box);
      if (seen.has(box) || clip.overflowX !== "hidden" || clip.textOverflow === "ellipsis") continue;
      seen.add(box);
      if (box.clientWidth > 1 && box.scrollWidth > box.clientWidth + 2) found.push(`cut off: ${text.slice(0, 40)}`);
    }
    if (seen.has(key)) continue;
    seen.add(key);
    const below = ground(e), ink = colour(style.color), size = parseFloat(style.fontSize);
    const [dark, bright] = [light(below), light(above(ink, below, ink[3]))].sort((a, b) => a - b);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (bright / dark < (large ? 3 : 4.5)) found.push(`contrast ${(bright / dark).toFixed(1)}: ${text.slice(0, 40)}`);
  }
  return found;
}"""


def looked_at(browser: Any, site: Path, pictures: Path | None) -> list[str]:
    """What is wrong, with screen, scheme and page."""
    out = []
    pages = sorted(p for p in site.rglob("*.html") if not {"_static", "_sources"} & set(p.relative_to(site).parts))
    for screen, size in SCREENS.items():
        for scheme in ("light", "dark"):
            shown = browser.new_page(**size, color_scheme=scheme)
            said: list[str] = []
            shown.on("console", lambda m, said=said: said.append(m.text) if m.type in ("error", "warning") else None)
            shown.on("pageerror", lambda error, said=said: said.append(str(error)))
            for path in pages:
                said.clear()
                shown.goto(path.as_uri())
                name = path.relative_to(site)
                out += [f"{screen}, {scheme}, {name}: {what}" for what in (*shown.evaluate(LOOK), *said)]
                if pictures:
                    shown.screenshot(
                        path=pictures / f"{screen}-{scheme}-{str(name).replace(os.sep, '-')}.png", full_page=True
                    )
            shown.close()
    return out


if __name__ == "__main__":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options
        )
        found = looked_at(chromium, Path(sys.argv[1]).resolve(), folder)
    print("\n".join(found) or "every page fits and can be read")
    sys.exit(bool(found))
