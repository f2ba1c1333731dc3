"""Laws of metrics whose labels were summarised (`engines.summary`) instead of kept."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from scorebars.engines.summary import Summary
from scorebars.laws.base import FloatArray, Law
from scorebars.laws.chisquare import GeneralizedChiSquare
from scorebars.laws.components import Components
from scorebars.laws.compress import EXACT, compress
from scorebars.laws.folded_binned import BinnedFoldedMean, folded_points, scales
from scorebars.laws.normal import NormalLaw
from scorebars.laws.ratio import RatioLaw
from scorebars.moments.label_part import folded_part

_CROSS = np.triu_indices(3)


def squared_law(of: Summary, perfect: bool = False) -> GeneralizedChiSquare:
    """Law of the mean squared error; of a perfect model's on these labels."""
    assert of.squares is not None and of.certain is not None
    sums, total = of.sums, of.sums.w
    v, columns = of.squares.nodes()
    lam, count, b2 = v / total, columns[0], np.zeros(v.size) if perfect else columns[2] / total
    floor = 0.0 if perfect else float(of.certain[2]) / total
    if not of.squares.octaves:  # few labels err, and all of them are at hand
        few = GeneralizedChiSquare._from_nodes(count, lam, b2)
        mean, variance, third, fourth = (few.cumulant(order) for order in (1, 2, 3, 4))
        return GeneralizedChiSquare(few.cgf, floor, (floor + mean, variance, third, fourth))
    mean = (sums.var + (0.0 if perfect else sums.sq)) / total - floor
    variance = (2.0 * sums.var2_w2 + (0.0 if perfect else 4.0 * sums.sqvar_w2)) / total**2
    return GeneralizedChiSquare.summarised(count, lam, b2, floor, mean, variance)


def absolute_law(of: Summary, perfect: bool = False) -> Law:
    """Law of the mean absolute error; of a perfect model's on these labels."""
    assert of.absolute is not None
    sums, total = of.sums, of.sums.w
    if perfect:
        a, count = scales(of.absolute)
        z, node, shift = np.zeros(1), np.zeros(a.size, dtype=np.int64), 0.0
        mean = math.sqrt(2.0 / math.pi) * float(np.sum(count * a))
        variance = (1.0 - 2.0 / math.pi) * sums.var_w2
    else:
        a, z, node, count = folded_points(of.absolute)
        shift, mean, variance = of.certain_abs, sums.abs + sums.fold, sums.foldvar_w2
    std = math.sqrt(max(variance, 0.0))
    if std == 0:
        return NormalLaw(mean / total, 0.0)
    return BinnedFoldedMean(a / total, z, node, count, shift / total, mean / total, std / total)


def absolute_label_part(of: Summary) -> float:
    """What the label errors add to the variance of the observed mean absolute error."""
    assert of.absolute is not None
    a, z, node, count = folded_points(of.absolute)
    return float(np.sum(count * np.square(a / of.sums.w) * folded_part(z)[node]))


Ratio = TypeVar("Ratio", bound=RatioLaw)


def ratio_law(kind: type[Ratio], of: Summary, factor: float = 1.0, perfect: bool = False) -> Ratio:
    """Law of R2 or the explained variance, the error variances multiplied by `factor`; of a perfect model's."""
    low, high = of.predictions
    about = of.shift + of.sums.y1 / of.sums.w
    return kind.of_components(components(of, about, factor, perfect), not perfect and low == high)


def components(of: Summary, about: float, factor: float = 1.0, perfect: bool = False) -> Components:
    """Components of the labels for ratios of quadratic forms, their error variances multiplied by `factor`.

    Labels and predictions are counted from `about`; a perfect model predicts the labels.
    """
    there = of.about(about)
    assert there.squares is not None and there.certain is not None
    v, columns = there.squares.nodes()
    columns = np.concatenate([columns, there.certain[:, None]], axis=1)
    lam = np.append(v, 0.0) * (factor / of.sums.w)
    _, w, wdd, _, wd, wc, wcd, wcc = columns / of.sums.w
    if perfect:
        products = np.stack([w, wc, wc, wcc, wcc, wcc])
    else:
        products = np.stack([w, wc, wc + wd, wcc, wcc + wcd, wcc + 2.0 * wcd + wdd])
    count = np.append(columns[0, :-1], 0.0)
    if lam.size > EXACT:
        full = np.vstack([count, products])
        lam, compressed = compress(lambda: iter([(lam, full)]))
        count, products = compressed[0], compressed[1:]
    gram: FloatArray = np.empty((lam.size, 3, 3))
    first, second = _CROSS
    gram[:, first, second] = gram[:, second, first] = products.T
    return Components(lam, count, gram)
