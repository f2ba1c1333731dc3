"""What is supposed of labels and errors: the same in Python and on the command line, and refused where it makes no sense."""

import json

import numpy as np
import pytest

import scorebars as sb
from scorebars.files.supposed import SUPPOSED_OPTIONS, Supposed

rng = np.random.default_rng(5)
N = 30
Y = np.round(rng.normal(3, 1, N), 3)
P = np.round(Y + rng.normal(0, 0.4, N), 3)
SIGMA = np.round(rng.uniform(0.1, 0.3, N), 3)
GROUP = np.arange(N) % 3
LABEL = rng.choice(["cat", "dog"], N)
GUESS = np.where(rng.random(N) < 0.8, LABEL, "cat")
KEPT = GROUP != 1
CASES = {
    "resolution": ({"resolution": 0.5}, lambda: (Y, P, sb.Rounding(0.5))),
    "set": ({"yerr": "err", "error_kind": "berkson"}, lambda: (Y, P, sb.Normal(SIGMA, kind="berkson"))),
    "set, resolution": ({"resolution": 0.5, "error_kind": "berkson"}, lambda: (Y, P, sb.Rounding(0.5, kind="berkson"))),
    "measurements": ({"yerr": 0.4, "measurements": 4}, lambda: (Y, P, sb.Repeats.from_means(sigma=0.4, n=4))),
    "scaled": ({"yerr": "err", "scale_errors": 1.5}, lambda: (Y, P, 1.5 * SIGMA)),
    "scaled step": ({"resolution": 0.5, "scale_errors": 2.0}, lambda: (Y, P, sb.Rounding(1.0))),
    "systematic": ({"yerr": "err", "systematic": 0.1}, lambda: (Y, P, sb.Normal(SIGMA, shared=np.full((1, N), 0.1)))),
    "excluded": ({"yerr": "err", "exclude": ["group=1"]}, lambda: (Y[KEPT], P[KEPT], SIGMA[KEPT])),
    "excluded, one text": ({"yerr": "err", "exclude": "group=1"}, lambda: (Y[KEPT], P[KEPT], SIGMA[KEPT])),
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    rows = zip(Y, SIGMA, P, GROUP, LABEL, GUESS, strict=True)
    lines = ["y,err,pred_a,group,label,pred_c", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("case", CASES)
def test_numbers(case, table):
    given, made = CASES[case]
    y, p, yerr = made()
    found = sb.evaluate(table, y="y", pred="pred_a", metrics=["rmse"], **given)["pred_a", "root_mean_squared_error"]
    expected = sb.root_mean_squared_error(y, p, yerr=yerr)
    assert (float(found), found.std, found.n) == pytest.approx((float(expected), expected.std, len(y)), rel=1e-12)
    assert float(found.truth) == pytest.approx(float(expected.truth), rel=1e-9)


def test_classes(table):
    checked = {"all": ("2/40", sb.Flip.from_counts(2, 40))}
    checked["each"] = ("cat=2/40,dog=1/20", sb.ClassFlip.from_counts({"cat": (2, 40), "dog": (1, 20)}))
    for text, model in checked.values():
        found = sb.evaluate(table, y="label", pred="pred_c", checked=text, metrics=["accuracy"])
        expected = sb.accuracy_score(LABEL, GUESS, yerr=model)
        assert found["pred_c", "accuracy_score"].truth.std == pytest.approx(expected.truth.std, rel=1e-12)
    with pytest.raises(ValueError, match="checked must be WRONG/CHECKED"):
        sb.evaluate(table, y="label", pred="pred_c", checked="many", metrics=["accuracy"])


def test_a_cut(table):
    found = sb.evaluate(table, y="y", pred="pred_a", yerr="err", cut=3.0, metrics=["accuracy"])[
        "pred_a", "accuracy_score"
    ]
    expected = sb.accuracy_score((Y > 3).astype(int), (P > 3).astype(int), yerr=sb.Thresholded(Y, SIGMA, 3.0))
    assert (float(found), found.std) == (float(expected), expected.std)


def test_repeats_keep_their_labels(tmp_path):
    """Larger errors do not move the labels."""
    values = np.round(Y[:, None] + 0.2 * rng.standard_normal((N, 3)), 3)
    lines = ["y_1,y_2,y_3,pred_a", *(",".join(map(str, [*row, p])) for row, p in zip(values, P, strict=True))]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    plain, doubled = (
        sb.evaluate(tmp_path / "r.csv", repeats="y_*", pred="pred_a", metrics=["mse"], **more)[
            "pred_a", "mean_squared_error"
        ]
        for more in ({}, {"scale_errors": 2.0})
    )
    assert doubled.observed == pytest.approx(plain.observed, rel=1e-12)
    assert float(doubled.perfect) == pytest.approx(4 * float(plain.perfect), rel=1e-9)


def test_comparison_takes_them_too(table):
    found = sb.compare(table, y="y", pred={"a": "pred_a", "b": "y"}, yerr="err", scale_errors=2.0, metric="mse")
    expected = sb.compare(Y, {"a": P, "b": Y}, yerr=2 * SIGMA, metric="mse")
    assert found.difference("a", "b").std == pytest.approx(expected.difference("a", "b").std, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"yerr": "err", "resolution": 0.5}, "resolution and yerr exclude each other"),
        ({"repeats": ["y", "err"], "resolution": 0.5}, "resolution and repeats exclude each other"),
        ({"resolution": -1.0}, "resolution must be at least 0"),
        ({"resolution": 1.0, "checked": "1/2"}, "exclude each other"),
        ({"scale_errors": 2.0}, "scale_errors needs label errors"),
        ({"error_kind": "berkson"}, "error_kind needs label errors"),
        ({"measurements": 2}, "measurements needs label errors"),
        ({"yerr": "err", "error_kind": "new"}, "error_kind must be classical or berkson"),
        ({"yerr": "err", "systematic": float("inf")}, "systematic must be a finite number"),
        ({"resolution": 0.5, "systematic": 0.1}, "systematic needs normal errors"),
        ({"yerr": "err", "exclude": "grp=1"}, "write COLUMN=VALUE"),
    ],
)
def test_what_makes_no_sense_is_refused(table, given, message):
    labels = {} if "repeats" in given else {"y": "y"}
    with pytest.raises(ValueError, match=message):
        sb.evaluate(table, **labels, pred="pred_a", metrics=["rmse"], **given)


def test_options_of_the_command_line(table):
    from typer.testing import CliRunner

    from scorebars.cli.app import app

    words = ["evaluate", str(table), "--y", "y", "--pred", "pred_a", "--yerr", "err", "-m", "rmse", "--json", "-q"]
    done = CliRunner().invoke(app, [*words, "--scale-errors", "2", "--exclude", "group=1", "--by", "none"])
    expected = sb.root_mean_squared_error(Y[KEPT], P[KEPT], yerr=2 * SIGMA[KEPT])
    assert json.loads(done.stdout)["scores"][0]["expected"] == pytest.approx(float(expected), rel=1e-12)
    done = CliRunner().invoke(app, [*words, "--stream", "--by", "none", "--scale-errors", "2"])
    assert done.exit_code == 2 and "add --no-stream" in " ".join(done.stderr.split())
    assert not Supposed().changes and set(SUPPOSED_OPTIONS) >= {"cut", "exclude", "resolution"}
