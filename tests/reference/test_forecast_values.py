"""Scores of forecasts against exact values of 30 digits, found by quadrature."""

import json
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb

CASES = json.loads((Path(__file__).parent / "reference_forecasts.json").read_text())["cases"]
FORECASTS = [case for case in CASES if case["metric"] in ("crps", "log_score")]
INTERVALS = [case for case in CASES if case["metric"] == "interval"]
EXACT = {"rel": 1e-10, "abs": 1e-14}


def by_id(case):
    return case["id"]


def forecast(inputs):
    if "members" in inputs:
        return sb.EnsembleForecast(inputs["members"])
    return sb.NormalForecast(inputs["mean"], inputs["std"])


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("case", FORECASTS, ids=by_id)
def test_scores(case, engine, monkeypatch):
    monkeypatch.setenv("SCOREBARS_ENGINE", engine)
    inputs, exact = case["inputs"], {name: float(value) for name, value in case["exact"].items()}
    options = {"estimator": inputs["estimator"]} if "estimator" in inputs else {}
    s = getattr(sb, case["metric"])(inputs["y"], forecast(inputs), yerr=inputs["sigma"], **options)
    found = {"observed": s.observed, "expected": s.expected, "variance": s.variance}
    if "truth_unbiased" in exact:
        found["truth_unbiased"] = float(s.truth)
        assert s.truth.method == "unbiased"
    if "perfect" in exact:
        found["perfect"] = float(s.perfect)
    if "observed_seen_through" in exact:
        seen = forecast(inputs).seen_through(inputs["sigma"])
        found["observed_seen_through"] = sb.crps(inputs["y"], seen).observed
    assert set(found) >= set(exact)
    for name, value in exact.items():
        assert found[name] == pytest.approx(value, **EXACT), name


@pytest.mark.parametrize("case", INTERVALS, ids=by_id)
def test_intervals(case):
    inputs, exact = case["inputs"], case["exact"]
    ends = inputs["y"], inputs["lower"], inputs["upper"]
    scores = {
        "interval_score": sb.interval_score(*ends, level=inputs["level"], yerr=inputs["sigma"]),
        "interval_coverage": sb.interval_coverage(*ends, yerr=inputs["sigma"]),
    }
    for metric, values in exact.items():
        for name, value in values.items():
            assert getattr(scores[metric], name) == pytest.approx(float(value), **EXACT), (metric, name)


def test_a_label_without_error_has_no_perfect_log_score():
    case = next(case for case in FORECASTS if case["metric"] == "log_score" and "perfect" not in case["exact"])
    inputs = case["inputs"]
    s = sb.log_score(inputs["y"], forecast(inputs), yerr=inputs["sigma"])
    count = int(np.sum(np.array(inputs["sigma"]) == 0))
    with pytest.raises(sb.UndefinedEstimate, match=f"{count} of {s.n} labels have no error"):
        s.perfect  # noqa: B018
