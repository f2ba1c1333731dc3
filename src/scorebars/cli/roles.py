"""What each column of a table is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PREDICTION_STARTS = ("pred_", "prediction_", "y_pred_", "ypred_", "yhat_", "y_hat_")


@dataclass(frozen=True)
class Roles:
    """What each column is.

    `yerr` is a column, a pair of columns (lower and upper), a number, or None; `sure` is False where the pair has names
    that may also stand for limits.
    """

    y: str
    predictions: tuple[str, ...]
    yerr: str | tuple[str, str] | float | None = None
    weight: str | None = None
    by: str | None = None
    id: str | None = None
    limits: bool = False
    flips: bool = False
    sure: bool = True

    @property
    def error_columns(self) -> tuple[str, ...]:
        return (self.yerr,) if isinstance(self.yerr, str) else self.yerr if isinstance(self.yerr, tuple) else ()

    @property
    def used(self) -> list[str]:
        """The columns to read, each once."""
        named = (self.y, *self.error_columns, *self.predictions, self.weight, self.by, self.id)
        return list(dict.fromkeys(name for name in named if name is not None))

    def models(self) -> dict[str, str]:
        """Column -> name of the model: what follows ``pred_``, where that is still unique."""
        short = {name: _model_name(name) for name in self.predictions}
        return short if len(set(short.values())) == len(short) else {name: name for name in self.predictions}

    def to_dict(self) -> dict[str, Any]:
        """What the result was made from, as plain data."""
        errors = "limits" if self.limits else "yerr"
        found = {"y": self.y, errors: self.yerr, "predictions": self.predictions}
        return found | {"weight": self.weight, "by": self.by, "id": self.id}

    def described(self) -> str:
        """One line that says what was taken for what."""
        if isinstance(self.yerr, tuple):
            what = "limits" if self.limits else "lower and upper errors"
            errors = f"{what} {self.yerr[0]}, {self.yerr[1]}"
        elif self.yerr is None:
            errors = "no errors (labels taken as exact)"
        else:
            errors = f"{'probability of a wrong label' if self.flips else 'errors'} {self.yerr}"
        shown = ", ".join(self.predictions[:8]) + (
            f", ... ({len(self.predictions)})" if len(self.predictions) > 8 else ""
        )
        parts = [f"labels {self.y}", errors, f"predictions {shown}"]
        parts += [f"{role} {name}" for role, name in (("weights", self.weight), ("groups", self.by)) if name]
        return "; ".join(parts)


def _model_name(column: str) -> str:
    name = column.strip()
    for start in PREDICTION_STARTS:
        if name.lower().startswith(start) and len(name) > len(start):
            return name[len(start) :]
    return name.removesuffix("_pred") or name
