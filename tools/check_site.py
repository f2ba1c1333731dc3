"""Whether every link of the built documentation leads somewhere. Run: python tools/check_site.py build/docs"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Page(HTMLParser):
    """The places of a page, and where it leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str | None] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {found.get("id"), found.get("name")}
        link = found.get("href") or found.get("src")
        if link and not link.startswith(("http:", "https:", "mailto:", "data:")):
            self.links.append(link)


def broken(site: Path) -> list[str]:
    """The links inside the site that lead nowhere."""
    pages = {
        path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if "_static" not in path.parts
    }
    out = []
    for path, page in pages.items():
        for link in page.links:
            file, _, place = link.partition("#")
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists() or (place and target in pages and unquote(place) not in pages[target].places):
                out.append(f"{path.relative_to(site)}: {link}")
    return out


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))
