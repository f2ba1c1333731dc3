"""What `import scorebars` costs: no heavy library is loaded before it is asked for."""

import subprocess
import sys

import pytest

HEAVY = ["pandas", "sklearn", "matplotlib", "torch", "dask", "pyarrow", "polars", "xarray", "astropy", "uncertainties"]
HEAVY += [
    "scipy.stats",
    "scipy.sparse.csgraph",
    "rich",
    "typer",
    "jinja2",
    "starlette",
    "uvicorn",
    "mpmath",
    "hypothesis",
]


def loaded_by(code):
    """The modules that are there after running this in a fresh interpreter."""
    command = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def after_import():
    return loaded_by("import scorebars")


@pytest.fixture(scope="module")
def after_every_name():
    return loaded_by("import scorebars\n[getattr(scorebars, name) for name in scorebars.__all__]")


@pytest.mark.parametrize("name", HEAVY)
def test_not_loaded(name, after_import, after_every_name):
    assert name not in after_import
    assert name not in after_every_name


def test_loaded(after_every_name):
    assert {"numpy", "scorebars.answers.score", "scorebars.errors", "scorebars.datasets"} <= after_every_name


def test_a_score_loads_nothing_heavy():
    code = "import scorebars as sb\ns = sb.mean_squared_error([1.0, 2.0], [1.5, 2.0], yerr=0.1)\ns.explain()"
    assert not {"pandas", "sklearn", "matplotlib", "torch"} & loaded_by(code)


def test_no_warning_on_import():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import scorebars"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
