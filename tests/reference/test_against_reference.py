"""The public functions against values of 40 digits: every case of reference.json whose metric exists.

Inputs of a case that are understood: y (or ybar), y_pred, sigma, cov, shared, lower and upper (split normal), kind,
sample_weight; for classes y, y_pred, q or n_correct, M, q, K, and correlation. Values that are understood: observed,
mean, var, cdf, quantiles, sf.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb

CASES = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))["cases"]

MOMENTS = 1e-13  # relative
CDF = 1e-12  # absolute
QUANTILE = 1e-9  # relative

REGRESSION = {
    "mse": sb.mean_squared_error,
    "rmse": sb.root_mean_squared_error,
    "mae": sb.mean_absolute_error,
    "mean_error": sb.mean_error,
    "mse_shared": sb.mean_squared_error,
    "mse_weighted": sb.mean_squared_error,
    "mae_shared": sb.mean_absolute_error,
    "mae_weighted": sb.mean_absolute_error,
    "rmse_cov": sb.root_mean_squared_error,
}


def chosen(metric, question="remeasured", also=lambda case: True):
    """The cases of some metrics and one question, named by their id."""
    metrics = {metric} if isinstance(metric, str) else set(metric)
    found = [c for c in CASES if c["metric"] in metrics and c["question"] == question and also(c)]
    return pytest.mark.parametrize("case", found, ids=[c["id"] for c in found])


def error_model(inputs):
    """The error model that the inputs of a case describe."""
    kind = inputs.get("kind", "classical")
    if "cov" in inputs:
        return sb.Normal(cov=inputs["cov"], kind=kind)
    if "lower" in inputs:
        return sb.SplitNormal(inputs["lower"], inputs["upper"], kind=kind)
    return sb.Normal(inputs["sigma"], shared=inputs.get("shared"), kind=kind)


def regression_score(case, metric=None):
    inputs = case["inputs"]
    function = REGRESSION[metric or case["metric"]]
    return function(
        inputs.get("y", inputs.get("ybar")),
        inputs["y_pred"],
        yerr=error_model(inputs),
        sample_weight=inputs.get("sample_weight"),
    )


def close(found, text, tolerance=MOMENTS):
    """`found` equals the decimal text within a relative tolerance."""
    assert math.isclose(found, float(text), rel_tol=tolerance, abs_tol=0.0), f"{found!r} instead of {text}"


def check_law(law, exact, sign=1.0, shift_x=float):
    """Distribution function and quantiles; with sign -1 the reference speaks of the negated metric."""
    for row in exact.get("cdf", []):
        x, p = sign * shift_x(row["x"]), float(row["p"])
        assert abs((law.cdf(x) if sign > 0 else law.sf(x)) - p) <= CDF, row
        assert abs((law.sf(x) if sign > 0 else law.cdf(x)) - (1 - p)) <= CDF, row
    for row in exact.get("sf", []):
        assert sign > 0
        close(law.sf(row["x"]), row["p"], 1e-10)
    for row in exact.get("quantiles", []):
        assert sign > 0
        close(law.ppf(row["p"]), row["x"], QUANTILE)


@chosen(REGRESSION)
def test_regression(case):
    exact, sign = case["exact"], -1.0 if case["inputs"].get("sign") == "y - y_pred" else 1.0
    score = regression_score(case)
    if "observed" in exact:
        close(score.observed, exact["observed"])
    law = score.distribution
    # a shift shared by all labels leaves absolute errors to a quadrature over it
    moments, of_law = (MOMENTS, 1e-11) if law.method == "exact" else (1e-9, 1e-9)
    close(sign * score.expected, exact["mean"])
    close(score.variance, exact["var"], moments)
    close(score.std, math.sqrt(float(exact["var"])), moments)
    close(sign * law.mean(), exact["mean"], of_law)
    close(law.var(), exact["var"], of_law)
    check_law(law, exact, sign)


@chosen(REGRESSION, also=lambda case: "sample_weight" not in case["inputs"])
def test_equal_weights_change_nothing(case):
    exact, sign = case["exact"], -1.0 if case["inputs"].get("sign") == "y - y_pred" else 1.0
    weighted = {**case, "inputs": {**case["inputs"], "sample_weight": [3.0] * len(case["inputs"]["y"])}}
    score = regression_score(weighted)
    close(sign * score.expected, exact["mean"])
    close(score.variance, exact["var"])
    check_law(score.distribution, exact, sign)


@chosen("mse", also=lambda case: "lower" not in case["inputs"])
def test_root_of_every_mse(case):
    """The law of the RMSE is that of the MSE at the square."""
    law = regression_score(case, "rmse").distribution
    for row in case["exact"].get("cdf", []):
        assert abs(law.cdf(math.sqrt(row["x"])) - float(row["p"])) <= 1e-11
    for row in case["exact"].get("quantiles", []):
        close(law.ppf(row["p"]), math.sqrt(float(row["x"])), QUANTILE)


@chosen("family", also=lambda case: case["inputs"]["family"] == "split_normal")
def test_split_normal_family(case):
    inputs, exact = case["inputs"], case["exact"]
    errors = sb.SplitNormal(inputs["sigma_left"], inputs["sigma_right"])
    squared = sb.mean_squared_error([inputs["mode"]], [inputs["c"]], yerr=errors)
    absolute = sb.mean_absolute_error([inputs["mode"]], [inputs["c"]], yerr=errors)
    close(squared.expected, exact["mean_sq"])
    close(squared.variance, exact["var_sq"])
    close(absolute.expected, exact["mean_abs"])
    close(absolute.variance, exact["var_abs"])


# classes -----------------------------------------------------------------------------------------------------------


def class_score(inputs, **model):
    """Accuracy of a case that gives labels, or only the counts of right and wrong ones."""
    if "n_correct" not in inputs:
        return sb.accuracy_score(
            inputs["y"], inputs["y_pred"], yerr=sb.Flip(inputs["q"], **model), sample_weight=inputs.get("sample_weight")
        )
    classes = inputs.get("K", 2)
    predictions = np.arange(inputs["M"]) % classes
    labels = np.where(np.arange(inputs["M"]) < inputs["n_correct"], predictions, (predictions + 1) % classes)
    return sb.accuracy_score(labels, predictions, yerr=sb.Flip(inputs["q"], **model))


@chosen("accuracy")
def test_accuracy(case):
    inputs, exact = case["inputs"], case["exact"]
    score = class_score(inputs, correlation=inputs.get("correlation", 0.0))
    close(score.expected, exact["mean"])
    close(score.variance, exact["var"], 1e-12)
    law = score.distribution
    for row in exact.get("cdf_count", []):
        assert abs(law.cdf(row["k"] / score.n) - float(row["p"])) <= CDF
    for k, p in enumerate(exact.get("pmf_count", [])):
        assert abs(law.pmf(k / score.n) - float(p)) <= CDF
    check_law(law, exact)
    if "var_shared_flip" in exact:
        close(class_score(inputs, correlation=1.0).variance, exact["var_shared_flip"], 1e-12)


@chosen("binary_confusion", also=lambda case: "accuracy" in case["exact"])
def test_accuracy_of_confusion_cases(case):
    exact, n = case["exact"]["accuracy"], len(case["inputs"]["y"])
    score = class_score(case["inputs"])
    close(score.expected, exact["mean_given_defined"])
    close(score.variance, exact["var_given_defined"], 1e-12)
    for k, p in enumerate(exact["pmf_count_correct"]):
        assert abs(score.distribution.pmf(k / n) - float(p)) <= CDF
    loss = sb.zero_one_loss(case["inputs"]["y"], case["inputs"]["y_pred"], yerr=case["inputs"]["q"])
    close(loss.expected, 1 - float(exact["mean_given_defined"]))
    for k, p in enumerate(exact["pmf_count_correct"]):
        assert abs(loss.distribution.pmf((n - k) / n) - float(p)) <= CDF


@chosen("threshold_accuracy")
def test_flips_of_each_label(case):
    """Flip probabilities that differ from label to label, one of them 1/2 and one 0."""
    inputs, exact = case["inputs"], case["exact"]
    labels = (np.array(inputs["y"]) > inputs["threshold"]).astype(int)
    score = sb.accuracy_score(labels, inputs["y_pred"], yerr=[float(q) for q in exact["q"]])
    close(score.expected, exact["mean"])
    close(score.variance, exact["var"], 1e-12)
    for k, p in enumerate(exact["pmf_count_correct"]):
        assert abs(score.distribution.pmf(k / score.n) - float(p)) <= CDF


# against the truth -------------------------------------------------------------------------------------------------


def truth_inputs(inputs):
    """Labels that are means of n repeats have the error sigma / sqrt(n)."""
    error = np.asarray(inputs["sigma_single"]) / np.sqrt(inputs.get("n", 1))
    return inputs["ybar"], inputs["y_pred"], error


def score_of_means(metric, case):
    """The score of such labels, checked as far as it is alike for all losses."""
    y, p, error = truth_inputs(case["inputs"])
    score = metric(y, p, yerr=error)
    close(score.observed, case["exact"]["observed"])
    close(score.expected, case["exact"]["flat_prior_truth"])
    single = metric(y, p, yerr=case["inputs"]["sigma_single"])
    close(single.expected, case["exact"]["remeasured_paper_single"])
    return score


@chosen("mse", "truth", also=lambda case: "sigma_single" in case["inputs"])
def test_truth_of_squares(case):
    score, exact = score_of_means(sb.mean_squared_error, case), case["exact"]
    y, p, error = truth_inputs(case["inputs"])
    close(score.truth.value, exact["estimate"])
    close(score.truth.std**2, exact["var_estimate"], 1e-12)
    close(sb.root_mean_squared_error(y, p, yerr=error).truth.value, exact["rmse_estimate"])


@chosen("mae", "truth", also=lambda case: "simex_values" in case["exact"])
def test_truth_of_absolute_errors(case):
    y, p, error = truth_inputs(case["inputs"])
    score, exact = score_of_means(sb.mean_absolute_error, case), case["exact"]
    for level, value in exact["simex_values"].items():
        close(sb.mean_absolute_error(y, p, yerr=np.sqrt(float(level)) * error).expected, value)
    levels = np.array([0.0, *map(float, exact["simex_values"])])
    values = np.array([float(exact["observed"]), *map(float, exact["simex_values"].values())])
    close(score.truth.value, np.polyval(np.polyfit(levels, values, 2), -1.0), 1e-12)


@chosen(["mse", "mae"], "truth", also=lambda case: "sigma_single" in case["inputs"])
def test_means_of_repeats(case):
    """Known errors of single repeats: what is expected, remeasured and true use different ones."""
    inputs, exact = case["inputs"], case["exact"]
    errors = sb.Repeats.from_means(sigma=inputs["sigma_single"], n=inputs["n"])
    score = REGRESSION[case["metric"]](inputs["ybar"], inputs["y_pred"], yerr=errors)
    close(score.observed, exact["observed"])
    close(score.expected, exact["remeasured_paper_single"])
    close(score.remeasured(1).value, exact["fresh_unbiased_single"])
    if "estimate" in exact:
        close(score.truth.value, exact["estimate"])
        close(score.truth.std**2, exact["var_estimate"], 1e-12)


@chosen("accuracy", "truth")
def test_truth_of_accuracy(case):
    inputs, exact = case["inputs"], case["exact"]
    score = class_score(inputs)
    close(score.truth.value, exact["estimate"])
    if "var_estimate" in exact:
        close(score.truth.std**2, exact["var_estimate"], 1e-12)
    if "fresh_unbiased" in exact:
        close(score.remeasured().value, exact["fresh_unbiased"])
        close(score.expected, exact["remeasured_paper"])


@chosen("noise_floor", "floor")
def test_noise_floor(case):
    inputs, exact = case["inputs"], case["exact"]
    for shift in (0.0, 3.5):  # the floor does not depend on the predictions
        p = np.asarray(inputs["y"]) + shift
        close(sb.mean_squared_error(inputs["y"], p, yerr=inputs["sigma"]).perfect.value, exact["mse"])
        close(sb.mean_absolute_error(inputs["y"], p, yerr=inputs["sigma"]).perfect.value, exact["mae"])


@pytest.mark.parametrize("metric", [*REGRESSION, "accuracy"])
def test_every_metric_has_cases(metric):
    assert sum(case["metric"] == metric for case in CASES) >= 1
