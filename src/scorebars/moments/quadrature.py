"""Mean and variance of any loss under any family with a density, by adaptive quadrature over all labels at once.

The integral over a label is split where the density or the loss has a kink. Each panel is measured by the 21-point
Gauss-Kronrod rule; panels whose error estimate is not at rounding level are halved, those of all labels together, until
none is left. A kink that nobody declared costs some halvings, no accuracy. A panel that still matters when it
cannot be halved any more holds a divergence: the moment is infinite, and is reported as such.

Moments are taken about the loss at the label itself, so that a small scatter about a large loss keeps its digits.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Continuous
from scorebars.losses import Loss
from scorebars.moments.kronrod import GAUSS, KRONROD, NODES
from scorebars.moments.pair import Moments

_LABELS = 1024
"""Labels integrated together."""
_PANELS = 2048
"""Panels measured at once: temporaries stay small."""
_MOST_PANELS = 3000
"""Panels for each label at which the halving stops."""
_TOLERANCE = 1e-14
_DEEPEST = 50
_FINEST = 2.0**-42
"""Panels this narrow, relative to where they are, are not halved: their points would coincide."""
_RULES = np.stack([KRONROD, GAUSS])
_EPS = float(np.finfo(np.float64).eps)
_CHECKPOINT = 24
_SHRINKS = 0.2
"""A panel that at its finest holds more than this part of what it held at the checkpoint holds a divergence."""


def integrate(loss: Loss, errors: Continuous, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of loss(label, p) when the labels move within their errors around y."""
    if loss.of_residual and errors.additive:  # residuals keep digits that labels far from 0 lose
        y, p = y - p, np.zeros(len(y))
    mean, variance = np.array(loss(y, p), dtype=np.float64), np.zeros(len(y))
    moving = np.flatnonzero(~errors.exact(y))
    for start in range(0, moving.size, _LABELS):
        part = moving[start : start + _LABELS]
        mean[part], variance[part] = _Block(loss, errors[part], y[part], p[part]).moments()
    return Moments(mean, variance)


@dataclass
class _Panels:
    """Panels [low, high] of standard coordinates, each of one label; `before`: what was in it at the checkpoint."""

    label: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    before: FloatArray

    def __getitem__(self, index: NDArray[np.bool_] | slice) -> _Panels:
        return _Panels(self.label[index], self.low[index], self.high[index], self.before[:, index])

    def halves(self) -> _Panels:
        middle = 0.5 * (self.low + self.high)
        return _Panels(
            np.concatenate([self.label, self.label]),
            np.concatenate([self.low, middle]),
            np.concatenate([middle, self.high]),
            np.concatenate([self.before, self.before], axis=1),
        )


class _Block:
    """The integrals of a few labels. Rows of all arrays: first moment, second moment about the pilot value."""

    def __init__(self, loss: Loss, errors: Continuous, y: FloatArray, p: FloatArray) -> None:
        self.loss, self.errors, self.y, self.p = loss, errors, y, p
        with np.errstate(all="ignore"):
            pilot = loss(y, p)
        self.pilot = np.where(np.isfinite(pilot), pilot, 0.0)
        self.sums = np.zeros((2, len(y)))
        self.sizes = np.zeros((2, len(y)))
        self.errors_left = np.zeros((2, len(y)))
        self.diverges = np.zeros((2, len(y)), dtype=bool)
        self.sign = np.ones(len(y))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        self._run(self._first_panels())
        shift, second = self.sums
        with np.errstate(invalid="ignore", over="ignore"):
            variance = second - shift * shift
        loose = ~self.diverges.any(axis=0) & (variance < 1e-3 * second)
        mean = self.pilot + shift
        if loose.any():  # the loss at the label says little about the others: once more, about the mean
            again = _Block(self.loss, self.errors[loose], self.y[loose], self.p[loose])
            again.pilot = mean[loose]
            again._run(again._first_panels())
            variance[loose] = again.sums[1] - np.square(again.sums[0])
        mean = np.where(self.diverges[0], self.sign * np.inf, mean)
        variance = np.where(self.diverges[1], np.inf, np.maximum(variance, 0.0))
        self._complain()
        return mean, variance

    def _complain(self) -> None:
        """The caller must know when the integrals are worse than they should be."""
        scale = np.stack([np.abs(self.pilot), np.square(self.pilot)]) + np.maximum(self.sizes, 1e-300)
        bad = self.errors_left > 1e-6 * scale
        if np.any(bad & ~self.diverges):
            warnings.warn(
                "the loss varies too rapidly, or grows too steeply, within the label errors for its moments to be found to "
                "better than 1e-6; declare its kinks, or smooth it.",
                RuntimeWarning,
                stacklevel=2,
            )

    # panels ------------------------------------------------------------------------------------

    def _first_panels(self) -> _Panels:
        """Between the edges of the density and the kinks of the loss."""
        n, edges = len(self.y), np.asarray(self.errors.edges)
        cuts = self.errors.coordinate(self.y, self.loss.kinks(self.p))
        cuts = np.clip(np.where(np.isnan(cuts), edges[0], cuts), edges[0], edges[-1])
        ends = np.sort(np.concatenate([np.broadcast_to(edges[:, None], (len(edges), n)), cuts]), axis=0)
        low, high = ends[:-1].reshape(-1), ends[1:].reshape(-1)
        label = np.broadcast_to(np.arange(n), (len(ends) - 1, n)).reshape(-1)
        return _Panels(label, low, high, np.full((2, low.size), np.inf))[high > low]

    def _run(self, panels: _Panels) -> None:
        """Measure, keep what is accurate, halve the rest."""
        for depth in range(_DEEPEST + 1):
            value, size, error = self._measure_all(panels, known=depth > 0)
            if depth == 0:
                for row in range(2):
                    self.sizes[row] = np.bincount(panels.label, size[row], len(self.y))
                if self.errors.algebraic_tails:
                    self._extrapolate(panels, value)
            allowed = _TOLERANCE * self.sizes[:, panels.label]
            infinite = ~np.isfinite(size)
            self._mark(infinite, panels, value)
            settled = np.all((error <= allowed) | infinite, axis=0) | self.diverges[:, panels.label].all(axis=0)
            finest = panels.high - panels.low <= _FINEST * np.maximum(np.abs(panels.low), np.abs(panels.high))
            if depth == _DEEPEST or panels.label.size > _MOST_PANELS * len(self.y):
                finest[:] = True
            self._judge(panels, value, size, finest & ~settled)
            settled |= finest
            self._look_at_ends(panels, value, size, settled)
            for row in range(2):
                kept = settled & np.isfinite(value[row])
                self.sums[row] += np.bincount(panels.label[kept], value[row, kept], len(self.y))
                self.errors_left[row] += np.bincount(panels.label[kept], error[row, kept], len(self.y))
            if settled.all():
                return
            if depth == _CHECKPOINT:
                panels.before = size
            panels = panels[~settled].halves()

    def _mark(self, infinite: NDArray[np.bool_], panels: _Panels, value: FloatArray) -> None:
        for row in range(2):
            self.diverges[row, panels.label[infinite[row]]] = True
        down = infinite[0] & (value[0] < 0)
        self.sign[panels.label[down]] = -1.0
        self.diverges[1] |= self.diverges[0]

    def _judge(self, panels: _Panels, value: FloatArray, size: FloatArray, left: NDArray[np.bool_]) -> None:
        """Panels that still matter and do not shrink when halved hold a divergence."""
        if left.any():
            stuck = left & (size > 1e-10 * self.sizes[:, panels.label]) & (size > _SHRINKS * panels.before)
            self._mark(stuck, panels, value)

    def _look_at_ends(self, panels: _Panels, value: FloatArray, size: FloatArray, settled: NDArray[np.bool_]) -> None:
        """Where the integrand matters even at the end of what doubles can tell from zero, the integral diverges."""
        if self.errors.bounded or self.errors.algebraic_tails:
            return
        ends = settled & ((panels.low == self.errors.edges[0]) | (panels.high == self.errors.edges[-1]))
        self._mark(ends & (size > 1e-10 * self.sizes[:, panels.label]), panels, value)

    def _extrapolate(self, panels: _Panels, value: FloatArray) -> None:
        """Beyond the last edge a power law continues: panels there grow by a constant factor, their terms are geometric."""
        edges = self.errors.edges
        for outer, inner, at in ((edges[-1], edges[-2], panels.high), (edges[0], edges[1], panels.low)):
            last, before = np.zeros((2, len(self.y))), np.zeros((2, len(self.y)))
            for row in range(2):
                last[row] = np.bincount(panels.label[at == outer], value[row, at == outer], len(self.y))
                before[row] = np.bincount(panels.label[at == inner], value[row, at == inner], len(self.y))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.abs(last / before)
            matters = np.abs(last) > 1e-18 * self.sizes
            grows = matters & ~(ratio < 1.0 - 1e-7)
            self.diverges |= grows
            self.diverges[1] |= self.diverges[0]
            self.sign = np.where(grows[0] & (last[0] < 0), -1.0, self.sign)
            geometric = matters & ~grows
            self.sums += np.where(geometric, last * ratio / np.where(geometric, 1.0 - ratio, 1.0), 0.0)

    # one panel ---------------------------------------------------------------------------------

    def _measure_all(self, panels: _Panels, known: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        parts = [self._measure(panels[slice(i, i + _PANELS)], known) for i in range(0, panels.label.size, _PANELS)]
        value, size, error = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
        return value, size, error

    def _measure(self, panels: _Panels, known: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integral, integral of the absolute value and error estimate of each panel.

        Once the size of the whole is known, an estimate that is no larger than rounding counts as none.
        """
        label, half = panels.label, 0.5 * (panels.high - panels.low)
        u = 0.5 * (panels.high + panels.low) + NODES[:, None] * half
        errors, pilot = self.errors[label], self.pilot[label]
        x = errors.at(self.y[label], u)
        mass = half * errors.density(u)
        with np.errstate(all="ignore"):
            f = self.loss(x, self.p[label])
            g = np.where(mass == 0, 0.0, f - pilot)
            first = g * mass
            second = g * first
            value, gauss = np.stack([_RULES @ first, _RULES @ second], axis=1)
            size = np.stack([KRONROD @ np.abs(first), value[1]])
            raw = np.abs(value - gauss)
            error = np.where(size > 0, size * np.minimum(1.0, (200.0 * raw / size) ** 1.5), 0.0)
        rough = np.any(error > _TOLERANCE * self.sizes[:, label], axis=0)
        if known and rough.any():
            level = _rounding(x[:, rough], f[:, rough], g[:, rough], mass[:, rough])
            error[:, rough] = np.where(error[:, rough] <= level, 0.0, error[:, rough])
        return value, size, error


def _rounding(x: FloatArray, f: FloatArray, g: FloatArray, mass: FloatArray) -> FloatArray:
    """How large errors of the integrals are by rounding of the loss, and of the label it is evaluated at."""
    with np.errstate(all="ignore"):
        bend = np.nan_to_num(np.sum(np.abs(np.diff(f, axis=0)), axis=0) / np.abs(x[-1] - x[0]))
        noise = np.max(np.abs(f), axis=0) + bend * np.max(np.abs(x), axis=0)
        first = 4.0 * _EPS * (KRONROD @ mass) * noise
        return np.nan_to_num(np.stack([first, 2.0 * np.max(np.abs(g), axis=0) * first]))
