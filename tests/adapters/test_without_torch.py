"""What a user without torch is told."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize("missing", ["torch", "torchmetrics"])
def test_torchmetrics_adapter_names_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "scorebars.adapters.torchmetrics", raising=False)
    with pytest.raises(ImportError, match=r"needs torchmetrics: pip install 'scorebars\[torch\]'"):
        importlib.import_module("scorebars.adapters.torchmetrics")
