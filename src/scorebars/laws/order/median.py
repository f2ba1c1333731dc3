"""Distribution of the median absolute error.

N(x), the number of errors |delta_i + sigma_i Z_i| that are at most x, is Poisson-binomial. The median of an odd number
M is at most x when N(x) >= (M + 1)/2. For even M the average of two middle values counts. With k = M/2 and H(s, t) the
probability that k errors are at most s and the others above t,

    P(average <= x) = P(N > k) - int_0^inf dH/dt(x - u, x + u) du = P(N > k) + P(N = k)/2 - J'(x)/2,
    J(x) = int_0^inf H(x - u, x + u) du.

Labels that lie on one side of the middle whatever their errors are only count. Where one or two others remain, the
median is their mean absolute error. A few: the first formula. More: the second at some dozen x, interpolated between
them; of very many labels some thousand stand for all in the sums over P_i(x). Labels with very small errors make steps,
which are not interpolated: N(x) is asked for at every x, and of very many labels, or an even number, draws serve.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.laws.counts.poisson_binomial import around_rank
from scorebars.laws.law import RNG, Law, NormalLaw
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.samples import SampleLaw, drawn_in_blocks
from scorebars.losses import Within
from scorebars.moments.representatives import representatives
from scorebars.numerics import FIXED_SEED
from scorebars.numerics.integration import integral, moments_of_tail
from scorebars.numerics.roots import crossing
from scorebars.numerics.special import folded_cdf, folded_pdf, folded_sf

_CERTAIN = 10.0  # standard deviations: no error is larger
_FEW = 24  # up to so many labels no table is tried
_FEW_PAIRS = 60  # up to so many labels the first formula serves for averages
_CONVOLVED = 400  # up to so many labels one error is exact at every x
_AT_ONCE = 1 << 18  # labels times x for which chances are found together
_SHARP = 1e-3  # of the range of the median: smaller errors make steps
_STEP = 0.1  # of the range where the median can be: smaller errors make steps, too narrow for a table
_COUNTS, _NEVER = 2.0, 1e-16  # labels by which few may be off where the median can be; a chance that is none
_EXACT = 1e-300  # stands for an error of 0
_EDGE = 5.8  # standard deviations at the ends of the table
_SMOOTH = 1e-9  # a table that misses its own points by more is not used
_DRAWS, _FEWEST_DRAWS, _ENTRIES = 100_000, 2_000, 16_000_000


def median_law(delta: Any, sigma: Any) -> Law:
    """Distribution of the median of |delta_i + sigma_i Z_i| with independent standard normal Z_i; sigma_i may be 0."""
    size = np.abs(np.atleast_1d(np.asarray(delta, dtype=float)).ravel())
    sigma = np.broadcast_to(np.asarray(sigma, dtype=float), size.shape)
    first, last = (size.size - 1) // 2, size.size // 2
    lowest, highest = np.maximum(size - _CERTAIN * sigma, 0.0), size + _CERTAIN * sigma
    low, high = float(np.partition(lowest, first)[first]), float(np.partition(highest, last)[last])
    near = (highest >= low) & (lowest <= high)
    rank = first + 1 - int(np.count_nonzero(highest < low))
    size, sigma = size[near], sigma[near]
    if size.size == 1 + last - first:
        return FoldedNormalMean(size, sigma)
    if high == low or not np.any(sigma):
        return NormalLaw(0.5 * (low + high), 0.0)
    middle = _MiddleErrors(size, sigma, rank, last > first, (low, high))
    middle.represented()
    if size.size > _FEW and middle.count is None:  # small errors make steps that no table shows
        near_middle = middle.undecided()
        if near_middle.steps.any():
            if not near_middle.average and near_middle.number <= _CONVOLVED:
                return near_middle
            if near_middle.number > _FEW_PAIRS and near_middle.steep:
                return near_middle.drawn()
    if size.size > _FEW:  # the more labels, the smoother
        for degree in (6, 12) if size.size > 10_000 else (8, 12, 24, 48) if size.size > _CONVOLVED else (12, 24, 48):
            table = _Tabulated(middle, degree)
            if table.miss < _SMOOTH:
                return table
    if size.size > (_FEW_PAIRS if middle.average else _CONVOLVED) or (middle.average and middle.sharp.any()):
        return middle.drawn()
    return middle


class _MiddleErrors(Law):
    """The error of the given rank, or its average with the next; both lie between the ends."""

    support = (0.0, math.inf)

    def __init__(
        self, size: FloatArray, sigma: FloatArray, rank: int, average: bool, ends: tuple[float, float]
    ) -> None:
        exact = sigma == 0
        # an exact label lies a last digit below its value, so that it counts as at most x there
        self.labels = np.where(exact, np.nextafter(size, -1.0), size), np.where(exact, _EXACT, sigma)
        self.number = size.size
        self.count: FloatArray | None = None
        self.rank, self.average, self.ends = rank, average, ends
        self.sharp = sigma < _SHARP * (ends[1] - ends[0])
        self.method = "quadrature" if average else "exact"

    def represented(self) -> None:
        """Let some labels stand for very many, where such are found: chances at x near the median are smooth."""
        size, sigma = self.labels
        middle = float(np.partition(size, self.rank - 1)[self.rank - 1])
        few = representatives(Within(middle), Normal.trusted(sigma), size, np.zeros(size.size))
        if few is not None:
            self.labels, self.count = (np.abs(few.y), np.asarray(few.errors.error_bar(few.y))), few.number

    def undecided(self) -> _MiddleErrors:
        """The labels that may lie on either side of the middle, where it can be."""
        goal = self.rank - 0.5 + 0.5 * self.average

        def excess(x: float) -> float:
            p = folded_cdf(np.asarray(x), *self.labels)
            return float(np.sum(p) - goal) / (math.sqrt(float(np.sum(p * (1.0 - p)))) + _COUNTS)

        close = 1e-7 * (self.ends[1] - self.ends[0])  # the middle may be at 0, where many labels are met exactly
        low = crossing(lambda x: excess(x) + _EDGE, *self.ends, xtol=close, rtol=1e-6)
        high = crossing(lambda x: excess(x) - _EDGE, *self.ends, xtol=close, rtol=1e-6)
        size, sigma = self.labels
        under = folded_sf(np.asarray(low), size, sigma) < _NEVER
        kept = ~under & (folded_cdf(np.asarray(high), size, sigma) >= _NEVER)
        return _MiddleErrors(
            size[kept], sigma[kept], self.rank - int(np.count_nonzero(under)), self.average, (low, high)
        )

    @property
    def steps(self) -> NDArray[np.bool_]:
        """Labels whose errors are too small for a table of what they do."""
        return np.asarray(self.labels[1] < _STEP * (self.ends[1] - self.ends[0]))

    @property
    def steep(self) -> bool:
        """Whether one of them is so small that no table of all labels can succeed."""
        return bool(np.any(self.labels[1] < 0.5 * _STEP * (self.ends[1] - self.ends[0])))

    def total(self, values: FloatArray) -> float:
        """The sum over all labels of these values."""
        return float(np.sum(values) if self.count is None else self.count @ values)

    def counts(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """P(no error lies between s and t, and fewer than `rank` lie below, just as many, more): three rows."""
        rows = max(1, _AT_ONCE // self.labels[0].size)
        parts = (slice(start, start + rows) for start in range(0, s.size, rows))
        return np.concatenate([self._binomials(s[part, None], t[part, None]) for part in parts], axis=1)

    def _binomials(self, s: FloatArray, t: FloatArray) -> FloatArray:
        under = folded_cdf(np.maximum(s, 0.0), *self.labels)
        if np.array_equal(s, t):
            return around_rank(np.minimum(under, 1.0), self.count, self.rank)
        both = np.maximum(under + folded_sf(t, *self.labels), 1e-300)
        log = np.log(both)
        empty = np.exp(np.sum(log, axis=1) if self.count is None else log @ self.count)
        return empty * around_rank(np.minimum(under / both, 1.0), self.count, self.rank)

    def _polynomial(self, s: FloatArray, t: FloatArray, degree: int) -> tuple[FloatArray, FloatArray]:
        """Coefficients of prod_i (P_i(s) z + 1 - P_i(t)), z^k in row k, and minus their derivatives by t.

        Of the derivatives that of z^rank is found alone, up to which a smaller degree leads.
        """
        under, t = folded_cdf(np.maximum(s, 0.0)[:, None], *self.labels), t[:, None]
        value, slope = np.zeros((2, degree + 2, s.size))  # a row for z^-1, which stays 0
        value[1] = 1.0
        over, density = folded_sf(t, *self.labels).T, folded_pdf(t, *self.labels).T if degree <= self.rank else None
        for label, (p, q) in enumerate(zip(under.T, over, strict=True)):
            # powers below can no longer reach the rank
            first = 0 if density is None else max(self.rank - (len(over) - 1 - label), 0)
            row, before = slice(1 + first, 2 + min(label + 1, degree)), slice(first, 1 + min(label + 1, degree))
            if density is not None:
                slope[row] = slope[row] * q + slope[before] * p + value[row] * density[label]
            value[row] = value[row] * q + value[before] * p
        return value[1:], slope[1:]

    def tails(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(value <= x) and P(value > x) at each x, for few labels."""
        less, middle, more = self.counts(x, x)
        nearer = middle
        if self.average:  # P(x lies between the two middle values, nearer to the upper one)
            low, high = self.ends
            reach = np.maximum(np.minimum(x - low, high - x), 0.0)[:, None]

            def slope(share: FloatArray) -> FloatArray:
                s, t = (x[:, None] + side * reach * share for side in (-1.0, 1.0))
                return reach * self._polynomial(s.ravel(), t.ravel(), self.rank)[1][-1].reshape(s.shape)

            nearer = np.minimum(integral(slope, np.array([0.0, 1 / 16, 1 / 4, 1.0]), 1e-12), middle)
        return np.minimum(more + nearer, 1.0), np.minimum(less + (middle - nearer), 1.0)

    def _cdf(self, x: float) -> float:
        return float(self.tails(np.array([x]))[0][0])

    def _sf(self, x: float) -> float:
        return float(self.tails(np.array([x]))[1][0])

    @cached_property
    def _moments(self) -> tuple[float, float]:
        low, high = self.ends
        size, sigma = self.labels
        marks = size[self.sharp] + sigma[self.sharp] * np.array([[-8.0], [-3.0], [0.0], [3.0], [8.0]])
        return moments_of_tail(
            lambda x: self.tails(x)[1], low, high, np.append(marks, np.linspace(low, high, 7)), 1e-14
        )

    def drawn(self) -> SampleLaw:
        """The distribution from draws with a fixed seed: probabilities err by 0.0016, by up to 0.011 where labels are many."""
        size, sigma = self.labels
        middle = [self.rank - 1, self.rank - 1 + self.average]

        def draw(rng: RNG, rows: int) -> FloatArray:
            errors = np.abs(size + sigma * rng.standard_normal((rows, size.size)))
            return np.asarray(np.partition(errors, middle, axis=1)[:, middle].mean(axis=1))

        count = int(np.clip(_ENTRIES // size.size, _FEWEST_DRAWS, _DRAWS))
        return SampleLaw(drawn_in_blocks(draw, count, size.size, FIXED_SEED + 3))


class _Tabulated(Law):
    """The middle error of many labels: a polynomial in x for the normal score Phi^-1(P(X <= x)), which is nearly a line.

    Beyond the ends the line is continued. `miss` is by how much the table misses the probabilities it was made of.
    """

    method = "quadrature"
    support = (0.0, math.inf)

    def __init__(self, of: _MiddleErrors, degree: int) -> None:
        low, high = self._ends = self._range(of)
        angle = np.pi * np.arange(0.5, 2 * degree + 1) / (2 * degree + 1)
        place = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(angle)
        less, middle, more = of.counts(place, place)
        nearer = 0.5 * (middle - _slope_of_gap(of, place, degree)) if of.average else middle
        under, over = more + nearer, less + middle - nearer
        scores = np.where(under < over, ndtri(under), -ndtri(over))
        self.miss = math.inf
        if np.all(np.isfinite(scores)):
            # far out a probability has fewer digits: weigh it less
            self._curve = Chebyshev.fit(
                place, scores, degree, domain=self._ends, w=np.maximum(np.exp(-0.25 * np.square(scores)), 1e-5)
            )
            self._slope = self._curve.deriv()
            self.miss = float(np.max(np.abs(ndtr(self._curve(place)) - under)))

    def _range(self, of: _MiddleErrors) -> tuple[float, float]:
        """Where the table begins and ends."""
        low, high = of.ends
        goal = of.rank - 0.5 + 0.5 * of.average

        def excess(x: float) -> float:
            return of.total(folded_cdf(np.asarray(x), *of.labels)) - goal

        centre = np.asarray(crossing(excess, low, high, xtol=1e-4 * (high - low), rtol=1e-5))
        p, rate = folded_cdf(centre, *of.labels), max(of.total(folded_pdf(centre, *of.labels)), 1e-300)
        reach = _EDGE * math.sqrt(of.total(p * (1.0 - p))) / rate
        return max(low, float(centre) - reach), min(high, float(centre) + reach)

    def _scores(self, x: Any) -> FloatArray:
        inside = np.clip(x, *self._ends)
        return np.asarray(self._curve(inside) + (x - inside) * np.maximum(self._slope(inside), 0.0))

    def _cdf(self, x: float) -> float:
        return float(ndtr(self._scores(x)))

    def _sf(self, x: float) -> float:
        return float(ndtr(-self._scores(x)))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Over where nearly all of the probability lies."""
        low, high = self._ends
        low, high = max(1.4 * low - 0.4 * high, 0.0), 1.4 * high - 0.4 * low
        return moments_of_tail(lambda x: ndtr(-self._scores(x)), low, high, np.linspace(low, high, 7), 1e-13)


def _slope_of_gap(of: _MiddleErrors, x: FloatArray, degree: int) -> FloatArray:
    """J'(x). H falls nearly exponentially with the gap, which suits Laguerre's rule; log J is nearly quadratic."""
    number = of.number
    nodes, weights = np.polynomial.laguerre.laggauss(10 if number <= 200 else 4 if number <= 20_000 else 1)
    rate = np.array([of.total(folded_pdf(np.asarray(at), *of.labels)) for at in x])
    u = nodes * (0.5 / np.maximum(rate, 1e-300))[:, None]
    gaps = of.counts((x[:, None] - u).ravel(), (x[:, None] + u).ravel())[1].reshape(u.shape)
    j = gaps @ (weights * np.exp(nodes)) * 0.5 / rate
    if not np.all(j > 0):  # exact labels: no gap around x has room for them
        return np.full(x.size, math.nan)
    curve = Chebyshev.fit(x, np.log(j), degree, w=np.maximum(np.sqrt(j / np.max(j)), 1e-5))
    return np.asarray(j * curve.deriv()(x))
