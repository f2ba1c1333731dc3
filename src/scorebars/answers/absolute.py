"""Answers of the mean absolute error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from scorebars.answers.generic import GenericAnswers
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.many import summary_of
from scorebars.answers.npmle import MeanOfLoss, true_residuals
from scorebars.answers.npmle_bootstrap import Bootstrap
from scorebars.answers.simex import folded_at, term_variance
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.laws import from_summary
from scorebars.laws.additive import simulated_mean
from scorebars.laws.base import Law
from scorebars.laws.folded import FoldedNormalMean
from scorebars.laws.folded_correlated import correlated_law
from scorebars.laws.folded_shared import shared_law
from scorebars.losses import AbsoluteError
from scorebars.measured import Measured
from scorebars.moments.closed import absolute_normal
from scorebars.moments.label_part import folded_part
from scorebars.score import Estimate
from scorebars.special import standardised

_SUBSAMPLE = 50_000
"""Above this many labels the variance of the truth's estimate is found from every k-th label."""


class AbsoluteAnswers(GenericAnswers):
    """Mean of |y - p|."""

    def _law(self, data: Measured) -> Law:
        summary = summary_of(data, "absolute")
        if summary is not None:
            return from_summary.absolute_law(summary)
        return absolute_law(data, data.errors, data.residual)

    # against the truth -------------------------------------------------------------------------

    def _truth(self, data: Measured) -> Estimate:
        """No unbiased estimator exists (|.| has a kink). The most likely law of the true residuals, or SIMEX.

        SIMEX serves where labels are few or their errors not independent and normal. The bounds in the note hold for
        any true residuals.
        """
        if not isinstance(data.errors, Normal):
            return super()._truth(data)
        residuals = true_residuals(data)
        if residuals is None:
            return self._simex(data)
        mean = MeanOfLoss(residuals, self.loss, self._unit)
        return Estimate(
            mean.value,
            mean.std,
            method=residuals.method,
            note=f"{self._bounds(data)}; {residuals.note}",
            interval=mean.interval,
            total_interval=mean.total_interval,
            bootstrap=Bootstrap(mean, data),
        )

    def _simex(self, data: Measured) -> Estimate:
        def noise_removed(errors: MeasurementError, y: FloatArray) -> FloatArray:
            return -errors.label_variance(y)

        value, std = self._at_noise(data, noise_removed, centred=True)
        kept = max(value, 0.0)
        note = f"{self._bounds(data)}; the intervals hold for any true residuals, more often than their level"
        return self._estimate(kept, std, "simex", *self._whatever_the_residuals(data, kept), note)

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        """Smoothing by the difference of fresh and present error variance; where that is negative, as for the truth."""

        if not isinstance(data.errors, Normal):
            return super()._remeasured(data, repeats)

        def noise_added(errors: MeasurementError, y: FloatArray) -> FloatArray:
            return errors.variance_of_mean(y, repeats) - errors.label_variance(y)

        y = np.asarray(data.y, float)
        less_noise = bool(np.any(noise_added(data.errors, y) < 0))
        cleaner = self._cleaner(data, repeats) if less_noise else None
        if cleaner is not None and math.isinf(repeats):
            return self._truth(data)
        value, old = (
            self._at_noise(data, noise_added, centred=False) if cleaner is None else (cleaner.value, cleaner.std())
        )
        fresh = np.sqrt(data.errors.variance_of_mean(y, repeats))
        new = absolute_normal(Normal.trusted(fresh), data.residual, np.zeros(data.n)).variance
        inflation = self._inflation(data)
        std = math.sqrt(float(np.sum(np.square(data.shares) * new)) * inflation + old * old)
        method = "npmle" if cleaner is not None else "simex" if less_noise else "unbiased"
        return self._estimate(max(value, 0.0), std, method, Symmetric(value, std, 0.0))

    def _cleaner(self, data: Measured, repeats: float) -> MeanOfLoss | None:
        """The mean loss of labels with less error than those at hand, by the law of the true residuals."""
        present = np.asarray(data.errors.repeats, dtype=np.float64)
        residuals = true_residuals(data) if float(np.ptp(present)) == 0 else None
        if residuals is None:
            return None
        return MeanOfLoss(residuals, self.loss, fresh=float(present.flat[0]) / repeats)

    def perfect(self) -> Estimate:
        data = self._scaled_data()
        errors = _at_hand(data.errors)
        summary = summary_of(data, "absolute")
        law = (
            absolute_law(data, errors, np.zeros(data.n))
            if summary is None
            else from_summary.absolute_law(summary, perfect=True)
        )
        return self._estimate(
            float(law.mean), float(law.std), law.method, OfLaw(law), note="expected score of a perfect model"
        )

    # the test set as a sample ------------------------------------------------------------------

    def _own_variance(self, data: Measured) -> float:
        if not isinstance(data.errors, Normal):
            return super()._own_variance(data)
        total = 0.0
        for y, p, errors, weight in data.blocks():
            sd = np.sqrt(errors.label_variance(y))
            scale = sd if weight is None else weight * sd
            total += float(np.sum(np.square(scale) * folded_part(standardised(y - p, sd))))
        return total / data.total_weight**2

    def _shared_variance(self, data: Measured) -> float:
        if data.errors.independent:
            return 0.0
        return max(self._totals.std**2 * (1.0 - 1.0 / self._inflation(data)), 0.0)

    # noise levels ------------------------------------------------------------------------------

    def _terms(
        self, data: Measured, noise: Callable[[MeasurementError, FloatArray], FloatArray], centred: bool
    ) -> Iterator[tuple[FloatArray, FloatArray | None]]:
        for y, p, errors, weight in data.blocks():
            d = y - p - (errors.mean(y) - y) if centred else y - p
            yield folded_at(d, noise(errors, y)), weight

    def _at_noise(
        self, data: Measured, noise: Callable[[MeasurementError, FloatArray], FloatArray], centred: bool
    ) -> tuple[float, float]:
        """The mean loss at another noise level, and its std when the labels at hand move within their errors."""
        parts = [float(np.add.reduce(x if w is None else w * x)) for x, w in self._terms(data, noise, centred)]
        value = math.fsum(parts) / data.total_weight
        pick = slice(None, None, max(1, data.n // _SUBSAMPLE))
        y, errors, a = np.asarray(data.y[pick], float), data.errors[pick], data.shares[pick]
        d = y - data.p[pick] - (errors.mean(y) - y if centred else 0.0)
        spread = term_variance(d, noise(errors, y), np.sqrt(errors.label_variance(y)))
        variance = float(np.sum(np.square(a) * spread)) * data.n / len(y)
        return value, math.sqrt(variance * self._inflation(data))

    def _inflation(self, data: Measured) -> float:
        """How much correlation raises the variance of the score over that of independent errors."""
        if data.errors.independent:
            return 1.0
        own = absolute_normal(data.errors, np.asarray(data.y, float), np.asarray(data.p, float)).variance  # type: ignore[arg-type]
        alone = float(np.sum(np.square(data.shares) * own))
        return self._totals.std**2 / alone if alone > 0 else 1.0

    def _bounds(self, data: Measured) -> str:
        """For any true residuals: E observed - sqrt(2/pi) mean s <= truth <= E observed, and truth <= sqrt(MSE)."""
        sd = np.sqrt(data.errors.label_variance(np.asarray(data.y, float)))
        reach = self._in_units(math.sqrt(2 / math.pi) * float(np.sum(data.shares * sd)))
        low, high = max(self.observed - reach, 0.0), self.observed
        return (
            f"an estimate, since no unbiased one exists; whatever the true residuals, up to the scatter of the "
            f"observed score {low:.4g} <= truth <= {high:.4g}"
        )


def _at_hand(errors: MeasurementError) -> MeasurementError:
    """Errors of the labels at hand, the means of their repeats, as absolute errors need them."""
    if not isinstance(errors, Normal):
        return errors
    if not errors.independent or errors.absolute_sd is errors.sigma:
        return errors.label_level()
    return Normal.trusted(errors.absolute_sd / np.sqrt(errors.repeats), errors.kind)


def absolute_law(data: Measured, errors: MeasurementError, residual: FloatArray) -> Law:
    """Law of the mean absolute error of these residuals when labels err like this."""
    if not isinstance(errors, Normal):
        return simulated_mean(AbsoluteError(), data, residual)
    if errors.cov is not None:
        return correlated_law(residual, errors.cov, data.weight)
    if errors.shared is not None:
        return shared_law(residual, np.broadcast_to(errors.sigma, (data.n,)), errors.shared, data.weight)
    return FoldedNormalMean(residual, errors.absolute_sd, data.weight)
