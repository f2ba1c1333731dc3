"""Any per-label loss as a metric."""

from __future__ import annotations

import math
from typing import Any

from scorebars.losses import CustomLoss, Kinks, LossFunction
from scorebars.metrics.call import mean_of, score
from scorebars.metrics.registry import declarations
from scorebars.score import Declaration, Score, Scores


class CustomMetric:
    """A metric function made from a loss; call it like any other metric."""

    def __init__(self, loss: CustomLoss, declaration: Declaration) -> None:
        self.loss, self.declaration = loss, declaration
        self.__name__ = declaration.name
        self.__doc__ = f"Mean of a loss of each label: {declaration.title}."

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        yerr: Any = None,
        sample_weight: Any = None,
        multioutput: Any = "uniform_average",
    ) -> Score | Scores:
        """The score of predictions `y_pred` on labels `y_true` with errors `yerr`."""
        maker = mean_of(self.declaration, self.loss)
        return score(maker, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)

    def __repr__(self) -> str:
        return f"<metric {self.declaration.name}>"


def metric(
    loss: LossFunction,
    *,
    name: str | None = None,
    greater_is_better: bool = False,
    kinks: Kinks = None,
    of_residual: bool = False,
    low: float = -math.inf,
    high: float = math.inf,
) -> CustomMetric:
    r"""Make a metric of any loss ``loss(y, p)`` of a label and its prediction.

    The metric is the mean :math:`\frac1M\sum L(y_i, p_i)`, and answers all that the built-in ones answer: expected value
    and standard deviation are integrals over the label errors, found by adaptive quadrature; a loss that grows so fast
    that they do not exist gives ``inf`` and a warning.

    Parameters
    ----------
    loss : callable
        ``loss(y, p)`` takes one-dimensional arrays of labels and predictions and returns one number for each. It is called
        with all labels that the error model allows, and must not be NaN there.
    name : str, optional
        Name of the metric; by default that of the function.
    greater_is_better : bool
        The metric's direction.
    kinks : sequence of numbers, or callable, optional
        Where the loss bends, jumps or has a pole: distances from the prediction (``[-1, 1]`` for bends at p - 1 and p + 1),
        or a function of the predictions that gives such labels. Integrals are split there. Without it the prediction itself
        and 0 are tried, and other kinks are searched for, which takes longer.
    of_residual : bool
        Whether the loss depends on y - p alone. The score against the truth is then found from the most likely law of the
        true residuals, else by extrapolation.
    low, high : numbers
        The range of possible values, which intervals do not leave.

    Returns
    -------
    callable with the signature ``(y_true, y_pred, *, yerr=None, sample_weight=None, multioutput="uniform_average")``

    References
    ----------
    J. R. Cook, L. A. Stefanski, J. Am. Stat. Assoc. 89 (1994) 1314 (extrapolation to labels without error).

    Examples
    --------
    Black-hole masses, where too small a prediction costs three times as much:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> def cost(y, p):  # too little is worse than too much
    ...     return np.where(p < y, 3 * (y - p), p - y)
    >>> mean_cost = sb.metric(cost, kinks=[0], of_residual=True, low=0)
    >>> holes = sb.datasets.load_blackholes()
    >>> s = mean_cost(holes.y, holes.predictions["Msigma"], yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.6720 0.687 ± 0.029
    """
    if not callable(loss):
        raise TypeError(f"loss must be a function of labels and predictions, got {loss!r}.")
    name = str(name or getattr(loss, "__name__", "loss"))
    if name in declarations():
        raise ValueError(f"there is a metric {name!r} already. Choose another name.")
    made = CustomLoss(loss, kinks)
    made.of_residual = of_residual
    title = name.replace("_", " ")
    declaration = Declaration(
        name,
        title[:1].upper() + title[1:],
        greater_is_better,
        "regression",
        low,
        high,
        None,
        1.0 if greater_is_better else 0.0,
    )
    return CustomMetric(made, declaration)
