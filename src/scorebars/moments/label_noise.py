"""Metrics that are functions of two sums of labels (R2, explained variance, correlations), and what label errors do to them.

A sum X = sum_i [a w_i y_i^2 + b_i y_i] - k (sum_i w_i y_i)^2 / W is a quadratic form of the labels, with the matrix
Q = a diag(w) - k w w' / W. Label errors of covariance S add tr(Q S) to it on average. With h half the slope of X at the
labels, the covariance of two such sums is

    4 h_1' S h_2 + 2 tr(Q_1 S Q_2 S)          h at the true values,

and h' S h at the labels is too large by tr(Q S Q S). Other families than the normal one bring their third and fourth
moments, label by label.

The metrics, with weights w, true values (or labels) t, predictions p, and bars for weighted means:

    R2                   1 - X/Y        X = sum w (t - p)^2             Y = sum w (t - tbar)^2
    explained variance   1 - X/Y        X = sum w (t - p - mean)^2      Y = sum w (t - tbar)^2
    concordance          X/Y            X = 2 sum w (p - pbar) t        Y = sum w [(t - pbar)^2 + (p - pbar)^2]
    Pearson              X/sqrt(Y)      X = sum w (p - pbar) t / |p|    Y = sum w (t - tbar)^2,  |p|^2 = sum w (p - pbar)^2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal


@dataclass(frozen=True, eq=False)
class QuadraticSums:
    """Two sums of labels: how much of the squares each takes, whether about the mean, and half their slopes."""

    weight: FloatArray
    square: tuple[float, float]
    """a of both sums."""
    centred: tuple[float, float]
    """k of both sums."""
    slope: FloatArray
    """(2, n): h of both sums."""

    def _times(self, which: int, x: FloatArray) -> FloatArray:
        """Q x for x of shape (n,) or (n, k)."""
        w = self.weight if x.ndim == 1 else self.weight[:, None]
        common = self.centred[which] * (self.weight @ x) / float(self.weight.sum())
        return np.asarray(self.square[which] * w * x - w * common)


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """The errors of n labels: their variances, and what they have in common."""

    variance: FloatArray
    """Error variance of each label by itself."""
    third: FloatArray | None = None
    """Covariance of the label with its square about the label, where the family is not normal."""
    fourth: FloatArray | None = None
    """Variance of that square, estimated at the label."""
    least: FloatArray | None = None
    """Variance of that square at the true value."""
    cov: FloatArray | None = None
    shared: FloatArray | None = None
    uncertain: FloatArray | None = None
    """Variance of each estimated error variance, where sigma comes from repeats."""
    common: float = 0.0
    """Relative variance of one error variance that was estimated for all labels together."""

    @classmethod
    def of(cls, errors: MeasurementError, y: FloatArray) -> LabelNoise:
        """Errors of the labels at hand, as they enter estimates of the truth."""
        if errors.normal is not None:
            return cls.normal(errors.normal.label_level(), y)._with_uncertainty(errors.normal)
        label = errors.unbiased_label(y)
        with np.errstate(invalid="ignore", over="ignore"):
            variance = -errors.unbiased_square(y, label)
            step = np.sqrt(np.maximum(variance, 0.0))
            step = np.where(step > 0, step, 1.0)
            at, least = errors.unbiased_square_variance(y, label)
            above, below = (errors.unbiased_square_variance(y, label + c * step)[0] for c in (1.0, -1.0))
            third = np.where(np.isfinite(above - below), -(above - below) / (8.0 * step), 0.0)
        return cls(np.asarray(variance), third, at, least)

    @classmethod
    def normal(cls, errors: Normal, y: FloatArray) -> LabelNoise:
        """Normal errors of these standard deviations, shifts and covariances."""
        own = np.broadcast_to(np.square(errors.sigma), y.shape)
        return cls(np.asarray(own, dtype=np.float64), cov=errors.cov, shared=errors.as_shifts())

    def _with_uncertainty(self, errors: Normal) -> LabelNoise:
        scatter = errors.scatter
        if scatter is None:
            return self
        pooled = 0.0 if not np.any(scatter.weight < 1) else 2.0 / scatter.pooled_degrees
        own = scatter.weight * scatter.own / errors.repeats
        uncertain = np.where(scatter.nu > 0, 2.0 * np.square(own) / (scatter.nu + 2.0), 0.0)
        return replace(self, uncertain=uncertain, common=pooled * float(np.mean(1.0 - scatter.weight)) ** 2)

    @property
    def independent(self) -> bool:
        """Whether labels err by themselves."""
        return self.cov is None and self.shared is None

    @property
    def total(self) -> FloatArray:
        """Variance of each label, shared shifts included."""
        return self.variance if self.shared is None else self.variance + np.square(self.shared).sum(axis=0)

    def alone(self) -> LabelNoise:
        """Independent errors as large as the scatter of the items shows them: what all have in common it does not show."""
        total, one = self.total, np.ones(self.variance.size)
        pairs = max(total.size * (total.size - 1), 1)
        common = max(self.product(one, one) - float(total.sum()), 0.0) / pairs
        return replace(self, variance=np.maximum(total - common, 0.0), cov=None, shared=None)

    def scaled(self, factor: FloatArray) -> LabelNoise:
        """The errors of labels multiplied by `factor`."""
        scaled = {"variance": (self.variance, 2), "third": (self.third, 3), "fourth": (self.fourth, 4)}
        scaled |= {"least": (self.least, 4)}
        return replace(self, **{k: None if v is None else v * factor**power for k, (v, power) in scaled.items()})  # type: ignore[arg-type]

    def averaged(self, repeats: float) -> LabelNoise:
        """The errors of means of `repeats` independent labels."""
        if self.third is None or self.fourth is None or self.least is None:
            return replace(self, variance=self.variance / repeats)
        square = 2.0 * np.square(self.variance)
        # of a mean of k the fourth cumulant falls by k^3, the squared variance by k^2
        least = (self.least - square) / repeats**3 + square / repeats**2
        fourth = least + (self.fourth - self.least) / repeats
        return LabelNoise(self.variance / repeats, self.third / repeats**2, fourth, least)

    def at_truth(self) -> LabelNoise:
        """The same errors where the labels that slopes were taken at are the true values."""
        return self if self.least is None else replace(self, fourth=self.least)

    def product(self, x: FloatArray, y: FloatArray) -> float:
        """x' S y."""
        if self.cov is not None:
            return float(x @ self.cov @ y)
        own = float(np.sum(self.variance * x * y))
        return own if self.shared is None else own + float((self.shared @ x) @ (self.shared @ y))

    def times(self, x: FloatArray) -> FloatArray:
        """S x."""
        if self.cov is not None:
            return np.asarray(self.cov @ x)
        own = self.variance * x
        return own if self.shared is None else own + (self.shared @ x) @ self.shared

    def added(self, sums: QuadraticSums) -> FloatArray:
        """tr(Q S) of both sums: what the errors add to them on average."""
        w = sums.weight
        of_mean = self.product(w, w) / float(w.sum())
        return np.array(
            [a * float(w @ self.total) - k * of_mean for a, k in zip(sums.square, sums.centred, strict=True)]
        )

    def _trace(self, sums: QuadraticSums, one: int, two: int, other: LabelNoise) -> float:
        """tr(Q_1 S Q_2 S'), S' the covariance of the other errors."""
        if self.cov is not None or other.cov is not None:
            left, right = (sums._times(q, s._matrix()) for q, s in ((one, self), (two, other)))
            return float(np.sum(left * right.T))
        w, total = sums.weight, float(sums.weight.sum())
        a1, a2 = sums.square[one], sums.square[two]
        k1, k2 = -sums.centred[one] / total, -sums.centred[two] / total
        d1, d2 = self.variance, other.variance
        w2 = w * w
        both = w2 * d1 * d2
        # the part of the mean takes all weights as their mean: it is 1/n of the whole, and sums of labels know no more
        out = (
            a1 * a2 * float(both.sum())
            + (a1 * k2 + a2 * k1) * float(both.sum()) * total / w.size
            + k1 * k2 * float(w2 @ d1) * float(w2 @ d2)
        )
        u, v = (np.empty((w.size, 0)) if noise.shared is None else noise.shared.T for noise in (self, other))
        left_u, right_u, left_v, right_v = (sums._times(q, x) for x in (u, v) for q in (one, two))
        out += float(np.sum(left_u * right_u * d2[:, None])) + float(np.sum(left_v * right_v * d1[:, None]))
        return out + float(np.sum((v.T @ left_u) * (u.T @ right_v).T))

    def _matrix(self) -> FloatArray:
        if self.cov is not None:
            return self.cov
        out = np.diag(self.variance)
        return out if self.shared is None else out + self.shared.T @ self.shared

    def covariance(self, sums: QuadraticSums, seen: LabelNoise | None = None) -> FloatArray:
        """Estimated covariance (2, 2) of the two sums under these errors; `seen` are those of the labels at hand.

        The part that comes from the slopes at the true values is estimated, and never negative.
        """
        seen = self if seen is None else seen
        pairs = ((0, 0), (0, 1), (1, 1))
        if self.fourth is None or self.third is None or self.least is None:
            curved = _symmetric([2.0 * self._trace(sums, i, j, self) for i, j in pairs])
            lengths = (self.product(sums.slope[i], sums.slope[j]) - self._trace(sums, i, j, seen) for i, j in pairs)
            sloped = 4.0 * _symmetric(list(lengths))
        else:
            w, h, both = sums.weight, sums.slope, np.outer(sums.square, sums.square)
            with np.errstate(invalid="ignore"):
                curved = np.where(both == 0, 0.0, both * np.sum(np.where(w > 0, w * w * self.least, 0.0)))
                excess = np.where(np.isfinite(self.fourth), self.fourth - self.least, 0.0)
            mixed = np.outer(sums.square, h @ (w * self.third))
            sloped = both * float(np.square(w) @ excess) + 2.0 * (mixed + mixed.T) + 4.0 * (h * self.variance) @ h.T
        out = curved + positive(sloped)
        share = np.array(sums.square)
        if self.uncertain is not None:
            out = out + np.outer(share, share) * float(np.square(sums.weight) @ self.uncertain)
        return out + self.common * np.outer(self.added(sums), self.added(sums))

    def in_common(self, sums: QuadraticSums) -> FloatArray:
        """What shared errors add to the covariance of the sums; the scatter of the items does not show it."""
        if self.independent:
            return np.zeros((2, 2))
        return self.covariance(sums) - self.alone().covariance(sums)


def _symmetric(entries: list[float]) -> FloatArray:
    xx, xy, yy = entries
    return np.array([[xx, xy], [xy, yy]])


def positive(matrix: FloatArray) -> FloatArray:
    """A covariance (2, 2) from estimates of its entries: no variance below 0, no correlation beyond 1."""
    if not np.all(np.isfinite(matrix)):
        return matrix
    xx, yy = (max(float(matrix[i, i]), 0.0) for i in (0, 1))
    most = math.sqrt(xx) * math.sqrt(yy)
    return _symmetric([xx, min(max(float(matrix[0, 1]), -most), most), yy])


# the metrics -------------------------------------------------------------------------------------

RatioKind = Literal["lost", "ratio", "root"]


Parts = tuple[FloatArray, FloatArray, FloatArray]
"""X and Y (2,), half their derivatives by each value (2, n), and what each item contributes to them (2, n)."""


@dataclass(frozen=True)
class SumPair:
    """One metric as a function of two sums, which are quadratic forms with these a and k."""

    kind: RatioKind
    square: tuple[float, float]
    centred: tuple[float, float]
    parts: Callable[[FloatArray, FloatArray, FloatArray], Parts]
    """A function of true values or labels t, predictions p and weights w."""
    forms: tuple[tuple[_Form, _Form, _Form], ...]
    """Where predictions err too: X, Y (Pearson: and the predictions' own scatter) as forms of labels and predictions."""

    def sums(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        """X and Y of these values."""
        return self.parts(t, p, w)[0]

    def quadratic(self, t: FloatArray, p: FloatArray, w: FloatArray) -> QuadraticSums:
        """Both sums as quadratic forms of the labels t."""
        return QuadraticSums(w, self.square, self.centred, self.parts(t, p, w)[1])

    def scatter(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        """Covariance (2, 2) of X and Y over test sets, from the scatter of their items, squares of t lowered by v."""
        return _over_test_sets(self.parts(t, p, w)[2] - np.multiply.outer(self.square, w * v), w)

    def with_predictions(self, t: FloatArray, p: FloatArray, w: FloatArray) -> SumsOfBoth:
        """All sums as quadratic forms of labels t and predictions p."""
        centre = float(w @ t) / float(w.sum())
        t, p = t - centre, p - centre  # no sum depends on the origin
        by_label = np.stack([_form(one, t, w) + _form(both, p, w) for one, _, both in self.forms])
        by_prediction = np.stack([_form(other, p, w) + _form(both, t, w) for _, other, both in self.forms])
        if len(self.forms) == 2:
            items = self.parts(t, p, w)[2]
        else:
            q, about = _about_mean(p, w), _about_mean(t, w)
            items = w * np.stack([q * about, np.square(about), np.square(q)])
        return SumsOfBoth(self.forms, w, by_label @ t + by_prediction @ p, by_label, by_prediction, items)


_Form = tuple[float, float]
"""a and k of the matrix a diag(w) - k w w' / W."""


def _form(form: _Form, x: FloatArray, w: FloatArray) -> FloatArray:
    """The matrix times x."""
    a, k = form
    return np.asarray(w * (a * x - k * (float(w @ x) / float(w.sum()))))


def _over_test_sets(terms: FloatArray, w: FloatArray) -> FloatArray:
    """Covariance of sums over test sets, from what each item adds to them."""
    terms = terms - w * (terms.sum(axis=1) / w.sum())[:, None]
    n = int(np.count_nonzero(w))
    return np.asarray(terms @ terms.T * (n / max(n - 1, 1)))


@dataclass(frozen=True, eq=False)
class SumsOfBoth:
    """Sums of labels and predictions, both with independent errors: of covariance S, and of variances u."""

    forms: tuple[tuple[_Form, _Form, _Form], ...]
    """For each sum: squares of the labels, squares of the predictions, and products."""
    weight: FloatArray
    values: FloatArray
    """(k,)"""
    by_label: FloatArray
    """(k, n): half the slope by each label."""
    by_prediction: FloatArray
    items: FloatArray
    """(k, n): what each item adds."""

    def _pairs(self, of_predictions: bool, flat: bool = False) -> Iterator[tuple[list[int], QuadraticSums]]:
        """Sums, two at a time, as forms of the labels alone or of the predictions alone; `flat`: without slope."""
        slopes = self.by_prediction if of_predictions else self.by_label
        for i, j in combinations(range(len(self.forms)), 2):
            one, two = self.forms[i][of_predictions], self.forms[j][of_predictions]
            slope = slopes[[i, j]] * (0.0 if flat else 1.0)
            yield [i, j], QuadraticSums(self.weight, (one[0], two[0]), (one[1], two[1]), slope)

    def added(self, labels: LabelNoise, predictions: LabelNoise) -> FloatArray:
        """What the errors add to the sums on average."""
        out = np.zeros(len(self.values))
        for of_predictions, noise in ((False, labels), (True, predictions)):
            part = np.zeros_like(out)
            for which, sums in self._pairs(of_predictions):
                part[which] = noise.added(sums)
            out += part
        return out

    def covariance(self, labels: LabelNoise, predictions: LabelNoise) -> FloatArray:
        """Estimated covariance (k, k) of the sums under both errors.

        With slopes at the values at hand, which hold both errors, each error's own covariance is too large by
        4 tr(Q S Q u), with Q the products of label and prediction: of these 8 the sums have 4.
        """
        both = self._of_products(labels, predictions)
        found, least = -4.0 * both, 4.0 * both
        for of_predictions, noise in ((False, labels), (True, predictions)):
            found = found + self._by_one_error(noise, of_predictions, False)
            least = least + self._by_one_error(noise, of_predictions, True)
        diagonal = np.maximum(np.diagonal(found), np.diagonal(least))
        most = np.sqrt(np.outer(diagonal, diagonal))
        found = np.clip(found, -most, most)
        np.fill_diagonal(found, diagonal)
        return found

    def _by_one_error(self, noise: LabelNoise, of_predictions: bool, flat: bool) -> FloatArray:
        out = np.zeros((len(self.values), len(self.values)))
        for which, sums in self._pairs(of_predictions, flat):
            out[np.ix_(which, which)] = noise.covariance(sums)
        return out

    def _of_products(self, labels: LabelNoise, predictions: LabelNoise) -> FloatArray:
        """tr(Q_k S Q_l u) of the products of label and prediction."""
        w, total = self.weight, float(self.weight.sum())
        u = np.square(w) * predictions.variance
        own, mean, square = labels.total, labels.times(w) / total, labels.product(w, w) / total**2
        sums = float(u @ own), float(u @ mean), float(u.sum()) * square
        a, k = np.array([form[2] for form in self.forms]).T
        return np.outer(a, a) * sums[0] - (np.outer(a, k) + np.outer(k, a)) * sums[1] + np.outer(k, k) * sums[2]

    def in_common(self, labels: LabelNoise) -> FloatArray:
        """What errors that labels share add to the covariance; the scatter of the items does not show it."""
        out = np.zeros((len(self.values), len(self.values)))
        for which, sums in self._pairs(False):
            out[np.ix_(which, which)] = labels.in_common(sums)
        return out

    def scatter(self, labels: LabelNoise, predictions: LabelNoise) -> FloatArray:
        """Covariance (k, k) over test sets, from the scatter of the items, squares lowered by what errors add."""
        squares = np.array([(one[0], two[0]) for one, two, _ in self.forms])
        added = squares @ np.stack([labels.total, predictions.total])
        return _over_test_sets(self.items - self.weight * added, self.weight)


def _about_mean(x: FloatArray, w: FloatArray) -> FloatArray:
    return x - float(w @ x) / float(w.sum())


def _r2(t: FloatArray, p: FloatArray, w: FloatArray, centred: bool = False) -> Parts:
    """Squared residuals, or those about their mean, over squared deviations from the mean."""
    both = np.stack([_about_mean(t - p, w) if centred else t - p, _about_mean(t, w)])
    items = w * np.square(both)
    return items.sum(axis=1), w * both, items


def _concordance(t: FloatArray, p: FloatArray, w: FloatArray) -> Parts:
    """Twice the covariance over both variances and the squared difference of the means."""
    centre = float(w @ p) / float(w.sum())
    q, off = p - centre, t - centre
    apart = float(w @ off) / float(w.sum())
    items = w * np.stack([2.0 * q * _about_mean(t, w), np.square(off) + np.square(q) - 2.0 * apart * q])
    return items.sum(axis=1), w * np.stack([q, off]), items


def _pearson(t: FloatArray, p: FloatArray, w: FloatArray) -> Parts:
    """The covariance in units of the predictions' scatter, over the root of the labels' scatter."""
    q, about = _about_mean(p, w), _about_mean(t, w)
    q = q / math.sqrt(float(w @ np.square(q)))
    both = np.stack([q * about, np.square(about)])
    sums = both @ w
    slopes = w * np.stack([0.5 * q, about])
    both[0] -= 0.5 * sums[0] * np.square(q)
    return sums, slopes, w * both


_NONE, _SQUARES, _SCATTER = (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)
_LABELS_ONLY, _PREDICTIONS_ONLY = (_SCATTER, _NONE, _NONE), (_NONE, _SCATTER, _NONE)

R2_SUMS = SumPair("lost", (1.0, 1.0), (0.0, 1.0), _r2, ((_SQUARES, _SQUARES, (-1.0, 0.0)), _LABELS_ONLY))
EXPLAINED_VARIANCE_SUMS = SumPair(
    "lost", (1.0, 1.0), (1.0, 1.0), partial(_r2, centred=True), ((_SCATTER, _SCATTER, (-1.0, -1.0)), _LABELS_ONLY)
)
CONCORDANCE_SUMS = SumPair(
    "ratio", (0.0, 1.0), (0.0, 0.0), _concordance, ((_NONE, _NONE, _SCATTER), (_SQUARES, _SQUARES, (0.0, 1.0)))
)
PEARSON_SUMS = SumPair(
    "root", (0.0, 1.0), (0.0, 1.0), _pearson, ((_NONE, _NONE, (0.5, 0.5)), _LABELS_ONLY, _PREDICTIONS_ONLY)
)
