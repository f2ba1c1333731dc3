"""What the commands print, kept in tests/golden/cli and compared to the letter (JSON: to 1e-9).

After a wanted change: ``SCOREBARS_GOLDEN=write python -m pytest tests/cli/test_golden.py``, then read the difference.
"""

import json
import os
import re
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"
CASES = {
    "evaluate.txt": ("evaluate", "MASSES"),
    "evaluate_narrow.txt": ("evaluate", "MASSES", "-m", "rmse", "-m", "r2"),
    "evaluate_groups.txt": ("evaluate", "MASSES", "--by", "shell", "-m", "mae", "-q"),
    "evaluate_classes.txt": ("evaluate", "CLASSES"),
    "evaluate.json": ("evaluate", "MASSES", "-m", "rmse", "-m", "mae", "--json"),
    "evaluate.csv": ("evaluate", "MASSES", "-m", "rmse", "--csv"),
    "evaluate.tex": ("evaluate", "MASSES", "--latex"),
    "evaluate.md": ("evaluate", "MASSES", "--markdown"),
    "compare.txt": ("compare", "MASSES"),
    "compare.json": ("compare", "MASSES", "--json"),
    "compare.tex": ("compare", "MASSES", "--latex"),
    "compare.md": ("compare", "MASSES", "--markdown"),
    "check.txt": ("check", "MASSES"),
    "check.json": ("check", "MASSES", "--json"),
    "evaluate_forecasts.txt": ("evaluate", "FORECASTS", "-m", "crps", "-m", "rmse"),
    "calibrate.txt": ("calibrate", "FORECASTS"),
    "calibrate.json": ("calibrate", "FORECASTS", "--json"),
    "calibrate.csv": ("calibrate", "FORECASTS", "--csv"),
    "plan.txt": ("plan", "--difference", "0.15", "--sampling-variance", "2", "--measurement-variance", "8"),
    "evaluate_gold.txt": ("evaluate", "JUDGED", "-m", "accuracy", "-m", "f1", "--positive", "right"),
    "compare_gold.txt": ("compare", "JUDGED", "--sampling"),
    "plan_gold.txt": (
        "plan",
        "JUDGED",
        "--pred",
        "pred_all",
        "--std",
        "0.02",
        "--cost-check",
        "10",
        "--cost-repeat",
        "0",
    ),
    "plan_gold.json": ("plan", "JUDGED", "--difference", "0.05", "--json"),
    "demo.txt": ("demo",),
}


def close(found, expected):
    """The same JSON, numbers to 1e-9."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    return found == expected


def numbers_apart(text):
    """CSV cells, numbers as numbers."""
    cells = [cell for line in text.splitlines() for cell in line.split(",")]
    return [float(cell) if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", cell) else cell for cell in cells]


@pytest.mark.parametrize("name", CASES)
def test_output(name, run, masses, classes, judged, forecasts, monkeypatch):
    if "narrow" in name:
        monkeypatch.setenv("COLUMNS", "72")
    files = {"MASSES": masses, "CLASSES": classes, "JUDGED": judged, "FORECASTS": forecasts}
    done = run(*(files.get(word, word) for word in CASES[name]))
    assert done.exit_code == (1 if name.startswith(("check", "calibrate")) else 0), done.stderr
    path = GOLDEN / name
    if os.environ.get("SCOREBARS_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(done.stdout, encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    if name.endswith(".json"):
        assert close(json.loads(done.stdout), json.loads(expected))
    elif name.endswith(".csv"):
        assert close(numbers_apart(done.stdout), numbers_apart(expected))
    else:
        assert done.stdout == expected


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith(".txt")])
def test_no_line_is_wider_than_the_terminal(name):
    width = 72 if "narrow" in name else 100
    lines = (GOLDEN / name).read_text(encoding="utf-8").split("\n")
    assert max(map(len, lines)) <= width


def test_no_stray_file():
    assert {path.name for path in GOLDEN.iterdir()} == set(CASES)
