"""Cross-validation that keeps the spread between folds apart from the error of the labels."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scorebars import tables
from scorebars._shared.score_views import with_error
from scorebars._shared.shown import Printout, Shown
from scorebars.answers.clustered import group_codes
from scorebars.answers.score import Score, UndefinedMomentWarning
from scorebars.arrays import to_host
from scorebars.errors import Verified
from scorebars.errors.normal import error_model
from scorebars.evaluation.scoring import Evaluation
from scorebars.evaluation.study_data import errors_of, rows
from scorebars.metrics.class_inputs import Given, aligned_labels
from scorebars.metrics.registry import entry_of
from scorebars.numerics import FIXED_SEED
from scorebars.studies.evaluate import evaluate

_REDRAWS = 12
"""How often the labels of a fold are redrawn."""


@dataclass(frozen=True)
class TestedFold:
    """Labels, predictions and errors of one fold."""

    labels: np.ndarray
    predicted: np.ndarray
    yerr: Any
    metrics: Any
    task: str
    groups: np.ndarray | None = None
    """Which items belong together, where the fold holds several groups."""

    __test__ = False  # no test class, whatever its name suggests to pytest

    def scores(self) -> Evaluation:
        """All metrics of the fold."""
        given = {"yerr": self.yerr, "metrics": self.metrics, "task": self.task, "groups": self.groups}
        return evaluate(self.labels, self.predicted, **given)

    def label_variances(self, metric: str) -> tuple[float, float]:
        """Variance of the metric over redrawn labels: of the labels at hand, and of labels that were redrawn once already."""
        if self.yerr is None or getattr(self.yerr, "kind", "") == "berkson":
            return 0.0, 0.0
        model, redrawn = self._redrawn()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMomentWarning)
            parts = [replace(self, labels=labels, yerr=model) for labels in (self.labels, *redrawn)]
            first, *others = [part.scores()[metric].variance for part in parts]
        return first, float(np.mean(others))

    def _redrawn(self) -> tuple[Any, list[np.ndarray]]:
        """The errors of the labels at hand, and labels redrawn with them."""
        labels, rng = self.labels, np.random.default_rng(FIXED_SEED)
        if self.task == "classification":
            named = labels if np.asarray(self.predicted).dtype.kind == "f" else self.predicted  # not probabilities
            data, _ = aligned_labels(Given(labels, named, self.yerr))
            cumulated = np.cumsum(data.model.label_probabilities(data.classes[data.shown], data.classes), axis=1)
            drawn = [np.sum(rng.random((len(labels), 1)) > cumulated[:, :-1], axis=1) for _ in range(_REDRAWS)]
            return self.yerr, [data.classes[k] for k in drawn]
        y = np.asarray(labels, dtype=np.float64)
        model = error_model(self.yerr, labels.shape).for_labels(y).label_level()
        if model.limited:
            raise ValueError(
                "cross_validate takes no labels that are limits (Censored), which no model can be fitted to."
            )
        return model, list(model.sample(y, _REDRAWS, rng) - (model.mean(y) - y))


@dataclass(frozen=True, repr=False)
class CrossValidation(Shown):
    """Scores of each fold.

    ``result["metric"]`` is the list of fold scores; `mean`, `spread`, `label_std` and `beyond_labels` take them apart.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.5, 100)
    >>> found = sb.cross_validate(Ridge(), X, y, yerr=0.5, metrics="rmse", cv=5)
    >>> len(found["root_mean_squared_error"])
    5
    """

    folds: list[Evaluation]
    indices: list[np.ndarray]
    tested: list[TestedFold]
    """What each fold was scored on."""

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return self.folds[0].metrics

    def __getitem__(self, metric: str) -> list[Score]:
        """The scores of all folds."""
        return [fold[metric] for fold in self.folds]

    def mean(self, metric: str) -> float:
        """Mean of the observed scores over the folds."""
        return float(np.mean([s.observed for s in self[metric]]))

    def spread(self, metric: str) -> float:
        """Standard deviation of the observed scores between folds: different items, models and label errors."""
        return float(np.std([s.observed for s in self[metric]], ddof=1)) if len(self.folds) > 1 else math.inf

    def label_std(self, metric: str) -> float:
        """Standard deviation that the label errors alone give a fold's observed score: root mean square over the folds.

        The labels at hand carry their errors already. Redrawing them from their error bars therefore overstates it, and
        what redrawing them twice adds is taken off. 0 under Berkson error, where the labels themselves have none.
        """
        once, twice = np.mean([fold.label_variances(metric) for fold in self.tested], axis=0)
        if not math.isfinite(once + twice):
            return math.inf
        return math.sqrt(max(2.0 * once - twice, once / 3.0))  # a third is left of the squares of a perfect model

    def beyond_labels(self, metric: str) -> float:
        """The part of the spread between folds that label errors do not explain; 0 where they explain all of it."""
        return math.sqrt(max(self.spread(metric) ** 2 - self.label_std(metric) ** 2, 0.0))

    def view(self) -> Printout:
        """What printing and notebooks show."""
        lines = [
            f"{name}: {with_error(self.mean(name), self.spread(name))} between folds, of which label errors "
            f"{self.label_std(name):.2g}, items and models {self.beyond_labels(name):.2g}"
            for name in self.metrics
        ]
        return Printout(f"{len(self.folds)} folds", notes=lines)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    yerr: Any = None,
    metrics: str | Sequence[str] | None = None,
    cv: Any = 5,
    groups: Any = None,
    bootstrap: int | None = None,
    fit_params: dict[str, Any] | None = None,
    rng: np.random.Generator | int | None = 0,
) -> CrossValidation:
    r"""How do scores vary between folds, and how much of that is label error?

    Parameters
    ----------
    estimator : scikit-learn estimator
        Cloned and fitted on each training part.
    X, y : (n, features) and (n,)
        What the model learns from, and the labels.
    yerr : number, (n,), (2, n) or error model, optional
        Label errors, split along with y.
    metrics : names, optional
        As in `evaluate`.
    cv : int, splitter or iterable of (train, test)
        As in scikit-learn.
    groups : (n,), optional
        Which items belong together: a number of folds and bootstrap splits keep them together, other splitters are given
        them, and where a fold holds several groups, these are the sample that its scores know of.
    bootstrap : int, optional
        Number of bootstrap splits instead of folds: train on a sample drawn with replacement, test on what it left out.
    fit_params : dict, optional
        Passed to ``fit``.
    rng : seed or Generator
        For bootstrap splits.

    Returns
    -------
    CrossValidation
        ``result["metric"]`` is the list of fold scores; `mean`, `spread`, `label_std` and `beyond_labels` take them apart.

    Notes
    -----
    With :math:`s^2` the variance of the observed scores between folds and :math:`v` the part that label errors explain,
    :math:`\sqrt{s^2 - v}` is due to other items and other models. The labels at hand carry their errors already, so
    :math:`v = 2v_1 - v_2`: the variance of a score when the labels are redrawn from their error bars, twice, less that
    when redrawn labels are redrawn.

    References
    ----------
    Y. Bengio and Y. Grandvalet, No unbiased estimator of the variance of k-fold cross-validation, Journal of Machine
    Learning Research 5, 1089 (2004): folds share their training items, so the spread is not a standard error of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> from sklearn.linear_model import LinearRegression
    >>> counties = sb.datasets.load_acs_poverty()
    >>> X = np.column_stack([counties.predictions["acs5_2018"], counties.predictions["ridge"]])
    >>> options = {"yerr": counties.yerr, "metrics": "root_mean_squared_error"}
    >>> print(sb.cross_validate(LinearRegression(), X, counties.y, **options))
    5 folds
    root_mean_squared_error: 2.02 ± 0.21 between folds, of which label errors 0.14, items and models 0.16
    """
    try:
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import GroupKFold, check_cv
    except ImportError as why:
        raise ImportError("cross_validate needs scikit-learn: pip install 'scorebars[sklearn]'") from why
    if isinstance(yerr, Verified):
        raise ValueError(
            "yerr is Verified, whose checked items are too few in each fold to score it. Predict every item by a model that "
            "did not see it (cross_val_predict of scikit-learn), and score these predictions together with the gold labels: "
            "evaluate(y, predicted, yerr=Verified(gold))."
        )
    tables.require_rows(y=y, yerr=yerr)
    X, yerr = to_host(X), to_host(yerr)
    labels = np.asarray(to_host(y))
    n = len(labels)
    codes = np.arange(n) if groups is None else group_codes(groups, n)
    if bootstrap is not None:
        splits = _bootstrap_splits(codes, bootstrap, np.random.default_rng(rng))
    else:
        whole = groups is not None and isinstance(cv, numbers.Integral)
        splitter = GroupKFold(cv) if whole else check_cv(cv, labels, classifier=is_classifier(estimator))
        splits = list(splitter.split(X, labels, None if groups is None else codes))
    task = "classification" if is_classifier(estimator) else "regression"
    tested = []
    for train, test in splits:
        model = clone(estimator).fit(rows(X, train), labels[train], **(fit_params or {}))
        predicted = _predicted(model, rows(X, test), metrics)
        own = None if groups is None or len(np.unique(codes[test])) < 2 else codes[test]
        tested.append(TestedFold(labels[test], predicted, _errors_of(yerr, test, n), metrics, task, own))
    return CrossValidation([fold.scores() for fold in tested], [np.asarray(test) for _, test in splits], tested)


def _predicted(model: Any, X: Any, metrics: Any) -> Any:
    """What the model predicts: the probabilities of classes where all metrics judge them."""
    chosen = [metrics] if isinstance(metrics, str) or callable(metrics) else metrics or ()
    takes = {entry_of(metric).declaration.takes if isinstance(metric, str) else "labels" for metric in chosen}
    if not takes or "labels" in takes:
        return model.predict(X)
    p = np.asarray(model.predict_proba(X))
    return p[:, 1] if p.shape[1] == 2 else p


def _errors_of(yerr: Any, index: np.ndarray, n: int) -> Any:
    """The label errors of one fold."""
    if np.ndim(yerr) and np.shape(yerr)[-1] != n:
        raise ValueError(
            f"yerr has shape {np.shape(yerr)} but y has {n} labels. Give one error for each label, or a number."
        )
    return errors_of(yerr, index, n)


def _bootstrap_splits(codes: np.ndarray, count: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Groups of items drawn with replacement, each sample with the items that it left out."""
    if count < 1:
        raise ValueError(f"bootstrap must be a number of splits of at least 1, got {count!r}.")
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    if len(members) < 2:
        raise ValueError("bootstrap needs at least two items, or two groups of them, to leave some out.")
    out: list[tuple[np.ndarray, np.ndarray]] = []
    while len(out) < count:
        drawn = rng.integers(0, len(members), len(members))
        left = np.setdiff1d(np.arange(len(members)), drawn)
        if len(left):
            train, test = (np.concatenate([members[g] for g in part]) for part in (drawn, left))
            out.append((train, np.sort(test)))
    return out
