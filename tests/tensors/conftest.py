"""Tests of torch, JAX and CuPy arrays; `make test-torch` installs what they need.

Without a GPU the Triton kernel runs in Triton's interpreter on tensors of the CPU, and arrays of the CPU are treated as
if they lay on a device of their own.
"""

from __future__ import annotations

import os

import pytest
import torch
from tensor_cases import LIBRARIES, MAKERS, To

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported

# oneMKL picks its exp at the first call, and a coarse one where several threads call first (pytorch issue 188792)
torch.exp(torch.zeros(1, dtype=torch.float64))


@pytest.fixture(params=LIBRARIES)
def to(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> To:
    """Makes an array of one of the libraries out of NumPy's, as if it lay on a device."""
    from scorebars.engines import on_device

    monkeypatch.setattr(on_device, "elsewhere", lambda values: True)
    return MAKERS[request.param]
