"""The confusion matrix."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from scorebars.answers.classes.confusion_matrix import ConfusionMatrix
from scorebars.metrics.class_inputs import given_labels, labelled
from scorebars.metrics.parameter_texts import documented


@documented
def confusion_matrix(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
    normalize: str | None = None,
) -> ConfusionMatrix:
    r"""How many items of each class are predicted as which, when some labels are wrong?

    With :math:`P_i(k)` the probability that label i is class k:

    .. math::
        E\,C_{kl} = \sum_{i:\,\hat y_i = l} P_i(k), \qquad
        \mathrm{Cov}(C_{kl}, C_{k'l}) = \sum_{i:\,\hat y_i = l} \left(1[k=k'] P_i(k) - P_i(k) P_i(k')\right),

    columns are independent. If true class k is shown as j with probability :math:`T_{kj}`, the matrix of true classes is
    estimated without bias by :math:`(T')^{-1} C`. Its cells can be negative; `truth_constrained` is the most likely
    matrix without such cells.

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
    Means and covariances of counts are exact. Normalised by rows, each cell's mean and std are exact for independent
    labels without weights; otherwise by the delta method; `method` says which.

    References
    ----------
    W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, American Journal of
    Epidemiology 107, 71 (1978).

    Examples
    --------
    >>> import numpy as np
    $cifar
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
    named = given_labels(labels)
    data, present = labelled(y_true, y_pred, yerr, sample_weight, named)
    if named is not None and not np.any(np.isin(data.names, named)):
        raise ValueError("At least one label specified must be in y_true.")
    if named is None and len(present) == 1:
        warnings.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use the "
            "'labels' parameter to pass all known labels.",
            UserWarning,
            stacklevel=2,
        )
    keep = np.searchsorted(data.classes, present if named is None else named)
    return ConfusionMatrix(data, keep, normalize)
