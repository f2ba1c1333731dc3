"""How predictions order the true values behind labels of which some are limits.

The labels tell which pairs count: those whose order is known. Whether the predictions order such a pair rightly depends on its
true values. Each label allows many, and the distribution of the true residuals (`limited_residuals`) says how probable each of
them is. So the share of pairs that are ordered rightly is a mean over the labels: each label has a chance to be ordered rightly
with its partners at every point of the grid, as a forecast has a score there.

The most likely distribution sits on few points, and it takes pairs at the same point as ordered as predicted: too many would
be right. The pairs are counted under a smooth distribution that fits as well. Residuals that take a few values only are not
smooth, and more of their pairs are right than estimated.
"""

from __future__ import annotations

import numpy as np

from scorebars.answers.truth.limited_residuals import limited_residuals
from scorebars.answers.truth.true_forecast_errors import MeanOfForecastLoss
from scorebars.arrays import FloatArray
from scorebars.errors import Censored
from scorebars.losses import AbsoluteError
from scorebars.measured import Measured

_PARTNERS = 500
"""Each label is compared with about as many others."""
_DRAWS = 8
"""Of the partners' true values."""
_MOST = 4000
"""More labels are represented by every k-th."""
_SEED = 20240517


def share_ordered_rightly(data: Measured) -> tuple[float, MeanOfForecastLoss] | None:
    """The share of pairs of known order whose true values are ordered as predicted, and how well it is known.

    None where too few labels are numbers.
    """
    data = data.thinned(_MOST)
    residuals = limited_residuals(data, room=False)
    if residuals is None:
        return None
    fit = residuals.fit
    chance = fit.posterior_of(fit.smooth_weights)
    right, pairs = _right_pairs(data, fit.grid, np.cumsum(chance, axis=1))
    share = float(np.sum(chance * right)) / float(pairs.sum())
    # a pair belongs to two labels: each moves the share by twice its part of the sum
    values = share + 2.0 * data.n / float(pairs.sum()) * (right - share * pairs[:, None])
    # the absolute error stands for any continuous loss: the values are given
    nothing = np.zeros((3, 0))
    mean = MeanOfForecastLoss(
        residuals, AbsoluteError(), 0.0, 1.0, prediction=data.predictions, matrix=values, known_losses=nothing
    )
    return share, mean


def _right_pairs(data: Measured, grid: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many pairs of each label are ordered rightly if its true residual is at each grid point, and its number of pairs.

    `chance`: of each label, that its true residual is at most that of the grid point.
    """
    labels, p = data.errors, data.predictions
    assert isinstance(labels, Censored)
    rng, n = np.random.default_rng(_SEED), len(p)
    partner = np.arange(0, n, max(1, n // _PARTNERS))
    low, high = labels.lower, labels.upper
    above = (low[partner] >= high[:, None]) & (high[partner] > low[:, None])
    below = (high[partner] <= low[:, None]) & (low[partner] < high[:, None])
    gap = np.where(above | below, np.sign(p[partner] - p[:, None]), 0.0)
    right = np.zeros((n, len(grid) + 1))
    rows = np.broadcast_to(np.arange(n)[:, None], gap.shape)
    for _ in range(_DRAWS):
        drawn = np.minimum((chance[partner] < rng.random((len(partner), 1))).sum(axis=1), len(grid) - 1)
        # the partner's true value is larger than this label's at all grid points before `place`
        place = np.searchsorted(grid, p[partner] + grid[drawn] - p[:, None])
        for sign in (1.0, -1.0):
            which = gap == sign
            seen = np.bincount(rows[which] * (len(grid) + 1) + place[which], minlength=right.size).reshape(right.shape)
            up_to = np.cumsum(seen, axis=1)
            right += up_to[:, -1:] - up_to if sign > 0 else up_to
    return right[:, :-1] / _DRAWS, np.count_nonzero(gap, axis=1).astype(np.float64)
