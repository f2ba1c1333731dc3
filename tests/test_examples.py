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
    assert "FRDM2012     0.5811       0.568 ± 0.005 ± 0.013" in out
    assert "* WS3_RBF: on the noisiest labels" in out and out.count("*") == 2


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


def test_paper_tables(capsys):
    found, out = run("paper_tables.py", capsys)
    mse, mae, accuracy = (found[name] for name in ("MSE", "MAE", "accuracy"))
    assert mse[0] == pytest.approx(mse[2], rel=1e-13) and mse[1] == pytest.approx(mse[3], rel=1e-13)
    assert mae[0] < mae[2] and mae[1] < 0 < mae[3]  # misprinted: the variance is negative
    assert accuracy[0] == pytest.approx(accuracy[2], rel=1e-13) and accuracy[1] == pytest.approx(100 * accuracy[3])
    assert "Table 1: expected values" in out and "Table 2: variances" in out


def test_poverty_forecast(capsys):
    found, out = run("poverty_forecast.py", capsys)
    assert found["told"].calibrated and found["not told"].calibrated
    assert found["told"].naive.verdict.startswith("Over-confident: the error bars are too small by a factor of 2.1")
    assert found["not told, as truth"].verdict.startswith(
        "Under-confident: the error bars are too large by a factor of 1.9"
    )
    assert "as a forecast of the label: Calibrated" in out


def test_judge_that_errs(capsys):
    found, out = run("judge_that_errs.py", capsys)
    honest, friendly = found["honest"], found["friendly to the model"]
    assert (
        honest["rate taken as exact"] < 0.85
        and min(honest[w] for w in ("counts", "gold labels", "votes of three")) > 0.88
    )
    assert friendly["gold labels"] > 0.8 and friendly["counts"] < 0.5
    assert "Gold labels assume nothing" in out


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_every_example_has_a_main(name):
    assert "main" in runpy.run_path(str(EXAMPLES / name))


def test_detection_limit(capsys):
    found, out = run("detection_limit.py", capsys)
    whole, limited = found["whole"], found["limited"].truth
    assert abs(limited - whole) < abs(found["dropped"] - whole) and abs(limited - whole) < whole.std
    assert found["limited"].observed < whole
    assert "0.0552 ± 0.0026 (labels)" in out and "0.0545 ± 0.0022 (labels)" in out


def test_error_bars(capsys):
    found, out = run("error_bars.py", capsys)
    stds = [score.std for score, _ in found.values()]
    assert stds == sorted(stds) and stds[-1] > 2 * stds[0]
    assert len({(float(difference), difference.std) for _, difference in found.values()}) == 1
    assert "which model is better does not" in out
