"""Law of the mean absolute error when labels share systematic shifts.

The labels err by e = sigma Z + shared' s with s standard normal and common to all labels. Given s they are independent
and the law is known; over s it is averaged:

* many comparable labels: given s the score is nearly normal with known mean, variance, skewness and kurtosis, and its
  mean slides with s (shifted_mixture). One shift: a fine grid in s. Two: the same for each of some nodes of the second.
  More: quasi-random points s.
* few labels that matter and one shift: a mixture of exact laws (folded) over nodes in s.
* few labels and several shifts: draws.

Mean and variance are the exact ones in every case.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr, ndtri

from scorebars.laws.base import Law
from scorebars.laws.folded import FoldedNormalMean
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.samples import SampleLaw
from scorebars.laws.shifted_mixture import ShiftedMixture
from scorebars.moments.folded_covariance import SharedMoments, principal_shifts, variance_shared
from scorebars.special import FloatArray, folded_mean, folded_variance, kappa3, kappa4, standardised, v

_REACH = 8.3
_NEARLY_NORMAL = 20.0  # labels, counted as (sum v)^2/sum v^2: then four cumulants are within 1e-4
_EXACT_PARTS, _EXACT_REACH = 45, 7.0
_FINE_CELLS = 4000
_WORK = 10_000_000  # labels times nodes
_DRAWS = 100_000
_SEED = 20240518
_CHUNK = 1 << 16


def shared_law(delta: FloatArray, sigma: FloatArray, shared: FloatArray, weight: FloatArray | None = None) -> Law:
    """Law of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i; `shared` is (k, n), s is common to all labels."""
    n = delta.size
    sigma = np.broadcast_to(sigma, delta.shape)
    share = np.full(n, 1.0 / n) if weight is None else weight / np.sum(weight)
    shifts = principal_shifts(np.atleast_2d(shared))
    total = np.sqrt(np.square(sigma) + np.sum(np.square(shifts), axis=0))
    if shifts.shape[0] == 0 or np.count_nonzero(share * total) <= 1:
        return FoldedNormalMean(delta, total, weight)
    moments = variance_shared(delta, sigma, shared, weight)
    own = np.square(share * sigma)
    largest = float(np.max(own))  # in its unit, so that squares of tiny errors do not vanish
    own = own / largest if largest > 0 else own
    labels = float(np.sum(own)) ** 2 / float(np.sum(np.square(own))) if largest > 0 else math.inf
    if labels < _NEARLY_NORMAL:
        if shifts.shape[0] > 1:
            return _drawn(delta, sigma, shifts, share, moments)
        step = _step(delta, sigma, shifts, share)
        if 2.0 * _EXACT_REACH / step <= _EXACT_PARTS:
            return _exact_parts(delta, sigma, shifts[0], weight, step)
    return _smeared(delta, sigma, shifts, share, moments)


def _smeared(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, moments: SharedMoments
) -> Law:
    """Cells in s, each with the conditional mean, std, skewness and kurtosis."""
    k, n = shifts.shape
    if k == 1:
        cells = _cells(delta, sigma, shifts[0], share, int(np.clip(_WORK // n, 120, 2000)), _FINE_CELLS)
    elif k == 2:
        # closer where the probability is: a low score asks for s near one point, which the nodes must resolve
        nodes = np.concatenate([np.arange(-8.2, -4.1, 0.4), np.arange(-40, 41) * 0.1, np.arange(4.2, 8.3, 0.4)])
        count = int(np.clip(_WORK // (n * nodes.size), 40, 200))
        parts = [_cells(delta + shifts[1] * s, sigma, shifts[0], share, count, 200) for s in nodes]
        edges = np.concatenate([[-np.inf], 0.5 * (nodes[1:] + nodes[:-1]), [np.inf]])
        for i, part in enumerate(parts):
            part[0] *= _normal_between(edges[i], edges[i + 1])
            # within its strip the second shift moves the mean as well: a little more breadth
            slope = (parts[min(i + 1, nodes.size - 1)][1:3] - parts[max(i - 1, 0)][1:3]).mean(axis=0)
            part[3] = np.hypot(part[3], slope / math.sqrt(48.0))
        cells = np.concatenate(parts, axis=1)
    else:
        points = _normal_points(k, int(np.clip(_WORK // n, 256, 4096)))
        mean, std = _given(delta, sigma, shifts, share, points)
        skewness, kurtosis = _shape(delta, sigma, shifts, share, points[:64])
        cells = np.stack([np.full(mean.size, 1.0 / mean.size), mean, mean, std, *np.zeros((2, mean.size))])
        cells[4], cells[5] = np.mean(skewness), np.mean(kurtosis)  # as they are with many labels: small
    exact = (sigma == 0) & ~np.any(shifts, axis=0)
    return ShiftedMixture(
        *cells,
        mean=moments.mean,
        var=moments.variance,
        method="quadrature" if k <= 2 else "simulation",
        support=(float(np.sum(share[exact] * np.abs(delta[exact]))), math.inf),
    )


def _normal_between(low: float, high: float) -> float:
    return float(ndtr(high) - ndtr(low)) if low + high <= 0 else float(ndtr(-low) - ndtr(-high))


def _normal_points(k: int, count: int) -> FloatArray:
    """Quasi-random standard normal points, as rows; their number is a power of two, `count` at most."""
    from scipy.stats import qmc  # loads all of scipy.stats, and is needed here only

    count = 1 << (count.bit_length() - 1)
    return np.asarray(ndtri(qmc.Sobol(k, rng=np.random.default_rng(_SEED)).random(count)))


def _cells(
    delta: FloatArray, sigma: FloatArray, shift: FloatArray, share: FloatArray, count: int, fine: int
) -> FloatArray:
    """Rows weight, start, end, std, skewness, kurtosis of `fine` cells in one shift s, computed at `count` nodes or more."""
    sharp = bool(np.any((shift != 0) & (sigma < np.abs(shift) * (2.0 * _REACH / count))))
    s = np.linspace(-_REACH, _REACH, (fine if sharp and fine * delta.size <= _WORK else count) + 1)
    mean, std = _given(delta, sigma, shift[None, :], share, s[:, None])
    if s.size != fine + 1:
        finer = np.linspace(-_REACH, _REACH, fine + 1)
        mean, std = CubicSpline(s, mean)(finer), CubicSpline(s, std)(finer)
        s = finer
    weight = np.where(s[1:] <= 0, np.diff(ndtr(s)), -np.diff(ndtr(-s)))
    middle = 0.5 * (s[1:] + s[:-1])
    few = np.linspace(-_REACH, _REACH, 1 + max(8, fine // 80))
    shape = [CubicSpline(few, y)(middle) for y in _shape(delta, sigma, shift[None, :], share, few[:, None])]
    return np.stack([weight, mean[:-1], mean[1:], np.maximum(0.5 * (std[1:] + std[:-1]), 0.0), *shape])


def _given(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and std of the score given each row of s."""
    mean, variance = np.empty(s.shape[0]), np.empty(s.shape[0])
    rows = max(1, _CHUNK // delta.size)
    unit = float(np.max(sigma)) or 1.0
    for start in range(0, s.shape[0], rows):
        part = slice(start, start + rows)
        moved = delta + sum(s[part, i, None] * shifts[i] for i in range(shifts.shape[0]))
        mean[part] = np.add.reduce(share * folded_mean(moved, sigma), axis=1)
        variance[part] = np.add.reduce(np.square(share) * folded_variance(moved / unit, sigma / unit), axis=1)
    return mean, unit * np.sqrt(variance)


def _shape(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Skewness and excess kurtosis of the score given each row of s."""
    skewness, kurtosis = np.zeros(s.shape[0]), np.zeros(s.shape[0])
    own = share * sigma
    if np.any(own):
        own = own / np.max(own)
        for i, row in enumerate(s):
            z = standardised(delta + np.add.reduce(row[:, None] * shifts, axis=0), sigma)
            second, third, fourth = (float(np.sum(own**r * f(z))) for r, f in ((2, v), (3, kappa3), (4, kappa4)))
            skewness[i], kurtosis[i] = third / second**1.5, fourth / second**2
    return skewness, kurtosis


def _step(delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray) -> float:
    """Distance of nodes in s over which the law given s moves by less than its width, and no label bends unseen."""
    s = np.linspace(-_REACH, _REACH, 65)
    mean, std = _given(delta, sigma, shifts, share, s[:, None])
    slope = np.abs(np.gradient(mean, s))
    relevant = np.abs(s) < 6.0
    moves = float(np.min((std / np.maximum(slope, 1e-300))[relevant]))
    size = np.abs(shifts[0])
    bending = (share * sigma > 0) & (np.abs(delta) <= 6.0 * size + 6.0 * sigma) & (size > 0)
    bends = float(np.min((sigma[bending] / size[bending]), initial=math.inf))
    return 0.85 * min(moves / math.hypot(1.0, moves), 1.2 / math.hypot(1.0, 1.0 / bends) if bends > 0 else 0.0)


def _exact_parts(
    delta: FloatArray, sigma: FloatArray, shift: FloatArray, weight: FloatArray | None, step: float
) -> MixtureLaw:
    count = math.ceil(_EXACT_REACH / step)
    s = np.arange(-count, count + 1) * (_EXACT_REACH / count)
    density = np.exp(-0.5 * np.square(s))
    laws = [FoldedNormalMean(delta + shift * x, sigma, weight) for x in s]
    return MixtureLaw(laws, density / np.sum(density), method="quadrature")


def _drawn(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, moments: SharedMoments
) -> SampleLaw:
    """Draws with a fixed seed, moved and stretched to the exact mean and variance."""
    rng = np.random.default_rng(_SEED)
    count = int(np.clip(4 * _WORK // delta.size, 5_000, _DRAWS))
    draws = np.empty(count)
    rows = max(1, _CHUNK // delta.size)
    for start in range(0, count, rows):
        block = min(rows, count - start)
        error = (
            sigma * rng.standard_normal((block, delta.size)) + rng.standard_normal((block, shifts.shape[0])) @ shifts
        )
        draws[start : start + block] = np.add.reduce(share * np.abs(delta + error), axis=1)
    return calibrated(draws, moments.mean, moments.variance)


def calibrated(draws: FloatArray, mean: float, variance: float) -> SampleLaw:
    """The law of the draws after a shift and stretch that give them the mean and variance known exactly."""
    spread = float(np.std(draws))
    factor = math.sqrt(variance) / spread if spread > 0 else 1.0
    return SampleLaw(np.maximum(mean + factor * (draws - np.mean(draws)), 0.0), mean=mean, var=variance)
