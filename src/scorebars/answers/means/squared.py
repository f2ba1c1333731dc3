"""Answers of the mean squared error and of its root.

The mean of (y - p)^2 is a quadratic form of the errors, so its distribution is known, and mean(d^2 - s^2) is unbiased for
the score against the truth. With independent normal errors of single measurements the sums over the labels tell all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.base import Answers, of_law
from scorebars.answers.evidence import sampling_variance, weighted_mean
from scorebars.answers.intervals import Held, Power, Symmetric
from scorebars.answers.level import EXPECTED, PERFECT, TRUTH, Level
from scorebars.answers.linear import in_units
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.laws import from_summary
from scorebars.laws.law import Law
from scorebars.laws.mean_loss_law import OneLabelLaw
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare, SquareRoot
from scorebars.laws.quadratic.label_nodes import compress_nodes
from scorebars.laws.quadratic.ratio_moments import root_moments
from scorebars.laws.quadratic.true_mse import interval_from_nodes
from scorebars.laws.samples import SampleLaw
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate

_NORMAL = 1e-10
"""Relative error below which the truth's estimate is normal: its skewness is of this order."""


class SquaredAnswers(MeanLoss):
    """Mean of (y - p)^2."""

    def _forward(self, level: Level) -> Law:
        summary = self._store.summary("squares")
        if summary is not None:
            return from_summary.squared_law_of_store(summary, perfect=level is PERFECT)
        data = self._labels()
        errors = level.errors(data.errors).normal
        if errors is None:
            return super()._forward(level)
        return squared_law(errors, level.residual(data.residual), data.weight)

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root where labels are so many that the sums tell them; None where the law has to."""
        return root_moments(self._store.sums) if self._store.plain else None

    def _label_variance(self) -> float:
        if not self._store.kept:
            return self._truth_variance()
        data = self._labels()
        errors = data.errors.label_level().normal
        if errors is None:
            return super()._label_variance()
        return errors.quadratic_terms(data.shares, data.residual, alone=True).unbiased

    def _systematic_variance(self, data: Measured) -> float:
        errors = data.errors.label_level().normal
        if errors is None:
            return 0.0
        whole, own = (errors.quadratic_terms(data.shares, data.residual, alone) for alone in (False, True))
        trace, form = whole.trace - own.trace, whole.form - own.form
        return max(4.0 * form - 2.0 * trace, 2.0 * trace, 0.0)

    # back --------------------------------------------------------------------------------------

    def _back(self, level: Level) -> Estimate:
        """mean(d^2 + tau^2); against the truth mean((d - m)^2 - s^2), with m the mean of the label's error: unbiased."""
        if level is TRUTH:
            return self._unbiased_truth()
        value, fresh = self._fresh(level)
        std = math.sqrt(fresh + self._truth_variance())
        return Estimate(value, std, method="unbiased", interval=Symmetric(value, std, 0.0))

    def _remeasured(self, repeats: float) -> Estimate:
        return self._back(Level("remeasured", repeats))

    def _unbiased_truth(self) -> Estimate:
        if self._store.kept:
            data = self._labels()
            self._require_variance(data)
            value = weighted_mean(data, lambda y, p, errors: errors.unbiased_square(y, p))
            scatter = sampling_variance(data, lambda y, p, errors: errors.unbiased_square(y, p), value)
        else:
            s = self._store.sums
            value = (s.sq - s.var) / s.w
            square, single = s.fourth_w2 - 2.0 * s.sqvar_w2 + s.var2_w2, s.sq_w2 - s.var_w2
            scatter = self._store.scatter_of_sums(square, single, value)
        std, total = math.sqrt(self._truth_variance()), math.sqrt(scatter + self._shared_variance())
        return Estimate(
            value,
            std,
            method="unbiased",
            note="" if value >= 0 else "negative: the observed error is below the noise floor",
            interval=self._truth_interval(value, std),
            total_interval=Symmetric(value, total, 0.0, math.inf, self._df),
        )

    def _truth_variance(self) -> float:
        """Unbiased variance of the truth's estimate given the true residuals, never below that of zero residuals."""
        if self._store.kept:
            data = self._labels()
            return data.errors.truth_variance(data.labels, data.predictions, data.shares)
        s = self._store.sums
        return max(4.0 * s.sqvar_w2 - 2.0 * s.var2_w2, 2.0 * s.var2_w2) / s.w**2

    def _fresh(self, level: Level) -> tuple[float, float]:
        """The score expected on fresh labels, and the variance that these give it."""
        assert level.repeats is not None
        if not self._store.kept:
            s, k = self._store.sums, float(np.max(level.repeats))
            least = 2.0 * s.var2_w2 / k**2
            new = max(least + 4.0 * (s.sqvar_w2 - s.var2_w2) / k, least) / s.w**2
            return self.observed + (1.0 / k - 1.0) * s.var / s.w, new
        data = self._labels()
        if data.errors.normal is None and np.all(np.equal(data.errors.repeats, level.repeats)):
            return self.observed, self._truth_variance()  # fresh labels scatter as those at hand did
        self._require_variance(data)
        y, a = data.labels, data.shares
        tau2, old = level.tau2(data.errors, y), data.errors.label_variance(y)
        fresh = old + tau2
        least = float(np.sum(2.0 * np.square(a * fresh)))
        new = least + float(np.sum(np.square(a) * 4.0 * (np.square(data.residual) - old) * fresh))
        return self.observed + float(np.sum(a * tau2)), max(new, least)

    def _require_variance(self, data: Measured) -> None:
        if not np.all(np.isfinite(data.errors.label_variance(data.labels))):
            raise UndefinedEstimate(
                f"{data.errors!r} errors have no finite variance, so what they add to a squared error cannot be taken off."
            )

    def _truth_interval(self, value: float, std: float) -> Callable[[float], Interval]:
        """By inverting the distribution of the observed score, where that is known; else symmetric."""
        if not self._store.plain or std <= _NORMAL * value:
            return Symmetric(value, std, 0.0)
        summary = self._store.summary("squares")
        if summary is not None:
            assert summary.squares is not None and summary.certain is not None
            v, columns = summary.squares.nodes()
            return invert(v, columns[:4], summary.sums.w, float(summary.certain[2]))
        data = self._labels()
        if data.errors.estimated:
            return Symmetric(value, std, 0.0)
        w = np.ones(data.n) if data.weight is None else data.weight
        d2, s2 = np.square(data.residual), data.errors.label_variance(data.labels)
        erring = w * s2 > 0
        columns = np.stack([np.ones(data.n), w, w * d2, w * np.maximum(4.0 * d2 - 2.0 * s2, 2.0 * s2)])
        known = float(np.sum((w * d2)[~erring]))
        return invert((w * s2)[erring], columns[:, erring], data.total_weight, known)


def squared_law(errors: Normal, residual: FloatArray, weight: FloatArray | None) -> GeneralizedChiSquare:
    """The distribution of the mean squared error of these residuals when labels err like this."""
    if errors.cov is not None:
        return GeneralizedChiSquare.covariance(residual, errors.cov, weight)
    if errors.shared is not None:
        variance = np.broadcast_to(np.square(errors.sigma), residual.shape)
        return GeneralizedChiSquare.low_rank(residual, variance, errors.shared, weight)
    return GeneralizedChiSquare.independent(residual, errors.sigma, weight)


# the interval of the true mean square --------------------------------------------------------------


def invert(v: FloatArray, columns: FloatArray, total: float, known: float) -> InvertedLaw:
    """The interval of the true MSE from labels, or bins of labels, that err.

    v is w s^2; the columns are the number of labels, w, w d^2 and w max(4 d^2 - 2 s^2, 2 s^2). All weights add up to
    `total`; `known` is the sum of w d^2 of the labels without error.

    The true squared residuals are spread over labels of different error in a pattern between flat and ~ s^2. Only the
    product sum a^2 s^2 D^2 matters for the scatter of the observed score; its unbiased estimate, raised by its standard
    error, decides. (With the bare estimate a model whose errors grow with s is held too rarely: 76 % instead of 95 % for
    60 labels whose s scatter by a factor of 2.2.)
    """
    count, w, wdd, spread_term = columns
    here = float(np.sum(w))
    lam, a, d2 = v / here, w / here, wdd / here
    x = lam / float(np.sum(a * lam)) - 1.0
    spread, excess = float(np.sum(a * x * x)), float(np.sum(d2 - count * lam))
    tilt = 0.0
    if spread >= 1e-12:
        variance = max(float(np.sum(x * x * lam * spread_term)) / here, 0.0)
        lean = float(np.sum(x * (d2 - count * lam))) + math.sqrt(variance)
        tilt = min(max(lean / (excess * spread) if excess > 0 else 1.0, 0.0), 1.0)
    pattern = np.stack([count, a * (1.0 + tilt * x)])
    nodes, pattern = compress_nodes(lam, pattern)
    return InvertedLaw(float(np.sum(d2)), nodes, pattern, here / total, known / total)


@dataclass(frozen=True, eq=False)
class InvertedLaw:
    """Interval of the true MSE by inverting the law of the observed one; exact where all errors are equal."""

    observed: float
    nodes: FloatArray
    columns: FloatArray
    share: float
    known: float

    def __call__(self, level: float) -> Interval:
        low, high = interval_from_nodes(self.observed, self.nodes, *self.columns, fixed=0.0, level=level)
        return Interval(self.known + self.share * low, self.known + self.share * high)


# the root ------------------------------------------------------------------------------------------


class RootAnswers(Answers):
    """sqrt of a mean of squares. Its expected value is E sqrt(Q), which is below sqrt(E Q)."""

    @classmethod
    def of(cls, declaration: Declaration, family: type[MeanLoss], loss: Loss, data: Measured) -> Answers:
        """The answers for checked data; the root may be in range where the square is not."""
        squared, unit = family.in_ordinary_units(declaration, loss, data)
        return in_units(cls(declaration, squared), unit if loss.degree else 1.0)

    def __init__(self, declaration: Declaration, squared: MeanLoss) -> None:
        self.declaration, self.n, self.kind, self._squared = declaration, squared.n, squared.kind, squared
        self.observed = math.sqrt(squared.observed)
        sums = squared.root_moments() if isinstance(squared, SquaredAnswers) else None
        mean, self._std = sums or (float(self._law.mean), float(self._law.std))
        self.expected = self.observed if self._std == 0 else mean

    @property
    def std(self) -> float:
        return self._std

    @property
    def repeats(self) -> FloatArray | float:
        return self._squared.repeats

    @cached_property
    def _law(self) -> Law:
        return self._root(EXPECTED)

    def law(self) -> Law:
        return self._law

    def perfect(self) -> Estimate:
        return of_law(self._root(PERFECT))

    def _root(self, level: Level) -> Law:
        law = root_law(self._squared._forward(level))
        if isinstance(law, SampleLaw) and math.isinf(law.std) and not self._squared.root_exists():
            return SampleLaw(law.draws, mean=math.inf, var=math.inf)  # draws have a mean even where the law has none
        return law

    def _truth(self) -> Estimate:
        return self._root_of(self._squared._truth())

    def _remeasured(self, repeats: float) -> Estimate:
        return self._root_of(self._squared._remeasured(repeats))

    def _root_of(self, squared: Estimate) -> Estimate:
        return Estimate(
            math.sqrt(max(float(squared), 0.0)),
            root_std(float(squared), squared.std),
            method=squared.method,
            note=squared.note,
            interval=Power(squared.interval, 0.5),
            total_interval=Power(squared.total_interval, 0.5),
        )

    def _berkson_population(self) -> Callable[[float], Interval]:
        """The root of the mean square's; E sqrt(Q) may lie below it, since it is below sqrt(E Q)."""
        return Held(Power(self._squared._berkson_population(), 0.5), self.expected)

    def _next_test_set(self, more: float) -> Callable[[float], Interval]:
        return Power(self._squared.total_interval, 0.5)

    def influences(self) -> FloatArray:
        """To first order."""
        size = math.sqrt(self._squared._centre)
        return self._squared.influences() / (2.0 * size) if size > 0 else np.zeros(self.n)

    def sampling_std(self) -> float:
        return root_std(self._squared._centre, self._squared.sampling_std())

    def noise_share(self) -> float:
        return self._squared.noise_share()

    def warnings(self) -> list[str]:
        return self._squared.warnings()

    def why_undefined(self) -> str:
        return self._squared.why_undefined()


def root_law(squared: Law) -> Law:
    """The law of the square root: exact for quadratic forms and for one label, else from the draws."""
    if isinstance(squared, SampleLaw):
        return _root_of_draws(squared)
    if isinstance(squared, OneLabelLaw):
        return squared.root()
    return SquareRoot(squared) if isinstance(squared, GeneralizedChiSquare) else NormalLaw(math.sqrt(squared.mean), 0.0)


def _root_of_draws(squared: SampleLaw) -> SampleLaw:
    """Roots of the draws; their mean is freed of most of its scatter by what is known exactly, mean and variance."""
    roots, mean, variance = np.sqrt(squared.draws), float(squared.mean), float(squared.var)
    if not math.isfinite(mean):
        return SampleLaw(roots, var=math.inf)
    centred = (squared.draws - mean) / mean if mean > 0 else squared.draws
    known = [centred] if not math.isfinite(variance) else [centred, np.square(centred) - variance / mean**2]
    design = np.stack([np.ones_like(roots), *known], axis=1)
    expected = float(np.linalg.lstsq(design, roots, rcond=None)[0][0])
    return SampleLaw(roots, mean=min(expected, math.sqrt(mean)), var=float(np.var(roots)))


def root_std(square: float, std: float) -> float:
    """Standard error of sqrt(square): std / (2 sqrt(square)), levelling off where `square` is not above its error."""
    if std == 0 or math.isinf(std):
        return std
    return std / (2.0 * math.sqrt(max(square, std / 4.0)))
