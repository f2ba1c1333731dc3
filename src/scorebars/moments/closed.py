"""Closed forms of the mean and variance of one label's loss, and the table that finds them.

For errors with mean mu, variance s2 and central moments m3, m4, and delta = mu - p:

    E (x-p)^2   = s2 + delta^2
    Var (x-p)^2 = m4 - s2^2 + 4 m3 delta + 4 s2 delta^2
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from scorebars.errors import LogNormal, MeasurementError, Normal, Poisson, SplitNormal
from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Symmetric
from scorebars.losses import (
    AbsoluteError,
    Huber,
    LogCosh,
    Loss,
    PercentageError,
    Pinball,
    SignedError,
    SquaredError,
    SquaredLogError,
    Within,
)
from scorebars.moments.absolute import (
    absolute_log_normal,
    absolute_normal,
    absolute_poisson,
    absolute_split_normal,
    absolute_symmetric,
)
from scorebars.moments.huber import huber_normal
from scorebars.moments.log_cosh import log_cosh_normal
from scorebars.moments.pair import Moments
from scorebars.moments.pinball import pinball_normal
from scorebars.moments.ratios import percentage_any, percentage_log_normal, squared_log_any
from scorebars.moments.within import within_any, within_normal

__all__ = ["CLOSED", "Moments", "absolute_normal", "closed_form", "signed", "squared"]


def squared(errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """(x - p)^2 under any family; infinite where the family lacks the moments."""
    delta, s2, m4 = errors.mean(y) - p, errors.variance(y), errors.fourth(y)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = m4 - s2 * s2 + 4.0 * delta * (errors.third(y) + s2 * delta)
    return Moments(s2 + delta * delta, np.where(np.isinf(m4), np.inf, np.maximum(spread, 0.0)))


def signed(errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """p - x under any family with two moments."""
    return Moments(p - errors.mean(y), errors.variance(y))


CLOSED: dict[tuple[type[Loss], type[MeasurementError]], Callable[..., Moments]] = {
    (SquaredError, MeasurementError): squared,
    (SignedError, MeasurementError): signed,
    (AbsoluteError, Normal): absolute_normal,
    (AbsoluteError, SplitNormal): absolute_split_normal,
    (AbsoluteError, Symmetric): absolute_symmetric,
    (AbsoluteError, LogNormal): absolute_log_normal,
    (AbsoluteError, Poisson): absolute_poisson,
}
"""Forms of errors, labels and predictions."""

WITH_PARAMETERS: dict[tuple[type[Loss], type[MeasurementError]], Callable[..., Moments]] = {
    (Pinball, Normal): pinball_normal,
    (Huber, Normal): huber_normal,
    (LogCosh, Normal): log_cosh_normal,
    (Within, Normal): within_normal,
    (Within, MeasurementError): within_any,
    (PercentageError, LogNormal): percentage_log_normal,
    (PercentageError, MeasurementError): percentage_any,
    (SquaredLogError, MeasurementError): squared_log_any,
}
"""Forms that look at the loss as well."""


def closed_form(loss: Loss, errors: MeasurementError) -> Callable[..., Moments] | None:
    """The form for this loss and family, the most special first; None if there is none."""
    for family in type(errors).__mro__:
        key = (type(loss), family)
        if key in CLOSED:
            return CLOSED[key]
        if key in WITH_PARAMETERS:
            return partial(WITH_PARAMETERS[key], loss)
    return None
