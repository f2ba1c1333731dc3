"""Arrays of torch, JAX and CuPy: told apart without importing any of them, and brought to the host as NumPy arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

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
