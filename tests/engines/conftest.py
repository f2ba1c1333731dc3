"""Every engine test runs on the compiled kernel and on its NumPy twin."""

from __future__ import annotations

import pytest

from scorebars.engines.engine import compiled

ENGINES = [
    "numpy",
    pytest.param("kernel", marks=pytest.mark.skipif(compiled("_kernel").module is None, reason="no kernel")),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SCOREBARS_ENGINE", request.param)
    return str(request.param)
