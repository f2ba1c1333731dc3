"""The confusion matrix with errors: what `confusion_matrix` returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars import checks
from scorebars.answers import berkson
from scorebars.answers.confusion import ConfusionSpread, confusion
from scorebars.answers.confusion_functions import OfPositives, Share
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.discrete import DiscreteLaw
from scorebars.laws.weighted_bernoulli import BernoulliSum
from scorebars.moments.confusion import ConfusionMoments, confusion_of_probabilities
from scorebars.score import Interval, UndefinedEstimate

_OF_ARRAYS = (
    "T",
    "astype",
    "diagonal",
    "dtype",
    "flatten",
    "max",
    "min",
    "ndim",
    "ravel",
    "size",
    "sum",
    "tolist",
    "trace",
)
"""What users of scikit-learn ask of a confusion matrix."""


@dataclass(frozen=True)
class Cells:
    """Estimated cells with their covariance in row-major order, counts before any normalisation."""

    value: FloatArray
    covariance: FloatArray
    method: str
    note: str = ""

    @property
    def std(self) -> FloatArray:
        """Standard error of each cell."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).reshape(self.value.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype or np.float64)


class ConfusionMatrix(NDArrayOperatorsMixin):
    """A confusion matrix whose labels have errors; rows: label, columns: prediction.

    It reads like the array of the expected matrix (``c[0, 1]``, ``c.ravel()``, ``c / c.sum()``, ``np.asarray(c)``), whole
    numbers where labels are exact and items are counted. The attributes answer the questions of a `Score`, as arrays.

    ======================  ======================================================================================
    ``observed``            the classical matrix
    ``expected``            its mean when the labels move within their errors
    ``std, covariance``     how far the cells move; the covariance is of the cells in row-major order
    ``interval(level)``     lower and upper ends for each cell
    ``truth``               the matrix of true classes: unbiased, cells may be negative (`value`, `std`, `covariance`)
    ``truth_constrained``   the most likely one with no negative cell
    ``remeasured(k)``       the matrix to expect of labels by majority of k fresh votes
    ``perfect``             that of a model that knows the true class
    ======================  ======================================================================================
    """

    def __init__(self, data: Labelled, keep: NDArray[np.intp], normalize: str | None) -> None:
        assert data.predicted is not None
        self._data, self._keep, self.normalize = data, keep, normalize
        self._predicted = data.predicted
        self.classes: NDArray[Any] = data.classes[keep]
        self.n = data.n

    def _kept(self, c: FloatArray) -> FloatArray:
        return np.asarray(c[np.ix_(self._keep, self._keep)])

    def _normalized(self, c: FloatArray) -> FloatArray:
        """Cells divided by the sum of their row, of their column or of all; 0 where there is nothing."""
        if self.normalize is None:
            return c
        axis = {"true": 1, "pred": 0, "all": None}[self.normalize]
        total = np.sum(c, axis=axis, keepdims=True)
        return np.asarray(np.where(total != 0, c / np.where(total != 0, total, 1.0), 0.0))

    def _of(self, indicators: FloatArray) -> FloatArray:
        return self._kept(confusion(indicators, self._predicted, self._data.weights))

    @property
    def observed(self) -> NDArray[Any]:
        """The classical matrix; whole numbers where it counts."""
        c = self._normalized(self._of(self._data.one_hot))
        counts = self.normalize is None and self._data.weight is None
        return c.astype(np.int64) if counts else c

    # the matrix when labels move ---------------------------------------------------------------

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the counts."""
        cases = self._data.mixture()
        found = [confusion_of_probabilities(p, self._predicted, self._data.weights) for _, p in cases]
        means = [self._kept(part.mean) for part in found]
        mean = sum((c * m for (c, _), m in zip(cases, means, strict=True)), np.zeros_like(means[0]))
        covariance = np.zeros((mean.size, mean.size))
        for (chance, _), part, own in zip(cases, found, means, strict=True):
            moved = (own - mean).ravel()
            covariance += chance * (self._kept_covariance(part) + np.outer(moved, moved))
        return mean, covariance

    def _kept_covariance(self, moments: ConfusionMoments) -> FloatArray:
        k = self._data.k
        cells = (self._keep[:, None] * k + self._keep[None, :]).ravel()
        return np.asarray(moments.covariance[np.ix_(cells, cells)])

    @cached_property
    def _carried(self) -> tuple[FloatArray, FloatArray, str]:
        """Mean, covariance and method after normalisation."""
        mean, covariance = self._moments
        if self.normalize is None:
            return mean, covariance, "exact"
        fixed = len(self._keep) == self._data.k and self.normalize != "true"
        value = self._normalized(mean)
        jacobian = self._jacobian(mean)
        carried = jacobian @ covariance @ jacobian.T
        if fixed:  # predictions are fixed, so sums of columns and of all cells are
            return value, carried, "exact"
        if self.normalize == "true" and self._data.weight is None and len(self._data.mixture()) == 1:
            value, std = self._row_shares()
            delta = np.sqrt(np.maximum(np.diag(carried), 0.0))
            scale = np.where(delta > 0, std.ravel() / np.where(delta > 0, delta, 1.0), 1.0)
            return value, carried * np.outer(scale, scale), "exact"
        return value, carried, "delta"

    def _row_shares(self) -> tuple[FloatArray, FloatArray]:
        """Exact mean and std of each cell over its row: of the labels k, the share predicted as l; 0 without labels."""
        size = len(self._keep)
        mean, std = np.zeros((size, size)), np.zeros((size, size))
        p, inside = self._data.probabilities, np.isin(self._predicted, self._keep)
        for a, k in enumerate(self._keep):
            two = np.stack([1 - p[inside, k], p[inside, k]], axis=1)
            for b, column in enumerate(self._keep):
                chosen = (self._predicted[inside] == column).astype(np.intp)
                found = ConfusionSpread(OfPositives(Share("recall")), 0.0, two, chosen, None).moments()
                mean[a, b], std[a, b] = found.mean, math.sqrt(found.var)
        return mean, std

    def _jacobian(self, c: FloatArray) -> FloatArray:
        """Derivative of the normalised cells with respect to the counts."""
        size = c.shape[0]
        row, column = np.divmod(np.arange(size * size), size)
        same = {"true": row[:, None] == row, "pred": column[:, None] == column}.get(
            str(self.normalize), np.ones((size * size, size * size), dtype=bool)
        )
        total = same @ c.ravel()
        safe = np.where(total != 0, total, 1.0)
        out = np.eye(size * size) / safe[:, None] - same * (c.ravel() / safe**2)[:, None]
        return np.asarray(np.where(total[:, None] != 0, out, 0.0))

    @property
    def expected(self) -> FloatArray:
        """What the matrix becomes on average when the labels move within their errors."""
        return self._carried[0]

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the cells in row-major order."""
        return self._carried[1]

    @property
    def std(self) -> FloatArray:
        """How far each cell moves."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).reshape(self.expected.shape)

    @property
    def variance(self) -> FloatArray:
        """The square of `std`."""
        return np.square(self.std)

    @property
    def correction(self) -> FloatArray:
        """expected - observed."""
        return np.asarray(self.expected - self.observed)

    @property
    def method(self) -> str:
        """How expected and covariance were found."""
        return self._carried[2]

    def interval(self, level: float = 0.95) -> Interval:
        """Where each cell falls with probability `level`, as two arrays: exact for counts, else from the std."""

        tail = (1.0 - checks.probability(level, "level")) / 2
        if self.method != "exact" or len(self._data.mixture()) > 1:
            reach = float(ndtri(1 - tail)) * self.std
            most = np.inf if self.normalize is None else 1.0
            return Interval(np.maximum(self.expected - reach, 0.0), np.minimum(self.expected + reach, most))  # type: ignore[arg-type]
        ends = np.zeros((2, *self.expected.shape))
        for a, b in np.ndindex(self.shape):
            law = self._cell_law(int(self._keep[a]), int(self._keep[b]))
            ends[:, a, b] = law.ppf(tail), law.ppf(1 - tail)
        return Interval(*ends)

    def _cell_law(self, k: int, column: int) -> Law:
        """The law of one cell: label k among the items predicted as `column`."""
        p, w = self._data.probabilities[:, k], self._data.weights
        items = self._predicted == column
        if self.normalize == "true":
            inside = np.isin(self._predicted, self._keep)
            two = np.stack([1 - p[inside], p[inside]], axis=1)
            return ConfusionSpread(OfPositives(Share("recall")), 0.0, two, items[inside].astype(np.intp), None).law()
        if not items.any():
            return DiscreteLaw(np.zeros(1), np.ones(1))
        total = {None: 1.0, "pred": float(np.add.reduce(w[items]))}.get(self.normalize, float(np.add.reduce(w)))
        return BernoulliSum(w[items] / total, p[items])

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def truth(self) -> Cells:
        """The matrix of true classes: (T')^-1 C, unbiased; cells may be negative where T is hard to invert."""
        if self._data.kind == "berkson":
            return Cells(self.expected, self.covariance, self.method, "Berkson error: this is the expected matrix")
        a = self._data.indicators
        squares = confusion(a, self._predicted, np.square(self._data.weights))
        columns = self._products(a)
        columns[:, np.arange(self._data.k), np.arange(self._data.k)] -= squares.T
        counts = self._of(a)
        covariance = self._kept_covariance(ConfusionMoments(squares, columns))
        step = self._data.common_step
        if step is not None:  # flips that the labels share: each pair of different labels adds its covariance
            moved = self._of(step).ravel()
            own = self._kept_covariance(ConfusionMoments(squares, self._products(step)))
            covariance = covariance + self._data.common_correlation * (np.outer(moved, moved) - own)
        if self.normalize is None:
            return Cells(counts, covariance, "unbiased")
        jacobian = self._jacobian(counts)
        return Cells(self._normalized(counts), jacobian @ covariance @ jacobian.T, "delta")

    def _products(self, rows: FloatArray) -> FloatArray:
        """Sums of the outer products of weighted rows (n, K) in each column, (K, K, K)."""
        weighted = rows * self._data.weights[:, None]
        parts = [weighted[self._predicted == column] for column in range(self._data.k)]
        return np.stack([part.T @ part for part in parts])

    @cached_property
    def truth_constrained(self) -> FloatArray:
        """The most likely matrix of true classes with no cell below 0, by expectation maximisation."""
        if self._data.kind == "berkson":
            return self.expected
        return self._normalized(self._kept(self._data.most_likely_confusion()))

    def remeasured(self, repeats: int = 1) -> FloatArray:
        """The matrix to expect of labels by majority of `repeats` fresh votes."""
        if self._data.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        if self._data.same_process(repeats):
            return np.asarray(self.observed, dtype=np.float64)
        return self._normalized(self._of(self._data.fresh(repeats)))

    @cached_property
    def perfect(self) -> FloatArray:
        """The expected matrix of a model that knows the true class, the shown labels taken as the true ones."""
        own = self._data.own_probabilities
        return self._normalized(self._kept(confusion(own, self._data.shown, self._data.weights)))

    # as an array --------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.observed if self._data.exact else self.expected, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(value) if isinstance(value, ConfusionMatrix) else value for value in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_ARRAYS:
            raise AttributeError(f"'ConfusionMatrix' object has no attribute {name!r}")
        return getattr(np.asarray(self), name)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes, twice."""
        return (len(self.classes), len(self.classes))

    def __repr__(self) -> str:
        cells = np.array2string(self.expected, precision=4)
        return f"ConfusionMatrix({len(self.classes)} classes, n={self.n}, expected=\n{cells})"
