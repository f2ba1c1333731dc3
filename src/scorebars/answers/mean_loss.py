"""Answers of an additive metric: the weighted mean of one loss over the labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import Affine, Symmetric
from scorebars.answers.population import next_test_set
from scorebars.answers.rescaled import TOO_LARGE, law_in_units
from scorebars.engines.totals import Totals, by_engine, totals
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.losses import Loss, RootLoss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.infinite import why_infinite
from scorebars.moments.label_part import label_part
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_SUBSAMPLE = 20_000
"""Above this many labels the part of the label errors is found from every k-th label."""
PERFECT = "expected score of a perfect model"
CHANGED = (
    "the arrays of this score were changed after it was computed, so nothing more can be derived from it. Compute the score "
    "again, or pass copies."
)


class MeanLoss(Answers):
    """Mean of a loss over labels with errors; subclasses know the law and the truth of their loss.

    Extreme magnitudes are divided by a power of two inside, so that no intermediate power leaves the doubles.
    """

    loss: Loss

    def __init__(self, declaration: Declaration, loss: Loss, data: Measured, totals: Totals) -> None:
        self.declaration, self.loss, self.n = declaration, loss, data.items
        self._data, self._totals = data, totals
        self._seen = data.fingerprint() if data.borrowed and not by_engine(loss, data) else ()
        self.observed = self._in_units(totals.observed)
        self.expected = self._in_units(totals.expected)

    @cached_property
    def kind(self) -> str:
        """Whether label = truth + error ("classical") or truth = label + error ("berkson"); labels stay on their device."""
        return self._data.errors.kind

    # units -------------------------------------------------------------------------------------

    def _in_units(self, value: float) -> float:
        """A value of the metric back from the units of the scaled data."""
        if self._totals.scale != 1.0:
            for _ in range(self.loss.degree or 0):
                value *= self._totals.scale
        return value

    @property
    def _unit(self) -> float:
        return self._in_units(1.0)

    def in_scaled_units(self) -> Self:
        """The same answers for data divided by `scale`, where no square leaves the doubles."""
        if self._totals.scale == 1.0:
            return self
        data = self._data.scaled(self._totals.scale)
        return type(self)(self.declaration, self.loss, data, self._totals._replace(scale=1.0))

    def _scaled_data(self) -> Measured:
        """The data in the units of `totals`; refuses arrays that were changed after the score was computed."""
        data = self._data.scaled(self._totals.scale)
        if self._data.borrowed and not self._unchanged():
            raise RuntimeError(CHANGED)
        return data

    def _unchanged(self) -> bool:
        if self._seen:
            return self._data.fingerprint() == self._seen
        return totals(self.loss, replace(self._data, shelf={})) == self._totals

    def _law_in_units(self, law: Law) -> Law:
        return law_in_units(law, self._unit)

    def _estimate(
        self,
        value: float,
        std: float,
        method: str,
        interval: Callable[[float], Interval],
        total: Callable[[float], Interval] | None = None,
        note: str = "",
    ) -> Estimate:
        """An estimate found in the units of the scaled data."""
        unit = self._unit
        if unit != 1.0:
            interval, total = Affine(interval, unit), None if total is None else Affine(total, unit)
        return Estimate(
            self._in_units(value),
            self._in_units(std),
            method=method,
            note=note,
            interval=interval,
            total_interval=total,
        )

    # what holds for every loss -----------------------------------------------------------------

    @property
    def std(self) -> float:
        return self._in_units(self._totals.std)

    @abstractmethod
    def _law(self, data: Measured) -> Law:
        """The law in scaled units."""

    def law(self) -> Law:
        return self._law_in_units(self._law(self._scaled_data()))

    @abstractmethod
    def _truth(self, data: Measured) -> Estimate:
        """Classical error: the score against the truth."""

    def truth(self) -> Estimate:
        return self._berkson_truth() if self.kind == "berkson" else self._truth(self._scaled_data())

    def _berkson_truth(self) -> Estimate:
        return berkson.truth(self, self._population_interval())

    @abstractmethod
    def _remeasured(self, data: Measured, repeats: float) -> Estimate: ...

    def remeasured(self, repeats: float) -> Estimate:
        if self.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        return self._remeasured(self._scaled_data(), repeats)

    def noise_share(self) -> float:
        here = self.in_scaled_units()  # squares may be too small for doubles in the user's units
        if here is not self:
            return here.noise_share()
        floor, observed = float(self.perfect()), self.observed
        if observed == 0:
            return 0.0 if floor == 0 else math.inf
        return floor / observed

    def _expected_losses(self, data: Measured) -> Iterator[tuple[FloatArray, FloatArray | None]]:
        for y, p, errors, weight in data.blocks():
            yield label_moments(self.loss, errors, y, p).mean, weight

    def _observed_losses(self, data: Measured) -> Iterator[tuple[FloatArray, FloatArray | None]]:
        for y, p, _, weight in data.blocks():
            yield self.loss(y, p), weight

    # the test set as a sample ------------------------------------------------------------------

    def sampling_std(self) -> float:
        """What the choice of items adds: the scatter of the observed losses without the part of the label errors.

        Under Berkson error the labels themselves do not scatter: the scatter of the expected losses.
        """
        if self.kind == "berkson":
            return self._expected_scatter()
        seen = self._observed_variance()
        if math.isinf(seen):
            return math.inf
        own, shared = self._label_variances()
        if not math.isfinite(own + shared):
            return math.inf
        # errors common to all labels move them together, so less of their variance is seen in the scatter
        return self._in_units(math.sqrt(max(seen - own + shared / (self.n - 1), 0.0)))

    def _expected_scatter(self) -> float:
        """Standard error over test sets of the mean expected loss."""
        if not math.isfinite(self._totals.expected):
            return math.inf
        data = self._scaled_data()
        return self._in_units(math.sqrt(sampling_variance(self._expected_losses(data), self._totals.expected, data)))

    def _observed_variance(self) -> float:
        """Variance of the observed score over test sets, from the scatter of its losses; in scaled units."""
        data = self._scaled_data()
        return sampling_variance(self._observed_losses(data), self._totals.observed, data)

    def _label_variances(self) -> tuple[float, float]:
        """What the label errors add to the variance of the observed score: each on its own, and what they share."""
        data = self._scaled_data()
        return self._own_variance(data), self._shared_variance(data)

    def _own_variance(self, data: Measured) -> float:
        """As if the errors of the labels were independent; very many labels are represented by every k-th."""
        pick = slice(None, None, max(1, data.n // _SUBSAMPLE))
        y, p, a = np.asarray(data.y[pick], float), np.asarray(data.p[pick], float), data.shares[pick]
        counts = a > 0
        if not counts.all():
            y, p, a, errors = y[counts], p[counts], a[counts], data.errors[pick][counts]
        else:
            errors = data.errors[pick]
        with np.errstate(invalid="ignore"):
            total = float(np.sum(np.square(a) * label_part(self.loss, errors, y, p))) * data.n / len(data.shares[pick])
        return math.inf if math.isnan(total) else max(total, 0.0)

    def _shared_variance(self, data: Measured) -> float:
        """What correlated errors add; the scatter of the items does not show it."""
        if data.errors.independent:
            return 0.0
        a = data.shares
        own = label_moments(self.loss, data.errors, np.asarray(data.y, float), np.asarray(data.p, float)).variance
        return max(self._totals.std**2 - float(np.sum(np.square(a) * own, where=a > 0)), 0.0)

    def item_deviations(self) -> FloatArray:
        """How much each item moves the score: its share times its loss less the mean loss."""
        data, berkson = self._scaled_data(), self.kind == "berkson"
        losses = self._expected_losses(data) if berkson else self._observed_losses(data)
        centre = self._totals.expected if berkson else self._totals.observed
        return data.shares * (np.concatenate([x for x, _ in losses]) - centre) * self._unit

    def _around_expected(self, std: float) -> Symmetric:
        return Symmetric(self.expected, std, self.declaration.low, self.declaration.high, max(self.n - 1, 1))

    def _population_interval(self) -> Symmetric:
        """Berkson error: of the population's expected score; correlated errors do not average out over items."""
        return self._around_expected(
            math.hypot(self._expected_scatter(), 0.0 if self._data.errors.independent else self.std)
        )

    def total_interval(self, level: float) -> Interval:
        """Centred on the observed score, whose losses hold the label errors already (Berkson: on the expected one)."""
        if self.kind == "berkson":  # this test set and the next one are both samples
            return self._around_expected(math.hypot(math.sqrt(2.0) * self._expected_scatter(), self.std))(level)
        return self._next_test_set()(level)

    def _next_test_set(self) -> Callable[[float], Interval]:
        seen, shared = (self._in_units(math.sqrt(v)) for v in (self._observed_variance(), self._shared_part()))
        return next_test_set(self.observed, seen, self.declaration, self.n, shared)

    def _shared_part(self) -> float:
        """The variance that labels have in common, in scaled units."""
        return 0.0 if self._data.errors.independent else self._shared_variance(self._scaled_data())

    def root_exists(self) -> bool:
        """Whether the root of the metric has a mean: it has if the root of each label's loss has one."""
        if math.isfinite(self._totals.expected):
            return True
        data = self._scaled_data()
        roots = label_moments(RootLoss(self.loss), data.errors, np.asarray(data.y, float), np.asarray(data.p, float))
        return bool(np.all(np.isfinite(roots.mean[data.shares > 0])))

    def why_undefined(self) -> str:
        if math.isfinite(self._totals.expected + self._totals.std):
            return TOO_LARGE
        data = self._data
        y, p = np.asarray(data.y, float), np.asarray(data.p, float)
        return why_infinite(self.loss, data.errors, y, p)

    def warnings(self) -> list[str]:
        found = []
        if self.observed < self.perfect().interval(0.99).low:
            found.append(
                "the observed score is below the noise floor: the label errors are overstated, or the model has seen "
                "these labels."
            )
        elif self.noise_share() > 0.5:
            found.append("more than half of the observed error is label error: better labels would tell more.")
        return found


def sampling_variance(terms: Iterator[tuple[FloatArray, FloatArray | None]], centre: float, data: Measured) -> float:
    """Variance of a weighted mean over test sets of this size: sum w^2 (x - centre)^2 / W^2, corrected for one mean.

    One label says nothing about the scatter of labels: infinite then.
    """
    if data.items < 2:
        return math.inf
    total = 0.0
    for x, weight in terms:
        share = 1.0 / data.n if weight is None else weight / data.total_weight
        deviation = share * (x - centre)
        if data.outputs > 1:
            deviation = deviation.reshape(-1, data.outputs).sum(axis=1)
        total += float(np.add.reduce(np.square(deviation)))
    return total * data.items / (data.items - 1)
