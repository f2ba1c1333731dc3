"""Where results go, which format is chosen, what is missing is named."""

import json
import subprocess
import sys
from html import unescape

import pytest

from scorebars._shared.escaping import printable
from scorebars._shared.evaluation_tables import booktabs, latex_text, markdown_table
from scorebars._shared.writing import as_json
from scorebars.cli.output import as_csv, rendered


@pytest.mark.parametrize("ending", ["json", "csv", "tex", "md", "txt"])
def test_the_ending_chooses_the_format(run, masses, tmp_path, ending):
    path = tmp_path / f"result.{ending}"
    done = run("evaluate", masses, "-m", "rmse", "-o", path, "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    flag = {"json": "--json", "csv": "--csv", "tex": "--latex", "md": "--markdown"}.get(ending)
    assert (
        path.read_text(encoding="utf-8")
        == run("evaluate", masses, "-m", "rmse", "-q", *([flag] if flag else [])).stdout
    )


def test_output_that_cannot_be_written(run, masses, tmp_path):
    done = run("evaluate", masses, "-o", tmp_path / "nowhere" / "x.json")
    assert done.exit_code == 2
    assert "cannot be written: there is no folder" in " ".join(done.stderr.split())


def test_permissions_are_kept(run, masses, tmp_path):
    path = tmp_path / "x.json"
    path.write_text("")
    path.chmod(0o600)
    run("evaluate", masses, "-m", "rmse", "-o", path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["n"] == 12


def test_one_format_at_a_time(run, masses):
    done = run("evaluate", masses, "--json", "--csv")
    assert done.exit_code == 2
    assert "--json and --csv exclude each other: choose one." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["evaluate", "FILE", "--task", "cooking"], "--task must be regression or classification, got 'cooking'."),
        (["evaluate", "FILE", "--nan-policy", "pray"], "--nan-policy must be raise or omit, got 'pray'."),
        (["evaluate", "FILE", "--format", "doc"], "--format 'doc' is not known. Choose one of"),
        (["evaluate", "FILE", "-m", "rsme"], "there is no metric 'rsme'. Did you mean root_mean_squared_error"),
        (["check", "FILE", "-o", "x.md"], "check writes a table, JSON or CSV."),
        (["evaluate", "FILE", "--sigma"], "No such option"),
        (["evaluate"], "Missing argument"),
        (["evaluat"], "No such command 'evaluat'. Did you mean 'evaluate'?"),
    ],
)
def test_wrong_commands_end_with_2(run, masses, arguments, text):
    done = run(*(masses if word == "FILE" else word for word in arguments))
    assert done.exit_code == 2
    assert text in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("name", "module", "text"),
    [
        ("t.csv", "pyarrow", "needs arrow: pip install 'scorebars[arrow]'"),
        ("t.fits", "astropy.table", "reading FITS, ECSV and VO tables needs astropy: pip install 'scorebars[astropy]'"),
        ("t.nc", "xarray", "reading NetCDF files needs xarray: pip install 'scorebars[xarray]'"),
    ],
)
def test_missing_libraries_end_with_3(run, tmp_path, monkeypatch, name, module, text):
    (tmp_path / name).write_text("y,pred\n1,2\n")
    monkeypatch.setitem(sys.modules, module, None)
    done = run("evaluate", tmp_path / name)
    assert done.exit_code == 3
    assert text in " ".join(done.stderr.split())


def test_unexpected_failures_end_with_4(run, masses, monkeypatch):
    monkeypatch.setattr("scorebars.cli.evaluate_command.evaluation_of", lambda *_: {}["nothing"])
    done = run("evaluate", masses)
    assert done.exit_code == 4
    assert "This is a bug; --debug (before the command) shows where." in " ".join(done.stderr.split())


def test_version_and_help(run):
    import scorebars

    assert run("--version").stdout == f"scorebars {scorebars.__version__}\n"
    assert "Exit codes: 0 done; 1 check found something; 2" in " ".join(run("--help").stdout.split())


def test_warnings_are_said_in_one_line(run, tmp_path):
    """A percentage error under normal errors has no mean; the library's warning goes to standard error."""
    (tmp_path / "t.csv").write_text("y,y_err,pred\n1,0.5,1.2\n2,0.5,2.2\n3,0.5,3.3\n")
    done = run("evaluate", tmp_path / "t.csv", "-m", "mape")
    assert done.exit_code == 0
    assert "inf" in done.stdout
    assert "Warning: " in done.stderr


def test_texts():
    assert printable("a\tb\u202e\x9bé±") == "a\\tb\\u202e\\x9bé±"
    assert rendered("[bold]x[/bold]", width=40) == "[bold]x[/bold]\n"
    assert json.loads(as_json({"a": [float("inf"), -float("inf"), 1.5, None]})) == {"a": ["inf", "-inf", 1.5, None]}
    assert as_csv([{"a": 1}, {"b": "x,y"}]) == 'a,b\n1,\n,"x,y"\n'
    assert markdown_table(["a|b"], [["1"]]) == "| a\\|b |\n| --- |\n| 1 |"
    assert r"a\_b \& 50\% & 1 $\pm$ 2 \\" in booktabs(["x", "y"], [[latex_text("a_b & 50%"), latex_text("1 ± 2")]], 1)


def test_report(run, masses, tmp_path):
    page = tmp_path / "page.html"
    done = run("evaluate", masses, "-m", "rmse", "--report", page)
    assert done.exit_code == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert "masses.csv" in text
    assert "Ti44" in text
    assert str(page) in "".join(done.stderr.split("\n"))


def test_the_code_of_the_report_runs_as_it_stands(run, masses, tmp_path):
    page = tmp_path / "page.html"
    assert run("evaluate", masses, "-m", "median_absolute_error", "--report", page).exit_code == 0
    code = unescape(page.read_text(encoding="utf-8").partition('<pre id="code">')[2].partition("</pre>")[0])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Median absolute error against the true values behind" in done.stdout


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("y,pred\n1.0 ± 0.2,1.1\n2.0 ± 0.3,2.2\n3.5 ± 0.2,3.1\n", ["--yerr", "cells"]),
        ("y,a,b,pred\n1,0.2,0.1,1.1\n2,0.3,0.2,2.2\n3.5,0.2,0.1,3.1\n", ["--yerr", "a+b"]),
        (
            "id,y,pred\na,1,1.1\na,1.3,1.1\nb,2,2.2\nb,2.5,2.2\nc,3,3.1\nc,3.2,3.1\n",
            ["--repeats", "rows", "--id", "id"],
        ),
    ],
)
def test_the_code_of_the_report_takes_the_same_errors(run, tmp_path, monkeypatch, table, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    done = run("evaluate", "t.csv", *options, "-m", "rmse", "--json", "--report", "page.html")
    assert done.exit_code == 0, done.stderr
    code = unescape((tmp_path / "page.html").read_text(encoding="utf-8").partition('<pre id="code">')[2])
    made = {}
    exec(code.partition("</pre>")[0], made)
    score, told = made["found"]["pred", "rmse"], json.loads(done.stdout)["scores"][0]
    assert (score.expected, score.std) == pytest.approx((told["expected"], told["std"]))


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_report_of_other_verbs(run, masses, tmp_path, verb):
    page = tmp_path / "page.html"
    done = run(verb, masses, "--report", page)
    assert done.exit_code == (verb == "check"), done.stderr
    assert "masses.csv" in page.read_text(encoding="utf-8")
    again = run(verb, masses, "--report", page)
    assert "an older file was replaced" in " ".join(again.stderr.split())


def test_report_of_the_demo(run, tmp_path):
    run("demo", "-q", "--report", tmp_path / "page.html")
    assert "WS3_RBF" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verb", "option"),
    [("plan", "-o"), *((verb, option) for verb in ("evaluate", "compare", "check") for option in ("-o", "--report"))],
)
def test_data_are_never_written_over(run, masses, verb, option, monkeypatch):
    monkeypatch.setattr("scorebars.cli.options.opened", None)  # refused before the file is read
    before = masses.read_bytes()
    done = run(verb, masses, option, masses)
    assert done.exit_code == 2
    assert "is the file that the data come from: give another name." in " ".join(done.stderr.split())
    assert masses.read_bytes() == before


def test_two_outputs_are_two_files(run, masses, tmp_path):
    done = run("evaluate", masses, "-o", tmp_path / "x.html", "--report", tmp_path / "x.html")
    assert done.exit_code == 2
    assert "--output and --report are the same file" in done.stderr


def test_an_older_result_that_is_replaced_is_said(run, masses, tmp_path):
    path = tmp_path / "x.json"
    assert "older" not in run("evaluate", masses, "-o", path).stderr
    assert "an older file was replaced" in " ".join(run("evaluate", masses, "-o", path).stderr.split())


def test_report_without_jinja2(run, masses, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("scorebars.report", "jinja2"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("evaluate", masses, "-m", "rmse", "--report", tmp_path / "page.html")
    assert done.exit_code == 3
    assert "pip install 'scorebars[report]'" in " ".join(done.stderr.split())
    assert not (tmp_path / "page.html").exists()
