"""Arrays of torch, JAX and CuPy: told apart without importing any of them, and brought to the host as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

_LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}


def library_of(values: Any) -> str | None:
    """ "torch", "jax" or "cupy" for an array of theirs (or of a subclass), else None.

    >>> library_of([1.0, 2.0]) is None
    True
    """
    if type(values) is np.ndarray:
        return None
    for base in type(values).__mro__:
        name = base.__module__.partition(".")[0]
        if name in _LIBRARIES and hasattr(values, "dtype"):
            return _LIBRARIES[name]
    return None


def to_host(values: Any) -> Any:
    """A NumPy array of the same numbers; what is no array of these libraries is returned as it is."""
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
