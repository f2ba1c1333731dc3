"""Means of a loss of each label: of residuals, of relative errors, the share within a tolerance, and any loss of your own."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks, losses
from scorebars.answers.base import Answers
from scorebars.answers.combined import in_units
from scorebars.answers.evidence import unit_and_sums
from scorebars.answers.means.forecast_answers import ForecastAnswers
from scorebars.answers.means.mean_loss import (
    AbsoluteAnswers,
    CustomAnswers,
    MeanLoss,
    PinballAnswers,
    SignedAnswers,
    WithinAnswers,
)
from scorebars.answers.means.squared import RootAnswers, SquaredAnswers
from scorebars.answers.score import Declaration, Score, Scores
from scorebars.errors.measurement_error import LabelErrors
from scorebars.forecasts import QuantileForecast
from scorebars.forecasts.given_forecast import is_forecast
from scorebars.measured import Measured, between, near_one
from scorebars.metrics.call import in_groups, regression_declaration, regression_metric, score, scored
from scorebars.metrics.forecast_inputs import forecast_data, quantile_data
from scorebars.metrics.registry import declarations

_MSE = regression_declaration("mean_squared_error", "Mean squared error", 2, keeps="squares")
_RMSE = regression_declaration("root_mean_squared_error", "Root mean squared error", 1, keeps="squares")
_MAE = regression_declaration("mean_absolute_error", "Mean absolute error", 1, keeps="absolute")
_BIAS = regression_declaration("mean_error", "Mean error (bias)", 1, low=-math.inf, keeps="sums")


@regression_metric(_MSE)
def mean_squared_error(data: Measured) -> Answers:
    r"""How large is the mean squared residual, and how well do the labels let us know it?

    $regression

    Notes
    -----
    With residuals :math:`\delta_i = p_i - y_i` and normal errors :math:`\sigma_i`:

    .. math::
        \mathrm{observed} = \frac1M\sum\delta_i^2, \qquad
        \mathrm{expected} = \frac1M\sum(\delta_i^2 + \sigma_i^2), \qquad
        \mathrm{variance} = \frac1{M^2}\sum(2\sigma_i^4 + 4\delta_i^2\sigma_i^2).

    The distribution is a generalised chi-square (non-central chi-square where all errors are equal). The unbiased score
    against the truth is :math:`\mathrm{truth} = \frac1M\sum(\delta_i^2 - \sigma_i^2)`.

    References
    ----------
    R. B. Davies, J. R. Stat. Soc. C 29 (1980) 323 (the distribution of quadratic forms).

    $sampl
    >>> s = sb.mean_squared_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth, s.perfect)
    0.2579 0.259 ± 0.010 (labels) ± 0.087 (sample) 0.256 ± 0.010 (labels) ± 0.093 (sample) 0.00138 ± 0.00078 (labels)
    """
    return SquaredAnswers.of(_MSE, losses.SquaredError(), data)


@regression_metric(_RMSE, outputs="averaged")
def root_mean_squared_error(data: Measured) -> Answers:
    r"""How large is the root mean squared residual, and how well do the labels let us know it?

    $regression

    Notes
    -----
    The distribution is that of the square root of the mean squared error :math:`Q`. The expected value is
    :math:`E\sqrt Q`, which is below :math:`\sqrt{E\,Q}`:

    .. math:: \sqrt{\mu} - E\sqrt Q = \frac1{2\sqrt\pi}\int_0^\infty \bigl[E e^{-tQ} - e^{-t\mu}\bigr]\,t^{-3/2}\,dt .

    The score against the truth is :math:`\sqrt{\max(0, \mathrm{truth\ of\ the\ MSE})}`.

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
    0.5811 0.594 ± 0.007 (labels) ± 0.013 (sample) 0.568 ± 0.005 (labels) ± 0.013 (sample)
    """
    return RootAnswers.of(_RMSE, SquaredAnswers, losses.SquaredError(), data)


@regression_metric(_MAE)
def mean_absolute_error(data: Measured) -> Answers:
    r"""How large is the mean absolute residual, and how well do the labels let us know it?

    $regression

    Notes
    -----
    Under normal errors each :math:`|p_i - y_i|` is a folded normal. With :math:`z_i = |\delta_i|/\sigma_i` and
    :math:`g(z) = 2[\varphi(z) - z\,Q(z)]`:

    .. math::
        \mathrm{expected} = \frac1M\sum\bigl(|\delta_i| + \sigma_i g(z_i)\bigr), \qquad
        \mathrm{variance} = \frac1{M^2}\sum\sigma_i^2\,\bigl(1 - 2 z_i g(z_i) - g(z_i)^2\bigr).

    The absolute value has a kink, so the score against the truth has no unbiased estimate. `truth` uses the most likely
    distribution of the true residuals (``method="npmle"``). With few labels or correlated errors it extrapolates to zero
    label error (``"simex"``). Its `note` gives bounds that hold for any true residuals. Its uncertainty comes from the
    likelihood, or from new draws by ``truth.bootstrap(draws, rng)``.

    References
    ----------
    F. C. Leone, L. S. Nelson, R. B. Nottingham, Technometrics 3 (1961) 543 (the folded normal distribution).

    $sampl
    >>> s = sb.mean_absolute_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.4055 0.407 ± 0.011 (labels) ± 0.096 (sample) 0.40 ± 0.01 (labels) ± 0.11 (sample)
    """
    return AbsoluteAnswers.of(_MAE, losses.AbsoluteError(), data)


@regression_metric(_BIAS)
def mean_error(data: Measured) -> Answers:
    r"""Does the model predict too high (positive) or too low (negative) on average?

    $regression

    Notes
    -----
    .. math:: \mathrm{observed} = \frac1M\sum(p_i - y_i), \qquad \mathrm{variance} = \frac1{M^2}\,1'\Sigma\,1

    Under normal errors it is normal. A bias common to all labels cannot be distinguished from a bias of the model.

    References
    ----------
    JCGM 200:2012, International vocabulary of metrology, 2.18 (bias).

    $sampl
    >>> print(sb.mean_error(y, p, yerr=logp.yerr))
    -0.09 ± 0.01 (labels) ± 0.16 (sample)
    """
    return SignedAnswers.of(_BIAS, losses.SignedError(), data)


_PINBALL = regression_declaration("mean_pinball_loss", "Mean pinball loss", 1, keeps="scores")
_HUBER = regression_declaration("huber_loss", "Mean Huber loss", None)
_LOG_COSH = regression_declaration("log_cosh_loss", "Mean log-cosh loss", None)


def _of_several_quantiles(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, alpha: Any = None) -> Score | None:
    """The score of predicted quantiles of several levels, or of those of a forecast; None where one is predicted."""
    several = alpha is not None and np.ndim(alpha) > 0
    if isinstance(y_pred, QuantileForecast):
        if alpha is not None:
            raise ValueError("y_pred is a QuantileForecast, which has its levels: leave alpha out.")
        data = forecast_data(y_true, y_pred, yerr, sample_weight)
    elif is_forecast(y_pred) and (several or not isinstance(y_pred, tuple)):
        data = quantile_data(y_true, y_pred, 0.5 if alpha is None else alpha, yerr, sample_weight)
    elif several:
        data = forecast_data(y_true, QuantileForecast.of_columns(alpha, y_pred), yerr, sample_weight)
    else:
        return None
    return scored(ForecastAnswers.of(_PINBALL, losses.QuantileLoss(), data), data.unit)


@regression_metric(_PINBALL, of_forecast=_of_several_quantiles)
def mean_pinball_loss(data: Measured, *, alpha: float | Sequence[float] = 0.5) -> Answers:
    r"""How good is a predicted quantile, and how well do the labels let us know it?

    Parameters
    ----------
    alpha : number in [0, 1], or k of them
        The quantile that is predicted; 0.5 gives half the mean absolute error. Of several levels `y_pred` has a column for
        each, (n, k), and the loss is their mean; a `QuantileForecast` brings its levels along. Of any other forecast the
        quantiles at these levels are scored.
    $regression_parameters

    Notes
    -----
    With the residual's size :math:`\delta_i = |p_i - y_i|` the loss is :math:`\alpha\delta` for a label above its prediction
    and :math:`(1-\alpha)\delta` for one below. Under normal errors, for a label above and :math:`z_i = \delta_i/\sigma_i`,

    .. math::
        \mathrm{expected} = \frac1M\sum\bigl(\alpha\delta_i + \tfrac12\sigma_i g(z_i)\bigr), \qquad
        \mathrm{variance} = \frac1{M^2}\sum\sigma_i^2\bigl(\alpha^2 - 2\alpha Q(z_i) + g_2(z_i) - \tfrac14 g(z_i)^2\bigr)

    (and with :math:`1-\alpha` for :math:`\alpha` below), :math:`g(z) = 2[\varphi(z) - zQ(z)]`,
    :math:`g_2(z) = (1+z^2)Q(z) - z\varphi(z)`. Other error families are integrated. The loss has a kink, so the score
    against the truth has no unbiased estimate; `truth` says how it was estimated. A perfect model knows the true value and
    how the label errs, and predicts that quantile of the label: no other prediction has a lower mean loss.

    References
    ----------
    R. Koenker, G. Bassett, Econometrica 46 (1978) 33.

    $sampl
    >>> s = sb.mean_pinball_loss(y, p, yerr=logp.yerr, alpha=0.9)
    >>> print(f"{s.observed:.4f}", s)
    0.2369 0.238 ± 0.007 (labels) ± 0.089 (sample)

    Quantiles of three levels:

    >>> import numpy as np
    >>> quantiles = p[:, None] + np.array([-0.6, 0.0, 0.6])
    >>> print(f"{sb.mean_pinball_loss(y, quantiles, alpha=[0.1, 0.5, 0.9], yerr=logp.yerr).observed:.4f}")
    0.1270
    """
    return PinballAnswers.of(_PINBALL, losses.Pinball(checks.fraction(alpha, "alpha")), data)


@regression_metric(_HUBER)
def huber_loss(data: Measured, *, delta: float = 1.0) -> Answers:
    r"""How large are residuals on average if outliers count less, and how well do the labels let us know it?

    Parameters
    ----------
    delta : positive number
        Residual from which on the loss is linear, in the unit of the labels.
    $regression_parameters

    Notes
    -----
    The loss is :math:`\tfrac12 d^2` up to :math:`|d| = \delta` and :math:`\delta(|d| - \tfrac12\delta)` beyond. Under
    normal errors mean and variance are closed forms, with :math:`a = |p - y| \le \delta` and
    :math:`g_2(z) = (1+z^2)Q(z) - z\varphi(z)`:

    .. math:: E = \tfrac12(a^2 + \sigma^2) - \tfrac12\sigma^2\Bigl[g_2\bigl(\tfrac{\delta-a}\sigma\bigr)
        + g_2\bigl(\tfrac{\delta+a}\sigma\bigr)\Bigr]

    Other error families are integrated.

    References
    ----------
    P. J. Huber, Ann. Math. Stat. 35 (1964) 73.

    $black_holes
    >>> s = sb.huber_loss(y, p, yerr=holes.yerr, delta=0.5)
    >>> print(f"{s.observed:.4f}", s)
    0.0834 0.090 ± 0.005 (labels) ± 0.011 (sample)
    """
    bend, data = checks.above_zero(delta, "delta"), data.with_weightless_labels_replaced()
    if _bends_far_below(bend, data):
        return in_units(AbsoluteAnswers.of(_HUBER, losses.AbsoluteError(), data), bend)
    unit = near_one(min(bend, max(data.sizes())))  # fourth powers stay in range
    loss = losses.Huber(min(bend / unit, _FAR**2))  # farther out there is no label
    return in_units(MeanLoss.of(_HUBER, loss, data.scaled(unit)), unit, unit)


@regression_metric(_LOG_COSH)
def log_cosh_loss(data: Measured) -> Answers:
    r"""How large is the mean of log cosh of the residuals, and how well do the labels let us know it?

    $regression

    Notes
    -----
    .. math:: \mathrm{observed} = \frac1M\sum\log\cosh(p_i - y_i), \qquad
        \mathrm{expected} = \frac1M\sum E\,\log\cosh(y_i + e_i - p_i)

    Small residuals count like half their square, large ones like their size less log 2. There is no closed form; mean and
    variance are integrals, exact to rounding.

    References
    ----------
    Q. Wang, Y. Ma, K. Zhao, Y. Tian, Ann. Data Sci. 9 (2022) 187.

    $black_holes
    >>> s = sb.log_cosh_loss(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.0865 0.094 ± 0.005 (labels) ± 0.013 (sample)
    """
    if _bends_far_below(1.0, data):  # log 2 is less than a digit of such residuals
        return AbsoluteAnswers.of(_LOG_COSH, losses.AbsoluteError(), data)
    return MeanLoss.of(_LOG_COSH, losses.LogCosh(), data)


_FAR = 2.0**64


def _bends_far_below(bend: float, data: Measured) -> bool:
    """Whether a loss that bends at `bend`, from where on it is linear, is linear for these data to every digit.

    Not where errors are so much smaller than residuals that labels near the bend may count.
    """
    data.require_valid()
    residual, error = data.sizes()
    return bend * _FAR < max(residual, error) and (error == 0 or error > residual * 2.0**-10)


_MAPE = regression_declaration("mean_absolute_percentage_error", "Mean absolute percentage error", 0)
_SMAPE = regression_declaration(
    "symmetric_mean_absolute_percentage_error", "Symmetric mean absolute percentage error", 0, high=2.0
)
_MSLE = regression_declaration("mean_squared_log_error", "Mean squared logarithmic error", None)
_RMSLE = regression_declaration("root_mean_squared_log_error", "Root mean squared logarithmic error", None)


@regression_metric(_MAPE)
def mean_absolute_percentage_error(data: Measured) -> Answers:
    r"""How large is the residual relative to the label, and how well do the labels let us know it?

    $regression

    Notes
    -----
    .. math:: \mathrm{observed} = \frac1M\sum\frac{|p_i - y_i|}{\max(|y_i|, \epsilon)}

    as a share (0.1 for 10 %), with :math:`\epsilon = 2.2\cdot10^{-16}` as in scikit-learn. **Under errors that let a
    label come close to 0, as normal ones do, the expected value is infinite**: `expected` and `std` are then ``inf``,
    with a warning, while median and intervals of `distribution` exist. Under `LogNormal` errors (relative errors are
    what a percentage error suggests) all is finite: with :math:`W = p/y` log-normal it is :math:`E|1 - W|`.

    References
    ----------
    R. J. Hyndman, A. B. Koehler, Int. J. Forecast. 22 (2006) 679.

    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> s = sb.mean_absolute_percentage_error(y, p, yerr=relative)
    >>> print(f"{s.observed:.4f}", s)
    0.0423 0.0439 ± 0.0015 (labels) ± 0.0039 (sample)
    """
    return MeanLoss.of(_MAPE, losses.PercentageError(), data)


@regression_metric(_SMAPE)
def symmetric_mean_absolute_percentage_error(data: Measured) -> Answers:
    r"""How large is the residual relative to label and prediction together, and how well do the labels let us know it?

    $regression

    Notes
    -----
    .. math:: \mathrm{observed} = \frac1M\sum\frac{2|p_i - y_i|}{|y_i| + |p_i|}

    between 0 and 2 (not in percent), 0 where both are 0. It is bounded, so all moments exist under every error family;
    they are integrals split at 0 and at the prediction.

    References
    ----------
    S. Makridakis, Int. J. Forecast. 9 (1993) 527.

    $black_holes
    >>> s = sb.symmetric_mean_absolute_percentage_error(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.0419 0.0440 ± 0.0015 (labels) ± 0.0036 (sample)
    """
    data.require_valid()
    largest = max(float(np.max(np.abs(data.y))), float(np.max(np.abs(data.p))))
    scale = between(largest, data.errors.largest(data.labels))  # a ratio has no unit: squares of errors stay in range
    return MeanLoss.of(_SMAPE, losses.SymmetricPercentage(), data.scaled(scale))


@regression_metric(_MSLE)
def mean_squared_log_error(data: Measured) -> Answers:
    r"""How large is the mean squared difference of logarithms, and how well do the labels let us know it?

    $regression

    Notes
    -----
    .. math:: \mathrm{observed} = \frac1M\sum\bigl(\log(1 + y_i) - \log(1 + p_i)\bigr)^2

    Labels or predictions of -1 or less have no logarithm, and are refused. **Where label errors allow such labels, as
    normal errors always do, the expected value does not exist**: `expected` and `std` are ``inf``, with a warning that
    says how probable such labels are. `distribution`, `interval` and the interval of `perfect` then cut the errors at -1:
    they are conditional on labels above it, whether errors are independent or shared. `LogNormal`, `Poisson` and bounded
    errors are integrated. If the errors are normal in :math:`\log(1+y)`, use `mean_squared_error` of the logarithms.

    References
    ----------
    C. Tofallis, J. Oper. Res. Soc. 66 (2015) 1352.

    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> s = sb.mean_squared_log_error(y, p, yerr=relative)
    >>> print(f"{s.observed:.5f}", s)
    0.00233 0.00250 ± 0.00015 (labels) ± 0.00049 (sample)
    """
    _require_logarithms("Mean Squared Logarithmic Error", data)
    return MeanLoss.of(_MSLE, losses.SquaredLogError(), data)


@regression_metric(_RMSLE, outputs="averaged")
def root_mean_squared_log_error(data: Measured) -> Answers:
    r"""How large is the root mean squared difference of logarithms, and how well do the labels let us know it?

    $regression

    Notes
    -----
    The square root of `mean_squared_log_error`, for each output before any average:

    .. math:: \mathrm{observed} = \sqrt{\frac1M\sum\bigl(\log(1 + y_i) - \log(1 + p_i)\bigr)^2}

    The expected value comes from draws (with their exact mean and variance as controls), exactly for a single label.
    What holds for labels of -1 or less holds here, too.

    References
    ----------
    C. Tofallis, J. Oper. Res. Soc. 66 (2015) 1352.

    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> print(sb.root_mean_squared_log_error(y, p, yerr=relative))
    0.0500 ± 0.0015 (labels) ± 0.0051 (sample)
    """
    _require_logarithms("Root Mean Squared Logarithmic Error", data)
    return RootAnswers.of(_RMSLE, MeanLoss, losses.SquaredLogError(), data)


def _require_logarithms(title: str, data: Measured) -> None:
    """Refuse labels and predictions that have no logarithm."""
    for values, argument in ((np.asarray(data.y), "y_true"), (np.asarray(data.p), "y_pred")):
        if (values <= -1).any():
            what = f"{title} cannot be used when targets contain values less than or equal to -1: {argument}"
            hint = "The logarithm of 1 + value does not exist there."
            raise checks.complain(what, "has such values", values <= -1, values, hint)


_WITHIN = regression_declaration(
    "fraction_within", "Fraction within tolerance", None, high=1.0, perfect=1.0, keeps="within"
)


@regression_metric(_WITHIN)
def fraction_within(data: Measured, *, tolerance: float) -> Answers:
    r"""What share of the labels is predicted to within a tolerance, and how well do the labels let us know it?

    Parameters
    ----------
    tolerance : number of at least 0
        Largest residual that counts as a hit, in the unit of the labels; the end belongs to it.
    $regression_parameters

    Notes
    -----
    A fresh label is within the tolerance with probability
    :math:`P_i = P(p_i - tol \le y_i + e_i \le p_i + tol)`, so under every error family

    .. math:: \mathrm{expected} = \frac1M\sum P_i, \qquad \mathrm{variance} = \frac1{M^2}\sum P_i(1-P_i),

    and the number of hits is exactly Poisson-binomial.

    References
    ----------
    W. Hoeffding, Ann. Math. Stat. 27 (1956) 713 (the Poisson-binomial distribution).

    $sampl
    >>> s = sb.fraction_within(y, p, tolerance=0.5, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.5455 0.55 ± 0.009 (labels) ± 0.16 (sample)
    """
    loss = losses.Within(checks.at_least_zero(tolerance, "tolerance"))
    data, unit, sums = unit_and_sums(loss, data)  # another unit changes no share
    unit = data.find_scale() if sums is None else unit
    if unit != 1.0:
        loss, data = losses.Within(min(loss.tolerance / unit, sys.float_info.max)), data.scaled(unit)
    return WithinAnswers.of(_WITHIN, loss, data)


class CustomMetric:
    """A metric function made from a loss; call it like any other metric."""

    def __init__(self, loss: losses.CustomLoss, declaration: Declaration) -> None:
        self.loss, self.declaration = loss, declaration
        self.__name__ = declaration.name
        self.__doc__ = f"Mean of a loss of each label: {declaration.title}."

    def __call__(
        self,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        yerr: LabelErrors = None,
        prederr: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        multioutput: str | ArrayLike = "uniform_average",
        groups: ArrayLike | None = None,
    ) -> Score | Scores:
        """The score of predictions `y_pred` with errors `prederr` on labels `y_true` with errors `yerr`."""
        make = partial(CustomAnswers.of, self.declaration, self.loss)
        given = (y_true, y_pred, yerr, prederr, sample_weight, multioutput)
        return in_groups(score(make, self.declaration, "pooled", *given), groups, sample_weight, y_true)

    def __repr__(self) -> str:
        return f"<metric {self.declaration.name}>"


def metric(
    loss: losses.LossFunction,
    *,
    name: str | None = None,
    greater_is_better: bool = False,
    kinks: losses.Kinks = None,
    of_residual: bool = False,
    low: float = -math.inf,
    high: float = math.inf,
) -> CustomMetric:
    r"""Make a metric of any loss ``loss(y, p)`` of a label and its prediction.

    Parameters
    ----------
    loss : callable
        ``loss(y, p)`` takes one-dimensional arrays of labels and predictions and returns one number for each. It is called
        with all labels that the error model allows, and must not be NaN there.
    name : str, optional
        Name of the metric; by default that of the function.
    greater_is_better : bool
        The metric's direction.
    kinks : sequence of numbers, or callable, optional
        Where the loss bends, jumps or has a pole: distances from the prediction (``[-1, 1]`` for bends at p - 1 and p + 1),
        or a function of the predictions that gives such labels. Integrals are split there. Without it the prediction itself
        and 0 are tried, and other kinks are searched for, which takes longer.
    of_residual : bool
        Whether the loss depends on y - p alone. The score against the truth is then found from the most likely
        distribution of the true residuals, else by extrapolation.
    low, high : numbers
        The range of possible values, which intervals do not leave.

    Returns
    -------
    callable
        With the arguments of the built-in metrics: ``(y_true, y_pred, *, yerr=None, prederr=None, sample_weight=None,
        multioutput="uniform_average", groups=None)``.

    Notes
    -----
    The metric is the mean :math:`\frac1M\sum L(y_i, p_i)`, and answers all that the built-in ones answer: expected value
    and standard deviation are integrals over the label errors, found by adaptive quadrature; a loss that grows so fast
    that they do not exist gives ``inf`` and a warning.

    References
    ----------
    J. R. Cook, L. A. Stefanski, J. Am. Stat. Assoc. 89 (1994) 1314 (extrapolation to labels without error).

    Examples
    --------
    Black-hole masses, where too small a prediction costs three times as much:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> def cost(y, p):  # too little is worse than too much
    ...     return np.where(p < y, 3 * (y - p), p - y)
    >>> mean_cost = sb.metric(cost, kinks=[0], of_residual=True, low=0)
    >>> holes = sb.datasets.load_blackholes()
    >>> s = mean_cost(holes.y, holes.predictions["Msigma"], yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.6720 0.687 ± 0.029 (labels) ± 0.061 (sample)
    """
    if not callable(loss):
        raise TypeError(f"loss must be a function of labels and predictions, got {loss!r}.")
    name = str(name or getattr(loss, "__name__", "loss"))
    if name in declarations():
        raise ValueError(f"there is a metric {name!r} already. Choose another name.")
    made = losses.CustomLoss(loss, kinks)
    made.of_residual = of_residual
    title = name.replace("_", " ")
    title, perfect = title[:1].upper() + title[1:], 1.0 if greater_is_better else 0.0
    return CustomMetric(made, Declaration(name, title, greater_is_better, "regression", low, high, None, perfect))
