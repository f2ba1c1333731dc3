"""The confusion matrix with errors: what `confusion_matrix` returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars import checks
from scorebars.answers.base import NO_REMEASURED
from scorebars.answers.classes.confusion_answers import OfPositives, Share, confusion
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.score import Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors.class_error import CountableRates
from scorebars.laws.counts.confusion_law import UncertainConfusion
from scorebars.laws.counts.weighted_bernoulli import BernoulliSum
from scorebars.laws.discrete import DiscreteLaw
from scorebars.laws.law import Law
from scorebars.moments.confusion_moments import ConfusionMoments, confusion_of_probabilities, require_room

# what users of scikit-learn ask of a confusion matrix
_OF_ARRAYS = [
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
]


_WHOLE = 2.0**53
"""Below this a double holds every whole number."""


@dataclass(frozen=True)
class EstimatedMatrix:
    """Estimated cells with their covariance in row-major order."""

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
    ``expected``            its mean if every label were redrawn from its errors
    ``std, covariance``     how far the cells scatter then; the covariance is of the cells in row-major order
    ``interval(level)``     lower and upper ends for each cell
    ``truth``               the matrix of true classes: unbiased, cells may be negative (`value`, `std`, `covariance`)
    ``truth_constrained``   the most likely one with no negative cell
    ``remeasured(k)``       the matrix to expect of labels by majority of k fresh votes
    ``perfect``             that of a model that knows the true class
    ======================  ======================================================================================

    Examples
    --------
    >>> import scorebars as sb
    >>> c = sb.confusion_matrix([0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 0], yerr=0.1)
    >>> c.observed.tolist()
    [[2, 1], [1, 4]]
    >>> c.truth.value.round(2).tolist()
    [[2.12, 0.62], [0.88, 4.38]]
    """

    def __init__(self, data: Labelled, keep: NDArray[np.intp], normalize: str | None, whole: bool = False) -> None:
        assert data.predicted is not None
        self._data, self._keep, self.normalize = data, keep, normalize
        self._counts = normalize is None and (data.weight is None or whole)
        """Whether cells are whole numbers: items, or weights that were given as integers."""
        self._predicted = data.predicted
        self.classes: NDArray[Any] = data.classes[keep]
        self.n = data.n

    def _kept(self, c: FloatArray) -> FloatArray:
        return np.asarray(c[np.ix_(self._keep, self._keep)])

    def _kept_covariance(self, columns: FloatArray) -> FloatArray:
        """Covariance of the kept cells, from that of each column of the matrix (K, K, K)."""
        cells = (self._keep[:, None] * self._data.k + self._keep).ravel()
        return np.asarray(ConfusionMoments(columns[0], columns).covariance[np.ix_(cells, cells)])

    def _normalized(self, c: FloatArray) -> FloatArray:
        """Cells divided by the sum of their row, of their column or of all; 0 where there is nothing."""
        if self.normalize is None:
            return c
        total = np.sum(c, axis={"true": 1, "pred": 0, "all": None}[self.normalize], keepdims=True)
        return np.asarray(np.where(total != 0, c / np.where(total != 0, total, 1.0), 0.0))

    def _of(self, indicators: FloatArray) -> FloatArray:
        return self._kept(confusion(indicators, self._predicted, self._data.weights))

    @property
    def observed(self) -> NDArray[Any]:
        """The classical matrix; whole numbers where it counts."""
        c = self._normalized(self._of(self._data.one_hot))
        return c.astype(np.int64) if self._counts and np.max(c, initial=0.0) < _WHOLE else c

    # labels redrawn from their errors ------------------------------------------------------------

    @cached_property
    def _redrawn(self) -> EstimatedMatrix:
        """Mean and covariance."""
        require_room(len(self._keep), 4)
        cases = self._data.mixture()
        found = [confusion_of_probabilities(p, self._predicted, self._data.weights) for _, p in cases]
        means = [self._kept(part.mean) for part in found]
        mean = sum((c * m for (c, _), m in zip(cases, means, strict=True)), np.zeros_like(means[0]))
        covariance = np.zeros((mean.size, mean.size))
        for (chance, _), part, own in zip(cases, found, means, strict=True):
            moved = (own - mean).ravel()
            covariance += chance * (self._kept_covariance(part.columns) + np.outer(moved, moved))
        carried = self._carried(mean, covariance, "exact")
        if self.normalize is None or (len(self._keep) == self._data.k and self.normalize != "true"):
            return carried  # predictions are fixed, so sums of columns and of all cells are
        if self.normalize == "true" and self._data.weight is None and len(cases) == 1:
            exact = [self._row_share(k, column).moments() for k in self._keep for column in self._keep]
            value, std = np.array([[m.mean for m in exact], [math.sqrt(m.var) for m in exact]])
            first_order = carried.std.ravel()
            scale = np.where(first_order > 0, std / np.where(first_order > 0, first_order, 1.0), 1.0)
            return EstimatedMatrix(value.reshape(mean.shape), carried.covariance * np.outer(scale, scale), "exact")
        return EstimatedMatrix(carried.value, carried.covariance, "delta")

    def _carried(self, c: FloatArray, covariance: FloatArray, method: str) -> EstimatedMatrix:
        """Counts and their covariance, normalised."""
        if self.normalize is None:
            return EstimatedMatrix(c, covariance, method)
        row, column = np.indices(c.shape).reshape(2, -1)
        group = {"true": row, "pred": column, "all": np.zeros_like(row)}[self.normalize]
        same = group[:, None] == group
        total = same @ c.ravel()
        safe = np.where(total != 0, total, 1.0)
        jacobian = np.eye(c.size) / safe[:, None] - same * (c.ravel() / safe**2)[:, None]
        jacobian = np.where(total[:, None] != 0, jacobian, 0.0)
        return EstimatedMatrix(self._normalized(c), jacobian @ covariance @ jacobian.T, method)

    def _row_share(self, k: int, column: int) -> UncertainConfusion:
        """Of the labels k, the share predicted as `column`: the recall of a model that chooses this column."""
        inside = np.isin(self._predicted, self._keep)
        p = self._data.probabilities[inside, k]
        chosen = (self._predicted[inside] == column).astype(np.intp)
        recall, both = OfPositives(Share("recall")), np.stack([1 - p, p], axis=1)
        return UncertainConfusion(recall, both, chosen, undefined=0.0)

    expected = property(attrgetter("_redrawn.value"), doc="Its mean if every label were redrawn from its errors.")
    covariance = property(attrgetter("_redrawn.covariance"), doc="Covariance of the cells in row-major order.")
    std = property(attrgetter("_redrawn.std"), doc="How far each cell scatters.")
    variance = property(lambda self: np.square(self.std), doc="The square of `std`.")
    correction = property(lambda self: np.asarray(self.expected - self.observed), doc="expected - observed.")
    method = property(attrgetter("_redrawn.method"), doc="How expected and covariance were found.")

    def interval(self, level: float = 0.95) -> Interval:
        """Where each cell falls with probability `level`, as two arrays: exact for counts, else from the std."""
        tail = (1.0 - checks.probability(level, "level")) / 2
        if self.method != "exact" or len(self._data.mixture()) > 1:
            reach = float(ndtri(1 - tail)) * self.std
            most = np.inf if self.normalize is None else 1.0
            return Interval(np.maximum(self.expected - reach, 0.0), np.minimum(self.expected + reach, most))
        ends = [[self._cell_law(k, column).ppf([tail, 1 - tail]) for column in self._keep] for k in self._keep]
        return Interval(*np.moveaxis(np.array(ends), -1, 0))

    def _cell_law(self, k: int, column: int) -> Law:
        """The distribution of one cell: label k among the items predicted as `column`."""
        if self.normalize == "true":
            return self._row_share(k, column).law()
        w, items = self._data.weights, self._predicted == column
        if not items.any():
            return DiscreteLaw(np.zeros(1), np.ones(1))
        total = {None: 1.0, "pred": np.add.reduce(w[items]), "all": np.add.reduce(w)}[self.normalize]
        return BernoulliSum(w[items] / total, self._data.probabilities[items, k])

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def truth(self) -> EstimatedMatrix:
        """The matrix of true classes: (T')^-1 C, unbiased; cells may be negative where T is hard to invert."""
        if self._data.kind == "berkson":
            note = "Berkson error: this is the expected matrix"
            covariance = self.covariance
            if self._data.checked is not None:
                moved = self._carried(self._of(self._data.probabilities), self._rate_covariance, self.method)
                covariance = covariance + moved.covariance
            return EstimatedMatrix(self.expected, covariance, self.method, note)
        a = self._data.indicators
        columns = self._products(a)
        diagonal = np.arange(self._data.k)
        columns[:, diagonal, diagonal] -= confusion(a, self._predicted, np.square(self._data.weights)).T
        covariance = self._kept_covariance(columns)
        step = self._data.shared_step(of_truth=True)
        if step is not None:  # flips that the labels share: each pair of different labels adds its covariance
            together = self._of(step).ravel()
            shared = np.outer(together, together) - self._kept_covariance(self._products(step))
            covariance = covariance + self._data.shared_correlation * shared
        if self._data.checked is not None:
            covariance = covariance + self._rate_covariance
        return self._carried(self._of(a), covariance, "unbiased" if self.normalize is None else "delta")

    @property
    def _rate_covariance(self) -> FloatArray:
        """What error rates that were counted from checked labels add to the covariance of the kept cells."""
        data, checked = self._data, self._data.checked
        if checked is None:
            return np.zeros((len(self._keep) ** 2,) * 2)
        rows, counts = data.counted_rows, confusion(data.one_hot, self._predicted, data.weights)
        if data.kind == "berkson":  # cell (k, l) is the sum over shown classes j of rows[j, k] counts[j, l]
            slopes = np.einsum("jl,km->kljm", counts, np.eye(data.k))
        else:  # rows = T^-1, and a change dT changes it by -T^-1 dT T^-1
            slopes = -np.einsum("al,bk->klab", rows.T @ counts, rows)
        slopes = slopes[np.ix_(self._keep, self._keep)].reshape(-1, data.k, data.k)
        model = data.model if data.own is None else data.own  # of votes, the errors of their majority
        assert isinstance(model, CountableRates)
        return checked.covariance(model.rate_slopes(slopes, data.classes))

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
            raise UndefinedEstimate(NO_REMEASURED)
        if self._data.same_process(repeats):
            return np.asarray(self.observed, dtype=np.float64)
        return self._normalized(self._of(self._data.fresh(repeats)))

    @cached_property
    def perfect(self) -> FloatArray:
        """The expected matrix of a model that knows the true class."""
        data = self._data
        try:
            behind = confusion(data.truth_given_label, data.shown, data.weights).T
        except UndefinedEstimate:  # the shown classes are taken as the true ones
            behind = confusion(data.own_probabilities, data.shown, data.weights)
        return self._normalized(self._kept(behind))

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

    shape = property(lambda self: (len(self), len(self)), doc="Number of classes, twice.")

    def __repr__(self) -> str:
        cells = np.array2string(self.expected, precision=4)
        return f"ConfusionMatrix({len(self.classes)} classes, n={self.n}, expected=\n{cells})"
