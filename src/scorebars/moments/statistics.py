"""Classical metrics of many rows of labels (m, n) against one row of predictions (n,), and their corrections.

Weights are (n,) or None. Sums are taken about the mean of each row, so that nothing cancels.
"""

from __future__ import annotations

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.measured import Measured


def _mean(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    out = x.mean(axis=-1) if weight is None else np.average(x, axis=-1, weights=weight)
    return np.asarray(out)


def _centred(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    return x - _mean(x, weight)[..., None]


def _square_sum(x: FloatArray, weight: FloatArray | None) -> FloatArray:
    return np.asarray(np.sum(np.square(x) if weight is None else weight * np.square(x), axis=-1))


def explained(lost: FloatArray, total: FloatArray) -> FloatArray:
    """1 - lost / total; 1 where nothing is lost, 0 where labels do not vary but something is (as scikit-learn)."""
    safe = np.where(total > 0, total, 1.0)
    return np.where(total > 0, 1.0 - lost / safe, np.where(lost == 0, 1.0, 0.0))


def r2(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - sum w (y - p)^2 / sum w (y - mean y)^2"""
    return explained(_square_sum(labels - p, weight), _square_sum(_centred(labels, weight), weight))


def explained_variance(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - Var(y - p) / Var(y)"""
    return explained(_square_sum(_centred(labels - p, weight), weight), _square_sum(_centred(labels, weight), weight))


def _absolute_about_median(labels: FloatArray, weight: FloatArray | None) -> FloatArray:
    centre = weighted_median(labels, weight)
    away = np.abs(labels - centre[..., None])
    return np.asarray(np.sum(away if weight is None else weight * away, axis=-1))


def d2_absolute(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """1 - sum w |y - p| / sum w |y - median y|"""
    lost = np.abs(labels - p)
    lost = np.sum(lost if weight is None else weight * lost, axis=-1)
    return explained(lost, _absolute_about_median(labels, weight))


def pearson(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Correlation of labels and predictions; 0 where either does not vary."""
    y, x = _centred(labels, weight), _centred(p, weight)
    size = np.sqrt(_square_sum(y, weight)) * np.sqrt(_square_sum(x, weight))
    joint = np.sum(y * x if weight is None else weight * y * x, axis=-1)
    return np.where(size > 0, np.clip(joint / np.where(size > 0, size, 1.0), -1.0, 1.0), 0.0)


def concordance(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """2 cov / (var y + var p + (mean y - mean p)^2), with 1/n moments."""
    y, x = _centred(labels, weight), _centred(p, weight)
    total = float(labels.shape[-1]) if weight is None else float(weight.sum())
    joint = np.sum(y * x if weight is None else weight * y * x, axis=-1) / total
    apart = np.square(_mean(labels, weight) - _mean(p, weight))
    below = (_square_sum(y, weight) + _square_sum(x, weight)) / total + apart
    return np.where(below > 0, 2.0 * joint / np.where(below > 0, below, 1.0), 1.0)


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
    from scipy.stats import rankdata

    return pearson(rankdata(labels, axis=-1), rankdata(p), None)


def kendall(labels: FloatArray, p: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Kendall's tau-b; 0 where either does not vary."""
    from scipy.stats import kendalltau

    out = []
    for row in labels:
        varies = np.ptp(row) > 0 and np.ptp(p) > 0
        out.append(float(kendalltau(row, p).statistic) if varies else 0.0)
    return np.array(out)


# corrected for the labels' own errors -------------------------------------------------------------


def _error_sums(data: Measured) -> tuple[float, float]:
    """sum w s^2, and what the labels' errors add to sum w (y - mean y)^2."""
    y = np.asarray(data.y, dtype=np.float64)
    s2 = data.errors.label_variance(y)
    if data.weight is None:
        total = float(np.sum(s2))
        return total, total * (1.0 - 1.0 / data.n)
    share = data.weight / data.weight.sum()
    return float(np.sum(data.weight * s2)), float(np.sum(data.weight * s2 * (1.0 - share)))


def _corrected_scatter(labels: FloatArray, data: Measured) -> FloatArray:
    """sum w (t - mean t)^2 of the truths, not below a small part of what the labels show."""
    shown = _square_sum(_centred(labels, data.weight), data.weight)
    return np.maximum(shown - _error_sums(data)[1], 1e-3 * shown)


def r2_truth(labels: FloatArray, data: Measured) -> FloatArray:
    """1 - (SSE - S) / (SST - (1 - 1/M) S), S = sum s^2: consistent, not unbiased."""
    p = np.asarray(data.p, dtype=np.float64)
    lost = _square_sum(labels - p, data.weight) - _error_sums(data)[0]
    return explained(lost, _corrected_scatter(labels, data))


def explained_variance_truth(labels: FloatArray, data: Measured) -> FloatArray:
    """The same with the scatter of the residuals about their mean."""
    p = np.asarray(data.p, dtype=np.float64)
    lost = _square_sum(_centred(labels - p, data.weight), data.weight) - _error_sums(data)[1]
    return explained(lost, _corrected_scatter(labels, data))


def pearson_truth(labels: FloatArray, data: Measured) -> FloatArray:
    """r / sqrt(reliability): the correlation that label errors have not attenuated."""
    shown = _square_sum(_centred(labels, data.weight), data.weight)
    reliability = np.where(shown > 0, _corrected_scatter(labels, data) / np.where(shown > 0, shown, 1.0), 1.0)
    return pearson(labels, np.asarray(data.p, dtype=np.float64), data.weight) / np.sqrt(reliability)


def concordance_truth(labels: FloatArray, data: Measured) -> FloatArray:
    """Label errors add sum s^2 / M to the denominator, nothing to the covariance."""
    p, weight = np.asarray(data.p, dtype=np.float64), data.weight
    y, x = _centred(labels, weight), _centred(p, weight)
    total = float(data.n) if weight is None else float(weight.sum())
    joint = np.sum(y * x if weight is None else weight * y * x, axis=-1) / total
    apart = np.square(_mean(labels, weight) - _mean(p, weight))
    shown = (_square_sum(y, weight) + _square_sum(x, weight)) / total + apart
    below = np.maximum(shown - _error_sums(data)[0] / total, 1e-3 * shown)
    return np.where(below > 0, 2.0 * joint / np.where(below > 0, below, 1.0), 1.0)


def r2_ceiling(data: Measured) -> float:
    """1 - S / SST: what a perfect model reaches on these labels."""
    y = np.asarray(data.y, dtype=np.float64)
    shown = float(_square_sum(_centred(y[None], data.weight), data.weight)[0])
    return 1.0 if shown == 0 else 1.0 - _error_sums(data)[0] / shown


def pearson_ceiling(data: Measured) -> float:
    """sqrt(reliability)"""
    y = np.asarray(data.y, dtype=np.float64)
    shown = float(_square_sum(_centred(y[None], data.weight), data.weight)[0])
    return 1.0 if shown == 0 else max(1.0 - _error_sums(data)[1] / shown, 0.0) ** 0.5
