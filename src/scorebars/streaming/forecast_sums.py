"""Forecasts on their way into an accumulator: batches, and sums of their scores from which the answers follow.

More labels than an accumulator keeps are so many that the mean of their scores is normal. What is kept for each metric are
sums of scores, of their means and variances over the label errors, of what each label adds to the truth where that is unbiased,
and of what a perfect model scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from scorebars import checks, tables
from scorebars._shared.given_data import named_predictions
from scorebars.answers.base import Answers, of_law
from scorebars.answers.evidence import NOT_KEPT
from scorebars.answers.intervals import Skewed
from scorebars.answers.limited import CLAIMS_LABEL
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.score import Declaration, Estimate, Score, UndefinedEstimate
from scorebars.arrays import has_unit, to_host
from scorebars.engines.score_terms import score_terms
from scorebars.evaluation.scoring import ChosenMetric, require_one_reading
from scorebars.forecasts import forecast_of
from scorebars.forecasts.given_forecast import is_forecast
from scorebars.laws.law import Law, NormalLaw
from scorebars.metrics.call import scored
from scorebars.moments import label_moments
from scorebars.streaming.batches import (
    MeasuredBatch,
    argument_of,
    batch_weights,
    normal_errors,
    plain_column,
    refuse_prederr,
)

_NO_TRUTH = (
    "of {name} against the truth only unbiased terms can be summed up as labels come, and some of these forecasts have none: "
    "they are quantiles, narrower than the label error, or not normal. Use scorebars.evaluate on arrays."
)
_NO_PERFECT = (
    "a perfect model has no {name} on some of these labels: they have no error, or errors without a density or a variance, or "
    "their quantile has no best prediction. Use scorebars.evaluate on arrays, which says why."
)


class ScoreSums(NamedTuple):
    """Sums over the labels of one metric: score x, its mean m and variance v, truth t, a perfect model's score p.

    The last is of the variance of x over the label's own error about its true value.
    """

    n: float
    w: float
    w2: float
    x: float
    m: float
    v_w2: float
    x_w2: float
    x2_w2: float
    m_w2: float
    m2_w2: float
    t: float
    t_w2: float
    t2_w2: float
    tv_w2: float
    p: float
    pv_w2: float
    own_w2: float


@dataclass(frozen=True, eq=False)
class ForecastStore:
    """The sums of each metric, and what the forecasts claim."""

    sums: dict[str, tuple[float, ...]]
    claims: str

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(next(iter(self.sums.values()))[0])

    def merged(self, other: ForecastStore) -> ForecastStore:
        """The store of both sets of labels."""
        if self.claims != other.claims:
            raise ValueError(
                f"forecasts that claim the {self.claims} cannot be mixed with some that claim the {other.claims}."
            )
        added = {name: tuple(map(sum, zip(one, other.sums[name], strict=True))) for name, one in self.sums.items()}
        return ForecastStore(added, self.claims)

    def score(self, metric: ChosenMetric, kind: str) -> Score:
        """The score of one metric."""
        assert metric.declaration is not None
        return scored(SummedScores(metric.declaration, ScoreSums(*self.sums[str(metric)]), kind, self.claims))


class ForecastBatch(MeasuredBatch):
    """Measured numbers, and a forecast of each; or arrays of predicted quantiles."""

    @classmethod
    def checked(
        cls, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any, needs: Sequence[ChosenMetric]
    ) -> ForecastBatch:
        """From what a user passes; an (n, m) array holds the members of one model, or quantiles for the pinball loss."""
        refuse_prederr(prederr, "a forecast has its spread")
        models = named_predictions(y_pred) if isinstance(y_pred, Mapping) else {"model": y_pred}
        tables.require_rows(y_true=y_true, yerr=yerr, sample_weight=sample_weight)
        y = plain_column(y_true, "y_true")
        forecasts: dict[str, Any] = {
            name: _taken(given, len(y), argument_of(name, models), needs) for name, given in models.items()
        }
        for name, forecast in forecasts.items():
            if getattr(forecast, "unit", None) is not None:
                raise ValueError(f"{argument_of(name, models)} has a unit: an accumulator takes plain numbers.")
        sigma, kind = normal_errors(yerr, y)
        batch = cls(y, forecasts, sigma, batch_weights(sample_weight, len(y)), kind)
        batch.diagnose()
        return batch

    def stored(self, needs: Any, tolerance: Any, known: Any) -> dict[str, ForecastStore]:
        """The store of each model, for the metrics `needs`."""
        return {
            name: ForecastStore({str(metric): self._sums(metric, p) for metric in needs}, getattr(p, "claims", "truth"))
            for name, p in self.models.items()
        }

    def _sums(self, metric: ChosenMetric, forecast: Any) -> tuple[float, ...]:
        counted = self.weight is None or bool(np.any(self.weight > 0))
        w = np.ones(self.n) if self.weight is None else self.weight
        answers = metric(
            self.y, forecast, self.error_model, w if counted and self.weight is not None else None
        )._answers
        if not isinstance(answers, MeanLoss):
            raise OverflowError(f"{metric.name} of these labels is too large or small: choose another unit for them.")
        data = answers._labels()
        total = np.zeros(len(ScoreSums._fields))
        start = 0
        for y, p, errors, _ in data.blocks():
            part = slice(start, start + len(y))
            start += len(y)
            x, m, v = score_terms(answers.loss, errors, y, p)
            t, tv = answers.truth_terms(y, p, errors)
            total += _added(w[part], x, m, v, t, tv)
        total[-3:-1] += _of_perfect(answers, w)
        total[-1] += answers._label_variance() * w.sum() ** 2
        return tuple(map(float, total))


def _taken(given: Any, n: int, argument: str, metrics: Sequence[ChosenMetric]) -> Any:
    """A forecast of n labels; an array as it is where it holds quantiles at the levels of a metric."""
    metric = next((metric for metric in metrics if metric.of_quantiles), None)
    if metric is None or is_forecast(given):
        return forecast_of(given, n, argument)
    require_one_reading(metrics, {argument: given})
    tables.require_rows(**{argument: given})
    if has_unit(given):
        raise ValueError(f"{argument} has a unit: an accumulator takes plain numbers.")
    levels = np.shape(metric.options.get("alpha", 0.5))
    found = np.asarray(checks.real_array(to_host(given), argument), dtype=np.float64)
    if found.shape != (n, *levels):
        each = f"a column for each of the {levels[0]} levels" if levels else "one quantile for each label"
        raise ValueError(
            f"{argument} has shape {found.shape}, but {metric} of {n} labels needs {each}, {(n, *levels)}."
        )
    return found


def _added(w: Any, x: Any, m: Any, v: Any, t: Any, tv: Any) -> Any:
    w2 = np.square(w)
    means = len(w), w.sum(), w2.sum(), w @ x, w @ m, w2 @ v
    squares = w2 @ x, w2 @ np.square(x), w2 @ m, w2 @ np.square(m)
    return np.array([*means, *squares, w @ t, w2 @ t, w2 @ np.square(t), w2 @ tv, 0.0, 0.0, 0.0])


def _of_perfect(answers: MeanLoss, w: Any) -> Any:
    """Sums of a perfect model's scores and of their variances; NaN where there are none."""
    data = answers._labels()
    errors = data.errors.label_level()
    try:
        found = label_moments(answers.loss, errors, data.labels, answers._perfect_predictions(data.labels, errors))
    except UndefinedEstimate:
        return np.array([math.nan, math.nan])
    return np.array([w @ found.mean, np.square(w) @ found.variance])


class SummedScores(Answers):
    """The answers of a mean score of very many forecasts, from sums."""

    std: float = 0.0

    def __init__(self, declaration: Declaration, sums: ScoreSums, kind: str, claims: str) -> None:
        self.declaration, self.n, self.kind, self._sums, self._claims = declaration, int(sums.n), kind, sums, claims
        self.observed, self.expected, self.std = sums.x / sums.w, sums.m / sums.w, math.sqrt(sums.v_w2) / sums.w

    def law(self) -> Law:
        return NormalLaw(self.expected, self.std, "delta")

    def perfect(self) -> Estimate:
        s = self._sums
        if math.isnan(s.p):
            raise UndefinedEstimate(_NO_PERFECT.format(name=self.declaration.name))
        return of_law(NormalLaw(s.p / s.w, math.sqrt(s.pv_w2) / s.w, "delta"))

    def truth(self) -> Estimate:
        if self._claims == "label":
            raise UndefinedEstimate(CLAIMS_LABEL)
        return super().truth()

    def _truth(self) -> Estimate:
        s = self._sums
        if math.isnan(s.t):
            raise UndefinedEstimate(_NO_TRUTH.format(name=self.declaration.name))
        value, std = s.t / s.w, math.sqrt(max(s.tv_w2, 0.0)) / s.w
        found = self._symmetric(value, std, "unbiased", total := math.sqrt(self._scatter(s.t2_w2, s.t_w2, value)))
        if self._range[0] == 0:  # a mean of positive scores, as of labels that are kept
            population = Skewed(value, total, *self._range, self._df, self.observed - value)
            return Estimate(value, std, method="unbiased", interval=found.interval, total_interval=population)
        return found

    def _remeasured(self, repeats: float) -> Estimate:
        if repeats != 1:
            raise UndefinedEstimate(NOT_KEPT.format(what=f"{self.declaration.title} of labels with less error"))
        return self._symmetric(self.observed, math.sqrt(2.0) * self.std, "unbiased")

    def _scatter(self, square: float, single: float, centre: float) -> float:
        s = self._sums
        around = square - 2.0 * centre * single + centre * centre * s.w2
        return max(around, 0.0) / s.w**2 * self.n / (self.n - 1) if self.n > 1 else math.inf

    def _item_variance(self) -> float:
        s = self._sums
        square, single = (s.m2_w2, s.m_w2) if self._berkson else (s.x2_w2, s.x_w2)
        return self._scatter(square, single, self._centre)

    def _label_variance(self) -> float:
        return max(self._sums.own_w2, 0.0) / self._sums.w**2
