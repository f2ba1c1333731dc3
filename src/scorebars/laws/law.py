"""What every distribution of a metric's value can do.

A law answers where a metric falls if every label were redrawn from its error bar. Subclasses give the formulas; this
base class turns a distribution function into quantiles and draws.

Three distributions that all families need are here too. The normal one and Student's are what a mean follows whose standard
error is known, or estimated; they use SciPy's special functions, since `scipy.stats` is slow to import. `SquareRoot` is the
distribution of the square root of a value that is nowhere negative.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import betaln, ndtr, ndtri, stdtr, stdtrit

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.numerics.roots import crossing_from

RNG = np.random.Generator

_SPACING = 0.1


def numbers_in(values: ArrayLike, argument: str) -> FloatArray:
    """What a user asks a distribution about, as numbers."""
    if isinstance(values, float) or (type(values) is np.ndarray and values.dtype == np.float64):
        return np.asarray(values)
    return np.asarray(checks.real_array(values, argument), dtype=np.float64)


def shape_of_draws(size: Any) -> Any:
    """A number of draws, or a shape of them, that fits into memory."""
    sides: Any = size if isinstance(size, tuple | list) else () if size is None else (size,)
    if not all(type(side) is not bool and isinstance(side, int | np.integer) and side >= 0 for side in sides):
        raise ValueError(f"size must be a whole number of at least 0, or a shape of several, got {size!r}.")
    checks.require_memory(24 * math.prod(map(int, sides)), f"size = {size!r}", "Draw fewer at a time.")
    return size


class Moment(float):
    """A number that may also be called, as SciPy's frozen distributions are: ``law.mean`` or ``law.mean()``."""

    def __call__(self) -> float:
        return float(self)


class Law(ABC):
    """The distribution of a metric's value.

    Subclasses set `method`, have mean and variance as `_moments` or give `_mean` and `_var`, and give `_cdf`, `_sf`,
    `_pdf`, each of one float. Both tails are asked for separately so that neither loses its digits.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    >>> law = sb.mean_squared_error(y, p, yerr=0.5).distribution
    >>> print(f"{law.mean:.3f} {law.std:.3f} {law.cdf(1.0):.3f} {law.ppf(0.5):.3f}", law.method)
    0.625 0.354 0.858 0.567 exact
    """

    method: str = "exact"
    discrete: bool = False
    support: tuple[float, float] = (-math.inf, math.inf)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and variance: a subclass has these, or gives `_mean` and `_var`."""
        return self._mean(), self._var()

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    @abstractmethod
    def _cdf(self, x: float) -> float:
        """P(value <= x) for x inside the support."""

    def _sf(self, x: float) -> float:
        """P(value > x) for x inside the support."""
        return 1.0 - self._cdf(x)

    def _pdf(self, x: float) -> float:
        """Density at x inside the support (probability of x for a discrete law)."""
        step = 1e-4 * self._std()
        if step == 0:
            return math.inf if x == self._mean() else 0.0
        low, high = max(x - step, self.support[0]), min(x + step, self.support[1])
        below = self._cdf(high) - self._cdf(low) if x < self._mean() else self._sf(low) - self._sf(high)
        return max(below, 0.0) / (high - low)

    def _std(self) -> float:
        return math.sqrt(self._var())

    def _around(self) -> tuple[float, float]:
        """Where the search for quantiles begins, and its first step."""
        return self._mean(), self._std()

    def _ppf(self, q: float) -> float:
        """Quantile for 0 < q < 1: bracket from the mean in steps of the std, then the crossing of the smaller tail."""
        low, high = self.support
        centre, spread = self._around()
        if spread == 0:
            return centre

        def excess(x: float) -> float:
            """Logarithm of a tail over the one asked for: small tails keep their digits, and it is nearly straight."""
            tail, share, side = (self._cdf(x), q, 1.0) if q <= 0.5 else (self._sf(x), 1.0 - q, -1.0)
            return side * math.log(tail / share) if tail > 0 else -side * math.inf

        start, finest = min(max(centre, low), high), 1e-15 * spread if math.isinf(low) else 1e-300
        return crossing_from(excess, start, spread, low, high, xtol=finest)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: mean {self._mean():.6g}, std {self._std():.3g}, method {self.method!r}>"

    # what users call -------------------------------------------------------------------------

    @property
    def mean(self) -> Moment:
        """Expected value."""
        return Moment(self._mean())

    @property
    def var(self) -> Moment:
        """Variance."""
        return Moment(self._var())

    @property
    def std(self) -> Moment:
        """Standard deviation."""
        return Moment(self._std())

    def _inside(self, f: Callable[[float], float], x: ArrayLike, below: float, above: float) -> Any:
        """Apply `f` to each x inside the support, and the given constants outside it."""
        low, high = self.support
        values = numbers_in(x, "x")
        out = np.empty(values.shape)
        for i, v in enumerate(values.flat):
            out.flat[i] = math.nan if math.isnan(v) else below if v < low else above if v > high else f(float(v))
        return float(out) if out.ndim == 0 else out

    def cdf(self, x: ArrayLike) -> Any:
        """P(value <= x)."""
        high = self.support[1]
        return self._inside(lambda v: 1.0 if v >= high else self._cdf(v), x, 0.0, 1.0)

    def sf(self, x: ArrayLike) -> Any:
        """P(value > x), with full relative accuracy in the upper tail where possible."""
        high = self.support[1]
        return self._inside(lambda v: 0.0 if v >= high else self._sf(v), x, 1.0, 0.0)

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; a discrete distribution has `pmf` instead."""
        if self.discrete:
            raise AttributeError("this distribution is discrete: use pmf(x), the probability of the value x")
        return self._inside(self._pdf, x, 0.0, 0.0)

    def pmf(self, x: ArrayLike) -> Any:
        """Probability of the value x; a continuous distribution has `pdf` instead."""
        if not self.discrete:
            raise AttributeError("this distribution is continuous: use pdf(x), the density at x")
        return self._inside(self._pdf, x, 0.0, 0.0)

    def ppf(self, q: ArrayLike) -> Any:
        """The value below which the metric falls with probability q."""
        values = numbers_in(q, "q")
        out = np.empty(values.shape)
        for i, p in enumerate(values.flat):
            if not 0.0 <= p <= 1.0:
                raise ValueError(f"q must be a probability between 0 and 1, got {p}")
            out.flat[i] = self.support[0] if p == 0 else self.support[1] if p == 1 else self._ppf(float(p))
        return float(out) if out.ndim == 0 else out

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws; `rng` is a seed or a Generator, and the same seed gives the same draws.

        Many are interpolated between quantiles at steps of 0.1 standard normal deviations: good to 1e-4 of the std.
        """
        p = np.random.default_rng(rng).random(shape_of_draws(size))
        z = np.asarray(ndtri(p))
        ends = math.floor(float(z.min(initial=0.0)) / _SPACING), math.ceil(float(z.max(initial=0.0)) / _SPACING)
        grid = np.arange(ends[0], ends[1] + 1) * _SPACING
        if self.discrete or z.size <= grid.size:
            return self.ppf(p)
        x = np.asarray(self.ppf(ndtr(grid)))
        return PchipInterpolator(grid, x)(z)


class NormalLaw(Law):
    """centre + scale * Z with Z standard normal; a scale of 0 gives the constant."""

    def __init__(self, mean: float, std: float, method: str = "exact") -> None:
        self._centre, self._scale, self.method = float(mean), float(std), method
        if std == 0:
            self.support = (self._centre, self._centre)

    # of Z alone, which subclasses replace

    def _below(self, z: float) -> float:
        return float(ndtr(z))

    def _density(self, z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)

    def _quantile(self, q: float) -> float:
        return float(ndtri(q))

    def _draw(self, rng: RNG, size: Any) -> Any:
        return rng.standard_normal(size)

    def _mean(self) -> float:
        return self._centre

    def _std(self) -> float:
        return self._scale

    def _var(self) -> float:
        return self._std() * self._std()

    def _z(self, x: float) -> float:
        return (x - self._centre) / self._scale

    def _cdf(self, x: float) -> float:
        return self._below(self._z(x)) if self._scale else 1.0

    def _sf(self, x: float) -> float:
        return self._below(-self._z(x)) if self._scale else 0.0

    def _pdf(self, x: float) -> float:
        return self._density(self._z(x)) / self._scale if self._scale else math.inf

    def _ppf(self, q: float) -> float:
        z = self._quantile(q)
        return self._centre + (self._scale * z if z else 0.0)  # an infinite scale has its median all the same

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        return self._centre + self._scale * self._draw(np.random.default_rng(rng), shape_of_draws(size))


class StudentLaw(NormalLaw):
    """centre + scale * t with `df` degrees of freedom. An infinite scale knows nothing."""

    def __init__(self, centre: float, scale: float, df: float, method: str = "delta") -> None:
        super().__init__(centre, scale, method)
        self._df = float(df)

    def _std(self) -> float:
        if self._scale == 0 or self._df > 2:
            return self._scale * math.sqrt(self._df / (self._df - 2)) if self._scale else 0.0
        return math.inf

    def _below(self, z: float) -> float:
        return float(stdtr(self._df, z))

    def _density(self, z: float) -> float:
        log_norm = -0.5 * math.log(self._df) - float(betaln(0.5, self._df / 2))
        return math.exp(log_norm - 0.5 * (self._df + 1) * math.log1p(z * z / self._df))

    def _quantile(self, q: float) -> float:
        return float(stdtrit(self._df, q))

    def _draw(self, rng: RNG, size: Any) -> Any:
        return rng.standard_t(self._df, size)


# square roots --------------------------------------------------------------------------------------

_LOWEST = 1e-50  # of the root of the mean: the density is that at this place for all that is smaller


class LawWithRoot(Law):
    """A distribution of values that are nowhere negative."""

    @abstractmethod
    def root_deficit(self) -> float:
        """sqrt(E Q) - E sqrt(Q) of the value Q."""

    def root(self) -> SquareRoot:
        """The distribution of the square root."""
        return SquareRoot(self)


class SquareRoot(Law):
    """Distribution of sqrt(Q), given that of Q: P(sqrt Q <= x) = P(Q <= x^2).

    With mu = E Q and the deficit sqrt(mu) - E sqrt(Q) >= 0, Var sqrt(Q) = deficit (2 sqrt(mu) - deficit). So a distribution
    that finds this deficit without cancellation has mean and variance of its root, however small the label errors are.
    """

    def __init__(self, square: LawWithRoot) -> None:
        self.square, self.method = square, square.method
        low, high = square.support
        self.support = (math.sqrt(max(low, 0.0)), math.sqrt(high))

    @property
    def error(self) -> float:
        """By how much probabilities may err, if the square says it."""
        return self.square.error  # type: ignore[attr-defined]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        size, deficit = math.sqrt(self.square.mean), self.square.root_deficit()
        return size - deficit, deficit * (2.0 * size - deficit)

    def _cdf(self, x: float) -> float:
        return float(self.square.cdf(x * x))

    def _sf(self, x: float) -> float:
        return float(self.square.sf(x * x))

    def _pdf(self, x: float) -> float:
        if self.support[0] == self.support[1]:
            return math.inf
        x = max(x, _LOWEST * math.sqrt(self.square.mean))
        return 2.0 * x * float(self.square.pdf(x * x))

    def _ppf(self, q: float) -> float:
        return math.sqrt(self.square.ppf(q))
