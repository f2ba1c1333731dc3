"""No digit of the accuracy table is lost: a thin grid finds no larger error than the table has."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import measure_accuracy

CASES = {case.name: case for case in measure_accuracy.cases()}
KNOWN = measure_accuracy.read()


def test_the_table_has_every_function():
    assert set(KNOWN) == set(CASES)
    text = measure_accuracy.PAGE.read_text(encoding="utf-8")
    assert all(name.replace("|", r"\|") in text for name in KNOWN)


@pytest.mark.parametrize("name", CASES)
def test_no_digit_is_lost(name):
    case = CASES[name]._replace(peers={})
    found = measure_accuracy.measured(case, 40 if case.digits > 100 else 150)
    assert found.worst <= max(2.0 * KNOWN[name], KNOWN[name] + 2.0), f"{found.worst} ulp at {found.where}"
