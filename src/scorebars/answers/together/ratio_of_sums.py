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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from scorebars.arrays import FloatArray
from scorebars.engines.store import Store
from scorebars.measured import Measured
from scorebars.moments.label_noise import LabelNoise, RatioKind, SumPair, positive, slope_of, value_of
from scorebars.score import Estimate, Interval, UndefinedEstimate

_POINTS = 200
NOTHING_LEFT = (
    "the labels scatter no more than their errors alone would make them: nothing shows how far the true values differ, "
    "which the score is divided by. More precise labels, or more of them, would tell."
)
_OUTSIDE = "outside the metric's range: the label errors are as large as the signal"
UNBOUNDED = "the interval has no end on one side: the scatter of the true values could be almost zero"


def degrees_of_squares(n: int) -> float:
    """Degrees of freedom behind the scatter of n squares: these have long tails, so their scatter is known less well.

    For squares of normal values the variance of a sample variance is 7 times that of normal values; a fifth of the usual
    degrees of freedom makes intervals of ratios hold from 30 labels on.
    """
    return max((n - 1) / 5.0, 1.0)


def half_width_in_std(level: float, df: float) -> float:
    """How many standard deviations an interval at this level reaches to either side; Student's if df is finite."""
    tail = (1.0 + level) / 2
    return float(ndtri(tail) if math.isinf(df) else stdtrit(df, tail))


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

    def unbounded(self, level: float = 0.95) -> bool:
        """Whether the lower sum could be zero at this level."""
        return self.y < half_width_in_std(level, self.df) * math.sqrt(self.covariance[1, 1])

    def __call__(self, level: float) -> Interval:
        if not np.all(np.isfinite(self.covariance)):
            return Interval(self.low, self.high)
        if not np.any(self.covariance):
            return _within(self.value, self.value, self.low, self.high)
        z = half_width_in_std(level, self.df)
        if self.kind == "root":
            return _not_contradicted(self.x, self.y, self.covariance, z)
        low, high = _fieller(self.x, self.y, self.covariance, z)
        if self.kind == "lost":
            low, high = 1.0 - high, 1.0 - low
        return _within(low, high, self.low, self.high)


def _within(low: float, high: float, least: float, most: float) -> Interval:
    return Interval(min(max(low, least), most), max(min(high, most), least))


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
        return _within((x - reach) / math.sqrt(y), (x + reach) / math.sqrt(y), -1.0, 1.0)
    b2 = y + np.linspace(-z, z, _POINTS) * spread
    b2 = np.maximum(b2, 0.0)
    off = (y - b2) / spread
    b, pull = np.sqrt(b2), cov[0, 1] / spread
    own = math.sqrt(max(cov[0, 0] - pull * pull, 1e-12 * cov[0, 0]))
    room = own * np.sqrt(np.maximum(z * z - np.square(off), 0.0))
    # x - pull * off - r b lies within -room and room for some b
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(b > 0, (x - pull * off - room) / b, np.where(x - pull * off <= room, -np.inf, np.inf))
        high = np.where(b > 0, (x - pull * off + room) / b, np.where(x - pull * off >= -room, np.inf, -np.inf))
    return _within(float(np.min(low)), float(np.max(high)), -1.0, 1.0)


@dataclass(frozen=True)
class OnItsScale:
    """An interval of a metric that is symmetric where the metric is closest to normal.

    Fisher's z = atanh(r) for correlations, log(1 - R2) for the share explained.
    """

    kind: RatioKind
    value: float
    std: float
    low: float
    high: float
    df: float = math.inf

    def __call__(self, level: float) -> Interval:
        if not math.isfinite(self.std):
            return Interval(self.low, self.high)
        reach = half_width_in_std(level, self.df) * self.std
        if self.kind == "lost":
            lost = 1.0 - self.value
            if lost <= 0:
                return _within(self.value - reach, self.value + reach, self.low, self.high)
            factor = math.exp(min(reach / lost, 700.0))
            return _within(1.0 - lost * factor, 1.0 - lost / factor, self.low, self.high)
        return fisher(self.value, reach)


def fisher(r: float, reach: float) -> Interval:
    """r -+ reach, carried over to z = atanh(r) and back, so that it stays between -1 and 1."""
    if abs(r) >= 1:
        return _within(r - reach, r + reach, -1.0, 1.0)
    z, step = math.atanh(r), reach / (1.0 - r * r)
    return Interval(math.tanh(z - step), math.tanh(z + step))


class RatioOfSums:
    """One metric of this kind on one data set."""

    def __init__(self, pair: SumPair, data: Measured, low: float, high: float) -> None:
        self.pair, self._errors, self._low, self._high = pair, data.errors, low, high
        self._y, self._p = data.labels, data.predictions
        self._w = np.ones(data.n) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
        self._df = max(int(np.count_nonzero(self._w)) - 1, 1)

    def _two(self, x: float, y: float, covariance: FloatArray, df: float = math.inf) -> TwoSums:
        return TwoSums(self.pair.kind, x, y, covariance, self._low, self._high, df)

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _noise(self) -> LabelNoise:
        noise = LabelNoise.of(self._errors, self._y)
        if not np.all(np.isfinite(noise.total)):
            raise UndefinedEstimate(
                f"{self._errors!r} errors have no finite variance, so what they add to the score cannot be taken off."
            )
        return noise

    @cached_property
    def _label(self) -> FloatArray:
        return np.asarray(self._errors.unbiased_label(self._y))

    def truth(self) -> tuple[TwoSums, TwoSums]:
        """Both sums against the truth, known as well as the labels tell; and as well as the items tell."""
        t, p, w, noise = self._label, self._p, self._w, self._noise
        quadratic = self.pair.quadratic(t, p, w)
        x, y = np.array(self.pair.sums(t, p, w)) - noise.added(quadratic)
        n = self._df + 1
        scatter = positive(self.pair.scatter(t, p, w, noise.total) + noise.in_common(quadratic) * (n / (n - 1)))
        return self._two(x, y, noise.covariance(quadratic)), self._two(x, y, scatter, degrees_of_squares(n))

    def scatter_shown(self) -> bool:
        """Whether the labels scatter more than their errors make them."""
        return self.truth()[0].shows_scatter

    # the classical metric ----------------------------------------------------------------------

    @cached_property
    def _at_labels(self) -> LabelNoise:
        """Errors of the labels themselves; those of a multiplicative family differ from those of the corrected ones."""
        with np.errstate(invalid="ignore", divide="ignore"):
            stretch = np.sqrt(self._errors.variance(self._y) / self._errors.variance(self._label))
        return self._noise.scaled(np.where(np.isfinite(stretch) & (stretch > 0), stretch, 1.0))

    def items(self) -> TwoSums:
        """The classical sums, with their covariance over test sets."""
        y, p, w = self._y, self._p, self._w
        scatter = self.pair.scatter(y, p, w, 0.0)
        if not self._errors.independent:
            n = self._df + 1
            scatter = positive(scatter + self._noise.in_common(self.pair.quadratic(y, p, w)) * (n / (n - 1)))
        return self._two(*self.pair.sums(y, p, w), scatter, self._df)

    def labels(self) -> TwoSums:
        """The classical sums, with their covariance when the labels at hand are measured again."""
        y, p, w = self._y, self._p, self._w
        return self._two(*self.pair.sums(y, p, w), self._at_labels.covariance(self.pair.quadratic(y, p, w)))

    def remeasured(self, repeats: float) -> TwoSums:
        """The classical sums on fresh means of `repeats`, with the covariance of how far they will be from this."""
        y, p, w, seen = self._y, self._p, self._w, self._at_labels
        quadratic = self.pair.quadratic(y, p, w)
        normal = self._errors.normal
        fresh = seen.averaged(repeats) if normal is None else LabelNoise.normal(normal.averaged(repeats), y)
        x_y = np.array(self.pair.sums(y, p, w)) - seen.added(quadratic) + fresh.added(quadratic)
        both = seen.covariance(quadratic) + fresh.covariance(quadratic, seen)
        return self._two(float(x_y[0]), float(x_y[1]), both)

    # a perfect model ---------------------------------------------------------------------------

    def perfect(self) -> tuple[float, float, float]:
        """What the labels' own errors add to X for a perfect model: mean and variance; and the classical Y."""
        y, w, errors = self._y, self._w, self._errors
        off = errors.mean(y) - y
        quadratic = self.pair.quadratic(off, np.zeros_like(off), w)
        noise = self._at_labels
        x = float(noise.added(quadratic)[0]) + self.pair.sums(off, np.zeros_like(off), w)[0]
        spread = float(noise.at_truth().covariance(quadratic)[0, 0])
        return x, spread, self.pair.sums(y, self._p, w)[1]


class RatioOfSummary:
    """The same for R2 and the explained variance of labels that were summed up, with independent normal errors.

    Both are 1 - X/Y with Y = sum w (y - mean)^2 and X = sum w (d - m)^2, where d = p - y and m is 0 for R2, the mean of d
    for the explained variance (`centred`). All that is asked for are sums over the labels.
    """

    def __init__(self, centred: bool, summary: Store, low: float, high: float) -> None:
        s = summary.sums
        self.centred, self._summary, self._sums, self._low, self._high = centred, summary, s, low, high
        self._mean, self._offset = s.y1 / s.w, s.d / s.w if centred else 0.0
        lost = max(s.sq - self._offset * s.d, 0.0) if centred else s.sq
        self._seen = np.array([lost, max(s.y2 - self._mean * s.y1, 0.0)])

    def _two(self, sums: FloatArray, covariance: FloatArray, df: float = math.inf) -> TwoSums:
        return TwoSums("lost", float(sums[0]), float(sums[1]), covariance, self._low, self._high, df)

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

    def _item_covariance(self, corrected: bool) -> FloatArray:
        """Covariance of X and Y over test sets, label errors included; of the corrected sums, or of the classical ones."""
        assert self._summary.gram is not None
        s, c, m = self._sums, self._mean, self._offset
        products = np.zeros((6, 6))
        products[:5, :5] = self._summary.gram
        products[5, :] = products[:, 5] = [s.var_w2, s.d_var_w2, s.y_var_w2, s.sqvar_w2, s.y2_var_w2, s.var2_w2]
        off = 1.0 if corrected else 0.0
        rows = np.array([[m * m, -2.0 * m, 0.0, 1.0, 0.0, -off], [c * c, 0.0, -2.0 * c, 0.0, 1.0, -off]])
        rows[:, 0] -= (self._seen - off * s.var) / s.w  # about the mean of the items
        return np.asarray(rows @ products @ rows.T * (s.n / max(s.n - 1, 1)))

    def truth(self) -> tuple[TwoSums, TwoSums]:
        corrected = self._seen - self._added()
        items = self._two(corrected, self._item_covariance(True), degrees_of_squares(self._sums.n))
        return self._two(corrected, self._label_covariance()), items

    def items(self) -> TwoSums:
        return self._two(self._seen, self._item_covariance(False))

    def labels(self) -> TwoSums:
        return self._two(self._seen, self._label_covariance())

    def remeasured(self, repeats: float) -> TwoSums:
        both = self._label_covariance() + self._label_covariance(1.0 / repeats)
        return self._two(self._seen + (1.0 / repeats - 1.0) * self._added(), both)

    def perfect(self) -> tuple[float, float, float]:
        return float(self._added()[0]), 2.0 * float(self._traces()[0, 0]), float(self._seen[1])


def of_two_sums(labels: TwoSums, items: TwoSums) -> Estimate:
    """The score against the truth, from sums known as well as the labels tell, and as well as the items tell."""
    if not labels.shows_scatter:
        raise UndefinedEstimate(NOTHING_LEFT)
    notes = [] if labels.low <= labels.value <= labels.high else [_OUTSIDE]
    if labels.unbounded():
        notes.append(UNBOUNDED)
    return Estimate(
        labels.value,
        labels.std,
        method="corrected sums",
        note="; ".join(notes),
        interval=labels,
        total_interval=items,
    )


def measured_afresh(found: TwoSums) -> Estimate:
    """The classical metric on fresh labels, with the covariance of how far they will be from these."""
    if found.y <= 0:
        raise UndefinedEstimate(NOTHING_LEFT)
    interval = OnItsScale(found.kind, found.value, found.std, found.low, found.high)
    return Estimate(found.value, found.std, method="corrected sums", interval=interval)


@dataclass(frozen=True)
class LostToNoise:
    """1 - X/Y of a perfect model: X is made by the label errors alone, Y is what the labels show.

    X is a sum of squares, close to a gamma law of the same mean and variance.
    """

    mean: float
    variance: float
    total: float

    @property
    def value(self) -> float:
        return 1.0 - self.mean / self.total if self.total > 0 else 0.0

    @property
    def std(self) -> float:
        return math.sqrt(self.variance) / self.total if self.total > 0 else 0.0

    def __call__(self, level: float) -> Interval:
        if self.total <= 0 or self.variance <= 0:
            return Interval(self.value, self.value)
        if not math.isfinite(self.variance):
            return Interval(-math.inf, 1.0)
        shape = self.mean * self.mean / self.variance
        if not shape > 0:  # errors that all labels share are nothing to a score about the mean
            return Interval(self.value, self.value)
        tail = (1.0 - level) / 2
        most, least = (float(gammaincinv(shape, q)) * self.mean / shape for q in (1.0 - tail, tail))
        # the mean of a very skew law may lie outside
        return Interval(min(1.0 - most / self.total, self.value), max(1.0 - least / self.total, self.value))
