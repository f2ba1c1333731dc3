"""Which column is what: guesses from names, options over guesses, and the questions asked where a guess would be a risk."""

import re

import pytest

from scorebars.files.columns import assign
from scorebars.files.problem import TableProblem as Failure


@pytest.mark.parametrize(
    ("columns", "y", "yerr", "predictions"),
    [
        (["y", "y_err", "pred_a", "pred_b"], "y", "y_err", ("pred_a", "pred_b")),
        (["y_true", "sigma", "y_pred"], "y_true", "sigma", ("y_pred",)),
        (["label", "flip_prob", "prediction"], "label", "flip_prob", ("prediction",)),
        (["target", "target_std", "yhat"], "target", "target_std", ("yhat",)),
        (["Y ", " YERR", "Pred_A"], "Y ", " YERR", ("Pred_A",)),
        (["mass", "e_mass", "rf_pred", "nn_pred"], "mass", "e_mass", ("rf_pred", "nn_pred")),
        (["y", "err_lo", "err_hi", "pred"], "y", ("err_lo", "err_hi"), ("pred",)),
        (["y", "y_err_lower", "y_err_upper", "pred"], "y", ("y_err_lower", "y_err_upper"), ("pred",)),
        (["y", "yerr_minus", "yerr_plus", "pred"], "y", ("yerr_minus", "yerr_plus"), ("pred",)),
        (["y", "y_err", "pred_a", "pred_a_err", "pred_b_std"], "y", "y_err", ("pred_a",)),
        (["y", "pred_a", "p_pred"], "y", None, ("pred_a",)),
        (["y", "y_err", "q", "pred_a"], "y", "y_err", ("pred_a",)),
        (["label", "label_lo", "label_hi", "q", "pred_a"], "label", "q", ("pred_a",)),
    ],
)
def test_guess(columns, y, yerr, predictions):
    found = assign(columns)
    assert (found.y, found.yerr, found.predictions) == (y, yerr, predictions)


def test_guess_of_the_rest():
    found = assign(["name", "y", "weight", "group", "pred", "x"])
    assert (found.id, found.weight, found.by) == ("name", "weight", "group")
    found = assign(["name", "y", "weight", "group", "pred", "x"], weight="none", by="x")
    assert (found.weight, found.by) == (None, "x")


def test_probabilities_of_wrong_labels_are_known_as_such():
    assert assign(["label", "q", "pred"]).flips
    assert assign(["label", "Q", "pred"], yerr="Q").flips
    assert not assign(["label", "y_err", "pred"]).flips


def test_options_win():
    columns = ["y", "z", "y_err", "s", "lo", "hi", "pred_a", "pred_b", "mine"]
    found = assign(columns, y="z", yerr="lo,hi", pred=["mine", "pred_*"])
    assert (found.y, found.yerr, found.predictions) == ("z", ("lo", "hi"), ("mine", "pred_a", "pred_b"))
    assert assign(columns, yerr="0.25").yerr == 0.25
    assert assign(columns, yerr="none").yerr is None
    assert assign(columns, limits="lo,hi").limits


def test_pairs_whose_names_may_mean_limits_are_marked():
    assert not assign(["y", "y_lo", "y_hi", "pred"]).sure
    assert assign(["y", "y_err_lo", "y_err_hi", "pred"]).sure
    assert assign(["y", "y_lo", "y_hi", "pred"], yerr="y_lo,y_hi").sure


def test_names_of_models():
    assert list(assign(["y", "pred_a", "y_pred_b", "c_pred"]).models().values()) == ["a", "b", "c"]
    assert list(assign(["y", "pred_a", "a_pred"]).models().values()) == ["pred_a", "a_pred"]


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        (["a", "b", "pred"], {}, r"which column holds the labels\? No column has one of the usual names: say --y"),
        (["a", "a_err", "b", "b_err", "pred"], {}, r"Several columns have errors \(a, b\)"),
        (["y", "a"], {}, r"which columns hold predictions\?.*say --pred COLUMN"),
        (["y", "y_err", "pred_a"], {"y": "y_er"}, r"--y: there is no column 'y_er'\. Did you mean 'y_err'"),
        (["y", "pred_a"], {"pred": ["pred_x"]}, r"--pred: there is no column 'pred_x'\. Did you mean 'pred_a'"),
        (["y", "pred_a"], {"yerr": "sigma"}, r"--yerr: there is no column 'sigma'\. The columns are: y, pred_a"),
        (
            ["y", "lo", "pred_a"],
            {"limits": "lo"},
            r"--limits needs two columns, lower and upper, as LOW,HIGH; got 'lo'",
        ),
        (["y", "s", "pred_a"], {"yerr": "s", "limits": "s,s"}, r"--yerr and --limits exclude each other"),
        (["y", "pred_a"], {"by": "grp"}, r"--by: there is no column 'grp'"),
    ],
)
def test_questions(columns, options, text):
    with pytest.raises(Failure, match=text):
        assign(columns, **options)


def test_gold_labels(run, judged):
    """What was understood is said, how many labels were checked too; a stream has no place for them."""
    done = run("evaluate", judged, "-m", "accuracy")
    said = " ".join(done.stderr.split())
    assert "gold labels of those that were checked gold, checked with probability p_checked" in said
    assert re.search(r"\d+ of 400 labels were checked with the probabilities in p_checked, and \d+ of these", said)
    named = run("evaluate", judged, "-m", "accuracy", "--gold", "gold", "--gold-probability", "p_checked")
    assert named.stdout == done.stdout
    assert "were checked" not in run("evaluate", judged, "-m", "accuracy", "--gold", "none").stderr
    refused = run("evaluate", judged, "-m", "accuracy", "--stream")
    assert refused.exit_code != 0 and "need all labels in memory" in " ".join(refused.stderr.split())
    refused = run("compare", judged, "--gold", "gold", "--yerr", "0.1")
    assert "--gold and --yerr exclude each other" in " ".join(refused.stderr.split())
