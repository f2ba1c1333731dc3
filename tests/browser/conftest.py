"""A real browser, opened once; every page starts fresh and is watched."""

import os
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]  # as it must be in a container
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield found
        found.close()


class Watched:
    """A page, what it wrote to the console, and what it asked for."""

    def __init__(self, page):
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def visit(self, path):
        self.page.goto(Path(path).as_uri())
        self.page.wait_for_selector("html.ready")
        return self.page


@pytest.fixture
def watched(browser):
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield Watched(context.new_page())
    context.close()


@pytest.fixture
def phone(browser):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    yield Watched(context.new_page())
    context.close()
