"""Score, Estimate and Interval: what a metric returns.

A `Score` is a float, the expected value of the metric if every label were redrawn from its error bar. Everything else it
answers is computed when it is first asked for, by the `Answers` object that the metric gave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from scorebars import checks
from scorebars._shared import score_views
from scorebars._shared.score_views import Answer, Record
from scorebars.laws.law import Law

if TYPE_CHECKING:
    from scorebars.answers.base import Answers


ONE_SIGMA = math.erf(math.sqrt(0.5))
"""The level of an interval that reaches one standard deviation of a normal distribution to either side."""


class UndefinedEstimate(ValueError):
    """The data and the error model do not determine what was asked for; the message says why.

    Examples
    --------
    >>> import scorebars as sb
    >>> try:
    ...     sb.accuracy_score([0, 1, 1, 0], [0, 1, 0, 0], yerr=0.5).truth
    ... except sb.UndefinedEstimate as why:
    ...     print(type(why).__name__)
    UndefinedEstimate
    """


class UndefinedMomentWarning(UserWarning):
    """An expected value or a variance does not exist under these errors; the message says what to use instead.

    Examples
    --------
    >>> import warnings
    >>> import scorebars as sb
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     print(sb.mean_absolute_percentage_error([1.0, 2.0], [1.1, 2.1], yerr=0.2).expected)
    inf
    >>> said[0].category.__name__
    'UndefinedMomentWarning'
    """


class Interval(NamedTuple):
    """Lower and upper end of an interval.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    >>> low, high = sb.mean_squared_error(y, p, yerr=0.5).interval(0.95)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.11 to 1.46
    """

    low: float
    """The lower end."""
    high: float
    """The upper end."""


@dataclass(frozen=True)
class Declaration:
    """What is true of a metric whatever the data: declared once, read by tests, docs and command line."""

    name: str
    title: str
    greater_is_better: bool
    task: str
    """``"regression"`` or ``"classification"``."""
    low: float
    high: float
    """The range of possible values."""
    degree: int | None
    """The metric scales with the degree-th power of the labels' unit; None if it does not scale."""
    perfect: float
    """The value of a perfect model on exact labels."""
    scored: bool = True
    """Whether the function returns a Score; False for an estimate or a matrix."""
    takes: str = "labels"
    """What is predicted: ``"labels"`` (numbers or classes), ``"probabilities"``, or ``"scores"`` (larger: more likely)."""
    weights: bool = True
    """Whether the function takes `sample_weight`."""
    keeps: str | None = None
    """What has to be kept of labels that come in pieces (see `engines.store`): "sums", "squares", "absolute", "ratio",
    "within" or "pulls"; for forecasts "scores"; for classes "right" (or wrong) or "pairs" (of classes). None if it needs all
    labels at once."""

    @property
    def direction(self) -> str:
        """Which way is better, in words."""
        if self.low < self.perfect < self.high:
            return f"best at {self.perfect:g}"
        return "larger is better" if self.greater_is_better else "smaller is better"


def _checked(level: float) -> float:
    """The level of an interval; the usual case comes first, for speed."""
    return level if type(level) is float and 0.0 < level < 1.0 else checks.probability(level, "level")


class Estimate(float):
    """An estimated number with its uncertainty.

    Attributes
    ----------
    value, std
        The estimate and its standard error.
    method
        How it was obtained.
    note
        What to know about it, bounds included.

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    >>> truth = sb.mean_squared_error(y, p, yerr=0.5).truth
    >>> truth.value, truth.method
    (0.125, 'unbiased')
    >>> print(truth)
    0.12 ± 0.25 (labels)
    """

    method: str
    note: str
    _std: float | Callable[[], float] | None
    """None: half of the interval at one standard deviation."""
    _interval: Callable[[float], Interval]
    _total: Callable[[float], Interval] | None
    _bootstrap: Callable[[int, np.random.Generator, str], Estimate] | None
    _sampled: bool
    """Whether `std` and `interval` hold the choice of the items as well as the label errors."""

    def __new__(
        cls,
        value: float,
        std: float | Callable[[], float] | None = None,
        *,
        method: str,
        note: str = "",
        interval: Callable[[float], Interval],
        total_interval: Callable[[float], Interval] | None = None,
        bootstrap: Callable[[int, np.random.Generator, str], Estimate] | None = None,
        sampled: bool = False,
    ) -> Estimate:
        self = super().__new__(cls, value)
        self.__dict__.update(_std=std, method=method, note=note, _interval=interval, _total=total_interval)
        self.__dict__.update(_bootstrap=bootstrap, _sampled=sampled)
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an Estimate cannot be changed: {name} was not set")

    def _made_of(self) -> dict[str, Any]:
        made_of: dict[str, Any] = {"std": self._std, "method": self.method, "note": self.note, "sampled": self._sampled}
        return made_of | {"interval": self._interval, "total_interval": self._total, "bootstrap": self._bootstrap}

    def _changed(self, **changes: Any) -> Estimate:
        """The same estimate, some of what it was made of replaced."""
        return Estimate(float(self), **(self._made_of() | changes))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return partial(Estimate, **self._made_of()), (float(self),)

    @property
    def value(self) -> float:
        """The estimate as a plain float."""
        return float(self)

    @property
    def std(self) -> float:
        """The standard error of the estimate; where it costs more than the estimate, found when first asked for."""
        if self._std is None:
            low, high = self._interval(ONE_SIGMA)
            self.__dict__["_std"] = (high - low) / 2
        elif callable(self._std):
            self.__dict__["_std"] = float(self._std())
        return float(self._std)  # type: ignore[arg-type]

    @property
    def sampling_std(self) -> float:
        """What the choice of the test items adds to `std`, found from the width of the total interval at 68.3 %."""
        if "_sampling_std" not in self.__dict__:
            low, high = self.total_interval(ONE_SIGMA)
            half = (high - low) / 2
            part = self.std / half if half > 0 and math.isfinite(half) else 0.0
            self.__dict__["_sampling_std"] = half * math.sqrt(1.0 - part * part) if part < 1.0 else 0.0
        return float(self.__dict__["_sampling_std"])

    def interval(self, level: float = 0.95) -> Interval:
        """Label errors alone: where the quantity lies, at this confidence level, for these test items."""
        return Interval(*map(float, self._interval(_checked(level))))

    def total_interval(self, level: float = 0.95) -> Interval:
        """Label errors and sample: where the quantity lies in the population that the test items were drawn from."""
        if self._total is None:
            raise UndefinedEstimate("this estimate has no interval for a population: it is about these items only.")
        return Interval(*map(float, self._total(_checked(level))))

    def bootstrap(self, draws: int = 200, rng: np.random.Generator | int | None = 0) -> Estimate:
        """The same estimate, its uncertainty found by repeating the measurement `draws` times on the computer.

        For estimates by the most likely distribution of the true residuals (``method="npmle"``): true residuals are drawn
        from it, labels measured again and fitted again. It costs `draws` fits; `std` and `interval` as they are come
        from the likelihood profile, without any drawing. The same `rng` seed gives the same digits.
        """
        if self._bootstrap is None:
            raise UndefinedEstimate(
                f"an estimate by method={self.method!r} has no bootstrap: only those by 'npmle', which fit a "
                "distribution to the residuals, have one. std and interval() say how well it is known."
            )
        if draws < 2:
            raise ValueError(f"draws must be at least 2, got {draws}.")
        return self._bootstrap(draws, np.random.default_rng(rng), self.note)

    def __str__(self) -> str:
        return score_views.with_named_errors(self, self._sampled)

    def __repr__(self) -> str:
        return f"Estimate({self}, method={self.method!r})"

    def _repr_html_(self) -> str:
        return score_views.estimate_html(self)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


class Score(float):
    """A metric's value with its error bar.

    As a float it is `expected`. The attributes answer different questions:

    ==================  ==========================================================================================
    ``observed``        What does the classical metric say?
    ``expected``        What would it be if every label were redrawn from its error bar?
    ``std``             How far would it scatter then? (also ``variance``, ``interval(level)``, ``distribution``)
    ``truth``           How far is the model from the true values behind the labels?
    ``remeasured(k)``   What will the metric be on labels measured afresh, each the mean of k repeats?
    ``perfect``         What would a perfect model score on these labels?
    ==================  ==========================================================================================

    Examples
    --------
    >>> import scorebars as sb
    >>> y, p = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    >>> s = sb.mean_squared_error(y, p, yerr=0.5)
    >>> float(s), s.observed, s.truth.value, s.perfect.value
    (0.625, 0.375, 0.125, 0.25)
    >>> print(s)
    0.62 ± 0.35 (labels)
    """

    _answers: Answers
    _cache: dict[str, Any]

    def __new__(cls, answers: Answers) -> Score:
        self = super().__new__(cls, answers.expected)
        self.__dict__["_answers"] = answers
        self.__dict__["_cache"] = {}
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Score cannot be changed: {name} was not set")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self._answers,)

    def _once(self, key: str, compute: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    # the six answers ---------------------------------------------------------------------------

    @property
    def observed(self) -> float:
        """What the classical metric says: the labels taken as exact."""
        return self._answers.observed

    @property
    def expected(self) -> float:
        """What the metric would be on average if every label were redrawn from its error bar."""
        return float(self)

    @property
    def correction(self) -> float:
        """expected - observed; infinite where both leave the range of doubles."""
        observed = self._answers.observed
        return observed if math.isinf(observed) and observed == float(self) else float(self) - observed

    @property
    def std(self) -> float:
        """How far the metric would scatter if every label were redrawn from its error bar: its standard deviation."""
        return float(self._once("std", lambda: self._answers.std))

    @property
    def variance(self) -> float:
        """The square of `std`."""
        return float(np.square(self.std, dtype=np.float64)) if self.std < 1e154 else float("inf")

    @property
    def distribution(self) -> Law:
        """The distribution of the metric if every label were redrawn from its error bar."""
        law: Law = self._once("law", self._answers.law)
        return law

    def interval(self, level: float = 0.95) -> Interval:
        """Label errors alone: where the metric falls with probability `level` if every label is drawn from its error bar."""
        level = _checked(level)
        key, tail = f"interval {level!r}", (1.0 - level) / 2
        if key not in self._cache:
            law = self.distribution
            self._cache[key] = Interval(float(law.ppf(tail)), float(law.ppf(1.0 - tail)))
        found: Interval = self._cache[key]
        return found

    @property
    def truth(self) -> Estimate:
        """The metric against the true values behind the labels."""
        return self._answers.against_truth

    def remeasured(self, repeats: float = 1) -> Estimate:
        """What the metric will be on labels measured afresh, each the mean of `repeats` repeats."""
        k = float(repeats) if type(repeats) is int and repeats > 0 else checks.repeats(repeats)
        estimate: Estimate = self._once(f"remeasured {k}", lambda: self._answers.remeasured(k))
        return estimate

    @property
    def perfect(self) -> Estimate:
        """What a perfect model would score on these labels: the noise floor, or the noise ceiling."""
        return self._answers.floor

    def _record(
        self, names: Iterable[str], level: float | None = None, repeats: float = 1, bare: Collection[str] = ()
    ) -> Record:
        """Metric, labels and the answers of these names; with intervals where a `level` is given, except for `bare` ones."""
        of = self._answers
        asked = {name: self._answer(name, None if name in bare else level, repeats) for name in names}
        about = (of.declaration, of.declaration.direction, of.n, of.kind, of.unit, of.observed)
        return Record(*about, asked, of.counted_errors, of.expected_is, of.observed_is, of.limits_said)

    def _answer(self, name: str, level: float | None, repeats: float) -> Answer:
        try:
            if name == "remeasured":
                found: Any = self.remeasured(repeats)
            else:
                found = self if name == "expected" else getattr(self, name)
            if not isinstance(found, Score | Estimate):  # a plain number
                return Answer(found)
            low, high = (None, None) if level is None else found.interval(level)
            sample = None
            with suppress(ValueError):  # where the scatter of the items is not known
                sample = found.sampling_std
            about = (found.note, found.method) if isinstance(found, Estimate) else ()
            return Answer(float(found), found.std, sample, low, high, *about)
        except ValueError as why:  # UndefinedEstimate is one; labels that are gone leave the moments
            return Answer(float(self), self.std) if name == "expected" else Answer(None, note=str(why))

    # around them -----------------------------------------------------------------------

    @property
    def bounds(self) -> Interval:
        """The values of the metric that the labels allow, where some are limits (`Censored`); else `observed` twice."""
        return self._answers.bounds()

    @property
    def noise_share(self) -> float | None:
        """How much of the observed error is label error: 1 - truth / observed, in squares for root metrics.

        For metrics that are best at 1 the error is 1 - score. None where it has no meaning: a bias or a correlation, a
        score that is perfect as observed, Berkson errors, labels that do not determine the truth.
        """
        share: float | None = self._once("noise_share", self._answers.noise_share)
        return share

    @property
    def sampling_std(self) -> float:
        """Standard deviation of the expected metric over test sets of this size drawn from the same population."""
        return float(self._once("sampling_std", self._answers.sampling_std))

    def total_interval(self, level: float = 0.95) -> Interval:
        """Label errors and sample: where the metric falls on a new test set of this size, measured in the same way."""
        return Interval(*map(float, self._answers.total_interval(_checked(level))))

    @property
    def n(self) -> int:
        """Number of labels."""
        return self._answers.n

    @property
    def unit(self) -> Any:
        """Unit of the metric, where the labels brought one (the MSE has its square); else None."""
        return self._answers.unit

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self._answers.declaration.name

    @property
    def method(self) -> str:
        """How the distribution was found: "exact", "quadrature", "saddlepoint", "delta" or "simulation".

        By "saddlepoint" probabilities err by at most `distribution.error`, which is below 1e-9.
        """
        return self.distribution.method

    @property
    def undefined(self) -> str:
        """What does not exist under these label errors, and what to use instead; empty where `expected` and `std` do."""
        what = "expected value" if not math.isfinite(self) else "std" if not math.isfinite(self.std) else ""
        state = "not defined" if math.isnan(self) else "infinite"
        return f"the {what} of {self.name} is {state}: {self._answers.why_undefined()}" if what else ""

    @property
    def greater_is_better(self) -> bool:
        """The metric's direction."""
        return self._answers.declaration.greater_is_better

    @property
    def declaration(self) -> Declaration:
        """What is true of the metric whatever the data."""
        return self._answers.declaration

    def explain(self) -> str:
        """Plain sentences: what each number means here, and warnings."""
        interval, warnings, repeats = self.interval(0.95), self._answers.warnings(), self._answers.present_repeats()
        record = self._record((*score_views.ANSWER_NAMES, "noise_share"), repeats=repeats)
        return score_views.sentences(record, interval, warnings, repeats)

    def sentence(self, unit: str | None = None) -> str:
        """Ready for a paper: the number to publish for labels of this kind, both error bars, and how it was found.

        `unit` is that of the labels, where they bring none of their own.
        """
        return score_views.for_paper(self._record(("expected", "truth", "perfect")), unit)

    def to_dict(self, level: float = 0.95, repeats: float = 1) -> dict[str, float | int | str | None]:
        """All answers under flat names, intervals at this `level`; None where an answer cannot be estimated.

        `remeasured` is for `repeats` new measurements of each label.
        """
        return score_views.flat(self, level, repeats)

    def to_metrics(self) -> dict[str, float]:
        """The numbers of `to_dict` as ``"metric/answer"``, finite ones only: what experiment trackers take.

        ``mlflow.log_metrics(score.to_metrics())``, ``wandb.log(score.to_metrics())``.
        """
        return score_views.for_trackers(self, self.name)

    def __str__(self) -> str:
        return score_views.with_named_errors(self, self._answers.sampled)

    def __repr__(self) -> str:
        return f"Score({self.name}: {self}, n={self.n})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def _repr_html_(self) -> str:
        return score_views.notebook(self)


class Scores(tuple[Score, ...]):
    """One Score for each output; NumPy reads it as an array of the expected values.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> s = sb.mean_squared_error([[1.0, 2.0], [3.0, 5.0]], [[1.5, 2.0], [3.0, 4.0]], yerr=0.5, multioutput="raw_values")
    >>> len(s), np.asarray(s).tolist()
    (2, [0.375, 0.75])
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([float(s) for s in self], dtype=dtype or np.float64)

    @property
    def shape(self) -> tuple[int]:
        """The shape of the array of expected values."""
        return (len(self),)

    def __getitem__(self, index: Any) -> Any:
        """One Score, or several as arrays are indexed: by a slice, positions or booleans."""
        chosen = np.arange(len(self))[index]
        if chosen.ndim == 0:
            return super().__getitem__(int(chosen))
        return Scores(super(Scores, self).__getitem__(int(k)) for k in chosen)

    def __repr__(self) -> str:
        return "Scores(" + ", ".join(map(repr, self)) + ")"
