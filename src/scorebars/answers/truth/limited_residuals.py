"""The true residuals behind labels of which some are limits: the most likely distribution, given numbers and limits.

The residual D = truth - prediction of a label between l and u, measured with error s, has the likelihood

    a number d:  phi((d - D) / s) / s          a limit:  Phi((u - p - D) / s) - Phi((l - p - D) / s)

(s = 0: whether D lies between l - p and u - p; Turnbull 1976). The fit is that of `moments.deconvolution`, with these rows.
It takes D as independent of the prediction and of being limited. The labels tell whether that is so: `two_halves` fits the
labels with low and with high predictions apart. Of forecasts D counts in units of the forecast's spread: D / std is what has
one distribution for all labels.

Of squares, the fit only completes the labels: the mean over the labels of E[d^2 | label] - s^2, with d = D + error, seen for
numbers. Without limits this is the plain unbiased estimate. The most likely distribution would not do for limits: it takes part
of the label errors for its own, and ends where the labels do, though much of a mean square lies beyond. A smooth distribution
takes its place. It starts from the likeliest shape between Laplace, normal and two points (`moments.residual_shapes`), and
follows the labels from there by EM until its log likelihood is within 2, two standard deviations, of the best. Where labels
tell nothing, it keeps the shape (50 Laplace residuals without errors, six tenths of them limits: the mean square by the most
likely distribution is .11 too small, by this one .01 too large).

Hidden squares scatter more under a distribution with more far out, so each end of their interval has the scatter of the items
under the distribution that lies there, if that is more than under the smooth one (50 Laplace residuals, three tenths of them
limits: 95 % hold 89 %, with it 95 %).

A limit is likelier the farther beyond it D lies, so one beyond all numbers would draw the law as far out as the grid reaches.
It counts as far out as a number at its end would if residuals were normal. For intervals, distributions may reach one standard
deviation of the numbers farther. For normal residuals half that room would do, but few labels do not tell them from others
(mean squared error of 50 labels without errors, three tenths of them limits: with half the room 95 % hold 97 % for normal
residuals and 88 % for Laplace ones, with all of it 99 % and 95 %). Estimates with it would be too large.

Numbers without error make a law of as many points, whose scatter about a limit is too small: intervals for the items at hand
are wider by 8 over the number of such labels (150 labels, CRPS: 95 % hold 90 %, with it 96 %).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from scorebars.answers.truth.true_forecast_errors import MeanOfForecastLoss
from scorebars.answers.truth.true_residuals import MeanOfLoss, TrueResiduals
from scorebars.arrays import BoolArray, FloatArray, IntArray
from scorebars.errors import Censored
from scorebars.forecasts import Forecast
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments.deconvolution import Cells, Deconvolution, Mixture
from scorebars.moments.residual_shapes import most_likely_shape
from scorebars.numerics.special import log_between, moments_between

_POINTS = 100
_CLOSEST = 1e-3
"""Grid points nearer than this part of the typical step are one."""
_SHARPEST = 0.3
"""A label or limit is never taken as sharper than this part of the grid's step: the grid cannot resolve it."""
_EXACT = 1e-6
"""The error of an exact number, as part of the grid's range."""
_MOST = 4000
"""More labels than this are represented by every k-th."""
_SWEEPS = 30
"""Iterations of the normal fit, which only decides how far the grid reaches."""
_TAIL, _GROWTH = 10, 1.35
"""Points on either side for a smooth distribution, and how their distance grows: they reach as far out as the grid does."""
_LESS_LIKELY = 2.0
"""By this in log likelihood a smooth distribution may stay behind the best one: two standard deviations."""
_WIDER = 8.0
"""Divided by the number of labels without error: by how much of their width intervals for the items at hand are wider."""
_AS_OPEN = 3.0
"""Ends of limits are as good as open where they lie this far beyond what labels ask for, in units of its range."""
FEWEST_NUMBERS = 5
"""Fewer numbers among the labels do not show a distribution."""


@dataclass(frozen=True, eq=False)
class _Allowed:
    """Between which ends the residual of each label lies, in units of `scale` about the prediction."""

    place: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    sd: FloatArray
    share: FloatArray
    rows: IntArray
    """Which labels these are."""

    @classmethod
    def of(cls, data: Measured) -> _Allowed:
        """From all labels that count, or from every k-th of very many."""
        step = max(1, data.n // _MOST)
        rows = np.flatnonzero(data.shares[::step] > 0) * step
        labels, p = data.errors[rows], data.predictions[rows]
        assert isinstance(labels, Censored)
        place, scale = (p.mean, p.std) if isinstance(p, Forecast) else (p, np.ones(len(rows)))
        sd = np.broadcast_to(labels.sigma, place.shape)
        low, high = ((end - place) / scale for end in (labels.lower, labels.upper))
        return cls(place, scale, low, high, sd / scale, data.shares[rows], rows)

    @property
    def widening(self) -> float:
        """How much wider intervals for the items at hand are than the likelihood says."""
        number = self.low == self.high
        return 1.0 + _WIDER * float(np.mean(self.sd[number] == 0)) / int(number.sum())

    def residuals(self, room: bool) -> TrueResiduals | None:
        """The most likely distribution, with room beyond what was seen or not; None where few labels are numbers."""
        low, high, s, number = self.low, self.high, self.sd, self.low == self.high
        if int(number.sum()) < FEWEST_NUMBERS:
            return None
        grid = _grid(low, high, s, number, self._normal_fit, room)
        if len(grid) < 2:
            return None
        part = self.share / float(self.share.sum())
        reach = float(grid[-1] - grid[0])
        # a limit says nothing within a step of the grid
        sd = np.where(number, np.maximum(s, _EXACT * reach), 1e6 * reach)
        cells = Cells(np.where(number, low, 0.0), sd, part, np.square(part), sd)
        fit = Deconvolution.of_cells(cells, grid, _likelihood(low, high, s, number, grid))
        nothing = np.zeros(0)
        return TrueResiduals(fit, np.ones(len(part), dtype=bool), 1.0, nothing, nothing, nothing)

    @cached_property
    def _normal_fit(self) -> tuple[float, float]:
        """Mean and variance of the true residuals if these were normal (Tobit), by EM."""
        part, s2 = self.share / float(self.share.sum()), np.square(self.sd)
        number = self.low == self.high
        seen = part[number] / float(part[number].sum())
        mean = float(seen @ self.low[number])
        variance = max(float(seen @ np.square(self.low[number] - mean)), np.finfo(float).tiny)
        for _ in range(_SWEEPS):
            spread = np.sqrt(variance + s2)
            first, second = _standard_moments((self.low - mean) / spread, (self.high - mean) / spread, number)
            kept = variance / np.square(spread)  # of what a label differs from the mean
            moved = kept * spread * first
            step = float(part @ moved)
            scatter = part @ (
                np.square(kept * spread) * (second - np.square(first)) + kept * s2 + np.square(moved - step)
            )
            mean, variance = mean + step, max(float(scatter), np.finfo(float).tiny)
        return mean, variance

    def smooth(self, fit: Deconvolution) -> Deconvolution:
        """A smooth distribution that the labels allow; beyond what was seen it goes on as a smooth shape does."""
        grid = _with_tails(fit.grid)
        likelihood = _likelihood(self.low, self.high, self.sd, self.low == self.high, grid)
        wide = replace(fit, grid=grid, weights=np.pad(fit.weights, _TAIL), likelihood=likelihood)
        mean, variance = self._normal_fit
        shape = most_likely_shape(
            Mixture(likelihood, fit.cells.share), fit.effective_labels, grid, mean, math.sqrt(variance)
        )
        return replace(wide, weights=wide.likely_near(shape, _LESS_LIKELY))

    def swallowed(self, fit: Deconvolution) -> FloatArray:
        """E[D^2 | label] less E[d^2 | label] - s^2 for each label: how much squared label error the law takes for true error.

        For numbers d is known; for limits it follows from the fit.
        """
        number, posterior, grid = self.low == self.high, fit.posterior, fit.grid
        found = np.zeros(len(number))
        squares = np.square(self.low[number]) - np.square(self.sd[number])
        found[number] = posterior[number] @ np.square(grid) - squares
        hidden = ~number & (self.sd > 0)
        s = self.sd[hidden, None]
        first, second = moments_between((self.low[hidden, None] - grid) / s, (self.high[hidden, None] - grid) / s)
        found[hidden] = np.sum(posterior[hidden] * (np.square(s) * (1.0 - second) - 2.0 * grid * s * first), axis=1)
        return found


def _standard_moments(low: FloatArray, high: FloatArray, number: BoolArray) -> tuple[FloatArray, FloatArray]:
    """First and second moment of a standard normal variable that is a number or lies between two ends."""
    first, second = low.copy(), np.square(np.where(number, low, 0.0))
    first[~number], second[~number] = moments_between(low[~number], high[~number])
    return first, second


def limited_residuals(data: Measured, room: bool = True) -> TrueResiduals | None:
    """What numbers and limits tell about the true residuals; None where fewer than `FEWEST_NUMBERS` labels are numbers.

    With `room` for intervals, without it for estimates.
    """
    return _Allowed.of(data).residuals(room)


def widening(data: Measured) -> float:
    """How much wider intervals for the items at hand are than the likelihood says, where numbers have no error."""
    return _Allowed.of(data).widening


def mean_of_limited_loss(loss: Loss, data: Measured, low: float, high: float, room: bool = True) -> MeanOfLoss | None:
    """The mean loss against the truth, of predictions or forecasts; None where too few labels are numbers.

    With `room` for intervals, without it for estimates. Squares have both in one: their estimate is the `smooth` part.
    """
    allowed = _Allowed.of(data)
    residuals = allowed.residuals(room)
    if residuals is None:
        return None
    factor = loss.parabola(data.predictions[allowed.rows])
    mean = _mean(loss, data, allowed, residuals, low, high)
    if factor is None:
        return mean
    law = allowed.smooth(residuals.fit)
    swallowed = factor * np.square(allowed.scale) * allowed.swallowed(law)
    smooth = _mean(loss, data, allowed, replace(residuals, fit=law), low, high)
    return replace(mean, smooth=replace(smooth, swallowed=swallowed))


def _mean(
    loss: Loss, data: Measured, allowed: _Allowed, residuals: TrueResiduals, low: float, high: float
) -> MeanOfLoss:
    """The mean loss of these residuals."""
    if not loss.of_forecast:
        return MeanOfLoss(residuals, loss, low, high, widened=allowed.widening)
    truth = allowed.place[:, None] + allowed.scale[:, None] * residuals.fit.grid
    values = np.asarray(loss(truth.T, data.predictions[allowed.rows]).T)
    return MeanOfForecastLoss(
        residuals,
        loss,
        low,
        high,
        widened=allowed.widening,
        matrix=np.where(np.isfinite(values), values, 0.0),
        known_losses=np.zeros((3, 0)),
    )


def _grid(
    low: FloatArray, high: FloatArray, s: FloatArray, number: BoolArray, normal: tuple[float, float], room: bool
) -> FloatArray:
    """Points where the numbers are dense, points that reach all numbers and limits, and 0, where losses have their kink.

    A limit beyond all numbers would draw the law as far out as the grid reaches. It suggests a residual as far out as a
    number at its end would do if residuals were normal: mean + (end - mean) v / (v + s^2). An end that allows far more than
    any label asks for is as good as open.
    """
    mean, variance = normal
    kept = np.where(number, 1.0, variance / (variance + np.square(s)))
    lows, highs = ((mean + kept * (end - mean))[np.isfinite(end)] for end in (low, high))
    ends = np.concatenate([lows, highs])
    first, last = float(highs.min()), float(lows.max())  # no label asks for residuals beyond
    if last > first:
        ends = ends[(ends >= first - _AS_OPEN * (last - first)) & (ends <= last + _AS_OPEN * (last - first))]
    beyond = max(float(np.std(low[number])), float(np.median(s))) if room else 0.0
    first, last = float(ends.min()) - beyond, float(ends.max()) + beyond
    dense = np.quantile(low[number], np.linspace(0.0, 1.0, _POINTS))
    zero = [0.0] if first < 0 < last else []
    grid = np.unique(np.concatenate([dense, np.linspace(first, last, _POINTS), zero]))
    return np.asarray(grid[np.diff(grid, prepend=-np.inf) > _CLOSEST * (last - first) / _POINTS])


def _with_tails(grid: FloatArray) -> FloatArray:
    """The same points with others on both sides, at growing distance."""
    away = float(grid[-1] - grid[0]) / _POINTS * np.cumsum(_GROWTH ** np.arange(1.0, _TAIL + 1.0))
    return np.concatenate([(grid[0] - away)[::-1], grid, grid[-1] + away])


def _likelihood(low: FloatArray, high: FloatArray, s: FloatArray, number: BoolArray, grid: FloatArray) -> FloatArray:
    """The likelihood of each label at each grid point, relative to the largest of its row."""
    sharp = np.maximum(s[:, None], _SHARPEST * np.gradient(grid))
    logs = np.empty((len(low), len(grid)))
    z = (low[number, None] - grid) / sharp[number]
    logs[number] = -0.5 * z * z - np.log(sharp[number])
    limit = ~number
    below, above = ((end[limit, None] - grid) / sharp[limit] for end in (low, high))
    logs[limit] = log_between(below, above)
    return np.asfortranarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def two_halves(loss: Loss, data: Measured, by: FloatArray) -> tuple[MeanOfLoss, MeanOfLoss] | None:
    """The mean loss of the residuals of labels with small and with large values of `by`; None where either are too few."""
    small = by <= np.median(by)
    found = [limited_residuals(_part(data, half)) if half.any() else None for half in (small, ~small)]
    if found[0] is None or found[1] is None:
        return None
    return MeanOfLoss(found[0], loss, -math.inf), MeanOfLoss(found[1], loss, -math.inf)


def _part(data: Measured, which: BoolArray) -> Measured:
    weight = None if data.weight is None else data.weight[which]
    return Measured(data.y[which], data.p[which], data.errors[which], weight)
