"""Labels of any size are summed up: an accumulator of 1e-19 gives 1e-19 times what one of 1 gives."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb

N = 70_000
RNG = np.random.default_rng(4)
Y = RNG.normal(3.0, 1.0, N)
P = Y + 0.3 * RNG.standard_normal(N)
SIGMA = np.where(RNG.random(N) < 0.1, 0.0, 0.2 * np.exp(0.7 * RNG.standard_normal(N)))
WEIGHT = RNG.gamma(2.0, size=N)
DEGREE = {"mean_squared_error": 2, "root_mean_squared_error": 1, "mean_absolute_error": 1, "mean_error": 1}
METRICS = [*DEGREE, "r2_score", "explained_variance_score"]
CUTS = (0, 69_000, 69_500, N)
SMALL, LARGE = 2.0**-300, 2.0**200


def accumulated(unit=1.0, metrics=METRICS, sigma=SIGMA, weight=WEIGHT, cuts=CUTS):
    total = sb.Accumulator(metrics)
    for start, stop in pairwise(cuts):
        part = slice(start, stop)
        options = {} if weight is None else {"sample_weight": weight[part]}
        total.update(unit * Y[part], unit * P[part], yerr=unit * sigma[part], **options)
    return total


def answers(score, unit):
    numbers = [score.observed, score.expected, score.std, *score.interval(), float(score.perfect), score.perfect.std]
    numbers += [score.sampling_std, *score.total_interval(), score.distribution.cdf(score.observed) * unit]
    if score.name != "mean_absolute_error":
        numbers += [float(score.truth), score.truth.std, *score.truth.interval(), float(score.remeasured(2))]
    return np.array(numbers) / unit


@pytest.fixture(scope="module")
def ordinary():
    return accumulated().result()


@pytest.mark.parametrize("unit", [SMALL, LARGE])
def test_scores_scale_with_the_labels(ordinary, unit):
    found = accumulated(unit).result()
    for metric in METRICS:
        scale = unit ** DEGREE.get(metric, 0)
        assert np.array_equal(answers(found[metric], scale), answers(ordinary[metric], 1.0)), metric
        assert found[metric].noise_share == ordinary[metric].noise_share
        assert found[metric].method == ordinary[metric].method


def test_charges_of_electrons():
    rng = np.random.default_rng(0)
    y = rng.normal(1.6e-19, 1e-21, N)
    found = sb.Accumulator("mean_squared_error").update(y, np.full(N, 1.6e-19), yerr=1e-21).result()
    whole = sb.mean_squared_error(y, np.full(N, 1.6e-19), yerr=1e-21)
    assert found["mean_squared_error"].expected == pytest.approx(whole.expected, rel=1e-13)
    assert found["mean_squared_error"].std == pytest.approx(whole.std, rel=1e-13)
    assert found["mean_squared_error"].truth.std == pytest.approx(whole.truth.std, rel=1e-12)


def test_hits_and_pulls_scale_too():
    sigma = SIGMA + 0.1
    names = ["fraction_within", "reduced_chi_squared"]
    one, other = (
        accumulated(unit, [partial(sb.fraction_within, tolerance=0.25 * unit), names[1]], sigma, None).result()
        for unit in (1.0, SMALL)
    )
    for name in names:
        assert other[name].to_dict() == one[name].to_dict()
    assert other["reduced_chi_squared"].pvalue == one["reduced_chi_squared"].pvalue


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("unit", [2.0**-100, 2.0**100])
def test_batches_of_other_sizes(order, unit):
    """One batch is of another unit: the result is that of all labels at once."""
    parts = [(slice(0, 66_000), 1.0), (slice(66_000, N), unit)][::order]
    total = sb.Accumulator(METRICS[:4])
    for part, scale in parts:
        total.update(scale * Y[part], scale * P[part], yerr=scale * SIGMA[part])
    loaded = sb.Accumulator.from_json(total.to_json()).result()
    scale = np.where(np.arange(N) < 66_000, 1.0, unit)
    whole = sb.evaluate(scale * Y, scale * P, yerr=scale * SIGMA, metrics=METRICS[:4])
    for metric, found in ((name, total.result()[name]) for name in METRICS[:4]):
        assert found.expected == pytest.approx(whole[metric].expected, rel=1e-13)
        assert found.std == pytest.approx(whole[metric].std, rel=1e-13)
        low, high = whole[metric].interval()
        assert np.allclose(found.interval(), (low, high), rtol=0, atol=1e-9 * (high - low))
        assert loaded[metric].to_dict() == found.to_dict()


def test_one_large_value_in_a_small_batch_blames_no_other():
    total = sb.Accumulator("mean_absolute_error").update([1e30, 0.0], [0.0, 0.0], yerr=0.1)
    total.update(Y, P, yerr=SIGMA)
    y, p = np.append([1e30, 0.0], Y), np.append([0.0, 0.0], P)
    whole = sb.mean_absolute_error(y, p, yerr=np.append([0.1, 0.1], SIGMA))
    assert total.result()["mean_absolute_error"].std == pytest.approx(whole.std, rel=1e-12)


def test_parts_that_lie_far_apart():
    """What labels are counted from moves by 1e30 when these merge."""
    far = np.where(np.arange(2 * N) < N, 0.0, 2.0**100)
    y, p, sigma = np.tile(Y, 2) + far, np.tile(P, 2) + far, np.full(2 * N, 0.2)
    one, other = (sb.Accumulator("r2_score").update(y[k], p[k], yerr=0.2) for k in (slice(0, N), slice(N, None)))
    at_once = sb.Accumulator("r2_score").update(y, p, yerr=sigma).result()["r2_score"]
    for merged in (one + other, other + one, one + other + one + other):
        found = merged.result()["r2_score"]
        assert (found.observed, found.expected) == (at_once.observed, at_once.expected) == (1.0, 1.0)
        assert 0 <= found.std < 1e-16


@pytest.mark.parametrize("unit", [1.0, 2.0**-100])
def test_labels_of_no_weight_may_be_of_any_size(unit):
    y, p = np.append(1e300, unit * Y), np.append(-1e300, unit * P)
    sigma, weight = np.append(1e200, unit * SIGMA), np.append(0.0, WEIGHT)
    total = sb.Accumulator(METRICS).update(y, p, yerr=sigma, sample_weight=weight)
    counting = sb.Accumulator(METRICS).update(y[1:], p[1:], yerr=sigma[1:], sample_weight=weight[1:])
    for name in METRICS:
        one, other = total.result()[name], counting.result()[name]
        assert (one.observed, one.expected, one.n) == (
            pytest.approx(other.observed),
            pytest.approx(other.expected),
            N + 1,
        )
        assert one.interval() == pytest.approx(other.interval(), rel=1e-13)
    with pytest.raises(ValueError, match="y_true contains NaN: the first is nan at index 0"):
        total.update(np.append(np.nan, Y), np.append(0.0, P), sample_weight=weight)


def test_models_of_other_sizes():
    """The unit of a model that is far off is not that of the others."""
    models = {"good": P, "far": P + 1e30, "exact": Y}
    total = sb.Accumulator(METRICS).update(Y, models, yerr=SIGMA)
    total.update(Y[:10], {name: p[:10] for name, p in models.items()}, yerr=SIGMA[:10])
    again = sb.Accumulator.from_json(total.to_json())
    y, sigma = np.append(Y, Y[:10]), np.append(SIGMA, SIGMA[:10])
    whole = sb.evaluate(y, {name: np.append(p, p[:10]) for name, p in models.items()}, yerr=sigma, metrics=METRICS[:4])
    for (model, metric, _), score in whole:
        found = again.result()[model, metric]
        assert found.to_dict() == total.result()[model, metric].to_dict()
        assert found.observed == pytest.approx(score.observed, rel=1e-13, abs=1e-300)
        assert found.expected == pytest.approx(score.expected, rel=1e-13, abs=1e-300)
        assert found.std == pytest.approx(score.std, rel=1e-12)
        assert found.perfect.std == pytest.approx(score.perfect.std, rel=1e-12)


def test_labels_that_scatter_much_more_than_they_err():
    y = 2.0**70 * Y
    p = np.where(np.arange(N) < 10, 0.0, y)
    y[:10] = 1e-3
    total = sb.Accumulator(["mean_squared_error", "r2_score"]).update(y, p, yerr=1e-3)
    whole = sb.mean_squared_error(y, p, yerr=1e-3)
    assert total.result()["mean_squared_error"].expected == pytest.approx(whole.expected, rel=1e-13)
    assert total.result()["mean_squared_error"].std == pytest.approx(whole.std, rel=1e-12)
    with pytest.raises(OverflowError, match="differ too much in size"):
        sb.Accumulator("r2_score").update(2.0**200 * Y, 2.0**200 * Y, yerr=1e-3)


def test_exact_perfect_labels_come_first():
    total = sb.Accumulator("mean_error").update(Y, Y)
    total.update(1e-25 * Y, 1e-25 * P, yerr=1e-26)
    found = total.result()["mean_error"]
    assert found.std == pytest.approx(1e-26 * np.sqrt(N) / (2 * N), rel=1e-13)


def test_a_score_above_the_largest_double():
    found = sb.Accumulator(["mean_squared_error"]).update(1e200 * Y, 1e200 * P, yerr=1e199)
    with pytest.raises(OverflowError, match="mean_squared_error of these labels is above the largest double"):
        found.result()
    root = sb.Accumulator("root_mean_squared_error").update(1e200 * Y, 1e200 * P, yerr=1e199)
    assert root.result()["root_mean_squared_error"] == pytest.approx(1e200 * np.sqrt(np.mean((P - Y) ** 2) + 0.01))


@pytest.mark.parametrize("n", [10, N])
@pytest.mark.parametrize(("factor", "value"), [(1e30, r"1e\+30"), (1e-40, "1e-40")])
def test_weights_have_limits_which_every_batch_is_told(n, factor, value):
    weight = np.where(np.arange(n) == 3, 1.0, 0.5) * factor
    with pytest.raises(OverflowError, match=f"sample_weight has {value} as its largest .* index 3: .* 8e-31 and 1e.18"):
        sb.Accumulator("mean_error").update(Y[:n], P[:n], sample_weight=weight)


@pytest.mark.parametrize("far", [1e200, 1e300])
@pytest.mark.parametrize("metric", ["mean_squared_error", "mean_absolute_error", "r2_score"])
def test_a_label_that_is_too_far_off_is_refused_in_words(metric, far):
    """Its square leaves the doubles, and divided by its size the others vanish."""
    y, p = Y.copy(), P.copy()
    y[5], p[5] = -far, far
    total = sb.Accumulator(metric)
    with pytest.raises(OverflowError, match="differ too much in size"):
        total.update(y, p, yerr=SIGMA)
    assert total.update(Y, P, yerr=SIGMA).n == N
