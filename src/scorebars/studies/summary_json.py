"""The parts of an accumulator's JSON: arrays as the base64 text of their little-endian bytes, and summaries of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.bins import MOMENTS, Bins
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.hits import Hits
from scorebars.engines.summary import Summary
from scorebars.engines.sums import NormalSums
from scorebars.studies.folded import Folded, InUnit

_TYPES = {"<f8": np.float64, "<i8": np.int64, "<u8": np.uint64, "|b1": np.bool_}
_COUNTED = ("chances", "ideal")
_OCCUPIED = ("keys", "moments", "top_v", "top_minor", "top")
"""What `Bins.occupied` tells besides bits and minor numbers."""


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


def number_out(value: Any) -> Any:
    """One number, or one for each label."""
    return array_out(value if isinstance(value, np.ndarray) else np.array(value, dtype=np.float64))


def number_in(data: dict[str, Any]) -> Any:
    """What `number_out` wrote."""
    array = array_in(data)
    return float(array) if array.ndim == 0 else array


# summaries ---------------------------------------------------------------------------------------


def folded_out(folded: Folded) -> dict[str, Any]:
    """The summaries of all models as plain data."""
    return {"n": folded.n, "models": {name: _part_out(part) for name, part in folded.models.items()}}


def _part_out(part: InUnit | ClassCounts) -> dict[str, Any]:
    return _out(part) if isinstance(part, ClassCounts) else {"unit": part.unit, **_out(part.summary)}


def folded_in(data: dict[str, Any], classes: bool) -> Folded:
    """The summaries that `folded_out` wrote."""
    part: Callable[[dict[str, Any]], Any] = _class_counts if classes else _in_unit
    models, n = {str(name): part(model) for name, model in data["models"].items()}, int(data["n"])
    if n <= 0:
        raise ValueError(f"it sums up {n} labels")
    return Folded(models, n)


def _in_unit(data: dict[str, Any]) -> InUnit:
    found = InUnit(_summary(data), int(data["unit"]))
    if not found.ordinary:
        raise ValueError(f"its unit 2^{found.unit} is not that of its labels")
    return found


def _out(part: Summary | ClassCounts) -> dict[str, Any]:
    if isinstance(part, ClassCounts):
        return {
            "classes": array_out(part.classes),
            "pairs": part.pairs,
            **{name: array_out(getattr(part, name)) for name in ("cell", "q", "count")},
            **{name: None if (at := getattr(part, name)) is None else array_out(at) for name in ("bins", "moments")},
        }
    return {
        "n": part.sums.n,
        "sums": array_out(np.array(part.sums[1:])),
        "squares": None if part.squares is None else _bins_out(part.squares),
        "certain": None if part.certain is None else array_out(part.certain),
        "absolute": None if part.absolute is None else _bins_out(part.absolute),
        "certain_abs": number_out(part.certain_abs),
        "abs_w2": number_out(part.abs_w2),
        "gram": None if part.gram is None else array_out(part.gram),
        "predictions": array_out(np.array(part.predictions)),
        **(_more_out(part) if isinstance(part, ExtendedSummary) else {}),
    }


def _more_out(part: ExtendedSummary) -> dict[str, Any]:
    hits: dict[str, Any] | None = None
    if part.hits is not None:
        hits = {"n": part.hits.sums.n, "sums": array_out(np.array(part.hits.sums[1:]))}
        hits |= {name: _out(getattr(part.hits, name)) for name in _COUNTED}
    return {"hits": hits, "pulls": None if part.pulls is None else _out(part.pulls)}


def _bins_out(bins: Bins) -> dict[str, Any]:
    bits, minors, *arrays = bins.occupied()
    return {"bits": bits, "minors": minors, **dict(zip(_OCCUPIED, map(array_out, arrays), strict=True))}


def _class_counts(data: dict[str, Any]) -> ClassCounts:
    cell, q, count = (array_in(data[name]) for name in ("cell", "q", "count"))
    bins, moments = (None if data[name] is None else array_in(data[name]) for name in ("bins", "moments"))
    gathered = (None if bins is None else (len(bins), 4)) == (None if moments is None else moments.shape)
    if not len(cell) == len(q) == len(count) or not gathered:
        raise ValueError("its counts do not fit together")
    return ClassCounts(array_in(data["classes"]), bool(data["pairs"]), cell, q, count, bins, moments)


def _summary(data: dict[str, Any]) -> Summary:
    low, high = array_in(data["predictions"]).tolist()
    found = Summary(
        NormalSums(int(data["n"]), *array_in(data["sums"]).tolist()),
        None if data["squares"] is None else _bins(data["squares"]),
        None if data["certain"] is None else array_in(data["certain"]),
        None if data["absolute"] is None else _bins(data["absolute"]),
        number_in(data["certain_abs"]),
        number_in(data["abs_w2"]),
        None if data["gram"] is None else array_in(data["gram"]),
        (low, high),
    )
    if "hits" not in data:
        return found
    hits, pulls = data["hits"], data["pulls"]
    return ExtendedSummary.of(found, None if hits is None else _hits(hits), None if pulls is None else _summary(pulls))


def _hits(data: dict[str, Any]) -> Hits:
    sums = NormalSums(int(data["n"]), *array_in(data["sums"]).tolist())
    return Hits(sums, *(_class_counts(data[name]) for name in _COUNTED))


def _bins(data: dict[str, Any]) -> Bins:
    keys, moments, top_v, top_minor, top = (array_in(data[name]) for name in _OCCUPIED)
    fits = moments.shape == (keys.size, MOMENTS, len(top)) and top.shape == (len(top), top_v.size)
    if not fits or np.any(np.diff(keys) <= 0):
        raise ValueError("its bins do not fit together")
    return Bins.of_occupied(int(data["bits"]), int(data["minors"]), keys, moments, top_v, top_minor, top)
