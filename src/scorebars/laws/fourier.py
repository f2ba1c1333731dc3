"""Distribution of a sum of independent values, from its characteristic function on a window.

X - E X = sum_i c_i with independent c_i of known values and probabilities. With the window [low, low + W] beyond which X
has no probability to speak of, and w_k = 2 pi k / W, the density and its integral are Fourier series,

    f(x) = 1/W sum_k phi(w_k) exp(-i w_k x),      phi(w) = prod_i E exp(i w c_i),

which end where phi has fallen to nothing: after some 25 terms where many labels share the variance, whatever the labels.
Chernoff's bound P(X > x) <= exp(K(t) - t x), K(t) = sum_i log E exp(t c_i), gives the window.

Of a label that matters little only the first cumulants count: sums of these stand for all such labels at once. The 16th
moment tells up to which w they do.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from scorebars.arrays import ComplexArray, FloatArray, IntArray
from scorebars.laws.law import LawWithRoot
from scorebars.laws.loss_nodes import LossNodes
from scorebars.numerics.roots import crossing
from scorebars.numerics.special import cumulants_from

_ORDER = 16
"""Cumulants of labels that matter little."""
_FACTORIALS = np.cumprod([1.0, *range(1, _ORDER + 1)])
_FEW = 256
"""So few labels need no cumulants."""
REACHES = (7.0, 28.0, 112.0)
"""Up to these w, in units of 1 / std, the cumulants of small labels are tried, one after the other."""
_SERVES = 0.6
"""Cumulants serve while w (m / 16!)^(1/16), with the 16th moment m of the label, is at most this."""
_LOG_OUTSIDE = -29.0
"""Logarithm of the probability outside of the window."""
_TILTS = 2.0 ** np.arange(-4.0, 3.0)
"""t of Chernoff's bound, in units of 1 / std."""
_VANISHED, _SMALL_ENOUGH = 1e-14, 1e-10
"""Where terms end, and where they may."""
_UNLIKE = 1e-3
"""By how much the variance of the listed values may miss the known one."""
_QUIET = 8.0
"""From this many 1 / std on, terms that have vanished do so for good."""
_MOST_TERMS = 4000
_MOST_WORK = 40_000_000
"""Values times terms, at most."""
_WORK = 6_000_000
"""Values times terms, at most, where terms do not vanish."""
_FALL, _STEEP = 36.0, 8
"""Where a series has to end before its terms vanish, the last of them are damped by exp(-36 (k/K)^8)."""


class Addends(NamedTuple):
    """Independent centred values: `nodes` lists each, `cumulants` (17, n) are theirs, and `reach` the w of 1/std up to which
    these serve.
    """

    nodes: LossNodes
    cumulants: FloatArray
    reach: FloatArray

    def small(self, reach: float) -> tuple[LossNodes, FloatArray]:
        """Those for which cumulants do not serve up to `reach`, and the sums of the cumulants of the others."""
        large = self.reach < reach
        return self.nodes.of(np.flatnonzero(large)), np.sum(self.cumulants[:, ~large], axis=1)

    def without(self, some: IntArray) -> Addends:
        """All but these."""
        others = np.delete(np.arange(self.reach.size), some)
        return Addends(self.nodes.of(others), self.cumulants[:, others], self.reach[others])


def addends(nodes: LossNodes, factor: FloatArray, std: float) -> Addends:
    """factor * loss of each label less its mean, in units of `std`."""
    start, label = nodes.start[:-1], nodes.label
    mean = np.add.reduceat(nodes.mass * nodes.value, start)
    centred = (factor / std)[label] * (nodes.value - mean[label])
    moments = np.zeros((_ORDER + 1, len(start)))
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        power = nodes.mass * centred
        for r in range(2, _ORDER + 1):
            power *= centred
            moments[r] = np.add.reduceat(power, start)
        reach = _SERVES * (moments[_ORDER] / _FACTORIALS[-1]) ** (-1.0 / _ORDER)
        return Addends(nodes._replace(value=centred), cumulants_from(moments), reach)


def joined(parts: list[Addends]) -> Addends:
    """All addends of several sets."""
    nodes = LossNodes.joined([part.nodes for part in parts])
    columns = np.concatenate([part.cumulants for part in parts], axis=1)
    return Addends(nodes, columns, np.concatenate([part.reach for part in parts]))


class _Sum:
    """Generating function of a sum in units of its std: some addends one by one, the cumulants of the others."""

    def __init__(self, large: LossNodes, cumulants: FloatArray) -> None:
        self.large, self._series = large, cumulants / _FACTORIALS

    def _small(self, t: Any) -> Any:
        return np.polynomial.polynomial.polyval(t, self._series)

    @cached_property
    def window(self) -> tuple[float, float]:
        """Ends beyond which the sum lies with negligible probability."""
        ends: dict[float, list[float]] = {-1.0: [math.inf], 1.0: [math.inf]}
        mass, start = self.large.mass, self.large.start[:-1]
        with np.errstate(all="ignore"):
            tilted = np.exp(_TILTS[0] * self.large.value)
            for t in _TILTS.tolist():
                for side, factor in ((-1.0, 1.0 / tilted), (1.0, tilted)):
                    known = float(self._small(side * t))
                    known += float(np.sum(np.log(np.add.reduceat(mass * factor, start)))) if start.size else 0.0
                    ends[side].append((known - _LOG_OUTSIDE) / t if math.isfinite(known) else math.inf)
                tilted *= tilted
        return -min(ends[-1.0]), min(ends[1.0])

    def terms(self, farthest: float) -> tuple[float, ComplexArray]:
        """The distance of the w_k and phi(w_k), k = 1, 2, ..., up to where it vanishes or to `farthest`."""
        low, high = self.window
        step, size = 2.0 * math.pi / (high - low), self.large.value.size
        most = min(farthest / step, _MOST_TERMS, max(_WORK / max(size, 1), _QUIET / step))
        with np.errstate(under="ignore", over="ignore"):
            phi = np.exp(self._small(1j * step * np.arange(1.0, math.floor(most) + 1.0)))
        return step, self._times_large(phi, step) if size else phi[: _end(phi)]

    def _times_large(self, phi: ComplexArray, step: float) -> ComplexArray:
        start, turn = self.large.start[:-1], np.exp(1j * step * self.large.value)
        turned, quiet = self.large.mass * turn, _QUIET / step
        for k in range(phi.size):
            phi[k] *= np.prod(np.add.reduceat(turned, start))
            turned *= turn
            if k % 8 == 7 and np.all(np.abs(phi[k - 7 : k + 1]) < (1e-12 if k > quiet else _VANISHED)):
                return phi[: k + 1]
        return phi


def _end(phi: ComplexArray) -> int | None:
    """Where phi has vanished."""
    gone = np.flatnonzero(np.abs(phi) < _VANISHED)
    return int(gone[0]) if gone.size else None


class FourierLaw(LawWithRoot):
    """Distribution of mean + std * (sum of addends).

    `others`: sums of cumulants of more addends, for which no values are listed.
    """

    method = "quadrature"
    _ended = True

    def __init__(
        self, mean: float, std: float, given: Addends, others: FloatArray | None = None, lowest: float = -math.inf
    ) -> None:
        self._moments = mean, std * std
        self.support = (lowest, math.inf)
        self._given, self._others = given, np.zeros(_ORDER + 1) if others is None else others

    def _sum(self, reach: float) -> _Sum:
        large, cumulants = self._given.small(reach)
        return _Sum(large, cumulants + self._others)

    @cached_property
    def _series(self) -> tuple[tuple[float, float], FloatArray, ComplexArray]:
        """The window, w_k, and phi(w_k) 2/W, k = 1, 2, ..., all in units of the std."""
        few = self._given.reach.size <= _FEW and not np.any(self._others)
        for reach in (*(() if few else REACHES), math.inf):
            found = self._sum(reach)
            step, phi = found.terms(reach)
            if not phi.size or abs(phi[-1]) < _SMALL_ENOUGH:
                break
        else:
            self._ended = False
            phi = phi * np.exp(-_FALL * (np.arange(1.0, phi.size + 1.0) / phi.size) ** _STEEP)
        low, high = found.window
        return found.window, step * np.arange(1.0, phi.size + 1.0), phi * (2.0 / (high - low))

    @property
    def converged(self) -> bool:
        """Whether the terms of the series vanish before it ends."""
        _ = self._series
        return self._ended

    @property
    def affordable(self) -> bool:
        """Whether a series of this kind serves: not for very long tails, nor for errors below the last digit of labels."""
        if not abs(float(np.sum(self._given.cumulants[2]) + self._others[2]) - 1.0) < _UNLIKE:
            return False
        found = self._sum(REACHES[0])
        low, high = found.window
        terms = _QUIET * (high - low) / (2.0 * math.pi)
        return terms <= _MOST_TERMS and terms * found.large.value.size <= _MOST_WORK

    def _z(self, x: Any) -> Any:
        return (x - self._mean()) / self._std()

    def _at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(value <= x) and the density at each x inside the window."""
        (low, high), w, phi = self._series
        z = np.asarray(self._z(x))[..., None]
        wave, start = phi * np.exp(-1j * w * z), phi * np.exp(-1j * w * low)
        under = (z[..., 0] - low) / (high - low) + np.sum(((wave - start) / (-1j * w)).real, axis=-1)
        density = np.maximum(1.0 / (high - low) + np.sum(wave.real, axis=-1), 0.0)
        return np.clip(under, 0.0, 1.0), density / self._std()

    def grid(self) -> tuple[FloatArray, FloatArray]:
        """Points so close that sums over them are integrals, and the probability of each: one fast transform."""
        (low, high), w, phi = self._series
        count = 4 * max(w.size, 128)
        step = (high - low) / count
        z = low + step * (np.arange(count) + 0.5)
        waves = np.fft.fft(np.concatenate([[0.0], phi * np.exp(-1j * w * z[0])]), count).real
        return np.asarray(self._mean() + self._std() * z), np.maximum(1.0 / (high - low) + waves, 0.0) * step

    def _inside_window(self, x: float) -> bool:
        low, high = self._series[0]
        return bool(low < self._z(x) < high)

    def _cdf(self, x: float) -> float:
        return float(self._at(np.asarray(x))[0]) if self._inside_window(x) else 1.0 * (x > self._mean())

    def _pdf(self, x: float) -> float:
        return float(self._at(np.asarray(x))[1]) if self._inside_window(x) else 0.0

    def _ppf(self, q: float) -> float:
        low, high = (self._mean() + self._std() * end for end in self._series[0])
        low = max(low, self.support[0])
        return crossing(lambda x: self._cdf(x) - q, low, high, xtol=1e-13 * self._std())

    def root_deficit(self) -> float:
        """E (sqrt(X) - sqrt(mu))^2 / (2 sqrt(mu))."""
        size, (x, probability) = math.sqrt(self._mean()), self.grid()
        return float(np.square(np.sqrt(np.maximum(x, 0.0)) - size) @ probability) / (2.0 * size)
