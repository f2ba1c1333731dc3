"""The examples with class labels print their tables and say what their text claims."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("cifar10_votes.py", ["observed     0.9294", "expected     0.93347 ± 0.00045", "Verification bias"]),
        ("poverty_threshold.py", ["240 of them above 15 per cent", "0.8488  0.8313 ± 0.0078", "not to be had"]),
    ],
)
def test_example(name, claims, capsys):
    runpy.run_path(str(EXAMPLES / name))["main"]()
    out = capsys.readouterr().out
    for claim in claims:
        assert claim in out
