"""How closely predictions follow the labels: Pearson, Spearman, Kendall, concordance."""

from __future__ import annotations

from typing import Any

from scorebars.answers.joint import JointMetric
from scorebars.errors import Normal
from scorebars.laws.base import Law
from scorebars.laws.pearson import PearsonLaw
from scorebars.laws.ranks import kendall_law, spearman_law
from scorebars.laws.ratio import ConcordanceLaw
from scorebars.measured import Measured
from scorebars.metrics.joint import joint_score
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.moments.sum_pairs import ConcordanceSums, PearsonSums
from scorebars.score import Declaration, Score


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "regression", low=-1.0, high=1.0, degree=0, perfect=1.0)


def _pearson_law(data: Measured, errors: Normal) -> Law:
    return PearsonLaw(data.y, data.p, errors.sigma)


def _concordance_law(data: Measured, errors: Normal) -> Law:
    return ConcordanceLaw(data.y, data.p, errors.sigma)


def _spearman_law(data: Measured, errors: Normal) -> Law:
    return spearman_law(data.y, data.p, errors.sigma)


def _kendall_law(data: Measured, errors: Normal) -> Law:
    return kendall_law(data.y, data.p, errors.sigma)


_PEARSON = JointMetric(
    _declared("pearson_correlation", "Pearson correlation"),
    statistics.pearson,
    _pearson_law,
    PearsonSums(),
    scale="ratio",
    needs_variation=True,
)
_CONCORDANCE = JointMetric(
    _declared("concordance_correlation", "Concordance correlation"),
    statistics.concordance,
    _concordance_law,
    ConcordanceSums(),
    scale="ratio",
)
_SPEARMAN = JointMetric(
    _declared("spearman_correlation", "Spearman rank correlation"),
    statistics.spearman,
    _spearman_law,
    scale="ratio",
    needs_variation=True,
)
_KENDALL = JointMetric(
    _declared("kendall_correlation", "Kendall's tau"),
    statistics.kendall,
    _kendall_law,
    scale="ratio",
    needs_variation=True,
)


@declares(_PEARSON.declaration)
def pearson_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How closely do predictions follow the labels on a straight line, and how well do the labels let us know it?

    .. math:: r = \frac{\sum(y_i-\bar y)(p_i-\bar p)}{\sqrt{\sum(y_i-\bar y)^2\,\sum(p_i-\bar p)^2}}

    Label errors attenuate a correlation. `truth` is :math:`r/\sqrt{\mathrm{reliability}}`, with the reliability
    :math:`1 - (1-1/M)S/SST`, :math:`S=\sum\sigma_i^2`; a perfect model reaches its square root. Predictions
    that do not vary score 0, with a warning.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions, at least two.
    yerr : number, (n,), (2, n) or error model, optional
        *Standard deviation* of each label, or a model from `scorebars.errors`.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0, 4.0, 1.0, 0.5], [2.5, 0.0, 2.0, 8.0, 4.5, 1.0, 1.0]
    >>> s = sb.pearson_correlation(y, p, yerr=0.4)
    >>> print(f"{s.observed:.4f} {s.expected:.3f} {s.truth:.3f}")
    0.9860 0.976 0.999
    """
    found = joint_score(_PEARSON, y_true, y_pred, yerr, None, least=2)
    assert isinstance(found, Score)
    return found


@declares(_CONCORDANCE.declaration)
def concordance_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How closely do predictions agree with the labels, scale and offset included?

    .. math:: \frac{2\,\mathrm{cov}(y,p)}{\mathrm{var}(y)+\mathrm{var}(p)+(\bar y-\bar p)^2}

    with 1/n moments (Lin). Linear over quadratic in the labels, so its moments and law are exact. Parameters are those of
    `pearson_correlation`.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0, 4.0, 1.0, 0.5], [2.5, 0.0, 2.0, 8.0, 4.5, 1.0, 1.0]
    >>> print(f"{sb.concordance_correlation(y, p, yerr=0.4).observed:.4f}")
    0.9761
    """
    found = joint_score(_CONCORDANCE, y_true, y_pred, yerr, None, least=2)
    assert isinstance(found, Score)
    return found


@declares(_SPEARMAN.declaration)
def spearman_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How closely does the order of the predictions follow that of the labels (by ranks)?

    The correlation of ranks. Under normal errors its mean and variance are sums over pairs of labels, exact; above a few
    thousand labels they are drawn (`method` says so). Parameters are those of `pearson_correlation`.

    Examples
    --------
    >>> import scorebars as sb
    >>> print(f"{sb.spearman_correlation([0.0, 0.5, 1.5], [0.25, 0.0, 2.0], yerr=[0.5, 1.0, 0.75]).expected:.6f}")
    0.427802
    """
    found = joint_score(_SPEARMAN, y_true, y_pred, yerr, None, least=2)
    assert isinstance(found, Score)
    return found


@declares(_KENDALL.declaration)
def kendall_correlation(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How often do predictions order a pair as the labels do?

    Kendall's tau-b. Under normal errors its mean and variance are sums over pairs of labels, exact; above a few thousand
    labels they are drawn (`method` says so). Parameters are those of `pearson_correlation`.

    Examples
    --------
    >>> import scorebars as sb
    >>> print(f"{sb.kendall_correlation([0.0, 0.5, 1.5], [0.25, 0.0, 2.0], yerr=[0.5, 1.0, 0.75]).expected:.6f}")
    0.378306
    """
    found = joint_score(_KENDALL, y_true, y_pred, yerr, None, least=2)
    assert isinstance(found, Score)
    return found
