"""Means of residuals that punish outliers less, or one side more: pinball, Huber, log-cosh."""

from __future__ import annotations

import math
from typing import Any

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.linear import in_units
from scorebars.losses import Huber, LogCosh, Pinball
from scorebars.measured import Measured, near_one
from scorebars.metrics.call import mean_of, score
from scorebars.metrics.registry import Maker, declares
from scorebars.score import Declaration, Score, Scores

_PINBALL = Declaration(
    "mean_pinball_loss", "Mean pinball loss", False, "regression", low=0.0, high=math.inf, degree=1, perfect=0.0
)
_HUBER = Declaration(
    "huber_loss", "Mean Huber loss", False, "regression", low=0.0, high=math.inf, degree=None, perfect=0.0
)
_LOG_COSH = Declaration(
    "log_cosh_loss", "Mean log-cosh loss", False, "regression", low=0.0, high=math.inf, degree=None, perfect=0.0
)


@declares(_PINBALL)
def mean_pinball_loss(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    alpha: float = 0.5,
    multioutput: Any = "uniform_average",
) -> Score | Scores:
    r"""How good is a predicted quantile, and how well do the labels let us know it?

    With :math:`\delta_i = y_i - p_i` the loss is :math:`\alpha\delta` above the prediction and
    :math:`(1-\alpha)|\delta|` below it. Under normal errors, for :math:`\delta_i \ge 0`, :math:`z_i = \delta_i/\sigma_i`,

    .. math::
        \mathrm{expected} = \frac1M\sum\bigl(\alpha\delta_i + \tfrac12\sigma_i g(z_i)\bigr), \qquad
        \mathrm{variance} = \frac1{M^2}\sum\sigma_i^2\bigl(\alpha^2 - 2\alpha Q(z_i) + g_2(z_i) - \tfrac14 g(z_i)^2\bigr)

    (and with :math:`1-\alpha` for :math:`\alpha` below), :math:`g(z) = 2[\varphi(z) - zQ(z)]`,
    :math:`g_2(z) = (1+z^2)Q(z) - z\varphi(z)`. Other error families are integrated. The score against the truth has no
    unbiased estimate (the loss has a kink); `truth` says how it was estimated.

    Parameters
    ----------
    alpha : number in [0, 1]
        The quantile that is predicted; 0.5 gives half the mean absolute error.
    $regression

    References
    ----------
    R. Koenker, G. Bassett, Econometrica 46 (1978) 33.

    Examples
    --------
    $sampl
    >>> s = sb.mean_pinball_loss(y, p, yerr=logp.yerr, alpha=0.9)
    >>> print(f"{s.observed:.4f}", s)
    0.2369 0.2376 ± 0.0070
    """
    maker = mean_of(_PINBALL, Pinball(checks.fraction(alpha, "alpha")))
    return score(maker, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


@declares(_HUBER)
def huber_loss(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    delta: float = 1.0,
    multioutput: Any = "uniform_average",
) -> Score | Scores:
    r"""How large are residuals on average if outliers count less, and how well do the labels let us know it?

    The loss is :math:`\tfrac12 d^2` up to :math:`|d| = \delta` and :math:`\delta(|d| - \tfrac12\delta)` beyond. Under
    normal errors mean and variance are closed forms, with :math:`a = |y - p| \le \delta` and
    :math:`g_2(z) = (1+z^2)Q(z) - z\varphi(z)`:

    .. math:: E = \tfrac12(a^2 + \sigma^2) - \tfrac12\sigma^2\Bigl[g_2\bigl(\tfrac{\delta-a}\sigma\bigr)
        + g_2\bigl(\tfrac{\delta+a}\sigma\bigr)\Bigr]

    and other error families are integrated.

    Parameters
    ----------
    delta : positive number
        Residual from which on the loss is linear, in the unit of the labels.
    $regression

    References
    ----------
    P. J. Huber, Ann. Math. Stat. 35 (1964) 73.

    Examples
    --------
    $black_holes
    >>> s = sb.huber_loss(y, p, yerr=holes.yerr, delta=0.5)
    >>> print(f"{s.observed:.4f}", s)
    0.0834 0.0900 ± 0.0047
    """
    return score(
        _huber(checks.above_zero(delta, "delta")), y_true, y_pred, yerr, sample_weight, multioutput, flatten=True
    )


def _huber(delta: float) -> Maker:
    """Found in a unit in which `delta` is ordinary, so that fourth powers stay in range."""
    unit = near_one(delta)
    ordinary = mean_of(_HUBER, Huber(delta / unit))
    linear = mean_of(_HUBER, Huber(1.0))

    def make(data: Measured) -> Answers:
        scale = _far_beyond(delta, data)
        if scale is not None:
            return in_units(linear(data.scaled(scale)), scale, delta)
        return in_units(ordinary(data.scaled(unit)), unit, unit)

    return make


_FAR = 2.0**64


def _far_beyond(bend: float, data: Measured) -> float | None:
    """The power of two to divide by where all is so large that a loss which bends at `bend` is linear, to every digit.

    Divided by it the largest are about 2^64, and may as well be those of a loss that bends at 1.

    None for ordinary data, and where errors are so much smaller than residuals that labels near the bend may count.
    """
    data.require_valid()
    scale, error = data.find_scale(), data.errors.largest(data.labels)
    far = scale != 1.0 and bend < scale / _FAR
    return scale / _FAR if far and (error == 0 or error > scale * 2.0**-10) else None


_ordinary_log_cosh = mean_of(_LOG_COSH, LogCosh())
_linear_log_cosh = mean_of(_LOG_COSH, Huber(1.0))


def _log_cosh(data: Measured) -> Answers:
    """The size of residuals themselves where they are so large that log 2 is less than a digit of them."""
    scale = _far_beyond(1.0, data)
    return _ordinary_log_cosh(data) if scale is None else in_units(_linear_log_cosh(data.scaled(scale)), scale)


@declares(_LOG_COSH)
def log_cosh_loss(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean of log cosh of the residuals, and how well do the labels let us know it?

    .. math:: \mathrm{observed} = \frac1M\sum\log\cosh(y_i - p_i), \qquad
        \mathrm{expected} = \frac1M\sum E\,\log\cosh(y_i + e_i - p_i)

    Small residuals count like half their square, large ones like their size less log 2. There is no closed form; mean and
    variance are integrals, exact to rounding.

    Parameters
    ----------
    $regression

    References
    ----------
    Q. Wang, Y. Ma, K. Zhao, Y. Tian, Ann. Data Sci. 9 (2022) 187.

    Examples
    --------
    $black_holes
    >>> s = sb.log_cosh_loss(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.0865 0.0938 ± 0.0053
    """
    return score(_log_cosh, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)
