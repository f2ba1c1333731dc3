"""What each verb says: its numbers are the library's, its exit code the documented one."""

import csv
import io
import json
import re

import numpy as np
import pytest
from small_table import TABLE, write_csv

import scorebars as sb

Y, YERR = np.array(TABLE["y"]), np.array(TABLE["y_err"])
MODELS = {name: np.array(TABLE[f"pred_{name}"]) for name in ("drop", "shell")}


def test_evaluate_is_the_library(run, masses):
    found = json.loads(run("evaluate", masses, "--json", "--by", "shell").stdout)
    expected = sb.evaluate(Y, MODELS, yerr=YERR, by=TABLE["shell"])
    rows = json.loads(expected.to_json())["scores"]
    assert found["scores"] == rows
    assert (found["schema"], found["n"], found["level"], found["source"]) == (
        "scorebars/evaluation/1",
        12,
        0.95,
        "masses.csv",
    )


def test_level(run, masses):
    found = json.loads(run("evaluate", masses, "--json", "-m", "mse", "--pred", "pred_drop", "--level", "0.68").stdout)
    score = sb.mean_squared_error(Y, MODELS["drop"], yerr=YERR)
    row = found["scores"][0]
    assert (row["interval_low"], row["interval_high"]) == score.interval(0.68)
    assert (row["truth_low"], row["truth_high"]) == score.truth.interval(0.68)
    assert (row["remeasured_low"], row["remeasured_high"]) == score.remeasured().interval(0.68)
    assert (row["perfect_low"], row["perfect_high"]) == score.perfect.interval(0.68)
    assert "--level must be a probability" in run("evaluate", masses, "--level", "95").stderr


def test_csv_output(run, masses):
    rows = list(csv.DictReader(io.StringIO(run("evaluate", masses, "--csv", "-m", "rmse", "-m", "mae").stdout)))
    assert [(row["model"], row["metric"]) for row in rows] == [
        (model, metric) for model in ("drop", "shell") for metric in ("root_mean_squared_error", "mean_absolute_error")
    ]
    assert float(rows[0]["truth"]) == float(sb.root_mean_squared_error(Y, MODELS["drop"], yerr=YERR).truth)


def test_weights_and_constant_error(run, tmp_path, table):
    table["weight"] = list(range(1, 13))
    path = write_csv(tmp_path / "t.csv", table)
    found = json.loads(run("evaluate", path, "--json", "-m", "mae", "--yerr", "0.2", "--pred", "pred_drop").stdout)
    expected = sb.mean_absolute_error(Y, MODELS["drop"], yerr=0.2, sample_weight=np.arange(1, 13))
    assert found["scores"][0]["expected"] == float(expected)


def test_classes(run, classes):
    found = json.loads(run("evaluate", classes, "--json", "-m", "accuracy").stdout)
    with classes.open() as file:
        rows = list(csv.DictReader(file))
    label, q, guess = ([row[k] for row in rows] for k in ("label", "flip_prob", "pred_net"))
    expected = sb.accuracy_score(label, guess, yerr=np.array(q, float))
    assert found["scores"][0]["expected"] == float(expected)
    assert found["scores"][0]["truth"] == float(expected.truth)


def test_predicted_probabilities_are_judged_as_such(run, tmp_path):
    rng = np.random.default_rng(1)
    p = rng.random(40)
    label = (rng.random(40) < p).astype(int)
    path = write_csv(tmp_path / "p.csv", {"label": label, "q": [0.05] * 40, "pred_net": p})
    found = {row["metric"]: row for row in json.loads(run("evaluate", path, "--json").stdout)["scores"]}
    assert found["brier_score_loss"]["expected"] == pytest.approx(float(sb.brier_score_loss(label, p, yerr=0.05)))
    assert "log_loss" in found


def test_the_positive_class_of_two(run, tmp_path):
    label, guess = ["spam", "ham", "spam", "ham", "spam"], ["spam", "spam", "spam", "ham", "ham"]
    path = write_csv(tmp_path / "p.csv", {"label": label, "q": [0.1] * 5, "pred": guess})
    asked = run("evaluate", path, "-m", "precision")
    assert asked.exit_code == 2
    assert "--positive CLASS says which one counts as positive." in " ".join(asked.stderr.split())
    for positive in ("spam", "ham"):
        found = json.loads(run("evaluate", path, "-m", "precision", "--positive", positive, "--json").stdout)
        expected = sb.precision_score(label, guess, yerr=0.1, pos_label=positive)
        assert found["scores"][0]["expected"] == pytest.approx(float(expected), rel=1e-12)
    refused = run("evaluate", path, "--positive", "eggs")
    assert "--positive 'eggs' must be one of two classes; the labels and predictions hold ham, spam." in refused.stderr


def test_wrong_probability_of_a_wrong_label(run, tmp_path):
    path = write_csv(tmp_path / "p.csv", {"label": ["a", "b"], "q": [0.1, 1.5], "pred": ["a", "a"]})
    assert "column 'q' is not between 0 and 1 in row 2 (line 3 of p.csv): 1.5." in run("evaluate", path).stderr


@pytest.mark.parametrize("sampling", [False, True])
def test_compare_is_the_library(run, masses, sampling):
    flags = ["--sampling"] if sampling else []
    found = json.loads(run("compare", masses, "--json", "--against", "drop", *flags).stdout)
    expected = sb.compare(Y, MODELS, yerr=YERR, sampling=sampling)
    row = next(row for row in found["models"] if row["model"] == "shell")
    assert row["difference"] == float(expected.difference("shell", "drop"))
    assert row["probability_better"] == expected.probability("shell", "drop")
    assert row["verdict"] == expected.verdict("shell", "drop")
    assert found["sampling"] is sampling
    assert sum(row["probability_best"] for row in found["models"]) == pytest.approx(1.0)


def test_compare_refuses(run, masses):
    assert (
        "--against: there is no model 'x'. The models are: drop, shell."
        in run("compare", masses, "--against", "x").stderr
    )
    assert "only one was given" in run("compare", masses, "--pred", "pred_drop").stderr


def test_compare_one_line_a_model(run):
    found = run("compare", "dataset:sampl7_logp", "--csv", "-q")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert len(rows) == 36
    assert [row["against"] for row in rows] == [rows[0]["against"]] * 36


def test_check_ends_with_1_where_something_is_odd(run, masses):
    done = run("check", masses, "--json")
    assert done.exit_code == 1
    expected = sb.check_errors(Y, MODELS["shell"], yerr=YERR)
    row = json.loads(done.stdout)["models"][1]
    assert row["warnings"] == expected.warnings
    assert row["verdict"] == expected.verdict
    assert expected.verdict in run("check", masses).stdout
    assert row["reduced_chi_squared"] == expected.reduced_chi_squared


def test_check_ends_with_0_where_nothing_is(run, tmp_path):
    rng = np.random.default_rng(0)
    truth, sigma = rng.normal(size=200), rng.uniform(0.5, 1.5, 200)
    model = truth + 2.0 * rng.normal(size=200)
    path = write_csv(tmp_path / "t.csv", {"y": truth + sigma * rng.normal(size=200), "sigma": sigma, "pred": model})
    done = run("check", path)
    assert done.exit_code == 0, done.stdout
    assert "Nothing odd about these errors." in done.stdout


def test_check_refuses(run, classes, masses):
    assert "the labels of this file are classes" in run("check", classes).stderr
    assert "has no column of label errors" in run("check", masses, "--yerr", "none").stderr


def test_plan_from_variances(run):
    arguments = ["--difference", 0.15, "--sampling-variance", 2, "--measurement-variance", 8, "--cost-label", 5]
    found = json.loads(run("plan", *arguments, "--json").stdout)
    expected = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5)
    assert (found["labels"], found["repeats"], found["cost"]) == (expected.labels, expected.repeats, expected.cost)
    chosen = next(row for row in found["alternatives"] if row["chosen"])
    assert (chosen["labels"], chosen["cost"]) == (expected.labels, expected.cost)
    assert min(row["cost"] for row in found["alternatives"]) == expected.cost
    assert "Measure 1868 labels, 4 times each" in run("plan", *arguments).stdout


def test_plan_from_a_pilot(run):
    masses = sb.datasets.load_nuclear_masses()
    pair = {name: masses.predictions[name] for name in ("HFB26", "FRDM2012")}
    expected = sb.plan(masses.y, pair, yerr=masses.yerr)
    done = run("plan", "dataset:nuclear_masses", "--pred", "pred_HFB26", "--pred", "pred_FRDM2012", "--json")
    assert json.loads(done.stdout)["labels"] == expected.labels
    assert "but the file has 7" in run("plan", "dataset:nuclear_masses").stderr
    assert "plan needs pilot data (FILE) or" in run("plan", "--difference", 1).stderr


def test_plan_of_raters(run, classes):
    found = json.loads(run("plan", classes, "--json").stdout)
    assert all(row["repeats"] % 2 for row in found["alternatives"])


def test_demo(run):
    done = run("demo")
    assert done.exit_code == 0
    assert "FRDM2012" in done.stdout
    assert "scorebars compare dataset:nuclear_masses" in done.stderr
    assert "Warning: WS3_RBF: on the noisiest labels" in done.stderr
    assert "DZ28:" not in done.stderr


@pytest.mark.parametrize("verb", ["evaluate", "compare", "check"])
def test_errors_that_may_be_per_cent_are_asked_about(run, masses, verb):
    quiet = run(verb, masses, "--yerr", "20", "-q")
    asked = run(verb, masses, "--yerr", "20")
    assert "are these per cent" in " ".join((asked.stdout + asked.stderr).split())
    assert quiet.stderr == ""
    assert "are these per cent" not in run(verb, masses).stderr


def test_errors_of_zero_raise_no_doubt(run, masses):
    assert run("evaluate", masses, "--yerr", "0").exit_code == 0


def test_sentences(run, masses):
    rmse = sb.root_mean_squared_error(Y, MODELS["shell"], yerr=YERR)
    lines = run("evaluate", masses, "--sentence").stdout.split("\n\n")
    assert lines[0] == f"shell: {rmse.sentence()}"
    assert len(lines) == 2
    assert len(run("evaluate", masses, "--sentence", "-m", "mae", "-m", "r2").stdout.split("\n\n")) == 4
    assert "shell, heavy: " in run("evaluate", masses, "--by", "shell", "--sentence").stdout
    assert run("compare", masses, "--sentence").stdout == sb.compare(Y, MODELS, yerr=YERR).sentence() + "\n"
    one = run("evaluate", "dataset:nuclear_masses", "--pred", "pred_DZ28", "-m", "mse", "--sentence").stdout
    assert "(sample) MeV²; 0.1296 MeV² as observed" in one
    assert "exclude each other" in run("evaluate", masses, "--sentence", "--json").stderr


def test_the_best_model_comes_first_and_long_tables_say_that_they_are_cut(run):
    lines = run("evaluate", "dataset:sampl6_logp", "-m", "rmse", "-q").stdout.split("\n")
    assert lines[4].split()[0] == "hmz0n"
    assert lines[-2] == "... and 81 more rows; --csv and --json hold all"
    assert "more rows" in run("compare", "dataset:sampl7_logp", "-q").stdout


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120])
@pytest.mark.parametrize("verb", ["evaluate", "compare", "check"])
def test_no_width_loses_a_column(run, masses, monkeypatch, verb, width):
    monkeypatch.setenv("COLUMNS", "400")
    whole = run(verb, masses, "-q").stdout
    monkeypatch.setenv("COLUMNS", str(width))
    text = run(verb, masses, "-q").stdout
    assert max(map(len, text.split("\n"))) <= width
    for cell in re.split(r"\s{2,}", whole):
        if len(cell) < 20:
            assert cell in " ".join(text.split()) or cell in text


def test_datasets(run):
    rows = json.loads(run("datasets", "--json").stdout)["datasets"]
    masses = next(row for row in rows if row["name"] == "nuclear_masses")
    assert (masses["labels"], masses["models"], masses["errors"]) == (2149, 7, "one for each label")
    text = run("datasets").stdout
    assert all(f"dataset:{row['name']}" in text and row["licence"] in text for row in rows)
    assert "errors: none, 1 model\n" in text


def test_completion(monkeypatch, capsys):
    from scorebars.cli.app import app

    for name, value in {"COMP_WORDS": "scorebars explain rms", "COMP_CWORD": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_SCOREBARS_COMPLETE", "complete_bash")
    with pytest.raises(SystemExit):
        app(prog_name="scorebars")
    assert capsys.readouterr().out.split() == ["rmse", "rmsle"]


def test_explain_every_metric(run):
    listed = run("explain").stdout
    for name in ("root_mean_squared_error", "f1_score", "intrinsic_scatter"):
        assert name in listed
        text = run("explain", name).stdout
        assert getattr(sb, name).__doc__.split("\n")[0].split(",")[0] in " ".join(text.split())
        assert "\\" not in text
        assert ":math:" not in text
    assert "best at 0" in run("explain", "bias").stdout
    assert "against the true" not in run("explain", "perfect").stdout
    assert "Did you mean root_mean_squared_error" in " ".join(run("explain", "rmsee").stderr.split())


def test_every_formula_is_readable():
    """No LaTeX command is left in what explain shows of any metric."""
    import inspect

    from scorebars.cli.explain_command import UNDECLARED, sections
    from scorebars.cli.options import metric_names

    names = metric_names()

    for name in [*names, *UNDECLARED]:
        for kind, text in sections(inspect.getdoc(getattr(sb, name))):
            assert kind == "code" or not any(mark in text for mark in ("\\", ".. math", ":math:", "``")), (name, text)


def test_a_metric_with_other_options_has_another_heading(run, masses):
    found = run("evaluate", masses, "-m", "fraction_within:tolerance=0.5", "-m", "fraction_within:tolerance=2", "-q")
    assert "Fraction within tolerance (tolerance=0.5)  larger is better" in found.stdout
    assert "Fraction within tolerance (tolerance=2)  larger is better" in found.stdout


def test_metrics_with_options(run, masses):
    found = run("evaluate", masses, "-m", "fraction_within:tolerance=0.5", "--json")
    rows = json.loads(found.stdout)["scores"]
    expected = sb.fraction_within(Y, MODELS["drop"], tolerance=0.5, yerr=YERR)
    assert (rows[0]["metric"], rows[0]["expected"]) == ("fraction_within", expected.expected)
    found = run("evaluate", masses, "-m", "fraction_within")
    assert found.exit_code == 2
    assert "fraction_within needs its tolerance" in found.stderr
    found = run("evaluate", masses, "-m", "rmse:power=3")
    assert found.exit_code == 2
    assert "root_mean_squared_error has no option 'power=3'" in found.stderr


def test_options_that_are_listed_can_be_given(run, masses):
    found = run("evaluate", masses, "-m", "fraction_within:tol=3")
    assert "it has: tolerance." in " ".join(found.stderr.split())  # and not prederr, which comes with the data
    assert run("evaluate", masses, "-m", "fraction_within:tolerance=3").exit_code == 0


def test_calibrate(run, forecasts, masses, tmp_path):
    page = tmp_path / "page.html"
    done = run("calibrate", forecasts, "--json", "--report", page)
    assert done.exit_code == 1 and "ensemble runs: the 5 members pred_runs_1 to pred_runs_5" in " ".join(
        done.stderr.split()
    )
    assert "The PIT is the rank of the label among the 5 members" in " ".join(done.stderr.split())
    found = {row["model"]: row for row in json.loads(done.stdout)["models"]}
    table = np.genfromtxt(forecasts, delimiter=",", names=True)
    expected = sb.calibration(table["y"], (table["pred_gp"], table["pred_gp_std"]), yerr=table["y_err"])
    assert found["gp"] == {"model": "gp", **expected.to_dict()}
    assert [row["calibrated"] for row in found.values()] == [True, False, True]
    text = page.read_text(encoding="utf-8")
    assert text.count('<svg class="pit"') == 3 and "Are the forecasts&#39; error bars right?" in text.replace(
        "'", "&#39;"
    )
    right = run("calibrate", forecasts, "--pred", "pred_gp", "-q")
    assert right.exit_code == 0 and right.stderr == "" and "net" not in right.stdout
    label = run("calibrate", forecasts, "--pred", "pred_gp", "--claims", "label")
    assert label.exit_code == 1 and "ignored" not in label.stdout and "claims the label" in label.stderr
    for given, why in (
        ((masses,), "masses.csv has predictions but no forecasts: say --std COLUMN"),
        ((forecasts, "--claims", "both"), "--claims must be truth or label, got 'both'"),
        ((forecasts, "--std", "none", "--members", "none"), "has predictions but no forecasts"),
    ):
        refused = run("calibrate", *given)
        assert refused.exit_code == 2 and why in " ".join(refused.stderr.split())


def test_forecasts_in_other_verbs(run, forecasts):
    rows = json.loads(run("evaluate", forecasts, "--json").stdout)["scores"]
    assert {row["metric"] for row in rows} >= {"root_mean_squared_error", "r2_score", "crps"}
    table = np.genfromtxt(forecasts, delimiter=",", names=True)
    score = sb.crps(table["y"], (table["pred_gp"], table["pred_gp_std"]), yerr=table["y_err"])
    found = next(row for row in rows if (row["model"], row["metric"]) == ("gp", "crps"))
    assert found["observed"] == pytest.approx(score.observed) and found["truth"] == pytest.approx(float(score.truth))
    only = json.loads(run("evaluate", forecasts, "--members", "none", "--pred", "pred_gp", "--json").stdout)["scores"]
    assert "log_score" in {row["metric"] for row in only}
    assert sb.evaluate(str(forecasts)).metrics == [row["metric"] for row in rows if row["model"] == "gp"]
    ranked = run("compare", forecasts, "-m", "crps", "-q")
    assert ranked.exit_code == 0 and "Continuous ranked probability score" in ranked.stdout
    assert sb.compare(str(forecasts), metric="crps").metric == "crps"
    assert sb.compare(str(forecasts)).metric == "mean_squared_error"
    assert run("check", forecasts, "-q").exit_code in (0, 1)
    streamed = run("evaluate", forecasts, "--stream", "-m", "rmse")
    assert streamed.exit_code == 2 and "--no-stream" in streamed.stderr


def test_groups_are_the_sample(run, masses, table, tmp_path):
    lab = [f"lab {k // 3}" for k in range(12)]
    file = write_csv(tmp_path / "labs.csv", {**table, "lab": lab})
    found = json.loads(run("evaluate", file, "--json", "-m", "mse", "--groups", "lab").stdout)
    for row in found["scores"]:
        score = sb.mean_squared_error(Y, MODELS[row["model"]], yerr=YERR, groups=lab)
        assert row["truth_sampling_std"] == score.truth.sampling_std
    assert found["columns"]["groups"] == "lab"
    row = json.loads(run("compare", file, "--json", "--sampling", "--groups", "lab").stdout)["models"][1]
    expected = sb.compare(Y, MODELS, yerr=YERR, sampling=True, groups=lab).difference(row["model"], row["against"])
    assert row["std"] == expected.std
    assert "--groups needs all labels in memory" in run("evaluate", file, "--groups", "lab", "--stream").stderr
    assert "--groups" in run("evaluate", file, "--groups", "laboratory").stderr
