"""Against the truth: estimates that are unbiased must be, under families that are not normal; others must come close."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars import errors


def test_log_normal_squared_error_is_unbiased() -> None:
    """E[y^2 exp(-2s^2) - 2 p y exp(-s^2/2) + p^2] = (t - p)^2, by quadrature over the label."""
    t, p, s = 2.0, 2.7, 0.4
    z, w = np.polynomial.hermite_e.hermegauss(60)
    labels = t * np.exp(s * z)
    model = errors.LogNormal(s)
    terms = model.unbiased_square(labels, np.full(60, p))
    assert (w @ terms) / np.sqrt(2 * np.pi) == pytest.approx((t - p) ** 2, rel=1e-12)
    assert terms[5] == pytest.approx(
        labels[5] ** 2 * np.exp(-2 * s**2) - 2 * p * labels[5] * np.exp(-(s**2) / 2) + p**2
    )
    assert (w @ model.unbiased_label(labels)) / np.sqrt(2 * np.pi) == pytest.approx(t, rel=1e-12)
    score = sb.mean_squared_error([labels[5]], [p], yerr=model)
    assert score.truth == pytest.approx(terms[5], rel=1e-12)


def test_log_normal_truth_variance() -> None:
    t, p, s = 2.0, 2.7, 0.3
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / np.sqrt(2 * np.pi)
    terms = errors.LogNormal(s).unbiased_square(t * np.exp(s * z), np.full(80, p))
    exact = w @ (terms - (t - p) ** 2) ** 2
    labels = t * np.exp(s * z)
    variance, floor = errors.LogNormal(s).unbiased_square_variance(labels, np.full(80, p))
    assert w @ variance == pytest.approx(exact, rel=1e-10)
    perfect = errors.LogNormal(s).unbiased_square(labels, np.full(80, t))
    assert w @ floor == pytest.approx(w @ perfect**2, rel=1e-10)


@pytest.mark.parametrize(("mu", "p"), [(4.25, 3.0), (0.5, 2.0), (20.0, 20.0)])
def test_poisson_squared_error_is_unbiased(mu: float, p: float) -> None:
    """E[(y - p)^2 - y] = (mu - p)^2, with variance 4 mu (mu - p)^2 + 2 mu^2."""
    k = np.arange(150.0)
    pmf = stats.poisson.pmf(k, mu)
    terms = errors.Poisson().unbiased_square(k, np.full(k.size, p))
    assert pmf @ terms == pytest.approx((mu - p) ** 2, rel=1e-10, abs=1e-11)
    variance, floor = errors.Poisson().unbiased_square_variance(k, np.full(k.size, p))
    assert pmf @ variance == pytest.approx(pmf @ (terms - (mu - p) ** 2) ** 2, rel=1e-9)
    assert pmf @ floor == pytest.approx(2 * mu**2, rel=1e-10)
    assert sb.mean_squared_error([7.0], [p], yerr=errors.Poisson()).truth == pytest.approx((7 - p) ** 2 - 7)


@pytest.mark.parametrize(
    "model",
    [
        errors.Uniform(0.8),
        errors.Laplace(0.4),
        errors.SplitNormal(0.2, 0.8),
        errors.StudentT(0.3, 9.0),
        errors.LogNormal(0.3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_truth_of_squared_and_mean_error_by_simulation(model: errors.MeasurementError) -> None:
    """Truths fixed, labels drawn again and again: the estimates average to the score against the truth."""
    rng = np.random.default_rng(1)
    t = 2.0 + rng.random(40)
    p = t + 0.3 * rng.normal(size=40)
    # the family's label is a mode or median, so labels are drawn around the truth as that
    labels = model.sample(t, 4000, rng)
    squares = np.array([model.unbiased_square(y, p).mean() for y in labels])
    target = float(np.mean((t - p) ** 2))
    assert squares.mean() == pytest.approx(target, abs=5 * squares.std() / 4000**0.5)
    estimated = np.array([sb.mean_squared_error(y, p, yerr=model).truth.std for y in labels[:50]])
    assert np.mean(estimated) == pytest.approx(squares.std(), rel=0.25)
    bias = np.array([np.mean(p - model.unbiased_label(y)) for y in labels])
    assert bias.mean() == pytest.approx(float(np.mean(p - t)), abs=5 * bias.std() / 4000**0.5)


@pytest.mark.parametrize("name", ["huber", "pinball", "log_cosh"])
def test_truth_of_residual_losses_comes_close(name: str) -> None:
    """300 labels with errors of 0.6 times the true residuals' spread: far better than the observed score."""
    rng = np.random.default_rng(3)
    residual = rng.normal(size=300)
    t = 10 + rng.random(300)
    p = t - residual
    y = t + 0.6 * rng.normal(size=300)
    score = {"huber": sb.huber_loss, "pinball": sb.mean_pinball_loss, "log_cosh": sb.log_cosh_loss}[name]
    exact, found = score(t, p).observed, score(y, p, yerr=0.6)
    assert found.truth.method == "npmle"
    assert abs(found.truth - exact) < 0.6 * abs(found.observed - exact)
    assert abs(found.truth - exact) < 4 * found.truth.std


@pytest.mark.parametrize(
    "model", [errors.Laplace(0.3), errors.LogNormal(0.04), errors.Uniform(0.7)], ids=lambda m: type(m).__name__
)
def test_extrapolated_truth_comes_close(model: errors.MeasurementError) -> None:
    rng = np.random.default_rng(4)
    t = 10 + rng.random(400)
    p = t - 0.8 * rng.normal(size=400)
    y = model.sample(t, 1, rng)[0]
    for score in (
        sb.mean_absolute_error,
        sb.huber_loss,
        sb.symmetric_mean_absolute_percentage_error,
        sb.mean_squared_log_error,
    ):
        if score is sb.mean_squared_log_error and isinstance(model, errors.Laplace):
            continue
        exact, found = score(t, p).observed, score(y, p, yerr=model)
        assert found.truth.method == "simex"
        assert abs(found.truth - exact) < 0.6 * abs(found.observed - exact) + 2.5 * found.truth.std
        assert abs(found.truth - exact) < abs(found.expected - exact)


def test_remeasured_with_more_or_fewer_repeats() -> None:
    rng = np.random.default_rng(6)
    y, p = rng.normal(size=60), rng.normal(size=60)
    means = errors.Repeats.from_means(sigma=np.full(60, 0.8), n=np.full(60, 4))
    score = sb.huber_loss(y, p, yerr=means)
    once, same, often = (float(score.remeasured(k)) for k in (1, 4, 16))
    assert same == pytest.approx(score.observed, rel=1e-12)
    assert once > same > often
    # a single fresh repeat: smoothed by the variance that is not in the label yet
    smoothed = sb.huber_loss(y, p, yerr=np.sqrt(0.64 - 0.16)).expected
    assert once == pytest.approx(smoothed, rel=1e-12)
    assert float(score.remeasured(np.inf)) == pytest.approx(float(score.truth), rel=1e-12)
