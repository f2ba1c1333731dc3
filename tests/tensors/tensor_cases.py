"""Arrays of every library that is here, made of the same NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

To = Callable[[Any], Any]


def has(library: str) -> bool:
    """Whether arrays of this library can be made here."""
    if library == "torch cuda":
        return torch.cuda.is_available()
    try:
        module = __import__(library.split()[0])
        return library != "cupy" or module.cuda.runtime.getDeviceCount() > 0
    except Exception:  # what CuPy raises without a GPU depends on what is missing
        return False


def to_torch(device: str) -> To:
    return lambda values: torch.tensor(np.asarray(values), device=device)


class Remote(torch.Tensor):
    """A tensor that NumPy cannot read, as if it lay on a GPU: it has to be copied to the host on purpose."""

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy it first.")


def to_remote(values: Any) -> Any:
    return torch.tensor(np.asarray(values)).as_subclass(Remote)


def to_jax(values: Any) -> Any:
    import jax

    with jax.enable_x64(True):
        return jax.numpy.asarray(values)


def to_cupy(values: Any) -> Any:
    import cupy

    return cupy.asarray(values)


MAKERS: dict[str, To] = {
    "torch cpu": to_torch("cpu"),
    "torch cuda": to_torch("cuda"),
    "torch remote": to_remote,
    "jax": to_jax,
    "cupy": to_cupy,
}
LIBRARIES = [pytest.param(name, marks=pytest.mark.skipif(not has(name), reason=f"no {name} here")) for name in MAKERS]
