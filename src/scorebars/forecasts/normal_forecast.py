"""Normal forecasts: a mean and a standard deviation for each label."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars.arrays import FloatArray, in_one_unit
from scorebars.errors import MeasurementError
from scorebars.errors.parameters import positive_parameter
from scorebars.forecasts.forecast import Forecast, check_claims
from scorebars.numerics.special import folded_mean

_ROOT_PI = math.sqrt(math.pi)
_BENDS = np.array([-8.0, -3.0, 0.0, 3.0, 8.0])


class NormalForecast(Forecast):
    r"""A normal distribution for each label, as Gaussian processes and many networks predict it.

    Parameters
    ----------
    mean : (n,)
        The mean of each forecast.
    std : number or (n,)
        Its standard deviation (not the variance), above 0.
    claims : {"truth", "label"}
        Whether the forecast speaks of the true value behind the label (the default) or of the label with its error. A
        model that was fitted to noisy labels and gives its full predictive spread claims the label.

    Notes
    -----
    With :math:`z = (y - m)/s` the scores are

    .. math::
        \mathrm{CRPS} = s\,\bigl[z\,(2\Phi(z) - 1) + 2\varphi(z) - 1/\sqrt\pi\bigr], \qquad
        \mathrm{log\ score} = \tfrac12 z^2 + \log s + \tfrac12\log 2\pi .

    References
    ----------
    T. Gneiting and A. E. Raftery, J. Am. Stat. Assoc. 102 (2007) 359.

    Examples
    --------
    >>> import scorebars as sb
    >>> forecast = sb.NormalForecast([1.0, 2.0], [0.3, 0.5])
    >>> forecast.interval(0.95).upper.round(2).tolist()
    [1.59, 2.98]
    >>> print(f"{sb.crps([1.2, 1.5], forecast, yerr=0.1).observed:.4f}")
    0.2113
    """

    per_label = ("_mean", "_std")
    _mean: FloatArray
    _std: FloatArray

    def __init__(self, mean: ArrayLike, std: ArrayLike, *, claims: str = "truth") -> None:
        self.claims = check_claims(claims)
        (mean, std), self.unit = in_one_unit(mean=mean, std=std)
        self._mean = checks.finite_column(mean, "mean")
        spread = positive_parameter(std, "std", "std is a standard deviation")
        if isinstance(spread, np.ndarray):
            checks.same_length(self._mean, spread, "mean", "std")
        self._std = np.broadcast_to(spread, self._mean.shape)

    @classmethod
    def trusted(cls, mean: FloatArray, std: FloatArray, claims: str = "truth") -> Self:
        """Values that were checked elsewhere; a std of 0 is a forecast that is certain."""
        new = cls.__new__(cls)
        new._mean, new._std, new.claims, new.unit = mean, std, claims, None  # type: ignore[assignment]
        return new

    @property
    def mean(self) -> FloatArray:
        return self._mean

    @property
    def std(self) -> FloatArray:
        return self._std

    def scaled(self, factor: float) -> Self:
        return self._changed(_mean=self._mean * factor, _std=self._std * factor)

    def _z(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = (x - self._mean) / self._std
        return np.where(np.isnan(z), 0.0, z)

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(ndtr(self._z(x)))

    def sf(self, x: FloatArray) -> FloatArray:
        return np.asarray(ndtr(-self._z(x)))

    def below(self, x: FloatArray) -> FloatArray:
        return self.cdf(x)

    def ppf(self, q: FloatArray | float) -> FloatArray:
        return self._mean + self._std * ndtri(q)

    def at_score(self, z: FloatArray) -> FloatArray:
        return self._mean + self._std * z

    def pdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(under="ignore", over="ignore"):
            return np.exp(-0.5 * np.square(self._z(x))) / (math.sqrt(2 * math.pi) * self._std)

    def knots(self) -> FloatArray:
        """Where a forecast that is narrow beside a label error bends."""
        return self._mean + np.multiply.outer(_BENDS, self._std)

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        return folded_mean(y - self._mean, self._std) - self._std / _ROOT_PI

    def log_score(self, y: FloatArray) -> FloatArray:
        return 0.5 * np.square(self._z(y)) + np.log(self._std) + 0.5 * math.log(2 * math.pi)

    def _seen(self, errors: MeasurementError) -> Forecast:
        if errors.normal is None:
            return super()._seen(errors)
        total: Any = errors.normal.total
        return self._changed(_std=np.sqrt(np.square(self._std) + np.square(total)), claims="label")
