"""The examples with class labels print their tables and say what their text claims."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        (
            "cifar10_votes.py",
            ["observed     0.9294", "expected     0.9335 ± 0.0005 (labels) ± 0.0025 (sample)", "Verification bias"],
        ),
        ("poverty_threshold.py", ["240 of them above 15 per cent", "0.8488    0.8313 ± 0.0078", "cannot be estimated"]),
    ],
)
def test_example(name, claims, capsys):
    runpy.run_path(str(EXAMPLES / name))["main"]()
    out = capsys.readouterr().out
    for claim in claims:
        assert claim in out
