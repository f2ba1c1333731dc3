"""Scores on labels of which some are limits: bounds, lower bounds, the truth, refusals."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers.truth.limited_residuals import mean_of_limited_loss
from scorebars.losses import SquaredError
from scorebars.measured import Measured
from scorebars.metrics.registry import declarations
from scorebars.studies.capabilities import ARGUMENTS

INF = np.inf
OPTIONS = ARGUMENTS | {"fraction_within": {"tolerance": 1.0}}
TAKEN = [
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "mean_error",
    "median_absolute_error",
    "mean_pinball_loss",
    "huber_loss",
    "log_cosh_loss",
    "fraction_within",
    "kendall_correlation",
    "concordance_index",
]
FORECAST = [name for name, declared in declarations().items() if declared.task == "forecast" and declared.scored]
MEASURED = [name for name, declared in declarations().items() if declared.task == "regression" and declared.scored]


def situation(rng, n, sigma, share=0.3, spread=0.8, draw=None):
    """Labels below a detection limit that hides about this share of them, predictions and true residuals."""
    p = rng.normal(0.0, 1.5, n)
    d = rng.normal(0.0, spread, n) if draw is None else draw(rng, n)
    y = p + d + sigma * rng.standard_normal(n)
    limit = {0.1: -2.2, 0.3: -0.9, 0.6: 0.43}[share] * np.sqrt(1.5**2 + spread**2 + sigma**2) / 1.72
    below = y < limit
    return sb.Censored(np.where(below, -INF, y), np.where(below, limit, y), sigma), p, d


def test_reference():
    path = Path(__file__).parents[1] / "reference" / "reference_limits.json"
    case = json.loads(path.read_text())
    given, exact = case["inputs"], case["exact"]
    labels = sb.Censored(given["lower"], given["upper"])
    for name, key in (("mean_absolute_error", "mae"), ("mean_squared_error", "mse")):
        score = getattr(sb, name)(None, given["y_pred"], yerr=labels)
        assert score.bounds.low == pytest.approx(float(exact[f"{key}_low"]), rel=1e-14)
        assert score.observed == pytest.approx(float(exact[f"{key}_low"]), rel=1e-14)
        assert score.bounds.high == float(exact[f"{key}_high"])
    closed = np.isfinite(labels.lower) & np.isfinite(labels.upper)
    some = sb.mean_absolute_error(None, np.array(given["y_pred"])[closed], yerr=labels[closed])
    assert some.bounds.high == pytest.approx(float(exact["mae_high_of_bounded_items"]), rel=1e-14)


@pytest.mark.parametrize("name", [name for name in TAKEN if name not in ("kendall_correlation", "concordance_index")])
def test_bounds_are_sharp(name):
    """No labels that the limits allow leave the bounds, and some reach them."""
    low, high = np.array([1.0, -0.5, 0.2, 2.0]), np.array([1.0, 0.7, 1.4, 3.5])
    p = np.array([1.3, 0.9, 0.8, 1.0])
    metric, options = getattr(sb, name), OPTIONS.get(name, {})
    found = metric(None, p, yerr=sb.Censored(low, high), **options).bounds
    axes = [np.unique(np.append(np.linspace(a, b, 9), np.clip(q, a, b))) for a, b, q in zip(low, high, p, strict=True)]
    values = [metric(np.array(y), p, **options).observed for y in product(*axes)]
    assert found == pytest.approx((min(values), max(values)), abs=1e-12)


@pytest.mark.parametrize("name", ["kendall_correlation", "concordance_index"])
def test_only_pairs_of_known_order_count(name):
    """Against a plain count of the pairs whose order is the same for all labels that the limits allow."""
    rng = np.random.default_rng(4)
    labels, p, _ = situation(rng, 25, 0.0)
    p = np.round(p, 1)
    right = wrong = tied = 0
    for i, j in product(range(25), repeat=2):
        if labels.upper[i] <= labels.lower[j] and i != j:
            right, wrong, tied = right + (p[i] < p[j]), wrong + (p[i] > p[j]), tied + (p[i] == p[j])
    score = getattr(sb, name)(None, p, yerr=labels)
    harrell = (right + tied / 2) / (right + wrong + tied)
    tau = (right - wrong) / np.sqrt((right + wrong) * (right + wrong + tied))
    assert score.observed == pytest.approx(harrell if name == "concordance_index" else tau, rel=1e-12)
    assert score.bounds.low <= score.observed <= score.bounds.high
    assert score.truth == score.observed
    low, high = score.truth.total_interval(0.95)
    assert low < score.observed < high


def test_the_concordance_index_of_numbers():
    rng = np.random.default_rng(1)
    y, p = np.round(rng.normal(size=40), 1), np.round(rng.normal(size=40), 1)
    exact = sb.concordance_index(None, p, yerr=sb.Censored(np.append(y[1:], -INF), np.append(y[1:], 9.0)))
    assert 0.0 <= exact.observed <= 1.0
    apart = [
        (np.sign(a - b), np.sign(c - d)) for a, c in zip(y, p, strict=True) for b, d in zip(y, p, strict=True) if a > b
    ]
    share = np.mean([1.0 if other > 0 else 0.5 if other == 0 else 0.0 for _, other in apart])
    assert sb.concordance_index(y, p).observed == pytest.approx(share, rel=1e-12)
    drawn = [sb.concordance_index(y + 0.3 * rng.standard_normal(40), p).observed for _ in range(2000)]
    score = sb.concordance_index(y, p, yerr=0.3)
    assert score.expected == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(2000))
    assert score.std == pytest.approx(np.std(drawn), rel=0.1)


@pytest.mark.parametrize("name", MEASURED)
def test_every_metric_answers_or_refuses(name):
    labels, p, _ = situation(np.random.default_rng(2), 60, 0.3)
    metric, options = getattr(sb, name), OPTIONS.get(name, {})
    if name not in TAKEN:
        with pytest.raises(ValueError, match=r"takes no labels that are limits|Logarithmic Error cannot be used"):
            metric(None, p, yerr=labels, **options)
        return
    score = metric(None, p, yerr=labels, **options)
    assert score.bounds.low <= score.observed <= score.bounds.high or name == "fraction_within"
    assert np.isfinite([score.expected, score.std, *score.interval(), *score.total_interval()]).all()
    assert score.noise_share is None
    assert "limit" in score.explain()
    with pytest.raises(sb.UndefinedEstimate, match="depends on where the limit comes from"):
        score.remeasured()
    for low, high in (score.truth.interval(), score.truth.total_interval()):
        assert low <= score.truth <= high
    assert "of 60 labels" in score.truth.note


def test_limits_alone_leave_the_truth_undefined():
    labels = sb.Censored([-INF] * 20, [1.0] * 20)
    score = sb.mean_absolute_error(None, np.linspace(0, 2, 20), yerr=labels)
    assert score.bounds == (pytest.approx(score.observed), INF)
    with pytest.raises(sb.UndefinedEstimate, match="0 of 20 labels are numbers"):
        _ = score.truth


@pytest.mark.parametrize("sigma", [0.0, 0.4])
def test_truth_is_closer_than_what_is_observed(sigma):
    """The nearest allowed values make the error too small; the most likely distribution does not."""
    off, seen = [], []
    for seed in range(12):
        labels, p, d = situation(np.random.default_rng(seed), 150, sigma)
        score = sb.mean_absolute_error(None, p, yerr=labels)
        off.append(score.truth - np.mean(np.abs(d)))
        seen.append(score.observed - np.mean(np.abs(d)))
    assert np.mean(seen) < -0.05
    assert abs(np.mean(off)) < 0.03


@pytest.mark.parametrize("name", ["kendall_correlation", "concordance_index"])
def test_true_values_are_ordered_better_than_labels_with_errors(name):
    """Errors of labels put pairs into the wrong order; of the true values, the same pairs are ordered better."""
    off, seen, held = [], [], 0
    for seed in range(12):
        labels, p, d = situation(np.random.default_rng(seed), 120, 0.8)
        i, j = np.nonzero(labels.upper[:, None] <= labels.lower)
        i, j = i[i != j], j[i != j]
        share = np.mean(((p + d)[j] > (p + d)[i]) == (p[j] > p[i]))
        right = share if name == "concordance_index" else 2 * share - 1
        score = getattr(sb, name)(None, p, yerr=labels)
        off.append(score.truth - right)
        seen.append(score.observed - right)
        held += score.truth.interval(0.95).low <= right <= score.truth.interval(0.95).high
    assert np.mean(seen) < -0.03
    assert abs(np.mean(off)) < 0.015
    assert held >= 10


@pytest.mark.parametrize("name", ["kendall_correlation", "concordance_index"])
def test_the_order_of_true_values_is_that_of_precise_labels(name):
    labels, p, _ = situation(np.random.default_rng(5), 80, 0.0)
    precise = sb.Censored(labels.lower, labels.upper, 1e-6)
    metric = getattr(sb, name)
    exact = metric(None, p, yerr=labels)
    found = metric(None, p, yerr=precise).truth
    assert found == pytest.approx(exact.truth, abs=0.01)
    few = sb.Censored([1.0, 2.0, *[-INF] * 20], [1.0, 2.0, *[1.0] * 20], 0.3)
    with pytest.raises(sb.UndefinedEstimate, match="2 of 22 labels are numbers"):
        _ = metric(None, np.arange(22.0), yerr=few).truth


def test_squares_join_those_without_limits():
    """A limit that says nothing leaves the squares of the others, less their error variance: no law takes part of it."""
    rng = np.random.default_rng(3)
    d = rng.choice([-0.8, 0.8], 100) + 0.8 * rng.standard_normal(100)
    plain = sb.mean_squared_error(d, np.zeros(100), yerr=0.8).truth
    low, high = np.append(d, -INF), np.append(d, 50.0)
    assert sb.mean_squared_error(None, np.zeros(101), yerr=sb.Censored(low, high, 0.8)).truth == pytest.approx(
        plain, rel=0.02
    )
    f, labels = sb.NormalForecast(np.zeros(101), np.full(101, 0.5)), sb.Censored(low, high, 0.8)
    for name in ("log_score", "dawid_sebastiani_score"):
        plain = getattr(sb, name)(d, f[:100], yerr=0.8).truth
        assert getattr(sb, name)(None, f, yerr=labels).truth == pytest.approx(plain, rel=0.02)


def test_squares_go_on_beyond_the_limits():
    """Of Laplace residuals much of the mean square lies there. Absolute errors do not need it, and the notes tell the two apart."""
    off = []
    for seed in range(40):
        labels, p, d = situation(
            np.random.default_rng(seed), 200, 0.0, 0.6, draw=lambda rng, n: rng.laplace(0.0, 1.0, n)
        )
        truth = sb.mean_squared_error(None, p, yerr=labels).truth
        off.append(truth - np.mean(np.square(d)))
        assert truth.interval(0.95).low < truth < truth.interval(0.95).high
    assert "smooth distribution" in truth.note and "tails at most exponential" in truth.note
    assert "most likely distribution" in sb.mean_absolute_error(None, p, yerr=labels).truth.note
    assert abs(np.mean(off)) < 0.02 * 2 + 2 * np.std(off) / np.sqrt(40)  # of a variance of 2


def test_a_limit_far_out_speaks_for_no_more_than_a_number_there():
    """Else intervals of squares reach as far as the grid does."""
    length, spread = [], []
    for seed in range(8):
        labels, p, d = situation(np.random.default_rng(seed), 50, 0.8, 0.6)
        truth = sb.mean_squared_error(None, p, yerr=labels).truth
        low, high = truth.interval(0.95)
        length.append(high - low)
        spread.append(truth - np.mean(np.square(d)))
    assert np.mean(length) < 2.5
    assert np.max(np.abs(spread)) < 1.5


def test_scatter_is_that_of_all_labels():
    """Tobit: the scatter from numbers and limits agrees with the one that the whole labels show."""
    z = []
    for seed in range(20):
        labels, p, _ = situation(np.random.default_rng(seed), 100, 0.3)
        found = sb.intrinsic_scatter(None, p, yerr=labels)
        z.append((found - 0.8) / found.std)
    assert abs(np.mean(z)) < 3 / np.sqrt(20)
    assert 0.6 < np.std(z) < 1.5
    with pytest.raises(ValueError, match="no chi-squared: use method='ml'"):
        sb.intrinsic_scatter(None, p, yerr=labels, method="chi2")


def test_errors_that_depend_on_the_prediction_are_seen():
    rng = np.random.default_rng(0)
    p = rng.normal(0.0, 1.5, 400)
    d = rng.normal(0.0, np.where(p > 0, 1.5, 0.3))
    y = p + d
    labels = sb.Censored(np.where(y < -1.0, -INF, y), np.where(y < -1.0, -1.0, y), 0.1)
    assert "errs differently where it predicts low" in sb.mean_absolute_error(None, p, yerr=labels).explain()
    alike, p, _ = situation(rng, 400, 0.1)
    assert "errs differently" not in sb.mean_absolute_error(None, p, yerr=alike).explain()


def test_studies():
    labels, p, _ = situation(np.random.default_rng(5), 60, 0.3)
    worse = p + np.random.default_rng(6).normal(0.0, 1.5, 60)
    found = sb.evaluate(None, {"a": p, "b": worse}, yerr=labels)
    assert found.metrics == ["root_mean_squared_error", "mean_absolute_error", "mean_error", "median_absolute_error"]
    assert "observed and expected are lower bounds" in found.assumed
    for metric in ("mae", "rmse", "mse", "huber_loss"):
        compared = sb.compare(None, {"a": p, "b": worse}, yerr=labels, metric=metric, sampling=True)
        assert compared.verdict("a", "b") == "better"
        difference = compared.difference("a", "b")
        assert difference.truth == pytest.approx(
            getattr(sb, compared.declaration.name)(None, p, yerr=labels).truth
            - getattr(sb, compared.declaration.name)(None, worse, yerr=labels).truth
        )
    for metric in ("median_absolute_error", "kendall_correlation", "concordance_index"):
        difference = sb.compare(None, {"a": p, "b": worse}, yerr=labels, metric=metric).difference("a", "b")
        first, second = (getattr(sb, metric)(None, one, yerr=labels) for one in (p, worse))
        assert difference.observed == pytest.approx(first.observed - second.observed)
        assert difference.expected == pytest.approx(first.expected - second.expected, abs=0.2 * difference.std)
    with pytest.raises(ValueError, match="plan takes no labels that are limits"):
        sb.plan(None, p, yerr=labels, std=0.01)
    for y in (None, labels.labels()):
        with pytest.raises(ValueError, match="an accumulator takes no labels that are limits"):
            sb.Accumulator("mean_absolute_error").update(y, p, yerr=labels)


def test_checks_do_not_cry_wolf_over_limits():
    """A perfect model on right errors: p-values are uniform, limits or not."""
    low = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        t = rng.normal(0.0, 1.0, 40)
        y = t + 0.5 * rng.standard_normal(40)
        labels = sb.Censored(np.where(y < -0.5, -INF, y), np.where(y < -0.5, -0.5, y), 0.5)
        low.append(sb.check_errors(None, t, yerr=labels).pvalue_low)
    assert np.mean(np.array(low) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(low) == pytest.approx(0.5, abs=3 * np.sqrt(1 / 12 / 200))


def test_what_observed_is():
    """A lower bound of an error, an upper bound of a share, no bound of a bias; and that of a root is that of the root."""
    labels, p, _ = situation(np.random.default_rng(0), 60, 0.3)
    both = sb.Censored(labels.lower, np.where(labels.upper > 2.0, INF, labels.upper), 0.3)
    score = sb.root_mean_squared_error(None, p, yerr=labels)
    assert f"lower bounds, and the labels allow {score.bounds.low:.3g} and more." in score.explain()
    assert "nearest to its prediction, a lower bound." in score.explain()
    share = sb.fraction_within(None, p, yerr=labels, tolerance=0.5)
    low, high = share.bounds
    assert f"upper bounds, and the labels allow {low:.3g} to {high:.3g}." in share.explain()
    assert "no bounds, and the labels allow any value." in sb.mean_error(None, p, yerr=both).explain()
    assert "of the pairs whose order is known" in sb.kendall_correlation(None, p, yerr=labels).explain()


def test_what_is_published_says_limits():
    labels, p, _ = situation(np.random.default_rng(0), 60, 0.3)
    count = int(labels.limits.sum())
    for name in ("mean_absolute_error", "root_mean_squared_error", "concordance_index"):
        sentence = getattr(sb, name)(None, p, yerr=labels).sentence()
        assert f"behind 60 labels, of which {count} are upper limits" in sentence
        assert "limits taken as limits" in sentence
    bound = sb.mean_absolute_error(None, p, yerr=sb.Censored(np.full(60, -INF), p - 0.1)).sentence()
    assert "60 labels, of which all are upper limits" in bound
    assert "a lower bound" in bound
    assert "taken as exact" not in bound
    compared = sb.compare(None, {"a": p, "b": p + 0.1}, yerr=labels, metric="mae")
    assert any("compare lower bounds" in text for text in compared.warnings)


@pytest.mark.parametrize("metric", ["mae", "median_absolute_error", "kendall_correlation"])
def test_bounds_of_differences(metric):
    """All labels that the limits allow have differences within."""
    rng = np.random.default_rng(1)
    p, y = rng.normal(0.0, 1.0, 30), rng.normal(0.0, 1.0, 30)
    labels, models = sb.Censored(np.where(y < 0, y - 1.0, y), np.where(y < 0, y + 0.5, y)), {"a": p, "b": p + 0.3}
    difference = sb.compare(None, models, yerr=labels, metric=metric).difference("a", "b")
    low, high = difference.bounds
    for _ in range(50):
        inside = sb.compare(rng.uniform(labels.lower, labels.upper), models, metric=metric).difference("a", "b")
        assert low - 1e-12 <= inside.observed <= high + 1e-12
    with pytest.raises(sb.UndefinedEstimate, match="where the limit comes from"):
        difference.remeasured()


def test_the_order_of_residuals_of_two_values():
    """Labels with errors do not show that residuals take two values only, and the interval reaches that far."""
    held = 0
    for seed in range(30):
        labels, p, d = situation(np.random.default_rng(seed), 60, 0.4, draw=lambda rng, n: rng.choice([-0.8, 0.8], n))
        i, j = np.nonzero(labels.upper[:, None] <= labels.lower)
        i, j = i[i != j], j[i != j]
        right = np.mean(((p + d)[j] > (p + d)[i]) == (p[j] > p[i]))
        truth = sb.concordance_index(None, p, yerr=labels).truth
        held += truth.interval(0.95).low <= right <= truth.interval(0.95).high
        assert truth.interval(0.5).high <= truth.interval(0.95).high <= truth.interval(0.99).high <= 1.0
    assert held >= 26


@pytest.mark.parametrize("sigma", [0.0, 0.3])
@pytest.mark.parametrize("name", ["mean_absolute_error", "mean_squared_error", "median_absolute_error", "mean_error"])
def test_ends_that_say_nothing_change_nothing(name, sigma):
    """A range from -1e12 to 1 is an upper limit, and an upper limit of 1e30 is as good as no label."""
    labels, p, _ = situation(np.random.default_rng(4), 60, sigma)
    metric, hidden = getattr(sb, name), labels.limits
    open_ended = metric(None, p, yerr=labels).truth
    for far in (1e12, 1e300):
        wide = sb.Censored(np.where(hidden, -far, labels.lower), labels.upper, sigma)
        truth = metric(None, p, yerr=wide).truth
        assert truth == pytest.approx(open_ended, rel=1e-6, abs=1e-9)
        assert truth.interval(0.95) == pytest.approx(open_ended.interval(0.95), rel=1e-4, abs=1e-6)
    nothing = sb.Censored(labels.lower, np.where(hidden, 1e30, labels.upper), sigma)
    truth, numbers = metric(None, p, yerr=nothing).truth, metric(None, p[~hidden], yerr=labels[~hidden]).truth
    assert truth == pytest.approx(numbers, abs=0.1)
    assert truth.total_interval(0.95).high < 3.0


def test_limits_far_below_all_numbers():
    """Three in ten residuals are known to be huge, and the estimate says so."""
    labels, p, _ = situation(np.random.default_rng(4), 60, 0.0)
    far = sb.Censored(labels.lower, np.where(labels.limits, -1e9, labels.upper))
    score = sb.mean_absolute_error(None, p, yerr=far)
    assert score.truth == pytest.approx(score.observed, rel=0.05)


def test_the_order_where_some_labels_are_exact():
    """Exact numbers among labels with errors leave no NaN in the interval, and do not make it collapse."""
    held, n = 0, 60
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p, d = 1.9 * rng.standard_normal(n), rng.standard_normal(n)
        sigma = np.where(rng.random(n) < 0.3, 0.0, 0.5)
        y = p + d + sigma * rng.standard_normal(n)
        limit = np.quantile(y, 0.3)
        labels = sb.Censored(np.where(y < limit, -INF, y), np.where(y < limit, limit, y), sigma)
        i, j = np.nonzero(labels.upper[:, None] <= labels.lower)
        i, j = i[i != j], j[i != j]
        right = np.mean(((p + d)[j] > (p + d)[i]) == (p[j] > p[i]))
        truth = sb.concordance_index(None, p, yerr=labels).truth
        (low, high), (least, most) = truth.interval(0.95), truth.interval(0.5)
        assert low <= least < truth < most <= high < truth + 0.1
        assert high <= truth.total_interval(0.95).high <= 1.0
        held += low <= right <= high
    assert held >= 16


def test_the_order_where_many_labels_are_exact():
    """Residuals of more than 100 values are not taken one by one, which took minutes."""
    rng = np.random.default_rng(3)
    p, sigma = 1.9 * rng.standard_normal(400), np.where(rng.random(400) < 0.3, 0.0, 0.5)
    y = p + rng.standard_normal(400) + sigma * rng.standard_normal(400)
    labels = sb.Censored(np.where(y < -1.0, -INF, y), np.where(y < -1.0, -1.0, y), sigma)
    truth = sb.concordance_index(None, p, yerr=labels).truth
    low, high = truth.interval(0.95)
    assert low < truth < high


def test_the_grid_exchanges_no_pairs():
    """Numbers that are sharper than the grid's step are ordered as they were seen, but for their own errors."""
    off, seen, held = [], [], 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        p, d, sigma = (
            1.9 * rng.standard_normal(120),
            rng.standard_normal(120),
            np.where(rng.random(120) < 0.5, 0.0, 0.01),
        )
        y, truth = p + d + sigma * rng.standard_normal(120), p + d
        below = y < -1.0
        labels = sb.Censored(np.where(below, -INF, y), np.where(below, -1.0, y), sigma)
        i, j = np.nonzero(labels.upper[:, None] <= labels.lower)
        i, j = i[i != j], j[i != j]
        score, right = sb.concordance_index(None, p, yerr=labels), np.mean((truth[j] > truth[i]) == (p[j] > p[i]))
        off.append(score.truth - right)
        seen.append(score.observed - right)
        low, high = score.truth.interval(0.95)
        held += low - 1e-12 <= right <= high + 1e-12
    assert np.sqrt(np.mean(np.square(off))) < 1.1 * np.sqrt(np.mean(np.square(seen)))
    assert held >= 14


# forecasts -----------------------------------------------------------------------------------------


def forecasts(rng, n, sigma, factor=1.0, limit=-0.9):
    """Labels below a detection limit, normal forecasts whose spread is too small by `factor`, and the true values."""
    mean, std = rng.normal(0.0, 1.5, n), rng.uniform(0.4, 1.2, n)
    truth = mean + factor * std * rng.standard_normal(n)
    y = truth + sigma * rng.standard_normal(n)
    labels = sb.Censored(np.where(y < limit, -INF, y), np.where(y < limit, limit, y), sigma)
    return labels, sb.NormalForecast(mean, std), truth


KINDS = {
    "normal": lambda f, rng: f,
    "members": lambda f, rng: sb.EnsembleForecast(f.mean[:, None] + f.std[:, None] * rng.standard_normal((f.n, 9))),
    "quantiles": lambda f, rng: sb.QuantileForecast([0.1, 0.5, 0.9], f.ppf(np.array([[0.1], [0.5], [0.9]])).T),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORECAST)
def test_bounds_of_forecasts_are_sharp(name, kind):
    """No labels that the limits allow score less or more, and some reach the bounds."""
    low, high = np.array([1.0, -0.5, 0.2, 2.0]), np.array([1.0, 0.7, 1.4, 3.5])
    f = KINDS[kind](sb.NormalForecast([1.3, 0.9, 0.8, 1.0], [0.4, 0.5, 0.3, 0.9]), np.random.default_rng(0))
    metric, options = getattr(sb, name), OPTIONS.get(name, {})
    if name == "log_score" and kind != "normal":
        with pytest.raises(ValueError, match=r"normal forecasts only|no density"):
            metric(None, f, yerr=sb.Censored(low, high), **options)
        return
    score = metric(None, f, yerr=sb.Censored(low, high), **options)
    ends, middle = np.linspace(low, high, 101), f.ppf(0.5)  # each label has its own score: looked at one by one
    each = np.stack([metric_of_each(metric, y, f, options) for y in (*ends, *np.clip([middle, f.mean], low, high))])
    assert score.bounds == pytest.approx((each.min(axis=0).mean(), each.max(axis=0).mean()), abs=1e-12)
    assert score.observed == pytest.approx(score.bounds[name == "interval_coverage"], abs=1e-12)


def metric_of_each(metric, y, f, options):
    return np.array([metric(y[k : k + 1], f[[k]], **options).observed for k in range(len(y))])


@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("name", FORECAST)
def test_truth_of_forecasts(name, sigma):
    """It finds what whole labels without error would show; the nearest allowed values do not."""
    metric, options = getattr(sb, name), OPTIONS.get(name, {})
    off, seen, held = [], [], 0
    for seed in range(10):
        labels, f, truth = forecasts(np.random.default_rng(seed), 150, sigma, 1.3)
        score, right = metric(None, f, yerr=labels, **options), metric(truth, f, **options).observed
        low, high = score.truth.interval()
        held += low <= right <= high
        off.append(score.truth - right)
        seen.append(score.observed - right)
        assert score.truth.total_interval().low <= score.truth <= score.truth.total_interval().high
    assert held >= 7
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(10) + 0.02 * np.std(truth)
    assert abs(np.mean(off)) < abs(np.mean(seen)) or sigma > 0
    assert "in units of their spread" in score.truth.note


def test_forecasts_that_err_differently_are_seen():
    rng = np.random.default_rng(3)
    labels, f, _ = forecasts(rng, 400, 0.1)
    assert "errs differently" not in sb.crps(None, f, yerr=labels).explain()
    sure = sb.NormalForecast(f.mean, np.where(f.std < 0.8, f.std / 3, f.std))
    assert "errs differently in units of its spread where it is sure" in sb.crps(None, sure, yerr=labels).explain()


def test_studies_of_forecasts():
    labels, f, _ = forecasts(np.random.default_rng(4), 120, 0.2)
    wide = sb.NormalForecast(f.mean, 3 * f.std)
    found = sb.evaluate(None, {"f": f, "wide": wide}, yerr=labels)
    assert "of 120 labels" in found.assumed and "crps" in found.metrics
    for name in ("crps", "log_score", "dawid_sebastiani_score"):
        difference = sb.compare(None, {"f": f, "wide": wide}, yerr=labels, metric=name).difference("f", "wide")
        first, second = (getattr(sb, name)(None, one, yerr=labels) for one in (f, wide))
        assert difference.observed == pytest.approx(first.observed - second.observed)
        assert difference.truth == pytest.approx(first.truth - second.truth)
    with pytest.raises(ValueError, match="calibration takes no labels that are limits"):
        sb.calibration(None, f, yerr=labels)
    with pytest.raises(sb.UndefinedEstimate, match="claims the label"):
        _ = sb.crps(None, f.claiming("label"), yerr=labels).truth


@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("name", [*TAKEN, *FORECAST])
def test_the_population_is_not_better_known_than_the_items(name, sigma):
    """Though hidden values scatter for these items alone: where most labels are limits, that is much."""
    labels, p, _ = situation(np.random.default_rng(1), 40, sigma, 0.6)
    predicted = sb.NormalForecast(p, np.full(40, 0.8)) if name in FORECAST else p
    truth = getattr(sb, name)(None, predicted, yerr=labels, **OPTIONS.get(name, {})).truth
    for level in (0.5, 0.95):
        (low, high), (least, most) = truth.interval(level), truth.total_interval(level)
        slack = 1e-9 * max(abs(least), abs(most))
        assert least <= low + slack and high - slack <= most
    assert truth.sampling_std >= 0


def test_hidden_squares_scatter_as_the_end_of_their_interval_lets_them():
    """Distributions with more far out make the hidden residuals scatter more: the upper end lies that much farther."""
    labels, p, _ = situation(np.random.default_rng(2), 200, 0.0, draw=lambda rng, n: rng.laplace(0.0, 0.6, n))
    data = Measured(labels.nearest(p), p, labels)
    mean = mean_of_limited_loss(SquaredError(), data, 0.0, INF)
    fit, z = mean.residuals.fit, mean.widened * 1.959963984540054
    reach, law = fit.furthest(mean._influence, 0.5 * z * z / fit.effective_labels)
    own, there = fit.posterior_variance(mean._averaged), law.posterior_variance(mean._averaged)
    assert there > 1.3 * own
    assert mean.interval(0.95).high == pytest.approx(mean.value + np.hypot(reach, z * np.sqrt(there)), rel=1e-6)


def test_scatter_of_heavy_tails_is_less_well_known():
    """A limit that says nothing leaves the interval about as long as that of the numbers alone."""
    rng = np.random.default_rng(3)
    d, s = rng.laplace(0.0, 1.0, 400), np.full(400, 0.3)
    y = d + s * rng.standard_normal(400)
    labels = sb.Censored(np.append(y, -INF), np.append(y, 1e3), 0.3)
    plain = sb.intrinsic_scatter(y, np.zeros(400), yerr=s).interval(0.95)
    found = sb.intrinsic_scatter(None, np.zeros(401), yerr=labels).interval(0.95)
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("sigma", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("residuals", ["normal", "laplace", "two points"])
@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("name", ["mean_absolute_error", "mean_squared_error"])
def test_intervals_of_the_truth_hold(share, sigma, residuals, n, name):
    """They hold at least 92 % less the error of the count, and the estimate is off by little: less than 0.02 sd.

    Errors as large as the residuals hide that there are two of them, few labels more so: docs/theory/limits.md.
    """
    draws = {
        "normal": lambda rng, n: rng.normal(0.0, 0.8, n),
        "laplace": lambda rng, n: rng.laplace(0.0, 0.8 / np.sqrt(2), n),
        "two points": lambda rng, n: rng.choice([-0.8, 0.8], n),
    }
    held, off, repetitions = 0, [], 60
    for seed in range(repetitions):
        labels, p, d = situation(np.random.default_rng(seed), n, sigma, share, draw=draws[residuals])
        right = np.mean(np.abs(d)) if name == "mean_absolute_error" else np.mean(np.square(d))
        try:
            truth = getattr(sb, name)(None, p, yerr=labels).truth
        except sb.UndefinedEstimate:
            continue
        low, high = truth.interval(0.95)
        held += low <= right <= high
        off.append(truth - right)
    assert held / len(off) > 0.92 - 2.5 * np.sqrt(0.92 * 0.08 / len(off))
    hidden = sigma == 0.8 and residuals == "two points"
    most = 0.06 if hidden else 0.02
    assert abs(np.mean(off)) < most * 0.8 + 3 * np.std(off) / np.sqrt(len(off))


@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.median_absolute_error, sb.kendall_correlation])
def test_exact_numbers_do_not_move(metric):
    """Limits stay and exact numbers have no error bar: nothing is redrawn."""
    labels = sb.Censored([1.0, 2.0, 3.0, -np.inf], [1.0, 3.0, 3.0, 1.0])
    score = metric(None, [1.2, 2.9, 2.0, 0.5], yerr=labels)
    assert score.std == 0.0
    assert score.interval(0.9) == (score.observed, score.observed)
