"""What an evaluation gives: the scores of models, metrics and groups, and the tables they make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scorebars._shared import evaluation_tables as tables
from scorebars._shared.score_texts import for_trackers
from scorebars._shared.writing import as_json
from scorebars.score import Score

SCHEMA = "scorebars/evaluation/1"


@dataclass(frozen=True)
class Evaluation:
    """The scores of an evaluation: one for each model, metric and group.

    ``evaluation["model", "metric"]`` is a Score (``["model", "metric", group]`` with groups). Printing gives a table;
    notebooks show it as HTML; `to_frame`, `to_dict`, `to_json`, `to_latex`, `to_markdown` and `to_html` carry it on.
    """

    scores: dict[tuple[str, str, str | None], Score]
    n: int
    omitted: int = 0
    """Rows that were left out because they miss a value (``nan_policy="omit"``)."""
    assumed: str = ""
    """What was assumed about the labels, and how to change it; empty where nothing had to be."""

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(model for model, _, _ in self.scores))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(dict.fromkeys(metric for _, metric, _ in self.scores))

    @property
    def groups(self) -> list[str | None]:
        """Names of the groups; ``[None]`` without groups."""
        return list(dict.fromkeys(group for _, _, group in self.scores))

    def __getitem__(self, key: str | tuple[str, ...]) -> Score:
        """The score of (model, metric), or (model, metric, group); a bare metric name if there is one model."""
        parts = (key,) if isinstance(key, str) else tuple(key)
        if len(parts) == 1 and len(self.models) == 1:
            parts = (self.models[0], *parts)
        full = (*parts, None) if len(parts) == 2 else parts
        if full not in self.scores:
            raise KeyError(
                f"{key!r} is not in this evaluation. Models: {', '.join(self.models)}; metrics: {', '.join(self.metrics)}"
                + (f"; groups: {', '.join(map(str, self.groups))}." if self.groups != [None] else ".")
            )
        return self.scores[full]

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str | None], Score]]:
        return iter(self.scores.items())

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One flat record for each score, as `Score.to_dict` gives it, with model and group."""
        return [
            {"model": model, **({} if group is None else {"group": group}), "metric": metric, **score.to_dict(level)}
            for (model, metric, group), score in self.scores.items()
        ]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data: schema name, numbers of labels and of rows left out, and one record for each score."""
        return {"schema": SCHEMA, "n": self.n, "omitted": self.omitted, "scores": self.rows(level)}

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; infinities are written as the strings "inf" and "-inf"."""
        return as_json(self.to_dict(), **{"indent": None, **options})

    def to_metrics(self) -> dict[str, float]:
        """All finite numbers as ``"model/metric/answer"`` (``"model/metric/group/answer"``): what experiment trackers take."""
        found: dict[str, float] = {}
        for (model, metric, group), score in self.scores.items():
            found |= for_trackers(score, model, metric, *([] if group is None else [group]))
        return found

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row for each score."""
        try:
            import pandas as pd
        except ImportError as why:
            raise ImportError("to_frame needs pandas: pip install 'scorebars[pandas]'") from why
        return pd.DataFrame(self.rows())

    def to_markdown(self) -> str:
        """A Markdown table."""
        return tables.markdown_table(tables.header(self), tables.cells(self))

    def to_latex(self) -> str:
        r"""A LaTeX table with siunitx uncertainties, ``\num{0.594 +- 0.007}``."""
        return tables.latex(self)

    def to_html(self) -> str:
        """An HTML table."""
        return tables.html(self)

    _repr_html_ = to_html

    def __str__(self) -> str:
        return tables.plain(self) + (f"\nNote: {self.assumed}." if self.assumed else "")

    def __rich__(self) -> Any:
        return tables.rich_table(self)
