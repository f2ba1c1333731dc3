"""Worlds to test intervals in: items with known truth, predictions, and labels that err as one error model says.

A world is a simulator that knows nothing of how the library computes. Each error model of the capability table has one
(`tests/statistical/test_every_interval.py` checks that none is missing), so a new model needs a world to pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import scorebars as sb

Rng = np.random.Generator


@dataclass(frozen=True)
class Items:
    """Items of a test set: true values, what two models predict, and what the errors of the labels depend on."""

    truth: np.ndarray
    prediction: np.ndarray
    rival: np.ndarray
    size: np.ndarray
    """The scale of each label's error."""
    seen: np.ndarray | None = None
    """The scale as the user knows it, where that is an estimate too."""
    labels: np.ndarray | None = None
    """The labels where they come before the truth: set points and probabilities (Berkson)."""


@dataclass(frozen=True)
class World:
    """How items come about and how they are measured."""

    name: str
    task: str
    items: Callable[[Rng, int], Items]
    draw: Callable[[Rng, np.ndarray, Items], np.ndarray]
    """Labels about these centres: the measurement of a true value, or a fresh label about a shown one."""
    model: Callable[[np.ndarray, Items], Any]
    """The error model that a user who knows the errors would pass with these labels."""
    berkson: bool = False
    repeats: float = 1
    """How many repeats a label is the mean of; fresh labels of `expected` are single ones."""
    draw_single: Callable[[Rng, np.ndarray, Items], np.ndarray] | None = None
    """A single fresh label, where labels are means of repeats."""
    classes: int = 2
    as_one: tuple[float, float] | None = None
    """How probably an item of class 0, and of class 1, is shown as 1."""

    def measure(self, rng: Rng, items: Items) -> np.ndarray:
        """Labels of these items."""
        return items.labels if items.labels is not None else self.draw(rng, items.truth, items)

    def shown(self, measured: np.ndarray) -> np.ndarray:
        """The labels that a metric is given."""
        return measured

    def again(self, rng: Rng, items: Items) -> np.ndarray:
        """Labels of the same items, measured once more in the same way."""
        return self.shown(self.measure(rng, items))

    def fresh(self, rng: Rng, labels: np.ndarray, items: Items) -> np.ndarray:
        """Labels redrawn from their error bars, as `interval` takes it: the labels at hand are the centres."""
        return (self.draw_single or self.draw)(rng, labels, items)


# measured numbers ------------------------------------------------------------------------------


def numbers(rng: Rng, n: int, unit: float = 1.0, errors: float = 0.6) -> Items:
    """True values about 10 with scatter 2, residuals with mean 0.3 and scatter 1, `errors` of this size, all in `unit`."""
    truth = unit * (10.0 + 2.0 * rng.standard_normal(n))
    truth = np.maximum(truth, unit)  # metrics with logarithms and percentages need positive labels
    prediction = truth + unit * (0.3 + rng.standard_normal(n))
    rival = truth + unit * 0.9 * rng.standard_normal(n)
    return Items(truth, prediction, rival, unit * errors * rng.uniform(0.5, 1.5, n))


def counts(rng: Rng, n: int) -> Items:
    return numbers(rng, n, unit=10.0)


def set_points(rng: Rng, n: int) -> Items:
    """Berkson: labels first, truth about them, predictions that know the labels only."""
    found = numbers(rng, n)
    labels = found.truth
    return replace(found, labels=labels, truth=labels + found.size * rng.standard_normal(n))


def added(noise: Callable[[Rng, np.ndarray], np.ndarray]) -> Callable[[Rng, np.ndarray, Items], np.ndarray]:
    """Labels = centre + size * noise."""
    return lambda rng, centre, items: centre + items.size * noise(rng, centre)


def normal(rng: Rng, like: np.ndarray) -> np.ndarray:
    return rng.standard_normal(like.shape)


def split(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    """Half normals of width 0.7 and 1.3 of the size; a side is as likely as it is wide."""
    lower, upper = 0.7 * items.size, 1.3 * items.size
    side = np.where(rng.random(centre.shape) < lower / (lower + upper), -lower, upper)
    return centre + side * np.abs(rng.standard_normal(centre.shape))


SHIFT, LOADING = 0.5, 0.4
"""A common shift of all labels, and the part of the error that neighbours share."""


def shifted(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return centre + items.size * normal(rng, centre) + SHIFT * rng.standard_normal()


def _covariance(items: Items) -> np.ndarray:
    """Errors of neighbours are alike: correlation 0.5 to the power of the distance."""
    place = np.arange(len(items.size))
    return np.outer(items.size, items.size) * 0.5 ** np.abs(place[:, None] - place)


def correlated(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return centre + np.linalg.cholesky(_covariance(items)) @ rng.standard_normal(len(centre))


THREE_DRAWS = np.sqrt(1.5) * np.array([-1.0, 0.0, 1.0])
"""Errors of variance 1."""


def _of_draws(y: np.ndarray, items: Items) -> Any:
    """Draws of each label about it, as a bootstrap gives them."""
    return sb.errors.Empirical(y[:, None] + items.size[:, None] * THREE_DRAWS)


def _one_of_draws(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return centre + items.size * rng.choice(THREE_DRAWS, centre.shape)


REPEATS = 3


def _mean_of_repeats(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return centre + items.size * rng.standard_normal((REPEATS, *centre.shape)).mean(axis=0)


BATCH, BATCH_ERROR = 5, 0.4
"""So many labels are measured together, and share an error of this size."""


def _batches(n: int) -> np.ndarray:
    return np.arange(n) // BATCH


def in_batches(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    batch = _batches(len(centre))
    return centre + items.size * normal(rng, centre) + BATCH_ERROR * rng.standard_normal(batch.max() + 1)[batch]


DEGREES, SCALE_ERROR = 8, 0.15


def sizes_of_each(rng: Rng, n: int) -> Items:
    """The size of each label's error was estimated from a few repeats of its own."""
    found = numbers(rng, n)
    return replace(found, seen=found.size * np.sqrt(rng.chisquare(DEGREES, n) / DEGREES))


def sizes_in_common(rng: Rng, n: int) -> Items:
    """All sizes are wrong by one factor."""
    found = numbers(rng, n)
    return replace(found, seen=found.size * max(1.0 + SCALE_ERROR * rng.standard_normal(), 0.2))


def from_seen(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    """A fresh label from the error bars that the user has."""
    assert items.seen is not None
    return centre + items.seen * normal(rng, centre)


def rounded(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return np.round(centre)


NUMBERS = [
    World("Normal", "regression", numbers, added(normal), lambda y, i: sb.Normal(i.size)),
    World("Normal(cov)", "regression", numbers, correlated, lambda y, i: sb.Normal(cov=_covariance(i))),
    World(
        "Normal(shared)", "regression", numbers, shifted, lambda y, i: sb.Normal(i.size, shared=np.full(len(y), SHIFT))
    ),
    World(
        "Normal(batch)",
        "regression",
        numbers,
        in_batches,
        lambda y, i: sb.Normal(i.size, batch=_batches(len(y)), batch_sigma=BATCH_ERROR),
    ),
    World(
        "Normal(dof)",
        "regression",
        sizes_of_each,
        added(normal),
        lambda y, i: sb.Normal(i.seen, dof=DEGREES),
        draw_single=from_seen,
    ),
    World(
        "Normal(scale_error)",
        "regression",
        sizes_in_common,
        added(normal),
        lambda y, i: sb.Normal(i.seen, scale_error=SCALE_ERROR),
        draw_single=from_seen,
    ),
    World("SplitNormal", "regression", numbers, split, lambda y, i: sb.SplitNormal(0.7 * i.size, 1.3 * i.size)),
    World(
        "Uniform",
        "regression",
        numbers,
        added(lambda rng, like: rng.uniform(-1.7, 1.7, like.shape)),
        lambda y, i: sb.Uniform(1.7 * i.size),
    ),
    World(
        "Triangular",
        "regression",
        numbers,
        added(lambda rng, like: 2.4 * (rng.random(like.shape) - rng.random(like.shape))),
        lambda y, i: sb.errors.Triangular(2.4 * i.size),
    ),
    World(
        "Laplace",
        "regression",
        numbers,
        added(lambda rng, like: rng.laplace(0.0, 0.7, like.shape)),
        lambda y, i: sb.Laplace(0.7 * i.size),
    ),
    World(
        "StudentT",
        "regression",
        numbers,
        added(lambda rng, like: 0.8 * rng.standard_t(9, like.shape)),
        lambda y, i: sb.StudentT(0.8 * i.size, 9.0),
    ),
    World(
        "LogNormal",
        "regression",
        numbers,
        lambda rng, centre, i: centre * np.exp(0.1 * i.size * normal(rng, centre)),
        lambda y, i: sb.LogNormal(0.1 * i.size),
    ),
    World(
        "Poisson",
        "regression",
        counts,
        lambda rng, centre, i: rng.poisson(centre).astype(float),
        lambda y, i: sb.errors.Poisson(),
    ),
    World(
        "Rounding",
        "regression",
        numbers,
        rounded,
        lambda y, i: sb.errors.Rounding(1.0),
        draw_single=lambda rng, centre, i: centre + rng.uniform(-0.5, 0.5, centre.shape),
    ),
    World("Empirical", "regression", numbers, _one_of_draws, _of_draws),
    World(
        "Repeats",
        "regression",
        numbers,
        _mean_of_repeats,
        lambda y, i: sb.Repeats.from_means(sigma=i.size, n=REPEATS),
        repeats=REPEATS,
        draw_single=added(normal),
    ),
    World(
        "Normal(berkson)",
        "regression",
        set_points,
        added(normal),
        lambda y, i: sb.Normal(i.size, kind="berkson"),
        berkson=True,
    ),
]

# classes ---------------------------------------------------------------------------------------

WRONG = 0.1
CORRELATION = 0.1


def classes(rng: Rng, n: int, k: int = 2, prevalence: float = 0.4, wrong: float = WRONG) -> Items:
    """Classes, and the probabilities of a model that knows something of them."""
    chances = np.array([1 - prevalence, prevalence]) if k == 2 else np.array([0.5, 0.3, 0.2])
    truth = rng.choice(k, n, p=chances)
    models = [_probabilities(rng.standard_normal((n, k)) + skill * np.eye(k)[truth]) for skill in (1.8, 1.5)]
    return Items(truth, *models, np.full(n, wrong))


def _probabilities(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def three(rng: Rng, n: int) -> Items:
    return classes(rng, n, 3)


def flipped(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    k = items.prediction.shape[1]
    return np.where(rng.random(centre.shape) < WRONG, (centre + rng.integers(1, k, centre.shape)) % k, centre)


def flipped_together(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    """A cause that is present as often as a label is wrong makes all labels err more, or less."""
    root = np.sqrt(CORRELATION)
    chance = WRONG + root * (1 - WRONG) if rng.random() < WRONG else WRONG * (1 - root)
    return np.where(rng.random(centre.shape) < chance, 1 - centre, centre)


CHECKED = 200


def checked_by_some(rng: Rng, n: int) -> Items:
    """The size of the errors is the share of wrong ones among some labels that were checked."""
    found = classes(rng, n)
    return replace(found, size=np.full(n, rng.binomial(CHECKED, WRONG) / CHECKED))


TRANSITION = np.array([[0.95, 0.05], [0.15, 0.85]])


def shown(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return (rng.random(centre.shape) < TRANSITION[centre.astype(int), 1]).astype(int)


def known_probabilities(rng: Rng, n: int) -> Items:
    """Berkson: the probability of each class is known, the truth drawn from it."""
    p = rng.beta(0.6, 0.9, n)
    truth = (rng.random(n) < p).astype(int)
    models = [np.clip(p + spread * rng.standard_normal(n), 0.02, 0.98) for spread in (0.25, 0.35)]
    return Items(truth, *(np.stack([1 - g, g], axis=1) for g in models), p, labels=(p > 0.5).astype(int))


VOTERS, ONE_VOTE = 5, 0.2


def _votes(rng: Rng, centre: np.ndarray) -> np.ndarray:
    return rng.binomial(VOTERS, np.where(centre == 1, 1 - ONE_VOTE, ONE_VOTE))


CUT, CUT_ERROR = 10.0, 0.8


def cut_values(rng: Rng, n: int) -> Items:
    """Berkson: measured values first; the true ones lie about them, and the true class with them."""
    measured = 10.0 + 2.0 * rng.standard_normal(n)
    truth = (measured + CUT_ERROR * rng.standard_normal(n) > CUT).astype(int)
    models = [1 / (1 + np.exp(-(measured + spread * rng.standard_normal(n) - CUT))) for spread in (1.0, 1.4)]
    return Items(truth, *(np.stack([1 - g, g], axis=1) for g in models), measured, labels=(measured > CUT).astype(int))


CLASSES = [
    World("Flip", "classification", classes, flipped, lambda y, i: sb.Flip(WRONG), as_one=(WRONG, 1 - WRONG)),
    World("Flip, 3 classes", "classification", three, flipped, lambda y, i: sb.Flip(WRONG), classes=3),
    World(
        "Flip(correlation)",
        "classification",
        classes,
        flipped_together,
        lambda y, i: sb.Flip(WRONG, correlation=CORRELATION),
        as_one=(WRONG, 1 - WRONG),
    ),
    World(
        "Flip.from_counts",
        "classification",
        checked_by_some,
        flipped,
        lambda y, i: sb.Flip.from_counts(round(i.size[0] * CHECKED), CHECKED),
        as_one=(WRONG, 1 - WRONG),
    ),
    World(
        "ClassFlip",
        "classification",
        classes,
        shown,
        lambda y, i: sb.ClassFlip({0: 0.05, 1: 0.15}),
        as_one=tuple(TRANSITION[:, 1]),
    ),
    World(
        "Transition",
        "classification",
        classes,
        shown,
        lambda y, i: sb.Transition(TRANSITION, [0, 1]),
        as_one=tuple(TRANSITION[:, 1]),
    ),
    World(
        "LabelProbabilities",
        "classification",
        known_probabilities,
        lambda rng, centre, i: (rng.random(len(i.size)) < i.size).astype(int),
        lambda y, i: sb.LabelProbabilities(np.stack([1 - i.size, i.size], axis=1), [0, 1]),
        berkson=True,
    ),
    World(
        "Thresholded",
        "classification",
        cut_values,
        lambda rng, centre, i: (i.size + CUT_ERROR * rng.standard_normal(len(i.size)) > CUT).astype(int),
        lambda y, i: sb.Thresholded(i.size, CUT_ERROR, CUT, kind="berkson"),
        berkson=True,
    ),
]


class Voting(World):
    """Votes: the model holds the counts, so labels and model come from one draw."""

    def measure(self, rng: Rng, items: Items) -> np.ndarray:
        return _votes(rng, items.truth)

    def shown(self, measured: np.ndarray) -> np.ndarray:
        return (measured > VOTERS / 2).astype(int)

    def fresh(self, rng: Rng, labels: np.ndarray, items: Items) -> np.ndarray:
        return (rng.random(labels.shape) < labels / VOTERS).astype(int)


VOTES = Voting(
    "Votes",
    "classification",
    classes,
    lambda rng, centre, i: (_votes(rng, centre) > VOTERS / 2).astype(int),
    lambda y, i: sb.Votes(np.stack([VOTERS - y, y], axis=1), [0, 1]),
    repeats=VOTERS,
)

WORLDS = {world.name: world for world in [*NUMBERS, *CLASSES, VOTES]}

# other shares of noise ---------------------------------------------------------------------------


def _flipped_at(rng: Rng, centre: np.ndarray, items: Items) -> np.ndarray:
    return np.where(rng.random(centre.shape) < items.size, 1 - centre, centre)


NOISE = {
    world.name: world
    for world in [
        *(
            World(
                f"Normal, errors of {size:g}",
                "regression",
                partial(numbers, errors=size),
                added(normal),
                lambda y, i: sb.Normal(i.size),
            )
            for size in (0.1, 1.0)
        ),
        *(
            World(
                f"Flip, {share:.0%} wrong",
                "classification",
                partial(classes, wrong=share),
                _flipped_at,
                lambda y, i: sb.Flip(i.size[0]),
                as_one=(share, 1 - share),
            )
            for share in (0.02, 0.3)
        ),
    ]
}
"""Where `WORLDS` has errors of 0.6 and one wrong label in ten."""
EVERY_WORLD = WORLDS | NOISE
