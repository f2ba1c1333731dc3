"""What an accumulator keeps of class labels that flip: how many there are in each cell at each q. Counts merge.

q is the probability that a label is wrong. A cell is a shown and a predicted class; where only the accuracy is asked for,
it is "right" or "wrong", which keeps memory small however many classes there are. Up to MOST distinct q are kept as they
are. More are put in bins, each with its number of labels and the first three moments of q. Labels with q = 0 or q = 1 are
always counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray, IntArray, classes_in

MOST = 4096
BINS_BELOW_HALF = 512
BINS = 2 * BINS_BELOW_HALF
_STRIP = 1 << 14
"""Trials that are binned together: temporaries stay in the cache."""


@dataclass(frozen=True)
class ClassCounts:
    """The labels of one model: a table of counts by cell and q, and one of moments by cell and bin of q."""

    classes: NDArray[np.generic]
    """The classes seen so far, sorted."""
    pairs: bool
    """Whether cells are pairs of classes: shown * len(classes) + predicted. Else 0 is right and 1 is wrong."""
    cell: IntArray
    q: FloatArray
    count: IntArray
    """Number of labels at each distinct (cell, q), in this order."""
    bins: IntArray | None = None
    """cell * BINS + bin of q, ascending; None while the distinct q are few."""
    moments: FloatArray | None = None
    """(bins, 4): sums of u^r, u the place of q in its bin."""

    @classmethod
    def of(
        cls, y: NDArray[np.generic], p: NDArray[np.generic], q: FloatArray | float, pairs: bool = False
    ) -> ClassCounts:
        """Count these labels."""
        classes = classes_in(y, p)
        cell = (y != p).astype(np.int64)
        if pairs:
            cell = np.searchsorted(classes, y) * len(classes) + np.searchsorted(classes, p)
        if isinstance(q, np.ndarray):
            values, index = np.unique(q, return_inverse=True)
        else:
            values, index = np.array([float(q)]), np.zeros(1, np.intp)
        found, count = _counted(cell * values.size + index)
        at, which = np.divmod(found, values.size)
        return cls(classes, pairs, at, values[which], count)._few()

    @classmethod
    def of_trials(cls, chance: FloatArray) -> ClassCounts:
        """Counts of trials of one kind with chances q of success; binned at once, since chances rarely repeat."""
        known, total = np.array([np.count_nonzero(chance == end) for end in (0.0, 1.0)]), np.zeros((4, BINS))
        free = chance[(chance > 0) & (chance < 1)] if known.any() else chance
        for start in range(0, free.size, _STRIP):
            index, u = _places(free[start : start + _STRIP])
            power = np.ones(u.size)
            for row in total:
                row += np.bincount(index, power, BINS)
                power *= u
        return cls.of_bins(total.T, known)

    @classmethod
    def of_bins(cls, moments: FloatArray, ends: IntArray) -> ClassCounts:
        """Counts of trials from moments of all bins, (BINS, 4), and the numbers that never and that always succeed."""
        bins, some = np.flatnonzero(moments[:, 0]), ends > 0
        cell, nothing = np.zeros(int(some.sum()), np.int64), np.empty(0, np.int64)
        return cls(nothing, False, cell, np.array([0.0, 1.0])[some], ends[some], bins, moments[bins])

    @property
    def n(self) -> int:
        """Number of labels."""
        gathered = 0 if self.moments is None else round(float(self.moments[:, 0].sum()))
        return int(self.count.sum()) + gathered

    @property
    def gathered(self) -> bool:
        """Whether single q are no longer known."""
        return self.bins is not None

    def right(self, cell: IntArray) -> NDArray[np.bool_]:
        """Whether the prediction is the shown class in these cells."""
        return np.asarray(cell % (len(self.classes) + 1) == 0) if self.pairs else cell == 0

    def merged(self, other: ClassCounts) -> ClassCounts:
        """The counts of both sets of labels."""
        classes = np.union1d(self.classes, other.classes)
        parts = [part._among(classes) for part in (self, other)]
        cell, q, count = (np.concatenate([getattr(part, name) for part in parts]) for name in ("cell", "q", "count"))
        order = np.lexsort((q, cell))
        cell, q = cell[order], q[order]
        first = np.flatnonzero(np.append(True, (np.diff(cell) > 0) | (np.diff(q) > 0)))[: cell.size]
        count = np.add.reduceat(count[order], first) if first.size else count
        bins, moments = _added([(part.bins, part.moments) for part in parts])
        return ClassCounts(classes, self.pairs, cell[first], q[first], count, bins, moments)._few()

    def _among(self, classes: NDArray[np.generic]) -> ClassCounts:
        """The counts with cells numbered by these classes."""
        if not self.pairs or len(classes) == len(self.classes):
            return self
        place = np.searchsorted(classes, self.classes)

        def moved(cell: IntArray) -> IntArray:
            shown, predicted = np.divmod(cell, len(self.classes))
            return np.asarray(place[shown] * len(classes) + place[predicted])

        bins = None if self.bins is None else moved(self.bins // BINS) * BINS + self.bins % BINS
        return ClassCounts(classes, True, moved(self.cell), self.q, self.count, bins, self.moments)

    def _few(self) -> ClassCounts:
        """The counts, with distinct q put into bins where they are many, or where some are already."""
        if self.bins is None and (self.q.size <= MOST or np.unique(self.q).size <= MOST):
            return self
        ends = (self.q == 0) | (self.q == 1)
        q, power = self.q[~ends], self.count[~ends].astype(np.float64)
        index, u = _places(q)
        keys, which = _distinct(self.cell[~ends] * BINS + index)
        fresh = np.empty((keys.size, 4))
        for r in range(4):
            fresh[:, r] = np.bincount(which, power, minlength=keys.size)
            power = power * u
        bins, moments = _added([(self.bins, self.moments), (keys, fresh)])
        return ClassCounts(self.classes, self.pairs, self.cell[ends], self.q[ends], self.count[ends], bins, moments)


def _places(q: FloatArray) -> tuple[IntArray, FloatArray]:
    """The bin of each q, and its place there; q above 1/2 counts from 1."""
    high = q > 0.5
    u = np.where(high, 1.0 - q, q) * BINS
    index = np.minimum(u.astype(np.int64), BINS_BELOW_HALF - 1)
    u -= index
    return index + BINS_BELOW_HALF * high, u


def _counted(code: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct numbers of at least 0, ascending, and how often each occurs."""
    if int(code.max()) > 4 * code.size:
        found, count = np.unique(code, return_counts=True)
        return found, count.astype(np.int64)
    all_counts = np.bincount(code)
    found = np.flatnonzero(all_counts)
    return found, all_counts[found].astype(np.int64)


def _distinct(code: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct numbers of at least 0, ascending, and which of them each is."""
    if not code.size or int(code.max()) > 4 * code.size:
        found, which = np.unique(code, return_inverse=True)
        return found, which
    occurs = np.zeros(int(code.max()) + 1, dtype=np.bool_)
    occurs[code] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[code]


def _added(parts: list[tuple[IntArray | None, FloatArray | None]]) -> tuple[IntArray | None, FloatArray | None]:
    """Moments added up bin by bin."""
    known = [(bins, moments) for bins, moments in parts if bins is not None and moments is not None]
    if not known:
        return None, None
    bins, which = np.unique(np.concatenate([bins for bins, _ in known]), return_inverse=True)
    total = np.zeros((bins.size, 4))
    np.add.at(total, which, np.concatenate([moments for _, moments in known]))
    return bins, total


def rows_of(counted: ClassCounts) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cell, q and number of labels: of each distinct q, and of two nodes for each bin of q."""
    cell, q, count = counted.cell, counted.q, counted.count.astype(np.float64)
    if counted.bins is not None and counted.moments is not None:
        nodes, weights = _gauss_pairs(counted.moments.T)
        at, index = np.divmod(counted.bins, BINS)
        nodes = (nodes + index % BINS_BELOW_HALF) / BINS
        nodes = np.where(index < BINS_BELOW_HALF, nodes, 1.0 - nodes)
        cell = np.concatenate([cell, np.repeat(at, 2)])
        q = np.concatenate([q, np.clip(nodes.T.ravel(), 0.0, 1.0)])
        count = np.concatenate([count, weights.T.ravel()])
    used = count > 0
    return cell[used], q[used], count[used]


def _gauss_pairs(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two nodes and weights per bin, (2, bins) each, with the bin's four moments sum u^r, r = 0..3."""
    number = np.where(moments[0] > 0, moments[0], 1.0)
    mean, second, third = moments[1:] / number
    variance = np.maximum(second - mean * mean, 0.0)
    variance = np.where(variance > 1e-14 * second, variance, 0.0)
    spread = np.where(variance > 0, variance, 1.0)
    skew = np.where(variance > 0, (third - 3 * mean * second + 2 * mean**3) / spread, 0.0)
    root = np.sqrt(skew * skew / 4 + variance)
    below, above = skew / 2 - root, skew / 2 + root
    width = np.where(root > 0, above - below, 1.0)
    share = np.where(root > 0, above / width, 1.0)
    return mean + np.stack([below, above]), moments[0] * np.stack([share, 1 - share])
