"""The distributions of R2, explained variance and concordance correlation under normal label errors.

Each is a ratio V = M / D of quadratic forms of the labels y ~ N(mu, sigma^2), D > 0 (weights w adding up to 1, p the
predictions, bars for weighted means):

    R2                     D = sum w (y - ybar)^2,      M = D - sum w (y - p)^2
    explained variance     D = sum w (y - ybar)^2,      M = D - sum w (y - p - mean)^2
    concordance            D = sum w (y - pbar)^2 + sum w (p - pbar)^2,    M = 2 sum w (p - pbar) y

P(V > x) = P(M - x D > 0) is one integral in the complex plane (`laws.contour`), good to 1e-9; mean and
variance are one-dimensional integrals (`ratio_moments`), exact to rounding. Where D can come arbitrarily close to 0,
as all y may coincide, the mean exists only for more than three uncertain labels, the variance for more than five.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cache, cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Bent, Contour, Numbers, contour, log, log1p
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.quadratic.quadratic_form import EXACT, PI, THETA, Components, E, QuadraticForm
from scorebars.laws.quadratic.ratio_moments import Deviation, ratio_moments

_HIGH = 0.5  # values from which the exponent is formed about the largest value of N
_QUANTILE = 1e-10  # by how much the normal quantile of a probability may be missed
_LINEAR = 1e-13  # relative errors of labels so small that the metric is linear in them
_FARTHEST = 300.0  # |u(x)| beyond which no quantile is sought
_SHARED = 0.4, 0.1  # how far in u a contour serves: in standard deviations, and at most

Paths = dict[float, Contour]
"""The contours of one search, by the x that each was made for."""


class FormLaw(Law):
    """A distribution function that is the probability of N > 0 for quadratic forms N, one for each value x.

    Quantiles are found on a scale u(x) from -inf to inf, on which the normal quantile of the distribution function is
    nearly straight. Probabilities are good to 1e-9 in absolute terms; far out, where they are smaller than that, their
    relative accuracy is lost.
    """

    method = "quadrature"

    components: Components
    _fixed: float | None
    """The value, if nothing moves it."""
    _kept: tuple[float, QuadraticForm] | None = None
    bent: Bent = "where k falls"
    """How paths of the exponent leave the real axis."""

    @abstractmethod
    def _form(self, x: float) -> QuadraticForm:
        """N for this x."""

    def _exponent(self, t: Numbers, x: float) -> Numbers:
        """log E exp(tN)."""
        return self._kept_form(x).tilted(t)[0]

    def _kept_form(self, x: float) -> QuadraticForm:
        """`_form` of the last x, which is kept: one contour asks for it a dozen times."""
        if self._kept is None or self._kept[0] != x:
            self._kept = x, self._form(x)
        return self._kept[1]

    def _join(self, x: float, tail: float, upper: bool) -> tuple[float, float]:
        """P(value <= x) and P(value > x) from P(N > 0) if `upper`, else from P(N <= 0)."""
        return (1.0 - tail, tail) if upper else (tail, 1.0 - tail)

    @abstractmethod
    def _centre(self) -> tuple[float, float]:
        """Some value inside the support, and roughly the standard deviation."""

    def _unbounded(self, x: float) -> float:
        """u(x)."""
        return math.atanh(x)

    def _value(self, u: float) -> float:
        """x(u)."""
        return math.tanh(u)

    def _slope_at(self, x: float) -> float:
        """dx / du."""
        return (1.0 - x) * (1.0 + x)

    def _largest(self, x: float) -> float:
        """How large N can get, inf if that is not known."""
        return math.inf

    def _path(self, x: float) -> Contour:
        width, largest = self._kept_form(x).width(), self._largest(x)
        guess = 0.5 / largest if largest * width < 0.1 else 0.0
        return contour(lambda t: self._exponent(t, x), width, guess, self.bent)

    @cached_property
    def _normal(self) -> NormalLaw | None:
        """The distribution where it is one to rounding: errors so small that the metric is linear in the labels."""
        centre, std = self._centre()
        return NormalLaw(centre, std) if std < _LINEAR * max(abs(centre), self._slope_at(centre)) else None

    def tails(self, x: float, paths: Paths | None = None) -> tuple[float, float]:
        """P(value <= x) and P(value > x). A search hands over its contours: each serves for all x close to its own."""
        if self._fixed is not None:
            return float(x >= self._fixed), float(x < self._fixed)
        if not self.support[0] < x < self.support[1]:
            return float(x >= self.support[1]), float(x < self.support[1])
        if self._normal is not None:
            return self._normal._cdf(x), self._normal._sf(x)
        if self._largest(x) <= 0:
            return 1.0, 0.0
        path = self._path(x) if paths is None else self._path_near(x, paths)
        return self._join(x, min(path.tail(), 1.0), path.upper)

    def _path_near(self, x: float, paths: Paths) -> Contour:
        """The contour of a place close to x, of the same sign, moved to x, or a new one."""
        for place, path in paths.items():
            if (place > 0) == (x > 0) and abs(self._unbounded(x) - self._unbounded(place)) <= self._shared_distance:
                moved = path.moved(lambda t: self._exponent(t, x))
                if moved is not None:
                    return moved
        paths[x] = self._path(x)
        return paths[x]

    @cached_property
    def _shared_distance(self) -> float:
        centre, std = self._centre()
        return min(_SHARED[0] * std / self._slope_at(centre), _SHARED[1])

    def _cdf(self, x: float) -> float:
        return self.tails(x)[0]

    def _sf(self, x: float) -> float:
        return self.tails(x)[1]

    def _pdf(self, x: float) -> float:
        if self._fixed is not None:
            return math.inf if x == self._fixed else 0.0
        if not self.support[0] < x < self.support[1]:
            return 0.0
        if self._normal is not None:
            return self._normal._pdf(x)
        if self._largest(x) <= 0:
            return 0.0
        path = self._path(x)
        # the derivative of the integrand by x, at the nodes t; a small std is only a few steps of rounding wide
        centre, std = self._centre()
        scale = self._slope_at(x) * min(std / self._slope_at(centre), 1.0)
        step = scale * max(1e-4, (1e-16 * abs(x) / scale) ** (1 / 3))
        near, far = (
            path.total((self._exponent(path.t, x + h) - self._exponent(path.t, x - h)) / path.t) / (2.0 * h)
            for h in (step, 2.0 * step)
        )
        return abs(4.0 * near - far) / 3.0 if path.t.size else 0.0

    @cached_property
    def _central_tails(self) -> tuple[float, float]:
        """Where the search for every quantile begins."""
        return self.tails(self._value(self._unbounded(self._centre()[0])))

    def _ppf(self, q: float) -> float:
        if self._fixed is not None:
            return self._fixed
        target = float(ndtri(q)) if q < 0.5 else -float(ndtri(1.0 - q))
        centre, std = self._centre()
        start, unit = self._unbounded(centre), std / self._slope_at(centre)
        paths: Paths = {}

        @cache
        def miss(u: float) -> float:
            lower, upper = self.tails(self._value(u), paths) if u != start else self._central_tails
            z = float(ndtri(lower)) if lower < 0.5 else -float(ndtri(upper))
            return min(max(z, -40.0), 40.0) - target

        near = far = start
        step = -1.1 * miss(start) * unit
        while miss(far) * miss(near) > 0 and abs(far) < _FARTHEST:
            near, far = far, far + step
            step *= 2.0
        if miss(near) * miss(far) >= 0:
            return self._value(far)
        return self._value(brentq(miss, near, far, xtol=max(_QUANTILE * unit, 1e-300), rtol=8.9e-16))


class RatioLaw(FormLaw):
    """V = M / D with D = sum eta^2 - omega (e . eta)^2 + d0 and M = kappa (e . eta)^2 + linear . eta + m0."""

    about_predictions = False
    """Whether the origin of y is the mean of the predictions; else it is the mean of the labels."""

    def __init__(self, components: Components, constant_p: bool) -> None:
        """`constant_p`: all predictions are equal."""
        self.components, self._constant_p = components, constant_p
        self._centred_p = PI - components.at_zero(E, PI) * E
        self._variance_p = components.at_zero(self._centred_p, self._centred_p)
        self.omega, self.d0, self.kappa, self.linear, self.m0 = self._terms()
        self._fixed = self._fixed_value()
        if self._fixed is not None:
            self.support = (self._fixed, self._fixed)

    @classmethod
    def of_labels(
        cls, mu: FloatArray, p: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> RatioLaw:
        """Independent labels of mean `mu`, predicted as `p`; no weight: all equal."""
        origin = float(np.average(p if cls.about_predictions else mu, weights=weight))
        counted = p if weight is None else p[weight > 0]
        return cls(Components.independent(mu - origin, p - origin, sigma, weight), bool(np.ptp(counted) == 0))

    @abstractmethod
    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        """omega, d0, kappa, linear, m0."""

    def _fixed_value(self) -> float | None:
        if np.any(self.components.lam > 0):
            if self._mean_d <= 0:
                raise ValueError("the metric needs at least two labels of positive weight")
            return None
        if self._mean_d <= 0:  # all labels coincide: what scikit-learn returns
            return 1.0 if self._mean_m >= 0 else 0.0
        return self._mean_m / self._mean_d

    @cached_property
    def _second(self) -> float:
        """Mean of (e . eta)^2."""
        mean, variance = self.components.along(E)
        return mean**2 + variance

    @cached_property
    def _mean_d(self) -> float:
        own = float(self.components.count @ self.components.lam)
        return self.components.at_zero(THETA, THETA) + own - self.omega * self._second + self.d0

    @cached_property
    def _mean_m(self) -> float:
        return self.kappa * self._second + self.components.at_zero(self.linear, THETA) + self.m0

    def _freedom(self) -> float:
        """The number of ways to move away from D = 0, or inf if D or the ratio is bounded there."""
        lam, count = self.components.lam, self.components.count
        if self.omega == 0 or lam.size > EXACT:
            return math.inf
        uncertain = float(np.sum(count[lam > 0]))
        certain = self.components.gram[lam == 0].sum(axis=0)
        if certain[0, 0] == 0:
            return uncertain - 1
        common = certain[0, 1] / certain[0, 0]
        rounding = 1e-14 * self._mean_d
        apart = THETA - common * E
        if apart @ certain @ apart > rounding:
            return math.inf
        excess = PI - common * E  # numerator at D = 0: minus the sum of its squares, or 0 if p is that common value too
        if self.kappa != 0 and self.components.at_zero(excess, excess) <= rounding:
            return math.inf
        return uncertain

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self._fixed is not None:
            return self._fixed, 0.0
        freedom = self._freedom()
        if freedom <= 2:
            return -math.inf, math.inf
        v0 = self._mean_m / self._mean_d
        deviation = Deviation(self.components, -v0, self.kappa + v0 * self.omega, self.linear)
        shift, variance = ratio_moments(deviation, self.omega, self.d0, self._mean_d, with_variance=freedom > 4)
        return v0 + shift, variance

    def _form(self, x: float) -> QuadraticForm:
        at_theta = self.components.at_zero(self.linear, THETA) + self.m0
        at_theta += (self.kappa + x * self.omega) * self.components.at_zero(E, THETA) ** 2
        at_theta -= x * (self.components.at_zero(THETA, THETA) + self.d0)
        return QuadraticForm(self.components, -x, [(self.kappa + x * self.omega, E)], self.linear, at_theta)

    def _largest(self, x: float) -> float:
        return self._variance_p * (1.0 - x) / x * (1.0 if self.omega else 1.0 + x) if x > _HIGH else math.inf

    def _exponent(self, t: Numbers, x: float) -> Numbers:
        """For a high x from the place where N is largest, so that nothing cancels as the ratio comes close to 1.

        With N = largest - (eta - m)' (x + k e e') (eta - m), r = 1 / (1 + 2 t x lam) and d = theta - m the exponent is
        t (largest - x sum r d^2 - k (sum r e d)^2 / pivot) - 1/2 sum log(1 / r) - 1/2 log pivot.
        """
        if x <= _HIGH:
            return super()._exponent(t, x)
        u = np.multiply.outer(2.0 * x * t, self.components.lam)
        k, sums = -(self.kappa + x * self.omega), self.components.sums(1.0 / (1.0 + u))
        d = THETA - self._centred_p / x - self.components.at_zero(E, PI) * E
        pivot = (1.0 + k / x) - k / x * sums[:, 0, 0]
        square = x * np.einsum("a,jab,b->j", d, sums, d) + k * np.square(sums[:, 0] @ d) / pivot
        out: Numbers = t * (self._largest(x) - square) - 0.5 * (log1p(u) @ self.components.count + log(pivot))
        return out

    def _centre(self) -> tuple[float, float]:
        """The ratio of means; N = M - x D is about normal there, and its mean falls by the mean of D as x rises."""
        ratio = self._mean_m / self._mean_d
        return ratio, 1.0 / (self._mean_d * self._form(ratio).width())


class R2Law(RatioLaw):
    """Distribution of the coefficient of determination."""

    support = (-math.inf, 1.0)

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, -1.0, 2.0 * PI, -self.components.at_zero(PI, PI)

    def _unbounded(self, x: float) -> float:
        return -math.log1p(-x)

    def _value(self, u: float) -> float:
        return -math.expm1(min(-u, 700.0))

    def _slope_at(self, x: float) -> float:
        return 1.0 - x


class ExplainedVarianceLaw(R2Law):
    """Distribution of the explained variance; 0 whatever the labels are if all predictions are equal."""

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, 0.0, 2.0 * self._centred_p, -self._variance_p

    def _fixed_value(self) -> float | None:
        value = super()._fixed_value()
        return 0.0 if value is None and self._constant_p else value


class ConcordanceLaw(RatioLaw):
    """Distribution of Lin's concordance correlation coefficient, with 1/n moments; 0 if all predictions are equal."""

    support = (-1.0, 1.0)
    about_predictions = True

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 0, self._variance_p, 0.0, 2.0 * self._centred_p, 0.0

    def _fixed_value(self) -> float | None:
        return 0.0 if self._constant_p else super()._fixed_value()
