"""Metrics that are means over items, for models on the same labels: formulas for differences of mean losses."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.clustered import moves_of_groups, unequal_groups
from scorebars.answers.intervals import IntervalAt, Symmetric
from scorebars.answers.limited import LimitedLoss, best_label, censored
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.means.squared import RootAnswers, pulls_of
from scorebars.answers.score import Estimate, Interval
from scorebars.arrays import FloatArray
from scorebars.errors import Censored, Normal
from scorebars.evaluation.study_data import StudyData
from scorebars.forecasts import Forecast
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.accuracy_difference import accuracy_difference_law
from scorebars.laws.fourier import FourierLaw
from scorebars.laws.law import Law, NormalLaw, StudentLaw
from scorebars.laws.loss_nodes import has_nodes, loss_nodes
from scorebars.laws.mean_loss_law import mean_law
from scorebars.laws.samples import SampleLaw
from scorebars.losses import AbsoluteError, Covered, ItsLabel, Loss, LossDifference, SquaredError, Within
from scorebars.measured import Measured
from scorebars.metrics import call
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import absolute_difference, squared_difference
from scorebars.numerics import FIXED_SEED
from scorebars.numerics.covariances import covariance_root
from scorebars.studies.comparison.compared_data import ComparedMetric, ComparedNumbers, PredictionErrors
from scorebars.studies.comparison.models_on_same_labels import (
    ModelsOnLimits,
    ModelsOnSameLabels,
    once,
    rows_at_a_time,
)

_DRAWS = 20_000
_SLOW_DRAWS = 2_000
_FORECAST_DRAWS = 5_000
_DRAWN_UP_TO = 2_000
"""Up to this many labels, differences of mean absolute errors are found by quadrature, and those of mean squares with
predictions that err and of weighted shares are drawn; above, the normal distribution is as good."""
_SLOWLY_DRAWN_UP_TO = 1_000
"""Up to this many labels, differences of roots of means and of scores of forecasts are drawn."""
_FEW_DRAWN = 64
"""Differences of mean absolute errors of at most this many labels are drawn: each label adds steps to their distribution."""
_TOGETHER = 1_024
"""Labels whose values are listed together."""


class PairedMeans(ModelsOnSameLabels):
    """A metric that is a mean over items, or the root of one."""

    root = False

    @abstractmethod
    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        """What each item adds to the mean, for each row of labels (and of redrawn predictions)."""

    @abstractmethod
    def expected_items(self, name: str) -> FloatArray:
        """What each item adds to the mean on average over redrawn labels, (n,)."""

    def _of_mean(self, mean: Any) -> Any:
        return np.sqrt(mean) if self.root else mean

    @property
    def draws_of_law(self) -> int:  # type: ignore[override]
        if self.declaration.task == "forecast":  # a score of a distribution costs more
            return _FORECAST_DRAWS if self.n <= 500 else _SLOW_DRAWS
        return _DRAWS if self.n <= 20_000 else _SLOW_DRAWS

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        return np.asarray(self._of_mean(self.items(rows, name, redrawn) @ self.shares))

    def _shown_items(self, name: str) -> FloatArray:
        """What each item adds on the labels at hand; under Berkson error on average."""
        return self.expected_items(name) if self.kind == "berkson" else self.items(self.labels.shown[None], name)[0]

    @once
    def influences(self, name: str) -> FloatArray:
        """Deviations from the mean, exactly what leaving out single items gives for equal weights."""
        return np.full(1, math.inf) if self._sample_size < 2 else self._deviations(self._shown_items(name))

    def _moves(self, terms: FloatArray, factor: float = 1.0) -> FloatArray:
        """How far each item moves the metric, times a factor."""
        mean = float(np.sum(self.shares * terms))
        slope = 0.5 / math.sqrt(max(mean, 1e-300)) if self.root else 1.0
        return np.asarray(slope * factor * self.shares * (terms - mean))

    def _deviations(self, terms: FloatArray) -> FloatArray:
        """How far each item, or each group of items together, moves the metric."""
        each = self._moves(terms, math.sqrt(self._sample_size / (self._sample_size - 1)))
        return each if self.groups is None else np.asarray(np.bincount(self.groups, each), dtype=np.float64)

    def item_std(self, a: str, b: str) -> float:
        if self.groups is None or self._sample_size < 2:
            return super().item_std(a, b)
        return math.sqrt(unequal_groups(self._item_moves(a) - self._item_moves(b), self.shares, self.groups)[0])

    @once
    def _item_moves(self, name: str) -> FloatArray:
        return self._moves(self._shown_items(name))

    def _moves_of_groups(self, name: str) -> FloatArray:
        assert self.groups is not None
        return moves_of_groups(self._item_moves(name), self.shares, self.groups)

    @property
    def _centres(self) -> FloatArray:
        means = np.array([self.shares @ self._shown_items(name) for name in self.predictions])
        return np.asarray(self._of_mean(means))

    def _total(self, value: float, terms: FloatArray, common: float) -> Symmetric:
        """Where the mean of `terms` lies in the population."""
        if self._sample_size < 2:
            return Symmetric(value, math.inf)
        if self.groups is None:
            variance, df = float(np.sum(np.square(self._deviations(terms)))), self._sample_size - 1.0
        else:
            variance, df = unequal_groups(self._moves(terms), self.shares, self.groups)
        return Symmetric(value, math.hypot(math.sqrt(variance), common), df=df)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        if not sampling:
            return super().draws(count, rng, sampling)
        if self.groups is not None:
            return self._drawn_in_groups(count, rng)
        if self.n > _FEW_DRAWN:  # means of many items are normal together
            moved = np.stack([self.influences(name) for name in self.predictions])
            mean = self._centres
            away = rng.standard_normal((count, len(mean))) @ covariance_root(moved @ moved.T).T
            return np.asarray(mean + away + self._shifts_in_common(count, rng))
        out = np.empty((count, len(self.predictions)))
        step = rows_at_a_time(self.n)
        terms = np.stack([self._shown_items(name) for name in self.predictions])
        for start in range(0, count, step):
            size = min(step, count - start)
            times = rng.multinomial(self.n, np.full(self.n, 1.0 / self.n), size) * self.shares
            out[start : start + size] = (times @ terms.T) / times.sum(axis=1, keepdims=True)
        return np.asarray(self._of_mean(out)) + self._shifts_in_common(count, rng)


class PairedLosses(PairedMeans):
    """Means of a loss of measured numbers."""

    labels: ComparedNumbers

    def __init__(self, loss: Loss, root: bool, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.loss, self.root, self._squares = loss, root, isinstance(loss, SquaredError) and not root
        if root:
            self.same_order = PairedLosses(loss, False, *arguments)

    def checked(self) -> Self:
        return self if self.metric.needs_errors else super().checked()  # `pulls_of` has refused what it cannot take

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.loss(rows, self.predictions[name] if redrawn is None else redrawn)

    def expected_items(self, name: str) -> FloatArray:
        y = self.labels.shown
        return np.asarray(label_moments(self.loss, self.labels.errors, y, self.predictions[name]).mean)

    @once
    def law(self, a: str, b: str) -> Law:
        """Closed where there is a formula, by quadrature for labels that err independently; else drawn."""
        if self._squares:
            return self._law_of_squares(a, b)
        if self._sums_of_independent:
            if self.root or self.loss.of_forecast:  # each value is costly: few labels are drawn
                if self.n > _SLOWLY_DRAWN_UP_TO:
                    return self._law_of_many_roots(a, b) if self.root else self._normal_law(a, b)
            elif not isinstance(self.loss, Within | Covered):
                return self._law_by_quadrature(a, b)
            elif self.weight is None or self.n > _DRAWN_UP_TO:
                return self._law_of_shares(a, b)
        return super().law(a, b)

    def _law_of_squares(self, a: str, b: str) -> Law:
        """Exact and normal for normal errors of known size."""
        if self.prederr.sd:
            return self._squares_of_both(a, b)
        y, errors = self.labels.shown, self.labels.errors
        moments = squared_difference(errors.mean(y), errors.variance(y), self.predictions[a], self.predictions[b])
        mean, std = float(self.shares @ moments.mean), self._label_std(a, b)
        if self.labels.scale is not None:
            return StudentLaw(mean, std, self.labels.scale.degrees)
        return NormalLaw(mean, std, "delta" if errors.normal is None else "exact")

    def _law_of_many_roots(self, a: str, b: str) -> Law:
        """The means under the roots are normal together."""
        drawn = self._of_mean(self._normal_draws(_DRAWS, np.random.default_rng(FIXED_SEED)))
        names = list(self.predictions)
        return SampleLaw(drawn[:, names.index(a)] - drawn[:, names.index(b)])

    def _normal_law(self, a: str, b: str) -> Law:
        """The difference of two means of many independent losses."""
        mean, gained = dict(zip(self.predictions, self._label_moments[0], strict=True)), np.array([1.0, -1.0])
        spread = float(gained @ self._covariances_of(a, b) @ gained)
        return NormalLaw(float(mean[a] - mean[b]), math.sqrt(max(spread, 0.0)), "delta")

    def _law_of_shares(self, a: str, b: str) -> Law:
        """Exact: each label lies inside the limits of one model alone, of the other alone, or of neither or both."""
        chance_a, chance_b, of_both = (self._chance_within(*names) for names in ((a,), (b,), (a, b)))
        total, weights = (float(self.n), None) if self.weight is None else (1.0, self.shares)
        return accuracy_difference_law(chance_a - of_both, chance_b - of_both, total, weights)

    def _law_by_quadrature(self, a: str, b: str) -> Law:
        if isinstance(turned := self.kept.get(("PairedLosses.law", b, a)), FourierLaw):
            return ScaledLaw(turned, -1.0)
        first, second = self.predictions[a], self.predictions[b]
        shares, y, errors = self.shares, self.labels.shown, self.labels.errors
        mean = variance = None
        if isinstance(self.loss, AbsoluteError) and errors.plain_normal:
            sd = np.sqrt(self.labels.model.absolute_level().variance(y))
            moments, errors = absolute_difference(y, sd, first, second), Normal.trusted(sd)
            mean, variance = float(shares @ moments.mean), float(np.square(shares) @ moments.variance)
            if self.n > _DRAWN_UP_TO or variance == 0:
                return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
        both = np.stack([first, second], axis=1)
        law = mean_law(LossDifference(self.loss), errors, y, both, shares, mean, variance)
        if mean is not None and isinstance(law, FourierLaw) and self.n <= _FEW_DRAWN:  # steps, which waves do not show
            return SampleLaw(self.redrawn(a) - self.redrawn(b), mean=mean, var=variance)
        return law

    @property
    def _sums_of_independent(self) -> bool:
        """Whether the mean loss is a sum over labels that err independently, with values that can be listed."""
        drawn = self.exact or bool(self.prederr.sd) or self.labels.scale is not None
        single = has_nodes(self.labels.errors) and self.labels.errors.independent
        return not drawn and single

    def _chance_within(self, *names: str) -> FloatArray:
        """For a share of labels inside limits: the chance that each label lies inside the limits of all these models."""
        assert isinstance(self.loss, Within | Covered)
        ends = [self.loss.ends(self.predictions[name]) for name in names]  # type: ignore[arg-type]
        low, high = np.max([low for low, _ in ends], axis=0), np.min([high for _, high in ends], axis=0)
        return np.where(low <= high, self.labels.errors.between(self.labels.shown, low, high), 0.0)

    def _squares_of_both(self, a: str, b: str) -> Law:
        """The difference of two mean squares where predictions err too: mean and variance closed, the rest drawn."""
        y, errors = self.labels.shown, self.labels.errors
        added = np.square(self.prederr.of(a)) - np.square(self.prederr.of(b))
        moments = squared_difference(errors.mean(y), errors.variance(y), self.predictions[a], self.predictions[b])
        mean, (sloped, curved) = float(self.shares @ (moments.mean + added)), self._prediction_part(a, b)
        variance = self._label_std(a, b) ** 2 + sloped + curved
        if self.n > _DRAWN_UP_TO or variance == 0:
            return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
        return SampleLaw(self.redrawn(a) - self.redrawn(b), mean=mean, var=variance)

    def _prediction_part(self, a: str, b: str) -> tuple[float, float]:
        """What errors of the predictions add to the variance of the difference: with residuals d and r the correlation

        4 (da^2 qa^2 + db^2 qb^2 - 2 r da db qa qb), and 4 s^2 (qa^2 + qb^2 - 2 r qa qb) + 2 (qa^4 + qb^4 - 2 r^2 qa^2 qb^2).
        """
        qa, qb, r = self.prederr.of(a), self.prederr.of(b), self.prederr.correlation
        y, errors, a2 = self.labels.shown, self.labels.errors, np.square(self.shares)
        da, db = (errors.mean(y) - self.predictions[name] for name in (a, b))
        sloped = 4.0 * (np.square(da * qa) + np.square(db * qb) - 2.0 * r * da * db * qa * qb)
        both = np.square(qa) + np.square(qb) - 2.0 * r * qa * qb
        fourth = np.square(np.square(qa)) + np.square(np.square(qb)) - 2.0 * np.square(r * qa * qb)
        return float(a2 @ sloped), float(a2 @ (4.0 * errors.variance(y) * both + 2.0 * fourth))

    def _levers(self, a: str, b: str) -> FloatArray:
        """How far the difference of two mean squares moves with each label."""
        return 2.0 * self.shares * (self.predictions[b] - self.predictions[a])

    def _label_std(self, a: str, b: str) -> float:
        """Standard deviation of the difference of two mean squares when labels err."""
        return math.sqrt(self.labels.errors.variance_of_sum(self.labels.shown, self._levers(a, b)))

    def common_std(self, a: str, b: str) -> float:
        if not self._squares:
            return super().common_std(a, b)
        if self.labels.batches is not None:
            return float(np.linalg.norm(self.labels.batches.sums(self._levers(a, b))))
        rows = self.labels.common
        return 0.0 if rows is None else float(np.linalg.norm(rows @ self._levers(a, b)))

    def truth(self, a: str, b: str) -> Estimate:
        """Squares: the difference is linear in the labels, so unbiased labels give an unbiased difference."""
        if not self._squares:
            return super().truth(a, b)
        first, second = self.predictions[a], self.predictions[b]
        truth = self.labels.errors.unbiased_label(self.labels.shown)
        terms = (second - first) * (2.0 * truth - first - second)
        std = self._label_std(a, b)
        if self.prederr.sd:  # residuals hold the errors already: their part is taken off, and never below that at none
            terms = terms - np.square(self.prederr.of(a)) + np.square(self.prederr.of(b))
            sloped, curved = self._prediction_part(a, b)
            std = math.sqrt(max(std**2 + sloped - curved, curved))
        value = float(np.sum(self.shares * terms))
        total = self._total(value, terms, self.common_std(a, b))
        interval: IntervalAt = Symmetric(value, std)
        if self.labels.scale is not None:
            interval = partial(_shorter, Symmetric(value, std, df=self.labels.scale.degrees), total)
        return Estimate(value, std, method="unbiased", interval=interval, total_interval=total)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        normal = self.labels.errors.normal
        plain = normal is not None and not self.prederr.sd and self.labels.scale is None
        if isinstance(self.loss, SquaredError) and plain and normal is not None and not sampling:
            return self._squared_draws(normal, count, rng)  # the root would not change any rank
        if self.n > _FEW_DRAWN and not sampling and self._sums_of_independent:
            return self._of_mean(self._normal_draws(count, rng))
        return super().draws(count, rng, sampling)

    def _normal_draws(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean losses of many labels are normal together."""
        mean, covariance = self._label_moments
        return mean + rng.standard_normal((count, len(mean))) @ covariance_root(covariance).T

    @cached_property
    def _label_moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariance of the mean losses of all models, from the values that each label may take."""
        y, errors, names = self.labels.shown, self.labels.errors, list(self.predictions)
        covariance, mean = np.zeros((len(names), len(names))), np.zeros(len(names))
        if isinstance(self.loss, Within | Covered):
            chances, squares = np.stack([self._chance_within(name) for name in names]), np.square(self.shares)
            for j, a in enumerate(names):
                for k, b in enumerate(names[: j + 1]):
                    covariance[j, k] = covariance[k, j] = squares @ (
                        self._chance_within(a, b) - chances[j] * chances[k]
                    )
            return chances @ self.shares, covariance
        for start in range(0, self.n, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            nodes = loss_nodes(ItsLabel(), errors[part], y[part], y[part])
            label, first = nodes.label, nodes.start[:-1]
            found = np.stack([self.loss(nodes.value, self.predictions[name][part][label]) for name in names])
            each = np.add.reduceat(nodes.mass * found, first, axis=1)
            found -= each[:, label]
            covariance += (found * (nodes.mass * np.square(self.shares[part])[label])) @ found.T
            mean += each @ self.shares[part]
        return mean, covariance

    def _covariances_of(self, a: str, b: str) -> FloatArray:
        if self.root or not self._sums_of_independent:
            return super()._covariances_of(a, b)
        names = list(self.predictions)
        pick = [names.index(a), names.index(b)]
        return np.asarray(self._label_moments[1][np.ix_(pick, pick)])

    def _squared_draws(self, errors: Normal, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean squared errors less what all models share: exactly normal together, so one number a model is drawn."""
        predictions = np.stack(list(self.predictions.values()))
        levers = 2.0 * self.shares * (predictions - predictions.mean(axis=0))
        root = covariance_root(errors.covariance_of_sums(levers))
        centre = np.square(self.labels.shown - predictions) @ self.shares
        return np.asarray(centre - rng.standard_normal((count, len(centre))) @ root.T)

    def noisy(self) -> bool:
        """Whether label errors are large against the residuals."""
        sd = np.sqrt(self.labels.errors.variance(self.labels.shown))
        residuals = [np.abs(self.labels.shown - p) for p in self.predictions.values()]
        return bool(np.median(sd) > 0.5 * min(float(np.median(r)) for r in residuals))


def _shorter(interval: IntervalAt, of_items: IntervalAt, level: float) -> Interval:
    """The shorter of two intervals about one value: how items scatter holds label errors, whatever their size is."""
    return min(interval(level), of_items(level), key=lambda found: found.high - found.low)


class PairedLimits(PairedLosses):
    """Means of a loss of the residual where some labels are limits: these count by the value nearest to the prediction."""

    def __init__(self, limits: Censored, loss: Loss, root: bool, *arguments: Any) -> None:
        super().__init__(loss, root, *arguments)
        self.limits, self._squares = limits, False
        self.same_order = PairedLimits(limits, loss, False, *arguments) if root else None

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        nearest = self.limits.nearest(best_label(self.loss, self.predictions[name]))
        return super().items(np.where(self.limits.limits, nearest, rows), name)

    def law(self, a: str, b: str) -> Law:
        return ModelsOnSameLabels.law(self, a, b)


# from what a user passes -----------------------------------------------------------------------------


def models_of_numbers(metric: ComparedMetric, given: StudyData, shared_prederr: bool) -> ModelsOnSameLabels:
    """Predictions of measured numbers, all in one unit near 1; by formulas where the metric is a mean of losses."""
    declaration = metric.declaration
    data: dict[str, Measured] = {}
    for name, p in given.models.items():
        one = call.measured(given.y_true, p, given.yerr, given.sample_weight, given.prederr.get(name))
        if len(one) > 1:
            raise ValueError("compare takes one output at a time: y_true has several columns.")
        one[0].require_valid()
        data[name] = one[0]
    scale = max(one.find_scale() for one in data.values()) if declaration.degree else 1.0
    data = {name: one.scaled(scale) for name, one in data.items()}
    first = next(iter(data.values()))
    of_predictions = {name: one.errors.of_predictions() for name, one in data.items()}
    sd = {name: np.asarray(errors.sigma) for name, errors in of_predictions.items() if errors is not None}
    arguments = (
        metric,
        ComparedNumbers(first.y, first.errors.of_labels()),
        {name: np.asarray(one.p, float) for name, one in data.items()},
        first.weight,
        (scale,) * (declaration.degree or 0) if scale != 1.0 else (),
        PredictionErrors(sd, shared_prederr),
    )
    if first.limited:
        return _models_on_limits(first, *arguments)
    if metric.needs_errors and not sd and first.errors.plain_normal:
        return _in_units_of_errors(metric, data)
    found = ModelsOnSameLabels(*arguments)
    answers = found._answers(next(iter(data)))
    mean = answers.inner if isinstance(answers, RootAnswers) else answers
    if isinstance(mean, MeanLoss):
        paired = PairedLosses(mean.loss, mean is not answers, *arguments)
        paired.kept = found.kept
        return paired
    return found


def _in_units_of_errors(metric: ComparedMetric, data: Mapping[str, Measured]) -> ModelsOnSameLabels:
    """Reduced chi-squared: mean squares, with labels and predictions in units of the label errors."""
    seen = {name: pulls_of(one) for name, one in data.items()}
    first = next(iter(seen.values()))
    predictions = {name: first.labels - one.labels for name, one in seen.items()}
    return PairedLosses(
        SquaredError(), False, metric, ComparedNumbers(first.labels, first.errors), predictions, first.weight
    )


def _models_on_limits(data: Measured, metric: ComparedMetric, *others: Any) -> ModelsOnSameLabels:
    """Predictions of numbers of which some are known as limits only."""
    limits = censored(data)
    root = metric.declaration.name == "root_mean_squared_error"
    answers = metric.score(data.y, data.p, limits, data.weight)._answers
    loss = SquaredError() if root else answers.loss if isinstance(answers, LimitedLoss) else None
    if loss is None:
        return ModelsOnLimits(limits, metric, *others)
    return PairedLimits(limits, loss, root, metric, *others)


def models_of_forecasts(metric: ComparedMetric, given: StudyData) -> ModelsOnSameLabels:
    """Forecasts of measured numbers, which all claim the same; their scores are means of losses."""
    data: dict[str, Measured] = {}
    loss: Loss | None = None
    for name, forecast in given.models.items():
        judge = metric
        if metric.of_quantiles and not isinstance(forecast, Forecast) and np.ndim(forecast) == 1:  # one level alone
            judge, forecast = metric.with_levels([metric.options.get("alpha", 0.5)]), np.asarray(forecast)[:, None]
        answers = judge.score(given.y_true, forecast, given.yerr, given.sample_weight)._answers
        if not isinstance(answers, MeanLoss | LimitedLoss):
            raise OverflowError(f"{metric.name} of these labels is too large or small: choose another unit for them.")
        data[name], loss = answers.data if isinstance(answers, LimitedLoss) else answers._labels(), answers.loss
    claims = {name: one.p.claims for name, one in data.items()}
    if len(set(claims.values())) > 1:
        told = ", ".join(f"{name} the {claim}" for name, claim in claims.items())
        raise ValueError(
            f"the forecasts claim different things ({told}), so their scores cannot be compared. A forecast of the truth "
            "becomes one of the label by forecast.seen_through(yerr)."
        )
    first = next(iter(data.values()))
    arguments = (
        metric.with_levels(None) if metric.of_quantiles else metric,  # quantiles have their levels
        ComparedNumbers(first.y, first.errors),
        {name: one.p for name, one in data.items()},
        first.weight,
    )
    assert loss is not None
    if first.limited:
        return PairedLimits(censored(first), loss, False, *arguments)
    return PairedLosses(loss, False, *arguments)
