"""Spreads estimated from few members: which true ones are possible, and by which factor are all of them wrong?

The sample variance S_i^2 of m normal members with variance v_i follows v_i chi^2_nu / nu, nu = m - 1. All S_i^2 together tell
how the v_i are distributed: the most likely distribution of log v on a grid (as `deconvolution` finds that of residuals), of
which a smooth one is taken that fits as well. Given S_i^2, v_i then has a few possible values v_ik of known probability p_k,
and the error of the mean of the members

    d_i ~ sum_k p_k N(b, lambda^2 c v_ik + sigma_i^2),     c = 1 + 1/m.

With one common v that is a normal law, with v that differ by orders of magnitude Student's with nu degrees of freedom; which,
the members say. lambda is found by its likelihood.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import polygamma

from scorebars.arrays import FloatArray
from scorebars.forecasts import Forecast
from scorebars.moments.deconvolution import Cells, Deconvolution
from scorebars.numerics.roots import crossing_from

_POINTS = 40
_MOST_CELLS = 300
"""More sample variances than this are gathered with their neighbours before the distribution is fitted."""
_PARTS = np.array([0.004, 0.02, 0.056, 0.1, 0.14, 0.18, 0.18, 0.14, 0.1, 0.056, 0.02, 0.004])
"""Probabilities of the possible values of a variance: finer in the tails, which make residuals scatter."""
_ONES = np.ones(len(_PARTS))
_BLOCK = 1 << 14
_ROWS = 2048
"""Residuals looked at together: what is made of them stays in the cache."""
_COARSE = 500
"""Labels that the first, coarse search for a maximum looks at."""
_LOWEST, _HIGHEST = -36.0, 36.0
"""Logarithms of lambda^2 between which the maximum is looked for."""
_ROUNDS = 6
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class PossibleVariances:
    """What sample variances tell of the true ones."""

    values: FloatArray
    """Possible values (n, k) of each variance."""
    common: float
    """How much of what is known of a variance comes from all others: 1 if they are alike, 0 if they have nothing in common."""

    @property
    def mean(self) -> FloatArray:
        """Mean of each variance, given its sample variance."""
        return self.values @ _PARTS


def possible_variances(found: FloatArray, degrees: float) -> PossibleVariances:
    """The true variances behind sample variances with so many degrees of freedom each; all zero stay zero."""
    positive = found[found > 0]
    if not positive.size:
        return PossibleVariances(np.zeros((len(found), len(_PARTS))), 0.0)
    ends = math.log(float(positive.min())), math.log(float(positive.max()))
    if not ends[1] > ends[0] + 1e-12:
        return PossibleVariances(np.full((len(found), len(_PARTS)), positive[0]), 1.0)
    grid = np.linspace(*ends, _POINTS)
    weights = _distribution(found, degrees, grid)
    values, scatter = np.empty((len(found), len(_PARTS))), 0.0
    for start in range(0, len(found), _BLOCK):
        some = slice(start, start + _BLOCK)
        chance = _likelihood(found[some], degrees, grid) * weights
        chance /= chance.sum(axis=1, keepdims=True)
        values[some] = _in_parts(chance, np.exp(grid))
        scatter += float(np.sum(chance @ np.square(grid) - np.square(chance @ grid)))
    alone = float(polygamma(1, degrees / 2))  # the variance of a logarithm that its own members tell
    return PossibleVariances(values, min(max(1.0 - scatter / len(found) / alone, 0.0), 1.0))


def claimed_variances(forecast: Forecast) -> PossibleVariances | None:
    """The squared errors that few members may claim; None where the spread of the forecasts is as they say."""
    sample = forecast.estimated_spread
    if sample is None:
        return None
    found = possible_variances(sample.variances, sample.degrees)
    return replace(found, values=sample.factor * found.values + sample.added[:, None])


def spread_of(forecast: Forecast) -> FloatArray:
    """The size of the error that each forecast claims."""
    possible = claimed_variances(forecast)
    return np.sqrt(forecast.error_variance if possible is None else possible.mean)


def _likelihood(found: FloatArray, degrees: float, grid: FloatArray) -> FloatArray:
    """The likelihood of each sample variance at each logarithm of a variance, relative to the largest of its row."""
    log = -0.5 * degrees * (grid + found[:, None] * np.exp(-grid))
    return np.asfortranarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _distribution(found: FloatArray, degrees: float, grid: FloatArray) -> FloatArray:
    """Weights of a smooth distribution of the true variances that fits as well as the most likely one."""
    parts = np.array_split(np.sort(found), min(len(found), _MOST_CELLS))
    cells = np.array([float(part.mean()) for part in parts])
    share = np.array([len(part) for part in parts]) / len(found)
    square = share / len(found)
    fit = Deconvolution.of_cells(
        Cells(cells, np.ones_like(share), share, square, share), grid, _likelihood(cells, degrees, grid)
    )
    return fit.smooth_weights


def _in_parts(chance: FloatArray, values: FloatArray) -> FloatArray:
    """Mean value inside each of the parts of equal place in the distribution of every row."""
    reached = np.cumsum(chance, axis=1)
    total = np.cumsum(chance * values, axis=1)
    ends = np.cumsum(_PARTS)[:-1]
    edges = np.zeros((len(chance), len(_PARTS) + 1))
    edges[:, -1] = total[:, -1]
    for k, end in enumerate(ends):
        at = np.minimum(np.sum(reached < end, axis=1), len(values) - 1)[:, None]
        beyond = np.take_along_axis(reached, at, axis=1) - end
        edges[:, k + 1] = (np.take_along_axis(total, at, axis=1) - beyond * values[at])[:, 0]
    return np.maximum(np.diff(edges, axis=1) / _PARTS, values[0])


@dataclass(frozen=True, eq=False)
class UncertainScatter:
    """Residuals d with possible variances lambda^2 v_ik + s2_i, about 0 or a common offset."""

    d: FloatArray
    v: FloatArray
    """Possible variances (n, k) at lambda = 1."""
    s2: FloatArray
    offset: bool

    def log_likelihood(self, x: float) -> float:
        """At lambda^2 = exp(x), with the offset that fits best; that of residuals less their offset, where it is fitted."""
        if x <= _LOWEST and bool(np.any(self.s2 <= 0)):
            return -math.inf
        factor = 0.0 if x <= _LOWEST else math.exp(x)
        pull, offset = self._centred(factor, self._middle, 1) if self.offset else (1.0, 0.0)
        return self._sums(factor, offset)[0] - 0.5 * math.log(pull)

    @cached_property
    def _level(self) -> float:
        """About where the maximum lies."""
        return math.log(max(float(np.mean(np.square(self.d))) / float(np.mean(self.v)), _TINY))

    @cached_property
    def _middle(self) -> float:
        """About where the offset lies, from which that at each lambda is a small step."""
        return self._centred(math.exp(self._level), float(np.median(self.d)), _ROUNDS)[1]

    def _centred(self, factor: float, offset: float, rounds: int) -> tuple[float, float]:
        """How well the offset is known at lambda^2 = factor, and the offset itself, by EM."""
        pull = 1.0
        for _ in range(rounds):
            _, pull, pulled = self._sums(factor, offset)
            offset = pulled / pull
        return pull, offset

    def _sums(self, factor: float, offset: float) -> tuple[float, float, float]:
        """Sums of the log density of each residual, of its mean precision given the residual, and of that times it."""
        sums = np.zeros(3)
        for start in range(0, len(self.d), _ROWS):
            some = slice(start, start + _ROWS)
            d = self.d[some]
            variance = factor * self.v[some] + self.s2[some, None]
            precision = 1.0 / variance
            cost = np.square(d - offset)[:, None] * precision
            least = cost.min(axis=1)
            chance = np.exp(-0.5 * (cost - least[:, None])) * np.sqrt(precision) * _PARTS
            total = chance @ _ONES
            sums[0] += float(np.sum(np.log(total) - 0.5 * least))
            if self.offset:
                weight = (chance * precision) @ _ONES / total
                sums[1:] += float(np.sum(weight)), float(weight @ d)
        return float(sums[0]), float(sums[1]), float(sums[2])

    def best(self) -> tuple[float, float]:
        """The x of the highest log likelihood, `_LOWEST` for no scatter beyond s2, and that log likelihood."""
        step = max(1, len(self.d) // _COARSE)
        coarse = UncertainScatter(self.d[::step], self.v[::step], self.s2[::step], self.offset)
        grid = self._level + np.concatenate([np.linspace(-24.0, -4.0, 11), np.linspace(-3.0, 4.0, 15)])
        best = int(np.argmax([coarse.log_likelihood(float(x)) for x in grid]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        x, top = coarse._highest(low, high)
        if step > 1:
            x, top = self._highest(x - 0.3, x + 0.3)
        none = self.log_likelihood(_LOWEST)
        return (_LOWEST, none) if none >= top else (x, top)

    def _highest(self, low: float, high: float) -> tuple[float, float]:
        precision = {"xatol": 1e-4 / math.sqrt(len(self.d))}
        found = minimize_scalar(
            lambda x: -self.log_likelihood(x), bounds=(low, high), method="bounded", options=precision
        )
        x, width = float(found.x), high - low
        if min(x - low, high - x) < 1e-2 * width and width < 2.0 * _HIGHEST:  # it lies outside
            return self._highest(low - width, high + width)
        return x, -float(found.fun)

    def reach(self, x: float, top: float, drop: float) -> tuple[float, float]:
        """The smallest and the largest lambda whose log likelihood is within `drop` of the highest."""

        def too_unlikely(x: float) -> float:
            """The root of the cost grows about linearly."""
            return math.sqrt(max(top - self.log_likelihood(x), 0.0) / drop) - 1.0

        step = min(2.5 * math.sqrt(drop / len(self.d)), 1.0)
        start = x if x > _LOWEST else math.log(max(float(np.mean(self.s2)) / float(np.mean(self.v)), _TINY)) - 20.0
        high = math.exp(crossing_from(too_unlikely, start, step, high=start + 2.0 * _HIGHEST, xtol=1e-4 * step) / 2)
        if x <= _LOWEST or too_unlikely(_LOWEST) < 0:
            return 0.0, high
        return math.exp(-crossing_from(lambda t: too_unlikely(-t), -x, step, high=-_LOWEST, xtol=1e-4 * step) / 2), high


NO_SCATTER = _LOWEST
"""The logarithm that stands for lambda = 0."""
