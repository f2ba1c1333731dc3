"""The border of metrics that speak of one output only."""

from __future__ import annotations

from typing import Any

from scorebars.measured import Measured
from scorebars.metrics import inputs


def one_output(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, name: str) -> Measured:
    """Labels and predictions of one output, checked and aligned."""
    data = inputs.measured(y_true, y_pred, yerr, sample_weight)
    if len(data) > 1:
        raise ValueError(f"{name} takes one output, but y_true has {len(data)}. Pass one column at a time.")
    inputs.diagnose(data[0])
    return data[0]
