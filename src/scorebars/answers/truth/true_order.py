"""How predictions order the true values behind labels of which some are limits.

The labels tell which pairs count: those whose order is known. Whether the predictions order such a pair rightly depends on its
true values. Each label allows many, and the distribution of the true residuals (`limited_residuals`) says how probable each of
them is. So the share of pairs that are ordered rightly is a mean over the labels: each label has a chance to be ordered rightly
with its partners at every point of the grid, as a forecast has a score there.

The most likely distribution sits on few points, and it takes pairs at the same point as ordered as predicted: too many would
be right. The pairs are counted under a smooth distribution that fits as well. Residuals that take a few values only are not
smooth, and more of their pairs are right than estimated. Labels with errors do not tell the two apart, so the interval reaches
up to what residuals of as few values as the labels allow would have (`_FewValues`). Weights on the grid do not show how well
that is known, since pairs at one point stay in order only if they move together. So the points move, one by one, and the
information of the labels about them says how far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from scorebars.answers.intervals import half_width_in_std
from scorebars.answers.score import ONE_SIGMA, Interval
from scorebars.answers.truth.limited_residuals import limited_residuals, widening
from scorebars.answers.truth.true_forecast_errors import MeanOfForecastLoss
from scorebars.arrays import BoolArray, FloatArray, IntArray
from scorebars.errors import Censored
from scorebars.losses import AbsoluteError
from scorebars.measured import Measured
from scorebars.moments.deconvolution import IMPOSSIBLE, Deconvolution
from scorebars.numerics import FIXED_SEED

_MOST, _PARTNERS, _DRAWS = 4000, 500, 8
"""Labels (of more every k-th stands for others), about how many others each is compared with, draws of their true values."""
_MOVED, _MOVED_WEIGHT = 200_000, 0.05
"""To see how the share changes: pairs at most, and the part of the smaller of two weights that is moved."""
_MANY_VALUES = 30
"""Numbers without error show residuals at more values than this: hardly any two are alike."""


@dataclass(frozen=True, eq=False)
class OrderedShare:
    """The share of pairs of known order whose true values are ordered as predicted, and how well it is known."""

    value: float
    data: Measured
    smooth: MeanOfForecastLoss
    """With the scatter under the smooth distribution."""

    def interval(self, level: float) -> Interval:
        """For the items at hand, whether their residuals are smooth or take few values."""
        low, high = self.smooth.interval(level)
        return Interval(low, high + self._beyond(high, level))

    def total_interval(self, level: float) -> Interval:
        """For the population."""
        low, high = self.smooth.total_interval(level)
        return Interval(low, min(high + self._beyond(self.smooth.interval(level).high, level), 1.0))

    def std(self) -> float:
        """Half the length of the interval at one standard deviation (68 %)."""
        low, high = self.interval(ONE_SIGMA)
        return (high - low) / 2

    def _beyond(self, high: float, level: float) -> float:
        """How far beyond the upper end the share lies for residuals of as few values as the labels allow."""
        fit, z = self.smooth.residuals.fit, half_width_in_std(level)
        if np.count_nonzero(fit.weights) > _MANY_VALUES:
            return 0.0
        few = fit.on_fewest_points(0.5 * z * z / fit.effective_labels)
        return max(min(_FewValues.of(self.data, fit, few).upper_end(z), 1.0) - high, 0.0)


def share_ordered_rightly(data: Measured) -> OrderedShare | None:
    """The share of pairs of known order whose true values are ordered as predicted; None where too few labels are numbers."""
    data = data.thinned(_MOST)
    residuals = limited_residuals(data, room=False)
    if residuals is None:
        return None
    fit = residuals.fit
    chance = fit.posterior_of(fit.smooth_weights)
    right, pairs = _right_pairs(data, fit.grid, chance)
    share = float(np.sum(chance * right)) / float(pairs.sum())
    # a pair belongs to two labels: each moves the share by twice its part of the sum
    values = share + 2.0 * data.n / float(pairs.sum()) * (right - share * pairs[:, None])
    # the absolute error stands for any continuous loss: the values are given
    nothing = np.zeros((3, 0))
    mean = MeanOfForecastLoss(
        residuals,
        AbsoluteError(),
        0.0,
        1.0,
        widened=widening(data),
        prediction=data.predictions,
        matrix=values,
        known_losses=nothing,
    )
    return OrderedShare(share, data, mean)


def _right_pairs(data: Measured, grid: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many pairs of each label are ordered rightly if its true residual is at each grid point, and its number of pairs.

    `chance`: of each label, that its true residual is at the grid point.
    """
    labels, p = data.errors, data.predictions
    assert isinstance(labels, Censored)
    rng, n = np.random.default_rng(FIXED_SEED), len(p)
    start, factor = _places(labels, p, grid, chance)
    partner = np.arange(0, n, max(1, n // _PARTNERS))
    gap = np.where(_known(labels, partner), np.sign(p[partner] - p[:, None]), 0.0)
    right = np.zeros((n, len(grid) + 1))
    rows = np.broadcast_to(np.arange(n)[:, None], gap.shape)
    up_to_point = np.cumsum(chance[partner], axis=1)
    for _ in range(_DRAWS):
        drawn = np.minimum((up_to_point < rng.random((len(partner), 1))).sum(axis=1), len(grid) - 1)
        # the partner's true value is larger than this label's at all grid points before `place`
        ahead = (p + start)[partner] + factor[partner] * grid[drawn] - (p + start)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.searchsorted(grid, np.where(ahead == 0, -math.inf, ahead / factor[:, None]))
        for sign in (1.0, -1.0):
            which = gap == sign
            seen = np.bincount(rows[which] * (len(grid) + 1) + place[which], minlength=right.size).reshape(right.shape)
            up_to = np.cumsum(seen, axis=1)
            right += up_to[:, -1:] - up_to if sign > 0 else up_to
    return right[:, :-1] / _DRAWS, np.count_nonzero(gap, axis=1).astype(np.float64)


def _places(labels: Censored, p: FloatArray, grid: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the true residual of each label is at a grid point: start + factor * point.

    At that point, but for numbers whose error is below the step of the grid. These are where they were seen, and scatter by
    their error: a step would exchange more pairs than the error does.
    """
    number, d, s = ~labels.limits, labels.nearest(p) - p, np.broadcast_to(labels.sigma, p.shape)
    step = np.interp(d, grid, np.gradient(grid))
    sharp = number & (s < step)
    mean = chance @ grid
    scatter = np.sqrt(np.maximum(chance @ np.square(grid) - np.square(mean), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(sharp & (scatter > s), s / scatter, 1.0)
    return np.where(sharp, d - factor * mean, 0.0), factor


def _known(labels: Censored, partner: IntArray) -> BoolArray:
    """Whether the order of each label and each partner is known."""
    low, high = labels.lower, labels.upper
    above = (low[partner] >= high[:, None]) & (high[partner] > low[:, None])
    return above | ((high[partner] <= low[:, None]) & (low[partner] < high[:, None]))


@dataclass(frozen=True, eq=False)
class _FewValues:
    """Residuals that take few values: grid points and their weights, and the pairs of known order."""

    fit: Deconvolution
    points: IntArray
    weights: FloatArray
    partner: IntArray
    gap: FloatArray
    """Prediction of each partner less that of each label."""
    known: BoolArray

    @classmethod
    def of(cls, data: Measured, fit: Deconvolution, weights: FloatArray) -> _FewValues:
        labels, p = data.errors, data.predictions
        assert isinstance(labels, Censored)
        partner, points = np.arange(0, data.n, max(1, data.n // _PARTNERS)), np.flatnonzero(weights)
        gap = p[partner] - p[:, None]
        return cls(fit, points, weights[points], partner, gap, _known(labels, partner) & (gap != 0))

    def upper_end(self, z: float) -> float:
        """The share of pairs that are ordered rightly, and z standard errors more.

        They come from the items' residuals given the points and weights, and from those, by the delta method.
        """
        chance, right, pairs = self._ordered(np.arange(len(self.gap)))
        total = float(pairs.sum())
        share = float(np.sum(chance * right)) / total
        moved = 2.0 * len(pairs) / total * (right - share * pairs[:, None])
        scatter = np.sum(chance * np.square(moved), axis=1) - np.square(np.sum(chance * moved, axis=1))
        return share + z * math.sqrt(
            float(self.fit.cells.square @ np.maximum(scatter, 0.0)) + self._variance_of_points()
        )

    def _ordered(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of these labels: the chance of each point, how many pairs are right if it is the residual, how many there are."""
        values, chances = self.fit.grid[self.points], self.fit.likelihood_at(self.points) * self.weights
        chances = chances / chances.sum(axis=1, keepdims=True)
        gap, known, other = self.gap[rows], self.known[rows], chances[self.partner]
        up = gap > 0
        right = np.zeros((len(rows), len(values)))
        for k, own in enumerate(values):
            for m, partners in enumerate(values):
                right[:, k] += (known & (up == (gap > own - partners))) @ other[:, m]
        return chances[rows], right, known.sum(axis=1).astype(np.float64)

    def _share(self, rows: IntArray) -> float:
        chance, right, pairs = self._ordered(rows)
        return float(np.sum(chance * right)) / float(pairs.sum())

    def _held(self, k: int) -> bool:
        """Whether a number sharper than the grid's step holds this point where it is."""
        sharp = self.fit.cells.sd < np.gradient(self.fit.grid)[self.points[k]]
        return bool((self.fit.likelihood_at(self.points)[sharp].argmax(axis=1) == k).any())

    def _explained(self, points: IntArray) -> bool:
        """Whether every label is possible with these points."""
        return bool((self.fit.likelihood_at(points) @ self.weights).min() > IMPOSSIBLE)

    def _variance_of_points(self) -> float:
        """Of the share, since the labels tell points and weights with an error."""
        grid, share, last = self.fit.grid, self.fit.cells.share, len(self.fit.grid) - 1
        rows = np.arange(0, len(self.gap), max(1, self.gap.size // _MOVED))
        likelihood = self.fit.likelihood_at(self.points)
        density = likelihood @ self.weights
        scores, slopes, known = [], [], []
        between = grid[np.concatenate([[0], self.points, [last]])]
        for k, point in enumerate(self.points):
            if self._held(k):
                continue
            near = np.clip([point - 1, point + 1], 0, last)
            score = self.weights[k] * np.diff(self.fit.likelihood_at(near))[:, 0] / np.diff(grid[near]) / density
            far = 1.0 / math.sqrt(max(float(share @ np.square(score)) * self.fit.effective_labels, 1e-300))
            ends = [int(np.argmin(np.abs(grid - (grid[point] + side * far)))) for side in (-1, 1)]
            ends = [min(ends[0], near[0]), max(ends[1], near[1])]  # a share of pairs goes in steps: not too close
            if not all(self._explained(_with(self.points, k, end)) for end in ends):
                ends = list(near)
            low, high = (replace(self, points=_with(self.points, k, end))._share(rows) for end in ends)
            scores.append(score)
            slopes.append((high - low) / (grid[ends[1]] - grid[ends[0]]))
            known.append(12.0 / (between[k + 2] - between[k]) ** 2)  # it lies anywhere between its neighbours
        for k in range(1, len(self.points)):
            part = _MOVED_WEIGHT * min(self.weights[0], self.weights[k])
            change = np.zeros(len(self.points))
            change[[0, k]] = -part, part
            high, low = (replace(self, weights=self.weights + side * change)._share(rows) for side in (1, -1))
            scores.append((likelihood[:, k] - likelihood[:, 0]) / density)
            slopes.append((high - low) / (2.0 * part))
            known.append(0.0)
        score, slope = np.array(scores), np.array(slopes)
        information = (score * share) @ score.T * self.fit.effective_labels + np.diag(known)
        return max(float(slope @ np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ slope), 0.0)


def _with(points: IntArray, k: int, point: int) -> IntArray:
    moved = points.copy()
    moved[k] = point
    return moved
