"""What is compared: the metric with its options, the labels with their errors, and the errors of the predictions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.score import Declaration, Score, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.evaluation.scoring import ChosenMetric, chosen_metric

_UNKNOWN = (
    "metric must be the name of a metric, a metric function of scorebars, or what sb.metric(loss) made, got {!r}."
)
_Common = tuple[NDArray[Any], NDArray[np.intp]]


# the metric --------------------------------------------------------------------------------------


class ComparedMetric(ChosenMetric):
    """A declared metric with its options."""

    @cached_property
    def declaration(self) -> Declaration:
        return cast(Declaration, super().declaration)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The arguments of the metric's function."""
        return signature(self.function).parameters

    @property
    def needs_errors(self) -> bool:
        """Whether the classical metric itself takes the errors: reduced chi-squared."""
        return self.parameters["yerr"].default is Parameter.empty

    def score(self, y: Any, p: Any, yerr: Any, weight: FloatArray | None, prederr: Any = None) -> Score:
        """The Score of one model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a drawn class is missing, or that a moment does not exist
            found = self(y, p, yerr, weight, prederr)
        if isinstance(found, Score):
            return found
        what = f"{self.name} gives {type(found).__name__}, not one number"
        raise ValueError(f"{what}, so models cannot be compared by it. Choose an average over classes or outputs.")

    def classical(
        self, y: NDArray[Any], p: NDArray[Any], yerr: Any, weight: FloatArray | None, prederr: Any = None
    ) -> float:
        """The observed metric; nan where it is not defined for these labels."""
        try:
            errors = (yerr, weight, prederr) if self.needs_errors else (None, weight)
            return self.score(y, p, *errors).observed
        except (ValueError, ZeroDivisionError, OverflowError):
            return float("nan")

    def with_levels(self, alpha: Any) -> ComparedMetric:
        """The same metric of quantiles at these levels; None where the forecasts say them."""
        return ComparedMetric(self.function, {} if alpha is None else {"alpha": alpha})

    def with_all_classes(self, classes: NDArray[Any], prediction: NDArray[Any]) -> ComparedMetric:
        """The same metric, told of all classes: redrawn labels need not show each of them."""
        known, fixed = self.parameters, {}
        if "y_pred" in known:
            by_class = self.options.get("average", known["average"].default if "average" in known else None) != "binary"
        else:
            by_class = prediction.ndim == 2 or self.name == "log_loss"
            fixed = {"pos_label": classes[-1]} if prediction.ndim == 1 and "pos_label" in known else {}
        fixed |= {"labels": classes} if "labels" in known and by_class else {}
        return ComparedMetric(self.function, {**fixed, **self.options})


def compared_metric(metric: Any, options: Mapping[str, Any]) -> ComparedMetric:
    """The metric that a user means; refuses unknown options, and those that are missing."""
    found = chosen_metric(metric, options) if isinstance(metric, str) or callable(metric) else None
    if found is None or found.declaration is None:
        raise ValueError(_UNKNOWN.format(metric))
    if not found.declaration.scored:
        raise ValueError(f"compare does not take {found.name}: it is not a single number with a direction.")
    if found.name == "mean_error":
        raise ValueError(
            "compare does not take mean_error: of two biases neither sign is better. Use mean_squared_error."
        )
    own = "level" in found.known_options  # which is one of compare, too
    found.require_options(
        "compare(..., metric=functools.partial(sb.{name}, {option}=...))"
        if own
        else "compare(..., metric={name!r}, {option}=...)"
    )
    return ComparedMetric(found.function, found.options)


# the labels --------------------------------------------------------------------------------------


class ComparedNumbers:
    """Measured numbers with their errors. Draws have shape (count, n)."""

    def __init__(self, y: NDArray[Any], errors: MeasurementError) -> None:
        self.shown, self.n, self.model = np.asarray(y, dtype=np.float64), len(y), errors
        self.kind, self.repeats = errors.kind, errors.repeats
        self.errors = errors.label_level()
        """The errors of the labels at hand, which are means of their repeats."""
        self.scale = errors.common_scale
        """How well the common factor of all error sizes is known; None where it is known exactly."""
        self.exact = self.errors.error_free(self.shown)
        normal = self.errors.normal
        self.batches = None if normal is None else normal.batches
        """The part of the errors that labels of one batch have in common; None where there is none."""
        self.common = None if self.batches is not None else self.errors.common_shifts()
        """Rows of shifts that several labels share, (k, n); None where errors are independent, or shared in batches."""

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """The labels redrawn from their error bars, which are of some possible size where that is not known well."""
        rows = self.errors.sample(self.shown, count, rng)
        if self.scale is None:
            return rows
        return self.shown + self.scale.factors(count, rng)[:, None] * (rows - self.shown)

    def draw_common(self, count: int, rng: np.random.Generator) -> _Common | None:
        """Rows of labels moved by the errors that several of them share, and the state of the common cause in each row.

        The mean of a metric over the rows of one state shows what this state does to it. None for independent errors.
        """
        if self.batches is not None:
            assert self.errors.normal is not None
            only = self.errors.normal._changed(sigma=0.0)
            return only.sample(self.shown, count, rng), np.arange(count)
        if self.common is None:
            return None
        return self.shown + rng.standard_normal((count, len(self.common))) @ self.common, np.arange(count)

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray] | None:
        """Two draws about labels that were made noisier once: what a further error does to them."""
        before, first, second = (self.draw(count, rng) for _ in range(3))
        return before + (first - self.shown), before + (second - self.shown)


class ComparedClasses:
    """Class labels: `data` knows their errors, and predictions of classes are indices into `data.classes`."""

    def __init__(self, data: Labelled) -> None:
        self.data, self.kind, self.shown, self.n = data, data.kind, data.names, len(data.names)
        self.model, self.repeats = data.model, data.model.repeats
        self.cases = self._cases()
        """Label probabilities (n, K) of independent labels, with the chance of each case: two for correlated flips."""
        self.exact = all(bool(np.all(p[np.arange(self.n), data.shown] == 1.0)) for _, p in self.cases)

    def _cases(self) -> list[tuple[float, FloatArray]]:
        if self.kind == "classical" and not isinstance(self.repeats, int):
            with suppress(UndefinedEstimate):  # votes that do not tell how often one is wrong: take them one by one
                return [(1.0, self.data.own_probabilities)]
        return self.data.mixture()

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """The labels redrawn from their error bars."""
        return self._by_case(count, rng)[0]

    def draw_common(self, count: int, rng: np.random.Generator) -> _Common | None:
        """As for numbers: rows of labels, and which case each row is drawn from."""
        return self._by_case(count, rng) if len(self.cases) > 1 else None

    def draw_noisier(self, count: int, rng: np.random.Generator) -> None:
        """None: a class label cannot be made noisier and then drawn about itself, as a number can."""

    def _by_case(self, count: int, rng: np.random.Generator) -> _Common:
        chances = np.array([chance for chance, _ in self.cases])
        case = rng.choice(len(chances), count, p=chances / chances.sum())
        picked = np.zeros((count, self.n), dtype=np.intp)
        for k, (_, p) in enumerate(self.cases):
            here = np.flatnonzero(case == k)
            u = rng.random((len(here), self.n))
            edges = np.cumsum(p, axis=1)[:, :-1].T
            picked[here] = sum((u > edge for edge in edges), np.zeros(u.shape, dtype=np.intp))
        return np.asarray(self.data.classes[picked]), case


class PredictionErrors:
    """Standard errors of the predictions of some models: independent of each other, or all from one source (`shared`)."""

    def __init__(self, sd: Mapping[str, FloatArray] | None = None, shared: bool = False) -> None:
        self.sd = {name: q for name, q in (sd or {}).items() if np.any(q > 0)}
        self.correlation = 1.0 if shared else 0.0
        """Correlation of the errors of two models on one item."""

    def of(self, name: str) -> FloatArray | float:
        """Standard errors of a model's predictions."""
        return self.sd.get(name, 0.0)

    def draw(self, p: FloatArray, name: str, count: int, seed: tuple[int, ...]) -> FloatArray:
        """Predictions redrawn, (count, n), the same for the same seed; p itself where they have no error."""
        if name not in self.sd:
            return p
        own = 1 if self.correlation else 1 + list(self.sd).index(name)  # not 0, which would not change a seed
        return p + self.sd[name] * np.random.default_rng((*seed, own)).standard_normal((count, len(p)))
