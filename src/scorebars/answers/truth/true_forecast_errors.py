"""The score of forecasts against the truth from the most likely law of their true errors D = truth - mean.

As for point predictions (`true_residuals`), except that each label has its own loss: that of its forecast. Where true errors
are seen to follow the spread of the forecast, as those of a good forecast do, D = m(s) + c(s) eta with one law of eta for all
labels, s being the forecast's standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.truth.true_residuals import MeanOfLoss, TrueResiduals, enough_labels, labels_to_fit
from scorebars.arrays import FloatArray
from scorebars.forecasts import Forecast
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments.deconvolution import Cells, Deconvolution, central_half_width, fitted_trend, label_likelihood

_MOST = 5_000
"""More labels are represented by every k-th: each has its own row of losses."""


@dataclass(frozen=True, eq=False)
class MeanOfForecastLoss(MeanOfLoss):
    """The mean score of forecasts, from the fitted distribution of their true errors."""

    matrix: FloatArray | None = None
    """The score of each fitted label at each point of the grid."""
    known_losses: FloatArray | None = None
    """Scores of the labels that count as known: at the label, one error above, one below."""

    @cached_property
    def _values(self) -> FloatArray:
        assert self.matrix is not None
        return self.matrix

    def _known_at(self, away: float) -> FloatArray:
        assert self.known_losses is not None
        return np.asarray(self.known_losses[int(away)])


def mean_of_forecast_loss(loss: Loss, data: Measured, low: float, high: float) -> MeanOfForecastLoss | None:
    """The mean score against the truth; None where labels are few, or their errors do not allow it."""
    model = data.errors.label_level()
    if not model.independent or (model.normal is None and model.sharp):
        return None
    pick = slice(None, None, max(1, data.n // _MOST))
    y, errors, a = data.labels[pick], model[pick], data.shares[pick]
    forecast: Forecast = data.predictions[pick]
    a = a / float(a.sum())
    middle, width = central_half_width(errors, y)
    d = middle - forecast.mean
    if not np.all(np.isfinite(d)):
        return None
    shift, scale = _common_law(d, width, a, forecast.std)
    grid, fitted = labels_to_fit((d - shift) / scale, width / scale, a)
    if not fitted.any():
        return None
    rows = np.flatnonzero(fitted)
    truth = (forecast.mean + shift)[rows, None] + scale[rows, None] * grid
    likelihood, largest = label_likelihood(errors[rows], y[rows], truth)
    possible = largest > 0
    fitted[rows[~possible]] = False
    rows, rest, truth = rows[possible], np.flatnonzero((a > 0) & ~fitted), truth[possible]
    share = a[rows]
    if not enough_labels(share):
        return None
    part = share / float(share.sum())
    cells = Cells(((d - shift) / scale)[rows], (width / scale)[rows], part, np.square(part), width[rows])
    fit = Deconvolution.of_cells(cells, grid, np.asfortranarray(likelihood[possible]))
    residuals = TrueResiduals(fit, fitted, float(share.sum()), d[rest], width[rest], a[rest])
    values = np.asarray(loss(truth.T, forecast[rows]).T)  # type: ignore[arg-type]
    beside: list[FloatArray] = [np.zeros(0)] * 3
    if rest.size:
        beside = [loss(middle[rest] + k * width[rest], forecast[rest]) for k in (0.0, 1.0, -1.0)]  # type: ignore[arg-type]
    return MeanOfForecastLoss(
        residuals,
        loss,
        low,
        high,
        prediction=forecast.mean[rows] if loss.continuous else None,
        matrix=np.where(np.isfinite(values), values, 0.0),
        known_losses=np.array(beside),
    )


def _common_law(d: FloatArray, width: FloatArray, share: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale of each true error, where these are seen to follow the spread of the forecasts; else 0 and 1."""
    erring = (width > 0) & (std > 0) & (share > 0)
    trend = fitted_trend(d[erring], width[erring], share[erring], std[erring]) if int(erring.sum()) > 2 else None
    if trend is None or not trend.seen or not erring.all():
        return np.zeros(len(d)), np.ones(len(d))
    return trend.at(std)
