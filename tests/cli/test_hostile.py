"""Escape sequences, markup and direction marks of a file are shown, never obeyed."""

import pytest
from small_table import write_csv

EVIL = "\x1b]0;owned\x07\x1b[31m[bold]\u202emodel\x9b2J"
OBEYED = set("\x1b\x07\x9b\u202e\u2066\r")


@pytest.fixture
def evil(tmp_path):
    columns = {"y": [1, 2, 3], "y_err": [0.1] * 3, f"pred_{EVIL}": [1.1, 2.2, 2.7], f"by{EVIL}": ["\x1b[5m"] * 3}
    return write_csv(tmp_path / "evil.csv", columns)


@pytest.mark.parametrize("flag", ["", "--json", "--csv", "--latex", "--markdown"])
def test_names_and_groups(run, evil, flag):
    done = run("evaluate", evil, "--by", f"by{EVIL}", "-m", "mae", *([flag] if flag else []))
    assert done.exit_code == 0, done.stderr
    assert not set(done.stdout + done.stderr) & OBEYED


def test_they_are_shown_as_they_are_written(run, evil, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = run("evaluate", evil, "-m", "mae")
    assert r"\x1b]0;owned\x07\x1b[31m[bold]\u202emodel\x9b2J" in done.stdout


@pytest.mark.parametrize("column", ["y", "y_err", "pred"])
def test_cells_in_messages(run, tmp_path, column):
    table = {"y": [1, 2, 3], "y_err": [0.1] * 3, "pred": [1.1, 2.2, 2.7]}
    table[column][1] = EVIL
    done = run("evaluate", write_csv(tmp_path / "t.csv", table), "--task", "regression")
    assert done.exit_code == 2
    assert f"column '{column}' holds no number in row 2 (line 3 of t.csv)" in " ".join(done.stderr.split())
    assert not set(done.stderr) & OBEYED


def test_names_of_files(run, tmp_path):
    done = run("evaluate", tmp_path / f"{EVIL}.csv")
    assert done.exit_code == 2
    assert not set(done.stderr) & OBEYED
