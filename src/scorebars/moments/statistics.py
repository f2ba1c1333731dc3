"""Classical metrics of many rows of labels (m, n) against one row of predictions (n,).

Weights are (n,) or None. Sums are taken about the mean of each row, so that nothing cancels.
"""

from __future__ import annotations

import numpy as np

from scorebars.arrays import BoolArray, FloatArray
from scorebars.numerics.inversions import inversions


def _total(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    return np.asarray(np.sum(x if weight is None else weight * x, axis=-1))


def _centred(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    return np.asarray(x - np.average(x, axis=-1, weights=weight, keepdims=True))


def _scatter(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    return _total(np.square(_centred(x, weight)), weight)


def explained(lost: FloatArray, total: FloatArray) -> FloatArray:
    """1 - lost / total; 1 where nothing is lost, 0 where labels do not vary but something is (as scikit-learn)."""
    safe = np.where(total > 0, total, 1.0)
    return np.where(total > 0, 1.0 - lost / safe, np.where(lost == 0, 1.0, 0.0))


def r2(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - sum w (y - p)^2 / sum w (y - mean y)^2"""
    return explained(_total(np.square(labels - p), weight), _scatter(labels, weight))


def explained_variance(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - Var(y - p) / Var(y)"""
    return explained(_scatter(labels - p, weight), _scatter(labels, weight))


def d2_absolute(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - sum w |y - p| / sum w |y - median y|"""
    about_median = labels - weighted_median(labels, weight)[..., None]
    return explained(_total(np.abs(labels - p), weight), _total(np.abs(about_median), weight))


def pearson(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Correlation of labels and predictions; 0 where either does not vary."""
    product = _total(_centred(labels, weight) * _centred(p, weight), weight)
    size = np.sqrt(_scatter(labels, weight)) * np.sqrt(_scatter(p, weight))
    return np.where(size > 0, np.clip(product / np.where(size > 0, size, 1.0), -1.0, 1.0), 0.0)


def concordance(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """2 cov / (var y + var p + (mean y - mean p)^2), with 1/n moments."""
    total = float(labels.shape[-1]) if weight is None else float(weight.sum())
    product = _total(_centred(labels, weight) * _centred(p, weight), weight)
    apart = np.square(np.average(labels, axis=-1, weights=weight) - np.average(p, axis=-1, weights=weight))
    below = _scatter(labels, weight) + _scatter(p, weight) + total * apart
    return np.where(below > 0, 2.0 * product / np.where(below > 0, below, 1.0), 1.0)


def largest(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """max |y - p|"""
    return np.asarray(np.max(np.abs(labels - p), axis=-1))


def median_absolute(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """median |y - p|"""
    return weighted_median(np.abs(labels - p), weight)


def weighted_median(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Median of each row; with weights the value that splits the weight, the mean of two where it falls between."""
    if weight is None:
        return np.asarray(np.median(x, axis=-1))
    counted = weight > 0
    x, weight = x[..., counted], weight[counted]
    order = np.argsort(x, axis=-1)
    values, cumulated = np.take_along_axis(x, order, -1), np.cumsum(weight[order], axis=-1)
    half = 0.5 * cumulated[..., -1:]
    last = x.shape[-1] - 1
    lower = np.minimum(np.sum(cumulated < half * (1 - 1e-14), axis=-1), last)
    upper = np.minimum(np.sum(cumulated <= half * (1 + 1e-14), axis=-1), last)
    both = [np.take_along_axis(values, k[..., None], -1)[..., 0] for k in (lower, upper)]
    return np.asarray(0.5 * (both[0] + both[1]))


def spearman(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Correlation of ranks, ties at their mean rank."""
    return pearson(ranks(labels), ranks(p), None)


def ranks(x: FloatArray) -> FloatArray:
    """Ranks within each row, ties at their mean rank."""
    order = np.argsort(x, axis=-1)
    ordered = np.take_along_axis(x, order, -1)
    if np.any(ordered[..., 1:] == ordered[..., :-1]):
        from scipy.stats import rankdata  # slow to import, and needed for ties only

        return np.asarray(rankdata(x, axis=-1), dtype=np.float64)
    out = np.empty(x.shape)
    np.put_along_axis(out, order, np.broadcast_to(np.arange(1.0, x.shape[-1] + 1.0), x.shape), -1)
    return out


def kendall(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Kendall's tau-b; 0 where either does not vary."""
    p, (rows, n) = np.atleast_2d(p), labels.shape
    if rows == len(p) == 1 and n > _FEW:
        from scipy.stats import kendalltau  # slow to import, and the faster one for a single long row only

        varies = np.ptp(labels) > 0 and np.ptp(p) > 0
        return np.array([float(kendalltau(labels[0], p[0]).statistic) if varies else 0.0])
    labels, parts, step = np.broadcast_to(labels, (max(rows, len(p)), n)), [], max(1, _PAIRS // n)
    for start in range(0, len(labels), step):
        part = slice(start, start + step)
        parts.append(_kendall_of_rows(labels[part], p[part] if len(p) > 1 else p))
    return np.concatenate(parts)


def _kendall_of_rows(labels: FloatArray, p: FloatArray) -> FloatArray:
    """In the order of the predictions, and of the labels where these are equal, falling pairs are ordered wrongly."""
    pairs, tied_p, both = labels.shape[1] * (labels.shape[1] - 1) / 2, _tied_pairs(p), np.zeros(1)
    all_p = np.broadcast_to(p, labels.shape)
    order = np.lexsort((labels, all_p)) if tied_p.any() else np.broadcast_to(np.argsort(p, axis=1), labels.shape)
    ranked = np.take_along_axis(labels, order, 1)
    by_label = np.argsort(ranked, axis=1)
    tied = _pairs_in_runs(_like_the_one_before(np.take_along_axis(ranked, by_label, 1)))
    if tied.any():
        by_label = np.argsort(ranked, axis=1, kind="stable")
        if tied_p.any():
            along = np.take_along_axis(all_p, order, 1)
            both = _pairs_in_runs(_like_the_one_before(ranked) & _like_the_one_before(along))
    rightly_less_wrongly = pairs - tied_p - tied + both - 2.0 * inversions(by_label)
    size = np.sqrt((pairs - tied_p) * (pairs - tied))
    return np.where(size > 0, rightly_less_wrongly / np.where(size > 0, size, 1.0), 0.0)


def somers(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Somers' D: pairs ordered rightly less those ordered wrongly, of all pairs of different labels; 0 where none differ."""
    pairs = labels.shape[-1] * (labels.shape[-1] - 1) / 2
    tied_p, tied = _tied_pairs(np.atleast_2d(p)), _tied_pairs(np.atleast_2d(labels))
    return np.asarray(kendall(labels, p, None) * np.sqrt((pairs - tied_p) / np.maximum(pairs - tied, 1.0)))


def _tied_pairs(rows: FloatArray) -> FloatArray:
    """How many pairs of each row are equal."""
    return _pairs_in_runs(_like_the_one_before(np.sort(rows, axis=-1)))


def _like_the_one_before(rows: FloatArray) -> BoolArray:
    return np.asarray(rows[:, 1:] == rows[:, :-1])


def _pairs_in_runs(alike: BoolArray) -> FloatArray:
    """How many pairs each row has in runs of numbers of which each is like the one before it."""
    if not alike.any():
        return np.zeros(len(alike))
    so_far = np.cumsum(alike, axis=1)
    return np.asarray(np.sum(so_far - np.maximum.accumulate(np.where(alike, 0, so_far), axis=1), axis=1, dtype=float))


_FEW = 100
"""Labels up to which one row is counted as many rows are."""
_PAIRS = 4_000_000
"""Labels of all rows that are sorted together."""
