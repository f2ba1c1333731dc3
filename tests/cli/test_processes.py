"""The command as a real process: exit codes, pipes, signals, files that are there whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from small_table import TABLE, write_csv

COMMAND = [sys.executable, "-m", "scorebars"]
ENV = {**os.environ, "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"}


def run_process(*arguments, **options):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=ENV, timeout=120, check=False, **options)


@pytest.fixture
def masses_csv(tmp_path):
    return write_csv(tmp_path / "masses.csv", TABLE)


def test_pipe_in_and_out(masses_csv):
    done = run_process("evaluate", "-", "-m", "rmse", "--json", input=masses_csv.read_bytes())
    assert done.returncode == 0, done.stderr
    assert [row["model"] for row in json.loads(done.stdout)["scores"]] == ["drop", "shell"]
    assert done.stderr.decode() == "standard input: labels y; errors y_err; predictions pred_drop, pred_shell\n"


def test_bad_input_has_no_traceback_unless_asked_for(masses_csv):
    plain = run_process("evaluate", masses_csv, "--y", "shell", "--task", "regression")
    assert plain.returncode == 2
    assert plain.stdout == b""
    assert b"Traceback" not in plain.stderr
    assert b"column 'shell' holds no number in row 1 (line 2 of masses.csv): 'light'" in b" ".join(plain.stderr.split())
    shown = run_process("--debug", "evaluate", masses_csv, "--y", "shell", "--task", "regression")
    assert shown.returncode != 0
    assert b"Traceback" in shown.stderr


def test_reader_that_goes_away(masses_csv):
    """`scorebars ... | head -n 1` says nothing about the broken pipe."""
    shell = f"{' '.join(COMMAND)} evaluate {masses_csv} --csv -q | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, env=ENV, timeout=120, check=False)
    assert done.stdout == b"141\n"
    assert done.stderr == b""


def test_started_without_streams(masses_csv, tmp_path):
    """As some schedulers start processes: a result in a file is whole, and what cannot be shown is an error."""

    def shell(line):
        return subprocess.run(["bash", "-c", f"{' '.join(COMMAND)} {line}"], capture_output=True, env=ENV, timeout=120)

    result = tmp_path / "result.json"
    assert shell(f"evaluate {masses_csv} -o {result} <&- >&- 2>&-").returncode == 0
    assert json.loads(result.read_text())["scores"]
    nowhere = shell(f"evaluate {masses_csv} -q >&-")
    assert nowhere.returncode == 2
    assert b"standard output cannot be written: not writable" in nowhere.stderr
    silent = shell(f"evaluate {masses_csv} --csv 2>&-")
    assert silent.returncode == 0 and silent.stdout
    closed = shell("evaluate - <&-")
    assert closed.returncode == 2
    assert b"standard input is closed. Pipe a table into it, or name a file." in closed.stderr


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_reading(tmp_path, sent, code):
    """Stopped in the middle of its input: quiet, the old result untouched, nothing left behind."""
    result = tmp_path / "out" / "result.json"
    result.parent.mkdir()
    result.write_text("old")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "-", "-o", str(result)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENV, "TMPDIR": str(scratch)},
    )
    process.stdin.write(b"y,y_err,pred_a\n" + b"1,0.1,1.2\n" * 300_000)
    process.stdin.flush()
    for _ in range(600):
        if any(scratch.rglob("input")):
            break
        time.sleep(0.1)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", b"")
    assert result.read_text() == "old"
    assert [path.name for path in result.parent.iterdir()] == ["result.json"]
    assert list(scratch.iterdir()) == []


def test_killed_while_writing(tmp_path):
    """Killed with half of the text written: the old file is still there, whole."""
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from scorebars._shared import writing\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"  # after the write, before the move
        "writing.write_text(Path(sys.argv[1]), 'new ' * 100_000)\n"
    )
    result = tmp_path / "result.txt"
    result.write_text("old")
    done = subprocess.run([sys.executable, "-c", script, str(result)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert result.read_text() == "old"


def test_without_typer_the_extra_is_named():
    script = "import sys; sys.modules['typer'] = None; from scorebars.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr == b"scorebars: the command line needs typer: pip install 'scorebars[cli]'\n"


def test_the_command_is_declared():
    """What pip installs as `scorebars` is the function that `python -m scorebars` runs."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["scorebars"].partition(":")
    from scorebars import cli

    assert (module, getattr(cli, function)) == ("scorebars.cli", cli.main)
