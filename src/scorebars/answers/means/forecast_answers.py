"""Answers of mean scores of forecasts.

A forecast of the truth that is scored on labels with errors looks worse than it is. `truth` takes that off:

    quadratic scores (log score of normal forecasts, Dawid-Sebastiani)    mean c + a (d^2 - s^2), unbiased always
    CRPS of normal forecasts             mean L(d; -s^2), unbiased wherever the forecast's variance exceeds that of the label
    everything else                      from the most likely law of the forecasts' true errors, or extrapolated

A forecast that claims the label says nothing of the truth alone: it has no `truth`. A perfect model knows the true value and
how labels err, and forecasts that.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import EXPECTED, TRUTH, Level
from scorebars.answers.evidence import Evidence, sampling_variance, variance_of_mean, weighted_mean
from scorebars.answers.intervals import SKEW_LABELS, IntervalAt, Skewed, SkewMean, Symmetric
from scorebars.answers.limited import CLAIMS_LABEL
from scorebars.answers.means.mean_loss import MeanLoss, WithinAnswers
from scorebars.answers.means.squared import Parabola, SquaredAnswers, squared_law
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.answers.truth.true_forecast_errors import mean_of_forecast_loss
from scorebars.answers.truth.true_residuals import MeanOfLoss
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.errors.continuous import LocationScale
from scorebars.forecasts import (
    EnsembleForecast,
    Forecast,
    IntervalForecast,
    NormalForecast,
    QuantileForecast,
)
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law, NormalLaw
from scorebars.losses import Covered, Crps, DawidSebastiani, IntervalScore, LogScore
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.forecast_moments import crps_variance, smoothed_crps

_NO_SIGMA = "{count} of {n} labels have no error: a perfect model is certain of these, and its score is minus infinity."
_NO_DENSITY = (
    "labels with {errors!r} errors take single values, so what a perfect model says of a label has no density."
)
_NO_VARIANCE = "{errors!r} errors have no finite variance, so a perfect model has none to forecast."
_HEAVY_TAILS = (
    "{errors!r} errors have no finite variance: a perfect model's score is infinite, or its integral converges too slowly to "
    "be computed here."
)
_NARROW = (
    "the forecast's spread is below the label error for {share} of the labels, where no unbiased estimate exists; for the "
    "others it is unbiased. For these labels: {note}"
)
_BELOW = "negative: the forecasts score better than label errors of this size allow"
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_WEIGHTS = _WEIGHTS / math.sqrt(2 * math.pi)
_QUANTILES = (np.arange(500) + 0.5) / 500
"""Of single values that a label may take."""
_MOST_SHAPES = 200
"""Up to this many different error distributions a perfect model's score is integrated for each."""


class ForecastAnswers(MeanLoss):
    """Weighted mean of a score of forecasts."""

    @property
    def claims(self) -> str:
        """Whether the forecasts speak of the "truth" or of the "label"."""
        data = self._evidence.data
        return "truth" if data is None else str(data.p.claims)

    def truth(self) -> Estimate:
        if self.claims == "label":
            raise UndefinedEstimate(CLAIMS_LABEL)
        return super().truth()

    # a perfect model ---------------------------------------------------------------------------

    def _perfect_predictions(self, y: FloatArray, errors: MeasurementError) -> Any:
        own, loss = self._labels().p, self.loss
        if isinstance(loss, IntervalScore):
            tail = (1.0 - loss.level) / 2
            lower, upper = (errors.ppf(y, np.full(len(y), q)) for q in (tail, 1.0 - tail))
            return IntervalForecast.trusted(lower, upper)
        if isinstance(loss, Covered):
            return IntervalForecast.trusted(y - own.std, y + own.std)
        if isinstance(own, QuantileForecast) and not isinstance(loss, DawidSebastiani):
            values = np.stack([errors.ppf(y, np.full(len(y), level)) for level in own.levels], axis=1)
            return own._changed(values=values)
        if errors.normal is not None or isinstance(loss, DawidSebastiani):
            std = np.sqrt(errors.variance(y))
            self._require_errors(std)
            if not np.all(np.isfinite(std)):
                raise UndefinedEstimate(_NO_VARIANCE.format(errors=errors))
            return NormalForecast.trusted(errors.mean(y), std)
        return EnsembleForecast(y[:, None])._seen(errors)

    def _require_errors(self, std: FloatArray) -> None:
        """Refuse labels without error where certainty has an infinite score."""
        exact = std == 0
        if isinstance(self.loss, LogScore | DawidSebastiani) and exact.any():
            raise UndefinedEstimate(_NO_SIGMA.format(count=int(exact.sum()), n=len(std)))

    def _forward(self, level: Level) -> Law:
        data = self._labels("and its distribution")
        errors = level.errors(data.errors)
        drawn = level is EXPECTED or errors.normal is not None or isinstance(data.p, QuantileForecast)
        if drawn or not isinstance(self.loss, Crps | LogScore):
            return MeanLoss._forward(self, level)
        return self._ideal_law(data, errors)

    def _ideal_law(self, data: Measured, errors: MeasurementError) -> Law:
        """A perfect model's CRPS or log score under errors that are not normal: mean and variance are integrated."""
        if errors.discrete and isinstance(self.loss, LogScore):
            raise UndefinedEstimate(_NO_DENSITY.format(errors=errors))
        y, a, scale = data.labels, data.shares, np.ones(data.n)
        self._require_errors(np.sqrt(errors.variance(y)))
        if isinstance(errors, LocationScale) and isinstance(self.loss, Crps):  # the error's width is a unit
            scale = np.broadcast_to(np.asarray(errors.width, dtype=np.float64), y.shape)
            if not scale.any():
                return NormalLaw(0.0, 0.0, "delta")
            like = np.where(scale > 0, np.arange(data.n), np.argmax(scale))  # labels without error do not count
            y, errors = np.zeros(data.n), errors[like].scaled(1.0 / scale[like])  # type: ignore[arg-type]
        mean, variance = self._ideal_moments(errors, y)
        if not np.all(np.isfinite(mean[a > 0])):
            raise UndefinedEstimate(_HEAVY_TAILS.format(errors=errors))
        total = float(np.sum(np.square(a * scale) * variance))
        return NormalLaw(float(np.sum(a * scale * mean)), math.sqrt(total), "delta")

    def _ideal_moments(self, errors: MeasurementError, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance for each label; like errors once, and of many different ones every k-th."""
        held = (np.asarray(getattr(errors, name)) for name in errors.per_label)
        columns = [np.broadcast_to(one, y.shape + one.shape[1:]).reshape(len(y), -1) for one in held]
        rows = np.concatenate([*columns, y[:, None]], axis=1)
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        some = first[:: max(1, -(-len(first) // _MOST_SHAPES))]
        part = errors[some]
        known: Forecast = EnsembleForecast(y[some][:, None])._seen(part)
        if part.discrete:  # as many members as its single values need
            known = EnsembleForecast(np.stack([part.ppf(y[some], np.full(len(some), q)) for q in _QUANTILES], axis=1))
        found = label_moments(self.loss, part, y[some], known)  # type: ignore[arg-type]
        if len(some) == len(first):
            return found.mean[place.reshape(-1)], found.variance[place.reshape(-1)]
        return np.full(len(y), float(np.mean(found.mean))), np.full(len(y), float(np.mean(found.variance)))

    # back --------------------------------------------------------------------------------------

    def _mean_of_true_residuals(self, data: Measured) -> MeanOfLoss | None:
        found = mean_of_forecast_loss(self.loss, data, *self._range)
        return found if found is not None and math.isfinite(found.value) else None


class CoverageAnswers(ForecastAnswers, WithinAnswers):
    """Share of labels inside their intervals."""

    loss: Covered  # type: ignore[assignment]


# the CRPS of normal forecasts ----------------------------------------------------------------------


class CrpsAnswers(ForecastAnswers):
    """Mean CRPS; of normal forecasts and normal errors without bias where the forecast is wider than the label error."""

    @property
    def _range(self) -> tuple[float, float]:
        """The fair score of members may be below 0."""
        return (-math.inf, math.inf) if getattr(self.loss, "estimator", "plain") == "fair" else super()._range

    def _back(self, level: Level) -> Estimate:
        data = self._labels("against the truth" if level is TRUTH else "of labels with less error")
        if self._same_process(level) or not isinstance(data.p, NormalForecast) or data.errors.normal is None:
            return super()._back(level)
        tau2 = level.tau2(data.errors, data.labels)
        wide = np.square(data.p.std) + tau2 >= 0
        if wide.all():
            return self._unbiased(data, level)
        share = float(np.sum(data.shares[~wide]))
        wider, narrower = (data[np.flatnonzero(group)] for group in (wide, ~wide))
        if share == 0:
            return self._unbiased(wider, level)
        rest = ForecastAnswers(self.declaration, self.loss, Evidence(narrower))._back(level)  # as any loss
        if not np.any(data.shares[wide] > 0):
            return rest
        note = _NARROW.format(share=f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %", note=rest.note)
        return _together([self._unbiased(wider, level), rest], [1.0 - share, share], note, data.items)

    def truth_terms(self, y: FloatArray, p: Any, errors: MeasurementError) -> tuple[FloatArray, FloatArray]:
        if not isinstance(p, NormalForecast) or errors.normal is None or p.claims == "label":
            return super().truth_terms(y, p, errors)
        tau2 = TRUTH.tau2(errors, y)
        wide = np.square(p.std) + tau2 >= 0
        terms, variance = smoothed_crps(y - p.mean, p.std, tau2), _carried_variance(TRUTH, y, p, errors)
        return np.where(wide, terms, math.nan), np.where(wide, variance, math.nan)

    def _unbiased(self, data: Measured, level: Level) -> Estimate:
        """mean L(d; tau^2), and what the errors at hand, and fresh ones, make it scatter."""

        def terms(y: FloatArray, p: NormalForecast, errors: MeasurementError) -> FloatArray:
            return smoothed_crps(y - p.mean, p.std, level.tau2(errors, y))

        value = weighted_mean(data, terms)  # type: ignore[arg-type]
        carried = variance_of_mean(data, partial(_carried_variance, level)) * self._inflation(data)
        fresh = 0.0
        if level is not TRUTH:
            share = level.relative(data.errors, data.labels) + 1.0
            fresh = self._fresh_variance(data, share)
        std = math.sqrt(carried + fresh)
        if level is not TRUTH:
            return self._symmetric(value, std, "unbiased")
        total = math.sqrt(sampling_variance(data, terms, value) + self._shared_variance())  # type: ignore[arg-type]
        seen = weighted_mean(data, lambda y, p, errors: self.loss(y, p))
        population = Skewed(value, total, *self._range, self._df, seen - value, self._skewness(data, total), least=0.0)
        note = "" if value >= 0 else _BELOW
        interval = Symmetric(value, std, *self._range)
        return Estimate(value, std, method="unbiased", note=note, interval=interval, total_interval=population)

    def _skewness(self, data: Measured, std: float) -> float | None:
        """Of the estimate over test sets: label errors add no third moment, as they fall to either side alike."""
        few = SkewMean.of(self.loss(data.labels, data.p), data.shares) if data.n <= SKEW_LABELS else None
        return None if few is None or std == 0 else few.third / std**3


def _carried_variance(level: Level, y: FloatArray, p: NormalForecast, errors: MeasurementError) -> FloatArray:
    """Variance of L(d; tau^2) over the error of the label at hand, about the truth.

    2 V(label) - V(label measured again), as `label_part` has it; never below half of V.
    """
    own = errors.label_level().normal
    assert own is not None
    s = np.broadcast_to(own.total, y.shape)
    std = np.sqrt(np.maximum(np.square(p.std) + level.tau2(errors, y), 0.0))
    here = crps_variance(y - p.mean, std, s)
    again = sum(w * crps_variance(y + z * s - p.mean, std, s) for z, w in zip(_NODES, _WEIGHTS, strict=True))
    return np.maximum(2.0 * here - again, 0.5 * here)


def _together(parts: list[Estimate], shares: list[float], note: str, n: int) -> Estimate:
    """The mean of estimates of groups that hold these shares of the labels."""
    value = sum(share * float(part) for share, part in zip(shares, parts, strict=True))
    std = math.hypot(*(share * part.std for share, part in zip(shares, parts, strict=True)))
    between = math.sqrt(sum(share * (float(part) - value) ** 2 for share, part in zip(shares, parts, strict=True)) / n)
    ends = tuple(zip(shares, map(float, parts), (part.interval for part in parts), strict=True))
    totals = [part._total for part in parts if part._total is not None]
    population: IntervalAt | None = None
    if len(totals) == len(parts):
        population = partial(_hypot_of, value, tuple(zip(shares, map(float, parts), totals, strict=True)), between)
    return Estimate(
        value,
        std,
        method=parts[-1].method,
        note=note,
        interval=partial(_hypot_of, value, ends, 0.0),
        total_interval=population,
    )


def _hypot_of(value: float, parts: tuple[Any, ...], between: float, level: float) -> Interval:
    """Deviations of independent parts on either side, added in squares."""
    found = [(share, centre, interval(level)) for share, centre, interval in parts]
    apart = Symmetric(0.0, between)(level).high if between > 0 else 0.0
    below = math.hypot(apart, *(share * max(centre - ends.low, 0.0) for share, centre, ends in found))
    above = math.hypot(apart, *(share * max(ends.high - centre, 0.0) for share, centre, ends in found))
    return Interval(value - below, value + above)


# scores that are squares ---------------------------------------------------------------------------


class QuadraticAnswers(SquaredAnswers, ForecastAnswers):
    """Mean of c + a (y - mean)^2: a mean squared error with the weights a, and a constant for each label."""

    loss: LogScore | DawidSebastiani

    def _parabola(self, p: Forecast) -> Parabola:
        terms = self.loss.terms(p)
        assert terms is not None
        return Parabola(*terms, p.mean)

    def truth_terms(self, y: FloatArray, p: Any, errors: MeasurementError) -> tuple[FloatArray, FloatArray]:
        a, _, m = self._parabola(p)
        return self._unbiased_term(y, p, errors), a * a * errors.unbiased_square_variance(y, m)[0]

    def _forward(self, level: Level) -> Law:
        data = self._labels("and its distribution")
        errors = level.errors(data.errors).normal
        if errors is None:
            return ForecastAnswers._forward(self, level)
        p = data.p if level is EXPECTED else self._perfect_predictions(data.labels, errors)
        weight, size, constant = self._weighted(data, p)
        return ScaledLaw(squared_law(errors, level.residual(data.residual), weight), size, constant)

    def _skew_groups(self, codes: NDArray[np.intp]) -> None:
        """Unknown: the constants scatter too."""

    def _next_test_set(self, more: float) -> IntervalAt:
        return MeanLoss._next_test_set(self, more)

    def _estimated(
        self, value: float, std: float, least: float, interval: IntervalAt, population: IntervalAt
    ) -> Estimate:
        """Never below the score of forecasts whose means are the true values."""
        return Estimate(max(value, least), std, method="unbiased", interval=interval, total_interval=population)
