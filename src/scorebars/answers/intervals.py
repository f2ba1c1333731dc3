"""Ways to turn an estimate into an interval at any level: small objects and `partial` functions, which can be pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betaln, gammaln, log_ndtr, ndtri, ndtri_exp, stdtr, stdtrit

from scorebars.answers.score import ONE_SIGMA, Declaration, Interval
from scorebars.arrays import FloatArray
from scorebars.laws.law import Law

IntervalAt = Callable[[float], Interval]
_FAR = 1e6
LEAST_SKEWNESS = 5.0
"""Skewness of a mean of squares in units of its relative standard error: 2 for normal residuals, 3 for Laplace ones,
but few groups show less of it. With 5 the intervals of both hold (tests/statistical/shapes.csv)."""
_LEAST_OF_SCORES = 2.3
"""Of a mean of scores of forecasts, in units of its relative standard error: 2.7 for normal forecasts that are right and alike,
2.3 where their spreads differ by a factor of three. Few scores show less than there is."""
SKEW_LABELS = 10_000
"""The mean of more labels is not skew."""


def half_width_in_std(level: float, df: float = math.inf) -> float:
    """How many standard deviations an interval at this level reaches to either side; Student's if df is finite."""
    tail = (1.0 + level) / 2
    return float(ndtri(tail) if math.isinf(df) else stdtrit(df, tail))


def kept_between(low: float, high: float, least: float, most: float) -> Interval:
    """The interval inside the range from `least` to `most`, or the end of the range next to it."""
    return Interval(*(float(min(max(end, least), most)) for end in (low, high)))


def leaning_quantiles(quantile: float, skewness: float) -> tuple[float, float]:
    """How many standard errors an interval about a mean of this skewness reaches below and above it: at least `quantile`.

    With t = (estimate - value)/standard error, t + g t^2/3 + g^2 t^3/27 + g/6 is free of the skewness g to first order: by the
    Edgeworth expansion of t, made to increase with t (docs/theory/new-test-sets.md). A mean of few skew terms is small together
    with its standard error, so that the end on the side of the skewness lies farther out. The other one, which would come
    closer, stays: few terms seldom show all of the skewness.
    """
    if abs(skewness) < 1e-9:
        return quantile, quantile
    below, above = (
        3.0 / skewness * (np.cbrt(1.0 + skewness * (q - skewness / 6)) - 1.0) for q in (quantile, -quantile)
    )
    return max(quantile, float(below)), max(quantile, -float(above))


def around_both(one: IntervalAt, other: IntervalAt, level: float) -> Interval:
    """The shortest interval that holds two others."""
    (low, high), (lower, higher) = one(level), other(level)
    return Interval(min(low, lower), max(high, higher))


@dataclass(frozen=True)
class Symmetric:
    """value -+ quantile * std, kept inside the metric's range; Student's quantile if df is finite.

    With a skewness of the estimate in `lean` one end lies farther out (`leaning_quantiles`).

    An unbiased estimate may fall outside the range, say below `low`. The interval then begins at `low`. It ends at the u
    for which an estimate as small as this one is (1 - level) times as probable as for `low`:
    P(estimate | u) = (1 - level) P(estimate | low). So it is never empty, and for value = low it ends as usual.
    """

    value: float
    std: float
    low: float = -math.inf
    high: float = math.inf
    df: float = math.inf
    lean: float = field(default=0.0, kw_only=True)

    def __call__(self, level: float) -> Interval:
        if not math.isfinite(self.std):
            return Interval(self.low, self.high)
        down, up = leaning_quantiles(half_width_in_std(level, self.df), self.lean)
        below, above = self.value - down * self.std, self.value + up * self.std
        if self.value < self.low:
            above = self.low + self._room(self.low - self.value, level)
        elif self.value > self.high:
            below = self.high - self._room(self.value - self.high, level)
        return kept_between(below, above, self.low, self.high)

    def _room(self, outside: float, level: float) -> float:
        """How far the interval reaches into the range, for an estimate `outside` by this much."""
        if self.std == 0:
            return 0.0
        gap = outside / self.std
        if math.isfinite(self.df) and (chance := float(stdtr(self.df, -gap))) > 0:
            return -float(stdtrit(self.df, (1.0 - level) * chance)) * self.std - outside
        if gap > _FAR:  # the difference of two large numbers is lost, but its limit is known
            return -math.log1p(-level) * self.std / gap
        return -float(ndtri_exp(math.log1p(-level) + float(log_ndtr(-gap)))) * self.std - outside


@dataclass(frozen=True)
class Skewed(Symmetric):
    """The interval of a mean of squares, symmetric on the scale of its logarithm: means of few squares are skew.

    `noise` was taken off for label errors: value + noise is the mean of squares that was seen. Few groups of items with a small
    mean also show a small standard error, and the logarithm undoes only part of that. With s the relative standard error and
    g the skewness of the mean, (log mean - log expected)/s has the mean (s - g)/2 and the skewness 3 s - 2 g. So by Cornish
    and Fisher the upper end moves out by (g - s)/2 + (2 g - 3 s)(z^2 - 1)/6 standard errors, for the next test set by
    (g - 2 s) z^2/2. The lower end would come closer; it stays.
    """

    noise: float = 0.0
    skewness: float | None = None
    """Skewness of the mean of squares over test sets, as far as few groups show it; None: not corrected for."""
    sets: float = 1.0
    """How many test sets scatter in `std`: two for the next one seen from this one."""
    least: float = LEAST_SKEWNESS
    """The skewness is taken to be at least this, in units of the relative standard error."""
    apart: float = 0.0
    """The part of `std` that the squares themselves do not show: label errors of different size, such as a single huge one."""

    def __call__(self, level: float) -> Interval:
        seen = self.value + self.noise
        if not (math.isfinite(self.std) and seen > 0):
            return super().__call__(level)
        z = half_width_in_std(level, self.df)
        far, apart = z * math.sqrt(max(self.std**2 - self.apart**2, 0.0)), z * self.apart
        low = seen * math.exp(-far / seen) - self.noise
        high = above_skew_mean(self.value, far, seen, self._lean(seen, half_width_in_std(level)))
        if apart:
            low = self.value - math.hypot(self.value - low, apart)
            high = self.value + math.hypot(high - self.value, apart)
        if self.value < self.low:  # as unlikely an estimate as this one leaves room above `low`
            high = max(high, super().__call__(level).high)
        return kept_between(low, high, self.low, self.high)

    def _lean(self, seen: float, z: float) -> float:
        """How much farther out the upper end lies on the scale of the logarithm."""
        if self.skewness is None:
            return 0.0
        s = math.sqrt(max(self.std**2 - self.apart**2, 0.0) / self.sets) / seen
        g = max(self.skewness, self.least * s)
        return s * (g - 2.0 * s) * z * z / 2 if self.sets > 1 else lean_of_log(s, g, z)


@dataclass(frozen=True)
class SkewMean:
    """The mean of positive scores as observed, which is skew over test sets."""

    seen: float
    third: float
    """Its third central moment."""

    @classmethod
    def of(cls, scores: FloatArray, shares: FloatArray) -> SkewMean | None:
        """From the scores of independent labels; None where they are so many, or so good, that nothing is to be corrected."""
        mean = float(shares @ scores)
        if not (len(scores) <= SKEW_LABELS and 0 < mean < math.inf):
            return None
        away = shares * (scores - mean)
        return cls(mean, max(float(np.sum(away**3)), _LEAST_OF_SCORES * float(np.sum(away**2)) ** 2 / mean))


def above_skew_mean(value: float, far: float, seen: float, lean: float) -> float:
    """The upper end of a mean that is `far` from it on the scale of the logarithm of the mean `seen`, and leans further."""
    return value + seen * math.expm1(min(far / seen + lean, 700.0))


def lean_of_log(s: float, g: float, z: float) -> float:
    """How much farther out the upper end of a mean of relative standard error s and skewness g lies, as a logarithm."""
    return s * max((g - s) / 2 + (2.0 * g - 3.0 * s) * (z * z - 1.0) / 6, 0.0)


@dataclass(frozen=True)
class ScoreInterval:
    """All values x that the estimate does not contradict: (estimate - x)^2 <= z^2 V(x).

    V(x) = fixed + curve (x - low)(high - x), or fixed + curve (x - low) where the range has no upper end. With fixed = 0
    and curve = 1/n this is Wilson's interval of a share. `fixed` is variance that does not depend on x, such as that of
    wrong labels. An estimate outside the range counts as the end next to it, so the interval is never empty. That end is
    closer to every possible x, so the interval holds x at least as often.
    """

    value: float
    fixed: float
    curve: float
    low: float
    high: float
    df: float = math.inf
    lean: float = field(default=0.0, kw_only=True)
    """Skewness of the estimate; where it is more than V(x) allows for, the end on its side lies as far out as it asks for."""

    def __call__(self, level: float) -> Interval:
        z = half_width_in_std(level, self.df)
        if not self.low < self.high:
            return Interval(self.low, self.high)
        width, bent = (self.high - self.low, 1.0) if math.isfinite(self.high) else (1.0, 0.0)
        most = 1.0 if bent else math.inf
        x = min(max((self.value - self.low) / width, 0.0), most)
        fixed, curve = z * z * self.fixed / width**2, z * z * self.curve
        if not math.isfinite(fixed + curve):
            return Interval(self.low, self.high)
        reach = math.sqrt(max(curve * (x * (1.0 - bent * x) + curve / 4) + fixed * (1.0 + bent * curve), 0.0))
        ends = ((x + curve / 2 - reach) / (1.0 + bent * curve), (x + curve / 2 + reach) / (1.0 + bent * curve))
        if self.lean:
            down, up = leaning_quantiles(z, self.lean)
            std = math.sqrt(max(self.fixed / width**2 + self.curve * x * (1.0 - bent * x), 0.0))
            ends = (
                min(ends[0], x - down * std) if down > z else ends[0],
                max(ends[1], x + up * std) if up > z else ends[1],
            )
        # rounding must not push the estimate itself out
        low, high = max(min(ends[0], x), 0.0), min(max(ends[1], x), most)
        return Interval(self.low + width * low, self.low + width * high)


@dataclass(frozen=True)
class OfLaw:
    """The central interval of a law, with the estimate in it: the mean of rare large values lies beyond most of them."""

    law: Law
    value: float | None = None
    """The estimate; None where it is the mean of the law."""

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        low, high = float(self.law.ppf(tail)), float(self.law.ppf(1.0 - tail))
        estimate = float(self.law.mean) if self.value is None else self.value
        return Interval(min(low, estimate), max(high, estimate))


@dataclass(frozen=True)
class NextShare:
    """Where a share falls on the next test set: mirrored about the observed one, from the interval of the mean of both."""

    mean: ScoreInterval

    def __call__(self, level: float) -> Interval:
        (low, high), observed = self.mean(level), self.mean.value
        return kept_between(2.0 * low - observed, 2.0 * high - observed, self.mean.low, self.mean.high)


def next_share(
    observed: float, curve: float, declaration: Declaration, shared_variance: float = 0.0, df: float = math.inf
) -> NextShare:
    """Where a share falls on the next test set: all values that do not differ too much from the observed one.

    Both shares scatter about one population value, and their mean x is the best guess of it:
    (next - observed)^2 <= z^2 2 V(x), V(x) = shared_variance + curve (x - low)(high - x). In terms of the mean that is the
    score interval with V/2 in place of V, and next = 2 x - observed. Unlike a variance taken from the observed share it
    does not vanish where all items are right (docs/theory/new-test-sets.md).

    `curve` is one over the number of items that the share is taken of; `shared_variance` what errors common to all
    labels add.
    """
    return NextShare(ScoreInterval(observed, shared_variance / 2, curve / 2, declaration.low, declaration.high, df))


def next_order_statistic(ordered: FloatArray, k: float, level: float) -> tuple[float, float]:
    """Where the k-th smallest of the next n values falls among the n of this test set; a fraction k lies between two.

    Two test sets of n items from one population are exchangeable, whatever the distribution of their errors. The number of
    items of this set that lie below the k-th smallest of the next follows the beta-binomial law BB(n, k, n + 1 - k), so
    that items of this set bound it. Nothing bounds the largest of the next set from above: it exceeds the largest of this
    one with probability 1/2, by an amount that no item shows.
    """
    n = ordered.size
    if k >= n:  # all of the risk is on the lower side
        return _next_above(ordered, k, 1.0 - level), math.inf
    tail = (1.0 - level) / 2
    return _next_above(ordered, k, tail), -_next_above(-ordered[::-1], n + 1.0 - k, tail)


def _next_above(values: FloatArray, k: float, tail: float) -> float:
    """The value that the k-th smallest of the next set falls below with this probability, between two items."""
    n = values.size
    j = np.arange(n + 1.0)
    log = gammaln(n + 1.0) - gammaln(j + 1.0) - gammaln(n - j + 1.0) + betaln(j + k, 2.0 * n + 1.0 - j - k)
    below = np.cumsum(np.exp(log - betaln(k, n + 1.0 - k)))
    ends = np.concatenate([[-np.inf], values])
    first = int(np.searchsorted(below, tail, side="right"))  # below[first - 1] <= tail < below[first]
    if first == 0 or first > n - 1:
        return -math.inf if first == 0 else float(values[-1])
    share = (tail - below[first - 1]) / (below[first] - below[first - 1])
    return float(ends[first] + share * (ends[first + 1] - ends[first]))


def less_error(value: float, errors: FloatArray, low: float, high: float, level: float) -> Interval:
    """value - error, for errors between their quantiles; always with the value, kept in the range."""
    most, least = np.quantile(errors, [(1.0 + level) / 2, (1.0 - level) / 2])
    return kept_between(value - max(most, 0.0), value - min(least, 0.0), low, high)


def std_of(interval: IntervalAt, value: float) -> float:
    """The standard error of a value of at least 0: half of its interval at one standard deviation; of 0 all of it."""
    low, high = interval(ONE_SIGMA)
    return high if value == 0 else (high - low) / 2


def root_of(squared: IntervalAt, level: float) -> Interval:
    """The interval of the root from that of the square."""
    low, high = squared(level)
    return Interval(math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0)))


def affine(inner: IntervalAt, factors: tuple[float, ...], shift: float, level: float) -> Interval:
    """An interval of x carried over to shift + x * (each of the factors).

    They are multiplied one after the other: their product may leave the doubles where the ends do not.
    """
    low, high = sorted(shift + times(end, factors) for end in inner(level))
    return Interval(low, high)


def times(value: float, factors: tuple[float, ...]) -> float:
    """value times each of the factors; 0 stays 0 where a factor is larger than the largest double."""
    for factor in factors:
        value = value * factor if value else 0.0
    return value
