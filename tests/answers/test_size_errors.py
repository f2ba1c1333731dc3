"""Error bars that are estimates themselves: what that adds to every answer that depends on them."""

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies.capabilities import ARGUMENTS

N = 60
RNG = np.random.default_rng(4)
TRUTH = 6.0 + 2.0 * RNG.standard_normal(N)
SIGMA = RNG.uniform(0.2, 0.5, N)
Y = TRUTH + SIGMA * RNG.standard_normal(N)
P = TRUTH + 0.4 * RNG.standard_normal(N)
UNDEFINED = {"mean_absolute_percentage_error", "mean_squared_log_error", "root_mean_squared_log_error"}
METRICS = [n for n, d in declarations().items() if d.task == "regression" and d.scored and n not in UNDEFINED]


def score(name, yerr, y=Y, p=P):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return entry_of(name).function(y, p, yerr=yerr, **ARGUMENTS.get(name, {}))


@pytest.mark.parametrize("name", METRICS)
def test_a_common_factor_adds_half_the_change_between_larger_and_smaller_errors(name):
    r = 0.15
    known, found = score(name, sb.Normal(SIGMA)).truth, score(name, sb.Normal(SIGMA, scale_error=r)).truth
    assert float(found) == float(known)
    if name == "reduced_chi_squared":
        half = -2.0 * r  # of the labels' own part; the metric itself goes on dividing by the errors that were quoted
    else:
        half = (float(score(name, SIGMA * (1 + r)).truth) - float(score(name, SIGMA * (1 - r)).truth)) / 2
    assert found.std == pytest.approx(math.hypot(known.std, half), rel=1e-9)
    assert found.interval(0.9).low <= known.interval(0.9).low and found.interval(0.9).high >= known.interval(0.9).high
    if name not in ("mean_error",):
        assert found.std > known.std and "known to 15 %" in found.note
    try:
        inner, outer = known.total_interval(0.9), found.total_interval(0.9)
    except sb.UndefinedEstimate:
        return
    assert outer.low <= inner.low and inner.high <= outer.high


@pytest.mark.parametrize("name", METRICS)
def test_one_estimate_for_all_labels_is_a_factor_known_to_one_over_the_root_of_twice_its_degrees(name):
    estimated, factor = score(name, sb.Normal(0.3, dof=8)), score(name, sb.Normal(0.3, scale_error=0.25))
    assert estimated.truth.std == pytest.approx(factor.truth.std, rel=1e-9)
    assert float(estimated) == float(factor)
    if name != "mean_error":
        assert "estimated with 8 degrees of freedom" in estimated.truth.note


@pytest.mark.parametrize("name", [n for n in METRICS if n != "kendall_correlation"])
def test_sizes_of_single_labels_add_something(name):
    if name in ("mean_error", "reduced_chi_squared", "max_error"):
        return  # no size enters; Student's distribution takes over; bounds
    known, found = score(name, sb.Normal(SIGMA)).truth, score(name, sb.Normal(SIGMA, dof=2)).truth
    assert known.std < found.std < 2 * known.std


def test_squares_have_the_unbiased_variance_of_estimated_sizes():
    nu, d, s = 3.0, Y - P, SIGMA
    found = sb.mean_squared_error(Y, P, yerr=sb.Normal(s, dof=nu)).truth
    exact = np.sum(4 * d**2 * s**2 + s**4 * nu / (nu + 2) * (2 / nu - 2)) / N**2
    assert found.std**2 == pytest.approx(exact, rel=1e-12)
    assert sb.mean_squared_error(Y, P, yerr=sb.Normal(0.3, dof=7)).truth.std ** 2 == pytest.approx(
        sb.mean_squared_error(Y, P, yerr=0.3).truth.std ** 2 + 2 * 0.3**4 / 7, rel=1e-12
    )


@pytest.mark.parametrize("name", ["mean_squared_error", "mean_absolute_error", "r2_score", "median_absolute_error"])
def test_a_summary_of_repeats_is_the_same_as_its_degrees_of_freedom(name):
    repeats = sb.Repeats.from_summary(sd=2.0 * SIGMA, n=np.full(N, 4))
    own = sb.Normal(SIGMA, dof=3)
    assert float(score(name, repeats).truth) == pytest.approx(float(score(name, own).truth), rel=1e-12)
    assert score(name, repeats).truth.std == pytest.approx(score(name, own).truth.std, rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_nothing_changes_without_it(name):
    plain, same = score(name, sb.Normal(SIGMA)), score(name, sb.Normal(SIGMA, scale_error=0.0))
    assert plain.to_dict() == same.to_dict() == score(name, SIGMA).to_dict()


def test_perfect_and_remeasured_know_it_too_and_false_alarms_stop():
    rng = np.random.default_rng(0)
    y = P + 0.7 * SIGMA * rng.standard_normal(N)  # errors overstated by 1/0.7
    known, doubted = (
        sb.mean_squared_error(Y, P, yerr=SIGMA),
        sb.mean_squared_error(Y, P, yerr=sb.Normal(SIGMA, scale_error=0.3)),
    )
    assert doubted.perfect.std == pytest.approx(math.hypot(known.perfect.std, 0.6 * float(known.perfect)))
    assert doubted.remeasured(1).std == known.remeasured(1).std  # the same process once more: no size enters
    assert doubted.remeasured(4).std > known.remeasured(4).std
    assert "the observed score is below the noise floor" in sb.mean_squared_error(y, P, yerr=SIGMA).explain()
    text = sb.mean_squared_error(y, P, yerr=sb.Normal(SIGMA, scale_error=0.3)).explain()
    assert "the observed score is below the noise floor" not in text and "known to 30 %" in text


@pytest.mark.parametrize(
    "metric", [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error, sb.r2_score]
)
def test_several_outputs_share_their_factor(metric):
    y, p = np.stack([Y, Y], axis=1), np.stack([P, P], axis=1)
    one = metric(Y, P, yerr=sb.Normal(0.3, scale_error=0.2)).truth
    known, both = metric(y, p, yerr=sb.Normal(0.3)).truth, metric(y, p, yerr=sb.Normal(0.3, scale_error=0.2)).truth
    alone = metric(Y, P, yerr=0.3).truth
    assert both.std**2 - known.std**2 == pytest.approx(one.std**2 - alone.std**2, rel=0.05)


def test_berkson_errors_of_uncertain_size():
    known = sb.mean_squared_error(Y, P, yerr=sb.Normal(SIGMA, kind="berkson"))
    found = sb.mean_squared_error(Y, P, yerr=sb.Normal(SIGMA, scale_error=0.2, kind="berkson"))
    assert found.truth.std == pytest.approx(math.hypot(known.truth.std, 0.4 * np.mean(SIGMA**2)))


def test_weights_units_covariances_and_subsets_keep_it():
    w = RNG.uniform(0.5, 2.0, N)
    found = sb.mean_squared_error(Y, P, yerr=sb.Normal(SIGMA, scale_error=0.2), sample_weight=w).truth
    known = sb.mean_squared_error(Y, P, yerr=SIGMA, sample_weight=w).truth
    assert found.std == pytest.approx(math.hypot(known.std, 0.4 * np.average(SIGMA**2, weights=w)))
    plain = sb.root_mean_squared_error(Y, P, yerr=sb.Normal(SIGMA, scale_error=0.2)).truth
    scaled = sb.root_mean_squared_error(1e100 * Y, 1e100 * P, yerr=sb.Normal(SIGMA * 1e100, scale_error=0.2)).truth
    assert scaled.std == pytest.approx(1e100 * plain.std, rel=1e-9)
    cov = np.diag(SIGMA**2) + 0.01
    correlated = sb.mean_squared_error(Y, P, yerr=sb.Normal(cov=cov, scale_error=0.2)).truth
    alone = sb.mean_squared_error(Y, P, yerr=sb.Normal(cov=cov)).truth
    assert correlated.std == pytest.approx(math.hypot(alone.std, 0.4 * np.mean(np.diag(cov))))
    half = sb.Normal(SIGMA, dof=np.arange(1.0, N + 1))[np.arange(30)]
    assert half.scatter.nu.tolist() == list(range(1, 31))


def test_estimates_can_be_pickled():
    for errors in (sb.Normal(SIGMA, scale_error=0.2), sb.Normal(SIGMA, dof=4)):
        for metric in (sb.mean_squared_error, sb.mean_absolute_error, sb.median_absolute_error):
            found = metric(Y, P, yerr=errors).truth
            again = pickle.loads(pickle.dumps(found))
            assert (float(again), again.std, again.interval(0.9)) == (float(found), found.std, found.interval(0.9))


# studies -----------------------------------------------------------------------------------------


def test_a_factor_cancels_in_comparisons_of_squares_and_widens_their_law():
    q = P + 0.2 * RNG.standard_normal(N)
    known, found = (sb.compare(Y, {"a": P, "b": q}, yerr=e) for e in (SIGMA, sb.Normal(SIGMA, scale_error=0.25)))
    one, other = known.difference("a", "b"), found.difference("a", "b")
    assert float(other.truth) == float(one.truth) and other.truth.std == one.truth.std
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 8)
    assert np.ptp(other.interval(0.95)) == pytest.approx(np.ptp(one.interval(0.95)) * t / z)
    assert abs(found.probability("a", "b") - 0.5) < abs(known.probability("a", "b") - 0.5)


@pytest.mark.parametrize("metric", ["mean_absolute_error", "median_absolute_error", "reduced_chi_squared"])
def test_what_both_models_share_cancels(metric):
    q = P + 0.2 * np.random.default_rng(1).standard_normal(N)
    known, found = (
        sb.compare(Y, {"a": P, "b": q}, yerr=e, metric=metric) for e in (SIGMA, sb.Normal(SIGMA, scale_error=0.2))
    )
    one, other = known.difference("a", "b").truth, found.difference("a", "b").truth
    alone = math.sqrt(sum(score(metric, sb.Normal(SIGMA, scale_error=0.2), p=x).truth.std ** 2 for x in (P, q)))
    assert float(one) == float(other) and one.std <= other.std < alone


@pytest.mark.parametrize("method", ["ml", "chi2"])
def test_intrinsic_scatter(method):
    known = sb.intrinsic_scatter(Y, P, yerr=SIGMA, method=method)
    for errors in (
        sb.Normal(SIGMA, scale_error=0.2),
        sb.Normal(SIGMA, dof=3),
        sb.Repeats.from_summary(sd=SIGMA * 2, n=[4] * N),
    ):
        found = sb.intrinsic_scatter(Y, P, yerr=errors, method=method)
        assert float(found) == pytest.approx(float(known)) and found.std > known.std
        assert found.interval(0.9).low < known.interval(0.9).low < known.interval(0.9).high < found.interval(0.9).high
    found = sb.intrinsic_scatter(Y, P, yerr=sb.Normal(SIGMA, scale_error=0.2), method=method)
    half = (
        sb.intrinsic_scatter(Y, P, yerr=0.8 * SIGMA, method=method)
        - sb.intrinsic_scatter(Y, P, yerr=1.2 * SIGMA, method=method)
    ) / 2
    assert found.std == pytest.approx(math.hypot(known.std, half))


def test_check_errors_says_by_which_factor_errors_could_be_wrong():
    rng = np.random.default_rng(2)
    y = TRUTH + 1.6 * SIGMA * rng.standard_normal(N)
    found = sb.check_errors(y, TRUTH, yerr=SIGMA)
    assert 1.0 < found.scale.low < 1.6 < found.scale.high < 2.5
    chi2 = found.reduced_chi_squared * N
    assert found.scale.low == pytest.approx(math.sqrt(chi2 / stats.chi2.ppf(0.975, N)))
    assert found.scale.high == pytest.approx(math.sqrt(chi2 / stats.chi2.ppf(0.025, N)))
    assert f"consistent with errors scaled by {found.scale.low:.3g} to {found.scale.high:.3g}" in str(found)
    doubted = sb.check_errors(y, TRUTH, yerr=sb.Normal(SIGMA, scale_error=0.5))
    assert doubted.pvalue_high > 0.05 > found.pvalue_high
    exact = sb.check_errors(y, TRUTH, yerr=sb.Normal(SIGMA, scale_error=0.25)).pvalue_high
    assert exact == pytest.approx(stats.f.sf(found.reduced_chi_squared, N, 8.0), rel=1e-9)


def test_accumulators_refuse_what_they_cannot_keep():
    accumulator = sb.Accumulator(["mean_squared_error"])
    for errors in (sb.Normal(0.3, dof=5), sb.Normal(SIGMA, dof=5), sb.Normal(0.3, scale_error=0.2)):
        with pytest.raises(ValueError, match="an accumulator keeps no record of how well the errors are known"):
            accumulator.update(Y, P, yerr=errors)


# input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Normal(0.3, scale_error=-0.1), "scale_error must be a number of at least 0, got -0.1"),
        (lambda: sb.Normal(0.3, scale_error=20), "known to 2000 %, which is not at all: it must be below 1"),
        (lambda: sb.Normal(0.3, scale_error=[0.1, 0.2]), "scale_error must be a number of at least 0"),
        (lambda: sb.Normal(0.3, dof=0), r"dof = 0.0 is not positive"),
        (
            lambda: sb.Normal([0.3, 0.2], dof=[3, -1]),
            "dof has values that are not positive: the first is -1.0 at index 1",
        ),
        (lambda: sb.Normal([0.3, 0.2], dof=[3, 1, 2]), "sigma and dof describe different numbers of labels: 2 and 3"),
        (lambda: sb.Normal(0.3, dof=[3, 1, 2]), "dof has 3 values but sigma is one number for all labels"),
        (lambda: sb.Normal(cov=np.eye(2), dof=3), "dof needs sigma alone"),
        (lambda: sb.Normal(0.1, shared=[0.1, 0.1], dof=3), "dof needs sigma alone"),
    ],
)
def test_bad_sizes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_models_show_how_well_they_are_known():
    assert repr(sb.Normal(0.3, scale_error=0.2)) == "Normal(sigma=0.3, scale_error=0.2)"
    assert repr(sb.Normal(0.3, dof=8)) == "Normal(sigma=0.3, dof=8)"
    assert repr(sb.Normal([0.3, 0.2], dof=[3, 5])) == "Normal(sigma=<2 values>, dof=3 to 5)"


# coverage ----------------------------------------------------------------------------------------


def held(metric, make, quoted, runs, n, true_of, seed=0):
    """How often the 95 % interval of the truth holds it, for errors that are quoted as `quoted` draws them."""
    rng, inside = np.random.default_rng(seed), 0
    for _ in range(runs):
        truth = 3.0 * rng.standard_normal(n)
        p = truth + 0.5 * rng.standard_normal(n)
        y = truth + 0.6 * rng.standard_normal(n)
        low, high = metric(y, p, yerr=make(0.6 * quoted(rng))).truth.interval(0.95)
        inside += low <= true_of(truth, p) <= high
    return inside / runs


def squares(truth, p):
    return float(np.mean((truth - p) ** 2))


QUOTED = {
    "scale_error": (
        lambda s: sb.Normal(s, scale_error=0.2),
        lambda rng: 1.0 / max(1.0 + 0.2 * rng.standard_normal(), 0.2),
    ),
    "dof": (lambda s: sb.Normal(s, dof=10), lambda rng: math.sqrt(rng.chisquare(10) / 10)),
    "each": (lambda s: sb.Normal(s, dof=4), lambda rng: np.sqrt(rng.chisquare(4, 100) / 4)),
}


@pytest.mark.parametrize("way", QUOTED)
def test_intervals_of_the_truth_hold(way):
    share = held(sb.mean_squared_error, *QUOTED[way], 300, 100, squares)
    assert 0.91 < share < 0.985, share


@pytest.mark.parametrize("scale_error", [0.05, 0.3, 0.5, 0.9])
def test_a_difference_on_these_items_is_known_at_least_as_well_as_in_the_population(scale_error):
    rng = np.random.default_rng(2)
    t = rng.normal(size=100)
    y, rivals = t + rng.normal(size=100), {"a": t + rng.normal(size=100), "b": t + 1.3 * rng.normal(size=100)}

    def truth(**known):
        return sb.compare(y, rivals, yerr=sb.Normal(np.ones(100), **known)).difference("a", "b").truth

    found, known = truth(scale_error=scale_error), truth()
    assert float(found) == float(known) and found.std == known.std
    for level in (0.68, 0.95, 0.99):
        (low, high), (least, most) = found.interval(level), found.total_interval(level)
        assert least <= low < high <= most
        assert high - low >= np.ptp(known.interval(level)) * (1 - 1e-12)


def test_sizes_that_scatter_by_chance_are_taken_as_one():
    rng = np.random.default_rng(3)
    chance = np.sqrt(rng.chisquare(4, 400) / 4)
    alike = sb.Normal(0.6 * chance, dof=4).shrunk()
    assert alike.plain_normal and np.ptp(alike.sigma) == 0.0
    assert alike.sigma[0] == pytest.approx(0.6, rel=0.05)
    for known in (sb.Normal(0.6 * chance), sb.Normal(0.6, dof=4), sb.errors.Laplace(0.6)):
        assert known.shrunk() is known
    unlike = sb.Normal(0.6 * chance * np.exp(0.4 * rng.standard_normal(400)), dof=4).shrunk()
    assert isinstance(unlike, sb.errors.StudentT) and np.all(np.asarray(unlike.df) > 4.0)


@pytest.mark.parametrize(
    "score",
    [sb.mean_absolute_error, sb.huber_loss, lambda *a, **k: sb.mean_pinball_loss(*a, alpha=0.5, **k)],
    ids=["mae", "huber", "pinball"],
)
def test_labels_whose_error_came_out_small_do_not_draw_the_residuals_to_them(score):
    """Two degrees of freedom each: with every size as it came out, 95 % intervals of the mean absolute error held 64 %."""
    rng, inside = np.random.default_rng(4), []
    for _ in range(25):
        t = 3.0 * rng.standard_normal(100)
        p, y = t + 0.5 * rng.standard_normal(100), t + 0.6 * rng.standard_normal(100)
        low, high = score(y, p, yerr=sb.Normal(0.6 * np.sqrt(rng.chisquare(2, 100) / 2), dof=2)).truth.interval(0.95)
        inside.append(low <= score(t, p).observed <= high)
    assert np.mean(inside) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("way", QUOTED)
@pytest.mark.parametrize(
    ("metric", "true_of", "least"),
    [
        (sb.mean_squared_error, squares, 0.92),
        (sb.root_mean_squared_error, lambda t, p: math.sqrt(squares(t, p)), 0.92),
        (sb.mean_absolute_error, lambda t, p: float(np.mean(np.abs(t - p))), 0.92),
        (sb.r2_score, lambda t, p: 1 - squares(t, p) / float(np.var(t)), 0.92),
        (sb.median_absolute_error, lambda t, p: float(np.median(np.abs(t - p))), 0.90),
    ],
    ids=["mse", "rmse", "mae", "r2", "median"],
)
def test_intervals_of_the_truth_hold_for_other_metrics(way, metric, true_of, least):
    share = held(metric, *QUOTED[way], 300, 100, true_of, seed=1)
    assert share > least, share
