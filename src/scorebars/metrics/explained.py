"""How much of the labels' variation a model explains: R2, explained variance, D2."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scorebars.answers.joint import JointMetric
from scorebars.answers.many import summary_of
from scorebars.arrays import to_host
from scorebars.errors import Normal
from scorebars.laws.base import Law
from scorebars.laws.expansion import explained_moments
from scorebars.laws.from_summary import ratio_law
from scorebars.laws.ratio import ExplainedVarianceLaw, R2Law, RatioLaw
from scorebars.measured import Measured
from scorebars.metrics.joint import joint, joint_score
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.moments.sum_pairs import ExplainedVarianceSums, R2Sums
from scorebars.score import Declaration, Score, Scores


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "regression", low=-math.inf, high=1.0, degree=0, perfect=1.0)


def _law(kind: type[RatioLaw], data: Measured, errors: Normal) -> Law:
    summary = summary_of(data, "ratio")
    return kind(data.y, data.p, errors.sigma, data.weight) if summary is None else ratio_law(kind, summary)


_R2 = JointMetric(
    _declared("r2_score", "R2, coefficient of determination"),
    statistics.r2,
    partial(_law, R2Law),
    R2Sums(),
    partial(explained_moments, centred=False),
    scale="lost",
)
_EXPLAINED = JointMetric(
    _declared("explained_variance_score", "Explained variance"),
    statistics.explained_variance,
    partial(_law, ExplainedVarianceLaw),
    ExplainedVarianceSums(),
    partial(explained_moments, centred=True),
    scale="lost",
)
_D2 = JointMetric(
    _declared("d2_absolute_error_score", "D2, share of absolute error explained"),
    statistics.d2_absolute,
    None,
    scale="lost",
)


def _require_variation(y_true: Any) -> None:
    """Refuse labels whose scatter, which the score is divided by, is zero."""
    scatter = np.ptp(np.asarray(to_host(y_true), dtype=np.float64), axis=0)
    if np.any(scatter == 0):
        raise ValueError(
            "y_true does not vary, so the share explained is not finite. Use force_finite=True for 0 or 1."
        )


@declares(_R2.declaration, joint(_R2, least=2))
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

    Parameters are those of `mean_squared_error`, and ``multioutput="variance_weighted"``. Labels that do not vary give 1 for
    perfect predictions and 0 for others, as in scikit-learn; with ``force_finite=False`` they are refused.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0, 4.0, 1.0, 0.5], [2.5, 0.0, 2.0, 8.0, 4.5, 1.0, 1.0]
    >>> s = sb.r2_score(y, p, yerr=0.4)
    >>> print(f"{s.observed:.4f}", s)
    0.9477 0.918 ± 0.038
    """
    if not force_finite:
        _require_variation(y_true)
    return joint_score(_R2, y_true, y_pred, yerr, sample_weight, multioutput, least=2)


@declares(_EXPLAINED.declaration, joint(_EXPLAINED, least=2))
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

    Like R2, with the residuals taken about their mean. Parameters are those of `r2_score`.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0, 4.0, 1.0, 0.5], [2.5, 0.0, 2.0, 8.0, 4.5, 1.0, 1.0]
    >>> print(f"{sb.explained_variance_score(y, p, yerr=0.4).observed:.4f}")
    0.9626
    """
    if not force_finite:
        _require_variation(y_true)
    return joint_score(_EXPLAINED, y_true, y_pred, yerr, sample_weight, multioutput, least=2)


@declares(_D2.declaration, joint(_D2, least=2))
def d2_absolute_error_score(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""What share of the labels' absolute deviation from their median does the model explain?

    .. math:: D^2 = 1 - \frac{\sum|y_i-p_i|}{\sum|y_i-\mathrm{median}(y)|}

    Its law is drawn (`method` is "simulation"). Parameters are those of `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0, 4.0, 1.0, 0.5], [2.5, 0.0, 2.0, 8.0, 4.5, 1.0, 1.0]
    >>> print(f"{sb.d2_absolute_error_score(y, p, yerr=0.4).observed:.4f}")
    0.7692
    """
    return joint_score(_D2, y_true, y_pred, yerr, sample_weight, multioutput, least=2)
