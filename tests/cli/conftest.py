"""Small files, and the command run in this process."""

import numpy as np
import pytest
from small_table import TABLE, write_csv
from typer.testing import CliRunner


@pytest.fixture
def table():
    return {name: list(values) for name, values in TABLE.items()}


@pytest.fixture
def masses(tmp_path, table):
    """The table as masses.csv."""
    return write_csv(tmp_path / "masses.csv", table)


@pytest.fixture
def classes(tmp_path):
    """Galaxy classes by eye, each wrong with its own probability."""
    rng = np.random.default_rng(7)
    label = rng.choice(["spiral", "elliptical", "merger"], 60)
    guess = np.where(rng.random(60) < 0.8, label, rng.permutation(label))
    other = np.where(rng.random(60) < 0.6, label, rng.permutation(label))
    columns = {"label": label, "flip_prob": rng.choice([0.02, 0.1, 0.2], 60), "pred_net": guess, "pred_tree": other}
    return write_csv(tmp_path / "galaxies.csv", columns)


@pytest.fixture
def judged(tmp_path):
    """Answers graded by a judge who errs; an expert looked at some of them, more often at those graded as wrong."""
    rng = np.random.default_rng(11)
    right = rng.random(400) < 0.7
    grade = np.where(rng.random(400) < 0.12, ~right, right)
    chance = np.where(grade, 0.15, 0.3)
    named = {True: "right", False: "wrong"}
    gold = [named[bool(r)] if checked else "" for r, checked in zip(right, rng.random(400) < chance, strict=True)]
    columns = {
        "grade": grade,
        "pred_all": np.ones(400, dtype=bool),
        "pred_some": np.where(rng.random(400) < 0.8, right, ~right),
    }
    texts = {name: [named[bool(value)] for value in values] for name, values in columns.items()}
    return write_csv(tmp_path / "judged.csv", {"label": texts.pop("grade"), "gold": gold, "p_checked": chance, **texts})


@pytest.fixture
def forecasts(tmp_path):
    """Labels with errors, a right forecast, one that is too narrow, and a right ensemble."""
    rng = np.random.default_rng(1)
    truth, spread = rng.normal(5, 2, 80), rng.uniform(0.3, 0.8, 80)
    columns = {"y": truth + rng.normal(0, 0.5, 80), "y_err": np.full(80, 0.5)}
    columns |= {"pred_gp": truth + spread * rng.standard_normal(80), "pred_gp_std": spread}
    columns |= {"pred_net": truth + 2 * spread * rng.standard_normal(80), "pred_net_std": spread}
    centre = truth + 0.5 * rng.standard_normal(80)
    columns |= {f"pred_runs_{k}": centre + 0.5 * rng.standard_normal(80) for k in range(1, 6)}
    return write_csv(tmp_path / "forecasts.csv", {name: np.round(values, 4) for name, values in columns.items()})


@pytest.fixture
def run(monkeypatch):
    """`run("evaluate", path, ...)` gives exit_code, stdout and stderr; the width is fixed, there is no colour."""
    from scorebars.cli.app import app

    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, input=None):
        return CliRunner().invoke(app, [str(a) for a in arguments], input=input, prog_name="scorebars")

    return call
