"""How often the majority of several raters is wrong."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from scorebars.errors.base import FloatArray


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
    lost = np.array([1.0 - _win_probability(int(j), votes - int(j), classes - 1) for j in counts])
    return np.asarray(np.minimum(np.exp(log_choose + log_right + log_wrong) @ lost, 1.0))


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
