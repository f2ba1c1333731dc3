"""Mean and variance of one label's loss in closed form, loss by loss, and the table that finds the form.

For errors with mean mu, variance s2, central moments m3, m4, and delta = mu - p:

    squared error        E = s2 + delta^2             Var = m4 - s2^2 + 4 m3 delta + 4 s2 delta^2
    absolute error       E = |delta| + G              Var = s2 - G (2 |delta| + G)

The gain G = E|x - p| - |delta| >= 0 is what label errors add to an absolute error: normal sigma g(z), uniform
(w - |delta|)^2 / 2w, triangular (w - |delta|)^3 / 3w^2, Laplace b exp(-|delta|/b), the others as below. Normal errors with
z = delta/sigma >= 0 (for delta < 0 take 1 - alpha for alpha; g, g2, Q: see `scorebars.numerics.special`):

    pinball              E = alpha delta + sigma g(z)/2
                         Var = sigma^2 [alpha^2 - 2 alpha Q(z) + g2(z) - g(z)^2/4]
    Huber                a parabola between two straight lines: truncated moments of a normal variable
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import erfcx, ndtr

from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors import LogNormal, MeasurementError, Normal, Poisson, SplitNormal
from scorebars.errors.asymmetric import log_ratio
from scorebars.errors.continuous import NO_ERROR, divisible, normal_density
from scorebars.errors.label_and_prediction import LabelAndPrediction
from scorebars.errors.symmetric import OneWidth
from scorebars.losses import (
    AbsoluteError,
    Covered,
    Crps,
    DawidSebastiani,
    Huber,
    IntervalScore,
    LogScore,
    Loss,
    PercentageError,
    Pinball,
    QuantileLoss,
    SignedError,
    SquaredError,
    SquaredLogError,
    SwappedLoss,
    Within,
)
from scorebars.moments.forecast_moments import (
    chance_between,
    covered_any,
    crps_normal_errors,
    interval_score_normal,
    quadratic_score,
    quantile_loss_normal,
    squared_distance,
)
from scorebars.moments.numerical import NORMAL_EDGES, Moments, normal_rule, numerical_moments
from scorebars.numerics.special import folded_mean, folded_variance, g, g2, scaled_g, standardised, v

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def squared(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """(x - p)^2"""
    return squared_distance(errors, y, p)


def signed(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """p - x under any family with two moments."""
    return Moments(p - errors.mean(y), errors.variance(y))


# absolute errors -------------------------------------------------------------------------------


def from_gain(size: FloatArray, gain: FloatArray, variance: FloatArray) -> Moments:
    """Moments of |x - p| from |delta|, the gain and the variance of the label."""
    with np.errstate(invalid="ignore", over="ignore"):
        spread = np.maximum(variance - gain * (2.0 * size + gain), 0.0)
    return Moments(size + gain, np.where(np.isinf(variance), np.inf, spread))


def absolute_normal(loss: Loss, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """The folded normal."""
    delta = y - p
    sigma = np.broadcast_to(errors.absolute_sd if errors.independent else errors.total, delta.shape)
    return Moments(folded_mean(delta, sigma), folded_variance(delta, sigma))


def absolute_symmetric(loss: Loss, errors: OneWidth, y: FloatArray, p: FloatArray) -> Moments:
    """Uniform, triangular, Laplace and Student errors."""
    size, exact = np.abs(y - p), errors.exact(y)
    z = standardised(size, np.broadcast_to(errors.width, y.shape))
    gain = np.where(exact, 0.0, np.where(exact, 1.0, errors.width) * errors.gain(np.minimum(z, 1e300)))
    return from_gain(size, gain, errors.variance(y))


def absolute_split_normal(loss: Loss, errors: SplitNormal, y: FloatArray, p: FloatArray) -> Moments:
    """p above the mode leaves the upper half normal to fold, below it the lower."""
    lower, upper = np.broadcast_to(errors.lower, y.shape), np.broadcast_to(errors.upper, y.shape)
    total = np.where(lower + upper > 0, lower + upper, 1.0)
    width = np.where(p >= y, upper, lower)
    shift = math.sqrt(2 / math.pi) * (upper - lower)
    away = np.abs(p - y) - np.where(p >= y, shift, -shift)
    folded = 2.0 * (width / total) * width * g(standardised(p - y, width))
    return Moments(away + folded, np.maximum(errors.variance(y) - folded * (folded + 2.0 * away), 0.0))


def absolute_log_normal(loss: Loss, errors: LogNormal, y: FloatArray, p: FloatArray) -> Moments:
    """The gain is twice E(p - x)_+ where p is below the mean, else twice E(x - p)_+."""
    excess = log_normal_excess(np.broadcast_to(errors.sigma_log, y.shape), y, p)
    return from_gain(np.abs(errors.mean(y) - p), 2.0 * excess, errors.variance(y))


def log_normal_excess(s: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """The smaller of E(p - x)_+ and E(x - p)_+, x log-normal with median y, mean mu and k = log(p/y)/s.

    E(p - x)_+ = p Phi(k) - mu Phi(k - s), and mu phi(k - s) = p phi(k): the difference of two large numbers is
    p phi(k) [R(-k) - R(s - k)] with Mills' ratio R = Q/phi, and for small s the integral of -R' = 1 - t R(t).
    """
    inside = (p > 0) & (s > NO_ERROR)
    c, width = np.where(inside, p, 1.0), np.where(inside, s, 1.0)
    k = log_ratio(c, np.where(inside, y, 1.0)) / width
    up = k <= width / 2
    a = np.where(up, -k, k - width)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = c * normal_density(k)
        narrow = np.zeros_like(a)
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            narrow += 0.5 * weight * _minus_slope(a + np.minimum(width, 0.5) * (0.5 + 0.5 * point))
        far = _mills(np.maximum(a, 0.0)) - _mills(np.maximum(a, 0.0) + width)
        base = np.where(up, c, c * np.exp(width * np.minimum(width / 2 - k, 0.0)))
        near = base * ndtr(-a) - scale * _mills(a + width)
        wide = np.where(a >= 0, scale * far, near)
        return np.where(inside, np.where(width < 0.5, scale * width * narrow, wide), 0.0)


def _mills(t: FloatArray) -> FloatArray:
    """R(t) = Q(t)/phi(t)."""
    return np.asarray(math.sqrt(math.pi / 2) * erfcx(t / math.sqrt(2)))


def _minus_slope(t: FloatArray) -> FloatArray:
    """-R'(t) = 1 - t R(t); for t >= 0 this is g(t) / (2 phi(t)), which keeps its digits."""
    positive = scaled_g(np.maximum(t, 0.0)) * math.sqrt(math.pi / 2)
    return np.where(t >= 0, positive, 1.0 - t * _mills(np.clip(t, -1.0, 0.0)))


def absolute_poisson(loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray) -> Moments:
    """E(p - x)_+ = (p - mu) P(x <= p) + mu P(x = floor p), and E(x - p)_+ = (mu - p) P(x > p) + the same."""
    count = np.floor(p / errors.unit)
    peak = y * np.where(count >= 0, errors.probability(y, np.maximum(count, 0.0)), 0.0)
    lower = peak - (y - p) * errors.cdf(y, p)
    upper = peak - (p - y) * errors.sf(y, p)
    excess = np.maximum(np.where(p < y, lower, upper), 0.0)
    return from_gain(np.abs(y - p), 2.0 * excess, errors.variance(y))


# other losses of residuals, normal errors ------------------------------------------------------


def pinball_normal(loss: Pinball, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of each label's pinball loss."""
    delta = y - p
    sigma = np.broadcast_to(errors.total, delta.shape)
    alpha = np.where(delta >= 0, loss.alpha, 1.0 - loss.alpha)
    z = np.minimum(standardised(delta, sigma), 1e100)
    gain = g(z)
    spread = alpha * (alpha - 2.0 * ndtr(-z)) + g2(z) - gain * gain / 4
    return Moments(alpha * np.abs(delta) + sigma * gain / 2, np.square(sigma) * np.maximum(spread, 0.0))


_FAR = 39.0  # no normal probability is left beyond


def huber_normal(loss: Huber, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """Relative to the loss at the label, a polynomial of degree 2 in z = (x - y)/sigma on each of three pieces."""
    k, a = loss.delta, np.abs(y - p)
    sigma = np.broadcast_to(errors.total, a.shape)
    with np.errstate(over="ignore"):
        low, high = (np.clip(bound / np.where(sigma > 0, sigma, 1.0), -_FAR, _FAR) for bound in (-k - a, k - a))
    inside = a <= k
    # constants of the three pieces relative to the loss at the label, which itself is on one of them
    left = np.where(inside, -np.square(k + a) / 2, -2.0 * k * a)
    middle = np.where(inside, 0.0, np.square(a - k) / 2)
    right = np.where(inside, -np.square(k - a) / 2, 0.0)
    below, between, above = _moments_between(low, high)
    first, second = _parabola(between, (low, high), middle, a * sigma, np.square(sigma) / 2)
    for (i0, i1, i2), constant, slope in ((below, left, -k * sigma), (above, right, k * sigma)):
        first += constant * i0 + slope * i1
        second += constant * (constant * i0 + 2.0 * slope * i1) + slope * slope * i2
    exact, seen = sigma == 0, loss(y, p)
    mean = np.where(exact, seen, seen + first)
    return Moments(mean, np.where(exact, 0.0, np.maximum(second - first * first, 0.0)))


def _parabola(
    moments: tuple[FloatArray, ...], ends: tuple[FloatArray, FloatArray], c0: FloatArray, c1: FloatArray, c2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First and second moment of c0 + c1 z + c2 z^2 between two ends; a short range by Gauss's rule, without cancelling."""
    i0, i1, i2, i3, i4 = moments
    first = c0 * i0 + c1 * i1 + c2 * i2
    second = c0 * c0 * i0 + 2 * c0 * c1 * i1 + (c1 * c1 + 2 * c0 * c2) * i2 + 2 * c1 * c2 * i3 + c2 * c2 * i4
    low, high = ends
    half = 0.5 * (high - low)
    short = np.flatnonzero(half < 0.5)
    if short.size:
        z = 0.5 * (high + low)[short] + _POINTS[:, None] * half[short]
        value = c0[short] + z * (c1[short] + c2[short] * z)
        terms = half[short] * _WEIGHTS[:, None] * normal_density(z) * value
        first[short], second[short] = terms.sum(axis=0), (terms * value).sum(axis=0)
    return first, second


def _moments_between(
    low: FloatArray, high: FloatArray
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """E Z^j below `low` < 0 (j = 0 ... 2), between both ends (j = 0 ... 4) and above `high` (j = 0 ... 2).

    I_j = (j - 1) I_{j-2} + lo^{j-1} phi(lo) - hi^{j-1} phi(hi).
    """
    at_low, at_high = (np.where(np.abs(b) < _FAR, normal_density(b), 0.0) for b in (low, high))
    times_low, times_high = low * at_low, high * at_high
    under, over = ndtr(low), ndtr(-high)
    i0, i1 = ndtr(high) - under, at_low - at_high
    i2 = i0 + times_low - times_high
    i3 = 2.0 * i1 + low * times_low - high * times_high
    i4 = 3.0 * i2 + low * low * times_low - high * high * times_high
    return (under, -at_low, under - times_low), (i0, i1, i2, i3, i4), (over, at_high, over + times_high)


# labels within a tolerance: only probabilities count -------------------------------------------


def within_any(loss: Within, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """P(p - tol <= label <= p + tol) and P(1 - P)."""
    return chance_between(errors, y, p - loss.tolerance, p + loss.tolerance, loss(y, p))


def within_normal(loss: Within, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """The same from the distances to the near and to the far edge: a label crosses the near one, or both."""
    away = np.abs(p - y)
    hit, width = away <= loss.tolerance, divisible(errors.total)
    with np.errstate(over="ignore"):
        near, far = ndtr(-np.abs(loss.tolerance - away) / width), ndtr(-(loss.tolerance + away) / width)
    crosses = np.where(errors.exact(y), 0.0, near + np.where(hit, far, -far))
    return Moments(np.where(hit, 1.0 - crosses, crosses), crosses * (1.0 - crosses))


# ratios and logarithms: the moments may not exist ----------------------------------------------


def percentage_log_normal(loss: PercentageError, errors: LogNormal, y: FloatArray, p: FloatArray) -> Moments:
    """|1 - W| with W = p/x, which is log-normal itself, with median p/y: the absolute error of W about 1."""
    s = np.broadcast_to(errors.sigma_log, y.shape)
    ratio = np.abs(p) / y
    mean, variance = errors.mean(ratio), errors.variance(ratio)
    excess = log_normal_excess(s, np.where(ratio > 0, ratio, 1.0), np.ones_like(ratio))
    same_sign = from_gain(np.abs(mean - 1.0), 2.0 * excess, variance)
    # a prediction of the other sign is off by 1 + |W|
    exact, mean = errors.exact(y), np.where(p > 0, same_sign.mean, 1.0 + mean)
    variance = np.where(p > 0, same_sign.variance, variance)
    return Moments(np.where(exact, loss(y, p), mean), np.where(exact, 0.0, variance))


def has_no_mean(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> BoolArray:
    """Labels that can come arbitrarily close to 0, where a percentage error grows like 1/|y| unless the prediction is 0;
    labels that can be at or below -1, which have no logarithm.
    """
    if isinstance(errors, LabelAndPrediction):
        return _both_have_no_mean(loss, errors, y, p)
    if isinstance(loss, PercentageError):
        return np.asarray((errors.variance(y) > 0) & (errors.pdf(y, np.zeros_like(y)) > 0) & (p != 0))
    return np.asarray(errors.cdf(y, np.full_like(y, loss.least_label)) > 0)


def _both_have_no_mean(loss: Loss, errors: LabelAndPrediction, y: FloatArray, p: FloatArray) -> BoolArray:
    """The same where predictions err too: a redrawn prediction is not 0, and may be too small to have a logarithm."""
    varies = errors.prediction_sd > 0
    if isinstance(loss, PercentageError):
        return has_no_mean(loss, errors.label, y, np.where(varies, 1.0, p))
    below = ndtr((loss.least_label - p) / np.where(varies, errors.prediction_sd, 1.0))
    return has_no_mean(loss, errors.label, y, p) | (varies & (below > 0))


_LOG_Z = 0.73 * np.arange(-12.0, 13.0)
_LOG_Z_WEIGHT = 0.73 * normal_density(_LOG_Z)
_LOG_WIDEST = 0.4
"""log(1 + x) is analytic within pi / sigma_log, so up to this error the trapezoid rule is exact to rounding."""


def squared_log_of_log_normal(loss: SquaredLogError, errors: LogNormal, y: FloatArray, p: FloatArray) -> Moments:
    """(u + d)^2 with d the difference of the logarithms, u = log(1 + q (exp(s z) - 1)) and q = y / (1 + y)."""
    s, out = np.broadcast_to(errors.sigma_log, y.shape), np.empty((2, len(y)))
    wide = s > _LOG_WIDEST
    if wide.any():
        out[:, wide] = where_finite(loss, errors[wide], y[wide], p[wide])
    narrow = np.flatnonzero(~wide)
    for start in range(0, narrow.size, 2048):
        part = narrow[start : start + 2048] if wide.any() else slice(start, start + 2048)
        here, d = y[part], np.log1p((y[part] - p[part]) / (1.0 + p[part]))
        u = np.log1p(here / (1.0 + here) * np.expm1(s[part] * _LOG_Z[:, None]))
        u *= u + 2.0 * d
        shift = _LOG_Z_WEIGHT @ u
        u -= shift
        out[:, part] = np.square(d) + shift, _LOG_Z_WEIGHT @ np.square(u)
    return Moments(*out)


def where_finite(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """By quadrature or sums where the moments exist."""
    out, finite = np.full((2, len(y)), np.inf), np.flatnonzero(~has_no_mean(loss, errors, y, p))
    if finite.size:
        out[:, finite] = _any_loss(errors)(loss, errors[finite], y[finite], p[finite])
    return Moments(*out)


def why_infinite(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> str:
    """Why a loss has no mean, or no variance, under these errors, in words that say what to do."""
    if isinstance(errors, LabelAndPrediction):
        return _why_infinite_for_both(loss, errors, y, p)
    if isinstance(loss, PercentageError):
        count = int(np.sum(has_no_mean(loss, errors, y, p)))
        return (
            f"under {errors!r} errors {count} of {len(y)} labels can come arbitrarily close to 0, where a percentage error "
            "grows without bound. Use observed, the median distribution.ppf(0.5), LogNormal errors, or the symmetric "
            "percentage error."
        )
    if isinstance(loss, SquaredLogError):
        below = errors.cdf(y, np.full_like(y, -1.0))
        return (
            f"under {errors!r} errors labels fall to -1 or below with probability up to {float(np.max(below)):.3g} "
            f"({int(np.sum(below > 0))} of {len(y)} labels), where the logarithm is undefined. Use observed, LogNormal "
            "errors, or the distribution: that of labels whose errors are cut at -1."
        )
    return errors.why_infinite()


def _why_infinite_for_both(loss: Loss, errors: LabelAndPrediction, y: FloatArray, p: FloatArray) -> str:
    if not isinstance(loss, SquaredLogError) or np.any(has_no_mean(loss, errors.label, y, p)):
        return why_infinite(loss, errors.label, y, p)
    below = ndtr((-1.0 - p) / np.where(errors.prediction_sd > 0, errors.prediction_sd, 1.0))
    below = np.where(errors.prediction_sd > 0, below, 0.0)
    return (
        f"with errors of prederr predictions fall to -1 or below with probability up to {float(np.max(below)):.3g} "
        f"({int(np.sum(below > 0))} of {len(p)} predictions), where the logarithm is undefined. Use observed, or the "
        "distribution: that of predictions whose errors are cut at -1."
    )


# labels and predictions that both err ------------------------------------------------------------

_TRANSITION = 6.0
"""A kink of the loss is smoothed over so many standard errors of the prediction."""


class _OverPredictions(Loss):
    """Mean (or variance) of a loss over the errors of the prediction, as a loss of the label.

    It takes the place of a prediction among all, for each of which it knows value and error.
    """

    precision = 1e-11

    def __init__(self, loss: Loss, p: FloatArray, sd: FloatArray, which: int) -> None:
        self.loss, self.p, self.sd, self.which = loss, p, sd, which
        self.least_label = loss.least_label

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        x, place = (array.reshape(-1) for array in np.broadcast_arrays(y, p))
        which = place.astype(np.intp)
        centre, sd = self.p[which], self.sd[which]
        if self.loss.of_residual:
            found = label_moments(self.loss, Normal.trusted(sd), x, centre)
        elif self.loss.kinks_of_predictions_known:
            found = _between_kinks(SwappedLoss(self.loss), sd, centre, x)
        else:
            found = label_moments(SwappedLoss(self.loss), Normal.trusted(sd), centre, x)
        return np.asarray(found[self.which]).reshape(np.broadcast_shapes(np.shape(y), np.shape(p)))

    def kinks(self, p: FloatArray) -> FloatArray:
        """Those of the loss, and where the errors of the prediction begin and end to smooth them."""
        which = p.astype(np.intp)
        found, reach = self.loss.kinks(self.p[which]), _TRANSITION * self.sd[which]
        return np.concatenate([found, found - reach, found + reach])


_COLUMNS = 4096


def _between_kinks(loss: Loss, sd: FloatArray, y: FloatArray, p: FloatArray) -> Moments:
    """Under normal errors by Gauss's rule between the kinks of a loss that is smooth elsewhere."""
    out = np.empty((2, len(y)))
    for start in range(0, len(y), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        kinks = (loss.kinks(p[part]) - y[part]) / divisible(sd[part])
        z, weight = normal_rule((_POINTS, _WEIGHTS), NORMAL_EDGES, kinks)
        with np.errstate(all="ignore"):
            seen = loss(y[part], p[part])
            change = np.where(weight > 0, loss(y[part] + sd[part] * z, p[part]) - seen, 0.0)
            shift = np.sum(weight * change, axis=0)
            out[:, part] = seen + shift, np.sum(weight * np.square(change - shift), axis=0)
    return Moments(*out)


def over_predictions(loss: Loss, errors: LabelAndPrediction, p: FloatArray) -> tuple[Loss, Loss, FloatArray]:
    """Mean and variance of a loss over the errors of predictions as losses of the labels, and what these take for p."""
    place = np.arange(len(p), dtype=np.float64)
    sd = np.broadcast_to(errors.prediction_sd, p.shape)
    return _OverPredictions(loss, p, sd, 0), _OverPredictions(loss, p, sd, 1), place


def both_moments(loss: Loss, errors: LabelAndPrediction, y: FloatArray, p: FloatArray) -> Moments:
    """Any loss of labels and predictions that err independently: over the prediction first, then over the label.

    Var = Var_label(E_prediction loss) + E_label(Var_prediction loss).
    """
    mean, variance, place = over_predictions(loss, errors, p)
    outer = label_moments(mean, errors.label, y, place)
    return Moments(outer.mean, outer.variance + label_moments(variance, errors.label, y, place).mean)


def label_mean(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> FloatArray:
    """The mean loss of each label, where its variance does not matter."""
    if not isinstance(errors, LabelAndPrediction) or isinstance(loss, SquaredError | SignedError):
        return label_moments(loss, errors, y, p).mean
    out, finite = np.full(len(y), np.inf), np.arange(len(y))
    if isinstance(loss, PercentageError | SquaredLogError):
        finite = np.flatnonzero(~has_no_mean(loss, errors, y, p))
    if finite.size:
        mean, _, place = over_predictions(loss, errors[finite], p[finite])
        out[finite] = label_moments(mean, errors[finite].label, y[finite], place).mean
    return out


# the difference of two models' losses on the same label: noise that both share cancels ---------


def squared_difference(mean: FloatArray, variance: FloatArray, a: FloatArray, b: FloatArray) -> Moments:
    """(y - a)^2 - (y - b)^2 = (b - a)(2 y - a - b) for labels of any distribution with this mean and variance."""
    gap = b - a
    return Moments(gap * (2.0 * mean - a - b), 4.0 * np.square(gap) * variance)


def absolute_difference(y: FloatArray, sigma: FloatArray, a: FloatArray, b: FloatArray) -> Moments:
    """|x - a| - |x - b| for normal labels x ~ N(y, sigma^2).

    It is +-(2 clip(x, lo, hi) - a - b) with lo, hi the smaller and larger prediction: a clipped normal.
    """
    mean = folded_mean(y - a, sigma) - folded_mean(y - b, sigma)
    exact = sigma == 0
    spread = np.where(exact, 1.0, sigma)
    low, high = np.minimum(a, b), np.maximum(a, b)
    mirrored = 2.0 * y > low + high  # the label is nearer the larger prediction: look from the other side
    alpha = np.where(mirrored, y - high, low - y) / spread
    beta = np.where(mirrored, y - low, high - y) / spread
    above_alpha, above_beta = (0.5 * g(np.abs(z)) + np.maximum(-z, 0.0) for z in (alpha, beta))  # E (Z - z)_+
    second = g2(alpha) - g2(beta) - 2.0 * (beta - alpha) * above_beta
    clipped = np.maximum(second - np.square(above_alpha - above_beta), 0.0)
    return Moments(mean, np.where(exact, 0.0, 4.0 * np.square(spread) * clipped))


# which form serves -----------------------------------------------------------------------------

_FORMS: dict[tuple[type[Loss], type[MeasurementError]], Callable[..., Moments]] = {
    (SquaredError, MeasurementError): squared,
    (SignedError, MeasurementError): signed,
    (AbsoluteError, Normal): absolute_normal,
    (AbsoluteError, SplitNormal): absolute_split_normal,
    (AbsoluteError, OneWidth): absolute_symmetric,
    (AbsoluteError, LogNormal): absolute_log_normal,
    (AbsoluteError, Poisson): absolute_poisson,
    (Pinball, Normal): pinball_normal,
    (Huber, Normal): huber_normal,
    (Within, Normal): within_normal,
    (Within, MeasurementError): within_any,
    (PercentageError, LogNormal): percentage_log_normal,
    (PercentageError, MeasurementError): where_finite,
    (SquaredLogError, LogNormal): squared_log_of_log_normal,
    (SquaredLogError, MeasurementError): where_finite,
    (Crps, Normal): crps_normal_errors,
    (QuantileLoss, Normal): quantile_loss_normal,
    (LogScore, MeasurementError): quadratic_score,
    (DawidSebastiani, MeasurementError): quadratic_score,
    (IntervalScore, Normal): interval_score_normal,
    (Covered, MeasurementError): covered_any,
    (Within, LabelAndPrediction): both_moments,
}


def _any_loss(errors: MeasurementError) -> Callable[..., Moments]:
    """How the moments of a loss without closed form are found."""
    return both_moments if isinstance(errors, LabelAndPrediction) else numerical_moments


def label_moments(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of the loss of each label: by the most special closed form, else by quadrature or sums."""
    forms = (_FORMS.get((type(loss), family)) for family in type(errors).__mro__)
    return (next((form for form in forms if form is not None), None) or _any_loss(errors))(loss, errors, y, p)


# how much of the scatter of observed losses is the labels' own error? --------------------------

_HERMITE, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_HERMITE_WEIGHTS = _HERMITE_WEIGHTS / math.sqrt(2 * math.pi)


def label_part(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> FloatArray:
    """Variance V(t) of each label's loss over its own error, about the true value t behind the label.

    V at the label is V smoothed by the error once, V averaged over a label measured again is V smoothed twice. So
    V(t) = 2 V(label) - V(label measured again), exact where V is a parabola, as for squared errors.
    """
    own = errors.label_level()
    here = label_moments(loss, own, y, p).variance
    if not errors.follows_label:
        return here
    first, *others = zip(*(own.moved(y, p, z) for z in _HERMITE), strict=True)
    with np.errstate(invalid="ignore"):
        part = 2.0 * here - _averaged_variance(loss, own, first)
        for way in others:  # errors of the prediction, which add what they change by themselves
            part = part + here - _averaged_variance(loss, own, way)
        return np.where(np.isfinite(here), part, np.inf)


def _averaged_variance(
    loss: Loss, errors: MeasurementError, again: Iterable[tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """The variance of the loss of each label, averaged over labels measured again."""
    return np.asarray(np.tensordot(_HERMITE_WEIGHTS, [label_moments(loss, errors, *at).variance for at in again], 1))


def folded_part(z: FloatArray) -> FloatArray:
    """The same for |D + s Z| in units of s^2, z = |observed D| / s.

    >>> folded_part(np.array([0.0, 1.0, 30.0])).round(3).tolist()
    [0.163, 0.612, 1.0]
    """
    again = np.tensordot(_HERMITE_WEIGHTS, [v(np.abs(z + node)) for node in _HERMITE], 1)
    return np.asarray(2.0 * v(z) - again)
