"""Quantile forecasts: the values that are not exceeded with given probabilities."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars.arrays import FloatArray, in_one_unit
from scorebars.errors import MeasurementError
from scorebars.forecasts.forecast import Forecast, check_claims


class QuantileForecast(Forecast):
    r"""Quantiles of each label at a few levels, as quantile regression predicts them.

    Parameters
    ----------
    levels : (k,)
        Probabilities strictly between 0 and 1, in increasing order.
    values : (n, k)
        Row i holds the quantiles of label i, in increasing order.
    claims : {"truth", "label"}
        Whether the quantiles are of the true value behind the label (the default) or of the label with its error.

    Notes
    -----
    The CRPS is taken as the mean over the levels of twice the pinball loss, which tends to the CRPS of the whole
    distribution as equally spaced levels become many:

    .. math:: \frac2k\sum_j \bigl(\alpha_j - [y < q_j]\bigr)(y - q_j) .

    Between the levels the distribution is taken as uniform. Quantiles say nothing of what lies beyond the outermost ones:
    `cdf`, `mean` and `std` put that probability on these.

    Examples
    --------
    >>> import scorebars as sb
    >>> forecast = sb.QuantileForecast([0.1, 0.5, 0.9], [[0.4, 1.0, 1.5], [1.6, 2.0, 2.8]])
    >>> forecast.crps([1.2, 1.5]).round(4).tolist()
    [0.14, 0.3133]
    """

    per_label = ("values",)
    common = ("claims", "unit", "levels")
    levels: FloatArray
    values: NDArray[Any]

    def __init__(self, levels: ArrayLike, values: ArrayLike, *, claims: str = "truth") -> None:
        self.claims = check_claims(claims)
        self.levels = quantile_levels(levels)
        (values,), self.unit = in_one_unit(values=values)
        self.values = np.asarray(checks.real_array(values, "values"), dtype=np.float64)
        if self.values.ndim == 1 and len(self.levels) == 1:
            self.values = self.values[:, None]
        if self.values.ndim != 2 or not self.values.size or self.values.shape[1] != len(self.levels):
            raise ValueError(
                f"values must have one row of quantiles for each label, shape (n, {len(self.levels)}) for "
                f"{len(self.levels)} levels, but has shape {self.values.shape}."
            )
        checks.require_finite(self.values, "values")
        falls = np.diff(self.values, axis=1) < 0
        hint = "Quantiles of higher levels cannot be lower: sort each row, np.sort(values, axis=1)."
        checks.refuse("values", "has quantiles that cross", falls, self.values[:, 1:], hint)

    @classmethod
    def of_columns(cls, levels: Any, values: Any) -> Self:
        """Predictions (n, k) of several levels in any order, which may cross: their pinball losses still exist."""
        given = np.asarray(checks.column(levels, "alpha"), dtype=np.float64)
        order = np.argsort(given, kind="stable")
        (values,), unit = in_one_unit(y_pred=values)
        columns = np.asarray(checks.real_array(values, "y_pred"), dtype=np.float64)
        if columns.ndim != 2 or columns.shape[1] != len(given):
            raise ValueError(
                f"y_pred must have one column for each of the {len(given)} levels in alpha, shape (n, {len(given)}), but has "
                f"shape {columns.shape}."
            )
        new = cls.__new__(cls)
        new.levels, new.values = quantile_levels(given[order], "alpha"), columns[:, order]
        new.claims, new.unit = "truth", unit
        return new

    def _shown(self) -> str:
        return f"<{len(self)} labels, {len(self.levels)} levels>"

    def scaled(self, factor: float) -> Self:
        return self._changed(values=self.values * factor)

    @property
    def _pieces(self) -> FloatArray:
        """Probabilities at the first quantile, between neighbours, and at the last."""
        return np.diff(self.levels, prepend=0.0, append=1.0)

    @property
    def mean(self) -> FloatArray:
        share, q = self._pieces, self.values
        return share[0] * q[:, 0] + (q[:, 1:] + q[:, :-1]) / 2 @ share[1:-1] + share[-1] * q[:, -1]

    @property
    def std(self) -> FloatArray:
        share, q = self._pieces, self.values - self.mean[:, None]
        a, b = q[:, :-1], q[:, 1:]
        square = share[0] * q[:, 0] ** 2 + (a * a + a * b + b * b) / 3 @ share[1:-1] + share[-1] * q[:, -1] ** 2
        return np.sqrt(square)

    def cdf(self, x: FloatArray) -> FloatArray:
        return self._up_to(x, below=False)

    def below(self, x: FloatArray) -> FloatArray:
        return self._up_to(x, below=True)

    def _up_to(self, x: FloatArray, below: bool) -> FloatArray:
        x = np.asarray(x, dtype=np.float64)
        reached = np.less if below else np.less_equal
        total = np.where(reached(self.values[:, 0], x), self.levels[0], 0.0)
        for a, b, share in zip(self.values.T[:-1], self.values.T[1:], self._pieces[1:-1], strict=True):
            inside = np.clip((x - a) / np.where(b > a, b - a, 1.0), 0.0, 1.0)
            total = total + share * np.where(b > a, inside, 1.0 * reached(a, x))
        return np.asarray(total + np.where(reached(self.values[:, -1], x), 1.0 - self.levels[-1], 0.0))

    def ppf(self, q: FloatArray | float) -> FloatArray:
        q = np.broadcast_to(np.asarray(q, dtype=np.float64), np.broadcast_shapes(np.shape(q), (len(self),)))
        total = np.broadcast_to(self.values[:, 0], q.shape)
        for j, width in enumerate(self._pieces[1:-1]):
            inside = np.clip((q - self.levels[j]) / width, 0.0, 1.0)
            total = total + inside * (self.values[:, j + 1] - self.values[:, j])
        return np.asarray(total)

    def knots(self) -> FloatArray:
        return self.values.T

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        y = np.asarray(y, dtype=np.float64)
        total = np.zeros(y.shape)
        for alpha, q in zip(self.levels, self.values.T, strict=True):
            d = y - q
            total += np.where(d >= 0, alpha * d, (alpha - 1.0) * d)
        return 2.0 * total / len(self.levels)

    # is it right? ------------------------------------------------------------------------------

    @property
    def error_variance(self) -> FloatArray:
        centre, whole = self.mean, self.completed()
        return whole.expectation(lambda t: np.square(t - centre), self.knots())

    def pit(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A place drawn between the levels on either side of y: uniform if the quantiles are right."""
        ends, column = np.concatenate([[0.0], self.levels, [1.0]]), np.asarray(y, dtype=np.float64)[:, None]
        low = ends[np.sum(self.values < column, axis=1)]
        high = ends[np.sum(self.values <= column, axis=1) + 1]  # y may be a quantile itself
        return np.asarray(low + rng.random(len(self)) * (high - low))

    def pit_through(self, errors: MeasurementError, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Needs the whole distribution, tails included: see `completed`."""
        return self.completed().pit_through(errors, y, rng)

    def pit_note(self) -> str:
        return (
            "quantiles leave open what lies between and beyond them: with label errors, and for the spread factor, the "
            "distribution is taken as piecewise normal. Without label errors the PIT is drawn between levels (fixed seed)."
        )

    def completed(self) -> CompletedQuantiles:
        """A distribution with these quantiles, normal between neighbours and beyond the outermost two."""
        if len(self.levels) < 2:
            raise ValueError(
                "one quantile does not tell how wide a forecast is: calibration needs at least two levels."
            )
        return CompletedQuantiles(self)

    def no_density(self) -> str:
        return (
            "quantiles do not determine a density, so there is no log score. Score them with crps or mean_pinball_loss."
        )


def quantile_levels(levels: Any, argument: str = "levels") -> FloatArray:
    """Probabilities strictly between 0 and 1, in increasing order."""
    found = checks.finite_column(levels, argument)
    if not found.size:
        raise ValueError(f"{argument} is empty: give at least one level.")
    hint = "A level is a probability: strictly between 0 and 1."
    checks.refuse(argument, "has values outside (0, 1)", (found <= 0) | (found >= 1), found, hint)
    hint = "Sort the levels, and the columns of the values with them."
    checks.refuse(argument, "is not in increasing order", np.diff(found) <= 0, found[1:], hint)
    return found


class CompletedQuantiles(Forecast):
    """Quantiles joined by straight lines over normal scores, the outermost lines carried on."""

    per_label = ("values",)
    common = ("claims", "unit", "scores")

    def __init__(self, quantiles: QuantileForecast) -> None:
        self.values, self.claims, self.unit = quantiles.values, quantiles.claims, quantiles.unit
        self.scores = ndtri(quantiles.levels)

    def scaled(self, factor: float) -> Self:
        return self._changed(values=self.values * factor)

    @cached_property
    def mean(self) -> FloatArray:
        return self.expectation(lambda t: t, self.values.T)

    @cached_property
    def std(self) -> FloatArray:
        return np.sqrt(self.expectation(lambda t: np.square(t - self.mean), self.values.T))

    def at_score(self, z: FloatArray) -> FloatArray:
        z = np.broadcast_to(z, np.broadcast_shapes(np.shape(z), (len(self),)))
        k = np.clip(np.searchsorted(self.scores, z) - 1, 0, len(self.scores) - 2)
        label = np.broadcast_to(np.arange(len(self)), z.shape)
        low, high = self.values[label, k], self.values[label, k + 1]
        return np.asarray(low + (z - self.scores[k]) / (self.scores[k + 1] - self.scores[k]) * (high - low))

    def ppf(self, q: FloatArray | float) -> FloatArray:
        return self.at_score(ndtri(q))

    def cdf(self, x: FloatArray) -> FloatArray:
        x = np.asarray(x, dtype=np.float64)
        passed = np.zeros(x.shape, dtype=np.int64)
        for quantile in self.values.T:
            passed += quantile <= x
        k = np.clip(passed - 1, 0, len(self.scores) - 2)
        label = np.broadcast_to(np.arange(len(self)), x.shape)
        low, high = self.values[label, k], self.values[label, k + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.scores[k] + (x - low) / (high - low) * (self.scores[k + 1] - self.scores[k])
        jump = np.where(x < low, -np.inf, np.inf)  # where two quantiles are equal
        return np.asarray(ndtr(np.where(high > low, z, jump)))
