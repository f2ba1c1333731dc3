"""What must not change a score: the unit, the origin, the order, the sign, the way in which errors are given."""

import functools
import json
import math

import numpy as np
import pytest
from situations import CORRELATED, COV, DEGREE, ERRORS, METRICS, SHIFTS, SIGMA, UPPER, WEIGHT, P, Y, assert_same_answers

import scorebars as sb

every_metric = pytest.mark.parametrize("metric", METRICS)
every_error = pytest.mark.parametrize("errors", ERRORS)
weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])


@functools.cache
def ordinary(metric, errors, weighted=False):
    """The score to compare with."""
    return METRICS[metric](Y, P, yerr=ERRORS[errors](), sample_weight=WEIGHT if weighted else None)


UNITS = [1e-150, 1e-60, 1e-8, 3.0, 1e8, 1e60, 1e150]


@every_metric
@pytest.mark.parametrize(
    "errors, weight, c",
    [("sigmas", None, c) for c in UNITS] + [(errors, WEIGHT, c) for errors in ERRORS for c in (UNITS[0], UNITS[-1])],
    ids=lambda v: v if isinstance(v, str) else "" if v is None else "weighted" if np.ndim(v) else f"{v:g}",
)
def test_unit(metric, errors, weight, c):
    """In another unit every answer is the same number in that unit: nothing overflows, vanishes or becomes NaN."""
    function, here = METRICS[metric], ordinary(metric, errors, weight is not None)
    there = function(Y * c, P * c, yerr=ERRORS[errors](c), sample_weight=weight)
    assert_same_answers(there, here, scale=c, degree=DEGREE[metric])
    assert not math.isnan(there.variance)  # the one number that may leave the doubles
    assert there.variance >= 0
    unit = c ** DEGREE[metric]
    if not there.distribution.discrete and here.std > 0:
        x = here.distribution.ppf(0.6)
        assert there.distribution.pdf(x * unit) * unit == pytest.approx(here.distribution.pdf(x), rel=1e-6)


@every_metric
@every_error
@pytest.mark.parametrize("c", [1e-150, 1e150])
def test_any_unit_can_be_shown(metric, errors, c):
    score = METRICS[metric](Y * c, P * c, yerr=ERRORS[errors](c))
    for text in (
        str(score),
        repr(score),
        f"{score:.3g}",
        score.explain(),
        score._repr_html_(),
        json.dumps(score.to_dict()),
    ):
        assert text
        assert "nan" not in text.lower()
    if errors != "no error":
        assert "e+" in str(score) or "e-" in str(score)


@every_metric
@pytest.mark.parametrize("c", [1e-150, 1e150])
@pytest.mark.parametrize("errors", [None, 0.5, "split"])
def test_unit_of_several_outputs(metric, errors, c):
    y, p = np.stack([Y, 2 * Y], axis=1), np.stack([P, Y], axis=1)

    def score(c):
        yerr = [sb.SplitNormal(SIGMA * c, UPPER * c)] * 2 if errors == "split" else errors and errors * c
        return METRICS[metric](y * c, p * c, yerr=yerr)

    assert_same_answers(score(c), score(1.0), scale=c, degree=DEGREE[metric])


@every_metric
@every_error
@pytest.mark.parametrize("shift", [1024.0])
def test_origin(metric, errors, shift):
    """Only differences of labels and predictions count."""
    here = ordinary(metric, errors)
    there = METRICS[metric](Y + shift, P + shift, yerr=ERRORS[errors]())
    assert_same_answers(there, here)


@every_metric
@weights
def test_order(metric, weight):
    """The order of the labels does not matter."""
    i = np.random.default_rng(0).permutation(len(Y))
    w = None if weight is None else weight[i]
    models = [
        (sb.Normal(SIGMA), SIGMA[i]),
        (sb.Normal(cov=COV), sb.Normal(cov=COV[i][:, i])),
        (sb.Normal(SIGMA, shared=SHIFTS), sb.Normal(SIGMA[i], shared=SHIFTS[::-1, i])),
    ]
    for here, there in models:
        score = METRICS[metric](Y, P, yerr=here, sample_weight=weight)
        assert_same_answers(METRICS[metric](Y[i], P[i], yerr=there, sample_weight=w), score, drawn=True)
        indexed = here[i]  # an error model is indexed like an array
        assert_same_answers(METRICS[metric](Y[i], P[i], yerr=indexed, sample_weight=w), score, drawn=True)


@every_metric
@every_error
def test_sign(metric, errors):
    """Labels and predictions mirrored at zero: lower errors become upper ones, and the bias changes its sign."""
    here = ordinary(metric, errors)
    mirrored = sb.SplitNormal(UPPER, SIGMA) if errors == "split" else ERRORS[errors]()
    there = METRICS[metric](-Y, -P, yerr=mirrored)
    sign = -1.0 if metric == "mean_error" else 1.0
    assert there.observed == sign * here.observed
    drawn = metric == "rmse" and errors == "split"  # other draws
    assert there.expected == pytest.approx(sign * here.expected, rel=5e-3 if drawn else 1e-13)
    assert there.std == pytest.approx(here.std, rel=2e-2 if drawn else 1e-13)
    assert there.truth == pytest.approx(sign * here.truth, rel=1e-12)
    assert there.perfect == pytest.approx(sign * here.perfect, rel=2e-2 if drawn else 1e-12)


@every_metric
@every_error
def test_weights_have_no_unit(metric, errors):
    model = ERRORS[errors]()
    here = METRICS[metric](Y, P, yerr=model, sample_weight=WEIGHT)
    for unit in (7.0, 1e-200, 1e200):
        there = METRICS[metric](Y, P, yerr=model, sample_weight=WEIGHT * unit)
        for name in ("observed", "expected", "std", "truth", "sampling_std"):
            assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-10), name
        assert there.truth.std == pytest.approx(here.truth.std, rel=1e-10)
        assert there.total_interval() == pytest.approx(here.total_interval(), rel=1e-10)
    assert there.interval() == pytest.approx(here.interval(), rel=1e-9)
    assert there.perfect == pytest.approx(here.perfect, rel=1e-10)


@every_metric
@every_error
def test_one_weight_for_all(metric, errors):
    model = ERRORS[errors]()
    here = METRICS[metric](Y, P, yerr=model)
    for weight in (np.full(len(Y), 0.3), 2):
        there = METRICS[metric](Y, P, yerr=model, sample_weight=weight)
        for name in ("observed", "expected", "std", "truth", "sampling_std"):
            assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-12), name
    assert there.interval() == pytest.approx(here.interval(), rel=1e-9)


@every_metric
def test_weight_zero_is_absence(metric):
    """A label of weight 0 has no part in what the labels' errors do."""
    weight = np.where(np.arange(len(Y)) < 5, WEIGHT, 0.0)
    for whole, part in (
        (SIGMA, SIGMA[:5]),
        (sb.Normal(cov=COV), sb.Normal(cov=COV[:5, :5])),
        (sb.Normal(SIGMA, shared=SHIFTS), sb.Normal(SIGMA[:5], shared=SHIFTS[:, :5])),
    ):
        here = METRICS[metric](Y[:5], P[:5], yerr=part, sample_weight=WEIGHT[:5])
        there = METRICS[metric](Y, P, yerr=whole, sample_weight=weight)
        # over test sets of this size: the number of labels counts
        assert_same_answers(there, here, skip=("sampling", "total", "truth total"), rtol=1e-8, drawn=True)


@every_metric
@every_error
def test_weight_two_is_a_label_that_counts_twice(metric, errors):
    """Observed and expected are those of a repeated label; the std is not, since repeated labels err separately."""
    if errors in CORRELATED or metric == "rmse":
        pytest.skip("a repeated label would have errors of its own")
    twice = np.array([0, 0, 1, 2, 2, 3, 4, 5, 6, 7])
    weight = np.bincount(twice).astype(float)
    model = ERRORS[errors]()
    many = model if model is None or isinstance(model, float) else model[twice]
    repeated, weighted = (
        METRICS[metric](Y[twice], P[twice], yerr=many),
        METRICS[metric](Y, P, yerr=model, sample_weight=weight),
    )
    for name in ("observed", "expected", "truth", "perfect"):
        assert float(getattr(weighted, name)) == pytest.approx(float(getattr(repeated, name)), rel=1e-12), name
    if errors != "no error":
        assert weighted.std > repeated.std


@every_metric
@weights
def test_ways_to_say_the_same_errors(metric, weight):
    """A number, an array, a model, a diagonal covariance, no shared shift: one error."""
    function = METRICS[metric]

    def score(yerr):
        return function(Y, P, yerr=yerr, sample_weight=weight)

    here = score(0.5)
    for yerr in (
        np.float32(0.5),
        np.full(8, 0.5),
        [0.5] * 8,
        np.full((8, 1), 0.5),
        sb.Normal(0.5),
        sb.Normal([0.5] * 8),
    ):
        there = score(yerr)
        assert (there.observed, there.expected) == pytest.approx((here.observed, here.expected), rel=1e-14)
        assert (there.std, *there.interval()) == pytest.approx((here.std, *here.interval()), rel=1e-9)
    mixed = score(SIGMA)
    for yerr, same in (
        (sb.Normal(cov=np.diag(np.full(8, 0.25))), here),
        (sb.Normal(cov=np.diag(SIGMA**2)), mixed),
        (sb.Normal(SIGMA, shared=np.zeros(8)), mixed),
    ):
        # independent errors have a better interval of the truth
        assert_same_answers(score(yerr), same, skip=("truth interval",), drawn=True)


@every_metric
@weights
@pytest.mark.parametrize("k", [1, 2])
def test_shared_shifts_are_a_covariance(metric, weight, k):
    shifts = SHIFTS[:k]
    dense = sb.Normal(cov=np.diag(SIGMA**2) + shifts.T @ shifts)
    shared = sb.Normal(SIGMA, shared=shifts[0] if k == 1 else shifts)
    here = METRICS[metric](Y, P, yerr=dense, sample_weight=weight)
    there = METRICS[metric](Y, P, yerr=shared, sample_weight=weight)
    if metric != "mae":
        assert_same_answers(there, here, skip=("remeasured 3",))  # shared shifts do not average out over repeats
        return
    # two different ways to a sum of correlated folded normals: a series and a quadrature; the laws are drawn
    assert there.expected == pytest.approx(here.expected, rel=1e-12)
    assert there.std == pytest.approx(here.std, rel=1e-5)
    assert there.truth == pytest.approx(here.truth, rel=1e-10)
    assert there.perfect == pytest.approx(here.perfect, rel=1e-2)
    for q in (0.05, 0.5, 0.95):
        assert there.distribution.cdf(here.distribution.ppf(q)) == pytest.approx(q, abs=0.015)


@every_metric
@weights
def test_equal_halves_make_a_normal(metric, weight):
    here = METRICS[metric](Y, P, yerr=sb.Normal(SIGMA), sample_weight=weight)
    for errors in (sb.SplitNormal(SIGMA, SIGMA), np.stack([SIGMA, SIGMA])):
        there = METRICS[metric](Y, P, yerr=errors, sample_weight=weight)
        if metric == "rmse":  # the root of a drawn law
            assert there.expected == pytest.approx(here.expected, rel=5e-3)
            assert there.std == pytest.approx(here.std, rel=2e-2)
        else:
            assert there.expected == pytest.approx(here.expected, rel=1e-13)
            assert there.std == pytest.approx(here.std, rel=1e-12)
        assert there.observed == pytest.approx(here.observed, rel=1e-15)
        assert there.truth == pytest.approx(here.truth, rel=1e-12)
        assert there.truth.std == pytest.approx(here.truth.std, rel=0.3 if metric == "mae" else 1e-9)
        assert there.remeasured() == pytest.approx(here.remeasured(), rel=1e-12)
        for q in (0.05, 0.5, 0.95):
            assert there.distribution.cdf(here.distribution.ppf(q)) == pytest.approx(q, abs=0.015)


@every_metric
def test_lower_and_upper_errors_as_rows(metric):
    rows = METRICS[metric](Y, P, yerr=np.stack([SIGMA, UPPER]))
    assert_same_answers(rows, METRICS[metric](Y, P, yerr=sb.SplitNormal(SIGMA, UPPER)))
    assert_same_answers(METRICS[metric](Y, P, yerr=[SIGMA.tolist(), UPPER.tolist()]), rows)


@every_metric
def test_several_outputs_are_one_row_of_labels(metric):
    """The average over outputs is the score of all labels together (of the squares, for the root)."""
    y, p, sigma = Y.reshape(4, 2), P.reshape(4, 2), SIGMA.reshape(4, 2)
    joint = METRICS[metric](y, p, yerr=sigma)
    raw = METRICS[metric](y, p, yerr=sigma, multioutput="raw_values")
    for k in range(2):
        assert_same_answers(raw[k], METRICS[metric](y[:, k], p[:, k], yerr=sigma[:, k]))
    assert joint.expected == pytest.approx(np.mean(raw), rel=1e-13)
    assert joint.std == pytest.approx(math.hypot(*(s.std for s in raw)) / 2, rel=1e-12)
    if metric in ("mse", "mean_error"):  # the others are not negative
        assert joint.truth == pytest.approx(np.mean([s.truth for s in raw]), rel=1e-12)
    assert joint.perfect == pytest.approx(np.mean([s.perfect for s in raw]), rel=1e-12)
    assert joint.n == 4
    if metric != "rmse":
        flat = METRICS[metric](Y, P, yerr=SIGMA)
        assert joint.expected == pytest.approx(flat.expected, rel=1e-13)
        assert joint.std == pytest.approx(flat.std, rel=1e-13)
        assert joint.interval() == pytest.approx(flat.interval(), rel=1e-9)


@every_metric
def test_weights_of_outputs(metric):
    y, p, sigma = Y.reshape(4, 2), P.reshape(4, 2), SIGMA.reshape(4, 2)
    raw = METRICS[metric](y, p, yerr=sigma, multioutput="raw_values")
    score = METRICS[metric](y, p, yerr=sigma, multioutput=[3, 1])
    assert score.expected == pytest.approx(0.75 * raw[0] + 0.25 * raw[1], rel=1e-13)
    assert score.std == pytest.approx(math.hypot(0.75 * raw[0].std, 0.25 * raw[1].std), rel=1e-12)
    low, high = score.interval(0.8)
    assert low < score.expected < high


@every_metric
def test_outputs_that_err_in_different_ways(metric):
    """Each output keeps its own kind of error and its own repeats in the average."""
    y, p = Y.reshape(4, 2), P.reshape(4, 2)
    means = sb.Repeats.from_means(sigma=0.5, n=[4, 4, 2, 2])
    for models in ([sb.Normal(0.5), sb.Normal(0.5, kind="berkson")], [means, means], [means, sb.Normal(0.5)]):
        raw = METRICS[metric](y, p, yerr=models, multioutput="raw_values")
        score = METRICS[metric](y, p, yerr=models)
        for name in ("observed", "expected", "truth", "perfect"):
            mean = np.mean([float(getattr(one, name)) for one in raw])
            assert float(getattr(score, name)) == pytest.approx(mean, rel=1e-12, abs=1e-15), name
