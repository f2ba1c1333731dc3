"""How well is a mean loss against the truth known? By repeating the measurement on the computer.

The estimate comes from the most likely law of the true residuals (`npmle`). Draw true residuals from that law, add the
labels' errors, fit again, and see how far the new estimate falls from the mean loss of the residuals drawn (for the items
at hand) and from the mean under the law (for the population). It assumes what the fit assumes, and no large number of
labels, as the likelihood profile does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorebars.answers.npmle import MeanOfLoss, true_residuals
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.measured import Measured
from scorebars.score import Estimate, Interval


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The bootstrap of a mean loss of true residuals, for the labels it was estimated from."""

    mean: MeanOfLoss
    data: Measured

    def __call__(self, draws: int, rng: np.random.Generator, note: str) -> Estimate:
        """The same estimate with the scatter of `draws` repetitions."""
        of_items, of_population = np.array([self._errors(rng) for _ in range(draws)]).T
        value = min(max(self.mean.value, self.mean.low), self.mean.high)
        return Estimate(
            value,
            float(np.sqrt(np.mean(np.square(of_items)))),
            method=self.mean.residuals.method,
            note=f"{note}; uncertainty from {draws} bootstrap draws" if note else f"from {draws} bootstrap draws",
            interval=Mirrored(value, of_items, self.mean.low, self.mean.high),
            total_interval=Mirrored(value, of_population, self.mean.low, self.mean.high),
        )

    def _errors(self, rng: np.random.Generator) -> tuple[float, float]:
        """How far the estimate from one repetition falls from what it estimates: in these items, in the population."""
        data, parts = self.data, self.mean.residuals
        sd = np.sqrt(data.errors.label_variance(np.asarray(data.y, float)))
        known = np.flatnonzero(~parts.fitted)
        true = rng.choice(parts.fit.grid, len(sd), p=parts.fit.weights / parts.fit.weights.sum())
        if parts.trend is not None:
            centre, scale = parts.trend.at(np.where(parts.fitted, sd, 1.0))
            true = centre + scale * true
        true[known] = data.residual[rng.choice(known, len(known))] if len(known) else 0.0
        labels = Measured(true + sd * rng.standard_normal(len(sd)), np.zeros(len(sd)), Normal.trusted(sd), data.weight)
        again = true_residuals(labels)
        residuals = parts if again is None else again
        estimate = MeanOfLoss(residuals, self.mean.loss, self.mean.unit).value
        drawn = self.mean.unit * float(data.shares @ self.mean.loss(true, np.zeros(len(sd))))
        population = np.sqrt(parts.clustering) * (estimate - self.mean.value)
        return estimate - drawn, float(population)


@dataclass(frozen=True, eq=False)
class Mirrored:
    """The interval value - error, for errors between their quantiles, kept in the range of the metric."""

    value: float
    errors: FloatArray
    low: float
    high: float

    def __call__(self, level: float) -> Interval:
        below, above = np.quantile(self.errors, [(1.0 - level) / 2, (1.0 + level) / 2])
        return Interval(*(float(np.clip(self.value - error, self.low, self.high)) for error in (above, below)))
