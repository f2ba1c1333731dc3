"""The distribution of a metric from draws, where no formula has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG, Law, numbers_in, shape_of_draws
from scorebars.numerics import FIXED_SEED

_TOGETHER = 1 << 19
"""Labels drawn at once."""


def drawn_in_blocks(
    draw: Callable[[RNG, int], FloatArray],
    count: int,
    labels: int,
    rng: RNG | int = FIXED_SEED,
    together: int = _TOGETHER,
) -> FloatArray:
    """`count` draws of a metric, of which `draw(rng, rows)` makes some from so many draws of all labels."""
    generator, rows = np.random.default_rng(rng), max(1, together // labels)
    return np.concatenate([draw(generator, min(rows, count - start)) for start in range(0, count, rows)])


class SampleLaw(Law):
    """Empirical distribution of `draws`; `mean` and `var` may be given where they are known exactly.

    A function that draws is called when a probability is first asked for; it must come with mean and variance.
    """

    method = "simulation"

    def __init__(
        self, draws: FloatArray | Callable[[], FloatArray], *, mean: float | None = None, var: float | None = None
    ) -> None:
        self._source = draws
        self._known = mean, var

    @cached_property
    def draws(self) -> FloatArray:
        return np.sort(np.asarray(self._source() if callable(self._source) else self._source, dtype=np.float64))

    @cached_property
    def support(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self.draws[0]), float(self.draws[-1])

    def _mean(self) -> float:
        return float(np.mean(self.draws)) if self._known[0] is None else self._known[0]

    def _var(self) -> float:
        return float(np.var(self.draws)) if self._known[1] is None else self._known[1]

    def _positions(self) -> FloatArray:
        return (np.arange(self.draws.size) + 0.5) / self.draws.size

    def _cdf(self, x: float) -> float:
        return float(np.interp(x, self.draws, self._positions(), left=0.0, right=1.0))

    def _pdf(self, x: float) -> float:
        """Share of draws within a tenth of a std, over that width."""
        width = 0.1 * float(np.std(self.draws))
        if width == 0:
            return math.inf if x == self.draws[0] else 0.0
        low, high = np.searchsorted(self.draws, [x - width, x + width])
        return float(high - low) / (self.draws.size * 2 * width)

    def ppf(self, q: ArrayLike) -> Any:
        """The value below which the metric falls with probability q, between order statistics."""
        values = numbers_in(q, "q")
        if np.any((values < 0) | (values > 1)):
            raise ValueError(f"q must be a probability between 0 and 1, got {values}")
        out = np.interp(values, self._positions(), self.draws)
        return float(out) if out.ndim == 0 else out

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws again from the draws."""
        return np.random.default_rng(rng).choice(self.draws, shape_of_draws(size))
