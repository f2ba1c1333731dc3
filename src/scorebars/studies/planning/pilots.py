"""What a pilot shows of the variance of a larger study: labels that were measured already, and predictions of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.over_rates import OverRates
from scorebars.answers.clustered import group_codes, grouped
from scorebars.answers.verified_answers import GoldLosses, VerifiedAnswers, tuned
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError, Flip, Verified
from scorebars.errors.checked_rates import CheckedRates
from scorebars.measured import Measured
from scorebars.metrics.call import measured
from scorebars.metrics.class_inputs import Given, class_labels, flip_model
from scorebars.metrics.predicted_classes import accuracy_score
from scorebars.studies.comparison.compare import compare
from scorebars.studies.comparison.compared_data import compared_metric
from scorebars.studies.planning.budgets import Budget, CheckingBudget, GoldBudget, RepeatingBudget, VotingBudget

_NOTHING_APART = "the two classifiers agree on every item of the pilot: there is nothing to tell apart."


class Pilot(NamedTuple):
    """Labels with their errors, and predictions of one model, or of two that are to be told apart."""

    y: Any
    models: list[Any]
    yerr: Any
    groups: Any
    difference: float | None
    """The difference to detect; None for that of the pilot."""

    @property
    def one_model(self) -> bool:
        return len(self.models) == 1


def budget_of(pilot: Pilot, task: str) -> tuple[Budget, float | None]:
    """How the variance falls with more labels, and the difference to detect (None for one model)."""
    if isinstance(pilot.yerr, Verified):
        return _gold_labels(pilot, task)
    if task == "regression":
        return (_squared_error if pilot.one_model else _squared_errors_apart)(pilot)
    if isinstance(pilot.yerr, ClassError) and pilot.yerr.checked is not None:
        return _counted_rates(pilot)
    if pilot.one_model:
        raise ValueError(
            "plan brings the std of a mean squared error below a target; for classes give the predictions of two "
            "models and a difference, or error rates that were counted: yerr=sb.Flip.from_counts(wrong, checked). "
            'If the labels are measured numbers, say task="regression".'
        )
    return _raters(pilot)


def _gold_labels(pilot: Pilot, task: str) -> tuple[Budget, float | None]:
    """Mean squared error or accuracy, or the difference of two: items leave rho^2 Var h, checks the rest of Var h."""
    metric = compared_metric("mean_squared_error" if task == "regression" else "accuracy_score", {})
    if pilot.groups is not None:
        raise ValueError("plan takes no groups together with gold labels (Verified): leave them out.")
    found = [metric.score(pilot.y, p, pilot.yerr, None)._answers for p in pilot.models]
    first, *others = (one for one in found if isinstance(one, VerifiedAnswers))
    subset = first.subset

    def corrected(beta: float) -> GoldLosses:
        own = first.corrected(beta)
        return own.less(others[0].corrected(beta)) if others else own

    both, beta = tuned(corrected, subset)
    v, f, h = subset.gold, both.f, both.h
    apart, shown = h - v @ h, f[subset.checked] - v @ f[subset.checked]
    whole = float(v @ np.square(apart)) * len(h) / (len(h) - 1)
    scatter = float(v @ np.square(shown)) * len(h) / (len(h) - 1)
    together = max(float(v @ (apart * shown)) * len(h) / (len(h) - 1), 0.0)
    sampling = min(together**2 / scatter, whole) if scatter > 0 else 0.0
    # where no gold label was another one, what one more may be
    unseen = subset.unseen_moves(both, beta)
    checking = max(whole - sampling, len(h) * float(unseen @ unseen))
    difference = None if pilot.one_model else both.value if pilot.difference is None else pilot.difference
    return GoldBudget(sampling, np.sqrt([checking])), difference


def _counted_rates(pilot: Pilot) -> tuple[CheckingBudget, float | None]:
    """The accuracy against the truth, or the difference of two, where error rates were counted."""
    y_true, yerr, groups = pilot.y, pilot.yerr, pilot.groups
    if groups is not None:
        _require_several(group_codes(groups, len(y_true)))
    if not pilot.one_model:
        models = dict(zip("ab", pilot.models, strict=True))
        apart = compare(y_true, models, metric="accuracy_score", yerr=yerr, groups=groups).difference("a", "b")
        both = apart.truth._total
        assert isinstance(both, OverRates)
        if not both.fixed[0] > 0:
            raise ValueError(_NOTHING_APART)
        difference = float(apart.truth) if pilot.difference is None else pilot.difference
        return CheckingBudget(apart.n * float(both.fixed[0]), _each_check(both)), difference
    score = accuracy_score(y_true, pilot.models[0], yerr=yerr)
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


def _measured(pilot: Pilot) -> list[Measured]:
    """The labels with the predictions of each model."""
    if pilot.yerr is None:
        raise ValueError("yerr is missing: planning repeats needs the error of a single measurement.")
    data = [measured(pilot.y, p, pilot.yerr, None)[0] for p in pilot.models]
    if data[0].limited:
        raise ValueError("plan takes no labels that are limits (Censored): they do not show how single labels scatter.")
    if any(not one.plain_normal and one.errors.of_predictions() is not None for one in data):
        raise ValueError(
            "plan asks how many labels and repeats are needed, and counts no errors of the predictions: pass their nominal "
            "values."
        )
    if not data[0].errors.independent:
        raise ValueError(
            "plan counts what more labels and repeats average out, which errors that labels share (cov, shared or batch) do "
            "not: pass Normal(sigma), with the part of the errors that is each label's own."
        )
    if data[0].n < 2:
        raise ValueError("a pilot needs at least two labels to show how they scatter.")
    return data


def _squared_errors_apart(pilot: Pilot) -> tuple[RepeatingBudget, float]:
    """The difference of two: V_s = Var(D_A^2 - D_B^2) without its measurement part, V_m = 4 mean((b-a)^2 sigma^2)."""
    data, other = _measured(pilot)
    y, a, b, errors = np.asarray(data.y, float), np.asarray(data.p, float), np.asarray(other.p, float), data.errors
    gap = b - a
    own = 4.0 * np.square(gap) * errors.label_variance(y)
    terms = gap * (2.0 * y - a - b)
    sampling = max(float(np.var(terms, ddof=1) - np.mean(own)) + _added_by_groups(terms, pilot.groups), 0.0)
    measurement = float(np.mean(4.0 * np.square(gap) * errors.variance(y)))
    lever = np.abs(gap) * np.sqrt(errors.variance(y))
    allocation = lever / lever.sum() if lever.sum() > 0 else None
    difference = float(np.mean(terms)) if pilot.difference is None else pilot.difference
    return RepeatingBudget(sampling, measurement, allocation=allocation), difference


def _added_by_groups(terms: FloatArray, groups: Any) -> float:
    """What groups add to the variance per term of a mean; negative where items of one group balance out."""
    if groups is None:
        return 0.0
    codes, n = group_codes(groups, len(terms)), len(terms)
    count = _require_several(codes)
    sums = np.bincount(codes, terms - np.mean(terms))
    return float(np.sum(np.square(sums))) / n * count / (count - 1) - float(np.var(terms, ddof=1))


def _require_several(codes: NDArray[np.intp]) -> int:
    """The number of groups in the pilot, of which two are needed."""
    count = int(codes.max()) + 1
    if count < 2:
        raise ValueError("all items of the pilot are of one group: at least two are needed to show how groups scatter.")
    return count


def _squared_error(pilot: Pilot) -> tuple[RepeatingBudget, None]:
    """Variance of the estimated MSE against the truth, with k4 the fourth cumulant of a single error:

    V_s + 4 mean(D^2 sigma^2)/n + mean(2 sigma^4 + 4 D m3)/n^2 + mean(k4)/n^3.

    V_s is what is left of the scatter of the pilot's squares. Where label errors make most of it, V_s is hardly known: one
    standard error is added, so that the std is reached with most pilots and not with every second one.
    """
    (data,) = _measured(pilot)
    y, p, errors = np.asarray(data.y, float), np.asarray(data.p, float), data.errors
    if errors.common_scale is not None:
        stays = 2.0 * errors.common_scale.error * float(np.mean(errors.label_variance(y)))
        raise ValueError(
            f"{errors.common_scale.text}, which leaves ± {stays:.2g} however many labels there are, and plan counts what more "
            "labels average out: pass Normal(sigma), and add that to the std."
        )
    s2, single, at_hand = errors.label_variance(y), errors.variance(y), np.asarray(errors.repeats, dtype=np.float64)
    m3, k4 = errors.third(y), errors.fourth(y) - 3.0 * np.square(single)
    d = errors.unbiased_label(y) - p
    square = np.square(d) - s2
    own = 4.0 * square * s2 + 2.0 * np.square(s2) + 4.0 * d * m3 / at_hand**2 + k4 / at_hand**3
    excess = np.square(square - np.mean(square)) - own
    sampling = float(np.mean(excess)) + float(np.std(excess, ddof=1)) / math.sqrt(len(y))
    sampling += _added_by_groups(square, pilot.groups)
    measurement = max(4.0 * float(np.mean(square * single)), 0.0)
    curvature = float(np.mean(2.0 * np.square(single) + 4.0 * d * m3))
    return RepeatingBudget(max(sampling, 0.0), measurement, max(curvature, 0.0), float(np.mean(k4))), None


def _raters(pilot: Pilot) -> tuple[VotingBudget, float]:
    """The difference of two accuracies: only items on which they differ matter, and noise shrinks it by 1 - q - r."""
    yerr, difference = pilot.yerr, pilot.difference
    if isinstance(yerr, ClassError) and not isinstance(yerr, Flip):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, but a plan of raters takes one probability that a label is wrong: pass yerr=q or "
            "sb.Flip(q), of votes their vote_error. Error rates that differ between classes serve a plan of labels and checks: "
            "pass the counts that they come from, sb.ClassFlip.from_counts(...) or sb.Transition.from_counts(...)."
        )
    a, b = (class_labels(Given(pilot.y, p)) for p in pilot.models)
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
    clustering = max(1.0 + _added_by_groups(terms, pilot.groups) / alone, 0.0) if alone > 0 else 1.0
    return VotingBudget(one_right, differ - one_right, q, difference, classes, clustering), difference
