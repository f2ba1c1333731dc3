"""What is known about the labels: the base of all error models, and that of errors of measured numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.parameters import shown_parameter
from scorebars.errors.per_label import PerLabel

if TYPE_CHECKING:
    from scorebars.errors.estimated_sizes import CommonScale
    from scorebars.errors.normal import Normal

ErrorKind = Literal["classical", "berkson"]
_KINDS = ("classical", "berkson")
_BELOW_ONE_SIGMA = float(ndtr(1.0))


def check_kind(kind: str) -> ErrorKind:
    """`kind` as one of the two ways in which label and truth belong together."""
    if kind not in _KINDS:
        raise ValueError(
            f"kind must be 'classical' (label = truth + error: a measurement) or 'berkson' "
            f"(truth = label + error: a set point, a calibrated posterior), got {kind!r}."
        )
    return kind  # type: ignore[return-value]


class ErrorModel(PerLabel, ABC):
    """How labels scatter.

    `kind` is ``"classical"`` (label = truth + error: a measurement) or ``"berkson"`` (truth = label + error: a
    nominal set point, a calibrated posterior). It decides what the score against the truth is.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.Normal(0.1).kind, sb.Normal(0.1, kind="berkson").kind
    ('classical', 'berkson')
    """

    kind: ErrorKind
    usual_kind: ClassVar[ErrorKind] = "classical"

    shown: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that the text of the model shows."""

    @property
    def size(self) -> int | None:
        """How many labels the model describes; None if one value serves all."""
        values = (getattr(self, name) for name in self.per_label)
        return next((len(value) for value in values if isinstance(value, np.ndarray)), None)

    @property
    def shape(self) -> tuple[int]:
        """``(size,)``, by which scikit-learn knows what to split along with the labels; a model for any labels has none."""
        if self.size is None:
            raise AttributeError(f"this {type(self).__name__} serves any number of labels, so it has no shape")
        return (self.size,)

    def labels(self) -> NDArray[Any] | None:
        """The labels themselves where the model holds them, so that y_true may be None."""
        return None

    def require_size(self, n: int, argument: str = "yerr") -> None:
        """Refuse a model that describes another number of labels."""
        if self.size is not None and self.size != n:
            raise ValueError(
                f"{argument} describes {self.size} labels but y_true has {n}. Give one error for each label, or a number."
            )

    def __repr__(self) -> str:
        return self._text(*(shown_parameter(name, getattr(self, name)) for name in self.shown))

    def _text(self, *parts: str) -> str:
        """The model as text: its name, these parts, and its kind where that is not the usual one."""
        kind = [] if self.kind == self.usual_kind else [f"kind={self.kind!r}"]
        return f"{type(self).__name__}({', '.join([*parts, *kind])})"


LabelErrors = ArrayLike | ErrorModel | Sequence[ErrorModel] | None
"""What metrics take as `yerr`: numbers, a model, or a model for each output."""


class MeasurementError(ErrorModel):
    """Errors of measured numbers: the distribution of a fresh label around the label's value `y`.

    Whoever needs to know something about errors asks here, and never for the type of a model.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> errors = sb.Uniform(0.5)
    >>> isinstance(errors, sb.errors.MeasurementError), errors.sample(np.zeros(2), 3, np.random.default_rng(0)).shape
    (True, (3, 2))
    """

    discrete: bool = False
    """Whether fresh labels take single values, each with its own probability."""

    bounded: bool = False
    """Whether errors end at a largest one."""

    sharp: bool = False
    """Whether the density has a cusp or sharp ends: labels then hardly show how the true values are distributed."""

    non_negative: bool = False
    """Whether neither labels nor true values can be below 0."""

    limited: bool = False
    """Whether some labels are known only as limits."""

    follows_label: bool = True
    """Whether fresh labels lie about the value `y` that is passed; draws of a label stay where they are."""

    repeats: FloatArray | float = 1.0
    """How many repeats each label is the mean of; `variance` is for a single measurement."""

    common_scale: CommonScale | None = None
    """How well the one factor of all error sizes is known; None where they are known, or each by itself."""

    @property
    def independent(self) -> bool:
        """Whether the errors of different labels are independent."""
        return True

    @property
    def normal(self) -> Normal | None:
        """These errors as a `Normal` model, for which exact distributions are known; None for other families."""
        return None

    @property
    def plain_normal(self) -> bool:
        """Whether the errors are normal and independent."""
        return self.normal is not None and self.independent

    @property
    def estimated(self) -> bool:
        """Whether the size of each error is an estimate (from repeats, say), so that it is uncertain too."""
        return False

    def shrunk(self) -> MeasurementError:
        """These errors around the truth. Sizes that were estimated each by itself are told by all, as far as they are alike."""
        return self

    def resized(self, factor: FloatArray | float) -> Self:
        """Errors `factor` times as large (a number, or one for each label), their sizes taken as known."""
        return self.with_known_scale().scaled(factor)  # type: ignore[arg-type]

    def with_known_scale(self) -> Self:
        """The same errors, their common factor taken as known."""
        return self if self.common_scale is None else self._changed(common_scale=None)

    def mean(self, y: FloatArray) -> FloatArray:
        """Mean of a fresh label."""
        return y

    @abstractmethod
    def variance(self, y: FloatArray) -> FloatArray:
        """Variance of a fresh label."""

    def third(self, y: FloatArray) -> FloatArray:
        """Third central moment of a fresh label."""
        return np.zeros_like(y)

    @abstractmethod
    def fourth(self, y: FloatArray) -> FloatArray:
        """Fourth central moment of a fresh label."""

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        """Variance of the mean of `repeats` fresh labels."""
        return self.variance(y) / repeats

    def label_variance(self, y: FloatArray) -> FloatArray:
        """Error variance of the label at hand, the mean of its repeats."""
        return self.variance_of_mean(y, self.repeats)

    def in_units_of_labels(self, n: int) -> MeasurementError | None:
        """The error of one repeat of each of n labels, in units of the label's own error bar; None if not near normal."""
        return None

    def as_single_measurements(self) -> MeasurementError:
        """The errors of the labels at hand, each label seen as a single measurement."""
        return self

    def label_level(self) -> MeasurementError:
        """Errors of the labels at hand, the means of their repeats."""
        return self

    def absolute_level(self) -> MeasurementError:
        """`label_level` as absolute errors need it: estimated standard deviations, too small on average, are raised."""
        return self.label_level()

    def around_truth(self) -> MeasurementError:
        """How the labels at hand scatter about the truth: Student's t where the size of the errors was estimated."""
        return self.label_level()

    def variance_of_sum(self, y: FloatArray, a: FloatArray, repeats: FloatArray | float = 1.0) -> float:
        """Variance of sum a_i x_i, each x_i the mean of `repeats` fresh labels."""
        return float(np.sum(np.square(a) * self.variance_of_mean(y, repeats), where=a != 0))

    def common_shifts(self) -> FloatArray | None:
        """Shifts (k, n) that several labels share, which the scatter between labels does not show; None if there are none."""
        return None

    def error_bar(self, y: FloatArray) -> FloatArray:
        """One standard deviation for each label at hand; of asymmetric errors the mean of lower and upper."""
        return np.sqrt(self.label_variance(y))

    def error_bars(self, y: FloatArray) -> FloatArray:
        """Lower and upper error of each label at hand, (2, n), as figures draw them: those quoted, else the middle 68 %."""
        if np.any(np.not_equal(self.repeats, 1)):
            return np.broadcast_to(np.sqrt(self.label_variance(y)), (2, len(y)))
        low, high = self.central_68(y)
        return np.maximum(np.stack([y - low, high - y]), 0.0)

    def largest(self, y: FloatArray) -> float:
        """Largest standard deviation of a label."""
        return float(np.sqrt(np.max(self.variance(y))))

    def error_free(self, y: FloatArray) -> bool:
        """Whether no label has an error."""
        return not np.any(self.variance(y) > 0)

    def require_valid(self, argument: str, hint: str) -> None:
        """Refuse error sizes that were not checked when the model was made."""

    def has_moment(self, order: float) -> bool:
        """Whether the absolute moment of this order is finite for every label."""
        return True

    def why_infinite(self) -> str:
        """Why a loss has no finite mean or variance under these errors, and what to use instead."""
        return (
            f"the loss has no finite moments under {self!r} errors. Use observed, or the median distribution.ppf(0.5)."
        )

    def scaled(self, factor: float) -> Self:
        """The errors of the labels multiplied by `factor`; families that are tied to a unit stay as they are."""
        return self

    @abstractmethod
    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Fresh labels, shape (size, n)."""

    def sample_both(
        self, y: FloatArray, p: FloatArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Fresh labels (size, n), and predictions: p itself, or draws of them (size, n) where predictions err too."""
        return self.sample(y, size, rng), p

    def moved(self, y: FloatArray, p: FloatArray, z: float) -> list[tuple[FloatArray, FloatArray]]:
        """Pairs of labels and predictions, one for each source of error: that source is off by z standard deviations."""
        return [(self.ppf(y, np.full(len(y), ndtr(z))), p)]

    def standard_draws(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One independent error for each label, of the family's shape, with mean 0 and variance 1."""
        sd = np.sqrt(self.variance(y))
        return np.asarray((self.sample(y, 1, rng)[0] - self.mean(y)) / np.where(sd > 0, sd, 1.0))

    def measured_again(
        self, y: FloatArray, truth: FloatArray, size: int, rng: np.random.Generator, repeats: float | None = None
    ) -> FloatArray:
        """Fresh labels (size, n) about the true values behind y, each the mean of `repeats` (None: as many as y has)."""
        centre = self.possible_truth(y, truth)
        drawn, mean = self.sample(centre, size, rng), self.mean(centre)
        if not self.follows_label:
            drawn, mean = drawn - mean + truth, truth
        return drawn if repeats in (None, 1) else np.asarray(mean + (drawn - mean) / math.sqrt(repeats or 1.0))

    def for_labels(self, y: FloatArray) -> MeasurementError:
        """The errors of the labels y; errors that are a fraction of the label get their size here."""
        return self

    def of_labels(self) -> MeasurementError:
        """The errors of the labels alone, without those of the predictions."""
        return self

    def of_predictions(self) -> Normal | None:
        """The errors of the predictions; None where these have none."""
        return None

    def of_difference(self) -> MeasurementError:
        """The errors of label less prediction, where a loss depends on the difference alone."""
        return self

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        """Refuse labels that cannot come from this family; the message says which and how many."""

    # probabilities, for x of shape (..., n) ----------------------------------------------------

    @abstractmethod
    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label <= x)."""

    @abstractmethod
    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label > x), accurate in the upper tail too."""

    def below(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label < x): differs from `cdf` where a single value has probability."""
        return self.cdf(y, np.nextafter(x, -math.inf))

    def at_least(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label >= x)."""
        return self.sf(y, np.nextafter(x, -math.inf))

    @abstractmethod
    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """Density of a fresh label at x; of a discrete family the probability of x."""

    @abstractmethod
    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        """The value below which a fresh label falls with probability q."""

    def central_68(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between which values the middle 68 % of fresh labels lie: one standard deviation to either side for normal errors."""
        low, high = (self.ppf(y, np.full(len(y), q)) for q in (1.0 - _BELOW_ONE_SIGMA, _BELOW_ONE_SIGMA))
        return low, high

    def draws(self, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """The values that fresh labels take and their probabilities, each (draws, n); None where no draws are held."""
        return None

    def kinks(self, n: int) -> FloatArray:
        """Errors (k, n) at which the density of each of n labels bends or jumps; at 0 where it follows the label."""
        return np.zeros((1, n))

    def between(self, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """P(low <= fresh label <= high), the difference taken in the tail that keeps its digits."""
        upper = self.at_least(y, low) - self.sf(y, high)
        lower = self.cdf(y, high) - self.below(y, low)
        return np.clip(np.where(low > y, upper, lower), 0.0, 1.0)

    # against the truth -------------------------------------------------------------------------

    @abstractmethod
    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[MeasurementError, FloatArray]:
        """Extra error for the labels at hand, of `level` times their error variance: its model, and the centres of its labels.

        Losses under growing extra error, extrapolated back to no error at all, estimate the loss against the truth.
        """

    def possible_truth(self, y: FloatArray, truth: FloatArray) -> FloatArray:
        """Candidates for the true values behind y, moved to where the family allows them: above 0 where labels are."""
        return np.maximum(truth, 0.1 * y) if self.non_negative else truth

    def truth_between(self, y: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
        """Where the truth behind each label lies, missed on either side with probability `tail`."""
        own, q = self.label_level(), np.full(len(y), tail)
        return 2.0 * y - own.ppf(y, 1.0 - q), 2.0 * y - own.ppf(y, q)

    def likelihood(self, y: FloatArray, truth: FloatArray) -> FloatArray:
        """How probable the labels y (n,) are if the truth is one of the candidates (n, k), up to a factor for each label."""
        return self.pdf(truth.T, y).T

    def unbiased_label(self, y: FloatArray) -> FloatArray:
        """Unbiased estimate of the true value behind the label y."""
        return 2.0 * y - self.mean(y)

    def without_ties(self, y: FloatArray) -> tuple[FloatArray, MeasurementError]:
        """Labels without ties, and their errors: those at hand, unless many are equal because they were rounded."""
        return y, self

    def unbiased_square(self, y: FloatArray, p: FloatArray) -> FloatArray:
        """Unbiased estimate of (truth - p)^2 from the label y."""
        return np.square(self.unbiased_label(y) - p) - self.label_variance(y)

    def unbiased_square_variance(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimated variance of `unbiased_square`, and the variance for a perfect prediction, which it cannot be below.

        Var (D + e)^2 = m4 - s^4 + 4 D^2 s^2 + 4 D m3, with D and D^2 replaced by their unbiased estimates.
        """
        s2, m3, m4 = self.variance(y), self.third(y), self.fourth(y)
        d = self.unbiased_label(y) - p
        with np.errstate(invalid="ignore"):
            floor = np.where(np.isinf(m4), np.inf, m4 - s2 * s2)
            return np.where(np.isinf(m4), np.inf, floor + 4.0 * (s2 * (d * d - s2) + d * m3)), floor

    def truth_variance(self, y: FloatArray, p: FloatArray, a: FloatArray) -> float:
        """Variance of the sum of `unbiased_square` with weights a: unbiased, and never below that of perfect predictions."""
        variance, floor = self.unbiased_square_variance(y, p)
        counts = a > 0
        return max(*(float(np.sum(a * a * part, where=counts)) for part in (variance, floor)), 0.0)


def held_labels(yerr: Any) -> Any:
    """The labels that the error model holds, where y_true is None."""
    held = yerr.labels() if isinstance(yerr, ErrorModel) else None
    if held is None:
        models = "Censored, Empirical, Repeats, LabelProbabilities, Votes or Thresholded"
        hint = f" {checks.FIX_CENSORED_DATA}" if hasattr(yerr, "num_censored") else ""
        raise ValueError(
            f"y_true is None, which is allowed only with an error model that holds the labels: {models}.{hint}"
        )
    return held
