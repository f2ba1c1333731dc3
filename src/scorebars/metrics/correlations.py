"""How closely predictions follow the labels: Pearson, Spearman, Kendall, concordance."""

from __future__ import annotations

from typing import Any

from scorebars.answers.together.all_labels_metric import AllLabelsMetric
from scorebars.errors import Normal
from scorebars.laws.law import Law
from scorebars.laws.quadratic.pearson import PearsonLaw
from scorebars.laws.quadratic.ratio import ConcordanceLaw
from scorebars.laws.ranking.rank_correlations import kendall_law, spearman_law
from scorebars.measured import Measured
from scorebars.metrics.call import of_all_labels, one_score
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.moments.label_noise import ConcordanceSums, PearsonSums
from scorebars.score import Declaration, Score


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "regression", low=-1.0, high=1.0, degree=0, perfect=1.0)


def _pearson_law(data: Measured, errors: Normal) -> Law:
    return PearsonLaw.of_labels(data.y, data.p, errors.sigma, data.weight)


def _concordance_law(data: Measured, errors: Normal) -> Law:
    return ConcordanceLaw.of_labels(data.y, data.p, errors.sigma, data.weight)


def _spearman_law(data: Measured, errors: Normal) -> Law:
    return spearman_law(data.y, data.p, errors.sigma)


def _kendall_law(data: Measured, errors: Normal) -> Law:
    return kendall_law(data.y, data.p, errors.sigma)


_PEARSON = AllLabelsMetric(
    _declared("pearson_correlation", "Pearson correlation"),
    statistics.pearson,
    _pearson_law,
    PearsonSums(),
    scale="ratio",
    needs_variation=True,
    least=2,
)
_CONCORDANCE = AllLabelsMetric(
    _declared("concordance_correlation", "Concordance correlation"),
    statistics.concordance,
    _concordance_law,
    ConcordanceSums(),
    scale="ratio",
    least=2,
)
_SPEARMAN = AllLabelsMetric(
    _declared("spearman_correlation", "Spearman rank correlation"),
    statistics.spearman,
    _spearman_law,
    scale="ratio",
    needs_variation=True,
    least=2,
)
_KENDALL = AllLabelsMetric(
    _declared("kendall_correlation", "Kendall's tau"),
    statistics.kendall,
    _kendall_law,
    scale="ratio",
    needs_variation=True,
    least=2,
)


@declares(_PEARSON.declaration)
def pearson_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Score:
    r"""How closely do predictions follow the labels on a straight line, and how well do the labels let us know it?

    .. math:: r = \frac{\sum(y_i-\bar y)(p_i-\bar p)}{\sqrt{\sum(y_i-\bar y)^2\,\sum(p_i-\bar p)^2}}

    Label errors attenuate a correlation. `truth` is :math:`r/\sqrt{\mathrm{reliability}}`, with the reliability
    :math:`1 - (1-1/M)S/SST`, :math:`S=\sum\sigma_i^2`; a perfect model reaches its square root. Predictions
    that do not vary score 0, with a warning.

    Parameters
    ----------
    $one_output_weighted

    References
    ----------
    C. Spearman, Am. J. Psychol. 15 (1904) 72 (attenuation).

    Examples
    --------
    $black_holes
    >>> s = sb.pearson_correlation(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9028 0.8959 ± 0.0056 0.9078 ± 0.0055
    """
    return one_score(of_all_labels(_PEARSON), y_true, y_pred, yerr, sample_weight, "pearson_correlation")


@declares(_CONCORDANCE.declaration)
def concordance_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Score:
    r"""How closely do predictions agree with the labels, scale and offset included?

    .. math:: \frac{2\,\mathrm{cov}(y,p)}{\mathrm{var}(y)+\mathrm{var}(p)+(\bar y-\bar p)^2}

    with 1/n moments (Lin). Linear over quadratic in the labels, so its moments and law are exact.

    Parameters
    ----------
    $one_output_weighted

    References
    ----------
    L. I-K. Lin, Biometrics 45 (1989) 255.

    Examples
    --------
    $black_holes
    >>> s = sb.concordance_correlation(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.9004 0.8926 ± 0.0058
    """
    return one_score(of_all_labels(_CONCORDANCE), y_true, y_pred, yerr, sample_weight, "concordance_correlation")


@declares(_SPEARMAN.declaration)
def spearman_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How closely does the order of the predictions follow that of the labels (by ranks)?

    The correlation of ranks. Under normal errors its mean and variance are sums over pairs of labels, exact; above a few
    thousand labels they are drawn (`method` says so).

    Parameters
    ----------
    $one_output

    References
    ----------
    C. Spearman, Am. J. Psychol. 15 (1904) 72.

    Examples
    --------
    $sampl
    >>> s = sb.spearman_correlation(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.7091 0.720 ± 0.018
    """
    return one_score(of_all_labels(_SPEARMAN), y_true, y_pred, yerr, None, "spearman_correlation")


@declares(_KENDALL.declaration)
def kendall_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How often do predictions order a pair as the labels do?

    Kendall's tau-b. Under normal errors its mean and variance are sums over pairs of labels, exact; above a few thousand
    labels they are drawn (`method` says so).

    Parameters
    ----------
    $one_output

    References
    ----------
    M. G. Kendall, Biometrika 30 (1938) 81.

    Examples
    --------
    $sampl
    >>> s = sb.kendall_correlation(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.5273 0.539 ± 0.033
    """
    return one_score(of_all_labels(_KENDALL), y_true, y_pred, yerr, None, "kendall_correlation")
