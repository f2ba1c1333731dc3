"""Answers of the mean squared error, of its root, and of the reduced chi-squared.

The mean of (y - p)^2 is a quadratic form of the errors, so its distribution is known, and mean(d^2 - s^2) is unbiased for
the score against the truth. With independent normal errors of single measurements the sums over the labels tell all.

The reduced chi-squared is the mean squared error of the pulls: residuals z in units of their errors (whitened where errors
are correlated, so that z' z = d' S^-1 d), each of error 1. So expected = observed + 1, truth = observed - 1, and a perfect
model scores chi^2_n / n, mean 1. Where the errors were estimated from repeats, dividing by them adds scatter. With a
label's own error from nu degrees of freedom the pull of a perfect model follows Student's t, its square F(1, nu) with mean
f = nu/(nu - 2) in place of 1; with one error for all labels the reduced chi-squared follows F(n, nu) and f is nearly 1.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import chdtr, chdtrc, chdtri

from scorebars import checks
from scorebars.answers.base import EXPECTED, PERFECT, TRUTH, Answers, Level, SkewGroups, of_law
from scorebars.answers.clustered import ClusteredAnswers
from scorebars.answers.combined import LinearAnswers, TransformedAnswers
from scorebars.answers.evidence import Evidence, sampling_variance, weighted_mean
from scorebars.answers.intervals import IntervalAt, Skewed, Symmetric, affine, root_of
from scorebars.answers.limited import NO_LIMITS, LimitedLoss
from scorebars.answers.means.mean_loss import MeanLoss, in_their_unit
from scorebars.answers.score import Declaration, Estimate, Interval, Score, UndefinedEstimate
from scorebars.answers.size_errors import NumberOf
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal, StudentT
from scorebars.errors.estimated_sizes import CommonScale
from scorebars.laws import from_cumulants, from_summary
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law, LawWithRoot, NormalLaw
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare, interval_from_nodes
from scorebars.laws.quadratic.quadratic_form import compress_nodes
from scorebars.laws.quadratic.ratio_moments import root_moments
from scorebars.laws.samples import SampleLaw
from scorebars.laws.variance_ratio import VarianceRatio, mean_of_ratios, weighted_ratio
from scorebars.losses import Loss, RootLoss, SquaredError
from scorebars.measured import Measured
from scorebars.moments import label_moments

_NORMAL = 1e-10
"""Relative error below which the truth's estimate is normal: its skewness is of this order."""
_FEW_REPEATS = (
    "label errors from few repeats make the pulls follow Student's distribution, which has no mean square up to 3 repeats "
    "and no variance of the square up to 5. Use Repeats(..., sigma='pooled'), or read observed and pvalue."
)
_NODES = 400
"""Factors of all errors that a p-value is averaged over."""
_HINT = "Drop labels without error, or give them the error they have."


class Parabola(NamedTuple):
    """Losses c + a (y - m)^2: numbers, or arrays of one for each label."""

    a: Any
    c: Any
    m: Any


class SquaredAnswers(MeanLoss):
    """Mean of (y - p)^2; a subclass may give each square a factor, and a constant besides."""

    _items_hold_sizes = True

    def _parabola(self, p: Any) -> Parabola:
        """The loss of each label."""
        return Parabola(1.0, 0.0, p)

    def _factors(self, data: Measured) -> FloatArray:
        """How much the square of each label counts: its share times a."""
        return np.asarray(data.shares * self._parabola(data.predictions).a)

    def _weighted(self, data: Measured, p: Any) -> tuple[FloatArray, float, float]:
        """Weights of the squares, what they add up to relative to those of the labels, and the mean of the constants."""
        a, c, _ = self._parabola(p)
        weight = np.ones(data.n) if data.weight is None else data.weight
        return weight * a, float(np.sum(data.shares * a)), float(np.sum(data.shares * c))

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """Nothing more: `truth_variance` holds what single sizes add."""
        return 0.0

    def _forward(self, level: Level) -> Law:
        perfect = level is PERFECT
        by_cumulants = partial(from_cumulants.squared_law_of_cumulants, perfect=perfect)
        law = self._evidence.law_of_many(
            "squares", by_cumulants, partial(from_summary.squared_law_of_store, perfect=perfect)
        )
        if law is not None:
            return law
        data = self._labels()
        errors = level.errors(data.errors).normal
        if errors is None:
            return super()._forward(level)
        return squared_law(errors, level.residual(data.residual), data.weight)

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root from the sums, where there are enough labels; None where the distribution must give them."""
        return root_moments(self._evidence.sums) if self._evidence.plain else None

    def _label_variance(self) -> float:
        if not self._evidence.kept:
            return self._truth_variance()
        data = self._labels()
        errors = data.errors.label_level().normal
        if errors is None:
            return super()._label_variance()
        return errors.quadratic_terms(self._factors(data), data.residual, alone=True).unbiased

    def _systematic_variance(self, data: Measured) -> float:
        errors = data.errors.label_level().normal
        if errors is None:
            return 0.0
        whole, own = (errors.quadratic_terms(self._factors(data), data.residual, alone) for alone in (False, True))
        trace, form = whole.trace - own.trace, whole.form - own.form
        return max(4.0 * form - 2.0 * trace, 2.0 * trace, 0.0)

    def _skew_groups(self, codes: NDArray[np.intp]) -> SkewGroups | None:
        """By leaving out groups; df as if residuals were normal and as alike within groups (docs/theory/new-test-sets.md)."""
        if self._berkson:
            return None
        data = self._labels()
        return _groups_of_squares(data.shares, data.residual, np.repeat(codes, data.outputs))

    def _next_test_set(self, more: float) -> IntervalAt:
        spread = math.sqrt(2.0 * (self._item_variance() + more))
        return Skewed(self._centre, spread, *self._range, self._df)

    # back --------------------------------------------------------------------------------------

    def _back(self, level: Level) -> Estimate:
        """mean(d^2 + tau^2); against the truth mean((d - m)^2 - s^2), with m the mean of the label's error: unbiased."""
        if level is TRUTH:
            return self._unbiased_truth()
        value, variance = self._fresh(level)
        return self._symmetric(value, math.sqrt(variance), "unbiased")

    def _unbiased_term(self, y: FloatArray, p: Any, errors: MeasurementError) -> FloatArray:
        """The unbiased estimate from each label."""
        a, c, m = self._parabola(p)
        return np.asarray(c + a * errors.unbiased_square(y, m))

    def _unbiased_truth(self) -> Estimate:
        least = 0.0
        if self._evidence.kept:
            data = self._labels("against the truth")
            self._require_variance(data)
            value = weighted_mean(data, self._unbiased_term)
            scatter = sampling_variance(data, self._unbiased_term, value)
            least = float(np.sum(data.shares * self._parabola(data.predictions).c))
        else:
            s = self._evidence.sums
            value = (s.sq - s.var) / s.w
            square, single = s.fourth_w2 - 2.0 * s.sqvar_w2 + s.var2_w2, s.sq_w2 - s.var_w2
            scatter = self._evidence.scatter_of_sums(square, single, value)
        std, total = math.sqrt(self._truth_variance()), math.sqrt(scatter + self._shared_variance())
        low, high = least if value < least else self._range[0], self._range[1]
        apart = math.sqrt(max(scatter - self._item_variance(), 0.0))
        population = Skewed(value, total, low, high, self._df, self.observed - value - least, apart=apart)
        interval = self._truth_interval(value, std, least)
        return self._estimated(value, std, least, interval, population)

    def _estimated(
        self, value: float, std: float, least: float, interval: IntervalAt, population: IntervalAt
    ) -> Estimate:
        """The estimate against the truth; no true score is below `least`."""
        note = "" if value >= least else "negative: the observed error is below the noise floor"
        return Estimate(value, std, method="unbiased", note=note, interval=interval, total_interval=population)

    def _truth_variance(self) -> float:
        """Unbiased variance of the truth's estimate given the true residuals, never below that of zero residuals."""
        if self._evidence.kept:
            data = self._labels()
            return data.errors.truth_variance(data.labels, self._parabola(data.predictions).m, self._factors(data))
        s = self._evidence.sums
        return max(4.0 * s.sqvar_w2 - 2.0 * s.var2_w2, 2.0 * s.var2_w2) / s.w**2

    def _fresh(self, level: Level) -> tuple[float, float]:
        """The score expected on fresh labels, and its variance over these and over the labels at hand."""
        assert level.repeats is not None
        if not self._evidence.kept:
            s, k = self._evidence.sums, float(np.max(level.repeats))
            least = 2.0 * s.var2_w2 / k**2
            new = max(least + 4.0 * (s.sqvar_w2 - s.var2_w2) / k, least) / s.w**2
            return self.observed + (1.0 / k - 1.0) * s.var / s.w, new + self._truth_variance()
        data = self._labels("of labels with other errors")
        y, a, m = data.labels, self._factors(data), self._parabola(data.predictions).m
        # errors that push labels to one side push fresh ones to the same side
        old = data.errors.truth_variance(y, m + (y - data.errors.mean(y)), a)
        if data.errors.normal is None and np.all(np.equal(data.errors.repeats, level.repeats)):
            return self.observed, 2.0 * old  # fresh labels scatter as those at hand did
        self._require_variance(data)
        tau2, own = level.tau2(data.errors, y), data.errors.label_variance(y)
        fresh = own + tau2
        least = float(np.sum(2.0 * np.square(a * fresh)))
        new = least + float(np.sum(np.square(a) * 4.0 * (np.square(data.residual) - own) * fresh))
        return self.observed + float(np.sum(a * tau2)), max(new, least) + old

    def _require_variance(self, data: Measured) -> None:
        if not np.all(np.isfinite(data.label_variance)):
            raise UndefinedEstimate(
                f"{data.errors!r} errors have no finite variance, so what they add to a squared error cannot be taken off."
            )

    def _truth_interval(self, value: float, std: float, least: float) -> IntervalAt:
        """By inverting the distribution of the observed score, where that is known; else symmetric."""
        if not self._evidence.plain or std <= _NORMAL * abs(value - least):
            return Symmetric(value, std, least)
        summary = self._evidence.summary("squares")
        if summary is not None:
            assert summary.squares is not None and summary.certain is not None
            v, columns = summary.squares.nodes()
            return invert(v, columns[:4], summary.sums.w, float(summary.certain[2]))
        data = self._labels()
        if data.errors.estimated:
            return Symmetric(value, std, least)
        w, size, _ = self._weighted(data, data.predictions)
        d2, s2 = np.square(data.residual), data.label_variance
        erring = w * s2 > 0
        columns = np.stack([np.ones(data.n), w, w * d2, w * np.maximum(4.0 * d2 - 2.0 * s2, 2.0 * s2)])
        known = float(np.sum((w * d2)[~erring]))
        mean_square = invert((w * s2)[erring], columns[:, erring], float(np.sum(w)), known)
        return partial(affine, mean_square, (size,), least)


def squared_law(errors: Normal, residual: FloatArray, weight: FloatArray | None) -> GeneralizedChiSquare:
    """The distribution of the mean squared error of these residuals when labels err like this."""
    if errors.cov is not None:
        return GeneralizedChiSquare.covariance(residual, errors.cov, weight)
    if errors.shared is not None:
        variance = np.broadcast_to(np.square(errors.sigma), residual.shape)
        return GeneralizedChiSquare.low_rank(residual, variance, errors.shared, weight)
    if errors.batches is not None:
        variance = np.broadcast_to(np.square(errors.sigma), residual.shape)
        return GeneralizedChiSquare.in_batches(residual, variance, errors.batches.shift, errors.batches.of, weight)
    return GeneralizedChiSquare.independent(residual, errors.sigma, weight)


# the interval of the true mean square --------------------------------------------------------------


def invert(v: FloatArray, columns: FloatArray, total: float, known: float) -> IntervalAt:
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
    return partial(_inverted, float(np.sum(d2)), nodes, pattern, here / total, known / total)


def _inverted(
    observed: float, nodes: FloatArray, pattern: FloatArray, share: float, known: float, level: float
) -> Interval:
    """By inverting the law of the observed MSE; exact where all errors are equal."""
    low, high = interval_from_nodes(observed, nodes, *pattern, fixed=0.0, level=level)
    return Interval(known + share * low, known + share * high)


# the root ------------------------------------------------------------------------------------------


class RootAnswers(TransformedAnswers):
    """sqrt of a mean of squares. Its expected value is E sqrt(Q), which is below sqrt(E Q)."""

    inner: MeanLoss | LimitedLoss
    std: float = 0.0

    def __init__(self, declaration: Declaration, squared: MeanLoss | LimitedLoss) -> None:
        super().__init__(declaration, squared)
        self.observed = math.sqrt(squared.observed)
        mean, self.std = squared.root_moments() or (float(self._law.mean), float(self._law.std))
        self.expected = self.observed if self.std == 0 else mean

    @classmethod
    def of(cls, declaration: Declaration, family: type[MeanLoss], loss: Loss, data: Measured) -> Answers:
        """The answers for checked data; the root may be in range where the square is not."""
        if data.limited:
            square = LimitedLoss.of(lambda near: family(declaration, loss, Evidence(near)), loss, data)
            found = cls(declaration, square)
            found.observed_is, found.limits_said = square.observed_is, square.limits_said
            return found

        def make(evidence: Evidence) -> Answers:
            return cls(declaration, family(declaration, loss, evidence))

        return in_their_unit(make, loss, data, 1 if loss.degree else 0)

    def _value_of(self, value: float) -> float:
        return math.sqrt(max(value, 0.0))

    def _std_of(self, value: float, std: float) -> float:
        """std / (2 sqrt(value)), levelling off where the square is not above its error."""
        return std if std == 0 or math.isinf(std) else std / (2.0 * math.sqrt(max(value, std / 4.0)))

    def _interval_of(self, interval: IntervalAt) -> IntervalAt:
        return partial(root_of, interval)

    @cached_property
    def _law(self) -> Law:
        return self._root(EXPECTED)

    def law(self) -> Law:
        return self._law

    def perfect(self) -> Estimate:
        return of_law(self._root(PERFECT))

    def _resized(self, factor: FloatArray | float) -> Answers:
        return type(self)(self.declaration, self.inner._resized(factor))  # type: ignore[arg-type]

    def warnings(self) -> list[str]:
        if isinstance(self.inner, LimitedLoss):
            return self.inner.warnings_within(self.bounds())
        return Answers.warnings(self)  # by the floor of the root, which is found already

    def _root(self, level: Level) -> Law:
        law = root_law(self.inner._forward(level))
        if isinstance(law, SampleLaw) and self.n == 1 and isinstance(self.inner, MeanLoss):
            data = self.inner._labels()
            p = data.predictions if level is EXPECTED else data.labels
            mean, var = label_moments(RootLoss(self.inner.loss), level.errors(data.errors), data.labels, p)
            return SampleLaw(law.draws, mean=float(mean[0]), var=float(var[0]))
        if isinstance(law, SampleLaw) and math.isinf(law.std) and not self.inner.root_exists():
            return SampleLaw(law.draws, mean=math.inf, var=math.inf)  # draws have a mean even where the law has none
        return law

    def _berkson_population(self) -> IntervalAt:
        """The root of the mean square's; E sqrt(Q) may lie below it, since it is below sqrt(E Q)."""
        return partial(_root_with, self.expected, self.inner._berkson_population())

    def influences(self) -> FloatArray:
        """To first order."""
        size = math.sqrt(self.inner._centre)
        return self.inner.influences() / (2.0 * size) if size > 0 else np.zeros(self.n)


def _root_with(value: float, squared: IntervalAt, level: float) -> Interval:
    low, high = root_of(squared, level)
    return Interval(min(low, value), max(high, value))


def root_law(squared: Law) -> Law:
    """The law of the square root, from that of the square or from its draws."""
    if isinstance(squared, SampleLaw):
        return _root_of_draws(squared)
    if isinstance(squared, LawWithRoot):
        return squared.root()
    return NormalLaw(math.sqrt(squared.mean), 0.0)


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


# the reduced chi-squared -----------------------------------------------------------------------------


class ChiSquaredAnswers(SquaredAnswers):
    """Mean of the squared pulls; its labels are pulls."""

    @cached_property
    def pvalues(self) -> tuple[float, float]:
        """Probabilities that a perfect model's chi-squared is at most, and at least, the observed one."""
        if self._evidence.kept and (scale := self._labels().errors.common_scale) is not None:
            return self._with_uncertain_scale(scale)
        known = not self._evidence.kept or (self._evidence.plain and not self._labels().errors.estimated)
        if known and self._evidence.unweighted:
            size = float(np.max(self._labels().errors.label_variance(np.zeros(self.n)))) if self._evidence.kept else 1.0
            total = self.n * self.observed / size if size > 0 else math.inf
            return float(chdtr(float(self.n), total)), float(chdtrc(float(self.n), total))
        law = self._forward(PERFECT)
        return float(law.cdf(self.observed)), float(law.sf(self.observed))

    def _with_uncertain_scale(self, scale: CommonScale) -> tuple[float, float]:
        """The p-values averaged over the factors that all errors may have; with plain errors Fisher's F."""
        if self._evidence.plain and self._evidence.unweighted:
            law: Law = VarianceRatio(self.n, scale.degrees)
            size = float(np.max(self._labels().errors.label_variance(np.zeros(self.n))))
            return float(law.cdf(self.observed / size)), float(law.sf(self.observed / size))
        law = self._forward(PERFECT)
        ratio = chdtri(scale.degrees, (np.arange(_NODES) + 0.5) / _NODES) / scale.degrees
        low = float(np.mean([law.cdf(self.observed * x) for x in ratio]))
        return low, float(np.mean([law.sf(self.observed * x) for x in ratio]))

    def _forward(self, level: Level) -> Law:
        if level is not PERFECT or not self._evidence.kept:
            return super()._forward(level)
        data = self._labels()
        errors = data.errors
        if isinstance(errors, StudentT):
            label = errors.as_single_measurements()
            weight = data.shares * np.square(label.scale)
            return mean_of_ratios(weight, np.broadcast_to(np.asarray(label.df, dtype=np.float64), (data.n,)))
        scatter = None if errors.normal is None else errors.normal.scatter
        if scatter is None:
            return super()._forward(level)
        nu = scatter.pooled_degrees
        law = VarianceRatio(data.n, nu) if data.weight is None else weighted_ratio(data.shares, nu)
        unit = float(np.max(errors.label_variance(np.zeros(data.n)))) * (nu - 2.0) / nu
        return law if unit == 1.0 else ScaledLaw(law, unit)

    def _back(self, level: Level) -> Estimate:
        """Labels that are means of repeats are treated as single measurements with the error of the mean."""
        if (
            not self._evidence.kept
            or (single := (data := self._labels()).errors.as_single_measurements()) is data.errors
        ):
            return super()._back(level)
        answers = SquaredAnswers(self.declaration, self.loss, Evidence(Measured(data.y, data.p, single, data.weight)))
        return answers._back(level if level.repeats is None else Level(level.name, level.repeats / data.errors.repeats))

    def why_undefined(self) -> str:
        return _FEW_REPEATS if isinstance(self._labels().errors, StudentT) else super().why_undefined()


class ChiSquaredOfBoth(ChiSquaredAnswers):
    """Mean of the squared residuals in units of the errors of label and prediction together.

    A perfect model is one that errs by the standard errors of its predictions alone.
    """

    label_part: Measured | None = None
    """The same residuals with the errors that fresh labels have in these units."""

    @classmethod
    def of_both(cls, declaration: Declaration, loss: Loss, data: Measured) -> ChiSquaredOfBoth:
        """From labels and predictions with errors."""
        label = data.errors.of_labels()
        if label.estimated or label.common_scale is not None:
            raise ValueError(
                "reduced chi-squared takes prederr only with label errors whose sizes are known, not estimated (Repeats, dof, "
                "scale_error): pass yerr=sigma, or Repeats.from_means(sigma=..., n=...)."
            )
        found = cls(declaration, loss, Evidence(pulls_of(data.of_difference())))
        if label.independent:
            bar: Any = data.errors.label_level().error_bar(data.labels)
            units = found._labels()
            found.label_part = Measured(units.y, units.p, label[np.arange(data.n)].scaled(1.0 / bar), data.weight)
        return found

    def _remeasured(self, repeats: float) -> Estimate:
        if self.label_part is None:
            raise UndefinedEstimate(
                "what fresh labels would add is not known where label errors are correlated and predictions err too."
            )
        return SquaredAnswers(self.declaration, self.loss, Evidence(self.label_part))._remeasured(repeats)


def chi_squared_answers(declaration: Declaration, data: Measured) -> Answers:
    """The answers for labels, predictions and errors that were checked before."""
    if data.limited:
        raise ValueError(NO_LIMITS.format(declaration.name))
    if data.errors.of_predictions() is not None:
        return ChiSquaredOfBoth.of_both(declaration, SquaredError(), data)
    return ChiSquaredAnswers.of(declaration, SquaredError(), pulls_of(data))


def perfect_chi_squared(answers: Answers) -> Law:
    """The distribution of a perfect model's reduced chi-squared, errors of the given size."""
    return _of_pulls(answers)._forward(PERFECT)


def _of_pulls(answers: Answers) -> ChiSquaredAnswers:
    while isinstance(answers, LinearAnswers | ClusteredAnswers):
        answers = answers.inner
    assert isinstance(answers, ChiSquaredAnswers)
    return answers


class ChiSquaredScore(Score):
    """A reduced chi-squared, with the p-value of a perfect model.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    >>> s = sb.reduced_chi_squared(y, p, yerr=0.5)
    >>> s.observed, round(s.pvalue, 3)
    (1.5, 0.199)
    """

    @property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one, with these label errors."""
        return pvalues_of(self._answers)[1]


def pvalues_of(answers: Answers) -> tuple[float, float]:
    """Probabilities that a perfect model's chi-squared is at most, and at least, the observed one."""
    return _of_pulls(answers).pvalues


def pulls_of(data: Measured) -> Measured:
    """Residuals in units of the errors of their labels, with the errors that this leaves them."""
    own = data.errors.in_units_of_labels(data.n)
    if own is None:
        raise ValueError(
            f"reduced chi-squared needs normal errors, not {type(data.errors).__name__}: its distribution is that of "
            "squares of normals. Pass Normal(sigma) with the standard deviation of each label."
        )
    label = data.errors.label_level().normal
    sigma = data.errors.error_bar(data.labels) if label is None else np.broadcast_to(label.sigma, (data.n,))
    require_positive(sigma)
    with np.errstate(over="ignore"):
        z = data.residual / sigma
    if label is not None and not label.independent:
        if data.weight is not None:
            raise ValueError(
                "sample_weight has no meaning in d' S^-1 d, where errors are correlated: leave it out, or pass sigma."
            )
        z = _whitened(z, label, sigma)
    if not np.all(np.isfinite(z)):
        raise OverflowError("a residual is so large in units of its error that the ratio leaves the range of doubles.")
    return Measured(z, np.zeros(data.n), own, data.weight)


def require_positive(sigma: FloatArray) -> None:
    """Refuse labels without error, which have no pull."""
    bad = ~(sigma > 0)
    if bad.any():
        what = "has zeros, but reduced chi-squared needs a positive error for each label"
        raise checks.complain("yerr", what, bad, sigma, _HINT)


def _whitened(z: FloatArray, errors: Normal, sigma: FloatArray) -> FloatArray:
    """C^-1 z with S = C C': as many independent unit normals as there are labels, from residuals in units of their errors."""
    if errors.batches is not None:  # labels of a batch share one shift: each by itself
        batch, v = errors.batches.of, errors.batches.shift / sigma
        square, along = (np.bincount(batch, x) for x in (v * v, v * z))
        shrunk = np.where(square > 0, (1.0 - 1.0 / np.sqrt(1.0 + square)) / np.where(square > 0, square, 1.0), 0.0)
        return np.asarray(z - v * (shrunk * along)[batch])
    if errors.shared is not None:  # (I + V V')^(-1/2) z with V the k shared shifts, in O(k^2 n)
        _, size, directions = np.linalg.svd(errors.shared / sigma, full_matrices=False)
        return np.asarray(z - directions.T @ ((1.0 - 1.0 / np.hypot(1.0, size)) * (directions @ z)))
    assert errors.cov is not None
    correlation = errors.cov / np.outer(sigma, sigma)
    smallest = float(linalg.eigvalsh(correlation, subset_by_index=(0, 0))[0])
    if smallest <= 1e-13 * len(z):
        raise ValueError(
            f"cov is singular (smallest eigenvalue of the correlations {smallest:.1e}), but reduced chi-squared needs "
            "its inverse: some combination of the labels would be known without error."
        )
    return np.asarray(linalg.solve_triangular(linalg.cholesky(correlation, lower=True), z, lower=True))


def _groups_of_squares(a: FloatArray, d: FloatArray, codes: NDArray[np.intp]) -> SkewGroups:
    """How groups of items scatter the sum of a d^2, with the shares a of the items.

    Without group g of share A the mean differs by r/(1 - A), r being the sum of the influences a (d^2 - mean). For normal
    residuals with the mean square, mean and product within groups of these, r has the variance
    2 (q^2 - m^4) sum a_i^2 + 2 (c^2 - m^4) sum over pairs a_i a_j.
    """
    share, own = np.bincount(codes, a), np.bincount(codes, np.square(a))
    count, pairs = int(np.count_nonzero(share)), np.square(share) - own
    square, mean = float(a @ np.square(d)), float(a @ d)
    influence = np.bincount(codes, a * (np.square(d) - square))
    apart = float(np.sum(np.square(influence / np.where(share < 1, 1.0 - share, 1.0))))
    together = float(np.sum(np.square(np.bincount(codes, a * d)))) - float(np.sum(np.square(a * d)))
    product = min(max(together / float(pairs.sum()), 0.0), square) if pairs.sum() > 0 else 0.0
    scatter = float(np.sum(np.square(np.bincount(codes, a * (d - mean))))) * count / max(count - 1, 1)
    mean2 = min(max(mean * mean - scatter, 0.0), square)  # the mean of few groups is not zero by chance
    normal = (square**2 - mean2**2) * own + max(product**2 - mean2**2, 0.0) * pairs
    normal = normal if normal.max() > 0 else np.square(share)
    normal = normal / normal.max()
    size = float(np.linalg.norm(influence))
    return SkewGroups(
        apart,
        max(float(normal.sum()) ** 2 / float(normal @ normal) - 1.0, 1.0),
        float(np.sum((influence / size) ** 3)) if size > 0 else 0.0,
    )
