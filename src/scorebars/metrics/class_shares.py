"""Shares of right decisions about a class: precision, recall, specificity, F and Jaccard."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.answers.classes.column_average import ShareAverage
from scorebars.answers.classes.confusion_answers import (
    Averaged,
    ConfusionAnswers,
    OfPositives,
    Share,
    confusion,
    of_classes,
)
from scorebars.answers.classes.item_average import ItemShare
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.answers.score import Declaration, Score, Scores
from scorebars.checks import warn
from scorebars.metrics import class_inputs as inputs
from scorebars.metrics.class_inputs import Given, class_declaration, class_metric
from scorebars.metrics.registry import take_over, warn_undefined

_AVERAGES = ("binary", "micro", "macro", "samples", "weighted", None)
_SHARES = {
    "precision": ("Precision", "predicted"),
    "recall": ("Recall", "true"),
    "specificity": ("Specificity", "true negative"),
    "f_beta": ("F-score", "true nor predicted"),
    "jaccard": ("Jaccard", "true or predicted"),
}
"""How scikit-learn's warnings name each share, and what it lacks where it is 0/0."""


def _share_metric(title: str) -> Callable[[Callable[..., Share]], Callable[..., Score | Scores]]:
    """A public metric of the share that the decorated function gives, with its name, docstring and options."""

    def made(share: Callable[..., Share]) -> Callable[..., Score | Scores]:
        declaration = class_declaration(share.__name__, title, keeps="pairs")

        def score(
            given: Given,
            *,
            labels: ArrayLike | None = None,
            pos_label: Any = 1,
            average: str | None = "binary",
            zero_division: str | float = "warn",
            **options: Any,
        ) -> Score | Scores:
            return _score(declaration, share(**options), given, labels, pos_label, average, zero_division)

        take_over(score, share, signature(score))
        return class_metric(declaration)(score)

    return made


@_share_metric("Precision")
def precision_score() -> Share:
    r"""Of the items predicted positive, what share is positive, when some labels are wrong?

    $share

    Notes
    -----
    .. math:: \mathrm{precision} = \frac{TP}{TP + FP}.

    The predictions are fixed, so precision is linear in the labels: its expectation is the mean of the probabilities
    that the labels of the predicted positives are positive.

    $share_notes_and_book

    $cats
    >>> s = sb.precision_score(cat, called, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.8477 0.844 ± 0.002 (labels) ± 0.011 (sample) 0.851 ± 0.002 (labels) ± 0.011 (sample)
    """
    return Share("precision")


@_share_metric("Recall")
def recall_score() -> Share:
    r"""Of the positive items, what share is found, when some labels are wrong?

    $share

    Notes
    -----
    .. math:: \mathrm{recall} = \frac{TP}{TP + FN}.

    Wrong labels change numerator and denominator: of a rare class most labels may be wrong ones, which no model can
    find. In the example half a percent of wrong labels hides four percent of the recall.

    $share_notes_and_book

    $cats
    >>> s = sb.recall_score(cat, called, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.8460 0.807 ± 0.005 (labels) ± 0.010 (sample) 0.889 ± 0.007 (labels) ± 0.010 (sample)
    """
    return Share("recall")


@_share_metric("Specificity")
def specificity_score() -> Share:
    r"""Of the negative items, what share is recognised as negative, when some labels are wrong?

    $share

    Notes
    -----
    .. math:: \mathrm{specificity} = \frac{TN}{TN + FP}.

    $share_notes

    References
    ----------
    J. Yerushalmy, Statistical problems in assessing methods of medical diagnosis, Public Health Reports 62, 1432 (1947).

    $cats
    >>> s = sb.specificity_score(cat, called, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9831 0.9826 ± 0.0003 (labels) ± 0.0013 (sample) 0.9836 ± 0.0003 (labels) ± 0.0013 (sample)
    """
    return Share("specificity")


@_share_metric("F1 score")
def f1_score() -> Share:
    r"""How good are the decisions about a class, precision and recall taken together, when some labels are wrong?

    $share

    Notes
    -----
    .. math:: F_1 = \frac{2\,TP}{2\,TP + FP + FN}.

    $share_notes_and_book

    $cats
    >>> s = sb.f1_score(cat, called, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.8468 0.8253 ± 0.0031 (labels) ± 0.0081 (sample) 0.8696 ± 0.0034 (labels) ± 0.0081 (sample)
    """
    return Share("f_beta")


@_share_metric("Jaccard index")
def jaccard_score() -> Share:
    r"""How far do the predicted and the labelled items of a class overlap, when some labels are wrong?

    $share

    Notes
    -----
    .. math:: J = \frac{TP}{TP + FP + FN}.

    $share_notes

    References
    ----------
    P. Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11, 37 (1912).

    $cats
    >>> s = sb.jaccard_score(cat, called, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.7344 0.703 ± 0.005 (labels) ± 0.012 (sample) 0.769 ± 0.005 (labels) ± 0.013 (sample)
    """
    return Share("jaccard")


@_share_metric("F-beta score")
def fbeta_score(*, beta: float) -> Share:
    r"""How good are the decisions about a class, with recall beta times as important as precision?

    Parameters
    ----------
    beta : number of at least 0
        How much recall counts against precision; infinity gives recall.
    $share_parameters

    Notes
    -----
    .. math:: F_\beta = \frac{(1+\beta^2)\,TP}{(1+\beta^2)\,TP + FP + \beta^2 FN}.

    $share_notes_and_book

    $cats
    >>> s = sb.fbeta_score(cat, called, yerr=0.0054, beta=2)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.8463 0.8145 ± 0.0044 (labels) ± 0.0087 (sample) 0.8809 ± 0.0052 (labels) ± 0.0086 (sample)
    """
    if not inputs.is_number(beta) or not float(beta) >= 0:
        raise ValueError(f"beta must be a number of at least 0, got {beta!r}.")
    return Share("f_beta", float(beta))


def _score(
    declaration: Declaration, share: Share, given: Given, labels: Any, pos_label: Any, average: Any, zero_division: Any
) -> Score | Scores:
    """The score of a share of one class, of each class, or averaged over classes."""
    if average not in _AVERAGES:
        raise ValueError(f"average has to be one of {_AVERAGES}, got {average!r}.")
    undefined = inputs.value_of_undefined(zero_division, allow_nan=share.name != "jaccard")
    named = inputs.given_labels(labels)
    if average != "binary" and pos_label is not None and pos_label != 1:
        warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). You may use "
            "labels=[pos_label] to specify a single positive class."
        )
    cells = inputs.label_matrix(given)
    if cells is not None:
        return _share_of_cells(declaration, share, cells, named, average, zero_division == "warn", undefined)
    data, present = inputs.aligned_labels(given, None if average == "binary" else named)
    if average == "samples":
        raise ValueError(
            "Samplewise metrics are not available outside of multilabel classification: average='samples' needs several "
            "labels for each item, y_true and y_pred of shape (n, labels)."
        )
    if average == "binary":
        if len(present) > 2:
            raise ValueError(
                "Target is multiclass but average='binary'. Please choose another average setting, one of "
                "[None, 'micro', 'macro', 'weighted']."
            )
        if pos_label not in present:
            if len(present) == 2 or isinstance(pos_label, str) != (present.dtype.kind == "U"):
                raise ValueError(f"pos_label={pos_label!r} is not a valid label. It should be one of {present}.")
            data, _ = inputs.aligned_labels(given, np.array([pos_label]))
        positive = int(np.searchsorted(data.classes, pos_label))
        of_one = ConfusionAnswers(declaration, data.column(positive), OfPositives(share), undefined)
        if zero_division == "warn" and of_one.observed_undefined:
            _warn(share, "due to", "sample")
        return Score(of_one)
    keep = np.searchsorted(data.classes, present if named is None else named)
    if zero_division == "warn":
        _warn_where_undefined(share, _counts(data)[:, keep], average == "micro")
    if average is None:
        each = [ConfusionAnswers(declaration, data.column(k), OfPositives(share), undefined) for k in keep.tolist()]
        return Scores(map(Score, each))
    metric = Averaged(share, average, tuple(keep.tolist()), undefined)
    return Score(ConfusionAnswers(declaration, data, metric, undefined))


def _share_of_cells(
    declaration: Declaration, share: Share, cells: LabelMatrix, named: Any, average: Any, warn: bool, undefined: float
) -> Score | Scores:
    """The score of a share of multilabel data: of each output, of all cells pooled, or averaged over outputs or items."""
    if average == "binary":
        raise ValueError(
            "Target is multilabel-indicator but average='binary'. Please choose another average setting, one of "
            "[None, 'micro', 'macro', 'weighted', 'samples']."
        )
    if named is not None:
        cells = cells.columns(_output_numbers(named, cells.outputs))
    if warn:
        by_item = average == "samples"
        shown, chosen = cells.matrix(cells.shown), cells.matrix(cells.predicted)  # type: ignore[arg-type]
        marked = np.stack([shown * chosen, chosen, shown, np.ones(shown.shape)]) * cells.item_weights[:, None]
        _warn_where_undefined(share, np.add.reduce(marked, axis=2 if by_item else 1), average == "micro", by_item)
    if average is None:
        columns = [cells.column(k) for k in range(cells.outputs)]
        return Scores(Score(ConfusionAnswers(declaration, one, OfPositives(share), undefined)) for one in columns)
    if average == "micro":
        return Score(ConfusionAnswers(declaration, cells, OfPositives(share), undefined))
    if average == "samples":
        return Score(ItemShare(declaration, cells, share, undefined))
    return Score(ShareAverage(declaration, cells, share, average, undefined))


def _output_numbers(named: NDArray[Any], outputs: int) -> NDArray[np.intp]:
    if named.dtype.kind not in "biu":
        raise ValueError("labels of multilabel targets are the numbers of columns, whole numbers from 0.")
    wrong = [f"{named.max()} > {outputs - 1}"] if named.max() >= outputs else []
    wrong += [f"{named.min()} < 0"] if named.min() < 0 else []
    if wrong:
        raise ValueError(f"All labels must be in [0, n labels) for multilabel targets. Got {wrong[0]}.")
    return named.astype(np.intp)


def _counts(data: Labelled) -> NDArray[Any]:
    """Right, predicted, labelled and all items of each class, (4, K)."""
    assert data.predicted is not None
    counts = of_classes(confusion(data.one_hot, data.predicted, data.masses))
    return np.stack([*counts, np.full(data.k, data.masses.sum())])


def _warn_where_undefined(share: Share, counts: NDArray[Any], pooled: bool, by_item: bool = False) -> None:
    """Warn where the share of a class, an item, or of all decisions pooled is 0/0 on the labels as they are."""
    if pooled:
        counts = counts.sum(axis=1, keepdims=True)
    if not np.isnan(share(*counts)).any():
        return
    counted, scored = ("label", "sample") if by_item else ("sample", "label")
    _warn(share, "due to" if counts.shape[1] == 1 else f"in {scored}s with", counted)


def _warn(share: Share, where: str, counted: str) -> None:
    title, missing = _SHARES[share.name]
    warn_undefined(
        f"{title} is ill-defined and being set to 0.0 {where} no {missing} {counted}s. Use `zero_division` parameter to "
        "control this behavior.",
    )
