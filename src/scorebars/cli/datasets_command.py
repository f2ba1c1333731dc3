"""``scorebars datasets``: the data sets that come with the package."""

from __future__ import annotations

from typing import Any

from rich.padding import Padding
from rich.text import Text

import scorebars as sb
from scorebars._shared.score_views import counted
from scorebars._shared.writing import as_json
from scorebars.cli.output import OutputOptions, as_csv
from scorebars.files.formats import PREFIX, shipped_names


def datasets(out: OutputOptions) -> None:
    """Which real data sets come with the package? All commands take them as dataset:NAME."""
    rows = [_row(name) for name in shipped_names()]
    out.put(
        "datasets",
        table=lambda: out.screen(*(part for row in rows for part in _shown(row))),
        json=lambda: as_json({"schema": "scorebars/datasets/1", "datasets": rows}),
        csv=lambda: as_csv(rows),
    )


def _row(name: str) -> dict[str, Any]:
    data = getattr(sb.datasets, f"load_{name}")()
    errors = "none" if data.yerr is None else "lower and upper" if data.yerr.ndim == 2 else "one for each label"
    facts = {"labels": data.n, "unit": data.units, "errors": errors, "models": len(data.predictions)}
    return {"name": name, **facts, "description": data.description, "from": data.citation, "licence": data.licence}


def _shown(row: dict[str, Any]) -> list[Any]:
    labels, models = counted(row["labels"], "label"), counted(row["models"], "model")
    facts = f"{labels} ({row['unit']}), errors: {row['errors']}, {models}"
    more = f"{row['description']}\n{facts}\n{row['from']}; {row['licence']}"
    return [Text(f"{PREFIX}{row['name']}", style="bold"), Padding(Text(more, style="dim"), (0, 0, 0, 4))]
