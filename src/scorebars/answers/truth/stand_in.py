"""Values that stand in for the true ones: they scatter as the true values do, and follow the predictions as these do.

Labels scatter more than the truth behind them. With a fit of the labels on the predictions (or on their mean alone), the
residuals r of that fit have an error of known variance v, so that the truth scatters by tau^2 = mean r^2 - mean v about
it. Shrinking each residual by sqrt(tau^2 / (tau^2 + v)) gives it that scatter (constrained empirical Bayes: Louis 1984,
Ghosh 1992). Any metric of the stand-ins estimates the metric of the truth, medians and ranks too. Sums of squares agree
with the corrected sums of `ratio_of_sums`; what is assumed beyond is that true residuals have a law of the shape that the
observed ones show.

How well the estimate is known is found by measuring the stand-ins again on the computer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.moments.label_noise import LabelNoise
from scorebars.score import UndefinedEstimate


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Stand-ins, and how well their scatter about the fit is known."""

    fit: FloatArray
    residual: FloatArray
    """Residuals of the fit, shrunk label by label but for a common factor."""
    size: float
    """sum w r^2 of these residuals."""
    left: float
    """sum w r^2 of the true ones, estimated; may be negative."""
    left_std: float

    def at(self, left: float) -> FloatArray:
        """Stand-ins whose residuals have this sum of squares."""
        if left <= 0 or self.size <= 0:
            return self.fit
        return self.fit + math.sqrt(left / self.size) * self.residual

    @property
    def values(self) -> FloatArray:
        return self.at(self.left)


def shrunk(y: FloatArray, p: FloatArray, errors: MeasurementError, weight: FloatArray | None, follows: bool) -> Shrunk:
    """Stand-ins for the truth behind the labels y; `follows`: fitted on the predictions, else on their offset."""
    w = np.ones(y.size) if weight is None else weight
    noise = LabelNoise.of(errors, y)
    if not np.all(np.isfinite(noise.total)):
        raise UndefinedEstimate(
            f"{errors!r} errors have no finite variance, so what they add to the score cannot be taken off."
        )
    d = errors.unbiased_label(y) - p
    total = float(w.sum())
    columns = [np.ones_like(p)]
    centred = p - float(w @ p) / total
    if follows and float(w @ np.square(centred)) > 0:
        columns.append(centred / np.sqrt(float(w @ np.square(centred)) / total))
    removed, residual, fit = float(w @ noise.total), d, p
    for z in columns:
        size = float(w @ np.square(z))
        part = float(w @ (z * residual)) / size * z
        residual, fit = residual - part, fit + part
        removed -= noise.product(w * z, w * z) / size
    square = float(w @ np.square(residual))
    left = square - removed
    if not np.any(noise.total > 0):
        return Shrunk(fit, residual, square, square, 0.0)
    per_label = max(left, 0.0) / total
    keep = np.sqrt(np.where(noise.variance > 0, per_label / np.maximum(per_label + noise.variance, 1e-300), 1.0))
    if per_label == 0:
        keep = np.ones_like(keep)
    small = keep * residual
    spread = 4.0 * float(np.sum(np.square(w) * noise.variance * np.square(residual)))
    least = 2.0 * float(np.sum(np.square(w * noise.variance)))
    return Shrunk(fit, small, float(w @ np.square(small)), left, math.sqrt(max(spread - least, least)))


def possible_truths(
    y: FloatArray, errors: MeasurementError, weight: FloatArray | None, count: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """True values that could lie behind these labels: each drawn towards the mean, with what is not known about it.

    The labels' scatter shows that of the truth only to within chance, so the pull towards the mean is drawn as well. What
    the errors have in common moves all true values together.
    """
    w = np.ones(y.size) if weight is None else weight
    n, total = int(np.count_nonzero(w)), float(w.sum())
    noise = LabelNoise.of(errors, y)
    label = errors.unbiased_label(y)
    centre = float(w @ label) / total
    shift_variance = noise.product(w, w) / total**2
    own = float(w @ noise.total)
    variance = noise.total * (max(own - total * shift_variance, 0.0) / own if own > 0 else 1.0)
    shown = float(w @ np.square(label - centre)) / total
    scatter = np.maximum(shown - float(w @ variance) / total, 0.0) + variance
    pull = np.where(variance > 0, variance / np.maximum(scatter, 1e-300), 0.0)
    if errors.kind == "berkson":
        pull = np.zeros_like(pull)
    for _ in range(count):
        drawn = np.minimum(pull * rng.chisquare(max(n - 1, 1)) / max(n - 1, 1), 1.0)
        unknown = np.sqrt(variance * (1.0 - drawn)) * errors.standard_draws(y, rng)
        shift = math.sqrt(max(shift_variance, 0.0)) * rng.standard_normal()
        yield centre + (1.0 - drawn) * (label - centre) - unknown - shift
