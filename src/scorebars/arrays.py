"""Array types, and arrays of other libraries: told apart without importing any of them, and made plain.

Those of torch, JAX and CuPy are brought to the host; quantities with a unit, as astropy has them, are brought to one unit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
PLAIN = frozenset({np.ndarray, float, type(None)})
"""Types without row labels, unit and device: there is nothing of another library to look at."""

_LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}


def library_of(values: Any) -> str | None:
    """ "torch", "jax" or "cupy" for an array of theirs (or of a subclass), else None.

    >>> library_of([1.0, 2.0]) is None
    True
    """
    kind: Any = type(values)
    library = _library(kind)
    return library if library is None or hasattr(values, "dtype") else None


@lru_cache(maxsize=256)  # of few types one asks again and again, while a GPU waits
def _library(kind: type) -> str | None:
    names = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((_LIBRARIES[name] for name in names if name in _LIBRARIES), None)


def to_host(values: Any) -> Any:
    """A NumPy array of the same numbers; other values are returned as they are."""
    library = library_of(values)
    if library is None:
        return values
    if library == "cupy":
        return values.get()
    short = "bfloat16" in str(values.dtype)  # NumPy has no such type
    if library == "torch":
        tensor = values.detach().cpu()
        return (tensor.float() if short else tensor).numpy()
    array = np.asarray(values)
    return array.astype(np.float32) if short else array


def has_unit(value: Any) -> bool:
    """Whether the values are a quantity with a unit."""
    return getattr(value, "unit", None) is not None and hasattr(value, "to_value")


def in_one_unit(**values: Any) -> tuple[list[Any], Any]:
    """The values as plain numbers in the unit of the first, and that unit; None where there are no units."""
    named = {name: has_unit(value) for name, value in values.items()}
    if not any(named.values()):
        return list(values.values()), None
    without = [name for name, has in named.items() if not has]
    first = next(name for name, has in named.items() if has)
    unit = values[first].unit
    if without:
        raise ValueError(f"{first} is in {unit} but {without[0]} has no unit. Give {without[0]} a unit too.")
    plain = []
    for name, value in values.items():
        try:
            plain.append(value.to_value(unit))
        except Exception:
            raise ValueError(
                f"{name} is in {value.unit}, which cannot be converted to {unit}, the unit of {first}."
            ) from None
    return plain, unit


_MOST_MARKS = 1 << 16


def classes_in(*parts: NDArray[np.generic]) -> NDArray[np.generic]:
    """The classes that occur, sorted; whole numbers of a small range are ticked off instead of sorted."""
    if all(part.dtype.kind in "bui" for part in parts):
        low, high = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
        if high - low <= 1:  # both occur
            return np.array(sorted({low, high}), dtype=np.result_type(*parts))
        if high - low < _MOST_MARKS and abs(low) < 1 << 62 and abs(high) < 1 << 62:
            counts = [np.bincount(part.astype(np.int64, copy=False) - low, minlength=high - low + 1) for part in parts]
            return (sum(counts[1:], counts[0]).nonzero()[0] + low).astype(np.result_type(*parts))
    return np.unique(np.concatenate(parts))
