"""How much of the labels' variation a model explains: R2, explained variance, D2."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scorebars.answers.together.all_labels_metric import AllLabelsMetric
from scorebars.arrays import to_host
from scorebars.errors import Normal
from scorebars.laws.law import Law
from scorebars.laws.quadratic.ratio import ExplainedVarianceLaw, R2Law, RatioLaw
from scorebars.laws.quadratic.ratio_moments import explained_moments
from scorebars.measured import Measured
from scorebars.metrics.call import of_all_labels, score
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.moments.label_noise import ExplainedVarianceSums, R2Sums
from scorebars.score import Declaration, Score, Scores


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "regression", low=-math.inf, high=1.0, degree=0, perfect=1.0)


def _law(kind: type[RatioLaw], data: Measured, errors: Normal) -> Law:
    return kind.of_labels(data.y, data.p, errors.sigma, data.weight)


R2 = AllLabelsMetric(
    _declared("r2_score", "R2, coefficient of determination"),
    statistics.r2,
    partial(_law, R2Law),
    R2Sums(),
    partial(explained_moments, centred=False),
    R2Law,
    least=2,
    scale="lost",
)
EXPLAINED_VARIANCE = AllLabelsMetric(
    _declared("explained_variance_score", "Explained variance"),
    statistics.explained_variance,
    partial(_law, ExplainedVarianceLaw),
    ExplainedVarianceSums(),
    partial(explained_moments, centred=True),
    ExplainedVarianceLaw,
    least=2,
    centred=True,
    scale="lost",
)
_D2 = AllLabelsMetric(
    _declared("d2_absolute_error_score", "D2, share of absolute error explained"),
    statistics.d2_absolute,
    None,
    scale="lost",
    least=2,
)


def _require_variation(y_true: Any) -> None:
    """Refuse labels whose scatter, which the score is divided by, is zero."""
    scatter = np.ptp(np.asarray(to_host(y_true), dtype=np.float64), axis=0)
    if np.any(scatter == 0):
        raise ValueError(
            "y_true does not vary, so the share explained is not finite. Use force_finite=True for 0 or 1."
        )


@declares(R2.declaration, of_all_labels(R2))
def r2_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    multioutput: Any = "uniform_average",
    force_finite: bool = True,
) -> Score | Scores:
    r"""What share of the labels' variation does the model explain, and how well do the labels let us know it?

    .. math:: R^2 = 1 - \frac{\sum(y_i-p_i)^2}{\sum(y_i-\bar y)^2}

    is a ratio of quadratic forms of the labels: under normal errors its law is that of an indefinite quadratic form, and
    its moments are one-dimensional integrals, both exact (for very many labels, from about 1e5 on, expected and std come
    from an expansion that leaves out less than 1e-8). The expected value is minus infinity for three labels or fewer,
    the variance infinite for five or fewer: the labels can come to lie arbitrarily close together. The score against the
    truth takes the label errors out of both sums,
    :math:`1 - (SSE - S)/(SST - (1-1/M)S)` with :math:`S = \sum\sigma_i^2`; a perfect model reaches :math:`1 - S/SST`.
    Its interval is Fieller's; where the labels scatter hardly more than their errors, `truth` raises UndefinedEstimate.

    ``multioutput="variance_weighted"`` weights outputs by the variance of their labels. Labels that do not vary give 1 for
    perfect predictions and 0 for others, as in scikit-learn; with ``force_finite=False`` they are refused.

    Parameters
    ----------
    $regression

    References
    ----------
    N. R. Draper, H. Smith, Applied Regression Analysis, 3rd edition, Wiley (1998).

    Examples
    --------
    $sampl
    >>> s = sb.r2_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.4196 0.418 ± 0.031 0.421 ± 0.031
    """
    if not force_finite:
        _require_variation(y_true)
    return score(of_all_labels(R2), y_true, y_pred, yerr, sample_weight, multioutput, by_variance=True)


@declares(EXPLAINED_VARIANCE.declaration, of_all_labels(EXPLAINED_VARIANCE))
def explained_variance_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    multioutput: Any = "uniform_average",
    force_finite: bool = True,
) -> Score | Scores:
    r"""What share of the labels' variance does the model explain, a constant bias aside?

    .. math:: 1 - \frac{\mathrm{Var}(y-p)}{\mathrm{Var}(y)}

    Like R2, with the residuals taken about their mean.

    ``multioutput="variance_weighted"`` weights outputs by the variance of their labels. Labels that do not vary give 1 for
    perfect predictions and 0 for others, as in scikit-learn; with ``force_finite=False`` they are refused.

    Parameters
    ----------
    $regression

    References
    ----------
    N. R. Draper, H. Smith, Applied Regression Analysis, 3rd edition, Wiley (1998).

    Examples
    --------
    $sampl
    >>> s = sb.explained_variance_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.4360 0.434 ± 0.030
    """
    if not force_finite:
        _require_variation(y_true)
    return score(of_all_labels(EXPLAINED_VARIANCE), y_true, y_pred, yerr, sample_weight, multioutput, by_variance=True)


@declares(_D2.declaration, of_all_labels(_D2))
def d2_absolute_error_score(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""What share of the labels' absolute deviation from their median does the model explain?

    .. math:: D^2 = 1 - \frac{\sum|y_i-p_i|}{\sum|y_i-\mathrm{median}(y)|}

    Its law is drawn (`method` is "simulation").

    Parameters
    ----------
    $regression

    References
    ----------
    R. Koenker, J. A. F. Machado, J. Am. Stat. Assoc. 94 (1999) 1296.

    Examples
    --------
    $sampl
    >>> s = sb.d2_absolute_error_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.2021 0.203 ± 0.018
    """
    return score(of_all_labels(_D2), y_true, y_pred, yerr, sample_weight, multioutput, by_variance=True)
