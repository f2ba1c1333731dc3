"""reference.json: complete, well formed, and what its generator computes."""

from __future__ import annotations

import json
import math

import pytest
from make_reference import CASES, FILE, deviation, load, tolerance

STORED = json.loads(FILE.read_text(encoding="utf-8"))
# One cheap case of each kind of computation; the full comparison is `python make_reference.py`.
CHEAP = [
    "mse_M1_sigma0",
    "mse_M7_all_zero_sigma",
    "mae_M1_paper_example",
    "within_tol_M3",
    "uniform_c0.25",
    "poisson_mu4.25",
    "binary_M1_q0.25",
    "binary_M6_mixed_q",
    "accuracy_M100_paper",
    "accuracy_M5_K3",
    "auc_M6_ties",
    "log_loss_K3",
    "accuracy_diff_M6",
    "truth_mse_cov",
    "truth_accuracy_uniform",
    "truth_confusion_K3",
    "majority_vote",
    "planning_two_stage",
]


def numbers_in(value):
    """All decimal strings of a nested structure."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, str) else []


def test_meta_counts_the_cases():
    assert STORED["meta"]["n_cases"] == len(STORED["cases"]) == len(CASES)


def test_ids_are_unique_and_have_a_generator():
    ids = [case["id"] for case in STORED["cases"]]
    assert len(ids) == len(set(ids))
    assert ids == list(CASES)


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["id"])
def test_schema(case):
    required = {"id", "metric", "question", "inputs", "exact", "method", "digits"}
    assert required <= set(case) <= required | {"note"}
    assert case["question"] in {"remeasured", "truth", "floor"}
    assert case["digits"] >= 20
    assert isinstance(case["inputs"], dict) and case["inputs"]
    values = numbers_in(case["exact"])
    assert values and all(math.isfinite(float(value)) for value in values)


@pytest.mark.parametrize(
    "case", [case for case in STORED["cases"] if "var" in case["exact"]], ids=lambda case: case["id"]
)
def test_variances_are_not_negative_and_probabilities_rise(case):
    assert float(case["exact"]["var"]) >= 0
    probabilities = [float(row["p"]) for row in case["exact"].get("cdf", [])]
    assert probabilities == sorted(probabilities)
    assert all(0 <= p <= 1 for p in probabilities)


def test_quantiles_invert_the_distribution():
    """Between two stored points of the distribution function lies every quantile of a probability between them."""
    for case in STORED["cases"]:
        points = case["exact"].get("cdf", []) if isinstance(case["exact"], dict) else []
        for quantile in case["exact"].get("quantiles", []):
            below = [row["x"] for row in points if float(row["p"]) < quantile["p"]]
            above = [row["x"] for row in points if float(row["p"]) > quantile["p"]]
            assert max(below, default=-math.inf) < float(quantile["x"]) < min(above, default=math.inf), case["id"]


@pytest.mark.parametrize("id", CHEAP)
def test_generator_reproduces_the_stored_value(id):
    fresh, stored = CASES[id].entry(), load()[id]
    assert deviation(stored["inputs"], fresh["inputs"]) == 0
    assert deviation(stored["exact"], fresh["exact"]) <= tolerance(CASES[id])


def test_deviation_notices_changes():
    assert deviation({"a": "1.0"}, {"a": "1.0"}) == 0
    assert deviation(["1.0"], ["1.001"]) == pytest.approx(0.001, rel=1e-2)
    assert deviation({"a": "1.0"}, {"b": "1.0"}) == math.inf
    assert deviation(["1.0"], ["1.0", "2.0"]) == math.inf
    assert deviation("text", "other") == math.inf
