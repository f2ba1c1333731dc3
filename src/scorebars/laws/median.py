"""Law of the median absolute error.

With N(x) = number of labels whose |delta_i + sigma_i Z_i| is at most x, a Poisson-binomial count, the median of an odd
number M of errors is at most x when N(x) >= (M + 1)/2. An even number has two middle values whose average counts, and

    P(average <= x) = P(N > M/2) + P(N = M/2)/2 - J'(x)/2,     J(x) = int_0^inf P(no error in (x - u, x + u), half on either
                                                                                 side) du

(see middle_gap). Up to 100 labels that is exact. Beyond, J, of order 1/M to the power 3/2, is found from a few gaps u (up
to 2000 labels) or as P(N = M/2) over twice the density of labels at x, and interpolated in x; exact labels, at which J
jumps, are taken into account one by one up to 2000 labels and to leading order above. Labels that cannot lie near the
middle only count; these numbers are of the others. With weights the count becomes a weighted sum, and the median is
scikit-learn's: the averaged inverse of the weighted distribution.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars.laws.absolute_errors import below
from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.maximum import MaxErrorLaw
from scorebars.laws.middle_gap import MiddleGap
from scorebars.laws.panels import integrate, interpolant, interpolation_points
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.score_table import ScoreTable
from scorebars.laws.search import crossing, roughly
from scorebars.laws.weighted_bernoulli import BernoulliSum, whole_multiples

BoolArray = NDArray[np.bool_]

_EXACT_GAPS = 100  # labels
_FEW_GAPS = 2000
_DIRECT = 2000  # labels: beyond, the law is tabulated
_POINTS = 49
_MOST_MARKS = 150
_CERTAIN = 10.0  # no error is as large as so many standard deviations


class MedianAbsoluteErrorLaw(Law):
    """Law of the median of |delta_i + sigma_i Z_i| with independent standard normal Z_i.

    Labels with sigma = 0 are exact; if one of them can be the median, the law has jumps there.
    """

    def __init__(self, delta: Any, sigma: Any, weight: Any = None) -> None:
        size = np.abs(np.atleast_1d(np.asarray(delta, dtype=float)).ravel())
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), size.shape).ravel()
        weights = np.ones(size.shape) if weight is None else np.asarray(weight, dtype=float).ravel()
        keep = weights > 0
        self._size, self._sigma, weights = size[keep], sigma[keep], weights[keep] / np.max(weights)
        multiples = whole_multiples(weights)
        self._whole = multiples is not None
        self._weight: FloatArray = weights if multiples is None else np.asarray(multiples[1], dtype=float)
        self._equal = bool(np.all(self._weight == self._weight[0]))
        if self._equal:
            self._weight = np.ones(self._size.shape)
        self._half = float(np.sum(self._weight)) / 2.0
        self._ties = (self._whole or self._equal) and self._half == math.floor(self._half)
        self._random = self._sigma > 0
        self._all = self._size, self._sigma
        self.support = (0.0, math.inf)
        if np.any(self._random):
            self._window = self._find_window()
            self._drop_distant()
        if not np.any(self._random):
            value = _weighted_median(self._size, self._weight, self._half)
            self.support = (value, value)
        self.method = "exact" if not self._ties or self._size.size <= _EXACT_GAPS else "quadrature"

    def _drop_distant(self) -> None:
        """Leave out the labels that lie on one side of the window whatever their errors are."""
        low, high = self._window
        reach = _CERTAIN * self._sigma
        under, over = self._size + reach < low, self._size - reach > high
        near = ~(under | over)
        self._half -= float(np.sum(self._weight[under]))
        self._size, self._sigma, self._weight = self._size[near], self._sigma[near], self._weight[near]
        self._random = self._random[near]

    # how many errors lie at or below x -----------------------------------------------------------

    def _chances(self, x: float) -> FloatArray:
        """P(|delta_i + sigma_i Z_i| <= x) of each label."""
        p = (self._size <= x).astype(float)
        r = self._random
        p[r] = np.minimum(below(np.asarray(x), self._size[r], self._sigma[r]), 1.0)
        return p

    def _count(self, x: float) -> tuple[float, float, float]:
        """P(weight at or below x is less than, equal to, more than half of all)."""
        p = self._chances(x)
        if self._equal:
            count = PoissonBinomial(p)
            middle = float(count.pmf(self._half)) if self._ties else 0.0
            return float(count.below(self._half)), middle, float(count.sf(self._half))
        total = BernoulliSum(self._weight, p)
        middle = float(total.pmf(self._half)) if total.discrete else 0.0
        more = float(total.sf(self._half))
        if self._ties:
            return max(float(total.cdf(self._half)) - middle, 0.0), middle, more
        return max(float(total.cdf(self._half)) - middle, 0.0), 0.0, more + middle

    def _score(self, x: float, more: float = 0.0) -> float:
        """How many standard deviations the expected weight at or below x, and some more, lies above half."""
        p = self._chances(x)
        variance = float(np.sum(np.square(self._weight) * p * (1.0 - p)))
        excess = float(np.sum(self._weight * p)) + more - self._half
        return excess / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, excess)

    def _find_window(self) -> tuple[float, float]:
        """Between these both middle values lie, up to a probability of about 1e-17."""
        few = self._size.size <= _EXACT_GAPS
        step = 0.5 if self._ties else 0.0  # half of the weight at or below x will do, or will not

        def lower(x: float) -> float:
            """The normal quantile of P(half of the weight or more lies at or below x)."""
            if not few:
                return self._score(x, step)
            _, middle, more = self._count(x)
            return float(ndtri(more + middle))

        def upper(x: float) -> float:
            """That of P(more than half)."""
            if not few:
                return self._score(x, -step)
            less, middle, _ = self._count(x)
            return -float(ndtri(less + middle))

        top = float(np.max(self._size + 10.0 * self._sigma))
        return roughly(lower, 0.0, top, -9.5, -8.4), roughly(upper, 0.0, top, 8.4, 9.5, upper=True)

    # the two middle values -------------------------------------------------------------------------

    @cached_property
    def _gap(self) -> MiddleGap:
        return MiddleGap(self._size, self._sigma, self._weight, self._half, self._window)

    @cached_property
    def _apart(self) -> BoolArray | None:
        """Which labels lie below the gap in the middle, where they always are the same; None where labels may cross it."""
        order = np.argsort(self._size, kind="stable")
        sorted_weight = np.cumsum(self._weight[order])
        number = int(np.searchsorted(sorted_weight, self._half)) + 1
        if not self._ties or number >= order.size or sorted_weight[number - 1] != self._half:
            return None
        lower, upper = order[:number], order[number:]
        below = float(np.max(self._size[lower] + _CERTAIN * self._sigma[lower]))
        if below >= float(np.min(self._size[upper] - _CERTAIN * self._sigma[upper])):
            return None
        found = np.zeros(order.size, dtype=bool)
        found[lower] = True
        return found

    @cached_property
    def _smooth(self) -> bool:
        """Many labels, none of them exact where the median may fall: J is a smooth function."""
        low, high = self._window
        exact = self._size[~self._random]
        return self._size.size > _EXACT_GAPS and not np.any((exact > low) & (exact < high))

    def _half_gap(self, x: float) -> float:
        """J(x) for many labels."""
        if self._smooth and self._size.size <= _FEW_GAPS:
            return self._gap.mean_half_gap(x)
        rate = 2.0 * self._gap.rate(x)
        reach, _ = self._gap.reach(x)
        return self._count(x)[1] * -math.expm1(-rate * reach) / rate if rate > 0 else self._count(x)[1] * reach

    @cached_property
    def _half_gaps(self) -> Chebyshev:
        """J interpolated over the window."""
        low, high = self._window
        points = interpolation_points(low, high, _POINTS)
        return interpolant(low, high, np.array([self._half_gap(float(x)) for x in points]))

    def _upper_nearer(self, x: float, middle: float) -> float:
        """P(the two middle values lie around x and the upper one is nearer), `middle` = P(they lie around x)."""
        if self._smooth:
            low, high = self._window
            slope = float(self._half_gaps.deriv()(x)) if low < x < high else 0.0
            return 0.5 * (middle - slope)
        if self._size.size <= _FEW_GAPS:
            return self._gap.upper_nearer(x)
        reach, ends_above = self._gap.reach(x)
        none = math.exp(-2.0 * self._gap.rate(x) * reach)  # no random label nearer than the exact one
        return middle * (0.5 * (1.0 - none) + (none if ends_above else 0.0))

    # the law -----------------------------------------------------------------------------------------

    def _both(self, x: float) -> tuple[float, float]:
        """P(median <= x) and P(median > x)."""
        if not np.any(self._random):
            return (1.0, 0.0) if x >= self.support[0] else (0.0, 1.0)
        less, middle, more = self._count(x)
        if middle == 0.0 or not self._ties:
            return more, less
        nearer = min(max(self._upper_nearer(x, middle), 0.0), middle)
        return more + nearer, less + (middle - nearer)

    @cached_property
    def _table(self) -> ScoreTable | None:
        """The law of many labels over six standard deviations on either side; None where it is not smooth."""
        if self._size.size <= _DIRECT or not np.any(self._random):
            return None
        low, high = self._window
        low, high = roughly(self._score, low, high, -6.2, -5.8), roughly(self._score, low, high, 5.8, 6.2, upper=True)
        table = ScoreTable(low, high, self._both)
        return table if table.good else None

    def _tails(self, x: float) -> tuple[float, float]:
        return self._both(x) if self._table is None else self._table.tails(x)

    def _cdf(self, x: float) -> float:
        return min(self._tails(x)[0], 1.0)

    def _sf(self, x: float) -> float:
        return min(self._tails(x)[1], 1.0)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and variance: those of either middle value averaged, less the mean square of half their gap."""
        if not np.any(self._random):
            return self.support[0], 0.0
        if self._apart is not None:
            return _mean_of_two(self._size, self._sigma, self._apart)
        if self._table is not None:
            return self._table.moments()
        low, high = self._window
        width = high - low
        exact = self._size[~self._random]
        inside = exact[(exact > low) & (exact < high)]
        marks = np.unique(inside)[:: 1 + inside.size // _MOST_MARKS]

        def tails(u: FloatArray) -> FloatArray:
            over = np.empty(u.size)
            for i, x in enumerate(low + width * u):
                less, middle, _ = self._count(float(x))
                over[i] = less + 0.5 * middle
            return np.stack([over, 2.0 * u * over])

        edges = np.concatenate([[low, high], marks])
        one, two = integrate(tails, (edges - low) / width, np.array([1e-13, 1e-13]), narrowest=1e-8)
        gap = 0.0 if not self._ties else self._mean_square_gap() / (width * width)
        return low + width * one, width * width * max(two - one * one - gap, 0.0)

    def _mean_square_gap(self) -> float:
        """E (half the gap)^2 = int J dx."""
        if self._size.size <= _EXACT_GAPS:
            return self._gap.mean_square_half_gap()
        low, high = self._window
        x = np.linspace(low, high, _POINTS if self._smooth else 4 * _POINTS)  # J vanishes at both ends
        return float(np.sum([self._half_gap(float(v)) for v in x[1:-1]])) * float(x[1] - x[0])

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    def _ppf(self, q: float) -> float:
        if not np.any(self._random):
            return self.support[0]
        low, high = self._window

        def excess(x: float) -> float:
            return self._cdf(x) - q if q <= 0.5 else (1.0 - q) - self._sf(x)

        return crossing(excess, low, high)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law: labels drawn, medians taken."""
        sizes, sigmas = self._all
        if not self._equal or sizes.size > 5000:
            return super().rvs(size, rng)
        generator = np.random.default_rng(rng)
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        out = np.empty(math.prod(shape))
        for i in range(out.size):
            errors = sizes + sigmas * generator.standard_normal(sizes.size)
            out[i] = np.median(np.abs(errors))
        return float(out[0]) if size is None else out.reshape(shape)


def _mean_of_two(size: FloatArray, sigma: FloatArray, below: BoolArray) -> tuple[float, float]:
    """Mean and variance of the average of the largest error below the gap and the smallest above it."""
    largest = MaxErrorLaw(size[below], sigma[below])
    top = float(
        np.max(size[~below] + 2.0 * _CERTAIN * sigma[~below])
    )  # counted down from here the smallest is the largest
    smallest = MaxErrorLaw(top - size[~below], sigma[~below])
    return 0.5 * (largest.mean + (top - smallest.mean)), 0.25 * (largest.var + smallest.var)


def _weighted_median(values: FloatArray, weight: FloatArray, half: float) -> float:
    """Averaged inverse of the weighted distribution at one half."""
    order = np.argsort(values)
    cumulative = np.cumsum(weight[order])
    i = min(int(np.searchsorted(cumulative, half * (1.0 - 1e-15))), values.size - 1)
    lower = float(values[order[i]])
    if cumulative[i] > half * (1.0 + 1e-15) or i + 1 == values.size:
        return lower
    return 0.5 * (lower + float(values[order[i + 1]]))
