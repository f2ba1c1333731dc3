"""Distribution of the mean absolute error when label errors are correlated.

Shared shifts: labels err by e = sigma Z + shared' s with s standard normal and common to all labels. Given s they are
independent and the distribution is known; over s it is averaged:

* many comparable labels: given s the score is nearly normal with known mean, variance, skewness and kurtosis, and its
  mean slides with s (SlidingNormal). One shift: a fine grid in s. Several: quasi-random points s.
* few labels that matter: draws.

A full covariance matrix: draws. Mean and variance are the exact ones in every case; draws, which have a fixed seed, are
moved and stretched to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr, ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.law import Law
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.samples import SampleLaw, drawn_in_blocks
from scorebars.moments.correlated import (
    SharedMoments,
    principal_shifts,
    shares_of,
    variance_correlated,
    variance_shared,
)
from scorebars.numerics import FIXED_SEED
from scorebars.numerics.special import folded_mean, folded_variance, kappa3, kappa4, standardised, v

_REACH = 8.3
_NEARLY_NORMAL = 20.0  # labels, counted as (sum v)^2/sum v^2: then four cumulants are within 1e-4
_FINE_CELLS = 4000
_WORK = 10_000_000  # labels times nodes
_SHARED_DRAWS, _FEWEST_SHARED_DRAWS = 100_000, 5_000
_DRAWS, _FEWEST_DRAWS = 50_000, 2_000
_MULTIPLICATIONS = 10_000_000_000
_CHUNK = 1 << 16

Errors = Callable[[np.random.Generator, int], FloatArray]  # draws so many rows of errors


def correlated_law(delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> Law:
    """Distribution of sum w_i |delta_i + e_i| / sum w_i for e ~ N(0, cov); exact where cov is diagonal."""
    sd = np.sqrt(np.diagonal(cov))
    share = shares_of(weight, delta.size)
    random = np.flatnonzero((sd > 0) & (share > 0))
    if random.size <= 1 or np.count_nonzero(cov) == np.count_nonzero(sd):
        return FoldedNormalMean(delta, sd, weight)
    root = _root(cov[np.ix_(random, random)])
    count = int(np.clip(_MULTIPLICATIONS // random.size**2, _FEWEST_DRAWS, _DRAWS))

    def errors(rng: np.random.Generator, rows: int) -> FloatArray:
        return np.asarray(rng.standard_normal((rows, root.shape[1])) @ root.T)

    constant = float(np.sum(share * np.abs(delta))) - float(np.sum(share[random] * np.abs(delta[random])))
    mean = float(np.sum(share * folded_mean(delta, sd)))
    return _drawn(delta[random], share[random], errors, count, mean, variance_correlated(delta, cov, weight), constant)


def _root(cov: FloatArray) -> FloatArray:
    """R with R R' = cov: Cholesky, or by eigenvalues where the matrix is singular."""
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(cov)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _drawn(
    delta: FloatArray,
    share: FloatArray,
    errors: Errors,
    count: int,
    mean: float,
    variance: float,
    constant: float = 0.0,
) -> SampleLaw:
    """Draws of constant + sum share |delta + error|, moved and stretched to the exact mean and variance."""
    draws = constant + drawn_in_blocks(
        lambda rng, rows: np.abs(delta + errors(rng, rows)) @ share, count, delta.size, FIXED_SEED + 1, _CHUNK
    )
    spread = float(np.std(draws))
    factor = math.sqrt(variance) / spread if spread > 0 else 1.0
    return SampleLaw(np.maximum(mean + factor * (draws - np.mean(draws)), 0.0), mean=mean, var=variance)


def shared_law(delta: FloatArray, sigma: FloatArray, shared: FloatArray, weight: FloatArray | None = None) -> Law:
    """Distribution of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i; `shared` is (k, n), s common to all."""
    sigma = np.broadcast_to(sigma, delta.shape)
    share = shares_of(weight, delta.size)
    shifts = principal_shifts(np.atleast_2d(shared))
    total = np.sqrt(np.square(sigma) + np.sum(np.square(shifts), axis=0))
    if shifts.shape[0] == 0 or np.count_nonzero(share * total) <= 1:
        return FoldedNormalMean(delta, total, weight)
    moments = variance_shared(delta, sigma, shared, weight)
    own = np.square(share * sigma)
    own = own / (float(np.max(own)) or 1.0)  # in this unit squares of tiny errors do not vanish
    labels = float(np.sum(own)) ** 2 / float(np.sum(np.square(own))) if np.any(own) else math.inf
    if labels < _NEARLY_NORMAL:

        def errors(rng: np.random.Generator, rows: int) -> FloatArray:
            own = sigma * rng.standard_normal((rows, delta.size))
            return np.asarray(own + rng.standard_normal((rows, shifts.shape[0])) @ shifts)

        count = int(np.clip(4 * _WORK // delta.size, _FEWEST_SHARED_DRAWS, _SHARED_DRAWS))
        return _drawn(delta, share, errors, count, moments.mean, moments.variance)
    return _sliding(delta, sigma, shifts, share, moments)


def _sliding(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, moments: SharedMoments
) -> Law:
    """Cells in s, each with the conditional mean, std, skewness and kurtosis."""
    k, n = shifts.shape
    if k == 1:
        cells = _cells(delta, sigma, shifts[0], share, int(np.clip(_WORK // n, 120, 2000)), _FINE_CELLS)
    else:
        from scipy.stats import qmc  # loads all of scipy.stats, and is needed here only

        count = int(np.clip(_WORK // n, 256, 4096))
        sobol = qmc.Sobol(k, rng=np.random.default_rng(FIXED_SEED + 1))
        points = ndtri(sobol.random(1 << (count.bit_length() - 1)))  # a power of two
        mean, std = _given(delta, sigma, shifts, share, points)
        shape = np.mean(_shape(delta, sigma, shifts, share, points[:64]), axis=1)  # small with many labels
        cells = np.stack([np.full(mean.size, 1.0 / mean.size), mean, mean, std, *np.outer(shape, np.ones(mean.size))])
    exact = (sigma == 0) & ~np.any(shifts, axis=0)
    lowest = float(np.sum(share[exact] * np.abs(delta[exact])))
    return SlidingNormal(cells, moments.mean, moments.variance, "quadrature" if k == 1 else "simulation", lowest)


def _between(edges: FloatArray) -> FloatArray:
    """Normal probabilities between neighbouring edges, from the tail in which they do not cancel."""
    return np.where(edges[1:] + edges[:-1] <= 0, np.diff(ndtr(edges)), -np.diff(ndtr(-edges)))


def _cells(
    delta: FloatArray, sigma: FloatArray, shift: FloatArray, share: FloatArray, count: int, fine: int
) -> FloatArray:
    """Rows weight, start, end, std, skewness, kurtosis of `fine` cells in one shift s, from `count` nodes or more."""
    sharp = bool(np.any((shift != 0) & (sigma < np.abs(shift) * (2.0 * _REACH / count))))
    s = np.linspace(-_REACH, _REACH, (fine if sharp and fine * delta.size <= _WORK else count) + 1)
    mean, std = _given(delta, sigma, shift[None, :], share, s[:, None])
    if s.size != fine + 1:
        finer = np.linspace(-_REACH, _REACH, fine + 1)
        mean, std = CubicSpline(s, mean)(finer), CubicSpline(s, std)(finer)
        s = finer
    middle = 0.5 * (s[1:] + s[:-1])
    few = np.linspace(-_REACH, _REACH, 1 + max(8, fine // 80))
    shape = CubicSpline(few, _shape(delta, sigma, shift[None, :], share, few[:, None]), axis=1)(middle)
    return np.stack([_between(s), mean[:-1], mean[1:], np.maximum(0.5 * (std[1:] + std[:-1]), 0.0), *shape])


def _given(
    delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and std of the score given each row of s."""
    mean, variance = np.empty(s.shape[0]), np.empty(s.shape[0])
    rows = max(1, _CHUNK // delta.size)
    unit = float(np.max(sigma)) or 1.0
    for start in range(0, s.shape[0], rows):
        part = slice(start, start + rows)
        moved = delta + s[part] @ shifts
        mean[part] = folded_mean(moved, sigma) @ share
        variance[part] = folded_variance(moved / unit, sigma / unit) @ np.square(share)
    return mean, unit * np.sqrt(variance)


def _shape(delta: FloatArray, sigma: FloatArray, shifts: FloatArray, share: FloatArray, s: FloatArray) -> FloatArray:
    """Skewness and excess kurtosis (rows) of the score given each row of s."""
    out, own = np.zeros((2, s.shape[0])), share * sigma
    if np.any(own):
        own = own / np.max(own)
        for i, row in enumerate(s):
            z = standardised(delta + row @ shifts, sigma)
            second, third, fourth = (float(np.sum(own**r * f(z))) for r, f in ((2, v), (3, kappa3), (4, kappa4)))
            out[:, i] = third / second**1.5, fourth / second**2
    return out


class SlidingNormal(Law):
    """A nearly normal value whose mean slides along a curve with a random s: a mixture of smeared normals.

    Rows of `cells`: weight, mean at the start and at the end of the cell, std, skewness, excess kurtosis. In a cell
    of s the mean runs straight from start to end while the std stays. So P(value <= x) is a weighted sum of averages of
    normal distribution functions over a straight line, which are closed: with u = (x - m)/std

        average of Phi over [u_end, u_start] = (B(u_start) - B(u_end)) / (u_start - u_end),   B(u) = u Phi(u) + phi(u).

    Cells may be wider than the normal is broad, down to no breadth at all. Skewness and kurtosis enter by the Edgeworth
    series, whose terms integrate as easily. `mean` and `var` are those known exactly.
    """

    def __init__(
        self, cells: FloatArray, mean: float, var: float, method: str = "quadrature", lowest: float = 0.0
    ) -> None:
        weight, start, end, std, self._skewness, self._kurtosis = cells
        self.method, self.support = method, (lowest, math.inf)
        self._moments = mean, var
        self._weight = weight / np.sum(weight)
        # cells are moved and stretched (by very little) so that the mixture has the exact mean and variance
        middle = 0.5 * (start + end)
        centre = float(np.sum(self._weight * middle))
        within = np.square(end - start) / 12.0 + np.square(std)
        spread = float(np.sum(self._weight * (np.square(middle - centre) + within)))
        factor = math.sqrt(var / spread) if spread > 0 else 1.0
        self._start, self._end = mean + factor * (start - centre), mean + factor * (end - centre)
        # no breadth is a breadth far below what can be seen
        self._scale = np.maximum(factor * std, 1e-12 * math.sqrt(var))

    def _parts(self, u: FloatArray, sign: float) -> tuple[FloatArray, FloatArray]:
        """Tail (lower for sign 1, upper for -1) and integral of the tail over u, by the Edgeworth series."""
        g3, g4 = self._skewness / 6.0, self._kurtosis / 24.0
        g33 = np.square(self._skewness) / 72.0
        square = u * u
        with np.errstate(under="ignore"):
            phi = np.exp(-0.5 * np.minimum(square, 1500.0)) / math.sqrt(2.0 * math.pi)
        he2, he3, he4 = square - 1.0, u * (square - 3.0), square * (square - 6.0) + 3.0
        he5 = u * (square * (square - 10.0) + 15.0)
        tail = ndtr(sign * u) - sign * phi * (g3 * he2 + g4 * he3 + g33 * he5)
        integral = u * ndtr(sign * u) + sign * phi * (1.0 + g3 * u + g4 * he2 + g33 * he4)
        return tail, integral

    def _average(self, x: float, sign: float) -> float:
        """The tail at x."""
        first, last = (x - self._start) / self._scale, (x - self._end) / self._scale
        width = first - last
        (tail1, integral1), (tail2, integral2) = self._parts(first, sign), self._parts(last, sign)
        tail3, _ = self._parts(0.5 * (first + last), sign)
        narrow = np.abs(width) < 0.05
        safe = np.where(narrow, 1.0, width)
        tail = np.where(narrow, (tail1 + 4.0 * tail3 + tail2) / 6.0, (integral1 - integral2) / safe)
        return min(max(float(np.sum(self._weight * tail)), 0.0), 1.0)

    def _cdf(self, x: float) -> float:
        return self._average(x, 1.0)

    def _sf(self, x: float) -> float:
        return self._average(x, -1.0)
