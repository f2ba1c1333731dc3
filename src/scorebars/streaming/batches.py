"""Batches of labels on their way into an accumulator: checked, aligned, and then summed up or counted."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars._shared.given_data import named_predictions, take
from scorebars.answers.means.squared import require_positive
from scorebars.arrays import FloatArray
from scorebars.engines import BadValues
from scorebars.engines.bins import Labels
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.store import Store, store_in_unit
from scorebars.errors import ErrorModel, Flip, MeasurementError, Normal
from scorebars.errors.measurement_error import ErrorKind
from scorebars.errors.normal import error_model
from scorebars.evaluation.study_data import errors_of_predictions
from scorebars.metrics.call import prediction_errors
from scorebars.metrics.class_inputs import class_array, class_model

KEPT = 65_536
"""An accumulator keeps up to this many labels as they are, and then gives the same result as `evaluate`."""
_LIGHTEST, _HEAVIEST = 2.0**-100, 2.0**60
"""The largest weight of a batch must lie between them, or be 0, so that sums of squared weights fit doubles."""
_MOST_ERRORS = 2.0**60
"""Residuals are at most this many errors large, so that sums of fourth powers fit doubles."""
_ON_ARRAYS = "Use scorebars.evaluate on arrays for this."
_OF_BOTH_SCATTERS = {"ratio": "R2 (or the explained variance)", "pulls": "reduced chi-squared"}
"""Metrics in which errors of labels and of predictions are not one error of the difference, by what they keep."""
_WEIGHT_HINT = "A weight says how much a label counts; it cannot be below 0."
_HINT = "yerr is a standard deviation (not a variance): it cannot be below 0."


@dataclass(frozen=True, eq=False)
class Batch:
    """Labels, what each model predicts, and the error of each label, or one for all."""

    y: NDArray[Any]
    models: dict[str, Any]
    """Arrays of predictions, or forecasts."""
    error: FloatArray | float
    """The standard deviation of a measured number, the probability that a class is wrong."""
    weight: FloatArray | None
    kind: ErrorKind
    prederr: dict[str, FloatArray] | None = None
    """Standard errors of the predictions, of the models that have any."""

    @property
    def n(self) -> int:
        """Number of labels."""
        return len(self.y)

    @classmethod
    def joined(cls, batches: Sequence[Self]) -> Self:
        """All batches as one."""
        if len(batches) == 1:
            return batches[0]
        errors: set[Any] = {None if isinstance(batch.error, np.ndarray) else batch.error for batch in batches}
        error: FloatArray | float = batches[0].error
        if len(errors) > 1 or None in errors:
            error = np.concatenate([np.broadcast_to(batch.error, (batch.n,)) for batch in batches])
        weight = None
        if any(batch.weight is not None for batch in batches):
            weight = np.concatenate([np.ones(b.n) if b.weight is None else b.weight for b in batches])
        models = {name: _all_of([batch.models[name] for batch in batches]) for name in batches[0].models}
        prederr = None
        if batches[0].prederr is not None:
            prederr = {
                name: np.concatenate([b.prederr[name] for b in batches if b.prederr]) for name in batches[0].prederr
            }
        return cls(np.concatenate([batch.y for batch in batches]), models, error, weight, batches[0].kind, prederr)


class MeasuredBatch(Batch):
    """Measured numbers with independent normal errors, whatever is said of them."""

    classes: ClassVar[None] = None

    @property
    def error_model(self) -> Normal:
        """The errors as a model."""
        return Normal.trusted(self.error, self.kind)

    def diagnose(self) -> None:
        """Refuse values that no score can be made of, by their place."""
        checks.require_finite(self.y, "y_true")
        for name, p in self.models.items():
            if isinstance(p, np.ndarray):  # forecasts have looked at their values
                checks.require_finite(p, argument_of(name, self.models))
        sigma = np.asarray(self.error)
        checks.require_finite(sigma, "yerr")
        checks.require_non_negative(sigma, "yerr", _HINT)
        if self.weight is not None:
            checks.require_finite(self.weight, "sample_weight")
            checks.require_non_negative(self.weight, "sample_weight", _WEIGHT_HINT)


class NumberBatch(MeasuredBatch):
    """Measured numbers, and a predicted number for each."""

    @classmethod
    def checked(
        cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any, needs: Collection[str]
    ) -> NumberBatch:
        """From what a user passes."""
        _refuse_limits(yerr)
        models = _named(y_true, y_pred)
        of_predictions = errors_of_predictions(prederr, models)
        given = {f"prederr[{name!r}]": errors for name, errors in of_predictions.items()}
        tables.require_rows(y_true=y_true, yerr=yerr, sample_weight=sample_weight, **_by_argument(models), **given)
        for name, values in models.items():
            found = take(y_true, values, yerr, of_predictions.get(name))
            models[name] = found.y_pred if found.unit is None else values
            if found.prederr is not None:
                of_predictions[name] = found.prederr
        y_true, _, yerr, unit, _ = take(y_true, next(iter(models.values())), yerr)
        if unit is not None:
            raise ValueError(
                f"y_true has the unit {unit}: an accumulator takes plain numbers. Pass y_true.to_value(unit)."
            )
        y = plain_column(y_true, "y_true")
        predictions = {name: plain_column(values, argument_of(name, models)) for name, values in models.items()}
        for name, p in predictions.items():
            checks.same_length(y, p, "y_true", argument_of(name, models))
        sigma, kind = normal_errors(yerr, y)
        own = {name: prediction_errors(errors, y.shape) for name, errors in of_predictions.items()}
        batch = cls(y, predictions, sigma, batch_weights(sample_weight, len(y)), kind, own or None)
        if batch.n <= KEPT:  # larger ones are summed up at once, and sums show bad values
            batch.diagnose()
        if batch.n:
            batch._require(needs)
        return batch

    def _require(self, needs: Collection[str]) -> None:
        """Refuse labels that some metrics cannot be found from."""
        if "within" in needs and self.weight is not None:
            raise ValueError(
                "fraction_within counts the labels of an accumulator and cannot weight them: leave sample_weight out. "
                + _ON_ARRAYS
            )
        if "pulls" in needs:
            if not np.all(np.asarray(self.error) > 0):
                self.diagnose()  # of values that are not finite or negative first
                require_positive(np.broadcast_to(self.error, (self.n,)))
            if self.n <= KEPT:  # larger ones are summed up at once, and sums show what is too large
                self._require_pulls()

    def stored(
        self, needs: frozenset[str], tolerance: float | None, known: Mapping[str, Any] | None
    ) -> dict[str, Store]:
        """The store of each model, to be merged with what is known already."""
        here, before = self._with_weightless_labels_replaced(), known or {}
        labels = {name: here._of(p) for name, p in here.models.items()}
        for need in needs & _OF_BOTH_SCATTERS.keys() if here.prederr else ():
            raise ValueError(
                f"{_OF_BOTH_SCATTERS[need]} of predictions with errors of their own needs all labels at once, and beyond "
                f"{KEPT:,} of them an accumulator keeps sums only: leave it out of metrics. {_ON_ARRAYS}"
            )
        for name, sd in (here.prederr or {}).items():
            error = np.hypot(here.error, sd)
            labels[with_prediction_errors_of(name)] = Labels(here.y, here.models[name], error, here.weight)
        try:
            return {name: store_in_unit(part, needs, tolerance, before.get(name)) for name, part in labels.items()}
        except (BadValues, OverflowError):
            self.diagnose()
            if "pulls" in needs:
                self._require_pulls()
            raise

    def _of(self, p: FloatArray) -> Labels:
        return Labels(self.y, p, self.error, self.weight)

    def _with_weightless_labels_replaced(self) -> NumberBatch:
        """The same, with labels of weight 0, which may be of any size, replaced by one that has a weight."""
        if self.weight is None or self.weight.min() > 0:
            return self
        self.diagnose()
        counted = self.weight > 0
        first = int(np.argmax(counted))

        def kept(values: FloatArray) -> FloatArray:
            return np.where(counted, values, values[first])

        sigma = kept(self.error) if isinstance(self.error, np.ndarray) else self.error
        prederr = None if self.prederr is None else {name: kept(sd) for name, sd in self.prederr.items()}
        models = {name: kept(p) for name, p in self.models.items()}
        return replace(self, y=kept(self.y), models=models, error=sigma, prederr=prederr)

    def _require_pulls(self) -> None:
        """Refuse residuals that are too many errors large."""
        hint = f"Pulls beyond {_MOST_ERRORS:.0e} cannot be summed up: are y_true, y_pred and yerr in one unit?"
        for name, p in self.models.items():
            z, argument = self._of(p).pulls(), argument_of(name, self.models)
            bad = ~(np.abs(z) <= _MOST_ERRORS) & (True if self.weight is None else self.weight > 0)
            if bad.any():
                raise OverflowError(str(checks.complain(argument, "has residuals too many errors large", bad, z, hint)))


class ClassBatch(Batch):
    """Class labels that are wrong with some probability."""

    @classmethod
    def checked(
        cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any, needs: Collection[str]
    ) -> ClassBatch:
        """From what a user passes."""
        refuse_prederr(prederr, "predicted classes have none")
        if sample_weight is not None:
            raise ValueError(
                f"an accumulator counts class labels and cannot weight them: leave sample_weight out. {_ON_ARRAYS}"
            )
        models = _named(y_true, y_pred)
        tables.require_rows(y_true=y_true, yerr=yerr, **_by_argument(models))
        if all(len(values) == 0 for values in (y_true, *models.values())):
            none = np.empty(0, np.int64)
            return cls(none, dict.fromkeys(models, none), 0.0, None, "classical")
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
        if not isinstance(model, Flip) or model.correlation or model.checked is not None:
            raise ValueError(
                f"yerr is {model!r}: an accumulator counts labels that are wrong independently of each other. Give the "
                f"probability that a label is wrong: a number, one for each label, or Flip(q). {_ON_ARRAYS}"
            )
        return cls(y, predicted, model.q, None, model.kind)

    @property
    def error_model(self) -> ErrorModel:
        """The errors as a model."""
        return Flip(self.error, kind=self.kind)

    @property
    def classes(self) -> str:
        """The type of the classes, in words."""
        return class_type(self.y)

    def diagnose(self) -> None:
        """Refuse what no score can be made of."""
        if len({class_type(values) for values in (self.y, *self.models.values())}) > 1:
            raise ValueError("its parts have classes of different types")
        checks.probabilities(self.error, "q")

    def stored(
        self, needs: Collection[str], tolerance: float | None, known: Mapping[str, Any] | None
    ) -> dict[str, ClassCounts]:
        """The counts of each model."""
        return {name: ClassCounts.of(self.y, p, self.error, "pairs" in needs) for name, p in self.models.items()}


def _all_of(predictions: Sequence[Any]) -> Any:
    """Predictions of one model for the labels of several batches: arrays, or forecasts."""
    if all(isinstance(p, np.ndarray) for p in predictions):
        return np.concatenate(predictions)
    return reduce(lambda one, other: one.joined(other), predictions)


def with_prediction_errors_of(name: str) -> str:
    """The name under which a model has a second set of sums, which counts the errors of its predictions too."""
    return f"{name}\0with prediction errors"


# checks ------------------------------------------------------------------------------------------


def _named(y_true: Any, y_pred: Any) -> dict[str, Any]:
    """Predictions by model, after a look at whether labels and predictions have entries at all."""
    if y_true is None:
        raise ValueError(
            "y_true is missing: an accumulator takes the labels themselves. Where the error model holds them, "
            "pass y_true=yerr.labels(), or use scorebars.evaluate on arrays."
        )
    models = named_predictions(y_pred)
    for argument, values in {"y_true": y_true, **_by_argument(models)}.items():
        flat = values.ndim == 0 if hasattr(values, "ndim") else not hasattr(values, "__len__")
        if flat or isinstance(values, str | bytes):
            raise ValueError(
                f"{argument} is a {type(values).__name__}, not an array: give one entry for each label (of a generator, "
                "list(...))."
            )
    return models


def refuse_prederr(prederr: Any, why: str) -> None:
    """Predictions that are no numbers take no standard errors."""
    if prederr is not None:
        raise ValueError(f"prederr is the standard error of a predicted number: {why}.")


def _refuse_limits(yerr: Any) -> None:
    """Where some labels are limits the true residuals are found from all labels together."""
    if isinstance(yerr, MeasurementError) and yerr.limited:
        raise ValueError(
            f"yerr is {yerr!r}: an accumulator takes no labels that are limits, which tell about the truth only all together. "
            f"{_ON_ARRAYS}"
        )


def argument_of(name: str, models: Mapping[str, Any]) -> str:
    """What the predictions of a model are called in messages."""
    return "y_pred" if len(models) == 1 else f"y_pred[{name!r}]"


def _by_argument(models: Mapping[str, Any]) -> dict[str, Any]:
    return {argument_of(name, models): values for name, values in models.items()}


def plain_column(values: Any, argument: str) -> FloatArray:
    """One number for each label, as float64."""
    return np.asarray(checks.column(values, argument), dtype=np.float64)


def normal_errors(yerr: Any, y: FloatArray) -> tuple[FloatArray | float, ErrorKind]:
    """Standard deviation and kind of independent normal errors, whose sums are known."""
    model = error_model(yerr, y.shape).for_labels(y)
    if type(model) is not Normal or not model.independent:
        what = "lower and upper errors" if not isinstance(yerr, ErrorModel) else repr(model)
        raise ValueError(
            f"yerr is {what}: an accumulator sums up labels with independent normal errors. Give a number, one standard "
            f"deviation for each label, or Normal(sigma). {_ON_ARRAYS}"
        )
    if model.estimated or model.common_scale is not None:
        raise ValueError(
            f"yerr is {model!r}: an accumulator keeps no record of how well the errors are known. Leave out dof and "
            f"scale_error. {_ON_ARRAYS}"
        )
    each = isinstance(model.sigma, np.ndarray)
    return np.asarray(model.sigma, dtype=np.float64) if each else float(model.sigma), model.kind


def batch_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Weights of a batch, which may all be zero."""
    if sample_weight is None:
        return None
    if np.ndim(sample_weight) == 0:
        sample_weight = np.full(n, sample_weight)
    w = plain_column(sample_weight, "sample_weight")
    if len(w) != n:
        raise ValueError(
            f"sample_weight and y_true have inconsistent numbers of samples: {len(w)} and {n}. Each label needs its own "
            "weight."
        )
    largest = float(np.max(w, initial=0.0))
    if 0 < largest < _LIGHTEST or _HEAVIEST < largest < math.inf:
        raise OverflowError(
            f"sample_weight has {largest} as its largest weight, at index {int(np.argmax(w))}: an accumulator takes batches "
            f"whose largest weight is between {_LIGHTEST:.0e} and {_HEAVIEST:.0e}. Multiply all weights by one number: only "
            "their ratios count."
        )
    return w


def class_type(classes: NDArray[Any]) -> str:
    """The type of classes in words. Unsigned numbers of 64 bits are apart: with others NumPy makes them floats."""
    if classes.dtype.kind == "U":
        return "texts"
    return "unsigned 64-bit numbers" if classes.dtype == np.uint64 else "numbers"


def _signed(classes: NDArray[Any]) -> NDArray[Any]:
    """Unsigned numbers as signed ones, where those hold all of them."""
    fits = classes.dtype == np.uint64 and classes.max(initial=0) < 2**63
    return classes.astype(np.int64) if fits else classes
