"""Draws of uncertain labels, and of their confusion matrix, that cost only as much as there are labels that change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG

_Index = NDArray[np.intp]
_CHANGES = 1_000_000  # drawn at a time


def label_changes(
    leave: FloatArray, draws: int, rng: RNG, counts: NDArray[np.int64] | None = None, at_least_one: bool = False
) -> tuple[_Index, _Index]:
    """Pairs (item, draw), one for each change: item i changes in a draw with probability leave[i], independently.

    With `counts` row i stands for counts[i] items that are alike. A Poisson process of rate -log(1 - leave) per item and
    draw has a point there with exactly that probability. With `at_least_one` every draw is conditioned to have a change: its
    first changed item is drawn from the distribution of the first, and the items after it as before.
    """
    rates = -np.log1p(-leave) if counts is None else counts * -np.log1p(-leave)
    ends = np.cumsum(rates)
    number = rng.poisson(ends[-1] * draws)
    point = rng.random(number) * ends[-1]
    row = np.minimum(np.searchsorted(ends, point, side="right"), leave.size - 1)
    item = row
    if counts is not None:
        last = np.cumsum(counts)
        share = np.clip((point - (ends - rates)[row]) / rates[row], 0.0, 1.0)
        item = (last - counts)[row] + np.minimum((share * counts[row]).astype(np.int64), counts[row] - 1)
    # an item changes once in a draw, however many points it has there
    pair = np.sort(item * draws + rng.integers(draws, size=number))
    pair = pair[np.diff(pair, prepend=-1) > 0]
    row, draw = pair // draws, pair % draws
    if counts is not None:
        row = np.searchsorted(last, row, side="right")
    if not at_least_one:
        return row, draw
    # P(first change at or before item i) = 1 - exp(-ends_i), given that there is one
    u = rng.random(draws) * -np.expm1(-ends[-1])
    first = np.minimum(np.searchsorted(-np.expm1(-ends), u, side="right"), leave.size - 1)
    later = row > first[draw]
    return np.concatenate([first, row[later]]), np.concatenate([np.arange(draws), draw[later]])


def draw_confusions(
    p: FloatArray,
    pred: _Index,
    weights: FloatArray,
    draws: int,
    rng: RNG,
    counts: NDArray[np.int64] | None = None,
) -> FloatArray:
    """Matrices (draws, K, K) for items with label probabilities p (n, K), predictions and weights of their own.

    Counted from the likeliest labels. With `counts` row i stands for counts[i] items that are alike.
    """
    n, k = p.shape
    base = np.zeros((k, k))
    likely = np.argmax(p, axis=1)
    np.add.at(base, (likely, pred), weights if counts is None else weights * counts)
    out = np.broadcast_to(base.ravel(), (draws, k * k)).copy()
    others = p.copy()
    others[np.arange(n), likely] = 0.0
    leave = np.sum(others, axis=1)
    open_rows = np.flatnonzero((leave > 0) & (True if counts is None else counts > 0))
    leave, number = leave[open_rows], None if counts is None else counts[open_rows]
    target = np.cumsum(others[open_rows] / leave[:, None], axis=1)
    in_a_draw = float(np.add.reduce(leave if number is None else number * leave))
    block = max(1, int(_CHANGES / max(in_a_draw, 1e-3)))
    for start in range(0, draws if open_rows.size else 0, block):
        row, draw = label_changes(leave, min(block, draws - start), rng, number)
        new = np.minimum(np.sum(rng.random(row.size)[:, None] >= target[row], axis=1), k - 1)
        which, column = open_rows[row], (start + draw) * (k * k) + pred[open_rows[row]]
        cells = np.concatenate([column + new * k, column + likely[which] * k])
        moved = np.concatenate([weights[which], -weights[which]])
        out += np.bincount(cells, moved, minlength=out.size).reshape(out.shape)
    return np.maximum(out, 0.0).reshape(draws, k, k)
