"""The page holds the numbers of the scores, needs nothing else, and shows texts as texts."""

import base64
import hashlib
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from report_pages import Page, policy

import scorebars as sb
from scorebars import report
from scorebars._shared.answer_colours import ANSWER_COLOURS

METRICS = ["root_mean_squared_error", "mean_error"]
EVIL = '</script><img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def masses():
    return sb.datasets.load_nuclear_masses()


@pytest.fixture(scope="module")
def two_models(masses):
    return {name: masses.predictions[name] for name in ("WS3_RBF", "DZ28")}


@pytest.fixture(scope="module")
def text(masses, two_models):
    return report.build(
        masses.y, two_models, yerr=masses.yerr, metrics=METRICS, title="Masses", command="scorebars evaluate x"
    )


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_every_answer_is_the_score_s(page, masses, two_models):
    for i, prediction in enumerate(two_models.values()):
        s = sb.root_mean_squared_error(masses.y, prediction, yerr=masses.yerr)
        told = page.data["scores"][i][0]
        values = {name: answer["value"] for name, answer in zip(sb_questions(), told["answers"], strict=True)}
        assert values == {
            "observed": s.observed,
            "expected": s.expected,
            "truth": float(s.truth),
            "remeasured": float(s.remeasured()),
            "perfect": float(s.perfect),
        }
        assert told["answers"][1]["text"] == str(s) and told["answers"][2]["text"] == str(s.truth)
        assert told["sentence"] == s.sentence()
        assert (told["answers"][1]["low"], told["answers"][1]["high"]) == s.interval(0.95)
        assert told["method"] == s.method
        assert told["explained"] == [x for x in s.explain().splitlines() if not x.startswith("Warning")]


def sb_questions():
    return ["observed", "expected", "truth", "remeasured", "perfect"]


def test_level_reaches_all_intervals(masses):
    data = Page(
        report.build(masses.y, masses.predictions["DZ28"], yerr=masses.yerr, metrics="mean_error", level=0.5)
    ).data
    s = sb.mean_error(masses.y, masses.predictions["DZ28"], yerr=masses.yerr)
    answers = data["scores"][0][0]["answers"]
    assert (answers[1]["low"], answers[1]["high"]) == s.interval(0.5)
    assert (answers[2]["low"], answers[2]["high"]) == s.truth.interval(0.5)
    assert data["level"] == "50 %"


def test_the_curve_is_the_density(page, masses, two_models):
    law = page.data["scores"][0][0]["law"]
    s = sb.root_mean_squared_error(masses.y, two_models["WS3_RBF"], yerr=masses.yerr)
    x = np.linspace(law["low"], law["high"], len(law["height"]))[8:-8:12]
    height = np.asarray(law["height"])[8:-8:12]
    density = np.asarray(s.distribution.pdf(x))
    # one factor brings the curve to the density everywhere
    factor = density.max() / height[density.argmax()]
    assert np.allclose(height * factor, density, atol=0.01 * density.max())


def test_chances_are_those_of_compare(page, masses, two_models):
    contest = page.data["contests"][0]
    assert contest["leader"] == 0 and page.data["contests"][1] is None
    sampled = sb.compare(masses.y, two_models, yerr=masses.yerr, sampling=True)
    assert contest["items"] == [None, round(sampled.probability("WS3_RBF", "DZ28"), 4)]


def test_nothing_is_loaded_and_only_our_script_runs(text, page):
    for tag, attributes in page.tags:
        assert not {"src", "href", "style"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert tag not in {"link", "img", "iframe", "object", "base"}
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy(text) and "default-src 'none'" in policy(text)
    assert "unsafe" not in policy(text)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", script)


def test_same_input_same_bytes(text, masses, two_models):
    again = report.build(
        masses.y, two_models, yerr=masses.yerr, metrics=METRICS, title="Masses", command="scorebars evaluate x"
    )
    assert again == text


def test_texts_of_the_data_are_texts():
    y, p = np.arange(12.0), np.arange(12.0) + 0.3
    text = report.build(
        y, {EVIL: p, "b": p + 1}, yerr=0.1, ids=[EVIL] * 12, title=EVIL, command=EVIL, source=EVIL, metrics="mean_error"
    )
    page = Page(text)
    assert page.data["models"][0] == EVIL and page.data["points"]["ids"][0] == EVIL
    assert page.texts["h1"] == EVIL and page.texts["command"] == EVIL
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 2


def test_the_headline_is_the_result_and_whether_to_believe_it(page, masses, two_models):
    """The best model was fitted to these labels: that is said at once, and at the model."""
    assert page.data["models"] == ["WS3_RBF", "DZ28"]
    rbf, dz = (sb.root_mean_squared_error(masses.y, p, yerr=masses.yerr) for p in two_models.values())
    assert f"Root mean squared error: WS3_RBF is best, with {rbf.truth} against the true" in page.texts["result"]
    assert "Beware of WS3_RBF" in page.texts["warning"] and "probably fitted to these labels" in page.texts["warning"]
    assert f"The best model without this warning is DZ28, with {dz.truth}" in page.texts["more"]
    doubts = [check["too_good"] for check in page.data["checks"]]
    assert doubts[1] == "" and "fitted to these labels" in doubts[0] and page.texts["sentence-doubt"] == doubts[0]
    assert page.texts["badge"] == "too good?" * 2  # one row of each metric


def test_models_stand_best_first(masses, two_models):
    turned = dict(reversed(two_models.items()))
    assert Page(report.build(masses.y, turned, yerr=masses.yerr, metrics=METRICS)).data["models"] == ["WS3_RBF", "DZ28"]
    scored = Page(report.build([1, 0, 1, 1], {"a": [1, 1, 0, 1], "b": [1, 0, 1, 0]}, yerr=0.1, task="classification"))
    assert scored.data["models"] == ["b", "a"] and "Accuracy: b is best" in scored.texts["result"]


def test_every_number_has_its_unit(masses, two_models):
    metrics = ["mean_squared_error", "mean_error", "r2_score"]
    page = Page(report.build(masses.y, two_models, yerr=masses.yerr, metrics=metrics, unit="MeV"))
    assert [metric["unit"] for metric in page.data["metrics"]] == ["MeV²", "MeV", ""]
    for metric, score in zip(page.data["metrics"], page.data["scores"][1], strict=True):
        texts = [answer["text"] for answer in score["answers"] if answer["value"] is not None]
        assert all(text.endswith(f" {metric['unit']}" if metric["unit"] else (")", *"0123456789")) for text in texts)
        assert f" {metric['unit']} as observed" in score["sentence"] or not metric["unit"]
    assert page.texts["result"].count("MeV²") == 2 and page.texts["sentence"] == page.data["scores"][0][0]["sentence"]


def test_both_intervals_of_the_truth(page, masses, two_models):
    s = sb.root_mean_squared_error(masses.y, two_models["DZ28"], yerr=masses.yerr)
    total = page.data["scores"][1][0]["total"]
    assert (total["low"], total["high"]) == s.truth.total_interval(0.95)
    assert page.data["scores"][0][0]["total"] is None  # of WS3_RBF the sample adds nothing


def test_a_comparison_of_any_metric_is_shown(masses, two_models):
    comparison = sb.compare(masses.y, two_models, yerr=masses.yerr, metric="mean_absolute_error")
    page = Page(report.build(masses.y, two_models, yerr=masses.yerr, comparison=comparison))
    contest = page.data["contests"][0]
    assert [metric["name"] for metric in page.data["metrics"]] == ["mean_absolute_error"]
    assert contest["labels"] == [None, round(comparison.probability("WS3_RBF", "DZ28"), 4)]
    assert page.texts["contest-sentence"] == comparison.sentence()
    with pytest.raises(ValueError, match="comparison is by mean_absolute_error, but the page shows mean_error"):
        report.build(masses.y, two_models, yerr=masses.yerr, metrics="mean_error", comparison=comparison)


def test_answers_have_the_colours_of_the_figures(text):
    for name, colour in ANSWER_COLOURS.items():
        assert text.count(f"--{name}: {colour.light};") == 2 and text.count(f"--{name}: {colour.dark};") == 1


def test_the_reference_is_complete(text):
    for part in (
        "eprint        = {2209.15588}",
        "year          = {2022}",
        "doi           = {10.48550/arXiv.2209.15588}",
    ):
        assert part in text


def test_code_for_a_file_runs_as_it_stands(tmp_path, monkeypatch):
    y = np.linspace(1, 5, 20)
    rows = [f"{label},{0.1},{label + 0.2},{label - 0.3}" for label in y]
    (tmp_path / "my data.csv").write_text("\n".join(["mass,err,near,far's", *rows]))
    roles = {"y": "mass", "yerr": "err", "predictions": ("near", "far's"), "weight": None, "by": None}
    given = {"yerr": 0.1, "source": "my data.csv", "columns": roles}
    metrics = ["mean_error", sb.mean_absolute_error, partial(sb.fraction_within, tolerance=0.25)]
    models = {"near": y + 0.2, "far's": y - 0.3}
    code = Page(report.build(y, models, metrics=metrics, unit="MeV", **given)).texts["code"]
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "fraction_within" in done.stdout and "mean_absolute_error" in done.stdout and "0.20" in done.stdout
    assert (
        "Mean error (bias) against the true values behind 20 labels" in done.stdout
        and " MeV as observed" in done.stdout
    )


def test_methods_paragraph_and_code(page):
    said = page.texts["methods"]
    for part in (
        "2 models",
        "2149 labels",
        f"scorebars {sb.__version__}",
        "Root mean squared error",
        "Michelucci",
        "95%",
    ):
        assert part in said
    assert "found exactly." in said
    assert "yerr=yerr" in page.texts["code"] and "sample_weight" not in page.texts["code"]
    assert page.texts["command"] == "scorebars evaluate x"


def test_code_of_a_shipped_data_set_makes_the_page_again(tmp_path, monkeypatch):
    data = sb.datasets.load_sampl7_logp()
    first = report.build(data.y, data.predictions, yerr=data.yerr, metrics="mean_error", source="dataset:sampl7_logp")
    code = Page(first).texts["code"]
    assert "sb.datasets.load_sampl7_logp()" in code
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    again = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert again.data == Page(first).data
    other = Page(report.build(data.y, {"a": data.y + 1}, yerr=1.0, metrics="mean_error", source="dataset:sampl7_logp"))
    assert "load_" not in other.texts["code"]


def test_save_is_whole_or_nothing(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="y_pred"):
        report.save(path, [1.0, 2.0], [1.0, np.nan])
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["report.html"]
    with pytest.warns(UserWarning, match="an older file was replaced"):
        report.save(path, [1.0, 2.0, 4.0], [1.0, 2.5, 3.0], yerr=0.2, title="ü")
    assert Page(path.read_text(encoding="utf-8")).texts["h1"] == "ü" and os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "nowhere" / "report.html", [1.0, 2.0], [1.0, 2.5])


def test_many_models_keep_the_best(masses):
    models = {f"m{k}": masses.predictions["DZ28"] + k for k in range(30)}
    page = Page(report.build(masses.y, models, yerr=masses.yerr, metrics="mean_error"))
    assert page.data["models"] == [f"m{k}" for k in range(24)]
    assert "6 more models were scored" in page.texts["lede"] and "30 models were scored" in page.texts["methods"]


def test_a_single_column_is_a_column():
    y, p = np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.3, 3.8])
    flat = report.build(y, p, yerr=0.2, metrics="mean_error")
    assert report.build(y, {"model": p[:, None]}, yerr=0.2, metrics="mean_error") == flat
    assert report.build(y[:, None], p[:, None], yerr=0.2, metrics="mean_error") == flat
    two = Page(report.build(y, np.stack([p, p + 1], axis=1), yerr=0.2, metrics="mean_error")).data
    assert two["models"] == ["model 1", "model 2"] and two["points"]["models"][1]["residual"][0] == pytest.approx(1.1)


def test_without_errors_nothing_is_said_of_label_errors():
    page = Page(report.build([1.0, 2.0, 4.0], {"a": [1.1, 2.3, 3.8], "b": [2.0, 2.9, 4.2]}, metrics=METRICS))
    assert page.texts["result"] == "Root mean squared error: a is best, with 0.216025, the labels taken as exact."
    assert page.texts["more"].endswith("(sample).") and "labels alone" not in page.texts["more"]


def test_without_errors(page):
    data = Page(report.build([1.0, 2.0, 4.0], [1.1, 2.3, 3.8], metrics=METRICS)).data
    assert data["points"]["lower"] is None and data["scores"][0][0]["law"] is None and data["checks"] == [None]
    assert "No label errors were given" in data["notes"][0]
    assert page.data["notes"] == []


def test_what_does_not_exist_is_said():
    data = Page(report.build([1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2, metrics="mean_absolute_percentage_error")).data
    assert data["scores"][0][0]["answers"][1]["value"] is None
    assert any("mean_absolute_percentage_error" in note or "percentage" in note for note in data["notes"])
    coins = Page(report.build(["a", "b", "b"], ["a", "b", "a"], yerr=0.5, metrics="accuracy_score")).data
    truth = coins["scores"][0][0]["answers"][2]
    assert truth["value"] is None and truth["text"] == "cannot be estimated" and "0.5" in truth["note"]


def test_bad_input():
    with pytest.raises(ValueError, match=r"level must be a probability strictly between 0 and 1, got 95"):
        report.build([1.0, 2.0], [1.0, 2.5], level=95)
    with pytest.raises(ValueError, match=r"ids has 3 entries but y_true has 2 labels. Give one id for each label."):
        report.build([1.0, 2.0], [1.0, 2.5], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"y_true has shape \(2, 2\), but one output is drawn at a time"):
        report.build(np.eye(2), {"a": np.eye(2)}, metrics="mean_squared_error")


def test_jinja2_is_loaded_when_asked_for_and_missed_by_name():
    code = "import sys; sys.modules['jinja2'] = None\nimport scorebars as sb\nfrom scorebars import report\n"
    code += "try: report.build([1.0, 2.0], [1.0, 2.5])\nexcept ImportError as why: print(why)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "the report needs jinja2: pip install 'scorebars[report]'"
