"""From a dropped file to the result, once for each answer to the question about errors.

The page has the numbers of the library, and the code and the command that it shows make the same ones.
"""

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner
from web_tables import (
    CELLS,
    CLASS,
    CLASSES,
    COVARIANCE,
    GUESS,
    NUMBERS,
    OTHER,
    REPEATS,
    SIGMA,
    VOTES,
    A,
    B,
    Y,
    csv_bytes,
    matrix_bytes,
    roles,
    rows_of_repeats,
)  # fmt: skip

import scorebars as sb

TWO = {"a": A, "b": B}
GUESSES = {"net": GUESS, "tree": OTHER}
MEANS = REPEATS.mean(axis=1)
numbers = {"y": "y", "pred_a": "pred", "pred_b": "pred"}
classes = {"label": "y", "pred_net": "pred", "pred_tree": "pred"}
P_CAT = np.stack([CLASSES["p_cat"], CLASSES["p_dog"]], axis=1)
# answer: table, roles of columns, the other fields of the form, and the labels and errors that the library is given
FLOWS = {
    "sigma": (NUMBERS, numbers, {"sigma": "0.3"}, Y, 0.3),
    "column": (NUMBERS, numbers, {"error": "err"}, Y, SIGMA),
    "column (two)": (NUMBERS, numbers, {"error": "err", "error_2": "err_2"}, Y, np.hypot(SIGMA, SIGMA / 2)),
    "sides": (NUMBERS, numbers, {"lower": "lo", "upper": "hi"}, Y, np.stack([SIGMA, 2 * SIGMA])),
    "percent": (NUMBERS, numbers, {"percent": "5"}, Y, 0.05 * np.abs(Y)),
    "percent (column)": (NUMBERS, numbers, {"percent_column": "pct"}, Y, 0.1 * SIGMA * np.abs(Y)),
    "interval": (
        NUMBERS, numbers, {"low": "low_end", "high": "high_end"}, Y,
        np.stack([Y - NUMBERS["low_end"], NUMBERS["high_end"] - Y]),
    ),
    "cells": (CELLS, numbers, {}, Y, SIGMA),
    "repeats": (NUMBERS, {**numbers, "y": ""}, {"repeats[]": ["m_1", "m_2", "m_3"]}, MEANS, sb.Repeats(REPEATS)),
    "covariance": (NUMBERS, numbers, {}, Y, sb.Normal(cov=COVARIANCE)),
    "resolution": (NUMBERS, numbers, {"resolution": "0.5"}, Y, sb.Rounding(0.5)),
    "sigma (set)": (NUMBERS, numbers, {"sigma": "0.3", "kind": "berkson"}, Y, sb.Normal(0.3, kind="berkson")),
    "wrong": (CLASSES, classes, {"q": "0.05"}, CLASS, 0.05),
    "wrong (column)": (CLASSES, classes, {"q_column": "q"}, CLASS, CLASSES["q"]),
    "checked": (CLASSES, classes, {"wrong": "3", "checked": "60"}, CLASS, sb.Flip.from_counts(3, 60)),
    "votes": (
        CLASSES, {**classes, "label": ""}, {"votes[]": ["votes_cat", "votes_dog"]}, None,
        sb.Votes(VOTES, np.array(["cat", "dog"])),
    ),
    "probabilities": (
        CLASSES, {**classes, "label": ""}, {"probabilities[]": ["p_cat", "p_dog"]}, None,
        sb.LabelProbabilities(P_CAT, np.array(["cat", "dog"])),
    ),
    "none": (NUMBERS, numbers, {}, Y, None),
}  # fmt: skip


def same(found, expected):
    """The same scores, to the last digits that two ways of reading leave."""
    assert [(row["model"], row["metric"]) for row in found] == [(row["model"], row["metric"]) for row in expected]
    for one, other in zip(found, expected, strict=True):
        for key, value in other.items():
            if isinstance(value, float) and np.isfinite(value):
                assert one[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key
            elif not isinstance(value, float):
                assert one[key] == value, key


@pytest.mark.parametrize("flow", FLOWS)
def test_the_numbers_are_the_library_s(flow, visitor, tmp_path, monkeypatch):
    table, used, fields, y, yerr = FLOWS[flow]
    at = visitor.upload("my table.csv", csv_bytes(table))
    answer = flow.partition(" ")[0]
    if answer == "covariance":
        assert visitor.send("cov.txt", matrix_bytes(), f"{at}/covariance").json() == {"name": "cov.txt"}
    assert visitor.get(f"{at}/columns").status_code == 200
    metric = "accuracy_score" if table is CLASSES else "root_mean_squared_error"
    form = {**roles(table, **used), "errors": answer, **fields, "metric": metric}
    chosen = visitor.get(f"{at}/choose", form)
    assert chosen.status_code == 303, chosen.text
    view = chosen.headers["location"].partition("?")[2]
    found = visitor.json(f"{at}/result.json?{view}")
    expected = sb.evaluate(y, GUESSES if table is CLASSES else TWO, yerr=yerr, metrics=[metric])
    same(found["scores"], json.loads(json.dumps(expected.to_dict()["scores"])))
    assert visitor.get(f"{at}/columns?{view}").status_code == 200  # the way back

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my table.csv").write_bytes(csv_bytes(table))
    (tmp_path / "cov-cov.txt").write_bytes(matrix_bytes())
    space = {}
    exec(compile(found["code"], "code", "exec"), space)
    same(found["scores"], space["found"].to_dict(found["level"])["scores"])

    from scorebars.cli.app import app

    words = shlex.split(found["command"])
    assert words[0] == "scorebars"
    done = CliRunner().invoke(app, [*words[1:], "--json", "-q"])
    assert done.exit_code == 0, done.stderr
    same(found["scores"], json.loads(done.stdout)["scores"])


@pytest.mark.parametrize("answer", ["gold", "none"])
def test_gold_labels(answer, visitor, tmp_path, monkeypatch):
    """Found by name, and shown as the answer; whoever takes the labels as exact gets code and a command that say so."""
    gold = np.where(np.arange(len(CLASS)) % 3 == 0, np.where(OTHER == "cat", "cat", CLASS), "")
    table = csv_bytes({"label": CLASS, "gold": gold, "p_checked": np.full(len(CLASS), 0.4), "pred_net": GUESS})
    at = visitor.upload("judged.csv", table)
    assert "what was found" in visitor.get(f"{at}/columns").text
    form = {
        "role.label": "y",
        "role.pred_net": "pred",
        "role.gold": "",
        "role.p_checked": "",
        "metric": "accuracy_score",
    }
    form |= {"errors": answer} | ({"gold": "gold", "gold_probability": ""} if answer == "gold" else {})
    view = visitor.get(f"{at}/choose", form).headers["location"].partition("?")[2]
    found = visitor.json(f"{at}/result.json?{view}")
    model = sb.Verified([one or None for one in gold]) if answer == "gold" else None
    expected = sb.evaluate(CLASS, {"net": GUESS}, yerr=model, metrics=["accuracy_score"])
    same(found["scores"], json.loads(json.dumps(expected.to_dict()["scores"])))
    assert visitor.get(f"{at}/columns?{view}").status_code == 200
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judged.csv").write_bytes(table)
    space = {}
    exec(compile(found["code"], "code", "exec"), space)
    same(found["scores"], space["found"].to_dict(found["level"])["scores"])

    from scorebars.cli.app import app

    done = CliRunner().invoke(app, [*shlex.split(found["command"])[1:], "--json", "-q"])
    assert done.exit_code == 0, done.stderr
    same(found["scores"], json.loads(done.stdout)["scores"])


def test_repeats_in_rows(visitor):
    at = visitor.upload("rows.csv", rows_of_repeats())
    form = {"role.y": "y", "role.pred_a": "pred", "role.item": "", "errors": "repeats", "repeats_id": "item"}
    chosen = visitor.get(f"{at}/choose", form)
    found = visitor.json(chosen.headers["location"].replace("/result?", "/result.json?"))
    expected = sb.evaluate(None, {"a": A}, yerr=sb.Repeats(REPEATS))
    same(found["scores"], json.loads(json.dumps(expected.to_dict()["scores"])))


def test_labels_that_are_limits(visitor):
    cells = [f"<{value}" if k % 5 == 0 else str(value) for k, value in enumerate(Y)]
    at = visitor.upload("limits.csv", csv_bytes({"y": cells, "err": SIGMA, "pred_a": A}))
    found = visitor.json(f"{at}/result.json", {"y": "y", "pred": "pred_a", "yerr": "err", "metric": "mae"})
    limited = np.arange(len(Y)) % 5 == 0
    model = sb.Censored(np.where(limited, -np.inf, Y), Y, SIGMA)
    expected = sb.evaluate(None, {"a": A}, yerr=model, metrics=["mean_absolute_error"])
    same(found["scores"], json.loads(json.dumps(expected.to_dict()["scores"])))


def test_limits_are_said_before_the_result(visitor):
    """In the words of the command line: nobody should learn from the result that "<" was read as a limit."""
    cells = [f"<{value}" if k % 5 == 0 else str(value) for k, value in enumerate(Y)]
    limited = np.arange(len(Y)) % 5 == 0
    said = sb.Censored(np.where(limited, -np.inf, Y), Y).said()
    assert said == f"{limited.sum()} of {len(Y)} labels are upper limits"
    at = visitor.upload("limits.csv", csv_bytes({"y": cells, "y_err": SIGMA, "pred_a": A}))
    assert (
        visitor.json(f"{at}/columns.json")["limits"] == said and f"<p>{said}.</p>" in visitor.get(f"{at}/columns").text
    )
    assert f"{said}." in visitor.json(f"{at}/result.json", {"y": "y", "pred": "pred_a", "yerr": "y_err"})["remarks"]
    at = visitor.upload("flags.csv", csv_bytes({"y": Y, "y_err": SIGMA, "y_lim": limited.astype(int), "pred_a": A}))
    assert visitor.json(f"{at}/columns.json")["limits"] == said
    rows = csv_bytes({"y": cells, "pred_a": [*A[:-2], "", ""]})  # those of rows that can be left out
    at = visitor.upload("gaps.csv", rows)
    assert visitor.json(f"{at}/columns.json")["limits"].startswith(f"{limited[:-2].sum()} of {len(Y) - 2} labels")
    for name, table in (("plain", {"y": Y, "pred_a": A}), ("bad", {"y": [*cells[:-1], "<LOD"], "pred_a": A})):
        at = visitor.upload(f"{name}.csv", csv_bytes(table))
        assert not visitor.json(f"{at}/columns.json")["limits"]


def test_columns_are_guessed_and_a_doubt_is_asked(visitor):
    at = visitor.upload("plain.csv", csv_bytes({"y": Y, "y_err": SIGMA, "pred_a": A, "site": SITE}))
    found = visitor.json(f"{at}/columns.json")
    assert found["view"] == {"y": "y", "pred": ["pred_a"], "yerr": "y_err"} and found["sure"]
    page = visitor.get(f"{at}/columns").text
    assert 'name="role.y" aria-label="y is used as"' in page and "Understood: plain.csv: labels y" in page
    at = visitor.upload("doubt.csv", csv_bytes({"y": Y, "stat_err": SIGMA, "sys_err": SIGMA, "pred_a": A}))
    found = visitor.json(f"{at}/columns.json")
    assert "which column holds the errors" in found["question"] and "“Errors”" in found["question"]
    assert found["view"]["y"] == "y" and found["view"]["pred"] == ["pred_a"]


SITE = np.array(["x", "z"])[np.arange(len(Y)) % 2]


def test_an_unanswered_question_is_said(visitor):
    at = visitor.upload("t.csv", csv_bytes(NUMBERS))
    for form, message in (
        (roles(NUMBERS, **numbers), "What do you know about the errors"),
        ({**roles(NUMBERS, **numbers), "errors": "column"}, "not answered yet"),
        ({**roles(NUMBERS, y="y"), "errors": "none"}, "No column is chosen as predictions"),
        ({**roles(NUMBERS, pred_a="pred"), "errors": "none"}, "No column is chosen as the labels"),
        ({**roles(NUMBERS, y="y", err="y", pred_a="pred"), "errors": "none"}, "Two columns are chosen as labels"),
        ({**roles(NUMBERS, **numbers), "errors": "resolution", "resolution": "wide"}, "must be a number"),
        ({**roles(NUMBERS, **numbers), "errors": "percent", "percent": "5", "percent_column": "pct"}, "not both"),
    ):
        answer = visitor.get(f"{at}/choose", form)
        assert answer.status_code == 422 and message in answer.text, message
    assert "this page" not in visitor.problem(f"{at}/result.json", {"y": "nothing", "pred": "pred_a"})
    assert (
        "there is no column &#39;nothing&#39;" in visitor.get(f"{at}/result", {"y": "nothing", "pred": "pred_a"}).text
    )
