"""Write docs/images/report.png, the report of the nuclear masses as a browser shows it. Run: python tools/make_screenshot.py

Needs playwright and a chromium, as `make test-browser` sets them up.
"""

import os
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import scorebars as sb

TARGET = Path(__file__).parents[1] / "docs" / "images" / "report.png"


def page(folder: Path) -> Path:
    """The report to be shown."""
    masses = sb.datasets.load_nuclear_masses()
    names = zip(masses.columns["element"], masses.columns["A"], strict=True)
    path = folder / "report.html"
    metrics = ["root_mean_squared_error", "mean_error"]
    sb.report.save(
        path,
        masses.y,
        masses.predictions,
        yerr=masses.yerr,
        ids=[f"{element}-{a}" for element, a in names],
        metrics=metrics,
        unit="MeV",
        title="Seven nuclear mass models on 2149 measured masses",
        source="dataset:nuclear_masses",
    )
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options
        )
        shown = browser.new_page(viewport={"width": 1120, "height": 3000}, color_scheme="light")
        shown.goto(page(Path(folder)).as_uri())
        shown.get_by_label("Model", exact=True).select_option("DZ28")
        shown.locator("#heavy button").first.hover()  # the label that weighs most
        end = shown.evaluate(
            "document.querySelector('#models-title').closest('section').getBoundingClientRect().bottom"
        )
        shown.screenshot(path=TARGET, clip={"x": 0, "y": 0, "width": 1120, "height": int(end) + 16})
        browser.close()


if __name__ == "__main__":
    main()
