"""The most likely distribution (law) of the true residuals, given the observed ones.

Observed residuals are d_i = D_i + s_i Z with known s_i. The nonparametric maximum likelihood estimate of the law of D
(Kiefer & Wolfowitz 1956) maximises

    sum_i a_i log( sum_k w_k phi((d_i - D_k) / s_i) / s_i )

over all laws; on a grid that is a concave programme for the weights w_k (`Mixture`). It assumes that D and s are
independent, and nothing about the shape. The mean of any loss under the law estimates the mean loss against the truth.

How well is such a mean known? All laws whose log likelihood is within chi^2_1 / 2 of the best are compatible with the
data: the range of the mean over these laws is its likelihood-profile interval, found here without simulation. For the
items at hand, whose own D_i are asked for rather than those of a population, the mean over the items of E[loss | d_i]
takes the place of the mean under the law, and the scatter of the D_i given the d_i is added.

Hard items are often both measured badly and predicted badly. Then D = m(s) + c(s) eta with one law of eta for all labels
(Chen 2023, "Empirical Bayes when estimation precision predicts parameters"). Here m and log c^2 are straight lines in
log s (`Trend`), fitted by the first two moments of the observed residuals alone, E d = m and Var d = c^2 + s^2. Whether lines
are used, or c in proportion to s, or none of it, is decided by the likelihood of the labels (`answers.truth.true_residuals`);
what was not chosen still tells how much unseen dependence may change an answer. Residuals of forecasts may follow the spread of
the forecast as well: then lines are in both logarithms, no trend means in proportion to the spread, and a test of the moments
decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize, nnls

from scorebars.arrays import BoolArray, FloatArray, IntArray
from scorebars.errors import MeasurementError

_QUANTILE_POINTS = 75
_SPREAD_POINTS = 75
_CLOSEST = 1e-6
"""Grid points nearer than this part of a typical error are one."""
_MOST_SWEEPS = 300
_PRECISION = 2e-3
"""Relative precision of a profile's end."""


def residual_grid(residual: FloatArray, sd: FloatArray, share: FloatArray) -> FloatArray:
    """Points where the residuals are dense, points that reach all of them, and 0, where losses have their kink.

    The best law has no point outside the range of the observed residuals, but other laws that the data allow have:
    two standard deviations are added on either side.
    """
    width = float(np.median(sd))
    low, high = float(residual.min()) - 2.0 * width, float(residual.max()) + 2.0 * width
    order = np.argsort(residual, kind="stable")
    ranks = np.cumsum(share[order]) - 0.5 * share[order]
    dense = np.interp(np.linspace(0.0, 1.0, _QUANTILE_POINTS), ranks / float(share.sum()), residual[order])
    centre = float(dense[_QUANTILE_POINTS // 2])
    ends = np.arcsinh((np.array([low, high]) - centre) / width)
    spread = centre + width * np.sinh(np.linspace(ends[0], ends[1], _SPREAD_POINTS))
    zero = [0.0] if low < 0 < high else []
    grid = np.unique(np.concatenate([dense, spread, zero]))
    return np.asarray(grid[np.diff(grid, prepend=-np.inf) > _CLOSEST * width])


def typical_spacing(residual: FloatArray, grid: FloatArray) -> float:
    """Distance of the two grid points around a typical residual."""
    right = np.clip(np.searchsorted(grid, residual), 1, len(grid) - 1)
    return float(np.median(grid[right] - grid[right - 1]))


def normal_likelihood(residual: FloatArray, sd: FloatArray, grid: FloatArray) -> FloatArray:
    """phi((d - D) / s) for each label and grid point, each row relative to its largest entry."""
    with np.errstate(over="ignore"):
        z = np.minimum(np.abs(residual[:, None] - grid) / sd[:, None], 1e150)
    exponent = -0.5 * z * z
    return np.asfortranarray(np.exp(exponent - exponent.max(axis=1, keepdims=True)))


# labels of like residual and error, counted together: a fit to millions costs as much as to thousands

_UNBINNED = 2000
"""Up to this many labels each is its own cell."""
_MOST_CELLS = 8000
_LEVELS_PER_OCTAVE = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)


class Cells(NamedTuple):
    """Mean residual and effective error of the labels in each cell, sum of their shares and of the squared shares.

    `group` is the mean of what else the labels of a cell have in common.
    """

    residual: FloatArray
    sd: FloatArray
    share: FloatArray
    square: FloatArray
    group: FloatArray


def cells_of(
    residual: FloatArray, sd: FloatArray, share: FloatArray, grid: FloatArray, spacing: float, group: FloatArray
) -> Cells:
    """Labels in cells: inside a cell `group` > 0 differs by some 9 % (more where cells would be too many), residuals by half
    the error.

    The error is a function of the group: the error itself, or that of a residual that was scaled with it. Where half the
    error is less than the grid's typical spacing, cells are as wide as a step of the grid.
    """
    share = share / float(np.add.reduce(share))
    if len(residual) <= _UNBINNED:
        return Cells(residual, sd, share, np.square(share), group)
    octave = np.log2(group / float(group.min()))
    step = np.floor(np.interp(residual, grid, np.arange(len(grid), dtype=np.float64)))
    for per_octave in _LEVELS_PER_OCTAVE:
        level = np.floor(octave * per_octave)
        levels, which = np.unique(level, return_inverse=True)
        narrowest = np.full(len(levels), np.inf)
        np.minimum.at(narrowest, which, sd)
        width = 0.5 * narrowest[which]
        position = np.where(width > spacing, np.floor((residual - grid[0]) / width), step)
        _, cell = np.unique(level * (position.max() + 1.0) + position, return_inverse=True)
        if int(cell.max()) < _MOST_CELLS:
            break
    return _merged(cell, residual, sd, share, group)


def _merged(
    cell: NDArray[np.intp], residual: FloatArray, sd: FloatArray, share: FloatArray, group: FloatArray
) -> Cells:
    """One entry for each cell. The scatter lost in the mean residual is taken from its error (Sheppard's correction)."""
    total = np.bincount(cell, share).astype(np.float64)
    mean = np.bincount(cell, share * residual) / total
    lost = np.bincount(cell, share * np.square(residual - mean[cell])) / total
    variance = np.bincount(cell, share * np.square(sd)) / total
    effective = np.sqrt(np.maximum(variance - lost, variance / 2))
    square = np.bincount(cell, np.square(share)).astype(np.float64)
    return Cells(mean, effective, total, square, np.bincount(cell, share * group) / total)


def _row_sums(weights: FloatArray, values: FloatArray) -> FloatArray:
    """sum_k weights_ik values_k, or values_ik where they depend on the row."""
    return np.asarray(weights @ values if values.ndim == 1 else np.einsum("ik,ik->i", weights, values))


# the most likely law -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Deconvolution:
    """The most likely law of D on a grid: its weights, and the labels it was fitted to, in cells of like d and s.

    A loss enters as its `values`: at each grid point, or for each cell and grid point.
    """

    cells: Cells
    grid: FloatArray
    weights: FloatArray
    gap: float
    """The log likelihood per label is within this of the best on the grid."""
    likelihood: FloatArray | None = None
    """The likelihood of each label at each grid point, where errors are not normal."""

    @classmethod
    def fit(
        cls, residual: FloatArray, sd: FloatArray, share: FloatArray, grid: FloatArray, group: FloatArray | None = None
    ) -> Deconvolution:
        """Labels with errors sd > 0 that count by their share (any positive sum), in cells of like `group` (the error)."""
        group = sd if group is None else group
        return cls.of_cells(cells_of(residual, sd, share, grid, typical_spacing(residual, grid), group), grid)

    @classmethod
    def of_cells(cls, cells: Cells, grid: FloatArray, likelihood: FloatArray | None = None) -> Deconvolution:
        """Labels that were gathered in cells already, with normal errors unless their likelihood is given."""
        normal = normal_likelihood(cells.residual, cells.sd, grid) if likelihood is None else likelihood
        mixture = Mixture(normal, cells.share)
        weights = mixture.most_likely(mixture.first_weights())
        gradient = (cells.share / (mixture.likelihood @ weights)) @ mixture.likelihood
        return cls(cells, grid, weights, max(float(gradient.max()) - 1.0, 0.0), likelihood)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only what was fitted: the matrices are computed again when needed."""
        return {name: self.__dict__[name] for name in ("cells", "grid", "weights", "gap", "likelihood")}

    @cached_property
    def _mixture(self) -> Mixture:
        if self.likelihood is not None:
            return Mixture(self.likelihood, self.cells.share)
        return Mixture(normal_likelihood(self.cells.residual, self.cells.sd, self.grid), self.cells.share)

    @cached_property
    def posterior(self) -> FloatArray:
        """Probability of each grid point given a label of each cell."""
        return self.posterior_of(self.weights)

    def posterior_of(self, weights: FloatArray) -> FloatArray:
        """The same for a distribution with other weights."""
        product = self._mixture.likelihood * weights
        return np.asarray(product / product.sum(axis=1, keepdims=True))

    @cached_property
    def effective_labels(self) -> float:
        """The number of labels of equal weight that would hold as much information."""
        return 1.0 / float(np.sum(self.cells.square))

    @cached_property
    def log_likelihood(self) -> float:
        """The log likelihood of all labels with normal errors, without terms that all laws share."""
        nearest = np.min(np.abs(self.cells.residual[:, None] - self.grid), axis=1) / self.cells.sd
        relative = np.log(self._mixture.likelihood @ self.weights)
        return float(self.cells.share @ (relative - 0.5 * np.square(nearest))) * self.effective_labels

    # means and their scatter -------------------------------------------------------------------

    def mean_of(self, values: FloatArray) -> float:
        """Mean over the items of E[loss | d]; on a fine grid that is the mean under the law, if all have the same."""
        inner = _row_sums(self._posterior_shift, np.gradient(values, self.grid, axis=-1))
        return float(self.cells.share @ (self.item_means(values) + inner))

    def law_mean_of(self, values: FloatArray) -> float:
        """Mean under the law of the loss, which is averaged over the cells if it depends on them."""
        return float(self.weights @ self.averaged(values))

    def averaged(self, values: FloatArray) -> FloatArray:
        """The loss at each grid point, averaged over the cells."""
        return values if values.ndim == 1 else np.asarray(self.cells.share @ values)

    def item_means(self, values: FloatArray) -> FloatArray:
        """E[loss | d] of each cell, for residuals on the grid."""
        return _row_sums(self.posterior, values)

    @cached_property
    def _inner_precision(self) -> FloatArray:
        """1 / variance of D within the neighbourhood of a grid point, given the label: that of the label and of the step."""
        return np.asarray(1.0 / np.square(self.cells.sd)[:, None] + 12.0 / np.square(np.gradient(self.grid)))

    @cached_property
    def _posterior_shift(self) -> FloatArray:
        """How far within a step of the grid the label pulls D: where the step is wide, all the way to the label.

        Times the probability of that step.
        """
        half = np.gradient(self.grid) / 2
        pull = (self.cells.residual[:, None] - self.grid) / (np.square(self.cells.sd)[:, None] * self._inner_precision)
        return np.asarray(self.posterior * np.clip(pull, -half, half))

    def posterior_variance(self, values: FloatArray) -> float:
        """Variance of the items' mean loss given their observed residuals and the law.

        A grid point stands for all residuals in its neighbourhood: where the grid is coarser than the error, D still
        scatters by the error within it.
        """
        centred = values - self.item_means(values)[:, None]
        scatter = np.square(centred, out=centred)
        scatter += np.square(np.gradient(values, self.grid, axis=-1)) / self._inner_precision
        return float(self.cells.square @ _row_sums(self.posterior, scatter))

    def item_influence(self, values: FloatArray) -> FloatArray:
        """How the items' mean of E[loss | d] changes with the weight of each grid point."""
        mixture, first = self._mixture, self.item_means(values)
        pull = mixture.share / (mixture.likelihood @ self.weights)
        if values.ndim == 1:
            return np.asarray((pull @ mixture.likelihood) * values - (pull * first) @ mixture.likelihood)
        return np.asarray(pull @ (mixture.likelihood * (values - first[:, None])))

    @cached_property
    def smooth_weights(self) -> FloatArray:
        """Weights of a smooth law that fits as well: the most likely law sits on few points, other laws fit almost as well.

        It is the one near an even law over the grid, within 1/2 of the best in log likelihood: one standard deviation.
        """
        width = np.gradient(self.grid)
        return self.likely_near(width / width.sum(), 0.5)

    def likely_near(self, weights: FloatArray, drop: float) -> FloatArray:
        """Weights of a law whose log likelihood is within `drop` of the best, by EM from these.

        Where the labels tell nothing, all weights grow alike: there the law keeps its shape.
        """
        mixture = self._mixture
        enough = mixture.log_likelihood(self.weights) - drop / self.effective_labels
        for _ in range(_MOST_SWEEPS):
            density = mixture.likelihood @ weights
            if float(mixture.share @ np.log(density)) >= enough:
                return np.asarray(weights)
            weights = weights * ((mixture.share / density) @ mixture.likelihood)
        # the first law is too far away: mix in as much of the best one as is needed
        part = 0.5
        while mixture.log_likelihood((1.0 - part) * weights + part * self.weights) < enough and part < 1.0:
            part = min(1.2 * part, 1.0)
        return np.asarray((1.0 - part) * weights + part * self.weights)

    def likelihood_at(self, points: IntArray) -> FloatArray:
        """The likelihood of each cell at these grid points, relative to the largest of its row."""
        return self._mixture.likelihood[:, points]

    def on_fewest_points(self, drop: float) -> FloatArray:
        """Weights of a law on few points of the grid, whose log likelihood per label is within `drop` of the best.

        Two neighbouring points become one, at the best place between them, as long as the labels allow it.
        """
        mixture = self._mixture
        least, points = mixture.log_likelihood(self.weights) - drop, np.flatnonzero(self.weights)
        weights = self.weights[points]
        while len(points) > 1:
            tried = [mixture.merged(points, weights, k) for k in range(len(points) - 1)]
            fewer, lighter = max(tried, key=lambda found: mixture.on(*found))
            lighter = mixture.reweighted(fewer, lighter, _MERGED_SWEEPS)
            if mixture.on(fewer, lighter) < least:
                break
            points, weights = fewer, lighter
        out = np.zeros(len(self.grid))
        out[points] = weights
        return out

    # the likelihood profile --------------------------------------------------------------------

    def profile_end(self, values: FloatArray, drop: float) -> float:
        """How far above its estimate the mean of `values` gets at a cost in log likelihood per label of `drop`."""
        return self.furthest(values, drop)[0]

    def furthest(self, values: FloatArray, drop: float) -> tuple[float, Deconvolution]:
        """The same with the law that gets there.

        The weights that maximise log likelihood + tilt * mean run along the profile: which tilt costs `drop`?
        """
        upward = values - float(self.weights @ values)
        span, limit = float(np.max(np.abs(upward))), float(np.max(upward))
        if limit <= 1e-12 * span:
            return 0.0, self
        upward = upward / span
        mixture, weights = self._mixture, self.weights
        top, gap = mixture.log_likelihood(weights), min(1e-7, 1e-3 * drop)
        inner, outer, before = 0.0, math.inf, (0.0, -1.0)
        scatter = max(float(self.weights @ np.square(upward)), 1e-12)
        shown = float(self.cells.share @ np.square(self.posterior @ upward))  # of the scatter, by labels with errors
        tilt, reach = math.sqrt(2.0 * drop * max(shown, 1e-4 * scatter)) / scatter, 0.0
        for _ in range(60):
            weights = mixture.most_likely(weights, tilt * upward, gap)
            reach = float(weights @ upward)
            # the square root of the cost grows about linearly with the tilt: along the line through the last two
            excess = math.sqrt(max(top - mixture.log_likelihood(weights), 0.0) / drop) - 1.0
            if abs(excess) < _PRECISION or (excess < 0 and limit / span - reach <= 1e-9):
                break
            inner, outer = (tilt, outer) if excess < 0 else (inner, tilt)
            rise, run = excess - before[1], tilt - before[0]
            guess = tilt - excess * run / rise if run * rise > 0 else math.inf
            before = (tilt, excess)
            if math.isinf(outer):
                tilt *= min(max(guess / tilt, 1.2), 4.0)
            elif math.isinf(guess):
                tilt = (inner + outer) / 2
            else:
                near = 0.05 * (outer - inner)
                tilt = min(max(guess, inner + near), outer - near)
        return max(reach, 0.0) * span, replace(self, weights=weights)


# the most likely weights -------------------------------------------------------------------------

_FIRST_SWEEPS = 20
"""EM sweeps from equal weights: the quadratic steps converge from there at once."""
_TRIED_SWEEPS, _MERGED_SWEEPS = 10, 100
"""EM sweeps where two components become one: to choose which, and for the ones that were chosen."""
IMPOSSIBLE = 1e-200
"""Components that explain a datum no better than this, relative to its best one, are far from the most likely."""
_STEPS = 200
_RIDGE = 1e-10
"""Neighbouring components are almost the same, and some explain no datum: this part keeps the second derivatives regular."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Data that come from a mixture of known components: `likelihood` (data, components) and the data's shares.

    Which weights w (w >= 0, sum 1) maximise

        f(w) = sum_i a_i log(sum_k L_ik w_k) + tilt . w ?

    L_ik is the likelihood of datum i under component k, a_i how much the datum counts (sum 1). With tilt = 0 this is the
    nonparametric maximum likelihood estimate on a grid; with tilt = lambda * values its solutions run along the likelihood
    profile of the mean of `values`. EM needs thousands of sweeps. Here each step maximises the quadratic expansion of f over
    the present support and the local maxima of the gradient (Wang 2007, constrained Newton), which takes some five steps. It
    stops when the duality gap, max_k gradient_k - w . gradient >= f(best) - f(w), is small.
    """

    likelihood: FloatArray
    share: FloatArray

    def log_likelihood(self, weights: FloatArray) -> float:
        """sum a log(L w), per datum."""
        return self._objective(self.likelihood @ weights, weights, np.zeros(len(weights)))

    def on(self, points: IntArray, weights: FloatArray) -> float:
        """The log likelihood of weights on a few components, per datum."""
        density = self.likelihood[:, points] @ weights
        return float(self.share @ np.log(density)) if float(density.min()) > 0 else -math.inf

    def reweighted(self, points: IntArray, weights: FloatArray, sweeps: int) -> FloatArray:
        """Better weights of a few components, by sweeps of EM."""
        few = self.likelihood[:, points]
        for _ in range(sweeps):
            density = few @ weights
            if not float(density.min()) > IMPOSSIBLE:
                return weights
            weights = weights * ((self.share / density) @ few)
        return np.asarray(weights / weights.sum())

    def merged(self, points: IntArray, weights: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        """The same with components k and k + 1 at the best place between them, reweighted."""
        others, part = np.delete(np.arange(len(points)), [k, k + 1]), weights[k] + weights[k + 1]
        between = np.arange(points[k], points[k + 1] + 1)
        rest = self.likelihood[:, points[others]] @ weights[others]
        with np.errstate(divide="ignore"):
            values = self.share @ np.log(rest[:, None] + part * self.likelihood[:, between])
        fewer, lighter = np.insert(points[others], k, between[np.argmax(values)]), np.insert(weights[others], k, part)
        return fewer, self.reweighted(fewer, lighter, _TRIED_SWEEPS)

    def first_weights(self) -> FloatArray:
        """A start: a few sweeps of EM from equal weights."""
        weights = np.full(self.likelihood.shape[1], 1.0 / self.likelihood.shape[1])
        for _ in range(_FIRST_SWEEPS):
            weights = weights * ((self.share / (self.likelihood @ weights)) @ self.likelihood)
        return np.asarray(weights / weights.sum())

    def most_likely(self, start: FloatArray, tilt: FloatArray | None = None, gap: float = 1e-10) -> FloatArray:
        """Weights that maximise the objective up to a duality gap; every datum must be possible at the start."""
        weights, slope = start, np.zeros(len(start)) if tilt is None else tilt
        density = self.likelihood @ weights
        for _ in range(_STEPS):
            gradient = (self.share / density) @ self.likelihood + slope
            if float(gradient.max()) - float(weights @ gradient) <= gap:
                break
            better = self._better_weights(weights, density, gradient, slope)
            if better is None:  # rounding hides any higher value
                break
            weights, density = better, self.likelihood @ better
        return weights

    def _objective(self, density: FloatArray, weights: FloatArray, slope: FloatArray) -> float:
        if not float(density.min()) > 0:
            return -np.inf
        return float(self.share @ np.log(density)) + float(slope @ weights)

    def _better_weights(
        self, weights: FloatArray, density: FloatArray, gradient: FloatArray, slope: FloatArray
    ) -> FloatArray | None:
        """Better weights: towards the maximum of the quadratic expansion, else towards the steepest component."""
        value = self._objective(density, weights, slope)
        steepest = np.zeros(len(weights))
        steepest[np.argmax(gradient)] = 1.0
        for target in (self._newton(weights, density, gradient, slope), steepest):
            direction = target - weights
            rise, change = float(gradient @ direction), self.likelihood @ direction
            step = 1.0
            while rise > 0 and step > 1e-9:
                reached = self._objective(density + step * change, weights + step * direction, slope)
                if reached > value + 0.15 * step * rise:
                    moved = np.maximum(weights + step * direction, 0.0)
                    return np.asarray(moved / moved.sum())
                step /= 2
        return None

    def _newton(self, weights: FloatArray, density: FloatArray, gradient: FloatArray, slope: FloatArray) -> FloatArray:
        """Maximum of the quadratic expansion over the support and the local maxima of the gradient.

        -log(u) = 1/2 (u/u0 - 2)^2 + constant up to third order, so the expansion is a least-squares problem.
        """
        padded = np.concatenate([[-np.inf], gradient, [-np.inf]])
        peak = (gradient >= padded[:-2]) & (gradient >= padded[2:]) & (gradient > float(weights @ gradient))
        candidates = np.flatnonzero((weights > 0) | peak)
        pulls = self.likelihood[:, candidates] * (np.sqrt(self.share) / density)[:, None]
        second = pulls.T @ pulls
        diagonal = np.diag_indices(len(candidates))
        second[diagonal] += _RIDGE * (second[diagonal] + np.max(second[diagonal]))
        first = (2.0 * gradient - slope)[candidates]
        target = np.zeros(len(weights))
        target[candidates] = smallest_quadratic(second, first)
        return target


def smallest_quadratic(second: FloatArray, first: FloatArray) -> FloatArray:
    """The x >= 0 with sum 1 that minimises x' second x / 2 - first . x.

    With second = R'R and R'b = first that is |R x - b|^2 = |(R - b 1') x|^2 for such x: a non-negative least-squares problem
    whose solution is scaled to sum 1 (Dax 1990).
    """
    root = cholesky(second, check_finite=False)
    target = solve_triangular(root, first, trans="T", check_finite=False)
    rows = np.vstack([root - target[:, None], np.ones(len(first))])
    x, _ = nnls(rows, np.append(np.zeros(len(first)), 1.0), maxiter=100 * len(first))
    return np.asarray(x / x.sum())


# residuals that follow the size of the error ------------------------------------------------------

_LEVELS = (0.0, 5.99, 9.49)
"""Chi-squared at 95 % with 2 degrees of freedom for each thing that residuals may follow: beyond it, dependence is seen."""
_LEAST_SPREAD = 0.05
"""Errors that spread less than this (in log s) cannot show a trend."""
_STEEPEST = 6.0
"""Of the line log c^2: c grows at most with the third power of s."""
_MOST_LABELS = 20_000
"""More labels than this are thinned out before lines are fitted."""
_LEAST_SCALE = 0.1
"""c is at least this part of s: smaller true residuals cannot be seen behind such an error."""
_ROUNDS = 3
_IN_PROPORTION = 2.0
"""The power with which squares grow where residuals grow in proportion."""


@dataclass(frozen=True, eq=False)
class Trend:
    """m and log c^2 as lines in x = axes (log s - centre), with the standard errors of all slopes.

    Residuals may follow several things at once, of which the label error s is the last; x then has as many rows, each without
    what the rows before it tell. `seen`: whether a test at 5 % prefers the trend to residuals without one.
    """

    centre: FloatArray
    axes: FloatArray
    middle: FloatArray
    """m where x is 0, and its slopes."""
    log_variance: FloatArray
    """The same of log c^2."""
    middle_errors: FloatArray
    log_variance_errors: FloatArray
    seen: bool

    def at(self, *followed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Centre m and scale c of the true residuals of labels with this error, or all else that they follow."""
        x = self.axes @ (np.log(np.stack(followed)) - self.centre[:, None])
        log = self.log_variance[0] + self.log_variance[1:] @ x
        scale = np.exp(0.5 * np.clip(log, -600.0, 600.0))
        return self.middle[0] + self.middle[1:] @ x, np.maximum(scale, _LEAST_SCALE * followed[-1])

    def others(self) -> OtherTrends:
        """Trends one standard error away: one slope after the other is steeper; where none is seen, the trend itself."""
        return tuple((trend, 1.0) for trend in (self.tilted() if self.seen else (self,)))

    def tilted(self) -> tuple[Trend, ...]:
        """The same trend with one slope after the other steeper by its standard error."""
        steps = np.eye(len(self.middle))[1:]
        return (
            *(
                replace(self, middle=self.middle + error * step)
                for error, step in zip(self.middle_errors, steps, strict=True)
            ),
            *(
                replace(self, log_variance=self.log_variance + error * step)
                for error, step in zip(self.log_variance_errors, steps, strict=True)
            ),
        )


OtherTrends = tuple[tuple[Trend | None, float], ...]
"""Trends that are possible too (None: residuals follow nothing), and how many standard errors away they are."""
PROPORTIONAL = Trend(
    np.zeros(1), np.eye(1), np.zeros(2), np.array([0.0, _IN_PROPORTION]), np.zeros(1), np.zeros(1), seen=False
)
"""True residuals in proportion to the errors."""


def fitted_trend(
    residual: FloatArray, sd: FloatArray, share: FloatArray, spread: FloatArray | None = None
) -> Trend | None:
    """How the true residuals follow the label errors; with a `spread` > 0 of their own, how they follow that and the errors.

    Residuals without a trend do not depend on the errors, and are proportional to the spread. None where all that they may
    follow is alike for all labels, or residuals do not scatter.
    """
    step = max(1, len(residual) // _MOST_LABELS)
    d, s, a = residual[::step], sd[::step], share[::step] / float(np.sum(share[::step]))
    log = np.log(np.stack([s] if spread is None else [spread[::step], s]))
    centre = log @ a
    log = log - centre[:, None]
    axes = _independent(log, a)
    if not len(axes):
        return None
    power = np.zeros_like(d) if spread is None else _IN_PROPORTION * log[0]
    scale = np.exp(0.5 * power)
    flat = _common(d / scale, np.square(s / scale), a)
    if flat is None:
        return None
    return _fitted(d, np.square(s), a, axes @ log, (flat[0] * scale, flat[1] * np.square(scale)), centre, axes)


def _independent(log: FloatArray, a: FloatArray) -> FloatArray:
    """Axes along which centred logarithms spread, each without what the ones before it tell; none where all are alike."""
    axes: list[FloatArray] = []
    for k, row in enumerate(log):
        axis = np.zeros(len(log))
        axis[k] = 1.0
        for other in axes:
            told = other @ log
            axis = axis - float(a @ (told * row)) / float(a @ np.square(told)) * other
        if math.sqrt(float(a @ np.square(axis @ log))) >= _LEAST_SPREAD:
            axes.append(axis)
    return np.array(axes).reshape(-1, len(log))


def _common(d: FloatArray, s2: FloatArray, a: FloatArray) -> tuple[float, float] | None:
    """Mean and variance of true residuals that do not depend on the errors; None where they do not scatter."""
    mean, tau2 = float(a @ d), max(float(a @ (np.square(d - float(a @ d)) - s2)), 0.0)
    for _ in range(30):
        weight = a / np.square(tau2 + s2)
        pull = a / (tau2 + s2)
        mean = float(pull @ d) / float(np.sum(pull))
        tau2 = max(float(weight @ (np.square(d - mean) - s2)) / float(np.sum(weight)), 0.0)
    return (mean, tau2) if tau2 > 1e-3 * float(np.min(s2)) else None


def _fitted(
    d: FloatArray,
    s2: FloatArray,
    a: FloatArray,
    x: FloatArray,
    flat: tuple[FloatArray, FloatArray],
    centre: FloatArray,
    axes: FloatArray,
) -> Trend:
    """Weighted least squares for m and the normal likelihood for c^2 in turn; standard errors hold for any law.

    `flat`: mean and variance of residuals without a trend.
    """
    lines = np.stack([np.ones_like(d), *x])
    c2 = flat[1]
    theta = np.linalg.pinv(lines * a @ lines.T) @ (lines @ (a * np.log(c2)))
    level = float(theta[0])
    for _ in range(_ROUNDS):
        pull = lines * (a / (c2 + s2))
        middle = np.linalg.pinv(pull @ lines.T) @ (pull @ d)
        r2 = np.square(d - middle @ lines)

        def cost(theta: FloatArray, r2: FloatArray = r2) -> tuple[float, FloatArray]:
            c2 = np.exp(np.clip(theta @ lines, -600.0, 600.0))
            v = c2 + s2
            return float(a @ (np.log(v) + r2 / v)), lines @ (a * c2 / v * (1.0 - r2 / v))

        bounds = [(level - 12.0, level + 12.0), *[(-_STEEPEST, _STEEPEST)] * len(x)]
        theta = minimize(cost, theta, jac=True, method="L-BFGS-B", bounds=bounds).x
        c2 = np.exp(np.clip(theta @ lines, -600.0, 600.0))
    v = c2 + s2
    first = _slope_errors(lines, a / v, a / v * (d - middle @ lines))
    second = _slope_errors(lines, a * np.square(c2 / v), a * c2 / np.square(v) * (r2 - v))
    # residuals that are not normal scatter the likelihood ratio by as much more as their squares scatter
    flat_v = flat[1] + s2
    gain = np.log(flat_v / v) + np.square(d - flat[0]) / flat_v - r2 / v
    excess = max(float(a @ np.square(r2 / v - 1.0)) / 2, 1.0)
    seen = float(a @ gain) / float(np.sum(np.square(a))) / excess > _LEVELS[len(x)]
    return Trend(centre, axes, middle, theta, first, np.minimum(second, _STEEPEST), seen)


def _slope_errors(lines: FloatArray, information: FloatArray, score: FloatArray) -> FloatArray:
    """Standard errors of the slopes of a line from the scatter of the labels' scores (sandwich)."""
    inverse = np.linalg.pinv((lines * information) @ lines.T)
    spread = inverse @ ((lines * np.square(score)) @ lines.T) @ inverse
    return np.sqrt(np.maximum(np.diag(spread)[1:], 0.0))


# other families than the normal one --------------------------------------------------------------


def label_likelihood(
    errors: MeasurementError, y: FloatArray, truth: FloatArray, allowed: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """p(y | truth) for labels y (n,) and candidates truth (n, k), each row relative to its largest entry, and that entry.

    A row of zeros: none of the candidates, or of those that are `allowed`, makes the label possible.
    """
    density = errors.likelihood(y, truth)
    density = np.where(np.isfinite(density) if allowed is None else np.isfinite(density) & allowed, density, 0.0)
    largest = density.max(axis=1)
    return np.asfortranarray(density / np.where(largest > 0, largest, 1.0)[:, None]), largest


def central_half_width(errors: MeasurementError, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A median-unbiased estimate of each true value, and half the width that holds 68 % of fresh labels.

    Both exist for every family, even without moments.
    """
    if errors.discrete:  # steps of single values
        return errors.unbiased_label(y), np.sqrt(errors.variance(y))
    (low, high), middle = errors.central_68(y), errors.ppf(y, np.full(len(y), 0.5))
    return 2.0 * y - middle, (high - low) / 2
