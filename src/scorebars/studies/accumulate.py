"""Scores of data that come in pieces: batch by batch, file by file, worker by worker.

An accumulator keeps up to KEPT labels as they are. More are folded into sums, bins and counts that merge
(`engines.summary`, `engines.extended`, `engines.class_counts`), from which the scores follow as from the labels themselves:
values to rounding, intervals to some 1e-11 of their width, in memory that does not grow with the data.
"""

from __future__ import annotations

import copy
import math
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from scorebars.metrics.registry import entry_of
from scorebars.score import Score
from scorebars.studies import accumulator_json
from scorebars.studies.batch import KEPT, Batch, ClassBatch, NumberBatch
from scorebars.studies.evaluate import Evaluation, evaluate
from scorebars.studies.summable import TAKEN, Asked, Options, chosen, name_of, options_of, summable


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
        self._batches: list[Batch] = []
        self._summaries: dict[str, Any] | None = None
        self._models: tuple[str, ...] | None = None
        self._kind: str | None = None
        self._summed = 0

    # taking labels in --------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Labels so far."""
        return self._summed + self._waiting

    @property
    def _waiting(self) -> int:
        return sum(batch.n for batch in self._batches)

    @property
    def models(self) -> list[str]:
        """Names of the models; empty before the first batch."""
        return list(self._models or ())

    def update(self, y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Accumulator:
        """Take in a batch of labels; arguments are those of `scorebars.evaluate`. Returns the accumulator itself."""
        taker = NumberBatch if self.task == "regression" else ClassBatch
        batch = taker.checked(y_true, y_pred, yerr, sample_weight)
        if batch.n == 0:
            return self
        if isinstance(batch, NumberBatch):
            batch.require(self._needs)
        self._require(tuple(batch.models), batch.kind)
        large = batch.n > KEPT
        self._batches.append(batch if large else batch.copied())
        if self._waiting > KEPT:
            try:
                self._fold()
            except Exception:
                self._batches.pop()  # as if the batch had never come
                raise
        return self

    def update_from(
        self, dataset: Any, *, y: str, pred: Any, yerr: Any = None, sample_weight: Any = None, progress: bool = False
    ) -> Accumulator:
        """Take in all rows of a dataset of pyarrow, or of the files at a path; arguments name its columns.

        After an error the accumulator holds a part of the rows: begin again.
        """
        stream: Any = import_module("scorebars.studies.stream")  # by name: it is built on this module
        columns = {"y": y, "pred": pred, "yerr": yerr, "sample_weight": sample_weight}
        return stream.read_into(self, dataset, progress=progress, **columns)

    def merge(self, other: Accumulator) -> Accumulator:
        """Take in all labels of another accumulator of the same metrics and models. Returns the accumulator itself."""
        if not isinstance(other, Accumulator):
            raise TypeError(f"only another Accumulator can be merged, not {type(other).__name__}.")
        if (other.task, other.metrics) != (self.task, self.metrics):
            raise ValueError(
                f"accumulators of different metrics cannot be merged: {', '.join(map(str, self.metrics))} and "
                f"{', '.join(map(str, other.metrics))}."
            )
        if other._models is None:
            return self
        self._require(other._models, other._kind)
        if other._summaries is not None:
            self._add(other._summaries, other._summed)
        self._batches.extend(other._batches)
        if self._waiting > KEPT:
            self._fold()
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
        twin._summaries = None if self._summaries is None else dict(self._summaries)
        return twin

    def _require(self, models: tuple[str, ...], kind: str | None) -> None:
        """Refuse what does not go with the labels so far."""
        if self._models is not None and set(models) != set(self._models):
            raise ValueError(
                f"the models are {', '.join(models)}, but those so far are {', '.join(self._models)}: every batch needs "
                "predictions of the same models."
            )
        if self._kind is not None and kind != self._kind:
            raise ValueError(
                f"label errors of kind {kind!r} cannot be mixed with those so far, which are {self._kind!r}."
            )
        self._models, self._kind = self._models or models, kind

    def _fold(self) -> None:
        """Sum up the labels that are waiting."""
        waiting = _joined(self._batches)
        self._add(waiting.summaries(self._needs, self._summaries), waiting.n)
        self._batches = []

    def _add(self, summaries: dict[str, Any], n: int) -> None:
        if self._summaries is None:
            self._summaries = dict(summaries)
        else:
            self._summaries = {name: have.merged(summaries[name]) for name, have in self._summaries.items()}
        self._summed += n

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
        if self._summaries is None:
            whole = _joined(self._batches)
            if whole.weight is not None and not np.any(whole.weight > 0):
                raise ValueError("sample_weight is all zero: at least one label must count.")
            models = {name: whole.models[name] for name in self._models}
            return evaluate(
                whole.y,
                models,
                yerr=whole.errors,
                sample_weight=whole.weight,
                metrics=list(self.metrics),
                task=self.task,
            )
        if self._batches:
            everything = self.copy()
            everything._fold()
            return everything.result()
        scores: dict[tuple[str, str, str | None], Score] = {}
        for model in self._models:
            summary = self._summaries[model]
            if self.task == "regression":
                _require_ordinary(summary.sums.w, max(summary.sums.max_abs_d, summary.sums.max_sigma))
            for metric in self.metrics:
                make = summable(metric).score
                scores[model, name_of(metric), None] = make(summary, str(self._kind), options_of(metric))
        return Evaluation(scores, self.n)

    # keeping -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything the accumulator holds, to the last bit."""
        parts = (self._models, self._kind, self._summed, self._batches, self._summaries)
        metrics = tuple(
            {"name": name_of(metric), "options": metric.keywords} if isinstance(metric, Asked) else metric
            for metric in self.metrics
        )
        return accumulator_json.dumps(accumulator_json.State(self.task, metrics, *parts))

    @classmethod
    def from_json(cls, text: str) -> Accumulator:
        """The accumulator that `to_json` wrote."""
        state = accumulator_json.loads(text)
        metrics = [
            partial(entry_of(metric["name"]).function, **metric["options"]) if isinstance(metric, dict) else metric
            for metric in state.metrics
        ]
        found = cls(metrics, task=state.task)
        found._models, found._kind, found._summed, found._batches, found._summaries = state[2:]
        return found

    def __repr__(self) -> str:
        models = f", models: {', '.join(self._models)}" if self._models else ""
        return f"Accumulator({', '.join(map(str, self.metrics))}; n={self.n}{models})"


def _joined(batches: list[Batch]) -> Batch:
    return type(batches[0]).joined(batches)  # type: ignore[arg-type]


def _require_ordinary(total: float, largest: float) -> None:
    if total == 0:
        raise ValueError("sample_weight is all zero: at least one label must count.")
    if 0 < largest < 2.0**-60 or not 2.0**-200 < total < math.inf:
        raise OverflowError(
            "all residuals and errors, or all weights, are too small to be summed up: choose other units."
        )
