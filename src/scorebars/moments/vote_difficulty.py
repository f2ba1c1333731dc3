"""Items of unequal difficulty: how often the majority of votes is wrong when a vote is not equally often wrong on all items.

The chance q_i that a vote on item i is wrong follows a beta law with mean mu and q-variance rho mu (1 - mu); rho = 0 is one
rate for all. Wrong votes fall evenly on the other K - 1 classes, all classes are equally likely beforehand. With w wrong
votes of n, a sequence of votes has probability B(a + w, b + n - w) / B(a, b) (K - 1)^-w, a = mu (1 - rho) / rho.

Many votes an item (8 or more) determine the law of q_i itself: the most likely one on a grid, by expectation maximisation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, logsumexp

from scorebars.arrays import FloatArray
from scorebars.moments.majority_error import lost_votes, majority_error

_CLEAR = 6.63
"""Twice the gain in log likelihood from which on one rate does not fit: 1 % by chance."""
_DRAWS = 400
_MANY_VOTES, _MOST_PATTERNS, _LAWS, _SWEEPS = 8, 400, 60, 150
_RHO = np.concatenate([[0.0], np.geomspace(2e-3, 0.9, 40)])
_USUAL_RHO = 0.08
"""Beforehand one rate for all is as likely as not, else rho follows an exponential law of this mean."""


class Difficulty(NamedTuple):
    """How votes on items of unequal difficulty err."""

    rate: float
    """mu: how often a vote is wrong on average."""
    dispersion: float
    """rho."""
    majority: float
    """How often the majority is wrong, ties broken by lot."""
    drawn: FloatArray
    """The same for parameters that the votes allow, (d,)."""
    clear: bool
    """Whether one rate for all items does not fit. Two or three votes an item cannot show it."""


def vote_difficulty(counts: NDArray[np.int64]) -> Difficulty:
    """How hard the items are, from votes (n, K), two or more on some items."""
    total = np.add.reduce(counts, axis=1)
    patterns, number = np.unique(np.sort(counts, axis=1), axis=0, return_counts=True)
    k = counts.shape[1]
    rho, best = _RHO, np.geomspace(1e-4, (k - 1) / k * 0.98, 80)
    for _ in range(3):  # closer about the most likely
        table = _log_likelihoods(patterns, number, best, rho)
        kept = np.max(table, axis=1) > np.max(table) - 20.0
        low, high = (
            best[max(int(np.argmax(kept)) - 1, 0)],
            best[min(len(best) - int(np.argmax(kept[::-1])), len(best) - 1)],
        )
        best = np.linspace(low, high, 80)
    table = _log_likelihoods(patterns, number, best, rho)
    clear = 2.0 * float(np.max(table) - np.max(table[:, 0])) > _CLEAR
    before = np.gradient(rho) * np.exp(-rho / _USUAL_RHO)
    before[0] = 0.0
    before = before / np.add.reduce(before)
    before[0] = 1.0
    chance = np.exp(table - np.max(table)) * before
    chance = chance / np.add.reduce(chance, axis=None)
    sizes, times = np.unique(total, return_counts=True)
    wrong = sum(t / len(total) * _majority_wrong(int(n), k, best, rho) for n, t in zip(sizes, times, strict=True))
    wrong = np.asarray(wrong)
    places = np.searchsorted(np.cumsum(chance.ravel()), (np.arange(_DRAWS) + 0.5) / _DRAWS)
    drawn = wrong.ravel()[np.minimum(places, wrong.size - 1)]
    if clear and int(np.min(total)) >= _MANY_VOTES and len(patterns) <= _MOST_PATTERNS:
        return _any_law(patterns, number, total, float(np.add.reduce(chance * rho, axis=None)))
    rate, spread, majority = (float(np.add.reduce(chance * x, axis=None)) for x in (best[:, None], rho[None, :], wrong))
    return Difficulty(rate, spread, majority, np.random.default_rng(0).permutation(drawn), clear)


def _any_law(
    patterns: NDArray[np.int64], number: NDArray[np.int64], total: NDArray[np.int64], dispersion: float
) -> Difficulty:
    """The most likely distribution of the chances of a wrong vote, and those of items drawn again (exponential weights)."""
    k = patterns.shape[1]
    q = np.linspace(0.0, 1.0, 61)[1:] ** 2 * (k - 1) / k  # denser where errors are rare
    none = np.zeros(1)
    rows = np.stack([_log_patterns(patterns, np.array([x]), none)[0, 0] for x in q], axis=1)  # (patterns, q)
    rows = np.exp(rows - np.max(rows, axis=1, keepdims=True))
    rng = np.random.default_rng(0)
    weight = np.concatenate([number[None, :], rng.gamma(np.maximum(number, 1e-9), size=(_LAWS, len(number)))]).astype(
        np.float64
    )
    law = np.full((len(weight), len(q)), 1.0 / len(q))
    for _ in range(_SWEEPS):
        law = law * ((weight / (law @ rows.T)) @ rows)
        law = law / np.add.reduce(law, axis=1, keepdims=True)
    sizes, times = np.unique(total, return_counts=True)
    wrong = np.add.reduce(
        [t / len(total) * majority_error(q, int(n), k) for n, t in zip(sizes, times, strict=True)], axis=0
    )
    drawn = law @ wrong
    return Difficulty(float(law[0] @ q), dispersion, float(drawn[0]), drawn[1:], True)


def _sequences(w: FloatArray, n: FloatArray, mu: FloatArray, rho: FloatArray) -> FloatArray:
    """Log probability of w wrong of n votes in a given order, (mu, rho, ...)."""
    m, r = mu[(...,) + (None,) * (1 + w.ndim)], rho[(None, ...) + (None,) * w.ndim]
    safe = np.where(r > 0, r, 0.5)
    a, b = m * (1 - safe) / safe, (1 - m) * (1 - safe) / safe
    return np.where(r > 0, betaln(a + w, b + n - w) - betaln(a, b), w * np.log(m) + (n - w) * np.log1p(-m))


def _log_likelihoods(
    patterns: NDArray[np.int64], number: NDArray[np.int64], mu: FloatArray, rho: FloatArray
) -> FloatArray:
    return np.asarray(_log_patterns(patterns, mu, rho) @ number)


def _log_patterns(patterns: NDArray[np.int64], mu: FloatArray, rho: FloatArray) -> FloatArray:
    """Log probability of each pattern of votes, all classes equally likely beforehand, (mu, rho, patterns)."""
    k = patterns.shape[1]
    n = np.add.reduce(patterns, axis=1)[:, None].astype(np.float64)
    w = n - patterns
    rows = _sequences(w, np.broadcast_to(n, w.shape), mu, rho) - w * math.log(max(k - 1, 1))
    return np.asarray(logsumexp(rows, axis=-1))


def _majority_wrong(n: int, classes: int, mu: FloatArray, rho: FloatArray) -> FloatArray:
    """Chance that the most voted of the classes is not the true one, (mu, rho)."""
    right = np.arange(n + 1)
    w = (n - right).astype(np.float64)
    choose = gammaln(n + 1) - gammaln(right + 1) - gammaln(n - right + 1)
    return np.asarray(np.exp(choose + _sequences(w, np.full_like(w, n), mu, rho)) @ lost_votes(n, classes))
