"""The lowest versions that are tested are the lowest that the package asks for."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def release(version):
    """1.26.0 as (1, 26): what pyproject.toml leaves out does not count."""
    return tuple(int(part) for part in version.partition(";")[0].split("."))


def asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for rs in project["optional-dependencies"].values() for r in rs)]
    pairs = (requirement.partition(">=")[::2] for requirement in wanted if ">=" in requirement)
    return {name.partition("[")[0]: release(version) for name, version in pairs}


def pinned():
    lines = (ROOT / "tools" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("==") for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("name", "version"), pinned(), ids=lambda v: v)
def test_versions_agree(name, version):
    lowest = asked_for()[name]
    assert release(version)[: len(lowest)] == lowest


def test_core_is_tested():
    assert {"numpy", "scipy", "scikit-learn", "pandas"} <= {name for name, _ in pinned()}
