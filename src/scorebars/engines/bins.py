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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOMENTS = 4
LARGEST = 256
_FEW = 24
"""Octaves for whose bins there may be room beforehand."""
_BIAS = 1023
"""Of the exponents of doubles."""
GRID = np.cos(np.pi * (np.arange(MOMENTS) + 0.5) / MOMENTS)
"""The points in a bin."""
TO_WEIGHTS = np.linalg.inv(np.vander(GRID, increasing=True))
"""Row k: what the k-th moment gives to each point."""


@dataclass(frozen=True)
class Bins:
    """Moments of the labels in bins, octave by octave, and the largest labels with their columns.

    A bin is one value of the leading bits of v as a double, all but `bits` of its fraction: 2^(52 - bits) bins an octave.
    Its key is that value times `minors` plus the minor number.
    """

    bits: int
    minors: int
    octaves: dict[int, FloatArray]
    """Moments (bins, 4, c) of all bins of an octave, by its exponent; only of octaves that hold labels."""
    top_v: FloatArray
    top_minor: IntArray
    top: FloatArray
    """(c, t)"""

    @classmethod
    def empty(cls, columns: int, bits: int, minors: int = 1) -> Bins:
        """Of no labels."""
        return cls(bits, minors, {}, np.empty(0), np.empty(0, dtype=np.int64), np.empty((columns, 0)))

    @classmethod
    def of_octaves(cls, moments: FloatArray, first: int, bits: int, minors: int = 1) -> Bins:
        """From the moments (octaves, bins, 4, c) of consecutive octaves, from that of exponent `first` on."""
        used = np.flatnonzero(moments[:, :, 0, 0].any(axis=1))
        empty = cls.empty(moments.shape[3], bits, minors)
        return replace(empty, octaves={first + k: moments[k] for k in used.tolist()})

    @classmethod
    def of_occupied(cls, bits: int, minors: int, keys: IntArray, moments: FloatArray, *top: NDArray[Any]) -> Bins:
        """From what `occupied` told."""
        return cls(bits, minors, {}, *top).with_moments(keys, moments)

    def occupied(self) -> tuple[Any, ...]:
        """What to keep or send of the bins: most of an octave's may be empty."""
        return self.bits, self.minors, self.keys, self.moments, self.top_v, self.top_minor, self.top

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Bins.of_occupied, self.occupied()

    @property
    def columns(self) -> int:
        """How many."""
        return len(self.top)

    @property
    def _per_octave(self) -> int:
        return self.minors << (52 - self.bits)

    @property
    def keys(self) -> IntArray:
        """Of the occupied bins, ascending."""
        found = [octave * self._per_octave + _occupied(self.octaves[octave]) for octave in sorted(self.octaves)]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    @property
    def moments(self) -> FloatArray:
        """(k, 4, c) of the occupied bins."""
        blocks = [self.octaves[octave] for octave in sorted(self.octaves)]
        return np.concatenate([np.empty((0, MOMENTS, self.columns)), *(block[_occupied(block)] for block in blocks)])

    def with_moments(self, keys: IntArray, moments: FloatArray) -> Bins:
        """With those (k, 4, c) of some bins."""
        octaves, (octave, place) = dict(self.octaves), np.divmod(keys, self._per_octave)
        for number in np.unique(octave).tolist():
            here = octave == number
            old = octaves.get(number)
            block = np.zeros((self._per_octave, MOMENTS, self.columns)) if old is None else old.copy()
            block[place[here]] += moments[here]
            octaves[number] = block
        return replace(self, octaves=octaves)

    @property
    def floor(self) -> float:
        """A label has to be above this to be among the largest."""
        return float(self.top_v.min()) if self.top_v.size == LARGEST else 0.0

    def reach(self) -> Reach | None:
        """Where more labels of the same kind may be expected; None where few are known, or they lie far apart."""
        if self.floor == 0 or not 0 < len(self.octaves) <= _FEW:
            return None
        return Reach(math.ldexp(1.0, min(self.octaves) - _BIAS), self.floor, self.floor)

    def merged(self, other: Bins) -> Bins:
        """The bins of both sets of labels."""
        octaves = dict(self.octaves)
        for octave, moments in other.octaves.items():
            octaves[octave] = octaves[octave] + moments if octave in octaves else moments
        return replace(self, octaves=octaves).with_top(other.top_v, other.top_minor, other.top)

    def with_top(self, v: FloatArray, minor: IntArray, columns: FloatArray) -> Bins:
        """With more labels that may be among the largest; those that are not go into the bins."""
        if not v.size:
            return self
        v, minor = np.concatenate([self.top_v, v]), np.concatenate([self.top_minor, minor])
        columns = np.concatenate([self.top, columns], axis=1)
        order = np.argsort(-v, kind="stable")
        top, rest = order[:LARGEST], order[LARGEST:]
        kept = replace(self, top_v=v[top], top_minor=minor[top], top=columns[:, top])
        return kept.with_labels(v[rest], minor[rest], columns[:, rest]) if rest.size else kept

    def with_labels(self, v: FloatArray, minor: NDArray[Any], columns: FloatArray) -> Bins:
        """With more labels in the bins."""
        keys, index = np.unique(leading_bits(v, self.bits) * self.minors + minor, return_inverse=True)
        u = _place(v, self.bits)
        moments = np.empty((keys.size, MOMENTS, len(columns)))
        for c, column in enumerate(columns):
            weight = column
            for k in range(MOMENTS):
                moments[:, k, c] = np.bincount(index, weights=weight, minlength=keys.size)
                weight = weight * u
        return self.with_moments(keys, moments)

    def recombined(self, matrix: FloatArray) -> Bins:
        """With columns that are linear combinations (rows of `matrix`) of the present ones."""
        octaves = {octave: moments @ matrix.T for octave, moments in self.octaves.items()}
        return replace(self, octaves=octaves, top=matrix @ self.top)

    def divided(self, power: int, columns: FloatArray) -> tuple[Bins, FloatArray]:
        """The bins of v / 2^power with their columns multiplied, and the columns of labels whose v vanishes, added up."""
        octaves = {octave - power: moments * columns for octave, moments in self.octaves.items()}
        kept = {octave: moments for octave, moments in octaves.items() if octave >= 1}  # normal doubles
        top_v, top = np.ldexp(self.top_v, -power), columns[:, None] * self.top
        stay = top_v > 0
        vanished = top[:, ~stay].sum(axis=1)
        for octave in octaves.keys() - kept.keys():
            vanished = vanished + octaves[octave][:, 0].sum(axis=0)
        return Bins(self.bits, self.minors, kept, top_v[stay], self.top_minor[stay], top[:, stay]), vanished

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """v (k, 4) of the points that stand for each bin, its minor number (k,), and the columns (c, k, 4) there."""
        keys = self.keys
        major = keys // self.minors
        low, high = (np.ascontiguousarray((major + k) << self.bits).view(np.float64)[:, None] for k in (0, 1))
        v = 0.5 * (low + high) + 0.5 * (high - low) * GRID
        return v, keys % self.minors, np.einsum("kmc,mp->ckp", self.moments, TO_WEIGHTS)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """v (k,) and columns (c, k) of all points and of the largest labels."""
        v, _, columns = self.points()
        return (
            np.concatenate([self.top_v, v.ravel()]),
            np.concatenate([self.top, columns.reshape(len(columns), -1)], axis=1),
        )


def _occupied(moments: FloatArray) -> IntArray:
    return np.flatnonzero(moments[:, 0, 0])


def leading_bits(v: FloatArray, bits: int) -> IntArray:
    """The numbers of the bins of v, whatever the minor number; of 52 bits the exponent."""
    out: IntArray = np.ascontiguousarray(v).view(np.int64) >> bits
    return out


def _place(v: FloatArray, bits: int) -> FloatArray:
    rest = np.ascontiguousarray(v).view(np.int64) & ((1 << bits) - 1)
    return np.ldexp(rest.astype(np.float64), 1 - bits) - 1.0


class Reach(NamedTuple):
    """From which v to which most labels lie, and above which v labels stay apart."""

    low: float
    high: float
    threshold: float

    @classmethod
    def of(cls, v: FloatArray, n: int) -> Reach:
        """As a sample v of n labels tells: LARGEST of all n, or somewhat more, are above the threshold."""
        high = float(v.max())
        low = float(np.min(v, initial=np.inf, where=v > 0)) if high > 0 else np.inf
        place = v.size - 1 - min(v.size - 1, math.ceil(1.5 * LARGEST * v.size / n) + 8)
        threshold = float(np.partition(v, place)[place]) if n > LARGEST else 0.0
        return cls(low, high, threshold) if high > 0 else cls(1.0, 1.0, 0.0)
