"""The served page in a real browser: drop, choose, read, ask what if; with the keyboard, on a phone, in the dark."""

import sys
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb

sys.path.insert(0, str(Path(__file__).parents[1] / "web"))
from web_tables import CLASSES, COVARIANCE, GUESS, NUMBERS, REPEATS, SIGMA, VOTES, A, B, Y, csv_bytes, matrix_bytes

from web_server import WebServer

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect
VIEW = "y=y&pred=pred_a&pred=pred_b&yerr=err&metric=root_mean_squared_error"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with WebServer(within=tmp_path_factory.mktemp("scratch")) as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "numbers.csv").write_bytes(csv_bytes(NUMBERS))
    (folder / "classes.csv").write_bytes(csv_bytes(CLASSES))
    (folder / "cov.txt").write_bytes(matrix_bytes())
    cells = {"y": [f"{y:.3f} ± {s:.3f}" for y, s in zip(Y, SIGMA, strict=True)], "pred_a": A, "pred_b": B}
    (folder / "cells.csv").write_bytes(csv_bytes(cells))
    return folder


def uploaded(watched, server, path):
    """The page of the columns of a file that was chosen."""
    page = watched.page
    page.goto(f"{server.address}/?token={server.token}")
    page.set_input_files("#file", path)
    page.wait_for_selector("#columns", timeout=30_000)
    return page


def shown_result(page):
    page.wait_for_selector("html.ready", timeout=60_000)
    page.wait_for_selector("#score-title")
    return page


def opened_result(watched, server, files, query=VIEW):
    page = uploaded(watched, server, files / "numbers.csv")
    page.goto(page.url.replace("/columns", f"/result?{query}"))
    return shown_result(page)


def number(page, name):
    return page.locator(f"#{name}-number").inner_text().replace("\u00a0", " ").replace("−", "-")


def use(page, **columns):
    """Say what the columns are used as; those that are not named are not used."""
    for select in page.locator("select[name^='role.']").all():
        select.select_option(columns.get(select.get_attribute("name").removeprefix("role."), ""))


numeric = {"y": "y", "pred_a": "pred", "pred_b": "pred"}
classes = {"label": "y", "pred_net": "pred", "pred_tree": "pred"}
# the answer to the question: file, columns, what is filled in or ticked, and the score that the library has
QUESTIONS = {
    "sigma": ("numbers.csv", numeric, {"sigma": "0.3"}, [], lambda m: m(Y, A, yerr=0.3)),
    "column": ("numbers.csv", numeric, {"error": "err"}, [], lambda m: m(Y, A, yerr=SIGMA)),
    "sides": ("numbers.csv", numeric, {"lower": "lo", "upper": "hi"}, [], lambda m: m(Y, A, yerr=np.stack([SIGMA, 2 * SIGMA]))),
    "percent": ("numbers.csv", numeric, {"percent": "5"}, [], lambda m: m(Y, A, yerr=0.05 * np.abs(Y))),
    "interval": (
        "numbers.csv", numeric, {"low": "low_end", "high": "high_end"}, [],
        lambda m: m(Y, A, yerr=np.stack([Y - NUMBERS["low_end"], NUMBERS["high_end"] - Y])),
    ),
    "cells": ("cells.csv", numeric, {}, [], lambda m: m(Y, A, yerr=SIGMA)),
    "repeats": (
        "numbers.csv", {**numeric, "y": ""}, {}, ["repeats[]=m_1", "repeats[]=m_2", "repeats[]=m_3"],
        lambda m: m(None, A, yerr=sb.Repeats(REPEATS)),
    ),
    "covariance": ("numbers.csv", numeric, {}, [], lambda m: m(Y, A, yerr=sb.Normal(cov=COVARIANCE))),
    "resolution": ("numbers.csv", numeric, {"resolution": "0.5"}, [], lambda m: m(Y, A, yerr=sb.Rounding(0.5))),
    "set": ("numbers.csv", numeric, {"sigma": "0.3"}, ["kind=berkson"], lambda m: m(Y, A, yerr=sb.Normal(0.3, kind="berkson"))),
    "wrong": ("classes.csv", classes, {"q": "0.05"}, [], lambda m: m(CLASSES["label"], GUESS, yerr=0.05)),
    "checked": (
        "classes.csv", classes, {"wrong": "3", "checked": "60"}, [],
        lambda m: m(CLASSES["label"], GUESS, yerr=sb.Flip.from_counts(3, 60)),
    ),
    "votes": (
        "classes.csv", {**classes, "label": ""}, {}, ["votes[]=votes_cat", "votes[]=votes_dog"],
        lambda m: m(None, GUESS, yerr=sb.Votes(VOTES, np.array(["cat", "dog"]))),
    ),
    "probabilities": (
        "classes.csv", {**classes, "label": ""}, {}, ["probabilities[]=p_cat", "probabilities[]=p_dog"],
        lambda m: m(None, GUESS, yerr=sb.LabelProbabilities(np.stack([CLASSES["p_cat"], CLASSES["p_dog"]], axis=1), ["cat", "dog"])),
    ),
    "none": ("numbers.csv", numeric, {}, [], lambda m: m(Y, A)),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_answer_about_errors(watched, server, files, question):
    file, columns, fields, ticked, made = QUESTIONS[question]
    page = uploaded(watched, server, files / file)
    if question == "covariance":
        page.locator("input[name=errors][value=covariance]").check()
        page.set_input_files("#matrix-file", files / "cov.txt")
        page.get_by_role("button", name="Upload matrix").click()
        page.wait_for_selector("text=Uploaded: cov.txt")
    use(page, **columns)
    answer = {"set": "sigma"}.get(question, question)
    page.locator(f"input[name=errors][value={answer}]").check()
    for name, value in fields.items():
        field = page.locator(f"#choice-{answer} [name='{name}']")
        field.select_option(value) if field.evaluate("node => node.tagName") == "SELECT" else field.fill(value)
    for one in ticked:
        name, value = one.split("=")
        page.locator(f"input[name='{name}'][value='{value}']").check()
    page.get_by_role("button", name="Show the result").click()
    shown_result(page)
    model, metric = ("net", sb.accuracy_score) if file == "classes.csv" else ("a", sb.root_mean_squared_error)
    page.get_by_label("Model", exact=True).select_option(label=model)
    page.get_by_label("Metric", exact=True).select_option("0")
    s = made(metric)
    assert number(page, "expected") == str(s)
    assert number(page, "observed") == f"{s.observed:.6g}"
    assert number(page, "perfect") == str(s.perfect)
    try:
        truth = str(s.truth)
    except sb.UndefinedEstimate:
        truth = "cannot be estimated"
    assert number(page, "truth") == truth
    assert page.locator("#sentence").inner_text() == s.sentence()
    assert watched.said == []
    assert all(address.startswith(server.address) for address in watched.asked)


def test_what_if_changes_the_numbers_and_keeps_those_before(watched, server, files):
    page = opened_result(watched, server, files)
    first = sb.root_mean_squared_error(Y, A, yerr=SIGMA)
    assert number(page, "expected") == str(first)
    page.fill("#scale-errors", "2")
    page.wait_for_selector("#expected-before", timeout=30_000)
    second = sb.root_mean_squared_error(Y, A, yerr=2 * SIGMA)
    assert number(page, "expected") == str(second)
    assert str(first) in page.locator("#expected-before").inner_text().replace("\u00a0", " ")
    assert "scale_errors=2" in page.url and "--scale-errors 2" in page.locator("#command").inner_text()
    assert page.locator("#quick-expected").inner_text() == str(second)
    assert page.locator("#quick-expected-before").inner_text() == str(first)
    page.fill("#anew", "4")
    expect(page.locator("#quick-remeasured")).to_have_text(str(second.remeasured(repeats=4)), timeout=30_000)
    page.get_by_role("button", name="Back to the start").click()
    expect(page.locator("#expected-number")).to_have_text(str(first), timeout=30_000)
    page.get_by_text("Leave out a group").click()
    page.get_by_label("north").check()
    kept = NUMBERS["site"] != "north"
    third = sb.root_mean_squared_error(Y[kept], A[kept], yerr=SIGMA[kept])
    expect(page.locator("#expected-number")).to_have_text(str(third), timeout=30_000)
    page.get_by_label("north").uncheck()
    page.fill("#cut", "5")
    expect(page.locator("#score-title")).to_have_text("Accuracy of a", timeout=30_000)
    fourth = sb.accuracy_score((Y > 5).astype(int), (A > 5).astype(int), yerr=sb.Thresholded(Y, SIGMA, 5.0))
    assert number(page, "expected") == str(fourth)
    page.fill("#cut", "")
    expect(page.locator("#expected-number")).to_have_text(str(first), timeout=30_000)
    page.fill("#scale-errors", "-3")
    expect(page.locator("#what-if-said")).to_contain_text("at least 0", timeout=30_000)
    assert [said for said in watched.said if "422" not in said] == []


def test_reloading_shows_the_same(watched, server, files):
    page = opened_result(watched, server, files, f"{VIEW}&scale_errors=2&systematic=0.1")
    before = number(page, "truth")
    page.reload()
    shown_result(page)
    assert number(page, "truth") == before and page.locator("#scale-errors").input_value() == "2.0"


def test_a_file_is_dropped(watched, server):
    page = watched.page
    page.goto(f"{server.address}/?token={server.token}")
    script = """(text) => {
        const given = new DataTransfer();
        given.items.add(new File([text], "dropped.csv"));
        document.dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(script, csv_bytes({"y": Y, "y_err": SIGMA, "pred_a": A}).decode())
    page.wait_for_selector("#columns", timeout=30_000)
    assert "What is what in dropped.csv?" in page.locator("h1").inner_text()
    assert page.locator("select[name='role.y']").input_value() == "y"
    assert watched.said == []


def test_a_bad_file_is_explained(watched, server, tmp_path):
    (tmp_path / "junk.xlsx").write_bytes(bytes(range(256)) * 20)
    page = watched.page
    page.goto(f"{server.address}/?token={server.token}")
    page.set_input_files("#file", tmp_path / "junk.xlsx")
    page.wait_for_selector("#problem", timeout=30_000)
    assert "junk.xlsx" in page.locator("#problem").inner_text()
    (tmp_path / "empty.csv").write_bytes(b"")
    page.goto(server.address)
    page.set_input_files("#file", tmp_path / "empty.csv")
    expect(page.locator("#upload-said")).to_contain_text("is empty", timeout=30_000)


def test_the_whole_way_with_the_keyboard(watched, server, files):
    page = uploaded(watched, server, files / "numbers.csv")
    use(page, **numeric)
    page.locator("input[name=errors][value=sigma]").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("0.3")
    page.keyboard.press("Enter")
    shown_result(page)
    assert number(page, "expected") == str(sb.root_mean_squared_error(Y, A, yerr=0.3))
    names = page.evaluate("""() => [...document.querySelectorAll("input:not([type=hidden]), select, button")]
        .filter((node) => node.offsetParent && !node.labels?.length && !node.ariaLabel && !node.textContent.trim())
        .map((node) => node.outerHTML)""")
    assert names == []  # everything has a name for a screen reader


PAGES = [
    "/",
    "/calculator?sheet=accuracy",
    "/calculator?sheet=plan",
    "/calculator?sheet=floor",
    "COLUMNS",
    "RESULT",
    "COMPARE",
    "PLAN",
]


@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_and_texts_are_readable(browser, server, files, width, scheme):
    from conftest import Watched

    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, has_touch=width < 500)
    watched = Watched(context.new_page())
    page = uploaded(watched, server, files / "numbers.csv")
    at = page.url.rpartition("/")[0]
    special = {
        "COLUMNS": f"{at}/columns",
        "RESULT": f"{at}/result?{VIEW}",
        "COMPARE": f"{at}/compare?{VIEW}",
        "PLAN": f"{at}/plan?{VIEW}",
    }
    for path in PAGES:
        page.goto(special.get(path, server.address + path))
        page.wait_for_selector("footer", timeout=30_000)
        page.wait_for_selector("#waiting", state="detached", timeout=60_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        faint = page.evaluate(CONTRAST)
        assert faint == [], (path, faint)
    assert watched.said == []
    context.close()


CONTRAST = """() => {
    const shade = (text) => {
        const parts = text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!colour.endsWith(", 0)")) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("p, label, th, td, summary, a, button, legend, small, h1, h2")].filter((node) => {
        if (!node.offsetParent || !node.textContent.trim()) return false;
        const [x, y] = [shade(getComputedStyle(node).color), shade(ground(node))].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05) < 4.5;
    }).map((node) => node.outerHTML.slice(0, 120));
}"""


def test_a_phone_can_do_it_by_touch(phone, server, files):
    page = uploaded(phone, server, files / "numbers.csv")
    page.goto(page.url.replace("/columns", f"/result?{VIEW}"))
    shown_result(page)
    page.locator("#what-if-title").tap()
    page.get_by_text("Models", exact=True).first.tap()
    page.get_by_label("b", exact=True).tap()
    expect(page.locator("#what-if-said")).to_contain_text("before", timeout=30_000)
    assert page.locator("#model option").count() == 1
    assert phone.said == []


def test_without_javascript(browser, server, files):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.address}/?token={server.token}")
    page.set_input_files("#file", files / "numbers.csv")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_selector("#columns", timeout=30_000)
    page.goto(page.url.replace("/columns", f"/result?{VIEW}"))
    page.wait_for_selector("table.all", timeout=60_000)
    page.fill("#scale-errors", "2")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**scale_errors=2**")
    page.wait_for_selector("table.all", timeout=60_000)
    assert sb.root_mean_squared_error(Y, A, yerr=2 * SIGMA).truth is not None
    assert "--scale-errors 2" in page.locator("#command").inner_text()
    context.close()


def test_comparison_plan_and_calculator(watched, server, files):
    page = uploaded(watched, server, files / "numbers.csv")
    at = page.url.rpartition("/")[0]
    page.goto(f"{at}/compare?{VIEW}")
    page.wait_for_selector("#table-title", timeout=30_000)
    found = sb.compare(Y, {"a": A, "b": B}, yerr=SIGMA, metric="mean_squared_error")
    assert page.locator("#sentence").inner_text() == found.sentence()
    page.get_by_label("The items are a sample too").check()
    page.wait_for_url("**with_sampling=1**")
    page.wait_for_selector("text=label errors and finite test set")
    page.goto(f"{at}/plan?{VIEW}")
    page.wait_for_selector("#plan-title", timeout=30_000)
    plan = sb.plan(Y, {"a": A, "b": B}, yerr=SIGMA)
    assert f"Measure {plan.labels} label" in page.locator(".result").inner_text()
    page.goto(f"{server.address}/calculator?sheet=accuracy")
    page.fill("#f-a", "0.8")
    page.keyboard.press("Tab")
    page.wait_for_url("**a=0.8**")
    s = sb.accuracy_score([1] * 200, [1] * 160 + [0] * 40, yerr=sb.Flip(0.05))
    assert page.locator("[data-answer=expected]").inner_text() == f"{s.expected:.3f} ± {s.std:.3f}"
    assert watched.said == []
