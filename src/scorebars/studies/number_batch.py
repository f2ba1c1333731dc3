"""One batch of measured numbers on its way into an accumulator: checked, aligned, and then summed up."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars import checks, tables
from scorebars.answers.chi_squared import require_positive
from scorebars.engines import BadValues
from scorebars.errors import ErrorModel, Normal
from scorebars.errors.base import FloatArray, Kind
from scorebars.intake import take
from scorebars.metrics.inputs import error_model
from scorebars.studies.batch import KEPT, ON_ARRAYS, argument_of, named, one_or_each, prefixed
from scorebars.studies.folded import Folded
from scorebars.studies.number_fold import Needs, OneModel

LIGHTEST, HEAVIEST = 2.0**-100, 2.0**60
"""The largest weight of a batch lies between them, unless all are 0: then sums of squared weights fit doubles."""
MOST_ERRORS = 2.0**60
"""A residual is not more of its errors large: sums of fourth powers fit doubles."""
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
    classes: None = None

    @classmethod
    def checked(cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> NumberBatch:
        """From what a user passes."""
        models = named(y_true, y_pred)
        tables.require_rows(y_true=y_true, yerr=yerr, sample_weight=sample_weight, **prefixed(models))
        y_true, _, yerr, unit = take(y_true, next(iter(models.values())), yerr)
        if unit is not None:
            raise ValueError(
                f"y_true has the unit {unit}: an accumulator takes plain numbers. Pass y_true.to_value(unit)."
            )
        y = _column(y_true, "y_true")
        predictions = {}
        for name, values in models.items():
            argument = argument_of(name, models)
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
            checks.require_finite(p, argument_of(name, self.models))
        sigma = np.asarray(self.sigma)
        checks.require_finite(sigma, "yerr")
        checks.require_non_negative(sigma, "yerr", _HINT)
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
                + ON_ARRAYS
            )
        if "pulls" in needs:
            if not np.all(np.asarray(self.sigma) > 0):
                self.diagnose()  # of values that are not finite or negative first
                require_positive(np.broadcast_to(self.sigma, (self.n,)))
            if self.n <= KEPT:  # larger ones are summed up at once, and sums show what is too large
                self._require_pulls()

    def folded(self, needs: Needs, known: Folded | None) -> Folded:
        """The summary of each model."""
        here = self._without_what_does_not_count()
        before = {} if known is None else known.models
        try:
            models = {name: here._of(p).folded(needs, before.get(name)) for name, p in here.models.items()}
        except (BadValues, OverflowError):
            self.diagnose()
            if "pulls" in needs:
                self._require_pulls()
            raise
        return Folded(models, self.n)

    def _of(self, p: FloatArray) -> OneModel:
        return OneModel(self.y, p, self.sigma, self.weight)

    def _without_what_does_not_count(self) -> NumberBatch:
        """The same, with what labels of no weight hold replaced by a label of some: it may be of any size."""
        if self.weight is None or self.weight.min() > 0:
            return self
        self.diagnose()
        counted = self.weight > 0
        first = int(np.argmax(counted))

        def kept(values: FloatArray) -> FloatArray:
            return np.where(counted, values, values[first])

        sigma = kept(self.sigma) if isinstance(self.sigma, np.ndarray) else self.sigma
        models = {name: kept(p) for name, p in self.models.items()}
        return NumberBatch(kept(self.y), models, sigma, self.weight, self.kind)

    def _require_pulls(self) -> None:
        """Refuse residuals that are too many errors large."""
        hint = f"Pulls beyond {MOST_ERRORS:.0e} cannot be summed up: are y_true, y_pred and yerr in one unit?"
        for name, p in self.models.items():
            z, argument = self._of(p).pulls(), argument_of(name, self.models)
            bad = ~(np.abs(z) <= MOST_ERRORS) & (True if self.weight is None else self.weight > 0)
            if bad.any():
                raise OverflowError(str(checks.complain(argument, "has residuals too many errors large", bad, z, hint)))

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
        sigma = one_or_each([b.sigma for b in batches], [b.n for b in batches])
        weight = None
        if any(b.weight is not None for b in batches):
            weight = np.concatenate([np.ones(b.n) if b.weight is None else b.weight for b in batches])
        models = {name: np.concatenate([b.models[name] for b in batches]) for name in batches[0].models}
        return cls(np.concatenate([b.y for b in batches]), models, sigma, weight, batches[0].kind)

    @property
    def errors(self) -> ErrorModel:
        """The errors as a model."""
        return Normal.trusted(self.sigma, self.kind)


def _column(values: Any, argument: str) -> FloatArray:
    return np.asarray(checks.column(values, argument), dtype=np.float64)


def _normal(yerr: Any, shape: tuple[int, ...]) -> Normal:
    """Independent normal errors, whose sums are known."""
    model = error_model(yerr, shape)
    if type(model) is not Normal or not model.independent:
        what = "lower and upper errors" if not isinstance(yerr, ErrorModel) else repr(model)
        raise ValueError(
            f"yerr is {what}: an accumulator sums up labels with independent normal errors. Give a number, one standard "
            f"deviation for each label, or Normal(sigma). {ON_ARRAYS}"
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
    largest = float(np.max(w, initial=0.0))
    if 0 < largest < LIGHTEST or HEAVIEST < largest < math.inf:
        raise OverflowError(
            f"sample_weight has {largest} as its largest weight, at index {int(np.argmax(w))}: an accumulator takes batches "
            f"whose largest weight is between {LIGHTEST:.0e} and {HEAVIEST:.0e}. Multiply all weights by one number: only "
            "their ratios count."
        )
    return w
