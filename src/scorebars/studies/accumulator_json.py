"""An accumulator as JSON, to the last bit: arrays as the base64 text of their little-endian bytes."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.bins import MOMENTS, Bins
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.hits import Hits
from scorebars.engines.summary import Summary
from scorebars.engines.sums import NormalSums
from scorebars.studies.batch import Batch, ClassBatch, NumberBatch

SCHEMA = "scorebars/accumulator/1"
_TYPES = ("<f8", "<i8")
_COUNTED = ("chances", "ideal")


class State(NamedTuple):
    """What an accumulator holds."""

    task: str
    metrics: tuple[str | dict[str, Any], ...]
    """Names, or {"name", "options"}."""
    models: tuple[str, ...] | None
    kind: str | None
    summed: int
    batches: list[Batch]
    summaries: dict[str, Any] | None


def dumps(state: State) -> str:
    """The text of an accumulator."""
    summaries = state.summaries
    return json.dumps(
        {
            "schema": SCHEMA,
            **state._asdict(),
            "batches": [_batch_out(batch) for batch in state.batches],
            "summaries": None if summaries is None else {name: _out(part) for name, part in summaries.items()},
        },
        allow_nan=False,
    )


def loads(text: str) -> State:
    """What the accumulator of a text holds."""
    try:
        data = json.loads(text)
    except ValueError as why:
        raise ValueError(f"this is no JSON, so it cannot be an accumulator: {why}.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"this is not the JSON of an accumulator: its schema is {schema!r}, not {SCHEMA!r}.")
    try:
        classes = data["task"] == "classification"
        batch, summary = (_class_batch, _class_counts) if classes else (_number_batch, _summary)
        summaries = data["summaries"]
        state = State(
            str(data["task"]),
            tuple(_metric(part) for part in data["metrics"]),
            None if data["models"] is None else tuple(map(str, data["models"])),
            data["kind"],
            int(data["summed"]),
            [batch(part) for part in data["batches"]],
            None if summaries is None else {str(name): summary(part) for name, part in summaries.items()},
        )
        _require_whole(state)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as why:
        raise ValueError(f"the JSON of this accumulator is damaged ({type(why).__name__}: {why}).") from None
    return state


def _metric(data: Any) -> str | dict[str, Any]:
    if isinstance(data, str):
        return data
    return {"name": str(data["name"]), "options": {str(name): value for name, value in data["options"].items()}}


def _require_whole(state: State) -> None:
    models = set(state.models or ())
    parts = [set(batch.models) for batch in state.batches]
    parts += [] if state.summaries is None else [set(state.summaries)]
    if any(part != models for part in parts):
        raise ValueError("its parts are of different models")
    for part in (state.summaries or {}).values():
        if (part.n if isinstance(part, ClassCounts) else part.sums.n) != state.summed:
            raise ValueError("its parts are of different numbers of labels")


# arrays --------------------------------------------------------------------------------------------


def _array_out(array: NDArray[Any]) -> dict[str, Any]:
    kind = "<i8" if array.dtype.kind == "i" else "<f8"
    raw = np.ascontiguousarray(array, dtype=kind).tobytes()
    return {"type": kind, "shape": list(array.shape), "base64": base64.b64encode(raw).decode("ascii")}


def _array(data: dict[str, Any]) -> NDArray[Any]:
    if data["type"] not in _TYPES:
        raise ValueError(f"arrays of type {data['type']!r} are unknown")
    raw = base64.b64decode(data["base64"], validate=True)
    native = np.int64 if data["type"] == "<i8" else np.float64
    return np.frombuffer(raw, dtype=data["type"]).reshape(data["shape"]).astype(native)


def _number_out(value: Any) -> Any:
    """One number, or one for each label."""
    return _array_out(value if isinstance(value, np.ndarray) else np.array(value, dtype=np.float64))


def _number(data: dict[str, Any]) -> Any:
    array = _array(data)
    return float(array) if array.ndim == 0 else array


# batches -------------------------------------------------------------------------------------------


def _batch_out(batch: Batch) -> dict[str, Any]:
    if isinstance(batch, ClassBatch):
        return {
            "y": batch.y.tolist(),
            "models": {name: p.tolist() for name, p in batch.models.items()},
            "q": _number_out(batch.q),
            "kind": batch.kind,
        }
    return {
        "y": _array_out(batch.y),
        "models": {name: _array_out(p) for name, p in batch.models.items()},
        "sigma": _number_out(batch.sigma),
        "weight": None if batch.weight is None else _array_out(batch.weight),
        "kind": batch.kind,
    }


def _number_batch(data: dict[str, Any]) -> NumberBatch:
    weight = None if data["weight"] is None else _array(data["weight"])
    models = {str(name): _array(p) for name, p in data["models"].items()}
    batch = NumberBatch(_array(data["y"]), models, _number(data["sigma"]), weight, data["kind"])
    lengths = {batch.n, *map(len, models.values())} | ({len(weight)} if weight is not None else set())
    if len(lengths) > 1:
        raise ValueError("its arrays have different lengths")
    return batch


def _class_batch(data: dict[str, Any]) -> ClassBatch:
    models = {str(name): np.array(p) for name, p in data["models"].items()}
    return ClassBatch(np.array(data["y"]), models, _number(data["q"]), data["kind"])


# summaries -----------------------------------------------------------------------------------------


def _out(part: Summary | ClassCounts) -> dict[str, Any]:
    if isinstance(part, ClassCounts):
        return {
            "classes": part.classes.tolist(),
            "pairs": part.pairs,
            **{name: _array_out(getattr(part, name)) for name in ("cell", "q", "count")},
            **{name: None if (at := getattr(part, name)) is None else _array_out(at) for name in ("bins", "moments")},
        }
    return {
        "n": part.sums.n,
        "sums": _array_out(np.array(part.sums[1:])),
        "squares": None if part.squares is None else _bins_out(part.squares),
        "certain": None if part.certain is None else _array_out(part.certain),
        "absolute": None if part.absolute is None else _bins_out(part.absolute),
        "certain_abs": _number_out(part.certain_abs),
        "gram": None if part.gram is None else _array_out(part.gram),
        "predictions": _array_out(np.array(part.predictions)),
        **(_more_out(part) if isinstance(part, ExtendedSummary) else {}),
    }


def _more_out(part: ExtendedSummary) -> dict[str, Any]:
    hits: dict[str, Any] | None = None
    if part.hits is not None:
        hits = {"n": part.hits.sums.n, "sums": _array_out(np.array(part.hits.sums[1:]))}
        hits |= {name: _out(getattr(part.hits, name)) for name in _COUNTED}
    return {"hits": hits, "pulls": None if part.pulls is None else _out(part.pulls)}


def _bins_out(bins: Bins) -> dict[str, Any]:
    names = ("keys", "moments", "top_v", "top_minor", "top")
    return {"bits": bins.bits, "minors": bins.minors, **{name: _array_out(getattr(bins, name)) for name in names}}


def _class_counts(data: dict[str, Any]) -> ClassCounts:
    cell, q, count = (_array(data[name]) for name in ("cell", "q", "count"))
    bins, moments = (None if data[name] is None else _array(data[name]) for name in ("bins", "moments"))
    gathered = (None if bins is None else (len(bins), 4)) == (None if moments is None else moments.shape)
    if not len(cell) == len(q) == len(count) or not gathered:
        raise ValueError("its counts do not fit together")
    return ClassCounts(np.array(data["classes"]), bool(data["pairs"]), cell, q, count, bins, moments)


def _summary(data: dict[str, Any]) -> Summary:
    low, high = _array(data["predictions"]).tolist()
    found = Summary(
        NormalSums(int(data["n"]), *_array(data["sums"]).tolist()),
        None if data["squares"] is None else _bins(data["squares"]),
        None if data["certain"] is None else _array(data["certain"]),
        None if data["absolute"] is None else _bins(data["absolute"]),
        _number(data["certain_abs"]),
        None if data["gram"] is None else _array(data["gram"]),
        (low, high),
    )
    if "hits" not in data:
        return found
    hits, pulls = data["hits"], data["pulls"]
    return ExtendedSummary.of(found, None if hits is None else _hits(hits), None if pulls is None else _summary(pulls))


def _hits(data: dict[str, Any]) -> Hits:
    sums = NormalSums(int(data["n"]), *_array(data["sums"]).tolist())
    return Hits(sums, *(_class_counts(data[name]) for name in _COUNTED))


def _bins(data: dict[str, Any]) -> Bins:
    bits, minors = int(data["bits"]), int(data["minors"])
    bins = Bins(bits, minors, *(_array(data[k]) for k in ("keys", "moments", "top_v", "top_minor", "top")))
    columns = bins.moments.shape[1]
    if bins.moments.shape != (bins.keys.size, columns, MOMENTS) or bins.top.shape != (columns, bins.top_v.size):
        raise ValueError("its bins do not fit together")
    return bins
