"""The share of labels that are predicted well enough."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.evidence import by_engine, sums_of
from scorebars.answers.means.within_answers import WithinAnswers
from scorebars.losses import Within
from scorebars.measured import Measured, between
from scorebars.metrics.call import score
from scorebars.metrics.registry import Maker, declares
from scorebars.score import Declaration, Score, Scores

_WITHIN = Declaration(
    "fraction_within", "Fraction within tolerance", True, "regression", low=0.0, high=1.0, degree=None, perfect=1.0
)


def _within(tolerance: float) -> Maker:
    loss = Within(checks.at_least_zero(tolerance, "tolerance"))

    def make(data: Measured) -> Answers:
        found = WithinAnswers.of(_WITHIN, loss, data)
        scale = _scale(loss, data)
        if scale == 1.0:
            return found
        nearer = Within(min(loss.tolerance / scale, sys.float_info.max))
        return WithinAnswers.of(_WITHIN, nearer, data.scaled(scale))

    return make


def _scale(loss: Within, data: Measured) -> float:
    """The power of two to divide by, so that squares of the label errors stay in range; it changes no share."""
    if by_engine(loss, data):
        sums = sums_of(data, tolerance=loss.tolerance)  # found already
        return between(sums.scale * sums.max_abs_d, sums.scale * sums.max_sigma)
    with np.errstate(over="ignore"):
        largest = float(np.max(np.abs(data.residual)))
    return between(largest, data.errors.largest(data.labels))


@declares(_WITHIN, make_with=_within)
def fraction_within(
    y_true: Any,
    y_pred: Any,
    *,
    tolerance: float,
    yerr: Any = None,
    sample_weight: Any = None,
    multioutput: Any = "uniform_average",
) -> Score | Scores:
    r"""What share of the labels is predicted to within a tolerance, and how well do the labels let us know it?

    A fresh label is within the tolerance with probability
    :math:`P_i = P(p_i - tol \le y_i + e_i \le p_i + tol)`, so under every error family

    .. math:: \mathrm{expected} = \frac1M\sum P_i, \qquad \mathrm{variance} = \frac1{M^2}\sum P_i(1-P_i),

    and the number of hits is exactly Poisson-binomial.

    Parameters
    ----------
    tolerance : number of at least 0
        Largest residual that counts as a hit, in the unit of the labels; the end belongs to it.
    $regression

    References
    ----------
    W. Hoeffding, Ann. Math. Stat. 27 (1956) 713 (the Poisson-binomial distribution).

    Examples
    --------
    $sampl
    >>> s = sb.fraction_within(y, p, tolerance=0.5, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.5455 0.5463 ± 0.0090
    """
    return score(_within(tolerance), y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)
