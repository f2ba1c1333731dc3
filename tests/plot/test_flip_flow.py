"""Wrong labels move items up and down the columns of a confusion matrix."""

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

import scorebars as sb
from scorebars.plot.flip_flow import flows

LABELS = np.array([1] * 40 + [0] * 60)
PREDICTED = np.array([1] * 30 + [0] * 60 + [1] * 10)


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_two_classes():
    """The paper's figure: each cell of n items sends q n of them up or down its column."""
    matrix = sb.confusion_matrix(LABELS, PREDICTED, yerr=0.1)
    found = {flow[:3]: flow.amount for flow in flows(matrix, LABELS, PREDICTED, 0.1, None)}
    assert found == pytest.approx({(0, 1, 0): 5.0, (1, 0, 0): 1.0, (1, 0, 1): 3.0, (0, 1, 1): 1.0})


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_moves_carry_observed_to_expected(classes, weighted):
    rng = np.random.default_rng(classes)
    y, p = rng.integers(0, classes, (2, 80))
    q = rng.uniform(0, 0.4, 80)
    weight = rng.random(80) if weighted else None
    matrix = sb.confusion_matrix(y, p, yerr=q, sample_weight=weight)
    after = matrix.observed.astype(float)
    moves = flows(matrix, y, p, q, weight)
    for flow in moves:
        after[flow.source, flow.column] -= flow.amount
        after[flow.target, flow.column] += flow.amount
    np.testing.assert_allclose(after, matrix.expected)
    assert [flow.amount for flow in moves] == sorted((flow.amount for flow in moves), reverse=True)


def test_drawn(texts):
    ax = sb.plot.flip_flow(LABELS, PREDICTED, 0.1)
    assert [text.get_text().splitlines()[0] for text in ax.texts[:4]] == ["TN", "FP", "FN", "TP"]
    assert ax.texts[3].get_text().splitlines()[1].startswith("30 → 28.0 ± ")
    assert len(arrows(ax)) == 4
    assert {"5.0", "3.0", "1.0"} <= set(texts(ax))
    assert ax.get_title() == "on average 10 of 100 items move"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "the model was right, the flipped label says wrong",
        "the model was wrong, the flipped label says right",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "label")


def test_names_of_classes():
    names = np.array(["star", "galaxy", "quasar"])
    rng = np.random.default_rng(0)
    y, p = names[rng.integers(0, 3, (2, 50))]
    ax = sb.plot.flip_flow(y, p, sb.ClassFlip({"star": 0.1, "galaxy": 0.0, "quasar": 0.2}))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["galaxy", "quasar", "star"]
    assert all(round(patch.get_path().vertices[0][1]) != 0 for patch in arrows(ax))  # galaxies never flip


def test_labels_of_the_model():
    model = sb.Thresholded([0.2, 1.4, 2.0], 0.4, cut=1.0)
    assert len(arrows(sb.plot.flip_flow(None, [0, 1, 1], model))) == 2


def test_most():
    y, p = np.random.default_rng(0).integers(0, 6, (2, 200))
    ax = sb.plot.flip_flow(y, p, 0.1, most=7)
    assert len(arrows(ax)) == 7
    assert "% of the moves are drawn" in ax.get_title()
    assert not arrows(sb.plot.flip_flow(y, p, 0.1, most=0))


@pytest.mark.parametrize(
    ("yerr", "most", "message"),
    [
        (None, 12, "yerr is missing: without wrong labels nothing moves"),
        (1.5, 12, r"yerr = 1.5 is not in \[0, 1\]"),
        (0.1, -1, "most must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_input(yerr, most, message):
    with pytest.raises(ValueError, match=message):
        sb.plot.flip_flow(LABELS, PREDICTED, yerr, most=most)
