"""A summary with what fewer metrics need besides: the labels within a tolerance, and the pulls."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from scorebars.engines.hits import Hits
from scorebars.engines.summary import Summary


@dataclass(frozen=True)
class ExtendedSummary(Summary):
    """One model's labels in flat memory, and more of them."""

    hits: Hits | None = None
    pulls: Summary | None = None
    """Of residuals in units of their errors, whose errors are 1."""

    @classmethod
    def of(cls, summary: Summary, hits: Hits | None, pulls: Summary | None) -> ExtendedSummary:
        """All of the same labels."""
        known: dict[str, Any] = {field.name: getattr(summary, field.name) for field in fields(Summary)}
        return cls(**known, hits=hits, pulls=pulls)

    def merged(self, other: Summary) -> Summary:
        """The summary of both sets of labels."""
        assert isinstance(other, ExtendedSummary)
        hits = None if self.hits is None or other.hits is None else self.hits.merged(other.hits)
        pulls = None if self.pulls is None or other.pulls is None else self.pulls.merged(other.pulls)
        return ExtendedSummary.of(super().merged(other), hits, pulls)
