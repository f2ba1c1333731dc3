"""Many labels in flat memory: moments in narrow bins, and the few largest labels one by one. Bins merge.

The laws of sums over labels need sum_i c_i f(v_i) for smooth functions f of one number v > 0 of the label (its
variance, its scale) and a few columns c (how many labels, their squared offsets, ...). Such sums are kept if

- the labels with the largest v, on whose poles f may come close, stay as they are;
- all others go into narrow bins, each with the sums of c u^k, k < 4, with u the place in the bin from -1 to 1.

Four points in a bin with the same moments then stand for its labels: every f that is a cubic in the bin has its exact
sum. A second number of the label (`minor`) may split the bins; its own moments are columns then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_Moments = tuple[IntArray, FloatArray]
"""Keys of bins, ascending, and what belongs to them."""

MOMENTS = 4
LARGEST = 256
_SAMPLE = 4096
GRID = np.cos(np.pi * (np.arange(MOMENTS) + 0.5) / MOMENTS)
"""The points in a bin."""
TO_WEIGHTS = np.linalg.inv(np.vander(GRID, increasing=True))
"""Row k: what the k-th moment gives to each point."""


@dataclass(frozen=True)
class Bins:
    """`moments` (k, c, 4) of the labels in the occupied bins `keys` (k,), and the largest labels with their columns.

    A bin is one value of the leading bits of v as a double, all but `bits` of its fraction: 2^(52 - bits) bins an octave.
    Its key is that value times `minors` plus the minor number.
    """

    bits: int
    minors: int
    keys: IntArray
    moments: FloatArray
    top_v: FloatArray
    top_minor: IntArray
    top: FloatArray
    """(c, t)"""

    @classmethod
    def empty(cls, columns: int, bits: int, minors: int = 1) -> Bins:
        """Of no labels."""
        none = np.empty(0, dtype=np.int64)
        return cls(bits, minors, none, np.empty((0, columns, MOMENTS)), np.empty(0), none, np.empty((columns, 0)))

    @classmethod
    def of_moments(cls, moments: FloatArray, first: int, bits: int, minors: int = 1) -> Bins:
        """From the moments (bins, c, 4) of consecutive bins, from that of leading bits `first` on."""
        used = np.flatnonzero(moments[:, 0, 0])
        empty = cls.empty(moments.shape[1], bits, minors)
        return replace(empty, keys=first * minors + used, moments=moments[used])

    @property
    def floor(self) -> float:
        """A label has to be above this to be among the largest."""
        return float(self.top_v.min()) if self.top_v.size == LARGEST else 0.0

    def merged(self, other: Bins) -> Bins:
        """The bins of both sets of labels."""
        return self._with(other.top_v, other.top_minor, other.top, (other.keys, other.moments))

    def with_top(self, v: FloatArray, minor: IntArray, columns: FloatArray) -> Bins:
        """With more labels that may be among the largest; those that are not go into the bins."""
        return self._with(v, minor, columns) if v.size else self

    def _with(self, v: FloatArray, minor: IntArray, columns: FloatArray, *more: _Moments) -> Bins:
        """With labels that may be among the largest, and with moments of bins."""
        v, minor = np.concatenate([self.top_v, v]), np.concatenate([self.top_minor, minor])
        columns = np.concatenate([self.top, columns], axis=1)
        order = np.argsort(-v, kind="stable")
        top, rest = order[:LARGEST], order[LARGEST:]
        if rest.size:
            more = (*more, self._moments_of(v[rest], minor[rest], columns[:, rest]))
        kept = replace(self, top_v=v[top], top_minor=minor[top], top=columns[:, top])
        return kept._with_moments(more)

    def _with_moments(self, parts: Sequence[_Moments]) -> Bins:
        places = [np.minimum(np.searchsorted(self.keys, keys), max(self.keys.size - 1, 0)) for keys, _ in parts]
        known = self.keys.size and all(
            np.array_equal(self.keys[place], keys) for place, (keys, _) in zip(places, parts, strict=True)
        )
        if known:  # as a rule: nothing but known bins
            every, out = self.keys, self.moments.copy()
        else:
            every = np.sort(np.concatenate([self.keys, *(keys for keys, _ in parts)]))
            every = every[np.append(True, np.diff(every) > 0)] if every.size else every
            out = np.zeros((every.size, *self.moments.shape[1:]))
            out[np.searchsorted(every, self.keys)] = self.moments
            places = [np.searchsorted(every, keys) for keys, _ in parts]
        for place, (_, moments) in zip(places, parts, strict=True):
            out[place] += moments
        return replace(self, keys=every, moments=out)

    def with_labels(self, v: FloatArray, minor: NDArray[Any], columns: FloatArray) -> Bins:
        """With more labels in the bins."""
        return self._with_moments([self._moments_of(v, minor, columns)])

    def _moments_of(self, v: FloatArray, minor: NDArray[Any], columns: FloatArray) -> _Moments:
        keys, index = np.unique(leading_bits(v, self.bits) * self.minors + minor, return_inverse=True)
        u = _place(v, self.bits)
        moments = np.empty((keys.size, len(columns), MOMENTS))
        for c, column in enumerate(columns):
            weight = column
            for k in range(MOMENTS):
                moments[:, c, k] = np.bincount(index, weights=weight, minlength=keys.size)
                weight = weight * u
        return keys, moments

    def recombined(self, matrix: FloatArray) -> Bins:
        """With columns that are linear combinations (rows of `matrix`) of the present ones."""
        return replace(self, moments=np.einsum("dc,kcm->kdm", matrix, self.moments), top=matrix @ self.top)

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """v (k, 4) of the points that stand for each bin, its minor number (k,), and the columns (c, k, 4) there."""
        major = self.keys // self.minors
        low, high = (np.ascontiguousarray((major + k) << self.bits).view(np.float64)[:, None] for k in (0, 1))
        v = 0.5 * (low + high) + 0.5 * (high - low) * GRID
        return v, self.keys % self.minors, np.einsum("kcm,mp->ckp", self.moments, TO_WEIGHTS)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """v (k,) and columns (c, k) of all points and of the largest labels."""
        v, _, columns = self.points()
        return (
            np.concatenate([self.top_v, v.ravel()]),
            np.concatenate([self.top, columns.reshape(len(columns), -1)], axis=1),
        )


def leading_bits(v: FloatArray, bits: int) -> IntArray:
    """The numbers of the bins of v, whatever the minor number."""
    out: IntArray = np.ascontiguousarray(v).view(np.int64) >> bits
    return out


def _place(v: FloatArray, bits: int) -> FloatArray:
    rest = np.ascontiguousarray(v).view(np.int64) & ((1 << bits) - 1)
    return np.ldexp(rest.astype(np.float64), 1 - bits) - 1.0


def threshold_of(v: FloatArray, floor: float) -> float:
    """A value with LARGEST labels above it, or somewhat more, as a sample of the labels tells; not below `floor`."""
    if v.size <= LARGEST:
        return floor
    sample = v[:: max(1, v.size // _SAMPLE)]
    place = sample.size - 1 - min(sample.size - 1, math.ceil(1.5 * LARGEST * sample.size / v.size) + 8)
    return max(float(np.partition(sample, place)[place]), floor)
