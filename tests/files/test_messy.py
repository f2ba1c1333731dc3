"""Every messy file is understood, and that is said, or it is asked about: on the command line and by sb.evaluate(path)."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import scorebars as sb
from scorebars.cli.app import app
from scorebars.files.problem import as_keywords

sys.path.insert(0, str(Path(__file__).parent))
from make_messy import FILES

pytestmark = pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")  # of so few labels
UNDERSTOOD = [case for case in FILES if case.models]
ASKED = [case for case in FILES if not case.models]
CASES = {"ids": lambda case: case.name}


def test_there_are_many():
    assert len(FILES) >= 40
    assert len({case.name for case in FILES}) == len(FILES)
    assert all(bool(case.models) != bool(case.asks) for case in FILES)


def errors_of(case):
    if not isinstance(case.yerr, tuple):
        return case.yerr
    kind, values, *labels = case.yerr
    make = {
        "repeats": sb.Repeats,
        "votes": sb.Votes,
        "shares": sb.LabelProbabilities,
        "cov": lambda m: sb.Normal(cov=m),
    }
    return make[kind](values, *labels)


def metric_of(case):
    """A metric of the task that must be guessed, and its scores from the arrays that must be understood."""
    yerr = errors_of(case)
    labels = yerr.labels() if case.y is None else case.y
    predictions = next(iter(case.models.values()))
    if isinstance(labels[0], str | np.str_):
        name = "accuracy_score"
    elif all(isinstance(value, int | np.integer) for value in labels):
        name = "accuracy_score" if isinstance(predictions[0], int) else "brier_score_loss"
        name = "root_mean_squared_error" if min(labels) < 0 or max(labels) > 9 else name
    else:
        name = "root_mean_squared_error"
    y = None if case.y is None else np.asarray(case.y)
    return name, {model: getattr(sb, name)(y, np.asarray(p), yerr=yerr) for model, p in case.models.items()}


def needs_libraries(case):
    if case.name.endswith((".xlsx", ".ods")):
        pytest.importorskip("python_calamine")


def with_path(options, folder):
    return {key: str(folder / value) if key == "cov" else value for key, value in options.items()}


def on_command_line(case, tmp_path, monkeypatch):
    needs_libraries(case)
    monkeypatch.setenv("COLUMNS", "1000")
    flags = [
        text
        for key, value in with_path(case.options, tmp_path).items()
        for text in (f"--{key.replace('_', '-')}", str(value))
    ]
    path = case.write(tmp_path)
    return CliRunner().invoke(app, ["evaluate", str(path), *flags, "--json"], prog_name="scorebars")


def in_python(case, tmp_path):
    needs_libraries(case)
    path = case.write(tmp_path)
    return sb.evaluate(path, **with_path(case.options, tmp_path))


@pytest.mark.parametrize("case", UNDERSTOOD, **CASES)
def test_understood_on_the_command_line(case, tmp_path, monkeypatch):
    done = on_command_line(case, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    name, expected = metric_of(case)
    rows = [row for row in found["scores"] if row["metric"] == name]
    assert [row["model"] for row in rows] == list(expected)
    for row in rows:
        score = expected[row["model"]]
        assert row["observed"] == pytest.approx(score.observed, rel=1e-12)
        assert row["expected"] == pytest.approx(score.expected, rel=1e-12)
        assert row["std"] == pytest.approx(score.std, rel=1e-9)
    assert found["omitted"] == case.omitted
    assert case.says in done.stderr


@pytest.mark.parametrize("case", UNDERSTOOD, **CASES)
def test_understood_by_evaluate(case, tmp_path):
    found = in_python(case, tmp_path)
    name, expected = metric_of(case)
    assert found.models == list(expected)
    for model, score in expected.items():
        assert found[model, name].observed == pytest.approx(score.observed, rel=1e-12)
        assert found[model, name].expected == pytest.approx(score.expected, rel=1e-12)
    assert found.omitted == case.omitted
    assert as_keywords(case.says) in found.assumed


@pytest.mark.parametrize("case", ASKED, **CASES)
def test_asked_on_the_command_line(case, tmp_path, monkeypatch):
    done = on_command_line(case, tmp_path, monkeypatch)
    assert done.exit_code == 2, done.stdout
    assert case.asks in " ".join(done.stderr.split())
    assert done.stdout == ""


@pytest.mark.parametrize("case", ASKED, **CASES)
def test_asked_by_evaluate(case, tmp_path):
    with pytest.raises(ValueError, match=re.escape(as_keywords(case.asks))):
        in_python(case, tmp_path)
