"""Which columns hold what, in data that come in pieces: batches of files, partitions of a dask DataFrame."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scorebars import tables
from scorebars.errors import ErrorModel
from scorebars.studies.batch import argument_of
from scorebars.studies.gather import error_columns, predicted_columns, prediction_arguments

if TYPE_CHECKING:
    from scorebars.studies.accumulate import Accumulator

_COLUMN = "put them in a column of the data, and give yerr the name of that column."


@dataclass(frozen=True)
class Columns:
    """The columns of labels, of each model's predictions, of errors and of weights."""

    y: Hashable
    models: dict[str, Hashable]
    yerr: Hashable | None
    weight: Hashable | None
    errors: Any
    """The label errors where one value serves all labels instead of a column."""

    @classmethod
    def of(cls, known: Iterable[Any], y: Hashable, pred: Any, yerr: Any, sample_weight: Any) -> Columns:
        """Those that the arguments name among the known ones."""
        known, models = list(known), predicted_columns(pred)
        column = yerr if isinstance(yerr, str) else None
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError(
                f"sample_weight must be the name of a column, not a {type(sample_weight).__name__}: labels come in pieces, "
                "and nothing tells which weights belong to which. Put them in a column of the data."
            )
        named = {"y": y, **dict(zip(prediction_arguments(pred), models.values(), strict=True))}
        named |= {"yerr": column, "sample_weight": sample_weight}
        named |= {f"yerr[{k}]": name for k, name in enumerate(error_columns(yerr) or ())}
        for argument, name in named.items():
            if not isinstance(name, Hashable):
                raise ValueError(f"{argument} must be the name of a column, not a {type(name).__name__}.")
            if name is not None and name not in known:
                raise ValueError(
                    f"{argument} names a column {name!r} that the data do not have. {tables._hint(name, known)}"
                )
            if known.count(name) > 1:
                raise ValueError(
                    f"{argument} names a column {name!r} that occurs {known.count(name)} times: rename them."
                )
        if error_columns(yerr):
            raise ValueError(
                f"yerr names two columns, {' and '.join(map(repr, yerr))}: lower and upper errors cannot be summed up piece by "
                "piece. Name one column of standard deviations, or read the columns into a table in memory."
            )
        return cls(y, models, column, sample_weight, None if column is not None else for_all_labels(yerr, _COLUMN))

    @property
    def names(self) -> list[Any]:
        """All columns, each once."""
        return list(dict.fromkeys([self.y, *self.models.values(), *self.numbers]))

    @property
    def numbers(self) -> list[Any]:
        """Those that hold numbers whatever the labels are."""
        return [name for name in (self.yerr, self.weight) if name is not None]

    def update(self, total: Accumulator, arrays: Mapping[Any, Any]) -> Accumulator:
        """Take the columns of a piece into an accumulator; errors name the column."""
        models = {model: arrays[name] for model, name in self.models.items()}
        yerr = self.errors if self.yerr is None else arrays[self.yerr]
        weight = None if self.weight is None else arrays[self.weight]
        try:
            return total.update(arrays[self.y], models, yerr=yerr, sample_weight=weight)
        except (ValueError, TypeError, OverflowError) as why:
            raise reworded(why, self._by_column(str(why))) from None

    def _by_column(self, message: str) -> str:
        """A message about an argument as one about its column."""
        called = {"y_true": self.y, "yerr": self.yerr, "sample_weight": self.weight}
        called |= {argument_of(model, self.models): name for model, name in self.models.items()}
        argument, space, rest = message.partition(" ")
        name = called.get(argument)
        return message if name is None else f"column {name!r}{space}{rest}"


def reworded(why: Exception, message: str) -> Exception:
    """The same error in other words."""
    kind = next(kind for kind in (ValueError, TypeError, OverflowError) if isinstance(why, kind))
    return kind(message)


def for_all_labels(yerr: Any, instead: str) -> Any:
    """Label errors of which one value serves all labels: none, a number, or a model of one parameter.

    What has an entry for each label is refused, for labels come in pieces: `instead` says what to do.
    """
    if isinstance(yerr, ErrorModel):
        if yerr.size is None:
            return yerr
        what = f"a {type(yerr).__name__} of {yerr.size} labels"
    elif yerr is None or isinstance(yerr, numbers.Real) or (isinstance(yerr, np.ndarray) and yerr.ndim == 0):
        return yerr
    else:
        what = f"a {type(yerr).__name__}"
    raise ValueError(
        f"yerr is {what}, but labels come in pieces, and nothing tells which errors belong to which: {instead}"
    )
