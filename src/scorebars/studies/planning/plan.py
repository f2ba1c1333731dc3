"""What to measure next: how many labels, how many repeats of each, and which ones."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars._shared.score_views import counted
from scorebars._shared.shown import Printout, Shown
from scorebars.arrays import FloatArray
from scorebars.evaluation.study_data import StudyData, assumed_task, study_data
from scorebars.files.file_study import require_known, study_in_file
from scorebars.studies.planning.budgets import Budget, CheckingBudget, Costs, RepeatingBudget
from scorebars.studies.planning.pilots import Pilot, budget_of


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What is needed to reach a goal.

    Attributes
    ----------
    labels, repeats
        Number of labels, and of repeats (raters) of each.
    cost
        What they cost.
    power
        The power they give (None for a plan that reaches a std).
    allocation
        How to spread the repeats over the pilot's labels, as shares of the total (None without pilot data); of a plan
        with `checks` how to spread these over the classes, in the order of the error model.
    checks
        How many labels to check, where the error rates of the labels come from counts, or where some items have gold
        labels (`Verified`); else None.
    repeats_continuous
        The best number of repeats before rounding to a whole one (raters: the whole one).

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
    budget: Budget = field(repr=False)
    target_variance: float = field(repr=False)
    """The variance of the estimate at which the goal is reached."""
    difference: float | None = field(default=None, repr=False)
    level: float = field(default=0.95, repr=False)
    assumed: str = ""
    """What was assumed about the labels, and how to change it; empty where nothing had to be."""
    checks: int | None = None

    def std_at(self, labels: float, repeats: float = 1, checks: float | None = None) -> float:
        """Standard error of the estimate with this many labels and repeats, and checks where the plan has some."""
        return math.sqrt(self.budget.variance(labels, repeats, self.checks if checks is None else checks))

    def power_at(self, labels: float, repeats: float = 1, checks: float | None = None) -> float:
        """Power of the two-sided test with this many labels and repeats, and checks where the plan has some."""
        if self.difference is None:
            raise ValueError("this plan reaches a std; it has no difference to be detected, so no power.")
        return _power(self.difference, self.std_at(labels, repeats, checks) ** 2, self.level)

    def labels_for(self, repeats: float = 1, checks: float | None = None) -> float:
        """How many labels (not rounded) reach the goal with this many repeats of each, and checks where the plan has some.

        Infinite where so few checks leave too much open.
        """
        return self.budget.labels_for(self.target_variance, repeats, self.checks if checks is None else checks)

    def view(self) -> Printout:
        """What printing and notebooks show."""
        power = "" if self.power is None else f", power {self.power:.3f}"
        needed = f"{counted(self.labels, 'label')} with {counted(self.repeats, 'repeat')} each"
        if self.checks is not None and isinstance(self.budget, CheckingBudget):
            needed = f"{counted(self.labels, 'label')}, and {self.budget.said_of(self.checks)}"
        notes = [f"Note: {self.assumed}."] if self.assumed else []
        return Printout(f"{needed} (cost {self.cost:g}{power}) {self.goal}", notes=notes)


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
    by_name = {"cost_label": cost_label, "cost_repeat": cost_repeat, "cost_check": cost_check}
    costs = Costs(*(checks.at_least_zero(cost, name) for name, cost in by_name.items()))
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
    said = ""
    if assumed:
        if groups is not None:
            raise ValueError("groups belong to pilot data; put what they add into sampling_variance.")
        budget: Budget = RepeatingBudget(
            checks.at_least_zero(sampling_variance or 0.0, "sampling_variance"),
            checks.at_least_zero(measurement_variance or 0.0, "measurement_variance"),
        )
    else:
        wanted = 1 if std is not None else 2
        if isinstance(y_true, str | os.PathLike) or y is not None or pred is not None:
            columns = {"y": y, "pred": pred, "yerr": yerr, "groups": groups}
            given, task, said = _pilot_columns(y_true, y_pred, columns, task, nan_policy, reading)
            y_true, y_pred, yerr, groups = given.y_true, given.models, given.yerr, given.groups
        pilot = Pilot(y_true, _predictions(y_pred, wanted), yerr, groups, difference)
        found, guessed = assumed_task(task, y_true, yerr, pilot.models)
        said = guessed or said
        budget, difference = budget_of(pilot, found)
    if std is None and difference is None:
        raise ValueError("say what to reach: difference (to tell two models apart) or std (of one model's score).")
    goal = _Goal(std, difference, power, level)
    target = goal.variance
    labels, repeats, checked = budget.cheapest(target, costs)
    reached = None if difference is None else _power(difference, budget.variance(labels, repeats, checked), level)
    best = budget.best_repeats(costs)
    return Plan(
        labels=labels,
        repeats=repeats,
        cost=costs.of(labels, repeats, checked),
        power=reached,
        allocation=budget.allocation,
        repeats_continuous=repeats if best is None else best,
        goal=str(goal),
        budget=budget,
        target_variance=target,
        difference=difference,
        level=level,
        assumed=said,
        checks=checked,
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


def _predictions(y_pred: Any, wanted: int) -> list[Any]:
    """The predictions of one model (std), or of two (difference)."""
    names = list(y_pred) if isinstance(y_pred, Mapping) else []
    models = list(y_pred.values()) if names else list(y_pred) if wanted == 2 and len(y_pred) == 2 else [y_pred]
    if len(models) != wanted:
        what = "one model (std)" if wanted == 1 else "two models (difference)"
        which = f": {', '.join(map(str, names))}. Choose with pred=[...]." if names else ". Pass a mapping or a pair."
        raise ValueError(f"this plan is about {what}, but the data have {len(models)}{which}")
    return models


def _power(difference: float, variance: float, level: float) -> float:
    if variance == 0:
        return 1.0
    z = float(ndtri((1.0 + level) / 2))
    shift = abs(difference) / math.sqrt(variance)
    return float(ndtr(shift - z) + ndtr(-shift - z))
