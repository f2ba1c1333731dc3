"""Makes reference.json, or checks the stored file against a fresh computation.

    python make_reference.py                     compare everything with the stored file
    python make_reference.py --only mae          compare the cases whose id contains "mae"
    python make_reference.py --only mae --write  recompute and store those cases, keep the others
    python make_reference.py --write             recompute and store everything

The values come from quadrature, enumeration and transform inversion at 60 digits, never from the closed forms that the
package uses. A full run takes several minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import cases_absolute
import cases_classification
import cases_families
import cases_losses
import cases_order
import cases_ratios
import cases_squares
import cases_truth
import mpmath as mp
from high_precision import DIGITS, Case

FILE = Path(__file__).with_name("reference.json")
MODULES = (
    cases_squares,
    cases_absolute,
    cases_losses,
    cases_order,
    cases_ratios,
    cases_families,
    cases_classification,
    cases_truth,
)
CASES: dict[str, Case] = {case.id: case for module in MODULES for case in module.CASES}
META = {
    "description": "Reference values for machine-learning metrics with label measurement errors",
    "generated_by": "make_reference.py",
    "mpmath": mp.__version__,
    "dps": DIGITS,
    "convention": "inputs are IEEE doubles used with their exact binary value; outputs decimal strings; "
    "cdf p=P(metric<=x); question: remeasured = y taken as true mean, fresh measurement with given sigma; "
    "truth = estimate against the unobserved true values",
}
# Agreement asked of a stored value: its own digits, and never more than 30 (roundings of the last digits differ).
ENOUGH = 30


def save(stored: dict[str, dict[str, Any]]) -> None:
    """Write the cases in the order of their definition; a case without a definition is dropped."""
    cases = [stored[id] for id in CASES if id in stored]
    text = json.dumps({"meta": META | {"n_cases": len(cases)}, "cases": cases}, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")


def load() -> dict[str, dict[str, Any]]:
    """The stored cases by id."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {case["id"]: case for case in stored["cases"]}


def deviation(stored: Any, fresh: Any) -> mp.mpf:
    """Largest relative deviation of two nested structures of decimal strings; infinite if their shapes differ."""
    if isinstance(stored, dict) and isinstance(fresh, dict):
        if stored.keys() != fresh.keys():
            return mp.inf
        return max((deviation(stored[key], fresh[key]) for key in stored), default=mp.mpf(0))
    if isinstance(stored, list) and isinstance(fresh, list):
        if len(stored) != len(fresh):
            return mp.inf
        return max((deviation(a, b) for a, b in zip(stored, fresh, strict=True)), default=mp.mpf(0))
    if stored == fresh:
        return mp.mpf(0)
    if isinstance(stored, str) and isinstance(fresh, str):
        with mp.workdps(DIGITS):
            try:
                a, b = mp.mpf(stored), mp.mpf(fresh)
            except ValueError:
                return mp.inf
            return abs(a - b) / max(abs(a), abs(b))
    return mp.inf


def tolerance(case: Case) -> mp.mpf:
    return mp.mpf(10) ** -(min(case.digits, ENOUGH) - 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PATTERN", default="", help="cases whose id contains PATTERN")
    parser.add_argument("--write", action="store_true", help="store the fresh values")
    options = parser.parse_args()
    stored = load() if FILE.exists() else {}
    failed = 0
    for case in (case for case in CASES.values() if options.only in case.id):
        start = time.perf_counter()
        fresh = case.entry()
        seconds = time.perf_counter() - start
        old = stored.get(case.id)
        if old is None:
            verdict = "not in the file"
            failed += 1
        else:
            largest = deviation([old["inputs"], old["exact"]], [fresh["inputs"], fresh["exact"]])
            agrees = largest <= tolerance(case)
            verdict = f"{mp.nstr(largest, 2):>9}  {'ok' if agrees else 'DIFFERS'}"
            failed += not agrees
        print(f"{case.id:34} {seconds:6.1f} s  {verdict}", flush=True)
        if options.write:
            stored[case.id] = fresh
            save(stored)
    return 0 if options.write else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
