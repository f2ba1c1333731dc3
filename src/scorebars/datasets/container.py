"""The `Dataset` object, and how the shipped CSV files become one.

The loaders themselves are in `scorebars.datasets`; here is only what they share: the small frozen container and a
reader that needs nothing but the csv module and NumPy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Row = dict[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Measured labels with their published errors, and the predictions of one or more models.

    Attributes
    ----------
    name : short name, the `load_...` function without its prefix.
    y : the labels, shape (n,).
    yerr : the published error of every label: shape (n,), or (2, n) for lower and upper errors as in matplotlib.
        None where the source publishes no error for every label.
    predictions : model name -> predictions, shape (n,). A missing prediction is NaN.
    ids : one name for each label, shape (n,), text.
    columns : everything else, by name. Arrays with first axis n unless the loader says otherwise.
    published : model name -> {statistic: value} as printed by the authors of the data.
    description, units, citation, licence : text.

    Every call of a loader reads the files afresh, so the arrays are yours to change.
    """

    name: str
    y: Array
    yerr: Array | None
    predictions: dict[str, Array]
    ids: Array
    description: str
    units: str
    citation: str
    licence: str
    columns: dict[str, Array] = field(default_factory=dict)
    published: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(self.y.shape[0])

    def __len__(self) -> int:
        return self.n

    def complete(self, model: str) -> NDArray[np.bool_]:
        """Mask of the labels for which `model` has a prediction."""
        return np.asarray(np.isfinite(self.predictions[model]))

    def __repr__(self) -> str:
        models = list(self.predictions)
        shown = ", ".join(models[:4]) + (", ..." if len(models) > 4 else "")
        lines = [
            f"Dataset {self.name}: {self.description}",
            f"  y            {_shape(self.y)} in {self.units}",
            f"  yerr         {'none published for every label' if self.yerr is None else _shape(self.yerr)}",
            f"  predictions  {len(models)}: {shown}",
        ]
        if self.columns:
            lines.append(f"  columns      {', '.join(self.columns)}")
        lines += [f"  citation     {self.citation}", f"  licence      {self.licence}"]
        return "\n".join(lines)


def _shape(array: Array) -> str:
    return "(" + ", ".join(str(length) for length in array.shape) + ("," if array.ndim == 1 else "") + ")"


def read_rows(folder: str, file: str) -> list[Row]:
    """The rows of one shipped CSV file with a header line, as text."""
    text = files("scorebars").joinpath("data", folder, file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def read_matrix(folder: str, file: str) -> NDArray[np.float64]:
    """A shipped CSV file without header, all numbers."""
    text = files("scorebars").joinpath("data", folder, file).read_text(encoding="utf-8")
    return np.array([[float(cell) for cell in row] for row in csv.reader(text.splitlines())])


def numbers(rows: Iterable[Row], column: str) -> NDArray[np.float64]:
    """One column as floats; an empty cell is NaN."""
    return np.array([float(row[column]) if row[column] else np.nan for row in rows])


def integers(rows: Iterable[Row], column: str) -> NDArray[np.int64]:
    """One column of whole numbers."""
    return np.array([int(row[column]) for row in rows], dtype=np.int64)


def texts(rows: Iterable[Row], column: str) -> NDArray[np.str_]:
    """One column as text."""
    return np.array([row[column] for row in rows], dtype=np.str_)


def predictions_of(rows: list[Row]) -> dict[str, Array]:
    """Every column `pred_<model>` of a wide table, by model name."""
    return {name.removeprefix("pred_"): numbers(rows, name) for name in rows[0] if name.startswith("pred_")}


def statistics_of(rows: Iterable[Row], key: str) -> dict[str, dict[str, float]]:
    """A published table of statistics: row name -> {column: number}, text columns left out."""
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        values = {}
        for column, cell in row.items():
            try:
                values[column] = float(cell)
            except ValueError:
                continue
        table[row[key]] = values
    return table
