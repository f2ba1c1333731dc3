"""The share of labels that are predicted well enough."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from scorebars.answers.within import WithinAnswers
from scorebars.engines.totals import by_engine, sums_of
from scorebars.losses import Within
from scorebars.measured import Measured, between
from scorebars.metrics import inputs
from scorebars.metrics.additive import Maker, score
from scorebars.metrics.parameters import at_least_zero
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores

_WITHIN = Declaration(
    "fraction_within", "Fraction within tolerance", True, "regression", low=0.0, high=1.0, degree=None, perfect=1.0
)


def _within(tolerance: float) -> Maker:
    loss = Within(at_least_zero(tolerance, "tolerance"))

    def make(data: Measured) -> WithinAnswers:
        totals = inputs.measured_totals(loss, data)
        scale = _scale(loss, data)
        if scale == 1.0:
            return WithinAnswers(_WITHIN, loss, data, totals)
        nearer = Within(min(loss.tolerance / scale, sys.float_info.max))
        data = data.scaled(scale)
        return WithinAnswers(_WITHIN, nearer, data, inputs.measured_totals(nearer, data))

    return make


def _scale(loss: Within, data: Measured) -> float:
    """The power of two to divide by, so that squares of the label errors stay in range; it changes no share."""
    if by_engine(loss, data):
        sums = sums_of(data, tolerance=loss.tolerance)  # found already
        return between(sums.scale * sums.max_abs_d, sums.scale * sums.max_sigma)
    with np.errstate(over="ignore"):
        largest = float(np.max(np.abs(data.residual)))
    return between(largest, data.errors.largest(np.asarray(data.y, dtype=np.float64)))


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
    y_true, y_pred : (n,) or (n, outputs)
        Labels and predictions.
    tolerance : number of at least 0
        Largest residual that counts as a hit, in the unit of the labels; the end belongs to it.
    yerr, sample_weight, multioutput
        As in `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.fraction_within([1.0, 2.0, 3.0], [1.1, 2.6, 3.0], tolerance=0.5, yerr=0.2)
    >>> round(s.observed, 6), round(s.expected, 6)
    (0.666667, 0.757339)
    >>> round(s.distribution.pmf(1.0), 6)
    0.297362
    """
    return score(_within(tolerance), y_true, y_pred, yerr, sample_weight, multioutput)
