"""Type checkers understand the public names as a user writes them."""

import runpy
import subprocess
import sys
from pathlib import Path

import scorebars

HERE = Path(__file__).parent


def test_a_users_script_under_mypy(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(HERE / "user_script.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_script_runs():
    runpy.run_path(str(HERE / "user_script.py"))


def test_the_stub_is_up_to_date():
    tool = runpy.run_path(str(HERE.parent / "tools" / "make_stub.py"))
    assert Path(scorebars.__file__).with_name("__init__.pyi").read_text(encoding="utf-8") == tool["stub"](), (
        "run: python tools/make_stub.py"
    )
