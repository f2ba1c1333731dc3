"""Situations of labels that come from a judge who errs, where how he errs was found from data too.

Each situation is a simulator that knows nothing of how the library computes: true classes, a model that predicts them, a judge
who shows them, and what is known about the judge. It gives the score of the model with the true classes, on these items and in
the population, and that with the labels of the judge.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import scorebars as sb

Rng = np.random.Generator
LABELS = 400
SHARES = {2: (0.65, 0.35), 4: (0.4, 0.3, 0.2, 0.1)}


def items(rng: Rng, n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """True classes, and the probabilities that a model gives them."""
    truth = rng.choice(classes, n, p=SHARES[classes])
    odds = np.exp(rng.standard_normal((n, classes)) + 2.2 * np.eye(classes)[truth])
    return truth, odds / odds.sum(axis=1, keepdims=True)


def accuracy(y: Any, p: np.ndarray, yerr: Any = None) -> sb.Score:
    return sb.accuracy_score(y, p.argmax(axis=1), yerr=yerr)


def f1(y: Any, p: np.ndarray, yerr: Any = None) -> sb.Score:
    return sb.f1_score(y, p.argmax(axis=1), yerr=yerr, average="binary" if p.shape[1] == 2 else "macro")


def auc(y: Any, p: np.ndarray, yerr: Any = None) -> sb.Score:
    return (
        sb.roc_auc_score(y, p[:, 1], yerr=yerr)
        if p.shape[1] == 2
        else sb.roc_auc_score(y, p, multi_class="ovr", yerr=yerr)
    )


METRICS: dict[str, Callable[..., sb.Score]] = {"accuracy": accuracy, "f1": f1, "auc": auc}


@cache
def in_the_population(metric: str, classes: int) -> float:
    return METRICS[metric](*items(np.random.default_rng(1), 200_000, classes)).observed


@dataclass(frozen=True)
class Situation:
    """What is known about the judge, in how many classes, by how much, and how good he is."""

    model: str
    classes: int
    known: int
    """Checked labels of each class, gold labels, or raters."""
    rate: float
    metric: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.model, str(self.classes), str(self.known), f"{self.rate:g}", self.metric

    @property
    def labels(self) -> int:
        """How many labels a test set has."""
        return 2 * self.known + 200 if self.model.startswith("Verified") else LABELS

    def repeat(self, count: int) -> Iterator[tuple[sb.Estimate | None, float, float]]:
        """So often the estimate (None where the library says that there is none), what it estimates, and the population's."""
        rng = np.random.default_rng(zlib.crc32(" ".join(self.key).encode()))
        score = METRICS[self.metric]
        population = in_the_population(self.metric, self.classes)
        for _ in range(count):
            truth, p = items(rng, self.labels, self.classes)
            y, yerr = JUDGES[self.model](rng, truth, self)
            try:
                found = score(y, p, yerr=yerr).truth
            except sb.UndefinedEstimate:
                found = None
            yield found, score(truth, p).observed, population


# rates from counts -------------------------------------------------------------------------------


def shown(rng: Rng, truth: np.ndarray, classes: int, rate: Any) -> np.ndarray:
    """Labels that are wrong this often, and then any other class."""
    other = (truth + rng.integers(1, classes, truth.shape)) % classes
    return np.where(rng.random(truth.shape) < rate, other, truth)


def one_rate(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[np.ndarray, Any]:
    checked = s.known * s.classes
    return shown(rng, truth, s.classes, s.rate), sb.Flip.from_counts(rng.binomial(checked, s.rate), checked)


def rate_of_each_class(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[np.ndarray, Any]:
    counts = {k: (rng.binomial(s.known, s.rate), s.known) for k in range(s.classes)}
    return shown(rng, truth, s.classes, s.rate), sb.ClassFlip.from_counts(counts)


def table_of_rates(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[np.ndarray, Any]:
    checked = np.repeat(np.arange(s.classes), s.known)
    counts = np.zeros((s.classes, s.classes), dtype=int)
    np.add.at(counts, (checked, shown(rng, checked, s.classes, s.rate)), 1)
    return shown(rng, truth, s.classes, s.rate), sb.Transition.from_counts(counts, range(s.classes))


# gold labels ---------------------------------------------------------------------------------------


def gold_by_lot(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[np.ndarray, Any]:
    """A judge who is wrong twice as often on the last class; a random subset has gold labels."""
    y = shown(rng, truth, s.classes, np.where(truth == s.classes - 1, min(2 * s.rate, 0.4), s.rate))
    gold = np.full(len(truth), np.nan)
    checked = rng.permutation(len(truth))[: s.known]
    gold[checked] = truth[checked]
    return y, sb.Verified(gold)


def gold_by_chance(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[np.ndarray, Any]:
    """Items shown as the last class are three times as likely to be checked, with known probabilities."""
    y = shown(rng, truth, s.classes, np.where(truth == s.classes - 1, min(2 * s.rate, 0.4), s.rate))
    chance = np.where(y == s.classes - 1, 3.0, 1.0)
    chance = np.minimum(chance * s.known / chance.sum(), 1.0)
    gold = np.where(rng.random(len(truth)) < chance, truth, np.nan)
    return y, sb.Verified(gold, probability=chance)


# votes -----------------------------------------------------------------------------------------------


def _cast(rng: Rng, truth: np.ndarray, s: Situation, rate: Any) -> np.ndarray:
    """Votes (n, raters) that are wrong with these chances."""
    return shown(rng, np.repeat(truth[:, None], s.known, axis=1), s.classes, rate)


def _counted(votes: np.ndarray, classes: int) -> sb.Votes:
    return sb.Votes((votes[:, :, None] == np.arange(classes)).sum(axis=1), range(classes))


def equal_raters(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[None, Any]:
    return None, _counted(_cast(rng, truth, s, s.rate), s.classes)


def unequal_raters(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[None, Any]:
    """From half to one and a half times the rate."""
    rates = s.rate * np.linspace(0.5, 1.5, s.known)
    return None, sb.Votes(ratings=_cast(rng, truth, s, rates), labels=range(s.classes))


def hard_items(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[None, Any]:
    """One item in five is hard: there a vote is wrong 40 % of the time."""
    hard = rng.random(len(truth)) < 0.2
    return None, _counted(_cast(rng, truth, s, np.where(hard, 0.4, s.rate)[:, None]), s.classes)


def hard_items_by_rater(rng: Rng, truth: np.ndarray, s: Situation) -> tuple[None, Any]:
    """The same from unequal raters, from half to one and a half times the rate, who are known."""
    rates = np.where(rng.random((len(truth), 1)) < 0.2, 0.4, s.rate * np.linspace(0.5, 1.5, s.known))
    return None, sb.Votes(ratings=_cast(rng, truth, s, rates), labels=range(s.classes))


JUDGES: dict[str, Callable[[Rng, np.ndarray, Situation], tuple[Any, Any]]] = {
    "Flip.from_counts": one_rate,
    "ClassFlip.from_counts": rate_of_each_class,
    "Transition.from_counts": table_of_rates,
    "Verified": gold_by_lot,
    "Verified(probability)": gold_by_chance,
    "Votes": equal_raters,
    "Votes(ratings), unequal raters": unequal_raters,
    "Votes, hard items": hard_items,
    "Votes(ratings), hard items": hard_items_by_rater,
}
COUNTED = [
    Situation(model, classes, known, rate, metric)
    for model in ("Flip.from_counts", "ClassFlip.from_counts", "Transition.from_counts")
    for classes in (2, 4)
    for known in (20, 50, 200, 1000)
    for rate in (0.02, 0.1, 0.3)
    for metric in METRICS
]
GOLD = [
    Situation(model, classes, known, rate, metric)
    for model in ("Verified", "Verified(probability)")
    for classes in (2, 4)
    for known in (30, 100, 300, 1000)
    for rate in (0.02, 0.1, 0.3)
    for metric in METRICS
]
VOTED = [
    Situation(model, classes, known, rate, metric)
    for model in ("Votes", "Votes(ratings), unequal raters", "Votes, hard items", "Votes(ratings), hard items")
    for classes in (2, 4)
    for known in (2, 3, 4, 5)
    for rate in (0.05, 0.15)
    for metric in METRICS
]
SITUATIONS = [*COUNTED, *GOLD, *VOTED]
