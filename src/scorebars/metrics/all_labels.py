"""Metrics of all labels together: shares explained, correlations, the largest and the middle residual."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from scorebars.answers.base import Answers
from scorebars.answers.combined import LinearAnswers
from scorebars.answers.limited import (
    NO_LIMITS,
    LimitedMedian,
    LimitedOrder,
    concordance_of_pairs,
    nearest,
    tau_of_pairs,
)
from scorebars.answers.score import Declaration
from scorebars.answers.together.all_labels_metric import AllLabelsAnswers, AllLabelsMetric, WithoutValue
from scorebars.errors import Normal
from scorebars.laws.absolute_share import absolute_share_law
from scorebars.laws.law import Law
from scorebars.laws.order.largest import MaxErrorLaw
from scorebars.laws.order.median import median_law
from scorebars.laws.quadratic.pearson import PearsonLaw
from scorebars.laws.quadratic.ratio import ConcordanceLaw, ExplainedVarianceLaw, R2Law, RatioLaw
from scorebars.laws.quadratic.ratio_moments import explained_moments
from scorebars.laws.ranking.rank_correlations import kendall_law, somers_law, spearman_law
from scorebars.measured import Measured
from scorebars.metrics.call import regression_declaration, regression_metric
from scorebars.metrics.registry import warn_undefined
from scorebars.moments import statistics
from scorebars.moments.label_noise import CONCORDANCE_SUMS, EXPLAINED_VARIANCE_SUMS, PEARSON_SUMS, R2_SUMS, SumPair

_explaining = partial(regression_declaration, degree=0, low=-math.inf, high=1.0, perfect=1.0)
_correlating = partial(regression_declaration, degree=0, low=-1.0, high=1.0, perfect=1.0)
_correlation = partial(AllLabelsMetric, scale="ratio", least=2)


def _ratio_law(kind: type[RatioLaw] | type[PearsonLaw], data: Measured, errors: Normal) -> Law:
    return kind.of_labels(data.y, data.p, errors.sigma, data.weight)


def _explained_share(
    declared: Declaration, values: Any, law: type[RatioLaw], sums: SumPair, centred: bool
) -> AllLabelsMetric:
    own, moments = partial(_ratio_law, law), partial(explained_moments, centred=centred)
    return AllLabelsMetric(declared, values, own, sums, moments, law, scale="lost", least=2, centred=centred)


def _rank_law(law: Callable[..., Law], data: Measured, errors: Normal) -> Law:
    return law(data.y, data.p, errors.sigma)


def _absolute_share(data: Measured, errors: Normal) -> Law:
    return absolute_share_law(data.labels, data.predictions, errors, data.weight)


def _order_law(law: Callable[..., Law], data: Measured, errors: Normal) -> Law:
    return law(data.residual, errors.sigma)


_R2 = _explaining("r2_score", "R2, coefficient of determination", keeps="ratio")
R2 = _explained_share(_R2, statistics.r2, R2Law, R2_SUMS, centred=False)
_EV = _explaining("explained_variance_score", "Explained variance", keeps="ratio")
EXPLAINED_VARIANCE = _explained_share(
    _EV, statistics.explained_variance, ExplainedVarianceLaw, EXPLAINED_VARIANCE_SUMS, centred=True
)
_D2_SCORE = _explaining("d2_absolute_error_score", "D2, share of absolute error explained")
_D2 = AllLabelsMetric(_D2_SCORE, statistics.d2_absolute, _absolute_share, scale="lost", least=2)
_R = _correlating("pearson_correlation", "Pearson correlation")
_PEARSON = _correlation(_R, statistics.pearson, partial(_ratio_law, PearsonLaw), PEARSON_SUMS, needs_variation=True)
_CCC = _correlating("concordance_correlation", "Concordance correlation")
_CONCORDANCE = _correlation(_CCC, statistics.concordance, partial(_ratio_law, ConcordanceLaw), CONCORDANCE_SUMS)
_RHO = _correlating("spearman_correlation", "Spearman rank correlation", weights=False)
_SPEARMAN = _correlation(_RHO, statistics.spearman, partial(_rank_law, spearman_law), needs_variation=True)
_TAU = _correlating("kendall_correlation", "Kendall's tau", weights=False)
_KENDALL = _correlation(
    _TAU, statistics.kendall, partial(_rank_law, kendall_law), needs_variation=True, of_pairs=tau_of_pairs
)
_C_INDEX = regression_declaration("concordance_index", "Concordance index", 0, 0.0, 1.0, 1.0, weights=False)
_SOMERS = _correlation(
    _correlating("concordance_index", "Concordance index", weights=False),
    statistics.somers,
    partial(_rank_law, somers_law),
    needs_variation=True,
)
_LARGEST = regression_declaration("max_error", "Maximum error", 1, weights=False)
_MAXIMUM = AllLabelsMetric(_LARGEST, statistics.largest, partial(_order_law, MaxErrorLaw), rank=1.0)
_MIDDLE = regression_declaration("median_absolute_error", "Median absolute error", 1)
_MEDIAN = AllLabelsMetric(_MIDDLE, statistics.median_absolute, partial(_order_law, median_law), rank=0.5)
_WEIGHTED_MEDIAN = replace(_MEDIAN, law=None)


def _answers(metric: AllLabelsMetric, data: Measured) -> Answers:
    """The answers of a metric of all labels together."""
    name = metric.declaration.name
    if data.limited:
        return _with_limits(metric, data)
    if metric.from_sums is None or data.n < metric.least:  # sums show bad values by themselves
        data.require_valid()
    if data.n < metric.least:
        if metric.scale == "lost" and data.errors.error_free(data.labels):
            return _of_one_label(metric, data, 1.0 if metric.centred else math.nan)
        raise ValueError(
            f"{name} is not defined with {data.n} label(s): it needs at least {metric.least}, since it compares labels "
            "with each other."
        )
    if metric.needs_variation and np.ptp(data.predictions) == 0:
        warn_undefined(f"y_pred does not vary, so {name} is undefined and taken as 0.")
    return AllLabelsAnswers.of(metric, data)


def _of_one_label(metric: AllLabelsMetric, data: Measured, value: float) -> Answers:
    """A share explained of one exact label: the value that scikit-learn gives."""
    why = f"{metric.declaration.name} is not well-defined with less than two samples."
    warn_undefined(why)
    return WithoutValue(metric.declaration, data.n, value, why)


def _with_limits(metric: AllLabelsMetric, data: Measured) -> Answers:
    """The answers where some labels are limits: of the median error, and of metrics of the order."""
    if metric.of_pairs is not None:
        return LimitedOrder(metric.declaration, data, metric.of_pairs)
    if metric.rank == 0.5:
        return LimitedMedian(AllLabelsAnswers.of(metric, nearest(data)), data)
    raise ValueError(NO_LIMITS.format(metric.declaration.name))


def _explained(metric: AllLabelsMetric, data: Measured, force_finite: bool) -> Answers:
    """The share explained; of exact labels that do not vary, what scikit-learn gives."""
    if force_finite or data.limited or np.ptp(data.labels) > 0:
        return _answers(metric, data)
    data.require_valid()
    if not data.errors.error_free(data.labels):
        raise ValueError("y_true does not vary: the share explained is not finite. force_finite=True gives 0 or 1.")
    if data.n < metric.least:
        return _of_one_label(metric, data, math.nan)
    lost = float(metric.values(data.labels[None], data.predictions, data.weight)[0]) < 1.0
    why = f"y_true does not vary, so {metric.declaration.name} is not finite."
    warn_undefined(why)
    return WithoutValue(metric.declaration, data.n, -math.inf if lost else math.nan, why)


@regression_metric(R2.declaration, outputs="by variance")
def r2_score(data: Measured, *, force_finite: bool = True) -> Answers:
    r"""What share of the labels' variation does the model explain, and how well do the labels let us know it?

    $explained

    Notes
    -----
    .. math:: R^2 = 1 - \frac{\sum(p_i-y_i)^2}{\sum(y_i-\bar y)^2}

    is a ratio of quadratic forms of the labels. Under normal errors its distribution is that of an indefinite quadratic
    form, and its moments are one-dimensional integrals, both exact (for very many labels, from about 1e5 on, expected and
    std come from an expansion that leaves out less than 1e-8). The expected value is minus infinity for three labels or
    fewer, the variance infinite for five or fewer: the labels can come to lie arbitrarily close together. The score
    against the truth takes the label errors out of both sums,
    :math:`1 - (SSE - S)/(SST - (1-1/M)S)` with :math:`S = \sum\sigma_i^2`; a perfect model reaches :math:`1 - S/SST`.
    Its interval is Fieller's; where the labels scatter hardly more than their errors, `truth` raises UndefinedEstimate.

    References
    ----------
    N. R. Draper, H. Smith, Applied Regression Analysis, 3rd edition, Wiley (1998).

    $sampl
    >>> s = sb.r2_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.4196 0.42 ± 0.03 (labels) ± 0.30 (sample) 0.42 ± 0.03 (labels) ± 0.48 (sample)
    """
    return _explained(R2, data, force_finite)


@regression_metric(EXPLAINED_VARIANCE.declaration, outputs="by variance")
def explained_variance_score(data: Measured, *, force_finite: bool = True) -> Answers:
    r"""What share of the labels' variance does the model explain, a constant bias aside?

    $explained

    Notes
    -----
    Like R2, with the residuals taken about their mean:

    .. math:: 1 - \frac{\mathrm{Var}(y-p)}{\mathrm{Var}(y)}

    References
    ----------
    T. O. Kvålseth, Cautionary note about R2, The American Statistician 39 (1985) 279.

    $sampl
    >>> s = sb.explained_variance_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.4360 0.43 ± 0.03 (labels) ± 0.29 (sample)
    """
    return _explained(EXPLAINED_VARIANCE, data, force_finite)


@regression_metric(_D2.declaration, outputs="by variance")
def d2_absolute_error_score(data: Measured) -> Answers:
    r"""What share of the labels' absolute deviation from their median does the model explain?

    $regression

    Notes
    -----
    .. math:: D^2 = 1 - \frac{\sum|p_i-y_i|}{\sum|y_i-\mathrm{median}(y)|}

    Its distribution is drawn (`method` is "simulation"): from drawn labels, or for many labels under normal errors from the
    two sums, whose moments are integrals over single labels.

    References
    ----------
    R. Koenker, J. A. F. Machado, J. Am. Stat. Assoc. 94 (1999) 1296.

    $sampl
    >>> s = sb.d2_absolute_error_score(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.2021 0.20 ± 0.02 (labels) ± 0.33 (sample)
    """
    return _answers(_D2, data)


@regression_metric(_R, outputs="one")
def pearson_correlation(data: Measured) -> Answers:
    r"""How closely do predictions follow the labels on a straight line, and how well do the labels let us know it?

    $one_weighted

    Notes
    -----
    .. math:: r = \frac{\sum(y_i-\bar y)(p_i-\bar p)}{\sqrt{\sum(y_i-\bar y)^2\,\sum(p_i-\bar p)^2}}

    Label errors attenuate a correlation. `truth` is :math:`r/\sqrt{\mathrm{reliability}}`, with the reliability
    :math:`1 - (1-1/M)S/SST`, :math:`S=\sum\sigma_i^2`; a perfect model reaches its square root. Predictions
    that do not vary score 0, with a warning.

    References
    ----------
    C. Spearman, Am. J. Psychol. 15 (1904) 72 (attenuation).

    $black_holes
    >>> s = sb.pearson_correlation(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9028 0.896 ± 0.006 (labels) ± 0.018 (sample) 0.908 ± 0.005 (labels) ± 0.018 (sample)
    """
    return _answers(_PEARSON, data)


@regression_metric(_CCC, outputs="one")
def concordance_correlation(data: Measured) -> Answers:
    r"""How closely do predictions agree with the labels, scale and offset included?

    $one_weighted

    Notes
    -----
    .. math:: \frac{2\,\mathrm{cov}(y,p)}{\mathrm{var}(y)+\mathrm{var}(p)+(\bar y-\bar p)^2}

    with 1/n moments (Lin). It is linear over quadratic in the labels, so its moments and distribution are exact.

    References
    ----------
    L. I-K. Lin, Biometrics 45 (1989) 255.

    $black_holes
    >>> s = sb.concordance_correlation(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.9004 0.893 ± 0.006 (labels) ± 0.019 (sample)
    """
    return _answers(_CONCORDANCE, data)


@regression_metric(_RHO, outputs="one")
def spearman_correlation(data: Measured) -> Answers:
    r"""How closely does the order of the predictions follow that of the labels (by ranks)?

    $one_output

    Notes
    -----
    The correlation of ranks :math:`R`, the mean rank of those that tie:

    .. math:: \rho = \frac{\mathrm{cov}(R(y), R(p))}{\sqrt{\mathrm{var}(R(y))\,\mathrm{var}(R(p))}}

    $rank_notes

    References
    ----------
    C. Spearman, Am. J. Psychol. 15 (1904) 72.

    $sampl
    >>> s = sb.spearman_correlation(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.7091 0.72 ± 0.02 (labels) ± 0.24 (sample)
    """
    return _answers(_SPEARMAN, data)


@regression_metric(_TAU, outputs="one")
def kendall_correlation(data: Measured) -> Answers:
    r"""How often do predictions order a pair as the labels do?

    $one_output

    Notes
    -----
    Kendall's tau-b, from the pairs that agree, disagree, and tie in y or p only:

    .. math:: \tau = \frac{n_+ - n_-}{\sqrt{(n_+ + n_- + n_y)(n_+ + n_- + n_p)}}

    $rank_notes

    References
    ----------
    M. G. Kendall, Biometrika 30 (1938) 81.

    $sampl
    >>> s = sb.kendall_correlation(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.5273 0.54 ± 0.03 (labels) ± 0.25 (sample)
    """
    return _answers(_KENDALL, data)


@regression_metric(_C_INDEX, outputs="one")
def concordance_index(data: Measured) -> Answers:
    r"""In what share of the pairs of labels do the predictions have the right order?

    $one_output

    Notes
    -----
    From the pairs whose labels differ: those that the predictions order rightly, wrongly, and those that tie in p,

    .. math:: c = \frac{n_+ + \tfrac12 n_p}{n_+ + n_- + n_p}

    1/2 is what a model without any knowledge has. Of labels that are limits (`Censored`) only pairs count whose order is
    known: this is Harrell's index.

    $rank_notes

    References
    ----------
    F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati, JAMA 247 (1982) 2543.

    $sampl
    >>> s = sb.concordance_index(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.7636 0.77 ± 0.02 (labels) ± 0.13 (sample)
    """
    if data.limited:
        return LimitedOrder(_C_INDEX, data, concordance_of_pairs)
    return LinearAnswers(_C_INDEX, _answers(_SOMERS, data), 0.5, 0.5)


@regression_metric(_LARGEST, outputs="one")
def max_error(data: Measured) -> Answers:
    r"""How large is the worst residual, and how much of it may be label error?

    $one_output

    Notes
    -----
    Under normal errors, with residuals :math:`\delta_i`, exactly at any number of labels

    .. math:: P(\max \le x) = \prod_i [\Phi((x-\delta_i)/\sigma_i) - \Phi((-x-\delta_i)/\sigma_i)]

    `truth` can only be bounded, and nothing bounds `total_interval` from above: the largest error of the next test set
    exceeds this one's half of the time.

    References
    ----------
    H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, Wiley (2003).

    $sampl
    >>> s = sb.max_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.8900 0.891 ± 0.039 (labels) ± 0.052 (sample)
    """
    return _answers(_MAXIMUM, data)


@regression_metric(_MIDDLE, outputs="by variance")
def median_absolute_error(data: Measured) -> Answers:
    r"""How large is the middle residual, and how well do the labels let us know it?

    $regression

    Notes
    -----
    The median of :math:`|p_i - y_i|`. Under normal errors the number N of residuals up to x is Poisson-binomial, so its
    distribution is exact for an odd number of labels, and an integral for an even one:

    .. math:: P(\mathrm{median} \le x) = P(N \ge (M+1)/2)

    With weights, and where labels with small errors or none make it jump, the distribution is drawn; `method` says which.

    With normal and independent errors and 30 labels or more, nothing is assumed about the shape of the true residuals:
    the interval of `truth` holds every median that the labels allow. It is wide where they err as much as the model.

    References
    ----------
    H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, Wiley (2003).

    $sampl
    >>> s = sb.median_absolute_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.2500 0.28 ± 0.04 (labels) ± 0.20 (sample)
    """
    return _answers(_MEDIAN if data.weight is None else _WEIGHTED_MEDIAN, data)
