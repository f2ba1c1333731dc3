"""The loss of each label as a few values with their probabilities: a quadrature rule for anything that depends on it.

Labels with a density: Gauss' rule between the edges of the density and the kinks of the loss, so that the loss is smooth
on every panel. Labels that take single values: these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorebars.arrays import FloatArray, IntArray
from scorebars.errors import Empirical, MeasurementError, Poisson
from scorebars.errors.continuous import Continuous
from scorebars.losses import Loss

_OUTSIDE = 1e-13
"""Probability of labels further out than all panels, on each side."""
_NEGLIGIBLE = 1e-17
"""Values that are less probable are left out."""
_POINTS, _RULE = np.polynomial.legendre.leggauss(12)
_NORMAL_EDGES = np.array([-3.0, 0.0, 3.0])
"""Where panels of a normal density meet."""
_REACH = 8.0
"""Standard deviations of a count to which its values are listed."""


class LossNodes(NamedTuple):
    """Values of the losses, those of label i from `start[i]` to `start[i + 1]`, and their probabilities."""

    start: IntArray
    value: FloatArray
    mass: FloatArray

    @property
    def label(self) -> IntArray:
        """The label of each value."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def of(self, some: IntArray) -> LossNodes:
        """Those of some labels, in ascending order."""
        count = np.diff(self.start)
        keep = np.repeat(np.isin(np.arange(len(count)), some), count)
        return LossNodes(np.append(0, np.cumsum(count[some])), self.value[keep], self.mass[keep])

    @classmethod
    def joined(cls, parts: list[LossNodes]) -> LossNodes:
        """Those of several sets of labels, one after the other."""
        counts = np.concatenate([np.diff(part.start) for part in parts])
        value, mass = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return cls(np.append(0, np.cumsum(counts)), value, mass)


def has_nodes(errors: MeasurementError) -> bool:
    """Whether the labels err by themselves, in a way whose values can be listed."""
    return isinstance(errors, Continuous | Empirical | Poisson) and errors.of_labels() is errors


def loss_nodes(loss: Loss, errors: MeasurementError, y: FloatArray, p: Any, pieces: int = 1) -> LossNodes:
    """Values of loss(label, p) and their probabilities, given that the loss exists; panels are cut into `pieces`."""
    if isinstance(errors, Continuous):
        label, x, mass = _of_density(loss, errors, y, p, pieces)
        if loss.of_residual and errors.additive:  # residuals keep digits that labels far from 0 lose
            y, p = y - p, np.zeros(len(y))
    elif isinstance(errors, Empirical):
        values, chances = errors.draws(y)
        label, x, mass = np.repeat(np.arange(len(y)), len(values)), values.T.ravel(), chances.T.ravel()
    else:
        assert isinstance(errors, Poisson)
        label, x, mass = _of_counts(errors, y)
    with np.errstate(all="ignore"):
        value = np.asarray(loss(x, p[label]), dtype=np.float64)
    there = (mass > _NEGLIGIBLE) & np.isfinite(value)
    label, value, mass = label[there], value[there], mass[there]
    count = np.bincount(label, minlength=len(y))
    total = np.bincount(label, mass, len(y))
    return LossNodes(np.append(0, np.cumsum(count)), value, mass / total[label])


def _of_density(
    loss: Loss, errors: Continuous, y: FloatArray, p: Any, pieces: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Labels (or residuals, where only these count) and their probabilities."""
    if loss.of_residual and errors.additive:
        y, p = y - p, np.zeros(len(y))
    n, exact = len(y), errors.exact(y)
    at = np.zeros(n) if errors.additive else y
    low, high = (
        np.clip(errors.coordinate(at, errors.ppf(at, np.full(n, q))), errors.edges[0], errors.edges[-1])
        for q in (_OUTSIDE, 1.0 - _OUTSIDE)
    )
    low, high = np.minimum(low, -1.0), np.maximum(high, 1.0)
    kinks = errors.coordinate(y, loss.kinks(p))
    edges = _NORMAL_EDGES if type(errors).density is Continuous.density else np.asarray(errors.edges)
    inner = np.broadcast_to(edges[:, None], (len(edges), n))
    cuts = np.concatenate([np.where(np.isnan(kinks), low, kinks), inner, low[None], high[None]])
    cuts = np.sort(np.clip(cuts, low, high), axis=0).T
    width = np.diff(cuts, axis=1)
    label, panel = np.nonzero((width > 0) & ~exact[:, None])
    half = 0.5 / pieces * width[label, panel]
    middle = cuts[label, panel][:, None] + half[:, None] * (2.0 * np.arange(pieces) + 1.0)
    u = middle[:, :, None] + half[:, None, None] * _POINTS
    label, size = np.repeat(label, pieces * _POINTS.size), np.repeat(half, pieces * _POINTS.size)
    u, mass = u.ravel(), np.tile(_RULE, middle.size) * size
    some = errors[label]
    x, mass = some.at(y[label], u), mass * some.density(u)
    if exact.any():
        label, x = np.append(label, np.flatnonzero(exact)), np.append(x, y[exact])
        mass = np.append(mass, np.ones(int(exact.sum())))
        order = np.argsort(label, kind="stable")
        label, x, mass = label[order], x[order], mass[order]
    return label, x, mass


def _of_counts(errors: Poisson, y: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    first, last = errors.window(y, _REACH)
    size = (last - first + 1.0).astype(np.intp)
    label = np.repeat(np.arange(len(y)), size)
    count = first[label] + (np.arange(label.size) - np.repeat(np.cumsum(size) - size, size))
    return label, count * errors.unit, errors.probability(y[label], count)
