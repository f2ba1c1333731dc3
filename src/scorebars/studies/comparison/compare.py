"""Is model A really better than model B, given how well the labels are known?"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.clustered import group_codes
from scorebars.answers.limited import LimitedLoss, censored
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.means.squared import RootAnswers, pulls
from scorebars.arrays import to_host
from scorebars.errors import Censored, Verified
from scorebars.errors.measurement_error import held_labels
from scorebars.evaluation.scoring import task_of_metrics
from scorebars.evaluation.study_data import PREDERR_OF_FILES, StudyData, assumed_task, study_data
from scorebars.files.file_study import FILE_OPTIONS, study_in_file
from scorebars.forecasts import Forecast
from scorebars.losses import Loss, SquaredError
from scorebars.measured import Measured
from scorebars.metrics import call
from scorebars.metrics.class_inputs import all_classes, class_array, class_model
from scorebars.studies.comparison.compared_data import (
    ComparedClasses,
    ComparedMetric,
    ComparedNumbers,
    PredictionErrors,
    compared_metric,
)
from scorebars.studies.comparison.comparison_result import Comparison
from scorebars.studies.comparison.models_on_same_labels import ModelsOnLimits, ModelsOnSameLabels
from scorebars.studies.comparison.paired_costs import PairedCosts
from scorebars.studies.comparison.paired_means import PairedLimits, PairedLosses
from scorebars.studies.comparison.verified_models import VerifiedModels

_NOISY_MAE = (
    "with labels this noisy the mean absolute error ranks models by their squared error rather than by their absolute "
    "one; compare mean_squared_error, whose noise cancels exactly"
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
        warnings.append(data.yerr.said())
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
        found = _models_of_numbers(metric, given, shared_prederr)
    elif given.prederr:
        raise ValueError(f"{metric.name} takes no prederr: only metrics of measured numbers have prediction errors.")
    else:
        found = (_models_of_forecasts if of_forecasts else _models_of_classes)(metric, given)
    return (found if given.groups is None else found.with_groups(group_codes(given.groups, found.n))).checked()


def _models_of_numbers(metric: ComparedMetric, given: StudyData, shared_prederr: bool) -> ModelsOnSameLabels:
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
    seen = {name: pulls(one) for name, one in data.items()}
    first = next(iter(seen.values()))
    predictions = {name: first.labels - one.labels for name, one in seen.items()}
    return PairedLosses(
        SquaredError(), False, metric, ComparedNumbers(first.labels, first.errors), predictions, first.weight
    )


def _models_of_forecasts(metric: ComparedMetric, given: StudyData) -> ModelsOnSameLabels:
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


def _models_on_limits(data: Measured, metric: ComparedMetric, *others: Any) -> ModelsOnSameLabels:
    """Predictions of numbers of which some are known as limits only."""
    limits = censored(data)
    root = metric.declaration.name == "root_mean_squared_error"
    answers = metric.score(data.y, data.p, limits, data.weight)._answers
    loss = SquaredError() if root else answers.loss if isinstance(answers, LimitedLoss) else None
    if loss is None:
        return ModelsOnLimits(limits, metric, *others)
    return PairedLimits(limits, loss, root, metric, *others)


def _models_of_classes(metric: ComparedMetric, given: StudyData) -> ModelsOnSameLabels:
    """Predicted classes, or probabilities of them; by tables of costs where the metric is a mean cost of labels."""
    y = class_array(held_labels(given.yerr) if given.y_true is None else given.y_true, "y_true")
    n = len(y)
    of_classes = "y_pred" in metric.parameters
    predictions = {
        name: class_array(p, "y_pred") if of_classes else np.asarray(to_host(p), dtype=np.float64)
        for name, p in given.models.items()
    }
    for name, p in predictions.items():
        checks.same_length(y, p, "y_true", f"y_pred[{name!r}]")
    weight = checks.weights(given.sample_weight, n)
    model = class_model(given.yerr, n)
    model.check_labels(y)
    named = metric.options.get("labels")
    shown = [y, *([] if named is None else [np.asarray(named)]), *(predictions.values() if of_classes else ())]
    classes = all_classes(model, *shown)
    data = Labelled(classes, np.searchsorted(classes, y), None, model, weight)
    first = next(iter(predictions.values()))
    arguments = (metric.with_all_classes(classes, first), ComparedClasses(data), predictions, weight)
    if metric.declaration.name in ("accuracy_score", "zero_one_loss") and not metric.options:
        met = {name: np.eye(data.k)[np.searchsorted(classes, p)] for name, p in predictions.items()}
        hits = metric.declaration.name == "accuracy_score"
        return PairedCosts(met if hits else {name: 1.0 - table for name, table in met.items()}, *arguments)
    found = ModelsOnSameLabels(*arguments)
    answers = {name: found._answers(name) for name in predictions}
    costs = {name: one.costs for name, one in answers.items() if isinstance(one, LabelLossAnswers)}
    tables = {name: table for name, table in costs.items() if table is not None}
    return PairedCosts(tables, *arguments) if len(tables) == len(predictions) else found
