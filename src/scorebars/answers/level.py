"""Noise levels: every answer of a score is the same metric at another noise level of the labels.

A label carries the error variance s^2 already. An answer asks for the metric at another variance v'. The loss is then
smoothed by tau^2 = v' - s^2: forward where that is positive, which is exact, and back where it is negative, which is an
estimate.

================  ======================  ================  ========
answer            v'                      tau^2             residual
================  ======================  ================  ========
observed          s^2                     0                 d
expected          s^2 + sigma^2           +sigma^2          d
remeasured(k)     sigma^2 / k             sigma^2/k - s^2   d
truth             0                       -s^2              d
perfect           s^2                     +s^2              0
================  ======================  ================  ========

sigma^2 is the error variance of a single measurement; s^2 is that of the label, the mean of its repeats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError


@dataclass(frozen=True)
class Level:
    """A noise level of the labels."""

    name: str
    repeats: FloatArray | float | None = None
    """Of `remeasured`: how many repeats each new label is the mean of."""

    def tau2(self, errors: MeasurementError, y: FloatArray) -> FloatArray:
        """The variance by which the loss of each label is smoothed; negative where label error has to be taken off."""
        if self.name == "observed":
            return np.zeros_like(y)
        if self.name == "expected":
            return errors.variance(y)
        if self.name == "perfect":
            return errors.label_variance(y)
        return self._fresh(errors, y) - errors.label_variance(y)

    def _fresh(self, errors: MeasurementError, y: FloatArray) -> FloatArray:
        """Error variance of the labels of a fresh measurement, or of the truth."""
        return np.zeros_like(y) if self.repeats is None else errors.variance_of_mean(y, self.repeats)

    def relative(self, errors: MeasurementError, y: FloatArray) -> FloatArray:
        """tau^2 / s^2, from -1 (no label error at all) upwards; 0 for labels without error."""
        old, fresh = errors.label_variance(y), self._fresh(errors, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = fresh / old
        if self.repeats is not None:  # errors without a variance average out like others
            ratio = np.where(np.isfinite(old), ratio, errors.repeats / self.repeats)
        return np.where(old > 0, ratio - 1.0, 0.0)

    def errors(self, errors: MeasurementError) -> MeasurementError:
        """How labels scatter at `expected` (as single measurements) and at `perfect` (as the labels at hand)."""
        return errors.label_level() if self.name == "perfect" else errors

    def residual(self, d: FloatArray) -> FloatArray:
        """The residuals: none for a perfect model."""
        return np.zeros_like(d) if self.name == "perfect" else d


OBSERVED, EXPECTED, TRUTH, PERFECT = (Level(name) for name in ("observed", "expected", "truth", "perfect"))


def remeasured(repeats: float) -> Level:
    """Labels measured afresh, each the mean of so many repeats."""
    return Level("remeasured", repeats)
