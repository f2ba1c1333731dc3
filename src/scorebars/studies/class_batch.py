"""One batch of class labels on its way into an accumulator: checked, aligned, and then counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.engines.class_counts import ClassCounts
from scorebars.errors import ErrorModel, Flip
from scorebars.errors.base import FloatArray, Kind
from scorebars.metrics.labels import class_array, class_model
from scorebars.studies.batch import ON_ARRAYS, argument_of, named, one_or_each, prefixed
from scorebars.studies.folded import Folded
from scorebars.studies.number_fold import Needs


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
                f"an accumulator counts class labels and cannot weight them: leave sample_weight out. {ON_ARRAYS}"
            )
        models = named(y_true, y_pred)
        tables.require_rows(y_true=y_true, yerr=yerr, **prefixed(models))
        if all(len(values) == 0 for values in (y_true, *models.values())):
            return cls(np.empty(0, np.int64), {name: np.empty(0, np.int64) for name in models}, 0.0, "classical")
        y = class_array(y_true, "y_true")
        predicted = {name: class_array(values, argument_of(name, models)) for name, values in models.items()}
        if len({class_type(values) for values in (y, *predicted.values())}) > 1:
            y, predicted = _signed(y), {name: _signed(p) for name, p in predicted.items()}
        for name, p in predicted.items():
            argument = argument_of(name, models)
            checks.same_length(y, p, "y_true", argument)
            if class_type(p) != class_type(y):
                raise ValueError(
                    f"{argument} holds {class_type(p)}, but the labels are {class_type(y)}: use one type for all classes."
                )
        model = class_model(yerr, len(y))
        if not isinstance(model, Flip) or model.correlation:
            raise ValueError(
                f"yerr is {model!r}: an accumulator counts labels that are wrong independently of each other. Give the "
                f"probability that a label is wrong: a number, one for each label, or Flip(q). {ON_ARRAYS}"
            )
        return cls(y, predicted, model.q, model.kind)

    @property
    def n(self) -> int:
        """Number of labels."""
        return len(self.y)

    @property
    def classes(self) -> str:
        """Of which type the classes are, in words."""
        return class_type(self.y)

    def folded(self, needs: Needs, known: Folded | None) -> Folded:
        """The counts of each model."""
        counts = {name: ClassCounts.of(self.y, p, self.q, "pairs" in needs) for name, p in self.models.items()}
        return Folded(counts, self.n)

    def copied(self) -> ClassBatch:
        """The same labels, whatever the user does with the arrays."""
        return ClassBatch(self.y.copy(), {m: p.copy() for m, p in self.models.items()}, self.q, self.kind)

    @classmethod
    def joined(cls, batches: Sequence[ClassBatch]) -> ClassBatch:
        """All batches as one."""
        if len(batches) == 1:
            return batches[0]
        q = one_or_each([b.q for b in batches], [b.n for b in batches])
        models = {name: np.concatenate([b.models[name] for b in batches]) for name in batches[0].models}
        return cls(np.concatenate([b.y for b in batches]), models, q, batches[0].kind)

    @property
    def errors(self) -> ErrorModel:
        """The errors as a model."""
        return Flip(self.q, kind=self.kind)


def class_type(classes: NDArray[Any]) -> str:
    """The type of classes in words. Unsigned numbers of 64 bits are apart: with others NumPy makes them floats."""
    if classes.dtype.kind == "U":
        return "texts"
    return "unsigned 64-bit numbers" if classes.dtype == np.uint64 else "numbers"


def _signed(classes: NDArray[Any]) -> NDArray[Any]:
    """Unsigned numbers as signed ones, where those hold all of them."""
    fits = classes.dtype == np.uint64 and classes.max(initial=0) < 2**63
    return classes.astype(np.int64) if fits else classes
