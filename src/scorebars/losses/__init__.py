"""What a metric sums: the loss of one label."""

from scorebars.losses.base import Loss
from scorebars.losses.custom import CustomLoss
from scorebars.losses.relative import PercentageError, SquaredLogError, SymmetricPercentage
from scorebars.losses.residual import AbsoluteError, Huber, LogCosh, Pinball, SignedError, SquaredError, Within
from scorebars.losses.root import RootLoss

__all__ = [
    "AbsoluteError",
    "CustomLoss",
    "Huber",
    "LogCosh",
    "Loss",
    "PercentageError",
    "Pinball",
    "RootLoss",
    "SignedError",
    "SquaredError",
    "SquaredLogError",
    "SymmetricPercentage",
    "Within",
]
