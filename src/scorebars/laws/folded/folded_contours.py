"""Probabilities of a sum of independent folded normals, X = sum a_i |Z_i + z_i|, from its generating function.

With erfcx the scaled complementary error function, the moment generating function of one term is

    M(T, z) = E exp(T|Z + z|) = exp(-z^2/2) [erfcx(-(T + z)/sqrt2) + erfcx(-(T - z)/sqrt2)] / 2     for all complex T,

and K(t) = sum log M(a_i t, z_i) - t E X. A sum over a million labels for every t would be slow, and it is
not needed: M has no zero nearer than 2.5 to the real axis, so around a real t0 the labels with small a_i
are a short power series in t - t0 whose coefficients are the sums of their (tilted) cumulants. Only the few
labels that dominate the spread, at most some hundred, are kept one by one. `Expansion.remainder` bounds what the
series leaves out, so that its user can refuse it.

In units where X - E X has variance 1,

    P(X > x)  = (1/pi) Im int_0^inf exp(K(t) - t x) t'(y)/t dy     on a contour t(y) crossing the real axis at t0 > 0,
    P(X <= x) = minus the same for t0 < 0,    density = (1/pi) Im int_0^inf exp(K(t) - t x) t'(y) dy.

Any t0 is right, but near the saddlepoint K'(t0) = x nothing cancels. The contour does not depend on x. So K is
computed once on each of several contours, t0 one local standard deviation apart, and every x uses the nearest: a
probability then costs a sum over some hundred stored nodes (0.1 ms). The contours bend to the right,
t = t0 + iy + (sqrt(y^2 + c^2) - c)/2, because the K of few labels, whose distribution begins with a step, falls only
logarithmically along the imaginary direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.special import erfcx, log_ndtr, ndtr, wofz

from scorebars.arrays import ComplexArray, FloatArray, IntArray
from scorebars.laws.complex_log import log, log1p
from scorebars.numerics.special import exp_minus_half_square, scaled_g, scaled_g2

_ZERO_DISTANCE = 2.5  # no zero of M(T, z) lies nearer to any real T (found numerically: 2.507 at z = 1, T = 0.96)
NORMAL_FROM = 12.0  # |Z + z| differs from Z + z with probability 2e-33
_SERIES_TILT = 4.0  # beyond |T| = 4 the recursion for high cumulants loses its digits
_ORDERS = (6, 8, 12, 16, 24)
_FEW = 48  # so few labels need no series at all
_BEND, _KNEE = 0.5, 3.0
_STEP = 1.0 / 6.0  # of a local standard deviation: the trapezoid error is exp(-12 pi) at the pole t = 0
_CENTRAL_REACH = 3.5  # contours this far from the centre (in standard deviations) share one expansion
_EMPTY = -760.0  # exp of this is zero
_MOST_NODES = 200_000
_NEWTON_STEPS = 300
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
    """Cumulants of |Z + z| for 0 <= z <= 12 and gain = g(z): rows 1 to `order` (row 0 is zero)."""
    mean, below = z + gain, ndtr(-z)
    first = (0.5 * gain + z * below) - gain * (1.0 - below)  # of the part with Z + z > 0, about the mean
    density = math.sqrt(0.5 / math.pi) * np.exp(-0.5 * z * z)
    moments = _central_moments(((z, 1.0 - below, first), (-z, below, -first)), mean, density, order)
    return _from_central_moments(moments, mean)


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
    return _from_central_moments(moments, mean)


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


def _from_central_moments(moments: FloatArray, mean: FloatArray) -> FloatArray:
    cumulants = moments.copy()
    cumulants[1] = mean
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
    count: FloatArray  # how many labels each stands for

    def __call__(self, t: ComplexArray) -> ComplexArray:
        """K at complex t near t0."""
        out = np.asarray(polyval(t - self.t0, self.series), dtype=np.complex128)
        return out + log_mgf(t[:, None] * self.a, self.z, self.gain) @ self.count if self.a.size else out

    def derivatives(self, t: float) -> tuple[float, float, float]:
        """K, K' and K'' at real t near t0."""
        value = slope = curvature = 0.0
        for c in self.series[::-1].tolist():  # Horner's rule for three sums at once
            curvature = curvature * (t - self.t0) + 2.0 * slope
            slope = slope * (t - self.t0) + value
            value = value * (t - self.t0) + c
        if not self.a.size:
            return value, slope, curvature
        big = _tilted(t, self.a, self.z, self.gain, 2) @ self.count
        return value + float(big[0]), slope + float(big[1]), curvature + float(big[2])

    def remainder(self, t: ComplexArray) -> FloatArray:
        """Bound on what the series leaves out of K at t."""
        order = self.series.size
        with np.errstate(under="ignore", over="ignore"):
            return (
                np.asarray(2.0 / order * self.tail * np.abs(t - self.t0) ** order) if self.tail else np.zeros(t.shape)
            )


def _tilted(t: float, a: FloatArray, z: FloatArray, gain: FloatArray, order: int) -> FloatArray:
    """Derivatives of each label's K at real t, rows 0 to `order`."""
    rows = tilted_cumulants(t * a, z, order)
    rows[0] = log_mgf(np.asarray(t * a, dtype=complex), z, gain).real
    rows[1] -= z + gain
    with np.errstate(under="ignore"):
        return np.asarray(rows * np.vander(a, order + 1, increasing=True).T)


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

    def expand(self, t0: float, spread: float, reach: float = 0.0, caution: float = 1.0) -> Expansion:
        """Expansion around t0, good to distance `reach` from it on the real axis (in units of 1/spread).

        `spread` is about sqrt(K''(t0)). With `caution` below 1 the series is as long as it gets, and a smaller
        one keeps more labels out of it.
        """
        normal = 0.5 * self.normal_variance * np.array([t0 * t0, 2.0 * t0, 1.0])
        if self.a.size <= _FEW:
            return Expansion(t0, normal, 0.0, self.a, self._z[self._node], self._gain[self._node], self.count)
        relative = self.a / spread
        total = float(np.sum(self.count * np.square(relative)))
        for order in _ORDERS if caution == 1.0 else _ORDERS[-1:]:
            big = relative > caution * self._largest_small(order, reach, total)
            if t0 != 0.0:
                big |= self.a * abs(t0) > _SERIES_TILT
            if np.count_nonzero(big) <= _FEW:
                break
        a, node, count = self.a[~big], self._node[~big], self.count[~big]
        series = np.zeros(order + 1)
        with np.errstate(under="ignore"):
            if t0 == 0.0:  # cumulants are needed once for each z
                cumulants, power = folded_cumulants(self._z, self._gain, order), a * count
                for r in range(2, order + 1):
                    power *= a
                    series[r] = np.bincount(node, power, self._z.size) @ cumulants[r]
            else:
                power = count * a**order
                series = _tilted(t0, a, self._z[node], self._gain[node], order) @ count
            series /= np.cumprod([1.0, *range(1, order + 1)])
            tail = float(np.sum(np.abs(power) * a)) / _ZERO_DISTANCE ** (order + 1)
        series[:3] += normal
        big_node = self._node[big]
        return Expansion(t0, series, tail, self.a[big], self._z[big_node], self._gain[big_node], self.count[big])

    @staticmethod
    def _largest_small(order: int, reach: float, spread: float) -> float:
        """Largest a_i (in units of the standard deviation) that a series of this order serves to 1e-14.

        Where the integrand exp(K) falls as exp(-0.4 y^2), y^(order + 1) exp(-0.4 y^2) is largest at `height`.
        """
        height = math.sqrt((order + 1) / 0.8)
        distance = math.hypot(reach + 0.5 * (math.hypot(height, 3.0) - 3.0), height) / _ZERO_DISTANCE
        log_room = math.log(1e-14 * (order + 1) / (2.0 * spread)) + 0.5 * (order + 1) - (order + 1) * math.log(distance)
        return math.exp(log_room / (order - 1))


@dataclass(frozen=True)
class Saddle:
    """Where one contour crosses the real axis; it serves all x near x0 = K'(t0)."""

    t0: float
    x0: float
    log_height: float  # K(t0) - t0 x0
    spread: float  # sqrt(K''(t0)): how far x may be from x0

    @property
    def log_tail(self) -> float:
        """Logarithm of about the tail beyond x0, by the approximation of Barndorff-Nielsen."""
        w, u = math.sqrt(-2.0 * self.log_height), abs(self.t0) * self.spread
        return float(log_ndtr(-w - math.log(u / w) / w))


class SaddleContours:
    """Probabilities, densities and quantiles of the value with the given generating function (mean 0, variance 1)."""

    def __init__(self, cgf: FoldedCgf) -> None:
        self._cgf = cgf
        self._centre = cgf.expand(0.0, 1.0, reach=_CENTRAL_REACH)
        self._saddles: dict[int, list[Saddle]] = {1: [], -1: []}
        self._nodes: dict[float, tuple[ComplexArray, ComplexArray, float]] = {}

    def probabilities(self, x: float) -> tuple[float, float, float]:
        """P(X <= x), P(X > x) and the density. The tail on x's own side of the mean has relative accuracy."""
        side = 1 if x >= 0 else -1
        saddle = self._nearest(x, side)
        if saddle is None:
            return (1.0, 0.0, 0.0) if x >= 0 else (0.0, 1.0, 0.0)
        t, log_weight, step = self._contour(saddle)
        with np.errstate(under="ignore"):
            terms = np.exp(log_weight - t * x)
        tail = min(max(side * step / math.pi * float(np.sum((terms / t).imag)), 0.0), 1.0)
        density = max(step / math.pi * float(np.sum(terms.imag)), 0.0)
        return (1.0 - tail, tail, density) if x >= 0 else (tail, 1.0 - tail, density)

    def ppf(self, q: float, lowest: float) -> float:
        """x > lowest with P(X <= x) = q: Newton's method on the logarithm of the smaller tail, nearly a line far out.

        Here and not by the general root finder: the density comes with the tail, so Newton's method needs no more calls.
        """
        side, p = (1, q) if q < 0.5 else (-1, 1.0 - q)
        x, low, high = max(self._rough_quantile(p, -side), lowest), lowest, math.inf
        for _ in range(_NEWTON_STEPS):
            under, over, density = self.probabilities(x)
            tail = under if side > 0 else over
            miss = side * math.log(tail / p) if tail > 0 else -side * math.inf
            low, high = (x, high) if miss < 0 else (low, x)
            new = x - miss * tail / density if density > 0 < tail else math.nan
            if abs(miss) < 1e-9 and new > lowest:  # the next error is the square of this one
                return new
            if not low < new < high:
                new = 0.5 * (low + high) if math.isfinite(high) else x + 1.0
            if not low < new < high:
                break
            x = new
        return x

    def _rough_quantile(self, p: float, side: int) -> float:
        """About where the tail on this side holds p, by the saddlepoint approximation, which needs no contour."""
        inner, above, k = 0.0, math.log(0.5 / p), 0
        while (saddle := self._saddle(k, side)) is not None:
            excess = saddle.log_tail - math.log(p)
            if excess < 0:
                return inner + above / (above - excess) * (saddle.x0 - inner)
            inner, above, k = saddle.x0, excess, k + 1
        return inner

    def _nearest(self, x: float, side: int) -> Saddle | None:
        """Of the two saddlepoints around x the nearer one; None where the tail is zero to double precision."""
        inner, k = None, 0
        while (outer := self._saddle(k, side)) is not None:
            if side * (outer.x0 - x) >= 0:
                if inner is None or abs(x - outer.x0) * inner.spread < abs(x - inner.x0) * outer.spread:
                    return outer
                return inner
            inner, k = outer, k + 1
        return inner if inner is not None and abs(x - inner.x0) <= inner.spread else None

    def _saddle(self, k: int, side: int) -> Saddle | None:
        """The k-th on this side of the mean; None beyond the last that matters."""
        saddles = self._saddles[side]
        while len(saddles) <= k:
            if saddles and saddles[-1].log_height < _EMPTY:
                return None
            if len(saddles) > 1 and saddles[-1].x0 == saddles[-2].x0:  # the lower end of the support, to rounding
                return None
            spread, last = (saddles[-1].spread, saddles[-1].t0) if saddles else (1.0, 0.0)
            t0 = last + side / spread
            value, slope, second = self._expansion(t0, spread).derivatives(t0)
            saddles.append(Saddle(t0, slope, value - t0 * slope, math.sqrt(second)))
        return saddles[k]

    def _expansion(self, t0: float, spread: float, caution: float = 1.0) -> Expansion:
        if caution == 1.0 and abs(t0) <= _CENTRAL_REACH:
            return self._centre
        return self._cgf.expand(t0, spread, caution=caution)

    def _contour(self, saddle: Saddle) -> tuple[ComplexArray, ComplexArray, float]:
        """Nodes t, log of exp(K(t)) t'(y), and the step; kept for the next x."""
        for caution in _CAUTION:
            if saddle.t0 in self._nodes:
                break
            found = self._integrand(saddle, self._expansion(saddle.t0, saddle.spread, caution))
            if found is not None:
                self._nodes[saddle.t0] = found
        return self._nodes[saddle.t0]

    def _integrand(self, saddle: Saddle, expansion: Expansion) -> tuple[ComplexArray, ComplexArray, float] | None:
        """Nodes up to where the integrand is negligible; None if the expansion is not good enough on the way."""
        unit = 1.0 / saddle.spread
        step = _STEP * min(unit, abs(saddle.t0))
        knee = _KNEE * unit
        # of the x that use this contour the one whose integrand falls most slowly
        low_x = 0.0 if saddle is self._saddle(0, 1) else saddle.x0 - 0.6 * saddle.spread
        nodes, logs = [], []
        largest = error = 0.0
        block = min(max(32, 2048 // (1 + expansion.a.size)), 128)
        for start in range(0, _MOST_NODES, block):
            y = (np.arange(start, start + block) + 0.5) * step
            root = np.hypot(y, knee)
            t = saddle.t0 + _BEND * (root - knee) + 1j * y
            log_weight = expansion(t) + np.log(_BEND * y / root + 1j)
            with np.errstate(under="ignore", over="ignore"):
                size = np.exp(np.minimum((log_weight - t * low_x).real - saddle.log_height, 700.0)) / np.abs(t)
                error += float(np.sum(size * np.minimum(expansion.remainder(t), 1.0)))
            nodes.append(t)
            logs.append(log_weight)
            largest = max(largest, float(np.max(size)))
            if error > 1e-13 * largest / _STEP:
                return None
            if size[-1] < 1e-17 * largest:
                break
        return np.concatenate(nodes), np.concatenate(logs), step
