"""The data sets that come with the package, as tables: ``dataset:nuclear_masses``."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import scorebars as sb
from scorebars.cli.failures import Failure
from scorebars.cli.source import Array, Source

PREFIX = "dataset:"


def names() -> list[str]:
    """What may stand after ``dataset:``."""
    return [name.removeprefix("load_") for name in sb.datasets.__all__ if name.startswith("load_")]


class Shipped(Source):
    """A shipped data set: columns y, y_err (or y_err_lo and y_err_hi), pred_<model>, id, and its own."""

    def __init__(self, name: str) -> None:
        short = name.removeprefix(PREFIX)
        if short not in names():
            near = get_close_matches(short, names(), 1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else ""
            raise Failure(f"there is no data set {short!r}.{hint} There are: {', '.join(names())}.")
        self.name = name
        self.data = getattr(sb.datasets, f"load_{short}")()
        table: dict[str, Array] = {"id": self.data.ids, "y": self.data.y}
        if self.data.yerr is not None and self.data.yerr.ndim == 2:
            table["y_err_lo"], table["y_err_hi"] = self.data.yerr
        elif self.data.yerr is not None:
            table["y_err"] = self.data.yerr
        table |= {f"pred_{model}": values for model, values in self.data.predictions.items()}
        table |= {
            key: values
            for key, values in self.data.columns.items()
            if values.shape == (self.data.n,) and key not in table
        }
        self.table, self.columns = table, list(table)

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        return {
            name: self.table[name].astype(object) if self.table[name].dtype.kind == "U" else self.table[name]
            for name in names
        }

    def units(self, names: Sequence[str]) -> dict[str, str]:
        labels = [name for name in names if name in ("y", "y_err", "y_err_lo", "y_err_hi") or name.startswith("pred_")]
        return dict.fromkeys(labels, self.data.units)

    def place(self, row: int) -> str:
        return f"row {row + 1} ({self.data.ids[row]})"
