"""Raters of unequal skill, by what they agree and disagree on: the model of Dawid and Skene.

An item has true class k with probability p_k. Rater r then votes j with probability M_r[k, j], whatever the others do.
Expectation maximisation finds p, all M_r and the chances of each item's true class from the votes alone. It starts from
the shares of the votes, so that raters are better than chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorebars.arrays import FloatArray, IntArray

_SMOOTHED = 0.5
"""Votes added to each row of a rater's matrix, divided among the classes: no rater is taken to be without error."""


class Raters(NamedTuple):
    """What the votes say of classes, raters and items."""

    classes: FloatArray
    """p, (K,)."""
    matrices: FloatArray
    """M, (R, K, K)."""
    items: FloatArray
    """Chance that item i is truly of class k, (n, K)."""


def dawid_skene(
    votes: IntArray,
    classes: int,
    weight: FloatArray,
    start: Raters | None = None,
    sweeps: int = 500,
    close: float = 1e-8,
) -> Raters:
    """From votes (n, R), as numbers of classes and -1 for none, of items that count by `weight` (n,).

    It ends when no chance moves by more than `close` from one sweep to the next.
    """
    cast = votes[:, :, None] == np.arange(classes)
    n, raters, _ = cast.shape
    flat = cast.reshape(n, raters * classes).astype(np.float64)
    if start is None:
        items = np.add.reduce(cast, axis=1) + 1e-3
        items = items / np.add.reduce(items, axis=1, keepdims=True)
    else:
        items = start.items
    found = None
    for _ in range(sweeps):
        mass = items * weight[:, None]
        prior = (np.add.reduce(mass, axis=0) + _SMOOTHED) / (np.add.reduce(weight) + _SMOOTHED * classes)
        matrices = (mass.T @ flat).reshape(classes, raters, classes).transpose(1, 0, 2) + _SMOOTHED / classes
        matrices = matrices / np.add.reduce(matrices, axis=2, keepdims=True)
        log = np.log(prior) + flat @ np.log(matrices).transpose(0, 2, 1).reshape(raters * classes, classes)
        likely = np.exp(log - np.max(log, axis=1, keepdims=True))
        new = likely / np.add.reduce(likely, axis=1, keepdims=True)
        moved = float(np.max(np.abs(new - items)))
        items, found = new, Raters(prior, matrices, new)
        if moved < close:
            break
    assert found is not None
    return found


def shown_as(items: FloatArray, labels: IntArray, weight: FloatArray) -> FloatArray:
    """P(label is j | true class k), (K, K), from the chances of the true classes; a class without items is never mixed up."""
    k = items.shape[1]
    mass = (items * weight[:, None]).T @ np.eye(k)[labels]
    total = np.add.reduce(mass, axis=1, keepdims=True)
    return np.where(total > 1e-9, mass / np.where(total > 1e-9, total, 1.0), np.eye(k))
