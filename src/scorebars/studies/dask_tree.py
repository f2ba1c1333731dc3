"""Scores of dask arrays and DataFrames: one accumulator for each chunk, merged as a tree, on whatever scheduler is active.

Each chunk is summed up where it lies, and only accumulators travel. The tree follows the order of the chunks, so the
result has the same bits however the work was scheduled, and after workers were lost.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from typing import Any

from scorebars import tables
from scorebars.studies.accumulate import Accumulator
from scorebars.studies.evaluate import Evaluation, streamed

Chunk = dict[str, Any]


def evaluate_dask(
    y_true: Any,
    y_pred: Any = None,
    *,
    y: Hashable | None = None,
    pred: Any = None,
    yerr: Any = None,
    sample_weight: Any = None,
    metrics: Any = None,
    task: str | None = None,
) -> Evaluation:
    """How good are these models, on labels that lie in many places?

    Takes dask arrays, ``(y_true, y_pred or mapping, yerr=array or number)``, or a dask DataFrame and the names of its
    columns, ``(frame, y="y", pred=["a", "b"], yerr="y_err")``.
    """
    return accumulate_dask(
        y_true, y_pred, y=y, pred=pred, yerr=yerr, sample_weight=sample_weight, metrics=metrics, task=task
    ).result()


def accumulate_dask(
    y_true: Any,
    y_pred: Any = None,
    *,
    y: Hashable | None = None,
    pred: Any = None,
    yerr: Any = None,
    sample_weight: Any = None,
    metrics: Any = None,
    task: str | None = None,
) -> Accumulator:
    """The accumulator of all chunks, computed."""
    dask: Any = import_module("dask")
    empty = Accumulator(metrics, task=task)  # refuses metrics here, not on the workers
    if y is not None or pred is not None:
        level = [dask.delayed(_of_frame)(empty, *part) for part in _frames(y_true, y, pred, yerr, sample_weight)]
    else:
        level = [dask.delayed(_of_arrays)(empty, *part) for part in _arrays(y_true, y_pred, yerr, sample_weight)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        merged = [dask.delayed(_merged)(a, b) for a, b in pairs]
        level = merged + level[2 * len(merged) :]
    (total,) = dask.compute(level[0])
    found: Accumulator = total
    if found.n == 0:
        raise ValueError("y_true is empty: at least one label is needed.")
    return found


def _merged(one: Accumulator, other: Accumulator) -> Accumulator:
    return one + other  # a new one: a task must not change what another may ask for again


def _in_chunk(number: int, take: Callable[[], Accumulator]) -> Accumulator:
    try:
        return take()
    except (ValueError, TypeError) as why:
        raise type(why)(f"in chunk {number}: {why}") from None


# arrays --------------------------------------------------------------------------------------------


def _of_arrays(empty: Accumulator, number: int, y: Any, models: Chunk, yerr: Any, weight: Any) -> Accumulator:
    return _in_chunk(number, lambda: empty.copy().update(y, models, yerr=yerr, sample_weight=weight))


def _arrays(y_true: Any, y_pred: Any, yerr: Any, weight: Any) -> list[tuple[Any, ...]]:
    """For each chunk of labels the chunks that belong to it."""
    if isinstance(y_pred, Mapping):
        models = {str(name): values for name, values in y_pred.items()}
    elif y_pred is None:
        raise ValueError("y_pred is missing: give a dask array of predictions, or a mapping from model name to array.")
    else:
        models = {"model": y_pred}
    labels = _chunks(y_true, y_true, "y_true")
    columns = {name: _chunks(values, y_true, f"y_pred[{name!r}]") for name, values in models.items()}
    errors, weights = _chunks(yerr, y_true, "yerr"), _chunks(weight, y_true, "sample_weight")
    return [
        (k, labels[k], {name: chunks[k] for name, chunks in columns.items()}, errors[k], weights[k])
        for k in range(len(labels))
    ]


def _chunks(values: Any, like: Any, argument: str) -> Sequence[Any]:
    """The chunks of an array, cut as the labels are; what is no array serves every chunk."""
    count = like.npartitions
    if values is None or isinstance(values, int | float):
        return [values] * count
    if not streamed(values):
        raise TypeError(
            f"{argument} is a {type(values).__name__}, but y_true is a dask array: make it one too, with "
            "dask.array.from_array(..., chunks=y_true.chunks)."
        )
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{argument} must have one number for each label, but has shape {values.shape}.")
    if hasattr(values, "chunks") and hasattr(like, "chunks"):
        if values.shape != like.shape and values.size == values.size and like.size == like.size:
            raise ValueError(
                f"y_true and {argument} have inconsistent numbers of samples: {like.size} and {values.size}."
            )
        known = values.size == values.size and like.size == like.size  # NaN: sizes are found only when computed
        values = values.rechunk(like.chunks) if known and values.chunks != like.chunks else values
    if values.npartitions != count:
        raise ValueError(f"y_true has {count} chunks and {argument} {values.npartitions}: cut them alike.")
    found: Sequence[Any] = values.to_delayed().ravel() if hasattr(values, "chunks") else values.to_delayed()
    return found


# DataFrames ----------------------------------------------------------------------------------------


def _of_frame(empty: Accumulator, number: int, frame: Any, names: Chunk, yerr: Any) -> Accumulator:
    def take() -> Accumulator:
        models = {str(name): frame[name].to_numpy() for name in names["pred"]}
        errors = frame[names["yerr"]].to_numpy() if "yerr" in names else yerr
        weight = frame[names["sample_weight"]].to_numpy() if "sample_weight" in names else None
        return empty.copy().update(frame[names["y"]].to_numpy(), models, yerr=errors, sample_weight=weight)

    return _in_chunk(number, take)


def _frames(frame: Any, y: Hashable | None, pred: Any, yerr: Any, weight: Any) -> list[tuple[Any, ...]]:
    """For each partition the columns that are needed."""
    if y is None or pred is None:
        raise ValueError("name the columns of a DataFrame: y= for the labels and pred= for the predictions.")
    chosen = list(pred) if isinstance(pred, list | tuple) else [pred]
    names: Chunk = {"y": y, "pred": chosen}
    if isinstance(yerr, str):
        names["yerr"] = yerr
    if weight is not None:
        names["sample_weight"] = weight
    wanted = [y, *chosen, *(names[k] for k in ("yerr", "sample_weight") if k in names)]
    known = list(frame.columns)
    for name in wanted:
        if name not in known:
            raise ValueError(f"there is no column {name!r} in the DataFrame. {tables._hint(name, known)}")
    parts = frame[list(dict.fromkeys(wanted))].to_delayed()
    return [(k, part, names, None if "yerr" in names else yerr) for k, part in enumerate(parts)]
