"""An accumulator as JSON, to the last bit; what was changed on the way is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from scorebars import checks
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.extended import ExtendedSummary
from scorebars.errors.base import Kind, check_kind
from scorebars.studies.class_batch import ClassBatch, class_type
from scorebars.studies.folded import Folded
from scorebars.studies.number_batch import NumberBatch
from scorebars.studies.summary_json import array_in, array_out, folded_in, folded_out, number_in, number_out

_NAME, _VERSION = "scorebars/accumulator/", "3"
SCHEMA = _NAME + _VERSION

Batch = NumberBatch | ClassBatch


class State(NamedTuple):
    """What an accumulator holds."""

    task: str
    metrics: tuple[str | dict[str, Any], ...]
    """Names, or {"name", "options"}."""
    models: tuple[str, ...] | None
    kind: Kind | None
    batches: list[Batch]
    folded: Folded | None


def dumps(state: State) -> str:
    """The text of an accumulator."""
    folded = state.folded
    return json.dumps(
        {
            "schema": SCHEMA,
            **state._asdict(),
            "batches": [_batch_out(batch) for batch in state.batches],
            "folded": None if folded is None else folded_out(folded),
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
    if isinstance(schema, str) and schema.startswith(_NAME) and schema != SCHEMA:
        raise ValueError(
            f"this accumulator was saved by another version of scorebars: its schema is {schema!r}, and this version reads "
            f"{SCHEMA!r}. Read it with the version that saved it, or accumulate the data again."
        )
    if schema != SCHEMA:
        raise ValueError(f"this is not the JSON of an accumulator: its schema is {schema!r}, not {SCHEMA!r}.")
    with damage():
        if data["task"] not in ("regression", "classification"):
            raise ValueError(f"there is no task {data['task']!r}")
        classes = data["task"] == "classification"
        batch = _class_batch if classes else _number_batch
        folded = data["folded"]
        state = State(
            str(data["task"]),
            tuple(_metric(metric) for metric in data["metrics"]),
            None if data["models"] is None else tuple(map(str, data["models"])),
            None if data["kind"] is None else check_kind(data["kind"]),
            [batch(each) for each in data["batches"]],
            None if folded is None else folded_in(folded, classes),
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


def _require_whole(state: State) -> None:
    """Refuse parts that do not belong together."""
    models = set(state.models or ())
    parts = [set(batch.models) for batch in state.batches]
    parts += [] if state.folded is None else [set(state.folded.models)]
    if any(part != models for part in parts):
        raise ValueError("its parts are of different models")
    if bool(parts) != bool(models):
        raise ValueError("it names models, but holds no labels" if models else "it holds labels of no models")
    if bool(models) != (state.kind is not None) or any(batch.kind != state.kind for batch in state.batches):
        raise ValueError("its parts have label errors of different kinds")
    types = {batch.classes for batch in state.batches}
    for part in ({} if state.folded is None else state.folded.models).values():
        types |= {class_type(part.classes)} if isinstance(part, ClassCounts) else set()
        if part.n != state.folded.n:  # type: ignore[union-attr]
            raise ValueError("its parts are of different numbers of labels")
    if len(types) > 1:
        raise ValueError("its parts have classes of different types")


def require_parts(state: State, needs: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse summaries that lack what the metrics need."""
    with damage():
        for part in ({} if state.folded is None else state.folded.models).values():
            if isinstance(part, ClassCounts):
                if part.pairs != ("pairs" in needs):
                    raise ValueError("its counts are not those of its metrics")
            elif _has(part.summary) != set(needs) | ({"squares"} if "ratio" in needs else set()):
                raise ValueError("its sums are not those of its metrics")
            elif "within" in needs:
                tolerance = math.ldexp(float(needs["within"]["tolerance"]), -part.unit)
                if part.summary.hits.sums.tolerance != tolerance:
                    raise ValueError("its hits are of another tolerance")
        for batch in state.batches:
            if isinstance(batch, NumberBatch):
                batch.require(needs)


def _has(part: Any) -> set[str]:
    """Which needs a summary serves."""
    extended = isinstance(part, ExtendedSummary)
    held = {
        "squares": part.squares,
        "ratio": part.gram,
        "absolute": part.absolute,
        "within": part.hits if extended else None,
        "pulls": part.pulls if extended else None,
    }
    return {need for need, value in held.items() if value is not None}


def _batch_out(batch: Batch) -> dict[str, Any]:
    if isinstance(batch, ClassBatch):
        return {
            "y": array_out(batch.y),
            "models": {name: array_out(p) for name, p in batch.models.items()},
            "q": number_out(batch.q),
            "kind": batch.kind,
        }
    return {
        "y": array_out(batch.y),
        "models": {name: array_out(p) for name, p in batch.models.items()},
        "sigma": number_out(batch.sigma),
        "weight": None if batch.weight is None else array_out(batch.weight),
        "kind": batch.kind,
    }


def _number_batch(data: dict[str, Any]) -> NumberBatch:
    weight = None if data["weight"] is None else array_in(data["weight"])
    models = {str(name): array_in(p) for name, p in data["models"].items()}
    batch = NumberBatch(array_in(data["y"]), models, number_in(data["sigma"]), weight, check_kind(data["kind"]))
    _require_lengths(batch.n, *models.values(), batch.sigma, weight)
    batch.diagnose()
    return batch


def _class_batch(data: dict[str, Any]) -> ClassBatch:
    models = {str(name): array_in(p) for name, p in data["models"].items()}
    batch = ClassBatch(array_in(data["y"]), models, number_in(data["q"]), check_kind(data["kind"]))
    _require_lengths(batch.n, *models.values(), batch.q)
    if len({class_type(values) for values in (batch.y, *models.values())}) > 1:
        raise ValueError("its parts have classes of different types")
    checks.probabilities(batch.q, "q")
    return batch


def _require_lengths(n: int, *parts: Any) -> None:
    """Refuse arrays that are not of n labels, and batches of none."""
    if n == 0 or any(len(part) != n for part in parts if isinstance(part, np.ndarray)):
        raise ValueError("its arrays have different lengths" if n else "a batch holds no labels")
