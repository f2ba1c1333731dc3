"""The score of forecasts against the truth from the most likely law of their true errors D = truth - mean.

As for point predictions (`true_residuals`), except that each label has its own loss, that of its forecast, and that a forecast
says itself how large its error may be. It is taken at its word as far as sizes relative to each other go: D = s eta with one
law of eta for all labels, s being the forecast's spread. Where true errors are seen to follow the spread otherwise, or the
label error besides, D = m + c eta with m and log c^2 lines in the logarithms of both. Where they are not, the lines that fit
best still tell how much the answer may change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.intervals import SkewMean, above_skew_mean, half_width_in_std, lean_of_log
from scorebars.answers.truth.true_residuals import MeanOfLoss, TrueResiduals, enough_labels, labels_to_fit
from scorebars.arrays import FloatArray
from scorebars.forecasts import Forecast, QuantileForecast
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments.deconvolution import (
    Cells,
    Deconvolution,
    OtherTrends,
    Trend,
    central_half_width,
    fitted_trend,
    label_likelihood,
)
from scorebars.moments.uncertain_spreads import spread_of

_MOST = 5_000
"""More labels are represented by every k-th: each has its own row of losses."""


@dataclass(frozen=True, eq=False)
class MeanOfForecastLoss(MeanOfLoss):
    """The mean score of forecasts, from the fitted distribution of their true errors."""

    matrix: FloatArray | None = None
    """The score of each fitted label at each point of the grid."""
    known_losses: FloatArray | None = None
    """Scores of the labels that count as known: at the label, one error above, one below."""
    with_trend: Callable[[Trend | None], MeanOfForecastLoss | None] | None = None
    """What would be found with another trend; None where errors are taken to follow nothing."""

    @cached_property
    def _values(self) -> FloatArray:
        assert self.matrix is not None
        return self.matrix

    def _known_at(self, away: float) -> FloatArray:
        assert self.known_losses is not None
        return np.asarray(self.known_losses[int(away)])

    observed: SkewMean | None = None
    """The mean score on the labels themselves; None where it has two tails alike."""

    def _for_population(self, level: float, up: bool) -> float:
        """The mean of positive scores is skew: the upper end lies farther out, as on the scale of its logarithm."""
        end = super()._for_population(level, up)
        if not up or self.observed is None or not end > self.value:
            return end
        far, z, seen = end - self.value, half_width_in_std(level), max(self.observed.seen, self.value)
        std = far / z
        return above_skew_mean(self.value, far, seen, lean_of_log(std / seen, self.observed.third / std**3, z))

    @cached_property
    def _trend_variance(self) -> float:
        if self.with_trend is None:
            return 0.0
        others = [(self.with_trend(trend), away) for trend, away in self.residuals.others]
        return sum(((other.value - self.value) / away) ** 2 for other, away in others if other is not None)


def mean_of_forecast_loss(loss: Loss, data: Measured, low: float, high: float) -> MeanOfForecastLoss | None:
    """The mean score against the truth; None where labels are few, or their errors do not allow it."""
    model = data.errors.label_level()
    if not model.independent or (model.normal is None and model.sharp):
        return None
    data = data.with_errors(model).thinned(_MOST)
    middle, width = central_half_width(data.errors, data.labels)
    if not np.all(np.isfinite(middle - data.predictions.mean)):
        return None
    return _Judged(loss, data, middle, width, (low, high)).mean_of_loss()


@dataclass(frozen=True, eq=False)
class _Judged:
    """Labels and their forecasts."""

    loss: Loss
    data: Measured
    middle: FloatArray
    """The middle of the true values that each label allows; `width` is half their range."""
    width: FloatArray
    limits: tuple[float, float]

    @cached_property
    def _spread(self) -> FloatArray | None:
        """What each forecast says of the size of its error; None where some say nothing."""
        forecast = self.data.predictions
        if isinstance(forecast, QuantileForecast) and len(forecast.levels) == 1:
            return None
        spread = spread_of(forecast)
        return spread if bool(np.all((spread > 0) & np.isfinite(spread))) else None

    def mean_of_loss(self) -> MeanOfForecastLoss | None:
        """By the trend that is seen."""
        erring, trend = self.width > 0, None
        if self._spread is not None and int(erring.sum()) > 2:
            d = self.middle - self.data.predictions.mean
            trend = fitted_trend(*(column[erring] for column in (d, self.width, self.data.shares, self._spread)))
        if trend is not None and trend.seen:
            return self.with_trend(trend, trend.others())
        return self.with_trend(None, () if trend is None else trend.others())

    def with_trend(self, trend: Trend | None, others: OtherTrends = ()) -> MeanOfForecastLoss | None:
        """True errors that follow the spread in this way, or in proportion to it."""
        n, y, share = self.data.n, self.data.labels, self.data.shares
        forecast: Forecast = self.data.predictions
        shift, scale = np.zeros(n), np.ones(n) if self._spread is None or trend is not None else self._spread
        if trend is not None and self._spread is not None:
            erring = self.width > 0
            shift[erring], scale[erring] = trend.at(self._spread[erring], self.width[erring])
        d = self.middle - forecast.mean
        eta, error = (d - shift) / scale, self.width / scale
        grid, fitted = labels_to_fit(eta, error, share)
        if not fitted.any():
            return None
        rows = np.flatnonzero(fitted)
        truth = (forecast.mean + shift)[rows, None] + scale[rows, None] * grid
        likelihood, largest = label_likelihood(self.data.errors[rows], y[rows], truth)
        possible = largest > 0
        fitted[rows[~possible]] = False
        rows, rest, truth = rows[possible], np.flatnonzero(~fitted), truth[possible]
        if not enough_labels(share[rows]):
            return None
        fitted_share = float(share[rows].sum())
        part = share[rows] / fitted_share
        cells = Cells(eta[rows], error[rows], part, np.square(part), self.width[rows])
        fit = Deconvolution.of_cells(cells, grid, np.asfortranarray(likelihood[possible]))
        residuals = TrueResiduals(fit, fitted, fitted_share, d[rest], self.width[rest], share[rest], others=others)
        values = np.asarray(self.loss(truth.T, forecast[rows]).T)  # type: ignore[arg-type]
        beside: list[FloatArray] = [np.zeros(0)] * 3
        if rest.size:
            centre, width, few = self.middle[rest], self.width[rest], forecast[rest]
            beside = [self.loss(centre + k * width, few) for k in (0.0, 1.0, -1.0)]  # type: ignore[arg-type]
        return MeanOfForecastLoss(
            residuals,
            self.loss,
            *self.limits,
            prediction=forecast.mean[rows] if self.loss.continuous else None,
            matrix=np.where(np.isfinite(values), values, 0.0),
            known_losses=np.array(beside),
            with_trend=self.with_trend,
            observed=SkewMean.of(self.loss(y, forecast), share) if self.limits == (0.0, math.inf) else None,  # type: ignore[arg-type]
        )
