"""Scores of data that come in pieces: batch by batch, file by file, worker by worker.

An accumulator keeps up to KEPT labels as they are. More are summed up in a store that merges (`engines.store`,
`engines.class_counts`), from which the scores follow as from the labels themselves: values to rounding, intervals to some
1e-11 of their width, in memory that does not grow with the data.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from scorebars.engines.engine import one_thread, threads
from scorebars.engines.store import Store
from scorebars.errors.measurement_error import ErrorKind
from scorebars.evaluation.results import Evaluation
from scorebars.evaluation.scoring import evaluate_arrays
from scorebars.evaluation.study_data import StudyData
from scorebars.evaluation.task import guess_task
from scorebars.metrics.registry import entry_of
from scorebars.score import Score
from scorebars.streaming import accumulator_json
from scorebars.streaming.batches import KEPT, ClassBatch, NumberBatch, class_type
from scorebars.streaming.sources import Columns, Piece, Source, arrays_of, progress_bar, reworded
from scorebars.streaming.summable import MetricWithOptions, chosen, name_of, names_by_task, options_of, summable

LANES = 4
"""Accumulators that rows of files are dealt out to; more threads than these do not help."""
_NO_WEIGHT = "sample_weight is all zero: at least one label must count."


class Accumulator:
    """How good are these models, when the labels do not fit in memory or come from many places?

    Feed it batches with `update`, join accumulators of separate data with `merge` (or ``+``), and read `result`: the
    `Evaluation` that `scorebars.evaluate` gives for all data at once. It can be pickled, and saved with `to_json`. Use
    one accumulator for each thread or process and merge them; merge in a fixed order for the same bits in every run.

    Parameters
    ----------
    metrics : name, function, or list of them, optional
        Of the metrics in `Accumulator.takes`; by default the common ones. Others need all labels at once. Options go with
        the function: ``functools.partial(scorebars.f1_score, average="macro")``.
    task : {"regression", "classification"}, optional
        Only where `metrics` is left out; regression by default.

    Notes
    -----
    Label errors are independent: a standard deviation for each label or ``Normal(sigma)``; for classes the probability
    that a label is wrong. Beyond 65,536 labels `truth` of the mean absolute error and of the share within a tolerance is
    not available (it needs all labels), and the standard errors of `truth` and `sampling_std` of R2 are found from sums
    instead of by drawing again.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> total = sb.Accumulator(["root_mean_squared_error", "mean_error"])
    >>> for part in (slice(0, 1000), slice(1000, None)):
    ...     prediction = masses.predictions["DZ28"][part]
    ...     total = total.update(masses.y[part], {"DZ28": prediction}, yerr=masses.yerr[part])
    >>> print(total.result()["DZ28", "root_mean_squared_error"])
    0.3798 ± 0.0090
    """

    takes: dict[str, tuple[str, ...]] = names_by_task()
    """The metrics that an accumulator can sum up, by task."""

    def __init__(self, metrics: Any = None, *, task: str | None = None) -> None:
        self.task, self.metrics = chosen(metrics, task)
        needs = {summable(metric).need: options_of(metric) for metric in self.metrics}
        self._needs = frozenset(need for need in needs if need is not None)
        self._tolerance: float | None = needs["within"]["tolerance"] if "within" in needs else None
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
        return self._waiting + (0 if self._stored is None else int(next(iter(self._stored.values())).n))

    @property
    def models(self) -> list[str]:
        """Names of the models; empty before the first batch."""
        return list(self._models or ())

    def update(self, y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Accumulator:
        """Take in a batch of labels; arguments are those of `scorebars.evaluate`. Returns the accumulator itself.

        After an error it holds what it held before.
        """
        batch_type: type[NumberBatch] | type[ClassBatch] = NumberBatch if self.task == "regression" else ClassBatch
        batch = batch_type.checked(y_true, y_pred, yerr, sample_weight)
        if batch.n == 0:
            return self
        batch.require(self._needs)
        self._require(tuple(batch.models), batch.kind, batch.classes)
        try:
            self._take([batch if batch.n > KEPT else batch.copied()], None)
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
        self._read(source, Columns.of(source.schema.names, y, pred, yerr, sample_weight), progress)
        return self

    def _read(self, source: Source, columns: Columns, progress: bool = False, omit: bool = False) -> int:
        """Take in all rows of some columns; gives the number of rows that were left out."""
        numbers = columns.names if self.task == "regression" else columns.numbers
        with progress_bar(source, progress) as advance, _Lanes(self, columns, omit, advance) as lanes:
            for piece in source.pieces(columns.names, numbers):
                lanes.take(piece)
        return lanes.omitted

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
        if other._models is None:
            return self
        self._require(other._models, other._kind, other._classes)
        self._take(other._batches, other._stored)
        self._models, self._kind = self._models or other._models, other._kind
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        """A new accumulator of both sets of labels."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        return self.copy().merge(other)

    def copy(self) -> Accumulator:
        """One that goes its own way from here."""
        twin = copy.copy(self)
        twin._batches = list(self._batches)
        return twin

    def _emptied(self) -> Accumulator:
        """A new one of the same metrics that holds nothing yet."""
        twin = copy.copy(self)
        twin._models = twin._kind = twin._stored = None
        twin._batches, twin._waiting = [], 0
        return twin

    @property
    def _classes(self) -> str | None:
        """Of which type the classes are, in words; None for numbers and before the first batch."""
        if self._batches:
            return self._batches[0].classes
        if self._stored is None or self.task == "regression":
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
        """The labels of batches summed up, with those that are known already."""
        return _merged(known, _joined(batches).stored(self._needs, self._tolerance, known))

    # the scores --------------------------------------------------------------------------------

    def result(self) -> Evaluation:
        """The scores of all labels so far; more may follow."""
        if self._models is None:
            raise ValueError("nothing was accumulated yet: call update with labels and predictions first.")
        if self._stored is None:
            kept = _joined(self._batches)
            if kept.weight is not None and not np.any(kept.weight > 0):
                raise ValueError(_NO_WEIGHT)
            models = {name: kept.models[name] for name in self._models}
            data = StudyData(kept.y, models, kept.error_model, kept.weight)
            return evaluate_arrays(data, list(self.metrics), self.task)
        total = self._with(self._batches, self._stored) if self._batches else self._stored
        scores: dict[tuple[str, str, str | None], Score] = {}
        for model in self._models:
            store = total[model]  # type: ignore[index]
            if isinstance(store, Store) and store.sums.w == 0:
                raise ValueError(_NO_WEIGHT)
            for metric in self.metrics:
                scores[model, name_of(metric), None] = summable(metric).score(
                    store, str(self._kind), options_of(metric)
                )
        return Evaluation(scores, self.n)

    # keeping -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything the accumulator holds, to the last bit."""
        metrics = tuple(
            {"name": name_of(metric), "options": metric.keywords} if isinstance(metric, MetricWithOptions) else metric
            for metric in self.metrics
        )
        held = (self._models, self._kind, self._batches, self._stored)
        return accumulator_json.dumps(accumulator_json.State(self.task, metrics, *held))

    @classmethod
    def from_json(cls, text: str) -> Accumulator:
        """The accumulator that `to_json` wrote."""
        state = accumulator_json.loads(text)
        metrics = [
            partial(entry_of(metric["name"]).function, **metric["options"]) if isinstance(metric, dict) else metric
            for metric in state.metrics
        ]
        found = cls(metrics, task=state.task)
        accumulator_json.require_parts(state, found._needs, found._tolerance)
        found._models, found._kind, found._batches, found._stored = state[2:]
        found._waiting = sum(batch.n for batch in found._batches)
        return found

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
    if task is None and metrics is None:
        first = source.first_rows([name for name in (y, *columns.models.values(), columns.yerr) if name is not None])
        errors = columns.errors if columns.yerr is None else first[columns.yerr]
        task = guess_task(first[y], errors, [first[name] for name in columns.models.values()])
    total = Accumulator(metrics, task=task)
    omitted = total._read(source, columns, progress, nan_policy == "omit")
    if total.n == 0 and omitted:
        raise ValueError(f"every one of the {omitted} rows misses a value: nothing is left with nan_policy='omit'.")
    if total.n == 0:
        raise ValueError("the dataset has no rows: at least one label is needed.")
    return replace(total.result(), omitted=omitted)


class _Lanes:
    """Accumulators that take turns, each working on one piece of the rows at a time, on several threads.

    Which piece goes where depends on the pieces alone, so the result has the same bits in every run and on any number of
    threads. Few labels all go to the first, in their order. Only when all went well does the accumulator that they work
    for take them over.
    """

    def __init__(self, total: Accumulator, columns: Columns, omit: bool, advance: Callable[[int], object]) -> None:
        self._total, self._columns, self._omit, self._advance = total, columns, omit, advance
        self._lanes = [total.copy(), *(total._emptied() for _ in range(LANES - 1))]
        self._threads = min(threads(), LANES)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scorebars")
        self._working: deque[Future[int]] = deque()
        self._turn = self._rows = 0
        self.omitted = 0
        """Rows that were left out."""

    def __enter__(self) -> _Lanes:
        return self

    def take(self, piece: Piece) -> None:
        """Sum up a piece as soon as a thread is free; an error shows with one of the next pieces."""
        lane = self._turn
        self._rows += piece.rows
        self._turn = (lane + 1) % LANES if self._rows > KEPT else 0
        self._working.append(self._pool.submit(self._update, self._lanes[lane], piece))
        others = 0 if self._turn == lane else min(self._threads, LANES - 1)  # that may go on: never two of one lane
        self._wait(others)

    def _wait(self, others: int = 0) -> None:
        """Until no more than so many pieces are under way."""
        while len(self._working) > others:
            self.omitted += self._working.popleft().result()

    def _update(self, lane: Accumulator, piece: Piece) -> int:
        place, omitted = piece.place, 0
        for batch in piece.batches():
            arrays, here = arrays_of(batch, self._columns.names, place, self._omit)
            with (
                one_thread(),
                reworded(here.named),
                reworded(self._columns.by_column),
            ):  # the other lanes have their own
                lane.update(**self._columns.arguments(arrays))
            omitted += 0 if here.left is None else batch.num_rows - len(here.left)
            place = place.after(batch.num_rows)
            self._advance(batch.num_rows)
        return omitted

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            if failed is None:
                self._wait()
        finally:
            self._pool.shutdown(cancel_futures=True)
        if failed is None:
            first, *others = self._lanes
            for other in others:
                first = first.merge(other)
            self._total.__dict__.update(first.copy().__dict__)
