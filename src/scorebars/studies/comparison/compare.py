"""Is model A really better than model B, given how well the labels are known?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from scorebars import checks
from scorebars._shared.score_views import counted, left_out, unit_of
from scorebars._shared.shown import Printout, Shown, Table
from scorebars.answers.base import Answers
from scorebars.answers.clustered import group_codes
from scorebars.answers.combined import in_units
from scorebars.answers.intervals import IntervalAt, Symmetric
from scorebars.answers.limited import FRESH_LIMITS
from scorebars.answers.score import Declaration, Estimate, Interval, Score, UndefinedEstimate
from scorebars.answers.verified_answers import NO_FRESH
from scorebars.arrays import FloatArray
from scorebars.errors import Censored, Verified
from scorebars.evaluation.scoring import task_of_metrics
from scorebars.evaluation.study_data import PREDERR_OF_FILES, StudyData, assumed_task, study_data
from scorebars.files.file_study import FILE_OPTIONS, study_in_file
from scorebars.forecasts import Forecast
from scorebars.laws.law import Law, StudentLaw
from scorebars.studies.comparison.compared_data import ComparedMetric, compared_metric
from scorebars.studies.comparison.models_on_same_labels import ModelsOnLimits, ModelsOnSameLabels
from scorebars.studies.comparison.paired_costs import models_of_classes
from scorebars.studies.comparison.paired_means import PairedLimits, PairedLosses, models_of_forecasts, models_of_numbers
from scorebars.studies.comparison.verified_models import VerifiedModels

_NO_PERFECT = "a difference of two models has no perfect value: ask each model's own score."
_OTHER_REPEATS = (
    "the difference is known for labels of as many repeats as those at hand; for others ask each model's own score."
)


class DifferenceAnswers(Answers):
    """metric(a) - metric(b), in units in which nothing is too large or too small for doubles.

    With `sampled` the items are a sample too: Student's distribution about the observed difference (Berkson error: the expected
    one), whose scale is the standard error over test sets.
    """

    def __init__(self, models: ModelsOnSameLabels, a: str, b: str, sampled: bool) -> None:
        of = models.declaration
        self.declaration = Declaration(
            f"{of.name}({a}) - {of.name}({b})",
            f"Difference of {of.title.lower()}, {a} minus {b}",
            of.greater_is_better,
            of.task,
            low=-math.inf,
            high=math.inf,
            degree=of.degree,
            perfect=0.0,
        )
        self._models, self._pair, self.sampled = models, (a, b), sampled
        self.n, self.kind = models.n, models.kind
        self.repeats = np.asarray(models.labels.repeats, dtype=np.float64)
        self.observed = models.observed(a) - models.observed(b)
        self._law = StudentLaw(self._centre, self._over_test_sets(), self._df) if sampled else self._fixed_law()
        self.expected = float(self._law.mean)

    @property
    def _centre(self) -> float:
        return float(self._fixed_law().mean) if self._berkson else self.observed

    @property
    def _df(self) -> float:
        return self._models.item_df(*self._pair)

    def _over_test_sets(self) -> float:
        """Standard error of the difference over test sets."""
        return math.hypot(self._models.item_std(*self._pair), self._models.common_std(*self._pair))

    @property
    def std(self) -> float:
        """With `sampled` the standard error, not the std of Student's distribution, which is larger for few items."""
        return self._over_test_sets() if self.sampled else float(self._law.std)

    def law(self) -> Law:
        return self._law

    def _fixed_law(self) -> Law:
        return self._models.law(*self._pair)

    def truth(self) -> Estimate:
        """Under Berkson error the expected difference, unless its error rates were counted and are uncertain too."""
        if self._berkson and getattr(self._models.labels.model, "checked", None) is not None:
            return ModelsOnSameLabels.truth(self._models, *self._pair)
        return super().truth()

    def _truth(self) -> Estimate:
        return self._models.truth(*self._pair)

    def _berkson_population(self) -> IntervalAt:
        return Symmetric(self._centre, self._over_test_sets(), df=self._df)

    def _remeasured(self, repeats: float) -> Estimate:
        """The forecast of the difference on labels measured once more in the same way is the observed one."""
        if not np.all(np.equal(self.repeats, repeats)):
            raise UndefinedEstimate(_OTHER_REPEATS)
        return self._symmetric(self.observed, math.sqrt(2.0) * float(self._fixed_law().std), "unbiased")

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(_NO_PERFECT)

    def _item_variance(self) -> float:
        return self._models.item_std(*self._pair) ** 2

    def _label_variance(self) -> float:
        own = max(float(self._fixed_law().var) - self._models.common_std(*self._pair) ** 2, 0.0)
        return own if math.isfinite(own) else 0.0

    def total_interval(self, level: float) -> Interval:
        # under Berkson error the next test set has errors of its own, this one was averaged over them
        own = float(self._fixed_law().var) / 2 if self._berkson else 0.0
        return self._next_test_set(own + self._models.common_std(*self._pair) ** 2)(level)

    def warnings(self) -> list[str]:
        if not (share := self._models.undefined_share(*self._pair)):
            return []
        return [f"the metric is not defined for {share:.1%} of the redrawn labels; these draws were left out."]


class LimitedDifference(DifferenceAnswers):
    """metric(a) - metric(b) where some labels are limits, which count for each model by the value nearest to its prediction."""

    _models: PairedLimits | ModelsOnLimits
    observed_is = "the difference of what is observed of each model"

    @property
    def limits_said(self) -> str:  # type: ignore[override]
        return self._models.limits.said_of_them()

    def bounds(self) -> Interval:
        """No labels that the limits allow go beyond; they need not reach so far."""
        models = self._models
        (low, high), (other_low, other_high) = (
            models.metric.score(None, models.predictions[name], models.limits, models.weight).bounds
            for name in self._pair
        )
        return Interval(low - other_high, high - other_low)

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(FRESH_LIMITS)


class VerifiedDifference(DifferenceAnswers):
    """metric(a) - metric(b) where some labels were checked: all but `observed` is about the estimate against the truth."""

    _models: VerifiedModels
    expected_is = "the estimate against the gold labels, which probabilities and verdicts are about"

    @property
    def _centre(self) -> float:
        return float(self._fixed_law().mean)

    @property
    def _df(self) -> float:
        return self._models.spread(*self._pair).population_df

    @property
    def std(self) -> float:
        return self._over_test_sets() if self.sampled else self._models.label_std(*self._pair)

    def _label_variance(self) -> float:
        return self._models.label_std(*self._pair) ** 2

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(NO_FRESH)


_MOST_PAIRS = 28
"""More pairs than these are shown as ranks."""


@dataclass(frozen=True, repr=False)
class Ranking(Shown):
    """Probability of each rank for each model; `probabilities[model][k]` is that of rank k + 1.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "HFB24", "HFB26")}
    >>> ranking = sb.compare(masses.y, models, yerr=masses.yerr, sampling=True).ranking()
    >>> ranking.order()
    ['HFB24', 'HFB26', 'FRDM2012']
    >>> print(f"{ranking.probabilities['HFB24'][0]:.2f}")
    0.78
    """

    probabilities: dict[str, FloatArray]
    draws: int
    statement: str

    def best(self) -> str:
        """The model most likely to be the best."""
        return max(self.probabilities, key=lambda name: float(self.probabilities[name][0]))

    def expected_rank(self, name: str) -> float:
        """Mean rank, 1 for a sure winner."""
        p = self.probabilities[name]
        return float(np.sum(p * np.arange(1, len(p) + 1)))

    def order(self) -> list[str]:
        """Models by expected rank."""
        return sorted(self.probabilities, key=self.expected_rank)

    def view(self) -> Printout:
        """What printing and notebooks show."""
        rows = [
            [name, f"{self.probabilities[name][0]:.3f}", f"{self.expected_rank(name):.1f}"] for name in self.order()
        ]
        return Printout(tables=[Table(["model", "P(best)", "expected rank"], rows)], notes=[self.statement])


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Two or many models on the same labels.

    `difference(a, b)` is metric(a) - metric(b) as a Score, `probability(a, b)` that a is strictly better, `verdict(a, b)`
    a plain word, `ranking()` the probabilities of all ranks.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "DZ28")}
    >>> comparison = sb.compare(masses.y, models, yerr=masses.yerr)
    >>> print(comparison.verdict("DZ28", "FRDM2012"), comparison.difference("DZ28", "FRDM2012").truth)
    better -0.208 ± 0.005 (labels) ± 0.015 (sample)
    """

    metric: str
    models: list[str]
    level: float
    sampling: bool
    rope: float
    _models: ModelsOnSameLabels = field(repr=False)
    warnings: list[str] = field(default_factory=list)
    omitted: int = 0
    """Rows that were left out because they miss a value (``nan_policy="omit"``)."""

    @property
    def declaration(self) -> Declaration:
        """What is true of the metric whatever the data."""
        return self._models.declaration

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.models:
                raise ValueError(
                    f"there is no model {name!r} in this comparison. The models are: {', '.join(self.models)}."
                )

    def difference(self, a: str, b: str) -> Score:
        """metric(a) - metric(b)."""
        self._check(a, b)
        return Score(in_units(self._answers(a, b), *self._models.units))

    def _answers(self, a: str, b: str) -> DifferenceAnswers:
        kind = DifferenceAnswers
        if isinstance(self._models, VerifiedModels):
            kind = VerifiedDifference
        elif isinstance(self._models, PairedLimits | ModelsOnLimits):
            kind = LimitedDifference
        return kind(self._models, a, b, self.sampling)

    def probability(self, a: str, b: str) -> float:
        """Probability that a is strictly better than b when the labels (and with `sampling` the items) vary."""
        self._check(a, b)
        if a == b:
            return 0.0
        if not self.sampling and self._models.same_order is not None:
            law = self._models.same_order.law(a, b)
        else:
            law = self._answers(a, b).law()
        if self._models.declaration.greater_is_better:
            return float(law.sf(0.0))
        return float(law.cdf(0.0)) - (
            float(law.pmf(0.0)) if law.discrete else float(law.std == 0.0 and law.mean == 0.0)
        )

    def verdict(self, a: str, b: str) -> str:
        """ "better", "worse", "equivalent" (within the rope) or "cannot tell", at the comparison's level."""
        low, high = self.difference(a, b).interval(self.level)
        if self.rope and -self.rope <= low and high <= self.rope:
            return "equivalent"
        sure = self.probability(a, b) >= (1 + self.level) / 2, self.probability(b, a) >= (1 + self.level) / 2
        return "better" if sure[0] else "worse" if sure[1] else "cannot tell"

    def ranking(self, draws: int = 20_000, rng: np.random.Generator | int | None = 0) -> Ranking:
        """Probability of each rank for each model, from joint draws of all scores on common labels.

        The draws are those that differences are made of, of which there may be fewer than `draws`. They are made once, and
        `rng` then only decides the order of equal scores.
        """
        rng = np.random.default_rng(rng)
        values = self._models.draws(draws, rng, self.sampling)
        values = values[np.all(np.isfinite(values), axis=1)]
        if not len(values):
            raise ValueError(f"{self.metric} is not defined for redrawn labels, so models cannot be ranked by it.")
        if self._models.declaration.greater_is_better:
            values = -values
        ranks = np.argsort(np.lexsort((rng.random(values.shape), values), axis=1), axis=1)  # ties fall either way
        count = len(self.models)
        table = {name: np.bincount(ranks[:, k], minlength=count) / len(values) for k, name in enumerate(self.models)}
        best = max(table, key=lambda name: float(table[name][0]))
        tied = [
            n for n in self.models if n != best and self.probability(best, n) < 1 - (1 - self.level) / max(count - 1, 1)
        ]
        sure = count - 1 - len(tied)
        others = "the other" if count == 2 else "any other" if not sure else f"{sure} of the {count - 1} others"
        if sure == count - 1 > 1:
            others = f"all {sure} others"
        statement = (
            f"{best} is most likely the best (probability {table[best][0]:.3f}); at a joint level of {self.level:.0%} "
            f"(Bonferroni, {count - 1} comparison{'s' * (count > 2)}) it is {'' if sure else 'not '}clearly better than "
            f"{others}."
        )
        return Ranking(table, len(values), statement)

    def view(self) -> Printout:
        """What printing and notebooks show: every pair, or for many models their ranks."""
        what = "label errors and finite test set" if self.sampling else "label errors"
        on = counted(self._models.n, "label")
        title = f"{self.metric} of {len(self.models)} models on {on} ({what}, level {self.level:.0%})"
        notes = [left_out(self.omitted)] if self.omitted else []
        pairs = list(combinations(self.models, 2))
        warnings = [f"{w}." for w in self.warnings]
        if len(pairs) > _MOST_PAIRS:
            ranks = self.ranking().view()
            return Printout(title, ranks.tables, [*notes, *ranks.notes], warnings)
        rows = [
            [f"{a} - {b}", str(self.difference(a, b)), f"{self.probability(a, b):.3f}", self.verdict(a, b)]
            for a, b in pairs
        ]
        return Printout(
            title, [Table(["models", "difference", "P(first better)", "verdict of the first"], rows)], notes, warnings
        )

    def sentence(self, unit: str | None = None) -> str:
        """Ready for a paper: the best model against the next, and what the verdict rests on.

        `unit` is that of the labels, where they bring none of their own.
        """
        first, second = self.ranking().order()[:2]
        difference = self.difference(first, second)
        tail = f" {made}" if difference.unit is None and (made := unit_of(difference, unit)) else ""
        verdict = {"better": "is better", "worse": "is worse", "equivalent": "is equivalent"}.get(
            self.verdict(first, second), "cannot be told from it"
        )
        on = (
            "label errors and the choice of the test items count"
            if self.sampling
            else "label errors alone count, for these test items only"
        )
        title = self._models.declaration.title
        return (
            f"{title} of {first} minus that of {second} on the same {counted(self._models.n, 'label')}: "
            f"{difference}{tail}; {first} is better with probability {self.probability(first, second):.3f}, so "
            f"at a level of {self.level:.0%} it {verdict} ({on})."
        )


_NOISY_MAE = (
    "with labels this noisy the mean absolute error ranks models by their squared error rather than by their absolute "
    "one; compare mean_squared_error, whose noise cancels exactly"
)
_LIMITS = (
    "Limits count by the allowed value nearest to each prediction, so the difference and the probabilities compare lower "
    "bounds of an error (of an order: the known pairs); difference(a, b).truth takes limits as limits"
)


def compare(
    y_true: Any,
    y_pred: Any = None,
    *,
    metric: str | Callable[..., Any] | None = None,
    yerr: Any = None,
    prederr: Any = None,
    shared_prederr: bool = False,
    sample_weight: Any = None,
    sampling: bool = False,
    groups: Any = None,
    rope: float = 0.0,
    level: float = 0.95,
    task: str | None = None,
    y: Hashable | None = None,
    pred: Any = None,
    nan_policy: str = "raise",
    **options: Any,
) -> Comparison:
    r"""Which model is better, and how sure can the labels make us?

    Models are compared on the same labels, so errors that they share cancel. The error that counts is that of the labels
    at hand: of the mean of the repeats, of the majority of the votes.

    Parameters
    ----------
    y_true, yerr, sample_weight : as in every metric
    prederr : number, (n,) or mapping, optional
        Standard errors of the predictions: a mapping from model to its own, ``{"rf": 0.1, "mlp": errors}``, or the same
        sizes for all models. Unlike label errors they do not cancel: each model's predictions err independently of the
        others'.
    shared_prederr : bool
        Whether the prediction errors of all models come from one source, so that they move together: a common input, the
        same random numbers.
    y_pred : mapping, DataFrame or (n, models)
        Predictions of two or more models.
    y, pred, nan_policy : as in `evaluate`
        ``compare(table, y="mass", pred=["a", "b"], yerr="mass_err")`` takes columns by name, and ``compare("masses.csv")``
        those of a file, read and guessed as in `evaluate`; `warnings` says what was understood.
    metric : name or function, optional
        By default the mean squared error, for classes the accuracy, for forecasts the CRPS; ``rmse``, ``mae`` and other
        short names do.
    task : {"regression", "classification"}, optional
        What the labels are where no metric says it. Guessed otherwise, and the guess is said in `warnings` where whole
        numbers were taken as classes.
    sampling : bool
        Whether the test set is a sample too (paired); else these items are all that counts.
    groups : (n,), optional
        Which items belong together (series, scenes, patients), as in `evaluate`: the sample is one of groups, with
        Student's t of one degree of freedom less than there are groups, or fewer where these are of unequal size.
    rope : number
        Differences up to this size are of no practical interest.
    level : probability
        How sure a verdict must be.
    **options
        Options of the metric: ``compare(..., metric="f1_score", average="macro")``; for a file also those of reading it, as
        in `evaluate`.

    Returns
    -------
    Comparison
        `difference(a, b)` as a `Score`, `probability(a, b)` that a is better, `verdict(a, b)` and `ranking()`.

    Notes
    -----
    With predictions a and b of two models for M labels y of error covariance :math:`\Sigma`:

    - mean squared error: :math:`\frac1M\sum (b_i-a_i)(2y_i-a_i-b_i)`, exactly normal with variance
      :math:`\frac4{M^2}(b-a)'\Sigma(b-a)`; with errors of the predictions it has mean and variance in closed form, and its
      distribution is drawn;
    - mean absolute error: a mean of clipped normals, closed mean and variance;
    - accuracy: only items on which the models differ count; exact;
    - labels of which some were checked (`Verified`): the prediction-powered estimate of the difference against the truth,
      tuned for it. Interval, probability, verdict and ranking are about this estimate, not about the labels;
    - other metrics: both models on the same redrawn labels.

    References
    ----------
    G. Y. Zou and A. Donner, Construction of confidence limits about effect measures: a general approach, Statistics in
    Medicine 27, 1693 (2008), for differences of truths. B. Efron and C. Stein, The jackknife estimate of variance, Annals
    of Statistics 9, 586 (1981), for `sampling`.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("HFB26", "HFB24")}
    >>> c = sb.compare(masses.y, models, yerr=masses.yerr)
    >>> print(c.difference("HFB26", "HFB24"), c.verdict("HFB26", "HFB24"))
    0.0082 ± 0.0015 (labels) ± 0.0065 (sample) worse
    """
    columns = {"y": y, "pred": pred, "yerr": yerr, "sample_weight": sample_weight, "groups": groups}
    warnings: list[str] = []
    if isinstance(y_true, str | os.PathLike) and prederr is not None:
        raise ValueError(PREDERR_OF_FILES)
    if isinstance(y_true, str | os.PathLike):
        reading = {name: options.pop(name) for name in FILE_OPTIONS if name in options}
        study = study_in_file(
            y_true, columns, task=task or task_of_metrics(metric), nan_policy=nan_policy, options=reading
        )
        data = study.forecasts if task_of_metrics(metric) == "forecast" else study.data
        warnings = [study.assumed]
        if metric is None:
            task, metric = study.task, "brier_score_loss" if study.metrics and study.task == "classification" else None
    else:
        data = study_data(y_true, y_pred, **columns, prederr=prederr, nan_policy=nan_policy)
    models = data.models
    if len(models) < 2:
        raise ValueError(
            "compare needs the predictions of at least two models, and only one was given: add another one to the mapping "
            "from name to predictions, or ask evaluate how good this one is."
        )
    level = checks.probability(level, "level")
    rope = checks.at_least_zero(rope, "rope")
    if metric is None:
        found, said = assumed_task(task, data.labels, data.yerr, list(models.values()))
        warnings += [said] if said else []
        metric = "mean_squared_error" if found == "regression" else "accuracy_score"
        if any(isinstance(p, Forecast) for p in models.values()):
            metric = "crps"
    chosen = compared_metric(metric, options)
    if task is not None and chosen.declaration.task != task:
        raise ValueError(f"{chosen.name} is a metric of {chosen.declaration.task}, but task is {task!r}.")
    made = _models_on_same_labels(chosen, data, bool(shared_prederr))
    if isinstance(data.yerr, Censored) and data.yerr.limited:
        warnings.append(f"{data.yerr.said()}. {_LIMITS}")
    if chosen.name == "mean_absolute_error" and isinstance(made, PairedLosses) and made.noisy():
        warnings.append(_NOISY_MAE)
    return Comparison(str(chosen), list(models), level, sampling, rope, made, warnings, data.omitted)


# the models, from what a user passes ---------------------------------------------------------------


def _models_on_same_labels(metric: ComparedMetric, given: StudyData, shared_prederr: bool) -> ModelsOnSameLabels:
    """The models of a study under one metric, by the formulas that hold for it."""
    if given.sample_weight is not None:
        metric.require_weights_taken("Compare without weights, or by another metric.")
    found: ModelsOnSameLabels
    of_forecasts = metric.declaration.task == "forecast" or (
        metric.of_quantiles
        and (
            np.ndim(metric.options.get("alpha", 0.5)) > 0 or any(isinstance(p, Forecast) for p in given.models.values())
        )
    )
    if isinstance(given.yerr, Verified):
        found = VerifiedModels(metric, given)
    elif metric.declaration.task == "regression" and not of_forecasts:
        found = models_of_numbers(metric, given, shared_prederr)
    elif given.prederr:
        raise ValueError(f"{metric.name} takes no prederr: only metrics of measured numbers have prediction errors.")
    else:
        found = (models_of_forecasts if of_forecasts else models_of_classes)(metric, given)
    return (found if given.groups is None else found.with_groups(group_codes(given.groups, found.n))).checked()
