"""Classes: the confusion matrix takes the place of the points."""

import numpy as np
import pytest
from report_pages import Page

import scorebars as sb
from scorebars import report


@pytest.fixture(scope="module")
def votes():
    data = sb.datasets.load_cifar10_label_errors()
    names = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
    return names[data.y], names[data.predictions["cross_validated"]]


def test_cells_are_those_of_the_matrix(votes):
    y, p = votes
    page = Page(report.build(y, {"cv": p}, yerr=0.02, metrics="accuracy_score"))
    told, c = page.data["matrix"], sb.confusion_matrix(y, p, yerr=0.02)
    assert page.data["points"] is None and told["classes"] == c.classes.tolist()
    cells = told["models"][0]
    assert np.array_equal(cells["observed"]["value"], c.observed)
    assert np.allclose(cells["expected"]["value"], c.expected, rtol=1e-4)
    assert np.allclose(cells["expected"]["std"], c.std, rtol=1e-4)
    assert np.allclose(cells["truth"]["value"], c.truth.value, rtol=1e-4, atol=1e-4)
    assert "wrong with probability 0.02" in page.texts["methods"]


def test_bars_of_a_discrete_law_are_probabilities(votes):
    y, p = votes
    law = Page(report.build(y, {"cv": p}, yerr=0.02, metrics="accuracy_score")).data["scores"][0][0]["law"]
    exact = sb.accuracy_score(y, p, yerr=0.02).distribution
    edges = np.linspace(law["low"], law["high"], len(law["height"]) + 1)
    mass = np.diff(exact.cdf(edges))
    assert law["bars"] and np.allclose(law["height"], mass / mass.max(), atol=2e-4)
    # one hump: no bar stands out because it holds one possible value more
    signs = np.sign(np.diff(law["height"])[np.abs(np.diff(law["height"])) > 1e-3])
    assert np.count_nonzero(np.diff(signs)) == 1


def test_scores_instead_of_classes_have_no_matrix():
    y = np.array([0, 1] * 20)
    score = np.linspace(0.1, 0.9, 40)
    assert Page(report.build(y, {"m": score}, yerr=0.05, metrics="roc_auc_score")).data["matrix"] is None


def test_truth_is_left_out_where_it_is_unknown():
    data = Page(report.build(["a", "b"] * 10, ["a", "b"] * 10, yerr=0.5, metrics="accuracy_score")).data
    assert set(data["matrix"]["models"][0]) == {"observed", "expected"}


def test_whole_numbers_are_classes_when_told():
    data = Page(report.build([0, 1, 2] * 9, [0, 1, 1] * 9, yerr=0.1, task="classification")).data
    assert data["matrix"]["classes"] == ["0", "1", "2"] and data["metrics"][0]["name"] == "accuracy_score"


def test_many_classes_are_cut():
    y = np.repeat([f"class {k:02d}" for k in range(30)], 4)
    matrix = Page(report.build(y, y, yerr=0.1, metrics="accuracy_score")).data["matrix"]
    assert len(matrix["classes"]) == 24 and matrix["all"] == 30


def test_a_class_that_only_one_model_predicts_has_its_column():
    y = ["a", "b"] * 10
    data = Page(report.build(y, {"m": y, "n": ["a", "c"] * 10}, yerr=0.1, metrics="accuracy_score")).data["matrix"]
    assert data["classes"] == ["a", "b", "c"]
    assert data["models"][0]["observed"]["value"] == [[10, 0, 0], [0, 10, 0], [0, 0, 0]]
    assert data["models"][1]["observed"]["value"] == [[10, 0, 0], [0, 0, 10], [0, 0, 0]]


def test_labels_that_the_votes_hold():
    votes = sb.Votes([[4, 1], [0, 5], [3, 2]] * 5, ["no", "yes"])
    data = Page(report.build(None, ["no", "yes", "yes"] * 5, yerr=votes, metrics="accuracy_score")).data
    assert data["n"] == 15 and data["matrix"]["models"][0]["observed"]["value"] == [[5, 5], [0, 5]]
