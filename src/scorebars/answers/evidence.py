"""What is kept of the labels for the answers: the labels themselves, or only sums and bins of them.

A family asks its store for sums, bins or labels and does not care where these came from: arrays in memory or on a device
are a `Measured`, streamed labels are a `Store`. Whatever needs labels that are gone fails here, in one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.engines import BadValues
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.engine import normal_sums
from scorebars.engines.on_device import OnDevice
from scorebars.engines.store import Hits, Store, chances_of, summarise
from scorebars.engines.sums import NormalSums
from scorebars.errors import MeasurementError
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError, Within
from scorebars.measured import Measured, near_one
from scorebars.moments import label_moments
from scorebars.moments.correlated import correlated_variance
from scorebars.score import UndefinedEstimate

_MANY = 8192
"""From this many labels on distributions are built from bins, in flat memory."""
NOT_KEPT = (
    "{what} needs all labels at once, and these were summed up as they came (more than an accumulator keeps). Use "
    "scorebars.evaluate, or the metric itself, on arrays."
)
CHANGED = (
    "the arrays of this score were changed after it was computed, so nothing more can be derived from it. Compute the score "
    "again, or pass copies."
)
_SUMS = {"engine sums": False, "engine sums of corrected errors": True}
"""Names under which data keep their sums, and whether the errors in them are those of absolute errors."""


class Evidence:
    """Labels, or a summary of labels with independent normal errors."""

    def __init__(self, kept: Measured | Store, kind: str = "classical") -> None:
        self.data = kept if isinstance(kept, Measured) else None
        self._summary = None if isinstance(kept, Measured) else kept
        self.n, self.kind = (kept.items, kept.kind) if isinstance(kept, Measured) else (kept.sums.n, kind)
        self._seen, self._seen_by = ((), None) if self.data is None else _traces(self.data)

    # labels ------------------------------------------------------------------------------------

    @property
    def kept(self) -> bool:
        """Whether the labels are at hand."""
        return self.data is not None

    def labels(self, what: str) -> Measured:
        """The labels, for an answer that cannot do without; refuses arrays that were changed since the score was made."""
        data = self.data
        if data is None:
            raise UndefinedEstimate(NOT_KEPT.format(what=what))
        if data.borrowed and self._seen != _traces_again(data, self._seen_by):
            raise RuntimeError(CHANGED)
        return data

    @property
    def plain(self) -> bool:
        """Whether errors are normal and independent; labels stay on their device."""
        return self.data is None or self.data.plain_normal

    @property
    def independent(self) -> bool:
        """Whether the errors of different labels are independent."""
        return self.data is None or self.data.plain_normal or self.data.errors.independent

    @property
    def repeats(self) -> FloatArray | float:
        """How many repeats each label is the mean of."""
        return 1.0 if self.data is None else self.data.errors.repeats

    @cached_property
    def unweighted(self) -> bool:
        """Whether all labels count alike."""
        if self.data is not None:
            return self.data.weight is None
        return self.sums.w == self.sums.w2 == self.n

    # sums and bins -----------------------------------------------------------------------------

    @property
    def sums(self) -> NormalSums:
        """The engine's sums, of independent normal errors."""
        return sums_of(self.data) if self._summary is None else self._summary.sums  # type: ignore[arg-type]

    def totals(self, loss: Loss) -> Totals:
        """Observed and expected mean loss and its std."""
        if self.data is not None:
            return one_pass(loss, self.data)
        return from_sums(loss, self._hits.sums if isinstance(loss, Within) else self.sums)

    @property
    def _hits(self) -> Hits:
        assert self._summary is not None and self._summary.hits is not None
        return self._summary.hits

    def summary(self, need: str) -> Store | None:
        """Bins for a distribution ("squares", "absolute", "ratio"); None where labels are few or err in other ways."""
        data = self.data
        if data is None:
            return self._summary
        if not self._many:
            return None
        key = f"summary: {need}"
        if key not in data.shelf:
            self.labels(need)
            sums, normal = sums_of(data, labels=need == "ratio"), data.errors.normal
            assert normal is not None
            try:
                data.shelf[key] = summarise(data.y, data.p, normal.sigma, data.weight, {need}, sums=sums)
            except OverflowError:  # extreme magnitudes, which the distributions of the labels themselves can take
                data.shelf[key] = None
        found: Store | None = data.shelf[key]
        return found

    @property
    def _many(self) -> bool:
        """Whether there are very many labels of plain normal errors, which the bins can read as they lie in memory."""
        data = self.data
        if data is None or data.n < _MANY or not data.plain_normal:
            return False
        errors = data.errors.normal
        assert errors is not None
        single = not errors.estimated and np.ndim(errors.repeats) == 0 and errors.repeats == 1
        return single and all(map(_readable, (data.y, data.p, errors.sigma, data.weight)))

    def chances(self, tolerance: float, perfect: bool) -> ClassCounts | None:
        """Chances of the labels to be within a tolerance, counted; None where labels are few, weighted or err otherwise."""
        data = self.data
        if data is None:
            return self._hits.ideal if perfect else self._hits.chances
        if data.weight is not None or not self._many:
            return None
        self.labels("the share within a tolerance")
        y, p = (np.broadcast_to(0.0, data.n),) * 2 if perfect else (data.y, data.p)
        return chances_of(y, p, data.errors.normal.sigma, tolerance)  # type: ignore[union-attr]

    # means over labels -------------------------------------------------------------------------

    def scatter(self, loss: Loss, expected: bool, centre: float) -> float:
        """Variance over test sets of the mean observed (or expected) loss, from its scatter over the items."""
        if self.data is not None:

            def terms(y: FloatArray, p: FloatArray, errors: MeasurementError) -> FloatArray:
                return label_moments(loss, errors, y, p).mean if expected else loss(y, p)

            return sampling_variance(self.labels("the scatter of the items"), terms, centre)
        return self.scatter_of_sums(*self._loss_sums(loss, expected), centre)

    def scatter_of_sums(self, square: float, single: float, centre: float) -> float:
        """The same from sum w^2 x^2 = square and sum w^2 x = single."""
        s = self._summary.sums  # type: ignore[union-attr]
        if self.n < 2:
            return math.inf
        around = square - 2.0 * centre * single + centre * centre * s.w2
        return max(around, 0.0) / s.w**2 * self.n / (self.n - 1)

    def _loss_sums(self, loss: Loss, expected: bool) -> tuple[float, float]:
        """sum w^2 x^2 and sum w^2 x of the labels' losses x."""
        of = self._summary
        assert of is not None
        s = of.sums
        if isinstance(loss, SquaredError):
            return (s.loss2_sq, s.lossw_sq) if expected else (s.fourth_w2, s.sq_w2)
        if isinstance(loss, AbsoluteError):
            return (s.loss2_abs, s.lossw_abs) if expected else (s.sq_w2, of.abs_w2)
        if isinstance(loss, SignedError):
            return s.loss2_d, s.lossw_d
        hits = self._hits.sums  # P^2 = P - P (1 - P)
        return (hits.within_p - hits.within_var_w2, hits.within_p) if expected else (hits.within, hits.within)


# one pass over the labels ---------------------------------------------------------------------------


def one_pass(loss: Loss, data: Measured) -> Totals:
    """Observed and expected mean loss and its std; says which value is bad where one is not finite or negative."""
    if not by_engine(loss, data):
        data.require_valid()
        return in_blocks(loss, data)
    try:
        return by_one_pass(loss, data)
    except BadValues:
        data.require_valid()
        raise OverflowError(
            "the values are finite but their squares leave the range of doubles: choose another unit for y_true, "
            "y_pred and yerr."
        ) from None


class Totals(NamedTuple):
    """Observed and expected metric and its std, in units in which labels were divided by `scale`."""

    observed: float
    expected: float
    std: float
    scale: float = 1.0


def by_one_pass(loss: Loss, data: Measured) -> Totals:
    """Of independent normal errors."""
    if type(loss) is Within:
        return from_sums(loss, sums_of(data, tolerance=loss.tolerance))
    return from_sums(loss, sums_of(data, type(loss) is AbsoluteError))


def sums_of(
    data: Measured, absolute: bool = False, *, labels: bool = False, tolerance: float | None = None
) -> NormalSums:
    """The engine's sums, once for all metrics that ask for the same data object."""
    if isinstance(data, OnDevice):
        return data.sums_of(labels, tolerance)
    errors: Any = data.errors
    raised = absolute and errors.scatter is not None
    sigma = errors.absolute_sd if raised else errors.sigma
    key = "engine sums of corrected errors" if raised else "engine sums"
    found: NormalSums | None = data.shelf.get(key)
    if found is None or (labels and math.isnan(found.y_shift)) or (tolerance not in (None, found.tolerance)):
        found = normal_sums(data.y, data.p, sigma, data.weight, tolerance, labels=labels)
        data.shelf[key] = found
    return found


def by_engine(loss: Loss, data: Measured) -> bool:
    """Whether the engine's sums give the totals of this loss; it sees bad values by itself."""
    return (type(loss) in _FROM_SUMS or type(loss) is Within) and data.plain_normal


def from_sums(loss: Loss, sums: NormalSums) -> Totals:
    """Totals of the squared, absolute or signed error, or of those within a tolerance, from the engine's sums."""
    if isinstance(loss, Within):
        return Totals(sums.within / sums.w, sums.within_p / sums.w, math.sqrt(sums.within_var_w2) / sums.w)
    observed, expected, variance = _FROM_SUMS[type(loss)](sums)
    largest = max(sums.max_abs_d, sums.max_sigma)
    unit = 1.0 if 1e-15 < largest < 1e15 else near_one(largest)
    size = sums.w if unit == 1.0 else sums.w * unit ** (loss.degree or 0)
    return Totals(observed / size, expected / size, math.sqrt(max(variance, 0.0)) / size, sums.scale * unit)


def _squared(s: NormalSums) -> tuple[float, float, float]:
    return s.sq, s.sq + s.var, 2.0 * s.var2_w2 + 4.0 * s.sqvar_w2


def _absolute(s: NormalSums) -> tuple[float, float, float]:
    return s.abs, s.abs + s.fold, s.foldvar_w2


def _signed(s: NormalSums) -> tuple[float, float, float]:
    return s.d, s.d, s.var_w2


_FROM_SUMS = {SquaredError: _squared, AbsoluteError: _absolute, SignedError: _signed}


def in_blocks(loss: Loss, data: Measured) -> Totals:
    """Of any errors, label by label."""
    scale = data.find_scale() if loss.degree else 1.0
    data = data.scaled(scale)
    observed, expected, variance = [], [], []
    for y, p, errors, weight in data.blocks():
        seen, moments = loss(y, p), label_moments(loss, errors, y, p)
        w = np.ones(len(y)) if weight is None else weight
        counts = w > 0  # a label that does not count may be infinitely bad
        observed.append(float(np.add.reduce(w * seen, where=counts)))
        with np.errstate(invalid="ignore"):
            expected.append(float(np.add.reduce(w * moments.mean, where=counts)))
            variance.append(float(np.add.reduce(np.square(w) * moments.variance, where=counts)))
    total = data.total_weight
    spread = math.sqrt(math.fsum(variance)) / total
    if not data.errors.independent:
        spread = math.sqrt(max(correlated_variance(loss, data), 0.0))
    return Totals(math.fsum(observed) / total, math.fsum(expected) / total, spread, scale)


Terms = Callable[[FloatArray, FloatArray, MeasurementError], FloatArray]


def weighted_terms(data: Measured, terms: Terms) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """A number for each label, with its weight, block by block."""
    for y, p, errors, weight in data.blocks():
        yield terms(y, p, errors), weight


def weighted_mean(data: Measured, terms: Terms) -> float:
    """The weighted mean of a number of each label; a label that does not count may be infinitely bad."""
    parts = (
        float(np.add.reduce(x if w is None else np.where(w > 0, w * x, 0.0))) for x, w in weighted_terms(data, terms)
    )
    return math.fsum(parts) / data.total_weight


def sampling_variance(data: Measured, terms: Terms, centre: float) -> float:
    """Variance of a weighted mean over test sets of this size: sum w^2 (x - centre)^2 / W^2, corrected for one mean.

    One item says nothing about the scatter of items: infinite then.
    """
    if data.items < 2:
        return math.inf
    total = 0.0
    for x, weight in weighted_terms(data, terms):
        deviation = (1.0 / data.n if weight is None else weight / data.total_weight) * (x - centre)
        if data.outputs > 1:
            deviation = deviation.reshape(-1, data.outputs).sum(axis=1)
        total += float(np.add.reduce(np.square(deviation)))
    return total * data.items / (data.items - 1)


def _traces(data: Measured) -> tuple[tuple[float, ...], str | None]:
    """Numbers that differ once an array was changed, and the sums they were taken from (None: arrays were added up)."""
    if not data.borrowed:
        return (), None
    key = next((name for name in _SUMS if name in data.shelf), None)
    return (data.fingerprint(), None) if key is None else (_few(data.shelf[key]), key)


def _traces_again(data: Measured, key: str | None) -> tuple[float, ...]:
    if key is None:
        return data.fingerprint()
    afresh = Measured(data.y, data.p, data.errors, data.weight, data.outputs)
    return _few(sums_of(afresh, _SUMS[key], labels=not math.isnan(data.shelf[key].y_shift)))


def _few(sums: NormalSums) -> tuple[float, ...]:
    return tuple(x for x in (sums.d, sums.sq, sums.var, sums.y1, sums.y2) if not math.isnan(x))


def _readable(column: Any) -> bool:
    """Whether the bins can read a column as it lies in memory."""
    return not isinstance(column, np.ndarray) or (column.dtype == np.float64 and column.flags.c_contiguous)
