"""Errors that are a fraction of the label: 5 % of whatever was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.normal import Normal
from scorebars.errors.parameters import non_negative

_MEANING = "fraction is a standard deviation divided by the label"


class Relative(MeasurementError):
    r"""Normal errors given as a fraction of the label, as in "known to 5 %".

    Parameters
    ----------
    fraction : number or (n,)
        Standard deviation of each label divided by its absolute value: 0.05 for 5 %.
    kind : {"classical", "berkson"}
        Whether label = truth + error (a measurement) or truth = label + error (a set point).

    Notes
    -----
    :math:`\sigma_i = f_i\,|y_i|`, taken at the label as it was measured. The metrics see ``Normal(fraction * abs(y_true))``.
    For errors that are a factor, so that labels stay positive, use `LogNormal`.

    References
    ----------
    JCGM 100:2008, Guide to the expression of uncertainty in measurement, 5.1.6.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.mean_squared_error([10.0, 20.0], [11.0, 19.0], yerr=sb.Relative(0.05)).expected  # 1 + (0.5**2 + 1.0**2) / 2
    1.625
    """

    per_label = shown = ("fraction",)

    fraction: FloatArray | float
    """Standard deviation divided by the label."""

    def __init__(self, fraction: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.fraction = non_negative(fraction, "fraction", _MEANING)
        largest = float(np.max(self.fraction))
        if largest > 1:
            raise ValueError(
                f"fraction goes up to {largest:g}, an error of {100 * largest:g} %. For {largest:g} % say "
                f"Relative({largest / 100:g}); for larger errors than the labels themselves Normal(sigma)."
            )

    def for_labels(self, y: FloatArray) -> Normal:
        return Normal.trusted(np.abs(y) * self.fraction, self.kind)

    def variance(self, y: FloatArray) -> FloatArray:
        return np.square(y * self.fraction)

    def fourth(self, y: FloatArray) -> FloatArray:
        return 3.0 * np.square(self.variance(y))

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return self.for_labels(y).sample(y, size, rng)

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.for_labels(y).cdf(y, x)

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.for_labels(y).sf(y, x)

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.for_labels(y).pdf(y, x)

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        return self.for_labels(y).ppf(y, q)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[MeasurementError, FloatArray]:
        return self.for_labels(y).noisier(y, level)
