"""Mean and variance of the score of a forecast if its label were redrawn from a normal error, in closed form.

Normal forecasts N(m, v) have CRPS = G(d, s) - s/sqrt(pi), d = y - m, with G(d, s) = E|d + s Z|. Smoothing by tau^2 gives

    L(d; tau^2) = G(d, sqrt(v + tau^2)) - s/sqrt(pi),    tau^2 >= -v,
    Var G(d + e, s) = w Cov(|U + z|, |V + z|),    w = v + sigma^2, z = d/sqrt(w), correlation sigma^2/w.

Members, quantiles and bounds of intervals make scores that are mean distances from points x_k, up to a line:

    A(y) = (1/m) sum_k |y - x_k|

Seen from the label, A is a line of slope (points below - points above)/m and, for each point, twice what the fresh label
exceeds it by: (Z - z_k)_+ above, (-Z - z_k)_+ below. The products of two excesses on one side are closed, those on both
sides vanish. So the variance is a sum over the sorted points, in which nothing large cancels:

    E (Z - a)_+ (Z - b)_+ = g2(b) + (b - a) g(b)/2    for a <= b.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal
from scorebars.errors.continuous import normal_density
from scorebars.forecasts import EnsembleForecast, Forecast, IntervalForecast, NormalForecast, QuantileForecast
from scorebars.losses import Covered, Crps, DawidSebastiani, IntervalScore, LogScore, Loss, QuantileLoss
from scorebars.moments.folded_pairs import covariance_at_one
from scorebars.moments.numerical import Moments, numerical_moments
from scorebars.numerics.special import folded_mean, g, g2

_ROOT_PI = math.sqrt(math.pi)
_FAR = 37.0
"""Points so many errors away are not reached."""
_ENTRIES = 1 << 15
"""Points looked at together: temporaries stay in the cache."""


def smoothed_crps(d: FloatArray, std: FloatArray, tau2: FloatArray | float) -> FloatArray:
    """L(d; tau^2) of a normal forecast with this std; tau^2 >= -std^2."""
    return folded_mean(d, np.sqrt(np.maximum(np.square(std) + tau2, 0.0))) - std / _ROOT_PI


def crps_variance(d: FloatArray, std: FloatArray, sigma: FloatArray) -> FloatArray:
    """Variance of the CRPS of a normal forecast with this std if the label moves by the normal error sigma."""
    w = np.square(std) + np.square(sigma)
    safe = np.where(w > 0, w, 1.0)
    with np.errstate(over="ignore"):
        z = d / np.sqrt(safe)
    return np.maximum(w * covariance_at_one(z, np.square(sigma) / safe), 0.0)


def distance_moments(points: FloatArray, y: FloatArray, sigma: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of the mean distance A of a label from its points, (n, m) in increasing order: mean, variance, Cov(A, label).

    The label is normal with mean y and standard deviation sigma.
    """
    found = np.empty((3, len(y)))
    step = max(1, _ENTRIES // points.shape[1])
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        found[:, part] = _distance_moments(points[part], y[part], sigma[part], quick=True)
        # where a label has as many points above as below, and far away, little is left: with all its digits
        small = start + np.flatnonzero(found[1, part] < 1e-4 * np.square(sigma[part]))
        if small.size:
            found[:, small] = _distance_moments(points[small], y[small], sigma[small], quick=False)
    mean, variance, together = found
    return mean, variance, together


def _distance_moments(points: FloatArray, y: FloatArray, sigma: FloatArray, quick: bool) -> tuple[FloatArray, ...]:
    m = points.shape[1]
    width = np.where(sigma > 0, sigma, 1.0)
    away = points - y[:, None]
    above = away >= 0
    over = np.count_nonzero(above, axis=1)
    z = np.abs(away)
    distance = np.mean(z, axis=1)
    with np.errstate(over="ignore"):
        z /= width[:, None]
    np.minimum(z, _FAR, out=z)
    tail = ndtr(-z)
    if quick:  # differences that lose their digits only where they are small
        density = normal_density(z)
        far = z * tail
        gain = density - far
        gain *= 2.0
        density -= far
        density *= -z
        square = tail + density
    else:
        gain, square = g(z), g2(z)
    # how many points on the same side are nearer to the label, and the sum of their distances
    place = np.arange(m)
    nearer = np.where(above, place - (m - over)[:, None], (m - over)[:, None] - 1 - place)
    up = np.cumsum(np.where(above, z, 0.0), axis=1)
    down = np.cumsum(np.where(above, 0.0, z)[:, ::-1], axis=1)[:, ::-1]
    inside = np.where(above, up, down) - z
    pairs = (2 * nearer + 1) * square + gain * (nearer * z - inside)
    excess = 0.5 * np.sum(gain, axis=1)
    slope = (m - 2.0 * over) / m
    signed = np.sum(np.where(above, tail, -tail), axis=1)
    spread = np.sum(pairs, axis=1) - excess * excess
    variance = slope * slope + 4.0 / m**2 * spread + 4.0 * slope / m * signed
    exact = sigma == 0
    mean = distance + np.where(exact, 0.0, 2.0 / m * width * excess)
    total = np.where(exact, 0.0, np.square(sigma))
    return mean, total * np.maximum(variance, 0.0), total * (slope + 2.0 / m * signed)


def _sigma(errors: Normal, y: FloatArray) -> FloatArray:
    return np.broadcast_to(np.asarray(errors.total, dtype=np.float64), y.shape)


def _of_normal(loss: Crps, errors: Normal, y: FloatArray, p: NormalForecast) -> Moments:
    d, sigma = y - p.mean, _sigma(errors, y)
    return Moments(smoothed_crps(d, p.std, np.square(sigma)), crps_variance(d, p.std, sigma))


def _of_members(loss: Crps, errors: Normal, y: FloatArray, p: EnsembleForecast) -> Moments:
    mean, variance, _ = distance_moments(p.ordered, y, _sigma(errors, y))
    return Moments(mean - p.spread(loss.estimator), variance)


def quantile_loss_normal(loss: Loss, errors: Normal, y: FloatArray, p: QuantileForecast) -> Moments:
    """The mean pinball loss of several levels, or the CRPS, which is twice that.

    Twice the pinball loss is |y - q| + (2 alpha - 1)(y - q): a mean distance and a line.
    """
    tilt = 2.0 * p.levels - 1.0
    sigma, slope = _sigma(errors, y), float(np.mean(tilt))
    mean, variance, together = distance_moments(np.sort(p.values, axis=1), y, sigma)
    line = slope * y - p.values @ tilt / len(tilt)
    spread = np.maximum(variance + slope * (slope * np.square(sigma) + 2.0 * together), 0.0)
    part = 0.5 if isinstance(loss, QuantileLoss) else 1.0
    expected = part * (mean + line)
    exact = sigma == 0
    if exact.any():  # a distance and a line leave a rounding error where they cancel
        expected = np.where(exact, loss(y, p), expected)  # type: ignore[arg-type]
    return Moments(expected, part * part * spread)


_CRPS = {NormalForecast: _of_normal, EnsembleForecast: _of_members, QuantileForecast: quantile_loss_normal}


def crps_normal_errors(loss: Crps, errors: Normal, y: FloatArray, p: Forecast) -> Moments:
    """The CRPS under normal errors: closed for normal forecasts, members and quantiles, else integrated."""
    form = _CRPS.get(type(p))
    return numerical_moments(loss, errors, y, p) if form is None else form(loss, errors, y, p)  # type: ignore[operator, arg-type]


def interval_score_normal(loss: IntervalScore, errors: Normal, y: FloatArray, p: IntervalForecast) -> Moments:
    """(u - l)(1 - 1/alpha) + (2/alpha) (mean distance from both bounds)."""
    alpha = 1.0 - loss.level
    mean, variance, _ = distance_moments(np.stack([p.lower, p.upper], axis=1), y, _sigma(errors, y))
    return Moments((p.upper - p.lower) * (1.0 - 1.0 / alpha) + 2.0 / alpha * mean, 4.0 / alpha**2 * variance)


def covered_any(loss: Covered, errors: MeasurementError, y: FloatArray, p: IntervalForecast) -> Moments:
    """P(lower <= label <= upper) and P(1 - P)."""
    return chance_between(errors, y, p.lower, p.upper, loss(y, p))


def chance_between(
    errors: MeasurementError, y: FloatArray, low: FloatArray, high: FloatArray, seen: FloatArray
) -> Moments:
    """P(low <= label <= high) and P(1 - P), the complement taken from the tails so that it keeps its digits.

    Of labels without error counts what is `seen`, not the bounds, which are rounded.
    """
    inside = errors.between(y, low, high)
    outside = np.minimum(errors.below(y, low) + errors.sf(y, high), 1.0)
    if errors.bounded:  # what rounding leaves outside is not there
        outside = np.where(outside < 1e-15, 0.0, outside)
    exact = (errors.variance(y) == 0) & (errors.mean(y) == y)
    inside = np.where(exact, seen, inside)
    return Moments(inside, inside * np.where(exact, 0.0, outside))


def quadratic_score(loss: LogScore | DawidSebastiani, errors: MeasurementError, y: FloatArray, p: Forecast) -> Moments:
    """c + a (y - mean)^2 under any family; other log scores are integrated."""
    terms = loss.terms(p)
    if terms is None:
        return numerical_moments(loss, errors, y, p)  # type: ignore[arg-type]
    (a, c), square = terms, squared_distance(errors, y, p.mean)
    return Moments(c + a * square.mean, a * a * square.variance)


def squared_distance(errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """(x - p)^2 of a label x under any family; infinite where the family lacks the moments."""
    delta, s2, m4 = errors.mean(y) - p, errors.variance(y), errors.fourth(y)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = m4 - s2 * s2 + 4.0 * delta * (errors.third(y) + s2 * delta)
    return Moments(s2 + delta * delta, np.where(np.isinf(m4), np.inf, np.maximum(spread, 0.0)))
