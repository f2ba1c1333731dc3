"""Laplace errors: heavier tails than the normal, a sharp peak at the label."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Symmetric


class Laplace(Symmetric):
    r"""The density falls exponentially on both sides of the label: mean absolute error `scale`.

    The standard deviation is :math:`\sqrt2\,scale`.

    Parameters
    ----------
    scale : number or (n,)
        Mean absolute error of each label, as `scale` in `scipy.stats.laplace`.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Laplace(0.5)
    Laplace(scale=0.5)
    """

    parameter = "scale"
    standard_moments = (2.0, 24.0)
    edges = (-700.0, -150.0, -40.0, -12.0, -4.0, 0.0, 4.0, 12.0, 40.0, 150.0, 700.0)

    def __init__(self, scale: Any, *, kind: str = "classical") -> None:
        super().__init__(scale, kind)

    @property
    def scale(self) -> FloatArray | float:
        """Mean absolute error of each label."""
        return self.width

    def density(self, u: FloatArray) -> FloatArray:
        return np.exp(-np.abs(u)) / 2

    def _upper(self, u: FloatArray) -> FloatArray:
        tail = self.density(u)
        return np.where(u >= 0, tail, 1.0 - tail)

    def _quantile(self, q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.where(q <= 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))

    def gain(self, z: FloatArray) -> FloatArray:
        return np.exp(-z)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.laplace(0.0, 1.0, (size, len(y)))
