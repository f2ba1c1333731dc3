"""What needs torch is looked at where torch is installed: by `make test-torch`, not by `make test`."""

import sys
from importlib.util import find_spec

import pytest

collect_ignore = []
if find_spec("torch") is None:
    collect_ignore += ["tests/tensors"]
if find_spec("torchmetrics") is None:
    collect_ignore += ["src/scorebars/adapters/torchmetrics.py"]
if find_spec("triton") is None:
    collect_ignore += ["src/scorebars/engines/triton_sums.py", "src/scorebars/engines/triton_bins.py"]
if find_spec("torch") is None:
    collect_ignore += ["src/scorebars/engines/device_bins.py"]


@pytest.fixture(autouse=True)
def close_figures():
    """The figures of examples are closed after each."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
