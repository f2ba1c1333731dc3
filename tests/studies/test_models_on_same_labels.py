"""Quick ways to score many rows of labels say what scoring them one by one says, for every metric."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies.capabilities import ARGUMENTS

_CLASS_METRICS = [name for name, found in declarations().items() if found.task == "classification" and found.scored]
_NUMBER_METRICS = [name for name, found in declarations().items() if found.task == "regression" and found.scored]


def _one_by_one(metric, rows, p):
    found = []
    for row in rows:
        try:
            found.append(metric(row, p).observed)
        except ValueError:
            found.append(np.nan)
    return np.array(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", _CLASS_METRICS)
def test_many_rows_of_classes(name, classes):
    rng = np.random.default_rng(5)
    takes = declarations()[name].takes
    given = dict(ARGUMENTS.get(name, {}))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 9)])
    chances = rng.dirichlet(np.ones(classes), len(y))
    p = np.argmax(chances, axis=1) if takes == "labels" else chances[:, 1] if classes == 2 else chances
    metric = entry_of(name).function
    if classes > 2:
        if name == "roc_auc_score":
            given |= {"multi_class": "ovr", "labels": np.arange(classes)}
        elif name == "top_k_accuracy_score":
            given |= {"k": 2, "labels": np.arange(classes)}
        elif name == "log_loss":
            given |= {"labels": np.arange(classes)}
        elif name in (
            "precision_score",
            "recall_score",
            "specificity_score",
            "f1_score",
            "fbeta_score",
            "jaccard_score",
        ):
            given |= {"average": "macro", "labels": np.arange(classes)}
    score = partial(metric, **given)
    try:
        answers = score(y, p)._answers
    except ValueError:
        pytest.skip("takes two classes")
    rows = np.concatenate([y[None], rng.integers(0, classes, (20, len(y)))])
    found = answers.of_rows(rows, p)
    if found is None:
        assert name in ("accuracy_score", "zero_one_loss")  # compared by what each class costs
        return
    np.testing.assert_allclose(found, _one_by_one(score, rows, p), rtol=1e-6)


@pytest.mark.parametrize("pos_label", [0, 1])
def test_the_positive_class_may_be_either(pos_label):
    rng = np.random.default_rng(6)
    y, p = np.array([0, 1] * 6), rng.random(12)
    score = partial(sb.roc_auc_score)
    rows = rng.integers(0, 2, (10, 12))
    precision = partial(sb.average_precision_score, pos_label=pos_label)
    for metric in (score, precision):
        np.testing.assert_allclose(metric(y, p)._answers.of_rows(rows, p), _one_by_one(metric, rows, p))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [1.0, 1e200])
@pytest.mark.parametrize("name", _NUMBER_METRICS)
def test_many_rows_of_numbers(name, unit):
    rng = np.random.default_rng(7)
    y = unit * rng.lognormal(size=11)
    p, rows = y + unit * rng.normal(size=11) / 4, y + unit * rng.normal(size=(15, 11)) / 9
    p, rows = np.abs(p), np.abs(rows)
    given = dict(ARGUMENTS.get(name, {}))
    if name == "reduced_chi_squared":
        given["yerr"] = unit
    metric = partial(entry_of(name).function, **given)
    found = metric(y, p)._answers.of_rows(rows, p)
    if found is not None:
        np.testing.assert_allclose(found, _one_by_one(metric, rows, p), rtol=1e-12)


def test_reduced_chi_squared_is_compared_as_squares_are():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=30)
    sigma = rng.uniform(0.3, 2.0, 30)
    y = truth + sigma * rng.normal(size=30)
    models = {"a": truth + rng.normal(size=30), "b": truth + 1.2 * rng.normal(size=30)}
    found = sb.compare(y, models, yerr=sigma, metric="reduced_chi_squared").difference("a", "b")
    each = [sb.reduced_chi_squared(y, p, yerr=sigma) for p in models.values()]
    assert found.observed == pytest.approx(each[0].observed - each[1].observed, abs=1e-12)
    lever = 2 * (models["b"] - models["a"]) / sigma**2 / 30
    assert found.std == pytest.approx(np.sqrt(np.sum(np.square(lever * sigma))), rel=1e-12)
    assert float(found.truth) == pytest.approx(found.observed, abs=1e-12)
    assert found.distribution.method == "exact"


def test_costs_of_classes_by_enumeration():
    """The distribution of a difference of log losses, from all labels that may be shown."""
    rng = np.random.default_rng(9)
    y, q = np.array([0, 1, 1, 0, 1, 1]), 0.2
    models = {name: rng.uniform(0.05, 0.95, 6) for name in "ab"}
    found = sb.compare(y, models, yerr=q, metric="log_loss").difference("a", "b")
    values, chances = [], []
    for k in range(64):
        flips = np.array([k >> i & 1 for i in range(6)])
        row = np.where(flips, 1 - y, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair = [sb.log_loss(row, p, labels=[0, 1]).observed for p in models.values()]
        values.append(pair[0] - pair[1])
        chances.append(np.prod(np.where(flips, q, 1 - q)))
    mean = np.dot(chances, values)
    assert found.expected == pytest.approx(mean, abs=1e-12)
    assert found.std == pytest.approx(np.sqrt(np.dot(chances, np.square(np.array(values) - mean))), rel=1e-12)
    # against the truth: the estimate is unbiased over labels about any truth
    truths = []
    for k in range(64):
        flips = np.array([k >> i & 1 for i in range(6)])
        shown = np.where(flips, 1 - y, y)
        truths.append(
            float(sb.compare(shown, models, yerr=q, metric="log_loss", labels=[0, 1]).difference("a", "b").truth)
        )
    pair = [sb.log_loss(y, p, labels=[0, 1]).observed for p in models.values()]
    assert np.dot(chances, truths) == pytest.approx(pair[0] - pair[1], abs=1e-12)
