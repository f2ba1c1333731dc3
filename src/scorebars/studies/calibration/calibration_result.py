"""What labels with errors say of a forecast's error bars: the numbers, the verdict, and how both are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scorebars._shared.score_views import counted, number, rounded
from scorebars._shared.shown import Printout, Shown, Table
from scorebars.answers.score import Estimate, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.laws.law import Law
from scorebars.studies.calibration.coverage_curve import (
    CoverageCurve,
    area_if_calibrated,
    coverage_curve,
    miscalibration_areas,
    miscalibration_pvalue,
)
from scorebars.studies.calibration.judged_forecast import JudgedForecast
from scorebars.studies.calibration.pit import DOUBT, Pit
from scorebars.studies.calibration.spread_and_bias import ALONE, forecast_bias, spread_factor
from scorebars.studies.calibration.spread_bins import SpreadBin, binned_by_spread

_FEW = 10
"""With fewer labels only gross faults show."""


class _Row(NamedTuple):
    name: str
    found: str
    between: str
    calibrated: str
    naive: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(Shown):
    """What labels with errors say of a forecast's error bars.

    Attributes
    ----------
    n
        Number of labels.
    pit
        (n,) probability integral transform of the labels, label errors allowed for: uniform if the forecast is right.
    spread_factor
        Estimate of the factor by which the forecast's spread must be multiplied; above 1 its error bars are too small.
        A bias counts as spread here.
    spread_factor_without_bias
        The same with a common bias fitted along and taken out.
    bias
        Estimate of the mean of forecast - label, positive where forecasts are too high.
    chi_squared
        Mean squared residual in units of spread and label error together; 1 on average if both are right.
    sharpness
        Mean standard deviation of the forecasts.
    miscalibration_area
        Area between found and nominal coverage; `area_if_calibrated` is its distribution for a calibrated forecast,
        `area_pvalue` how often that shows at least this area.
    pvalues
        Of "bias", "spread", "shape" and "coverage", each exact for a calibrated forecast.
    calibrated
        Whether nothing speaks against the forecast. A calibrated one is called so in 95 % of all cases.
    verdict
        The same in a sentence.
    naive
        The Calibration that ignores the label errors.
    notes
        What to know about how this was found.

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

    _judged: JudgedForecast
    unit: str = ""
    _said: tuple[str, ...] = field(default=())

    @property
    def n(self) -> int:
        return self._judged.n

    @cached_property
    def _pit(self) -> Pit:
        return Pit(self._judged)

    @property
    def pit(self) -> FloatArray:
        """Probability integral transform: uniform if forecast and label errors are right."""
        return self._pit.values

    @cached_property
    def spread_factor(self) -> Estimate:
        """By which factor must the forecast's spread be multiplied? A bias counts as spread."""
        return spread_factor(self._pit, offset=False)

    @cached_property
    def spread_factor_without_bias(self) -> Estimate:
        """By which factor must the spread be multiplied once a common bias is fitted along and taken out?"""
        return spread_factor(self._pit, offset=True)

    @cached_property
    def bias(self) -> Estimate:
        """How much too high are the forecasts, on average?"""
        if self.n < 2:
            raise UndefinedEstimate("one label cannot tell bias from spread.")
        factor = self._or_none("spread_factor_without_bias")
        return forecast_bias(self._pit, 1.0 if factor is None else float(factor))

    @cached_property
    def chi_squared(self) -> float:
        """Mean squared residual in units of spread and label error together."""
        d, noise2, _ = self._judged.in_units_of_spread
        return float(np.mean(np.square(d) / (1.0 + noise2)))

    @cached_property
    def sharpness(self) -> float:
        """Mean standard deviation of the forecasts."""
        found = float(np.mean(self._judged.forecast.std))
        if not math.isfinite(found):
            raise UndefinedEstimate("these forecasts have no finite standard deviation, so no mean of them.")
        return found

    @cached_property
    def miscalibration_area(self) -> float:
        """Area between found and nominal coverage of central intervals: 0 at best, 1/2 at worst."""
        return float(miscalibration_areas(self._pit.reached[None])[0])

    @property
    def area_if_calibrated(self) -> Law:
        """Distribution of the miscalibration area for a calibrated forecast of as many labels, by draws."""
        return area_if_calibrated(self.n)

    @cached_property
    def area_pvalue(self) -> float:
        """How often a calibrated forecast shows at least this area."""
        return miscalibration_pvalue(self.miscalibration_area, self.n)

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
        return coverage_curve(self._pit.reached, levels, level)

    def by_spread(self, bins: int | None = None) -> list[SpreadBin]:
        """Is the error larger where the forecast says so? Labels in bins of equal number, by the spread of their forecast.

        The error is that against the truth: the label variance is taken out of the mean squared residual.
        """
        return binned_by_spread(self._judged, bins)

    @cached_property
    def normalised_error(self) -> float:
        """Expected normalised calibration error: mean over `by_spread` of ``|error - spread| / spread``."""
        return float(np.mean([abs(one.error - one.spread) / one.spread for one in self.by_spread()]))

    # the verdict -------------------------------------------------------------------------------

    @property
    def pvalues(self) -> dict[str, float]:
        """How often a calibrated forecast shows at least this bias, spread, shape of the PIT, and coverage."""
        return self._pit.pvalues

    @property
    def calibrated(self) -> bool:
        """Whether nothing speaks against the forecast: True for a calibrated one in 95 % of all cases."""
        return self._pit.calibrated

    @cached_property
    def verdict(self) -> str:
        """What the labels say of the forecast's error bars, in a sentence."""
        wrong = {name for name, p in self.pvalues.items() if p < DOUBT}
        allowed = ", label errors allowed for" if self._judged.errors is not None else ""
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
            head = "Over-confident" if self._pit.spread.narrow else "Under-confident"
        elif "bias" in wrong:
            head = "Biased"
        return f"{head}: {'; '.join(said)}."

    def _may_be(self, name: str, right: float) -> bool:
        """Whether the interval that is shown holds what is right."""
        found = self._or_none("spread_factor" if name == "spread" else name)
        if found is None:
            return True
        low, high = found.interval(1.0 - ALONE)
        return bool(low <= right <= high)

    def _spread_words(self, biased: bool) -> str:
        size = "small" if self._pit.spread.narrow else "large"
        try:
            factor = self.spread_factor_without_bias if biased else self.spread_factor
        except UndefinedEstimate:
            return f"the error bars are too {size}"
        low, high = factor.interval(0.95)
        if not self._pit.spread.narrow:
            if high >= 1:
                return "the error bars are too large"
            if factor <= 0 or low <= 0:
                return f"the error bars are too large by a factor of at least {1 / high:.2g}"
            factor, low, high = 1 / factor, 1 / high, 1 / low  # type: ignore[assignment]
        elif low <= 1:
            return "the error bars are too small"
        return f"the error bars are too {size} by a factor of {float(factor):.3g} ({low:.3g} to {high:.3g})"

    def _bias_words(self) -> str:
        up = self._pit.bias < 0
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
        return (
            self if self._judged.errors is None else replace(self, _judged=replace(self._judged, errors=None), _said=())
        )

    # what is shown -----------------------------------------------------------------------------

    @cached_property
    def notes(self) -> list[str]:
        """What to know about how this was found."""
        said = list(self._said)
        if self._judged.correlated:
            said.append("label errors are correlated: the PIT is that of residuals made independent of each other.")
        if self._judged.errors is not None and self._judged.errors.estimated:
            said.append(
                "label errors were estimated from repeats: the PIT allows for that, but where labels have fewer than 4 repeats "
                "and errors of their own it is rough. Repeats(..., sigma='pooled') is better where labels share one error."
            )
        if note := self._judged.forecast.pit_note():
            said.append(note)
        return said

    def _or_none(self, name: str) -> Any:
        """An answer, or None where it does not exist."""
        try:
            return getattr(self, name)
        except UndefinedEstimate:
            return None

    def view(self) -> Printout:
        """What printing and notebooks show."""
        ignored = self.naive is not self
        cells = [row._replace(naive=other.found) for row, other in zip(self._rows(), self.naive._rows(), strict=True)]
        header = ["", "found", "95 % interval", "if calibrated", *(["label errors ignored"] if ignored else [])]
        tests = ", ".join(f"{name} {p:.2g}" for name, p in self.pvalues.items())
        return Printout(
            f"calibration of {counted(self.n, 'forecast')}: {self.verdict}",
            [Table(header, [row[: len(header)] for row in cells])],
            notes=[
                f"p-values: {tests} (a calibrated forecast shows one below {DOUBT} in 5 % of all cases)",
                *([f"label errors ignored: {self.naive.verdict}"] if ignored else []),
                *self.notes,
            ],
        )

    def _rows(self) -> list[_Row]:
        rows = []
        for name, label in (("spread_factor", "spread factor"), ("bias", "bias")):
            found = self._or_none(name)
            if found is None:
                rows.append(_Row(label, "-", "", ""))
                continue
            low, high = found.interval(0.95)
            between = f"{rounded(low, found.std)} to {rounded(high, found.std)}"
            rows.append(_Row(label, rounded(float(found), found.std), between, "1" if name == "spread_factor" else "0"))
        curve, area = self.curve([0.68, 0.95]), self.area_if_calibrated
        chi = self._or_none("chi_squared")
        rows.append(_Row("reduced chi-squared", number(chi, 3), "", "1"))
        for k, level in enumerate(curve.nominal):
            band = f"{curve.low[k]:.3f} to {curve.high[k]:.3f}"
            rows.append(_Row(f"labels in {100 * level:g} % intervals", f"{curve.found[k]:.3f}", "", band))
        rows.append(_Row("miscalibration area", f"{self.miscalibration_area:.2g}", "", f"about {area.mean:.2g}"))
        return [*rows, _Row("mean spread", number(self._or_none("sharpness")), "", "")]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """All numbers under flat names, and the verdict; None where something does not exist."""
        out: dict[str, Any] = {"n": self.n, "verdict": self.verdict, "calibrated": self.calibrated}
        for name in ("spread_factor", "spread_factor_without_bias", "bias"):
            found = self._or_none(name)
            ends = (None, None) if found is None else found.interval(level)
            out |= {name: None if found is None else float(found), f"{name}_low": ends[0], f"{name}_high": ends[1]}
        out |= {name: self._or_none(name) for name in ("chi_squared", "sharpness", "normalised_error")}
        out |= {"miscalibration_area": self.miscalibration_area, "area_pvalue": self.area_pvalue}
        out |= {f"pvalue_{name}": p for name, p in self.pvalues.items()}
        if self.naive is not self:
            factor = self.naive._or_none("spread_factor")
            out["naive_verdict"] = self.naive.verdict
            out["naive_spread_factor"] = None if factor is None else float(factor)
        return out

    def explain(self) -> str:
        """What each number means here, in plain sentences."""
        allowed = self.naive is not self
        lines = [self.verdict]
        factor = self._or_none("spread_factor")
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
        if (sharpness := self._or_none("sharpness")) is not None:
            lines.append(f"mean spread {sharpness:.4g}: of two calibrated forecasts the sharper one is better.")
        if allowed:
            lines.append(
                "With the label errors ignored, the distance of labels from forecasts is put down to the forecasts alone. The "
                f"verdict would have been: {self.naive.verdict}"
            )
        return "\n".join([*lines, *self.notes])


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

    def view(self) -> Printout:
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
        return Printout(
            f"calibration of {counted(len(self), 'forecast')} on {count}", [Table(header, rows, names=2)], list(notes)
        )

    def to_dict(self, level: float = 0.95) -> dict[str, dict[str, Any]]:
        """`Calibration.to_dict` of each forecast."""
        return {name: one.to_dict(level) for name, one in self.items()}
