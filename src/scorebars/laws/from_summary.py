"""Distributions of metrics whose labels were summarised (`engines.store`) instead of kept."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from scorebars.arrays import FloatArray, IntArray
from scorebars.engines.bins import GRID, TO_WEIGHTS, Z_BINS, Z_WIDTH, Bins
from scorebars.engines.store import Store
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.mean_absolute.independent_labels import NORMAL_FROM, FoldedNormalMean
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare
from scorebars.laws.quadratic.quadratic_form import EXACT, Components, compress_nodes
from scorebars.laws.quadratic.ratio import RatioLaw
from scorebars.moments.closed_forms import folded_part

_NORMAL = NORMAL_FROM + 1.0


def squared_law_of_store(of: Store, perfect: bool = False) -> GeneralizedChiSquare:
    """Distribution of the mean squared error, or of that of a perfect model on these labels."""
    assert of.squares is not None and of.certain is not None
    sums, total = of.sums, of.sums.w
    v, columns = of.squares.nodes()
    lam, count, b2 = v / total, columns[0], np.zeros(v.size) if perfect else columns[2] / total
    floor = 0.0 if perfect else float(of.certain[2]) / total
    if not of.squares.keys.size:  # few labels err, and all of them are at hand
        return GeneralizedChiSquare.of_nodes(lam, count, b2, floor=floor)
    mean = (sums.var + (0.0 if perfect else sums.sq)) / total
    variance = (2.0 * sums.var2_w2 + (0.0 if perfect else 4.0 * sums.sqvar_w2)) / total**2
    return GeneralizedChiSquare.of_nodes(lam, count, b2, floor=floor, mean=mean, variance=variance)


def absolute_law(of: Store, perfect: bool = False) -> Law:
    """Distribution of the mean absolute error, or of that of a perfect model on these labels."""
    assert of.absolute is not None
    sums, total = of.sums, of.sums.w
    if perfect:
        a, count = _scales(of.absolute)
        z, node, shift = np.zeros(1), np.zeros(a.size, dtype=np.int64), 0.0
        mean = math.sqrt(2.0 / math.pi) * float(np.sum(count * a))
        variance = (1.0 - 2.0 / math.pi) * sums.var_w2
    else:
        a, z, node, count = _points(of.absolute)
        shift, mean, variance = of.certain_abs, sums.abs + sums.fold, sums.foldvar_w2
    std = math.sqrt(max(variance, 0.0))
    if std == 0:
        return NormalLaw(mean / total, 0.0)
    return FoldedNormalMean.of_points(a / total, z, node, count, (shift / total, mean / total, std / total))


def absolute_label_part(of: Store) -> float:
    """What the label errors add to the variance of the observed mean absolute error."""
    assert of.absolute is not None
    a, z, node, count = _points(of.absolute)
    return float(np.sum(count * np.square(a / of.sums.w) * folded_part(z)[node]))


def _points(bins: Bins) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """a, z, place in z and count of the points that stand for the labels of these bins, and of the largest labels."""
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


def _scales(bins: Bins) -> tuple[FloatArray, FloatArray]:
    """a and count of the same labels, whatever their z."""
    a, _, columns = bins.points()
    # points of bins that differ in z alone are one
    points, index = np.unique(a.ravel(), return_inverse=True)
    count = np.bincount(index, weights=columns[0].ravel(), minlength=points.size)
    return np.concatenate([bins.top_v, points]), np.concatenate([np.ones(bins.top_v.size), count])


Ratio = TypeVar("Ratio", bound=RatioLaw)


def ratio_law(kind: type[Ratio], of: Store, factor: float = 1.0, perfect: bool = False) -> Ratio:
    """Distribution of R2 or the explained variance (or a perfect model's), the error variances multiplied by `factor`."""
    low, high = of.predictions
    about = of.shift + of.sums.y1 / of.sums.w
    return kind(components(of, about, factor, perfect), not perfect and low == high)


def components(of: Store, about: float, factor: float = 1.0, perfect: bool = False) -> Components:
    """Components of the labels for ratios of quadratic forms, their error variances multiplied by `factor`.

    Labels and predictions are counted from `about`; a perfect model predicts the labels.
    """
    there = of.about(about)
    assert there.squares is not None and there.certain is not None
    v, columns = there.squares.nodes()
    columns = np.column_stack([columns, there.certain])
    _, w, wdd, _, wd, wc, wcd, wcc = columns / of.sums.w
    products = np.stack([columns[0], w, wc, wd, wcc, wcd, wdd])
    if perfect:
        products[[3, 5, 6]] = 0.0  # it predicts the labels
    lam, sums, certain = v * (factor / of.sums.w), products[:, :-1], products[:, -1]
    if lam.size > EXACT:
        lam, sums = compress_nodes(lam, sums)
    return Components.of_products(lam, sums, certain)
