"""Values that stand in for the true ones: they scatter as the true values do, and follow the predictions as these do.

Labels scatter more than the truth behind them. With a fit of the labels on the predictions (or on their mean alone), the
residuals r of that fit have an error of known variance v, so that the truth scatters by tau^2 = mean r^2 - mean v about
it. Shrinking each residual by sqrt(tau^2 / (tau^2 + v)) gives it that scatter (constrained empirical Bayes: Louis 1984,
Ghosh 1992). Any metric of the stand-ins estimates the metric of the truth, medians and ranks too. Sums of squares agree
with the corrected sums of `ratio_of_sums`; what is assumed beyond is that true residuals have a law of the shape that the
observed ones show.

How well is the estimate known? The stand-ins depend mostly on one number: the sum of squares that is left of the labels'
residuals once their errors are taken off. One part of an interval comes from stand-ins with one standard error more or less
of it. The other part is what remains: stand-ins are measured again on the computer (or items drawn again, for the
population), estimated again, and compared with stand-ins of the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from scorebars.answers.intervals import half_width_in_std, kept_between, less_error
from scorebars.answers.score import ONE_SIGMA, Estimate, Interval, UndefinedEstimate
from scorebars.answers.together.ratio_of_sums import (
    NOTHING_LEFT,
    NOTHING_PREDICTED,
    RatioOfBoth,
    RatioOfLabels,
    finite_noise,
    onto_scale,
    pace_on_scale,
)
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal
from scorebars.measured import Measured
from scorebars.moments.label_noise import PEARSON_SUMS, LabelNoise, QuadraticSums, RatioKind
from scorebars.numerics import FIXED_SEED

_CELLS = 20_000_000
_MOST, _FEWEST = 200, 30
_TOGETHER = 1_000_000
"""Labels whose metrics are found together."""
_PART = 10_000
"""So many labels show how an estimate scatters; of at least twice as many, every k-th one is taken."""
_FEW = 10
"""Draws of very many labels."""
_BOUNDS = (
    "the error of an extreme has no known distribution: the interval bounds it, and holds at least as often as it says"
)

_Values = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Stand-ins, and how well their scatter about the fit is known."""

    fit: FloatArray
    residual: FloatArray
    """Residuals of the fit, shrunk label by label up to a common factor."""
    size: float
    """sum w r^2 of these residuals."""
    left: float
    """sum w r^2 of the true ones, estimated; may be negative."""
    prediction: FloatArray
    """The predictions that belong to them: stand-ins for those of the converged model where predictions err."""
    noise: LabelNoise
    weight: FloatArray
    about: FloatArray
    """Residuals of the labels."""
    unknown: float = 0.0
    """Variance of the sum that is left, from errors of predictions."""

    @cached_property
    def left_std(self) -> float:
        """How well the sum is known, by the label errors."""
        if not self.noise.independent:
            return math.sqrt(self.noise.covariance(self._of_left)[0, 0] + self.unknown)
        spread = 4.0 * float(np.sum(np.square(self.weight) * self.noise.variance * np.square(self.about)))
        least = 2.0 * float(np.sum(np.square(self.weight * self.noise.variance)))
        return math.sqrt(max(spread - least, least) + self.unknown)

    @cached_property
    def left_in_common(self) -> float:
        """The part of its variance that comes from errors which labels share; the items do not show it."""
        return max(float(self.noise.in_common(self._of_left)[0, 0]), 0.0)

    @property
    def _of_left(self) -> QuadraticSums:
        """The squares of the residuals about their mean, as a form of the labels."""
        return QuadraticSums(self.weight, (1.0, 1.0), (1.0, 1.0), np.stack([self.weight * self.about] * 2))

    def at(self, left: float) -> FloatArray:
        """Stand-ins whose residuals have this sum of squares."""
        if left <= 0 or self.size <= 0:
            return self.fit
        return self.fit + math.sqrt(left / self.size) * self.residual

    @property
    def values(self) -> FloatArray:
        return self.at(self.left)


def shrunk(y: FloatArray, p: FloatArray, errors: MeasurementError, weight: FloatArray | None, follows: bool) -> Shrunk:
    """Stand-ins for the truth behind the labels y; `follows`: fitted on the predictions, else on their offset."""
    predicted = errors.of_predictions() if follows else None
    errors = errors.of_labels() if follows else errors
    w = np.ones(y.size) if weight is None else weight
    noise = finite_noise(errors, y)
    d = errors.unbiased_label(y) - p
    total = float(w.sum())
    columns = [np.ones_like(p)]
    centred = p - float(w @ p) / total
    if follows and float(w @ np.square(centred)) > 0:
        columns.append(centred / np.sqrt(float(w @ np.square(centred)) / total))
    removed, residual, fit = float(w @ noise.total), d, p
    for z in columns:
        size = float(w @ np.square(z))
        part = float(w @ (z * residual)) / size * z
        residual, fit = residual - part, fit + part
        removed -= noise.product(w * z, w * z) / size
    square = float(w @ np.square(residual))
    left, unknown, prediction = square - removed, 0.0, p
    if predicted is not None:
        prediction = shrunk(p, np.zeros_like(p), predicted, weight, False).values
        fit, lost, unknown = _on_converged(errors.unbiased_label(y), p, prediction, predicted, w)
        left -= lost
    elif not np.any(noise.total > 0):
        return Shrunk(fit, residual, square, square, p, noise, w, residual)
    per_label = max(left, 0.0) / total
    keep = np.where(noise.variance > 0, per_label / np.maximum(per_label + noise.variance, 1e-300), 1.0)
    small = np.sqrt(keep) * residual if per_label > 0 else residual
    return Shrunk(fit, small, float(w @ np.square(small)), left, prediction, noise, w, residual, unknown)


def _on_converged(
    y: FloatArray, p: FloatArray, converged: FloatArray, errors: Normal, w: FloatArray
) -> tuple[FloatArray, float, float]:
    """Labels fitted on the predictions of the converged model instead of those with errors, which flatten the fit.

    Returns the fit, by how much less it leaves of the squares of the labels, and the variance of that.
    """
    about, q, true = (x - float(w @ x) / float(w.sum()) for x in (y, p, converged))
    product, seen, left = float(w @ (about * q)), float(w @ np.square(q)), float(w @ np.square(true))
    if left <= 0:
        raise UndefinedEstimate(NOTHING_PREDICTED)
    slope = product / left
    unknown = 4.0 * slope**2 * float(np.sum(np.square(w * errors.sigma * (about - slope * q))))
    return y - about + slope * true, product**2 * (1.0 / left - 1.0 / seen), unknown


class OverItems(NamedTuple):
    """Standard deviations over items drawn again."""

    left: float
    """Of the sum of squares that is left."""
    rest: float
    """Of the estimate at a fixed sum."""
    classical: float
    """Of the classical metric, on the scale where it is closest to normal."""


class StandIns:
    """The metric of stand-ins for the true values behind one set of labels."""

    def __init__(
        self, data: Measured, values: _Values, scale: RatioKind | None, low: float, high: float, follows: bool
    ) -> None:
        self._data, self._values, self._scale, self._follows = data, values, scale, follows
        self._low, self._high = low, high
        self._y, self._p = data.labels, data.predictions
        self._errors, self._w = data.errors, data.weight
        self._count = int(min(_MOST, max(_CELLS // data.n, _FEWEST)))
        self._predicted = data.errors.of_predictions() if follows else None
        """Errors of predictions that the metric does not see as a difference from the labels."""
        ratio = RatioOfLabels if self._predicted is None else RatioOfBoth
        if follows and not ratio(PEARSON_SUMS, data, -1.0, 1.0).shows_scatter():
            raise UndefinedEstimate(NOTHING_LEFT)

    def _metric(self, labels: FloatArray, prediction: FloatArray) -> float:
        return float(self._values(labels[None], prediction, self._w)[0])

    @cached_property
    def shrunk(self) -> Shrunk:
        return shrunk(self._y, self._p, self._errors, self._w, self._follows)

    @cached_property
    def value(self) -> float:
        """The metric against the truth."""
        return self._metric(self.shrunk.values, self.shrunk.prediction)

    def _with(self, left: float) -> float:
        """The metric if this sum of squares were left."""
        return self._metric(self.shrunk.at(left), self.shrunk.prediction)

    @cached_property
    def _about(self) -> FloatArray:
        """Stand-ins to measure again: with what could be left, where nothing seems to be."""
        return self.shrunk.at(max(self.shrunk.left, self.shrunk.left_std))

    # how well it is known ----------------------------------------------------------------------

    @cached_property
    def _part(self) -> tuple[StandIns, float]:
        """Stand-ins for part of very many labels, and how much more a metric of them scatters than that of all.

        Medians and maxima hang on few labels, so part of these does not show how they scatter.
        """
        step = self._y.size // _PART
        if step < 2 or not self._follows or not self._errors.independent:
            return self, 1.0
        every = slice(None, None, step)
        w = None if self._w is None else self._w[every]
        part = Measured(self._y[every], self._p[every], self._errors[every], w)
        if part.shares.size != np.count_nonzero(part.shares):
            return self, 1.0  # weights of 0 may leave few labels
        more = math.sqrt(float(np.sum(np.square(part.shares)) / np.sum(np.square(self._data.shares))))
        return StandIns(part, self._values, self._scale, self._low, self._high, self._follows), more

    @cached_property
    def _remaining(self) -> float:
        """Standard deviation of the estimate on labels measured again, the sum that is left apart."""
        part, more = self._part
        return float(np.std(part._moved(part._errors))) / more

    @cached_property
    def _shared_remaining(self) -> float:
        """What shared errors move the estimate by; items drawn again do not show it."""
        if self._errors.independent:
            return 0.0
        whole, alone = (float(np.var(self._moved(one))) for one in (self._errors, self._alone))
        return math.sqrt(max(whole - alone, 0.0))

    @cached_property
    def _alone(self) -> Normal:
        """The errors of the labels without what they share."""
        return Normal.trusted(np.sqrt(LabelNoise.of(self._errors.of_labels(), self._y).alone().variance))

    def _moved(self, errors: MeasurementError) -> FloatArray:
        """How far the estimate moves on labels measured again with such errors, the sum that is left apart."""
        apart = []
        for rows, predictions in self._labels_again(errors, self._count, np.random.default_rng(FIXED_SEED)):
            found = [
                shrunk(labels, p, self._errors, self._w, self._follows)
                for labels, p in zip(rows, np.broadcast_to(predictions, rows.shape), strict=True)
            ]
            again = self._values(
                np.stack([one.values for one in found]), np.stack([one.prediction for one in found]), self._w
            )
            kept = np.stack([self.shrunk.at(one.left) for one in found])
            apart.append(again - self._values(kept, np.broadcast_to(self.shrunk.prediction, kept.shape), self._w))
        return np.concatenate(apart)

    def _labels_again(
        self, errors: MeasurementError, count: int, rng: np.random.Generator, repeats: float | None = None
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """`_measured_again`, in batches of rows that fit into memory."""
        together = max(1, _TOGETHER // self._y.size)
        for start in range(0, count, together):
            yield self._measured_again(errors, min(together, count - start), rng, repeats)

    def _measured_again(
        self, errors: MeasurementError, count: int, rng: np.random.Generator, repeats: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Labels, and predictions where they err by themselves, that could have been at hand."""
        if self._predicted is None:
            return errors.measured_again(self._y, self._about, count, rng, repeats), self._p
        labels = errors.of_labels().measured_again(self._y, self._about, count, rng, repeats)
        return labels, self._predicted.sample(self.shrunk.prediction, count, rng)

    @cached_property
    def _over_items(self) -> OverItems:
        """From part of very many labels."""
        part, more = self._part
        found = part._items_drawn()
        return OverItems(found.left * more, found.rest / more, found.classical / more)

    def _items_drawn(self) -> OverItems:
        """`_over_items` of all labels, by drawing them."""
        rng = np.random.default_rng(FIXED_SEED)
        n, step, rows = self._y.size, max(1, _TOGETHER // self._y.size), []
        for start in range(0, self._count, step):
            picks = rng.integers(0, n, (min(step, self._count - start), n))
            if self._w is not None:
                picks = picks[np.any(self._w[picks] > 0, axis=1)]
            weights = [None if self._w is None else self._w[pick] for pick in picks]
            again = [
                shrunk(self._y[pick], self._p[pick], self._errors[pick], w, self._follows)
                for pick, w in zip(picks, weights, strict=True)
            ]
            stood = self._of_each([one.values for one in again], [one.prediction for one in again], weights)
            seen = self._of_each(list(self._y[picks]), list(self._p[picks]), weights)
            at = np.stack([self.shrunk.at(one.left) for one in again])
            kept = self._values(at, np.broadcast_to(self.shrunk.prediction, at.shape), self._w)
            scaled = [onto_scale(self._scale, float(one)) for one in seen]
            rows.append(np.stack([[one.left for one in again], stood - kept, scaled], axis=1))
        left, rest, seen = np.std(np.concatenate(rows), axis=0, ddof=1)
        return OverItems(float(left), float(rest), float(seen))

    def _of_each(
        self, labels: list[FloatArray], predictions: list[FloatArray], weights: list[FloatArray | None]
    ) -> FloatArray:
        """The metric of each of several sets of items; of all at once where they have no weights."""
        if self._w is None:
            return np.asarray(self._values(np.stack(labels), np.stack(predictions), None))
        each = zip(labels, predictions, weights, strict=True)
        return np.array([float(self._values(y[None], p, w)[0]) for y, p, w in each])

    def _interval(self, total: bool, level: float) -> Interval:
        """The interval of an estimate that depends on one poorly known number, the sum left, and has a scatter of its own."""
        if total:
            left = math.hypot(self._over_items.left, math.sqrt(self.shrunk.left_in_common))
            rest = math.hypot(self._over_items.rest, self._shared_remaining)
        else:
            left, rest = self.shrunk.left_std, self._remaining
        z = half_width_in_std(level, max(self._y.size - 1, 1) if total else math.inf)
        ends = [self._with(self.shrunk.left + c * z * left) - self.value for c in (-1.0, 1.0)]
        low = self.value - math.hypot(min(*ends, 0.0), z * rest)
        return kept_between(low, self.value + math.hypot(max(*ends, 0.0), z * rest), self._low, self._high)

    def truth(self) -> Estimate:
        """The metric against the truth with its intervals."""
        items, population = partial(self._interval, False), partial(self._interval, True)
        return Estimate(self.value, method="shrinkage", interval=items, total_interval=population)

    # the classical metric ----------------------------------------------------------------------

    def _fresh(
        self, repeats: float | None, errors: MeasurementError, seed: int, count: int | None = None
    ) -> FloatArray:
        """The classical metric on stand-ins that are measured again."""
        count, rng = count or min(10 * self._count, 1000), np.random.default_rng((FIXED_SEED, seed))
        again = self._labels_again(errors, count, rng, repeats)
        return np.concatenate([self._values(labels, predictions, self._w) for labels, predictions in again])

    @cached_property
    def label_std(self) -> float:
        """Standard deviation of the classical metric if the labels at hand were measured once more."""
        part, more = self._part
        return float(np.std(part._fresh(None, part._errors, 0))) / more

    @cached_property
    def shared_std(self) -> float:
        """What shared errors add to the scatter of the classical metric; the items do not show it."""
        if self._errors.independent:
            return 0.0
        return math.sqrt(max(self.label_std**2 - float(np.var(self._fresh(None, self._alone, 0))), 0.0))

    @cached_property
    def item_std(self) -> float:
        """Standard error of the classical metric over test sets."""
        pace = pace_on_scale(self._scale, self._metric(self._y, self._p))
        return math.hypot(self._over_items.classical * pace, self.shared_std)

    def remeasured(self, observed: float, repeats: float) -> Estimate:
        """The classical metric on fresh means of `repeats`: as far from the observed one as two measurements are."""
        same = bool(np.all(np.equal(repeats, self._errors.repeats)))
        part, more = self._part
        old, new = part._fresh(None, part._errors, 0), part._fresh(None if same else repeats, part._errors, 1)
        shift = 0.0 if same else float(np.mean(new) - np.mean(old))
        if part is not self and not same:  # of all labels a few draws show it, if both times they have the same errors
            few = (self._fresh(each, self._errors, 0, _FEW) for each in (repeats, None))
            shift = float(np.mean(np.subtract(*few)))
        value = min(max(observed + shift, self._low), self._high)
        old, new = (old - np.mean(old)) / more, (new - np.mean(new)) / more
        apart = np.subtract.outer(old, new).ravel()
        interval = partial(less_error, value, np.quantile(apart, np.linspace(0, 1, 2001)), self._low, self._high)
        return Estimate(value, float(np.hypot(np.std(new), np.std(old))), method="shrinkage", interval=interval)


def largest_truth(data: Measured, guess: float) -> Estimate:
    """The largest true error: `guess`, kept within its bounds."""
    low, high = _bounds_of_largest(data, ONE_SIGMA)
    value = min(max(guess, low), high)
    return Estimate(value, method="bounds", note=_BOUNDS, interval=partial(_bounds_of_largest, data))


def _bounds_of_largest(data: Measured, level: float) -> Interval:
    """Bounds of the largest true error.

    The item that has it is some item: its label is off by more than its own quantile with the probability of the tail, so
    the largest of |d| plus that quantile is an upper bound. From below it is at least |d| minus an error that none of the
    labels exceeds.
    """
    y, p = data.labels, data.predictions
    tail = (1.0 - level) / 2
    low, high = data.errors.truth_between(y, tail / 2)
    most = float(np.max(np.maximum(np.abs(low - p), np.abs(high - p))))
    low, high = data.errors.truth_between(y, -math.expm1(math.log1p(-tail) / y.size) / 2)
    least = np.where((low <= p) & (p <= high), 0.0, np.minimum(np.abs(low - p), np.abs(high - p)))
    return Interval(float(np.max(least)), most)


def possible_truths(
    y: FloatArray, errors: MeasurementError, weight: FloatArray | None, count: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """True values that could lie behind these labels: each drawn towards the mean, with what is not known about it.

    The labels' scatter shows that of the truth only to within chance, so the pull towards the mean is drawn as well. What
    the errors have in common moves all true values together.
    """
    w = np.ones(y.size) if weight is None else weight
    n, total = int(np.count_nonzero(w)), float(w.sum())
    noise = LabelNoise.of(errors, y)
    label = errors.unbiased_label(y)
    centre = float(w @ label) / total
    shift_variance = noise.product(w, w) / total**2
    own = float(w @ noise.total)
    variance = noise.total * (max(own - total * shift_variance, 0.0) / own if own > 0 else 1.0)
    shown = float(w @ np.square(label - centre)) / total
    scatter = np.maximum(shown - float(w @ variance) / total, 0.0) + variance
    pulled = (variance > 0) & (errors.kind != "berkson")
    pull = np.where(pulled, variance / np.maximum(scatter, 1e-300), 0.0)
    for _ in range(count):
        drawn = np.minimum(pull * rng.chisquare(max(n - 1, 1)) / max(n - 1, 1), 1.0)
        unknown = np.sqrt(variance * (1.0 - drawn)) * errors.standard_draws(y, rng)
        shift = math.sqrt(max(shift_variance, 0.0)) * rng.standard_normal()
        yield centre + (1.0 - drawn) * (label - centre) - unknown - shift
