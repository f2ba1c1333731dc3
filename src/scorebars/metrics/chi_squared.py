"""Reduced chi-squared: are the residuals as large as the errors of the labels say?"""

from __future__ import annotations

import math
import warnings
from typing import Any

from scorebars.answers.base import Answers
from scorebars.answers.means.chi_squared_answers import ChiSquaredAnswers, ChiSquaredScore, pulls
from scorebars.losses import SquaredError
from scorebars.measured import Measured
from scorebars.metrics.call import one_output
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, UndefinedMomentWarning

_CHI_SQUARED = Declaration(
    "reduced_chi_squared", "Reduced chi-squared", False, "regression", low=0.0, high=math.inf, degree=0, perfect=0.0
)


@declares(_CHI_SQUARED)
def reduced_chi_squared(y_true: Any, y_pred: Any, *, yerr: Any, sample_weight: Any = None) -> ChiSquaredScore:
    r"""Are the residuals as large as the errors of the labels say?

    With residuals :math:`d_i = y_i - p_i` and label errors :math:`s_i`,

    .. math:: \mathrm{observed} = \frac1n\sum \frac{d_i^2}{s_i^2}, \qquad
              \text{correlated errors:}\quad \frac1n\,d' S^{-1} d .

    Nothing is subtracted for fitted parameters. A perfect model scores :math:`\chi^2_n/n`, 1 on average: `perfect`, and
    `pvalue`, the probability that it scores at least the observed value. Labels that move within their errors once more
    give :math:`\mathrm{expected} = \mathrm{observed} + 1` and the law :math:`\chi'^2_n(n\,\mathrm{observed})/n`;
    against the true values :math:`\mathrm{truth} = \mathrm{observed} - 1` is unbiased for the mean of
    :math:`D_i^2/s_i^2` (for :math:`D' S^{-1} D/n`), with :math:`D_i` the true residuals.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions.
    yerr : number, (n,), (2, n) or error model
        *Standard deviation* of each label, above zero. Asymmetric errors divide by (lower + upper)/2. Correlated errors
        as ``Normal(cov=...)`` or ``Normal(sigma, shared=...)``. With ``Repeats(values)`` each label is divided by the
        error that its own repeats show: squares of Student's t instead of normals, and :math:`\nu/(\nu-2)` takes the
        place of 1 in all answers (:math:`\nu` repeats less one; infinite up to 3 repeats). ``sigma="pooled"`` divides by
        one error for all, and a perfect model scores :math:`F(n, \nu)`.
    sample_weight : (n,), optional
        How much each label counts; not with correlated errors.

    Returns
    -------
    Score with `pvalue`

    References
    ----------
    P. R. Bevington, D. K. Robinson, Data Reduction and Error Analysis, 3rd edition, McGraw-Hill (2003).

    Examples
    --------
    Distance moduli of supernovae in 40 bins against a flat universe:

    >>> import scorebars as sb
    >>> sn = sb.datasets.load_pantheon()
    >>> y, p = sn.y, sn.predictions["LCDM_Om0.298"]
    >>> s = sb.reduced_chi_squared(y, p, yerr=sn.yerr)
    >>> print(f"{s.observed:.4f} {s.pvalue:.3f}", s.perfect)
    0.9942 0.481 1.00 ± 0.22
    """
    if yerr is None:
        raise ValueError("reduced chi-squared needs yerr, the standard deviation of each label: it divides by it.")
    answers = reduced_chi_squared_answers(one_output(y_true, y_pred, yerr, sample_weight, "reduced_chi_squared"))
    score = ChiSquaredScore(answers)
    if score.undefined:
        warnings.warn(score.undefined, UndefinedMomentWarning, stacklevel=2)
    return score


def reduced_chi_squared_answers(data: Measured) -> Answers:
    """The answers for labels, predictions and errors that were checked before."""
    return ChiSquaredAnswers.of(_CHI_SQUARED, SquaredError(), pulls(data))
