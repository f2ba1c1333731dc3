"""What a user installs: a wheel with the compiled modules in it, and without a compiler a package that says so."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTENSIONS = ("_kernel", "_bins", "_scores")
SHOW = "import scorebars as sb; print(sb.__file__); sb.show_config(); print(float(sb.mean_absolute_error([0], [1])))"

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pip", "setuptools")), reason="no pip or no setuptools"
)


def has_compiler() -> bool:
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(command.split()[0]) is not None


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources with nothing built, so that building leaves no trace in the checkout."""
    copy = tmp_path / "sources"
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info")
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


def pip(*arguments: str | Path, **environment: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def compiled(engines: Path, extension: str) -> list[Path]:
    return [path for path in engines.glob(f"{extension}.*") if path.suffix in (".so", ".pyd")]


def shown(home: Path) -> list[str]:
    """What the package in this folder says about itself, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCOREBARS_")}
    command = [sys.executable, "-c", SHOW]
    text = subprocess.run(
        command, cwd=home, env=environment | {"PYTHONPATH": str(home)}, capture_output=True, text=True, check=True
    ).stdout
    lines = text.splitlines()
    assert Path(lines[0]).is_relative_to(home)
    return lines


@pytest.mark.skipif(not has_compiler(), reason="no compiler")
def test_wheel_holds_the_compiled_modules(sources: Path, tmp_path: Path) -> None:
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, sources)
    (wheel,) = tmp_path.glob("scorebars-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "home")
    engines = tmp_path / "home" / "scorebars" / "engines"
    assert not any(name.endswith(".c") for name in names)  # what is compiled needs no source
    for extension in EXTENSIONS:
        assert len(compiled(engines, extension)) == 1, extension
    assert {"scorebars/py.typed", "scorebars/__init__.pyi"} <= set(names)
    assert any(name.endswith(".csv") for name in names)
    lines = shown(tmp_path / "home")
    assert any(line.startswith("engine: compiled kernel, ") for line in lines)
    assert "bins: compiled" in lines
    assert lines[-1] == "1.0"


@pytest.mark.skipif(os.name == "nt", reason="needs a program that always fails")
def test_without_a_working_compiler_it_installs_and_says_so(sources: Path, tmp_path: Path) -> None:
    broken = shutil.which("false")
    assert broken is not None
    home = tmp_path / "home"
    pip("install", "--no-deps", "--no-build-isolation", "--no-index", "--target", home, sources, CC=broken)
    for extension in EXTENSIONS:
        assert not compiled(home / "scorebars" / "engines", extension)
    lines = shown(home)
    assert "engine: numpy (no compiled kernel: No module named 'scorebars.engines._kernel')" in lines
    assert "bins: numpy (no compiled module: No module named 'scorebars.engines._bins')" in lines
    assert lines[-1] == "1.0"
