"""The examples run, and say what their text claims."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, capsys):
    module = runpy.run_path(str(EXAMPLES / name))
    result = module["main"]()
    return result, capsys.readouterr().out


def test_nuclear_masses(capsys):
    _, out = run("nuclear_masses.py", capsys)
    assert "FRDM2012     0.5811" in out and "noise share" in out


def test_truth_check(capsys):
    found, out = run("truth_check.py", capsys)
    for name in ("HFB24", "HFB26"):  # never fitted closely: their error has nothing to do with the label's
        assert abs(found[name].shared) < 3 * found[name].shared_std
        assert found[name].score.truth < found[name].score.observed
        assert abs(found[name].later - found[name].score.truth) < abs(found[name].later - found[name].score.observed)
    fitted = found["WS3_RBF"]
    assert fitted.shared > 5 * fitted.shared_std and fitted.later > fitted.score.observed > fitted.score.truth
    assert "hold test labels back" in out


def test_sampl_ranking(capsys):
    found, out = run("sampl_ranking.py", capsys)
    assert found["SAMPL6"][0].best() == "hmz0n" and found["SAMPL7"][0].best() == "Chemprop"
    for labels, molecules in found.values():
        best = labels.best()
        assert molecules.probabilities[best][0] < labels.probabilities[best][0]
    assert "reliability of a single one" in out


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_every_example_has_a_main(name):
    assert "main" in runpy.run_path(str(EXAMPLES / name))
