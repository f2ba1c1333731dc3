"""What the door does beyond a single messy file: several files, comparisons, long tables, messages for Python."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import scorebars as sb
from scorebars.cli.app import app
from scorebars.files.problem import as_keywords

Y, E = np.array([5.2, 6.1, 7.45, 9.03]), np.array([0.2, 0.1, 0.45, 0.3])
A, B = np.array([5.3, 6.0, 7.1, 9.5]), np.array([5.0, 6.4, 7.7, 8.8])


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="scorebars", env={"COLUMNS": "1000"})


def write(path, header, *columns):
    rows = "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    path.write_text(f"{header}\n{rows}", encoding="utf-8")
    return path


@pytest.fixture
def plain(tmp_path):
    return write(tmp_path / "plain.csv", "y,y_err,pred_a,pred_b", Y, E, A, B)


def test_several_files_are_one_table(tmp_path):
    one = write(tmp_path / "1.csv", "y,y_err,pred_a", Y[:2], E[:2], A[:2])
    two = write(tmp_path / "2.csv", "y,y_err,pred_a", Y[2:], E[2:], A[2:])
    expected = float(sb.mean_squared_error(Y, A, yerr=E))
    done = run("evaluate", one, two, "-m", "mse", "--json")
    assert json.loads(done.stdout)["scores"][0]["expected"] == pytest.approx(expected)
    assert "(2 files): labels y; errors y_err; predictions pred_a" in done.stderr
    assert float(sb.evaluate(tmp_path / "*.csv", metrics="mean_squared_error")["a", "mean_squared_error"]) == expected
    write(tmp_path / "3.csv", "y (keV),y_err,pred_a", Y, E, A)
    assert "differ in their columns" in run("evaluate", one, tmp_path / "3.csv").stderr


def test_compare_reads_the_same_files(plain):
    expected = sb.compare(Y, {"a": A, "b": B}, yerr=E)
    found = sb.compare(plain)
    assert found.models == ["a", "b"]
    assert found.difference("a", "b").expected == expected.difference("a", "b").expected
    assert found.warnings == ["plain.csv: labels y; errors y_err; predictions pred_a, pred_b"]
    named = sb.compare(plain, y="y", pred={"x": "pred_a", "z": "pred_b"}, yerr="y_err", metric="mean_absolute_error")
    assert named.models == ["x", "z"]
    both = run("compare", plain, "--json")
    assert json.loads(both.stdout)["models"][0]["model"] in ("a", "b")


def test_long_tables_in_compare(tmp_path):
    ids, names = [*"abcd"] * 2, ["rf"] * 4 + ["nn"] * 4
    path = write(tmp_path / "long.csv", "item,method,y,y_err,pred", ids, names, [*Y, *Y], [*E, *E], [*A, *B])
    expected = sb.compare(Y, {"rf": A, "nn": B}, yerr=E).difference("rf", "nn").expected
    assert sb.compare(path).difference("rf", "nn").expected == expected
    assert sb.compare(path, model="method", id="item").difference("rf", "nn").expected == expected
    done = run("compare", path, "--model", "method", "--id", "item", "--against", "nn", "--json")
    found = {row["model"]: row for row in json.loads(done.stdout)["models"]}
    assert found["rf"]["difference"] == pytest.approx(expected)
    mixed = write(tmp_path / "mixed.csv", "item,method,y,pred", ids, names, [*Y, *(Y + 1)], [*A, *B])
    with pytest.raises(ValueError, match="column 'y' differs between models for the same item in row 5"):
        sb.compare(mixed)
    twice = write(tmp_path / "twice.csv", "item,method,y,pred", ["a"] * 8, names, [*Y, *Y], [*A, *B])
    with pytest.raises(ValueError, match="item 'a' occurs twice for the model 'rf'"):
        sb.compare(twice)


def test_a_long_table_without_ids_goes_by_order(tmp_path):
    names = ["rf"] * 4 + ["nn"] * 4
    path = write(tmp_path / "long.csv", "method,y,pred", names, [*Y, *Y], [*A, *B])
    assert float(sb.evaluate(path, metrics="mean_squared_error")["nn", "mean_squared_error"]) == pytest.approx(
        float(sb.mean_squared_error(Y, B))
    )
    uneven = write(tmp_path / "uneven.csv", "method,y,pred", names[:-1], [*Y, *Y][:-1], [*A, *B][:-1])
    with pytest.raises(ValueError, match=r"have different numbers of rows .*: say id=COLUMN"):
        sb.evaluate(uneven)


def test_named_columns_are_taken_as_they_are(plain):
    """With y and pred nothing is guessed; what looks like errors and is not used is said."""
    found = sb.evaluate(plain, y="y", pred="pred_a", metrics="mean_squared_error", decimal=".")
    assert found.models == ["pred_a"]
    assert found["mean_squared_error"].expected == float(sb.mean_squared_error(Y, A))
    assert "What looks like errors of y is not used: y_err. Name it in yerr" in found.assumed
    errors = {"column": "y_err", "number": 0.25, "model": sb.Normal(E), "array": E}
    for yerr in errors.values():
        ours = sb.evaluate(plain, y="y", pred="pred_a", yerr=yerr, metrics="mean_squared_error", decimal=".")
        theirs = sb.mean_squared_error(Y, A, yerr=E if isinstance(yerr, str) else yerr)
        assert ours["mean_squared_error"].expected == pytest.approx(theirs.expected)


def test_what_was_understood_is_printed(plain):
    text = str(sb.evaluate(plain, metrics="mean_error"))
    assert text.endswith("Note: plain.csv: labels y; errors y_err; predictions pred_a, pred_b.")


def test_shipped_data_by_name():
    masses = sb.datasets.load_nuclear_masses()
    found = sb.evaluate("dataset:nuclear_masses", metrics="mean_error")
    assert found["DZ28", "mean_error"].expected == pytest.approx(
        float(sb.mean_error(masses.y, masses.predictions["DZ28"], yerr=masses.yerr))
    )


def test_keywords_that_mean_nothing(plain):
    with pytest.raises(TypeError, match=r"'delimeter' is not a known keyword\. Did you mean 'delimiter'\?"):
        sb.evaluate(plain, delimeter=";")
    with pytest.raises(TypeError, match="'sheet' says how a file is read, but the data are a ndarray"):
        sb.evaluate(Y, A, sheet="one")
    with pytest.raises(ValueError, match="decimal must be a point or a comma, got ';'"):
        sb.evaluate(plain, decimal=";")
    with pytest.raises(ValueError, match="encoding 'latin-17' is not known"):
        sb.evaluate(plain, encoding="latin-17")
    with pytest.raises(ValueError, match="yerr and limits exclude each other"):
        sb.evaluate(plain, yerr="y_err", limits=("pred_a", "pred_b"))
    with pytest.raises(ValueError, match="give predictions as columns of the file"):
        sb.evaluate(plain, A)


def test_options_as_keywords():
    assert (
        as_keywords("--weight COLUMN, --decimal , or --limits lo,hi")
        == "sample_weight=COLUMN, decimal=',' or limits='lo,hi'"
    )


def test_classes_are_said_in_arrays_too():
    probabilities = [np.tile(p, 5) for p in ([0.2, 0.9, 0.6, 0.4], [0.3, 0.8, 0.4, 0.1])]
    y = np.tile([0, 1, 1, 0], 5)
    assert "labels are 0 and 1 and predictions lie between" in sb.evaluate(y, probabilities[0], yerr=0.1).assumed
    found = sb.compare(y, dict(zip("ab", probabilities, strict=True)), yerr=0.1)
    assert any("labels are 0 and 1" in warning for warning in found.warnings)
    assert "whole numbers of few values" in sb.evaluate(y, 1 - y, yerr=0.1).assumed
    planned = sb.plan(y, {"a": y, "b": 1 - y}, yerr=0.1)
    assert "whole numbers of few values" in planned.assumed


def test_classes_in_files_are_compared_as_such(tmp_path):
    path = write(tmp_path / "c.csv", "y,pred_a,pred_b", [0, 1, 1, 0], [0.2, 0.9, 0.6, 0.4], [0.3, 0.7, 0.2, 0.1])
    assert sb.compare(path).metric == "brier_score_loss"
    assert json.loads(run("compare", path, "--json").stdout)["metric"] == "brier_score_loss"


def test_a_covariance_of_another_size_is_refused(tmp_path, plain):
    matrix = tmp_path / "cov.txt"
    np.savetxt(matrix, np.eye(3))
    with pytest.raises(ValueError, match=r"cov: .*cov\.txt is a matrix of 3 labels, but the file has 4 rows"):
        sb.evaluate(plain, cov=str(matrix))
    np.save(tmp_path / "cov.npy", np.diag(E**2))
    done = run("check", plain, "--cov", tmp_path / "cov.npy")
    assert done.exit_code in (0, 1), done.stderr  # 1: something deserves a look
    assert "covariance of the labels from" in done.stderr
    gaps = write(tmp_path / "gaps.csv", "y,pred", ["", *Y[1:]], A)
    found = sb.evaluate(gaps, cov=str(tmp_path / "cov.npy"), nan_policy="omit", metrics="mean_squared_error")
    assert found["mean_squared_error"].expected == pytest.approx(float(sb.mean_squared_error(Y[1:], A[1:], yerr=E[1:])))


def test_streams_work_on_several_threads(tmp_path, monkeypatch):
    """From the command line too, whatever the mark of decimals and of missing values."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=200_000).round(6)
    texts = np.char.replace(y.astype(str), ".", ",").astype(object)
    texts[150_000] = "n.d."
    path = tmp_path / "large.csv"
    path.write_text("y;pred\n" + "".join(f"{a};{b}\n" for a, b in zip(texts, texts[::-1], strict=True)))
    seen, update, second = set(), sb.Accumulator.update, threading.Event()

    def noted(self, *arguments, **options):
        seen.add(threading.current_thread().name)
        if len(seen) > 1:
            second.set()
        second.wait(1)  # one quick thread must not take every piece before the next has started
        return update(self, *arguments, **options)

    monkeypatch.setattr(sb.Accumulator, "update", noted)
    monkeypatch.setenv("SCOREBARS_THREADS", "3")
    done = run("evaluate", path, "--stream", "--nan-policy", "omit", "-m", "mse", "--json")
    found = json.loads(done.stdout)
    assert (found["n"], found["omitted"]) == (199_998, 2)
    kept = np.setdiff1d(np.arange(200_000), [150_000, 49_999])
    assert found["scores"][0]["observed"] == pytest.approx(float(np.mean((y - y[::-1])[kept] ** 2)))
    assert len(seen) > 1
