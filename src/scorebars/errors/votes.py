"""Class labels by vote: what several raters said of each item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks, tables
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.class_error import Classes
from scorebars.errors.dawid_skene import dawid_skene, difficulties, shown_as
from scorebars.errors.measurement_error import check_kind
from scorebars.errors.named_classes import NamedClasses, columns_of, named_classes, same_order, spread_columns

_LOT = 20240519
"""Seed of the draws that break ties."""
_RATER_DRAWS = 100
"""How often the items are drawn again to tell how well the skills of the raters are known."""


class Votes(NamedClasses):
    r"""Votes on each item; the label is the class with most votes, a tie is broken at random.

    Parameters
    ----------
    counts : (n, K)
        How many voted for each class.
    labels : (K,)
        The classes of the columns.
    ratings : (n, R), table or mapping of rater to (n,), optional
        Instead of `counts`: what each rater voted, NaN or None where a rater did not vote. From three raters on their skills
        may differ: the label is then the likeliest class given who voted what. `labels` may name classes besides.
    kind : {"classical", "berkson"}
        ``"classical"``: votes scatter about a true class. ``"berkson"``: the shares of votes are calibrated
        probabilities of the true class, so that the expected score is the score against the truth.

    Attributes
    ----------
    repeats : (n,)
        Number of votes on each item.
    agreement : float
        Probability that two votes on the same item agree.
    kappa : float
        Fleiss' kappa: agreement beyond chance; nan where it is not defined.
    vote_error : float
        Probability that a single vote is wrong, from the agreement, for raters who err independently, on all items alike,
        and equally often towards every other class: agreement = (1 - q)^2 + q^2 / (K - 1).
    raters : dict of rater to (K, K), or None
        With `ratings` of three raters or more, how each shows the true classes (rows), by the model of Dawid and Skene.

    Notes
    -----
    `expected` asks for a single fresh vote, which is class k with probability :math:`n_{ik}/n_i`, its share of the votes
    on the item. `truth` and `perfect` use the label's own error, that of the majority of the votes, with `vote_error` for a
    single one. Items may differ in difficulty: the chance of a wrong vote follows a beta distribution over them; with
    `ratings` a share of the items is hard, and votes on these are guesses at times. Where at least four votes an item show
    it, `truth` is corrected for it and says so. Fewer votes cannot show it, and intervals leave room for it. How well the
    votes tell all this is in the `std` and intervals of `truth`.

    References
    ----------
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28, 20 (1979).

    Examples
    --------
    >>> import scorebars as sb
    >>> votes = sb.errors.Votes([[5, 0], [1, 4], [3, 2]], labels=["no", "yes"])
    >>> votes.labels(), round(votes.agreement, 3), round(votes.vote_error, 3)
    (array(['no', 'yes', 'no'], dtype='<U3'), 0.667, 0.211)
    """

    per_label = ("counts", "repeats", "_lot", "votes", "_likeliest")

    votes: NDArray[np.int64] | None = None
    """With `ratings` what each rater voted, as numbers of classes, (n, R); -1 for nothing."""
    raters: dict[Any, FloatArray] | None = None
    shown_as: FloatArray | None = None
    """How labels by raters of unequal skill show true classes: first the estimate, then what the votes allow, (1 + d, K, K)."""
    hard_items: tuple[float, float] | None = None
    """With `ratings`, where items clearly differ in difficulty: how often labels are wrong, and how often else."""
    _likeliest: NDArray[np.int64] | None = None

    def __init__(
        self,
        counts: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        ratings: Any = None,
        kind: str = "classical",
    ) -> None:
        self.kind = check_kind(kind)
        if (counts is None) == (ratings is None):
            raise ValueError(
                "Votes takes either counts (how many voted for each class) or ratings (what each rater voted)."
            )
        names: list[Any] = []
        if ratings is not None:
            counts, labels, names = self._of_raters(ratings, labels)
        elif labels is None:
            raise ValueError("labels is missing: name the classes of the columns of counts.")
        array = np.asarray(checks.real_array(counts, "counts"), dtype=np.float64)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"counts must have shape (items, classes), but has shape {array.shape}.")
        checks.require_finite(array, "counts")
        checks.require_non_negative(array, "counts", "A number of votes cannot be below 0.")
        broken = array != np.floor(array)
        if broken.any():
            raise checks.complain("counts", "has values that are not whole", broken, array, "Votes are counted.")
        total = np.add.reduce(array, axis=1)
        given = "counts" if ratings is None else "ratings"
        if np.any(total == 0):
            raise checks.complain(given, "has items without votes", total == 0, total, "Leave these items out.")
        self._classes = named_classes(labels, array.shape[1])
        if ratings is None:
            same_order("counts", counts, self._classes)
        if array.shape[1] < 2:
            raise ValueError(
                f"{given} has one class only: votes need at least two classes to choose from. Name all of them in labels."
            )
        self.counts: NDArray[np.int64] = array.astype(np.int64)
        self.repeats = total.astype(np.int64)
        self.agreement, self.kappa = _agreement(self.counts)
        self.vote_error = _error_of_one_vote(self.agreement, array.shape[1])
        self._lot = np.random.default_rng(_LOT).random(len(array))
        """By which ties are broken: the same however the columns are ordered, and for every part of the items."""
        if self.votes is not None and len(names) > 2:
            self._find_raters(names)

    def _of_raters(self, ratings: Any, labels: Any) -> tuple[NDArray[np.int64], Classes, list[Any]]:
        """Counts, classes and the names of the raters."""
        if isinstance(ratings, Mapping):
            names = list(ratings)
            columns = [_votes_of(column) for column in ratings.values()]
            if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
                raise ValueError("ratings must hold one vote for each item from every rater, None where there is none.")
            table = np.stack(columns, axis=1)
        else:
            table = _votes_of(ratings)
            names = list(getattr(ratings, "columns", range(table.shape[1]))) if table.ndim == 2 else []
        if table.ndim != 2 or not table.size or table.shape[1] < 2:
            raise ValueError(
                f"ratings must have shape (items, raters) with two raters or more, but has shape {table.shape}."
            )
        missing = tables.missing_entries(table)
        cast = np.array(table[~missing].tolist())
        if cast.dtype.kind == "f" and np.all(cast == np.floor(cast)):
            cast = cast.astype(np.int64)
        if cast.dtype.kind not in "biuU":
            raise ValueError("ratings must hold classes (whole numbers, booleans or texts), None or NaN for no vote.")
        classes = np.unique(cast) if labels is None else np.asarray(to_host(labels))
        unknown = ~np.isin(cast, classes)
        if unknown.any():
            raise checks.complain(
                "ratings", "has votes for classes that labels does not name", unknown, cast, "Name all."
            )
        self.votes = np.full(table.shape, -1, dtype=np.int64)
        self.votes[~missing] = columns_of(cast, classes)
        return np.add.reduce(self.votes[:, :, None] == np.arange(len(classes)), axis=1), classes, names

    def _find_raters(self, names: list[Any]) -> None:
        """How each rater errs, the likeliest class of each item, and how labels made of them show true classes."""
        assert self.votes is not None
        k, n = len(self._classes), len(self.votes)
        patterns, which, number = np.unique(self.votes, axis=0, return_inverse=True, return_counts=True)
        which = which.ravel()
        mass = np.asarray(number, dtype=np.float64)
        found = dawid_skene(patterns, k, mass)
        likely = found.items > np.max(found.items, axis=1, keepdims=True) * (1 - 1e-9)
        self._likeliest = self._by_lot(likely[which])
        self.raters = dict(zip(names, found.matrices, strict=True))
        open_to = difficulties(patterns, k, mass, found)
        items = found.items
        if open_to.clear:
            items = open_to.items()
            wrong = [1.0 - float(np.mean(x[which, self._likeliest])) for x in (items, found.items)]
            self.hard_items = wrong[0], wrong[1]
        rng, draws = np.random.default_rng(_LOT), _RATER_DRAWS if len(patterns) < 5000 else _RATER_DRAWS // 4
        rows = [shown_as(items[which], self._likeliest, np.ones(n))]
        for start in open_to.drawn(draws):  # items drawn again, smoothly: exponential weights
            weight = rng.exponential(size=n)
            mass = np.asarray(np.bincount(which, weight, minlength=len(patterns)), dtype=np.float64)
            again = dawid_skene(patterns, k, mass, start, 100, 1e-4, start.hard)
            rows.append(shown_as(again.items[which], self._likeliest, weight))
        self.shown_as = np.stack(rows)

    def _by_lot(self, among: NDArray[np.bool_]) -> NDArray[np.int64]:
        """One of the marked columns of each row, in the order of the classes."""
        order = np.argsort(self._classes, kind="stable")
        marked = among[:, order]
        pick = np.floor(self._lot * np.add.reduce(marked, axis=1)).astype(np.int64)
        return np.asarray(order[np.argmax(np.cumsum(marked, axis=1) > pick[:, None], axis=1)])

    def labels(self) -> Classes:
        most = self.counts == self.counts.max(axis=1, keepdims=True)
        return np.asarray(self._classes[self._by_lot(most) if self._likeliest is None else self._likeliest])

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        if self._likeliest is not None:
            other = labels != self._classes[self._likeliest]
            what = "differs from the likeliest classes by the votes of these raters"
            if other.any():
                raise checks.complain(argument, what, other, labels, f"Pass {argument}=None.")
            return
        own = self.counts[np.arange(len(labels)), columns_of(labels, self._classes)]
        other = own < self.counts.max(axis=1)
        if other.any():
            hint = f"Pass {argument}=None; for labels that are not the majority use LabelProbabilities with the shares."
            raise checks.complain(argument, "differs from the majority of the votes", other, labels, hint)

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(self.counts / np.asarray(self.repeats)[:, None], self._classes, classes)

    def transition(self, classes: Classes) -> FloatArray | None:
        """How single votes show true classes: right with probability 1 - vote_error, else any other voted class."""
        if math.isnan(self.vote_error):
            return None
        k = len(self._classes)
        voted = np.isin(classes, self._classes)
        wrong = np.where(voted[:, None] & voted[None, :], self.vote_error / (k - 1), 0.0)
        np.fill_diagonal(wrong, np.where(voted, 1.0 - self.vote_error, 1.0))
        return wrong

    why_no_transition = (
        "no item has two votes, or votes agree less than by chance: how often a vote is wrong cannot be told from them."
    )

    def __repr__(self) -> str:
        n, k = self.counts.shape
        who = [] if self.raters is None else [f"{len(self.raters)} raters"]
        return self._text(f"{n} labels", f"{k} classes", *who, f"agreement {self.agreement:.3g}")


def _votes_of(ratings: Any) -> NDArray[Any]:
    """What raters voted, as objects; texts that name no class are refused."""
    given = to_host(ratings)
    hint = "Give None where a rater did not vote: np.where(voted, votes, None)."
    if isinstance(given, np.ndarray):
        tables.no_blank_texts("ratings", given, hint)
    found = np.array(given, dtype=object)
    tables.no_blank_texts("ratings", found, hint)
    return found


def _agreement(counts: NDArray[np.int64]) -> tuple[float, float]:
    """P(two votes on one item agree) and Fleiss' kappa, over the items with two votes or more."""
    several = counts[np.add.reduce(counts, axis=1) > 1].astype(np.float64)
    if not len(several):
        return math.nan, math.nan
    n = np.add.reduce(several, axis=1)
    agree = float(np.mean(np.add.reduce(several * (several - 1), axis=1) / (n * (n - 1))))
    share = np.mean(several / n[:, None], axis=0)
    chance = float(np.add.reduce(share * share))
    return agree, (agree - chance) / (1 - chance) if chance < 1 else math.nan


def _error_of_one_vote(agreement: float, classes: int) -> float:
    """q with agreement = (1 - q)^2 + q^2 / (K - 1), the root below (K - 1)/K; nan where votes agree by chance at most."""
    surplus = (classes * agreement - 1) / (classes - 1)  # the squared contrast (1 - q K / (K - 1))^2
    if not surplus > 0:
        return math.nan
    return (classes - 1) / classes * (1 - math.sqrt(surplus))
