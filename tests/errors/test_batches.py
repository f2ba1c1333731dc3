"""Errors that the labels of each batch share: the same as the full covariance, at a cost that grows with the labels only."""

import time
import warnings

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies.capabilities import ARGUMENTS

N = 30
RNG = np.random.default_rng(1)
BATCH = RNG.integers(0, 7, N)
SIGMA = RNG.uniform(0.2, 0.5, N)
Y = 6.0 + 2.0 * RNG.standard_normal(N)
P = Y + 0.5 * RNG.standard_normal(N)
SHIFT = RNG.uniform(0.1, 0.4, N)
SIZES = {
    "different": (SIGMA, 0.4),
    "equal": (0.3, 0.4),
    "batch only": (0.0, 0.4),
    "some exact": (np.where(np.arange(N) % 3, SIGMA, 0.0), 0.4),
    "own shifts": (SIGMA, np.where(BATCH == 2, 0.0, SHIFT)),
}
UNDEFINED = {"mean_absolute_percentage_error", "mean_squared_log_error", "root_mean_squared_log_error"}
METRICS = [n for n, d in declarations().items() if d.task == "regression" and d.scored and n not in UNDEFINED]


def both(sigma, shift):
    """In batches, and as a covariance matrix."""
    b = np.broadcast_to(shift, (N,))
    cov = np.diag(np.broadcast_to(np.square(sigma), (N,))) + np.outer(b, b) * (BATCH[:, None] == BATCH)
    return sb.Normal(sigma, batch=BATCH, batch_sigma=shift), sb.Normal(cov=cov)


def as_shifts(sigma, shift):
    """One row of shared shifts for each batch."""
    return sb.Normal(sigma, shared=np.broadcast_to(shift, (N,)) * (np.unique(BATCH)[:, None] == BATCH))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("metric", [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_error])
@pytest.mark.parametrize("weight", [None, RNG.uniform(0.0, 2.0, N)])
def test_squares_and_bias_are_those_of_the_covariance(metric, sizes, weight):
    found, full = (metric(Y, P, yerr=e, sample_weight=weight) for e in both(*SIZES[sizes]))
    assert float(found) == pytest.approx(float(full), rel=1e-12)
    assert found.std == pytest.approx(full.std, rel=1e-11)
    assert found.truth.std == pytest.approx(full.truth.std, rel=1e-11)
    assert float(found.perfect) == pytest.approx(float(full.perfect), rel=1e-11)
    assert found.interval(0.95) == pytest.approx(full.interval(0.95), rel=1e-9)
    for x in found.interval(0.6):
        assert found.distribution.cdf(x) == pytest.approx(full.distribution.cdf(x), abs=1e-11)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.huber_loss, sb.mean_pinball_loss])
def test_moments_of_other_losses_are_those_of_the_covariance(metric, sizes):
    exact = 1e-10 if sizes in ("different", "equal", "own shifts") else 1e-6  # kinks that no own error smooths
    if exact > 1e-9 and metric is sb.mean_pinball_loss:
        exact = 1e-3  # the series of the covariance converges slowly
    found, full = (metric(Y, P, yerr=e) for e in both(*SIZES[sizes]))
    assert float(found) == pytest.approx(float(full), rel=1e-12)
    assert found.std == pytest.approx(full.std, rel=exact)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_answers_as_with_shared_shifts(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = sb.Normal(SIGMA, batch=BATCH, batch_sigma=0.3), as_shifts(SIGMA, 0.3)
        found, full = (entry_of(name).function(Y, P, yerr=e, **ARGUMENTS.get(name, {})) for e in models)
    assert float(found) == pytest.approx(float(full), rel=0.02)
    assert found.std == pytest.approx(full.std, rel=0.05)
    assert float(found.truth) == pytest.approx(float(full.truth), rel=1e-6)
    assert found.truth.std == pytest.approx(full.truth.std, rel=0.35)
    assert float(found.perfect) == pytest.approx(float(full.perfect), rel=0.02)


def test_draws_have_the_covariance():
    errors, full = both(SIGMA, SHIFT)
    drawn = errors.sample(Y, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.cov(drawn.T), full.cov, atol=0.006)


def test_subsets_units_repeats_and_scale():
    errors = sb.Normal(SIGMA, batch=[f"plate {b}" for b in BATCH], batch_sigma=0.4, scale_error=0.2)
    part = errors[np.arange(10)]
    same = sb.Normal(SIGMA[:10], batch=BATCH[:10], batch_sigma=0.4)
    assert sb.mean_squared_error(Y[:10], P[:10], yerr=part).std == sb.mean_squared_error(Y[:10], P[:10], yerr=same).std
    scaled = sb.root_mean_squared_error(1e120 * Y, 1e120 * P, yerr=errors.scaled(1e120))
    assert scaled.std == pytest.approx(1e120 * sb.root_mean_squared_error(Y, P, yerr=errors).std, rel=1e-9)
    # a batch's error does not average out, a label's own does
    few = sb.mean_error(Y, P, yerr=errors.with_known_scale()).remeasured(100).std
    assert few > sb.mean_error(Y, P, yerr=SIGMA).remeasured(100).std
    assert (
        sb.mean_squared_error(Y, P, yerr=errors).truth.std
        > sb.mean_squared_error(Y, P, yerr=errors.with_known_scale()).truth.std
    )
    assert "batches>" in repr(same)


def test_studies_know_batches():
    errors, full = sb.Normal(SIGMA, batch=BATCH, batch_sigma=0.4), as_shifts(SIGMA, 0.4)
    q = P + 0.2 * RNG.standard_normal(N)
    for metric in ("mean_squared_error", "mean_absolute_error"):
        one, other = (
            sb.compare(Y, {"a": P, "b": q}, yerr=e, metric=metric, sampling=True).difference("a", "b")
            for e in (errors, full)
        )
        assert one.std == pytest.approx(other.std, rel=1e-9 if metric == "mean_squared_error" else 0.1)
    checked, matrix = (sb.check_errors(Y, P, yerr=e) for e in (errors, full))
    assert checked.reduced_chi_squared == pytest.approx(matrix.reduced_chi_squared, rel=1e-10)
    assert sb.evaluate(Y, P, yerr=errors, metrics=["rmse", "mae", "r2"])["rmse"].std > 0
    with pytest.raises(ValueError, match="needs independent errors"):
        sb.intrinsic_scatter(Y, P, yerr=errors)
    with pytest.raises(ValueError, match="an accumulator sums up labels with independent normal errors"):
        sb.Accumulator(["mean_squared_error"]).update(Y, P, yerr=errors)


def test_very_many_batches_cost_no_more_than_few():
    n = 40_000
    rng = np.random.default_rng(0)
    y, p, sigma = rng.standard_normal(n), rng.standard_normal(n), rng.uniform(0.2, 0.5, n)
    for metric in (sb.mean_squared_error, sb.mean_error):
        many = metric(y, p, yerr=sb.Normal(sigma, batch=np.arange(n) // 2, batch_sigma=0.1))
        few = metric(y, p, yerr=sb.Normal(sigma, batch=np.arange(n) % 4, batch_sigma=0.1))
        assert 0 < many.std < few.std
    start = time.perf_counter()
    _ = sb.mean_squared_error(y, p, yerr=sb.Normal(sigma, batch=np.arange(n) // 2, batch_sigma=0.1)).truth.std
    assert time.perf_counter() - start < 20  # a matrix of 20 000 batches would not fit into memory at all
    with pytest.raises(ValueError, match="20000 batches of 40000 labels are too many for this metric"):
        _ = sb.r2_score(y, p, yerr=sb.Normal(sigma, batch=np.arange(n) // 2, batch_sigma=0.1)).truth


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Normal(0.1, batch=[0, 1]), "batch and batch_sigma belong together"),
        (lambda: sb.Normal(0.1, batch_sigma=0.3), "batch and batch_sigma belong together"),
        (
            lambda: sb.Normal([0.1, 0.2, 0.3], batch=[0, 1], batch_sigma=0.3),
            "sigma and batch describe different numbers of labels",
        ),
        (
            lambda: sb.Normal(0.1, batch=[0, 1], batch_sigma=[0.1, 0.2, 0.3]),
            "batch and batch_sigma describe different numbers",
        ),
        (lambda: sb.Normal(0.1, batch=[0, 1], batch_sigma=-0.3), "batch_sigma = -0.3 is negative"),
        (lambda: sb.Normal(0.1, batch=[[0, 1]], batch_sigma=0.3), r"batch must name the batch of each label"),
        (lambda: sb.Normal(0.1, batch=["a", None], batch_sigma=0.3), r"batch .*missing"),
        (lambda: sb.Normal(0.1, batch=[0, 1], batch_sigma=0.3, shared=[0.1, 0.1]), "give shared or batch, not both"),
        (lambda: sb.Normal(cov=np.eye(2), batch=[0, 1], batch_sigma=0.3), "cov holds all of it"),
        (lambda: sb.Normal(0.1, batch=[0, 1], batch_sigma=0.3, dof=4), "dof needs sigma alone"),
    ],
)
def test_bad_batches_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
