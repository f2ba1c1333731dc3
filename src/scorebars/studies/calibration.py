"""Are a forecast's error bars right? Judged with the errors of the labels allowed for."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.special import chdtr, chdtrc, ndtr, ndtri

from scorebars import checks, tables
from scorebars._shared.score_views import counted, left_out, number, rounded
from scorebars._shared.shown import Shown, Table, View
from scorebars.answers.intervals import IntervalAt, Symmetric, half_width_in_std
from scorebars.answers.means.intrinsic_scatter import most_likely
from scorebars.answers.score import ONE_SIGMA, Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.evaluation.study_data import error_columns
from scorebars.forecasts import Forecast, NormalForecast
from scorebars.laws.law import Law
from scorebars.laws.samples import SampleLaw
from scorebars.metrics.forecast_inputs import forecast_data
from scorebars.moments.extra_variance import in_own_units
from scorebars.moments.uncertain_spreads import NO_SCATTER, PossibleVariances, UncertainScatter, claimed_variances

_SEED = 20_261_116
"""Of the draws that break ties: with the labels in it the same data give the same digits, and other data other draws."""
_DOUBT = 0.015
"""A calibrated forecast shows the smallest of the four p-values below this in 5 % of all cases, whatever n."""
_ALONE = 0.05
"""Below this a p-value would speak against a forecast if it were the only one; intervals of 95 % are shown."""
_MOST_CORRELATED = 4_000
"""Correlated label errors are taken apart up to this many labels: it needs an n x n matrix."""
_AREAS, _LONGEST = 4_000, 500
"""Draws of the miscalibration area, and the labels in each: with more labels the area shrinks as 1/sqrt(n)."""
_FEWEST_IN_BIN = 10
_MOST_BINS = 10
_SMALLEST = 1e-300
"""The smallest truth of a family without negative ones."""
_FEW = 10
"""With fewer labels only gross faults show."""


class _SpreadTest(NamedTuple):
    pvalue: float
    narrow: bool
    """Whether labels lie farther from the forecasts than these allow."""


class CoverageCurve(NamedTuple):
    """Nominal against found coverage of central intervals, with the band that a calibrated forecast stays in."""

    nominal: FloatArray
    found: FloatArray
    """Share of the labels inside the central interval of each level."""
    low: FloatArray
    high: FloatArray


class SpreadBin(NamedTuple):
    """Labels of similar spread: what the forecast says of its error, and what was found."""

    n: int
    spread: float
    """Root mean squared spread of the forecasts."""
    error: float
    """Root mean squared error against the truth: the label variance is taken out."""
    low: float
    high: float
    """Its 95 % interval."""
    naive: float
    """The same with the label variance left in."""


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(Shown):
    """What labels with errors say of a forecast's error bars.

    Attributes
    ----------
    n : number of labels
    pit : (n,) probability integral transform of the labels, label errors allowed for: uniform if the forecast is right
    spread_factor : Estimate of the factor by which the forecast's spread must be multiplied; above 1 its error bars are
        too small. A bias counts as spread here
    spread_factor_without_bias : the same with a common bias fitted along and taken out
    bias : Estimate of the mean of forecast - label, positive where forecasts are too high
    chi_squared : mean squared residual in units of spread and label error together; 1 on average if both are right
    sharpness : mean standard deviation of the forecasts
    miscalibration_area : area between found and nominal coverage; `area_if_calibrated` is its distribution for a
        calibrated forecast, `area_pvalue` how often that shows at least this area
    pvalues : of "bias", "spread", "shape" and "coverage", each exact for a calibrated forecast
    calibrated : whether nothing speaks against the forecast. A calibrated one is called so in 95 % of all cases
    verdict : the same in a sentence
    naive : the Calibration that ignores the label errors
    notes : what to know about how this was found

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> truth, spread = rng.normal(0, 2, 200), np.full(200, 0.8)
    >>> mean, y = truth + 0.8 * rng.normal(size=200), truth + 0.5 * rng.normal(size=200)
    >>> found = sb.calibration(y, (mean, spread), yerr=0.5)
    >>> found.calibrated, found.naive.calibrated
    (True, False)
    """

    _y: FloatArray
    _forecast: Forecast
    _errors: MeasurementError | None = None
    """Of the labels; None where they are exact, ignored, or inside the forecast."""
    omitted: int = 0
    unit: str = ""
    _said: tuple[str, ...] = field(default=())

    @property
    def n(self) -> int:
        return len(self._y)

    # what enters -------------------------------------------------------------------------------

    @cached_property
    def _correlated(self) -> bool:
        return self._errors is not None and not self._errors.independent

    @cached_property
    def _level(self) -> MeasurementError | None:
        """Errors of the labels at hand, the means of their repeats."""
        return None if self._errors is None else self._errors.label_level()

    @cached_property
    def _residual(self) -> FloatArray:
        """Forecast - label; asymmetric label errors shift what a right forecast shows."""
        return self._shown_mean - self._y

    @cached_property
    def _shown_mean(self) -> FloatArray:
        errors = self._level
        if errors is None or errors.normal is not None or not errors.follows_label:
            return self._forecast.mean
        return self._forecast.expectation(lambda t: errors.mean(_possible(errors, t)))

    @cached_property
    def _spread2(self) -> FloatArray:
        """Squared error that the forecasts claim."""
        told = self._possible_spreads
        return self._forecast.error_variance if told is None else told.mean

    @cached_property
    def _possible_spreads(self) -> PossibleVariances | None:
        """The squared errors that few members may claim; None where the spread of the forecasts is as they say."""
        return claimed_variances(self._forecast)

    @cached_property
    def _noise2(self) -> FloatArray:
        """What the label errors add to it."""
        errors = self._level
        if errors is None:
            return np.zeros(self.n)
        if errors.normal is not None:
            return np.broadcast_to(np.square(errors.normal.total), (self.n,)).astype(np.float64)
        if not errors.follows_label:
            return errors.label_variance(self._y)
        centre, shown = self._forecast.mean, self._shown_mean

        def added(t: FloatArray) -> FloatArray:
            t = _possible(errors, t)
            return np.asarray(errors.variance(t) + np.square(errors.mean(t) - shown) - np.square(t - centre))

        with np.errstate(invalid="ignore"):
            return np.maximum(self._forecast.expectation(added), 0.0)

    @cached_property
    def _scale(self) -> FloatArray:
        """Spread of each forecast, where residuals can be measured in it."""
        if not np.all(np.isfinite(self._spread2)) or not np.all(np.isfinite(self._noise2)):
            raise UndefinedEstimate(
                "the spread factor and the bias need forecasts and label errors with a finite variance. pit and verdict do "
                "without."
            )
        flat = self._spread2 <= 0
        if flat.any():
            first = int(np.argmax(flat))
            raise UndefinedEstimate(
                f"{int(flat.sum())} of the {self.n} forecasts have no spread (the first at index {first}), so no factor on "
                "it explains the residuals. pit and verdict do without."
            )
        return np.sqrt(self._spread2)

    @cached_property
    def _turned(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Residuals, label variances and offsets in units of the spread; correlated ones turned until independent."""
        s = self._scale
        d, x = self._residual / s, 1.0 / s
        if not self._correlated:
            return d, self._noise2 / self._spread2, x
        values, vectors = self._axes
        return vectors.T @ d, values, vectors.T @ x

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Principal axes of the label errors in units of the spread."""
        assert self._level is not None and self._level.normal is not None
        s, normal = self._scale, self._level.normal
        if normal.cov is not None:
            cov = normal.cov / np.outer(s, s)
        else:
            if normal.batch is not None and normal.batch_shift is not None:
                own = normal.batch_shift / s
                cov = np.where(np.equal.outer(normal.batch, normal.batch), np.outer(own, own), 0.0)
            else:
                assert normal.shared is not None
                rows = normal.shared / s
                cov = rows.T @ rows
            np.einsum("ii->i", cov)[:] += np.square(np.broadcast_to(normal.sigma, s.shape) / s)
        values, vectors = eigh(cov, overwrite_a=True, check_finite=False)
        return np.maximum(values, 0.0), vectors

    # the answers -------------------------------------------------------------------------------

    @cached_property
    def pit(self) -> FloatArray:
        """Probability integral transform: uniform if forecast and label errors are right."""
        if self._correlated:
            return np.asarray(ndtr(self._normal_scores))
        rng = np.random.default_rng((_SEED, crc32(np.ascontiguousarray(self._y).tobytes())))
        if self._errors is None:
            return self._forecast.pit(self._y, rng)
        return self._forecast.pit_through(self._errors.around_truth(), self._y, rng)

    @cached_property
    def _normal_scores(self) -> FloatArray:
        """The PIT as a standard normal variable. Correlated label errors: residuals made independent of each other."""
        if self._correlated:
            values, vectors = self._axes
            return -(vectors @ (self._turned[0] / np.sqrt(1.0 + values)))
        return np.asarray(ndtri(np.clip(self.pit, 1e-300, 1.0 - 1e-16)))

    @cached_property
    def spread_factor(self) -> Estimate:
        """By which factor must the forecast's spread be multiplied? A bias counts as spread."""
        return self._factor(offset=False)

    @cached_property
    def spread_factor_without_bias(self) -> Estimate:
        """The same with a common bias fitted along and taken out."""
        if self.n < 2:
            raise UndefinedEstimate("one label cannot tell bias from spread.")
        return self._factor(offset=True)

    def _factor(self, offset: bool) -> Estimate:
        if self._possible_spreads is not None:
            return self._told_factor(self._possible_spreads, offset)
        d, noise2, x = self._turned
        scatter, unit = in_own_units(d, np.sqrt(noise2), None, offset=False)
        scatter = replace(scatter, as_seen=True)  # the forecast claims a shape
        if offset:
            scatter = replace(scatter, offset=True, restricted=True, x=x / float(np.max(np.abs(x))))
        found = most_likely(scatter, unit)
        return self._factor_of(float(found), found.std, found.interval, offset)

    def _factor_of(
        self, value: float, std: float | Callable[[], float], interval: IntervalAt, offset: bool
    ) -> Estimate:
        note = "the residuals are no larger than the label errors alone would make them" if value == 0 else ""
        ends = partial(self._agreeing, value, interval, offset)
        return Estimate(value, std, method="ml", note=note, interval=ends, total_interval=ends, sampled=True)

    def _agreeing(self, value: float, interval: IntervalAt, offset: bool, level: float) -> Interval:
        """The interval of a factor, which holds 1 if the exact test of the spread does not object, and not if the verdict does.

        Below 95 % it is that of the likelihood alone: the verdict does not ask for less.
        """
        (low, high), test = interval(level), self._spread_test(offset)
        if level < 1.0 - _ALONE:
            return Interval(low, high)
        if test.pvalue >= 1.0 - level:
            return Interval(min(low, 1.0), max(high, 1.0))
        if test.pvalue < _DOUBT and test.narrow and value > 1:
            return Interval(max(low, math.nextafter(1.0, 2.0)), high)
        if test.pvalue < _DOUBT and not test.narrow and value < 1:
            return Interval(low, min(high, math.nextafter(1.0, 0.0)))
        return Interval(low, high)

    def _told_factor(self, told: PossibleVariances, offset: bool) -> Estimate:
        """Of ensembles, whose spreads are uncertain themselves."""
        unit2, forecast = float(np.mean(np.square(self._scale))), self._forecast.told_spread
        assert forecast is not None
        d, noise2 = self._residual / math.sqrt(unit2), self._noise2 / unit2
        exact = d[noise2 == 0]
        if len(exact) and not np.any(exact != (exact[0] if offset else 0.0)):
            return self._factor_of(0.0, 0.0, Symmetric(0.0, 0.0), offset)  # labels without error that are met exactly
        scatter = UncertainScatter(d, told.values / unit2, noise2, offset)
        x, top = scatter.best()
        # spreads that are known from each other err together, as much as all members do
        share = float(np.mean(np.square(self._spread2 / (self._spread2 + self._noise2))))
        interval = partial(_within_drop, scatter, x, top, 1.0 + told.common * share / forecast.degrees)
        value = 0.0 if x == NO_SCATTER else math.exp(x / 2)
        return self._factor_of(value, partial(_one_sigma, interval, value), interval, offset)

    @cached_property
    def bias(self) -> Estimate:
        """How much too high are the forecasts, on average?"""
        if self.n < 2:
            raise UndefinedEstimate("one label cannot tell bias from spread.")
        d, noise2, x = self._turned
        try:
            factor = float(self.spread_factor_without_bias)
        except UndefinedEstimate:
            factor = 1.0
        variance = factor**2 + noise2
        if not float(variance.min()) > 0:
            variance = 1.0 + noise2
        weight = float(np.sum(x * x / variance))
        value = float(np.sum(x * d / variance)) / weight
        scatter = float(np.sum(np.square(d - value * x) / variance)) / (self.n - 1)
        std = math.sqrt(scatter / weight)
        interval = partial(self._bias_within, Symmetric(value, std, df=self.n - 1))
        return Estimate(value, std, method="weighted mean", interval=interval, total_interval=interval, sampled=True)

    def _bias_within(self, interval: IntervalAt, level: float) -> Interval:
        """With 0, where the exact test of a calibrated forecast sees no bias."""
        low, high = interval(level)
        if level >= 1.0 - _ALONE and self.calibrated and self._bias_pvalue >= 1.0 - level:
            return Interval(min(low, 0.0), max(high, 0.0))
        return Interval(low, high)

    @cached_property
    def chi_squared(self) -> float:
        """Mean squared residual in units of spread and label error together."""
        d, noise2, _ = self._turned
        return float(np.mean(np.square(d) / (1.0 + noise2)))

    @cached_property
    def sharpness(self) -> float:
        """Mean standard deviation of the forecasts."""
        found = float(np.mean(self._forecast.std))
        if not math.isfinite(found):
            raise UndefinedEstimate("these forecasts have no finite standard deviation, so no mean of them.")
        return found

    @cached_property
    def _reached(self) -> FloatArray:
        """The level of the central interval on whose end each label lies, sorted."""
        return np.sort(np.abs(2.0 * self.pit - 1.0))

    @cached_property
    def miscalibration_area(self) -> float:
        """Area between found and nominal coverage of central intervals: 0 at best, 1/2 at worst."""
        return float(_areas(self._reached[None])[0])

    @property
    def area_if_calibrated(self) -> Law:
        """Distribution of the miscalibration area for a calibrated forecast of as many labels, by draws."""
        return _calibrated_areas(self.n)

    @cached_property
    def area_pvalue(self) -> float:
        """How often a calibrated forecast shows at least this area."""
        return max(float(self.area_if_calibrated.sf(self.miscalibration_area)), 1.0 / (_AREAS + 1.0))

    def curve(self, levels: ArrayLike | None = None, *, level: float = 0.95) -> CoverageCurve:
        """Which share of the labels lies inside central intervals of these levels?

        Parameters
        ----------
        levels : sequence of probabilities, optional
            By default 0, 0.01, ... 1.
        level : probability
            With this probability a calibrated forecast stays inside the band from `low` to `high` at all levels at once
            (exact Kolmogorov band).
        """
        nominal = (
            np.linspace(0.0, 1.0, 101) if levels is None else np.asarray(checks.column(levels, "levels"), dtype=float)
        )
        outside = ~((nominal >= 0) & (nominal <= 1))
        if outside.any():
            raise checks.complain("levels", "has values outside [0, 1]", outside, nominal, "Levels are probabilities.")
        found = np.searchsorted(self._reached, nominal, side="right") / self.n
        reach = float(_kolmogorov().ppf(checks.probability(level, "level"), self.n))
        return CoverageCurve(nominal, found, np.maximum(nominal - reach, 0.0), np.minimum(nominal + reach, 1.0))

    def by_spread(self, bins: int | None = None) -> list[SpreadBin]:
        """Is the error larger where the forecast says so? Labels in bins of equal number, by the spread of their forecast.

        The error is that against the truth: the label variance is taken out of the mean squared residual.
        """
        most = max(1, min(_MOST_BINS, self.n // _FEWEST_IN_BIN))
        if bins is not None and not (isinstance(bins, int | np.integer) and 1 <= bins <= self.n):
            raise ValueError(f"bins must be a whole number from 1 to the number of labels, {self.n}, got {bins!r}.")
        spread2 = self._spread2
        self._scale  # noqa: B018  refuses what has no variance
        if bins is None and float(np.ptp(spread2)) <= 1e-12 * float(spread2.max()):
            most = 1
        order = np.argsort(spread2, kind="stable")
        return [self._bin(rows) for rows in np.array_split(order, most if bins is None else int(bins))]

    def _bin(self, rows: Any) -> SpreadBin:
        square = np.square(self._residual[rows])
        found = square - self._noise2[rows]
        mean, count = float(np.mean(found)), len(rows)
        # of normal residuals, and of those at hand where these scatter more
        own = 2.0 * float(np.mean(np.square(np.maximum(mean, 0.0) + self._noise2[rows])))
        std = math.sqrt(max(own, float(np.var(square, ddof=1)) if count > 1 else 0.0) / count)
        low, high = (math.sqrt(max(end, 0.0)) for end in (mean - 1.96 * std, mean + 1.96 * std))
        spread = math.sqrt(float(np.mean(self._spread2[rows])))
        return SpreadBin(count, spread, math.sqrt(max(mean, 0.0)), low, high, math.sqrt(float(np.mean(square))))

    @cached_property
    def normalised_error(self) -> float:
        """Expected normalised calibration error: mean over `by_spread` of ``|error - spread| / spread``."""
        return float(np.mean([abs(one.error - one.spread) / one.spread for one in self.by_spread()]))

    # the verdict -------------------------------------------------------------------------------

    @cached_property
    def _lean(self) -> FloatArray:
        """How normal scores move with a common bias, as a vector of length 1; all alike where there is no variance."""
        if self._asked("_scale") is None:
            return np.full(self.n, 1.0 / math.sqrt(self.n))
        if self._possible_spreads is not None:
            # where members happen to lie close together their label ranks at an end more often: one spread for all, so that
            # ranks do not depend on it
            moved = 1.0 / np.sqrt(float(np.mean(self._spread2)) + self._noise2)
            return np.asarray(moved / math.sqrt(float(moved @ moved)))
        _, noise2, x = self._turned
        moved = x / np.sqrt(1.0 + noise2)
        moved = self._axes[1] @ moved if self._correlated else moved
        return np.asarray(moved / math.sqrt(float(moved @ moved)))

    @cached_property
    def _shown_bias(self) -> float:
        """Bias of the normal scores, a standard normal variable for a calibrated forecast; positive for high labels."""
        return float(self._lean @ self._normal_scores)

    def _spread_test(self, offset: bool) -> _SpreadTest:
        """Of the sum of squared normal scores, less their bias or not: chi-square for a calibrated forecast."""
        removed, n = (self._shown_bias * self._lean, self.n - 1) if offset else (0.0, self.n)
        square = float(np.sum(np.square(self._normal_scores - removed)))
        p = min(1.0, 2.0 * min(float(chdtr(n, square)), float(chdtrc(n, square)))) if n else 1.0
        return _SpreadTest(p, square > n)

    @cached_property
    def _spread(self) -> _SpreadTest:
        """A bias counts as spread unless it is seen as a bias."""
        return self._spread_test(offset=self._bias_pvalue < _DOUBT or self.n < 2)

    @property
    def _bias_pvalue(self) -> float:
        return 2.0 * float(ndtr(-abs(self._shown_bias)))

    @cached_property
    def pvalues(self) -> dict[str, float]:
        """How often a calibrated forecast shows at least this bias, spread, shape of the PIT, and coverage."""
        return {
            "bias": self._bias_pvalue,
            "spread": self._spread.pvalue,
            "shape": float(_kolmogorov().sf(_farthest(np.sort(self.pit)), self.n)),
            "coverage": float(_kolmogorov().sf(_farthest(self._reached), self.n)),
        }

    @property
    def calibrated(self) -> bool:
        """Whether nothing speaks against the forecast: True for a calibrated one in 95 % of all cases."""
        return min(self.pvalues.values()) >= _DOUBT

    @cached_property
    def verdict(self) -> str:
        """What the labels say of the forecast's error bars, in a sentence."""
        wrong = {name for name, p in self.pvalues.items() if p < _DOUBT}
        allowed = ", label errors allowed for" if self._errors is not None else ""
        if not wrong:
            labels = f"these {self.n} labels{', which are few,' if self.n < _FEW else ''} give"
            if self.n == 1:
                labels = "a single label gives"
            if alone := [name for name, right in (("spread", 1.0), ("bias", 0.0)) if not self._may_be(name, right)]:
                would = f"the {' or the '.join(alone)} alone would"
                return f"Calibrated: all in all {labels} no reason to doubt the error bars{allowed}; {would}."
            return f"Calibrated: {labels} no reason to doubt the error bars{allowed}."
        said = []
        if "spread" in wrong:
            said.append(self._spread_words("bias" in wrong) + allowed)
        if "bias" in wrong:
            said.append(self._bias_words() + ("" if said else allowed))
        if not said:
            word = "intervals hold too few or too many labels" if "coverage" in wrong else "the PIT is not uniform"
            said.append(f"the distribution has the wrong shape: {word}, though mean and spread fit" + allowed)
        head = "Not calibrated"
        if "spread" in wrong:
            head = "Over-confident" if self._spread.narrow else "Under-confident"
        elif "bias" in wrong:
            head = "Biased"
        return f"{head}: {'; '.join(said)}."

    def _may_be(self, name: str, right: float) -> bool:
        """Whether the interval that is shown holds what is right."""
        found = self._asked("spread_factor" if name == "spread" else name)
        if found is None:
            return True
        low, high = found.interval(1.0 - _ALONE)
        return bool(low <= right <= high)

    def _spread_words(self, biased: bool) -> str:
        size = "small" if self._spread.narrow else "large"
        try:
            factor = self.spread_factor_without_bias if biased else self.spread_factor
        except UndefinedEstimate:
            return f"the error bars are too {size}"
        low, high = factor.interval(0.95)
        if not self._spread.narrow:
            if high >= 1:
                return "the error bars are too large"
            if factor <= 0 or low <= 0:
                return f"the error bars are too large by a factor of at least {1 / high:.2g}"
            factor, low, high = 1 / factor, 1 / high, 1 / low  # type: ignore[assignment]
        elif low <= 1:
            return "the error bars are too small"
        return f"the error bars are too {size} by a factor of {float(factor):.3g} ({low:.3g} to {high:.3g})"

    def _bias_words(self) -> str:
        up = self._shown_bias < 0
        side = "high" if up else "low"
        try:
            low, high = self.bias.interval(0.95)
        except UndefinedEstimate:
            return f"the forecasts are too {side}"
        if low <= 0 if up else high >= 0:
            return f"the forecasts are too {side}"
        ends = sorted(abs(end) for end in (low, high))
        unit = f" {self.unit}" if self.unit else ""
        return f"the forecasts are too {side} by {abs(self.bias):.3g}{unit} ({ends[0]:.3g} to {ends[1]:.3g})"

    @cached_property
    def naive(self) -> Calibration:
        """What ignoring the label errors would have said: the labels taken as the true values."""
        return self if self._errors is None else replace(self, _errors=None, _said=())

    # what is shown -----------------------------------------------------------------------------

    @cached_property
    def notes(self) -> list[str]:
        """What to know about how this was found."""
        said = list(self._said)
        if self._correlated:
            said.append("label errors are correlated: the PIT is that of residuals made independent of each other.")
        if self._errors is not None and self._errors.estimated:
            said.append(
                "label errors were estimated from repeats: the PIT allows for that, but where labels have fewer than 4 repeats "
                "and errors of their own it is rough. Repeats(..., sigma='pooled') is better where labels share one error."
            )
        if note := self._forecast.pit_note():
            said.append(note)
        return [*said, *([left_out(self.omitted)] if self.omitted else [])]

    def _asked(self, name: str) -> Any:
        """An answer, or None where it does not exist."""
        try:
            return getattr(self, name)
        except UndefinedEstimate:
            return None

    def view(self) -> View:
        """What printing and notebooks show."""
        ignored = self.naive is not self
        cells = [row._replace(naive=other.found) for row, other in zip(self._rows(), self.naive._rows(), strict=True)]
        header = ["", "found", "95 % interval", "if calibrated", *(["label errors ignored"] if ignored else [])]
        tests = ", ".join(f"{name} {p:.2g}" for name, p in self.pvalues.items())
        return View(
            f"calibration of {counted(self.n, 'forecast')}: {self.verdict}",
            [Table(header, [row[: len(header)] for row in cells])],
            notes=[
                f"p-values: {tests} (a calibrated forecast shows one below {_DOUBT} in 5 % of all cases)",
                *([f"label errors ignored: {self.naive.verdict}"] if ignored else []),
                *self.notes,
            ],
        )

    def _rows(self) -> list[_Row]:
        rows = []
        for name, label in (("spread_factor", "spread factor"), ("bias", "bias")):
            found = self._asked(name)
            if found is None:
                rows.append(_Row(label, "-", "", ""))
                continue
            low, high = found.interval(0.95)
            between = f"{rounded(low, found.std)} to {rounded(high, found.std)}"
            rows.append(_Row(label, rounded(float(found), found.std), between, "1" if name == "spread_factor" else "0"))
        curve, area = self.curve([0.68, 0.95]), self.area_if_calibrated
        chi = self._asked("chi_squared")
        rows.append(_Row("reduced chi-squared", number(chi, 3), "", "1"))
        for k, level in enumerate(curve.nominal):
            band = f"{curve.low[k]:.3f} to {curve.high[k]:.3f}"
            rows.append(_Row(f"labels in {100 * level:g} % intervals", f"{curve.found[k]:.3f}", "", band))
        rows.append(_Row("miscalibration area", f"{self.miscalibration_area:.2g}", "", f"about {area.mean:.2g}"))
        return [*rows, _Row("mean spread", number(self._asked("sharpness")), "", "")]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """All numbers under flat names, and the verdict; None where something does not exist."""
        out: dict[str, Any] = {"n": self.n, "verdict": self.verdict, "calibrated": self.calibrated}
        for name in ("spread_factor", "spread_factor_without_bias", "bias"):
            found = self._asked(name)
            ends = (None, None) if found is None else found.interval(level)
            out |= {name: None if found is None else float(found), f"{name}_low": ends[0], f"{name}_high": ends[1]}
        out |= {name: self._asked(name) for name in ("chi_squared", "sharpness", "normalised_error")}
        out |= {"miscalibration_area": self.miscalibration_area, "area_pvalue": self.area_pvalue}
        out |= {f"pvalue_{name}": p for name, p in self.pvalues.items()}
        if self.naive is not self:
            factor = self.naive._asked("spread_factor")
            out["naive_verdict"] = self.naive.verdict
            out["naive_spread_factor"] = None if factor is None else float(factor)
        return out

    def explain(self) -> str:
        """What each number means here, in plain sentences."""
        allowed = self.naive is not self
        lines = [self.verdict]
        factor = self._asked("spread_factor")
        if factor is not None:
            low, high = factor.interval(0.95)
            lines.append(
                f"spread factor {factor:.3g} ({low:.3g} to {high:.3g}): multiply the forecast's error bars by this. 1 is "
                "right; above 1 they are too small."
            )
            bias = self.bias
            low, high = bias.interval(0.95)
            lines.append(
                f"bias {bias:.3g} ({low:.3g} to {high:.3g}): forecast - label on average; positive is too high."
            )
            label = "spread and label error together" if allowed else "the spread"
            lines.append(
                f"reduced chi-squared {self.chi_squared:.3g}: mean squared residual in units of {label}; 1 is right."
            )
        curve = self.curve([0.68, 0.95])
        lines.append(
            f"coverage: intervals that should hold 68 % and 95 % of the labels hold {curve.found[0]:.1%} and "
            f"{curve.found[1]:.1%}."
        )
        lines.append(
            f"miscalibration area {self.miscalibration_area:.2g}: mean distance of found from nominal coverage. A calibrated "
            f"forecast of as many labels shows about {self.area_if_calibrated.mean:.2g}, and at least this with probability "
            f"{self.area_pvalue:.2g}."
        )
        if (sharpness := self._asked("sharpness")) is not None:
            lines.append(f"mean spread {sharpness:.4g}: of two calibrated forecasts the sharper one is better.")
        if allowed:
            lines.append(
                "With the label errors ignored, the distance of labels from forecasts is put down to the forecasts alone. The "
                f"verdict would have been: {self.naive.verdict}"
            )
        return "\n".join([*lines, *self.notes])


def _within_drop(scatter: UncertainScatter, x: float, top: float, widened: float, level: float) -> Interval:
    """All factors whose log likelihood is within chi^2_1 / 2 of the highest."""
    return Interval(*scatter.reach(x, top, 0.5 * half_width_in_std(level) ** 2 * widened))


def _one_sigma(interval: IntervalAt, value: float) -> float:
    low, high = interval(ONE_SIGMA)
    return high if value == 0 else (high - low) / 2


def _possible(errors: MeasurementError, truth: FloatArray) -> FloatArray:
    return np.maximum(truth, _SMALLEST) if errors.non_negative else truth


class _Row(NamedTuple):
    name: str
    found: str
    between: str
    calibrated: str
    naive: str = ""


def _kolmogorov() -> Any:
    """The exact distribution of Kolmogorov's distance; its library is large, and loaded when it is needed."""
    from scipy.stats import kstwo

    return kstwo


def _farthest(ordered: FloatArray) -> float:
    """Largest distance of the empirical distribution of sorted values from the uniform one."""
    n = len(ordered)
    steps = np.arange(n + 1) / n
    return max(float(np.max(steps[1:] - ordered)), float(np.max(ordered - steps[:-1])))


def _areas(ordered: FloatArray) -> FloatArray:
    """Area between the empirical and the uniform distribution, for each row of sorted values."""
    rows, n = ordered.shape
    level = np.arange(n + 1) / n
    edges = np.concatenate([np.zeros((rows, 1)), ordered, np.ones((rows, 1))], axis=1)

    def below(p: FloatArray) -> FloatArray:
        """Integral of |p - level| from level to p."""
        gap = p - level
        return 0.5 * gap * np.abs(gap)

    return np.asarray(np.sum(below(edges[:, 1:]) - below(edges[:, :-1]), axis=1))


@lru_cache(maxsize=64)
def _calibrated_areas(n: int) -> SampleLaw:
    """The miscalibration area of calibrated forecasts of n labels."""
    rng, length = np.random.default_rng(_SEED), min(n, _LONGEST)
    draws = [_areas(np.sort(rng.random((100, length)), axis=1)) for _ in range(_AREAS // 100)]
    return SampleLaw(np.concatenate(draws) * math.sqrt(length / n))


class Calibrations(Shown, Mapping[str, Calibration]):
    """The calibration of several forecasts of the same labels, by name.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(0, 1, 200)
    >>> forecasts = {"right": (np.zeros(200), np.ones(200)), "too sure": (np.zeros(200), np.full(200, 0.5))}
    >>> found = sb.calibration(y, forecasts, yerr=0.1)
    >>> found["right"].calibrated, found["too sure"].calibrated
    (True, False)
    """

    def __init__(self, found: Mapping[str, Calibration]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> Calibration:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def view(self) -> View:
        """What printing and notebooks show."""
        rows = []
        for name, one in self.items():
            shown = {row.name: row for row in one._rows()}
            factor = shown["spread factor"]
            between = f" ({factor.between})" if factor.between else ""
            head = one.verdict.partition(":")[0]
            cells = [
                f"{factor.found}{between}",
                shown["bias"].found,
                shown["miscalibration area"].found,
                shown["mean spread"].found,
            ]
            rows.append([name, head, *cells, one.naive.verdict.partition(":")[0]])
        header = [
            "forecast",
            "verdict",
            "spread factor (95 %)",
            "bias",
            "miscalibration area",
            "mean spread",
            "label errors ignored",
        ]
        notes = dict.fromkeys(note for one in self.values() for note in one.notes)
        count = counted(next(iter(self.values())).n, "label")
        return View(
            f"calibration of {counted(len(self), 'forecast')} on {count}", [Table(header, rows, names=2)], list(notes)
        )

    def to_dict(self, level: float = 0.95) -> dict[str, dict[str, Any]]:
        """`Calibration.to_dict` of each forecast."""
        return {name: one.to_dict(level) for name, one in self.items()}


def calibration(
    y_true: Any,
    forecast: Any = None,
    *,
    yerr: Any = None,
    y: Hashable | None = None,
    pred: Any = None,
    std: Hashable | None = None,
) -> Calibration | Calibrations:
    r"""Are a forecast's error bars right, once the errors of the labels are allowed for?

    A perfect forecast of the truth looks over-confident on labels with errors. Here it does not.

    Parameters
    ----------
    y_true : (n,)
        Labels.
    forecast : Forecast, (mean, std), (n, m) members, frozen distribution, or a mapping of several by name
        As in `crps`. A forecast with ``claims="label"`` holds the label error already: it is compared with the labels as
        they are.
    yerr : number, (n,), (2, n) or error model
        Errors of the labels, as in every metric. Correlated errors need normal forecasts.
    y, pred, std : names of columns
        ``calibration(table, y="mass", pred="gp", std="gp_std", yerr="mass_err")`` takes columns of a table by name. A list
        of names in `pred` is one ensemble, its members.

    Returns
    -------
    Calibration
        Printing it shows the verdict and its numbers; `pit`, `spread_factor`, `bias`, `curve`, `by_spread` and others hold
        them, `naive` what ignoring the label errors would have said. Several forecasts give `Calibrations`, a mapping.

    Notes
    -----
    The label of a forecast :math:`F_i` of the truth follows :math:`F_i` convolved with the label error, so

    .. math:: u_i = (F_i * e_i)(y_i), \qquad z_i = \Phi^{-1}(u_i)

    are uniform and standard normal if forecast and label errors are right. An ensemble of m members is right if the label
    is like one more of them: :math:`u_i` is its rank among the members, each with a label error of its own.

    The spread factor :math:`\lambda` maximises the likelihood of :math:`d_i \sim N(0, \lambda^2 v_i + \sigma_i^2)`, where
    :math:`d_i` is the mean forecast less the label and :math:`v_i` the variance of the forecast; its interval is the
    likelihood profile. Of an ensemble :math:`v_i` is :math:`1 + 1/m` times the variance of its members, which m of them
    tell only so well: the likelihood is averaged over the :math:`v_i` that the members of all labels make possible. The
    bias is the mean of the :math:`d_i` with weights :math:`1/(\lambda^2 v_i + \sigma_i^2)` and Student's interval.

    Four tests decide: the common bias of the :math:`z_i`, their scatter about it (chi-square), and Kolmogorov's test of
    the :math:`u_i` and of the coverage :math:`|2u_i - 1|`. Each is exact. A p-value below 0.015 in any of them calls the
    forecast not calibrated, which happens to a calibrated one in 5 % of all cases.

    References
    ----------
    T. Gneiting, F. Balabdaoui and A. E. Raftery, J. R. Stat. Soc. B 69 (2007) 243.

    Examples
    --------
    Labels as uncertain as the forecast is:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=500)
    >>> label = truth + rng.normal(0, 0.3, 500)
    >>> found = sb.calibration(label, (truth + rng.normal(0, 0.3, 500), np.full(500, 0.3)), yerr=0.3)
    >>> found.calibrated, found.naive.calibrated
    (True, False)
    >>> print(found.naive.verdict.partition(";")[0])
    Over-confident: the error bars are too small by a factor of 1.4 (1.31 to 1.49)
    """
    if y is not None or pred is not None or std is not None:
        y_true, forecast, yerr = _from_table(y_true, forecast, y, pred, std, yerr)
    if isinstance(forecast, Mapping):
        if not forecast:
            raise ValueError("forecast is an empty mapping: give at least one forecast by name.")
        return Calibrations({str(name): _calibration(y_true, one, yerr) for name, one in forecast.items()})
    return _calibration(y_true, forecast, yerr)


def _calibration(y_true: Any, given: Any, yerr: Any) -> Calibration:
    data = forecast_data(y_true, given, yerr, None)
    if data.limited:
        raise ValueError(
            "calibration takes no labels that are limits (Censored): where in its forecast such a label falls is not known. "
            "crps, log_score and interval_coverage take them."
        )
    forecast: Forecast = data.p
    said: tuple[str, ...] = ()
    errors: MeasurementError | None = None if data.errors.error_free(data.labels) else data.errors
    if errors is not None and forecast.claims == "label":
        said = ("the forecast claims the label, error and all, so the label errors are not added to its spread.",)
        errors = None
    if errors is not None:
        forecast.seen_through(errors)  # refuses what a forecast cannot be seen through
        if not errors.independent:
            _require_turnable(forecast, data.n)
    return Calibration(data.labels, forecast, errors, unit="" if data.unit is None else str(data.unit), _said=said)


def _require_turnable(forecast: Forecast, n: int) -> None:
    """Refuse correlated label errors where residuals cannot be made independent."""
    if not isinstance(forecast, NormalForecast):
        raise ValueError(
            "label errors that are correlated (cov, shared or batch) are allowed for with normal forecasts only: this one is a "
            f"{type(forecast).__name__}. Give NormalForecast(forecast.mean, forecast.std), or the errors of each label alone."
        )
    if n > _MOST_CORRELATED:
        raise ValueError(
            f"{n} labels with correlated errors are too many: calibration takes up to {_MOST_CORRELATED} of them, since it "
            "needs their covariance matrix. Take a part of the labels, forecast[:k] and yerr[:k]."
        )


def _from_table(
    table: Any, forecast: Any, y: Hashable | None, pred: Any, std: Hashable | None, yerr: Any
) -> tuple[Any, Any, Any]:
    """Labels, forecast and errors from the columns that the arguments name."""
    if forecast is not None:
        raise ValueError("give the forecast either as forecast or, for a table, as the names of its columns in pred.")
    if y is None or pred is None:
        raise ValueError("y and pred are needed with a table: name the columns of the labels and of the forecast.")
    members = list(pred) if isinstance(pred, list | tuple) else []
    if not members and std is None:
        raise ValueError("std is missing: name the column with the standard deviation of the forecast.")
    if members and std is not None:
        raise ValueError("pred is a list of members, whose spread is the forecast's: leave std out.")
    names: dict[str, Any] = {"y": y}
    names |= {f"pred[{k}]": name for k, name in enumerate(members)} if members else {"pred": pred, "std": std}
    pair = error_columns(yerr)
    if pair:
        names |= {"yerr[0]": pair[0], "yerr[1]": pair[1]}
    elif isinstance(yerr, str):
        names["yerr"] = yerr
    found = {name: np.asanyarray(column) for name, column in tables.select(table, names).items()}
    if pair:
        yerr = np.stack([found["yerr[0]"], found["yerr[1]"]])
    given: Any = (found["pred"], found["std"]) if not members else None
    if members:
        given = np.stack([found[f"pred[{k}]"] for k in range(len(members))], axis=1)
    return found["y"], given, found.get("yerr", yerr)
