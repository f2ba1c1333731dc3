"""Predictions with standard errors of their own: every regression metric under every error model of the labels."""

from __future__ import annotations

import functools
import json
import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.moments import statistics
from scorebars.studies import capabilities as table

N = len(table.Y)
Q = np.linspace(0.1, 0.35, N)
DRAWS = 20_000
REGRESSION = sorted(name for name, one in declarations().items() if one.task == "regression" and one.scored)
BATCHES = np.arange(N) // 3
FAMILIES = {
    name: model
    for _, name, model in table.pairs()
    if isinstance(model, sb.errors.MeasurementError) and model.common_scale is None and not model.estimated
}
ESTIMATED = {
    "dof of each": sb.Normal(np.linspace(0.2, 0.4, N), dof=6),
    "Repeats": sb.Repeats(table.Y[:, None] + 0.3 * np.random.default_rng(3).standard_normal((N, 4))),
}
OF_RESIDUAL = [
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "mean_error",
    "mean_pinball_loss",
    "huber_loss",
    "log_cosh_loss",
    "fraction_within",
    "median_absolute_error",
    "max_error",
]


def log_error(y, p):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.square(np.log1p(y) - np.log1p(p))


CLASSICAL = {
    "mean_squared_error": lambda y, p: np.mean((y - p) ** 2, axis=-1),
    "root_mean_squared_error": lambda y, p: np.sqrt(np.mean((y - p) ** 2, axis=-1)),
    "mean_absolute_error": lambda y, p: np.mean(np.abs(y - p), axis=-1),
    "mean_error": lambda y, p: np.mean(p - y, axis=-1),
    "mean_pinball_loss": lambda y, p: np.mean(np.abs(y - p), axis=-1) / 2,
    "huber_loss": lambda y, p: np.mean(np.where(np.abs(y - p) <= 1, (y - p) ** 2 / 2, np.abs(y - p) - 0.5), axis=-1),
    "log_cosh_loss": lambda y, p: np.mean(np.log(np.cosh(y - p)), axis=-1),
    "mean_absolute_percentage_error": lambda y, p: np.mean(np.abs((y - p) / y), axis=-1),
    "symmetric_mean_absolute_percentage_error": lambda y, p: np.mean(
        2 * np.abs(y - p) / (np.abs(y) + np.abs(p)), axis=-1
    ),
    "mean_squared_log_error": lambda y, p: np.mean(log_error(y, p), axis=-1),
    "root_mean_squared_log_error": lambda y, p: np.sqrt(np.mean(log_error(y, p), axis=-1)),
    "fraction_within": lambda y, p: np.mean(np.abs(y - p) <= 0.5, axis=-1),
    "median_absolute_error": lambda y, p: np.median(np.abs(y - p), axis=-1),
    "max_error": lambda y, p: np.max(np.abs(y - p), axis=-1),
    "r2_score": lambda y, p: statistics.r2(y, p, None),
    "explained_variance_score": lambda y, p: statistics.explained_variance(y, p, None),
    "d2_absolute_error_score": lambda y, p: statistics.d2_absolute(y, p, None),
    "pearson_correlation": lambda y, p: statistics.pearson(y, p, None),
    "concordance_correlation": lambda y, p: statistics.concordance(y, p, None),
    "concordance_index": lambda y, p: 0.5 + 0.5 * statistics.somers(y, p, None),
    "spearman_correlation": lambda y, p: statistics.spearman(y, p, None),
    "kendall_correlation": lambda y, p: statistics.kendall(y, p, None),
}


def scored(metric, y, p, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.UndefinedMomentWarning)
        return entry_of(metric).function(y, p, **given, **table.ARGUMENTS.get(metric, {}))


@functools.cache
def drawn(family):
    """Labels and predictions redrawn from their errors."""
    rng = np.random.default_rng(5)
    return FAMILIES[family].sample(table.Y, DRAWS, rng), table.P + Q * rng.standard_normal((DRAWS, N))


def test_every_metric_takes_prediction_errors():
    assert set(CLASSICAL) | {"reduced_chi_squared"} == set(REGRESSION)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("metric", CLASSICAL)
def test_agrees_with_simulation(metric, family):
    """Expected value, std and quantiles are those of labels and predictions that are both redrawn."""
    s = scored(metric, table.Y, table.P, yerr=FAMILIES[family], prederr=Q)
    with np.errstate(divide="ignore"):  # a percentage of a count of 0
        values = CLASSICAL[metric](*drawn(family))
    values = values[np.isfinite(values)]
    if not math.isfinite(s.expected):
        assert s.std == math.inf
        return
    slack = 0.02 * (s.method == "simulation") * s.std
    assert abs(s.expected - values.mean()) <= 4 * values.std() / math.sqrt(len(values)) + slack + 1e-12
    if math.isfinite(s.std):
        deviation = values - values.mean()
        noise = math.sqrt((np.mean(deviation**4) - np.var(values) ** 2) / len(values))
        assert abs(s.variance - np.var(values)) <= 5 * noise + 0.05 * s.variance * (s.method == "simulation")
    for q in (0.1, 0.5, 0.9):
        at = s.distribution.ppf(q)
        assert np.mean(values < at - 1e-9) <= q + 0.025 and np.mean(values <= at + 1e-9) >= q - 0.025


@pytest.mark.parametrize("groups", [None, BATCHES])
@pytest.mark.parametrize("sizes", ESTIMATED)
@pytest.mark.parametrize("metric", CLASSICAL)
def test_errors_whose_sizes_are_estimates(metric, sizes, groups):
    """Every answer is there, a finite number in its interval, or says why it has none; and the score travels."""
    given = {} if groups is None else {"groups": groups}
    s = scored(metric, table.Y, table.P, yerr=ESTIMATED[sizes], prederr=Q, **given)
    again = pickle.loads(pickle.dumps(s))
    assert s.interval(0.9) == again.interval(0.9)
    assert s.explain() and s.sentence()
    if metric == "max_error" and groups is not None:
        with pytest.raises(sb.UndefinedEstimate, match="one item decides it"):
            s.total_interval(0.9)
    else:
        assert s.total_interval(0.9) == again.total_interval(0.9)
    for ask in (lambda one: one.truth, lambda one: one.perfect, lambda one: one.remeasured(3)):
        try:
            found = ask(s)
        except sb.UndefinedEstimate as why:
            assert "finite mean" in str(why) or "repeats" in str(why), why
            continue
        low, high = found.interval(0.9)
        assert low <= high and math.isfinite(low) and found.std >= 0
        assert (float(ask(again)), ask(again).std) == (float(found), found.std)


@pytest.mark.parametrize("uncertain", [sb.Normal(0.3, scale_error=0.2), sb.Normal(0.3, dof=5)])
@pytest.mark.parametrize("metric", REGRESSION)
def test_a_common_factor_in_doubt_is_refused(metric, uncertain):
    with pytest.raises(ValueError, match="prederr"):
        scored(metric, table.Y, table.P, yerr=uncertain, prederr=Q)


@pytest.mark.parametrize("family", ["Normal", "Normal(shared)", "SplitNormal", "LogNormal", "Empirical", "Repeats"])
@pytest.mark.parametrize("metric", CLASSICAL)
def test_fresh_labels_and_a_perfect_model_know_nothing_of_prediction_errors(metric, family):
    """`remeasured` has the same predictions, `perfect` none; what is observed and the next test set do not change."""
    if family not in ("Normal", "Repeats") and metric in (
        "spearman_correlation",
        "kendall_correlation",
        "concordance_index",
    ):
        return
    plain = scored(metric, table.Y, table.P, yerr=FAMILIES[family])
    s = scored(metric, table.Y, table.P, yerr=FAMILIES[family], prederr=Q)
    assert s.observed == pytest.approx(plain.observed, rel=1e-12)
    assert s.total_interval(0.9) == plain.total_interval(0.9)
    for ask in (lambda one: one.perfect, lambda one: one.remeasured(3)):
        try:
            expected = ask(plain)
        except sb.UndefinedEstimate:
            with pytest.raises(sb.UndefinedEstimate):
                ask(s)
            continue
        assert (float(ask(s)), ask(s).std) == (float(expected), expected.std)
        assert ask(s).interval(0.9) == expected.interval(0.9)


@pytest.mark.parametrize("metric", OF_RESIDUAL)
def test_a_loss_of_the_difference_sees_one_error(metric):
    """The label may have all of it, or the prediction, or both."""
    whole = scored(metric, table.Y, table.P, yerr=Q)
    for yerr, prederr in ((None, Q), (0.6 * Q, 0.8 * Q)):
        s = scored(metric, table.Y, table.P, yerr=yerr, prederr=prederr)
        assert s.expected == pytest.approx(whole.expected, rel=1e-9)
        assert s.std == pytest.approx(whole.std, rel=1e-6)
        assert float(s.truth) == pytest.approx(float(whole.truth), rel=1e-6, abs=1e-12)
        assert s.truth.std == pytest.approx(whole.truth.std, rel=1e-6)
        assert s.interval(0.9) == pytest.approx(whole.interval(0.9), rel=1e-6)
    exact = scored(metric, table.Y, table.P)
    only = scored(metric, table.Y, table.P, prederr=Q)
    assert float(only.perfect) == pytest.approx(float(exact.perfect))


@pytest.mark.parametrize("metric", CLASSICAL)
def test_tiny_prediction_errors_change_nothing(metric):
    plain = scored(metric, table.Y, table.P, yerr=0.3)
    s = scored(metric, table.Y, table.P, yerr=0.3, prederr=1e-9)
    if not math.isfinite(plain.expected):
        assert s.expected == plain.expected
        return
    loose = 0.02 if s.method == "simulation" else 1e-7
    assert s.expected == pytest.approx(plain.expected, rel=loose, abs=1e-12)
    assert s.std == pytest.approx(plain.std, rel=max(loose, 1e-6))
    try:
        expected = plain.truth
    except sb.UndefinedEstimate:
        return
    assert float(s.truth) == pytest.approx(float(expected), rel=1e-6, abs=1e-9)


def test_exact_values():
    """Mean squared and absolute error, by quadrature to 30 digits."""
    cases = json.loads((Path(__file__).parents[1] / "reference" / "reference_forecasts.json").read_text())["cases"]
    found = [case for case in cases if case["metric"] == "prederr"]
    assert found
    for case in found:
        i, exact = case["inputs"], case["exact"]
        for name, function in (("mse", sb.mean_squared_error), ("mae", sb.mean_absolute_error)):
            s = function(i["y"], i["y_pred"], yerr=i["sigma"], prederr=i["prederr"])
            assert s.expected == pytest.approx(float(exact[name]["expected"]), rel=1e-12)
            assert s.variance == pytest.approx(float(exact[name]["variance"]), rel=1e-12)
            if "truth" in exact[name]:
                assert float(s.truth) == pytest.approx(float(exact[name]["truth"]), rel=1e-12)


# ratios of sums ------------------------------------------------------------------------------------


def test_only_label_errors_are_in_the_scatter_of_the_labels():
    """SSE loses the errors of both, the scatter of the labels theirs alone, that of the predictions its own."""
    y, p, s2, q2 = table.Y, table.P, np.full(N, 0.09), Q**2
    given = {"yerr": 0.3, "prederr": Q}
    about = (1 - 1 / N) * s2.sum()
    sst, sse = np.sum((y - y.mean()) ** 2) - about, np.sum((y - p) ** 2) - s2.sum() - q2.sum()
    assert float(sb.r2_score(y, p, **given).truth) == pytest.approx(1 - sse / sst, rel=1e-12)
    d = y - p
    centred = np.sum((d - d.mean()) ** 2) - about - (1 - 1 / N) * q2.sum()
    assert float(sb.explained_variance_score(y, p, **given).truth) == pytest.approx(1 - centred / sst, rel=1e-12)
    product = np.sum((y - y.mean()) * (p - p.mean()))
    ssp = np.sum((p - p.mean()) ** 2) - (1 - 1 / N) * q2.sum()
    found = float(sb.pearson_correlation(y, p, **given).truth)
    assert found == pytest.approx(product / math.sqrt(sst * ssp), rel=1e-12)
    below = np.sum((y - p.mean()) ** 2) + np.sum((p - p.mean()) ** 2) - s2.sum() - q2.sum()
    assert float(sb.concordance_correlation(y, p, **given).truth) == pytest.approx(2 * product / below, rel=1e-12)


WORLD_N = 60


def world(rng, n=WORLD_N):
    """True values, what the converged model predicts, and both errors."""
    truth = rng.normal(0.0, 1.5, n)
    return truth, 0.9 * truth + 0.4 * rng.standard_normal(n), rng.uniform(0.2, 0.6, n), rng.uniform(0.1, 0.5, n)


RATIOS = ["r2_score", "explained_variance_score", "pearson_correlation", "concordance_correlation"]


@pytest.mark.parametrize("metric", ["mean_squared_error", "mean_error", *RATIOS])
def test_truth_is_that_of_the_converged_model(metric):
    """On average over labels and predictions; its std is the scatter it has, its interval holds."""
    hold_converged(metric, runs=60, slack=0.12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [name for name in CLASSICAL if "log_error" not in name and "percentage" not in name])
def test_truth_holds_often(metric):
    hold_converged(metric, runs=200, slack=0.06)


def hold_converged(metric, runs, slack):
    rng = np.random.default_rng(8)
    truth, converged, sigma, q = world(rng)
    exact = float(CLASSICAL[metric](truth[None], converged)[0])
    values, stds, held = [], [], 0
    for _ in range(runs):
        y, p = truth + sigma * rng.standard_normal(WORLD_N), converged + q * rng.standard_normal(WORLD_N)
        found = scored(metric, y, p, yerr=sigma, prederr=q).truth
        low, high = found.interval(0.9)
        values.append(float(found))
        stds.append(found.std)
        held += low <= exact <= high
    biased = metric not in ("mean_squared_error", "mean_error")
    room = 4 * np.std(values) / math.sqrt(runs) + 0.35 * biased * np.std(values)
    if metric not in ("max_error", "fraction_within", "median_absolute_error"):  # which labels with errors only bound
        assert abs(np.mean(values) - exact) <= room
    if metric in ("mean_squared_error", "mean_error", *RATIOS):
        assert math.sqrt(np.mean(np.square(stds))) == pytest.approx(np.std(values), rel=0.3)
    assert held / runs >= 0.9 - slack
    # without them the truth is off: prediction errors stay in the score
    if metric in ("mean_squared_error", *RATIOS):
        without = [
            float(
                scored(
                    metric,
                    truth + sigma * rng.standard_normal(WORLD_N),
                    converged + q * rng.standard_normal(WORLD_N),
                    yerr=sigma,
                ).truth
            )
            for _ in range(60)
        ]
        assert abs(np.mean(without) - exact) > 2 * abs(np.mean(values) - exact)


def test_the_scatter_over_test_sets_holds_both_errors():
    """`sampling_std` is that of the expected score: the scatter of the items less what both errors make."""
    rng = np.random.default_rng(9)
    found, expected = [], []
    for _ in range(300):
        truth, converged, sigma, q = world(rng)
        y, p = truth + sigma * rng.standard_normal(WORLD_N), converged + q * rng.standard_normal(WORLD_N)
        found.append(sb.mean_squared_error(y, p, yerr=sigma, prederr=q).sampling_std ** 2)
        expected.append(np.mean((truth - converged) ** 2))
    assert np.mean(found) == pytest.approx(np.var(expected), rel=0.35)


def test_berkson_errors_of_the_labels_go_forward_and_those_of_the_predictions_back():
    y, p = table.Y, table.P
    s = sb.mean_squared_error(y, p, yerr=sb.Normal(0.3, kind="berkson"), prederr=Q)
    assert s.expected == pytest.approx(np.mean((y - p) ** 2 + 0.09 + Q**2))
    assert float(s.truth) == pytest.approx(np.mean((y - p) ** 2 + 0.09 - Q**2))
    with pytest.raises(sb.UndefinedEstimate, match="Berkson"):
        s.remeasured(1)
    r2 = sb.r2_score(y, p, yerr=sb.Normal(0.3, kind="berkson"), prederr=Q)
    assert float(r2.truth) > sb.r2_score(y, p, yerr=sb.Normal(0.3, kind="berkson")).expected > r2.expected
    assert r2.truth.interval(0.9).low < r2.truth < r2.truth.interval(0.9).high


def test_repeats_average_labels_not_predictions():
    """A label of four repeats has half the error; the prediction errs once."""
    y, p = table.Y, table.P
    s = sb.mean_squared_error(y, p, yerr=sb.Repeats.from_means(sigma=0.4, n=4), prederr=Q)
    assert s.expected == pytest.approx(np.mean((y - p) ** 2 + 0.16 + Q**2), rel=1e-12)
    assert float(s.truth) == pytest.approx(np.mean((y - p) ** 2 - 0.04 - Q**2), rel=1e-12)
    assert float(s.perfect) == pytest.approx(0.04)
    rng = np.random.default_rng(10)
    truth, converged, sigma, q = world(rng)
    values, claimed = [], []
    for _ in range(300):
        rows = truth[:, None] + sigma[:, None] * rng.standard_normal((WORLD_N, 5))
        model = sb.Repeats(rows, sigma="pooled")
        found = sb.mean_squared_error(None, converged + q * rng.standard_normal(WORLD_N), yerr=model, prederr=q).truth
        values.append(float(found))
        claimed.append(found.std)
    exact = np.mean((truth - converged) ** 2)
    assert abs(np.mean(values) - exact) < 4 * np.std(values) / math.sqrt(len(values))
    assert np.mean(claimed) == pytest.approx(np.std(values), rel=0.15)


def test_chi_squared_divides_by_both_errors():
    y, p = table.Y, table.P
    s = sb.reduced_chi_squared(y, p, yerr=0.3, prederr=Q)
    assert s.observed == pytest.approx(np.mean((y - p) ** 2 / (0.09 + Q**2)))
    assert float(s.perfect) == pytest.approx(1.0)
    assert float(s.truth) == pytest.approx(s.observed - 1)
    assert s.pvalue == pytest.approx(sb.reduced_chi_squared(y, p, yerr=np.hypot(0.3, Q)).pvalue)
    assert float(s.remeasured(1)) == pytest.approx(s.observed)
    expected = s.observed - np.mean(0.75 * 0.09 / (0.09 + Q**2))
    assert float(s.remeasured(4)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="sizes are known, not estimated"):
        sb.reduced_chi_squared(None, p, yerr=sb.Repeats(y[:, None] + [-0.1, 0.0, 0.2]), prederr=Q)


# other ways in -------------------------------------------------------------------------------------


def test_own_losses():
    def cost(y, p):
        return np.abs(y - p) * (1 + np.abs(p))

    s = sb.metric(cost)(table.Y, table.P, yerr=0.3, prederr=Q)
    rng = np.random.default_rng(11)
    y, p = table.Y + 0.3 * rng.standard_normal((DRAWS, N)), table.P + Q * rng.standard_normal((DRAWS, N))
    values = cost(y, p).mean(axis=1)
    assert abs(s.expected - values.mean()) < 4 * values.std() / math.sqrt(DRAWS)
    assert s.std == pytest.approx(values.std(), rel=0.03)
    declared = sb.metric(cost, name="cost_again", kinks=[0])(table.Y, table.P, yerr=0.3, prederr=Q)
    assert declared.expected == pytest.approx(s.expected, rel=1e-6)


def test_several_outputs():
    y, p = np.stack([table.Y, table.Y[::-1]], axis=1), np.stack([table.P, table.P[::-1] + 0.1], axis=1)
    q = np.stack([Q, 2 * Q], axis=1)
    both = sb.mean_squared_error(y, p, yerr=0.3, prederr=q, multioutput="raw_values")
    for k in range(2):
        alone = sb.mean_squared_error(y[:, k], p[:, k], yerr=0.3, prederr=q[:, k])
        assert both[k].expected == alone.expected and float(both[k].truth) == float(alone.truth)
    mean = sb.mean_squared_error(y, p, yerr=0.3, prederr=q)
    assert mean.expected == pytest.approx((both[0] + both[1]) / 2)
    assert float(mean.perfect) == pytest.approx(0.09)
    assert sb.mean_squared_error(y, p, prederr=Q).expected == pytest.approx(np.mean((y - p) ** 2) + np.mean(Q**2))


@pytest.mark.parametrize("metric", ["mean_absolute_error", "r2_score", "spearman_correlation"])
@pytest.mark.parametrize("kind", ["classical", "berkson"])
def test_scores_travel(metric, kind):
    s = scored(metric, table.Y, table.P, yerr=sb.Normal(0.3, kind=kind), prederr=Q)
    again = pickle.loads(pickle.dumps(s))
    assert (again.expected, float(again.truth), float(again.perfect)) == (s.expected, float(s.truth), float(s.perfect))
    assert again.interval(0.8) == s.interval(0.8)


def test_what_a_score_says():
    s = sb.mean_squared_error(table.Y, table.P, yerr=0.3, prederr=Q)
    assert "predictions have errors of their own" in s.explain()
    assert "from the errors of labels and predictions" in s.sentence()
    assert "predictions" not in sb.mean_squared_error(table.Y, table.P, yerr=0.3).sentence()


def test_a_noisier_count_of_zero_is_no_warning_of_numpy():
    rng = np.random.default_rng(0)
    y = rng.integers(2, 20, 60).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.UndefinedMomentWarning)
        score = sb.mean_absolute_percentage_error(y, y + rng.normal(size=60), yerr=sb.Poisson(), prederr=0.2)
    assert score.truth.method == "simex"


def test_very_many_labels():
    """Sums over many labels, and bins for their distribution, take the error of the difference."""
    rng = np.random.default_rng(12)
    n = 20_000
    y, p, sigma, q = rng.normal(0, 1, n), rng.normal(0, 1, n), rng.uniform(0.1, 0.4, n), rng.uniform(0.1, 0.4, n)
    for function in (sb.mean_squared_error, sb.mean_absolute_error):
        s, whole = function(y, p, yerr=sigma, prederr=q), function(y, p, yerr=np.hypot(sigma, q))
        assert (s.expected, s.std) == (whole.expected, whole.std)
        assert s.interval(0.9) == whole.interval(0.9)
        assert float(s.perfect) == float(function(y, p, yerr=sigma).perfect)


def test_uncertainties_as_predictions():
    unumpy = pytest.importorskip("uncertainties.unumpy")
    from uncertainties import ufloat

    p = unumpy.uarray(table.P, Q)
    s = sb.mean_squared_error(table.Y, p, yerr=0.3)
    assert s.expected == sb.mean_squared_error(table.Y, table.P, yerr=0.3, prederr=Q).expected
    both = sb.mean_absolute_error(unumpy.uarray(table.Y, 0.3), p)
    assert both.expected == sb.mean_absolute_error(table.Y, table.P, yerr=0.3, prederr=Q).expected
    scatter = sb.intrinsic_scatter(table.Y, p, yerr=0.1)
    assert float(scatter) == float(sb.intrinsic_scatter(table.Y, table.P, yerr=0.1, prederr=Q))
    with pytest.raises(ValueError, match="y_pred brings its own errors"):
        sb.mean_squared_error(table.Y, p, prederr=Q)
    common = ufloat(0.0, 0.1)
    with pytest.raises(ValueError, match=r"correlated uncertainties \(the first at index 1\)"):
        sb.mean_squared_error(table.Y, [value + common for value in table.P], yerr=0.3)
    with pytest.raises(ValueError, match="with other predictions or with labels"):
        sb.mean_squared_error([value + common for value in table.Y[:1]], [table.P[0] + common])


def test_units():
    units = pytest.importorskip("astropy.units")
    y, p = table.Y * units.m, (100 * table.P) * units.cm
    s = sb.mean_squared_error(y, p, yerr=0.3 * units.m, prederr=(100 * Q) * units.cm)
    assert s.expected == pytest.approx(sb.mean_squared_error(table.Y, table.P, yerr=0.3, prederr=Q).expected)
    with pytest.raises(ValueError, match="prederr has no unit but y_true is in m"):
        sb.mean_squared_error(y, p, prederr=Q)
    with pytest.raises(ValueError, match="prederr is in s, which cannot be converted to m"):
        sb.mean_squared_error(y, p, prederr=Q * units.s)
    with pytest.raises(ValueError, match="prederr is in m but y_true has no unit"):
        sb.mean_squared_error(table.Y, table.P, prederr=Q * units.m)


@pytest.mark.parametrize(
    ("prederr", "message"),
    [
        ([0.1, 0.2], r"prederr has shape \(2,\) but there are 7 predictions"),
        (np.where(np.arange(N) == 3, -0.1, Q), "prederr has negative values: the first is -0.1 at index 3, 1 in all"),
        (np.where(np.arange(N) == 2, np.nan, Q), "prederr contains NaN"),
        (np.inf, "prederr"),
        ("0.1x", "prederr"),
    ],
)
def test_bad_input(prederr, message):
    for metric in ("mean_squared_error", "r2_score", "spearman_correlation", "intrinsic_scatter"):
        with pytest.raises(ValueError, match=message):
            getattr(sb, metric)(table.Y, table.P, yerr=0.1, prederr=prederr)


def test_predictions_that_show_nothing():
    """Predictions that scatter no more than their errors tell nothing of the converged ones."""
    rng = np.random.default_rng(13)
    y, p = rng.normal(0, 1, 30), 0.1 * rng.standard_normal(30)
    for metric in ("pearson_correlation", "spearman_correlation"):
        with pytest.raises(sb.UndefinedEstimate, match="predictions scatter no more than their errors"):
            _ = scored(metric, y, p, yerr=0.1, prederr=0.5).truth
