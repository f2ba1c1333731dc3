"""Every metric under every error model: what was once answered stays answered.

``python tests/properties/test_every_pair.py`` writes answered.csv, the table of what is answered, after a wanted change.
"""

import csv
from pathlib import Path

import pytest

import scorebars as sb
from scorebars.studies import capabilities as table

ANSWERED = Path(__file__).with_name("answered.csv")


def answered(answers=table.ANSWERS):
    """(answer, metric, model) of everything that is answered now."""
    found = set()
    for answer in answers:
        methods = sb.capabilities(answer).methods
        found |= {(answer, metric, name) for (metric, name), method in methods.items() if method != table.MISSING}
    return found


OTHERS = [pytest.param(answer, marks=pytest.mark.slow) for answer in table.ANSWERS if answer != "interval"]


@pytest.mark.filterwarnings("ignore")  # scores that do not exist say so in other tests
@pytest.mark.parametrize("answer", ["interval", *OTHERS])
def test_nothing_that_was_answered_is_lost(answer):
    with ANSWERED.open(encoding="utf-8", newline="") as file:
        before = {tuple(row) for row in csv.reader(file) if row[0] == answer}
    lost = sorted(before - answered([answer]))
    assert len(before) > 100
    assert not lost, f"{len(lost)} answers are lost, the first: {lost[0]}"


if __name__ == "__main__":
    with ANSWERED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(answered()))
