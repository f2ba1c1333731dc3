"""Class labels that are wrong with a known probability."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.errors.base import FloatArray, check_kind, picked
from scorebars.errors.class_error import ClassError, Classes, positions


class Flip(ClassError):
    r"""A label is wrong with probability `q`; a wrong label is equally likely any other class.

    Parameters
    ----------
    q : number, (n,) or (n, L)
        Probability that a label is wrong; (L,) or (n, L) where each item has L yes-or-no labels (multilabel).
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

    def __init__(self, q: Any, correlation: Any = 0.0, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        hint = "q is the probability that a label is wrong."
        shape = np.shape(q) if np.ndim(q) == 2 and np.shape(q)[1] > 1 else None
        values = checks.probabilities(q if shape is None else np.reshape(q, -1), "q", hint)
        if shape is not None:
            values = values.reshape(shape)
        self.q = float(values) if values.ndim == 0 else values
        if not isinstance(correlation, numbers.Real) or not 0 <= float(correlation) <= 1:
            raise ValueError(f"correlation must lie between 0 and 1, got {correlation!r}.")
        self.correlation = float(correlation)

    @classmethod
    def trusted(cls, q: FloatArray) -> Flip:
        """Of probabilities that were checked; they are copied, so that nobody else can change them."""
        flip = cls.__new__(cls)
        flip.kind, flip.correlation = "classical", 0.0
        flip.q = float(q) if q.ndim == 0 else q.copy()
        return flip

    @property
    def size(self) -> int | None:
        return len(self.q) if isinstance(self.q, np.ndarray) else None

    @property
    def classwise(self) -> bool:  # type: ignore[override]
        """One q for all labels."""
        return not isinstance(self.q, np.ndarray)

    def _part(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.q, part.correlation = self.kind, picked(self.q, index), self.correlation
        return part

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        q = np.broadcast_to(self.q, labels.shape)
        out = np.repeat((q / (len(classes) - 1))[:, None], len(classes), axis=1)
        out[np.arange(len(labels)), positions(labels, classes)] = 1.0 - q
        return out

    def transition(self, classes: Classes) -> FloatArray:
        k = len(classes)
        q = np.asarray(self.q)[..., None, None]
        return np.where(np.eye(k, dtype=bool), 1.0 - q, q / (k - 1))

    def true_indicators(self, labels: Classes, classes: Classes) -> FloatArray:
        """(1[k = shown] - r) / (1 - q - r) with r = q / (K - 1)."""
        k = len(classes)
        q = np.broadcast_to(self.q, labels.shape)
        contrast = 1.0 - q * (k / (k - 1))
        if np.any(np.abs(contrast) < 1e-12):
            raise np.linalg.LinAlgError("Singular matrix")
        out = np.repeat((-q / (k - 1) / contrast)[:, None], k, axis=1)
        out[np.arange(len(labels)), positions(labels, classes)] += 1.0 / contrast
        return out

    def __repr__(self) -> str:
        q = f"{self.q:g}" if isinstance(self.q, float) else f"<{len(self.q)} values>"
        rho = f", correlation={self.correlation:g}" if self.correlation else ""
        berkson = "" if self.kind == "classical" else ", kind='berkson'"
        return f"Flip(q={q}{rho}{berkson})"
