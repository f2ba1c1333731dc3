"""An accumulator as JSON, to the last bit; what was changed on the way is refused.

Arrays are written as the base64 text of their little-endian bytes.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.bins import MOMENTS, Bins
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.store import Hits, Store
from scorebars.engines.sums import NormalSums
from scorebars.errors.measurement_error import ErrorKind, check_kind
from scorebars.streaming.batches import ClassBatch, NumberBatch, class_type

_NAME, _VERSION = "scorebars/accumulator/", "3"
_SCHEMA = _NAME + _VERSION
_TYPES = {"<f8": np.float64, "<i8": np.int64, "<u8": np.uint64, "|b1": np.bool_}
_OCCUPIED = ("keys", "moments", "top_v", "top_minor", "top")
"""What `Bins.occupied` tells besides bits and minor numbers."""


class State(NamedTuple):
    """What an accumulator holds."""

    task: str
    metrics: tuple[str | dict[str, Any], ...]
    """Names, or {"name", "options"}."""
    models: tuple[str, ...] | None
    kind: ErrorKind | None
    batches: list[Any]
    """NumberBatch or ClassBatch."""
    stored: dict[str, Any] | None
    """Store or ClassCounts of each model."""


def dumps(state: State) -> str:
    """The text of an accumulator."""
    data = {"schema": _SCHEMA, **state._asdict(), "batches": [_batch_out(batch) for batch in state.batches]}
    stored = data.pop("stored")
    data["folded"] = None if stored is None else {"n": _size(stored), "models": {k: _out(v) for k, v in stored.items()}}
    return json.dumps(data, allow_nan=False)


def loads(text: str) -> State:
    """What the accumulator of a text holds."""
    try:
        data = json.loads(text)
    except ValueError as why:
        raise ValueError(f"this is no JSON, so it cannot be an accumulator: {why}.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, str) and schema.startswith(_NAME) and schema != _SCHEMA:
        raise ValueError(
            f"this accumulator was saved by another version of scorebars: its schema is {schema!r}, and this version reads "
            f"{_SCHEMA!r}. Read it with the version that saved it, or accumulate the data again."
        )
    if schema != _SCHEMA:
        raise ValueError(f"this is not the JSON of an accumulator: its schema is {schema!r}, not {_SCHEMA!r}.")
    with damage():
        if data["task"] not in ("regression", "classification"):
            raise ValueError(f"there is no task {data['task']!r}")
        classes = data["task"] == "classification"
        state = State(
            str(data["task"]),
            tuple(_metric(metric) for metric in data["metrics"]),
            None if data["models"] is None else tuple(map(str, data["models"])),
            None if data["kind"] is None else check_kind(data["kind"]),
            [_batch_in(batch, classes) for batch in data["batches"]],
            _part(data, "folded", lambda folded: _stored(folded, classes)),
        )
        _require_whole(state)
    return state


@contextmanager
def damage() -> Iterator[None]:
    """Say of any error in here that the JSON is damaged."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as why:
        raise ValueError(f"the JSON of this accumulator is damaged ({type(why).__name__}: {why}).") from None


def _metric(data: Any) -> str | dict[str, Any]:
    if isinstance(data, str):
        return data
    return {"name": str(data["name"]), "options": {str(name): value for name, value in data["options"].items()}}


def _size(stored: dict[str, Any]) -> int:
    return int(next(iter(stored.values())).n)


def _require_whole(state: State) -> None:
    """Refuse parts that do not belong together."""
    models, stored = set(state.models or ()), state.stored
    parts = [set(batch.models) for batch in state.batches] + ([] if stored is None else [set(stored)])
    if any(part != models for part in parts):
        raise ValueError("its parts are of different models")
    if bool(parts) != bool(models):
        raise ValueError("it names models, but holds no labels" if models else "it holds labels of no models")
    if bool(models) != (state.kind is not None) or any(batch.kind != state.kind for batch in state.batches):
        raise ValueError("its parts have label errors of different kinds")
    types = {batch.classes for batch in state.batches}
    types |= {class_type(part.classes) for part in (stored or {}).values() if isinstance(part, ClassCounts)}
    if len(types) > 1:
        raise ValueError("its parts have classes of different types")


def require_parts(state: State, needs: Collection[str], tolerance: float | None) -> None:
    """Refuse stores that lack what the metrics need."""
    with damage():
        for part in (state.stored or {}).values():
            if isinstance(part, ClassCounts):
                if part.pairs != ("pairs" in needs):
                    raise ValueError("its counts are not those of its metrics")
                continue
            served = {"squares": part.squares, "ratio": part.gram, "absolute": part.absolute}
            served |= {"within": part.hits, "pulls": part.pulls}
            held = {need for need, value in served.items() if value is not None}
            if held != set(needs) | ({"squares"} if "ratio" in needs else set()):
                raise ValueError("its sums are not those of its metrics")
            if tolerance is not None and part.hits.sums.tolerance != math.ldexp(tolerance, -part.unit):
                raise ValueError("its hits are of another tolerance")
        for batch in state.batches:
            batch.require(needs)


# batches -----------------------------------------------------------------------------------------


def _batch_out(batch: NumberBatch | ClassBatch) -> dict[str, Any]:
    models = {name: array_out(p) for name, p in batch.models.items()}
    data = {"y": array_out(batch.y), "models": models, "kind": batch.kind}
    if isinstance(batch, ClassBatch):
        return data | {"q": _out(batch.error)}
    return data | {"sigma": _out(batch.error), "weight": _out(batch.weight)}


def _batch_in(data: dict[str, Any], classes: bool) -> NumberBatch | ClassBatch:
    models = {str(name): array_in(p) for name, p in data["models"].items()}
    y, weight = array_in(data["y"]), None if classes else _part(data, "weight", array_in)
    error, kind = _number(data["q" if classes else "sigma"]), check_kind(data["kind"])
    batch = (ClassBatch if classes else NumberBatch)(y, models, error, weight, kind)
    arrays = [part for part in (*models.values(), error, weight) if isinstance(part, np.ndarray)]
    if batch.n == 0 or any(len(array) != batch.n for array in arrays):
        raise ValueError("its arrays have different lengths" if batch.n else "a batch holds no labels")
    batch.diagnose()
    return batch


# stores ------------------------------------------------------------------------------------------


def _out(value: Any) -> Any:
    """A part of a store as plain data."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Bins):
        bits, minors, *arrays = value.occupied()
        return {"bits": bits, "minors": minors, **dict(zip(_OCCUPIED, map(array_out, arrays), strict=True))}
    if isinstance(value, Store | Hits | ClassCounts):
        names = value._fields if isinstance(value, Hits) else [field.name for field in fields(value)]
        found = {name: _out(getattr(value, name)) for name in names}
        return found if isinstance(value, ClassCounts) else {"n": value.sums.n, **found}
    return array_out(np.array(value[1:] if isinstance(value, NormalSums) else value))


def _part(data: dict[str, Any], name: str, read: Callable[[Any], Any]) -> Any:
    """A part that may be missing."""
    return None if data.get(name) is None else read(data[name])


def _stored(data: dict[str, Any], classes: bool) -> dict[str, Any]:
    if int(data["n"]) <= 0:
        raise ValueError(f"it sums up {data['n']} labels")
    stored: dict[str, Any] = {
        str(name): (_class_counts if classes else _store)(part) for name, part in data["models"].items()
    }
    for part in stored.values():
        if isinstance(part, Store) and not part.ordinary:
            raise ValueError(f"its unit 2^{part.unit} is not that of its labels")
        if part.n != int(data["n"]):
            raise ValueError("its parts are of different numbers of labels")
    return stored


def _store(data: dict[str, Any]) -> Store:
    low, high = array_in(data["predictions"]).tolist()
    return Store(
        _sums(data),
        _part(data, "squares", _bins),
        _part(data, "certain", array_in),
        _part(data, "absolute", _bins),
        _number(data["certain_abs"]),
        _number(data["abs_w2"]),
        _part(data, "gram", array_in),
        (low, high),
        _part(data, "hits", lambda hits: Hits(_sums(hits), *(_class_counts(hits[k]) for k in ("chances", "ideal")))),
        _part(data, "pulls", _store),
        int(data.get("unit", 0)),
    )


def _sums(data: dict[str, Any]) -> NormalSums:
    return NormalSums(int(data["n"]), *array_in(data["sums"]).tolist())


def _class_counts(data: dict[str, Any]) -> ClassCounts:
    cell, q, count = (array_in(data[name]) for name in ("cell", "q", "count"))
    bins, moments = (_part(data, name, array_in) for name in ("bins", "moments"))
    in_bins = (None if bins is None else (len(bins), 4)) == (None if moments is None else moments.shape)
    if not len(cell) == len(q) == len(count) or not in_bins:
        raise ValueError("its counts do not fit together")
    return ClassCounts(array_in(data["classes"]), bool(data["pairs"]), cell, q, count, bins, moments)


def _bins(data: dict[str, Any]) -> Bins:
    keys, moments, top_v, top_minor, top = (array_in(data[name]) for name in _OCCUPIED)
    fits = moments.shape == (keys.size, MOMENTS, len(top)) and top.shape == (len(top), top_v.size)
    if not fits or np.any(np.diff(keys) <= 0):
        raise ValueError("its bins do not fit together")
    return Bins.of_occupied(int(data["bits"]), int(data["minors"]), keys, moments, top_v, top_minor, top)


# arrays ------------------------------------------------------------------------------------------


def array_out(array: NDArray[Any]) -> dict[str, Any]:
    """Numbers by their bytes, texts as they are."""
    if array.dtype.kind == "U":
        return {"type": "text", "values": array.tolist()}
    kind, size = array.dtype.kind, array.dtype.itemsize
    wide = "|b1" if kind == "b" else "<f8" if kind == "f" else "<u8" if (kind, size) == ("u", 8) else "<i8"
    raw = np.ascontiguousarray(array, dtype=wide).tobytes()
    return {"type": wide, "shape": list(array.shape), "base64": base64.b64encode(raw).decode("ascii")}


def array_in(data: dict[str, Any]) -> NDArray[Any]:
    """The array that `array_out` wrote."""
    if data["type"] == "text":
        return np.array([str(value) for value in data["values"]], dtype=np.str_)
    if data["type"] not in _TYPES:
        raise ValueError(f"arrays of type {data['type']!r} are unknown")
    raw = base64.b64decode(data["base64"], validate=True)
    return np.frombuffer(raw, dtype=data["type"]).reshape(data["shape"]).astype(_TYPES[data["type"]])


def _number(data: dict[str, Any]) -> Any:
    """One number, or one for each label."""
    array = array_in(data)
    return float(array) if array.ndim == 0 else array
