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
def test_truth_comes_close_under_other_families(model: errors.MeasurementError) -> None:
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
        expected = ("npmle", "location-scale") if isinstance(model, errors.LogNormal) else ("simex",)
        assert found.truth.method in expected
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


def counts(rng: np.random.Generator, n: int):
    t = rng.uniform(15, 45, n)
    return t, t - np.minimum(4 * rng.normal(0.3, 1, n), t - 0.5), errors.Poisson()


def additive(model: errors.MeasurementError):
    def draw(rng: np.random.Generator, n: int):
        t = rng.uniform(5, 15, n)
        return t, t - rng.normal(0.3, 1, n), model

    return draw


DRAWS = {
    "Poisson": counts,
    "SplitNormal": additive(errors.SplitNormal(0.3, 0.9)),
    "LogNormal": additive(errors.LogNormal(0.07)),
    "Laplace": additive(errors.Laplace(0.45)),
    "StudentT": additive(errors.StudentT(0.4, 3)),
    "Uniform": additive(errors.Uniform(1.0)),
}
SLOW = {"Laplace", "StudentT", "Uniform"}


@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=pytest.mark.slow) if f in SLOW else f for f in DRAWS], ids=str
)
@pytest.mark.parametrize(
    "score", [sb.mean_absolute_error, pytest.param(sb.huber_loss, marks=pytest.mark.slow)], ids=lambda f: f.__name__
)
def test_truth_holds_under_every_family(score, family: str) -> None:
    """The family's own density tells what truths a label allows: unbiased within its scatter, and intervals hold."""
    rng, inside, misses = np.random.default_rng(8), [], []
    for _ in range(40):
        t, p, model = DRAWS[family](rng, 60)
        y = model.sample(t, 1, rng)[0]
        truth, exact = score(y, p, yerr=model).truth, score(t, p).observed
        low, high = truth.interval(0.95)
        assert low <= truth <= high
        inside.append(low <= exact <= high)
        misses.append(float(truth) - exact)
    assert np.mean(inside) >= 0.92 - 4 * np.sqrt(0.08 * 0.92 / 40)
    assert abs(np.mean(misses)) < 4 * np.std(misses) / 40**0.5 + 0.25 * np.std(misses)


@pytest.mark.parametrize("score", [sb.symmetric_mean_absolute_percentage_error, sb.mean_squared_log_error])
def test_losses_of_label_and_prediction_use_the_density_too(score) -> None:
    rng = np.random.default_rng(9)
    t, p, model = counts(rng, 200)
    truth = score(model.sample(t, 1, rng)[0], np.maximum(p, 0.5), yerr=model).truth
    exact = score(t, np.maximum(p, 0.5)).observed
    assert truth.method in ("npmle", "location-scale") and abs(truth - exact) < 3 * truth.std
    assert truth.interval(0.9).low <= truth <= truth.interval(0.9).high
    # the population is known less well than these items
    assert truth.total_interval(0.9).high > truth.interval(0.9).high


def test_likelihood_of_true_values() -> None:
    """p(label | truth), each row relative to its largest entry."""
    from scorebars.moments.deconvolution import label_likelihood

    y, truth = np.array([3.0, 8.0]), np.array([[1.0, 3.0, 6.0], [0.0, 8.0, -2.0]])
    found, largest = label_likelihood(errors.Poisson(), y, truth)
    np.testing.assert_allclose(largest, stats.poisson.pmf(y, y), rtol=1e-12)
    exact = stats.poisson.pmf(y[:, None], np.maximum(truth, 0)) * (truth >= 0)
    np.testing.assert_allclose(found, exact / exact.max(axis=1, keepdims=True), rtol=1e-12)
    found, _ = label_likelihood(errors.LogNormal(0.3), y, truth)
    exact = np.where(truth > 0, np.exp(-0.5 * (np.log(y[:, None] / np.where(truth > 0, truth, 1)) / 0.3) ** 2), 0)
    np.testing.assert_allclose(found, exact / exact.max(axis=1, keepdims=True), rtol=1e-12)
    draws = y[:, None] + np.random.default_rng(0).normal(0, 0.5, (2, 4000))
    found, _ = label_likelihood(errors.Empirical(draws), y, np.array([[3.0, 3.5, 4.0], [8.0, 7.5, 7.0]]))
    np.testing.assert_allclose(found, np.exp([[0, -0.5, -2], [0, -0.5, -2]]), atol=0.05)


@pytest.mark.parametrize("sigma", [1e2, 1e4, 1e8])
@pytest.mark.parametrize("n", [1, 3, 60])
def test_a_truth_below_zero_keeps_an_interval(sigma: float, n: int) -> None:
    """Residuals far below the noise floor: the unbiased estimate is negative, the interval begins at 0 and ends above."""
    rng = np.random.default_rng(10)
    y = rng.random(n)
    for model in (
        errors.Normal(sigma),
        errors.Laplace(sigma),
        errors.Normal(np.full(n, sigma), shared=np.full(n, sigma)),
    ):
        truth = sb.mean_squared_error(y, y + 0.3, yerr=model).truth
        assert truth < 0 and "below the noise floor" in truth.note
        low, high = truth.interval(0.95)
        assert low == 0 < high
        assert truth.interval(0.99).high > high
        root = sb.root_mean_squared_error(y, y + 0.3, yerr=model).truth
        assert root == 0 and root.interval(0.95).high == pytest.approx(high**0.5, rel=1e-9)


def test_an_estimate_outside_its_range() -> None:
    """The end inside the range joins the ordinary one where the estimate is at the range's end, and never meets it."""
    from scorebars.answers.intervals import Symmetric

    assert Symmetric(-1e-12, 1.0, 0.0)(0.95) == pytest.approx(Symmetric(0.0, 1.0, 0.0)(0.95), abs=1e-9)
    ends = [Symmetric(value, 1.0, 0.0)(0.95).high for value in (0.0, -0.5, -3.0, -30.0, -1e5, -1e7, -1e12)]
    assert np.all(np.diff(ends) < 0) and ends[-1] > 0
    # P(estimate | u) = 0.05 P(estimate | 0)
    assert stats.norm.cdf(-3 - ends[2]) == pytest.approx(0.05 * stats.norm.cdf(-3), rel=1e-9)
    above = Symmetric(1.4, 0.1, 0.0, 1.0)(0.95)
    assert above.high == 1 and 0.9 < above.low < 1
    assert Symmetric(-3.0, 1.0, 0.0, df=5)(0.95).high > ends[2]
