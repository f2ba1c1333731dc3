"""What an accumulator keeps of class labels that flip: how many predictions are right and wrong at each q. Counts merge.

q is the probability that a label is wrong. Up to MOST distinct values are kept as they are; more are gathered in bins, as
`laws.poisson_binomial.gather` does: each keeps its number of labels and the first three moments of q. Labels with q = 0
or q = 1 are always counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MOST = 4096
BINS_PER_HALF = 512
_BINS = 2 * BINS_PER_HALF


@dataclass(frozen=True)
class ClassCounts:
    """Right (row 0) and wrong (row 1) predictions of one model."""

    classes: NDArray[np.generic]
    """The classes seen so far, sorted."""
    q: FloatArray
    counts: NDArray[np.int64]
    """(2, k): predictions at each distinct q."""
    moments: FloatArray | None = None
    """(2, 4, bins): sums of u^r, u the place of q in its bin; None while the distinct q are few."""

    @classmethod
    def of(cls, y: NDArray[np.generic], p: NDArray[np.generic], q: FloatArray | float) -> ClassCounts:
        """Of these labels."""
        values, index = np.unique(np.broadcast_to(np.asarray(q, dtype=np.float64), y.shape), return_inverse=True)
        right = y == p
        counts = [np.bincount(index[which], minlength=values.size) for which in (right, ~right)]
        return cls(np.union1d(y, p), values, np.stack(counts).astype(np.int64))._few()

    @property
    def n(self) -> int:
        """Number of labels."""
        gathered = 0 if self.moments is None else round(float(self.moments[:, 0].sum()))
        return int(self.counts.sum()) + gathered

    @property
    def gathered(self) -> bool:
        """Whether single q are no longer known."""
        return self.moments is not None

    def merged(self, other: ClassCounts) -> ClassCounts:
        """Of both sets of labels."""
        q = np.union1d(self.q, other.q)
        counts = np.zeros((2, q.size), dtype=np.int64)
        for part in (self, other):
            counts[:, np.searchsorted(q, part.q)] += part.counts
        both = [part.moments for part in (self, other) if part.moments is not None]
        moments = None if not both else both[0] if len(both) == 1 else both[0] + both[1]
        return ClassCounts(np.union1d(self.classes, other.classes), q, counts, moments)._few()

    def _few(self) -> ClassCounts:
        """The same with distinct q in bins where they are many, or where some are already."""
        if self.q.size <= MOST and self.moments is None:
            return self
        ends = (self.q == 0) | (self.q == 1)
        q, counts = self.q[~ends], self.counts[:, ~ends].astype(np.float64)
        high = q > 0.5
        u = np.where(high, 1.0 - q, q) * _BINS
        index = np.minimum(u.astype(np.intp), BINS_PER_HALF - 1)
        u -= index
        index += BINS_PER_HALF * high
        moments = np.zeros((2, 4, _BINS)) if self.moments is None else self.moments.copy()
        for row in range(2):
            weight = counts[row]
            for power in range(4):
                moments[row, power] += np.bincount(index, weight, minlength=_BINS)
                weight = weight * u
        return ClassCounts(self.classes, self.q[ends], self.counts[:, ends], moments)
