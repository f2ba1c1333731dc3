"""Scores of forecasts: of whole distributions, and of intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.combined import LinearAnswers, in_ordinary_units
from scorebars.answers.means.forecast_answers import CoverageAnswers, CrpsAnswers, ForecastAnswers, QuadraticAnswers
from scorebars.answers.score import Declaration, Score
from scorebars.errors.measurement_error import LabelErrors
from scorebars.forecasts import EnsembleForecast, NormalForecast
from scorebars.forecasts.given_forecast import ForecastLike
from scorebars.losses import Covered, Crps, DawidSebastiani, IntervalScore, LogScore
from scorebars.measured import Measured
from scorebars.metrics.call import in_groups, scored
from scorebars.metrics.forecast_inputs import forecast_data, forecast_declaration, interval_data
from scorebars.metrics.registry import declares, take_over

_CRPS = forecast_declaration("crps", "Continuous ranked probability score", 1)
_LOG = forecast_declaration("log_score", "Log score", None, low=-math.inf)
_DSS = forecast_declaration("dawid_sebastiani_score", "Dawid-Sebastiani score", None, low=-math.inf)
_INTERVAL = forecast_declaration("interval_score", "Interval score", 1, takes="interval")
_COVERAGE = forecast_declaration(
    "interval_coverage", "Interval coverage", None, high=1.0, perfect=1.0, takes="interval"
)


def _forecast_metric(declaration: Declaration) -> Callable[[Callable[..., Answers]], Callable[..., Score]]:
    """Make a public score of forecasts of a function that finds the answers from checked data and its own options."""

    def public(make: Callable[..., Answers]) -> Callable[..., Score]:
        def metric(
            y_true: ArrayLike | None,
            forecast: ForecastLike,
            *,
            yerr: LabelErrors = None,
            sample_weight: ArrayLike | None = None,
            groups: ArrayLike | None = None,
            **options: Any,
        ) -> Score:
            data = forecast_data(y_true, forecast, yerr, sample_weight)
            return _score(make(data, **options), data, groups, sample_weight, y_true)

        take_over(metric, make, signature(metric))
        return declares(declaration)(metric)

    return public


def _score(answers: Answers, data: Measured, groups: Any, sample_weight: Any, y_true: Any) -> Score:
    """The score, its items taken together in groups where these are given."""
    return in_groups(scored(answers, data.unit), groups, sample_weight, y_true)


def _logarithmic(
    declaration: Declaration, make: Callable[[Measured], Answers], data: Measured, logs: float = 1.0
) -> Answers:
    """The answers of a score that gains `logs` times the logarithm of the unit, found where squares stay in range."""
    unit = data.find_scale()
    found = make(data.scaled(unit))
    return found if unit == 1.0 else LinearAnswers(declaration, found, 1.0, logs * math.log(unit))


@_forecast_metric(_CRPS)
def crps(data: Measured, *, estimator: str = "plain") -> Answers:
    r"""How far are the forecasts from the labels, spread and all, and how well do the labels let us know it?

    The continuous ranked probability score generalises the absolute error to distributions, in the unit of the labels.

    Parameters
    ----------
    estimator : {"plain", "fair"}
        For members: the score of the ensemble as it is, or of the distribution that its members are drawn from.
    $forecast_parameters

    Notes
    -----
    The integral of :math:`(F(x) - [x \ge y])^2`. For a normal forecast :math:`N(m, v)`, :math:`d = y - m`, with
    :math:`G(d, s) = E|d + sZ|`, smoothing by a variance gives

    .. math:: L(d; \tau^2) = G\bigl(d, \sqrt{v + \tau^2}\bigr) - \sqrt{v/\pi},

    so observed is :math:`L(d; 0)`, expected :math:`L(d; \sigma^2)`, and truth :math:`L(d; -\sigma^2)`, unbiased wherever
    the forecast's variance :math:`v` is at least that of the label error. Elsewhere, and for other forecasts, truth comes
    from the most likely distribution of the forecasts' true errors; `note` says for which share of the labels. A perfect
    model knows the true value and how the label errs: mean :math:`\sigma/\sqrt\pi`.

    Quantile forecasts are scored by the mean over their levels of twice the pinball loss. A forecast that claims the label
    has no truth.

    References
    ----------
    T. Gneiting and A. E. Raftery, J. Am. Stat. Assoc. 102 (2007) 359. C. A. T. Ferro, Q. J. R. Meteorol. Soc. 143 (2017)
    2665 (verification against observations with errors).

    $expansion
    >>> s = sb.crps(y, forecast, yerr=0.2)
    >>> print(f"{s.observed:.4f} {s.expected:.4f} {s.truth:.4f} {s.perfect:.4f}")
    0.1753 0.2074 0.1401 0.1128
    """
    if estimator not in ("plain", "fair"):
        raise ValueError(f"estimator must be 'plain' or 'fair', got {estimator!r}.")
    if estimator == "fair" and not isinstance(data.p, EnsembleForecast):
        raise ValueError(
            f"estimator='fair' is for ensembles, whose members are a sample: {data.p!r} is a whole distribution. Leave it out."
        )
    if estimator == "fair" and data.p.size < 2:
        raise ValueError("estimator='fair' needs at least 2 members: one has no spread. Use estimator='plain'.")
    return CrpsAnswers.of(_CRPS, Crps(estimator), data)


@_forecast_metric(_LOG)
def log_score(data: Measured) -> Answers:
    r"""How improbable are the labels under the forecasts, and how well do the labels let us know it?

    Minus the logarithm of the forecast's density at the label: the smaller the better. Also called ignorance, and negative
    log likelihood.

    $forecast

    Notes
    -----
    For a normal forecast :math:`N(m, v)` it is a mean squared error with weights and a constant:

    .. math::
        \mathrm{observed} = \frac1M\sum\Bigl[\tfrac12\log 2\pi v_i + \frac{d_i^2}{2v_i}\Bigr], \qquad
        \mathrm{expected} = \mathrm{observed} + \frac1M\sum\frac{\sigma_i^2}{2v_i}, \qquad
        \mathrm{truth} = \mathrm{observed} - \frac1M\sum\frac{\sigma_i^2}{2v_i} .

    Its distribution is a generalised chi-square, and truth is unbiased always. A perfect model forecasts
    :math:`N(t, \sigma^2)`: mean :math:`\tfrac12\log 2\pi e\sigma^2`, undefined where a label has no error. Members and
    quantiles have no density, so no log score.

    References
    ----------
    I. J. Good, J. R. Stat. Soc. B 14 (1952) 107.

    $expansion
    >>> s = sb.log_score(y, forecast, yerr=0.2)
    >>> print(f"{s.observed:.4f} {s.expected:.4f} {s.truth:.4f} {s.perfect:.4f}")
    0.2323 0.3747 0.0899 -0.1905
    """
    family = QuadraticAnswers if isinstance(data.p, NormalForecast) else ForecastAnswers
    return _logarithmic(_LOG, partial(family.of, _LOG, LogScore()), data)


@_forecast_metric(_DSS)
def dawid_sebastiani_score(data: Measured) -> Answers:
    r"""How improbable are the labels, if only mean and spread of the forecasts count?

    $forecast

    Notes
    -----
    With the mean :math:`m` and the variance :math:`v` of each forecast (of members: with :math:`m - 1`)

    .. math::
        \mathrm{observed} = \frac1M\sum\Bigl[\log v_i + \frac{d_i^2}{v_i}\Bigr], \qquad
        \mathrm{truth} = \mathrm{observed} - \frac1M\sum\frac{\sigma_i^2}{v_i},

    for normal forecasts twice the log score less :math:`\log 2\pi`. It exists for every forecast with two moments.

    References
    ----------
    A. P. Dawid and P. Sebastiani, Ann. Stat. 27 (1999) 65.

    $expansion
    >>> s = sb.dawid_sebastiani_score(y, forecast, yerr=0.2)
    >>> print(f"{s.observed:.4f} {s.expected:.4f} {s.truth:.4f}")
    -1.3733 -1.0885 -1.6581
    """
    _require_spread(data)
    return _logarithmic(_DSS, partial(QuadraticAnswers.of, _DSS, DawidSebastiani()), data, logs=2.0)


def _require_spread(data: Measured) -> None:
    std = np.asarray(data.p.std)
    bad = ~((std > 0) & np.isfinite(std) & np.isfinite(data.p.mean))
    if bad.any():
        hint = "The score divides by the variance: each forecast needs a finite one above 0."
        raise checks.complain("forecast", "has no mean or no spread for some labels: std", bad, std, hint)


@declares(_INTERVAL)
def interval_score(
    y_true: ArrayLike | None,
    lower: ForecastLike,
    upper: ArrayLike | None = None,
    *,
    level: float,
    yerr: LabelErrors = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    claims: str | None = None,
) -> Score:
    r"""How narrow are the prediction intervals, with a fine for every label that they miss?

    Parameters
    ----------
    y_true : (n,)
        Labels; None where the error model holds them.
    lower, upper : (n,)
        The ends of the interval of each label; or a forecast as `lower`, whose central interval is taken.
    level : number between 0 and 1
        The probability that the intervals are to hold.
    claims : {"truth", "label"}, optional
        Whether the intervals are to hold the true value behind the label (the default) or the label with its error.
    $interval_parameters

    Notes
    -----
    With :math:`\alpha` = 1 - level

    .. math:: \frac1M\sum (u_i - l_i) + \frac2\alpha\bigl[(l_i - y_i)_+ + (y_i - u_i)_+\bigr] .

    Under normal errors mean and variance are closed, by the mean distance of the label from both ends. A perfect model
    knows the true value and how the label errs, and gives that interval.

    References
    ----------
    T. Gneiting and A. E. Raftery, J. Am. Stat. Assoc. 102 (2007) 359, section 6.2.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.interval_score([1.2, 1.5, 2.9], [0.5, 1.6, 2.2], [1.5, 2.4, 3.4], level=0.9, yerr=0.2)
    >>> print(f"{s.observed:.4f} {s.expected:.4f}")
    1.6667 1.9723
    """
    level = checks.probability(level, "level")
    data = interval_data(y_true, lower, upper, level, yerr, sample_weight, claims)
    return _score(ForecastAnswers.of(_INTERVAL, IntervalScore(level), data), data, groups, sample_weight, y_true)


@declares(_COVERAGE)
def interval_coverage(
    y_true: ArrayLike | None,
    lower: ForecastLike,
    upper: ArrayLike | None = None,
    *,
    level: float | None = None,
    yerr: LabelErrors = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    claims: str | None = None,
) -> Score:
    r"""What share of the labels lies inside its prediction interval, and how well do the labels let us know it?

    Intervals that are to hold the true values with 90 % hold fewer labels, since these err: `truth` is the number to
    compare with the level.

    Parameters
    ----------
    y_true : (n,)
        Labels; None where the error model holds them.
    lower, upper : (n,)
        The ends of the interval of each label, which belong to it; or a forecast as `lower`, with the `level` of its
        central interval.
    level : number between 0 and 1, optional
        Of the central interval of a forecast.
    claims : {"truth", "label"}, optional
        Whether the intervals are to hold the true value behind the label (the default) or the label with its error.
    $interval_parameters

    Notes
    -----
    A fresh label is inside with probability :math:`P_i = P(l_i \le y_i + e_i \le u_i)`, so under every error family

    .. math:: \mathrm{expected} = \frac1M\sum P_i, \qquad \mathrm{variance} = \frac1{M^2}\sum P_i(1 - P_i),

    and the number of hits is exactly Poisson-binomial. Labels with errors do not tell how many true values lie just inside
    or outside: the interval of `truth` holds what all distributions that fit the labels give. Here a perfect model centres
    its intervals, as wide as these, on the true values.

    References
    ----------
    W. Hoeffding, Ann. Math. Stat. 27 (1956) 713 (the Poisson-binomial distribution).

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.interval_coverage([1.2, 1.5, 2.9], [0.5, 1.6, 2.2], [1.5, 2.4, 3.4], yerr=0.2)
    >>> print(f"{s.observed:.4f} {s.expected:.4f}")
    0.6667 0.7450
    """
    level = None if level is None else checks.probability(level, "level")
    data = interval_data(y_true, lower, upper, level, yerr, sample_weight, claims)
    answers = in_ordinary_units(partial(CoverageAnswers.of, _COVERAGE, Covered()), data, data.find_scale(), None)
    return _score(answers, data, groups, sample_weight, y_true)
