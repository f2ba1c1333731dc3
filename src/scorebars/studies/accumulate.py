"""Scores of data that come in pieces: batch by batch, file by file, worker by worker.

An accumulator keeps up to KEPT labels as they are. More are folded into sums, bins and counts that merge
(`engines.summary`, `engines.extended`, `engines.class_counts`), from which the scores follow as from the labels themselves:
values to rounding, intervals to some 1e-11 of their width, in memory that does not grow with the data.
"""

from __future__ import annotations

import copy
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from scorebars.errors.base import Kind
from scorebars.metrics.registry import entry_of
from scorebars.score import Score
from scorebars.studies import accumulator_json
from scorebars.studies.accumulator_json import Batch
from scorebars.studies.batch import KEPT
from scorebars.studies.class_batch import ClassBatch, class_type
from scorebars.studies.evaluate import Evaluation, evaluate
from scorebars.studies.folded import Folded, InUnit
from scorebars.studies.number_batch import NumberBatch
from scorebars.studies.summable import TAKEN, Asked, Options, chosen, name_of, options_of, summable

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

    takes: dict[str, tuple[str, ...]] = {task: tuple(names) for task, names in TAKEN.items()}  # noqa: RUF012
    """The metrics that an accumulator can sum up, by task."""

    def __init__(self, metrics: Any = None, *, task: str | None = None) -> None:
        self.task, self.metrics = chosen(metrics, task)
        self._models: tuple[str, ...] | None = None
        self._kind: Kind | None = None
        self._batches: list[Batch] = []
        self._waiting = 0
        self._folded: Folded | None = None

    # taking labels in --------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Labels so far."""
        return self._waiting + (0 if self._folded is None else self._folded.n)

    @property
    def models(self) -> list[str]:
        """Names of the models; empty before the first batch."""
        return list(self._models or ())

    def update(self, y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Accumulator:
        """Take in a batch of labels; arguments are those of `scorebars.evaluate`. Returns the accumulator itself.

        After an error it holds what it held before.
        """
        taker = NumberBatch if self.task == "regression" else ClassBatch
        batch = taker.checked(y_true, y_pred, yerr, sample_weight)
        if batch.n == 0:
            return self
        if isinstance(batch, NumberBatch):
            batch.require(self._needs)
        self._require(tuple(batch.models), batch.kind, batch.classes)
        try:
            self._take([batch if batch.n > KEPT else batch.copied()], None)
        except (ValueError, OverflowError):
            if isinstance(batch, NumberBatch):
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
        stream: Any = import_module("scorebars.studies.stream")  # by name: it is built on this module
        columns = {"y": y, "pred": pred, "yerr": yerr, "sample_weight": sample_weight}
        return stream.read_into(self, dataset, progress=progress, **columns)

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
        self._take(other._batches, other._folded)
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

    def _become(self, other: Accumulator) -> None:
        """Hold what another accumulator of the same metrics holds."""
        self.__dict__.update(other.copy().__dict__)

    @property
    def _classes(self) -> str | None:
        """Of which type the classes are, in words; None for numbers and before the first batch."""
        if self._batches:
            return self._batches[0].classes
        if self._folded is None or self.task == "regression":
            return None
        return class_type(next(iter(self._folded.models.values())).classes)

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

    def _take(self, batches: list[Batch], folded: Folded | None) -> None:
        """Take in labels that were checked, summed up or not: all of them, or after an error none."""
        total = folded if self._folded is None else self._folded if folded is None else self._folded.merged(folded)
        waiting = self._waiting + sum(batch.n for batch in batches)
        if waiting <= KEPT:
            self._batches.extend(batches)
            self._folded, self._waiting = total, waiting
        else:
            self._folded, self._batches, self._waiting = self._with([*self._batches, *batches], total), [], 0

    def _with(self, batches: list[Batch], known: Folded | None) -> Folded:
        """The labels of batches summed up, with those that are known already."""
        more = _joined(batches).folded(self._needs, known)
        return more if known is None else known.merged(more)

    @property
    def _needs(self) -> dict[str, Options]:
        """What the metrics need of a summary, with their options."""
        needs = {summable(metric).need: options_of(metric) for metric in self.metrics}
        return {need: options for need, options in needs.items() if need is not None}

    # the scores --------------------------------------------------------------------------------

    def result(self) -> Evaluation:
        """The scores of all labels so far; more may follow."""
        if self._models is None:
            raise ValueError("nothing was accumulated yet: call update with labels and predictions first.")
        if self._folded is None:
            whole = _joined(self._batches)
            if whole.weight is not None and not np.any(whole.weight > 0):
                raise ValueError(_NO_WEIGHT)
            models = {name: whole.models[name] for name in self._models}
            return evaluate(
                whole.y,
                models,
                yerr=whole.errors,
                sample_weight=whole.weight,
                metrics=list(self.metrics),
                task=self.task,
            )
        total = self._with(self._batches, self._folded) if self._batches else self._folded
        scores: dict[tuple[str, str, str | None], Score] = {}
        for model in self._models:
            part = total.models[model]
            summary, unit = (part.summary, part.unit) if isinstance(part, InUnit) else (part, 0)
            if isinstance(part, InUnit) and summary.sums.w == 0:
                raise ValueError(_NO_WEIGHT)
            for metric in self.metrics:
                make = summable(metric).score
                scores[model, name_of(metric), None] = make(summary, str(self._kind), options_of(metric), unit)
        return Evaluation(scores, self.n)

    # keeping -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything the accumulator holds, to the last bit."""
        metrics = tuple(
            {"name": name_of(metric), "options": metric.keywords} if isinstance(metric, Asked) else metric
            for metric in self.metrics
        )
        held = (self._models, self._kind, self._batches, self._folded)
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
        accumulator_json.require_parts(state, found._needs)
        found._models, found._kind, found._batches, found._folded = state[2:]
        found._waiting = sum(batch.n for batch in found._batches)
        return found

    def __repr__(self) -> str:
        models = f", models: {', '.join(self._models)}" if self._models else ""
        return f"Accumulator({', '.join(map(str, self.metrics))}; n={self.n}{models})"


def _joined(batches: list[Batch]) -> Batch:
    return type(batches[0]).joined(batches)  # type: ignore[arg-type]
