"""Uniform errors: anything within a tolerance, nothing outside; rounding is the most common case."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Symmetric


class Uniform(Symmetric):
    r"""The label is anywhere within +- `halfwidth`, all values equally likely: a tolerance, a digital display.

    The standard deviation is :math:`halfwidth/\sqrt3`.

    Parameters
    ----------
    halfwidth : number or (n,)
        Largest possible error of each label.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Uniform(0.5)
    Uniform(halfwidth=0.5)
    """

    parameter = "halfwidth"
    standard_moments = (1 / 3, 1 / 5)
    bounded = True
    edges = (-1.0, 1.0)

    def __init__(self, halfwidth: Any, *, kind: str = "classical") -> None:
        super().__init__(halfwidth, kind)

    @property
    def halfwidth(self) -> FloatArray | float:
        """Largest possible error of each label."""
        return self.width

    def density(self, u: FloatArray) -> FloatArray:
        return np.where(np.abs(u) <= 1.0, 0.5, 0.0)

    def _upper(self, u: FloatArray) -> FloatArray:
        return np.clip((1.0 - u) / 2, 0.0, 1.0)

    def _quantile(self, q: FloatArray) -> FloatArray:
        return 2.0 * q - 1.0

    def gain(self, z: FloatArray) -> FloatArray:
        return np.square(np.maximum(1.0 - z, 0.0)) / 2

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.uniform(-1.0, 1.0, (size, len(y)))


class Rounding(Uniform):
    r"""Labels rounded to multiples of `step`: the error is uniform within +- step/2.

    Parameters
    ----------
    step : number or (n,)
        Distance of neighbouring values that a label may take, 0.1 for labels with one decimal.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Rounding(0.1)
    Rounding(step=0.1)
    """

    parameter = "step"

    def __init__(self, step: Any, *, kind: str = "classical") -> None:
        super().__init__(step, kind=kind)
        self.width = self.width / 2

    @property
    def step(self) -> FloatArray | float:
        """Distance of neighbouring values that a label may take."""
        return 2.0 * self.width

    @property
    def _shown(self) -> FloatArray | float:
        return self.step
