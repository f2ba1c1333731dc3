"""The capability table of the docs says how the package answers now: metrics and error models from the registry, methods by asking."""

import re
import warnings
from pathlib import Path

import pytest

import scorebars as sb
from scorebars.answers.score import UndefinedMomentWarning
from scorebars.studies.capabilities import ANSWERS, MISSING, _method, pairs, sample_score

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "coverage.md"
QUICK = {
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_error",
    "reduced_chi_squared",
    "log_score",
    "accuracy_score",
}


def table_of(answer):
    """How each metric gives this answer under each error model, as the page says."""
    section = re.search(rf"^## `{re.escape(answer)}`\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)[
        1
    ]
    found, models = {}, []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| metric"):
            models = cells[1:]
        elif line.startswith("| ") and not line.startswith("| ---"):
            for model, cell in zip(models, cells[1:], strict=True):
                found[cells[0], model] = re.sub(r" \d+%$", "", cell)
    return found


@pytest.mark.slow  # an error model is on the page once its intervals were measured
def test_every_metric_and_error_model_is_there():
    for answer in ANSWERS:
        assert {(metric, name) for metric, name, _ in pairs()} <= table_of(answer).keys()


def now(metric, model, answer):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMomentWarning)
            return _method(sample_score(metric, model), answer, model)
    except ValueError:
        return MISSING


@pytest.mark.parametrize("answer", ["interval", "truth"])
def test_methods_are_those_of_the_page(answer):
    page = table_of(answer)
    for metric, name, model in pairs():
        if metric in QUICK and (metric, name) in page:
            said = f"{metric} under {name}: write the page again with python tests/statistical/page.py"
            assert page[metric, name] == now(metric, model, answer), said


@pytest.mark.slow
@pytest.mark.parametrize("answer", ANSWERS)
def test_all_methods_are_those_of_the_page(answer):
    page, asked = table_of(answer), sb.capabilities(answer).methods
    assert {pair: method for pair, method in asked.items() if page.get(pair, method) != method} == {}
