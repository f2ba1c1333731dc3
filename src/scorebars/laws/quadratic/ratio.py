"""The distributions of R2, explained variance and concordance correlation under normal label errors.

Each is a ratio V = M / D of quadratic forms of the labels y ~ N(mu, sigma^2), D > 0 (weights w adding up to 1, p the
predictions, bars for weighted means):

    R2                     D = sum w (y - ybar)^2,      M = D - sum w (y - p)^2
    explained variance     D = sum w (y - ybar)^2,      M = D - sum w (y - p - mean)^2
    concordance            D = sum w (y - pbar)^2 + sum w (p - pbar)^2,    M = 2 sum w (p - pbar) y

P(V > x) = P(M - x D > 0) is one integral in the complex plane (`numerics.sign_probability`), good to 1e-9; mean and
variance are one-dimensional integrals (`ratio_moments`), exact to rounding. Where D can come arbitrarily close to 0,
as all y may coincide, the mean exists only for more than three uncertain labels, the variance for more than five.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.complex_log import Numbers
from scorebars.laws.draws import transformed
from scorebars.laws.law import RNG, Law
from scorebars.laws.quadratic.label_nodes import EXACT
from scorebars.laws.quadratic.quadratic_form import PI, THETA, Components, E, QuadraticForms
from scorebars.laws.quadratic.ratio_moments import Deviation, ratio_moments
from scorebars.laws.quadratic.sign_probability import Path, Saddlepoints, path_above, saddlepoints
from scorebars.moments import statistics

Statistic = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]

_GRID = np.linspace(-4.5, 4.5, 13)  # normal quantiles at which the saddlepoint approximation guides the search
_QUANTILE = 1e-11  # by how much the normal quantile of a probability may be missed
_TRIES = 6  # secants before a bracket is sought
_LAST_STRETCH = 300.0  # |u(x)| beyond which no quantile is sought
_DRAWN = 2_000_000  # normal variates drawn at a time


class FormLaw(Law):
    """A distribution function that is the probability of N > 0 for quadratic forms N, one for each value x.

    Quantiles are found on a scale u(x) from -inf to inf, on which the normal quantile of the distribution function is
    nearly straight.
    """

    method = "quadrature"
    statistic: ClassVar[Statistic]
    """The metric of each row of labels."""

    components: Components
    _fixed: float | None
    """The value, if nothing moves it."""
    _labels: tuple[FloatArray, FloatArray, FloatArray | float, FloatArray | None] | None = None
    """Labels, predictions, errors and weights, if there are few."""

    @abstractmethod
    def _forms(self, x: FloatArray) -> QuadraticForms:
        """N for each x."""

    def _exponent(self, t: Numbers, x: FloatArray) -> Numbers:
        """log E exp(tN)."""
        return self._forms(x).tilted(t)[0]

    real_singularities = True
    """Whether the exponent has its singularities on the real axis only."""

    def _join(self, x: FloatArray, tail: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(value <= x) and P(value > x) from P(N > 0) where `upper`, else from P(N <= 0)."""
        return np.where(upper, 1.0 - tail, tail), np.where(upper, tail, 1.0 - tail)

    @abstractmethod
    def _centre(self) -> tuple[float, float]:
        """Some value inside the support, and roughly the standard deviation."""

    def _stretch(self, x: float) -> float:
        """u(x)."""
        return math.atanh(x)

    def _value(self, u: float) -> float:
        """x(u)."""
        return math.tanh(u)

    def _pace(self, x: float) -> float:
        """dx / du."""
        return (1.0 - x) * (1.0 + x)

    def _path(self, x: float) -> Path:
        at = np.array([x])
        guess = np.array([float(np.interp(x, *self._saddles))])
        width = self._forms(at).width()
        start = saddlepoints(self._exponent, at, width, guess)
        return path_above(self._exponent, x, start, float(width[0]), turning=self.real_singularities)

    def tails(self, x: float) -> tuple[float, float]:
        """P(value <= x) and P(value > x)."""
        if self._fixed is not None:
            return float(x >= self._fixed), float(x < self._fixed)
        if not self.support[0] < x < self.support[1]:
            return float(x >= self.support[1]), float(x < self.support[1])
        path = self._path(x)
        if math.isnan(path.peak):  # errors so small that the exponent is lost in rounding
            centre, std = self._centre()
            return float(ndtr((x - centre) / std)), float(ndtr((centre - x) / std))
        lower, above = self._join(np.array(x), np.array(min(path.tail(), 1.0)), np.array(path.upper))
        return float(lower), float(above)

    def _cdf(self, x: float) -> float:
        return self.tails(x)[0]

    def _sf(self, x: float) -> float:
        return self.tails(x)[1]

    def _pdf(self, x: float) -> float:
        if self._fixed is not None:
            return math.inf if x == self._fixed else 0.0
        if not self.support[0] < x < self.support[1]:
            return 0.0
        path = self._path(x)
        # the derivative of the integrand by x, at the nodes t; a small std is only a few steps of rounding wide
        scale = self._pace(x) / self._slope
        step = scale * max(3e-6, (1e-16 * abs(x) / scale) ** (1 / 3))
        above, below = np.full(path.t.size, x + step), np.full(path.t.size, x - step)
        change = self._exponent(path.t, above) - self._exponent(path.t, below)
        return abs(path.total(change / path.t)) / (above[0] - below[0]) if path.t.size else 0.0

    # quantiles ---------------------------------------------------------------------------------

    @cached_property
    def _rough(self) -> tuple[FloatArray, Saddlepoints]:
        """Values from far below to far above the centre, and the saddlepoints of their forms."""
        centre, std = self._centre()
        u = self._stretch(centre) + _GRID * max(std / self._pace(centre), 1e-13)
        x = np.unique([self._value(v) for v in u])
        x = self._away(x[(x > self.support[0]) & (x < self.support[1])])
        return x, saddlepoints(self._exponent, x, self._forms(x).width())

    def _away(self, x: FloatArray) -> FloatArray:
        """The values at which a saddlepoint approximation is to be had."""
        return x

    @cached_property
    def _saddles(self) -> tuple[FloatArray, FloatArray]:
        return self._rough[0], self._rough[1].t

    @cached_property
    def _guide(self) -> tuple[FloatArray, FloatArray]:
        """Rough normal quantiles, and u there; both rise."""
        x, found = self._rough
        at_zero = self._exponent(np.zeros(x.size), x)
        lower, upper = self._join(x, found.probability(at_zero), np.zeros(x.size, dtype=bool))
        z = np.where(lower < 0.5, ndtri(lower), -ndtri(upper))
        u = np.array([self._stretch(float(v)) for v in x])
        z, u = z[np.isfinite(z)], u[np.isfinite(z)]
        rising = np.diff(np.maximum.accumulate(z), prepend=-np.inf) > 0
        if np.count_nonzero(rising) > 1:
            return z[rising], u[rising]
        centre, std = self._centre()
        return np.array([-1.0, 1.0]), self._stretch(centre) + std / self._pace(centre) * np.array([-1.0, 1.0])

    @cached_property
    def _slope(self) -> float:
        """How fast the rough normal quantile rises with u."""
        z, u = self._guide
        return float((z[-1] - z[0]) / (u[-1] - u[0]))

    def _ppf(self, q: float) -> float:
        if self._fixed is not None:
            return self._fixed
        target = float(ndtri(q)) if q < 0.5 else -float(ndtri(1.0 - q))
        rough, slope = PchipInterpolator(*self._guide), self._slope

        def guide(z: float) -> float:
            return float(rough(min(max(z, rough.x[0]), rough.x[-1])))

        @lru_cache
        def miss(u: float) -> float:
            lower, upper = self.tails(self._value(u))
            z = float(ndtri(lower)) if lower < 0.5 else -float(ndtri(upper))
            return min(max(z, -40.0), 40.0) - target

        before = guide(target)
        u = guide(target - miss(before))
        for _ in range(_TRIES):  # secants
            gap = miss(u) - miss(before)
            following = u - miss(u) * (u - before) / gap if gap != 0 else u
            if abs(miss(u)) < _QUANTILE or abs(miss(u) * miss(before)) < _QUANTILE:
                return self._value(following if abs(following - u) < abs(u - before) else u)
            if not abs(following - u) * slope < 2.0:
                break
            u, before = following, u
        near = far = guide(target)
        step = -math.copysign(min(1.5 * abs(miss(near)) / slope, 1.0), miss(near))
        while miss(far) * miss(near) > 0 and abs(far) < _LAST_STRETCH:
            near, far = far, far + step
            step *= 2.0
        if miss(near) * miss(far) >= 0:
            return self._value(far)
        return self._value(brentq(miss, near, far, xtol=_QUANTILE / slope, rtol=8.9e-16))

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the distribution; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        generator = np.random.default_rng(rng)
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if self._fixed is not None:
            draws = np.full(shape, self._fixed)
        elif self._labels is None:
            draws = transformed(self, generator.standard_normal(shape))
        else:
            mu, p, sigma, weight = self._labels
            rows = max(_DRAWN // mu.size, 1)
            parts = [
                type(self).statistic(mu + sigma * generator.standard_normal((count, mu.size)), p, weight)
                for count in np.diff([*range(0, math.prod(shape), rows), math.prod(shape)])
            ]
            draws = np.concatenate([np.empty(0), *parts]).reshape(shape)
        return float(draws) if size is None else draws


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
        law = cls(Components.independent(mu - origin, p - origin, sigma, weight), bool(np.ptp(counted) == 0))
        if mu.size <= EXACT:
            law._labels = mu, p, sigma, weight
        return law

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

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    def _forms(self, x: FloatArray) -> QuadraticForms:
        kappa = self.kappa + x * self.omega
        linear = np.broadcast_to(self.linear, (x.size, 3))
        return QuadraticForms(self.components, -x, kappa[None], E[None], linear, self.m0 - x * self.d0)

    def _centre(self) -> tuple[float, float]:
        """The ratio of means; N = M - x D is about normal there, and its mean falls by the mean of D as x rises."""
        ratio = self._mean_m / self._mean_d
        return ratio, 1.0 / (self._mean_d * float(self._forms(np.array([ratio])).width()[0]))


class R2Law(RatioLaw):
    """Distribution of the coefficient of determination."""

    support = (-math.inf, 1.0)
    statistic = statistics.r2

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, -1.0, 2.0 * PI, -self.components.at_zero(PI, PI)

    def _stretch(self, x: float) -> float:
        return -math.log1p(-x)

    def _value(self, u: float) -> float:
        return -math.expm1(min(-u, 700.0))

    def _pace(self, x: float) -> float:
        return 1.0 - x


class ExplainedVarianceLaw(R2Law):
    """Distribution of the explained variance; 0 whatever the labels are if all predictions are equal."""

    statistic = statistics.explained_variance

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 1, 0.0, 0.0, 2.0 * self._centred_p, -self._variance_p

    def _fixed_value(self) -> float | None:
        value = super()._fixed_value()
        return 0.0 if value is None and self._constant_p else value


class ConcordanceLaw(RatioLaw):
    """Distribution of Lin's concordance correlation coefficient, with 1/n moments; 0 if all predictions are equal."""

    support = (-1.0, 1.0)
    about_predictions = True
    statistic = statistics.concordance

    def _terms(self) -> tuple[int, float, float, FloatArray, float]:
        return 0, self._variance_p, 0.0, 2.0 * self._centred_p, 0.0

    def _fixed_value(self) -> float | None:
        return 0.0 if self._constant_p else super()._fixed_value()
