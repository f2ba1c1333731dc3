"""Class labels that are wrong with a known probability."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.errors.base import ErrorModel, FloatArray, check_kind, picked


class Flip(ErrorModel):
    r"""A label is wrong with probability `q`; a wrong label is equally likely any other class.

    Parameters
    ----------
    q : number or (n,)
        Probability that a label is wrong.
    correlation : number in [0, 1]
        Correlation of the flips of any two labels: 0 for independent flips, 1 for one flip that hits all labels.
    kind : {"classical", "berkson"}
        ``"classical"``: q = P(shown label wrong | true class). ``"berkson"``: q = P(true class differs | shown label),
        calibrated and independent of the prediction.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.Flip(0.05)
    Flip(q=0.05)
    """

    q: FloatArray | float
    correlation: float

    def __init__(self, q: Any, correlation: float = 0.0, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        values = checks.probabilities(q, "q", "q is the probability that a label is wrong.")
        self.q = float(values) if values.ndim == 0 else values
        if not isinstance(correlation, numbers.Real) or not 0 <= float(correlation) <= 1:
            raise ValueError(f"correlation must lie between 0 and 1, got {correlation!r}.")
        self.correlation = float(correlation)

    @property
    def size(self) -> int | None:
        return len(self.q) if isinstance(self.q, np.ndarray) else None

    def __getitem__(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.q, part.correlation = self.kind, picked(self.q, index), self.correlation
        return part

    def __repr__(self) -> str:
        q = f"{self.q:g}" if isinstance(self.q, float) else f"<{len(self.q)} values>"
        rho = f", correlation={self.correlation:g}" if self.correlation else ""
        berkson = "" if self.kind == "classical" else ", kind='berkson'"
        return f"Flip(q={q}{rho}{berkson})"
