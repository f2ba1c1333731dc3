"""The calculator has the numbers of the library, and these those of the paper's formulas."""

import math

import numpy as np
import pytest

import scorebars as sb


def answers(found):
    return {row["name"]: row for row in found["answers"]}


def test_accuracy(visitor):
    given = {"sheet": "accuracy", "a": "0.9", "q": "0.05", "m": "200"}
    found = visitor.json("/calculator.json", given)
    told = answers(found)
    a, q, m = 0.9, 0.05, 200
    assert told["expected"]["value"] == pytest.approx(a * (1 - q) + (1 - a) * q, rel=1e-12)
    assert told["expected"]["std"] == pytest.approx(math.sqrt(q * (1 - q) / m), rel=1e-12)
    assert told["truth"]["value"] == pytest.approx((a - q) / (1 - 2 * q), rel=1e-12)
    s = sb.accuracy_score([1] * 200, [1] * 180 + [0] * 20, yerr=sb.Flip(0.05))
    assert (told["expected"]["low"], told["expected"]["high"]) == s.interval(0.95)
    space = {}
    exec(found["code"], space)
    assert float(space["score"]) == told["expected"]["value"]
    page = visitor.get("/calculator", given).text
    assert told["truth"]["text"] in page and "Noise share" in page


def test_squared_and_absolute_error(visitor):
    found = visitor.json("/calculator.json", {"sheet": "mse", "mse": "0,25", "sigma": "0.3", "m": "50"})
    told = answers(found)
    assert told["expected"]["value"] == pytest.approx(0.25 + 0.09, rel=1e-12)
    assert told["expected"]["std"] == pytest.approx(math.sqrt((4 * 0.09 * 0.25 + 2 * 0.09**2) / 50), rel=1e-12)
    assert told["truth"]["value"] == pytest.approx(0.16, rel=1e-12)
    for shape in ("normal", "same"):
        found = visitor.json(
            "/calculator.json", {"sheet": "mae", "mae": "0.4", "sigma": "0.3", "m": "50", "shape": shape}
        )
        told = answers(found)
        assert told["observed"]["value"] == pytest.approx(0.4, rel=1e-12)
        assert told["perfect"]["value"] == pytest.approx(0.3 * math.sqrt(2 / math.pi), rel=1e-9)
        space = {}
        exec(found["code"], space)
        assert float(space["score"]) == told["expected"]["value"]
    # the folded normal, all residuals of one size
    z = 0.4 / 0.3
    folded = 0.3 * math.sqrt(2 / math.pi) * math.exp(-z * z / 2) + 0.4 * math.erf(z / math.sqrt(2))
    assert told["expected"]["value"] == pytest.approx(folded, rel=1e-9)


def test_floor_and_ceiling(visitor):
    found = visitor.json("/calculator.json", {"sheet": "floor", "sigma": "0.3", "spread": "1", "q": "0.1", "m": "2000"})
    told = {row["name"]: row["value"] for row in found["rows"]}
    assert told["root_mean_squared_error"] == pytest.approx(0.3, rel=1e-3)
    assert told["accuracy_score"] == pytest.approx(0.9, rel=1e-9)
    assert told["r2_score"] == pytest.approx(1 - 0.09 / 1.0, abs=0.02)
    assert visitor.get("/calculator", {"sheet": "floor"}).status_code == 200


def test_plan(visitor):
    given = {
        "sheet": "plan",
        "goal": "difference",
        "size": "0.15",
        "sampling_variance": "2",
        "measurement_variance": "8",
    }
    found = visitor.json("/calculator.json", given)
    plan = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0)
    assert found["best"]["labels"] == plan.labels and found["best"]["repeats"] == plan.repeats
    curve = found["curve"]
    best = next(line for line in curve["lines"] if line["repeats"] == plan.repeats)
    assert best["y"] == [plan.power_at(count, plan.repeats) for count in curve["x"]]
    assert np.all(np.diff(best["y"]) > 0)
    page = visitor.get("/calculator", given).text
    assert "<polyline" in page and f"Measure {plan.labels} labels" in page
    assert (
        visitor.json("/calculator.json", {**given, "goal": "std", "size": "0.1"})["curve"]["name"] == "standard error"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sheet": "accuracy", "a": "1.2"}, "The accuracy must be between 0 and 1"),
        ({"sheet": "accuracy", "m": "ten"}, "must be a number"),
        ({"sheet": "accuracy", "m": "2.5"}, "whole number"),
        ({"sheet": "mse", "sigma": "-1"}, "at least 0"),
        ({"sheet": "mse", "m": "1e9"}, "between 1 and"),
        ({"sheet": "plan", "size": "0"}, ""),
        ({"sheet": "floor", "spread": "0"}, "above 0"),
        ({"sheet": "mse", "level": "1"}, "strictly between"),
        ({"sheet": "tea"}, "no sheet"),
    ],
)
def test_what_cannot_be_is_said(visitor, given, message):
    assert message in visitor.problem("/calculator.json", given)
    assert visitor.get("/calculator", given).status_code in (404, 422)
