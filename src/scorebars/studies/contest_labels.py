"""The labels that models are compared on, and how they move within the errors of the labels at hand.

A comparison asks how well *these* labels are known. A label that is the mean of 16 repeats moves by sigma / 4, one that is
the majority of five votes errs as the majority does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.labelled import Labelled
from scorebars.errors import MeasurementError, Normal
from scorebars.errors.base import FloatArray
from scorebars.score import UndefinedEstimate

Index = NDArray[np.intp] | NDArray[np.bool_]


class ContestLabels(ABC):
    """Labels with their errors. Draws have shape (count, n)."""

    kind: str
    shown: NDArray[Any]
    """The labels as the metric takes them."""
    repeats: Any
    """How many repeats, or votes, each label is made of."""
    exact: bool
    """Whether no label can move."""

    @property
    def n(self) -> int:
        return len(self.shown)

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """The labels redrawn within their errors."""

    @abstractmethod
    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        """What errors common to several labels do; None where errors are independent.

        Rows of labels, and the state of the common cause in each row: the mean of a metric over the rows of one state
        shows what this state does to it.
        """

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Two draws about labels that were made noisier once: what a further error does to them. None for classes."""
        return None

    @abstractmethod
    def errors_of(self, index: Index) -> Any:
        """The error model of some of the labels, as a metric takes it."""


class NumberLabels(ContestLabels):
    """Measured numbers."""

    def __init__(self, y: NDArray[Any], errors: MeasurementError) -> None:
        self.shown, self.kind, self.repeats = np.asarray(y, dtype=np.float64), errors.kind, errors.repeats
        self.model = errors
        self.errors = errors.label_level() if isinstance(errors, Normal) else errors
        """Of the labels at hand, means of their repeats."""
        self.exact = not bool(np.any(self.errors.variance(self.shown) > 0))
        self.common = _common_part(self.errors)
        """Rows of shifts that several labels share, (k, n); None where errors are independent."""

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.errors.sample(self.shown, count, rng)

    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.intp]] | None:
        if self.common is None:
            return None
        moved = np.asarray(self.shown + rng.standard_normal((count, len(self.common))) @ self.common)
        return moved, np.arange(count)

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        before, first, second = (self.draw(count, rng) for _ in range(3))
        return before + (first - self.shown), before + (second - self.shown)

    def errors_of(self, index: Index) -> MeasurementError:
        return self.model[index]


def _common_part(errors: MeasurementError) -> FloatArray | None:
    """What the scatter between items does not show: shared shifts, or the covariances off the diagonal."""
    if not isinstance(errors, Normal) or errors.independent:
        return None
    if errors.cov is None:
        return errors.shared
    off = errors.cov - np.diag(np.diagonal(errors.cov))
    values, vectors = np.linalg.eigh(off)
    large = values > 1e-9 * max(float(np.max(np.diagonal(errors.cov))), 0.0)
    return (vectors[:, large] * np.sqrt(values[large])).T if large.any() else None


class ClassLabels(ContestLabels):
    """Class labels: `data` knows their errors, and predictions of classes are indices into `data.classes`."""

    def __init__(self, data: Labelled) -> None:
        self.data, self.kind, self.shown, self.repeats = data, data.kind, data.names, data.model.repeats
        self.cases = _label_level(data)
        """Label probabilities (n, K) of independent labels, with the chance of each case: two for correlated flips."""
        self.exact = all(bool(np.all(p[np.arange(self.n), data.shown] == 1.0)) for _, p in self.cases)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._by_state(count, rng)[0]

    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return self._by_state(count, rng) if len(self.cases) > 1 else None

    def _by_state(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]]:
        chances = np.array([chance for chance, _ in self.cases])
        state = rng.choice(len(chances), count, p=chances / chances.sum())
        picked = np.empty((count, self.n), dtype=np.intp)
        for k, (_, p) in enumerate(self.cases):
            here = np.flatnonzero(state == k)
            u = rng.random((len(here), self.n))
            found = np.zeros((len(here), self.n), dtype=np.intp)
            for edge in np.cumsum(p, axis=1)[:, :-1].T:
                found += u > edge
            picked[here] = found
        return np.asarray(self.data.classes[picked]), state

    def errors_of(self, index: Index) -> Any:
        return self.data.model[index]


def _label_level(data: Labelled) -> list[tuple[float, FloatArray]]:
    if data.kind == "classical" and not isinstance(data.model.repeats, int):
        try:
            return [(1.0, data.own_probabilities)]
        except UndefinedEstimate:  # votes that do not tell how often one is wrong: take them one by one
            pass
    return data.mixture()
