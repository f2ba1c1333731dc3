"""Raters of unequal skill, by what they agree and disagree on: the model of Dawid and Skene.

An item has true class k with probability p_k. Rater r then votes j with probability M_r[k, j], whatever the others do.
Expectation maximisation finds p, all M_r and the chances of each item's true class from the votes alone. It starts from
the shares of the votes, so that raters are better than chance.

A rater mixes up some pair of classes once or twice, or never. A matrix of such counts would take some items for certain that
are not. So each row of a rater's matrix is drawn towards that of all raters together, as far as raters are alike: their rows
follow a Dirichlet law about the common one, whose size is found from how much they differ beyond what counts scatter.

Some items may be harder than others, and raters are then wrong together. A share of all items is hard, and on these each
vote is a guess with some chance t: (1 - t) M_r[k, j] + t / K. At least four raters can show it; else it is left open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorebars.arrays import FloatArray, IntArray

_SMOOTHED = 0.5
"""Votes added to each row of the matrix of all raters, divided among the classes: none is taken to be without error."""
_CLEAR = 9.21
"""Twice the gain in log likelihood from which on equal difficulty does not fit: 1 % by chance for two numbers more."""


class Hard(NamedTuple):
    """Which share of the items is hard, and how often a vote on these is a guess."""

    share: float = 0.0
    guessed: float = 0.0


ALIKE = Hard()
_HARD = [ALIKE, *(Hard(share, guessed) for share in (0.1, 0.2, 0.4, 0.6) for guessed in (0.25, 0.5, 0.75, 0.95))]


class Raters(NamedTuple):
    """What the votes say of classes, raters and items."""

    classes: FloatArray
    """p, (K,)."""
    matrices: FloatArray
    """M, (R, K, K)."""
    items: FloatArray
    """Chance that item i is truly of class k, (n, K)."""
    log_likelihood: float
    hard: Hard = ALIKE
    common: float = 0.0
    """How many votes, distributed as those of all raters are, count for each row of a rater."""


def dawid_skene(
    votes: IntArray,
    classes: int,
    weight: FloatArray,
    start: Raters | None = None,
    sweeps: int = 500,
    close: float = 1e-8,
    hard: Hard = ALIKE,
) -> Raters:
    """From votes (n, R), as numbers of classes and -1 for none, of items that count by `weight` (n,).

    It ends when no chance moves by more than `close` from one sweep to the next.
    """
    if start is None:
        first = _maximised(votes, classes, weight, None, sweeps, close, hard)
        start = first._replace(common=_votes_in_common(_seen(votes, classes, weight, first.items)))
    return _maximised(votes, classes, weight, start, sweeps, close, hard)


def _seen(votes: IntArray, classes: int, weight: FloatArray, items: FloatArray) -> FloatArray:
    """How often each rater voted j on items of class k, (R, K, K)."""
    cast = votes[:, :, None] == np.arange(classes)
    return np.asarray(np.einsum("ik,irj->rkj", items * weight[:, None], cast))


def _votes_in_common(seen: FloatArray) -> float:
    """The size of the Dirichlet law that rows of raters follow about the common one, by moments.

    Of m raters with n votes each on items of a class, the sum of (seen - expected)^2/expected is (m - 1)(K - 1) on average
    where raters are alike, and 1 + (n - 1)/(1 + size) times that where they are not. As little as one standard error more is
    not excluded.
    """
    count = np.add.reduce(seen, axis=2, keepdims=True)
    common = np.add.reduce(seen, axis=0)
    expected = count * common / np.maximum(np.add.reduce(common, axis=1, keepdims=True), 1e-300)
    excess = np.where(expected > 0, np.square(seen - expected) / np.where(expected > 0, expected, 1.0), 0.0)
    raters, classes, _ = seen.shape
    df = (raters - 1) * (classes - 1) * classes
    more = (raters - 1) * (classes - 1) * float(np.add.reduce(np.mean(count, axis=0) - 1.0, axis=None))
    if not (df and more > 0):
        return _SMOOTHED
    differ = max(float(np.add.reduce(excess, axis=None)) - df, (2.0 * df) ** 0.5) / more
    return max(1.0 / differ - 1.0, _SMOOTHED)


def _maximised(
    votes: IntArray,
    classes: int,
    weight: FloatArray,
    start: Raters | None,
    sweeps: int,
    close: float,
    hard: Hard,
) -> Raters:
    """The raters that are most likely if the number of votes in common is that of `start`."""
    cast = votes[:, :, None] == np.arange(classes)
    n, raters, _ = cast.shape
    flat = cast.reshape(n, raters * classes).astype(np.float64)
    if start is None:
        items = np.add.reduce(cast, axis=1) + 1e-3
        items = items / np.add.reduce(items, axis=1, keepdims=True)
    else:
        items = start.items
    strength = _SMOOTHED if start is None else start.common
    share, guessed = hard
    easy, own = items * (1.0 - share), np.full((classes, raters * classes), 1.0 - guessed)
    found = None
    for _ in range(sweeps):
        mass = items * weight[:, None]
        prior = (np.add.reduce(mass, axis=0) + _SMOOTHED) / (np.add.reduce(weight) + _SMOOTHED * classes)
        seen = mass.T @ flat
        if share:  # of votes on hard items only what was no guess tells of the rater
            plain = (easy * weight[:, None]).T @ flat
            seen = plain + (seen - plain) * own
        matrices = seen.reshape(classes, raters, classes).transpose(1, 0, 2)
        common = np.add.reduce(matrices, axis=0) + _SMOOTHED / classes
        matrices = matrices + strength * common / np.add.reduce(common, axis=1, keepdims=True)
        matrices = matrices / np.add.reduce(matrices, axis=2, keepdims=True)
        log = np.log(prior) + flat @ _flat_logs(matrices)
        if share:
            mixed = (1.0 - guessed) * matrices + guessed / classes
            own = ((1.0 - guessed) * matrices / mixed).transpose(1, 0, 2).reshape(classes, raters * classes)
            log_easy = log + np.log1p(-share)
            log = np.logaddexp(log_easy, np.log(prior) + flat @ _flat_logs(mixed) + np.log(share))
        top = np.max(log, axis=1, keepdims=True)
        likely = np.exp(log - top)
        total = np.add.reduce(likely, axis=1, keepdims=True)
        new = likely / total
        if share:
            easy = np.exp(log_easy - top) / total
        moved = float(np.max(np.abs(new - items)))
        items = new
        found = Raters(prior, matrices, items, float(weight @ (top + np.log(total))[:, 0]), hard, strength)
        if moved < close:
            break
    assert found is not None
    return found


def _flat_logs(matrices: FloatArray) -> FloatArray:
    raters, classes, _ = matrices.shape
    return np.asarray(np.log(matrices).transpose(0, 2, 1).reshape(raters * classes, classes))


class Difficulties(NamedTuple):
    """Raters for each way in which some items may be harder than others."""

    fits: list[Raters]
    chances: FloatArray
    """How likely each is, given the votes."""
    clear: bool
    """Whether equal difficulty does not fit."""

    def items(self) -> FloatArray:
        """Chances of the true classes of items, where these differ in difficulty."""
        return np.asarray(np.tensordot(self.chances, np.stack([fit.items for fit in self.fits]), axes=1))

    def drawn(self, count: int) -> list[Raters]:
        """So many of the fits, each as often as it is likely, in no order."""
        places = np.searchsorted(np.cumsum(self.chances), (np.arange(count) + 0.5) / count)
        order = np.random.default_rng(0).permutation(np.minimum(places, len(self.fits) - 1))
        return [self.fits[int(place)] for place in order]


def difficulties(votes: IntArray, classes: int, weight: FloatArray, alike: Raters) -> Difficulties:
    """Of raters that were found under equal difficulty; beforehand all are equally likely."""
    fits = [alike, *(dawid_skene(votes, classes, weight, alike, 200, 1e-5, hard) for hard in _HARD[1:])]
    log = np.array([fit.log_likelihood for fit in fits])
    chances = np.exp(log - np.max(log))
    clear = 2.0 * float(np.max(log) - log[0]) > _CLEAR
    return Difficulties(fits, chances / np.add.reduce(chances), clear)


def shown_as(items: FloatArray, labels: IntArray, weight: FloatArray) -> FloatArray:
    """P(label is j | true class k), (K, K), from the chances of the true classes; a class without items is never mixed up."""
    k = items.shape[1]
    mass = (items * weight[:, None]).T @ np.eye(k)[labels]
    total = np.add.reduce(mass, axis=1, keepdims=True)
    return np.where(total > 1e-9, mass / np.where(total > 1e-9, total, 1.0), np.eye(k))
