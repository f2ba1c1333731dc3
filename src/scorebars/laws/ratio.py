"""The laws of R2, explained variance and concordance correlation under normal label errors.

Each is a ratio V = M / D of quadratic forms of the labels y ~ N(mu, S), D > 0 (weights w adding up to 1, p the
predictions, bars for weighted means):

    R2                     D = sum w (y - ybar)^2,      M = D - sum w (y - p)^2
    explained variance     D = sum w (y - ybar)^2,      M = D - sum w (y - p - mean)^2
    concordance            D = sum w (y - pbar)^2 + sum w (p - pbar)^2,    M = 2 sum w (p - pbar) y

P(V > x) = P(M - x D > 0) is the law of one quadratic form (`sign`); mean and variance are one-dimensional
integrals (`ratio_moments`). Both are exact to rounding. Where D can come arbitrarily close to 0, as all y may
coincide, the mean exists only for more than three uncertain labels, the variance for more than five.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.complex_log import Numbers
from scorebars.laws.components import PI, THETA, Components, E
from scorebars.laws.draws import transformed
from scorebars.laws.indefinite import QuadraticForm
from scorebars.laws.ratio_moments import Deviation, ratio_moments
from scorebars.laws.sign import SignContour, rough_probability
from scorebars.laws.stretched import StretchedLaw


class RatioLaw(StretchedLaw):
    """Law of V = M / D with D = sum eta^2 - omega (sum e eta)^2 + d0 and M = kappa (sum e eta)^2 + linear . eta + m0."""

    method = "exact"
    about_predictions = False
    """Whether the origin of y is the mean of the predictions; else it is the mean of the labels."""

    def __init__(
        self,
        mu: FloatArray,
        p: FloatArray,
        sigma: FloatArray | float | None = None,
        weight: FloatArray | None = None,
        *,
        covariance: FloatArray | None = None,
    ) -> None:
        origin = float(np.average(p if self.about_predictions else mu, weights=weight))
        if covariance is None:
            components = Components.independent(mu - origin, p - origin, 0.0 if sigma is None else sigma, weight)
        else:
            components = Components.correlated(mu - origin, p - origin, covariance, weight)
        counted = p if weight is None else p[weight > 0]
        self._settle(components, bool(counted.min() == counted.max()))

    @classmethod
    def of_components(cls, components: Components, constant_p: bool) -> Self:
        """From components made elsewhere, about the origin that the law asks for."""
        law = cls.__new__(cls)
        law._settle(components, constant_p)
        return law

    def _settle(self, components: Components, constant_p: bool) -> None:
        self.components = components
        if components.compressed:
            self._small, self._straight = 3e-10, True  # as exact as its nodes, and as good as normal
        self._constant_p = constant_p
        self._last: tuple[float, QuadraticForm | None] = math.nan, None
        self._last_contour: tuple[float, SignContour[QuadraticForm] | None] = math.nan, None
        mean_p = components.at_zero(E, PI)
        self._centred_p = PI - mean_p * E
        self._variance_p = components.at_zero(self._centred_p, self._centred_p)
        self.omega, self.d0, self.kappa, self.linear, self.m0 = self._terms()
        self._fixed = self._fixed_value()
        if self._fixed is not None:
            self.support = (self._fixed, self._fixed)

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        """omega, d0, kappa, linear, m0."""
        raise TypeError("RatioLaw is abstract: use R2Law, ExplainedVarianceLaw or ConcordanceLaw")

    def _fixed_value(self) -> float | None:
        """The value, if nothing moves it."""
        if self.components.top > 0:
            if self._mean_d <= 0:
                raise ValueError("the metric needs at least two labels of positive weight")
            return None
        top = (
            self.kappa * self.components.at_zero(E, THETA) ** 2 + self.components.at_zero(self.linear, THETA) + self.m0
        )
        if self._mean_d <= 0:  # all labels coincide: what scikit-learn returns
            return 1.0 if top >= 0 else 0.0
        return top / self._mean_d

    @cached_property
    def _second(self) -> float:
        """Mean of (sum e eta)^2."""
        moved = self.components.form(self.components.lam[None], E, E)[0]
        return self.components.at_zero(E, THETA) ** 2 + float(moved)

    @cached_property
    def _mean_d(self) -> float:
        own = float(np.sum(self.components.count * self.components.lam))
        return self.components.at_zero(THETA, THETA) + own - self.omega * self._second + self.d0

    @cached_property
    def _ratio_of_means(self) -> float:
        top = self.kappa * self._second + self.components.at_zero(self.linear, THETA) + self.m0
        return top / self._mean_d

    def _freedom(self) -> float:
        """The number of ways to move away from D = 0, or inf if D or the ratio is bounded there."""
        lam, x = self.components.lam, self.components.x
        if self.omega == 0 or self.components.compressed:
            return math.inf
        uncertain = float(np.sum(self.components.count[lam > 0]))
        e, theta, _ = x[lam == 0].T
        if not np.any(e) and not np.any(theta):
            return uncertain - 1
        common = float(e @ theta) / float(e @ e) if np.any(e) else 0.0
        rounding = 1e-12 * math.sqrt(self._mean_d)
        if np.linalg.norm(theta - common * e) > rounding:
            return math.inf
        excess = PI - common * E  # numerator at D = 0: minus the sum of its squares, or 0 if p is that common value too
        if self.kappa != 0 and self.components.at_zero(excess, excess) <= rounding**2:
            return math.inf
        return uncertain

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self._fixed is not None:
            return self._fixed, 0.0
        freedom = self._freedom()
        if freedom <= 2:
            return -math.inf, math.inf
        v0 = self._ratio_of_means
        deviation = Deviation(self.components, -v0, self.kappa + v0 * self.omega, self.linear)
        shift, variance = ratio_moments(deviation, self.omega, self.d0, self._mean_d, with_variance=freedom > 4)
        return v0 + shift, variance

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    def tails(self, x: float) -> tuple[float, float, float]:
        if self._fixed is not None:
            return float(x >= self._fixed), float(x < self._fixed), math.inf if x == self._fixed else 0.0
        if x >= self.support[1]:
            return 1.0, 0.0, 0.0
        if x <= self.support[0]:
            return 0.0, 1.0, 0.0
        contour = self._contour(x)
        pdf = 0.0 if contour.certain else contour.density(self._mean_of_d(contour.form, contour.t))
        return *_both(contour), pdf

    def _sides(self, x: float, near: float) -> tuple[float, float]:
        inside = self._fixed is None and self.support[0] < x < self.support[1]
        return _both(SignContour(self._form(x), self._contour(near))) if inside else super()._sides(x, near)

    def _contour(self, x: float) -> SignContour[QuadraticForm]:
        """The contour for x; the last one may be asked for again."""
        last, contour = self._last_contour
        if x != last or contour is None:
            contour = SignContour(self._form(x))
            self._last_contour = x, contour
        return contour

    def _mean_of_d(self, form: QuadraticForm, t: Numbers) -> Numbers:
        """The mean of D under the weight exp(t N)."""
        out = np.empty_like(t)
        for part in form.blocks(t):
            at = form.tilted(t[part])
            mean, variance = at.linear(E)
            out[part] = at.square() - self.omega * (mean * mean + variance) + self.d0
        return out

    def _form(self, x: float) -> QuadraticForm:
        """M - x D; the last one is asked for twice, roughly and exactly."""
        last, form = self._last
        if x != last or form is None:
            form = self._new_form(x)
            self._last = x, form
        return form

    def _new_form(self, x: float) -> QuadraticForm:
        # along e its quadratic part is -x + kappa + x omega, in which x cancels for omega = 1
        surplus = np.array([self.kappa if self.omega else -x])
        return QuadraticForm(self.components, -x, surplus, E[None], self.linear, self.m0 - x * self.d0)

    def _rough(self, x: float) -> float:
        return rough_probability(self._form(x))

    def _start(self) -> float:
        return self._ratio_of_means

    def _start_slope(self) -> float:
        """N = M - x D is about normal, and its mean falls by the mean of D as x rises."""
        pace = self._unstretch(self._stretch(self._start()))[1]
        return max(pace * self._mean_d * self._form(self._start()).width, 1e-3)

    def _stretch(self, x: float) -> float:
        return -math.log1p(-x)

    def _unstretch(self, u: float) -> tuple[float, float]:
        return -math.expm1(-u), math.exp(-u)

    def _ppf(self, q: float) -> float:
        return super()._ppf(q) if self._fixed is None else self._fixed

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        generator = np.random.default_rng(rng)
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if self._fixed is not None:
            draws = np.full(shape, self._fixed)
        elif self.components.compressed:
            draws = transformed(self, generator.standard_normal(shape))
        else:
            square, linear, common = self.components.draw(generator, shape, np.stack([self.linear, E]))
            top = self.kappa * common**2 + linear + self.m0
            draws = top / (square - self.omega * common**2 + self.d0)
        return float(draws) if size is None else draws


def _both(contour: SignContour[QuadraticForm]) -> tuple[float, float]:
    """P(N <= 0) and P(N > 0), N = M - x D: those of V <= x and V > x."""
    tail = min(contour.tail(), 1.0)
    return (1.0 - tail, tail) if contour.upper else (tail, 1.0 - tail)


class R2Law(RatioLaw):
    """Law of the coefficient of determination."""

    support = (-math.inf, 1.0)

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, -1.0, 2.0 * PI, -self.components.at_zero(PI, PI)


class ExplainedVarianceLaw(RatioLaw):
    """Law of the explained variance; 0 whatever the labels are if all predictions are equal."""

    support = (-math.inf, 1.0)

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, 0.0, 2.0 * self._centred_p, -self._variance_p

    def _fixed_value(self) -> float | None:
        value = super()._fixed_value()
        return 0.0 if value is None and self._constant_p else value


class ConcordanceLaw(RatioLaw):
    """Law of Lin's concordance correlation coefficient, with 1/n moments; 0 if all predictions are equal."""

    support = (-1.0, 1.0)
    about_predictions = True

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 0, self._variance_p, 0.0, 2.0 * self._centred_p, 0.0

    def _fixed_value(self) -> float | None:
        return 0.0 if self._constant_p else super()._fixed_value()

    def _stretch(self, x: float) -> float:
        return math.atanh(x)

    def _unstretch(self, u: float) -> tuple[float, float]:
        return math.tanh(u), 1.0 / math.cosh(u) ** 2
