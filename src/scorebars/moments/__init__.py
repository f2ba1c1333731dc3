"""Loss meets error: mean and variance of each label's loss, and of their mean."""

from __future__ import annotations

from scorebars.errors import MeasurementError
from scorebars.errors.base import FloatArray
from scorebars.losses import Loss
from scorebars.moments.closed import Moments, closed_form
from scorebars.moments.numerical import numerical


def label_moments(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of the loss of each label: by a closed form, else by quadrature or sums."""
    form = closed_form(loss, errors)
    return numerical(loss, errors, y, p) if form is None else form(errors, y, p)
