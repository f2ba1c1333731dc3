"""Mean and variance of any loss under any error family, where no closed form is known.

Families with a density: adaptive quadrature over all labels at once (`numerics.integration`). The integral over a label is
split where the density or the loss has a kink. Panels whose error estimate is not at rounding level are halved, those of
all labels together. A kink that nobody declared costs some halvings, no accuracy. A panel that still matters when it
cannot be halved any more holds a divergence: the moment is infinite, and is reported as such.
`scipy.integrate.cubature` goes label by label: 240 Huber losses a second, 45,000 here. Losses that are smooth wherever a
normally distributed coordinate may lead are summed on equal steps instead: for such integrals the trapezoid rule
converges faster than any power of the step, and another step shows whether it has. Where one kink is near, Gauss' rule
sums both sides of it, and a rule of fewer points shows whether it has converged.

Counts and draws: sums over the values that a label may take. A Poisson mean above a million has more counts than need be
looked at: there the sum over a run of neighbouring counts, smooth between the kinks of the loss, is taken by the Gauss
rule for sums, whose m nodes give the exact sum of every polynomial of degree below 2m over the run.

Moments are taken about the loss at the label itself, so that a small scatter about a large loss keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from scorebars.arrays import BoolArray, FloatArray
from scorebars.checks import warn
from scorebars.errors import Empirical, MeasurementError, Poisson
from scorebars.errors.measurement_error import Continuous, normal_density
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
        labels = _Labels(loss, errors, y, p, mean, variance)
        part = part[~_on_equal_steps(labels, part)]
        part = part[~_about_one_kink(labels, part)]
        if part.size:
            mean[part], variance[part] = _Integrals(loss, errors[part], y[part], p[part]).moments()
    return Moments(mean, variance)


_POINTS = np.concatenate([0.45 * np.arange(-22.0, 23.0), 0.73 * np.arange(-13.0, 14.0) + 0.13])
_STEP_RULES = np.zeros((2, _POINTS.size))
"""Weights of the trapezoid rule with either step; waves that the one takes for constants show in the other."""
_STEP_RULES[0, :45] = 0.45 * normal_density(_POINTS[:45])
_STEP_RULES[1, 45:] = 0.73 * normal_density(_POINTS[45:])
_SMOOTH_TO = 12.0
"""No kink may lie nearer than this to the label, in standard deviations."""
_CONVERGED, _AT_ENDS = 1e-8, 1e-15
"""Where the larger step is good to the one, the smaller is good to 1e-13; at its ends the integrand is below the other."""


class _Labels(NamedTuple):
    """Labels whose moments are looked for, and the arrays that are filled in."""

    loss: Loss
    errors: Continuous
    y: FloatArray
    p: FloatArray
    mean: FloatArray
    variance: FloatArray


def _on_equal_steps(labels: _Labels, part: NDArray[np.intp]) -> BoolArray:
    """Fill in mean and variance of those of the labels `part` whose integrals converge fast; which these are."""
    loss, errors, y, p, mean, variance = labels
    done = np.zeros(part.size, dtype=bool)
    if type(errors).density is not Continuous.density or not loss.continuous or loss.of_forecast:
        return done
    if not loss.smooth:
        apart = np.abs(errors[part].coordinate(y[part], loss.kinks(p[part])))
        part = part[rows := ~np.any(apart < _SMOOTH_TO, axis=0)]
    else:
        rows = ~done
    if not part.size:
        return done
    with np.errstate(all="ignore"):
        values = loss(errors[part].at(y[part], _POINTS[:, None]), p[part])
        ends = values[[0, 44]], _STEP_RULES[0, :1]
        good = _filled_in(values, lambda x: _STEP_RULES @ x, ends, part, mean, variance, _CONVERGED)
    done[np.flatnonzero(rows)[good]] = True
    return done


def _filled_in(
    values: FloatArray,
    by_rules: Callable[[FloatArray], FloatArray],
    ends: tuple[FloatArray, FloatArray],
    part: NDArray[np.intp],
    mean: FloatArray,
    variance: FloatArray,
    alike: float,
) -> BoolArray:
    """Fill in the moments of the labels for whose losses (k, labels) two rules agree, and say which these are.

    `ends` are the losses furthest out and their weights: beyond, there must be nothing left.
    """
    centre = by_rules(values)[0]
    change = values - centre
    first, second = by_rules(change), by_rules(np.square(change))
    size = np.sqrt(second[0])
    good = (np.abs(first[1] - first[0]) <= alike * size) & (np.abs(second[1] - second[0]) <= alike * second[0])
    good &= np.all(np.square(ends[0] - centre) * ends[1] <= _AT_ENDS * second[0], axis=0)
    good &= size > _RESOLVED * np.max(np.abs(values), axis=0)
    mean[part[good]] = (centre + first[0])[good]
    variance[part[good]] = (second[0] - np.square(first[0]))[good]
    return np.asarray(good)


_OUTERMOST = 8.5
"""Standard deviations to which both sides of a kink are summed."""
_RULES = tuple(np.polynomial.legendre.leggauss(k) for k in (24, 18))
"""The rules of each panel: from the outermost to the kink, from there to the label, and to the outermost beyond."""
_ALIKE = 1e-10
"""Where the rule of fewer points is good to this, the other is good to 1e-13."""
_AT_ONCE = 256
"""Labels with a kink that are summed together: temporaries stay in the cache."""


def _about_one_kink(labels: _Labels, part: NDArray[np.intp]) -> BoolArray:
    """The same for labels with one kink inside `_OUTERMOST`, and no other nearer than `_SMOOTH_TO`."""
    loss, errors, y, p, mean, variance = labels
    done = np.zeros(part.size, dtype=bool)
    if type(errors).density is not Continuous.density or not loss.continuous or loss.of_forecast or not part.size:
        return done
    if math.isfinite(loss.least_label) and not errors.non_negative:  # the loss is infinite somewhere, however far out
        return done
    kinks = errors[part].coordinate(y[part], loss.kinks(p[part]))
    near = np.abs(kinks) < _SMOOTH_TO
    kink = np.sum(np.where(near, kinks, 0.0), axis=0)
    single = np.flatnonzero((np.sum(near, axis=0) == 1) & (np.abs(kink) < _OUTERMOST))
    fine = 3 * _RULES[0][0].size
    beyond = 0.01 * normal_density(np.asarray(_OUTERMOST))  # a smooth loss changes the integral by about as much
    for start in range(0, single.size, _AT_ONCE):
        rows = single[start : start + _AT_ONCE]
        some, at = part[rows], kink[rows]
        outer = np.full(some.size, _OUTERMOST)
        sides = list(pairwise([-outer, np.minimum(at, 0.0), np.maximum(at, 0.0), outer]))
        u = np.concatenate([a + (0.5 + 0.5 * x[:, None]) * (b - a) for x, _ in _RULES for a, b in sides])
        weight = np.concatenate([0.5 * rule[:, None] * (b - a) for _, rule in _RULES for a, b in sides])
        weight *= normal_density(u)

        def by_rules(x: FloatArray, weight: FloatArray = weight) -> FloatArray:
            ways = (slice(fine), slice(fine, None))
            return np.stack([np.einsum("kn,kn->n", weight[way], x[way]) for way in ways])

        with np.errstate(all="ignore"):
            values = loss(errors[some].at(y[some], u), p[some])
            ends = values[[0, fine - 1]], beyond
            done[rows] = _filled_in(values, by_rules, ends, some, mean, variance, _ALIKE)
    return done


_RESOLVED = 1e-5
"""A scatter smaller than this part of the loss has lost digits in the differences: other ways serve it."""


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
