"""Would more training data help, or do the labels set the limit? A learning curve with label-error bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb


@dataclass
class LearningCurveDisplay:
    """Scores of test folds against the number of training items.

    Made by `from_estimator`, drawn by `plot`; the name and the two steps are those of scikit-learn's display of the same
    name.

    Attributes
    ----------
    metric
        Name of the metric.
    train_sizes
        (sizes,) numbers of training items.
    folds
        For each size, the `CrossValidation` of the test folds.
    ax_
        The matplotlib axes, once drawn.
    """

    metric: str
    train_sizes: NDArray[np.intp]
    folds: list[sb.CrossValidation]
    ax_: Any = field(default=None, repr=False)

    @property
    def scores(self) -> list[list[sb.Score]]:
        """For each size, the Score of each test fold."""
        return [found[self.metric] for found in self.folds]

    @property
    def observed(self) -> NDArray[np.float64]:
        """The classical score, mean over the folds."""
        return np.array([found.mean(self.metric) for found in self.folds])

    @property
    def label_std(self) -> NDArray[np.float64]:
        """Standard deviation that the label errors alone give a fold's observed score: root mean square over the folds.

        As in `CrossValidation.label_std`, the error that the labels at hand already carry is not counted twice.
        """
        return np.array([found.label_std(self.metric) for found in self.folds])

    @property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation between the folds: other items, other models and other label errors; 0 for one fold."""
        return np.array([found.spread(self.metric) if len(found.folds) > 1 else 0.0 for found in self.folds])

    @property
    def perfect(self) -> NDArray[np.float64]:
        """What a perfect model would score on these labels, mean over the folds."""
        return np.array([np.mean([float(s.perfect) for s in found[self.metric]]) for found in self.folds])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        yerr: Any = None,
        metric: str = "mean_squared_error",
        train_sizes: Sequence[float] = (0.1, 0.325, 0.55, 0.775, 1.0),
        cv: Any = 5,
        groups: Any = None,
        rng: np.random.Generator | int | None = 0,
        ax: Any = None,
    ) -> LearningCurveDisplay:
        """Fit on growing parts of each training fold, score on the test folds, and draw.

        Parameters
        ----------
        estimator, X, y, cv, groups : as in `sklearn.model_selection.learning_curve`
        yerr : number, (n,), (2, n) or error model, optional
            Label errors, split along with y.
        metric : name
            Any metric that gives a single Score.
        train_sizes : fractions of the training fold in (0, 1], or whole numbers of items
        rng : seed or Generator
            The order in which training items are added.
        ax : matplotlib axes, optional
        """
        try:
            from sklearn.base import is_classifier
            from sklearn.model_selection import check_cv
        except ImportError as why:
            raise ImportError("LearningCurveDisplay needs scikit-learn: pip install 'scorebars[sklearn]'") from why
        splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
        sizes = _numbers(train_sizes, min(len(train) for train, _ in splits))
        random = np.random.default_rng(rng)
        shuffled = [(random.permutation(train), test) for train, test in splits]
        folds = [
            sb.cross_validate(
                estimator, X, y, yerr=yerr, metrics=metric, cv=[(order[:size], test) for order, test in shuffled]
            )
            for size in sizes
        ]
        return cls(metric, sizes, folds).plot(ax=ax)

    def plot(self, ax: Any = None) -> LearningCurveDisplay:
        """Draw the curve, the two bands and the score of a perfect model."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as why:
            raise ImportError("LearningCurveDisplay.plot needs matplotlib: pip install 'scorebars[plot]'") from why
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        x, y, spread, labels = self.train_sizes, self.observed, self.spread, self.label_std
        ax.fill_between(x, y - spread, y + spread, color="C0", alpha=0.15, lw=0, label="between folds (± 1 std)")
        ax.fill_between(x, y - labels, y + labels, color="C1", alpha=0.35, lw=0, label="label errors (± 1 std)")
        ax.plot(x, y, "o-", color="C0", label="test folds, observed")
        ax.plot(x, self.perfect, "--", color="0.3", label="a perfect model")
        ax.set(xlabel="training items", ylabel=self.scores[0][0].declaration.title)
        ax.legend()
        self.ax_ = ax
        return self


def _numbers(train_sizes: Any, largest: int) -> NDArray[np.intp]:
    """Numbers of training items, from fractions or from numbers, each once and in order."""
    values = np.asarray(train_sizes)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iuf":
        raise ValueError(f"train_sizes must be a list of fractions or of numbers of items, got {train_sizes!r}.")
    bad = (values <= 0) | (values > (1.0 if values.dtype.kind == "f" else largest))
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"train_sizes has {values[k]!s} at index {k}, {int(bad.sum())} such values in all: give fractions in (0, 1] or "
            f"whole numbers up to {largest}, the size of the smallest training fold."
        )
    return np.unique(np.maximum(values * largest, 1) if values.dtype.kind == "f" else values).astype(np.intp)
