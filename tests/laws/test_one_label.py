"""The law of the loss of one label, which is drawn evenly over its distribution."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from scorebars import errors, losses
from scorebars.answers.means.squared import root_law
from scorebars.laws.law import Law
from scorebars.laws.mean_loss_law import mean_law
from scorebars.laws.samples import SampleLaw

ONE = np.ones(1)
LOSSES = [
    losses.SquaredError(),
    losses.AbsoluteError(),
    losses.Pinball(0.2),
    losses.Pinball(0.0),
    losses.Huber(0.5),
    losses.LogCosh(),
    losses.PercentageError(),
    losses.SymmetricPercentage(),
    losses.SquaredLogError(),
    losses.SignedError(),
]


def law_of(loss: losses.Loss, model: errors.MeasurementError, y: float, p: float) -> Law:
    return mean_law(loss, model, np.array([y]), np.array([p]), ONE)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(
    "model",
    [errors.Normal(0.6), errors.Uniform(0.9), errors.Laplace(0.4), errors.StudentT(0.4, 1.5), errors.LogNormal(0.5)],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("p", [0.4, 1.2, 2.5])
def test_against_draws(loss: losses.Loss, model: errors.MeasurementError, p: float) -> None:
    law = law_of(loss, model, 1.2, p)
    labels = model.sample(np.array([1.2]), 40_000, np.random.default_rng(3))[:, 0]
    values = np.sort(loss(labels, np.full(labels.size, p)))
    values = values[np.isfinite(values)]
    q = np.array([0.05, 0.3, 0.5, 0.8, 0.97])
    for x in np.quantile(values, q):
        share = np.searchsorted(values, x, side="right") / values.size
        assert law.cdf(float(x)) == pytest.approx(share, abs=0.012)
        assert law.cdf(float(x)) + law.sf(float(x)) == pytest.approx(1.0, abs=1e-12)
    for level in q:
        x = law.ppf(level)
        assert law.cdf(x * (1 + 1e-9) + 1e-12) >= level - 1e-4
        assert law.cdf(x * (1 - 1e-9) - 1e-9) <= level + 1e-4


def test_absolute_error_is_the_folded_normal() -> None:
    law = law_of(losses.AbsoluteError(), errors.Normal(0.5), 2.0, 1.5)
    folded = stats.foldnorm(1.0, scale=0.5)
    x = np.array([0.01, 0.3, 1.0, 4.0])
    np.testing.assert_allclose(law.cdf(x), folded.cdf(x), atol=1e-4)
    np.testing.assert_allclose(law.sf(x), folded.sf(x), atol=1e-4)
    np.testing.assert_allclose(law.pdf(x[1:3]), folded.pdf(x[1:3]), atol=0.005)
    assert law.mean == pytest.approx(folded.mean(), rel=1e-13)
    assert law.std == pytest.approx(folded.std(), rel=1e-13)


def test_percentage_error_has_quantiles_where_it_has_no_mean() -> None:
    law = law_of(losses.PercentageError(), errors.Normal(0.5), 2.0, 1.5)
    assert law.mean == law.std == math.inf
    # |y - p| <= t |y| for t < 1: p/(1+t) <= y <= p/(1-t)
    for t in (0.1, 0.5, 0.9):
        exact = stats.norm(2.0, 0.5).cdf(1.5 / (1 - t)) - stats.norm(2.0, 0.5).cdf(1.5 / (1 + t))
        assert law.cdf(t) == pytest.approx(exact, abs=1e-4)
        assert law.ppf(exact) == pytest.approx(t, abs=1e-3)
    assert law.cdf(1.0) == pytest.approx(stats.norm(2.0, 0.5).sf(0.75), abs=1e-4)


def test_the_root_of_a_squared_error_is_the_absolute_one() -> None:
    squared = law_of(losses.SquaredError(), errors.Uniform(0.9), 1.2, 1.0)
    root, absolute = root_law(squared), law_of(losses.AbsoluteError(), errors.Uniform(0.9), 1.2, 1.0)
    assert root.mean == pytest.approx(float(absolute.mean), rel=1e-4)
    assert root.var == pytest.approx(float(absolute.var), rel=1e-4)
    for q in (0.1, 0.5, 0.99):
        assert root.ppf(q) == pytest.approx(absolute.ppf(q), rel=1e-4)


def test_pickle_and_counts() -> None:
    law = law_of(losses.Huber(0.5), errors.Laplace(0.4), 1.2, 1.0)
    assert pickle.loads(pickle.dumps(law)).cdf(0.3) == law.cdf(0.3)
    discrete = mean_law(losses.AbsoluteError(), errors.Poisson(), np.array([4.0]), np.array([3.0]), ONE)
    assert isinstance(discrete, SampleLaw)
