"""Variance of the mean absolute error under correlated normal label errors.

The expected value needs only the variances of the labels. The variance needs every pair,

    Var = sum_ij a_i a_j Cov(|delta_i + e_i|, |delta_j + e_j|),    a_i = w_i / sum w,

with the pair covariances of folded_pairs. When the correlation comes from a few shared shifts, e = sigma Z + shared' s
with s standard normal, no pairs are needed: given s the labels are independent, and

    Var = E[Var given s] + Var(m(s)),    m(s) = sum a_i E|delta_i + shared_i' s + sigma_i Z|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erf, ndtri

from scorebars.moments.folded_pairs import covariance_of_absolute, variance_of_sum
from scorebars.special import FloatArray, exp_minus_half_square, folded_mean, v

_FEW_LABELS = 256  # so few pairs are cheaper than nodes
_PAIRS_UP_TO = 4000  # labels; beyond this n^2 pairs are too many
_WORK = 30_000_000  # labels times nodes in one refinement, up to _PAIRS_UP_TO labels: then the pairs are cheaper
_WORK_AT_MOST = 60_000_000  # the same for more labels
_CHUNK = 1 << 16
_REPLICATES, _POINTS = 8, 64


class SharedMoments(NamedTuple):
    """Mean and variance of a weighted mean of absolute errors; `error` bounds the numerical error of the variance."""

    mean: float
    variance: float
    error: float


def variance_correlated(delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> float:
    """Variance of sum w_i |delta_i + e_i| / sum w_i for e ~ N(0, cov); rows of zeros are exact labels."""
    a = _shares(weight, delta.size)
    sd = np.sqrt(np.diagonal(cov))
    random = sd > 0
    keep = slice(None) if random.all() else np.flatnonzero(random)
    sd, delta, a = sd[keep], delta[keep], a[keep]
    if sd.size == 0:
        return 0.0
    unit = float(np.max(sd))  # keeps squares of very small or large errors in range

    def correlations(start: int, stop: int) -> FloatArray:
        rows = cov[start:stop, start:] if isinstance(keep, slice) else cov[np.ix_(keep[start:stop], keep[start:])]
        return np.asarray(rows / sd[start:stop, None] / sd[start:])

    with np.errstate(over="ignore"):
        z = delta / sd
    return variance_of_sum(a * (sd / unit), z, correlations) * unit * unit


def variance_shared(
    delta: FloatArray, sigma: FloatArray, shared: FloatArray, weight: FloatArray | None = None
) -> SharedMoments:
    """Mean and variance of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i; `shared` is (k, n), s shared by all.

    Up to two shifts: as many nodes in s as an error of 1e-13 takes (1e-9 above 4000 labels). Where those are too many
    (labels with almost no error of their own make m(s) kinked) or with more shifts: all pairs up to 4000 labels;
    beyond, the nodes that are affordable or quasi-random ones, with their error.
    """
    a = _shares(weight, delta.size)
    sigma = np.broadcast_to(sigma, delta.shape)
    shared = principal_shifts(np.atleast_2d(shared))
    k, n = shared.shape
    total = np.sqrt(np.square(sigma) + np.sum(np.square(shared), axis=0))
    mean = float(np.sum(a * folded_mean(delta, total)))
    unit = float(np.max(total, initial=0.0))
    if unit == 0.0:
        return SharedMoments(mean, 0.0, 0.0)
    delta, sigma, shared, total = delta / unit, sigma / unit, shared / unit, total / unit
    random = total > 0
    a, delta, sigma, shared, total = a[random], delta[random], sigma[random], shared[:, random], total[random]
    with np.errstate(over="ignore"):
        z = delta / total
    if k == 0:
        variance = float(np.sum(np.square(a * sigma) * v(z)))
        return SharedMoments(mean, variance * unit**2, 1e-15 * variance * unit**2)
    direction = shared / total

    def pairs() -> float:
        return variance_of_sum(a * total, z, lambda start, stop: direction[:, start:stop].T @ direction[:, start:])

    if n <= _FEW_LABELS or (k > 2 and n <= _PAIRS_UP_TO):
        variance, error = pairs(), 0.0
    else:
        # E[Var given s] label by label: the covariance of |X| with a copy of it that shares only s
        alone = v(z) - covariance_of_absolute(z, z, np.sum(np.square(direction), axis=0))
        own = float(np.sum(np.square(a * total) * np.maximum(alone, 0.0)))
        moved = _Moved(a, delta, sigma, shared, total)
        by_nodes = _by_nodes(moved, own) if k <= 2 else None
        if by_nodes is not None:
            variance, error = by_nodes
        elif n <= _PAIRS_UP_TO:
            variance, error = pairs(), 0.0
        else:
            variance, error = _by_quasi_random(moved, own)
    return SharedMoments(mean, variance * unit**2, (error + 1e-15 * variance) * unit**2)


class _Moved:
    """m(s) = sum a_i E|delta_i + shared_i' s + sigma_i Z|, split into what is known of it in closed form and the rest.

    With z_i = delta_i/total_i its Hermite coefficients of first and second order are c = sum a_i shared_i erf(z_i/sqrt2)
    and A = sum 2 a_i phi(z_i) shared_i shared_i' / total_i, so Var m = |c|^2 + |A|^2/2 + Var(what is left).
    """

    def __init__(
        self, a: FloatArray, delta: FloatArray, sigma: FloatArray, shared: FloatArray, total: FloatArray
    ) -> None:
        self.a, self.delta, self.sigma, self.shared = a, delta, sigma, shared
        z = np.minimum(np.abs(delta) / total, 40.0)
        self.linear = shared @ (a * np.sign(delta) * erf(math.sqrt(0.5) * z))
        curvature = a / total * math.sqrt(2.0 / math.pi) * exp_minus_half_square(z)
        self.quadratic = (shared * curvature) @ shared.T
        self.centre = float(np.sum(a * folded_mean(delta, total)))
        self.known_variance = float(self.linear @ self.linear) + 0.5 * float(np.sum(np.square(self.quadratic)))

    def left(self, s: FloatArray) -> FloatArray:
        """m(s) less its mean, linear and quadratic part, for each row of s."""
        means = conditional_means(self.a, self.delta, self.sigma, self.shared, s)
        curved = np.sum((s @ self.quadratic) * s, axis=1) - np.trace(self.quadratic)
        return np.asarray(means - self.centre - s @ self.linear - 0.5 * curved)


def principal_shifts(shared: FloatArray) -> FloatArray:
    """The same shared shifts turned into orthogonal ones, largest first, without empty rows: the law of the sum stays."""
    _, rotation = np.linalg.eigh(shared @ shared.T)
    turned = rotation.T[::-1] @ shared
    size = np.max(np.abs(turned), axis=1)
    return np.asarray(turned[size > 1e-15 * np.max(size, initial=0.0)])


def conditional_means(
    a: FloatArray, delta: FloatArray, sigma: FloatArray, shared: FloatArray, s: FloatArray
) -> FloatArray:
    """m(s) = sum a_i E|delta_i + shared_i' s + sigma_i Z| for each row of s (sums by NumPy: BLAS would wake threads)."""
    out = np.empty(s.shape[0])
    rows = max(1, _CHUNK // delta.size)
    for start in range(0, s.shape[0], rows):
        block = s[start : start + rows]
        moved = delta + sum(block[:, i, None] * shared[i] for i in range(shared.shape[0]))
        out[start : start + rows] = np.add.reduce(folded_mean(moved, sigma) * a, axis=1)
    return out


def _by_nodes(moved: _Moved, own: float) -> tuple[float, float] | None:
    """own + Var m(s) by the trapezoid rule in one or two dimensions, and its error; None if that costs too much.

    |delta + shared' s + sigma Z| bends over a width w = sigma/|shared| in s. Products of two such bends and the normal
    density have a spectrum that falls as exp(-k^2 w^2 / (2 (2 + w^2))), so a step h errs by exp(-(2 pi/h)^2 w^2 / ...).
    """
    k, n = moved.shared.shape
    # the normal density at the last node is 6e-18, or 2e-13 of a part that is small already
    reach, log_tolerance, work = (8.8, -30.0, _WORK) if n <= _PAIRS_UP_TO else (7.5, -21.0, _WORK_AT_MOST)
    size = np.sqrt(np.sum(np.square(moved.shared), axis=0))
    bends = np.abs(moved.delta) <= reach * size + 9.0 * moved.sigma
    with np.errstate(divide="ignore"):
        width = float(np.min((moved.sigma / size)[bends & (size > 0)], initial=math.inf))
    step = math.pi * math.sqrt(-2.0 / log_tolerance / (1.0 + 2.0 / max(width * width, 1e-300)))
    if _nodes(k, step, reach) * n <= work:
        rest = _second_moment(moved, _grid(k, step, reach), step)
        return own + moved.known_variance + rest, math.exp(log_tolerance) * rest
    if n <= _PAIRS_UP_TO:
        return None
    # Bends too sharp to be resolved: halve the step as often as is affordable and see what the last time changed.
    step = 0.8
    estimates = [_second_moment(moved, _grid(k, step, reach), step)]
    while _nodes(k, 0.5 * step, reach) * n <= work:
        step *= 0.5
        new = _second_moment(moved, _grid(k, step, reach, odd=True), step)
        estimates.append(0.5**k * estimates[-1] + new)
    if len(estimates) == 1:
        return None
    return own + moved.known_variance + estimates[-1], abs(estimates[-1] - estimates[-2])


def _nodes(k: int, step: float, reach: float) -> float:
    """How many nodes a grid has, about."""
    return 2.0 * reach / step if k == 1 else math.pi * (reach / step) ** 2


def _second_moment(moved: _Moved, points: FloatArray, step: float) -> float:
    k = points.shape[1]
    weight = np.prod(exp_minus_half_square(points), axis=1) * (step / math.sqrt(2.0 * math.pi)) ** k
    return float(np.sum(weight * np.square(moved.left(points))))


def _grid(k: int, step: float, reach: float, odd: bool = False) -> FloatArray:
    """Multiples of `step` up to `reach` from 0, as rows; with `odd` only those that are not multiples of 2 step."""
    count = math.floor(reach / step)
    line = np.arange(-count, count + 1)
    if k == 1:
        return np.asarray((line[line % 2 != 0] if odd else line)[:, None] * step)
    x, y = np.meshgrid(line, line, indexing="ij")
    keep = (np.hypot(x, y) * step <= reach) & ((x % 2 != 0) | (y % 2 != 0) | (not odd))
    return np.asarray(np.column_stack([x[keep], y[keep]]) * step)


def _by_quasi_random(moved: _Moved, own: float) -> tuple[float, float]:
    """own + Var m(s) with what is left of m by randomised quasi-Monte-Carlo, and the standard error."""
    from scipy.stats import qmc  # loads all of scipy.stats, and is needed here only

    k, n = moved.shared.shape
    points = max(16, min(_POINTS, _WORK_AT_MOST // (_REPLICATES * n)))
    points = 1 << (points.bit_length() - 1)
    estimates = np.empty(_REPLICATES)
    for i in range(_REPLICATES):
        s = ndtri(qmc.Sobol(k, rng=np.random.default_rng(i)).random(points))
        estimates[i] = float(np.mean(np.square(moved.left(s))))
    variance = own + moved.known_variance + float(np.mean(estimates))
    return variance, float(np.std(estimates, ddof=1)) / math.sqrt(_REPLICATES)


def _shares(weight: FloatArray | None, n: int) -> FloatArray:
    if weight is None:
        return np.full(n, 1.0 / n)
    relative = weight / np.max(weight)
    return np.asarray(relative / np.sum(relative))
