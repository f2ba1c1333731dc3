"""The law of a mean absolute error whose labels were summarised in bins: the same contours, over the bins' points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorebars.engines.binning import Z_BINS, Z_WIDTH
from scorebars.engines.bins import GRID, TO_WEIGHTS, Bins, IntArray
from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.contour_ladder import ContourLadder
from scorebars.laws.folded import FoldedNormalMean
from scorebars.laws.folded_cgf import NORMAL_FROM, FoldedCgf

_NORMAL = NORMAL_FROM + 1.0


class BinnedFoldedMean(FoldedNormalMean):
    """Law of shift + sum a |Z + z[node]| over points that stand for `count` labels each, with known mean and std."""

    def __init__(
        self,
        a: FloatArray,
        z: FloatArray,
        node: IntArray,
        count: FloatArray,
        shift: float,
        mean: float,
        std: float,
    ) -> None:
        self._a, self._points = a, (z, node, count)
        self._shift, self._centre, self._scale = shift, mean, std
        self._unit = float(np.max(a))
        self._relative_std = std / self._unit
        self._ladder = None
        self.support = (shift, math.inf)

    @property
    def _z(self) -> FloatArray:  # type: ignore[override]
        z, node, _ = self._points
        return z[node]

    def _standard(self) -> ContourLadder:
        """In the unit in which the points have variance 1: `std` is better known than they know it."""
        if self._ladder is None:
            # divided first: squares of tiny shares of labels leave the doubles
            cgf = FoldedCgf(self._a / self._scale, *self._points)
            self._ladder = ContourLadder(cgf.with_unit_variance())
        return self._ladder

    def cumulants(self, order: int = 4) -> tuple[float, ...]:
        """Mean and variance; higher ones are not kept apart from the points."""
        if order not in (1, 2):
            raise ValueError(f"order must be 1 or 2 for summarised labels, got {order}")
        return (self._mean(), self._var())[:order]

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        return Law.rvs(self, size, rng)


def folded_points(bins: Bins) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """a, z, the place in z, and count of the points that stand for the labels of these bins, and of the largest labels."""
    a, minor, columns = bins.points()
    count = np.einsum("ckp,cq->kpq", columns, TO_WEIGHTS)
    places = len(GRID)
    z = np.append((np.arange(Z_BINS)[:, None] + 0.5 + 0.5 * GRID) * Z_WIDTH, np.full(places, _NORMAL))
    node = np.broadcast_to((minor[:, None] * places + np.arange(places))[:, None, :], count.shape)
    top_z = (bins.top_minor + 0.5 + 0.5 * bins.top[1]) * Z_WIDTH
    top_z[bins.top_minor == Z_BINS] = _NORMAL
    return (
        np.concatenate([bins.top_v, np.repeat(a.ravel(), places)]),
        np.concatenate([z, top_z]),
        np.concatenate([z.size + np.arange(top_z.size), node.ravel()]),
        np.concatenate([np.ones(top_z.size), count.ravel()]),
    )


def scales(bins: Bins) -> tuple[FloatArray, FloatArray]:
    """a and count of the same labels, whatever their z."""
    a, _, columns = bins.points()
    # points of bins that differ in z alone are one
    points, index = np.unique(a.ravel(), return_inverse=True)
    count = np.bincount(index, weights=columns[0].ravel(), minlength=points.size)
    return np.concatenate([bins.top_v, points]), np.concatenate([np.ones(bins.top_v.size), count])
