"""The law of a mean loss of many labels under any errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from scorebars import errors, losses
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.weighted_bernoulli import WeightedBernoulliSum
from scorebars.laws.law import NormalLaw, SquareRoot
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.mean_loss_law import mean_law
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare
from scorebars.laws.samples import SampleLaw
from scorebars.moments import label_moments

RNG = np.random.default_rng(2)
N = 12
Y, P = np.exp(RNG.normal(size=N)), np.exp(RNG.normal(size=N))
EQUAL = np.full(N, 1.0 / N)


@pytest.mark.parametrize(
    "model",
    [errors.Uniform(0.5), errors.Laplace(0.3), errors.LogNormal(0.4), errors.Poisson(), errors.SplitNormal(0.1, 0.6)],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("loss", [losses.SquaredError(), losses.Pinball(0.3)], ids=lambda v: type(v).__name__)
def test_mean_and_variance_are_exact_and_quantiles_those_of_draws(
    model: errors.MeasurementError, loss: losses.Loss
) -> None:
    law = mean_law(loss, model, Y, P, EQUAL)
    moments = label_moments(loss, model, Y, P)
    assert law.mean == pytest.approx(float(moments.mean.mean()), rel=1e-13)
    assert law.var == pytest.approx(float(moments.variance.sum()) / N**2, rel=1e-13)
    draws = loss(model.sample(Y, 50_000, np.random.default_rng(9)), P).mean(axis=1)
    for q in (0.025, 0.5, 0.975):
        assert law.ppf(q) == pytest.approx(float(np.quantile(draws, q)), abs=0.06 * float(law.std))


def test_share_within_a_tolerance_is_exact() -> None:
    loss, model = losses.Within(0.4), errors.Laplace(0.3)
    p = label_moments(loss, model, Y, P).mean
    law = mean_law(loss, model, Y, P, EQUAL)
    assert isinstance(law, ScaledLaw)
    assert law.pmf(0.0) == pytest.approx(float(np.prod(1 - p)), rel=1e-10)
    assert law.pmf(1.0) == pytest.approx(float(np.prod(p)), rel=1e-10)
    assert law.var == pytest.approx(float(np.sum(p * (1 - p))) / N**2, rel=1e-12)
    shares = np.linspace(0, 1, N) / np.linspace(0, 1, N).sum()
    weighted = mean_law(loss, model, Y, P, shares)
    assert isinstance(weighted, WeightedBernoulliSum)
    assert weighted.mean == pytest.approx(float(shares @ p), rel=1e-12)


@pytest.mark.parametrize("n", [2, 5, 20, 100, 300, 2000])
@pytest.mark.parametrize("sizes", ["equal", "mixed", "small", "large"])
def test_the_quadrature_agrees_with_the_exact_law_of_absolute_errors(n: int, sizes: str) -> None:
    """The absolute error under normal errors, which has an exact law of its own, by the way that serves any loss."""
    rng = np.random.default_rng(n)
    sigma = {
        "equal": np.full(n, 0.5),
        "mixed": np.exp(rng.normal(0.0, 1.5, n)),
        "small": 1e-3 * rng.uniform(0.5, 1.0, n),
        "large": 30.0 * rng.uniform(0.5, 1.0, n),
    }[sizes]
    residual, weight = rng.normal(size=n), rng.uniform(0.2, 1.0, n)
    exact = FoldedNormalMean(residual, sigma, weight)
    law = mean_law(losses.AbsoluteError(), errors.Normal(sigma), residual, np.zeros(n), weight / weight.sum())
    assert law.method == "quadrature"
    for q in (1e-6, 0.001, 0.025, 0.16, 0.5, 0.84, 0.975, 0.999, 1 - 1e-6):
        assert law.cdf(exact.ppf(q)) == pytest.approx(q, abs=3e-6 if n < 5 else 1e-8)
        assert law.pdf(exact.ppf(q)) * law.std == pytest.approx(exact.pdf(exact.ppf(q)) * law.std, abs=1e-3)
    assert law.ppf(0.975) == pytest.approx(exact.ppf(0.975), abs=3e-6 * float(law.std))


@pytest.mark.parametrize("sizes", ["equal", "mixed"])
def test_labels_that_stand_for_others_miss_little(sizes: str) -> None:
    n, rng = 60_000, np.random.default_rng(5)
    sigma = np.full(n, 0.5) if sizes == "equal" else np.exp(rng.normal(0.0, 1.5, n))
    residual = rng.normal(size=n)
    exact = FoldedNormalMean(residual, sigma)
    law = mean_law(losses.AbsoluteError(), errors.Normal(sigma), residual, np.zeros(n), np.full(n, 1.0 / n))
    for q in (0.001, 0.025, 0.5, 0.975, 0.999):
        assert law.cdf(exact.ppf(q)) == pytest.approx(q, abs=1e-6)


@pytest.mark.parametrize("n", [8, 60, 800])
def test_the_quadrature_agrees_with_the_exact_law_of_squares(n: int) -> None:
    rng = np.random.default_rng(n)
    residual, sigma = rng.normal(size=n), rng.uniform(0.2, 1.0, n)
    exact = GeneralizedChiSquare.independent(residual, sigma)
    law = mean_law(losses.SquaredError(), errors.Normal(sigma), residual, np.zeros(n), np.full(n, 1.0 / n))
    for q in (0.001, 0.025, 0.5, 0.975, 0.999):
        assert law.cdf(exact.ppf(q)) == pytest.approx(q, abs=1e-8)
    root, known = law.root(), SquareRoot(exact)
    assert root.mean == pytest.approx(float(known.mean), rel=1e-9)
    assert root.std == pytest.approx(float(known.std), rel=1e-7)
    assert root.ppf(0.025) == pytest.approx(known.ppf(0.025), rel=1e-8)


def test_rare_large_losses_are_seen() -> None:
    """A loss that is 0 but for one label in a thousand: a Poisson-binomial number of equal steps, smoothed."""
    n, chance = 2000, 1e-3
    y = np.full(n, float(ndtri(chance)))

    def above(y: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.clip(1e3 * y, 0.0, 1.0)

    loss = losses.CustomLoss(above, kinks=lambda p: [np.zeros_like(p), np.full_like(p, 1e-3)])
    law = mean_law(loss, errors.Normal(1.0), y, np.zeros(n), np.ones(n))
    for k in (0, 1, 2, 4, 7):
        assert law.cdf(k + 0.5) == pytest.approx(stats.binom(n, chance).cdf(k), abs=0.01)


def test_labels_without_a_variance_are_all_drawn() -> None:
    y = np.linspace(5.0, 9.0, 400)
    law = mean_law(losses.PercentageError(), errors.Normal(1.0), y, y + 0.5, np.full(400, 1 / 400))
    assert law.mean == law.std == math.inf
    draws = losses.PercentageError()(errors.Normal(1.0).sample(y, 5000, np.random.default_rng(4)), y + 0.5).mean(axis=1)
    assert law.ppf(0.5) == pytest.approx(float(np.median(draws)), rel=5e-3)


def test_labels_that_do_not_count_do_not_matter() -> None:
    shares = np.array([0.5, 0.0, 0.5])
    y, p = np.array([9.0, 0.0, 8.0]), np.array([9.5, 1.0, 8.5])
    law = mean_law(losses.PercentageError(), errors.Uniform(1.0), y, p, shares)
    alone = mean_law(losses.PercentageError(), errors.Uniform(1.0), y[[0, 2]], p[[0, 2]], np.full(2, 0.5))
    assert law.mean == alone.mean
    assert math.isfinite(law.std)


def test_correlated_errors_are_drawn_together() -> None:
    shared = errors.Normal(0.0, shared=np.full(N, 0.5))
    law = mean_law(losses.SignedError(), shared, Y, P, EQUAL, variance=0.25)
    assert isinstance(law, SampleLaw)
    assert float(np.std(law.draws)) == pytest.approx(0.5, rel=0.02)
    assert law.std == 0.5


def test_exact_labels_give_a_constant() -> None:
    law = mean_law(losses.LogCosh(), errors.Normal(0.0), Y, P, EQUAL)
    assert isinstance(law, NormalLaw)
    assert law.std == 0.0


def test_labels_are_cut_where_the_loss_ends() -> None:
    """Half of all labels would be below -1: each has its law given that it is above."""
    y, p = np.full(60, -0.9), np.zeros(60)
    law = mean_law(losses.SquaredLogError(), errors.Normal(5.0), y, p, np.full(60, 1 / 60))
    assert isinstance(law, SampleLaw)
    cut = stats.truncnorm(-0.1 / 5.0, np.inf, loc=-0.9, scale=5.0)
    exact = cut.expect(lambda x: np.log1p(x) ** 2)
    assert float(np.mean(law.draws)) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    "loss", [losses.Huber(1.0), losses.LogCosh(), losses.Pinball(0.9)], ids=lambda loss: type(loss).__name__
)
@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize("ratio", [100.0, 1e4])
def test_one_label_that_dominates(loss: losses.Loss, n: int, ratio: float) -> None:
    """A sum whose density has an edge, which waves do not show: against an integral over the others, which are normal."""
    y, p, sigma = np.zeros(n), np.full(n, 0.7), np.full(n, 1.0 / ratio)
    p[0], sigma[0] = 0.2, 1.0
    law = mean_law(loss, errors.Normal(sigma), y, p, np.full(n, 1.0 / n))
    mean, variance = (x[1:].sum() for x in label_moments(loss, errors.Normal(sigma), y, p))
    first = np.sort(loss(ndtri((np.arange(1_000_000) + 0.5) / 1_000_000), np.full(1_000_000, 0.2)))
    z = np.linspace(-6.0, 6.0, 401)
    others, weight = mean + math.sqrt(variance) * z, stats.norm.pdf(z) * (z[1] - z[0])
    for q in (0.1, 0.5, 0.9):
        x = law.ppf(q)
        assert weight @ (np.searchsorted(first, n * x - others) / first.size) == pytest.approx(q, abs=1e-3)
    assert law.cdf(-1.0) == 0.0
    assert law.cdf(law.ppf(0.3)) + law.sf(law.ppf(0.3)) == pytest.approx(1.0, abs=1e-9)
