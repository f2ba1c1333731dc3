"""Answers on labels of which some are limits ("< 0.5", "> 10"): mean losses, the median error, and the order of pairs.

For an error, each limit counts as the allowed value nearest to its prediction. So `observed`, `expected` and the distribution
are those of the plain metric on these values: lower bounds. `bounds` goes from the nearest to the farthest allowed values, and
`truth` comes from the most likely distribution of the true residuals, given numbers and limits; of squares, from a smooth one.

Of an order, only pairs of labels count whose order is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from scorebars.answers.base import Answers, ChangedAnswers, asked_of, of_law
from scorebars.answers.intervals import IntervalAt, Symmetric
from scorebars.answers.score import ONE_SIGMA, Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.answers.truth.limited_residuals import (
    FEWEST_NUMBERS,
    limited_residuals,
    mean_of_limited_loss,
    two_halves,
)
from scorebars.answers.truth.true_median import MedianOfResiduals
from scorebars.answers.truth.true_order import share_ordered_rightly
from scorebars.answers.truth.true_residuals import MeanOfLoss
from scorebars.arrays import FloatArray
from scorebars.errors import Censored
from scorebars.forecasts import Forecast
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.losses import AbsoluteError, Crps, LogScore, Loss, SignedError
from scorebars.measured import Measured
from scorebars.moments.statistics import weighted_median
from scorebars.numerics import FIXED_SEED

_Found = TypeVar("_Found")

CLAIMS_LABEL = (
    "the forecast claims the label, error and all: it says nothing of the true value alone, so there is no score against the "
    "truth. observed is the proper score. If its spread is about the true value, give claims='truth'."
)
_FAR = 1e300
_DIFFER = 2.58
"""Both halves of the labels differ where their mean losses do by this many standard errors (1 % by chance)."""
NEAREST = "each limit at the allowed value nearest to its prediction"
_MOST_LIKELY = "the most likely distribution of the true residuals, given numbers and limits"
_SMOOTH_TAILS = (
    "a smooth distribution of the true residuals that numbers and limits allow, its tails at most exponential"
)
_SMOOTH = (
    "from the most likely distribution of the true residuals, taken as smooth, which takes the model's errors as independent "
    "of the prediction and of being limited"
)
_MOST_ORDERED = 20_000
_COMPARED = 1 << 20
"""Pairs compared at a time."""
_DRAWS, _FEWEST_DRAWS, _PAIRED = 500, 50, 400_000_000
FRESH_LIMITS = (
    "what a new measurement of a limit would give depends on where the limit comes from (another detection limit, another "
    "range of the instrument), which the labels do not tell."
)


class _Nearest(ChangedAnswers):
    """A metric of residuals where some labels are limits; `inner` has the nearest allowed values as labels."""

    def __init__(self, inner: Answers, data: Measured, bound: bool = True) -> None:
        super().__init__(inner)
        self.data, self.limits, self.kind = data, censored(data), "classical"
        self.limits_said = self.limits.said_of_them()
        self._bound = ("an upper bound" if inner.declaration.greater_is_better else "a lower bound") if bound else ""
        """Which bound `observed` is; none for a bias, which the nearest values make too small on both sides."""
        self.observed_is = ", ".join(filter(None, (f"the classical metric with {NEAREST}", self._bound)))

    _item_variance = asked_of("inner._item_variance")
    _label_variance = asked_of("inner._label_variance")
    total_interval = asked_of("inner.total_interval")

    def noise_share(self) -> None:
        """Observed holds less than the whole error, so that no share of it has a meaning."""
        return

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(FRESH_LIMITS)

    def _found(self, found: _Found | None) -> _Found:
        """What the numbers among the labels tell; refuses where they are too few."""
        if found is None:
            raise UndefinedEstimate(too_few_numbers(self.limits))
        return found

    def _note(self, law: str = _MOST_LIKELY) -> str:
        forecast = isinstance(self.data.p, Forecast)
        errors = "the forecasts' errors, in units of their spread," if forecast else "the model's errors"
        return f"{self.limits.said()}: from {law}, which takes {errors} as independent of the prediction and of being limited"

    def warnings(self) -> list[str]:
        return [self._how_limits_count(self.bounds())]

    def _how_limits_count(self, bounds: Interval) -> str:
        word = self._bound.partition(" ")[2]
        only = f"observed and expected are {word}s" if word else "observed and expected are no bounds"
        return (
            f"{self.limits.said()}. Limits count by the allowed value nearest to the prediction: {only}, and the labels allow "
            f"{_between(*bounds)}."
        )


def _between(low: float, high: float) -> str:
    """The values between two ends, in words."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.3g} to {high:.3g}"
    return (
        f"{low:.3g} and more" if math.isfinite(low) else f"{high:.3g} and less" if math.isfinite(high) else "any value"
    )


class LimitedLoss(_Nearest):
    """The mean of a loss of the residual."""

    def __init__(self, inner: Answers, loss: Loss, data: Measured) -> None:
        super().__init__(inner, data, bound=not isinstance(loss, SignedError))
        self.loss = loss

    @classmethod
    def of(cls, family: Callable[[Measured], Answers], loss: Loss, data: Measured) -> LimitedLoss:
        """The answers for checked data; `family` finds those of labels without limits."""
        if not (loss.of_residual or loss.of_forecast):
            raise ValueError(NO_LIMITS.format("a loss that is not one of the residual alone"))
        return cls(family(nearest(data, loss)), loss, data)

    # of the plain metric, which the root of this one asks for
    root_moments = asked_of("inner.root_moments")
    root_exists = asked_of("inner.root_exists")
    _forward = asked_of("inner._forward")

    def bounds(self) -> Interval:
        losses = _losses(self.loss, self.limits, self.data.predictions, best_label(self.loss, self.data.predictions))
        counts = self.data.shares > 0
        share = self.data.shares[counts]
        return Interval(*(float(share @ end[counts]) for end in (losses.min(axis=0), losses.max(axis=0))))

    @cached_property
    def _mean(self) -> MeanOfLoss:
        return self._found(mean_of_limited_loss(self.loss, self.data, *self._range))

    def truth(self) -> Estimate:
        if isinstance(self.data.p, Forecast) and self.data.p.claims == "label":
            raise UndefinedEstimate(CLAIMS_LABEL)
        return super().truth()

    def _truth(self) -> Estimate:
        mean, (low, high) = self._mean, self._range
        near = mean.smooth or self._found(mean_of_limited_loss(self.loss, self.data, low, high, room=False))
        value = min(max(near.value, low), high)
        return Estimate(
            value,
            mean.std,
            method="npmle",
            note=self._note(_MOST_LIKELY if mean.smooth is None else _SMOOTH_TAILS),
            interval=partial(_holding, value, mean.interval),
            total_interval=partial(_holding, value, mean.total_interval),
        )

    def warnings(self) -> list[str]:
        return self.warnings_within(self.bounds())

    def warnings_within(self, bounds: Interval) -> list[str]:
        """Where the labels allow these values of the metric."""
        return [self._how_limits_count(bounds), *self._unlike()]

    def _unlike(self) -> list[str]:
        """Warnings where the residuals of labels with low and with high predictions differ, or with small and large spreads."""
        p = self.data.predictions
        if not isinstance(p, Forecast):
            return self._unlike_by(self.loss, p, "predicts low", "predicts high")
        by_mean = self._unlike_by(AbsoluteError(), p.mean, "predicts low", "predicts high")
        return [*by_mean, *self._unlike_by(AbsoluteError(), p.std, "is sure", "is unsure")]

    def _unlike_by(self, loss: Loss, by: FloatArray, small: str, large: str) -> list[str]:
        halves = two_halves(loss, self.data, by)
        if halves is None:
            return []
        (a, b), spread = halves, 0.0
        for half in halves:
            low, high = half.total_interval(ONE_SIGMA)
            spread = math.hypot(spread, (high - low) / 2)
        if spread == 0 or abs(a.value - b.value) <= _DIFFER * spread:
            return []
        unit = " in units of its spread" if isinstance(self.data.p, Forecast) else ""
        return [
            f"the model errs differently{unit} where it {small} ({a.value:.3g}) and where it {large} ({b.value:.3g}), but the "
            "estimate against the truth takes its errors as alike there. Look at both parts apart."
        ]


class LimitedMedian(_Nearest):
    """The median absolute error: where the share of true residuals within m reaches one half."""

    def bounds(self) -> Interval:
        p, weight = self.data.predictions, self.data.weight
        losses = _losses(AbsoluteError(), self.limits, p, p)
        ends = np.stack([losses.min(axis=0), np.minimum(losses.max(axis=0), _FAR)])
        low, high = weighted_median(ends, weight)
        return Interval(float(low), math.inf if high >= _FAR / 2 else float(high))

    def _truth(self) -> Estimate:
        typical = float(np.median(np.broadcast_to(self.limits.sigma, (self.n,))))
        near, far = (self._found(limited_residuals(self.data, room=room)) for room in (False, True))
        value = MedianOfResiduals(near, typical).value
        return MedianOfResiduals(far, typical).estimate(value, self._note())


def _holding(value: float, interval: IntervalAt, level: float) -> Interval:
    """The interval, reaching as far as the estimate."""
    low, high = interval(level)
    return Interval(min(low, value), max(high, value))


class LimitedOrder(Answers):
    """How well predictions order the pairs of labels whose order is known: Kendall's tau, or the concordance index."""

    def __init__(self, declaration: Declaration, data: Measured, of_pairs: OfPairs) -> None:
        self.declaration, self.data, self.limits, self._of_pairs = declaration, data, censored(data), of_pairs
        self.n, self.kind, self.limits_said = data.n, "classical", self.limits.said_of_them()
        self.observed_is = "the classical metric of the pairs whose order is known"
        if data.n > _MOST_ORDERED:
            raise ValueError(
                f"{declaration.name} compares all pairs of labels where some are limits, and {data.n} labels have too many "
                f"({_MOST_ORDERED} is the most). Take a sample of them."
            )
        self._pairs = KnownPairs.of(self.limits.lower, self.limits.upper, data.predictions)
        if not self._pairs.known:
            raise ValueError(
                f"{declaration.name} needs pairs of labels whose order is known, and the limits leave none."
            )
        self.observed = of_pairs(self._pairs.total)
        self.expected = float(self._law.mean)

    @property
    def std(self) -> float:
        return float(self._law.std)

    @cached_property
    def _law(self) -> Law:
        """The distribution if numbers are redrawn from their error bars and limits stay."""
        labels, own = self.limits, self.limits.of_numbers
        if own.error_free(labels.labels()):
            return NormalLaw(self.observed, 0.0)
        rng, limit = np.random.default_rng(FIXED_SEED), labels.limits
        draws = own.sample(labels.labels(), int(min(_DRAWS, max(_PAIRED // self.n**2, _FEWEST_DRAWS))), rng)
        values = []
        for row in draws:
            low, high = (np.where(limit, end, row) for end in (labels.lower, labels.upper))
            found = KnownPairs.of(low, high, self.data.predictions)
            values.append(self._of_pairs(found.total) if found.known else self.observed)
        return SampleLaw(np.array(values)) if np.ptp(values) > 0 else NormalLaw(values[0], 0.0)

    def law(self) -> Law:
        return self._law

    def influences(self) -> FloatArray:
        """By leaving out one label after the other."""
        without = np.array([self._of_pairs(row) for row in self._pairs.total - self._pairs.rows])
        return (self.n - 1) / self.n * (float(np.mean(without)) - without)

    def _item_variance(self) -> float:
        return math.inf if self.n < 3 else float(np.sum(np.square(self.influences()))) * self.n / (self.n - 1)

    def bounds(self) -> Interval:
        """All pairs of unknown order taken as ordered wrongly, or rightly: no labels that the limits allow go beyond."""
        right, wrong, tied, _, unknown = self._pairs.total
        ends = [np.array([right + r, wrong + unknown - r, tied, 0.0, 0.0]) for r in (0.0, unknown)]
        return Interval(*(self._of_pairs(end) for end in ends))

    def _truth(self) -> Estimate:
        note = f"{self.limits.said()}: only pairs whose order is known count"
        if self.std == 0:
            total = Symmetric(self.observed, math.sqrt(self._item_variance()), *self._range, self._df)
            exact = Symmetric(self.observed, 0.0)
            return Estimate(self.observed, 0.0, method="exact", note=note, interval=exact, total_interval=total)
        found = share_ordered_rightly(self.data)
        if found is None:
            raise UndefinedEstimate(too_few_numbers(self.limits))
        value, std = self._of_share(found.value), self._of_share(found.std()) - self._of_share(0.0)
        return Estimate(
            value,
            std,
            method="npmle",
            note=f"{note}; {_SMOOTH}",
            interval=partial(self._of_shares, value, found.interval),
            total_interval=partial(self._of_shares, value, found.total_interval),
        )

    def _of_share(self, share: float) -> float:
        """The metric, if this share of the pairs of known order is ordered rightly."""
        right, wrong, tied, same, _ = self._pairs.total
        return self._of_pairs(np.array([share * (right + wrong), (1.0 - share) * (right + wrong), tied, same, 0.0]))

    def _of_shares(self, value: float, shares: IntervalAt, level: float) -> Interval:
        low, high = (self._of_share(end) for end in shares(level))
        return Interval(min(low, value), max(high, value))

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(FRESH_LIMITS)

    def perfect(self) -> Estimate:
        if self.std > 0:
            raise UndefinedEstimate("how a perfect model orders labels with errors and limits is not known.")
        return of_law(NormalLaw(self.declaration.perfect, 0.0))

    def noise_share(self) -> None:
        """Only some of the pairs count, so that no share of the error has a meaning."""
        return

    def warnings(self) -> list[str]:
        right, wrong, tied, same, unknown = self._pairs.total
        share = unknown / (right + wrong + tied + same + unknown)
        return [f"{self.limits.said()}: the order of {share:.0%} of the pairs is unknown, and these do not count."]


OfPairs = Callable[[FloatArray], float]
"""A metric from the numbers of pairs: ordered rightly, wrongly, tied in the predictions, tied in the labels, unknown."""


def tau_of_pairs(pairs: FloatArray) -> float:
    """Kendall's tau-b of the pairs whose order is known."""
    right, wrong, tied, same, _ = pairs
    below = (right + wrong + same) * (right + wrong + tied)
    return float((right - wrong) / math.sqrt(below)) if below > 0 else 0.0


def concordance_of_pairs(pairs: FloatArray) -> float:
    """The share of pairs ordered rightly; predictions that tie are right half of the time."""
    right, wrong, tied, _, _ = pairs
    return float((right + tied / 2) / (right + wrong + tied)) if right + wrong + tied > 0 else 0.5


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """How many pairs are ordered rightly, wrongly, tied in the predictions, tied in the labels, or of unknown order."""

    rows: FloatArray
    """The five counts of each label, (n, 5)."""

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray, p: FloatArray) -> KnownPairs:
        """From the ends of all labels and their predictions."""
        n, number, rows = len(p), low == high, np.empty((len(p), 5))
        step = max(1, _COMPARED // n)
        for k in range(0, n, step):
            some = slice(k, k + step)
            lowest, highest, own = low[some, None], high[some, None], number[some, None]
            same = number & own & (low == lowest)
            order = ((low >= highest) & ~same).astype(np.int8) - ((high <= lowest) & ~same)
            gap = np.sign(p - p[some, None]).astype(np.int8)
            signs = order * gap
            found = (signs > 0, signs < 0, (order != 0) & (gap == 0), same & (gap != 0), (order == 0) & ~same)
            rows[some] = np.stack([np.count_nonzero(one, axis=1) for one in found], axis=1)
            rows[some, 4] -= ~number[some]  # a limit is not compared with itself
        return cls(rows)

    @property
    def total(self) -> FloatArray:
        """The five counts of all labels."""
        return self.rows.sum(axis=0) / 2

    @property
    def known(self) -> bool:
        """Whether the order of any pair is known."""
        return bool(self.total[:3].sum() > 0)


NO_LIMITS = (
    "{} takes no labels that are limits (Censored). Metrics that do: mean_squared_error, root_mean_squared_error, "
    "mean_absolute_error, mean_error, median_absolute_error, mean_pinball_loss, huber_loss, log_cosh_loss, fraction_within, "
    "kendall_correlation, concordance_index, intrinsic_scatter, and the scores of forecasts."
)


def too_few_numbers(limits: Censored) -> str:
    """Why there is no score against the truth."""
    return (
        f"{int((~limits.limits).sum())} of {len(limits.limits)} labels are numbers, and at least {FEWEST_NUMBERS} that differ "
        "are needed to show how the true residuals are distributed. bounds says what the labels allow."
    )


def censored(data: Measured) -> Censored:
    """The limits of the labels."""
    assert isinstance(data.errors, Censored)
    return data.errors


def nearest(data: Measured, loss: Loss | None = None) -> Measured:
    """The same data with each limit replaced by the allowed value nearest to its prediction: that of least loss."""
    labels = censored(data)
    best = data.predictions if loss is None else best_label(loss, data.predictions)
    return data.changed(y=labels.nearest(best), errors=labels.of_numbers)


def best_label(loss: Loss, p: Any) -> FloatArray:
    """The label of least loss for each prediction; losses grow on both sides of it.

    The CRPS is least at the median: its slope is 2 F(y) - 1. Intervals are best hit in their middle.
    """
    if not isinstance(p, Forecast):
        return np.asarray(p)
    if isinstance(loss, LogScore) and loss.terms(p) is None:
        raise ValueError(
            "log_score takes labels that are limits (Censored) with normal forecasts only: where others score least is not "
            "known. crps takes them with every forecast."
        )
    return np.asarray(p.ppf(0.5) if isinstance(loss, Crps) else p.mean)


def _losses(loss: Loss, labels: Censored, p: Any, best: FloatArray) -> FloatArray:
    """Losses of each label at its lower and upper end and at the nearest allowed value, (3, n)."""
    ends = [np.clip(end, -_FAR, _FAR) for end in (labels.lower, labels.upper)]
    with np.errstate(over="ignore"):
        losses = np.stack([loss(value, p) for value in (*ends, labels.nearest(best))])
    return np.where(np.abs(losses) > math.sqrt(_FAR), np.copysign(math.inf, losses), losses)
