"""Triangular errors: small ones most likely, none beyond a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Symmetric


class Triangular(Symmetric):
    r"""The density falls linearly from the label to zero at +- `halfwidth`, as the sum of two equal tolerances does.

    The standard deviation is :math:`halfwidth/\sqrt6`.

    Parameters
    ----------
    halfwidth : number or (n,)
        Largest possible error of each label.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Triangular(0.5)
    Triangular(halfwidth=0.5)
    """

    parameter = "halfwidth"
    standard_moments = (1 / 6, 1 / 15)
    bounded = True
    edges = (-1.0, 0.0, 1.0)

    def __init__(self, halfwidth: Any, *, kind: str = "classical") -> None:
        super().__init__(halfwidth, kind)

    @property
    def halfwidth(self) -> FloatArray | float:
        """Largest possible error of each label."""
        return self.width

    def density(self, u: FloatArray) -> FloatArray:
        return np.maximum(1.0 - np.abs(u), 0.0)

    def _upper(self, u: FloatArray) -> FloatArray:
        tail = np.square(self.density(u)) / 2
        return np.where(u >= 0, tail, 1.0 - tail)

    def _quantile(self, q: FloatArray) -> FloatArray:
        return np.where(q <= 0.5, np.sqrt(2.0 * q) - 1.0, 1.0 - np.sqrt(2.0 * (1.0 - q)))

    def gain(self, z: FloatArray) -> FloatArray:
        return np.maximum(1.0 - z, 0.0) ** 3 / 3

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.triangular(-1.0, 0.0, 1.0, (size, len(y)))
