"""The distribution of Pearson's correlation between predictions and labels with normal errors.

r = L / sqrt(B) with L = sum w (p - pbar) y / sd(p) and B = sum w (y - ybar)^2. For x > 0, r > x means
N = L^2 - x^2 B > 0 and L > 0. Under the weight exp(tN) labels are still normal, so the share of cases with L > 0 is a
normal probability,

    log E[exp(tN); L > 0] = log E exp(tN) + log Phi(mean of L / sd of L, both under the weight exp(tN)),

and P(r > x) is one integral in the complex plane, good to 1e-9. For x < 0 the same holds with L < 0.

Moments: E r = pi^(-1/2) int t^(-1/2) E[L exp(-tB)] dt and E r^2 = int E[L^2 exp(-tB)] dt. For small errors the variance
would cancel and is taken about r0 = E L / sqrt(E B). With b = E B, s = sqrt(b), H = sqrt(B) - s and the form
N = L - r0 s - r0 (B - b) / (2 s) of mean 0

    r - r0 = N / sqrt(B) + r0 H^2 / (2 s sqrt(B)).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.interpolate import KroghInterpolator
from scipy.special import log_ndtr, ndtr

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Numbers
from scorebars.laws.quadratic.chisquare import log_excess
from scorebars.laws.quadratic.quadratic_form import PI, THETA, Components, E, QuadraticForm
from scorebars.laws.quadratic.ratio import FormLaw, Paths
from scorebars.laws.quadratic.ratio_moments import Deviation, Tilted, over_all_scales, tilt

_SMALL_NOISE = 0.01  # variance of B / b^2 below which the variance is taken about r0
_LAST = 1.0 - 1e-6
"""Beyond, the tail is a power of 1 - |x|, unless most of the distribution lies there."""
_NEAR_ZERO = 0.02  # of the std: below it L^2 - x^2 B is nearly L^2, whose density at 0 is infinite


class PearsonLaw(FormLaw):
    """Correlation of independent labels y ~ N(mu, sigma^2) with predictions p that are not all equal."""

    support = (-1.0, 1.0)
    bent = "straight"  # the standard deviation of L under the weight may vanish for complex t

    def __init__(self, components: Components, labels: int) -> None:
        """`labels`: how many have a weight."""
        self.components, self._count = components, labels
        centred = PI - components.at_zero(E, PI) * E
        variance_p = components.at_zero(centred, centred)
        if variance_p <= 0:
            raise ValueError("the correlation is undefined: all predictions are equal")
        self._direction = centred / math.sqrt(variance_p)
        self._mean_l, variance_l = components.along(self._direction)
        self._std_l = math.sqrt(max(variance_l, 0.0))
        mean_e, variance_e = components.along(E)
        own = float(components.count @ components.lam)
        self._mean_b = components.at_zero(THETA, THETA) - mean_e**2 + own - variance_e
        if self._mean_b <= 0:
            raise ValueError("the correlation is undefined: all labels are equal")
        self._fixed = None
        if not np.any(components.lam > 0):
            self._fixed = min(max(self._mean_l / math.sqrt(self._mean_b), -1.0), 1.0)
            self.support = (self._fixed, self._fixed)

    @classmethod
    def of_labels(
        cls, mu: FloatArray, p: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> PearsonLaw:
        """Independent labels of mean `mu`, predicted as `p`; no weight: all equal."""
        counted = p if weight is None else p[weight > 0]
        if np.ptp(counted) == 0:
            raise ValueError("the correlation is undefined: all predictions are equal")
        y, prediction = mu - np.average(mu, weights=weight), p - np.average(p, weights=weight)
        return cls(Components.independent(y, prediction, sigma, weight), counted.size)

    @cached_property
    def _signs(self) -> tuple[float, float]:
        """P(L < 0) and P(L > 0)."""
        if self._std_l == 0:
            return float(self._mean_l < 0), float(self._mean_l > 0)
        return float(ndtr(-self._mean_l / self._std_l)), float(ndtr(self._mean_l / self._std_l))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self._fixed is not None:
            return self._fixed, 0.0
        if self._count == 2:
            return self._signs[1] - self._signs[0], 4.0 * self._signs[0] * self._signs[1]
        form, lam = self.components.form, self.components.lam[None]
        c = THETA - self.components.at_zero(E, THETA) * E
        trace = float(np.sum(self.components.count * lam**2) - 2 * form(lam**2, E, E)[0] + form(lam, E, E)[0] ** 2)
        variance_b = 2.0 * trace + 4.0 * float(form(lam, c, c)[0])
        return self._about_r0() if variance_b < _SMALL_NOISE * self._mean_b**2 else self._direct()

    def _direct(self) -> tuple[float, float]:
        def integrand(t: FloatArray) -> FloatArray:
            at = tilt(self.components, 1, t)
            form, direction, weight = self.components.form, self._direction, np.exp(at.log_weight)
            pull = form(at.q, direction, E)
            mean = form(at.r, direction, THETA) + at.nu * pull
            variance = form(self.components.lam * at.r, direction, direction) + at.rho * pull**2
            return np.stack([weight * mean / np.sqrt(math.pi * t), weight * (mean**2 + variance)])

        first, second = over_all_scales(integrand, 1.0 / self._mean_b)
        return float(first), max(float(second - first**2), 0.0)

    def _about_r0(self) -> tuple[float, float]:
        b = self._mean_b
        s = math.sqrt(b)
        r0 = self._mean_l / s
        deviation = Deviation(self.components, -0.5 * r0 / s, 0.5 * r0 / s, self._direction)

        def integrand(t: FloatArray) -> FloatArray:
            at = tilt(self.components, 1, t)
            weight, mean = np.exp(at.log_weight), deviation.mean(at)
            excess = self._weight_excess(at, weight)
            root = np.sqrt(math.pi * t)
            of_n = [weight * (mean**2 + deviation.variance(at)), weight * mean / root, weight * mean]
            return np.stack([*of_n, excess / (2.0 * root * t), excess * b / root, excess * b * b])

        # E[N^2 / B], E[N / sqrt B], E[N / B], s - E sqrt B, b E[1 / sqrt B] - s, b^2 E[1 / B] - b
        n2, n_root, n_ratio, h1, h2, h3 = over_all_scales(integrand, 1.0 / b)
        first = n_root + 0.5 * r0 / s * (h2 - h1)
        cross = b * n_ratio - 2.0 * s * n_root
        second = n2 + r0 / s * cross + 0.25 * r0**2 / b * (4.0 * s * (h1 - h2) + h3)
        return r0 + float(first), max(float(second - first**2), 0.0)

    def _weight_excess(self, at: Tilted, weight: FloatArray) -> FloatArray:
        """E exp(-tB) - exp(-t E B) >= 0, without cancellation at small t."""
        form, lam, t = self.components.form, self.components.lam, at.t
        exponent = np.einsum("jk,k->j", log_excess(-2.0 * np.multiply.outer(t, lam)), self.components.count)
        exponent += log_excess(at.gap) + t * (
            form(at.q, at.c, at.c) - form(at.q, E, at.c) ** 2 - form(lam * at.q, E, E)
        )
        alone = np.exp(-t * self._mean_b)
        small = exponent < 1.0
        out: FloatArray = weight - alone
        out[small] = alone[small] * np.expm1(exponent[small])
        return out

    # the distribution function --------------------------------------------------------------------

    def _form(self, x: float) -> QuadraticForm:
        squares = [(x * x, E), (1.0, self._direction)]
        at_zero = self.components.at_zero
        b = at_zero(THETA, THETA) - at_zero(E, THETA) ** 2
        return QuadraticForm(self.components, -x * x, squares, np.zeros(3), self._mean_l**2 - x * x * b)

    def _exponent(self, t: Numbers, x: float) -> Numbers:
        form = self._kept_form(x)
        exponent, covariance = form.tilted(t)
        if self._std_l == 0:
            return exponent
        moved = covariance @ self._direction
        mean = self._mean_l + t * (moved @ form.gradient)
        out: Numbers = exponent + log_ndtr(math.copysign(1.0, x) * mean / np.sqrt(moved @ self._direction))
        return out

    def _join(self, x: float, tail: float, upper: bool) -> tuple[float, float]:
        """`tail` is the probability beyond x if `upper`, else that between 0 and x, on the side of x."""
        same, other = self._signs[:: -1 if x > 0 else 1]
        outer = tail if upper else max(same - tail, 0.0)
        inner = 1.0 - tail if upper else other + tail
        return (inner, outer) if x > 0 else (outer, inner)

    @cached_property
    def _near_zero(self) -> float:
        return _NEAR_ZERO * self._std_l / math.sqrt(self._mean_b)

    @cached_property
    def _around_zero(self) -> KroghInterpolator:
        """P(r <= x) for x near 0, where L changes its sign: the polynomial through values and slopes on both sides."""
        x = self._near_zero
        (left, _), (right, _) = self.tails(-x), self.tails(x)
        slopes = self._pdf(-x), self._pdf(x)
        return KroghInterpolator([-x, -x, 0.0, x, x], [left, slopes[0], self._signs[0], right, slopes[1]])

    def tails(self, x: float, paths: Paths | None = None) -> tuple[float, float]:
        negative, positive = self._signs
        if self._fixed is None and abs(x) < 1:
            if self._count == 2:
                return negative, positive
            if abs(x) < self._near_zero:
                below = float(self._around_zero(x))
                return below, 1.0 - below
            if self._std_l == 0 and x * self._mean_l <= 0:
                return negative, positive
            if abs(x) > _LAST and abs(self._centre()[0]) < 0.9999:
                tail = super().tails(math.copysign(_LAST, x))[int(x > 0)]
                tail *= ((1.0 - abs(x)) / (1.0 - _LAST)) ** (0.5 * self._count - 1.0)
                return (1.0 - tail, tail) if x > 0 else (tail, 1.0 - tail)
        return super().tails(x, paths)

    def _pdf(self, x: float) -> float:
        if self._fixed is None:
            if self._count == 2 or (self._std_l == 0 and x * self._mean_l <= 0):
                return 0.0
            if abs(x) < self._near_zero:
                return float(self._around_zero.derivative(x))
            if abs(x) > _LAST:
                inside = math.copysign(2.0 * abs(x) - 1.0, x)
                return abs(self.tails(x)[x > 0] - self.tails(inside)[x > 0]) / (1.0 - abs(x)) if abs(x) < 1 else 0.0
        return super()._pdf(x)

    def _centre(self) -> tuple[float, float]:
        r = self._mean_l / math.sqrt(self._mean_b)
        return min(max(r, -1.0 + 1e-15), 1.0 - 1e-15), self._std()

    def _ppf(self, q: float) -> float:
        if self._fixed is None and self._count == 2:
            return -1.0 if q <= self._signs[0] else 1.0
        return super()._ppf(q)
