"""Mean distances of a distribution from any point, read from a table for each label.

A(y) = E|X - y| has the slopes A' = 2 F(y) - 1 and A'' = 2 f(y). A polynomial of degree 5 between two nodes that has both
slopes right at both ends is off by h^6 / 46080 times the sixth derivative: nodes a tenth of a standard deviation apart give
1e-11. Beyond the outermost nodes A(y) = |y - mean|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Distances:
    """Nodes (n, k) in increasing order, A and its two slopes there, and mean and half mean difference (n,) of each
    distribution."""

    nodes: FloatArray
    value: FloatArray
    slope: FloatArray
    bend: FloatArray
    mean: FloatArray
    spread: FloatArray

    def __getitem__(self, index: Any) -> Distances:
        """The table of a subset of the labels."""
        return Distances(*(column[index] for column in vars(self).values()))

    def crps(self, y: FloatArray) -> FloatArray:
        """The continuous ranked probability score at y of shape (..., n)."""
        return self.distance(y) - self.spread

    def distance(self, y: FloatArray) -> FloatArray:
        """A(y) for y of shape (..., n)."""
        y = np.asarray(y, dtype=np.float64)
        k, first = self.nodes.shape[1], np.arange(len(self.mean)) * self.nodes.shape[1]
        place = first + np.clip(rank_in_rows(self.nodes, y) - 1, 0, k - 2)
        x, value, slope, bend = (column.reshape(-1) for column in (self.nodes, self.value, self.slope, self.bend))
        left, h = x[place], x[place + 1] - x[place]
        h = np.where(h > 0, h, 1.0)
        t = np.clip((y - left) / h, 0.0, 1.0)
        u = 1.0 - t
        start = value[place] + t * h * (slope[place] + 0.5 * t * h * bend[place])
        # what is left to the values at the other end, and its slopes, in units of the step
        end = value[place + 1] - value[place] - h * (slope[place] + 0.5 * h * bend[place])
        turn = h * (slope[place + 1] - slope[place] - h * bend[place])
        curl = 0.5 * h * h * (bend[place + 1] - bend[place])
        inside = start + t**3 * (end * (1.0 + 3.0 * u + 6.0 * u * u) - u * turn * (1.0 + 3.0 * u) + u * u * curl)
        outside = (y < self.nodes[:, 0]) | (y > self.nodes[:, -1])
        return np.where(outside, np.abs(y - self.mean), inside)


def rank_in_rows(rows: FloatArray, x: FloatArray, below: bool = False) -> IntArray:
    """How many entries of each row, in increasing order, are at most x (or below it), for x of shape (..., rows)."""
    m, flat = rows.shape[1], rows.reshape(-1)
    first = np.arange(len(rows)) * m
    low, high = np.zeros(x.shape, dtype=np.int64), np.full(x.shape, m, dtype=np.int64)
    for _ in range(m.bit_length()):
        middle = (low + high) // 2
        value = flat[first + np.minimum(middle, m - 1)]
        up = (low < high) & ((value < x) if below else (value <= x))
        low, high = np.where(up, middle + 1, low), np.where(up, high, middle)
    return low
