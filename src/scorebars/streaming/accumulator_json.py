"""An accumulator as JSON, to the last bit. A checksum refuses what was changed on the way.

Every object is written as {its class: its parts}. Floats are written in hexadecimal, which also holds infinities and NaN;
arrays as the base64 text of their little-endian bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.bins import Bins
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.store import Hits, Store
from scorebars.engines.sums import NormalSums
from scorebars.forecasts import EnsembleForecast, Forecast, LawForecast, NormalForecast, QuantileForecast
from scorebars.streaming.accumulator_checks import ImpossibleState, require, require_possible
from scorebars.streaming.batches import Batch, ClassBatch, NumberBatch
from scorebars.streaming.forecast_sums import ForecastBatch, ForecastStore

Made = TypeVar("Made")
_NAME, _VERSION = "scorebars/accumulator/", "6"
_SCHEMA = _NAME + _VERSION


def dumps(state: dict[str, Any]) -> str:
    """The text of what an accumulator holds."""
    data = {name: _plain(value) for name, value in state.items()}
    return json.dumps({"schema": _SCHEMA, "sha256": _checksum(data), "state": data}, allow_nan=False)


def loads(text: str) -> dict[str, Any]:
    """What the accumulator of a text holds; refuses what `dumps` does not write, and what no labels give."""
    if not isinstance(text, str | bytes | bytearray):
        raise TypeError(
            f"from_json takes the text that to_json wrote, not a {type(text).__name__}: pass it as it was saved."
        )
    try:
        data = json.loads(text)
    except ValueError as why:
        raise ValueError(f"this is not JSON, so it cannot be an accumulator: {why}.") from None
    except RecursionError:
        raise ValueError(
            "this JSON is nested too deeply to be that of an accumulator. Give the text that to_json wrote."
        ) from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, str) and schema.startswith(_NAME) and schema != _SCHEMA:
        raise ValueError(
            f"this accumulator was saved by another version of scorebars: its schema is {schema!r}, and this version reads "
            f"{_SCHEMA!r}. Read it with the version that saved it, or accumulate the data again."
        )
    if schema != _SCHEMA:
        raise ValueError(
            f"this is not the JSON of an accumulator: its schema is {schema!r}, not {_SCHEMA!r}. Give the "
            "text that to_json wrote."
        )
    if not isinstance(data.get("state"), dict) or data.get("sha256") != _checksum(data["state"]):
        raise ValueError(
            "the JSON of this accumulator is damaged: its checksum is not that of its contents. Read it from where it was "
            "saved first, or accumulate the data again."
        )
    with _refused():
        state = {name: _object(value) for name, value in data["state"].items()}
        require_possible(state)
    return state


@contextmanager
def _refused() -> Iterator[None]:
    """Whatever goes wrong with contents that are not those of an accumulator, said in one way."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError, AssertionError) as why:
        said = str(why) if isinstance(why, ImpossibleState) else f"{type(why).__name__}: {str(why)[:200]}"
        raise ValueError(
            f"the JSON of this accumulator was not written by to_json: no labels give what it holds ({said}). Accumulate the "
            "data again."
        ) from None


def restored(text: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What `make` makes of the state in a text; where it cannot, the text is refused."""
    state = loads(text)
    with _refused():
        return make(state)


def _checksum(data: Any) -> str:
    """A checksum of the contents that does not depend on the order of keys or on white space."""
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """An object as JSON holds it."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if isinstance(value, np.ndarray):
        return {"array": _array_out(value)}
    if isinstance(value, Forecast):
        return {"forecast": [type(value).__name__, _plain(_forecast_out(value))]}
    if isinstance(value, dict):
        return {"dict": [[name, _plain(part)] for name, part in value.items()]}
    parts = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else value
    if isinstance(value, Batch) and value.prederr is None:  # written only where it is there
        parts = parts[:-1]
    return {type(value).__name__: [_plain(part) for part in parts]}


def _object(data: Any) -> Any:
    """The object that `_plain` wrote."""
    if not isinstance(data, dict):
        return data
    ((kind, parts),) = data.items()
    if kind == "float":
        return float.fromhex(parts)
    if kind == "array":
        return _array_in(*parts)
    if kind == "dict":
        return {name: _object(part) for name, part in parts}
    if kind == "forecast":
        return _forecast_in(parts[0], _object(parts[1]))
    return _MAKERS[kind](*map(_object, parts))


_FORECASTS: dict[str, type[Forecast]] = {
    made.__name__: made for made in (EnsembleForecast, LawForecast, NormalForecast, QuantileForecast)
}
_WRITTEN = (Bins, ClassBatch, ClassCounts, ForecastBatch, ForecastStore, Hits, NormalSums, NumberBatch, Store)
_MAKERS: dict[str, Callable[..., Any]] = {
    "list": lambda *parts: list(parts),
    "tuple": lambda *parts: parts,
    **{made.__name__: made for made in _WRITTEN},
}


def _forecast_out(forecast: Forecast) -> dict[str, Any]:
    """The arrays of a forecast, and what its labels share; a family of SciPy by its name."""
    if type(forecast).__name__ not in _FORECASTS:
        raise ValueError(
            f"{forecast!r} cannot be saved: save the forecasts, and see them through the label errors afterwards."
        )
    parts = {name: getattr(forecast, name) for name in (*forecast.per_label, *forecast.common) if name != "unit"}
    return {name: part.name if name == "_family" else part for name, part in parts.items()}


def _forecast_in(name: str, parts: dict[str, Any]) -> Forecast:
    """The forecast, checked as one that a user makes."""
    given = {part.removeprefix("_"): value for part, value in parts.items()}
    if "family" in given:
        from scipy import stats  # slow to load, and seldom needed

        family = getattr(stats, given.pop("family"))
        require(isinstance(family, stats.rv_continuous), "a forecast is of no family")
        *shapes, loc, scale = given.pop("rows").T
        given["frozen"] = family(*shapes, loc=loc, scale=scale)
    return _FORECASTS[name](**given)


_NUMBERS = ("|b1", "<f8", "<u8", "<i8")


def _array_out(array: NDArray[Any]) -> list[Any]:
    """Type, shape and contents: numbers by their bytes, texts as they are."""
    if array.dtype.kind == "U":
        return ["text", list(array.shape), array.tolist()]
    kind, size = array.dtype.kind, array.dtype.itemsize
    wide = "|b1" if kind == "b" else "<f8" if kind == "f" else "<u8" if (kind, size) == ("u", 8) else "<i8"
    raw = np.ascontiguousarray(array, dtype=wide).tobytes()
    return [wide, list(array.shape), base64.b64encode(raw).decode("ascii")]


def _array_in(kind: str, shape: list[int], contents: Any) -> NDArray[Any]:
    if kind == "text":
        return np.array(contents, dtype=np.str_)
    require(kind in _NUMBERS, "an array is of no known type")
    require(all(type(size) is int and size >= 0 for size in shape), "an array has no size")
    native = np.dtype(kind).newbyteorder("=")
    return np.frombuffer(base64.b64decode(contents, validate=True), dtype=kind).reshape(shape).astype(native)
