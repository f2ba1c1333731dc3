"""Mean and variance of any loss under any family, where no closed form is known."""

from __future__ import annotations

from scorebars.errors import Empirical, MeasurementError, Poisson
from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import Continuous
from scorebars.losses import Loss
from scorebars.moments.atoms import counts, draws
from scorebars.moments.pair import Moments
from scorebars.moments.quadrature import integrate


def numerical(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """By quadrature where labels have a density, by sums where they take single values."""
    if isinstance(errors, Continuous):
        return integrate(loss, errors, y, p)
    if isinstance(errors, Poisson):
        return counts(loss, errors, y, p)
    assert isinstance(errors, Empirical)
    return draws(loss, errors, y, p)
