"""The report in a real browser: it draws, answers the pointer, the keys and the switches, and runs nothing of the data."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

import scorebars as sb
from scorebars import report

pytestmark = pytest.mark.browser

EVIL = "</script><img src=x onerror=\"window.hacked=1\"><svg onload='window.hacked=1'>"


def every_fifth_mass():
    """Enough to draw, with a name for each nucleus."""
    data = sb.datasets.load_nuclear_masses()
    names = zip(data.columns["element"][2::5], data.columns["A"][2::5], strict=True)
    return SimpleNamespace(
        y=data.y[2::5],
        yerr=data.yerr[2::5],
        predictions={name: data.predictions[name][2::5] for name in ("FRDM2012", "DZ28", "HFB26")},
        ids=[f"{name}-{a}" for name, a in names],
    )


masses = every_fifth_mass()


@pytest.fixture(scope="module")
def masses_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    metrics = ["root_mean_squared_error", "mean_error", "explained_variance_score"]
    report.save(
        path, masses.y, masses.predictions, yerr=masses.yerr, ids=masses.ids, metrics=metrics, title="Nuclear masses"
    )
    return path


@pytest.fixture(scope="module")
def classes_page(tmp_path_factory):
    data = sb.datasets.load_cifar10_label_errors()
    path = tmp_path_factory.mktemp("report") / "classes.html"
    prediction = data.predictions["cross_validated"]
    report.save(path, data.y, {"cv": prediction}, yerr=0.02, metrics="accuracy_score")
    return path


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    """A file whose column names and cells are markup."""
    folder = tmp_path_factory.mktemp("hostile")
    with open(folder / "hostile.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "class", EVIL, "javascript:alert(1)"])
        for k in range(12):
            writer.writerow([f"{EVIL}{k}", EVIL if k % 2 else "'><b>b</b>", k + 0.1, k - 0.2])
    with open(folder / "hostile.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])[2:]
    models = {name: np.array([float(row[name]) for row in rows]) for name in names}
    common = {"title": EVIL, "source": EVIL, "command": EVIL, "code": EVIL}
    ids = [row["id"] for row in rows]
    metrics = ["root_mean_squared_error", "mean_error"]
    report.save(folder / "numbers.html", np.arange(12.0), models, yerr=0.1, ids=ids, metrics=metrics, **common)
    classes = np.array([row["class"] for row in rows])
    report.save(folder / "classes.html", classes, {EVIL: classes[::-1]}, yerr=0.1, metrics="accuracy_score", **common)
    return folder


def number(page, name):
    return page.locator(f"#{name}-number").inner_text().replace("\u00a0", " ")


def test_no_complaint_and_nothing_fetched(watched, masses_page):
    page = watched.visit(masses_page)
    page.wait_for_timeout(200)
    assert watched.said == []
    assert watched.asked == [masses_page.as_uri()]
    assert page.title() == "Nuclear masses"


def test_the_numbers_are_the_score_s(watched, masses_page):
    page = watched.visit(masses_page)
    s = sb.root_mean_squared_error(masses.y, masses.predictions["DZ28"], yerr=masses.yerr)
    assert page.locator("#sentence").inner_text() == s.sentence()
    assert number(page, "expected") == str(s) and number(page, "truth") == str(s.truth)
    assert number(page, "perfect") == str(s.perfect) and number(page, "remeasured") == str(s.remeasured())


def test_switching_model_and_metric(watched, masses_page):
    page = watched.visit(masses_page)
    before = page.locator("#points .dots").first.get_attribute("d")
    page.get_by_label("Model", exact=True).select_option("FRDM2012")
    s = sb.root_mean_squared_error(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr)
    assert number(page, "truth") == str(s.truth)
    assert page.locator("#score-title").inner_text() == "Root mean squared error of FRDM2012"
    assert page.locator("#points .dots").first.get_attribute("d") != before
    page.get_by_label("Metric", exact=True).select_option("Mean error (bias)")
    s = sb.mean_error(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr)
    assert number(page, "expected") == str(s).replace("-", "−")
    assert page.locator(".contest").first.is_hidden()
    page.locator("#forest").get_by_role("button", name="HFB26").click()
    assert page.locator("#score-title").inner_text() == "Mean error (bias) of HFB26"
    assert page.get_by_label("Model", exact=True).input_value() == "1"
    page.get_by_label("Metric", exact=True).select_option("Explained variance")
    assert page.locator("#heavy-title").inner_text() == "Labels with the largest residuals"
    assert watched.said == []


def test_hover_tells_label_error_and_share(watched, masses_page):
    page = watched.visit(masses_page)
    residual = masses.predictions["DZ28"] - masses.y
    heaviest = int(np.argmax(np.abs(residual)))
    tip = page.locator("#point-tip")
    assert tip.is_hidden()
    mark = page.locator("#points .dots.heavy").get_attribute("d")
    x, y = (float(part) for part in mark[1 : mark.index("h")].split())
    page.locator("#points").hover(position={"x": x, "y": y})
    said = tip.inner_text()
    assert masses.ids[heaviest] in said
    assert f"{residual[heaviest] ** 2 / np.sum(residual**2):.2%}".replace("%", " %") in said
    assert "label " in said and "±" in said and "times the label's error" in said
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_a_tap_shows_the_tip_until_another_tap(phone, masses_page, classes_page):
    page = phone.visit(masses_page)
    mark = page.locator("#points .dots.heavy").get_attribute("d")
    x, y = (float(part) for part in mark[1 : mark.index("h")].split())
    page.locator("#points").tap(position={"x": x, "y": y})
    first = page.locator("#heavy button").first.inner_text()
    assert page.locator("#point-tip .id").inner_text() == first
    page.locator("#law-title").tap()
    assert page.locator("#point-tip").is_hidden()
    page.locator("#heavy button").nth(1).tap()
    assert page.locator("#point-tip .id").inner_text() == page.locator("#heavy button").nth(1).inner_text()
    page = phone.visit(classes_page)
    page.locator("#matrix").tap(position={"x": 100, "y": 100})
    assert "predicted" in page.locator("#matrix-tip").inner_text()
    assert phone.said == []


def test_a_cut_table_says_that_it_scrolls(phone, watched, masses_page):
    page = phone.visit(masses_page)
    hint = "(table) => getComputedStyle(table, '::before').content"
    assert "Scroll sideways" in page.locator(".scroll:has(.all)").evaluate(hint)
    wide = watched.visit(masses_page)
    assert wide.locator(".scroll:has(.forest)").evaluate(hint) == "none"


CROSSED = """() => [...document.querySelectorAll("#law .said")].filter((text) => {
    const a = text.getBoundingClientRect();
    return [...document.querySelectorAll("#law .rule")].some((line) => {
        const b = line.getBoundingClientRect();
        return b.left < a.right && b.right > a.left && b.top < a.bottom - 2 && b.bottom > a.top + 2;
    });
}).map((text) => text.textContent)"""


@pytest.mark.parametrize("width", [1200, 390])
def test_the_curve_of_each_answer_crosses_no_name(watched, masses_page, width):
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.visit(masses_page)
    assert page.locator("input[name=answer]:checked").input_value() == "truth"
    for metric in ("Root mean squared error", "Mean error (bias)"):
        page.get_by_label("Metric", exact=True).select_option(metric)
        for name in ("truth", "expected", "remeasured", "perfect"):
            page.locator(f"input[name=answer][value={name}]").check()
            assert page.locator(f"#law .law.{name}").count() == 1 and page.locator(f"#law .mark.{name}").count() == 1
            assert page.locator("#law .said").count() == 5
            assert page.evaluate(CROSSED) == []
    assert watched.said == []


def test_keys_step_through_the_labels(watched, masses_page):
    page = watched.visit(masses_page)
    first, second = page.locator("#heavy button").all_inner_texts()[:2]
    page.locator("#points").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#point-tip .id").inner_text() == first
    page.keyboard.press("ArrowRight")
    assert page.locator("#point-tip .id").inner_text() == second
    page.keyboard.press("ArrowLeft")
    assert page.locator("#point-tip .id").inner_text() == first
    page.keyboard.press("Escape")
    assert page.locator("#point-tip").is_hidden()


def test_residuals_and_predictions(watched, masses_page):
    page = watched.visit(masses_page)
    assert page.locator("#points .axis-name").last.text_content() == "prediction − label"
    page.get_by_label("predictions").check()
    assert page.locator("#points .axis-name").last.text_content() == "prediction"
    assert watched.said == []


def test_confusion_matrix(watched, classes_page):
    page = watched.visit(classes_page)
    data = sb.datasets.load_cifar10_label_errors()
    c = sb.confusion_matrix(data.y, data.predictions["cross_validated"], yerr=0.02)
    assert page.locator("#matrix .cell").count() == 100
    assert page.locator("#matrix .cell-text").first.text_content() == f"{c.expected[0, 0]:.0f}"
    page.get_by_label("observed").check()
    assert page.locator("#matrix .cell-text").first.text_content() == str(c.observed[0, 0])
    page.locator("#matrix").focus()
    page.keyboard.press("ArrowRight")
    assert "label 0, predicted 0" in page.locator("#matrix-tip").inner_text()
    page.keyboard.press("ArrowRight")
    assert "label 0, predicted 1" in page.locator("#matrix-tip").inner_text()
    assert watched.said == []


@pytest.mark.parametrize("name", ["numbers.html", "classes.html"])
def test_a_hostile_file_is_only_text(watched, hostile_page, name):
    page = watched.visit(hostile_page / name)
    page.wait_for_timeout(200)
    if name == "numbers.html":
        page.get_by_label("Model", exact=True).select_option("javascript:alert(1)")
        page.locator("#points").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#point-tip .id").inner_text().startswith("</script><img")
    else:
        page.locator("#matrix").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert "</script><img" in page.locator("#matrix-tip").inner_text()
    assert page.locator("h1").inner_text() == EVIL
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, b b").count() == 0
    assert watched.said == [] and watched.asked == [(hostile_page / name).as_uri()]


def test_the_policy_stops_what_is_not_ours(watched, masses_page):
    """Even markup that got in would not run."""
    page = watched.visit(masses_page)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked = 1'}))")
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in watched.said)


@pytest.mark.parametrize("width", [1200, 760, 360])
def test_nothing_sticks_out(watched, masses_page, width):
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.visit(masses_page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = """() => [...document.querySelectorAll("#law text, #points text, .line text")].filter((text) => {
        const [a, b] = [text.getBoundingClientRect(), text.closest("section").getBoundingClientRect()];
        return a.width && (a.left < b.left || a.right > b.right);
    }).map((text) => text.textContent)"""
    assert page.evaluate(outside) == []


def test_print(watched, masses_page, tmp_path):
    page = watched.visit(masses_page)
    page.emulate_media(media="print")
    assert page.locator(".controls").is_hidden()
    assert page.locator("table.all").is_visible() and page.locator("#law svg").is_visible()
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    written = (tmp_path / "report.pdf").read_bytes()
    assert written.startswith(b"%PDF") and 2 <= written.count(b"/Type /Page\n") <= 8
    assert watched.said == []


def test_dark_text_stays_readable(browser, masses_page):
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(masses_page.as_uri())
        contrast = """(name) => {
            const shade = (text) => {
                const parts = text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
                const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const node = document.querySelector(name);
            const [a, b] = [getComputedStyle(node).color, getComputedStyle(document.querySelector("section")).backgroundColor];
            const [x, y] = [shade(a), shade(b)].sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05);
        }"""
        for name in ("p", ".quiet", ".question.expected strong", ".question.truth strong", ".question.remeasured strong",
                     ".question.perfect strong", "summary", "td button"):  # fmt: skip
            assert page.evaluate(contrast, name) >= 4.5, (scheme, name)
        page.close()


def test_without_script_all_numbers_are_there(browser, masses_page):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(masses_page.as_uri())
    assert page.locator("noscript p").is_visible() and page.locator(".controls").is_hidden()
    s = sb.root_mean_squared_error(masses.y, masses.predictions["DZ28"], yerr=masses.yerr)
    assert str(s.truth) in page.locator("table.all").inner_text()
    context.close()
