"""What if: each change of the form is the library's own, on the page, in the code and on the command line."""

import base64
import json
import shlex

import numpy as np
import pytest
from test_web_flows import same
from typer.testing import CliRunner
from web_tables import CLASS, CLASSES, GUESS, NUMBERS, SIGMA, SITE, A, B, Y, csv_bytes

import scorebars as sb

RMSE, MAE, WITHIN = "root_mean_squared_error", "mean_absolute_error", "fraction_within"
BOTH = {"a": A, "b": B}
KEPT = SITE != "north"
VIEW = {"y": "y", "pred": ["pred_a", "pred_b"], "yerr": "err", "metric": RMSE}
ABOVE = {name: (p > 5).astype(int) for name, p in BOTH.items()}
# what is changed, and what the library is asked instead
CHANGES = {
    "scaled": ({"scale_errors": "2"}, lambda: sb.evaluate(Y, BOTH, yerr=2 * SIGMA, metrics=[RMSE])),
    "none left": ({"scale_errors": "0"}, lambda: sb.evaluate(Y, BOTH, yerr=0 * SIGMA, metrics=[RMSE])),
    "systematic": (
        {"systematic": "0.2"},
        lambda: sb.evaluate(Y, BOTH, yerr=sb.Normal(SIGMA, shared=np.full((1, len(Y)), 0.2)), metrics=[RMSE]),
    ),
    "both": (
        {"scale_errors": "0.5", "systematic": "0.2"},
        lambda: sb.evaluate(Y, BOTH, yerr=sb.Normal(SIGMA / 2, shared=np.full((1, len(Y)), 0.2)), metrics=[RMSE]),
    ),
    "means of four": (
        {"measurements": "4"},
        lambda: sb.evaluate(Y, BOTH, yerr=sb.Repeats.from_means(sigma=SIGMA, n=4), metrics=[RMSE]),
    ),
    "set": (
        {"error_kind": "berkson"},
        lambda: sb.evaluate(Y, BOTH, yerr=sb.Normal(SIGMA, kind="berkson"), metrics=[RMSE]),
    ),
    "without a group": (
        {"exclude": ["site=north"]},
        lambda: sb.evaluate(Y[KEPT], {n: p[KEPT] for n, p in BOTH.items()}, yerr=SIGMA[KEPT], metrics=[RMSE]),
    ),
    "one model": ({"pred": "pred_b"}, lambda: sb.evaluate(Y, {"b": B}, yerr=SIGMA, metrics=[RMSE])),
    "other metrics": ({"metric": [MAE, "r2"]}, lambda: sb.evaluate(Y, BOTH, yerr=SIGMA, metrics=[MAE, "r2_score"])),
    "cut": (
        {"cut": "5", "metric": "accuracy_score"},
        lambda: sb.evaluate((Y > 5).astype(int), ABOVE, yerr=sb.Thresholded(Y, SIGMA, 5.0), metrics=["accuracy_score"]),
    ),
    "level": ({"level": "0.68"}, lambda: sb.evaluate(Y, BOTH, yerr=SIGMA, metrics=[RMSE])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_the_library_s(change, visitor, tmp_path, monkeypatch):
    asked, made = CHANGES[change]
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    found = visitor.json(f"{at}/result.json", {**VIEW, **asked})
    level = float(asked.get("level", 0.95))
    same(found["scores"], json.loads(json.dumps(made().to_dict(level)["scores"])))

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(csv_bytes(NUMBERS))
    space = {}
    exec(compile(found["code"], "code", "exec"), space)
    same(found["scores"], space.get("numbers", space["found"].to_dict())["scores"])

    from scorebars.cli.app import app

    done = CliRunner().invoke(app, [*shlex.split(found["command"])[1:], "--json", "-q"])
    assert done.exit_code == 0, done.stderr
    same(found["scores"], json.loads(done.stdout)["scores"])


def test_options_of_metrics_stand_apart_in_the_form(visitor):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    view = {**VIEW, "metric": WITHIN, "opt.fraction_within.tolerance": "0.5"}
    found = visitor.json(f"{at}/result.json", view)
    s = sb.fraction_within(Y, A, yerr=SIGMA, tolerance=0.5)
    assert found["scores"][0]["expected"] == s.expected and "tolerance=0.5" in found["command"]
    assert "needs its tolerance" in visitor.problem(f"{at}/result.json", {**VIEW, "metric": WITHIN})


def test_a_glance_at_one_score(visitor):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    asked = {**VIEW, "shown_model": "b", "shown_metric": RMSE, "anew": "4", "scale_errors": "2"}
    found = visitor.json(f"{at}/quick.json", asked)
    s = sb.root_mean_squared_error(Y, B, yerr=2 * SIGMA)
    assert found["answers"]["expected"]["text"] == str(s) and found["answers"]["truth"]["text"] == str(s.truth)
    assert found["answers"]["remeasured"]["text"] == str(s.remeasured(repeats=4))
    assert "not chosen" in visitor.problem(f"{at}/quick.json", {**asked, "shown_model": "c"})
    assert "whole number" in visitor.problem(f"{at}/quick.json", {**asked, "anew": "0"})


def test_a_glance_has_the_unit_that_the_page_has(visitor):
    asked = {
        "pred": "pred_DZ28",
        "shown_model": "DZ28",
        "metric": "mean_squared_error",
        "shown_metric": "mean_squared_error",
    }
    answers = visitor.json("/file/dataset:nuclear_masses/quick.json", asked)["answers"]
    assert [answer["text"].rpartition(" ")[2] for answer in answers.values()] == ["MeV²"] * 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale_errors": "-1"}, "at least 0"),
        ({"scale_errors": "many"}, "must be a number"),
        ({"scale_errors": "nan"}, "finite number"),
        ({"measurements": "0"}, "at least 1"),
        ({"measurements": "1.5"}, "whole number"),
        ({"level": "1"}, "strictly between 0 and 1"),
        ({"exclude": ["site=west"]}, "no row of t.csv has this value"),
        ({"exclude": ["west"]}, "write COLUMN=VALUE"),
        ({"exclude": ["site=north", "site=south", "site=east"]}, "no row of t.csv is left"),
        ({"yerr": "lo,hi", "systematic": "0.1"}, "needs normal errors"),
        ({"yerr": "none", "scale_errors": "2"}, "needs label errors"),
        ({"resolution": "0.5"}, "exclude each other"),
        ({"resolution": "0", "yerr": ""}, "above 0"),
        ({"checked": "3/60", "yerr": "", "metric": ""}, ""),
        ({"metric": "speed"}, "no metric"),
        ({"error_kind": "odd"}, "classical or berkson"),
        ({"task": "classification", "yerr": "0.1", "systematic": "0.1", "metric": ""}, "measured numbers"),
    ],
)
def test_what_cannot_be_is_said(visitor, change, message):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    said = visitor.problem(f"{at}/result.json", {**VIEW, **change})
    assert message in said and "--" not in said


def test_wrong_labels_scale_too(visitor):
    at = visitor.upload("c.csv", csv_bytes(CLASSES))
    view = {"y": "label", "pred": "pred_net", "yerr": "q", "scale_errors": "2", "metric": "accuracy_score"}
    found = visitor.json(f"{at}/result.json", view)
    s = sb.accuracy_score(CLASS, GUESS, yerr=2 * CLASSES["q"])
    assert found["scores"][0]["expected"] == pytest.approx(s.expected, rel=1e-12)
    assert "above 1" in visitor.problem(f"{at}/result.json", {**view, "scale_errors": "50"})


def test_the_page_offers_what_can_be_changed(visitor):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    page = visitor.get(f"{at}/result", {**VIEW, "pred": "pred_a", "exclude": "site=north"}).text
    for part in ('name="scale_errors" value="1"', 'name="systematic"', 'name="measurements"', 'name="cut"'):
        assert part in page, part
    assert 'name="pred" value="pred_a" checked' in page and 'name="pred" value="pred_b">' in page
    assert 'name="exclude" value="site=north" checked' in page and 'value="site=south">' in page
    assert f'name="metric" value="{RMSE}" checked' in page and 'name="opt.fraction_within.tolerance"' in page


def test_comparison_and_plan_are_those_of_the_command_line(visitor, tmp_path, monkeypatch):
    from scorebars.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(csv_bytes(NUMBERS))
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    view = {**VIEW, "scale_errors": "1.5"}
    for page, more in (
        ("compare", {"with_sampling": "1", "with_metric": MAE, "with_against": "b", "with_rope": "0.01"}),
        ("compare", {"level": "0.9"}),
        ("plan", {"with_goal": "difference"}),
        ("plan", {"with_goal": "std", "with_size": "0.05", "with_model": "b", "with_cost_label": "5"}),
    ):
        found = visitor.json(f"{at}/{page}.json", {**view, **more})
        assert visitor.get(f"{at}/{page}", {**view, **more}).status_code == 200
        done = CliRunner().invoke(app, [*shlex.split(found["command"])[1:], "--json", "-q"])
        assert done.exit_code == 0, done.stderr
        told = json.loads(done.stdout)
        assert {key: found[key] for key in told} == json.loads(json.dumps(told)), page
        space = {}
        exec(compile(found["code"], "code", "exec"), space)
        if page == "plan":
            assert (space["found"].labels, space["found"].repeats) == (found["labels"], found["repeats"])
            continue
        against = {row["model"]: row.get("difference") for row in found["models"]}
        other = next(model for model in against if model != found["against"])
        assert float(space["found"].difference(other, found["against"])) == against[other]
        assert space["found"].verdict(other, found["against"]) == found["models"][list(against).index(other)]["verdict"]
    assert "choose" in visitor.problem(f"{at}/plan.json", {**view, "with_goal": "std", "with_size": "0.1"})
    assert "at least two models" in visitor.problem(f"{at}/compare.json", {**view, "pred": "pred_a"})


def test_what_can_be_taken_along(visitor):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    evaluation = sb.evaluate(Y, BOTH, yerr=SIGMA, metrics=[RMSE])
    texts = {
        "table.tex": evaluation.to_latex(),
        "table.md": evaluation.to_markdown(),
        "sentence.txt": f"a: {evaluation['a', RMSE].sentence()}",
        "report.html": "<!DOCTYPE html>",
        "code.py": "import scorebars as sb",
        "command.sh": "scorebars evaluate t.csv --y y --yerr err",
        "scores.csv": "model,metric,",
        "scores.json": '"schema"',
        "distribution.svg": "<svg",
        "noise_budget.svg": "<svg",
        "parity.svg": "<svg",
        "forest.svg": "<svg",
    }
    for name, start in texts.items():
        answer = visitor.get(f"{at}/export/{name}", VIEW)
        assert answer.status_code == 200 and start in answer.text, name
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert visitor.get(f"{at}/export/distribution.png", VIEW).content.startswith(base64.b64decode("iVBORw0KGgo="))
    assert visitor.get(f"{at}/export/passwd", VIEW).status_code == 404
    rows = visitor.get(f"{at}/export/scores.csv", VIEW).text.splitlines()
    assert f"{evaluation['a', RMSE].expected}" in rows[1]


def test_labels_measured_anew_are_in_what_is_taken_along(visitor, tmp_path, monkeypatch):
    from scorebars.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(csv_bytes(NUMBERS))
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    view = {**VIEW, "anew": "4"}
    found = visitor.json(f"{at}/result.json", view)
    score = sb.root_mean_squared_error(Y, A, yerr=SIGMA)
    assert found["scores"][0]["remeasured"] == pytest.approx(float(score.remeasured(repeats=4)), rel=1e-12)
    done = CliRunner().invoke(app, [*shlex.split(found["command"])[1:], "--json", "-q"])
    assert json.loads(done.stdout)["scores"][0]["remeasured"] == found["scores"][0]["remeasured"]
    shown = CliRunner().invoke(app, [*shlex.split(found["command"])[1:], "-q"])
    assert (
        "again 4 times" in " ".join(shown.stdout.split())
        and str(score.remeasured(repeats=4)).split()[0] in shown.stdout
    )
    space = {}
    exec(compile(found["code"], "code", "exec"), space)
    assert space["numbers"]["scores"][0]["remeasured"] == found["scores"][0]["remeasured"]
    berkson = {**view, "error_kind": "berkson", "shown_model": "a", "shown_metric": found["scores"][0]["metric"]}
    answers = visitor.json(f"{at}/quick.json", berkson)["answers"]
    assert answers["remeasured"]["text"] == "cannot be estimated" and answers["remeasured"]["note"]
    for wrong in ("0", "1.5", "many", "10000000"):
        assert visitor.problem(f"{at}/result.json", {**VIEW, "anew": wrong})
