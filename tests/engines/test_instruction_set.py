"""The kernel's loops are those for the processor at hand, as the operating system describes it."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from scorebars.engines.engine import compiled

CPUINFO = Path("/proc/cpuinfo")
# what the levels of x86-64 consist of, in Linux's names (abm is lzcnt); the first level is every x86-64 processor
V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.mark.skipif(compiled("_kernel").module is None, reason="no kernel")
@pytest.mark.skipif(platform.machine() != "x86_64" or not CPUINFO.exists(), reason="not Linux on x86-64")
def test_the_processor_runs_what_it_can() -> None:
    note = compiled("_kernel").note
    if note == "as compiled":
        pytest.skip("the compiler builds one version of the loops only")
    line = next(line for line in CPUINFO.read_text().splitlines() if line.startswith("flags"))
    flags = set(line.partition(":")[2].split())
    expected = "x86-64-v4 (AVX-512)" if flags >= V4 else "x86-64-v3 (AVX2)" if flags >= V3 else "x86-64 baseline"
    assert note == expected
