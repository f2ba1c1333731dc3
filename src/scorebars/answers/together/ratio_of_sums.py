"""Metrics that are functions of two sums of labels: estimates at any noise level, and intervals that hold.

Both sums and their covariances come from `moments.label_noise` (labels move) or from the scatter of the items (the test
set is a sample). Against the truth the lower sum may be poorly known, so that the ratio is far from normal. Its interval
is the set of all values r that the two sums do not contradict (Fieller's theorem): with X - rho Y of mean 0 for the true
ratio rho,

    (X - rho Y)^2 <= z^2 Var(X - rho Y),      the variance evaluated at rho.

For Pearson's correlation, X / sqrt(Y), the pairs (r b, b^2), b > 0, take the place of the straight line. Where the lower
sum could be zero the set is unbounded, and the interval ends at the end of the metric's range.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.special import gammaincinv

from scorebars.answers.base import PERFECT_NOTE
from scorebars.answers.intervals import half_width_in_std, kept_between
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.engines.store import Store
from scorebars.errors import MeasurementError
from scorebars.measured import Measured
from scorebars.moments.label_noise import LabelNoise, QuadraticSums, RatioKind, SumPair, positive

_POINTS = 200
NOTHING_LEFT = (
    "the labels scatter no more than their errors alone would make them: nothing shows how far the true values differ, "
    "which the score is divided by. More precise labels, or more of them, would show it."
)
NOTHING_PREDICTED = (
    "the predictions scatter no more than their errors alone would make them: nothing shows how far those of the converged "
    "model differ. More precise predictions, or more of them, would show it."
)
_OUTSIDE = "outside the metric's range: the label errors are as large as the signal"
_UNBOUNDED = "the interval has no end on one side: the scatter of the true values could be almost zero"


def degrees_of_squares(n: int) -> float:
    """Degrees of freedom behind the scatter of n squares: these have long tails, so their scatter is known less well.

    For squares of normal values the variance of a sample variance is 7 times that of normal values; a fifth of the usual
    degrees of freedom makes intervals of ratios hold from 30 labels on.
    """
    return max((n - 1) / 5.0, 1.0)


def value_of(kind: RatioKind, x: float, y: float) -> float:
    """1 - x/y, x/y or x/sqrt(y)."""
    return 1.0 - x / y if kind == "lost" else x / y if kind == "ratio" else x / math.sqrt(y)


def slope_of(kind: RatioKind, x: float, y: float) -> FloatArray:
    """Its derivatives by x and y."""
    if kind == "root":
        return np.array([1.0, -0.5 * x / y]) / math.sqrt(y)
    outer = -1.0 if kind == "lost" else 1.0
    return outer * np.array([1.0, -x / y]) / y


@dataclass(frozen=True, eq=False)
class TwoSums:
    """Estimates of both sums with their covariance."""

    kind: RatioKind
    x: float
    y: float
    covariance: FloatArray
    low: float
    high: float
    df: float = math.inf

    @property
    def value(self) -> float:
        """The metric; as in scikit-learn 1 or 0 where nothing varies."""
        if self.y > 0:
            return value_of(self.kind, self.x, self.y)
        if self.kind == "lost":
            return 1.0 if self.x == 0 else 0.0
        return 1.0 if self.kind == "ratio" else 0.0

    @property
    def std(self) -> float:
        """To first order in the scatter of both sums."""
        if self.y <= 0:
            return 0.0
        slope = slope_of(self.kind, self.x, self.y)
        square = float(slope @ self.covariance @ slope)
        return math.sqrt(max(square, 0.0)) if square < math.inf else math.inf

    @property
    def shows_scatter(self) -> bool:
        """Whether the lower sum is at least one standard deviation above zero."""
        return (self.y * self.y >= self.covariance[1, 1] and self.y > 0) or not np.any(self.covariance)

    def unbounded(self) -> bool:
        """Whether the lower sum could be zero, at a level of 95 %."""
        return self.y < half_width_in_std(0.95, self.df) * math.sqrt(self.covariance[1, 1])

    def __call__(self, level: float) -> Interval:
        if not np.all(np.isfinite(self.covariance)):
            return Interval(self.low, self.high)
        if not np.any(self.covariance):
            return kept_between(self.value, self.value, self.low, self.high)
        z = half_width_in_std(level, self.df)
        if self.kind == "root":
            return _not_contradicted(self.x, self.y, self.covariance, z)
        low, high = _fieller(self.x, self.y, self.covariance, z)
        if self.kind == "lost":
            low, high = 1.0 - high, 1.0 - low
        return kept_between(low, high, self.low, self.high)


def _fieller(x: float, y: float, cov: FloatArray, z: float) -> tuple[float, float]:
    """All ratios x/y that lie within z standard deviations: the part on the side of the estimate."""
    a = y * y - z * z * cov[1, 1]
    b = x * y - z * z * cov[0, 1]
    c = x * x - z * z * cov[0, 0]
    root = b * b - a * c
    if a > 0:
        reach = math.sqrt(max(root, 0.0))
        return (b - reach) / a, (b + reach) / a
    if root <= 0 or a == 0:
        return -math.inf, math.inf
    first, second = sorted(((b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a))
    return (second, math.inf) if x / y >= second else (-math.inf, first)


def _not_contradicted(x: float, y: float, cov: FloatArray, z: float) -> Interval:
    """All r in [-1, 1] for which some b > 0 brings (r b, b^2) within z standard deviations of (x, y)."""
    spread = math.sqrt(cov[1, 1])
    if spread == 0:
        reach = z * math.sqrt(cov[0, 0])
        return kept_between((x - reach) / math.sqrt(y), (x + reach) / math.sqrt(y), -1.0, 1.0)
    b2 = np.maximum(y + np.linspace(-z, z, _POINTS) * spread, 0.0)
    off = (y - b2) / spread
    b, pull = np.sqrt(b2), cov[0, 1] / spread
    own = math.sqrt(max(cov[0, 0] - pull * pull, 1e-12 * cov[0, 0]))
    room = own * np.sqrt(np.maximum(z * z - np.square(off), 0.0))
    # x - pull * off - r b lies within -room and room for some b
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(b > 0, (x - pull * off - room) / b, np.where(x - pull * off <= room, -np.inf, np.inf))
        high = np.where(b > 0, (x - pull * off + room) / b, np.where(x - pull * off >= -room, np.inf, -np.inf))
    return kept_between(float(np.min(low)), float(np.max(high)), -1.0, 1.0)


# where a metric is closest to normal: Fisher's z = atanh(r) of correlations, log(1 - R2) of a share explained


def onto_scale(kind: RatioKind | None, value: float) -> float:
    """Where the metric is closest to normal; itself where no such scale is known."""
    if kind == "ratio":
        return math.atanh(min(max(value, -1.0 + 1e-6), 1.0 - 1e-6))
    return math.log(max(1.0 - value, 1e-12)) if kind == "lost" else value


def pace_on_scale(kind: RatioKind | None, value: float) -> float:
    """How far the metric moves for a unit on that scale."""
    return 1.0 - value * value if kind == "ratio" else abs(1.0 - value) if kind == "lost" else 1.0


def on_its_scale(
    kind: RatioKind, value: float, std: float, limits: tuple[float, float], df: float, level: float
) -> Interval:
    """An interval of a metric that is symmetric where the metric is closest to normal."""
    if not math.isfinite(std):
        return Interval(*limits)
    reach, lost = half_width_in_std(level, df) * std, 1.0 - value
    if lost <= 0 or (kind != "lost" and value <= -1):
        return kept_between(value - reach, value + reach, *limits)
    if kind == "lost":
        factor = math.exp(min(reach / lost, 700.0))
        return kept_between(1.0 - lost * factor, 1.0 - lost / factor, *limits)
    z, step = math.atanh(value), reach / (1.0 - value * value)
    return Interval(math.tanh(z - step), math.tanh(z + step))


class RatioOfSums(ABC):
    """One metric of this kind on one data set of n labels, with a range from `low` to `high`."""

    kind: RatioKind
    _seen: FloatArray
    """X and Y of the labels at hand."""

    def __init__(self, n: int, low: float, high: float) -> None:
        self._n, self._limits = n, (low, high)

    @abstractmethod
    def _against_truth(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Both sums against the truth, and their covariance as the labels tell it and as the items tell it."""

    @abstractmethod
    def _fresh(self, repeats: float) -> tuple[FloatArray, FloatArray]:
        """Both sums on fresh means of `repeats`, and the covariance of how far they will be from these."""

    @abstractmethod
    def _label_covariance(self) -> FloatArray:
        """If the labels at hand were measured again."""

    @abstractmethod
    def _item_covariance(self) -> FloatArray:
        """Over test sets, label errors included."""

    @abstractmethod
    def _of_perfect(self) -> tuple[float, float]:
        """What the labels' own errors add to X for a perfect model: mean and variance."""

    def _two(self, sums: FloatArray, covariance: FloatArray, df: float = math.inf) -> TwoSums:
        return TwoSums(self.kind, float(sums[0]), float(sums[1]), covariance, *self._limits, df)

    @property
    def observed(self) -> float:
        """The classical metric."""
        return self._two(self._seen, np.zeros((2, 2))).value

    @property
    def item_std(self) -> float:
        """Standard error of the classical metric over test sets."""
        return self._two(self._seen, self._item_covariance()).std

    @property
    def label_std(self) -> float:
        """Standard deviation of the classical metric if the labels at hand were measured once more."""
        return self._two(self._seen, self._label_covariance()).std

    def shows_scatter(self) -> bool:
        """Whether the labels scatter more than their errors make them."""
        return self._two(*self._against_truth()[:2]).shows_scatter

    def truth(self) -> Estimate:
        """The metric against the truth, from the corrected sums."""
        sums, labels, items = self._against_truth()
        found = self._two(sums, labels)
        if not found.shows_scatter:
            raise UndefinedEstimate(NOTHING_LEFT)
        value, inside = found.value, found.low <= found.value <= found.high
        note = "; ".join(([] if inside else [_OUTSIDE]) + ([_UNBOUNDED] if found.unbounded() else []))
        total = self._two(sums, items, degrees_of_squares(self._n))
        return Estimate(value, found.std, method="corrected sums", note=note, interval=found, total_interval=total)

    def remeasured(self, observed: float, repeats: float) -> Estimate:
        """The classical metric on fresh means of `repeats`."""
        found = self._two(*self._fresh(repeats))
        if found.y <= 0:
            raise UndefinedEstimate(NOTHING_LEFT)
        interval = partial(on_its_scale, self.kind, found.value, found.std, self._limits, math.inf)
        return Estimate(found.value, found.std, method="corrected sums", interval=interval)

    def perfect(self) -> Estimate:
        """1 - X/Y of a perfect model: X is made by the label errors alone, Y is what the labels show."""
        (mean, variance), total = self._of_perfect(), float(self._seen[1])
        value, std = (1.0 - mean / total, math.sqrt(variance) / total) if total > 0 else (0.0, 0.0)
        interval = partial(_lost_to_noise, value, mean, variance, total)
        return Estimate(value, std, method="corrected sums", note=PERFECT_NOTE, interval=interval)


def _lost_to_noise(value: float, mean: float, variance: float, total: float, level: float) -> Interval:
    """X is a sum of squares, close to a gamma law of the same mean and variance."""
    if total > 0 and math.isinf(variance):
        return Interval(-math.inf, 1.0)
    shape = mean * mean / variance if total > 0 and variance > 0 else 0.0
    if not shape > 0:  # errors that all labels share are nothing to a score about the mean
        return Interval(value, value)
    tail = (1.0 - level) / 2
    most, least = (float(gammaincinv(shape, q)) * mean / shape for q in (1.0 - tail, tail))
    # the mean of a very skew law may lie outside
    return Interval(min(1.0 - most / total, value), max(1.0 - least / total, value))


class RatioOfLabels(RatioOfSums):
    """From the labels themselves."""

    def __init__(self, pair: SumPair, data: Measured, low: float, high: float) -> None:
        self.pair, self.kind, self._errors = pair, pair.kind, data.errors
        self._y, self._p = data.labels, data.predictions
        self._w = np.ones(data.n) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
        super().__init__(max(int(np.count_nonzero(self._w)), 2), low, high)
        self._seen = pair.sums(self._y, self._p, self._w)

    @cached_property
    def _noise(self) -> LabelNoise:
        return finite_noise(self._errors, self._y)

    @cached_property
    def _label(self) -> FloatArray:
        return np.asarray(self._errors.unbiased_label(self._y))

    def _against_truth(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        t, p, w, noise = self._label, self._p, self._w, self._noise
        quadratic = self.pair.quadratic(t, p, w)
        scatter = self._with_common(self.pair.scatter(t, p, w, noise.total), quadratic)
        return self.pair.sums(t, p, w) - noise.added(quadratic), noise.covariance(quadratic), scatter

    def _with_common(self, scatter: FloatArray, quadratic: QuadraticSums) -> FloatArray:
        return positive(scatter + self._noise.in_common(quadratic) * (self._n / (self._n - 1)))

    @cached_property
    def _at_labels(self) -> LabelNoise:
        """Errors of the labels themselves; those of a multiplicative family differ from those of the corrected ones."""
        with np.errstate(invalid="ignore", divide="ignore"):
            stretch = np.sqrt(self._errors.variance(self._y) / self._errors.variance(self._label))
        return self._noise.scaled(np.where(np.isfinite(stretch) & (stretch > 0), stretch, 1.0))

    @cached_property
    def _quadratic(self) -> QuadraticSums:
        return self.pair.quadratic(self._y, self._p, self._w)

    def _item_covariance(self) -> FloatArray:
        scatter = self.pair.scatter(self._y, self._p, self._w, 0.0)
        return scatter if self._errors.independent else self._with_common(scatter, self._quadratic)

    def influences(self) -> FloatArray:
        """How much each item moves the classical metric, to first order."""
        if self._seen[1] <= 0:
            return np.zeros_like(self._y)
        terms = self.pair.parts(self._y, self._p, self._w)[2]
        terms = terms - self._w * (terms.sum(axis=1) / self._w.sum())[:, None]
        return np.asarray(slope_of(self.kind, *map(float, self._seen)) @ terms)

    def _label_covariance(self) -> FloatArray:
        return self._at_labels.covariance(self._quadratic)

    def _fresh(self, repeats: float) -> tuple[FloatArray, FloatArray]:
        quadratic, old, normal = self._quadratic, self._at_labels, self._errors.normal
        new = old.averaged(repeats) if normal is None else LabelNoise.normal(normal.averaged(repeats), self._y)
        both = old.covariance(quadratic) + new.covariance(quadratic, old)
        return self._seen - old.added(quadratic) + new.added(quadratic), both

    def _of_perfect(self) -> tuple[float, float]:
        off = self._errors.mean(self._y) - self._y
        quadratic = self.pair.quadratic(off, np.zeros_like(off), self._w)
        x = float(self._at_labels.added(quadratic)[0]) + self.pair.sums(off, np.zeros_like(off), self._w)[0]
        return x, float(self._at_labels.at_truth().covariance(quadratic)[0, 0])


class RatioOfBoth(RatioOfLabels):
    """From labels and predictions that both err. On fresh labels the predictions are the same: that is asked of labels alone.

    Against the truth the errors of both are taken off: sum w (t - p)^2 loses those of labels and predictions, the scatter of
    the labels only theirs. Pearson's correlation is X / sqrt(Y P) with P the scatter of the predictions, which loses theirs.
    """

    def __init__(self, pair: SumPair, data: Measured, low: float, high: float) -> None:
        super().__init__(pair, data.of_labels(), low, high)
        predicted = data.errors.of_predictions()
        assert predicted is not None
        self._predicted = LabelNoise.normal(predicted, self._p)

    def _against_truth(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        labels, predictions = self._noise, self._predicted
        sums = self.pair.with_predictions(self._label, self._p, self._w)
        scatter = sums.scatter(labels, predictions) + sums.in_common(labels) * (self._n / (self._n - 1))
        values, covariance = sums.values - sums.added(labels, predictions), sums.covariance(labels, predictions)
        if len(values) == 3 and values[2] <= math.sqrt(covariance[2, 2]) > 0:
            raise UndefinedEstimate(NOTHING_PREDICTED)
        return *_as_two(values, covariance), positive(_as_two(values, scatter)[1])

    @property
    def label_std(self) -> float:
        sums = self.pair.with_predictions(self._y, self._p, self._w)
        return self._two(*_as_two(sums.values, sums.covariance(self._at_labels, self._predicted))).std


def _as_two(values: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two sums as they are; of X, Y and P these: X and Y P, with the variance of a product of independent factors."""
    if len(values) == 2:
        return values, covariance
    x, y, p = values
    slope = np.array([[1.0, 0.0, 0.0], [0.0, p, y]])
    both = slope @ covariance @ slope.T
    both[1, 1] += covariance[1, 1] * covariance[2, 2]
    return np.array([x, y * p]), both


def finite_noise(errors: MeasurementError, y: FloatArray) -> LabelNoise:
    """The errors of these labels; refused where they have no finite variance."""
    noise = LabelNoise.of(errors, y)
    if not np.all(np.isfinite(noise.total)):
        raise UndefinedEstimate(
            f"{errors!r} errors have no finite variance, so what they add to the score cannot be taken off."
        )
    return noise


class RatioOfSummary(RatioOfSums):
    """R2 and the explained variance of labels that were summed up, with independent normal errors.

    Both are 1 - X/Y with Y = sum w (y - mean)^2 and X = sum w (d - m)^2, where d = p - y and m is 0 for R2, the mean of d
    for the explained variance (`centred`). All that is asked for are sums over the labels.
    """

    kind: RatioKind = "lost"

    def __init__(self, centred: bool, summary: Store, low: float, high: float) -> None:
        s = summary.sums
        super().__init__(s.n, low, high)
        self.centred, self._summary, self._sums = centred, summary, s
        self._mean, self._offset = s.y1 / s.w, s.d / s.w if centred else 0.0
        lost = max(s.sq - self._offset * s.d, 0.0) if centred else s.sq
        self._seen = np.array([lost, max(s.y2 - self._mean * s.y1, 0.0)])

    def _added(self) -> FloatArray:
        """What label errors add to X and Y on average."""
        s = self._sums
        about_mean = s.var - s.var_w2 / s.w
        return np.array([about_mean if self.centred else s.var, about_mean])

    def _traces(self) -> FloatArray:
        """tr(Q S Q S) of X and Y; with unequal weights the small part that comes from the mean is rounded."""
        s = self._sums
        once, twice = s.var2_w2 / s.n, (s.var_w2 / s.w) ** 2
        both, one, none = s.var2_w2 - 2.0 * once + twice, s.var2_w2 - once, s.var2_w2
        return np.array([[both, both], [both, both]]) if self.centred else np.array([[none, one], [one, both]])

    def _label_covariance(self, fresh: float = 1.0) -> FloatArray:
        """Covariance of X and Y under errors of `fresh` times the variance of those in the labels."""
        s, c, m = self._sums, self._mean, self._offset
        dd = s.sqvar_w2 - 2.0 * m * s.d_var_w2 + m * m * s.var_w2
        dy = s.y_d_var_w2 - c * s.d_var_w2 - m * (s.y_var_w2 - c * s.var_w2)
        yy = s.y2_var_w2 - 2.0 * c * s.y_var_w2 + c * c * s.var_w2
        trace, sloped = self._traces(), 4.0 * np.array([[dd, -dy], [-dy, yy]])  # with half the slopes at the labels
        return 2.0 * fresh * fresh * trace + positive(fresh * (sloped - 4.0 * trace))

    def _item_covariance(self, corrected: bool = False) -> FloatArray:
        """Covariance over test sets of the classical sums, or of the corrected ones."""
        assert self._summary.gram is not None
        s, c, m = self._sums, self._mean, self._offset
        products = np.zeros((6, 6))
        products[:5, :5] = self._summary.gram
        products[5, :] = products[:, 5] = [s.var_w2, s.d_var_w2, s.y_var_w2, s.sqvar_w2, s.y2_var_w2, s.var2_w2]
        off = 1.0 if corrected else 0.0
        rows = np.array([[m * m, -2.0 * m, 0.0, 1.0, 0.0, -off], [c * c, 0.0, -2.0 * c, 0.0, 1.0, -off]])
        rows[:, 0] -= (self._seen - off * s.var) / s.w  # about the mean of the items
        return np.asarray(rows @ products @ rows.T * (s.n / max(s.n - 1, 1)))

    def _against_truth(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._seen - self._added(), self._label_covariance(), self._item_covariance(corrected=True)

    def _fresh(self, repeats: float) -> tuple[FloatArray, FloatArray]:
        both = self._label_covariance() + self._label_covariance(1.0 / repeats)
        return self._seen + (1.0 / repeats - 1.0) * self._added(), both

    def _of_perfect(self) -> tuple[float, float]:
        return float(self._added()[0]), 2.0 * float(self._traces()[0, 0])
