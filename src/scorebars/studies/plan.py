"""What to measure next: how many labels, how many repeats of each, and which ones."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars._shared.score_views import counted
from scorebars._shared.shown import Shown, View
from scorebars.answers.classes.over_rates import OverRates
from scorebars.answers.clustered import group_codes, grouped
from scorebars.answers.verified_answers import GoldLosses, VerifiedAnswers, tuned
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError, Flip, Verified
from scorebars.errors.checked_rates import CheckedRates
from scorebars.evaluation.study_data import StudyData, assumed_task, study_data
from scorebars.files.file_study import require_known, study_in_file
from scorebars.measured import Measured
from scorebars.metrics.call import measured
from scorebars.metrics.class_inputs import Given, class_labels, flip_model
from scorebars.metrics.predicted_classes import accuracy_score
from scorebars.moments.majority_error import majority_error
from scorebars.studies.comparison.compare import compare
from scorebars.studies.comparison.compared_data import compared_metric

_MOST_REPEATS = 10_000
_NOTHING_APART = "the two classifiers agree on every item of the pilot: there is nothing to tell apart."


@dataclass(frozen=True)
class Budget:
    """Variance of the estimate with M labels of n repeats each, a series in 1/n divided by M.

    (sampling + measurement/n + curvature/n^2 + kurtosis/n^3) / M.
    """

    sampling: float
    measurement: float
    curvature: float = 0.0
    kurtosis: float = 0.0

    def per_label(self, repeats: float) -> float:
        found = self.sampling + self.measurement / repeats + self.curvature / repeats**2 + self.kurtosis / repeats**3
        return max(found, 0.0)

    def best_repeats(self, cost_label: float, cost_repeat: float) -> float:
        """n* = sqrt(V_m c_label / (V_s c_repeat)); infinite where items do not scatter or repeats are free."""
        below = self.sampling * cost_repeat
        return math.sqrt(self.measurement * cost_label / below) if below > 0 else math.inf

    def candidates(self, cost_label: float, cost_repeat: float) -> range:
        """Whole numbers of repeats among which the cheapest is found."""
        if self.curvature or self.kurtosis:
            return range(1, 201)
        best = self.best_repeats(cost_label, cost_repeat)
        if not math.isfinite(best):
            return range(1, 101) if self.measurement > 0 else range(1, 2)
        return range(max(1, math.floor(best) - 1), min(math.ceil(best) + 2, _MOST_REPEATS) + 1)


@dataclass(frozen=True)
class VotingBudget:
    """Variance per item of the difference of two accuracies, in units of the true difference, with n raters each.

    Where the two predictions differ the label meets one of them: with probability 1 - q + r where one is right, 2 r where
    both are wrong, r = q / (K - 1).
    """

    one_right: float
    """Share of items on which the two differ and one is right."""
    both_wrong: float
    """Share of items on which they differ and neither is right; 0 for two classes."""
    q: float
    difference: float
    classes: int = 2
    clustering: float = 1.0
    """How much more a mean scatters because items come in groups than it would for as many independent items."""

    def per_label(self, repeats: float) -> float:
        wrong = float(majority_error(self.q, int(repeats), self.classes))
        other = wrong / (self.classes - 1)
        met = self.one_right * (1.0 - wrong + other) + self.both_wrong * 2.0 * other
        return self.clustering * max(met / (1.0 - wrong - other) ** 2 - self.difference**2, 0.0)

    def candidates(self, cost_label: float, cost_repeat: float) -> range:
        """Odd numbers of raters, which have a majority."""
        return range(1, 52, 2)


@dataclass(frozen=True)
class CheckingBudget:
    """Variance of an accuracy (or a difference) with M labels, and m checked ones that tell how often labels are wrong.

    sampling / M + checking / m, where the checks are spread over the classes in proportion to `each`.
    """

    sampling: float
    each: FloatArray
    """Root of the variance that one checked label of each class leaves."""

    @property
    def checking(self) -> float:
        return float(np.add.reduce(self.each)) ** 2

    def per_label(self, repeats: float) -> float:
        """With error rates that are known."""
        return self.sampling

    def cheapest(self, target: float, cost_label: float, cost_check: float) -> tuple[float, float]:
        """Labels and checks at which the variance is `target`, so that neither is better spent on the other."""
        both = math.sqrt(self.sampling * self.checking)
        ratio = math.sqrt(cost_check / cost_label)
        return (self.sampling + both * ratio) / target, (self.checking + both / ratio) / target


class GoldBudget(CheckingBudget):
    """The same for a mean over M items with labels, of which m have gold labels too: at most all of them."""

    def cheapest(self, target: float, cost_label: float, cost_check: float) -> tuple[float, float]:
        labels, checks = super().cheapest(target, cost_label, cost_check)
        every = (self.sampling + self.checking) / target
        return (labels, checks) if checks <= labels else (every, every)


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What is needed to reach a goal.

    Attributes
    ----------
    labels, repeats : number of labels, and of repeats (raters) of each
    cost : what they cost
    power : the power they give (None for a plan that reaches a std)
    allocation : how to spread the repeats over the pilot's labels, as shares of the total (None without pilot data); of
        a plan with `checks` how to spread these over the classes, in the order of the error model
    checks : how many labels to check, where the error rates of the labels come from counts, or where some items have gold
        labels (`Verified`); else None
    repeats_continuous : the best number of repeats before rounding to a whole one (raters: the whole one)

    Examples
    --------
    >>> import scorebars as sb
    >>> plan = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5)
    >>> plan.labels, plan.repeats, round(plan.power_at(1000, 4), 2)
    (1868, 4, 0.66)
    """

    labels: int
    repeats: int
    cost: float
    power: float | None
    allocation: FloatArray | None
    repeats_continuous: float
    goal: str
    budget: Budget | VotingBudget | CheckingBudget = field(repr=False)
    target_variance: float = field(repr=False)
    """The variance of the estimate at which the goal is reached."""
    difference: float | None = field(default=None, repr=False)
    level: float = field(default=0.95, repr=False)
    assumed: str = ""
    """What was assumed about the labels, and how to change it; empty where nothing had to be."""
    checks: int | None = None

    def std_at(self, labels: float, repeats: float = 1, checks: float | None = None) -> float:
        """Standard error of the estimate with this many labels and repeats, and checks where the plan has some."""
        return math.sqrt(self.budget.per_label(repeats) / labels + self._left_by(checks))

    def _left_by(self, checks: float | None) -> float:
        """The variance that this many checks leave, however many labels there are."""
        more = self.checks if checks is None else checks
        return self.budget.checking / more if isinstance(self.budget, CheckingBudget) and more else 0.0

    def power_at(self, labels: float, repeats: float = 1, checks: float | None = None) -> float:
        """Power of the two-sided test with this many labels and repeats, and checks where the plan has some."""
        if self.difference is None:
            raise ValueError("this plan reaches a std; it has no difference to be detected, so no power.")
        return _power(self.difference, self.std_at(labels, repeats, checks) ** 2, self.level)

    def labels_for(self, repeats: float = 1, checks: float | None = None) -> float:
        """How many labels (not rounded) reach the goal with this many repeats of each, and checks where the plan has some.

        Infinite where so few checks leave too much open.
        """
        target = self.target_variance - self._left_by(checks)
        return self.budget.per_label(repeats) / target if target > 0 else math.inf

    def view(self) -> View:
        """What printing and notebooks show."""
        power = "" if self.power is None else f", power {self.power:.3f}"
        needed = f"{counted(self.labels, 'label')} with {counted(self.repeats, 'repeat')} each"
        if self.checks is not None:
            checked = f"{counted(self.checks, 'check')} of how often labels are wrong"
            if isinstance(self.budget, GoldBudget):
                checked = f"{self.checks} of them checked"
            needed = f"{counted(self.labels, 'label')}, and {checked}"
        notes = [f"Note: {self.assumed}."] if self.assumed else []
        return View(f"{needed} (cost {self.cost:g}{power}) {self.goal}", notes=notes)


def plan(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    yerr: Any = None,
    difference: float | None = None,
    power: float = 0.9,
    level: float = 0.95,
    std: float | None = None,
    sampling_variance: float | None = None,
    measurement_variance: float | None = None,
    cost_label: float = 1.0,
    cost_repeat: float = 1.0,
    cost_check: float = 1.0,
    task: str | None = None,
    groups: Any = None,
    y: Hashable | None = None,
    pred: Any = None,
    nan_policy: str = "raise",
    **reading: Any,
) -> Plan:
    r"""How many labels, and how many repeats of each, are needed?

    Two goals: to tell two models apart (`difference` of their mean squared errors, or of their accuracies for
    classes), or to bring the standard error of a model's mean squared error against the truth below `std`. For classes
    whose error rates were counted (`from_counts` of `Flip`, `ClassFlip` and `Transition`) both goals are about accuracies, and
    the plan says how many labels to judge and how many to check. So it does where the pilot has gold labels (`Verified`),
    for measured numbers too.

    Parameters
    ----------
    y_true, y_pred, yerr : pilot data
        Labels, the predictions of two models (a mapping or a pair) or of one, and the error of a single repeat; or a
        table or file with such columns.
    y, pred, nan_policy, **reading : as in `evaluate`
        ``plan(table, y="mass", pred=["a", "b"], yerr="mass_err")`` takes columns by name, and ``plan("pilot.csv")`` those of
        a file, read and guessed as in `evaluate`; the plan says what was understood.
    difference : number, optional
        The difference to detect; by default that of the pilot.
    std : number, optional
        The standard error to reach, instead of a difference.
    sampling_variance, measurement_variance : numbers
        Assumed variances per label, instead of pilot data.
    power, level : probabilities
        Power and two-sided confidence level of the comparison.
    cost_label, cost_repeat : numbers
        What a label costs once, and each of its repeats.
    cost_check : number
        What it costs to check a label, where error rates are counted or items have gold labels.
    task : {"regression", "classification"}, optional
        Whether the pilot's labels are measured numbers or classes; guessed as in `evaluate`, and said where it was.
    groups : (n,), optional
        Which items of the pilot belong together (series, scenes, patients). The plan is then for new groups of the sizes
        that the pilot has: :math:`V_s` is the variance between them for each label.

    Returns
    -------
    Plan
        The cheapest numbers of `labels` and `repeats`, their `cost` and `power`, and the `allocation` of repeats.

    Notes
    -----
    With variances per label :math:`V_s` (between items) and :math:`V_m` (of a single repeat), M labels of n repeats detect
    the difference :math:`\Delta` if

    .. math::
        M = (z_{1-\alpha/2} + z_{power})^2\,\frac{V_s + V_m/n}{\Delta^2}, \qquad
        n^* = \sqrt{\frac{V_m\,c_{label}}{V_s\,c_{repeat}}} .

    Repeats alone cannot go below :math:`V_s/M`; for classes the raters' majority takes the place of the repeats. With
    counted error rates the variance is :math:`V_s/M + V_c/m` for m checked labels, and the cheapest way has
    :math:`m/M = \sqrt{V_c c_{label} / (V_s c_{check})}`. With gold labels :math:`V_s = \rho^2 \mathrm{Var}\,h` and
    :math:`V_c = (1-\rho^2)\mathrm{Var}\,h`, with h the losses by gold labels and :math:`\rho` their correlation with those by
    labels.

    References
    ----------
    W. G. Cochran, *Sampling Techniques*, 3rd edition (Wiley, 1977), chapter 10 (how many units, and how often each).

    Examples
    --------
    How many nuclear masses would tell two mass models apart, as well measured as those of the pilot?

    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("HFB26", "HFB24")}
    >>> print(sb.plan(masses.y, models, yerr=masses.yerr))
    15140 labels with 1 repeat each (cost 30280, power 0.900) to detect a difference of 0.0081645
    >>> print(sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5))
    1868 labels with 4 repeats each (cost 16812, power 0.900) to detect a difference of 0.15

    A judge was wrong on 6 of 60 answers that were checked. To know the accuracy to 2 %, a check costing 10 judgements:

    >>> judged, answers = [1] * 300, [1] * 240 + [0] * 60
    >>> judge = sb.Flip.from_counts(6, 60)
    >>> print(sb.plan(judged, answers, yerr=judge, std=0.02, cost_repeat=0, cost_check=10))
    1737 labels, and 309 checks of how often labels are wrong (cost 4827) to reach a std of 0.02
    >>> models = {"a": answers, "b": [1] * 220 + [0] * 80}
    >>> print(sb.plan(judged, models, yerr=judge, difference=0.03, cost_repeat=0, cost_check=10))
    1860 labels, and 118 checks of how often labels are wrong (cost 3040, power 0.900) to detect a difference of 0.03

    An expert saw every third of these answers, and found one in ten of the judge's grades wrong:

    >>> import numpy as np
    >>> gold = np.where(np.arange(300) % 3 == 0, np.where(np.arange(300) % 30 == 0, 0, judged), np.nan)
    >>> print(sb.plan(judged, answers, yerr=sb.Verified(gold), std=0.02, cost_repeat=0, cost_check=10))
    1026 labels, and 304 of them checked (cost 4066) to reach a std of 0.02
    """
    power, level = checks.probability(power, "power"), checks.probability(level, "level")
    cost_label, cost_repeat = _at_least_zero(cost_label, "cost_label"), _at_least_zero(cost_repeat, "cost_repeat")
    if cost_label + cost_repeat == 0:
        raise ValueError("cost_label and cost_repeat are both 0: something must cost, or the plan has no limit.")
    if difference is not None and std is not None:
        raise ValueError("give either difference (two models) or std (one model), not both.")
    assumed = sampling_variance is not None or measurement_variance is not None
    if assumed == (y_true is not None or y_pred is not None):
        raise ValueError(
            "plan needs either pilot data (y_true, y_pred, yerr) or assumed variances (sampling_variance, "
            "measurement_variance)."
        )
    if reading:
        require_known(reading, y_true)
    read = ""
    if isinstance(y_true, str | os.PathLike) or y is not None or pred is not None:
        columns = {"y": y, "pred": pred, "yerr": yerr, "groups": groups}
        pilot, task, read = _pilot_columns(y_true, y_pred, columns, task, nan_policy, reading)
        y_true, y_pred, yerr, groups = pilot.y_true, pilot.models, pilot.yerr, pilot.groups
        _require_models(y_pred, 1 if std is not None else 2)
    allocation: FloatArray | None = None
    budget: Budget | VotingBudget | CheckingBudget
    said = ""
    if assumed:
        if groups is not None:
            raise ValueError("groups belong to pilot data; put what they add into sampling_variance.")
        budget = Budget(
            _at_least_zero(sampling_variance or 0.0, "sampling_variance"),
            _at_least_zero(measurement_variance or 0.0, "measurement_variance"),
        )
    else:
        found, said = assumed_task(task, y_true, yerr, _predictions(y_pred, 1 if std is not None else 2))
        said = said or read
        if isinstance(yerr, Verified):
            budget, difference = _gold_pilot(y_true, y_pred, yerr, found, std, difference, groups)
            goal = _Goal(std, difference, power, level)
            return _checking_plan(budget, goal, cost_label + cost_repeat, cost_check, said)
        if found == "regression" and std is not None:
            budget = _one_model_pilot(y_true, y_pred, yerr, groups)
        elif found == "regression":
            budget, difference, allocation = _two_model_pilot(y_true, y_pred, yerr, difference, groups)
        elif isinstance(yerr, ClassError) and yerr.checked is not None:
            counts, difference = _counting_pilot(y_true, y_pred, yerr, std, difference, groups)
            goal = _Goal(std, difference, power, level)
            return _checking_plan(counts, goal, cost_label + cost_repeat, cost_check, said)
        elif std is not None:
            raise ValueError(
                "plan brings the std of a mean squared error below a target; for classes give the predictions of two "
                "models and a difference, or error rates that were counted: yerr=sb.Flip.from_counts(wrong, checked). "
                'If the labels are measured numbers, say task="regression".'
            )
        else:
            budget, difference = _voting_pilot(y_true, y_pred, yerr, difference, groups)
    if std is None and difference is None:
        raise ValueError("say what to reach: difference (to tell two models apart) or std (of one model's score).")
    wanted = _Goal(std, difference, power, level)
    target = wanted.variance

    def cost_of(repeats: int) -> tuple[float, int]:
        labels = max(math.ceil(budget.per_label(repeats) / target * (1 - 1e-12)), 1)
        return labels * (cost_label + repeats * cost_repeat), labels

    best = min(budget.candidates(cost_label, cost_repeat), key=lambda n: (cost_of(n)[0], n))
    cost, labels = cost_of(best)
    reached = None if difference is None else _power(difference, budget.per_label(best) / labels, level)
    continuous = budget.best_repeats(cost_label, cost_repeat) if isinstance(budget, Budget) else float(best)
    return Plan(
        labels, best, cost, reached, allocation, continuous, str(wanted), budget, target, difference, level, said
    )


@dataclass(frozen=True)
class _Goal:
    """A standard error to reach, or a difference to detect."""

    std: float | None
    difference: float | None
    power: float
    level: float

    @property
    def variance(self) -> float:
        """The variance of the estimate at which the goal is reached."""
        name, wanted, factor = "std", self.std or 0.0, 1.0
        if self.difference is not None:
            name, wanted = "difference", self.difference
            factor = float(ndtri((1.0 + self.level) / 2) + ndtri(self.power))
        if not (math.isfinite(wanted) and wanted != 0) or (self.difference is None and wanted < 0):
            allowed = "above 0" if self.difference is None else "that is not 0"
            raise ValueError(f"{name} must be a number {allowed}, got {wanted!r}: nothing finite reaches it.")
        return (wanted / factor) ** 2

    def __str__(self) -> str:
        if self.difference is None:
            return f"to reach a std of {self.std:g}"
        return f"to detect a difference of {abs(self.difference):g}"


def _checking_plan(budget: CheckingBudget, goal: _Goal, cost_label: float, cost_check: float, said: str) -> Plan:
    """How many labels to judge, and how many to check."""
    cost_check, target = _at_least_zero(cost_check, "cost_check"), goal.variance
    if not (cost_label > 0 and cost_check > 0):
        raise ValueError(
            "judging a label and checking one must both cost something: with one of them free use all there is."
        )
    labels, checks = (max(math.ceil(x * (1 - 1e-12)), 1) for x in budget.cheapest(target, cost_label, cost_check))
    allocation = budget.each / np.add.reduce(budget.each) if budget.checking > 0 else None
    allocation = None if isinstance(budget, GoldBudget) else allocation
    reached = None
    if goal.difference is not None:
        reached = _power(goal.difference, budget.sampling / labels + budget.checking / checks, goal.level)
    cost = labels * cost_label + checks * cost_check
    return Plan(
        labels, 1, cost, reached, allocation, 1.0, str(goal), budget, target, goal.difference, goal.level, said, checks
    )


def _gold_pilot(
    y_true: Any, y_pred: Any, yerr: Verified, task: str, std: float | None, difference: float | None, groups: Any
) -> tuple[GoldBudget, float | None]:
    """Of the mean squared error or the accuracy, or of their difference for two models: rho^2 Var h, and what is left of it."""
    metric = compared_metric("mean_squared_error" if task == "regression" else "accuracy_score", {})
    if groups is not None:
        raise ValueError("plan takes no groups together with gold labels (Verified): leave them out.")
    predictions = _predictions(y_pred, 1 if std is not None else 2)
    found = [metric.score(y_true, p, yerr, None)._answers for p in predictions]
    first, *others = (one for one in found if isinstance(one, VerifiedAnswers))
    subset = first.subset

    def corrected(beta: float) -> GoldLosses:
        own = first.corrected(beta)
        return own.less(others[0].corrected(beta)) if others else own

    both, _ = tuned(corrected, subset)
    v, f, h = subset.gold, both.f, both.h
    apart, shown = h - v @ h, f[subset.checked] - v @ f[subset.checked]
    whole = float(v @ np.square(apart)) * len(h) / (len(h) - 1)
    scatter = float(v @ np.square(shown)) * len(h) / (len(h) - 1)
    together = max(float(v @ (apart * shown)) * len(h) / (len(h) - 1), 0.0)
    sampling = min(together**2 / scatter, whole) if scatter > 0 else 0.0
    if std is None and difference is None:
        difference = both.value
    return GoldBudget(sampling, np.sqrt([max(whole - sampling, 0.0)])), difference


def _counting_pilot(
    y_true: Any, y_pred: Any, yerr: Any, std: float | None, difference: float | None, groups: Any
) -> tuple[CheckingBudget, float | None]:
    """Of an accuracy against the truth, or of the difference of two."""
    if groups is not None:
        _require_several(group_codes(groups, len(y_true)))
    if std is None:
        models = dict(zip("ab", _predictions(y_pred, 2), strict=True))
        apart = compare(y_true, models, metric="accuracy_score", yerr=yerr, groups=groups).difference("a", "b")
        both = apart.truth._total
        assert isinstance(both, OverRates)
        if not both.fixed[0] > 0:
            raise ValueError(_NOTHING_APART)
        budget = CheckingBudget(apart.n * float(both.fixed[0]), _each_check(both))
        return budget, float(apart.truth) if difference is None else difference
    score = accuracy_score(y_true, _predictions(y_pred, 1)[0], yerr=yerr)
    score.truth.interval(0.5)  # raises where there is none
    over = score.truth._total
    assert isinstance(over, OverRates)
    rates = over.checked.variance(over.slopes)
    inside = min(max(float(score.truth), 0.0), 1.0)
    sampling = score.truth.std**2 - rates + over.curve * inside * (1.0 - inside)
    if groups is not None:
        sampling += grouped(score, groups)._answers.sampling_std() ** 2 - score._answers.sampling_std() ** 2
    return CheckingBudget(score.n * max(sampling, 0.0), _each_check(over)), None


def _each_check(over: OverRates) -> FloatArray:
    assert isinstance(over.checked, CheckedRates)
    return np.sqrt(over.checked.variances(over.slopes))


def _pilot_columns(
    data: Any, y_pred: Any, columns: dict[str, Any], task: str | None, nan_policy: str, reading: Mapping[str, Any]
) -> tuple[StudyData, str | None, str]:
    """The pilot in a table or a file, what its labels are, and what was understood of the file."""
    if not isinstance(data, str | os.PathLike):
        return study_data(data, y_pred, nan_policy=nan_policy, **columns), task, ""
    if y_pred is not None:
        raise ValueError("give predictions as columns of the file: plan(path, pred=...).")
    found = study_in_file(data, columns, task=task, nan_policy=nan_policy, options=reading)
    return found.data, found.task, found.assumed


def _require_models(models: Mapping[str, Any], wanted: int) -> None:
    if len(models) != wanted:
        what = "one model (std)" if wanted == 1 else "two models (difference)"
        raise ValueError(
            f"this plan is about {what}, but the data have {len(models)}: {', '.join(models)}. Choose with pred=[...]."
        )


def _at_least_zero(value: float, name: str) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
    return float(value)


def _predictions(y_pred: Any, wanted: int) -> list[Any]:
    pair = isinstance(y_pred, Mapping) or (wanted == 2 and len(y_pred) == 2)
    models = [y_pred] if not pair else list(y_pred.values() if isinstance(y_pred, Mapping) else y_pred)
    if len(models) != wanted:
        what = "two models (a mapping or a pair of predictions)" if wanted == 2 else "one model"
        raise ValueError(f"y_pred must hold the predictions of {what}, but holds {len(models)}.")
    return models


def _pilot(y_true: Any, y_pred: Any, yerr: Any, wanted: int) -> list[Measured]:
    """The labels with the predictions of each model."""
    if yerr is None:
        raise ValueError("yerr is missing: planning repeats needs the error of a single measurement.")
    data = [measured(y_true, p, yerr, None)[0] for p in _predictions(y_pred, wanted)]
    if data[0].limited:
        raise ValueError("plan takes no labels that are limits (Censored): they do not show how single labels scatter.")
    if any(not one.plain_normal and one.errors.of_predictions() is not None for one in data):
        raise ValueError(
            "plan asks how many labels and repeats are needed, and counts no errors of the predictions: pass their nominal "
            "values."
        )
    if data[0].n < 2:
        raise ValueError("a pilot needs at least two labels to show how they scatter.")
    return data


def _two_model_pilot(
    y_true: Any, y_pred: Any, yerr: Any, difference: float | None, groups: Any
) -> tuple[Budget, float, FloatArray | None]:
    """V_s = Var(D_A^2 - D_B^2) without its measurement part, V_m = 4 mean((b-a)^2 sigma^2)."""
    data, other = _pilot(y_true, y_pred, yerr, 2)
    y, a, b, errors = np.asarray(data.y, float), np.asarray(data.p, float), np.asarray(other.p, float), data.errors
    gap = b - a
    own = 4.0 * np.square(gap) * errors.label_variance(y)
    terms = gap * (2.0 * y - a - b)
    sampling = max(float(np.var(terms, ddof=1) - np.mean(own)) + _added_by_groups(terms, groups), 0.0)
    measurement = float(np.mean(4.0 * np.square(gap) * errors.variance(y)))
    lever = np.abs(gap) * np.sqrt(errors.variance(y))
    allocation = lever / lever.sum() if lever.sum() > 0 else None
    return Budget(sampling, measurement), float(np.mean(terms)) if difference is None else difference, allocation


def _added_by_groups(terms: FloatArray, groups: Any) -> float:
    """What groups add to the variance of a mean, times the number of its terms: negative where they balance out."""
    if groups is None:
        return 0.0
    codes, n = group_codes(groups, len(terms)), len(terms)
    count = _require_several(codes)
    sums = np.bincount(codes, terms - np.mean(terms))
    return float(np.sum(np.square(sums))) / n * count / (count - 1) - float(np.var(terms, ddof=1))


def _require_several(codes: NDArray[np.intp]) -> int:
    """The number of groups of the pilot."""
    count = int(codes.max()) + 1
    if count < 2:
        raise ValueError("all items of the pilot are of one group: at least two are needed to show how groups scatter.")
    return count


def _one_model_pilot(y_true: Any, y_pred: Any, yerr: Any, groups: Any) -> Budget:
    """Variance of the truth's estimate of the MSE, with k4 the fourth cumulant of a single error:

    V_s + 4 mean(D^2 sigma^2)/n + mean(2 sigma^4 + 4 D m3)/n^2 + mean(k4)/n^3.

    V_s is what is left of the scatter of the pilot's squares. Where label errors make most of it, V_s is hardly known: one
    standard error is added, so that the std is reached with most pilots and not with every second one.
    """
    (data,) = _pilot(y_true, y_pred, yerr, 1)
    y, p, errors = np.asarray(data.y, float), np.asarray(data.p, float), data.errors
    s2, single, at_hand = errors.label_variance(y), errors.variance(y), np.asarray(errors.repeats, dtype=np.float64)
    m3, k4 = errors.third(y), errors.fourth(y) - 3.0 * np.square(single)
    d = errors.unbiased_label(y) - p
    square = np.square(d) - s2
    own = 4.0 * square * s2 + 2.0 * np.square(s2) + 4.0 * d * m3 / at_hand**2 + k4 / at_hand**3
    excess = np.square(square - np.mean(square)) - own
    sampling = float(np.mean(excess)) + float(np.std(excess, ddof=1)) / math.sqrt(len(y))
    sampling += _added_by_groups(square, groups)
    measurement = max(4.0 * float(np.mean(square * single)), 0.0)
    curvature = float(np.mean(2.0 * np.square(single) + 4.0 * d * m3))
    return Budget(max(sampling, 0.0), measurement, max(curvature, 0.0), float(np.mean(k4)))


def _voting_pilot(
    y_true: Any, y_pred: Any, yerr: Any, difference: float | None, groups: Any
) -> tuple[VotingBudget, float]:
    """Only items on which the two classifiers differ matter; noise shrinks their difference by 1 - q - r."""
    if isinstance(yerr, ClassError) and not isinstance(yerr, Flip):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, but a plan of raters takes one probability that a label is wrong: pass yerr=q or "
            "sb.Flip(q), of votes their vote_error. Error rates that differ between classes serve a plan of labels and checks: "
            "pass the counts that they come from, sb.ClassFlip.from_counts(...) or sb.Transition.from_counts(...)."
        )
    first, second = _predictions(y_pred, 2)
    a, b = class_labels(Given(y_true, first)), class_labels(Given(y_true, second))
    q = float(np.mean(np.asarray(flip_model(yerr, len(a.y)).q)))
    classes = max(len(np.unique(np.concatenate([a.classes, b.classes]))), 2)
    other = q / (classes - 1)
    contrast = 1.0 - q - other
    if contrast <= 1e-12:
        often = "half of the time" if classes == 2 else f"as often as by chance among {classes} classes"
        raise ValueError(f"q = {q:g} on average: labels that are wrong {often} tell no classifiers apart.")
    right_a, right_b = np.asarray(a.y == a.p), np.asarray(b.y == b.p)
    differ = float(np.mean(a.p != b.p))
    if differ == 0:
        raise ValueError(_NOTHING_APART)
    # the label meets one of two different predictions with probability 1 - q + r where one is right, else 2 r
    met = float(np.mean(right_a != right_b))
    one_right = min(max((met - 2.0 * other * differ) / contrast, 0.0), differ)
    if difference is None:
        difference = float(np.mean(right_a) - np.mean(right_b)) / contrast
    terms = right_a.astype(np.float64) - right_b
    alone = float(np.var(terms, ddof=1)) if len(terms) > 1 else 0.0
    clustering = max(1.0 + _added_by_groups(terms, groups) / alone, 0.0) if alone > 0 else 1.0
    return VotingBudget(one_right, differ - one_right, q, difference, classes, clustering), difference


def _power(difference: float, variance: float, level: float) -> float:
    if variance == 0:
        return 1.0
    z = float(ndtri((1.0 + level) / 2))
    shift = abs(difference) / math.sqrt(variance)
    return float(ndtr(shift - z) + ndtr(-shift - z))
