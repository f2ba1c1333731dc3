"""What the majority of several votes says: how often it is wrong, and how it falls."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scorebars.arrays import FloatArray

_LISTED = 200_000  # ways to spread the votes over the classes that are all listed; beyond, votes are drawn
_DRAWS = 200_000


def majority_error(q: FloatArray | float, votes: int, classes: int = 2) -> FloatArray:
    """Probability that the most voted of `classes` classes is not the true one; ties are broken by lot.

    Each vote is wrong with probability q, and then any other class with equal probability. With two classes and an odd
    number of votes this is P(Bin(votes, q) > votes / 2).
    """
    q = np.asarray(q, dtype=np.float64)
    counts = np.arange(votes + 1)
    log_choose = gammaln(votes + 1) - gammaln(counts + 1) - gammaln(votes - counts + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_right = np.where(counts > 0, counts * np.log1p(-q)[..., None], 0.0)
        log_wrong = np.where(counts < votes, (votes - counts) * np.log(q)[..., None], 0.0)
    return np.asarray(np.minimum(np.exp(log_choose + log_right + log_wrong) @ lost_votes(votes, classes), 1.0))


def lost_votes(votes: int, classes: int) -> FloatArray:
    """Chance that the true class does not win with j = 0, 1, ..., `votes` votes, the others falling evenly; ties by lot."""
    return np.array([1.0 - _win_probability(j, votes - j, classes - 1) for j in range(votes + 1)])


def _win_probability(own: int, others: int, rivals: int) -> float:
    """P(a class with `own` votes wins) when `others` votes fall evenly on `rivals` classes; ties by lot.

    The number of ways to spread the votes with every rival below `own`, or t of them level with it, are coefficients
    of products of truncated exponential series.
    """
    if own == 0:
        return 1.0 / (rivals + 1) if others == 0 else 0.0
    below = np.array([math.exp(-math.lgamma(i + 1)) for i in range(min(own, others + 1))])
    level = np.zeros(others + 1)
    if own <= others:
        level[own] = math.exp(-math.lgamma(own + 1))
    scale = math.exp(math.lgamma(others + 1) - others * math.log(rivals))
    won = 0.0
    for tied in range(min(rivals, others // own) + 1):
        series = np.ones(1)
        for factor in [level] * tied + [below] * (rivals - tied):
            series = np.convolve(series, factor)[: others + 1]
        ways = series[others] if len(series) > others else 0.0
        won += math.comb(rivals, tied) * ways * scale / (1 + tied)
    return min(won, 1.0)


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
