"""A file read in pieces gives the scores of the file in memory; what is wrong in it is found at its row."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from small_table import TABLE, write_csv

import scorebars as sb

N = 150_000
METRICS = ("-m", "rmse", "-m", "mse", "-m", "bias")


@pytest.fixture(scope="module")
def large():
    """Labels that look like whole numbers for two thirds of the file: their type must not be guessed from its start."""
    rng = np.random.default_rng(11)
    y = 5 * rng.normal(size=N)
    y[:100_000] = np.round(y[:100_000])
    sigma = rng.uniform(0, 0.5, N)
    return {"y": y, "y_err": sigma, "pred_a": y + rng.normal(size=N), "pred_b": y * 1.1, "weight": rng.uniform(1, 2, N)}


@pytest.fixture(scope="module")
def files(large, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    (folder / "parts").mkdir()
    whole = pa.table(large)
    pa.csv.write_csv(whole, folder / "t.csv")
    pa.parquet.write_table(whole, folder / "t.parquet", row_group_size=20_000)
    pa.feather.write_feather(whole, folder / "t.feather")
    for k in range(3):
        pa.csv.write_csv(whole.slice(k * 50_000, 50_000), folder / "parts" / f"{k}.csv")
    return folder


@pytest.fixture(scope="module")
def in_memory(large):
    names = ["root_mean_squared_error", "mean_squared_error", "mean_error"]
    models = {name: large[f"pred_{name}"] for name in ("a", "b")}
    found = sb.evaluate(large["y"], models, yerr=large["y_err"], sample_weight=large["weight"], metrics=names)
    return found.rows()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "parts"])
def test_same_scores(run, files, in_memory, name):
    done = run("evaluate", files / name, "--stream", "--json", "-q", *METRICS)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n"] == N
    for ours, theirs in zip(found["scores"], in_memory, strict=True):
        for key in ("observed", "expected", "std", "interval_low", "interval_high", "truth", "perfect", "noise_share"):
            same = ours[key] is theirs[key] is None or ours[key] == pytest.approx(theirs[key], rel=1e-9, abs=1e-12)
            assert same, key


def test_truth_that_needs_all_labels_is_a_dash(run, files):
    done = run("evaluate", files / "t.parquet", "--stream", "-m", "mae", "--pred", "pred_a", "-q")
    assert done.stdout.split("\n")[4].split()[-5] == "-"


def test_streamed_above_a_size(run, files, monkeypatch):
    monkeypatch.setattr("scorebars.cli.evaluate_command.STREAM_ABOVE", 1000)
    refused = run("evaluate", files / "t.csv", "-m", "median_absolute_error")
    assert refused.exit_code == 2
    assert "median_absolute_error needs all labels at once." in refused.stderr
    assert "add --no-stream" in " ".join(refused.stderr.split())


def broken(files, tmp_path, line, text):
    lines = (files / "t.csv").read_text().split("\n")
    lines[line - 1] = text
    (tmp_path / "b.csv").write_text("\n".join(lines))
    return tmp_path / "b.csv"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,oops,1,1,1", "column 'y_err' holds no number in row 120000 (line 120001 of b.csv): 'oops'."),
        (
            "1,,1,1,1",
            "column 'y_err' has missing values: the first in row 120000 (line 120001 of b.csv), 1 in this batch.",
        ),
        ("1,-2,1,1,1", "column 'y_err' has negative values: the first is -2.0 in row 120000 (line 120001 of b.csv)"),
        ("1,2", "line 120001 of b.csv has 2 cells, but there are 5 column names."),
    ],
)
def test_bad_rows(run, files, tmp_path, text, message):
    done = run("evaluate", broken(files, tmp_path, 120_001, text), "--stream")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_rows_left_out(run, files, tmp_path):
    path = broken(files, tmp_path, 120_001, "1,,1,1,1")
    done = run("evaluate", path, "--stream", "--nan-policy", "omit", "-m", "rmse", "--json")
    found = json.loads(done.stdout)
    assert (found["n"], found["omitted"]) == (N - 1, 1)
    assert f"1 of {N} rows has missing values and was left out, for every model." in done.stderr


def test_small_files_and_classes(run, tmp_path, classes):
    path = write_csv(tmp_path / "t.csv", TABLE)
    streamed, whole = (run("evaluate", path, flag, "--json", *METRICS).stdout for flag in ("--stream", "--no-stream"))
    assert json.loads(streamed) == json.loads(whole)
    streamed, whole = (
        run("evaluate", classes, flag, "--json", "-m", "accuracy").stdout for flag in ("--stream", "--no-stream")
    )
    assert json.loads(streamed)["scores"] == json.loads(whole)["scores"]


def test_classes_without_probabilities_are_seen_as_such(run, tmp_path):
    path = write_csv(tmp_path / "t.csv", {"label": ["a", "b", "a"], "pred": ["a", "b", "b"]})
    found = json.loads(run("evaluate", path, "--stream", "--json").stdout)
    observed = {row["metric"]: row["observed"] for row in found["scores"]}
    assert list(observed) == ["accuracy_score", "balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score"]
    assert observed["accuracy_score"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("flag", ["--stream", "--no-stream"])
@pytest.mark.parametrize(
    ("rows", "text"),
    [("", "t.csv has column names but no rows."), ("1,\n2,\n", "every row of t.csv misses a value in")],
)
def test_nothing_to_score(run, tmp_path, flag, rows, text):
    (tmp_path / "t.csv").write_text("y,pred\n" + rows)
    done = run("evaluate", tmp_path / "t.csv", flag, "--nan-policy", "omit")
    assert done.exit_code == 2
    assert text in done.stderr


def test_what_cannot_be_streamed(run, masses, tmp_path):
    assert "--by needs all labels in memory" in run("evaluate", masses, "--stream", "--by", "shell").stderr
    assert (
        "--report needs all labels in memory"
        in run("evaluate", masses, "--stream", "--report", tmp_path / "r.html").stderr
    )
    assert "only CSV, Parquet and Feather files can" in run("evaluate", "dataset:nuclear_masses", "--stream").stderr


def test_limits_are_not_streamed(run, tmp_path):
    path = tmp_path / "limits.csv"
    path.write_text("y,y_err,y_ul,pred\n1.0,0.1,0,1.1\n2.0,0.1,1,1.9\n3.0,0.1,0,3.2\n")
    done = run("evaluate", path, "--stream")
    assert done.exit_code == 2
    assert "may mark which labels are limits" in " ".join(done.stderr.split())
    whole = run("evaluate", path)
    assert "1 of 3 labels is an upper limit" in whole.stderr
    assert "a lower bound of an error" in " ".join(whole.stdout.split())
