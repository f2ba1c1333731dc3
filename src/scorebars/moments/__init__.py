"""Loss meets error: mean and variance of each label's loss, and of their mean."""

from scorebars.moments.closed_forms import label_moments
from scorebars.moments.numerical import Moments

__all__ = ["Moments", "label_moments"]
