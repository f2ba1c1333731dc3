"""One batch of labels on its way into an accumulator: checked, aligned, and with the same questions for numbers and classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.answers.chi_squared import require_positive
from scorebars.engines import BadValues
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.hits import Hits
from scorebars.engines.summary import Summary, summarise
from scorebars.errors import ErrorModel, Flip, Normal
from scorebars.errors.base import FloatArray, Kind
from scorebars.intake import take
from scorebars.metrics.inputs import error_model
from scorebars.metrics.labels import class_labels, class_model
from scorebars.studies.gather import named_predictions

_ARRAYS = "Use scorebars.evaluate on arrays for this."
KEPT = 65_536
"""Up to so many labels an accumulator keeps them as they are, and its result is that of `evaluate`."""
_WEIGHT_HINT = "A weight says how much a label counts; it cannot be below 0."
_HINT = "yerr is a standard deviation (not a variance): it cannot be below 0."


@dataclass(frozen=True, eq=False)
class NumberBatch:
    """Measured numbers with independent normal errors, and what each model predicts."""

    y: FloatArray
    models: dict[str, FloatArray]
    sigma: FloatArray | float
    weight: FloatArray | None
    kind: Kind

    @classmethod
    def checked(cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> NumberBatch:
        """From what a user passes."""
        models = named_predictions(y_pred)
        tables.require_rows(y_true=y_true, yerr=yerr, sample_weight=sample_weight, **_prefixed(models))
        y_true, _, yerr, unit = take(y_true, next(iter(models.values())), yerr)
        if unit is not None:
            raise ValueError(
                f"y_true has the unit {unit}: an accumulator takes plain numbers. Pass y_true.to_value(unit)."
            )
        y = _column(y_true, "y_true")
        predictions = {}
        for name, values in models.items():
            argument = _argument(name, models)
            predictions[name] = _column(values, argument)
            checks.same_length(y, predictions[name], "y_true", argument)
        errors = _normal(yerr, y.shape)
        batch = cls(y, predictions, errors.sigma, _weights(sample_weight, len(y)), errors.kind)
        if batch.n <= KEPT:  # larger ones are summed up at once, and sums show bad values
            batch.diagnose()
        return batch

    def diagnose(self) -> None:
        """Refuse values that no score can be made of, by their place."""
        checks.require_finite(self.y, "y_true")
        for name, p in self.models.items():
            checks.require_finite(p, _argument(name, self.models))
        if isinstance(self.sigma, np.ndarray):
            checks.require_finite(self.sigma, "yerr")
            checks.require_non_negative(self.sigma, "yerr", _HINT)
        if self.weight is not None:
            checks.require_finite(self.weight, "sample_weight")
            checks.require_non_negative(self.weight, "sample_weight", _WEIGHT_HINT)

    @property
    def n(self) -> int:
        """Number of labels."""
        return len(self.y)

    def require(self, needs: Collection[str]) -> None:
        """Refuse labels of which some metrics cannot be had."""
        if "within" in needs and self.weight is not None:
            raise ValueError(
                "fraction_within counts the labels of an accumulator and cannot weight them: leave sample_weight out. "
                + _ARRAYS
            )
        if "pulls" in needs and not np.all(np.asarray(self.sigma) > 0):
            self.diagnose()  # of values that are not finite or negative first
            require_positive(np.broadcast_to(self.sigma, (self.n,)))

    def summaries(self, needs: Mapping[str, Mapping[str, Any]], known: Mapping[str, Any] | None) -> dict[str, Summary]:
        """The summary of each model."""
        try:
            return {
                name: self._summary(p, needs, None if known is None else known[name]) for name, p in self.models.items()
            }
        except BadValues:
            self.diagnose()
            raise

    def _summary(self, p: FloatArray, needs: Mapping[str, Mapping[str, Any]], known: Any) -> Summary:
        found = summarise(self.y, p, self.sigma, self.weight, needs, known)
        if not {"within", "pulls"} & set(needs):
            return found
        hits = pulls = None
        if "within" in needs:
            hits = Hits.of(self.y, p, self.sigma, float(needs["within"]["tolerance"]))
        if "pulls" in needs:
            before = None if known is None else known.pulls
            pulls = summarise(np.zeros(self.n), self._pulls(p), 1.0, self.weight, ("squares",), before)
        return ExtendedSummary.of(found, hits, pulls)

    def _pulls(self, p: FloatArray) -> FloatArray:
        """Residuals in units of their errors."""
        with np.errstate(over="ignore"):
            z = (p - self.y) / self.sigma
        if not np.all(np.isfinite(z)):
            raise OverflowError("a residual is so many errors large that the ratio leaves the range of doubles.")
        return np.asarray(z)

    def copied(self) -> NumberBatch:
        """The same numbers, whatever the user does with the arrays."""
        sigma = self.sigma.copy() if isinstance(self.sigma, np.ndarray) else self.sigma
        weight = None if self.weight is None else self.weight.copy()
        return NumberBatch(self.y.copy(), {m: p.copy() for m, p in self.models.items()}, sigma, weight, self.kind)

    @classmethod
    def joined(cls, batches: Sequence[NumberBatch]) -> NumberBatch:
        """All batches as one."""
        if len(batches) == 1:
            return batches[0]
        sigma = _one_or_each([b.sigma for b in batches], [b.n for b in batches])
        weight = None
        if any(b.weight is not None for b in batches):
            weight = np.concatenate([np.ones(b.n) if b.weight is None else b.weight for b in batches])
        models = {name: np.concatenate([b.models[name] for b in batches]) for name in batches[0].models}
        return cls(np.concatenate([b.y for b in batches]), models, sigma, weight, batches[0].kind)

    @property
    def errors(self) -> ErrorModel:
        """The errors as a model."""
        return Normal.trusted(self.sigma, self.kind)


@dataclass(frozen=True, eq=False)
class ClassBatch:
    """Class labels that are wrong with probability q, and what each model predicts."""

    y: NDArray[Any]
    models: dict[str, NDArray[Any]]
    q: FloatArray | float
    kind: Kind
    weight: None = None

    @classmethod
    def checked(cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> ClassBatch:
        """From what a user passes."""
        if sample_weight is not None:
            raise ValueError(
                f"an accumulator counts class labels and cannot weight them: leave sample_weight out. {_ARRAYS}"
            )
        models = named_predictions(y_pred)
        tables.require_rows(y_true=y_true, yerr=yerr, **_prefixed(models))
        if len(y_true) == 0:
            return cls(np.empty(0, np.int64), {name: np.empty(0, np.int64) for name in models}, 0.0, "classical")
        found = {name: class_labels(y_true, values) for name, values in models.items()}
        y = next(iter(found.values())).y
        model = class_model(yerr, len(y))
        if not isinstance(model, Flip) or model.correlation:
            raise ValueError(
                f"yerr is {model!r}: an accumulator counts labels that are wrong independently of each other. Give the "
                f"probability that a label is wrong: a number, one for each label, or Flip(q). {_ARRAYS}"
            )
        return cls(y, {name: labels.p for name, labels in found.items()}, model.q, model.kind)

    @property
    def n(self) -> int:
        """Number of labels."""
        return len(self.y)

    def summaries(
        self, needs: Mapping[str, Mapping[str, Any]], known: Mapping[str, Any] | None
    ) -> dict[str, ClassCounts]:
        """The counts of each model."""
        found = {name: ClassCounts.of(self.y, p, self.q, "pairs" in needs) for name, p in self.models.items()}
        if known is not None:
            for name, counts in found.items():
                if (counts.classes.dtype.kind == "U") != (known[name].classes.dtype.kind == "U"):
                    raise ValueError("classes mix texts and numbers: all batches must hold classes of one type.")
        return found

    def copied(self) -> ClassBatch:
        """The same labels, whatever the user does with the arrays."""
        return ClassBatch(self.y.copy(), {m: p.copy() for m, p in self.models.items()}, self.q, self.kind)

    @classmethod
    def joined(cls, batches: Sequence[ClassBatch]) -> ClassBatch:
        """All batches as one."""
        if len(batches) == 1:
            return batches[0]
        if len({b.y.dtype.kind == "U" for b in batches}) > 1:
            raise ValueError("classes mix texts and numbers: all batches must hold classes of one type.")
        q = _one_or_each([b.q for b in batches], [b.n for b in batches])
        models = {name: np.concatenate([b.models[name] for b in batches]) for name in batches[0].models}
        return cls(np.concatenate([b.y for b in batches]), models, q, batches[0].kind)

    @property
    def errors(self) -> ErrorModel:
        """The errors as a model."""
        return Flip(self.q, kind=self.kind)


Batch = NumberBatch | ClassBatch


def _one_or_each(values: Sequence[FloatArray | float], sizes: Sequence[int]) -> FloatArray | float:
    """One number where it serves all batches, else one for each label."""
    numbers = {value for value in values if isinstance(value, float)}
    if len(numbers) == 1 and all(isinstance(value, float) for value in values):
        return numbers.pop()
    return np.concatenate([np.broadcast_to(value, (n,)) for value, n in zip(values, sizes, strict=True)])


def _argument(name: str, models: Mapping[str, Any]) -> str:
    return "y_pred" if len(models) == 1 else f"y_pred[{name!r}]"


def _prefixed(models: Mapping[str, Any]) -> dict[str, Any]:
    return {_argument(name, models): values for name, values in models.items()}


def _column(values: Any, argument: str) -> FloatArray:
    return np.asarray(checks.column(values, argument), dtype=np.float64)


def _normal(yerr: Any, shape: tuple[int, ...]) -> Normal:
    """Independent normal errors, whose sums are known."""
    model = error_model(yerr, shape)
    if type(model) is not Normal or not model.independent:
        what = "lower and upper errors" if not isinstance(yerr, ErrorModel) else repr(model)
        raise ValueError(
            f"yerr is {what}: an accumulator sums up labels with independent normal errors. Give a number, one standard "
            f"deviation for each label, or Normal(sigma). {_ARRAYS}"
        )
    if isinstance(model.sigma, np.ndarray):
        return Normal.trusted(np.asarray(model.sigma, dtype=np.float64), model.kind)
    return Normal.trusted(float(model.sigma), model.kind)


def _weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Weights of a batch, which may all be zero."""
    if sample_weight is None:
        return None
    if np.ndim(sample_weight) == 0:
        sample_weight = np.full(n, sample_weight)
    w = _column(sample_weight, "sample_weight")
    if len(w) != n:
        raise ValueError(
            f"sample_weight and y_true have inconsistent numbers of samples: {len(w)} and {n}. Each label needs its own "
            "weight."
        )
    return w
