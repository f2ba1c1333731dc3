"""Cumulant generating function of a sum of independent folded normals, X = sum a_i |Z_i + z_i|.

With erfcx the scaled complementary error function, the moment generating function of one term is

    M(T, z) = E exp(T|Z + z|) = exp(-z^2/2) [erfcx(-(T + z)/sqrt2) + erfcx(-(T - z)/sqrt2)] / 2     for all complex T,

and K(t) = sum log M(a_i t, z_i) - t E X. A sum over a million labels for every t would be slow, and it is
not needed: M has no zero nearer than 2.5 to the real axis, so around a real t0 the labels with small a_i
are a short power series in t - t0 whose coefficients are the sums of their (tilted) cumulants. Only the few
labels that dominate the spread, at most some hundred however many there are, are kept one by one. The part
left out is bounded, and `Expansion.remainder` tells it, so that the user of the series can refuse it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, wofz

from scorebars.laws.complex_log import log, log1p
from scorebars.special import FloatArray, exp_minus_half_square, g, scaled_g, scaled_g2

ComplexArray = NDArray[np.complex128]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

ZERO_DISTANCE = 2.5  # no zero of M(T, z) lies nearer to any real T (found numerically: 2.507 at z = 1, T = 0.96)
NORMAL_FROM = 12.0  # |Z + z| differs from Z + z with probability 2e-33
SERIES_TILT = 4.0  # beyond |T| = 4 the recursion for high cumulants loses its digits
ORDERS = (6, 8, 12, 16, 24)
FEW = 48  # so few labels need no series at all
_BLOCK = 8192


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


def _whole_power(x: FloatArray, power: int) -> FloatArray:
    """x^power by squares (NumPy's own power takes ten times as long)."""
    out, x = np.ones_like(x), x.copy()
    while power:
        if power % 2:
            out *= x
        x *= x
        power //= 2
    return out


def folded_cumulants(z: FloatArray, gain: FloatArray, order: int) -> FloatArray:
    """Cumulants of |Z + z| for 0 <= z <= 12 and gain = g(z): rows 1 to `order` (row 0 is zero)."""
    mean, below = z + gain, ndtr(-z)
    first = (0.5 * gain + z * below) - gain * (1.0 - below)  # of the part with Z + z > 0, about the mean
    density = math.sqrt(0.5 / math.pi) * exp_minus_half_square(z)
    moments = _central_moments(((z, 1.0 - below, first), (-z, below, -first)), mean, density, order)
    cumulants = _from_central_moments(moments)
    cumulants[1] = mean
    return cumulants


def tilted_cumulants(T: FloatArray, z: FloatArray, order: int) -> FloatArray:
    """Derivatives of log E exp(T|Z + z|) at real T: rows 1 to `order` (row 0 is zero).

    Tilted by exp(T x) the folded normal is a mixture of N(T + z, 1) and N(T - z, 1), both cut at 0.
    """
    plus, minus = T + z, T - z
    scale = np.where(plus > 0, 0.5 * plus * plus, 0.0)
    (mass, first, second), (mass2, first2, second2) = _cut_normal(plus, scale), _cut_normal(minus, scale)
    total = mass + mass2
    mean = (first + first2) / total
    with np.errstate(under="ignore"):
        density = math.sqrt(2.0 / math.pi) * np.exp(-scale) / total
    parts = tuple(
        (centre, m / total, (f - mean * m) / total) for centre, m, f in ((plus, mass, first), (minus, mass2, first2))
    )
    moments = _central_moments(parts, mean, density, order)
    # Cut far out in its tail, the normal is an exponential and the recursion cancels: take the second moment itself.
    moments[2] = np.where(plus > 2, moments[2], (second + second2) / total - mean * mean)
    cumulants = _from_central_moments(moments)
    cumulants[1] = mean
    return cumulants


def _central_moments(
    parts: tuple[tuple[FloatArray, FloatArray, FloatArray], ...], mean: FloatArray, density: FloatArray, order: int
) -> FloatArray:
    """Moments about c = `mean` of a mixture of unit normals cut at 0, given as (centre m, mass, first moment about c).

    Each part obeys A_r = (m - c) A_{r-1} + (r - 1) A_{r-2} + (-c)^{r-1} p(0), with p(0) its density at 0.
    """
    moments = np.zeros((order + 1, *mean.shape))
    for centre, before, now in parts:
        power, offset = density, centre - mean
        for r in range(2, order + 1):
            power = power * -mean
            before, now = now, offset * now + (r - 1) * before + power
            moments[r] += now
    return moments


def _from_central_moments(moments: FloatArray) -> FloatArray:
    cumulants = moments.copy()
    for r in range(4, moments.shape[0]):
        for m in range(2, r - 1):
            cumulants[r] -= math.comb(r - 1, m - 1) * cumulants[m] * moments[r - m]
    return cumulants


def _cut_normal(centre: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """2 exp(centre^2/2 - scale) times mass, first and second moment of N(centre, 1) above 0, without overflow."""
    size = np.abs(centre)
    above = centre > 0
    density = exp_minus_half_square(np.minimum(size, 40.0))
    gain, gain2 = scaled_g(size), scaled_g2(size)
    with np.errstate(under="ignore"):
        factor = np.exp(np.where(above, 0.5 * size * size, 0.0) - scale)
    mass = np.where(above, 2.0 * ndtr(size), erfcx(math.sqrt(0.5) * size)) * factor
    first = np.where(above, 2.0 * size + density * gain, gain) * factor
    second = 2.0 * np.where(above, 1.0 + size * size - density * gain2, gain2) * factor
    return mass, first, second


@dataclass(frozen=True)
class Expansion:
    """K(t) around the real point t0: a power series for the many small labels, the big ones as they are."""

    t0: float
    series: FloatArray  # coefficients of (t - t0)^r, constant first
    tail: float  # sum of (a_i / 2.5)^(order + 1) over the labels in the series
    a: FloatArray
    z: FloatArray
    gain: FloatArray  # g(z)
    count: FloatArray | None = None  # how many labels each stands for; None: one

    def _sum(self, terms: NDArray[Any]) -> Any:
        """Over the big labels, along the last axis."""
        return terms.sum(axis=-1) if self.count is None else (terms * self.count).sum(axis=-1)

    def __call__(self, t: ComplexArray) -> ComplexArray:
        """K at complex t near t0."""
        tau = t - self.t0
        out = np.full(t.shape, self.series[-1], dtype=complex)
        for c in self.series[-2::-1]:
            out = out * tau + c
        if self.a.size:
            out = out + self._sum(log_mgf(t[:, None] * self.a, self.z, self.gain))
        return out

    def derivatives(self, t: float) -> tuple[float, float, float]:
        """K, K' and K'' at real t near t0."""
        tau = t - self.t0
        value = slope = curvature = 0.0
        for c in self.series[::-1].tolist():  # Horner's rule for a polynomial and its first two derivatives
            curvature = curvature * tau + 2.0 * slope
            slope = slope * tau + value
            value = value * tau + c
        if self.a.size:
            value += float(self._sum(log_mgf(np.asarray(t * self.a, dtype=complex), self.z, self.gain).real))
            tilted = tilted_cumulants(t * self.a, self.z, 2)
            slope += float(self._sum(self.a * (tilted[1] - self.z - self.gain)))
            curvature += float(self._sum(self.a * self.a * tilted[2]))
        return value, slope, curvature

    def remainder(self, t: ComplexArray) -> FloatArray:
        """Bound on what the series leaves out of K at t."""
        if self.tail == 0.0:
            return np.zeros(t.shape)
        order = self.series.size - 1
        with np.errstate(under="ignore", over="ignore"):
            return np.asarray(2.0 / (order + 1) * self.tail * np.abs(t - self.t0) ** (order + 1))


class FoldedCgf:
    """K(t) of sum a_i (|Z_i + z_i| - mean), a_i > 0, z_i >= 0, in units where the variance of the sum is 1.

    With `count` each i stands for so many labels; counts may be fractional or negative, as binning makes them. Labels in
    bins share their z, as z[node] then: functions of z alone are found once for each.
    """

    def __init__(
        self, a: FloatArray, z: FloatArray, node: IntArray | None = None, count: FloatArray | None = None
    ) -> None:
        normal = z > NORMAL_FROM if node is None else (z > NORMAL_FROM)[node]
        square = np.square(a[normal])
        self.normal_variance = float(np.sum(square if count is None else count[normal] * square))
        self.a, self.count = a[~normal], None if count is None else count[~normal]
        self._node = None if node is None else node[~normal]
        self._z = z[~normal] if node is None else z
        self._gain = g(self._z)

    def _picked(self, some: BoolArray | slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        """a, z and gain of some labels."""
        where = some if self._node is None else self._node[some]
        return self.a[some], self._z[where], self._gain[where]

    def with_unit_variance(self) -> FoldedCgf:
        """The same law in units of its own standard deviation."""
        square = np.square(self.a)
        if self.count is not None:
            square *= self.count
        if self._node is not None:
            square = np.bincount(self._node, weights=square, minlength=self._z.size)
        variance = self.normal_variance + float(np.sum(square * (1.0 - self._gain * (2.0 * self._z + self._gain))))
        twin = copy.copy(self)
        twin.a, twin.normal_variance = self.a / math.sqrt(variance), self.normal_variance / variance
        return twin

    def expand(self, t0: float, curvature: float, reach: float = 0.0, caution: float = 1.0) -> Expansion:
        """Expansion around t0, good to distance `reach` from it on the real axis (in units of 1/sqrt(curvature)).

        `curvature` is about K''(t0). With `caution` below 1 the series is as long as it gets, and a smaller one keeps
        more labels out of it.
        """
        normal = 0.5 * self.normal_variance * np.array([t0 * t0, 2.0 * t0, 1.0])
        if self.a.size <= FEW:
            return Expansion(t0, normal, 0.0, *self._picked(slice(None)), self.count)
        relative = self.a * math.sqrt(1.0 / curvature)
        square = np.square(relative)
        if self.count is not None:
            square *= self.count
        spread = float(np.sum(square))
        for order in ORDERS if caution == 1.0 else ORDERS[-1:]:
            big = relative > caution * self._largest_small(order, reach, spread)
            if t0 != 0.0:
                big |= self.a * abs(t0) > SERIES_TILT
            if np.count_nonzero(big) <= FEW:
                break
        small = ~big if big.any() else slice(None)
        series = self._central_series(order, small) if t0 == 0.0 else self._series(t0, order, small)
        series[:3] += normal
        with np.errstate(under="ignore"):
            size = _whole_power(self.a[small] / ZERO_DISTANCE, order + 1)
            if self.count is not None:
                size *= self.count[small]
        tail = float(np.sum(np.abs(size, out=size)))
        many = None if self.count is None else self.count[big]
        return Expansion(t0, series, tail, *self._picked(big), many)

    def _central_series(self, order: int, small: BoolArray | slice) -> FloatArray:
        """Coefficients of K around 0 of some labels."""
        series = np.zeros(order + 1)
        blocks: Iterable[tuple[FloatArray, FloatArray, FloatArray, IntArray | None]]
        if self._node is None:
            blocks = ((*block, None) for block in self._blocks(small))
        else:
            blocks = [(self.a[small], self._z, self._gain, self._node[small])]
        for a, z, gain, node in blocks:
            cumulants = folded_cumulants(z, gain, order)
            power = a.copy() if self.count is None else a * self.count[small]
            with np.errstate(under="ignore"):
                for r in range(2, order + 1):
                    power *= a
                    at_z = power if node is None else np.bincount(node, weights=power, minlength=z.size)
                    series[r] += float(np.sum(at_z * cumulants[r])) / math.factorial(r)
        return series

    def _series(self, t0: float, order: int, small: BoolArray | slice) -> FloatArray:
        """Coefficients of K around t0 of some labels."""
        series = np.zeros(order + 1)
        number = None if self.count is None else self.count[small]
        for start, (a, z, gain) in enumerate(self._blocks(small)):
            cumulants = tilted_cumulants(t0 * a, z, order)
            cumulants[0] = log_mgf(np.asarray(t0 * a, dtype=complex), z, gain).real
            cumulants[1] -= z + gain
            power = np.ones(a.shape) if number is None else number[start * _BLOCK : (start + 1) * _BLOCK].copy()
            with np.errstate(under="ignore"):
                for r in range(order + 1):
                    series[r] += float(np.sum(power * cumulants[r])) / math.factorial(r)
                    power *= a
        return series

    def _blocks(self, small: BoolArray | slice) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """a, z and gain of some labels, so many at a time that their cumulants stay in the cache."""
        a, z, gain = self._picked(small)
        for start in range(0, a.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            yield a[part], z[part], gain[part]

    @staticmethod
    def _largest_small(order: int, reach: float, spread: float) -> float:
        """Largest a_i (in units of the standard deviation) that a series of this order serves to 1e-14.

        Where the integrand exp(K) falls as exp(-0.4 y^2), y^(order + 1) exp(-0.4 y^2) is largest at `height`.
        """
        height = math.sqrt((order + 1) / 0.8)
        distance = math.hypot(reach + 0.5 * (math.hypot(height, 3.0) - 3.0), height) / ZERO_DISTANCE
        log_room = math.log(1e-14 * (order + 1) / (2.0 * spread)) + 0.5 * (order + 1) - (order + 1) * math.log(distance)
        return math.exp(log_room / (order - 1))
