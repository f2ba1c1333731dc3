"""Which engine is active, what it says about itself, and what happens without the compiled kernel."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from scorebars.engines import describe, engine, normal_sums
from scorebars.engines.array_sums import numpy_sums
from scorebars.engines.engine import Compiled, compiled
from scorebars.engines.sums import NAMES

needs_kernel = pytest.mark.skipif(compiled("_kernel").module is None, reason="no kernel")


def test_numpy_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_ENGINE", "numpy")
    assert engine.chunk_sums() is numpy_sums
    assert describe()["engine"] == "numpy (SCOREBARS_ENGINE=numpy)"


@needs_kernel
@pytest.mark.parametrize("wish", ["", "auto", "kernel"])
def test_kernel_where_there_is_one(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setenv("SCOREBARS_ENGINE", wish)
    assert engine.chunk_sums() is compiled("_kernel").module.chunk_sums
    assert str(describe()["engine"]).startswith("compiled kernel, ")


def test_unknown_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_ENGINE", "fortran")
    message = "SCOREBARS_ENGINE must be 'auto', 'kernel' or 'numpy', got 'fortran'"
    with pytest.raises(ValueError, match=message):
        normal_sums(np.zeros(2), np.ones(2), 1.0)
    with pytest.raises(ValueError, match=message):
        describe()


def test_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "compiled", lambda name: Compiled(None, f"No module named {name!r}"))
    monkeypatch.delenv("SCOREBARS_ENGINE", raising=False)
    assert describe()["engine"] == "numpy (no compiled kernel: No module named '_kernel')"
    assert normal_sums(np.zeros(2), np.ones(2), 0.0).abs == 2
    monkeypatch.setenv("SCOREBARS_ENGINE", "kernel")
    with pytest.raises(RuntimeError, match="there is no compiled kernel: No module named '_kernel'"):
        normal_sums(np.zeros(2), np.ones(2), 0.0)


def test_kernel_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", fail)
    assert compiled.__wrapped__("_kernel") == Compiled(None, "No module named 'scorebars.engines._kernel'")


def test_kernel_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = SimpleNamespace(NAMES=NAMES[1:], chunk_sums=None)
    monkeypatch.setattr(importlib, "import_module", lambda name: stale)
    assert "install the package again" in compiled.__wrapped__("_kernel").note


@pytest.mark.parametrize("wish", ["0", "-1", "two", "1.5"])
def test_threads_must_be_a_number(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setenv("SCOREBARS_THREADS", wish)
    with pytest.raises(ValueError, match=f"SCOREBARS_THREADS must be a whole number from 1 to 1024, got '{wish}'"):
        engine.threads()


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_THREADS", "3")
    assert describe()["threads"] == 3
    monkeypatch.delenv("SCOREBARS_THREADS")
    assert 1 <= engine.threads() <= 8


@needs_kernel
def test_kernel_refuses_what_it_cannot_read() -> None:
    chunk_sums = compiled("_kernel").module.chunk_sums
    a = np.ones(4)
    for bad in (a.astype(int), a.reshape(2, 2), a.astype(">f8"), a.astype(complex)):
        with pytest.raises(TypeError, match="prediction must be a 1-D array of float32 or float64"):
            chunk_sums(a, bad, 1.0, None, None, None)
    for columns in ((1.0, a, 1.0, None), (a, None, 1.0, None), (a, a, None, None), (a, a, 1.0, 2.0)):
        with pytest.raises(TypeError, match="y and prediction must be arrays, sigma an array or a float"):
            chunk_sums(*columns, None, None)
    for short in ((a[:3], 1.0, None), (a, a[:3], None), (a, 1.0, a[:3])):
        with pytest.raises(ValueError, match="must have the same length"):
            chunk_sums(a, *short, None, None)
    with pytest.raises(TypeError, match="chunk_sums"):
        chunk_sums(a, a)
    with pytest.raises(TypeError):
        chunk_sums(a, a, 1.0, None, "wide", None)


def test_one_thread_where_others_run_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_THREADS", "4")
    with engine.one_thread():
        assert engine.threads() == 1
        with ThreadPoolExecutor(1) as pool:  # another thread is asked for nothing
            assert pool.submit(engine.threads).result() == 4
    assert engine.threads() == 4
