"""The law of a mean loss under any errors: exact where there is a formula, else drawn, with exact mean and variance.

The labels that dominate the variance are drawn; the many small ones together are normal with their exact mean and
variance, which the central limit theorem makes right. Labels whose loss has no variance are all drawn. The draws have a
fixed seed, so results repeat.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.errors.continuous import Continuous
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.one_label import OneLabelLaw
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.samples import SampleLaw
from scorebars.laws.weighted_bernoulli import WeightedBernoulliSum
from scorebars.losses import Loss, Within
from scorebars.measured import Measured
from scorebars.moments import label_moments

_DRAWS = 50_000
_FEWEST_DRAWS = 2_000
_DRAWN_LABELS = 256
_ENTRIES = 500_000
"""Labels drawn at once."""
_BUDGET = 50_000_000
"""Labels drawn in all, where many have to be."""
_SEED = 20240517
_NEVER = 1e-12
"""Labels that leave the domain of the loss less often than this do not do so in any draw."""
_ALMOST_ONE = 1.0 - 1e-12


def simulated_mean(loss: Loss, data: Measured, residual: FloatArray) -> Law:
    """Law of the weighted mean loss of labels with these residuals y - p."""
    y = np.asarray(data.y, dtype=np.float64)
    return mean_law(loss, data.errors, y, y - residual, data.shares)


def mean_law(
    loss: Loss,
    errors: MeasurementError,
    y: FloatArray,
    p: FloatArray,
    shares: FloatArray,
    variance: float | None = None,
) -> Law:
    """Law of sum shares * loss(labels, p) when the labels move within their errors around y.

    `variance` is needed where errors are correlated: only then is it not the sum of the labels' own.
    """
    if np.any(shares == 0):
        counts = np.flatnonzero(shares)
        errors, y, p, shares = errors[counts], y[counts], p[counts], shares[counts]
    moments = label_moments(loss, errors, y, p)
    spread = np.square(shares) * moments.variance
    mean = float(np.sum(shares * moments.mean))
    if not np.any(spread > 0):
        return NormalLaw(mean, 0.0)
    if not errors.independent:
        draws = _draws(loss, errors, y, p, shares, _affordable(len(y)), np.random.default_rng(_SEED))
        return SampleLaw(draws, mean=mean, var=float(np.sum(spread)) if variance is None else variance)
    if isinstance(loss, Within):
        return _share_within(moments.mean, shares)
    if (
        len(y) == 1
        and shares[0] == 1
        and isinstance(errors, Continuous)
        and loss.sublevel(float(p[0]), 1.0) is not None
    ):
        return OneLabelLaw(loss, errors, float(y[0]), float(p[0]), mean, float(moments.variance[0]))
    return _drawn(loss, errors, y, p, shares, moments.mean, spread)


def _share_within(probability: FloatArray, shares: FloatArray) -> Law:
    """A weighted count of independent hits."""
    if float(np.ptp(shares)) == 0:
        return ScaledLaw(PoissonBinomial(probability), float(shares[0]))
    return WeightedBernoulliSum(shares, probability)


def _affordable(labels: int) -> int:
    return int(min(max(_BUDGET // labels, _FEWEST_DRAWS), _DRAWS))


def _drawn(
    loss: Loss,
    errors: MeasurementError,
    y: FloatArray,
    p: FloatArray,
    shares: FloatArray,
    means: FloatArray,
    spread: FloatArray,
) -> Law:
    """Draws of the labels that matter most and of all wild ones; the others as one normal variable."""
    wild = int(np.sum(~np.isfinite(spread)))
    chosen = np.sort(np.argsort(spread, kind="stable")[-max(_DRAWN_LABELS, wild) :])
    rest = np.ones(len(y), dtype=bool)
    rest[chosen] = False
    rng, count = np.random.default_rng(_SEED), _affordable(len(chosen))
    draws = float(np.sum((shares * means)[rest])) + math.sqrt(float(np.sum(spread[rest]))) * rng.standard_normal(count)
    draws += _draws(loss, errors[chosen], y[chosen], p[chosen], shares[chosen], count, rng)
    defined = np.isfinite(draws)
    if not defined.any():
        raise ValueError("the metric is not defined for any of the labels that these errors allow: it has no law.")
    with np.errstate(invalid="ignore"):
        return SampleLaw(draws[defined], mean=float(np.sum(shares * means)), var=float(np.sum(spread)))


def _draws(
    loss: Loss,
    errors: MeasurementError,
    y: FloatArray,
    p: FloatArray,
    shares: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draws of the weighted mean loss, each label given that its loss exists."""
    block = max(1, min(count, _ENTRIES // len(y)))
    parts = []
    for start in range(0, count, block):
        labels = errors.sample(y, min(block, count - start), rng)
        if math.isfinite(loss.least_label):
            labels = _above(errors, y, labels, loss.least_label, rng)
        with np.errstate(over="ignore"):
            parts.append(loss(labels, p) @ shares)
    return np.concatenate(parts)


def _above(
    errors: MeasurementError, y: FloatArray, labels: FloatArray, least: float, rng: np.random.Generator
) -> FloatArray:
    """Draws of labels that are above `least`: each label's law cut there.

    Independent labels that are not are drawn again from what is above. Where labels share errors, a label at the quantile u
    of its law moves to the quantile u of the law that is cut, so that errors stay shared.
    """
    lost = errors.cdf(y, np.full_like(y, least))
    if errors.independent:
        bad = labels <= least
        column = np.nonzero(bad)[1]
        quantile = lost[column] + (1.0 - lost[column]) * rng.random(column.size)
        found = errors[column].ppf(y[column], quantile) if column.size else quantile
        labels[bad] = np.maximum(found, np.nextafter(least, math.inf))
        return labels
    quantile = lost + (1.0 - lost) * errors.cdf(y, labels)
    # a label far above stays as it is: its quantile has no digits left
    cut = np.where(quantile < _ALMOST_ONE, errors.ppf(y, np.minimum(quantile, _ALMOST_ONE)), labels)
    return np.where(lost > _NEVER, np.maximum(cut, np.nextafter(least, math.inf)), labels)
