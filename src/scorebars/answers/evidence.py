"""What is kept of the labels for the answers: the labels themselves, or only sums and bins of them.

A family asks its evidence for sums, bins or labels and does not care where these came from: arrays in memory or on a device
are a `Measured`, streamed labels are a `Store`. Whatever needs labels that are gone fails here, in one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, cast

import numpy as np

from scorebars.answers.score import UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.engines import BadValues
from scorebars.engines.bins import Labels
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.engine import Changed, higher_sums, normal_sums, over_chunks, threads
from scorebars.engines.on_device import OnDevice
from scorebars.engines.score_terms import score_terms
from scorebars.engines.store import Hits, Store, chances_of, summarise
from scorebars.engines.sums import TINY, HigherSums, NormalSums
from scorebars.errors import MeasurementError, Normal
from scorebars.forecasts import Forecast
from scorebars.laws.law import Law
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError, Within
from scorebars.measured import SAFE, Measured, unit_for
from scorebars.moments import label_moments
from scorebars.moments.correlated import correlated_variance
from scorebars.moments.representatives import representatives

_MANY = 8192
"""From this many labels on distributions are built from bins, in flat memory."""
NOT_KEPT = (
    "{what} needs all labels at once, and these were summed up as they came (more than an accumulator keeps). Use "
    "scorebars.evaluate, or the metric itself, on arrays."
)
_CHANGED = (
    "the arrays of this score were changed after it was computed, so nothing more can be derived from it. Compute the score "
    "again, or pass copies."
)
_SUMS = {"engine sums": False, "engine sums of corrected errors": True}
"""Names under which data keep their sums, and whether these are the sums for absolute errors."""


class Evidence:
    """Labels, or the sums and bins that were kept of labels with independent normal errors."""

    data: Measured | None
    _summary: Store | None
    plain: bool
    """Whether errors are normal and independent; labels stay on their device."""
    repeats: FloatArray | float
    _trace: tuple[str | None, tuple[float, ...]] | None
    """What shows whether the user's own arrays were changed: the sums kept under a name, or (None) the arrays' fingerprint."""

    def __init__(self, kept: Measured | Store, kind: str = "classical", totals: NormalSums | None = None) -> None:
        """`totals`: the sums of the metric that asks, where they are known already."""
        self._totals = totals
        self._trace = None
        self.kept = isinstance(kept, Measured)
        """Whether the labels are at hand."""
        if not isinstance(kept, Measured):
            self.data, self._summary = None, kept
            self.n, self.kind, self.plain, self.repeats = kept.sums.n, kind, True, 1.0
            return
        data = self.data = kept
        self._summary = None
        self.n, self.kind, self.plain = data.items, data.kind, data.plain_normal
        self.repeats = 1.0 if data.on_device else data.errors.repeats
        if data.borrowed:  # sums or the arrays themselves show whether they were changed
            key = next((name for name in _SUMS if name in data.shelf), None)
            self._trace = key, data.fingerprint() if key is None else _fingerprint(data.shelf[key])

    def labels(self, what: str) -> Measured:
        """The labels, for an answer that needs them; refuses arrays that were changed since the score was made."""
        data = self.data
        if data is None:
            raise UndefinedEstimate(NOT_KEPT.format(what=what))
        if self._trace is not None:
            key, seen = self._trace
            if seen != (data.fingerprint() if key is None else _fingerprint(_sums_again(data, key))):
                raise RuntimeError(_CHANGED)
        return data

    @property
    def independent(self) -> bool:
        """Whether the errors of different labels are independent."""
        return self.data is None or self.plain or self.data.errors.independent

    @property
    def unweighted(self) -> bool:
        """Whether all labels count alike."""
        return self.sums.w == self.sums.w2 == self.n if self.data is None else self.data.weight is None

    # sums and bins -----------------------------------------------------------------------------

    @property
    def sums(self) -> NormalSums:
        """The engine's sums, of independent normal errors."""
        return sums_of(self.data) if self._summary is None else self._summary.sums  # type: ignore[arg-type]

    def totals(self, loss: Loss) -> Totals:
        """Observed and expected mean loss and its std."""
        if self._totals is not None:
            return from_sums(loss, self._totals)
        if self.data is not None:
            return totals_of(loss, self.data)
        return from_sums(loss, self._hits.sums if isinstance(loss, Within) else self.sums)

    @property
    def _hits(self) -> Hits:
        assert self._summary is not None and self._summary.hits is not None
        return self._summary.hits

    def law_of_many(
        self, need: str, by_sums: Callable[[HigherSums], Law | None], by_bins: Callable[[Store], Law]
    ) -> Law | None:
        """The distribution of a metric of very many labels; None where they are few or err in other ways.

        It comes from sums that a second pass over the labels adds to the first. Where a few labels have most of the errors,
        or the labels are gone, it comes from bins.
        """
        data, law = self.data, None
        if data is not None and self._very_many:
            key = f"higher sums: {need}"
            if key not in data.shelf:
                ask = data.higher_sums if isinstance(data, OnDevice) else partial(self._higher_sums, data)
                data.shelf[key] = ask(need)
            law = None if data.shelf[key] is None else by_sums(data.shelf[key])
        if law is None and (summary := self.summary(need)) is not None:
            law = by_bins(summary)
        return law

    def _higher_sums(self, data: Measured, need: str) -> HigherSums | None:
        """On the host; the pass tells also whether the arrays were changed since the score was made."""
        sums, errors = sums_of(data, labels=need == "ratio"), cast(Normal, data.errors.normal)
        if self._trace is not None and (self._trace[0] is None or self._trace[1][:3] != _fingerprint(sums)[:3]):
            self.labels(need)
        try:
            return higher_sums(data.y, data.p, errors.sigma, data.weight, need, sums)
        except Changed:
            raise RuntimeError(_CHANGED) from None

    def summary(self, need: str) -> Store | None:
        """Bins for a distribution ("squares", "absolute", "ratio"); None for few labels and for other errors."""
        data = self.data
        if data is None:
            return self._summary
        if not self._fits_bins:
            return None
        key = f"summary: {need}"
        if isinstance(data, OnDevice) and key not in data.shelf and (found := data.summary(need)) is not None:
            data.shelf[key] = found
        if key not in data.shelf:
            self.labels(need)
            sums, errors = sums_of(data, labels=need == "ratio"), cast(Normal, data.errors.normal)
            try:
                data.shelf[key] = summarise(Labels(data.y, data.p, errors.sigma, data.weight), {need}, sums=sums)
            except OverflowError:  # extreme magnitudes, which the distributions of the labels themselves can take
                data.shelf[key] = None
        return cast("Store | None", data.shelf[key])

    @property
    def _very_many(self) -> bool:
        """Whether there are very many labels of plain normal errors, each measured once, and numbers predicted for them."""
        data = self.data
        if data is None or data.n < _MANY or not data.plain_normal:
            return False
        if data.on_device:
            return True
        if isinstance(data.p, Forecast):
            return False
        errors = cast(Normal, data.errors.normal)
        return not errors.estimated and np.ndim(errors.repeats) == 0 and bool(errors.repeats == 1)

    @property
    def _fits_bins(self) -> bool:
        """Whether bins can read these labels as they lie in memory."""
        data = self.data
        if data is None or not self._very_many or data.on_device:
            return data is not None and self._very_many
        return all(map(_readable, (data.y, data.p, cast(Normal, data.errors.normal).sigma, data.weight)))

    def chances(self, tolerance: float, perfect: bool) -> ClassCounts | None:
        """How many labels have which chance to be within a tolerance; None for few labels, weights and other errors."""
        data = self.data
        if data is None:
            return self._hits.ideal if perfect else self._hits.chances
        if data.weight is not None or not self._fits_bins:
            return None
        self.labels("the share within a tolerance")
        y, p = (np.broadcast_to(0.0, data.n),) * 2 if perfect else (data.y, data.p)
        return chances_of(y, p, cast(Normal, data.errors.normal).sigma, tolerance)

    # means over labels -------------------------------------------------------------------------

    def scatter(self, loss: Loss, expected: bool, centre: float) -> float:
        """Variance over test sets of the mean observed (or expected) loss, from its scatter over the items."""
        if self.data is not None:
            return sampling_variance(self.labels("the scatter of the items"), losses_of(loss, expected), centre)
        return self.scatter_of_sums(*self._loss_sums(loss, expected), centre)

    def scatter_of_sums(self, square: float, single: float, centre: float) -> float:
        """Variance over test sets of a mean of x, from sum w^2 x^2 = square and sum w^2 x = single."""
        s = self._summary.sums  # type: ignore[union-attr]
        if self.n < 2:
            return math.inf
        around = square - 2.0 * centre * single + centre * centre * s.w2
        return max(around, 0.0) / s.w**2 * self.n / (self.n - 1)

    def _loss_sums(self, loss: Loss, expected: bool) -> tuple[float, float]:
        """sum w^2 x^2 and sum w^2 x of the labels' losses x."""
        assert self._summary is not None
        s = self._summary.sums
        if isinstance(loss, SquaredError):
            return (s.loss2_sq, s.lossw_sq) if expected else (s.fourth_w2, s.sq_w2)
        if isinstance(loss, AbsoluteError):
            return (s.loss2_abs, s.expabs_w2) if expected else (s.sq_w2, self._summary.abs_w2)
        if isinstance(loss, SignedError):
            return s.sq_w2, s.d_w2
        hits = self._hits.sums  # P^2 = P - P (1 - P)
        return (hits.within_p - hits.within_var_w2, hits.within_p) if expected else (hits.within, hits.within)


# one pass over the labels ---------------------------------------------------------------------------

Totals = tuple[float, float, float]
"""Observed and expected metric and its std."""


def unit_and_sums(loss: Loss, data: Measured) -> tuple[Measured, float, NormalSums | None]:
    """The data, the power of two to divide them by (1 for ordinary ones), and the engine's sums where they give the totals.

    Says which value is bad where one is not finite or negative. Labels without weight that are too large are replaced.
    """
    if by_engine(loss, data):
        with suppress(BadValues):  # or numbers whose squares leave the doubles
            sums = _sums_for(loss, data)
            larger, smaller = max(sums.max_abs_d, sums.max_sigma), min(sums.max_abs_d, sums.max_sigma)
            usual = 1.0 / SAFE < larger < SAFE and (smaller == 0 or smaller >= TINY)
            return data, 1.0 if usual else unit_for(larger, smaller), sums
    data.require_valid()
    data = data.with_weightless_labels_replaced()
    return data, data.find_scale() if loss.degree else 1.0, None


def totals_of(loss: Loss, data: Measured) -> Totals:
    """Observed and expected mean loss and its std."""
    return from_sums(loss, _sums_for(loss, data)) if by_engine(loss, data) else in_blocks(loss, data)


def _sums_for(loss: Loss, data: Measured) -> NormalSums:
    return sums_of(data, type(loss) is AbsoluteError, tolerance=loss.tolerance if type(loss) is Within else None)


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
    return type(loss) in _FROM_SUMS and data.plain_normal


def from_sums(loss: Loss, sums: NormalSums) -> Totals:
    """Totals of the squared, absolute or signed error, or of those within a tolerance, from the engine's sums."""
    observed, expected, variance = _FROM_SUMS[type(loss)](sums)
    return observed / sums.w, expected / sums.w, math.sqrt(max(variance, 0.0)) / sums.w


_FROM_SUMS: dict[type[Loss], Callable[[NormalSums], tuple[float, float, float]]] = {
    SquaredError: lambda s: (s.sq, s.sq + s.var, 2.0 * s.var2_w2 + 4.0 * s.sqvar_w2),
    AbsoluteError: lambda s: (s.abs, s.abs + s.fold, s.foldvar_w2),
    SignedError: lambda s: (s.d, s.d, s.var_w2),
    Within: lambda s: (s.within, s.within_p, s.within_var_w2),
}


def in_blocks(loss: Loss, data: Measured) -> Totals:
    """Totals for errors of any kind, label by label; forecasts cost more and use several threads."""
    alike = data.weight is None and not data.on_device
    few = representatives(loss, data.errors, data.labels, data.predictions) if alike else None
    if few is not None:
        mean, variance = few.totals()
        seen = weighted_mean(data, lambda y, p, _: loss(y, p))
        return seen, mean / data.n, math.sqrt(max(variance, 0.0)) / data.n
    if isinstance(data.p, Forecast) and data.plain_normal:
        step = data.step
        parts = over_chunks(
            lambda start, stop: _in_block(loss, data.block(slice(start, stop))), data.n, threads(), step
        )
    else:
        parts = [_in_block(loss, block) for block in data.blocks()]
    observed, expected, variance = (math.fsum(column) / data.total_weight for column in zip(*parts, strict=True))
    if data.errors.independent:
        return observed, expected, math.sqrt(variance / data.total_weight)
    return observed, expected, math.sqrt(max(correlated_variance(loss, data), 0.0))


def _in_block(loss: Loss, block: tuple[FloatArray, Any, MeasurementError, FloatArray | None]) -> list[float]:
    """Sums of w loss, w mean and w^2 variance over a block; a label that does not count may be infinite."""
    y, p, errors, weight = block
    seen, mean, spread = score_terms(loss, errors, y, p)
    if weight is None and isinstance(p, Forecast):
        return [float(np.add.reduce(x)) for x in (seen, mean, spread)]
    w = np.ones(len(y)) if weight is None else weight
    with np.errstate(invalid="ignore"):
        each = w * seen, w * mean, np.square(w) * spread
    return [float(np.add.reduce(x, where=w > 0)) for x in each]


Terms = Callable[[FloatArray, FloatArray, MeasurementError], FloatArray]


def losses_of(loss: Loss, expected: bool) -> Terms:
    """The observed loss of each label, or the expected one."""
    return lambda y, p, errors: label_moments(loss, errors, y, p).mean if expected else loss(y, p)


def weighted_terms(data: Measured, terms: Terms) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """A number for each label, with its weight, block by block."""
    for y, p, errors, weight in data.blocks():
        yield terms(y, p, errors), weight


def weighted_mean(data: Measured, terms: Terms) -> float:
    """The weighted mean of a number of each label; a label that does not count may be infinitely bad."""
    found = weighted_terms(data, terms)
    parts = (float(np.add.reduce(x if w is None else np.where(w > 0, w * x, 0.0))) for x, w in found)
    return math.fsum(parts) / data.total_weight


def variance_of_mean(data: Measured, variances: Terms) -> float:
    """sum a^2 x, with the share a of each label in the mean: the variance of a mean from those of independent terms."""
    found = weighted_terms(data, variances)
    parts = (float(np.add.reduce(x if w is None else np.where(w > 0, w * w * x, 0.0))) for x, w in found)
    return math.fsum(parts) / data.total_weight**2


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


def _sums_again(data: Measured, key: str) -> NormalSums:
    return sums_of(data.changed(), _SUMS[key], labels=not math.isnan(data.shelf[key].y_shift))


def _fingerprint(sums: NormalSums) -> tuple[float, ...]:
    """Sums that differ once an array was changed, as `Measured.fingerprint` has them of the arrays themselves."""
    return tuple(x for x in (sums.d, sums.sq, sums.var, sums.y1, sums.y2) if not math.isnan(x))


def _readable(column: Any) -> bool:
    """Whether the bins can read a column as it lies in memory."""
    return not isinstance(column, np.ndarray) or (column.dtype == np.float64 and column.flags.c_contiguous)
