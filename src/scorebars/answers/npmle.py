"""The score against the truth of any loss of the residual, from the most likely law of the true residuals.

The law of D = truth - prediction is fitted to the labels that err (`moments.deconvolution`); labels without error keep
their residuals as they are. The fit gives the mean of *any* loss of the residual, and quantiles too: absolute error,
pinball, Huber, within tolerance. It needs independent normal errors and labels enough to show a law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.deconvolution import Deconvolution, residual_grid, typical_spacing
from scorebars.score import Interval

FEWEST = 30
"""Fewer labels with errors do not show a law."""
_KNOWN = 0.25
"""A label whose error is below this part of the grid's spacing counts as known: the grid could not tell."""
_NOTHING = 1e-100
"""An error too small to be squared."""
_ONE_SIGMA = math.erf(math.sqrt(0.5))


@dataclass(frozen=True, eq=False)
class ResidualLaw:
    """The estimated law of the true residuals D = truth - prediction: points and their weights, which sum to 1."""

    residual: FloatArray
    weight: FloatArray

    def mean_of(self, loss_at: Callable[[FloatArray], FloatArray]) -> float:
        """Mean of a loss of the residual: ``law.mean_of(np.abs)`` is the mean absolute error against the truth."""
        return float(self.weight @ loss_at(self.residual))

    def quantile_of(self, loss_at: Callable[[FloatArray], FloatArray], q: float) -> float:
        """What the loss stays below with probability q: ``law.quantile_of(np.abs, 0.5)``, the median absolute error."""
        values = np.asarray(loss_at(self.residual), dtype=np.float64)
        order = np.argsort(values, kind="stable")
        below = np.cumsum(self.weight[order])
        return float(values[order][min(int(np.searchsorted(below, q * below[-1])), len(values) - 1)])


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

    @cached_property
    def law(self) -> ResidualLaw:
        """The law of the true residuals of all labels."""
        points = np.concatenate([self.fit.grid, self.known])
        weights = np.concatenate([self.fitted_share * self.fit.weights, self.known_share])
        return ResidualLaw(points[weights > 0], weights[weights > 0])


def true_residuals(data: Measured) -> TrueResiduals | None:
    """The true residuals behind these labels; None where errors are not normal and independent or labels are few."""
    if not isinstance(data.errors, Normal) or not data.errors.independent:
        return None
    sd = np.sqrt(data.errors.label_variance(np.asarray(data.y, float)))
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
    return TrueResiduals(
        Deconvolution.fit(d, s, a, grid),
        fitted,
        float(a.sum()),
        data.residual[rest],
        sd[rest],
        data.shares[rest],
        _clustering(data),
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
    All results are multiplied by `unit` and kept between `low` and `high`.
    """

    residuals: TrueResiduals
    loss: Loss
    unit: float = 1.0
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
        """The loss at each grid point; for fresh labels in each cell, since their errors differ."""
        fit = self.residuals.fit
        if self.fresh == 0:
            return self._loss_at(fit.grid, np.zeros_like(fit.grid))
        shape = (len(fit.cells.sd), len(fit.grid))
        points, sd = np.broadcast_to(fit.grid, shape), np.broadcast_to(fit.cells.sd[:, None], shape)
        return self._loss_at(points.reshape(-1), sd.reshape(-1)).reshape(shape)

    @cached_property
    def _known_losses(self) -> FloatArray:
        return self._loss_at(self.residuals.known, self.residuals.known_sd)

    @cached_property
    def _mean(self) -> float:
        parts = self.residuals
        return parts.fitted_share * self._fitted_mean + float(parts.known_share @ self._known_losses)

    @cached_property
    def _fitted_mean(self) -> float:
        return self.residuals.fit.mean_of(self._values)

    @property
    def value(self) -> float:
        """The mean loss."""
        return self.unit * self._mean

    # how well it is known ----------------------------------------------------------------------

    @cached_property
    def _item_variance(self) -> float:
        """Variance of the items' mean loss given the observed residuals and the law."""
        parts = self.residuals
        below, above = (self._loss_at(parts.known + c * parts.known_sd, parts.known_sd) for c in (-1.0, 1.0))
        known = float(np.sum(np.square(parts.known_share * (above - below) / 2)))
        return parts.fitted_share**2 * parts.fit.posterior_variance(self._values) + known

    @cached_property
    def _sampling_variance(self) -> float:
        """What a new test set adds to the uncertainty of the law: known losses, and how many labels are known."""
        parts = self.residuals
        gap = parts.fitted_share * (self._fitted_mean - self._mean)
        known = float(np.sum(np.square(parts.known_share * (self._known_losses - self._mean))))
        return parts.clustering * (known + gap * gap / parts.fit.effective_labels)

    def _ends(self, values: FloatArray, quantile: float, variance: float, clustering: float = 1.0) -> Interval:
        """The likelihood profile's ends, widened by an independent scatter."""
        fit, share = self.residuals.fit, self.residuals.fitted_share
        below, above = fit.profile_reach(values, 0.5 * quantile**2 * clustering / fit.effective_labels)
        scatter = quantile * math.sqrt(variance)
        return Interval(
            self.unit * (self._mean - math.hypot(share * below, scatter)),
            self.unit * (self._mean + math.hypot(share * above, scatter)),
        )

    def _kept(self, interval: Interval) -> Interval:
        return Interval(max(interval.low, self.low), min(interval.high, self.high))

    def _for_items(self, level: float) -> Interval:
        influence = self.residuals.fit.item_influence(self._values)
        return self._ends(influence, float(ndtri((1.0 + level) / 2)), self._item_variance)

    def std(self) -> float:
        """Half the length of the interval at one standard deviation (68 %)."""
        low, high = self._for_items(_ONE_SIGMA)
        return (high - low) / 2

    def interval(self, level: float) -> Interval:
        """For the items at hand: their mean loss moves with the law and with each residual given its label."""
        return self._kept(self._for_items(level))

    def total_interval(self, level: float) -> Interval:
        """For the population: all laws compatible with the labels."""
        parts = self.residuals
        labels = parts.fit.effective_labels + len(parts.known)
        quantile = float(stdtrit(max(labels - 1.0, 1.0), (1.0 + level) / 2))
        return self._kept(self._ends(self._values, quantile, self._sampling_variance, parts.clustering))
