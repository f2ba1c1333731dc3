"""Scores of data that come in pieces: batch by batch, file by file, worker by worker.

An accumulator keeps up to KEPT labels as they are. More are summed up in a store that merges (`engines.store`,
`engines.class_counts`), from which the scores follow as from the labels themselves: values to rounding, intervals to some
1e-11 of their width, in memory that does not grow with the data.
"""

from __future__ import annotations

import copy
import json
import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.combined import LinearAnswers, PredictionErrorAnswers
from scorebars.answers.evidence import Evidence
from scorebars.answers.means.mean_loss import AbsoluteAnswers, MeanLoss, SignedAnswers, WithinAnswers
from scorebars.answers.means.squared import ChiSquaredAnswers, ChiSquaredScore, RootAnswers, SquaredAnswers
from scorebars.answers.score import Declaration, Score
from scorebars.answers.together.all_labels_metric import RatioAnswers
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.engine import one_thread, threads
from scorebars.engines.store import Store
from scorebars.errors.measurement_error import ErrorKind
from scorebars.evaluation.scoring import DEFAULT, ChosenMetric, Evaluation, chosen_metrics, evaluate_arrays
from scorebars.evaluation.study_data import StudyData, guess_task, nothing_left
from scorebars.forecasts.quantile_forecast import quantile_levels
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError, Within
from scorebars.metrics.all_labels import EXPLAINED_VARIANCE, R2
from scorebars.metrics.call import scored
from scorebars.metrics.class_inputs import Counted
from scorebars.metrics.registry import declarations, entry_of
from scorebars.streaming import accumulator_json
from scorebars.streaming.accumulator_checks import require_kept
from scorebars.streaming.batches import KEPT, ClassBatch, NumberBatch, class_type, with_prediction_errors_of
from scorebars.streaming.forecast_sums import ForecastBatch, ForecastStore
from scorebars.streaming.sources import Columns, Piece, Source, arrays_of, progress_bar, reworded

# which metrics can be summed up --------------------------------------------------------------------

_FAMILIES: dict[str | None, tuple[type[MeanLoss], Loss]] = {
    "squares": (SquaredAnswers, SquaredError()),
    "absolute": (AbsoluteAnswers, AbsoluteError()),
    "sums": (SignedAnswers, SignedError()),
}
"""Means of a loss, by what a store keeps for them."""
_NOT_IN_PIECES = ("normalize", "force_finite", "threshold")
"""Options that need the labels themselves."""


def names_by_task() -> dict[str, tuple[str, ...]]:
    """The metrics that an accumulator can sum up, in alphabetical order."""
    known = {name: summed_as(one) for name, one in declarations().items() if one.keeps is not None}
    return {
        task: tuple(name for name in sorted(known) if known[name] == task) for task in DEFAULT if task in known.values()
    }


def summed_as(declaration: Declaration) -> str:
    """The task under which a metric is summed up: as a forecast where its scores are summed, as of predicted quantiles."""
    return "forecast" if declaration.keeps == "scores" else declaration.task


def score_of(metric: ChosenMetric, stored: Store | ClassCounts | ForecastStore, kind: str) -> Score:
    """The score of one model, from what is kept of its labels and the kind of their errors."""
    if isinstance(stored, ForecastStore):
        return stored.score(metric, kind)
    if isinstance(stored, ClassCounts):
        found: Score = metric.function(Counted(stored, kind), None, **metric.options)
        return found
    declaration, kept = cast(Declaration, metric.declaration), Evidence(stored, kind)
    if declaration.keeps == "ratio":
        return scored(RatioAnswers(R2 if metric.name == "r2_score" else EXPLAINED_VARIANCE, kept))
    if declaration.keeps == "pulls" and stored.pulls is not None:
        return ChiSquaredScore(ChiSquaredAnswers(declaration, SquaredError(), Evidence(stored.pulls, kind)))
    if declaration.keeps == "within" and stored.hits is not None:
        return scored(WithinAnswers(declaration, Within(stored.hits.sums.tolerance), kept))
    family, loss = _FAMILIES[declaration.keeps]
    mean = family(declaration, loss, kept)
    return _in_label_units(RootAnswers(declaration, mean) if declaration.degree != loss.degree else mean, stored.unit)


def _in_label_units(answers: Answers, unit: int) -> Score:
    """The score in the unit of the labels, where the store holds labels divided by 2^unit."""
    declaration = answers.declaration
    if not unit or not declaration.degree:
        return scored(answers)
    try:
        return scored(LinearAnswers(declaration, answers, math.ldexp(1.0, unit * declaration.degree)))
    except OverflowError:
        raise OverflowError(
            f"{declaration.name} of these labels is above the largest double: choose another unit for them."
        ) from None


# what a user asks for ----------------------------------------------------------------------------


def summed_metrics(metrics: Any, task: str | None) -> tuple[str, tuple[ChosenMetric, ...]]:
    """The task and the metrics that a user asks for; refuses those that cannot be summed up."""
    if task is not None and task not in DEFAULT:
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    usual = [name for name in DEFAULT[task or "regression"] if name in names_by_task()[task or "regression"]]
    chosen = chosen_metrics(usual if metrics is None else metrics)
    found = tuple(_summed(metric) for metric in chosen)
    names = [metric.name for metric in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"{twice[0]} is asked for with several options, but a result has one score of each name: use one accumulator for "
            "each."
        )
    tasks = {summed_as(cast(Declaration, metric.declaration)) for metric in found}
    if len(tasks) > 1 or (task is not None and task not in tasks):
        raise ValueError(
            f"one accumulator serves regression, classification or forecasts (and quantiles), not both: {', '.join(names)}. "
            "Make one for each."
        )
    return tasks.pop(), found


def _summed(metric: ChosenMetric) -> ChosenMetric:
    """The metric with options that JSON holds; refused where it needs all labels at once."""
    name, declaration = metric.name, metric.declaration
    if declaration is None or metric.entry is None:
        raise ValueError(
            f"{metric.function!r} is not a metric of scorebars: an accumulator sums up known ones only. Use scorebars.evaluate "
            "on arrays for your own."
        )
    if declaration.keeps is None:
        raise ValueError(
            f"{name} needs all labels at once, so an accumulator cannot sum it up: use scorebars.evaluate on arrays. An "
            f"accumulator takes: {', '.join(names_by_task()[declaration.task])}."
        )
    allowed = [option for option in metric.known_options if option not in _NOT_IN_PIECES]
    for option in metric.options:
        if option not in allowed:
            listed = ", ".join(allowed) or "none"
            raise ValueError(f"an accumulator cannot take {name} with {option}. The options are: {listed}.")
    metric.require_options("pass functools.partial(scorebars.{name}, {option}=...)")
    if "tolerance" in metric.options:
        checks.at_least_zero(metric.options["tolerance"], "tolerance")
    if "alpha" in metric.options:
        alpha = metric.options["alpha"]
        checks.fraction(alpha, "alpha") if np.ndim(alpha) == 0 else quantile_levels(np.sort(alpha), "alpha")
    if "average" in metric.options and metric.options["average"] is None:
        raise ValueError(f"{name} with average=None is a score for each class, but a result has one of each name.")
    options = {option: _plain_option(name, option, value) for option, value in metric.options.items()}
    return ChosenMetric(metric.function, options)


def _plain_option(name: str, option: str, value: Any) -> Any:
    """An option as it can be kept in JSON: numbers, texts and lists of them."""
    found = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    found = list(found) if isinstance(found, tuple) else found
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: an accumulator takes options that are finite numbers, texts or lists of them, and {option} is "
            f"{value!r}. Use scorebars.evaluate on arrays."
        ) from None
    return found


# the accumulator ----------------------------------------------------------------------------------

LANES = 4
"""Rows of files are dealt out to so many accumulators; more threads than these do not help."""
_HELD = ("_models", "_kind", "_batches", "_waiting", "_stored")
"""What an accumulator has taken in so far."""
_NO_WEIGHT = "sample_weight is all zero: at least one label must count."


class Accumulator:
    """How good are these models, when the labels do not fit in memory or come from many places?

    Feed it batches with `update`, join accumulators of separate data with `merge` (or ``+``), and read `result`: the
    `Evaluation` that `scorebars.evaluate` gives for all data at once. It can be pickled, and saved with `to_json`.
    Threads may share one accumulator: no label is lost, but they wait for each other. One for each thread or process,
    merged afterwards, is faster; merge in a fixed order for the same bits in every run.

    Parameters
    ----------
    metrics : name, function, or list of them, optional
        Of the metrics in `Accumulator.takes`; by default the common ones. Others need all labels at once. Options go with
        the function: ``functools.partial(scorebars.f1_score, average="macro")``.
    task : {"regression", "classification", "forecast"}, optional
        Only where `metrics` is left out; regression by default.

    Notes
    -----
    Label errors are independent: a standard deviation for each label or ``Normal(sigma)``; for classes the probability
    that a label is wrong. Beyond 65,536 labels `truth` of the mean absolute error and of the share within a tolerance is
    not available (it needs all labels), and the standard errors of `truth` and `sampling_std` of R2 are found from sums
    instead of by drawing again. Of forecasts `truth` is then available where it is unbiased: for normal ones that are wider
    than the label error, and for quadratic scores. `mean_pinball_loss` takes predicted quantiles, a column for each level.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> total = sb.Accumulator(["root_mean_squared_error", "mean_error"])
    >>> for part in (slice(0, 1000), slice(1000, None)):
    ...     prediction = masses.predictions["DZ28"][part]
    ...     total = total.update(masses.y[part], {"DZ28": prediction}, yerr=masses.yerr[part])
    >>> print(total.result()["DZ28", "root_mean_squared_error"])
    0.3798 ± 0.0090 (labels) ± 0.0068 (sample)
    """

    takes: dict[str, tuple[str, ...]] = names_by_task()
    """The metrics that an accumulator can sum up, by task."""

    def __init__(self, metrics: Any = None, *, task: str | None = None) -> None:
        self.task, self._chosen = summed_metrics(metrics, task)
        self.metrics = tuple(metric if metric.options else metric.name for metric in self._chosen)
        self._needs: Any = frozenset(str(metric.keeps) for metric in self._chosen)
        """What has to be kept of the labels; of forecasts the metrics themselves, whose scores are summed up."""
        if self.task == "forecast":
            self._needs = self._chosen
        self._tolerance: float | None = next(
            (metric.options["tolerance"] for metric in self._chosen if "tolerance" in metric.options), None
        )
        self._lock = threading.RLock()
        """Held while labels are taken in or given out, so that threads may share an accumulator."""
        self._models: tuple[str, ...] | None = None
        self._kind: ErrorKind | None = None
        self._batches: list[Any] = []
        self._waiting = 0
        self._stored: dict[str, Any] | None = None
        """Store or ClassCounts of each model, for labels that are no longer kept."""

    # taking labels in --------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Labels so far."""
        with self._lock:
            return self._waiting + (0 if self._stored is None else int(next(iter(self._stored.values())).n))

    @property
    def models(self) -> list[str]:
        """Names of the models; empty before the first batch."""
        return list(self._models or ())

    def update(
        self, y_true: Any, y_pred: Any, *, yerr: Any = None, prederr: Any = None, sample_weight: Any = None
    ) -> Accumulator:
        """Take in a batch of labels; arguments are those of `scorebars.evaluate`. Returns the accumulator itself.

        After an error it holds what it held before.
        """
        batches: dict[str, Any] = {"regression": NumberBatch, "classification": ClassBatch, "forecast": ForecastBatch}
        checked = batches[self.task].checked
        batch: Any = checked(y_true, y_pred, yerr, sample_weight, prederr, self._needs)
        if batch.n == 0:
            return self
        with self._lock:
            self._require(tuple(batch.models), batch.kind, batch.classes)
            self._require_prederr(set(batch.prederr or ()))
            try:
                self._take([batch if batch.n > KEPT else copy.deepcopy(batch)], None)
            except (ValueError, OverflowError):
                batch.diagnose()  # by its own rows, without those that were kept
                raise
            self._models, self._kind = self._models or tuple(batch.models), batch.kind
        return self

    def update_from(
        self, dataset: Any, *, y: str, pred: Any, yerr: Any = None, sample_weight: Any = None, progress: bool = False
    ) -> Accumulator:
        """Take in all rows of a dataset, table or reader of pyarrow, or of the files at a path; arguments name its columns.

        After an error the accumulator holds what it held before.
        """
        source = Source(dataset)
        columns = Columns.of(source.schema.names, y, pred, yerr, sample_weight)
        with self._lock:
            self._read(source, columns, progress)
        return self

    def _read(self, source: Source, columns: Columns, progress: bool = False, omit: bool = False) -> int:
        """Take in all rows of some columns; gives the number of rows that were left out.

        Pieces of rows are dealt out to several accumulators ("lanes") that work on threads of their own. Which piece goes
        where depends on the pieces alone, so the result has the same bits in every run and on any number of threads. Few
        labels all go to the first lane, in their order. After an error this accumulator holds what it held before.
        """
        numbers = columns.numbers if self.task == "classification" else columns.names
        lanes = [self.copy(), *(Accumulator(self._chosen) for _ in range(LANES - 1))]
        busy: deque[Future[int]] = deque()
        workers, lane, rows, omitted = min(threads(), LANES), 0, 0, 0
        with (
            source.unchanged(),
            progress_bar(source, progress) as advance,
            ThreadPoolExecutor(workers, thread_name_prefix="scorebars") as pool,
        ):
            for piece in source.pieces(columns.names, numbers):
                busy.append(pool.submit(lanes[lane]._take_piece, piece, columns, omit, advance))
                rows += piece.rows
                following = (lane + 1) % LANES if rows > KEPT else 0
                most = 0 if following == lane else min(workers, LANES - 1)  # never two pieces of one lane at a time
                while len(busy) > most:
                    omitted += busy.popleft().result()
                lane = following
            omitted += sum(piece.result() for piece in busy)
        first, *others = lanes
        for other in others:
            first.merge(other)
        self.__dict__.update({name: first.__dict__[name] for name in _HELD})
        return omitted

    def _take_piece(self, piece: Piece, columns: Columns, omit: bool, advance: Callable[[int], object]) -> int:
        """Take in the rows of a piece; gives the number of those that were left out."""
        place, omitted = piece.place, 0
        for batch in piece.batches():
            arrays, here = arrays_of(batch, columns.names, place, omit)
            # one thread: other lanes have threads of their own
            with one_thread(), reworded(here.named), reworded(columns.by_column):
                self.update(**columns.arguments(arrays))
            omitted += 0 if here.left is None else batch.num_rows - len(here.left)
            place = place.after(batch.num_rows)
            advance(batch.num_rows)
        return omitted

    def merge(self, other: Accumulator) -> Accumulator:
        """Take in all labels of another accumulator of the same metrics and models. Returns the accumulator itself.

        After an error it holds what it held before.
        """
        if not isinstance(other, Accumulator):
            raise TypeError(f"only another Accumulator can be merged, not {type(other).__name__}.")
        if (other.task, other.metrics) != (self.task, self.metrics):
            raise ValueError(
                f"accumulators of different metrics cannot be merged: {', '.join(map(str, self.metrics))} and "
                f"{', '.join(map(str, other.metrics))}."
            )
        # a copy: other threads may add to it meanwhile, and two that merge each other never wait for both locks
        theirs = other.copy()
        if theirs._models is None:
            return self
        with self._lock:
            self._require(theirs._models, theirs._kind, theirs._classes)
            self._require_prederr(theirs._with_prederr)
            self._take(theirs._batches, theirs._stored)
            self._models, self._kind = self._models or theirs._models, theirs._kind
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        """A new accumulator of both sets of labels."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        return self.copy().merge(other)

    def copy(self) -> Accumulator:
        """An independent copy."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """What it holds at this moment; the lock stays here."""
        with self._lock:
            return {**self.__dict__, "_batches": list(self._batches), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @property
    def _classes(self) -> str | None:
        """The type of the classes, in words; None for numbers and before the first batch."""
        if self._batches:
            return self._batches[0].classes
        if self._stored is None or self.task != "classification":
            return None
        return class_type(next(iter(self._stored.values())).classes)

    def _require(self, models: tuple[str, ...], kind: str | None, classes: str | None) -> None:
        """Refuse what does not go with the labels so far."""
        if self._models is None:
            return
        if set(models) != set(self._models):
            raise ValueError(
                f"the models are {', '.join(models)}, but those so far are {', '.join(self._models)}: every batch needs "
                "predictions of the same models."
            )
        if kind != self._kind:
            raise ValueError(
                f"label errors of kind {kind!r} cannot be mixed with those so far, which are {self._kind!r}."
            )
        if classes != self._classes:
            raise ValueError(
                f"the classes are {classes}, but those so far are {self._classes}: all batches must hold classes of one type."
            )

    @property
    def _with_prederr(self) -> set[str]:
        """The models whose predictions have errors of their own."""
        if self._batches:
            return set(self._batches[0].prederr or ())
        return {name for name in self._models or () if with_prediction_errors_of(name) in (self._stored or {})}

    def _require_prederr(self, models: set[str]) -> None:
        """Refuse prediction errors of other models than those so far."""
        if self._models is not None and models != self._with_prederr:
            here, before = (", ".join(sorted(names)) or "no model" for names in (models, self._with_prederr))
            raise ValueError(
                f"prederr is given for {here}, but so far for {before}: every batch needs it for the same models."
            )

    def _take(self, batches: list[Any], stored: dict[str, Any] | None) -> None:
        """Take in labels that were checked, summed up or not: all of them, or after an error none."""
        total = _merged(self._stored, stored)
        waiting = self._waiting + sum(batch.n for batch in batches)
        if waiting <= KEPT:
            self._batches.extend(batches)
            self._stored, self._waiting = total, waiting
        else:
            self._stored, self._batches, self._waiting = self._with([*self._batches, *batches], total), [], 0

    def _with(self, batches: list[Any], known: dict[str, Any] | None) -> dict[str, Any] | None:
        """The sums of the labels of these batches and of those that are summed up already."""
        return _merged(known, _joined(batches).stored(self._needs, self._tolerance, known))

    # the scores --------------------------------------------------------------------------------

    def result(self) -> Evaluation:
        """The scores of all labels so far; more may follow."""
        return self.copy()._result()

    def _result(self) -> Evaluation:
        if self._models is None:
            raise ValueError("nothing was accumulated yet: call update with labels and predictions first.")
        if self._stored is None:
            kept = _joined(self._batches)
            if kept.weight is not None and not np.any(kept.weight > 0):
                raise ValueError(_NO_WEIGHT)
            models = {name: kept.models[name] for name in self._models}
            data = StudyData(kept.y, models, kept.error_model, kept.weight, prederr=kept.prederr or {})
            return evaluate_arrays(data, self._chosen, self.task)
        total = self._with(self._batches, self._stored) if self._batches else self._stored
        scores: dict[tuple[str, str, str | None], Score] = {}
        for model in self._models:
            store = total[model]  # type: ignore[index]
            both = total.get(with_prediction_errors_of(model))  # type: ignore[union-attr]
            if isinstance(store, Store) and store.sums.w == 0:
                raise ValueError(_NO_WEIGHT)
            for metric in self._chosen:
                found = score_of(metric, store, str(self._kind))
                if both is not None:
                    counted = score_of(metric, both, str(self._kind))
                    found = scored(PredictionErrorAnswers.of_sums(counted._answers, found._answers))
                scores[model, metric.name, None] = found
        return Evaluation(scores, self.n)

    # keeping -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything the accumulator holds, to the last bit."""
        metrics = [[metric.name, dict(metric.options)] for metric in self._chosen]
        state = self.__getstate__()
        held = {name: state[name] for name in _HELD}
        return accumulator_json.dumps({"task": self.task, "metrics": metrics, **held})

    @classmethod
    def from_json(cls, text: str) -> Accumulator:
        """The accumulator that `to_json` wrote."""

        def made(state: dict[str, Any]) -> Accumulator:
            metrics = [partial(entry_of(name).function, **options) for name, options in state["metrics"]]
            found = cls(metrics, task=state["task"])
            found.__dict__.update({name: state[name] for name in _HELD})
            require_kept(found._stored, found._needs)
            return found

        return accumulator_json.restored(text, made)

    def __repr__(self) -> str:
        models = f", models: {', '.join(self._models)}" if self._models else ""
        return f"Accumulator({', '.join(map(str, self.metrics))}; n={self.n}{models})"


def _joined(batches: list[Any]) -> Any:
    return type(batches[0]).joined(batches)


def _merged(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """The stores of both sets of labels."""
    if one is None or other is None:
        return other if one is None else one
    return {name: store.merged(other[name]) for name, store in one.items()}


# files -------------------------------------------------------------------------------------------


def evaluate_dataset(
    dataset: Any,
    *,
    y: str,
    pred: Any,
    yerr: Any = None,
    sample_weight: str | None = None,
    metrics: Any = None,
    task: str | None = None,
    nan_policy: str = "raise",
    progress: bool = False,
) -> Evaluation:
    """The scores of a dataset, table or reader of pyarrow, or of the files at a path; arguments name its columns."""
    source = Source(dataset)
    columns = Columns.of(source.schema.names, y, pred, yerr, sample_weight)
    if metrics is None:
        task = task or columns.task()
    if task is None and metrics is None:
        first = source.first_rows([name for name in columns.names if name != columns.weight])
        errors = columns.errors if columns.yerr is None else first[columns.yerr]
        task = guess_task(first[y], errors, [columns.of_model(model, first) for model in columns.models])
    total = Accumulator(metrics, task=task)
    omitted = total._read(source, columns, progress, nan_policy == "omit")
    if total.n == 0 and omitted:
        raise nothing_left(omitted)
    if total.n == 0:
        raise ValueError("the dataset has no rows: at least one label is needed.")
    return replace(total.result(), omitted=omitted)
