"""ROC AUC, whole or up to a false positive rate, and average precision of many sets of binary labels at once.

Items in order of falling score, those of equal score in one group. Labels may be expectations: anything that adds up.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.arrays import FloatArray


class ScoreGroups:
    """The groups of equal score, from the highest to the lowest."""

    def __init__(self, scores: FloatArray) -> None:
        self.order = np.argsort(-scores, kind="stable")
        self._in_order = bool(np.all(np.diff(self.order) == 1))
        ranked = scores[self.order]
        self.starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        self.group = np.empty(len(scores), dtype=np.intp)
        self.group[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(scores))))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums over each group of values (..., N), in order of falling score."""
        ranked = values if self._in_order else values[..., self.order]
        single = self.starts.size == self.order.size
        return np.asarray(ranked if single else np.add.reduceat(ranked, self.starts, axis=-1))


def partial_auc(groups: ScoreGroups, y: FloatArray, w: FloatArray, max_fpr: float) -> FloatArray:
    """The standardised area under the ROC curve up to `max_fpr` for labels y (..., N); nan where a class is missing.

    0.5 (1 + (A - m^2/2) / (m - m^2/2)) for the area A up to m (McClish 1989): 0.5 for a coin, 1 for a perfect ranking;
    with m = 1 the area itself.
    """
    positive, negative = np.add.reduce(w * y, axis=-1), np.add.reduce(w * (1.0 - y), axis=-1)
    defined = (positive > 0) & (negative > 0)
    rises, steps = groups.sums(w * y), groups.sums(w * (1.0 - y))
    before = np.cumsum(rises, axis=-1) - rises
    # expectations may be negative, but the curve never turns back
    end = np.maximum(np.maximum.accumulate(np.cumsum(steps, axis=-1), axis=-1), 0.0)
    start = np.concatenate([np.zeros((*end.shape[:-1], 1)), end[..., :-1]], axis=-1)
    limit = np.where(defined, max_fpr * negative, 1.0)[..., None]
    width = np.minimum(end, limit) - np.minimum(start, limit)
    full = np.where(end > start, end - start, 1.0)
    # the curve rises in a straight line over each group, also over the one that the limit cuts
    area = np.add.reduce(width * (before + rises * width / full / 2), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = area / np.where(defined, positive * negative, 1.0)
    least = max_fpr * max_fpr / 2
    return np.where(defined, 0.5 * (1.0 + (share - least) / (max_fpr - least)), math.nan)


def average_precision(groups: ScoreGroups, y: FloatArray, w: FloatArray) -> FloatArray:
    """Average precision for labels y (..., N); 0 without positives."""
    gained, items = groups.sums(y if np.all(w == 1) else w * y), np.cumsum(groups.sums(w))
    so_far = np.cumsum(gained, axis=-1)
    total = so_far[..., -1]
    found = np.einsum("...i,...i,i->...", gained, so_far, 1.0 / np.where(items > 0, items, 1.0))
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 0.0)
