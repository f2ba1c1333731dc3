"""Losses that divide by the label or take its logarithm: their moments may not exist.

A percentage error grows like 1/|y| as the label approaches 0, so its mean is infinite under every law that has a density
there. A log error is not even defined where labels can fall to -1 or below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.errors import LogNormal
from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.losses import Loss, PercentageError, SquaredLogError
from scorebars.moments.absolute import from_gain, log_normal_excess
from scorebars.moments.numerical import numerical
from scorebars.moments.pair import Moments


def percentage_log_normal(loss: PercentageError, errors: LogNormal, y: FloatArray, p: FloatArray) -> Moments:
    """|1 - W| with W = p/x, which is log-normal itself, with median p/y: the absolute error of W about 1."""
    s = np.broadcast_to(errors.sigma_log, y.shape)
    ratio = np.abs(p) / y
    one = np.ones_like(ratio)
    mean, variance = errors.mean(ratio), errors.variance(ratio)
    above = from_gain(np.abs(mean - 1.0), 2.0 * log_normal_excess(s, np.where(ratio > 0, ratio, 1.0), one), variance)
    positive = p > 0  # a prediction of the other sign is off by 1 + |W|
    found = Moments(np.where(positive, above.mean, 1.0 + mean), np.where(positive, above.variance, variance))
    return _unless_exact(loss, errors, y, p, found)


def percentage_any(loss: PercentageError, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """Infinite where labels can be at 0 (and the prediction is not 0); by quadrature or sums elsewhere."""
    return _where(reaches_zero(errors, y) & (p != 0), loss, errors, y, p)


def squared_log_any(loss: SquaredLogError, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """Infinite where labels can be at or below -1; by quadrature or sums elsewhere."""
    return _where(errors.cdf(y, np.full_like(y, -1.0)) > 0, loss, errors, y, p)


def reaches_zero(errors: MeasurementError, y: FloatArray) -> NDArray[np.bool_]:
    """Whether each label has an error under which it can come arbitrarily close to 0."""
    return np.asarray((errors.variance(y) > 0) & (errors.pdf(y, np.zeros_like(y)) > 0))


def _where(infinite: NDArray[np.bool_], loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    mean, variance = np.full(len(y), np.inf), np.full(len(y), np.inf)
    finite = np.flatnonzero(~infinite)
    if finite.size:
        mean[finite], variance[finite] = numerical(loss, errors[finite], y[finite], p[finite])
    return Moments(mean, variance)


def _unless_exact(loss: Loss, errors: LogNormal, y: FloatArray, p: FloatArray, found: Moments) -> Moments:
    exact = errors.exact(y)
    return Moments(np.where(exact, loss(y, p), found.mean), np.where(exact, 0.0, found.variance))
