"""Means of residuals: squared, root squared, absolute and signed."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from scorebars.answers.means.mean_loss import AbsoluteAnswers
from scorebars.answers.means.signed import SignedAnswers
from scorebars.answers.means.squared import RootAnswers, SquaredAnswers
from scorebars.losses import AbsoluteError, SignedError, SquaredError
from scorebars.metrics.call import mean_of, score
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores


def _error(name: str, title: str, degree: int, low: float = 0.0) -> Declaration:
    return Declaration(name, title, False, "regression", low=low, high=math.inf, degree=degree, perfect=0.0)


_MSE = _error("mean_squared_error", "Mean squared error", 2)
_RMSE = _error("root_mean_squared_error", "Root mean squared error", 1)
_MAE = _error("mean_absolute_error", "Mean absolute error", 1)
_BIAS = _error("mean_error", "Mean error (bias)", 1, low=-math.inf)

_squared = mean_of(_MSE, SquaredError(), SquaredAnswers)
_absolute = mean_of(_MAE, AbsoluteError(), AbsoluteAnswers)
_signed = mean_of(_BIAS, SignedError(), SignedAnswers)
_root = partial(RootAnswers.of, _RMSE, SquaredAnswers, SquaredError())


@declares(_MSE, _squared)
def mean_squared_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean squared residual, and how well do the labels let us know it?

    With residuals :math:`\delta_i = y_i - p_i` and normal errors :math:`\sigma_i`:

    .. math::
        \mathrm{observed} = \frac1M\sum\delta_i^2, \qquad
        \mathrm{expected} = \frac1M\sum(\delta_i^2 + \sigma_i^2), \qquad
        \mathrm{variance} = \frac1{M^2}\sum(2\sigma_i^4 + 4\delta_i^2\sigma_i^2),

    the law is a generalised chi-square (non-central chi-square where all errors are equal), and the unbiased score
    against the truth is :math:`\mathrm{truth} = \frac1M\sum(\delta_i^2 - \sigma_i^2)`.

    Parameters
    ----------
    $regression

    References
    ----------
    R. B. Davies, J. R. Stat. Soc. C 29 (1980) 323 (the distribution of quadratic forms).

    Examples
    --------
    $sampl
    >>> s = sb.mean_squared_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth, s.perfect)
    0.2579 0.259 ± 0.010 0.256 ± 0.010 0.00138 ± 0.00078
    """
    return score(_squared, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


@declares(_RMSE, _root)
def root_mean_squared_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the root mean squared residual, and how well do the labels let us know it?

    The law is that of the square root of the mean squared error :math:`Q`; the expected value is
    :math:`E\sqrt Q`, which is below :math:`\sqrt{E\,Q}`:

    .. math:: \sqrt{\mu} - E\sqrt Q = \frac1{2\sqrt\pi}\int_0^\infty \bigl[E e^{-tQ} - e^{-t\mu}\bigr]\,t^{-3/2}\,dt .

    The score against the truth is :math:`\sqrt{\max(0, \mathrm{truth\ of\ the\ MSE})}`.

    Parameters
    ----------
    $regression

    References
    ----------
    T. Chai, R. R. Draxler, Geosci. Model Dev. 7 (2014) 1247.

    Examples
    --------
    Nuclear masses in MeV, FRDM2012 against the measured ones:

    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> y, p = masses.y, masses.predictions["FRDM2012"]
    >>> s = sb.root_mean_squared_error(y, p, yerr=masses.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.5811 0.5936 ± 0.0069 0.5683 ± 0.0052
    """
    return score(_root, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_MAE, _absolute)
def mean_absolute_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean absolute residual, and how well do the labels let us know it?

    Under normal errors each :math:`|y_i - p_i|` is a folded normal. With :math:`z_i = |\delta_i|/\sigma_i` and
    :math:`g(z) = 2[\varphi(z) - z\,Q(z)]`:

    .. math::
        \mathrm{expected} = \frac1M\sum\bigl(|\delta_i| + \sigma_i g(z_i)\bigr), \qquad
        \mathrm{variance} = \frac1{M^2}\sum\sigma_i^2\,\bigl(1 - 2 z_i g(z_i) - g(z_i)^2\bigr).

    No unbiased estimate of the score against the truth exists (the absolute value has a kink). `truth` comes from the
    nonparametric maximum likelihood estimate of the law of the true residuals (``method="npmle"``), with few labels or
    correlated errors from an extrapolation to zero label error (``"simex"``); its `note` gives the bounds that hold
    whatever the true residuals are. How well it is known comes from the likelihood, or, drawn anew, from
    ``truth.bootstrap(draws, rng)``.

    Parameters
    ----------
    $regression

    References
    ----------
    F. C. Leone, L. S. Nelson, R. B. Nottingham, Technometrics 3 (1961) 543 (the folded normal distribution).

    Examples
    --------
    $sampl
    >>> s = sb.mean_absolute_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.4055 0.407 ± 0.011 0.404 ± 0.011
    """
    return score(_absolute, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


@declares(_BIAS, _signed)
def mean_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""Does the model predict too high (positive) or too low (negative) on average?

    .. math:: \mathrm{observed} = \frac1M\sum(p_i - y_i), \qquad \mathrm{variance} = \frac1{M^2}\,1'\Sigma\,1

    Its law under normal errors is normal. A bias common to all labels cannot be told from a bias of the model.

    Parameters
    ----------
    $regression

    References
    ----------
    JCGM 200:2012, International vocabulary of metrology, 2.18 (bias).

    Examples
    --------
    $sampl
    >>> print(sb.mean_error(y, p, yerr=logp.yerr))
    -0.085 ± 0.011
    """
    return score(_signed, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)
