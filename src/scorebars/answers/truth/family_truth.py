"""The mean loss against the truth under errors that are not normal: from the most likely law of the true residuals.

What `npmle` does with the normal density it does with that of any family (`moments.deconvolution`): a label that is a count,
or has an error of a factor, or only one of a known halfwidth, tells by its own density which true values it allows. A
loss that is not one of the residual alone (a percentage, a difference of logarithms) is averaged over what each label
tells about its own truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from scorebars.answers.truth.npmle import FEWEST, Bootstrap, MeanOfLoss, TrueResiduals
from scorebars.arrays import FloatArray
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments.deconvolution import (
    Cells,
    Deconvolution,
    central_half_width,
    label_likelihood,
    residual_grid,
    typical_spacing,
)
from scorebars.numerics.simplex import Mixture
from scorebars.score import Interval

_KNOWN = 0.25
"""A label whose error is below this part of the grid's spacing counts as known: the grid could not tell."""
_NOTHING = 1e-100
_MOST = 20_000
"""More labels are represented by every k-th."""


@dataclass(frozen=True, eq=False)
class FamilyDeconvolution(Deconvolution):
    """The most likely law of the true residuals, given the likelihood of each label at each point of the grid."""

    likelihood: FloatArray

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"likelihood": self.likelihood}

    @cached_property
    def _mixture(self) -> Mixture:
        return Mixture(self.likelihood, self.cells.share)


@dataclass(frozen=True, eq=False)
class FamilyMean(MeanOfLoss):
    """The mean of a loss of label and prediction over the true values behind these labels."""

    prediction: FloatArray | None = None
    """Of the labels with a fitted law; None where the loss is one of the residual alone."""
    known_prediction: FloatArray | None = None

    @property
    def note(self) -> str:
        return ""

    def bootstrap_of(self, data: Measured) -> Bootstrap | None:
        return None

    @cached_property
    def _values(self) -> FloatArray:
        fit = self.residuals.fit
        assert isinstance(fit, FamilyDeconvolution)
        if self.prediction is None:
            return self.loss(fit.grid, np.zeros_like(fit.grid))
        p = np.broadcast_to(self.prediction[:, None], fit.likelihood.shape)
        possible = fit.likelihood > 0
        truth = np.where(possible, p + fit.grid, p)
        values = self.loss(truth.reshape(-1), p.reshape(-1)).reshape(p.shape)
        return np.where(np.isfinite(values), values, 0.0)

    def _known_at(self, residual: FloatArray) -> FloatArray:
        p = np.zeros_like(residual) if self.known_prediction is None else self.known_prediction
        return self.loss(p + residual, p)

    @cached_property
    def _known_losses(self) -> FloatArray:
        return self._known_at(self.residuals.known)

    @cached_property
    def _item_variance(self) -> float:
        parts = self.residuals
        below, above = (self._known_at(parts.known + c * parts.known_sd) for c in (-1.0, 1.0))
        known = float(np.sum(np.square(parts.known_share * (above - below) / 2)))
        return parts.fitted_share**2 * parts.fit.posterior_variance(self._values) + known

    def total_interval(self, level: float) -> Interval:
        """For the population; a loss of label and prediction adds the scatter of the items' losses."""
        if self.prediction is None:
            return super().total_interval(level)
        parts, fit = self.residuals, self.residuals.fit
        means = fit._item_means(self._values)
        deviation = parts.fitted_share**2 * float(fit.cells.square @ np.square(means - self._mean))
        known = float(np.sum(np.square(parts.known_share * (self._known_losses - self._mean))))
        scatter = parts.clustering * (deviation + known) + self._item_variance
        labels = fit.effective_labels + len(parts.known)
        quantile = float(stdtrit(max(labels - 1.0, 1.0), (1.0 + level) / 2))
        return self._kept(self._ends(fit.item_influence(self._values), quantile, scatter))


def family_mean(loss: Loss, data: Measured, low: float, high: float) -> FamilyMean | None:
    """The mean loss against the truth behind these labels; None where labels are few or no truth is possible.

    Errors with sharp ends or a cusp are left to extrapolation. A flat density does not choose between the laws that it
    allows, and one with a cusp draws the law to the labels themselves (Laplace: a bias of half its scatter at n = 60).
    """
    if data.errors.sharp:
        return None
    step = max(1, data.n // _MOST)
    pick = slice(None, None, step)
    y, p, errors, a = data.labels[pick], data.predictions[pick], data.errors[pick], data.shares[pick]
    a = a / float(a.sum())
    centre, width = central_half_width(errors, y)
    d, counts = centre - p, a > 0
    erring = counts & (width > _NOTHING)
    if int(erring.sum()) < FEWEST or not np.all(np.isfinite(d)):
        return None
    grid = residual_grid(d[erring], width[erring], a[erring])
    fitted = erring & (width > _KNOWN * typical_spacing(d[erring], grid))
    if not fitted.any():
        return None
    rows = np.flatnonzero(fitted)
    truth = p[rows][:, None] + grid
    likelihood = label_likelihood(errors[rows], y[rows], truth)
    if math.isfinite(loss.least_label):
        likelihood = np.where(truth > loss.least_label, likelihood, 0.0)
    allowed = likelihood.max(axis=1) > 0
    fitted[rows[~allowed]] = False
    rows, likelihood = rows[allowed], np.asfortranarray(likelihood[allowed])
    share = a[rows]
    if not len(rows) or float(share.sum()) ** 2 < (FEWEST - 0.5) * float(np.sum(np.square(share))):
        return None
    rest = counts & ~fitted
    part = share / float(share.sum())
    mixture = Mixture(likelihood, part)
    weights = mixture.most_likely(mixture.first_weights())
    fit = FamilyDeconvolution(
        Cells(d[rows], width[rows], part, np.square(part), width[rows]), grid, weights, 0.0, likelihood
    )
    residuals = TrueResiduals(fit, fitted, float(share.sum()), d[rest], width[rest], a[rest], _clustering(data, step))
    if loss.of_residual:
        return FamilyMean(residuals, loss, low, high)
    return FamilyMean(residuals, loss, low, high, prediction=p[rows], known_prediction=p[rest])


def _clustering(data: Measured, step: int) -> float:
    """How much more a mean scatters because several outputs belong to one item: at most as often as there are outputs."""
    return float(data.outputs) if step == 1 else 1.0
