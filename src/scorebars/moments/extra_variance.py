"""Residuals that scatter by more than their errors: their likelihood and chi^2 as functions of the extra variance v.

d_i ~ N(mu x_i, v + s_i^2), with mu zero or, at each v, the value that fits best; all x_i are 1 unless they are given.
Weights are scaled so that they count as many labels as equal weights that know as much: (sum w)^2 / sum w^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scorebars.arrays import FloatArray

_COARSE = 20_000
"""Labels that the first, coarse search for a maximum looks at."""


_UNSEEN = 25.0
"""So many labels show half of what squares of Laplace residuals scatter beyond normal ones, and n labels n/(n + 25) of it."""
_LEAST_SKEWNESS = 1.5
"""Of a sum of squares, beside that of normal residuals which scatters as much: what few labels do not show is taken from
Laplace ones."""


class Tails(NamedTuple):
    """How much more than normal residuals the squares of residuals scatter."""

    seen: float
    """Times the variance of those of normal residuals, as the labels show it (sandwich over information); at least 1."""
    excess: float
    """The same with what few labels do not show."""
    skewness: float
    """Of their sum, beyond that of normal residuals whose squares scatter as much."""

    def upper(self, z: float) -> float:
        """How many standard errors the upper end of an interval reaches where the lower one reaches z.

        A sum of skew terms that is small has a small standard error too: by the expansion of Edgeworth for a mean over its
        own standard error, with skewness g, the upper end lies g (2 z^2 + 1)/6 farther out. The likelihood of normal
        residuals holds the part of their own skewness.
        """
        return z + self.skewness * (2.0 * z * z + 1.0) / 6.0


@dataclass(frozen=True, eq=False)
class Scatter:
    """Residuals d, error variances s2 and weights in units in which the largest residual or error is 1."""

    d: FloatArray
    s2: FloatArray
    w: FloatArray
    offset: bool
    x: FloatArray | float = 1.0
    """How far each residual moves with the offset."""
    restricted: bool = False
    """Whether the likelihood is that of the residuals less their offset, which few labels do not make too small."""
    as_seen: bool = False
    """Whether tails are taken as the labels show them, with nothing for what few labels do not show."""

    @cached_property
    def labels(self) -> float:
        """As many labels of equal weight know as much."""
        return float(np.sum(self.w))

    def _moved(self, v: float) -> tuple[FloatArray, FloatArray]:
        """Residuals about the offset that fits best at this v, and the variances."""
        variance = self.s2 + v
        if not self.offset:
            return self.d, variance
        pull = self.w * self.x / variance
        return self.d - float(np.sum(pull * self.d)) / float(np.sum(pull * self.x)) * self.x, variance

    def log_likelihood(self, v: float) -> float:
        """-1/2 sum w [log(v + s^2) + d^2/(v + s^2)]; -inf where v = 0 contradicts a label without error."""
        if v == 0 and bool(np.any(self.s2 == 0)):
            return -math.inf
        d, variance = self._moved(v)
        own = -0.5 * float(np.sum(self.w * (np.log(variance) + d * d / variance)))
        return own - 0.5 * math.log(float(np.sum(self._pulls(variance)))) if self.restricted else own

    def _pulls(self, variance: FloatArray) -> FloatArray:
        """How well each residual tells the offset."""
        return np.asarray(self.w * np.square(self.x) / variance)

    def slope(self, v: float) -> float:
        """Derivative of the log likelihood with respect to v."""
        d, variance = self._moved(v)
        own = 0.5 * float(np.sum(self.w / variance * (d * d / variance - 1.0)))
        if not self.restricted:
            return own
        pulls = self._pulls(variance)
        return own + 0.5 * float(np.sum(pulls / variance)) / float(np.sum(pulls))

    def curvature(self, v: float) -> float:
        """Minus the second derivative of the log likelihood with respect to tau, at its maximum."""
        if v == 0:
            return 0.0
        d, variance = self._moved(v)
        own = float(np.sum(self.w * (d * d / variance - 0.5) / np.square(variance)))
        if self.offset:
            pull = self.w * self.x / variance
            own -= float(np.sum(pull * d / variance)) ** 2 / float(np.sum(pull * self.x))
        return 4.0 * v * own

    def chi_squared(self, v: float) -> float:
        """sum w d^2/(v + s^2); labels without error that are met exactly add nothing."""
        if v > 0:
            d, variance = self._moved(v)
            return float(np.sum(self.w * d * d / variance))
        d = self.d - self._exact_offset() * self.x if self.offset else self.d
        exact = self.s2 == 0
        if bool(np.any(d[exact] != 0)):
            return math.inf
        return float(np.sum(self.w[~exact] * np.square(d[~exact]) / self.s2[~exact]))

    def steepness(self, v: float) -> float:
        """How fast chi^2 falls with v > 0."""
        d, variance = self._moved(v)
        return float(np.sum(self.w * d * d / np.square(variance)))

    def tails(self, v: float, of_chi_squared: bool = False) -> Tails:
        """How the slope of the log likelihood, or chi^2, scatters beside that of normal residuals."""
        if not float(self.s2.min()) + v > 0:
            return Tails(1.0, 1.0, 0.0)
        d, variance = self._moved(v)
        part = self.w if of_chi_squared else self.w / variance
        normal = self.labels if of_chi_squared else float(np.sum(self.w / np.square(variance)))
        terms = part * (d * d / variance - 1.0)
        square = float(np.sum(np.square(terms)))
        seen = max(square / (2.0 * normal), 1.0)
        if self.as_seen:
            return Tails(seen, seen, 0.0)
        excess = 1.0 + (seen - 1.0) * (1.0 + _UNSEEN / self.labels)
        usual = math.sqrt(excess) * 8.0 * float(np.sum(part**3)) / (2.0 * float(np.sum(part * part))) ** 1.5
        skewness = float(np.sum(terms**3)) / square**1.5 if square > 0 else 0.0
        return Tails(seen, excess, max(skewness, _LEAST_SKEWNESS * usual) - usual)

    def _exact_offset(self) -> float:
        """The offset at v = 0: that of the labels without error, if there are any."""
        exact = self.s2 == 0
        pull = np.where(exact, self.w, 0.0) if exact.any() else self.w / self.s2
        return float(np.sum(pull * self.x * self.d)) / float(np.sum(pull * np.square(self.x)))

    def coarse(self) -> Scatter:
        """Every k-th label, for a first search."""
        pick = slice(None, None, max(1, len(self.d) // _COARSE))
        x = self.x[pick] if isinstance(self.x, np.ndarray) else self.x
        return Scatter(self.d[pick], self.s2[pick], self.w[pick], self.offset, x, self.restricted, self.as_seen)

    @cached_property
    def widest(self) -> float:
        """No maximum lies above the largest squared residual."""
        if isinstance(self.x, np.ndarray):  # where the search begins: it goes on from here if it must
            return float(np.sum(np.square(self.d)))
        centre = 0.5 * (float(self.d.max()) + float(self.d.min())) if self.offset else 0.0
        reach = np.max(np.abs(self.d - centre)) * (2.0 if self.offset else 1.0)
        return float(reach) ** 2


def in_own_units(d: FloatArray, s: FloatArray, weight: FloatArray | None, offset: bool) -> tuple[Scatter, float]:
    """Residuals and errors in units of the largest of them, and that unit; labels of no weight are dropped."""
    w = np.ones(len(d)) if weight is None else weight / float(weight.max())
    keep = w > 0
    d, s, w = d[keep], s[keep], w[keep]
    if offset and len(d) < 2:
        raise ValueError("offset=True needs at least 2 labels: one residual cannot give an offset and a scatter.")
    unit = float(max(np.max(np.abs(d)), np.max(s)))
    scale = unit if unit > 0 else 1.0
    w = w * (float(np.sum(w)) / float(np.sum(np.square(w))))
    return Scatter(d / scale, np.square(s / scale), w, offset), scale
