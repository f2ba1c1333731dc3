"""Labels that stand for many give the sums of all, and nearly the distribution of all."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.laws.mean_loss_law import mean_law
from scorebars.losses import Huber, LogCosh, Loss, PercentageError, Pinball, SymmetricPercentage
from scorebars.moments import label_moments
from scorebars.moments.representatives import MANY, representatives

N = 60_000
CASES = {
    "log-cosh": (LogCosh(), sb.Normal),
    "percentage": (PercentageError(), sb.LogNormal),
    "symmetric percentage": (SymmetricPercentage(), sb.LogNormal),
}


def labels(seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, sigma = rng.uniform(1.0, 3.0, n), rng.uniform(0.05, 0.3, n)
    return y, np.maximum(y + rng.normal(0, 0.3, n), 0.2), sigma


@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_all_labels(name: str) -> None:
    loss, family = CASES[name]
    y, p, sigma = labels(1)
    few = representatives(loss, family(sigma), y, p)
    assert few is not None
    assert few.y.size < N / 2
    assert few.number.sum() == pytest.approx(N, rel=1e-12)
    exact = label_moments(loss, family(sigma), y, p)
    assert few.totals() == pytest.approx((exact.mean.sum(), exact.variance.sum()), rel=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_distribution_is_that_of_all_labels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, family = CASES[name]
    y, p, sigma = labels(2)
    sigma[:3], p[:3] = 0.3, y[:3] + 1.0  # some labels matter more than others
    errors, shares = family(sigma), np.full(N, 1.0 / N)
    found = mean_law(loss, errors, y, p, shares)
    monkeypatch.setattr("scorebars.laws.mean_loss_law._ALL_LISTED", N)
    listed = mean_law(loss, errors, y, p, shares)
    for q in (1e-4, 0.025, 0.5, 0.975, 1 - 1e-4):
        assert found.cdf(listed.ppf(q)) == pytest.approx(q, abs=2e-5)


def test_one_label_that_dominates() -> None:
    y, p, sigma = labels(3)
    sigma[7] = 400.0
    loss, errors = Pinball(0.5), sb.Normal(sigma)
    law = mean_law(loss, errors, y, p, np.full(N, 1.0 / N))
    rest = label_moments(loss, errors, y, p)
    own = 0.5 * np.abs(y[7] + 400.0 * np.random.default_rng(4).standard_normal(200_000) - p[7])
    others = np.delete(rest.mean, 7).sum()
    for q in (0.1, 0.3, 0.7):
        assert law.cdf((np.quantile(own, q) + others) / N) == pytest.approx(q, abs=0.01)


def test_what_is_not_represented() -> None:
    y, p, sigma = labels(5)
    assert representatives(LogCosh(), sb.Normal(sigma[:MANY]), y[:MANY], p[:MANY]) is None
    assert representatives(Pinball(0.5), sb.Normal(sigma), y, p) is None  # its closed form is as fast
    assert representatives(Huber(0.1), sb.Normal(sigma), y, p) is None
    assert representatives(LogCosh(), sb.Laplace(sigma), y, p) is None
    assert representatives(PercentageError(), sb.LogNormal(sigma), y, p - 2.0) is None
    assert representatives(LogCosh(), sb.Normal(np.where(sigma > 0.1, sigma, 0.0)), y, p) is None


_PINBALL = partial(sb.mean_pinball_loss, alpha=0.3)


@pytest.mark.parametrize(
    ("metric", "scale"),
    [(_PINBALL, 1e-6), (_PINBALL, 1.0), (_PINBALL, 1e6), (sb.log_cosh_loss, 1e-3), (sb.log_cosh_loss, 1.0)],
)
def test_scores_of_many_labels(metric: Callable[..., sb.Score], scale: float) -> None:
    """The score of all is the mean of those of parts that are too small to be represented."""
    y, p, sigma = (scale * column for column in labels(6))
    whole = metric(y, p, yerr=sigma)
    parts = [metric(y[k::4], p[k::4], yerr=sigma[k::4]) for k in range(4)]
    assert whole.observed == pytest.approx(np.mean([part.observed for part in parts]), rel=1e-12)
    assert whole.expected == pytest.approx(np.mean([part.expected for part in parts]), rel=1e-12)
    assert whole.std == pytest.approx(np.linalg.norm([part.std for part in parts]) / 4, rel=1e-11)
    low, high = whole.interval()
    assert (high - low) / whole.std == pytest.approx(2 * 1.95996, rel=1e-3)


class Wiggly(Loss):
    """A loss with more than one scale: cells would have to be narrow."""

    of_residual, bend = True, 0.01
    kinks_from_prediction = (0.0,)

    def __call__(self, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.abs(y - p) * (2.0 + np.sin(200.0 * (y - p)))


def test_cells_that_do_not_serve_are_not_used() -> None:
    y, p, sigma = labels(7)
    few = representatives(Wiggly(), sb.Normal(0.02 + 0 * sigma), y, p)
    if few is not None:
        exact = label_moments(Wiggly(), sb.Normal(0.02), y, p)
        assert few.totals() == pytest.approx((exact.mean.sum(), exact.variance.sum()), rel=1e-10)
