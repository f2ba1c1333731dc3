"""A forecast: for each label a distribution. What all have in common, and a forecast seen through label errors.

A forecast claims the true value behind a label, or the label itself, error and all (`claims`). A forecast of the truth that
is right looks too narrow on labels with errors; `seen_through` says what it implies for the label.

Arguments `x`, `y` and `q` have shape (..., n), one column for each label, as in `errors`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors import MeasurementError
from scorebars.errors.normal import error_model
from scorebars.errors.per_label import PerLabel
from scorebars.forecasts.tabulated import Distances
from scorebars.numerics.integration import Measures, Panels, gauss_kronrod, halve_until_settled

Claims = Literal["truth", "label"]


def check_claims(claims: str) -> Claims:
    """`claims` as one of the two things that a forecast can speak of."""
    if claims not in ("truth", "label"):
        raise ValueError(
            "claims must be 'truth' (the forecast speaks of the true value behind the label) or 'label' (of the label with "
            f"its error, as a model does that was fitted to noisy labels and gives its full spread), got {claims!r}."
        )
    return claims  # type: ignore[return-value]


class Ends(NamedTuple):
    """An interval for each label."""

    lower: FloatArray
    upper: FloatArray


class EstimatedSpread(NamedTuple):
    """The variance of each forecast's error is factor * v + added, where v is known by a sample variance only."""

    variances: FloatArray
    """Sample variances of v."""
    degrees: float
    """Degrees of freedom of each."""
    factor: float
    added: FloatArray


class Forecast(PerLabel, ABC):
    """What a model says of each of n labels: a distribution.

    As an array a forecast is its mean, so that metrics of point predictions take it too.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> forecast = sb.NormalForecast([1.0, 2.0], [0.5, 1.0])
    >>> isinstance(forecast, sb.Forecast), np.asarray(forecast).tolist(), forecast.std.tolist()
    (True, [1.0, 2.0], [0.5, 1.0])
    """

    common: ClassVar[tuple[str, ...]] = ("claims", "unit")
    """Names of the attributes that all labels share."""

    kept: ClassVar[tuple[str, ...]] = ()
    """Names of what is found once and has a row for each label: a subset takes it along."""

    claims: Claims = "truth"
    """Whether the forecast speaks of the "truth" behind a label or of the "label"."""

    unit: Any = None
    """The unit of the values, where they brought one."""

    # like an array of n entries ----------------------------------------------------------------

    def __len__(self) -> int:
        return len(getattr(self, self.per_label[0]))

    @property
    def n(self) -> int:
        """How many labels are forecast."""
        return len(self)

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``, by which other libraries know what to split along with the labels."""
        return (len(self),)

    ndim: ClassVar[int] = 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.mean, dtype=dtype)

    def _part(self, index: Any) -> Self:
        part, found = super()._part(index), vars(self)
        vars(part).update({name: found[name][index] for name in self.kept if name in found})
        return part

    def __iter__(self) -> Iterator[Self]:
        return (self[k] for k in range(len(self)))

    def copy(self) -> Self:
        """The same forecasts in arrays of their own."""
        return self._changed(**{name: np.array(getattr(self, name)) for name in self.per_label})

    def joined(self, other: Self) -> Self:
        """These forecasts, then those of more labels."""
        if type(other) is not type(self) or any(
            not np.array_equal(getattr(self, name), getattr(other, name)) for name in self.common
        ):
            raise ValueError(f"{self!r} and {other!r} are forecasts of different kinds: they cannot be joined.")
        return self._changed(
            **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.per_label}
        )

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays that hold an entry for each label."""
        return [getattr(self, name) for name in self.per_label]

    @property
    def numbers_per_label(self) -> int:
        """How many numbers each label holds (or costs as much as): labels with many are taken in smaller blocks."""
        return sum(array.size for array in self.arrays()) // max(len(self), 1)

    def claiming(self, claims: str) -> Self:
        """The same distributions as forecasts of the "truth" or of the "label"."""
        return self._changed(claims=check_claims(claims))

    def require_valid(self, argument: str = "forecast") -> None:
        """Refuse values that were not checked when the forecast was made."""
        for array in self.arrays():
            checks.require_finite(array, argument)

    def require_size(self, n: int, argument: str = "forecast") -> None:
        """Refuse a forecast of another number of labels."""
        if len(self) != n:
            raise ValueError(
                f"{argument} and y_true have inconsistent numbers of samples: {argument} is of {len(self)} labels, y_true "
                f"has {n}. Each label needs its own forecast."
            )

    def __repr__(self) -> str:
        claims = "" if self.claims == "truth" else f", claims={self.claims!r}"
        return f"{type(self).__name__}({self._shown()}{claims})"

    def _shown(self) -> str:
        return f"<{len(self)} labels>"

    # units -------------------------------------------------------------------------------------

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The forecasts of the labels multiplied by `factor` > 0."""

    def to_value(self, unit: Any) -> Self:
        """The forecast in this unit, as plain numbers."""
        factor = 1.0 if self.unit is None else float(self.unit.to(unit))
        return self.scaled(factor)._changed(unit=None)

    # the distribution --------------------------------------------------------------------------

    @property
    @abstractmethod
    def mean(self) -> FloatArray:
        """Mean of each forecast, (n,)."""

    @property
    @abstractmethod
    def std(self) -> FloatArray:
        """Standard deviation of each forecast, (n,)."""

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """P(value <= x)."""

    def sf(self, x: FloatArray) -> FloatArray:
        """P(value > x)."""
        return 1.0 - self.cdf(x)

    def below(self, x: FloatArray) -> FloatArray:
        """P(value < x): differs from `cdf` where a single value has probability."""
        return self.cdf(np.nextafter(x, -math.inf))

    @abstractmethod
    def ppf(self, q: FloatArray | float) -> FloatArray:
        """The value that is not exceeded with probability q; a single q serves all labels."""

    @property
    def width_of_middle(self) -> FloatArray:
        """The standard deviation of each forecast, or where some have none the distance between the quartiles of each."""
        std = self.std
        return std if np.all(np.isfinite(std)) else self.ppf(0.75) - self.ppf(0.25)

    def interval(self, level: float = 0.95) -> Ends:
        """The central interval of each label that holds the value with probability `level`."""
        tail = (1.0 - checks.probability(level, "level")) / 2
        return Ends(self.ppf(tail), self.ppf(1.0 - tail))

    def pdf(self, x: FloatArray) -> FloatArray:
        """Density at x."""
        return np.exp(-self.log_score(x))

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draws, shape (size, n)."""
        return self.ppf(rng.random((size, len(self))))

    def knots(self) -> FloatArray | None:
        """Values (k, n) at which scores of the forecast bend or jump; None where they are smooth."""
        return None

    # scores ------------------------------------------------------------------------------------

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        """The continuous ranked probability score of the labels y: the integral of (F(x) - [x >= y])^2 over x."""
        return crps_by_integral(self, y)

    def log_score(self, y: FloatArray) -> FloatArray:
        """Minus the logarithm of the density at y."""
        raise ValueError(self.no_density())

    @property
    def has_density(self) -> bool:
        """Whether there is a log score."""
        return type(self).log_score is not Forecast.log_score

    def no_density(self) -> str:
        """Why the forecast has no density, and what to do."""
        return f"{type(self).__name__} has no density."

    # seen through label errors -----------------------------------------------------------------

    def seen_through(self, yerr: Any) -> Forecast:
        r"""What this forecast of the truth implies for labels with these errors: a forecast that claims the label.

        Parameters
        ----------
        yerr : number, (n,), (2, n) or error model
            The errors of the labels, as the metrics take them.

        Notes
        -----
        A forecast :math:`F` of the truth and a label :math:`y = t + e` give the label the distribution
        :math:`P(y \le x) = \int P(y \le x \mid t)\,dF(t)`. A normal forecast and normal errors give
        :math:`N(m, v + \sigma^2)`.

        Examples
        --------
        >>> import scorebars as sb
        >>> sb.NormalForecast([1.0, 2.0], 0.3).seen_through(0.4).std
        array([0.5, 0.5])
        """
        if self.claims == "label":
            raise ValueError(
                "this forecast claims the label already: its spread holds the label error. Use it as it is."
            )
        errors = error_model(yerr, (len(self),))
        if errors.kind == "berkson":
            raise ValueError(
                "under Berkson error (truth = label + error) a forecast of the truth does not tell how the label scatters "
                "about it: there is nothing to see it through. Score it against the truth as it is."
            )
        return self._seen(errors.label_level())

    def _seen(self, errors: MeasurementError) -> Forecast:
        return SeenForecast(self, errors)

    # is it right? ------------------------------------------------------------------------------

    @property
    def error_variance(self) -> FloatArray:
        """Mean squared distance of the value from `mean` if the forecast is right."""
        return np.square(self.std)

    @property
    def estimated_spread(self) -> EstimatedSpread | None:
        """Where the spread is itself an estimate: what it was found from. None where it is as the forecast says."""
        return None

    def pit(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Probability integral transform of the values y: uniform if the forecast is right.

        Where single values have probability, a place between F(y-) and F(y) is drawn.
        """
        return _drawn_inside(self, y, rng)

    def pit_through(self, errors: MeasurementError, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The same for labels y with these errors."""
        return _drawn_inside(self._seen(errors), y, rng)

    def pit_note(self) -> str:
        """What to know about `pit`; empty where there is nothing."""
        return ""

    def expectation(self, function: Callable[[FloatArray], FloatArray], knots: FloatArray | None = None) -> FloatArray:
        """Mean of a function over the forecast: function(t) takes values t of shape (k, n).

        By quadrature over z, the normal score of the value's quantile. The function may bend at `knots` (j, n).
        """
        edges = np.broadcast_to(_EDGES[:, None], (len(_EDGES), len(self)))
        if knots is not None:
            with np.errstate(divide="ignore"):
                edges = np.sort(np.concatenate([edges, np.clip(ndtri(self.cdf(knots)), *_EDGES[[0, -1]])]), axis=0)
        low, half = edges[:-1], 0.5 * np.diff(edges, axis=0)
        total = np.zeros(len(self))
        for a, h in zip(low, half, strict=True):
            if not np.any(h > 0):
                continue
            z = a + h + _NODES[:, None] * h
            with np.errstate(under="ignore"):
                mass = _WEIGHTS[:, None] * h * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            total += np.sum(mass * function(self.at_score(z)), axis=0)
        return total

    def at_score(self, z: FloatArray) -> FloatArray:
        """The value at the normal score z: not exceeded with the probability Phi(z)."""
        return self.ppf(ndtr(z))


_EDGES = np.array([-8.2, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.2])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _drawn_inside(forecast: Forecast, y: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A place between P(value < y) and P(value <= y)."""
    below, upto = forecast.below(y), forecast.cdf(y)
    return np.asarray(below + rng.random(len(forecast)) * (upto - below))


# any forecast with a cdf ---------------------------------------------------------------------------

_FAR = 40.0
"""x = centre + width sinh(u) is looked at for |u| up to this."""
_TOLERANCE = 1e-13
_DEEPEST = 40
_TOGETHER = 4096
"""Scores that are integrated together."""
_SMALLEST = 1e-300
"""What stands for a truth at or below 0 where labels cannot be."""


def crps_by_integral(forecast: Forecast, y: FloatArray) -> FloatArray:
    """The integral of (F(x) - [x >= y])^2 over x, for y of shape (..., n)."""
    y = np.asarray(y, dtype=np.float64)
    flat, label = y.reshape(-1), np.broadcast_to(np.arange(len(forecast)), y.shape).reshape(-1)
    centre, width = forecast.ppf(0.5), forecast.width_of_middle
    out = np.empty(flat.size)
    for start in range(0, flat.size, _TOGETHER):
        part = slice(start, start + _TOGETHER)
        out[part] = _some_crps(forecast, flat[part], label[part], centre, width)
    return out.reshape(y.shape)


def _some_crps(forecast: Forecast, y: FloatArray, label: Any, centre: FloatArray, width: FloatArray) -> FloatArray:
    c, w = centre[label], np.where(width[label] > 0, width[label], 1.0)
    cut = np.clip(np.arcsinh((y - c) / w), -_FAR, _FAR)
    marks = np.broadcast_to(np.array([[-_FAR], [-3.0], [-1.0], [0.0], [1.0], [3.0], [_FAR]]), (7, len(y)))
    knots = forecast.knots()
    rows = [marks, cut[None]]
    if knots is not None:
        rows.append(np.clip(np.arcsinh((knots[:, label] - c) / w), -_FAR, _FAR))
    edges = np.sort(np.concatenate(rows), axis=0)
    low, high = edges[:-1].reshape(-1), edges[1:].reshape(-1)
    which = np.broadcast_to(np.arange(len(y)), (len(edges) - 1, len(y))).reshape(-1)
    panels = Panels(which, low, high, np.full((1, low.size), np.inf))[high > low]
    total = np.zeros(len(y))

    def measure(panels: Panels) -> Measures:
        u, half = panels.points()
        k = panels.label
        x = c[k] + w[k] * np.sinh(u)
        chosen = forecast[label[k]]
        gap = np.where(u < cut[k], chosen.cdf(x), chosen.sf(x))
        with np.errstate(over="ignore", under="ignore"):
            return gauss_kronrod((gap * gap * w[k] * np.cosh(u) * half)[None])

    def settled(generation: int, panels: Panels, measures: Measures) -> BoolArray:
        value, _, error = (m[0] for m in measures)
        done = error <= _TOLERANCE * (w[panels.label] + value)
        if generation >= _DEEPEST:
            done[:] = True
        np.add.at(total, panels.label[done], value[done])
        return done

    halve_until_settled(panels, measure, settled)
    return total


_FOUR, _FOUR_WEIGHTS = np.polynomial.legendre.leggauss(4)
_FINE = (np.arange(-8.125, 8.25, 0.25)[:, None] + 0.125 * _FOUR).reshape(-1)
"""Normal scores of truths that stand for all, and their probabilities."""
_FINE_WEIGHTS = np.tile(0.125 * _FOUR_WEIGHTS, len(_FINE) // 4) * np.exp(-0.5 * _FINE**2) / math.sqrt(2 * math.pi)
_NARROW = 0.1
"""Errors below this part of a forecast's spread are narrower than the steps between these."""
_STEPS = np.sinh(np.linspace(-5.0, 5.0, 201)) / 2
"""Nodes of a table, in standard deviations."""


class SeenForecast(Forecast):
    """A forecast of the truth as it implies the label: label = truth + error."""

    per_label = ("forecast", "errors")
    kept = ("_distances",)

    def __init__(self, forecast: Forecast, errors: MeasurementError) -> None:
        self.forecast, self.errors, self.claims, self.unit = forecast, errors, "label", forecast.unit

    def copy(self) -> Self:
        return type(self)(self.forecast.copy(), self.errors[np.arange(len(self))])

    def joined(self, other: Self) -> Self:
        raise ValueError("forecasts seen through label errors cannot be joined: join the forecasts, then see through.")

    def arrays(self) -> list[NDArray[Any]]:
        held = (value for value in vars(self.errors).values() if isinstance(value, np.ndarray))
        return [*self.forecast.arrays(), *held]

    @property
    def numbers_per_label(self) -> int:
        """Each label costs as much as many numbers."""
        return 64

    def scaled(self, factor: float) -> Self:
        return type(self)(self.forecast.scaled(factor), self.errors.scaled(factor))

    def to_value(self, unit: Any) -> Self:
        return type(self)(self.forecast.to_value(unit), self.errors)

    def _shown(self) -> str:
        return f"{self.forecast!r}, {self.errors!r}"

    @property
    def error_variance(self) -> FloatArray:
        return self.forecast.error_variance + self.added_variance

    @property
    def estimated_spread(self) -> EstimatedSpread | None:
        inner = self.forecast.estimated_spread
        return None if inner is None else inner._replace(added=inner.added + self.added_variance)

    def pit(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.forecast.pit_through(self.errors, y, rng)

    def pit_through(self, errors: MeasurementError, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        raise ValueError("this forecast is seen through label errors already.")

    def pit_note(self) -> str:
        return self.forecast.pit_note()

    @cached_property
    def _draws(self) -> tuple[FloatArray, FloatArray] | None:
        """Errors (k, n) and their probabilities, where the model holds draws; None where it has a formula."""
        label = np.zeros(len(self))  # draws lie where they are
        drawn = self.errors.draws(label)
        return None if drawn is None else (drawn[0] - self.errors.mean(label), drawn[1])

    @cached_property
    def mean(self) -> FloatArray:
        if self._draws is not None or self.errors.normal is not None:
            return self.forecast.mean
        return self.forecast.expectation(lambda t: self.errors.mean(self._possible(t)))

    @cached_property
    def added_variance(self) -> FloatArray:
        """What the label errors add to the variance of the forecast."""
        if self._draws is not None:
            errors, probabilities = self._draws
            return np.asarray(np.sum(probabilities * np.square(errors), axis=0))
        if self.errors.normal is not None:
            return np.array(np.broadcast_to(np.square(self.errors.normal.total), (len(self),)))
        model, centre, about = self.errors, self.forecast.mean, self.mean

        def added(t: FloatArray) -> FloatArray:
            t = self._possible(t)
            return np.asarray(model.variance(t) + np.square(model.mean(t) - about) - np.square(t - centre))

        with np.errstate(invalid="ignore"):
            return np.maximum(self.forecast.expectation(added), 0.0)

    @cached_property
    def std(self) -> FloatArray:
        return np.sqrt(np.square(self.forecast.std) + self.added_variance)

    def _possible(self, truth: FloatArray) -> FloatArray:
        return np.maximum(truth, _SMALLEST) if self.errors.non_negative else truth

    def _chance(self, x: FloatArray, name: str) -> FloatArray:
        """Mean over the truth of a probability or density of the label at x, for each x."""
        x = np.asarray(x, dtype=np.float64)
        rows = np.broadcast_to(x, np.broadcast_shapes(x.shape, (len(self),))).reshape(-1, len(self))
        one = self._over_draws if self._draws is not None else self._over_truth
        return np.array([one(row, name) for row in rows]).reshape(*x.shape[:-1], len(self))

    def _over_draws(self, x: FloatArray, name: str) -> FloatArray:
        assert self._draws is not None
        errors, probabilities = self._draws
        return np.asarray(np.sum(probabilities * getattr(self.forecast, name)(x - errors), axis=0))

    def _over_truth(self, x: FloatArray, name: str) -> FloatArray:
        function, knots = getattr(self.errors, name), x - self.errors.kinks(len(self))
        return self.forecast.expectation(lambda t: function(self._possible(t), x), knots)

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        """From a table for each label, to about 1e-6 of its spread; by the integral where no table holds it."""
        if self.errors.discrete or not np.all(np.isfinite(self.std)):
            return crps_by_integral(self, y)
        return self._distances.crps(y)

    def _at_nodes(self, x: FloatArray) -> list[FloatArray]:
        """P(label <= x), P(label > x) and the density at x (k, n): over truths at fixed quantiles, unless errors are narrow."""
        narrow = self.errors.error_bar(self.forecast.mean) < _NARROW * self.forecast.std
        if self._draws is not None or narrow.any() or type(self.forecast).expectation is not Forecast.expectation:
            return [self.cdf(x), self.sf(x), self.pdf(x)]
        truth = self._possible(self.forecast.at_score(np.broadcast_to(_FINE[:, None], (len(_FINE), len(self)))))
        functions = (self.errors.cdf, self.errors.sf, self.errors.pdf)
        return [np.array([_FINE_WEIGHTS @ function(truth, row) for row in x]) for function in functions]

    @cached_property
    def _distances(self) -> Distances:
        x = self.mean + np.multiply.outer(_STEPS, np.where(self.std > 0, self.std, 1.0))
        below, above, density = self._at_nodes(x)
        h, least = np.diff(x, axis=0), np.zeros((1, len(self)))
        # integrals of F between the nodes by values and slopes at both ends
        steps = h / 2 * (below[1:] + below[:-1]) + h * h / 12 * (density[:-1] - density[1:])
        under = np.concatenate([least, np.cumsum(steps, axis=0)])
        distance = self.mean - x + 2.0 * under
        both, slope = below * above, density * (above - below)
        spread = np.sum(h / 2 * (both[1:] + both[:-1]) + h * h / 12 * (slope[:-1] - slope[1:]), axis=0)
        return Distances(x.T.copy(), distance.T.copy(), (below - above).T.copy(), 2.0 * density.T, self.mean, spread)

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.clip(self._chance(x, "cdf"), 0.0, 1.0)

    def sf(self, x: FloatArray) -> FloatArray:
        return np.clip(self._chance(x, "sf"), 0.0, 1.0)

    def below(self, x: FloatArray) -> FloatArray:
        return np.clip(self._chance(x, "below"), 0.0, 1.0)

    def pdf(self, x: FloatArray) -> FloatArray:
        return self._chance(x, "pdf")

    def log_score(self, y: FloatArray) -> FloatArray:
        if self.errors.discrete and self._draws is None:
            raise ValueError(self.no_density())
        with np.errstate(divide="ignore"):
            return -np.log(self.pdf(y))

    def no_density(self) -> str:
        return f"labels with {self.errors!r} errors take single values: the forecast of a label has no density."

    def ppf(self, q: FloatArray | float) -> FloatArray:
        """By bisection, between values that are far enough out."""
        q = np.broadcast_to(np.asarray(q, dtype=np.float64), np.broadcast_shapes(np.shape(q), (len(self),)))
        centre, reach = self.forecast.ppf(0.5), self.forecast.width_of_middle
        reach = np.where(reach > 0, reach, 1.0)
        low, high = (np.broadcast_to(centre + side * reach, q.shape).copy() for side in (-1.0, 1.0))
        for _ in range(60):
            short, long = self.cdf(low) >= q, self.cdf(high) < q
            if not (np.any(short) or np.any(long)):
                break
            low, high = np.where(short, low - 2.0 * (high - low), low), np.where(long, high + 2.0 * (high - low), high)
        for _ in range(80):
            middle = 0.5 * (low + high)
            if np.all((middle == low) | (middle == high)):
                break
            under = self.cdf(middle) < q
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return high
