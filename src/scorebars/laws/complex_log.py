"""Logarithms of complex arrays several times as fast as NumPy's own, for numbers whose squares are doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
"""Real or complex."""


def log(x: Numbers) -> Numbers:
    """log x, the principal value."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log(x))
    return _complex(0.5 * np.log(x.real * x.real + x.imag * x.imag), np.arctan2(x.imag, x.real))


def log1p(x: Numbers) -> Numbers:
    """log(1 + x), the principal value, without losing small x."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log1p(x))
    size = 0.5 * np.log1p(x.real * (2.0 + x.real) + x.imag * x.imag)
    return _complex(size, np.arctan2(x.imag, 1.0 + x.real))


def _complex(real: Numbers, imag: Numbers) -> Numbers:
    out = np.empty(real.shape, dtype=np.complex128)
    out.real, out.imag = real, imag
    return out
