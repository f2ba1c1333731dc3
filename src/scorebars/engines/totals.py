"""What one pass over the data gives an additive metric: observed, expected and std."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scorebars.engines.on_device import OnDevice
from scorebars.engines.sums import NormalSums, normal_sums
from scorebars.errors import Normal
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError, Within
from scorebars.measured import Measured, near_one
from scorebars.moments import label_moments
from scorebars.moments.correlated import correlated_variance


class Totals(NamedTuple):
    """Observed and expected metric and its std, in units in which labels were divided by `scale`."""

    observed: float
    expected: float
    std: float
    scale: float = 1.0


def totals(loss: Loss, data: Measured) -> Totals:
    """One pass over the data: by the engine where errors are independent and normal, else in blocks."""
    return by_one_pass(loss, data) if by_engine(loss, data) else in_blocks(loss, data)


def by_one_pass(loss: Loss, data: Measured) -> Totals:
    """Of independent normal errors."""
    if type(loss) is Within:
        return from_sums(loss, sums_of(data, tolerance=loss.tolerance))
    return from_sums(loss, sums_of(data, type(loss) is AbsoluteError))


def sums_of(
    data: Measured, absolute: bool = False, *, labels: bool = False, tolerance: float | None = None
) -> NormalSums:
    """The engine's sums, once for all metrics that ask for the same data object."""
    if isinstance(data, OnDevice):
        return data.sums_of(labels, tolerance)
    errors = data.errors
    assert isinstance(errors, Normal)
    sigma = errors.absolute_sd if absolute else errors.sigma
    key = "engine sums" if sigma is errors.sigma else "engine sums of corrected errors"
    found: NormalSums | None = data.shelf.get(key)
    if found is None or (labels and math.isnan(found.y_shift)) or (tolerance not in (None, found.tolerance)):
        found = normal_sums(data.y, data.p, sigma, data.weight, tolerance, labels=labels)
        data.shelf[key] = found
    return found


def by_engine(loss: Loss, data: Measured) -> bool:
    """Whether the engine's sums give the totals of this loss; it sees bad values by itself."""
    return (type(loss) in _FROM_SUMS or type(loss) is Within) and data.plain_normal


def from_sums(loss: Loss, sums: NormalSums) -> Totals:
    """Totals of the squared, absolute or signed error, or of those within a tolerance, from the engine's sums."""
    if isinstance(loss, Within):
        return Totals(sums.within / sums.w, sums.within_p / sums.w, math.sqrt(sums.within_var_w2) / sums.w)
    observed, expected, variance = _FROM_SUMS[type(loss)](sums)
    unit = near_one(max(sums.max_abs_d, sums.max_sigma))
    size = sums.w if unit == 1.0 else sums.w * unit ** (loss.degree or 0)
    return Totals(observed / size, expected / size, math.sqrt(max(variance, 0.0)) / size, sums.scale * unit)


def _squared(s: NormalSums) -> tuple[float, float, float]:
    return s.sq, s.sq + s.var, 2.0 * s.var2_w2 + 4.0 * s.sqvar_w2


def _absolute(s: NormalSums) -> tuple[float, float, float]:
    return s.abs, s.abs + s.fold, s.foldvar_w2


def _signed(s: NormalSums) -> tuple[float, float, float]:
    return s.d, s.d, s.var_w2


_FROM_SUMS = {SquaredError: _squared, AbsoluteError: _absolute, SignedError: _signed}


def in_blocks(loss: Loss, data: Measured) -> Totals:
    """Of any errors, label by label."""
    scale = data.find_scale() if loss.degree else 1.0
    data = data.scaled(scale)
    observed, expected, variance = [], [], []
    for y, p, errors, weight in data.blocks():
        seen, moments = loss(y, p), label_moments(loss, errors, y, p)
        w = np.ones(len(y)) if weight is None else weight
        counts = w > 0  # a label that does not count may be infinitely bad
        observed.append(float(np.add.reduce(w * seen, where=counts)))
        with np.errstate(invalid="ignore"):
            expected.append(float(np.add.reduce(w * moments.mean, where=counts)))
            variance.append(float(np.add.reduce(np.square(w) * moments.variance, where=counts)))
    total = data.total_weight
    spread = math.sqrt(math.fsum(variance)) / total
    if not data.errors.independent:
        spread = math.sqrt(max(correlated_variance(loss, data), 0.0))
    return Totals(math.fsum(observed) / total, math.fsum(expected) / total, spread, scale)
