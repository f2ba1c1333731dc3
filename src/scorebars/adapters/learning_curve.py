"""Would more training data help, or do the labels set the limit? A learning curve with label-error bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.adapters.sklearn import RESPONSES


@dataclass
class LearningCurveDisplay:
    """Scores of test folds against the number of training items.

    Made by `from_estimator`, drawn by `plot`; the name and the two steps are those of scikit-learn's display of the same
    name.

    Attributes
    ----------
    metric : name of the metric
    train_sizes : (sizes,) numbers of training items
    scores : for each size, the Score of each test fold
    ax_ : the matplotlib axes, once drawn
    """

    metric: str
    train_sizes: NDArray[np.intp]
    scores: list[list[sb.Score]]
    ax_: Any = field(default=None, repr=False)

    @property
    def observed(self) -> NDArray[np.float64]:
        """The classical score, mean over the folds."""
        return np.array([np.mean([s.observed for s in folds]) for folds in self.scores])

    @property
    def label_std(self) -> NDArray[np.float64]:
        """How far the label errors alone move a fold's score: root mean square over the folds."""
        return np.array([math.sqrt(float(np.mean([s.variance for s in folds]))) for folds in self.scores])

    @property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation between the folds: other items, other models and other label errors."""
        return np.array(
            [np.std([s.observed for s in folds], ddof=1) if len(folds) > 1 else 0.0 for folds in self.scores]
        )

    @property
    def perfect(self) -> NDArray[np.float64]:
        """What a perfect model would score on these labels, mean over the folds."""
        return np.array([np.mean([float(s.perfect) for s in folds]) for folds in self.scores])

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
            from sklearn.base import clone, is_classifier
            from sklearn.model_selection import check_cv
        except ImportError as why:
            raise ImportError("LearningCurveDisplay needs scikit-learn: pip install 'scorebars[sklearn]'") from why
        splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
        sizes = _numbers(train_sizes, min(len(train) for train, _ in splits))
        random = np.random.default_rng(rng)
        shuffled = [random.permutation(train) for train, _ in splits]
        n, scores = len(y), []
        for size in sizes:
            folds = []
            for order, (_, test) in zip(shuffled, splits, strict=True):
                train = order[:size]
                model = clone(estimator).fit(_rows(X, train), _rows(y, train))
                predicted = _response(model, _rows(X, test), metric)
                folds.append(getattr(sb, metric)(_rows(y, test), predicted, yerr=_errors_of(yerr, test, n)))
            scores.append(folds)
        return cls(metric, sizes, scores).plot(ax=ax)

    def plot(self, ax: Any = None) -> LearningCurveDisplay:
        """Draw the curve, the two bands and the score of a perfect model."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as why:
            raise ImportError("LearningCurveDisplay.plot needs matplotlib: pip install 'scorebars[plot]'") from why
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        x, y = self.train_sizes, self.observed
        ax.fill_between(
            x, y - self.spread, y + self.spread, color="C0", alpha=0.15, lw=0, label="between folds (± 1 std)"
        )
        ax.fill_between(
            x, y - self.label_std, y + self.label_std, color="C1", alpha=0.35, lw=0, label="label errors (± 1 std)"
        )
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


def _response(model: Any, X: Any, metric: str) -> Any:
    """Predictions, or probabilities where the metric is of them."""
    if metric not in RESPONSES:
        return model.predict(X)
    p = np.asarray(model.predict_proba(X))
    return p[:, 1] if p.shape[1] == 2 else p


def _rows(values: Any, index: NDArray[np.intp]) -> Any:
    """Some rows of a table, an array, a sparse matrix or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[index]
    return values[index] if hasattr(values, "shape") else np.asarray(values)[index]


def _errors_of(yerr: Any, index: NDArray[np.intp], n: int) -> Any:
    """The label errors of one fold."""
    if yerr is None or np.isscalar(yerr):
        return yerr
    if isinstance(yerr, sb.errors.ErrorModel):
        return yerr if yerr.size is None else yerr[index]
    values = np.asarray(yerr)
    if values.shape[-1:] != (n,):
        raise ValueError(
            f"yerr has shape {values.shape} but y has {n} labels. Give one error for each label, or a number."
        )
    return values[..., index]
