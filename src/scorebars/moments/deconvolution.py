"""Which law of the true residuals do the observed ones speak for?

Observed residuals are d_i = D_i + s_i Z with known s_i. The nonparametric maximum likelihood estimate of the law of D
(Kiefer & Wolfowitz 1956) maximises

    sum_i a_i log( sum_k w_k phi((d_i - D_k) / s_i) / s_i )

over all laws; on a grid that is a concave programme for the weights w_k (`simplex`). It assumes that D and s are
independent, and nothing about the shape. The mean of any loss under the law estimates the mean loss against the truth.
Where D follows s, residuals are first divided by a scale that does so too (`dependence`).

How well is such a mean known? All laws whose log likelihood is within chi^2_1 / 2 of the best are compatible with the
data: the range of the mean over these laws is its likelihood-profile interval, found here without simulation. For the
items at hand, whose own D_i are asked for rather than those of a population, the mean over the items of E[loss | d_i]
takes the place of the mean under the law, and the scatter of the D_i given the d_i is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.moments.cells import Cells, cells_of
from scorebars.moments.simplex import Mixture

_QUANTILE_POINTS = 75
_SPREAD_POINTS = 75
_CLOSEST = 1e-6
"""Grid points nearer than this part of a typical error are one."""
_MOST_SWEEPS = 300
_PRECISION = 2e-3
"""Relative precision of a profile's end."""


def residual_grid(residual: FloatArray, sd: FloatArray, share: FloatArray) -> FloatArray:
    """Points where the residuals are dense, points that reach all of them, and 0, where losses have their kink.

    The best law has no point outside the range of the observed residuals, but other laws that the data allow have:
    two standard deviations are added on either side.
    """
    width = float(np.median(sd))
    low, high = float(residual.min()) - 2.0 * width, float(residual.max()) + 2.0 * width
    order = np.argsort(residual, kind="stable")
    ranks = np.cumsum(share[order]) - 0.5 * share[order]
    dense = np.interp(np.linspace(0.0, 1.0, _QUANTILE_POINTS), ranks / float(share.sum()), residual[order])
    centre = float(dense[_QUANTILE_POINTS // 2])
    ends = np.arcsinh((np.array([low, high]) - centre) / width)
    spread = centre + width * np.sinh(np.linspace(ends[0], ends[1], _SPREAD_POINTS))
    zero = [0.0] if low < 0 < high else []
    grid = np.unique(np.concatenate([dense, spread, zero]))
    return np.asarray(grid[np.diff(grid, prepend=-np.inf) > _CLOSEST * width])


def typical_spacing(residual: FloatArray, grid: FloatArray) -> float:
    """Distance of the two grid points around a typical residual."""
    right = np.clip(np.searchsorted(grid, residual), 1, len(grid) - 1)
    return float(np.median(grid[right] - grid[right - 1]))


def normal_likelihood(residual: FloatArray, sd: FloatArray, grid: FloatArray) -> FloatArray:
    """phi((d - D) / s) for each label and grid point, each row relative to its largest entry."""
    with np.errstate(over="ignore"):
        z = np.minimum(np.abs(residual[:, None] - grid) / sd[:, None], 1e150)
    exponent = -0.5 * z * z
    return np.asfortranarray(np.exp(exponent - exponent.max(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class Deconvolution:
    """The most likely law of D on a grid: its weights, and the labels it was fitted to, in cells of like d and s.

    A loss enters as its `values`: at each grid point, or for each cell and grid point.
    """

    cells: Cells
    grid: FloatArray
    weights: FloatArray
    gap: float
    """The log likelihood per label is within this of the best on the grid."""

    @classmethod
    def fit(
        cls, residual: FloatArray, sd: FloatArray, share: FloatArray, grid: FloatArray, group: FloatArray | None = None
    ) -> Deconvolution:
        """Labels with errors sd > 0 that count by their share (any positive sum), in cells of like `group` (the error)."""
        group = sd if group is None else group
        return cls.of_cells(cells_of(residual, sd, share, grid, typical_spacing(residual, grid), group), grid)

    @classmethod
    def of_cells(cls, cells: Cells, grid: FloatArray) -> Deconvolution:
        """Labels that were gathered in cells already."""
        mixture = Mixture(normal_likelihood(cells.residual, cells.sd, grid), cells.share)
        weights = mixture.most_likely(mixture.first_weights())
        gradient = (cells.share / (mixture.likelihood @ weights)) @ mixture.likelihood
        return cls(cells, grid, weights, max(float(gradient.max()) - 1.0, 0.0))

    def __getstate__(self) -> dict[str, Any]:
        """Only what was fitted travels: the matrices are made again where they are needed."""
        return {name: self.__dict__[name] for name in ("cells", "grid", "weights", "gap")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def _mixture(self) -> Mixture:
        return Mixture(normal_likelihood(self.cells.residual, self.cells.sd, self.grid), self.cells.share)

    @cached_property
    def _posterior(self) -> FloatArray:
        """Probability of each grid point given a label of each cell."""
        joint = self._mixture.likelihood * self.weights
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    @property
    def effective_labels(self) -> float:
        """As many labels of equal weight would know as much."""
        return 1.0 / float(np.sum(self.cells.square))

    # means and their scatter -------------------------------------------------------------------

    def mean_of(self, values: FloatArray) -> float:
        """Mean over the items of E[loss | d]; on a fine grid that is the mean under the law, if all have the same."""
        inner = np.sum(self._posterior * self._inner_shift * np.gradient(values, self.grid, axis=-1), axis=1)
        return float(self.cells.share @ (self._item_means(values) + inner))

    def law_mean_of(self, values: FloatArray) -> float:
        """Mean under the law of the loss, which is averaged over the cells if it depends on them."""
        return float(self.weights @ self.averaged(values))

    def averaged(self, values: FloatArray) -> FloatArray:
        """The loss at each grid point, averaged over the cells."""
        return values if values.ndim == 1 else np.asarray(self.cells.share @ values)

    def _item_means(self, values: FloatArray) -> FloatArray:
        """E[loss | d] of each cell, for residuals on the grid."""
        return np.asarray(np.sum(self._posterior * values, axis=1))

    @cached_property
    def _inner_precision(self) -> FloatArray:
        """1 / variance of D within the neighbourhood of a grid point, given the label: that of the label and of the step."""
        return np.asarray(1.0 / np.square(self.cells.sd)[:, None] + 12.0 / np.square(np.gradient(self.grid)))

    @property
    def _inner_shift(self) -> FloatArray:
        """How far within a step of the grid the label pulls D: where the step is wide, all the way to the label."""
        half = np.gradient(self.grid) / 2
        pull = (self.cells.residual[:, None] - self.grid) / (np.square(self.cells.sd)[:, None] * self._inner_precision)
        return np.clip(pull, -half, half)

    def posterior_variance(self, values: FloatArray) -> float:
        """Variance of the items' mean loss given their observed residuals and the law.

        A grid point stands for all residuals in its neighbourhood: where the grid is coarser than the error, D still
        scatters by the error within it.
        """
        centred = values - self._item_means(values)[:, None]
        spread = np.sum(self._posterior * np.square(centred), axis=1)
        inner = np.square(np.gradient(values, self.grid, axis=-1)) / self._inner_precision
        return float(self.cells.square @ (spread + np.sum(self._posterior * inner, axis=1)))

    def item_influence(self, values: FloatArray) -> FloatArray:
        """How the items' mean of E[loss | d] changes with the weight of each grid point."""
        mixture, first = self._mixture, self._item_means(values)
        pull = mixture.share / (mixture.likelihood @ self.weights)
        if values.ndim == 1:
            return np.asarray((pull @ mixture.likelihood) * values - (pull * first) @ mixture.likelihood)
        return np.asarray(pull @ (mixture.likelihood * (values - first[:, None])))

    @cached_property
    def smooth_weights(self) -> FloatArray:
        """Weights of a smooth law that fits as well: the most likely law sits on few points, other laws fit almost as well.

        EM starts from an even law over the grid and stops once its log likelihood is within 1/2, one standard deviation, of
        the best.
        """
        mixture = self._mixture
        enough = mixture.log_likelihood(self.weights) - 0.5 / self.effective_labels
        width = np.gradient(self.grid)
        weights = width / width.sum()
        for _ in range(_MOST_SWEEPS):
            density = mixture.likelihood @ weights
            if float(mixture.share @ np.log(density)) >= enough:
                return np.asarray(weights)
            weights = weights * ((mixture.share / density) @ mixture.likelihood)
        # the even law is too far away: mix in as much of the best one as is needed
        part = 0.5
        while mixture.log_likelihood((1.0 - part) * weights + part * self.weights) < enough and part < 1.0:
            part = min(1.2 * part, 1.0)
        return np.asarray((1.0 - part) * weights + part * self.weights)

    # the likelihood profile --------------------------------------------------------------------

    def profile_reach(self, values: FloatArray, drop: float) -> tuple[float, float]:
        """How far below and above its estimate the mean of `values` gets at a cost in log likelihood per label of `drop`."""
        return self._profile_end(-values, drop), self._profile_end(values, drop)

    def _profile_end(self, values: FloatArray, drop: float) -> float:
        """The weights that maximise log likelihood + tilt * mean run along the profile: which tilt costs `drop`?"""
        upward = values - float(self.weights @ values)
        span, limit = float(np.max(np.abs(upward))), float(np.max(upward))
        if limit <= 1e-12 * span:
            return 0.0
        upward = upward / span
        mixture, weights = self._mixture, self.weights
        top, gap = mixture.log_likelihood(weights), min(1e-7, 1e-3 * drop)
        inner, outer = (0.0, -1.0), (math.inf, math.inf)
        tilt = math.sqrt(2.0 * drop / max(float(self.weights @ np.square(upward)), 1e-12))
        reach = 0.0
        for _ in range(60):
            weights = mixture.most_likely(weights, tilt * upward, gap)
            reach = float(weights @ upward)
            # the square root of the cost grows about linearly with the tilt
            excess = math.sqrt(max(top - mixture.log_likelihood(weights), 0.0) / drop) - 1.0
            if abs(excess) < _PRECISION or (excess < 0 and limit / span - reach <= 1e-9):
                break
            if excess < 0:
                inner = (tilt, excess)
            else:
                outer = (tilt, excess)
            if math.isinf(outer[0]):
                tilt *= min(max(1.0 / (1.0 + excess), 1.2), 4.0)
            else:
                part = -inner[1] / (outer[1] - inner[1])
                tilt = inner[0] + (outer[0] - inner[0]) * min(max(part, 0.05), 0.95)
        return max(reach, 0.0) * span
