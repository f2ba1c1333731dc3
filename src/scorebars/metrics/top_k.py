"""Whether the label is among the k highest scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.linear import LinearAnswers
from scorebars.arrays import FloatArray
from scorebars.metrics.class_inputs import class_declaration
from scorebars.metrics.registry import declares
from scorebars.metrics.score_columns import column_classes, data_of, require_ordered, scored_labels
from scorebars.metrics.undefined import warn_undefined
from scorebars.score import Score

_TOP_K = class_declaration("top_k_accuracy_score", "Top-k accuracy", takes="scores")


@declares(_TOP_K)
def top_k_accuracy_score(
    y_true: Any,
    y_score: Any,
    *,
    yerr: Any = None,
    k: Any = 2,
    normalize: bool = True,
    sample_weight: Any = None,
    labels: Any = None,
) -> Score:
    r"""How often is the label among the k classes of highest score, when some labels are wrong?

    With :math:`h_i` the k best classes of item i and :math:`P_i(c)` the probability that its label is c:

    .. math::
        \mathrm{expected} = \frac{1}{M} \sum_i \sum_{c \in h_i} P_i(c).

    Parameters
    ----------
    $labels_only
    y_score : (n,) or (n, K)
        Scores of the classes in sorted order; for two classes that of the larger one.
    $yerr
    k : int
        How many classes count as a hit. Of equal scores the later class comes first, as in scikit-learn.
    normalize : bool
        A share (True) or a count (False).
    $sample_weight
    $columns

    $score

    Notes
    -----
    Linear in the label: the number of hits is Poisson-binomial, the estimate against the truth unbiased. A perfect
    model knows the true class and how labels err, and ranks the classes by the probability of being shown.

    References
    ----------
    O. Russakovsky et al., ImageNet large scale visual recognition challenge, International Journal of Computer Vision
    115, 211 (2015).

    Examples
    --------
    Does the model know whether it is right? With two classes only k = 1 is of use:

    $right
    >>> s = sb.top_k_accuracy_score(right, cifar.columns["p_pred"], yerr=0.0054, k=1)
    >>> print(s.observed, s, s.truth)
    0.9313 0.92664 ± 0.00073 0.93601 ± 0.00074
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}.")
    scores, y, model = scored_labels(y_true, y_score, yerr, sample_weight, "y_score")
    if scores.ndim == 1 and len(np.unique(y)) > 2:
        raise ValueError("`y_score` needs to be of shape `(n_samples, n_classes)`: y_true has more than two classes.")
    require_ordered(labels)
    classes = column_classes(y, model, labels, 2 if scores.ndim == 1 else scores.shape[1], "y_score")
    if k >= len(classes):
        warn_undefined(
            f"'k' ({k}) greater than or equal to 'n_classes' ({len(classes)}) will result in a perfect score and is "
            "therefore meaningless."
        )
    data = data_of(y, model, classes, sample_weight)
    table = _two_class_hits(scores, int(k)) if scores.ndim == 1 else _hits(scores, int(k))
    perfect = None if data.own is None else _hits(data.own_probabilities, int(k))
    answers = LabelLossAnswers(_TOP_K, data, table, perfect)
    if normalize:
        return Score(answers)
    total = float(np.add.reduce(data.weights))
    hits = float(np.add.reduce(data.weights * table[np.arange(data.n), data.shown]))
    return Score(LinearAnswers(replace(_TOP_K, high=total, perfect=total), answers, total, observed=hits))


def _hits(scores: NDArray[Any], k: int) -> FloatArray:
    """1 for the k best classes of each item."""
    best = np.argsort(scores, axis=1, kind="stable")[:, ::-1][:, :k]
    out = np.zeros(scores.shape)
    np.put_along_axis(out, best, 1.0, axis=1)
    return out


def _two_class_hits(scores: NDArray[Any], k: int) -> FloatArray:
    if k > 1:
        return np.ones((len(scores), 2))
    cut = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    return np.eye(2)[(scores > cut).astype(np.intp)]
