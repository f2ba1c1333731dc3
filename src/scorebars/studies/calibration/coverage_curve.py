"""Which share of the labels lies inside central intervals: the curve, its band, and the area to the diagonal."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.laws.samples import SampleLaw

_SEED = 20_261_116
_AREAS, _LONGEST = 4_000, 500
"""Draws of the miscalibration area, and the labels in each: with more labels the area shrinks as 1/sqrt(n)."""


class CoverageCurve(NamedTuple):
    """Nominal against found coverage of central intervals, with the band that a calibrated forecast stays in."""

    nominal: FloatArray
    found: FloatArray
    """Share of the labels inside the central interval of each level."""
    low: FloatArray
    high: FloatArray


def coverage_curve(reached: FloatArray, levels: ArrayLike | None, level: float) -> CoverageCurve:
    """The curve at these nominal levels; `reached` holds, sorted, the level of the interval on whose end each label lies."""
    nominal = np.linspace(0.0, 1.0, 101) if levels is None else np.asarray(checks.column(levels, "levels"), dtype=float)
    outside = ~((nominal >= 0) & (nominal <= 1))
    checks.refuse("levels", "has values outside [0, 1]", outside, nominal, "Levels are probabilities.")
    found = np.searchsorted(reached, nominal, side="right") / len(reached)
    reach = float(_kolmogorov().ppf(checks.probability(level, "level"), len(reached)))
    return CoverageCurve(nominal, found, np.maximum(nominal - reach, 0.0), np.minimum(nominal + reach, 1.0))


def kolmogorov_pvalue(ordered: FloatArray) -> float:
    """How often uniform values lie at least as far from the uniform distribution as these sorted ones."""
    n = len(ordered)
    steps = np.arange(n + 1) / n
    return float(_kolmogorov().sf(max(float(np.max(steps[1:] - ordered)), float(np.max(ordered - steps[:-1]))), n))


def _kolmogorov() -> Any:
    """The exact distribution of Kolmogorov's distance; its library is large, and loaded when it is needed."""
    from scipy.stats import kstwo

    return kstwo


def miscalibration_areas(ordered: FloatArray) -> FloatArray:
    """Area between the empirical and the uniform distribution, for each row of sorted values."""
    rows, n = ordered.shape
    level = np.arange(n + 1) / n
    edges = np.concatenate([np.zeros((rows, 1)), ordered, np.ones((rows, 1))], axis=1)

    def below(p: FloatArray) -> FloatArray:
        """Integral of |p - level| from level to p."""
        gap = p - level
        return 0.5 * gap * np.abs(gap)

    return np.asarray(np.sum(below(edges[:, 1:]) - below(edges[:, :-1]), axis=1))


def miscalibration_pvalue(area: float, n: int) -> float:
    """How often calibrated forecasts of n labels show at least this area."""
    return max(float(area_if_calibrated(n).sf(area)), 1.0 / (_AREAS + 1.0))


@lru_cache(maxsize=64)
def area_if_calibrated(n: int) -> SampleLaw:
    """The miscalibration area of calibrated forecasts of n labels."""
    rng, length = np.random.default_rng(_SEED), min(n, _LONGEST)
    draws = [miscalibration_areas(np.sort(rng.random((100, length)), axis=1)) for _ in range(_AREAS // 100)]
    return SampleLaw(np.concatenate(draws) * math.sqrt(length / n))
