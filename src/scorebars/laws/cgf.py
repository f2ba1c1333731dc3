"""Cumulant generating functions of positive quadratic forms of normal errors.

For Q = sum_j (b_j + sqrt(lam_j) Z_j)^2 the cumulant generating function is

    K(t) = log E exp(tQ) = sum_j -1/2 log(1 - 2 t lam_j) + t b_j^2 / (1 - 2 t lam_j),   t < 1 / (2 max lam).

Tilting the law by exp(t0 Q) gives a law of the same family, with lam / (1 - 2 t0 lam) and
b / (1 - 2 t0 lam). Everything is therefore said with two operations, neither of which loses digits:
`tilted(t0)`, and `centred(s)` = K(s) - s K'(0) of the law at hand. Labels with lam = 0 only shift Q and are
left to the caller.
"""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from scorebars.laws.complex_log import Numbers, log1p

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

UNDERFLOW = -745.0
"""Logarithm of the smallest positive float."""

_SMALL = 0.1
_ODD = 1.0 / np.arange(15.0, 1.0, -2.0)  # 1/15, 1/13, ... 1/3: series of artanh, highest power first
_PRECISION = -39.0  # logarithm of the first term that may be left out, relative to the sum


class CGF(Protocol):
    """What the contour integral needs to know about a law."""

    @property
    def mean(self) -> float:
        """K'(0)."""

    @property
    def gain(self) -> float:
        """How far tilting moved the mean: K'(t) - K'(0) of the law before `tilted(t)`; 0 for the law itself."""

    @property
    def limit(self) -> float:
        """K(t) is finite for t < limit."""

    @property
    def depth(self) -> float:
        """Logarithm of the smallest lower tail that K is good for."""

    @property
    def k2(self) -> float:
        """The variance K''(0)."""

    @property
    def k3(self) -> float:
        """The third cumulant K'''(0)."""

    def tilted(self, t: float) -> Self:
        """The law with density proportional to exp(t Q) times the present one."""

    def peak(self, t: float) -> float:
        """K(t) - t K'(t), never positive, with full relative accuracy for all t."""

    def centred(self, s: Numbers) -> Numbers:
        """K(s) - s K'(0), with full relative accuracy for small s."""

    def value(self, t: FloatArray) -> FloatArray:
        """K(t) for t <= 0, with full relative accuracy for large -t."""


def log_excess(u: Numbers) -> Numbers:
    """-(log(1 - u) + u) / 2 without cancellation at small u: with w = u / (2 - u), log(1 - u) = -2 artanh(w)."""
    size = np.abs(u)
    largest = float(size.max(initial=0.0))
    if largest < _SMALL:
        return _small_excess(u, largest)
    out = log1p(-u)
    out += u
    out *= -0.5
    small = size < _SMALL
    out[small] = _small_excess(u[small], _SMALL)
    return out


def _small_excess(u: Numbers, largest: float) -> Numbers:
    """The same for |u| up to `largest`, which says how many terms are needed."""
    w = u / (2.0 - u)
    w2 = w * w
    terms = math.ceil(0.5 * _PRECISION / math.log(largest / (2.0 - largest))) if largest > 0 else 1
    first, *others = _ODD[-terms:].tolist()
    series = np.full_like(w, first)
    for coefficient in others:
        series *= w2
        series += coefficient
    series *= w2
    series += 0.5 * u
    series *= w
    return series


def log_peak(u: FloatArray) -> FloatArray:
    """-(log(1 - u) + u / (1 - u)) / 2, never positive: what a label adds to K - t K' at u = 2 t lam < 1."""
    w = u / (1.0 - u)  # then log(1 - u) = -log(1 + w)
    out = -0.5 * (np.log1p(-u) + w)
    small = np.abs(w) < _SMALL
    out[small] = -log_excess(-w[small])
    return out


class DiagonalCGF:
    """K of sum_j lam_j times a non-central chi-square with `count_j` degrees of freedom.

    `b2` holds the sum of squared offsets of each node. Counts and b2 may be fractional or negative, as
    compression makes them; only sums over the nodes have a meaning then. `mean` may be given where it is
    known better than the nodes know it.
    """

    def __init__(
        self,
        count: FloatArray,
        lam: FloatArray,
        b2: FloatArray,
        *,
        mean: float | None = None,
        gain: float = 0.0,
        depth: float = UNDERFLOW,
    ) -> None:
        self.count, self.lam, self.b2 = count, lam, b2
        self.gain, self.depth = gain, depth
        self.mean = float(np.sum(count * lam + b2)) if mean is None else mean
        top = float(lam.max(initial=0.0))
        self.limit = 0.5 / top if top > 0 else math.inf
        self.k2 = float(np.sum((2.0 * count * lam + 4.0 * b2) * lam))
        self.k3 = float(np.sum((8.0 * count * lam + 24.0 * b2) * lam * lam))
        self.k4 = float(np.sum((48.0 * count * lam + 192.0 * b2) * lam * lam * lam))

    def tilted(self, t: float) -> DiagonalCGF:
        u = 2.0 * t * self.lam
        r = 1.0 / (1.0 - u)
        lam = self.lam * r
        gain = float(np.sum(u * (self.count * lam + self.b2 * (2.0 - u) * r * r)))
        # near zero the mean is the sum of small positive terms, elsewhere the old mean plus its change
        mean = self.mean + gain if gain > -0.5 * self.mean else None
        return DiagonalCGF(self.count, lam, self.b2 * r * r, mean=mean, gain=gain)

    def peak(self, t: float) -> float:
        u = 2.0 * t * self.lam
        r = 1.0 / (1.0 - u)
        return float(np.sum(self.count * log_peak(u) - (t * r) * (u * r) * self.b2))

    def centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.lam)
        # einsum, not @: BLAS would wake its threads for these small sums
        quadratic = s * np.einsum("jk,k->j", u / (1.0 - u), self.b2)
        out: Numbers = np.einsum("jk,k->j", log_excess(u), self.count) + quadratic
        return out

    def value(self, t: FloatArray) -> FloatArray:
        u = np.multiply.outer(-2.0 * t, self.lam)
        logarithm = np.einsum("jk,k->j", np.log1p(u), self.count)
        out: FloatArray = t * np.einsum("jk,k->j", 1.0 / (1.0 + u), self.b2) - 0.5 * logarithm
        return out
