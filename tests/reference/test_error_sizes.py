"""Errors that are estimates themselves, clusters and batches, against values of 30 digits (reference_forecasts.json)."""

import json
import math
from pathlib import Path

import pytest
from scipy.special import stdtrit

import scorebars as sb

CASES = json.loads(Path(__file__).with_name("reference_forecasts.json").read_text(encoding="utf-8"))["cases"]


def cases(metric):
    found = [case for case in CASES if case["metric"] == metric]
    assert found
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


def close(found, text):
    assert math.isclose(float(found), float(text), rel_tol=1e-10), f"{float(found)!r} instead of {text}"


@cases("triple_collocation")
def test_triple_collocation(case):
    found = sb.triple_collocation(*(case["inputs"][name] for name in "xyz"))
    for variance, exact in zip(found.variance, case["exact"]["variance"], strict=True):
        close(variance, exact)


@cases("scale_error")
def test_scale_error(case):
    inputs, exact = case["inputs"], case["exact"]
    known = sb.mean_squared_error(inputs["y"], inputs["y_pred"], yerr=inputs["sigma"]).truth
    errors = sb.Normal(inputs["sigma"], scale_error=inputs["scale_error"])
    found = sb.mean_squared_error(inputs["y"], inputs["y_pred"], yerr=errors).truth
    close(found, exact["truth"])
    close(found.std**2 - known.std**2, exact["extra_variance"])


@cases("clusters")
def test_clusters(case):
    inputs, exact = case["inputs"], case["exact"]
    found = sb.mean_squared_error(inputs["y"], inputs["y_pred"], groups=inputs["groups"])
    close(found, exact["mse"])
    close(found.sampling_std**2, exact["sampling_variance"])
    low, high = found.truth.total_interval(0.8)  # symmetric on the scale of the logarithm
    reach = stdtrit(exact["dof"], 0.9) * math.sqrt(float(exact["sampling_variance"]))
    assert math.log(high / low) / 2 >= (1 - 1e-10) * reach / float(
        exact["mse"]
    )  # few groups show too little of squares
    bias = sb.mean_error(inputs["y"], inputs["y_pred"], groups=inputs["groups"])
    low, high = bias.truth.total_interval(0.8)
    assert (high - low) / 2 > stdtrit(exact["dof"], 0.9) * bias.sampling_std  # these groups are unequal


@cases("batch")
def test_batch(case):
    inputs, exact = case["inputs"], case["exact"]["mse"]
    errors = sb.Normal(inputs["sigma"], batch=inputs["batch"], batch_sigma=inputs["batch_sigma"])
    found = sb.mean_squared_error(inputs["y"], inputs["y_pred"], yerr=errors)
    close(found, exact["expected"])
    close(found.variance, exact["variance"])
    close(found.distribution.mean, exact["expected"])
    close(found.distribution.var, exact["variance"])
