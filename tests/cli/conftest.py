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
def run(monkeypatch):
    """`run("evaluate", path, ...)` gives exit_code, stdout and stderr; the width is fixed, there is no colour."""
    from scorebars.cli.app import app

    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, input=None):
        return CliRunner().invoke(app, [str(a) for a in arguments], input=input, prog_name="scorebars")

    return call
