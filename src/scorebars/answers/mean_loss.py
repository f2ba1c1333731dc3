"""Answers of an additive metric: the weighted mean of one loss over the labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import Affine, Symmetric
from scorebars.answers.rescaled import TOO_LARGE, law_in_units
from scorebars.engines.totals import Totals, by_engine, totals
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.losses import Loss, RootLoss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.infinite import why_infinite
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

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
        return self._berkson_truth() if self._data.errors.kind == "berkson" else self._truth(self._scaled_data())

    def _berkson_truth(self) -> Estimate:
        return berkson.truth(self, self._population_interval())

    @abstractmethod
    def _remeasured(self, data: Measured, repeats: float) -> Estimate: ...

    def remeasured(self, repeats: float) -> Estimate:
        if self._data.errors.kind == "berkson":
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

    def sampling_std(self) -> float:
        if not math.isfinite(self._totals.expected):
            return math.inf
        data = self._scaled_data()
        return self._in_units(math.sqrt(sampling_variance(self._expected_losses(data), self._totals.expected, data)))

    def _around_expected(self, std: float) -> Symmetric:
        return Symmetric(self.expected, std, self.declaration.low, self.declaration.high, max(self.n - 1, 1))

    def _population_interval(self) -> Symmetric:
        """Of the population's expected score; correlated errors do not average out over items."""
        return self._around_expected(
            math.hypot(self.sampling_std(), 0.0 if self._data.errors.independent else self.std)
        )

    def total_interval(self, level: float) -> Interval:
        """This test set and the next one are both samples: the sampling variance counts twice."""
        return self._around_expected(math.hypot(math.sqrt(2.0) * self.sampling_std(), self.std))(level)

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
