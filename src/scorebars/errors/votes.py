"""Class labels that several people voted on."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.errors.base import FloatArray, check_kind
from scorebars.errors.class_error import ClassError, Classes, named_classes, positions, spread_columns


class Votes(ClassError):
    r"""Votes on each item; the label is the class with most votes (of several, the first).

    Parameters
    ----------
    counts : (n, K)
        How many voted for each class.
    labels : (K,)
        The classes of the columns.
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

    Notes
    -----
    `expected` asks for a single fresh vote, distributed as the votes on the item. `truth` and `perfect` use the label's
    own error, that of the majority of the votes, with `vote_error` for a single one.

    Examples
    --------
    >>> import scorebars as sb
    >>> votes = sb.errors.Votes([[5, 0], [1, 4], [3, 2]], labels=["no", "yes"])
    >>> votes.labels(), round(votes.agreement, 3), round(votes.vote_error, 3)
    (array(['no', 'yes', 'no'], dtype='<U3'), 0.667, 0.211)
    """

    def __init__(self, counts: Any, labels: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        array = np.asarray(checks.real_array(counts, "counts"), dtype=np.float64)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"counts must have shape (items, classes), but has shape {array.shape}.")
        checks.require_finite(array, "counts")
        checks.require_non_negative(array, "counts", "A number of votes cannot be below 0.")
        broken = array != np.floor(array)
        if broken.any():
            raise checks.complain("counts", "has values that are not whole", broken, array, "Votes are counted.")
        total = np.add.reduce(array, axis=1)
        if np.any(total == 0):
            raise checks.complain("counts", "has items without votes", total == 0, total, "Leave these items out.")
        self._classes = named_classes(labels, array.shape[1])
        if array.shape[1] < 2:
            raise ValueError("counts has one class only: votes need at least two classes to choose from.")
        self.counts: NDArray[np.int64] = array.astype(np.int64)
        self.repeats = total.astype(np.int64)
        self.agreement, self.kappa = _agreement(self.counts)
        self.vote_error = _error_of_one_vote(self.agreement, array.shape[1])

    @property
    def size(self) -> int | None:
        return len(self.counts)

    def _part(self, index: Any) -> Self:
        """A subset of the items; the error of a single vote stays that of all items."""
        part = type(self).__new__(type(self))
        part.__dict__.update(self.__dict__, counts=self.counts[index], repeats=np.asarray(self.repeats)[index])
        return part

    def labels(self) -> Classes:
        return np.asarray(self._classes[np.argmax(self.counts, axis=1)])

    def classes(self) -> Classes:
        return self._classes

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        order = np.argsort(self._classes, kind="stable")
        column = order[positions(labels, self._classes[order])]
        other = self.counts[np.arange(len(labels)), column] < self.counts.max(axis=1)
        if other.any():
            raise checks.complain(
                argument,
                "differs from the majority of the votes",
                other,
                labels,
                f"Pass {argument}=None; for labels that are not the majority use LabelProbabilities with the shares.",
            )

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

    def why_no_transition(self) -> str:
        return (
            "no item has two votes, or votes agree less than by chance: how often a vote is wrong cannot be told from "
            "them."
        )

    def __repr__(self) -> str:
        kind = "" if self.kind == "classical" else f", kind={self.kind!r}"
        return f"Votes({len(self.counts)} labels, {len(self._classes)} classes, agreement {self.agreement:.3g}{kind})"


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
