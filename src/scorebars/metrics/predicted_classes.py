"""Metrics of predicted classes: how labels and predictions agree, over all classes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.classes.accuracy_answers import AccuracyAnswers
from scorebars.answers.classes.confusion_answers import (
    BalancedAccuracy,
    ConfusionAnswers,
    Kappa,
    Matthews,
)
from scorebars.answers.classes.confusion_matrix import ConfusionMatrix
from scorebars.answers.classes.item_average import SubsetAccuracy
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.verified_matrix import VerifiedMatrix
from scorebars.answers.combined import LinearAnswers
from scorebars.answers.score import Score
from scorebars.arrays import FloatArray
from scorebars.errors import Flip, Verified
from scorebars.errors.class_error import positions
from scorebars.errors.measurement_error import LabelErrors
from scorebars.metrics import class_inputs as inputs
from scorebars.metrics.class_inputs import Given, class_declaration, class_metric
from scorebars.metrics.parameter_texts import documented
from scorebars.metrics.registry import warn_undefined
from scorebars.metrics.verified_labels import exact_classes

_ACCURACY = class_declaration("accuracy_score", "Accuracy", keeps="right")
_ZERO_ONE = class_declaration("zero_one_loss", "Zero-one loss", perfect=0.0, keeps="right")


def _accuracy(given: Given) -> tuple[Answers, float, float]:
    """The answers, with the total weight and that of the right predictions."""
    if isinstance(given.y_true, inputs.Counted):
        counted = AccuracyAnswers.counted(_ACCURACY, given.y_true.counts, given.y_true.kind)
        return counted, float(counted.n), counted.n * counted.observed
    cells = inputs.label_matrix(given)
    if cells is not None:
        subset = SubsetAccuracy(_ACCURACY, cells)
        return subset, *_hits(subset.data.shown == 1, cells.item_weight)
    labels = inputs.class_labels(given)
    model, right = inputs.class_model(given.yerr, len(labels.y)), np.asarray(labels.y == labels.p)
    if isinstance(model, Flip) and not model.correlation and model.checked is None:
        # all wrong classes alike: right or wrong is all to know
        number = max(len(labels.classes), 2)  # a label that is wrong has another class to be
        answers: Answers = AccuracyAnswers(_ACCURACY, right, model, number, labels.weight)
    else:
        data, _ = inputs.aligned_labels(given)
        answers = LabelLossAnswers(_ACCURACY, data, np.eye(data.k)[data.predicted])
    return answers, *_hits(right, labels.weight)


def _hits(right: NDArray[np.bool_], weight: FloatArray | None) -> tuple[float, float]:
    """The total weight, and that of the right predictions."""
    if weight is None:
        return float(len(right)), float(np.count_nonzero(right))
    return float(np.add.reduce(weight)), float(np.add.reduce(weight[right]))


@class_metric(_ACCURACY)
def accuracy_score(given: Given, *, normalize: bool = True, threshold: float | None = None) -> Score:
    r"""What share of the predictions is right, when some labels are wrong?

    Parameters
    ----------
    threshold : number between 0 and 1, optional
        `y_pred` then holds the probability of the larger of two classes, and predicts it from this probability on.
    $accuracy_parameters

    Notes
    -----
    With q the probability that a label is wrong (then any of the other K - 1 classes), a the observed accuracy:

    .. math::
        \mathrm{expected} = a(1-q) + (1-a)\frac{q}{K-1}, \qquad
        \mathrm{variance} = \frac{1}{M^2}\sum p_i(1-p_i),

    for two classes :math:`a + q(1-2a)` and :math:`q(1-q)/M`; with a model :math:`p_i` is the probability that label i is
    the predicted class. The number of agreements is Poisson-binomial. The score against the truth is
    :math:`(a - r)/(1 - q - r)` with :math:`r = q/(K-1)`. Several labels an item, (n, L): the share of items whose labels
    are all predicted right.

    References
    ----------
    W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, American Journal of
    Epidemiology 107, 71 (1978). C. Northcutt, A. Athalye, J. Mueller, Pervasive label errors in test sets destabilize
    machine learning benchmarks, NeurIPS Datasets and Benchmarks (2021).

    $cifar
    >>> s = sb.accuracy_score(cifar.y, predicted, yerr=0.0054)
    >>> print(s.observed, s, s.truth)
    0.9294 0.9244 ± 0.0007 (labels) ± 0.0025 (sample) 0.9344 ± 0.0007 (labels) ± 0.0025 (sample)

    A model that gives probabilities, judged at a threshold:

    >>> s = sb.accuracy_score([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.1], yerr=0.05, threshold=0.5)
    >>> print(s.observed, f"{s.expected:.3f}")
    0.75 0.725
    """
    if threshold is not None:
        given = given._replace(predicted=inputs.classes_above(threshold, given))
    answers, total, hits = _accuracy(given)
    if normalize:
        return Score(answers)
    counted = replace(_ACCURACY, high=total, perfect=total)
    return Score(LinearAnswers(counted, answers, total, observed=hits))


@class_metric(_ZERO_ONE)
def zero_one_loss(given: Given, *, normalize: bool = True) -> Score:
    r"""What share of the predictions is wrong, when some labels are wrong themselves?

    $accuracy

    Notes
    -----
    One minus `accuracy_score`, in every answer:

    .. math:: \mathrm{observed} = \frac1M\sum 1[\hat y_i \ne y_i]

    References
    ----------
    See `accuracy_score`.

    $cifar
    >>> print(sb.zero_one_loss(cifar.y, predicted, yerr=0.0054))
    0.0756 ± 0.0007 (labels) ± 0.0025 (sample)
    """
    answers, total, hits = _accuracy(given)
    if normalize:
        return Score(LinearAnswers(_ZERO_ONE, answers, -1.0, 1.0))
    return Score(LinearAnswers(replace(_ZERO_ONE, high=total), answers, -total, total, observed=total - hits))


_BALANCED = class_declaration("balanced_accuracy_score", "Balanced accuracy", keeps="pairs")
_MATTHEWS = class_declaration("matthews_corrcoef", "Matthews correlation", low=-1.0, keeps="pairs")
_KAPPA = class_declaration("cohen_kappa_score", "Cohen's kappa", low=-1.0, keeps="pairs")


@class_metric(_BALANCED)
def balanced_accuracy_score(given: Given, *, adjusted: bool = False) -> Score:
    r"""What share of each class is recognised, averaged over classes, when some labels are wrong?

    Parameters
    ----------
    adjusted : bool
        Rescale so that chance scores 0.
    $class_parameters

    Notes
    -----
    .. math:: \frac{1}{K} \sum_k \frac{C_{kk}}{\sum_l C_{kl}}

    over the K classes that have labels, also inside the expectation.

    $matrix_notes

    References
    ----------
    K. H. Brodersen, C. S. Ong, K. E. Stephan, J. M. Buhmann, The balanced accuracy and its posterior distribution,
    International Conference on Pattern Recognition (2010).

    $cifar
    >>> s = sb.balanced_accuracy_score(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9294 0.9244 ± 0.0007 (labels) ± 0.0024 (sample) 0.9344 ± 0.0007 (labels) ± 0.0025 (sample)
    """
    data, present = inputs.aligned_labels(given)
    if len(present) > len(np.unique(data.shown)):
        checks.warn("y_pred contains classes not in y_true")
    declaration = replace(_BALANCED, low=-1.0) if adjusted else _BALANCED
    return Score(ConfusionAnswers(declaration, data, BalancedAccuracy(bool(adjusted)), math.nan))


@class_metric(_MATTHEWS)
def matthews_corrcoef(given: Given) -> Score:
    r"""How strongly are labels and predictions correlated, when some labels are wrong?

    $class

    Notes
    -----
    .. math:: \frac{s \sum_k C_{kk} - \sum_k t_k p_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

    with :math:`t_k` labelled and :math:`p_k` predicted items of class k among s; 0 where labels or predictions are all
    of one class, also inside the expectation.

    $matrix_notes

    References
    ----------
    B. W. Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, Biochimica et
    Biophysica Acta 405, 442 (1975).

    $cifar
    >>> s = sb.matthews_corrcoef(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9216 0.9160 ± 0.0008 (labels) ± 0.0027 (sample) 0.9271 ± 0.0008 (labels) ± 0.0027 (sample)
    """
    data, _ = inputs.aligned_labels(given)
    return Score(ConfusionAnswers(_MATTHEWS, data, Matthews(), 0.0))


@class_metric(_KAPPA)
def cohen_kappa_score(
    given: Given,
    *,
    labels: ArrayLike | None = None,
    weights: Literal["linear", "quadratic"] | None = None,
    replace_undefined_by: float = math.nan,
) -> Score:
    r"""How far do labels and predictions agree beyond chance, when some labels are wrong?

    Parameters
    ----------
    labels : sequence of classes, optional
        The classes that count, in this order; items of other classes are left out. All classes unless given.
    weights : {None, "linear", "quadratic"}
        The cost of a disagreement.
    replace_undefined_by : number
        What stands for 0/0, also inside the expectation; with nan the score is conditional on being defined.
    $class_parameters

    Notes
    -----
    .. math:: \kappa = 1 - \frac{s \sum_{kl} w_{kl} C_{kl}}{\sum_{kl} w_{kl} t_k p_l}

    with the cost :math:`w_{kl}` of predicting l for k: 1 for any two classes, or their distance or squared distance in
    the order of the classes. The labels are the first argument, since they have errors and predictions do not.

    $matrix_notes

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20, 37 (1960).

    $cifar
    >>> s = sb.cohen_kappa_score(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9216 0.9160 ± 0.0008 (labels) ± 0.0027 (sample) 0.9271 ± 0.0008 (labels) ± 0.0028 (sample)
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights must be None, 'linear' or 'quadratic', got {weights!r}.")
    undefined = float(replace_undefined_by) if inputs.is_number(replace_undefined_by) else math.inf
    if not (math.isnan(undefined) or -1 <= undefined <= 1):
        raise ValueError(f"replace_undefined_by must be nan or between -1 and 1, got {replace_undefined_by!r}.")
    named = inputs.given_labels(labels)
    data, _ = inputs.aligned_labels(given, named)
    if named is not None and not np.any(np.isin(data.names, named)):
        raise ValueError("At least one label in `labels` must be present in y_true.")
    keep = np.arange(data.k) if named is None else np.searchsorted(data.classes, named)
    _warn_if_no_chance(data, keep)
    metric = Kappa(tuple(int(k) for k in keep), weights)
    return Score(ConfusionAnswers(_KAPPA, data, metric, undefined))


def _warn_if_no_chance(data: Labelled, keep: NDArray[np.intp]) -> None:
    """Warn where agreement by chance is certain, or nothing is left to agree on: kappa is 0/0."""
    assert data.predicted is not None
    inside = np.isin(data.shown, keep) & np.isin(data.predicted, keep)
    if not inside.any():
        warn_undefined("`y2` contains no labels that are present in both `y1` and `labels`. Kappa is undefined.")
    elif len(np.union1d(data.shown[inside], data.predicted[inside])) == 1:
        warn_undefined("`y1`, `y2` and `labels` have only one label in common. Kappa is undefined.")


@documented
def confusion_matrix(
    y_true: ArrayLike | None,
    y_pred: ArrayLike,
    *,
    yerr: LabelErrors = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    normalize: Literal["true", "pred", "all"] | None = None,
) -> ConfusionMatrix:
    r"""How many items of each class are predicted as which, when some labels are wrong?

    Parameters
    ----------
    $classes
    labels : sequence of classes, optional
        The classes of rows and columns, in this order; those of `y_true` and `y_pred` unless given. Labels that err into
        a class outside are not counted: name all classes that labels can be.
    $sample_weight
    normalize : {None, "true", "pred", "all"}
        Divide by the sum of the row, of the column, or of all cells.

    Returns
    -------
    ConfusionMatrix
        With `observed`, `expected`, `std`, `covariance`, `truth`, `truth_constrained`, `remeasured(k)`, `perfect`;
        ``np.asarray`` gives the expected matrix.

    Notes
    -----
    With :math:`P_i(k)` the probability that label i is class k:

    .. math::
        E\,C_{kl} = \sum_{i:\,\hat y_i = l} P_i(k), \qquad
        \mathrm{Cov}(C_{kl}, C_{k'l}) = \sum_{i:\,\hat y_i = l} \left(1[k=k'] P_i(k) - P_i(k) P_i(k')\right),

    columns are independent. If true class k is shown as j with probability :math:`T_{kj}`, the matrix of true classes is
    estimated without bias by :math:`(T')^{-1} C`. Its cells can be negative; `truth_constrained` is the most likely
    matrix without such cells.

    Means and covariances of counts are exact. Normalised by rows, each cell's mean and std are exact for independent
    labels without weights; otherwise by the delta method; `method` says which.

    References
    ----------
    W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, American Journal of
    Epidemiology 107, 71 (1978).

    $cifar
    >>> import numpy as np
    >>> c = sb.confusion_matrix(cifar.y == 3, predicted == 3, yerr=0.0054)
    >>> c.observed
    array([[8848,  152],
           [ 154,  846]])
    >>> np.asarray(c).round(1)
    array([[8801.1,  155.7],
           [ 200.9,  842.3]])
    >>> c.truth.value.round(1)
    array([[8895.5,  148.2],
           [ 106.5,  849.8]])
    """
    if normalize not in (None, "true", "pred", "all"):
        raise ValueError(f"normalize must be one of None, 'true', 'pred', 'all', got {normalize!r}.")
    named = inputs.given_labels(labels)
    gold: Any = None
    verified = None
    if isinstance(yerr, Verified):
        yerr, gold, verified = exact_classes(y_true, yerr, sample_weight)
    data, present = inputs.aligned_labels(Given(y_true, y_pred, yerr, sample_weight), named)
    if named is not None and not np.any(np.isin(data.names, named)):
        raise ValueError("At least one label specified must be in y_true.")
    if named is None and len(present) == 1:
        checks.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use the "
            "'labels' parameter to pass all known labels."
        )
    if verified is not None:
        present = np.union1d(present, gold)
    keep = np.searchsorted(data.classes, present if named is None else named)
    if verified is not None:
        return VerifiedMatrix(data, keep, normalize, verified, positions(gold, data.classes))
    whole = (
        sample_weight is not None and checks.any_array(sample_weight, "sample_weight", "numbers").dtype.kind in "biu"
    )
    return ConfusionMatrix(data, keep, normalize, whole)
