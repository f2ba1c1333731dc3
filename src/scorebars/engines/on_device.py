"""Labels and predictions of torch, JAX or CuPy on a device: summed where they are, copied to the host only when asked for.

(Arrays in the host's own memory are read there as NumPy arrays, without a copy, by the compiled kernel.) The sums give
observed, expected and std of MSE, MAE, bias and the fraction within a tolerance, and for very many labels of RMSE and R2. Their
intervals come from higher sums of a second pass; where a few labels dominate, the bins behind intervals of torch tensors are
filled on the device too. What needs the labels one by one (truth, other metrics) copies the arrays to the host, once, when it
is first asked for.
"""

from __future__ import annotations

import math
import numbers
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.arrays import FloatArray, library_of, to_host
from scorebars.engines.array_sums import array_sums, device_of, in_doubles, namespace
from scorebars.engines.engine import are_valid, collect, collect_higher, higher_rows, normal_sums, typical
from scorebars.engines.store import Store
from scorebars.engines.sums import NAMES, HigherSums, NormalSums
from scorebars.errors import Normal
from scorebars.measured import Measured

_TORCH_DEVICES = ("cuda", "xpu")  # others have no float64
_EXACT = Normal.trusted(0.0)  # until the errors are copied to the host
_ALL_POSITIVE = ("abs", "sq", "var", "fold", "fourth_w2")


class DeviceColumns(NamedTuple):
    """Labels, predictions, errors (of no dimension where one serves all labels) and weights (None: all alike)."""

    y: Any
    p: Any
    sigma: Any
    weight: Any


class OnDevice(Measured):
    """One output with independent normal errors, its arrays on a device."""

    on_device = True

    def __init__(self, columns: DeviceColumns, sums: NormalSums) -> None:
        super().__init__(columns.y, columns.p, _EXACT, columns.weight)
        del self.y, self.p, self.errors, self.weight  # copied to the host when first asked for
        self.columns, self.sums = columns, sums
        self.n = self.items = sums.n
        self.borrowed = False  # what the distributions look at is a copy of our own

    def require_valid(self) -> None:
        """The sums are finite, so all values are."""

    def sums_of(self, labels: bool, tolerance: float | None) -> NormalSums:
        """The sums, with those of the labels' own scatter or of a tolerance where they are asked for."""
        if not labels and tolerance is None:
            return self.sums
        key = f"engine sums, {labels}, {tolerance!r}"
        if key not in self.shelf:
            found = _sums(self.columns, tolerance, labels)
            if found is None:  # labels far from 0, or all without weight
                found = normal_sums(self.y, self.p, self.errors.sigma, self.weight, tolerance, labels=labels)
            self.shelf[key] = found
        sums: NormalSums = self.shelf[key]
        return sums

    def higher_sums(self, need: str) -> HigherSums | None:
        """The sums behind the higher cumulants of a metric; None for labels of extreme size."""
        sums = self.sums_of(need == "ratio", None)
        rows = higher_rows(need, sums)
        if rows is None:
            return None
        reference = None if math.isnan(sums.y_shift) else sums.y_shift
        found = _engine(self.columns.y)(*self.columns, None, reference, *rows)
        return collect_higher(rows, sums, found[len(NAMES) :])

    def summary(self, need: str) -> Store | None:
        """Bins for a distribution, filled on the device; None where the host has to do it."""
        if library_of(self.columns.y) != "torch":
            return None
        from scorebars.engines.device_bins import device_summary  # imports torch

        return device_summary(self.columns, need, self.sums_of(need == "ratio", None))

    # on the host -------------------------------------------------------------------------------

    @cached_property
    def _host(self) -> tuple[Any, ...]:
        """Labels, predictions, errors and weights as NumPy arrays; refuses arrays that were changed since the sums."""
        if self.n > self.COPIED:
            again = _sums(self.columns)
            if not all(math.isclose(getattr(again, k), getattr(self.sums, k), rel_tol=1e-12) for k in _ALL_POSITIVE):
                raise RuntimeError(
                    "the arrays of this score were changed after it was computed, so nothing more can be derived from "
                    "it. Compute the score again, or pass copies."
                )
        return tuple(to_host(column) for column in self.columns)

    @cached_property
    def y(self) -> NDArray[Any]:  # type: ignore[override]
        return checks.real_array(self._host[0], "y_true")

    @cached_property
    def p(self) -> NDArray[Any]:
        return checks.real_array(self._host[1], "y_pred")

    @cached_property
    def errors(self) -> Normal:  # type: ignore[override]
        sigma = checks.real_array(self._host[2], "yerr")
        return Normal.trusted(sigma if sigma.ndim else float(sigma))

    @cached_property
    def weight(self) -> FloatArray | None:  # type: ignore[override]
        return checks.weights(self._host[3], self.n)

    def __getstate__(self) -> dict[str, Any]:
        """The arrays travel as NumPy arrays."""
        return {**self.__dict__, "columns": DeviceColumns(*self._host)}


def on_device(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> OnDevice | None:
    """The data, summed where they are; None where that cannot be, and the host has to look at them.

    It cannot be where the arrays lie in the host's memory already, where they are of different libraries or devices, where
    labels have several outputs, where yerr is not one standard deviation for all labels or for each, and where the sums
    show a value that is not finite, an error below zero, or numbers of extreme size.
    """
    if library_of(y_true) is None or library_of(y_pred) != library_of(y_true) or not elsewhere(y_true):
        return None
    columns = _columns(y_true, y_pred, 0.0 if yerr is None else yerr, sample_weight)
    sums = None if columns is None else _sums(columns)
    if columns is None or sums is None or not sums.ordinary():
        return None
    if sums.n <= Measured.COPIED:  # a score of few labels must not change when the user's arrays do
        xp = namespace(y_true)
        with in_doubles(y_true):
            copies: list[Any] = [None if c is None else xp.asarray(c, copy=True) for c in columns]
        columns = DeviceColumns(*copies)
    return OnDevice(columns, sums)


def elsewhere(values: Any) -> bool:
    """Whether an array lies on a device of its own that computes in float64."""
    if library_of(values) == "torch":
        return values.device.type in _TORCH_DEVICES
    if library_of(values) == "jax":
        return all(device.platform != "cpu" for device in values.devices())
    return True


def _columns(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> DeviceColumns | None:
    y, p = _column(y_true, y_true), _column(y_pred, y_true)
    weight = None if sample_weight is None else _column(sample_weight, y_true)
    sigma = _one_for_all(yerr, y_true) if isinstance(yerr, numbers.Real) else _column(yerr, y_true)
    if y is None or p is None or sigma is None or (weight is None) != (sample_weight is None):
        return None
    if any(column.ndim and column.shape != y.shape for column in (p, sigma, weight) if column is not None):
        return None
    return DeviceColumns(y, p, sigma, weight) if y.shape[0] else None


def _one_for_all(yerr: numbers.Real, like: Any) -> Any:
    xp = namespace(like)
    with in_doubles(like):
        return xp.asarray(float(yerr), dtype=xp.float64, device=device_of(like))


def _column(values: Any, like: Any) -> Any | None:
    """One real number for each label, on the device of `like`; None where it is anything else."""
    if type(values) is np.ndarray and values.dtype.kind in "biuf":
        with in_doubles(like):
            kept = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
            values = namespace(like).asarray(kept, device=device_of(like))
    library = library_of(like)
    if type(values) is not type(like) and library_of(values) != library:
        return None
    if library == "torch":  # asked directly: the GPU waits meanwhile
        if values.device != like.device or values.is_complex():
            return None
        values = values.detach() if values.requires_grad else values
    elif device_of(values) != device_of(like) or namespace(like).isdtype(values.dtype, "complex floating"):
        return None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return values if values.ndim == 1 else None


def _sums(columns: DeviceColumns, tolerance: float | None = None, labels: bool = False) -> NormalSums | None:
    y = columns.y
    reference = typical(to_host(y[:: max(1, y.shape[0] // 9)])) if labels else None
    found = _engine(y)(*columns, tolerance, reference)
    if not are_valid(found) or not found[0]:  # the last: all weights are zero
        return None
    return collect(y.shape[0], found, tolerance, reference)


def _engine(y: Any) -> Any:
    """The fused kernel for tensors on a GPU, where Triton is installed."""
    return _fused() if library_of(y) == "torch" and y.is_cuda else array_sums


@cache
def _fused() -> Any:
    try:
        from scorebars.engines.triton_sums import triton_sums
    except ImportError:
        return array_sums
    return triton_sums
