"""Answers of the mean squared error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.many import summary_of
from scorebars.answers.mean_loss import PERFECT, MeanLoss, sampling_variance
from scorebars.engines.totals import by_engine, sums_of
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.errors.repeats import Repeats
from scorebars.laws import from_summary
from scorebars.laws.additive import simulated_mean
from scorebars.laws.base import Law
from scorebars.laws.chisquare import GeneralizedChiSquare
from scorebars.laws.expansion import root_moments
from scorebars.laws.invert import noncentrality_interval
from scorebars.losses import SquaredError
from scorebars.measured import Measured
from scorebars.moments.quadratic import diagonal_terms, quadratic_terms
from scorebars.score import Estimate, Interval, UndefinedEstimate

_NORMAL = 1e-10
"""Relative error below which the truth's estimate is normal: its skewness is of this order."""


class SquaredAnswers(MeanLoss):
    """Mean of (y - p)^2: a quadratic form of the errors, so everything about it is known."""

    def _law(self, data: Measured) -> Law:
        summary = summary_of(data, "squares")
        if summary is not None:
            return from_summary.squared_law(summary)
        return squared_law(data, data.errors, data.residual)

    # for the root mean squared error -----------------------------------------------------------

    def scaled_law(self) -> Law:
        """The law in the units of the scaled data."""
        return self._law(self._scaled_data())

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root where labels are so many that the sums tell them; None where the law has to."""
        return root_moments(sums_of(self._data)) if by_engine(self.loss, self._data) else None

    @property
    def length_unit(self) -> float:
        """The unit in which residuals were divided."""
        return self._totals.scale

    @property
    def scaled_observed(self) -> float:
        return self._totals.observed

    def scaled_perfect_law(self) -> Law:
        """The law of a perfect model's score, in the units of the scaled data."""
        data = self._scaled_data()
        summary = summary_of(data, "squares")
        if summary is not None:
            return from_summary.squared_law(summary, perfect=True)
        errors = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors
        return squared_law(data, errors, np.zeros(data.n))

    def _own_variance(self, data: Measured) -> float:
        if not isinstance(data.errors, Normal):
            return super()._own_variance(data)
        return diagonal_terms(data.errors.label_level().total, data.shares, data.residual).unbiased

    def _shared_variance(self, data: Measured) -> float:
        return _systematic_variance(data)

    # against the truth -------------------------------------------------------------------------

    def _truth(self, data: Measured) -> Estimate:
        """mean((d - m)^2 - s^2), with m and s^2 the mean and variance of the label's error: unbiased."""
        self._require_variance(data)
        value = math.fsum(_weighted_sum(x, w) for x, w in _truth_terms(data)) / data.total_weight
        std = math.sqrt(_truth_variance(data))
        sampled = sampling_variance(_truth_terms(data), value, data) + _systematic_variance(data)
        total = Symmetric(value, math.sqrt(sampled), 0.0, math.inf, max(data.n - 1, 1))
        note = "" if value >= 0 else "negative: the observed error is below the noise floor"
        return self._estimate(value, std, "unbiased", self._truth_interval(data, value, std), total, note)

    def _truth_interval(self, data: Measured, value: float, std: float) -> Callable[[float], Interval]:
        sd = np.sqrt(data.errors.label_variance(np.asarray(data.y, float)))
        known = not (isinstance(data.errors, Repeats) and data.errors.estimated)
        if isinstance(data.errors, Normal) and data.errors.independent and known and std > _NORMAL * value:
            return noncentral(data, sd)
        return Symmetric(value, std, 0.0)

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        """mean(d^2 - s^2 + v'), with s^2 the error variance of the labels at hand and v' that of fresh ones."""
        if not isinstance(data.errors, Normal) and np.all(np.equal(data.errors.repeats, repeats)):
            std = math.sqrt(2.0 * _truth_variance(data))  # fresh labels scatter as those at hand did
            return self._estimate(self._totals.observed, std, "unbiased", Symmetric(self._totals.observed, std, 0.0))
        self._require_variance(data)
        y, a = np.asarray(data.y, float), data.shares
        old, fresh = data.errors.label_variance(y), data.errors.variance_of_mean(y, repeats)
        value = self._totals.observed + float(np.sum(a * (fresh - old)))
        d2 = np.square(data.residual) - old
        new = float(np.sum(np.square(a) * (2.0 * np.square(fresh) + 4.0 * d2 * fresh)))
        std = math.sqrt(max(new, float(np.sum(2.0 * np.square(a * fresh)))) + _truth_variance(data))
        return self._estimate(value, std, "unbiased", Symmetric(value, std, 0.0))

    def _require_variance(self, data: Measured) -> None:
        if not np.all(np.isfinite(data.errors.label_variance(np.asarray(data.y, float)))):
            raise UndefinedEstimate(
                f"{data.errors!r} errors have no finite variance, so what they add to a squared error cannot be taken off."
            )

    def perfect(self) -> Estimate:
        data = self._scaled_data()
        y = np.asarray(data.y, float)
        value = float(np.sum(data.shares * (data.errors.label_variance(y) + np.square(data.errors.mean(y) - y))))
        law = self.scaled_perfect_law()
        return self._estimate(value, float(law.std), law.method, OfLaw(law), note=PERFECT)


def squared_law(data: Measured, errors: MeasurementError, residual: FloatArray) -> Law:
    """Law of the mean squared error of these residuals when labels err like this."""
    if not isinstance(errors, Normal):
        return simulated_mean(SquaredError(), data, residual)
    if errors.cov is not None:
        return GeneralizedChiSquare.covariance(residual, errors.cov, data.weight)
    if errors.shared is not None:
        variance = np.broadcast_to(np.square(errors.sigma), (data.n,))
        return GeneralizedChiSquare.low_rank(residual, variance, errors.shared, data.weight)
    return GeneralizedChiSquare.independent(residual, errors.sigma, data.weight)


def _weighted_sum(x: FloatArray, w: FloatArray | None) -> float:
    return float(np.add.reduce(x if w is None else w * x))


def _truth_terms(data: Measured) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """Unbiased estimates of each true squared residual."""
    for y, p, errors, weight in data.blocks():
        yield errors.unbiased_square(y, p), weight


def _truth_variance(data: Measured) -> float:
    """Unbiased variance of the truth's estimate given the true residuals, never below that of zero residuals."""
    errors, a = data.errors, data.shares
    if isinstance(errors, Repeats) and errors.estimated:
        return errors.truth_variance(a, data.residual)
    if isinstance(errors, Normal):
        return quadratic_terms(errors.label_level(), a, data.residual).unbiased
    variance, floor = errors.unbiased_square_variance(np.asarray(data.y, float), np.asarray(data.p, float))
    counts = a > 0
    return max(float(np.sum(a * a * variance, where=counts)), float(np.sum(a * a * floor, where=counts)), 0.0)


def _systematic_variance(data: Measured) -> float:
    """The part of the variance that correlated errors add; the scatter of the labels does not show it."""
    errors, a, d = data.errors, data.shares, data.residual
    if errors.independent or not isinstance(errors, Normal):
        return 0.0
    errors = errors.label_level()
    whole, own = quadratic_terms(errors, a, d), diagonal_terms(errors.total, a, d)
    trace, form = whole.trace - own.trace, whole.form - own.form
    return max(4.0 * form - 2.0 * trace, 2.0 * trace, 0.0)


def noncentral(data: Measured, sd: FloatArray) -> NoncentralityInterval:
    """The interval of the true MSE; labels without error are known, the others tell of the rest."""
    uncertain = sd > 0
    a, d2 = data.shares, np.square(data.residual)
    share = float(np.sum(a[uncertain]))
    known = float(np.sum((a * d2)[~uncertain]))
    a, d2, sd = a[uncertain] / share, d2[uncertain], sd[uncertain]
    weight = None if data.weight is None else a
    return NoncentralityInterval(float(np.sum(a * d2)), sd, _pattern(a, d2, sd), weight, share, known)


def _pattern(a: FloatArray, d2: FloatArray, sd: FloatArray) -> FloatArray:
    """How the true squared residuals are spread over labels of different error: mean 1, between flat and ~ s^2.

    Only the product sum a^2 s^2 D^2 matters for the scatter of the observed score; its unbiased estimate, raised by its
    standard error, decides. (With the bare estimate a model whose errors grow with s is held too rarely: 76 % instead of
    95 % for 60 labels whose s scatter by a factor of 2.2.)
    """
    s2 = np.square(sd)
    lever = a * s2
    x = lever / float(np.sum(a * lever)) - 1.0
    spread, total = float(np.sum(a * x * x)), float(np.sum(a * (d2 - s2)))
    if spread < 1e-12:
        return np.ones(len(sd))
    variance = np.maximum(4.0 * d2 * s2 - 2.0 * s2 * s2, 2.0 * s2 * s2)
    lean = float(np.sum(a * x * (d2 - s2))) + math.sqrt(float(np.sum(np.square(a * x) * variance)))
    tilt = lean / (total * spread) if total > 0 else 1.0
    return np.asarray(1.0 + min(max(tilt, 0.0), 1.0) * x)


@dataclass(frozen=True)
class NoncentralityInterval:
    """Interval of the true MSE by inverting the law of the observed one; exact where all errors are equal."""

    observed: float
    sd: FloatArray
    pattern: FloatArray
    weight: FloatArray | None
    share: float
    known: float

    def __call__(self, level: float) -> Interval:
        low, high = noncentrality_interval(self.observed, self.sd, level, weight=self.weight, shape=self.pattern)
        return Interval(self.known + self.share * low, self.known + self.share * high)
