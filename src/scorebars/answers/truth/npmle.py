"""The score against the truth of any loss of the residual, from the most likely law of the true residuals.

The law of D = truth - prediction is fitted to the labels that err (`moments.deconvolution`); labels without error keep
their residuals as they are. The fit gives the mean of *any* loss of the residual, and quantiles too: absolute error,
pinball, Huber, within tolerance. It needs independent normal errors and labels enough to show a law.

Where true residuals are seen to follow the label errors, D = m(s) + c(s) eta, the law is that of eta (`dependence`).

A loss that jumps cannot be deconvolved: laws that no data can tell apart differ in it. Its interval is the range of its
mean over all laws that fit the labels, and its estimate comes from a smooth law among them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.deconvolution import Deconvolution, Trend, fitted_trend, residual_grid, typical_spacing
from scorebars.score import Estimate, Interval

FEWEST = 30
"""Fewer labels with errors do not show a law."""
_KNOWN = 0.25
"""A label whose error is below this part of the grid's spacing counts as known: the grid could not tell."""
_NOTHING = 1e-100
"""An error too small to be squared."""
_ROUNDING = 1e-9
_ONE_SIGMA = math.erf(math.sqrt(0.5))


@dataclass(frozen=True, eq=False)
class TrueResiduals:
    """What the labels tell about the true residuals: a law for those with errors, the others as they are."""

    fit: Deconvolution
    fitted: NDArray[np.bool_]
    """Which labels have a fitted law."""
    fitted_share: float
    """How much the labels with a fitted law count; all labels together count 1."""
    known: FloatArray
    known_sd: FloatArray
    known_share: FloatArray
    clustering: float = 1.0
    """How much more a mean scatters because several outputs belong to one item."""
    trend: Trend | None = None
    """How the true residuals follow the label errors; the fit is one of residuals standardised by it."""
    others: tuple[Trend, ...] = ()
    """Trends a standard error away from what was taken: how much an answer changes with them is part of its error."""

    @property
    def method(self) -> str:
        """How the law was found."""
        return "npmle" if self.trend is None else "location-scale"

    @property
    def note(self) -> str:
        """What the law assumes of residuals and label errors."""
        if self.trend is None:
            return "true residuals taken as independent of the label errors, since no dependence is seen"
        power = self.trend.log_variance[1] / 2
        return (
            "true residuals are seen to follow the label errors: their size is taken as a power of the error "
            f"({power:.2g} ± {self.trend.errors[1] / 2:.1g}), their mean as a line in its logarithm"
        )

    def points(self) -> FloatArray:
        """The true residuals that the grid stands for: one row, or where residuals follow the errors one for each cell."""
        if self.trend is None:
            return self.fit.grid
        centre, scale = self.trend.at(self.fit.cells.group)
        return np.asarray(centre[:, None] + scale[:, None] * self.fit.grid)

    def _standardised(self, trend: Trend) -> TrueResiduals:
        """What would be found with another trend."""
        cells = self.fit.cells
        centre, scale = (0.0, 1.0) if self.trend is None else self.trend.at(cells.group)
        observed, sd = centre + scale * cells.residual, scale * cells.sd
        centre, scale = trend.at(cells.group)
        eta, error = (observed - centre) / scale, sd / scale
        fit = Deconvolution.of_cells(cells._replace(residual=eta, sd=error), residual_grid(eta, error, cells.share))
        return replace(self, fit=fit, trend=trend, others=())

    @cached_property
    def with_other_trends(self) -> list[TrueResiduals]:
        """What would be found with each of the other trends."""
        return [self._standardised(trend) for trend in self.others]


def true_residuals(data: Measured) -> TrueResiduals | None:
    """The true residuals behind these labels; None where errors are not normal and independent or labels are few."""
    if not data.plain_normal:
        return None
    sd = np.sqrt(data.errors.label_variance(data.labels))
    counts = data.shares > 0
    erring = counts & (sd > _NOTHING)
    if int(erring.sum()) < FEWEST:
        return None
    grid = residual_grid(data.residual[erring], sd[erring], data.shares[erring])
    fitted = erring & (sd > _KNOWN * typical_spacing(data.residual[erring], grid))
    d, s, a = data.residual[fitted], sd[fitted], data.shares[fitted]
    if not len(a) or float(a.sum()) ** 2 < (FEWEST - 0.5) * float(np.sum(np.square(a))):
        return None
    rest = counts & ~fitted
    trend = fitted_trend(d, s, a)
    others = () if trend is None else trend.tilted() if trend.seen else (trend,)
    if trend is None or not trend.seen:
        trend, fit = None, Deconvolution.fit(d, s, a, grid)
    else:
        centre, scale = trend.at(s)
        eta, error = (d - centre) / scale, s / scale
        fit = Deconvolution.fit(eta, error, a, residual_grid(eta, error, a), s)
    return TrueResiduals(
        fit,
        fitted,
        float(a.sum()),
        data.residual[rest],
        sd[rest],
        data.shares[rest],
        _clustering(data),
        trend,
        others,
    )


def _clustering(data: Measured) -> float:
    """Variance of the mean absolute residual over items of several outputs, relative to that over single labels."""
    if data.outputs == 1:
        return 1.0
    loss = data.shares * np.abs(data.residual)
    deviation = loss - data.shares * float(loss.sum())
    single = float(np.sum(np.square(deviation)))
    return float(np.sum(np.square(deviation.reshape(-1, data.outputs).sum(axis=1)))) / single if single > 0 else 1.0


@dataclass(frozen=True, eq=False)
class MeanOfLoss:
    """The mean of a loss of the true residuals, and how well it is known.

    With `fresh` > 0 the loss is that of labels measured afresh, with error variance fresh * (present one).
    Intervals are kept between `low` and `high`.
    """

    residuals: TrueResiduals
    loss: Loss
    low: float = 0.0
    high: float = math.inf
    fresh: float = 0.0

    def _loss_at(self, residual: FloatArray, sd: FloatArray) -> FloatArray:
        """The loss of each true residual, averaged over the errors of a fresh label."""
        if self.fresh == 0:
            return self.loss(residual, np.zeros_like(residual))
        errors = Normal.trusted(math.sqrt(self.fresh) * sd)
        return label_moments(self.loss, errors, residual, np.zeros_like(residual)).mean

    @cached_property
    def _values(self) -> FloatArray:
        """The loss at each grid point; in each cell where that differs: for fresh labels, for residuals with a trend."""
        points, cells = self.residuals.points(), self.residuals.fit.cells
        if self.fresh == 0:
            return self._loss_at(points.reshape(-1), np.zeros(points.size)).reshape(points.shape)
        shape = (len(cells.sd), len(self.residuals.fit.grid))
        points, sd = np.broadcast_to(points, shape), np.broadcast_to(cells.group[:, None], shape)
        return self._loss_at(points.reshape(-1), sd.reshape(-1)).reshape(shape)

    @cached_property
    def _known_losses(self) -> FloatArray:
        return self._loss_at(self.residuals.known, self.residuals.known_sd)

    @property
    def _jumps(self) -> bool:
        """Whether the loss jumps; averaged over the errors of fresh labels, it does not."""
        return self.fresh == 0 and not self.loss.continuous

    @cached_property
    def _mean(self) -> float:
        return self._with_known(self._fitted_mean)

    def _with_known(self, fitted_mean: float) -> float:
        parts = self.residuals
        return parts.fitted_share * fitted_mean + float(parts.known_share @ self._known_losses)

    @cached_property
    def _fitted_mean(self) -> float:
        fit = self.residuals.fit
        return float(fit.smooth_weights @ fit.averaged(self._values)) if self._jumps else fit.mean_of(self._values)

    @property
    def value(self) -> float:
        """The mean loss."""
        return self._mean

    @property
    def note(self) -> str:
        """What the estimate assumes."""
        return self.residuals.note

    # how well it is known ----------------------------------------------------------------------

    @cached_property
    def _item_variance(self) -> float:
        """Variance of the items' mean loss given the observed residuals and the law."""
        parts = self.residuals
        below, above = (self._loss_at(parts.known + c * parts.known_sd, parts.known_sd) for c in (-1.0, 1.0))
        known = float(np.sum(np.square(parts.known_share * (above - below) / 2)))
        fitted = 0.0 if self._jumps else parts.fit.posterior_variance(self._values)
        return parts.fitted_share**2 * fitted + known

    @cached_property
    def _sampling_variance(self) -> float:
        """What a new test set adds to the uncertainty of the law: known losses, how many are known, other label errors."""
        parts, values = self.residuals, self._values
        by_error = 0.0
        if values.ndim == 2:
            means = values @ parts.fit.weights
            by_error = float(parts.fit.cells.square @ np.square(means - float(parts.fit.cells.share @ means)))
        gap = parts.fitted_share * (self._fitted_mean - self._mean)
        known = float(np.sum(np.square(parts.known_share * (self._known_losses - self._mean))))
        return parts.clustering * (known + gap * gap / parts.fit.effective_labels + parts.fitted_share**2 * by_error)

    @cached_property
    def _trend_variance(self) -> float:
        """What the uncertain slopes of the trend add, or a trend that is too weak to be seen."""
        return sum(
            (replace(self, residuals=other)._mean - self._mean) ** 2 for other in self.residuals.with_other_trends
        )

    def _ends(self, values: FloatArray, quantile: float, variance: float, clustering: float = 1.0) -> Interval:
        """The likelihood profile's ends, widened by an independent scatter."""
        fit, share = self.residuals.fit, self.residuals.fitted_share
        below, above = fit.profile_reach(values, 0.5 * quantile**2 * clustering / fit.effective_labels)
        if self._jumps:  # a range that reaches the end of what is possible must not miss it by rounding
            below, above = below + _ROUNDING, above + _ROUNDING
        scatter = quantile * math.sqrt(variance + self._trend_variance)
        centre = self._with_known(fit.law_mean_of(values)) if self._jumps else self._mean
        return Interval(
            min(centre - math.hypot(share * below, scatter), self._mean),
            max(centre + math.hypot(share * above, scatter), self._mean),
        )

    def _kept(self, interval: Interval) -> Interval:
        low, high = (min(max(end, self.low), self.high) for end in interval)
        return Interval(low, high)

    def _for_items(self, level: float) -> Interval:
        fit, values = self.residuals.fit, self._values
        moved = fit.averaged(values) if self._jumps else fit.item_influence(values)
        return self._ends(moved, float(ndtri((1.0 + level) / 2)), self._item_variance)

    def std(self) -> float:
        """Half the length of the interval at one standard deviation (68 %)."""
        low, high = self._for_items(_ONE_SIGMA)
        return (high - low) / 2

    def interval(self, level: float) -> Interval:
        """For the items at hand: their mean loss moves with the law and with each residual given its label.

        A loss that jumps: all values that laws compatible with the labels allow.
        """
        return self._kept(self._for_items(level))

    def total_interval(self, level: float) -> Interval:
        """For the population: all laws compatible with the labels."""
        parts = self.residuals
        labels = parts.fit.effective_labels + len(parts.known)
        quantile = float(stdtrit(max(labels - 1.0, 1.0), (1.0 + level) / 2))
        values = parts.fit.averaged(self._values)
        return self._kept(self._ends(values, quantile, self._sampling_variance, parts.clustering))

    def bootstrap_of(self, data: Measured) -> Bootstrap | None:
        """How to find the uncertainty of the estimate from these labels by bootstrap."""
        return Bootstrap(self, data)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How well a mean loss against the truth is known, by repeating the measurement on the computer.

    True residuals are drawn from the fitted law, labels measured again and fitted again. The new estimate is compared with
    the mean loss of the residuals drawn (for the items at hand) and with the mean under the law (for the population). It
    assumes what the fit assumes, and no large number of labels, as the likelihood profile does.
    """

    mean: MeanOfLoss
    data: Measured

    def __call__(self, draws: int, rng: np.random.Generator, note: str) -> Estimate:
        """The same estimate with the scatter of `draws` repetitions."""
        of_items, of_population = np.array([self._errors(rng) for _ in range(draws)]).T
        value = min(max(self.mean.value, self.mean.low), self.mean.high)
        return Estimate(
            value,
            float(np.sqrt(np.mean(np.square(of_items)))),
            method=self.mean.residuals.method,
            note=f"{note}; uncertainty from {draws} bootstrap draws" if note else f"from {draws} bootstrap draws",
            interval=Mirrored(value, of_items, self.mean.low, self.mean.high),
            total_interval=Mirrored(value, of_population, self.mean.low, self.mean.high),
        )

    def _errors(self, rng: np.random.Generator) -> tuple[float, float]:
        """How far the estimate from one repetition falls from what it estimates: in these items, in the population."""
        data, parts = self.data, self.mean.residuals
        sd = np.sqrt(data.errors.label_variance(data.labels))
        known = np.flatnonzero(~parts.fitted)
        true = rng.choice(parts.fit.grid, len(sd), p=parts.fit.weights / parts.fit.weights.sum())
        if parts.trend is not None:
            centre, scale = parts.trend.at(np.where(parts.fitted, sd, 1.0))
            true = centre + scale * true
        true[known] = data.residual[rng.choice(known, len(known))] if len(known) else 0.0
        labels = Measured(true + sd * rng.standard_normal(len(sd)), np.zeros(len(sd)), Normal.trusted(sd), data.weight)
        again = true_residuals(labels)
        residuals = parts if again is None else again
        estimate = MeanOfLoss(residuals, self.mean.loss).value
        drawn = float(data.shares @ self.mean.loss(true, np.zeros(len(sd))))
        population = np.sqrt(parts.clustering) * (estimate - self.mean.value)
        return estimate - drawn, float(population)


@dataclass(frozen=True, eq=False)
class Mirrored:
    """The interval value - error, for errors between their quantiles, kept in the range of the metric."""

    value: float
    errors: FloatArray
    low: float
    high: float

    def __call__(self, level: float) -> Interval:
        below, above = np.quantile(self.errors, [(1.0 - level) / 2, (1.0 + level) / 2])
        return Interval(*(float(np.clip(self.value - error, self.low, self.high)) for error in (above, below)))
