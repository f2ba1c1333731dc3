"""Scores of dask arrays and DataFrames: one accumulator for each chunk, merged as a tree, on whatever scheduler is active.

Each chunk is summed up where it lies, and only accumulators travel. The tree follows the order of the chunks, so the
result has the same bits however the work was scheduled, and after workers were lost.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from scorebars.engines.engine import one_thread
from scorebars.errors import ErrorModel
from scorebars.evaluation.study_data import guess_task
from scorebars.streaming.accumulator import Accumulator
from scorebars.streaming.sources import FIRST, Columns, for_all_labels, reworded

_BRANCHES = 8
"""Accumulators that one task merges: few tasks, for each costs the scheduler some milliseconds."""


def accumulate_dask(
    y_true: Any, y_pred: Any = None, *, metrics: Any = None, task: str | None = None, **given: Any
) -> Accumulator:
    """The accumulator of all chunks, computed: of dask arrays, or of the columns of a dask DataFrame.

    `given` are y, pred, yerr and sample_weight, as in `evaluate`.
    """
    dask: Any = import_module("dask")
    y, pred, yerr, weight = (given.get(name) for name in ("y", "pred", "yerr", "sample_weight"))
    if y is not None or pred is not None:
        level = _tasks_of_frame(dask, y_true, y, pred, yerr, weight, metrics, task)
    else:
        level = _tasks_of_arrays(dask, y_true, y_pred, yerr, weight, metrics, task)
    while len(level) > 1:
        level = [dask.delayed(_merged)(*level[k : k + _BRANCHES]) for k in range(0, len(level), _BRANCHES)]
    (total,) = dask.compute(level[0])
    found: Accumulator = total
    if found.n == 0:
        raise ValueError("y_true is empty: at least one label is needed.")
    return found


def _tasks_of_frame(
    dask: Any, frame: Any, y: Any, pred: Any, yerr: Any, weight: Any, metrics: Any, task: str | None
) -> list[Any]:
    """A task for each chunk of a DataFrame, which makes its accumulator."""
    if y is None or pred is None:
        raise ValueError("name the columns of a DataFrame: y= for the labels and pred= for the predictions.")
    columns = Columns.of(frame.columns, y, pred, yerr, weight)
    task = task or columns.task() if metrics is None else task
    shown = [frame[name] for name in columns.names if name not in columns.numbers]
    empty = _empty(metrics, task, shown, yerr if columns.yerr is None else frame[yerr])
    parts = frame[columns.names].to_delayed()
    return [dask.delayed(_of_frame)(empty, k, part, columns) for k, part in enumerate(parts)]


def _tasks_of_arrays(
    dask: Any, y_true: Any, y_pred: Any, yerr: Any, weight: Any, metrics: Any, task: str | None
) -> list[Any]:
    """A task for each chunk of arrays, which makes its accumulator."""
    if y_pred is None:
        raise ValueError("y_pred is missing: give a dask array of predictions, or a mapping from model name to array.")
    models = {str(name): p for name, p in y_pred.items()} if isinstance(y_pred, Mapping) else {"model": y_pred}
    if metrics is None and task is None and any(isinstance(values, tuple) for values in models.values()):
        task = "forecast"
    empty = _empty(metrics, task, [y_true, *models.values()], yerr)
    named = {"y_true": y_true, "yerr": yerr, "sample_weight": weight}
    for name, values in models.items():
        several = values if isinstance(values, tuple) else ()
        pair = {f"y_pred[{name!r}][{k}]": part for k, part in enumerate(several)}
        named |= pair or {f"y_pred[{name!r}]": values}
    # one argument of a task each: dask needs several times as long to find chunks in lists and dictionaries
    chunks = zip(*(_chunks(values, y_true, name) for name, values in named.items()), strict=True)
    widths = {name: len(values) if isinstance(values, tuple) else 0 for name, values in models.items()}
    return [dask.delayed(_of_arrays)(empty, k, widths, *part) for k, part in enumerate(chunks)]


def _empty(metrics: Any, task: str | None, columns: Sequence[Any], yerr: Any) -> Accumulator:
    """What each chunk begins with; metrics are refused here, not on the workers, and the task is guessed once for all."""
    if metrics is None and task is None:
        labels, *predictions = (_first(column) for column in columns)
        task = guess_task(labels, _first(yerr), predictions)
    return Accumulator(metrics, task=task)


def _first(column: Any) -> Any:
    """The first rows where they have to be looked at, none at all where the type tells the task; no column stays as it is."""
    if not hasattr(column, "_meta"):
        return column
    none = np.asarray(column._meta)
    if none.dtype.kind not in "Oiu":
        return none
    return column.head(FIRST, npartitions=-1) if hasattr(column, "head") else column.blocks[0].compute()[:FIRST]


def _merged(first: Accumulator, *others: Accumulator) -> Accumulator:
    total = first.copy()  # a task must not change what another may ask for again
    for other in others:
        total.merge(other)
    return total


def _taken(empty: Accumulator, number: int, words: Callable[[str], str], **arguments: Any) -> Accumulator:
    """The accumulator of one chunk; dask itself works on several chunks at a time."""
    with one_thread(), reworded(lambda why: f"in chunk {number}: {words(why)}"):
        return empty.copy().update(**arguments)


def _of_frame(empty: Accumulator, number: int, frame: Any, columns: Columns) -> Accumulator:
    arrays = {name: frame[name].to_numpy() for name in columns.names}
    return _taken(empty, number, columns.by_column, **columns.arguments(arrays))


def _of_arrays(
    empty: Accumulator, number: int, widths: dict[str, int], y: Any, yerr: Any, weight: Any, *p: Any
) -> Accumulator:
    """`widths` says of each model how many arrays its predictions are a tuple of; 0 for a single one."""
    parts = iter(p)
    named = {name: tuple(islice(parts, width)) if width else next(parts) for name, width in widths.items()}
    return _taken(empty, number, str, y_true=y, y_pred=named, yerr=yerr, sample_weight=weight)


def _chunks(values: Any, like: Any, argument: str) -> Sequence[Any]:
    """The chunks of an array, cut as the labels are; what serves all labels serves every chunk."""
    count = like.npartitions
    if not hasattr(values, "to_delayed"):
        if isinstance(values, ErrorModel):
            values = for_all_labels(values, "give the errors of the labels as a dask array, cut like y_true.")
        elif argument not in ("yerr", "sample_weight") or not (values is None or _is_number(values)):
            raise TypeError(
                f"{argument} is a {type(values).__name__}, but y_true is a dask array: make it one too, with "
                "dask.array.from_array(..., chunks=y_true.chunks)."
            )
        return [values] * count
    columns = getattr(values, "ndim", 1) == 2 and argument.startswith("y_pred")  # members or quantiles
    if getattr(values, "ndim", 1) != 1 and not columns:
        raise ValueError(f"{argument} must have one number for each label, but has shape {values.shape}.")
    if hasattr(values, "chunks") and hasattr(like, "chunks"):
        known = values.size == values.size and like.size == like.size  # NaN: sizes are found only when computed
        if known and len(values) != len(like):
            raise ValueError(
                f"y_true and {argument} have inconsistent numbers of samples: {len(like)} and {len(values)}."
            )
        cut = (*like.chunks, *([(values.shape[1],)] if columns else []))
        values = values.rechunk(cut) if known and values.chunks != cut else values
        if columns and len(values.chunks[1]) > 1:
            values = values.rechunk({1: -1})
    if not columns and values.npartitions != count:
        raise ValueError(f"y_true has {count} chunks and {argument} {values.npartitions}: cut them alike.")
    found: Sequence[Any] = values.to_delayed().ravel() if hasattr(values, "chunks") else values.to_delayed()
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.ndim == 0)
