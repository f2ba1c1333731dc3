"""Distribution of a weighted mean of independent absolute errors: the MAE under normal label errors.

Which question: where does sum w_i |delta_i + sigma_i Z_i| / sum w_i fall? Its mean and variance are closed
(`numerics.special`). Its distribution function is the inverse transform of a product of moment generating functions, taken on
contours through the saddlepoints (`laws.contour`): exact for any number of labels and any spread of the sigma_i. SciPy has
nothing for it. The first probability takes 6 to 23 ms, the next one near it 0.1 ms.

The value is X = sum a_i |Z_i + z_i|. With erfcx the scaled complementary error function, one term has the moment generating
function

    M(T, z) = E exp(T|Z + z|) = exp(-z^2/2) [erfcx(-(T + z)/sqrt2) + erfcx(-(T - z)/sqrt2)] / 2     for all complex T,

and K(t) = sum log M(a_i t, z_i) - t E X. A sum over a million labels for every t would be slow. It is not needed: M has no zero
nearer than 2.5 to the real axis, so labels with small a_i make a short power series in t, whose coefficients are sums of their
cumulants. Only the labels that dominate the spread, at most some hundred, are kept one by one. `Expansion.remainder` bounds
what the series leaves out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, wofz

from scorebars.arrays import ComplexArray, FloatArray, IntArray
from scorebars.laws.contour import Contour, Inversion, InvertedLaw, contour_through, log, log1p, saddlepoint
from scorebars.numerics.special import FLAT, cumulants_from, folded_cdf, folded_pdf, folded_sf, g, standardised

_ZERO_DISTANCE = 2.5  # no zero of M(T, z) lies nearer to any real T (found numerically: 2.507 at z = 1, T = 0.96)
NORMAL_FROM = 12.0  # |Z + z| differs from Z + z with probability 2e-33
_ORDERS = (6, 8, 12, 16, 24)
_FEW = 48  # so few labels need no series at all
_CENTRAL_REACH = 3.5  # contours this far from the centre (in standard deviations) share one expansion
_RESOLVED = 1e-9  # of the mean: closer to its lower end the value is lost in rounding; its probability is a power there
_CAUTION = (1.0, 0.99, 0.6, 0.35, 0.2, 0.1, 0.0)  # how small a label must be for the series, tried in turn


def log_mgf(T: ComplexArray, z: FloatArray, gain: FloatArray) -> ComplexArray:
    """log E exp(T|Z + z|) - T E|Z + z| for complex T and 0 <= z <= 12 (broadcast), with gain = g(z)."""
    plus, minus = T + z, T - z
    half_square = 0.5 * plus * plus
    # Phi of a half plane is 1 minus Phi of the other: wofz is only asked where it is bounded.
    sign_plus, sign_minus = np.where(plus.real > 0, -1.0, 1.0), np.where(minus.real > 0, -1.0, 1.0)
    w_plus = 0.5 * sign_plus * wofz(-1j * math.sqrt(0.5) * sign_plus * plus)
    w_minus = 0.5 * sign_minus * wofz(-1j * math.sqrt(0.5) * sign_minus * minus)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        normal_like = (plus.real > 0) & (half_square.real > 0)
        # |Z + z| = Z + z up to a small part: log M = Tz + T^2/2 + log(1 + small), the large terms taken out exactly.
        decay = np.exp(np.where(normal_like, -half_square, 0.0))
        mirror = np.where(minus.real > 0, np.exp(np.where(normal_like, -2.0 * T * z, 0.5 * minus * minus)), 0.0)
        near = T * (0.5 * T - gain) + log1p(mirror + decay * (w_plus + w_minus))
        # Elsewhere nothing is large and the sum is taken as it stands.
        step = np.where(plus.real > 0, np.exp(np.where(normal_like, 0.0, half_square)), 0.0)
        far = log(step + mirror + w_plus + w_minus) - 0.5 * z * z - T * (z + gain)
    return np.asarray(np.where(normal_like, near, far))


def folded_cumulants(z: FloatArray, gain: FloatArray, order: int) -> FloatArray:
    """Cumulants of |Z + z| for 0 <= z <= 12 and gain = g(z): rows 1 to `order` (row 0 is zero).

    The part of Z + z above 0 and the mirrored part below are normals cut at 0. With m their centre, c the mean of both
    and p(0) their density at 0, their moments about c obey A_r = (m - c) A_{r-1} + (r - 1) A_{r-2} + (-c)^{r-1} p(0).
    """
    mean, below = z + gain, ndtr(-z)
    first = (0.5 * gain + z * below) - gain * (1.0 - below)  # of the part with Z + z > 0, about the mean
    moments = np.zeros((order + 1, *mean.shape))
    for centre, before, now in ((z, 1.0 - below, first), (-z, below, -first)):
        power, offset = math.sqrt(0.5 / math.pi) * np.exp(-0.5 * z * z), centre - mean
        for r in range(2, order + 1):
            power = power * -mean
            before, now = now, offset * now + (r - 1) * before + power
            moments[r] += now
    moments[1] = mean
    return cumulants_from(moments)


@dataclass(frozen=True)
class Expansion:
    """K(t): a power series for the many small labels, the big ones as they are."""

    series: FloatArray  # coefficients of t^r, constant first
    tail: float  # sum of (a_i / 2.5)^(order + 1) over the labels in the series
    a: FloatArray
    z: FloatArray
    gain: FloatArray  # g(z)
    count: FloatArray  # how many labels each stands for

    def __call__(self, t: ComplexArray) -> ComplexArray:
        """K at complex t."""
        out = np.full(t.shape, self.series[-1], dtype=np.complex128)
        for coefficient in self.series[-2::-1].tolist():
            out *= t
            out += coefficient
        return out + log_mgf(t[:, None] * self.a, self.z, self.gain) @ self.count if self.a.size else out

    def remainder(self, t: ComplexArray) -> FloatArray:
        """Bound on what the series leaves out of K at t."""
        order = self.series.size
        with np.errstate(under="ignore", over="ignore"):
            return np.asarray(2.0 / order * self.tail * np.abs(t) ** order) if self.tail else np.zeros(t.shape)


class FoldedCgf:
    """K(t) of sum count_i a_i (|Z_i + z_i| - mean), a_i > 0, z_i >= 0, in units where the variance of the sum is 1.

    Point i stands for count_i labels; counts may be fractional or negative, as binning makes them. Points share their
    z = z[node_i], so that functions of z alone are found once for each; gain = g(z).
    """

    def __init__(self, a: FloatArray, z: FloatArray, gain: FloatArray, node: IntArray, count: FloatArray) -> None:
        near = np.minimum(z, NORMAL_FROM)
        share = np.where(z > NORMAL_FROM, 1.0, 1.0 - gain * (2.0 * near + gain))[node]
        a = a / math.sqrt(float(np.sum(count * a * a * share)))
        normal = (z > NORMAL_FROM)[node]
        self.normal_variance = float(np.sum((count * a * a)[normal]))
        self.a, self.count, self._node = a[~normal], count[~normal], node[~normal]
        self._z, self._gain = near, gain
        self._expansions: dict[tuple[float, float], Expansion] = {}

    def expand(self, reach: float, caution: float = 1.0) -> Expansion:
        """Good to the distance `reach` from 0 on the real axis, where the series is not refused.

        With `caution` below 1 the series is as long as it gets, and a smaller one keeps more labels out of it.
        """
        normal = 0.5 * self.normal_variance * np.array([0.0, 0.0, 1.0])
        if self.a.size <= _FEW or caution == 0.0:
            return Expansion(normal, 0.0, *self._labels(slice(None)))
        total = float(np.sum(self.count * np.square(self.a)))
        for order in _ORDERS if caution == 1.0 else _ORDERS[-1:]:
            big = self.a > caution * self._largest_small(order, reach, total)
            if np.count_nonzero(big) <= _FEW:
                break
        a, node, count = self.a[~big], self._node[~big], self.count[~big]
        series, cumulants, power = np.zeros(order + 1), folded_cumulants(self._z, self._gain, order), a * count
        with np.errstate(under="ignore"):
            for r in range(2, order + 1):
                power *= a
                series[r] = np.bincount(node, power, self._z.size) @ cumulants[r]
            series /= np.cumprod([1.0, *range(1, order + 1)])
            tail = float(np.sum(np.abs(power) * a)) / _ZERO_DISTANCE ** (order + 1)
        series[:3] += normal
        return Expansion(series, tail, *self._labels(big))

    def _expansion(self, t: float, caution: float = 1.0) -> Expansion:
        """The expansion that serves t: one for all |t| up to 3.5, one up to 7, 14, ..."""
        reach = _CENTRAL_REACH * 2.0 ** max(math.ceil(math.log2(max(abs(t), 1.0) / _CENTRAL_REACH)), 0)
        if (reach, caution) not in self._expansions:
            self._expansions[reach, caution] = self.expand(reach, caution)
        return self._expansions[reach, caution]

    def contour(self, x: float, guess: float = 0.0) -> Contour:
        """The contour for x standard deviations from the mean, with the shortest series that is good enough."""

        def real(t: FloatArray) -> FloatArray:
            return np.asarray((self._expansion(float(t[1]))(t.astype(complex)) - t * x).real)

        t0, width = saddlepoint(real, 1.0, guess)
        for caution in _CAUTION:
            expansion = self._expansion(t0, caution)
            path = contour_through(lambda t, k=expansion: k(t) - t * x, t0, width, 1.0, "right")  # type: ignore[misc]
            with np.errstate(under="ignore", over="ignore"):
                size = np.abs(path.weight / path.t)
                error = float(np.sum(size * np.minimum(expansion.remainder(path.t), 1.0)))
            if error <= 1e-13 * float(np.sum(size)):
                break
        return path

    def _labels(self, some: Any) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """a, z, gain and count of some points."""
        node = self._node[some]
        return self.a[some], self._z[node], self._gain[node], self.count[some]

    @staticmethod
    def _largest_small(order: int, reach: float, spread: float) -> float:
        """Largest a_i (in units of the standard deviation) that a series of this order serves to 1e-14.

        Where the integrand exp(K) falls as exp(-0.4 y^2), y^(order + 1) exp(-0.4 y^2) is largest at `height`.
        """
        height = math.sqrt((order + 1) / 0.8)
        distance = math.hypot(reach + 0.5 * (math.hypot(height, 3.0) - 3.0), height) / _ZERO_DISTANCE
        log_room = math.log(1e-14 * (order + 1) / (2.0 * spread)) + 0.5 * (order + 1) - (order + 1) * math.log(distance)
        return math.exp(log_room / (order - 1))


Points = tuple[FloatArray, FloatArray, IntArray, FloatArray]  # z, g(z), each label's place in z, and its count


class FoldedNormalMean(InvertedLaw):
    """Distribution of sum w_i |delta_i + sigma_i Z_i| / sum w_i with independent standard normal Z_i.

    Labels with sigma = 0 are constants. Exact in the sense of double precision: distribution function within
    1e-12, both tails with relative accuracy.

    >>> law = FoldedNormalMean([0.5, -1.0], [0.2, 0.1])
    >>> round(law.mean, 6), round(law.std, 6)
    (0.750401, 0.110903)
    """

    method = "exact"

    def __init__(self, delta: Any, sigma: Any, weight: Any = None) -> None:
        delta = np.atleast_1d(np.asarray(delta, dtype=float)).ravel()
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), delta.shape)
        relative = np.ones(delta.size) if weight is None else np.asarray(weight, dtype=float) / np.max(weight)
        share = relative / np.sum(relative)
        uncertain = share * sigma > 0
        shift = float(np.sum(np.where(uncertain, 0.0, share * np.abs(delta))))
        size, a = np.abs(delta[uncertain]), (share * sigma)[uncertain]
        z = standardised(size, sigma[uncertain])
        gain = g(z)
        lost = gain * (2.0 * np.minimum(z, FLAT) + gain)
        unit = float(np.max(a, initial=0.0)) or 1.0  # squares are taken in this unit, so they cannot overflow
        mean = float(np.sum(share[uncertain] * size + a * gain)) + shift
        std = unit * math.sqrt(float(np.sum(np.square(a / unit) * (1.0 - lost))))
        self._set(a, (z, gain, np.arange(a.size), np.ones(a.size)), (shift, mean, std))

    @classmethod
    def of_points(
        cls, a: FloatArray, z: FloatArray, node: IntArray, count: FloatArray, known: tuple[float, float, float]
    ) -> FoldedNormalMean:
        """Distribution of shift + sum a |Z + z[node]| over points that stand for `count` labels each.

        Binned labels are such points. `known`: shift, mean and standard deviation, which sums over all labels gave.
        """
        law = cls(0.0, 0.0)
        law._set(a, (z, g(z), node, count), known)
        return law

    def _set(self, a: FloatArray, points: Points, known: tuple[float, float, float]) -> None:
        self._a, self._points = a, points
        self._shift, self._centre, self._scale = known
        self.support = (self._shift, math.inf if a.size else self._shift)

    def _mean(self) -> float:
        return self._centre

    def _var(self) -> float:
        return self._scale * self._scale

    def _std(self) -> float:
        return self._scale

    @cached_property
    def _contours(self) -> Inversion:
        """Contours of the value scaled to mean 0 and variance 1, made when a probability is first asked for."""
        cgf = FoldedCgf(self._a / self._scale, *self._points)
        return Inversion(cgf.contour, 0.0, 1.0, (self._shift - self._centre) / self._scale)

    def _probabilities(self, x: float) -> tuple[float, float, float]:
        """P(value <= x), P(value > x) and density."""
        if self._a.size == 0:
            return 1.0, 0.0, math.inf
        if self._a.size == 1:
            label = np.asarray(x - self._shift), self._a[0] * self._points[0][0], self._a[0]
            return float(folded_cdf(*label)), float(folded_sf(*label)), float(folded_pdf(*label))
        if x <= self._shift:
            return 0.0, 1.0, 0.0
        under, over, density = self._contours.probabilities((x - self._centre) / self._scale)
        return under, over, density / self._scale

    def _ppf(self, q: float) -> float:
        if self._a.size <= 1:
            return super()._ppf(q)
        lowest = _RESOLVED * (self._centre - self._shift)
        if q < _RESOLVED and q < (known := self._probabilities(self._shift + lowest)[0]):
            return self._shift + lowest * (q / known) ** (1.0 / self._a.size)
        return max(self._centre + self._scale * self._contours.ppf(q), self._shift)
