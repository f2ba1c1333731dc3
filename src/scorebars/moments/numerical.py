"""Mean and variance of any loss under any error family, where no closed form is known.

Families with a density: adaptive quadrature over all labels at once (`numerics.integration`). The integral over a label is
split where the density or the loss has a kink. Panels whose error estimate is not at rounding level are halved, those of
all labels together. A kink that nobody declared costs some halvings, no accuracy. A panel that still matters when it
cannot be halved any more holds a divergence: the moment is infinite, and is reported as such.
`scipy.integrate.cubature` goes label by label: 240 Huber losses a second, 45,000 here. Where the coordinate is normally
distributed and at most two kinks are near, a fixed rule is tried first: equal steps, or Gauss's rule between the kinks. A
second rule shows whether it has converged.

Counts and draws: sums over the values that a label may take. A Poisson mean above a million has more counts than need be
looked at: there the sum over a run of neighbouring counts, smooth between the kinks of the loss, is taken by the Gauss
rule for sums, whose m nodes give the exact sum of every polynomial of degree below 2m over the run.

Moments are taken about the loss at the label itself, so that a small scatter about a large loss keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from scorebars.arrays import BoolArray, FloatArray
from scorebars.checks import warn
from scorebars.errors import Empirical, MeasurementError, Poisson
from scorebars.errors.continuous import Continuous, normal_density
from scorebars.losses import Loss
from scorebars.numerics.integration import KRONROD, Measures, Panels, gauss_kronrod, halve_until_settled


class Moments(NamedTuple):
    """Mean and variance of the loss of each label; infinite where they do not exist."""

    mean: FloatArray
    variance: FloatArray


def numerical_moments(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """By quadrature where labels have a density, by sums where they take single values."""
    by_family = {Continuous: integrate_loss, Poisson: sum_over_counts, Empirical: sum_over_draws}
    return next(way for family, way in by_family.items() if family in type(errors).__mro__)(loss, errors, y, p)  # type: ignore[operator]


# a density -------------------------------------------------------------------------------------

_LABELS = 1024
"""Labels integrated together."""
_PANELS_AT_ONCE = 2048
"""Panels measured at once: temporaries stay small."""
_PANELS_PER_LABEL = 3000
"""Panels for each label at which the halving stops."""
_DEEPEST = 50
_FINEST = 2.0**-42
"""Panels this narrow, relative to where they are, are not halved: their points would coincide."""
_NEAR = np.array([-9.0, -4.0, 0.0, 4.0, 9.0])
"""Edges in a normally distributed coordinate for losses that are nowhere large."""
_SHRINKS = 0.2
"""A panel that at its finest holds more than this part of what it held at the checkpoint holds a divergence."""


def integrate_loss(loss: Loss, errors: Continuous, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of loss(label, p) when labels are drawn from their error bars around y."""
    if loss.of_residual and errors.additive:  # residuals keep digits that labels far from 0 lose
        y, p = y - p, np.zeros(len(y))
    mean, variance = np.array(loss(y, p), dtype=np.float64), np.zeros(len(y))
    with_error = np.flatnonzero(~errors.exact(y))
    for start in range(0, with_error.size, _LABELS):
        part = with_error[start : start + _LABELS]
        if type(errors).density is Continuous.density and loss.continuous and not loss.of_forecast:
            part = part[~_by_two_rules(loss, errors, y, p, part, mean, variance)]
        if part.size:
            mean[part], variance[part] = _Integrals(loss, errors[part], y[part], p[part]).moments()
    return Moments(mean, variance)


Rule = tuple[FloatArray, FloatArray]
"""Nodes and weights."""
NORMAL_EDGES = np.array([-10.0, -5.0, -2.5, 0.0, 2.5, 5.0, 10.0])
"""Edges of panels on which rules of a dozen points serve a normal density."""


def normal_rule(rule: Rule, edges: FloatArray, kinks: FloatArray) -> Rule:
    """A rule for [-1, 1] on all panels between the edges and the kinks (k, n) of each label, in a normal coordinate.

    Nodes and weights are (m, n); the weights hold the density.
    """
    points, weights = rule
    n = kinks.shape[1]
    cuts = np.concatenate([np.broadcast_to(edges[:, None], (edges.size, n)), np.clip(kinks, edges[0], edges[-1])])
    cuts = np.sort(cuts, axis=0)
    half = 0.5 * np.diff(cuts, axis=0)[:, None]
    u = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + points[:, None] * half
    return u.reshape(-1, n), (weights[:, None] * half * normal_density(u)).reshape(-1, n)


def _equal_steps(step: float, reach: int, start: float) -> Rule:
    """The trapezoid rule in a normally distributed coordinate: for smooth losses none converges faster."""
    u = start + step * np.arange(-reach, reach + 1.0)[:, None]
    return u, step * normal_density(u)


_STEPS = _equal_steps(0.45, 22, 0.0), _equal_steps(0.73, 13, 0.13)
"""Waves that the one takes for constants show in the other."""
_GAUSS: tuple[Rule, ...] = tuple(np.polynomial.legendre.leggauss(k) for k in (22, 16))
_OUTERMOST = 8.5
"""Standard deviations to which both sides of a kink are summed."""
_MOST_KINKS = 2
"""Labels with more kinks are left to the adaptive rule."""
_ALIKE, _BEYOND = 1e-8, 1e-12
"""Where the rule of fewer points is good to the one, the other is good to 1e-11; and what may lie beyond the outermost."""
_RESOLVED = 1e-5
"""A scatter smaller than this part of the loss has lost digits in the differences: the adaptive rule serves it."""
_AT_ONCE = 256
"""Labels with kinks that are summed together: temporaries stay in the cache."""


def _by_two_rules(
    loss: Loss,
    errors: Continuous,
    y: FloatArray,
    p: FloatArray,
    part: NDArray[np.intp],
    mean: FloatArray,
    variance: FloatArray,
) -> BoolArray:
    """Fill in mean and variance of those of the labels `part` for which both rules agree; which these are."""
    done = np.zeros(part.size, dtype=bool)
    reach, most = _OUTERMOST, _MOST_KINKS
    if math.isfinite(loss.least_label) and not errors.non_negative:  # the loss is infinite beyond a kink
        reach, most = errors.edges[-1], 0
    kinks = errors[part].coordinate(y[part], loss.kinks(p[part]))
    near = np.abs(kinks) < reach
    count = np.zeros(part.size, dtype=np.intp) if loss.smooth else np.sum(near, axis=0)
    kinks, edges = np.sort(np.where(near, kinks, np.inf), axis=0), np.array([-_OUTERMOST, 0.0, _OUTERMOST])
    for number in range(most + 1):
        alike = np.flatnonzero(count == number)
        step = _AT_ONCE if number else _LABELS
        for start in range(0, alike.size, step):
            rows = alike[start : start + step]
            rules = (normal_rule(rule, edges, kinks[:number, rows]) for rule in _GAUSS) if number else _STEPS
            (u, weight), (coarse_u, coarse_weight) = rules
            fine, some = len(u), part[rows]
            with np.errstate(all="ignore"):
                values = loss(errors[some].at(y[some], np.concatenate([u, coarse_u])), p[some])
                centre = _sums(weight, values[:fine])
                change = values - centre
                first, second = _sums(weight, change[:fine]), _sums(weight, np.square(change[:fine]))
                rough = change[fine:]
                size = np.sqrt(second)
                good = np.abs(_sums(coarse_weight, rough) - first) <= _ALIKE * size
                good &= np.abs(_sums(coarse_weight, np.square(rough)) - second) <= _ALIKE * second
                beyond = np.square(change[[0, fine - 1]]) * (0.1 * normal_density(u[-1]))
                good &= np.all(beyond <= _BEYOND * second, axis=0)
                good &= size > _RESOLVED * np.max(np.abs(values), axis=0)
            mean[some[good]] = (centre + first)[good]
            variance[some[good]] = (second - np.square(first))[good]
            done[rows] = good
    return done


def _sums(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Sums over the nodes of each label."""
    if weight.shape[1] == 1:
        return np.asarray(weight[:, 0] @ values)
    return np.asarray(np.einsum("kn,kn->n", weight, values))


class _Integrals:
    """The integrals of a few labels. Rows of all arrays: first moment, second moment about the loss at the label."""

    def __init__(
        self, loss: Loss, errors: Continuous, y: FloatArray, p: FloatArray, about: FloatArray | None = None
    ) -> None:
        self.loss, self.errors, self.y, self.p = loss, errors, y, p
        with np.errstate(all="ignore"):
            about = loss(y, p) if about is None else about
        self.about = np.where(np.isfinite(about), about, 0.0)
        self.sums, self.sizes, self.errors_left = np.zeros((3, 2, len(y)))
        self.diverges = np.zeros((2, len(y)), dtype=bool)
        self.sign = np.ones(len(y))
        halve_until_settled(self._first_panels(), self._measure_all, self._settled)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        shift, second = self.sums
        with np.errstate(invalid="ignore", over="ignore"):
            variance = second - shift * shift
        loose = ~self.diverges.any(axis=0) & (variance < 1e-3 * second)
        mean = self.about + shift
        if loose.any():  # the loss at the label says little about the others: once more, about the mean
            again = _Integrals(self.loss, self.errors[loose], self.y[loose], self.p[loose], mean[loose])
            variance[loose] = again.sums[1] - np.square(again.sums[0])
        scale = np.stack([np.abs(self.about), np.square(self.about)]) + np.maximum(self.sizes, 1e-300)
        if np.any((self.errors_left > 1e-6 * scale) & ~self.diverges):
            warn(
                "the loss varies too rapidly, or grows too steeply, within the label errors for its moments to be found to "
                "better than 1e-6; declare its kinks, or smooth it.",
                RuntimeWarning,
            )
        mean = np.where(self.diverges[0], self.sign * np.inf, mean)
        return mean, np.where(self.diverges[1], np.inf, np.maximum(variance, 0.0))

    def _first_panels(self) -> Panels:
        """Between the edges of the density and the kinks of the loss."""
        n, edges = len(self.y), np.asarray(self.errors.edges)
        if self.loss.bounded and type(self.errors).density is Continuous.density:
            edges = _NEAR
        cuts = self.errors.coordinate(self.y, self.loss.kinks(self.p))
        cuts = np.clip(np.where(np.isnan(cuts), edges[0], cuts), edges[0], edges[-1])
        ends = np.sort(np.concatenate([np.broadcast_to(edges[:, None], (len(edges), n)), cuts]), axis=0)
        low, high = ends[:-1].reshape(-1), ends[1:].reshape(-1)
        label = np.broadcast_to(np.arange(n), (len(ends) - 1, n)).reshape(-1)
        return Panels(label, low, high, np.full((2, low.size), np.inf))[high > low]

    def _by_label(self, panels: Panels, values: FloatArray, where: BoolArray | None = None) -> FloatArray:
        """Values of panels, (2, panels), added up for each label."""
        chosen = np.isfinite(values) if where is None else where & np.isfinite(values)
        sums = [np.bincount(panels.label[c], v[c], len(self.y)) for c, v in zip(chosen, values, strict=True)]
        return np.stack(sums).astype(np.float64)  # of no panels NumPy counts whole numbers

    def _settled(self, generation: int, panels: Panels, measures: Measures) -> BoolArray:
        """Take what is accurate, or cannot become so; find divergences."""
        value, size, error = measures
        infinite = ~np.isfinite(size)
        self._mark(infinite, panels, value)
        if generation == 0:
            self.sizes = self._by_label(panels, size)
            self.sizes[self.diverges] = np.inf
            if self.errors.algebraic_tails:
                self._extrapolate(panels, value)
        settled = np.all((error <= self.loss.precision * self.sizes[:, panels.label]) | infinite, axis=0)
        settled |= self.diverges[:, panels.label].all(axis=0)
        finest = panels.high - panels.low <= _FINEST * np.maximum(np.abs(panels.low), np.abs(panels.high))
        if generation == _DEEPEST or panels.label.size > _PANELS_PER_LABEL * len(self.y):
            finest[:] = True
        matters = size > 1e-10 * self.sizes[:, panels.label]
        if self.loss.precision > Loss.precision:  # what is below its own accuracy is rounding
            about = np.abs(self.about[panels.label])
            matters &= size > self.loss.precision * np.stack([about, np.square(about)])
        # panels that still matter and do not shrink when halved hold a divergence
        self._mark(finest & ~settled & matters & (size > _SHRINKS * panels.before), panels, value)
        settled |= finest
        if not (self.errors.bounded or self.errors.algebraic_tails):
            # where the integrand matters even at the end of what doubles can tell from zero, the integral diverges
            ends = (panels.low == self.errors.edges[0]) | (panels.high == self.errors.edges[-1])
            self._mark(settled & ends & matters, panels, value)
        self.sums += self._by_label(panels, value, settled)
        self.errors_left += self._by_label(panels, error, settled)
        return settled

    def _mark(self, infinite: BoolArray, panels: Panels, value: FloatArray) -> None:
        """The integrals of these panels diverge."""
        for row in range(2):
            self.diverges[row, panels.label[infinite[row]]] = True
        self.sign[panels.label[infinite[0] & (value[0] < 0)]] = -1.0
        self.diverges[1] |= self.diverges[0]

    def _extrapolate(self, panels: Panels, value: FloatArray) -> None:
        """Beyond the last edge a power law continues: panels there grow by a constant factor, their terms are geometric."""
        edges = self.errors.edges
        for outer, inner, at in ((edges[-1], edges[-2], panels.high), (edges[0], edges[1], panels.low)):
            last, before = (self._by_label(panels, value, at == edge) for edge in (outer, inner))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.abs(last / before)
            matters = np.abs(last) > 1e-18 * self.sizes
            grows = matters & ~(ratio < 1.0 - 1e-7)
            self.diverges |= grows
            self.diverges[1] |= self.diverges[0]
            self.sign = np.where(grows[0] & (last[0] < 0), -1.0, self.sign)
            geometric = matters & ~grows
            self.sums += np.where(geometric, last * ratio / np.where(geometric, 1.0 - ratio, 1.0), 0.0)

    def _measure_all(self, panels: Panels) -> Measures:
        starts = range(0, panels.label.size, _PANELS_AT_ONCE)
        parts = [self._measure(panels[slice(i, i + _PANELS_AT_ONCE)]) for i in starts]
        value, size, error = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
        return value, size, error

    def _measure(self, panels: Panels) -> Measures:
        """Both moments of each panel. Once their sizes are known, errors no larger than rounding count as none."""
        label, (u, half) = panels.label, panels.points()
        errors = self.errors[label]
        x = errors.at(self.y[label], u)
        mass = half * errors.density(u)
        with np.errstate(all="ignore"):
            f = self.loss(x, self.p[label])
            change = np.where(mass == 0, 0.0, f - self.about[label])
            value, size, error = gauss_kronrod(np.stack([change * mass, change * (change * mass)]))
            rough = np.any(error > self.loss.precision * self.sizes[:, label], axis=0) & np.any(self.sizes > 0)
            if rough.any():  # rounding of the loss, and of the label at which it is evaluated
                x, f, change, mass = (array[:, rough] for array in (x, f, change, mass))
                bend = np.nan_to_num(np.sum(np.abs(np.diff(f, axis=0)), axis=0) / np.abs(x[-1] - x[0]))
                noise = np.max(np.abs(f), axis=0) + bend * np.max(np.abs(x), axis=0)
                level = 4.0 * np.finfo(np.float64).eps * (KRONROD @ mass) * noise
                levels = np.nan_to_num(np.stack([level, 2.0 * np.max(np.abs(change), axis=0) * level]))
                error[:, rough] = np.where(error[:, rough] <= levels, 0.0, error[:, rough])
        return value, size, error


# single values ---------------------------------------------------------------------------------

_REACH = 14.0
"""Counts are summed within so many standard deviations of the mean."""
_SUMMED = 1e6
"""Up to this mean all counts are summed."""
_COUNTS = 400_000
"""Counts looked at together."""
_RULE = 16
"""Nodes of the rule for sums; shorter runs are summed as they are."""


def sum_over_draws(loss: Loss, errors: Empirical, y: FloatArray, p: FloatArray) -> Moments:
    """Averages over the draws of each label; infinite where a possible value is."""
    values, probabilities = errors.draws(y)
    f = np.where(probabilities > 0, loss(values, p), 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        rough = np.sum(probabilities * f, axis=0)
        mean = rough + np.sum(probabilities * (f - rough), axis=0)
        variance = np.sum(probabilities * np.square(f - mean), axis=0)
    diverges = ~np.isfinite(f).all(axis=0)
    return Moments(np.where(diverges, rough, mean), np.where(diverges, np.inf, variance))


def sum_over_counts(loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray) -> Moments:
    """Sums over the counts of each label, of labels with alike means together."""
    out = np.empty((2, len(y)))
    mean = y / errors.unit
    longest = np.where(mean <= _SUMMED, _RULE, np.exp2(np.floor(np.log2(np.maximum(mean, 1.0)) / 2)))
    order = np.argsort(y, kind="stable")
    first, last = errors.window(y[order], _REACH)
    chunk = np.cumsum((last - first + 1.0) / longest[order] * _RULE) // _COUNTS
    for length, which in np.unique(np.stack([longest[order], chunk]), axis=1).T:
        some = order[(longest[order] == length) & (chunk == which)]
        out[:, some] = _sum_of_runs(loss, errors, y[some], p[some], int(length))
    return Moments(*out)


def _sum_of_runs(
    loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray, longest: int, reach: float = _REACH
) -> Moments:
    """Runs of counts between the kinks of the loss, of `longest` counts or a smaller power of two."""
    with np.errstate(all="ignore"):
        at_label = loss(y, p)
    about = np.where(np.isfinite(at_label), at_label, 0.0)
    total, shift, second = sums = np.zeros((3, len(y)))
    first, last = errors.window(y, reach)
    for label, start, size in _runs(loss.kinks(p) / errors.unit, first, last, longest):
        nodes, weights = sum_rule(size)
        count = start + nodes[:, None]
        mass = weights[:, None] * errors.probability(y[label], count)
        with np.errstate(invalid="ignore", over="ignore"):
            change = np.where(mass > 0, loss(count * errors.unit, p[label]) - about[label], 0.0)
            for row, term in enumerate((mass, mass * change, mass * change * change)):
                sums[row] += np.bincount(label, term.sum(axis=0), len(y))
    with np.errstate(invalid="ignore", over="ignore"):
        shift, second = shift / total, second / total
        variance = np.maximum(second - shift * shift, 0.0)
        end = errors.probability(y, last) * np.square(loss(last * errors.unit, p) - about - shift)
    if np.any((end > 1e-20 * variance) & np.isfinite(variance)) and longest == _RULE:
        return _sum_of_runs(loss, errors, y, p, longest, 1.5 * reach)  # counts beyond still matter
    return Moments(about + shift, np.where(np.isfinite(shift) & np.isfinite(second), variance, math.inf))


@lru_cache(maxsize=128)
def sum_rule(size: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights that give the sum of f(0) ... f(size - 1): Gauss's rule for equal weights (Gram polynomials)."""
    if size <= _RULE:
        return np.arange(float(size)), np.ones(size)
    k = np.arange(1.0, _RULE)
    off = np.sqrt(k * k * (float(size) ** 2 - k * k) / (4.0 * (4.0 * k * k - 1.0)))
    nodes, vectors = eigh_tridiagonal(np.full(_RULE, (size - 1) / 2), off)
    return nodes, size * np.square(vectors[0])


def _runs(
    kinks: FloatArray, first: FloatArray, last: FloatArray, longest: int
) -> Iterator[tuple[NDArray[np.intp], FloatArray, int]]:
    """Labels, first counts and common length of runs that hold no kink inside; a count at a kink is a run of its own."""
    kinks = np.sort(np.clip(kinks, first - 0.5, last + 0.5), axis=0)
    index = np.arange(len(first))
    for low, high in pairwise([first - 0.5, *kinks, last + 0.5]):
        start, left = np.floor(low) + 1.0, np.maximum(np.ceil(high) - np.floor(low) - 1.0, 0.0)
        size = longest
        while size >= 1:
            count = np.floor(left / size).astype(int)
            label = np.repeat(index, count)
            place = np.arange(label.size) - np.repeat(np.cumsum(count) - count, count)
            yield label, start[label] + size * place.astype(float), size
            start, left = start + size * count, left - size * count
            size //= 2
    for kink, previous in zip(kinks, [first - 1.0, *kinks], strict=False):
        own = (kink == np.floor(kink)) & (kink >= first) & (kink <= last) & (kink != previous)
        yield index[own], kink[own], 1
