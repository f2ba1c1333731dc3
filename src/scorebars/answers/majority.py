"""Labels by majority: the error model of several votes from that of a single one."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scorebars.errors import ClassError, ClassFlip, Flip, Transition, Votes
from scorebars.errors.base import FloatArray
from scorebars.errors.class_error import Classes, positions
from scorebars.moments.votes import majority_error

_LISTED = 200_000
"""Ways to spread the votes over the classes that are all listed; beyond, they are drawn."""
_DRAWS = 200_000


class ItemTransitions(ClassError):
    """A transition matrix for each item."""

    def __init__(self, matrices: FloatArray) -> None:
        self.kind, self.matrices = "classical", matrices

    @property
    def size(self) -> int | None:
        return len(self.matrices)

    def _part(self, index: Any) -> Self:
        return type(self)(self.matrices[index])

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return np.asarray(self.matrices[np.arange(len(labels)), positions(labels, classes)])

    def transition(self, classes: Classes) -> FloatArray:
        return self.matrices


def majority_model(model: ClassError, votes: int | NDArray[np.int64], classes: Classes) -> ClassError | None:
    """The error model of labels by majority of `votes` fresh votes, ties by lot; None where a vote has no transition."""
    if isinstance(model, Flip):
        return Flip(majority_error(model.q, int(votes), len(classes)), kind=model.kind)
    if isinstance(model, ClassFlip | Transition):
        return Transition(majority_rows(model.transition(classes), int(votes)), classes, kind=model.kind)
    if isinstance(model, Votes) and model.transition(classes) is not None:
        each = np.broadcast_to(np.asarray(votes), (len(model.counts),))
        kinds, which = np.unique(each, return_inverse=True)
        named = model.classes()
        q = np.array([float(majority_error(model.vote_error, int(n), len(named))) for n in kinds])
        if len(named) == len(classes):
            return Flip(q[which.ravel()])
        # predicted classes that nobody could vote for are never shown
        place = positions(named, classes)
        matrices = np.broadcast_to(np.eye(len(classes)), (len(kinds), len(classes), len(classes))).copy()
        matrices[:, place[:, None], place] = Flip(q).transition(named)
        return ItemTransitions(matrices[which.ravel()])
    return None


def majority_rows(rows: FloatArray, votes: int) -> FloatArray:
    """P(the majority of `votes` votes is class j) for votes with the probabilities in each row, ties by lot."""
    k = rows.shape[1]
    if votes <= 2:
        return rows  # of two votes that differ one is drawn by lot: again a single vote
    if math.comb(votes + k - 1, k - 1) > _LISTED:
        rng = np.random.default_rng(0)
        return np.array([_winners(rng.multinomial(votes, row, size=_DRAWS)).mean(axis=0) for row in rows])
    spread = np.array(list(combinations_with_replacement(range(k), votes)), dtype=np.intp)
    counts = np.zeros((len(spread), k))
    np.add.at(counts, (np.arange(len(spread))[:, None], spread), 1.0)
    ways = math.lgamma(votes + 1) - np.array([math.lgamma(i + 1) for i in range(votes + 1)])[counts.astype(int)].sum(1)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(rows), -1e30)  # 0 * log 0 = 0, and a single impossible vote is still impossible
    return np.asarray(np.exp(ways + logs @ counts.T) @ _winners(counts))


def _winners(counts: NDArray[Any]) -> FloatArray:
    """1 for the class with most votes, shared where several have."""
    most = counts == counts.max(axis=1, keepdims=True)
    return most / most.sum(axis=1, keepdims=True)


def majority_of_some(counts: NDArray[np.int64], votes: int) -> FloatArray:
    """P(the majority of `votes` of the votes at hand is class j), for each item: drawn without replacement."""
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    if votes == 1:
        shares = distinct / distinct.sum(axis=1, keepdims=True)
    else:
        rng = np.random.default_rng(0)
        draws = max(1000, min(20_000, 20_000_000 // max(len(distinct) * counts.shape[1], 1)))
        drawn = (rng.multivariate_hypergeometric(row, votes, size=draws) for row in distinct)
        shares = np.array([_winners(one).mean(axis=0) for one in drawn])
    return np.asarray(shares[which.ravel()])
