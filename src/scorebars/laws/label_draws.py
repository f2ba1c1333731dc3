"""Draws of the confusion matrix when labels are uncertain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.laws.base import RNG, FloatArray
from scorebars.moments.confusion import ConfusionMoments

MOST_EVENTS = 3_000_000


def draws_of_counts(shown: NDArray[np.int64], transition: FloatArray, draws: int, rng: RNG) -> FloatArray:
    """Matrices (draws, K, K) when shown[k, l] labels of class k become other classes with probabilities T_k.

    One multinomial for each pair of classes: the cost does not depend on the number of labels.
    """
    k = shown.shape[0]
    out = np.zeros((draws, k, k))
    for label, column in zip(*np.nonzero(shown), strict=True):
        out[:, :, column] += rng.multinomial(int(shown[label, column]), transition[label], size=draws)
    return out


def draws_of_items(
    p: FloatArray,
    pred: NDArray[np.intp],
    weights: FloatArray,
    draws: int,
    rng: RNG,
    counts: NDArray[np.int64] | None = None,
) -> FloatArray:
    """Matrices (draws, K, K) for items with label probabilities p (n, K), predictions and weights of their own.

    Counted from the likeliest labels, so that only the labels that change are drawn. With `counts` row i stands for
    counts[i] items that are alike.
    """
    n, k = p.shape
    base = np.zeros((k, k))
    likely = np.argmax(p, axis=1)
    np.add.at(base, (likely, pred), weights if counts is None else weights * counts)
    out = np.broadcast_to(base.ravel(), (draws, k * k)).copy()
    others = p.copy()
    others[np.arange(n), likely] = 0.0
    leave = np.sum(others, axis=1)
    open_items = np.flatnonzero((leave > 0) & (True if counts is None else counts > 0))
    if open_items.size == 0:
        return out.reshape(draws, k, k)
    leave = leave[open_items]
    target = np.cumsum(others[open_items] / leave[:, None], axis=1)

    def change(part: slice, item: NDArray[np.intp], draw: NDArray[np.intp]) -> None:
        u = rng.random(item.size)
        new = np.minimum(np.sum(u[:, None] >= target[part][item], axis=1), k - 1)
        which = open_items[part][item]
        weight, column = weights[which], pred[which]
        cells = np.concatenate([draw * (k * k) + new * k + column, draw * (k * k) + likely[which] * k + column])
        moved = np.concatenate([weight, -weight])
        out[:] += np.bincount(cells, moved, minlength=out.size).reshape(out.shape)

    if counts is None:
        block = max(1, int(1_000_000 / (draws * float(np.max(leave)))))
        for start in range(0, open_items.size, block):
            part = slice(start, start + block)
            change(part, *label_changes(leave[part], draws, rng))
    else:
        number = counts[open_items]
        block = max(1, int(1_000_000 / float(np.add.reduce(number * leave))))
        for start in range(0, draws, block):
            item, draw = group_changes(leave, number, min(block, draws - start), rng)
            change(slice(None), item, start + draw)
    return np.maximum(out, 0.0).reshape(draws, k, k)


def group_changes(
    leave: FloatArray, counts: NDArray[np.int64], draws: int, rng: RNG
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs (row, draw), one for each change: as `label_changes`, where row i stands for counts[i] items that are alike."""
    rates = counts * -np.log1p(-leave)
    ends, last = np.cumsum(rates), np.cumsum(counts)
    number = rng.poisson(ends[-1] * draws)
    point = rng.random(number) * ends[-1]
    row = np.minimum(np.searchsorted(ends, point, side="right"), leave.size - 1)
    share = np.clip((point - (ends - rates)[row]) / rates[row], 0.0, 1.0)
    member = np.minimum((share * counts[row]).astype(np.int64), counts[row] - 1)
    # each of the items that are alike changes once in a draw, however many points it has there
    pair = np.unique(((last - counts)[row] + member) * draws + rng.integers(draws, size=number))
    return np.searchsorted(last, pair // draws, side="right"), pair % draws


def label_changes(
    leave: FloatArray, draws: int, rng: RNG, at_least_one: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs (item, draw), each once, where item i changes in a draw with probability leave[i], independently.

    A Poisson process of rate -log(1 - leave) per item and draw has a point there with exactly that probability, and
    costs only as many numbers as there are changes. With `at_least_one` every draw is conditioned to have a change:
    its first changed item is drawn from the law of the first, and the items after it as before.
    """
    ends = np.cumsum(-np.log1p(-leave))
    number = rng.poisson(ends[-1] * draws)
    item = np.minimum(np.searchsorted(ends, rng.random(number) * ends[-1], side="right"), leave.size - 1)
    pair = np.sort(item * draws + rng.integers(draws, size=number))
    pair = pair[np.diff(pair, prepend=-1) > 0]
    item, draw = pair // draws, pair % draws
    if not at_least_one:
        return item, draw
    # P(first change at or before item i) = 1 - exp(-ends_i), given that there is one
    u = rng.random(draws) * -np.expm1(-ends[-1])
    first = np.minimum(np.searchsorted(-np.expm1(-ends), u, side="right"), leave.size - 1)
    later = item > first[draw]
    return np.concatenate([first, item[later]]), np.concatenate([np.arange(draws), draw[later]])


def draws_of_moments(moments: ConfusionMoments, draws: int, rng: RNG) -> FloatArray:
    """Matrices (draws, K, K) from the normal law of the same mean and covariance: for very many labels."""
    directions = moments.factor()
    steps = rng.standard_normal((draws, len(directions)))
    return np.maximum(moments.mean + np.tensordot(steps, directions, axes=1), 0.0)
