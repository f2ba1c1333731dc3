"""What packages that need an environment of their own say to the cases of docs/evidence/other-packages.md.

    python benchmarks/other_packages.py [--only NAME]

Each package gets a virtual environment, since its requirements exclude versions that the documentation is built with. It answers on
the same data as scorebars. The answers go to results/other_packages.json, with versions and the date; the page shows them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "other_packages.json"
REQUIREMENTS = {
    "confidenceinterval": ["confidenceinterval"],
    "cinnabar": ["cinnabar", "numpy<2", "scipy", "scikit-learn", "networkx"],
    "rsmtool": ["rsmtool"],
}


def measured_numbers() -> dict[str, Any]:
    """Numbers measured with a known error, once and twice, and predictions of them."""
    rng = np.random.default_rng(3)
    n, sigma = 300, 0.6
    truth = rng.uniform(5, 10, n)
    p = truth + 0.5 * rng.standard_normal(n)
    y = truth + sigma * rng.standard_normal(n)
    again = truth + sigma * rng.standard_normal(n)
    return {"truth": truth, "p": p, "y": y, "again": again, "sigma": sigma}


def wrong_classes() -> dict[str, Any]:
    """Labels of two classes, of which one in ten is wrong, and predictions of them."""
    rng = np.random.default_rng(4)
    truth = (rng.random(500) < 0.4).astype(int)
    p = np.where(rng.random(500) < 0.08, 1 - truth, truth)
    y = np.where(rng.random(500) < 0.1, 1 - truth, truth)
    return {"truth": truth, "p": p, "y": y, "q": 0.1}


def ask_confidenceinterval(numbers: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    """The accuracy of the labels as they are, with Wilson's interval."""
    from confidenceinterval import accuracy_score

    value, (low, high) = accuracy_score(classes["y"], classes["p"], confidence_level=0.95, method="wilson")
    return {"accuracy": value, "low": low, "high": high}


def ask_cinnabar(numbers: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    """The root mean squared error, with items drawn again and labels redrawn from their error bars."""
    from cinnabar.stats import bootstrap_statistic

    np.random.seed(0)  # noqa: NPY002  the generator that cinnabar draws from
    y, p = np.array(numbers["y"]), np.array(numbers["p"])
    return dict(bootstrap_statistic(y, p, dy_true=np.full(len(y), numbers["sigma"]), statistic="RMSE"))


def ask_rsmtool(numbers: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    """The mean squared error against the true score and its proportional reduction, from two measurements of each item."""
    from rsmtool.utils import prmse

    twice = np.column_stack([numbers["y"], numbers["again"]])
    p = np.array(numbers["p"])
    return {"mse_true": prmse.mse_true(p, twice), "prmse_true": prmse.prmse_true(p, twice)}


def answer(name: str, cases: Path) -> None:
    """Print what the package says; this runs in its own environment."""
    numbers, classes = json.loads(cases.read_text(encoding="utf-8"))
    found = globals()[f"ask_{name}"](numbers, classes)
    versions = {package: version(package) for package in (name, "numpy")}
    print(json.dumps({"versions": versions, "answers": {key: float(value) for key, value in found.items()}}))


def asked(name: str, folder: Path) -> dict[str, Any]:
    """Install the package into a fresh environment and ask it there."""
    python = folder / name / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]], check=True)
    cases = folder / "cases.json"
    plain = [
        {key: np.asarray(value).tolist() for key, value in case().items()} for case in (measured_numbers, wrong_classes)
    ]
    cases.write_text(json.dumps(plain), encoding="utf-8")
    told = subprocess.run([python, __file__, "--answer", name, cases], check=True, capture_output=True, text=True)
    return {"date": date.today().isoformat(), **json.loads(told.stdout.splitlines()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=REQUIREMENTS)
    parser.add_argument("--answer", nargs=2, metavar=("NAME", "CASES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer(options.answer[0], Path(options.answer[1]))
        return
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else REQUIREMENTS:
            found[name] = asked(name, Path(folder))
            print(name, found[name])
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
