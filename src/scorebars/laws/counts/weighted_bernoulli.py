"""Weighted number of successes of independent trials: the distribution of accuracy with sample weights.

X = shift + sum_i w_i B_i with independent B_i ~ Bernoulli(p_i). It serves every binary score that is linear in the labels:
the log loss (w = logit of the prediction) and the Brier score (w = 1 - 2 prediction), divided by n.

The distribution is found in the first of these ways that applies:

- few uncertain trials: all outcomes are listed ("exact");
- weights that are whole multiples of one unit: the Poisson-binomial counts of each multiple are convolved ("exact");
- so many comparable trials that the sum is nearly normal: the Edgeworth series ("quadrature", good to 1e-6). A million
  trials take 32 ms, and 375 ms on a grid;
- else weights are rounded to a grid ("quadrature", good to 1e-5; where few trials change or few weights dominate, quantiles
  are off by up to about 1e-4 standard deviations).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft

from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial, bernstein_halfwidth
from scorebars.laws.discrete import DiscreteLaw, ListedLaw, ProbabilityTable
from scorebars.laws.law import Law

_LISTED = 16  # uncertain trials whose outcomes are all listed
_MOST_KINDS = 64  # weights among which a common unit is looked for
_MOST_WHOLE = 50_000  # trials for which it is: the steps of a longer sum are too fine to matter
_LONGEST = 1 << 22  # points on which the counts of all multiples are convolved
_NEARLY_NORMAL = 0.02  # skewness (and root of the excess kurtosis) up to which four cumulants serve
_LARGEST_STEP = 0.3  # of a nearly normal sum, in standard deviations
_TABLE = 1 << 14  # points of the table of a nearly normal sum
_FEW_POINTS, _POINTS = 1 << 14, 1 << 16  # of the grid that weights are rounded to, and of one where few dominate
_FARTHEST = 9.0  # standard deviations from the mean that a nearly normal sum reaches
_SERIES_ODDS = 0.25  # larger odds converge slowly: those trials are taken one by one
_STRIP = 1 << 15


class BernoulliSum(ScaledLaw):
    """The distribution of shift + sum_i weights[i] B_i with independent B_i ~ Bernoulli(p[i]); weights of either sign."""

    def __init__(self, weights: ArrayLike, p: ArrayLike, shift: float = 0.0) -> None:
        w = np.asarray(weights, dtype=float).ravel()
        prob = np.broadcast_to(np.asarray(p, dtype=float), w.shape).ravel()
        unit = float(np.max(np.abs(w), initial=0.0)) or 1.0
        w = w / unit
        # certain trials only shift; a negative weight is a positive one on the opposite outcome
        uncertain = (prob > 0) & (prob < 1) & (w != 0)
        base = float(np.add.reduce(w[~uncertain] * prob[~uncertain]))
        w, prob = w[uncertain], prob[uncertain]
        base += float(np.add.reduce(np.minimum(w, 0.0)))
        prob = np.where(w < 0, 1 - prob, prob)
        super().__init__(_sum_law(np.abs(w), prob), unit, shift + unit * base)


class WeightedBernoulliSum(BernoulliSum):
    """The distribution of sum_i w_i B_i / sum_i w_i: accuracy with sample weights w >= 0, B_i = 1 where it is correct."""

    def __init__(self, w: ArrayLike, p: ArrayLike) -> None:
        weights = np.asarray(w, dtype=float).ravel()
        weights = weights / float(np.max(weights))
        super().__init__(weights / float(np.add.reduce(weights)), p)


def _sum_law(w: FloatArray, p: FloatArray) -> Law:
    """The distribution of sum w_i B_i for weights above 0 and 0 < p < 1."""
    if w.size <= _LISTED:
        return list_outcomes(w, p)
    unit = common_unit(w) if w.size <= _MOST_WHOLE else None
    law = None if unit is None else whole_sum(unit, np.rint(w / unit).astype(np.int64), p)
    return law or _nearly_normal(w, p) or sum_on_grid(w, p)


def list_outcomes(w: FloatArray, p: FloatArray) -> DiscreteLaw:
    """All 2^n outcomes with their probabilities."""
    values, chances = np.zeros(1), np.ones(1)
    for weight, prob in zip(w, p, strict=True):
        values = np.concatenate([values, values + weight])
        chances = np.concatenate([chances * (1 - prob), chances * prob])
    return DiscreteLaw(values, chances)


def common_unit(w: FloatArray) -> float | None:
    """A number of which every weight is a whole multiple; None where there is none."""
    if np.unique(w[: 4 * _MOST_KINDS]).size > _MOST_KINDS:
        return None
    distinct = np.unique(w)
    for divisor in range(1, 13):
        ratio = distinct * (divisor / distinct[0])
        if ratio[-1] <= _LONGEST and np.all(np.abs(ratio - np.rint(ratio)) <= 1e-12 * ratio):
            return float(distinct[-1] / np.rint(ratio[-1]))
    return None


def whole_sum(unit: float, k: IntArray, p: FloatArray) -> Law | None:
    """The distribution of unit * sum k_i B_i: the counts of each k, spread out and convolved; None where that is too long."""
    kinds = [int(kind) for kind in np.unique(k)]
    parts = [PoissonBinomial(p[k == kind]).table for kind in kinds]
    length = 1 + sum(kind * (part.pmf.size - 1) for kind, part in zip(kinds, parts, strict=True))
    if length > _LONGEST:
        return None
    period = next_fast_len(length, real=True)
    product, first = np.ones(period // 2 + 1, dtype=complex), 0.0
    for kind, part in zip(kinds, parts, strict=True):
        spread = np.zeros(kind * (part.pmf.size - 1) + 1)
        spread[::kind] = part.pmf
        product *= rfft(spread, period)
        first += kind * part.values[0]
    return ScaledLaw(DiscreteLaw(first + np.arange(length), np.maximum(irfft(product, period)[:length], 0.0)), unit)


def _nearly_normal(w: FloatArray, p: FloatArray) -> Law | None:
    """The Edgeworth series where skewness and excess kurtosis are small; with the Hermite polynomials He_k, its density is
    phi(z) [1 + skewness He_3 / 6 + kurtosis He_4 / 24 + skewness^2 He_6 / 72] at z standard deviations from the mean.
    """
    pq = p * (1 - p)
    mean, std = float(w @ p), math.sqrt(float((w * w) @ pq))
    u = w / std
    if np.max(u) > _LARGEST_STEP:
        return None
    skewness, kurtosis = float((u**3 * pq) @ (1 - 2 * p)), float((u**4 * pq) @ (1 - 6 * pq))
    if max(abs(skewness), math.sqrt(abs(kurtosis))) > _NEARLY_NORMAL:
        return None
    z = np.linspace(-_FARTHEST, _FARTHEST, _TABLE)
    hermite = [1.0, 0.0, 0.0, skewness / 6, kurtosis / 24, 0.0, skewness**2 / 72]
    density: FloatArray = np.exp(-0.5 * z * z) * hermeval(z, hermite)
    support = (0.0, float(np.add.reduce(w)))
    return SmoothGridLaw(mean, std, density, support, mean - _FARTHEST * std, std * (z[1] - z[0]))


def sum_on_grid(w: FloatArray, p: FloatArray) -> Law:
    """The distribution of sum w_i B_i from its characteristic function, on a grid that holds all but 1e-17 of the mass."""
    likely = p > 0.5
    rare, step = np.where(likely, 1 - p, p), np.where(likely, -w, w)
    pq, base, moved = rare * (1 - rare), float(np.add.reduce(w[likely])), float(step @ rare)
    mean, std, support = base + moved, math.sqrt(float((step * step) @ pq)), (0.0, float(np.add.reduce(w)))
    reach = bernstein_halfwidth(std * std, float(np.max(w)))
    low = max(float(np.add.reduce(np.minimum(step, 0.0))), moved - reach)
    high = min(float(np.add.reduce(np.maximum(step, 0.0))), moved + reach)
    for points in (_FEW_POINTS, _POINTS):
        unit = (high - low) / (points - 4)
        first = math.floor(low / unit) - 1
        k = np.rint(step / unit)
        pmf = np.maximum(np.roll(_cyclic_pmf(k.astype(np.int64), rare, points), -first), 0.0)
        # a value ten times as probable as the normal density allows stands for itself
        if np.max(pmf) <= min(4 * unit / std, 0.01):
            # rounding changed mean and variance a little: the grid is moved and stretched to have them right
            unit = std / math.sqrt(float(np.square(k) @ pq))
            return SmoothGridLaw(mean, std, pmf, support, mean + unit * (first - float(k @ rare)), unit)
    return GridLaw(mean, std, pmf, support, base + first * unit, unit)


def _cyclic_pmf(k: IntArray, rare: FloatArray, points: int) -> FloatArray:
    """Probabilities of sum k_i R_i on so many points, cyclically, where R_i is 1 with probability rare_i <= 1/2, else 0.

    With odds r = rare / (1 - rare), log(1 + r z) = sum_m (-1)^(m+1) r^m z^m / m: the logarithm of the characteristic
    function is the transform of a histogram of the multiples m k_i, which costs little for any number of trials.
    """
    odds = rare / (1 - rare)
    series = odds <= _SERIES_ODDS
    histogram = np.zeros(points)
    for start in range(0, k.size, _STRIP):
        here = slice(start, start + _STRIP)
        r, steps = odds[here][series[here]], k[here][series[here]]
        power, m = r.copy(), 1
        while power.size and float(np.add.reduce(power)) / m > 1e-18:
            histogram += np.bincount(m * steps % points, (-1.0) ** (m + 1) / m * power, minlength=points)
            power *= r
            m += 1
    phi = np.exp(rfft(histogram) - float(np.add.reduce(np.log1p(odds[series]))))
    k, rare = k[~series], rare[~series]
    turns = np.exp(-2j * math.pi / points * np.arange(points)) - 1
    start, heard = 0, np.arange(phi.size)
    while start < k.size:
        heard = heard[np.abs(phi[heard]) > 1e-18]  # each trial silences some frequencies; the rest costs ever less
        here = slice(start, start + max(1, _STRIP // max(heard.size, 1)))
        factors = 1 + rare[here, None] * turns[k[here, None] * heard % points]
        phi[heard] *= np.multiply.reduce(factors, axis=0)
        start = here.stop
    return np.asarray(irfft(phi, points))


class _Table(Law):
    """Probabilities of the grid points start + j * unit, with the mean and standard deviation known exactly."""

    method = "quadrature"

    def __init__(
        self, mean: float, std: float, pmf: FloatArray, support: tuple[float, float], start: float, unit: float
    ) -> None:
        self._moments, self.support, self._start, self._unit = (mean, std * std), support, start, unit
        self._pmf: FloatArray = pmf / np.add.reduce(pmf)

    @cached_property
    def table(self) -> ProbabilityTable:
        return ProbabilityTable.of(self._start + self._unit * np.arange(self._pmf.size, dtype=float), self._pmf)


class GridLaw(_Table, ListedLaw):
    """Each grid point stands for the values within half a unit."""

    def _slack(self, x: FloatArray) -> FloatArray:
        return np.full(np.shape(x), 0.5 * self._unit)


class SmoothGridLaw(_Table):
    """Each probability is spread evenly over the cell around its grid point."""

    def _cdf(self, x: float) -> float:
        return float(np.interp(x - 0.5 * self._unit, self.table.values, self.table.cdf, left=0.0))

    def _sf(self, x: float) -> float:
        return float(np.interp(x - 0.5 * self._unit, self.table.values, self.table.sf, left=1.0))

    def _pdf(self, x: float) -> float:
        return float(np.interp(x, self.table.values, self._pmf, left=0.0, right=0.0)) / self._unit

    def _ppf(self, q: float) -> float:
        ends, at = (q, self.table.cdf) if q <= 0.5 else (q - 1.0, -self.table.sf)
        return float(np.interp(ends, at, self.table.values)) + 0.5 * self._unit
