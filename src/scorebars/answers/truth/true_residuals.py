"""The score against the truth from the most likely law of the true residuals.

The law of D = truth - prediction is fitted to the labels that err (`moments.deconvolution`); labels without error keep
their residuals as they are. The fit gives the mean of *any* loss of the residual, and quantiles too: absolute error,
pinball, Huber, within tolerance. It needs independent errors and labels enough to show a law.

Where true residuals follow the label errors, D = m(s) + c(s) eta, the law is that of eta. `most_likely_trend` decides.

Errors need not be normal. A count, or a label with an error of a factor, says by its own density which true values it
allows. The size of such an error grows with the true value, which is not known; residuals then follow the size that the
error has at the prediction. A loss that is not one of the residual alone (a percentage, a difference of logarithms) is
averaged over what each label tells about its own truth.

A loss that jumps cannot be deconvolved: laws that no data can tell apart differ in it. Its interval is the range of its
mean over all laws that fit the labels, and its estimate comes from a smooth law among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from scorebars.answers.intervals import half_width_in_std, less_error
from scorebars.answers.score import ONE_SIGMA, Estimate, Interval
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors import MeasurementError, Normal
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.deconvolution import (
    PROPORTIONAL,
    Cells,
    Deconvolution,
    OtherTrends,
    Trend,
    central_half_width,
    fitted_trend,
    label_likelihood,
    residual_grid,
    typical_spacing,
)

_ROUNDING = 1e-9
FEWEST = 30
"""Fewer labels with errors do not show a law."""
_KNOWN = 0.25
"""A label whose error is below this part of the grid's spacing counts as known: the grid cannot resolve it."""
_MOST = 20_000
"""Above this many labels with errors that are not normal, every k-th is used."""
_NOTHING = 1e-100  # an error too small to be squared
_LEAST_SPREAD = 0.05
"""Sizes of errors that spread less than this (in their logarithm) cannot show a trend."""
_TOO_FAR = 4.0
"""A trend that makes the labels less probable by this in log likelihood is left aside."""

_LARGE_FACTORS = (
    "labels are wrong by large factors: where predictions are too, the estimate is somewhat too small and the interval holds "
    "less often than its level"
)
_LARGE, _GROWS = 0.3, 1.5
"""Errors of more than this part of the label are large; those of a factor grow by more than this where the label doubles."""


@dataclass(frozen=True, eq=False)
class TrueResiduals:
    """What the labels tell about the true residuals: a law for those with errors, the others as they are."""

    fit: Deconvolution
    fitted: BoolArray
    """Which labels have a fitted law."""
    fitted_share: float
    """How much the labels with a fitted law count; all labels together count 1."""
    known: FloatArray
    known_sd: FloatArray
    known_share: FloatArray
    clustering: float = 1.0
    """How much more a mean scatters because several outputs belong to one item."""
    trend: Trend | None = None
    """How the true residuals follow the label errors; the fit is one of residuals standardised by it."""
    others: OtherTrends = ()
    """How much an answer changes with other trends is part of its error."""
    family: FamilyLabels | None = None
    """The labels with a fitted law, where their errors are not normal."""

    @property
    def method(self) -> str:
        """How the law was found."""
        return "npmle" if self.trend is None else "location-scale"

    @property
    def note(self) -> str:
        """What the law assumes of residuals and label errors, and where that is known to fail."""
        large = self.family is not None and self.family.large_factors
        return "; ".join(text for text in (self._assumed, _LARGE_FACTORS if large else "") if text)

    @property
    def _assumed(self) -> str:
        if self.trend is None and self.family is not None:
            return ""
        if self.trend is None:
            return "true residuals taken as independent of the label errors, since no dependence is seen"
        if self.trend is PROPORTIONAL:
            return (
                "true residuals are seen to follow the label errors: their size is taken as proportional to the error"
            )
        power = self.trend.log_variance[1] / 2
        return (
            "true residuals are seen to follow the label errors: their size is taken as a power of the error "
            f"({power:.2g} ± {self.trend.log_variance_errors[0] / 2:.1g}), their mean as a line in its logarithm"
        )

    def points(self) -> FloatArray:
        """The true residuals that the grid stands for: one row, or where residuals follow the errors one for each cell."""
        if self.trend is None:
            return self.fit.grid
        centre, scale = self.trend.at(self.fit.cells.group)
        return np.asarray(centre[:, None] + scale[:, None] * self.fit.grid)

    @cached_property
    def with_other_trends(self) -> list[tuple[TrueResiduals, float]]:
        """What would be found with each of the other trends, and how many standard errors away that is."""
        return [(replace(self, fit=self._fit(trend), trend=trend, others=()), away) for trend, away in self.others]

    def _fit(self, trend: Trend | None) -> Deconvolution:
        if self.family is not None:
            return self.family.fit(trend).law
        cells = self.fit.cells
        centre, scale = (0.0, 1.0) if self.trend is None else self.trend.at(cells.group)
        observed, sd = centre + scale * cells.residual, scale * cells.sd
        centre, scale = (0.0, 1.0) if trend is None else trend.at(cells.group)
        eta, error = (observed - centre) / scale, sd / scale
        grid = residual_grid(eta, error, cells.share)
        return Deconvolution.of_cells(cells._replace(residual=eta, sd=error), grid)


def with_shrunk_sizes(data: Measured, students: bool = False) -> Measured:
    """The labels with error sizes as all labels tell them, where each size was estimated by itself.

    Those that came out small would draw the residuals to their labels. Sizes that scatter no more than their estimates make
    them are the same; else errors are Student's, for those who take `students`.
    """
    errors = data.errors.shrunk()
    if errors is data.errors or (errors.normal is None and not students):
        return data
    return data.changed(errors=errors)


def true_residuals(data: Measured) -> TrueResiduals | None:
    """The true residuals behind these labels; None where errors are not normal and independent or labels are few."""
    if not data.plain_normal:
        return None
    residual, sd, share = data.residual, np.sqrt(data.label_variance), data.shares
    grid, fitted = labels_to_fit(residual, sd, share)
    d, s, a = residual[fitted], sd[fitted], share[fitted]
    if not enough_labels(a):
        return None
    rest = (share > 0) & ~fitted
    fits: dict[Trend | None, Deconvolution] = {None: Deconvolution.fit(d, s, a, grid)}
    moments = None
    if _may_follow(s):
        moments = fitted_trend(d, s, a)
        for followed in (PROPORTIONAL,) if moments is None else (PROPORTIONAL, moments):
            centre, scale = followed.at(s)
            eta, error = (d - centre) / scale, s / scale
            fits[followed] = Deconvolution.fit(eta, error, a, residual_grid(eta, error, a), s)
    trend, others = most_likely_trend({trend: fit.log_likelihood for trend, fit in fits.items()}, moments)
    fit = fits[trend]
    known = (residual[rest], sd[rest], share[rest])
    return TrueResiduals(fit, fitted, float(a.sum()), *known, _clustering(data), trend, others)


def _may_follow(sizes: FloatArray) -> bool:
    """Whether the sizes of the errors differ enough to be followed."""
    return bool(np.all(sizes > _NOTHING)) and float(np.std(np.log(sizes))) > _LEAST_SPREAD


def most_likely_trend(
    log_likelihood: dict[Trend | None, float], moments: Trend | None
) -> tuple[Trend | None, OtherTrends]:
    """The trend that makes the labels most probable, and the others that they allow.

    Residuals may follow nothing, be in proportion to the errors, or follow them as their first two moments say. The last
    has two numbers of its own, which cost one unit of log likelihood each (Akaike). Others are as many standard errors away
    as a normal likelihood would have it.
    """
    reached = dict(log_likelihood)
    if moments is not None:
        reached[moments] -= 2.0
    best = max(reached, key=lambda trend: reached[trend])
    short = {trend: reached[best] - value for trend, value in reached.items() if trend is not best}
    others = tuple((trend, math.sqrt(max(2.0 * gap, 1.0))) for trend, gap in short.items() if gap < _TOO_FAR)
    if best is not None and best is moments:
        others += tuple((trend, 1.0) for trend in best.tilted())
    return best, others


def labels_to_fit(d: FloatArray, sd: FloatArray, share: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The grid of the law, and the labels to fit it to: those whose error the grid can tell. None if too few err."""
    erring = (share > 0) & (sd > _NOTHING)
    if int(erring.sum()) < FEWEST:
        return np.zeros(0), np.zeros_like(erring)
    grid = residual_grid(d[erring], sd[erring], share[erring])
    return grid, erring & (sd > _KNOWN * typical_spacing(d[erring], grid))


def enough_labels(share: FloatArray) -> bool:
    """Whether as many labels of equal weight would show a law."""
    return len(share) > 0 and float(share.sum()) ** 2 >= (FEWEST - 0.5) * float(np.sum(np.square(share)))


def _clustering(data: Measured) -> float:
    """Variance of the mean absolute residual over items of several outputs, relative to that over single labels."""
    if data.outputs == 1:
        return 1.0
    loss = data.shares * np.abs(data.residual)
    deviation = loss - data.shares * float(loss.sum())
    single = float(np.sum(np.square(deviation)))
    return float(np.sum(np.square(deviation.reshape(-1, data.outputs).sum(axis=1)))) / single if single > 0 else 1.0


class FamilyFit(NamedTuple):
    """The most likely law for one trend, and the log likelihood of all labels under it."""

    law: Deconvolution
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class FamilyLabels:
    """Labels whose errors are not normal, each with a share: what they tell about their true values."""

    y: FloatArray
    p: FloatArray
    errors: MeasurementError
    share: FloatArray
    least_truth: float
    """No true value is as small as this."""
    fits: dict[Trend | None, FamilyFit] = field(default_factory=dict)
    """What was fitted already."""

    def part(self, which: BoolArray) -> FamilyLabels:
        """Some of the labels."""
        rows = np.flatnonzero(which)
        return replace(self, y=self.y[rows], p=self.p[rows], errors=self.errors[rows], share=self.share[rows])

    def likelihood(self, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How probable each label is for each of its candidates, relative to the best one, and how probable for that."""
        allowed = truth > self.least_truth if math.isfinite(self.least_truth) else None
        return label_likelihood(self.errors, self.y, truth, allowed)

    @property
    def large_factors(self) -> bool:
        """Whether labels are wrong by large factors: errors grow as the label does, and are a large part of it."""
        bar = self.errors.error_bar(self.y)
        with np.errstate(divide="ignore", invalid="ignore"):
            part, growth = np.median(bar / np.abs(self.y)), np.median(self.errors.error_bar(2.0 * self.y) / bar)
        return bool(part > _LARGE and growth > _GROWS)

    @cached_property
    def sizes(self) -> FloatArray:
        """The size of each error if the prediction were the true value.

        On average their squares are the error variances that the labels show.
        """
        _, width = central_half_width(self.errors, self.errors.possible_truth(self.y, self.p))
        shown = np.square(self.errors.unbiased_label(self.y) - self.p) - self.errors.unbiased_square(self.y, self.p)
        with np.errstate(invalid="ignore"):
            ratio = float(self.share @ shown) / float(self.share @ np.square(width))
        return np.asarray(width * math.sqrt(ratio) if 0.0 < ratio < math.inf else width)

    def fit(self, trend: Trend | None) -> FamilyFit:
        """The most likely law of true residuals that follow this trend."""
        if trend not in self.fits:
            middle, width = central_half_width(self.errors, self.y)
            centre, scale = (np.zeros_like(self.p), np.ones_like(self.p)) if trend is None else trend.at(self.sizes)
            residual, sd = (middle - self.p - centre) / scale, width / scale
            grid = residual_grid(residual, sd, self.share)
            likelihood, largest = self.likelihood((self.p + centre)[:, None] + scale[:, None] * grid)
            part = self.share / float(self.share.sum())
            law = Deconvolution.of_cells(Cells(residual, sd, part, np.square(part), self.sizes), grid, likelihood)
            with np.errstate(divide="ignore"):
                reached = part @ (np.log(likelihood @ law.weights) + np.log(largest))
            self.fits[trend] = FamilyFit(law, float(reached) * law.effective_labels)
        return self.fits[trend]

    def best_trend(self) -> tuple[Trend | None, OtherTrends]:
        """The trend that makes the labels most probable, and the others that they allow."""
        trends: list[Trend | None] = [None]
        moments = None
        if _may_follow(self.sizes):
            d = self.errors.unbiased_label(self.y) - self.p
            moments = fitted_trend(d, self.sizes, self.share) if np.all(np.isfinite(d)) else None
            trends += [PROPORTIONAL] if moments is None else [PROPORTIONAL, moments]
        return most_likely_trend({trend: self.fit(trend).log_likelihood for trend in trends}, moments)


def mean_of_family(loss: Loss, data: Measured, low: float, high: float) -> MeanOfLoss | None:
    """The mean loss against the truth behind labels of other errors; None where labels are few or no truth is possible.

    Errors with sharp ends or a cusp are left to extrapolation. A flat density does not choose between the laws that it
    allows, and one with a cusp draws the law to the labels themselves (Laplace: a bias of half its scatter at n = 60).
    """
    if data.errors.sharp:
        return None
    data = data.thinned(_MOST)
    y, p, errors, a = data.labels, data.predictions, data.errors, data.shares
    centre, width = central_half_width(errors, y)
    d = centre - p
    if not np.all(np.isfinite(d)):
        return None
    grid, fitted = labels_to_fit(d, width, a)
    if not fitted.any():
        return None
    rows = np.flatnonzero(fitted)
    labels = FamilyLabels(y[rows], p[rows], errors[rows], a[rows], loss.least_label)
    possible = labels.likelihood(p[rows][:, None] + grid)[1] > 0
    fitted[rows[~possible]] = False
    rows, rest, labels = rows[possible], ~fitted, labels.part(possible)
    if not enough_labels(labels.share):
        return None
    trend, others = labels.best_trend()
    known, share = (d[rest], width[rest], a[rest]), float(labels.share.sum())
    fit = labels.fit(trend).law
    residuals = TrueResiduals(fit, fitted, share, *known, trend=trend, others=others, family=labels)
    if loss.of_residual:
        return MeanOfLoss(residuals, loss, low, high)
    return MeanOfLoss(residuals, loss, low, high, prediction=p[rows], known_prediction=p[rest])


@dataclass(frozen=True, eq=False)
class MeanOfLoss:
    """The mean of a loss of the true residuals, and how well it is known.

    With `fresh` > 0 the loss is that of labels measured afresh, with error variance fresh * (present one).
    Intervals are kept between `low` and `high`.
    """

    residuals: TrueResiduals
    loss: Loss
    low: float = 0.0
    high: float = math.inf
    fresh: float = 0.0
    prediction: FloatArray | None = None
    """Predictions of the labels with a fitted law; None where the loss depends on the residual alone."""
    known_prediction: FloatArray | None = None
    widened: float = 1.0
    """Factor by which the interval for the items at hand is widened, where the likelihood's is known to be too narrow."""
    swallowed: FloatArray | None = None
    """How much of its error the law takes for true loss, for each fitted label; the mean leaves it out."""
    smooth: MeanOfLoss | None = None
    """The same under a smooth law, which gives the mean and the scatter of the items; None where this law gives them."""

    def _loss_at(self, residual: FloatArray, sd: FloatArray, prediction: FloatArray | None) -> FloatArray:
        """The loss of each true residual, averaged over the errors of a fresh label."""
        p = np.zeros_like(residual) if prediction is None else prediction
        if self.fresh == 0:
            return self.loss(p + residual, p)
        return label_moments(self.loss, Normal.trusted(math.sqrt(self.fresh) * sd), residual, p).mean

    @cached_property
    def _values(self) -> FloatArray:
        """The loss at each grid point.

        In each cell where that differs: for fresh labels, residuals with a trend, a loss of label and prediction.
        """
        fit, points = self.residuals.fit, self.residuals.points()
        shape = points.shape if self.fresh == 0 and self.prediction is None else (len(fit.cells.sd), len(fit.grid))
        points = np.broadcast_to(points, shape)
        sd = np.broadcast_to(fit.cells.group[:, None] if self.fresh else 0.0, shape)
        if self.prediction is None:
            return self._loss_at(points.reshape(-1), sd.reshape(-1), None).reshape(shape)
        assert fit.likelihood is not None
        p, possible = np.broadcast_to(self.prediction[:, None], shape), np.where(fit.likelihood > 0, points, 0.0)
        values = self._loss_at(possible.reshape(-1), sd.reshape(-1), p.reshape(-1)).reshape(shape)
        return np.where(np.isfinite(values), values, 0.0)

    def _known_at(self, away: float) -> FloatArray:
        """Losses of the labels that count as known, if each were off by `away` times its error."""
        parts = self.residuals
        if not parts.known.size:
            return parts.known
        return self._loss_at(parts.known + away * parts.known_sd, parts.known_sd, self.known_prediction)

    @cached_property
    def _known_losses(self) -> FloatArray:
        return self._known_at(0.0)

    @property
    def _jumps(self) -> bool:
        """Whether the loss jumps; averaged over the errors of fresh labels, it does not."""
        return self.fresh == 0 and not self.loss.continuous

    @cached_property
    def value(self) -> float:
        """The mean loss."""
        return self._with_known(self._fitted_mean)

    def _with_known(self, fitted_mean: float) -> float:
        parts = self.residuals
        return parts.fitted_share * fitted_mean + float(parts.known_share @ self._known_losses)

    @cached_property
    def _fitted_mean(self) -> float:
        fit = self.residuals.fit
        if self.smooth is not None:
            return self.smooth._fitted_mean
        if self._jumps:
            return float(fit.smooth_weights @ self._averaged)
        if self.swallowed is not None:
            return float(fit.cells.share @ (fit.item_means(self._values) - self.swallowed))
        return fit.mean_of(self._values)

    # how well it is known ----------------------------------------------------------------------

    @cached_property
    def _item_variance(self) -> float:
        """Variance of the items' mean loss given the observed residuals and the law."""
        return self._item_variance_under(self.residuals.fit) if self.smooth is None else self.smooth._item_variance

    def _item_variance_under(self, law: Deconvolution) -> float:
        """Variance of the items' mean loss given the observed residuals, if they follow this law."""
        parts = self.residuals
        known = float(np.sum(np.square(parts.known_share * (self._known_at(1.0) - self._known_at(-1.0)) / 2)))
        fitted = 0.0 if self._jumps else law.posterior_variance(self._values)
        return parts.fitted_share**2 * fitted + known

    @cached_property
    def _sampling_variance(self) -> float:
        """What a new test set adds to the uncertainty of the law: other known losses, more or fewer of them, other errors."""
        parts, values = self.residuals, self._values
        by_error = 0.0
        if values.ndim == 2:
            means = values @ parts.fit.weights
            by_error = float(parts.fit.cells.square @ np.square(means - float(parts.fit.cells.share @ means)))
        gap = parts.fitted_share * (self._fitted_mean - self.value)
        known = float(np.sum(np.square(parts.known_share * (self._known_losses - self.value))))
        return parts.clustering * (known + gap * gap / parts.fit.effective_labels + parts.fitted_share**2 * by_error)

    @cached_property
    def _trend_variance(self) -> float:
        """What the uncertain slopes of the trend add, or a trend that is too weak to be seen."""
        others = self.residuals.with_other_trends
        return sum(((replace(self, residuals=other).value - self.value) / away) ** 2 for other, away in others)

    def _end(
        self,
        up: bool,
        values: FloatArray,
        quantile: float,
        variance: float,
        clustering: float = 1.0,
        hidden: bool = False,
    ) -> float:
        """An end of the likelihood profile, moved out by an independent scatter; never short of the estimate.

        Where values are `hidden`, the items scatter as much as the law at that end lets them, if that is more.
        """
        fit, share = self.residuals.fit, self.residuals.fitted_share
        drop = 0.5 * quantile**2 * clustering / fit.effective_labels
        reach, law = fit.furthest(values if up else -values, drop)
        if hidden:
            variance = max(variance, self._item_variance_under(law))
        if self._jumps:  # a range that reaches the end of what is possible must not miss it by rounding
            reach += _ROUNDING
        centre = self._with_known(fit.law_mean_of(values)) if self._jumps else self.value
        far = math.hypot(share * reach, quantile * math.sqrt(variance + self._trend_variance))
        return max(centre + far, self.value) if up else min(centre - far, self.value)

    @cached_property
    def _averaged(self) -> FloatArray:
        """The loss at each grid point, the same for all cells."""
        return self.residuals.fit.averaged(self._values)

    @cached_property
    def _influence(self) -> FloatArray:
        """How the items' mean loss changes with the weight of each grid point."""
        return self.residuals.fit.item_influence(self._values)

    def _for_items(self, level: float, up: bool) -> float:
        moved = self._averaged if self._jumps else self._influence
        quantile = self.widened * half_width_in_std(level)
        return self._end(up, moved, quantile, self._item_variance, hidden=self.smooth is not None)

    def _for_population(self, level: float, up: bool) -> float:
        parts, fit = self.residuals, self.residuals.fit
        quantile = half_width_in_std(level, max(fit.effective_labels + len(parts.known) - 1.0, 1.0))
        if self.prediction is None:
            return self._end(up, self._averaged, quantile, self._sampling_variance, parts.clustering)
        # a loss of label and prediction adds the scatter of the items' losses
        means = fit.item_means(self._values)
        fitted = parts.fitted_share**2 * float(fit.cells.square @ np.square(means - self.value))
        known = float(np.sum(np.square(parts.known_share * (self._known_losses - self.value))))
        return self._end(up, self._influence, quantile, fitted + known + self._item_variance)

    def end(self, level: float, up: bool, population: bool) -> float:
        """One end of `interval`, or of `total_interval`."""
        found = (self._for_population if population else self._for_items)(level, up)
        return min(max(found, self.low), self.high)

    def std(self) -> float:
        """Half the length of the interval at one standard deviation (68 %)."""
        return (self._for_items(ONE_SIGMA, True) - self._for_items(ONE_SIGMA, False)) / 2

    def interval(self, level: float) -> Interval:
        """For the items at hand: their mean loss moves with the law and with each residual given its label.

        A loss that jumps: all values that laws compatible with the labels allow.
        """
        return Interval(*(self.end(level, up, population=False) for up in (False, True)))

    def total_interval(self, level: float) -> Interval:
        """For the population: all laws compatible with the labels."""
        return Interval(*(self.end(level, up, population=True) for up in (False, True)))

    def bootstrap_of(self, data: Measured) -> Callable[[int, np.random.Generator, str], Estimate] | None:
        """How to find the uncertainty of the estimate from these labels by bootstrap."""
        return partial(_bootstrap, self, data) if self.residuals.fit.likelihood is None else None


def _bootstrap(mean: MeanOfLoss, data: Measured, draws: int, rng: np.random.Generator, note: str) -> Estimate:
    """The estimate, its uncertainty found by repeating the measurement `draws` times on the computer.

    True residuals are drawn from the fitted law, labels measured again and fitted again. The new estimate is compared with
    the mean loss of the residuals drawn (for the items at hand) and with the mean under the law (for the population). It
    assumes what the fit assumes, and no large number of labels, as the likelihood profile does.
    """
    of_items, of_population = np.array([_off_target(mean, data, rng) for _ in range(draws)]).T
    value = min(max(mean.value, mean.low), mean.high)
    return Estimate(
        value,
        float(np.sqrt(np.mean(np.square(of_items)))),
        method=mean.residuals.method,
        note=f"{note}; uncertainty from {draws} bootstrap draws" if note else f"from {draws} bootstrap draws",
        interval=partial(less_error, value, of_items, mean.low, mean.high),
        total_interval=partial(less_error, value, of_population, mean.low, mean.high),
    )


def _off_target(mean: MeanOfLoss, data: Measured, rng: np.random.Generator) -> tuple[float, float]:
    """How far the estimate from one repetition falls from what it estimates: in these items, in the population."""
    parts, sd = mean.residuals, np.sqrt(data.label_variance)
    known = np.flatnonzero(~parts.fitted)
    true = rng.choice(parts.fit.grid, len(sd), p=parts.fit.weights / parts.fit.weights.sum())
    if parts.trend is not None:
        centre, scale = parts.trend.at(np.where(parts.fitted, sd, 1.0))
        true = centre + scale * true
    true[known] = data.residual[rng.choice(known, len(known))] if len(known) else 0.0
    labels = Measured(true + sd * rng.standard_normal(len(sd)), np.zeros(len(sd)), Normal.trusted(sd), data.weight)
    estimate = MeanOfLoss(true_residuals(labels) or parts, mean.loss).value
    drawn = float(data.shares @ mean.loss(true, np.zeros(len(sd))))
    return estimate - drawn, math.sqrt(parts.clustering) * (estimate - mean.value)
