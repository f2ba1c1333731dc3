"""Predictions with standard errors of their own in evaluate, compare, check_errors and accumulators."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import scorebars as sb

N = 50
RNG = np.random.default_rng(3)
TRUTH = RNG.normal(0.0, 1.0, N)
SIGMA, QA, QB = (RNG.uniform(low, high, N) for low, high in ((0.2, 0.5), (0.1, 0.4), (0.2, 0.5)))
A0, B0 = TRUTH + 0.5 * np.sin(3 * TRUTH), TRUTH + 0.5 * np.cos(3 * TRUTH)
Y = TRUTH + SIGMA * RNG.standard_normal(N)
MODELS = {"a": A0 + QA * RNG.standard_normal(N), "b": B0 + QB * RNG.standard_normal(N)}
PREDERR = {"a": QA, "b": QB}
CLASSICAL = {
    "mean_squared_error": lambda y, p: np.mean((y - p) ** 2, axis=-1),
    "root_mean_squared_error": lambda y, p: np.sqrt(np.mean((y - p) ** 2, axis=-1)),
    "mean_absolute_error": lambda y, p: np.mean(np.abs(y - p), axis=-1),
    "r2_score": lambda y, p: 1 - np.sum((y - p) ** 2, axis=-1) / np.sum((y - y.mean(-1, keepdims=True)) ** 2, axis=-1),
}


@pytest.mark.parametrize("shared", [False, True], ids=["independent", "shared"])
@pytest.mark.parametrize("metric", CLASSICAL)
def test_prediction_errors_do_not_cancel_in_a_comparison(metric, shared):
    """The difference is that of models whose predictions are redrawn, each by itself or all together, on common labels."""
    c = sb.compare(Y, MODELS, yerr=SIGMA, prederr=PREDERR, metric=metric, shared_prederr=shared)
    d = c.difference("a", "b")
    rng, count = np.random.default_rng(4), 20_000
    y, z = Y + SIGMA * rng.standard_normal((count, N)), rng.standard_normal((count, N))
    other = z if shared else rng.standard_normal((count, N))
    values = CLASSICAL[metric](y, MODELS["a"] + QA * z) - CLASSICAL[metric](y, MODELS["b"] + QB * other)
    draws = count if d.method != "simulation" else 1000 if metric == "r2_score" else 10_000
    assert abs(d.expected - values.mean()) < 4 * values.std() / math.sqrt(draws)
    assert d.std == pytest.approx(values.std(), rel=0.1)
    better = np.mean(values > 0) if d.greater_is_better else np.mean(values < 0)
    assert c.probability("a", "b") == pytest.approx(better, abs=0.05)
    without = sb.compare(Y, MODELS, yerr=SIGMA, metric=metric).difference("a", "b")
    assert without.std < d.std
    assert sum(c.ranking().probabilities["a"]) == pytest.approx(1.0)
    assert c.ranking().probabilities["a"][0] == pytest.approx(better, abs=0.06)


@pytest.mark.parametrize("shared", [False, True], ids=["independent", "shared"])
def test_the_difference_of_converged_models(shared):
    """Unbiased for squares, with the scatter that it claims."""
    rng = np.random.default_rng(5)
    exact = np.mean((TRUTH - A0) ** 2) - np.mean((TRUTH - B0) ** 2)
    values, claimed = [], []
    for _ in range(150):
        z = rng.standard_normal(N)
        models = {"a": A0 + QA * z, "b": B0 + QB * (z if shared else rng.standard_normal(N))}
        y = TRUTH + SIGMA * rng.standard_normal(N)
        found = sb.compare(y, models, yerr=SIGMA, prederr=PREDERR, shared_prederr=shared)._models.truth("a", "b")
        values.append(float(found))
        claimed.append(found.std)
    assert abs(np.mean(values) - exact) < 4 * np.std(values) / math.sqrt(len(values))
    assert math.sqrt(np.mean(np.square(claimed))) == pytest.approx(np.std(values), rel=0.2)


def test_exact_labels_with_prediction_errors_can_be_compared():
    c = sb.compare(TRUTH, MODELS, prederr=PREDERR)
    d = c.difference("a", "b")
    expected = np.mean((TRUTH - MODELS["a"]) ** 2 + QA**2) - np.mean((TRUTH - MODELS["b"]) ** 2 + QB**2)
    assert d.expected == pytest.approx(expected)
    variance = [4 * (TRUTH - MODELS[k]) ** 2 * q**2 + 2 * q**4 for k, q in PREDERR.items()]
    assert d.variance == pytest.approx(np.sum(variance) / N**2)
    chi = sb.compare(Y, MODELS, yerr=SIGMA, prederr=PREDERR, metric="reduced_chi_squared").difference("a", "b")
    assert chi.observed == pytest.approx(
        sb.reduced_chi_squared(Y, MODELS["a"], yerr=SIGMA, prederr=QA).observed
        - sb.reduced_chi_squared(Y, MODELS["b"], yerr=SIGMA, prederr=QB).observed
    )


def test_evaluate():
    metrics = ["mse", "r2", "spearman_correlation", functools.partial(sb.fraction_within, tolerance=0.5)]
    found = sb.evaluate(Y, MODELS, yerr=SIGMA, prederr={"a": QA}, metrics=metrics)
    assert found["a", "mse"].expected == sb.mean_squared_error(Y, MODELS["a"], yerr=SIGMA, prederr=QA).expected
    assert found["b", "mse"].expected == sb.mean_squared_error(Y, MODELS["b"], yerr=SIGMA).expected
    assert float(found["a", "r2"].truth) == float(sb.r2_score(Y, MODELS["a"], yerr=SIGMA, prederr=QA).truth)
    one = sb.evaluate(Y, MODELS["a"], yerr=SIGMA, prederr=0.2, metrics="mae")["mae"]
    assert one.expected == sb.mean_absolute_error(Y, MODELS["a"], yerr=SIGMA, prederr=0.2).expected
    grouped = sb.evaluate(Y, MODELS, yerr=SIGMA, prederr=PREDERR, metrics="mse", by=np.arange(N) % 2)
    half = slice(1, None, 2)
    alone = sb.mean_squared_error(Y[half], MODELS["b"][half], yerr=SIGMA[half], prederr=QB[half])
    assert grouped["b", "mse", "1"].expected == pytest.approx(alone.expected, rel=1e-12)


def test_columns_of_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"y": Y, "s": SIGMA, "a": MODELS["a"], "qa": QA})
    found = sb.evaluate(table, y="y", pred="a", yerr="s", prederr="qa", metrics="mse")["mse"]
    assert found.expected == sb.mean_squared_error(Y, MODELS["a"], yerr=SIGMA, prederr=QA).expected
    table.loc[3, "qa"] = np.nan
    with pytest.raises(ValueError, match=r"prederr\['a'\] contains NaN"):
        sb.evaluate(table, y="y", pred="a", yerr="s", prederr="qa", metrics="mse")
    left = sb.evaluate(table, y="y", pred={"m": "a"}, yerr="s", prederr={"m": "qa"}, metrics="mse", nan_policy="omit")
    assert left.omitted == 1
    kept = np.arange(N) != 3
    expected = sb.mean_squared_error(Y[kept], MODELS["a"][kept], yerr=SIGMA[kept], prederr=QA[kept]).expected
    assert left["mse"].expected == pytest.approx(expected, rel=1e-12)


def test_what_studies_refuse():
    with pytest.raises(ValueError, match="prederr names a model 'c' that has no predictions"):
        sb.evaluate(Y, MODELS, prederr={"c": 0.1})
    with pytest.raises(ValueError, match="prederr is the text 'qa': give numbers"):
        sb.evaluate(Y, MODELS, prederr="qa")
    with pytest.raises(ValueError, match="accuracy_score takes no prederr"):
        sb.evaluate([0, 1, 1], [0, 1, 0], prederr=0.1, metrics="accuracy_score")
    with pytest.raises(ValueError, match="accuracy_score takes no prederr"):
        sb.compare([0, 1, 1], {"a": [0, 1, 0], "b": [1, 1, 1]}, prederr=0.1, metric="accuracy_score")
    with pytest.raises(ValueError, match="arrays or a table in memory"):
        sb.evaluate("masses.csv", prederr=0.1)


def test_check_errors():
    """Pulls of a converged model whose predictions err are as large as both errors say."""
    rng = np.random.default_rng(6)
    y, p = TRUTH + SIGMA * rng.standard_normal(N), TRUTH + QB * rng.standard_normal(N)
    check = sb.check_errors(y, p, yerr=SIGMA, prederr=QB)
    assert check.pulls == pytest.approx((p - y) / np.hypot(SIGMA, QB))
    assert check.reduced_chi_squared == pytest.approx(np.mean(check.pulls**2))
    assert check.pvalue_high > 0.01 > sb.check_errors(y, p, yerr=0.5 * SIGMA).pvalue_high
    with pytest.raises(ValueError, match="normal label errors of known size"):
        sb.check_errors(y, p, yerr=np.stack([SIGMA, 2 * SIGMA]), prederr=QB)


def test_an_accumulator_keeps_labels_and_then_sums():
    metrics = ["mse", "rmse", "mae", "mean_error"]
    few, many = sb.Accumulator([*metrics, "r2"]), sb.Accumulator(metrics)
    for part in (slice(0, 20), slice(20, None)):
        models = {name: p[part] for name, p in MODELS.items()}
        few.update(Y[part], models, yerr=SIGMA[part], prederr={"a": QA[part]})
    found, whole = few.result(), sb.evaluate(Y, MODELS, yerr=SIGMA, prederr={"a": QA}, metrics=[*metrics, "r2"])
    for key, score in whole:
        assert found.scores[key].expected == pytest.approx(score.expected, rel=1e-12)
    times = 1400  # more labels than are kept
    y, sigma, q = (np.tile(values, times) for values in (Y, SIGMA, QA))
    models = {name: np.tile(p, times) for name, p in MODELS.items()}
    many.update(y, models, yerr=sigma, prederr={"a": q})
    found, whole = (
        sb.Accumulator.from_json(many.to_json()).result(),
        sb.evaluate(y, models, yerr=sigma, prederr={"a": q}, metrics=metrics),
    )
    for key, score in whole:
        again = found.scores[key]
        assert (again.expected, again.std) == pytest.approx((score.expected, score.std), rel=1e-11)
        assert float(again.perfect) == pytest.approx(float(score.perfect), rel=1e-9)
        assert float(again.remeasured(1)) == pytest.approx(float(score.remeasured(1)), rel=1e-9)
    assert float(found["a", "mse"].truth) == pytest.approx(float(whole["a", "mse"].truth), rel=1e-9)
    with pytest.raises(ValueError, match="prederr is given for no model, but so far for a"):
        few.update(Y, MODELS, yerr=SIGMA)
    with pytest.raises(ValueError, match=r"R2 .* needs all labels at once"):
        sb.Accumulator("r2").update(y, models, yerr=sigma, prederr=0.1)
    with pytest.raises(ValueError, match="predicted classes have none"):
        sb.Accumulator(task="classification").update([0, 1], [0, 1], prederr=0.1)


def test_a_plan_takes_no_prediction_errors():
    unumpy = pytest.importorskip("uncertainties.unumpy")
    with pytest.raises(ValueError, match="counts no errors of the predictions"):
        sb.plan(Y, unumpy.uarray(MODELS["a"], QA), yerr=SIGMA, std=0.01)
