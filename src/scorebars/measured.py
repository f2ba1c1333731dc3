"""Labels, predictions, errors and weights that belong together, checked and aligned."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.errors.normal import NEGATIVE_YERR
from scorebars.forecasts import Forecast

SAFE = 2.0**60
"""Magnitudes between 1/SAFE and SAFE can be raised to the fourth power and summed without leaving the doubles."""


def near_one(largest: float) -> float:
    """The power of two to divide by, so that `largest` comes near 1; 1 where it is ordinary already."""
    return 1.0 if 1 / SAFE < largest < SAFE or largest == 0 else power_of_two(largest)


def power_of_two(size: float) -> float:
    """The power of two next above this size, as far as its inverse is a number too."""
    exponent = 1024 if math.isinf(size) else math.frexp(size)[1]
    return math.ldexp(1.0, min(max(exponent, -1021), 1021))


def unit_for(residual: float, error: float) -> float:
    """The power of two to divide by, so that powers of the largest residual and label error stay in range; 1 for ordinary ones.

    Where one of them is far smaller than the other, the larger one comes near 2^190: sums of its fourth power are still
    doubles, and the square of the other one is, as long as 200 orders of magnitude do not lie between them.

    >>> unit_for(0.5, 0.25), unit_for(2.0**300, 2.0**290) == 2.0**301, unit_for(1.0, 2.0**-300) == 2.0**-189
    (1.0, True, True)
    """
    smaller, larger = sorted((residual, error))
    if 0 < smaller < larger * 2.0**-180:
        return max(power_of_two(larger) * 2.0**-190, 2.0**-1021)
    return near_one(larger)


def between(value: float, error: float) -> float:
    """The power of two to divide by, so that squares of a value and of its label error both stay in range.

    It lies midway between the two: dividing by the larger would lose the smaller where they are far apart.

    >>> between(0.5, 0.25), between(2.0**300, 0.25) == 2.0**150, between(2.0**-500, 0.0) == 2.0**-499
    (1.0, True, True)
    """
    sizes = [size for size in (value, error) if 0 < size < math.inf]
    return near_one(math.prod(math.sqrt(size) for size in sizes) if len(sizes) == 2 else max(sizes, default=1.0))


@dataclass(eq=False)  # not frozen: that would cost as much as summing a thousand labels
class Measured:
    """One output: labels y, predictions p, their error model and weights (None: all equal). Never changed once made.

    A prediction is what the model says of a label: a number, or a forecast, whose mean is then its number.
    """

    y: NDArray[Any]
    p: Any
    errors: MeasurementError
    weight: FloatArray | None = None
    outputs: int = 1
    """Consecutive entries that belong to one item, where several outputs were laid out in one row."""

    unit: Any = None
    """The unit of the labels, where they brought one."""
    shelf: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Where an engine leaves what it has summed, so that several metrics share one pass."""

    plain_normal: bool = field(init=False)
    """Whether the errors are normal and independent."""
    limited: bool = field(init=False)
    """Whether some labels are limits instead of numbers."""
    n: int = field(init=False)
    """Number of labels."""
    items: int = field(init=False)
    """Number of items of the test set."""
    kind: str = field(init=False)
    """Whether label = truth + error ("classical") or truth = label + error ("berkson")."""
    borrowed: bool = field(init=False)
    """Whether the arrays are the user's own, who may change them."""

    on_device: ClassVar[bool] = False
    """Whether the arrays are on a device, and copied only when an answer needs them."""

    BLOCK: ClassVar[int] = 65_536
    """Labels per block where a distribution or estimate walks over the data: temporaries stay small at any size."""

    COPIED: ClassVar[int] = 4096
    """Up to this many labels a score keeps copies; above, it keeps references and checks that they did not change."""

    def __post_init__(self) -> None:
        self.n, self.kind = len(self.y), self.errors.kind
        self.items, self.borrowed = self.n // self.outputs, self.n > self.COPIED
        self.plain_normal, self.limited = self.errors.plain_normal, self.errors.limited

    def require_valid(self) -> None:
        """Raise for the first argument that holds a value no score can be made of."""
        checks.require_finite(np.asarray(self.y), "y_true")
        if isinstance(self.p, Forecast):
            self.p.require_valid()
        else:
            checks.require_finite(np.asarray(self.p), "y_pred")
        self.errors.require_valid("yerr", NEGATIVE_YERR)

    def fingerprint(self) -> tuple[float, ...]:
        """Sums that differ once an array was changed."""
        predictions = self.p.arrays() if isinstance(self.p, Forecast) else [self.p]
        arrays = [
            self.y,
            *predictions,
            self.weight,
            *(v for v in vars(self.errors).values() if isinstance(v, np.ndarray)),
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            return tuple(float(np.add.reduce(a, axis=None, dtype=np.float64)) for a in arrays if a is not None)

    def kept(self) -> Measured:
        """The data as a score keeps it: copies of small arrays, so that later changes by the user do no harm.

        The sums over labels with plain normal errors show bad values by themselves; others are checked here.
        """
        if not self.borrowed:
            self.y, self.p = self.y.copy(), self.p.copy()
            if self.weight is not None:
                self.weight = self.weight.copy()
        if not self.plain_normal:
            self.require_valid()
            self.errors.check_labels(self.labels, "y_true")
        return self

    def with_weightless_labels_replaced(self) -> Measured:
        """The same data, with labels of weight 0 replaced by one that counts where they are so large that sums would overflow.

        Not where one is not finite: that is for the user to hear.
        """
        if self.weight is None or self.weight.all():
            return self
        of_values = (float(np.max(np.abs(values))) for values in (self.y, self.p))
        if not SAFE < max(*of_values, self.errors.largest(self.labels)) < math.inf:
            return self
        counts = self.weight > 0
        return self[np.where(counts, np.arange(self.n), np.argmax(counts))].changed(weight=self.weight)

    @cached_property
    def total_weight(self) -> float:
        return float(self.n) if self.weight is None else float(np.add.reduce(self.weight))

    @cached_property
    def labels(self) -> FloatArray:
        """y as float64."""
        return np.asarray(self.y, dtype=np.float64)

    @cached_property
    def predictions(self) -> Any:
        """p as float64, or the forecast."""
        return plain_predictions(self.p)

    @cached_property
    def residual(self) -> FloatArray:
        """y - p as float64."""
        return np.subtract(self.y, self.p, dtype=np.float64)

    @cached_property
    def label_variance(self) -> FloatArray:
        """The error variance that each label carries, the mean of its repeats."""
        return self.errors.label_variance(self.labels)

    @cached_property
    def dwarfed_by_errors(self) -> bool:
        """Whether the typical label error is larger than the spread of the labels, which includes it: the units differ then."""
        error, spread = float(np.median(self.label_variance)), float(np.var(self.labels))
        return self.n > 2 and 0.0 < spread < error < np.inf

    @cached_property
    def shares(self) -> FloatArray:
        """Weights that sum to 1."""
        if self.weight is None:
            return np.broadcast_to(1.0 / self.n, (self.n,))
        return self.weight / self.total_weight

    def of_difference(self) -> Measured:
        """The same data for a loss of the difference alone: errors of the predictions count as errors of the labels."""
        errors = self.errors.of_difference()
        if errors is self.errors:
            return self
        found: Measured = self.shelf.setdefault("difference", self.with_errors(errors))
        return found

    def of_labels(self) -> Measured:
        """The same data with the errors of the labels alone."""
        return self.with_errors(self.errors.of_labels())

    def with_errors(self, errors: MeasurementError) -> Measured:
        """The same data with other errors."""
        return self.changed(errors=errors)

    def resized(self, factor: FloatArray | float) -> Measured:
        """The same data with errors `factor` times as large, whose sizes are taken as known."""
        return self.changed(errors=self.errors.resized(factor))

    def changed(self, **parts: Any) -> Measured:
        """The same data with some parts replaced."""
        same = {"y": self.y, "p": self.p, "errors": self.errors, "weight": self.weight}
        return Measured(**same | {"outputs": self.outputs, "unit": self.unit} | parts)

    def __getitem__(self, rows: Any) -> Measured:
        """Some of the labels, by their numbers."""
        weight = None if self.weight is None else self.weight[rows]
        return Measured(self.labels[rows], self.predictions[rows], self.errors[rows], weight, unit=self.unit)

    def thinned(self, most: int) -> Measured:
        """Every k-th of the labels that count, where there are more than about `most`."""
        rows = np.arange(self.n) if self.weight is None else np.flatnonzero(self.weight > 0)
        return self[rows[:: max(1, len(rows) // most)]]

    def sizes(self) -> tuple[float, float]:
        """The largest residual and the largest label error."""
        with np.errstate(over="ignore"):
            residual = float(np.max(np.abs(self.residual)))
        return residual, self.errors.largest(self.labels)

    def find_scale(self) -> float:
        """A power of two near the largest residual or error where these are extreme, else 1."""
        return unit_for(*self.sizes())

    def scaled(self, scale: float) -> Measured:
        """The same data in units of `scale`, a power of two, so that fourth powers stay in range."""
        if scale == 1.0:
            return self
        y, p = np.multiply(self.y, 1.0 / scale, dtype=np.float64), self.p
        p = p.scaled(1.0 / scale) if isinstance(p, Forecast) else np.multiply(p, 1.0 / scale, dtype=np.float64)
        return self.changed(y=y, p=p, errors=self.errors.scaled(1.0 / scale))

    @property
    def step(self) -> int:
        """Labels per block: fewer where a forecast holds many numbers for each."""
        step = self.BLOCK // self.outputs * self.outputs or self.outputs
        return max(step // max(self.p.numbers_per_label // 2, 1), 1) if isinstance(self.p, Forecast) else step

    def blocks(self) -> Iterable[tuple[FloatArray, Any, MeasurementError, FloatArray | None]]:
        """The data in blocks of float64 labels, predictions, errors, weights."""
        step = self.step
        if self.n <= step:
            return [(self.labels, self.predictions, self.errors, self.weight)]
        return (self.block(slice(start, start + step)) for start in range(0, self.n, step))

    def block(self, part: slice) -> tuple[FloatArray, Any, MeasurementError, FloatArray | None]:
        """Some of the labels."""
        y, p = np.asarray(self.y[part], dtype=np.float64), plain_predictions(self.p[part])
        return y, p, self.errors[part], None if self.weight is None else self.weight[part]


def plain_predictions(predictions: Any) -> Any:
    """Predictions as float64; a forecast stays one."""
    return predictions if isinstance(predictions, Forecast) else np.asarray(predictions, dtype=np.float64)
