"""One repetition of an experiment: make items, measure them, ask a score for every interval it offers, look behind the curtain.

`ANSWERS` names the intervals. Each promises to hold a value that a simulation knows and a user does not:

    interval            the metric on labels redrawn from their error bars about the labels at hand
    total_interval      the classical metric on new items, measured in the same way
    truth               the metric of the same items against their true values
    truth.total_interval   the metric against true values over all items of the world
    remeasured          the classical metric of the same items, measured once more in the same way
    perfect             the classical metric of predictions that are the true values, on the labels at hand

`DIFFERENCES` are those of a comparison with a second model on the same items, `CALIBRATION` those of `calibration`: the factor
on the spread of forecasts, the same with their bias taken out, and the bias.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from worlds import EVERY_WORLD, WORLDS, Items, World

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies.capabilities import ARGUMENTS

ANSWERS = ("interval", "total_interval", "truth", "truth.total_interval", "remeasured", "perfect")
DIFFERENCES = ("difference.total_interval", "difference.truth", "difference.truth.total_interval")
CALIBRATION = ("spread_factor", "spread_factor_without_bias", "bias")
LEVELS = (0.68, 0.95, 0.99)
Ends = dict[float, sb.Interval]
"""The interval at each level."""
_POPULATION = 200_000
_NO_POPULATION = ("max_error", "reduced_chi_squared")
"""The largest of all residuals has no value, and chi-squared against the truth divides by errors of labels."""


@dataclass
class Cell:
    """How one interval of one metric did in one world."""

    count: int = 0
    held: dict[float, int] = field(default_factory=lambda: dict.fromkeys(LEVELS, 0))
    outside: int = 0
    """Estimates outside their own interval."""
    errors: list[float] = field(default_factory=list)
    """Estimate minus value."""

    def add(self, ends: Ends, estimate: float | None, value: float) -> None:
        self.count += 1
        for level, (low, high) in ends.items():
            if math.isnan(low) or math.isnan(high):
                raise AssertionError("an end of an interval is NaN")
            slack = 1e-9 * max(abs(value), abs(low), abs(high))
            self.held[level] += low - slack <= value <= high + slack
            if level == 0.95 and estimate is not None:
                self.outside += not low - slack <= estimate <= high + slack
        if estimate is not None:
            self.errors.append(estimate - value)


def options_of(metric: str, world: World) -> dict[str, Any] | None:
    """What the metric has to be told in this world; None where it does not take so many classes."""
    given = dict(ARGUMENTS.get(metric, {}))
    if metric == "fraction_within":
        given["tolerance"] = 10.0 if world.name == "Poisson" else 1.0
    many = ("brier_score_loss", "roc_auc_score") if world.classes > 2 else ()
    if metric in ("log_loss", "top_k_accuracy_score", *many):  # few labels may all be of one class
        given["labels"] = list(range(world.classes))
    if world.classes > 2:
        names = inspect.signature(entry_of(metric).function).parameters
        if metric == "top_k_accuracy_score":
            given["k"] = 2
        elif metric == "roc_auc_score":
            given["multi_class"] = "ovr"
        elif "pos_label" in names and "average" not in names and metric != "brier_score_loss":
            return None
        elif "average" in names:
            given["average"] = "macro"
    return given


def predictions_of(metric: str, world: World, probability: np.ndarray) -> np.ndarray:
    """What the metric takes: numbers, forecasts, classes, or probabilities."""
    if declarations()[metric].task == "forecast":
        return forecast_of(world, probability)
    if world.task == "regression":
        return probability
    if declarations()[metric].takes != "labels":
        return probability[:, 1] if world.classes == 2 else probability
    return np.argmax(probability, axis=1)


def forecast_of(world: World, mean: np.ndarray) -> sb.NormalForecast:
    """Forecasts whose spread goes up and down with their mean."""
    size = 10.0 if world.name == "Poisson" else 1.0
    return sb.NormalForecast(mean, size * (1.0 + 0.4 * np.sin(mean / size)))


def perfect_predictions(metric: str, world: World, items: Any) -> np.ndarray:
    """The predictions of a model that knows the truth, and for probabilities how labels err."""
    if world.task == "regression":
        return items.truth
    if declarations()[metric].takes == "labels":
        return items.truth
    assert world.as_one is not None
    return np.asarray(world.as_one)[items.truth]


@dataclass(frozen=True)
class Situation:
    """One metric in one world, on test sets of n items."""

    metric: str
    world: World
    n: int

    @property
    def score(self) -> Callable[..., sb.Score]:
        options = options_of(self.metric, self.world)
        assert options is not None
        return partial(entry_of(self.metric).function, **options)

    def classical(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        """The metric itself; nan where it refuses numbers that have no logarithm."""
        if self._refuses(labels, predictions):
            return math.nan
        return float(self.score(labels, predictions).observed)

    def _refuses(self, labels: np.ndarray, predictions: np.ndarray) -> bool:
        return "log_error" in self.metric and min(np.min(labels), np.min(predictions)) <= -1

    def once(self, rng: np.random.Generator, cells: dict[str, Cell], answers: tuple[str, ...] = ANSWERS) -> None:
        """One test set; every interval that the score offers is held against the value it promises."""
        world = self.world
        items = world.items(rng, self.n)
        measured = world.measure(rng, items)
        labels = world.shown(measured)
        p = predictions_of(self.metric, world, items.prediction)
        if self._refuses(labels, p):
            return
        if self.metric == "reduced_chi_squared":
            classical = lambda y, p: float(self.score(y, p, yerr=world.model(measured, items)).observed)  # noqa: E731
        else:
            classical = self.classical
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = self.score(labels, p, yerr=world.model(measured, items))
            for answer in answers:
                offered = _offered(score, answer, world)
                if offered is None:
                    continue
                ends, estimate = offered
                if answer == "interval":
                    value = classical(world.fresh(rng, measured, items), p)
                elif answer == "total_interval":
                    value = self._next(rng, items)
                elif answer == "truth":
                    value = classical(items.truth, p)
                elif answer == "truth.total_interval":
                    if self.metric in _NO_POPULATION:
                        continue
                    value = population(self.metric, world.name)
                elif answer == "remeasured":
                    value = classical(world.again(rng, items), p)
                else:
                    if declarations()[self.metric].task == "forecast":
                        if not (world.name == "Normal" and declarations()[self.metric].takes == "forecast"):
                            continue
                        value = classical(labels, sb.NormalForecast(items.truth, items.size))
                        cells.setdefault(answer, Cell()).add(ends, estimate, value)
                        continue
                    if world.task == "classification" and world.as_one is None:
                        continue
                    value = classical(labels, perfect_predictions(self.metric, world, items))
                if math.isfinite(value):
                    cells.setdefault(answer, Cell()).add(ends, estimate, value)

    def _next(self, rng: np.random.Generator, here: Items) -> float:
        """The classical metric on other items; against the truth where labels are set points.

        What the user takes for the size of the errors is as far off as it is here.
        """
        world = self.world
        items = world.items(rng, self.n)
        if here.seen is not None:
            items = replace(items, seen=items.size * here.seen / here.size)
        p = predictions_of(self.metric, world, items.prediction)
        measured = items.truth if world.berkson else world.measure(rng, items)
        if self.metric == "reduced_chi_squared":
            return float(self.score(measured, p, yerr=world.model(measured, items)).observed)
        return self.classical(measured if world.berkson else world.shown(measured), p)

    def compare_once(self, rng: np.random.Generator, cells: dict[str, Cell]) -> None:
        """One comparison of two models on one test set."""
        world = self.world
        items, other = world.items(rng, self.n), world.items(rng, self.n)
        measured = world.measure(rng, items)
        options = options_of(self.metric, world)
        assert options is not None
        metric: Any = self.metric
        if "level" in options:  # of the predicted intervals: `compare` has a level of its own
            metric, options = partial(getattr(sb, metric), **options), {}

        def difference(labels: np.ndarray, items: Items, measured: np.ndarray) -> float:
            pair = (predictions_of(self.metric, world, p) for p in (items.prediction, items.rival))
            known = {"yerr": world.model(measured, items)} if self.metric == "reduced_chi_squared" else {}
            first, second = (float(self.score(labels, p, **known).observed) for p in pair)
            return first - second

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = {"a": items.prediction, "b": items.rival}
            score = sb.compare(
                world.shown(measured),
                {name: predictions_of(self.metric, world, p) for name, p in models.items()},
                yerr=world.model(measured, items),
                metric=metric,
                task=declarations()[self.metric].task,
                **options,
            ).difference("a", "b")
            anew = world.measure(rng, other)
            next_labels = other.truth if world.berkson else world.shown(anew)
            values = {
                "total_interval": lambda: difference(next_labels, other, anew),
                "truth": lambda: difference(items.truth, items, measured),
                "truth.total_interval": lambda: (
                    population(self.metric, world.name) - population(self.metric, world.name, rival=True)
                ),
            }
            for answer, value in values.items():
                if answer == "truth.total_interval" and self.metric in _NO_POPULATION:
                    continue
                offered = _offered(score, answer, world)
                if offered is not None and math.isfinite(found := value()):
                    cells.setdefault(f"difference.{answer}", Cell()).add(*offered, found)


def _offered(score: sb.Score, answer: str, world: World) -> tuple[Ends, float | None] | None:
    """The intervals and the estimate they are about; None where the score says that it has none."""
    try:
        if answer == "interval":
            return _ends(score.interval), None
        if answer == "total_interval":
            return _ends(score.total_interval), None
        if answer.startswith("truth"):
            estimate = score.truth
            ends = _ends(estimate.interval if answer == "truth" else estimate.total_interval)
        else:
            estimate = score.perfect if answer == "perfect" else score.remeasured(world.repeats)
            ends = _ends(estimate.interval)
    except sb.UndefinedEstimate:
        return None
    low, high = score.declaration.low, score.declaration.high
    return ends, min(max(estimate.value, low), high)


def _ends(interval: Callable[[float], sb.Interval]) -> Ends:
    return {level: interval(level) for level in LEVELS}


@cache
def population(metric: str, name: str, rival: bool = False) -> float:
    """The metric over very many items, against their truth."""
    world, rng = EVERY_WORLD[name], np.random.default_rng(20240517)
    size = _POPULATION
    items = world.items(rng, size)
    options = options_of(metric, world)
    assert options is not None
    p = predictions_of(metric, world, items.rival if rival else items.prediction)
    return float(entry_of(metric).function(items.truth, p, **options).observed)


@dataclass(frozen=True)
class Calibrated:
    """Forecasts of one kind, judged by labels of one world: their true spread is a fifth larger than they claim, and they are biased.

    Here the forecast comes first and the truth lies about it, so what the world calls a residual is the forecast's error.
    """

    metric: str
    world: World
    n: int
    claimed, spread, bias = 1 / 1.2, 1.0, 0.3
    members = 10

    def once(self, rng: np.random.Generator, cells: dict[str, Cell]) -> None:
        found = self.world.items(rng, self.n)
        unit = 10.0 if self.world.name == "Poisson" else 1.0
        items = replace(found, truth=2 * found.truth - found.prediction, prediction=found.truth)
        measured = self.world.measure(rng, items)
        claimed = np.full(self.n, unit * self.claimed)
        forecast: sb.NormalForecast | sb.EnsembleForecast = sb.NormalForecast(items.prediction, claimed)
        if self.metric == "calibration of ensembles":
            draws = rng.standard_normal((self.n, self.members))
            forecast = sb.EnsembleForecast(items.prediction[:, None] + claimed[:, None] * draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judged = sb.calibration(self.world.shown(measured), forecast, yerr=self.world.model(measured, items))
            factor = self.spread / self.claimed
            values = (math.hypot(self.spread, self.bias) / self.claimed, factor, unit * self.bias)
            for answer, value in zip(CALIBRATION, values, strict=True):
                with suppress(sb.UndefinedEstimate):
                    estimate = getattr(judged, answer)
                    cells.setdefault(answer, Cell()).add(_ends(estimate.interval), float(estimate), value)


FORECASTS = ("calibration of normal forecasts", "calibration of ensembles")
Experiment = Situation | Calibrated


def situations(n: int, worlds: Iterable[World] = WORLDS.values()) -> list[Situation]:
    """Every metric that gives Scores in every world of its task."""
    return [
        Situation(metric, world, n)
        for world in worlds
        for metric, declared in declarations().items()
        if declared.scored
        and (world.task == declared.task or (world.task == "regression" and declared.task == "forecast"))
        and options_of(metric, world) is not None
    ]


def calibrations(n: int) -> list[Calibrated]:
    """Forecasts of every kind in every world whose labels are measurements of true values."""
    worlds = [world for world in WORLDS.values() if world.task == "regression" and not world.berkson]
    together = ("Normal(cov)", "Normal(shared)", "Normal(batch)")  # correlated errors are refused with ensembles
    return [
        Calibrated(kind, world, n)
        for world in worlds
        for kind in FORECASTS
        if kind == FORECASTS[0] or world.name not in together
    ]


def measure(
    situation: Experiment, most: int, seconds: float = math.inf, batch: int = 0, compare: bool = False
) -> dict[str, Cell]:
    """Repeat `most` times, or until the time is up; each batch has draws of its own, `compare` asks for DIFFERENCES."""
    names = (*situation.metric.encode(), 0, *situation.world.name.encode())
    rng = np.random.default_rng([20, batch, compare, situation.n, *names])
    cells: dict[str, Cell] = {}
    start = time.process_time()
    for _ in range(most):
        if compare:
            assert isinstance(situation, Situation)
            situation.compare_once(rng, cells)
        else:
            situation.once(rng, cells)
        if time.process_time() - start > seconds:
            break
    return cells
