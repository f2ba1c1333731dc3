"""Write docs/images/report.png and web.png: the report and the served page in a browser. Run: python tools/make_screenshot.py

Needs playwright and a chromium, as `make test-browser` sets them up.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import scorebars as sb

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def written(folder: Path) -> Path:
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


def of_report(browser: Any, folder: Path) -> None:
    shown = browser.new_page(viewport={"width": 1120, "height": 3000}, color_scheme="light")
    shown.goto(written(folder).as_uri())
    shown.get_by_label("Model", exact=True).select_option("DZ28")
    shown.locator("#heavy button").first.hover()  # the label that weighs most
    end = shown.evaluate("document.querySelector('#models-title').closest('section').getBoundingClientRect().bottom")
    shown.screenshot(path=IMAGES / "report.png", clip={"x": 0, "y": 0, "width": 1120, "height": int(end) + 16})


def of_served_page(browser: Any) -> None:
    """The scores of a model whose label errors were made twice as large, above those before."""
    command = [sys.executable, "-m", "scorebars", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address, token = server.stdout.readline().split()[-1].split("?")
            shown = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
            shown.goto(f"{address}?{token}")
            shown.goto(f"{address}file/dataset:nuclear_masses/result?pred=pred_DZ28&pred=pred_HFB24&metric=rmse")
            shown.wait_for_selector("html.ready", timeout=60_000)
            if not shown.locator("#scale-errors").is_visible():
                shown.get_by_text("What if?").click()
            shown.fill("#scale-errors", "2")
            shown.wait_for_selector("#expected-before", timeout=60_000)
            shown.screenshot(path=IMAGES / "web.png")
        finally:
            server.terminate()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options
        )
        of_report(browser, Path(folder))
        of_served_page(browser)
        browser.close()


if __name__ == "__main__":
    main()
