"""What loss and error make together: the first two moments of each label's loss."""

from __future__ import annotations

from typing import NamedTuple

from scorebars.errors.base import FloatArray


class Moments(NamedTuple):
    """Mean and variance of the loss of each label; infinite where they do not exist."""

    mean: FloatArray
    variance: FloatArray
