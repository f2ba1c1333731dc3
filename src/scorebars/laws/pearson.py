"""The law of Pearson's correlation between predictions and labels with normal errors.

r = L / sqrt(B) with L = sum w (p - pbar) y / sd(p) and B = sum w (y - ybar)^2. Its distribution function is that of a
quadratic form over half of all cases (`half_form`): one contour integral, exact to rounding. On the boundary
L^2 = x^2 B, hence the density of r at x is E[2 L^2 delta(L^2 - x^2 B) / |x|; x L > 0].

Moments: E r = pi^(-1/2) int t^(-1/2) E[L exp(-tB)] dt and E r^2 = int E[L^2 exp(-tB)] dt. For small errors the variance
would cancel and is taken about r0 = E L / sqrt(E B). With b = E B, s = sqrt(b), H = sqrt(B) - s and the form
N = L - r0 s - r0 (B - b) / (2 s) of mean 0

    r - r0 = N / sqrt(B) + r0 H^2 / (2 s sqrt(B)).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.cgf import log_excess
from scorebars.laws.components import PI, THETA, Components, E
from scorebars.laws.draws import transformed
from scorebars.laws.half_form import HalfForm, whole_form
from scorebars.laws.ratio_moments import Deviation, Tilted, integrate, tilt
from scorebars.laws.sign import SignContour, rough_probability
from scorebars.laws.stretched import StretchedLaw

_SMALL_NOISE = 0.01  # variance of B / b^2 below which the variance is taken about r0
_LAST = 1.0 - 2.0**-50  # beyond, 1 - x^2 has no digits
_CENTRE = 0.02  # of the std: below it L^2 - x^2 B is nearly L^2, whose density at 0 is infinite


class PearsonLaw(StretchedLaw):
    """Law of the correlation of y ~ N(mu, diag(sigma^2)) or N(mu, covariance) with predictions p that are not all equal."""

    method = "exact"
    support = (-1.0, 1.0)

    def __init__(
        self,
        mu: FloatArray,
        p: FloatArray,
        sigma: FloatArray | float | None = None,
        weight: FloatArray | None = None,
        *,
        covariance: FloatArray | None = None,
    ) -> None:
        y, prediction = mu - np.average(mu, weights=weight), p - np.average(p, weights=weight)
        if covariance is None:
            components = Components.independent(y, prediction, 0.0 if sigma is None else sigma, weight)
        else:
            components = Components.correlated(y, prediction, covariance, weight)
        self.components = components
        centred = PI - components.at_zero(E, PI) * E
        counted = p if weight is None else p[weight > 0]
        if counted.min() == counted.max():
            raise ValueError("the correlation is undefined: all predictions are equal")
        self._direction = centred / math.sqrt(components.at_zero(centred, centred))
        self._labels = mu.size if weight is None else int(np.count_nonzero(weight))
        along = components.form(components.lam[None], self._direction, self._direction)[0]
        self._mean_l, self._std_l = components.at_zero(self._direction, THETA), math.sqrt(max(float(along), 0.0))
        if self._mean_b <= 0:
            raise ValueError("the correlation is undefined: all labels are equal")
        self._fixed = self._mean_l / math.sqrt(self._mean_b) if components.top == 0 else None
        if self._fixed is not None:
            self._fixed = min(max(self._fixed, -1.0), 1.0)
            self.support = (self._fixed, self._fixed)

    @cached_property
    def _mean_b(self) -> float:
        own = float(np.sum(self.components.count * self.components.lam))
        shared = float(self.components.form(self.components.lam[None], E, E)[0])
        return self.components.at_zero(THETA, THETA) - self.components.at_zero(E, THETA) ** 2 + own - shared

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
        if self._labels == 2:
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

        first, second = integrate(integrand, 1.0 / self._mean_b)
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
        n2, n_root, n_ratio, h1, h2, h3 = integrate(integrand, 1.0 / b)
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

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    def tails(self, x: float) -> tuple[float, float, float]:
        if self._fixed is not None:
            return float(x >= self._fixed), float(x < self._fixed), math.inf if x == self._fixed else 0.0
        if abs(x) >= 1:
            return float(x >= 1), float(x < 1), 0.0
        negative, positive = self._signs
        if self._labels == 2:
            return negative, positive, 0.0
        centre = _CENTRE * self._std_l / math.sqrt(self._mean_b)
        if abs(x) < centre:
            change, pdf = self._near_zero(x / centre, centre)
            return negative + change, positive - change, pdf
        same, other = (positive, negative) if x > 0 else (negative, positive)
        outer, inner, pdf = self._beyond(min(max(x, -_LAST), _LAST))
        outer, inner = (max(same - inner, 0.0), other + inner) if outer is None else (outer, 1.0 - outer)
        return (inner, outer, pdf) if x > 0 else (outer, inner, pdf)

    def _near_zero(self, u: float, centre: float) -> tuple[float, float]:
        """P(0 < r <= u centre) and the density there: the polynomial of degree 4 through the values at 0, +-centre."""
        below, above = self.tails(-centre), self.tails(centre)
        left, right = below[0] - self._signs[0], above[0] - self._signs[0]
        odd, even = 0.5 * (right - left), 0.5 * (right + left)
        slope_odd, slope_even = 0.5 * centre * (above[2] - below[2]), 0.5 * centre * (above[2] + below[2])
        cubic, quartic = 0.5 * (slope_even - odd), 0.5 * slope_odd - even
        linear, square = odd - cubic, even - quartic
        change = u * (linear + u * (square + u * (cubic + u * quartic)))
        return change, (linear + u * (2 * square + u * (3 * cubic + u * 4 * quartic))) / centre

    def _beyond(self, x: float) -> tuple[float | None, float, float]:
        """On the side of x: the probability beyond x or None, else that between 0 and x; and the density at x."""
        known = self._std_l == 0
        if known and x * self._mean_l <= 0:
            return 0.0, 0.0, 0.0
        if not known:
            half = HalfForm(self.components, self._direction, x)
            contour = SignContour(half)
            pdf = 0.0 if contour.certain else 2.0 / abs(x) * contour.density(half.mean_square(contour.t))
            tail = min(contour.tail(), 1.0)
            return (tail, 0.0, pdf) if contour.upper else (None, tail, pdf)
        form = whole_form(self.components, self._direction, x)
        whole = SignContour(form)
        outer = whole.tail() if whole.upper else 1.0 - whole.tail()
        pdf = 0.0
        if not whole.certain:
            mean, variance = form.tilted(whole.t).linear(self._direction)
            pdf = 2.0 / abs(x) * whole.density(mean**2 + variance)
        return min(max(outer, 0.0), 1.0), 0.0, max(pdf, 0.0)

    def _rough(self, x: float) -> float:
        if abs(x) <= _CENTRE * self._std_l / math.sqrt(self._mean_b) or self._std_l == 0:
            return self.tails(x)[0]
        inner = rough_probability(HalfForm(self.components, self._direction, x))
        negative, positive = self._signs
        return negative + positive * inner if x > 0 else negative * (1.0 - inner)

    def _start(self) -> float:
        return 0.999 * self._mean_l / math.sqrt(self._mean_b)

    def _stretch(self, x: float) -> float:
        return math.atanh(x)

    def _unstretch(self, u: float) -> tuple[float, float]:
        return math.tanh(u), 1.0 / math.cosh(u) ** 2

    def _ppf(self, q: float) -> float:
        if self._fixed is not None:
            return self._fixed
        if self._labels == 2:
            return -1.0 if q <= self._signs[0] else 1.0
        return super()._ppf(q)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        generator = np.random.default_rng(rng)
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if self._fixed is not None:
            draws = np.full(shape, self._fixed)
        elif self.components.compressed:
            draws = transformed(self, generator.standard_normal(shape))
        else:
            square, along, common = self.components.draw(generator, shape, np.stack([self._direction, E]))
            draws = np.clip(along / np.sqrt(square - common**2), -1.0, 1.0)
        return float(draws) if size is None else draws
