"""Figures of several models: rows are models, and what they show is the study's own answer."""

from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb

rng = np.random.default_rng(2)
Y = rng.normal(size=50)
MODELS = {"near": Y + 0.2 * rng.normal(size=50), "far": Y + 1.5 * rng.normal(size=50), "middle": Y + 0.5}


@pytest.fixture(scope="module")
def comparison():
    return sb.compare(Y, MODELS, yerr=0.3, rope=0.01)


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


# noise budget ------------------------------------------------------------------------------------


def test_noise_budget():
    evaluation = sb.evaluate(Y, MODELS, yerr=0.3, metrics=["mean_absolute_error", "mean_squared_error"])
    ax = sb.plot.noise_budget(evaluation, metric="mean_squared_error")
    shares = [evaluation[name, "mean_squared_error"].noise_share for name in MODELS]
    assert rows(ax) == list(MODELS)
    np.testing.assert_allclose([bar.get_width() for bar in ax.containers[0]], np.multiply(shares, 100))
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.containers[1]], [max(100 - 100 * share, 0) for share in shares], atol=1e-9
    )
    assert "Mean squared error" in ax.get_xlabel()
    assert "Mean absolute error" in sb.plot.noise_budget(evaluation).get_xlabel()


def test_below_the_noise_floor():
    """A model closer than the errors allow: all is label error, and nothing is left for the rest."""
    score = sb.mean_squared_error(Y, Y + 0.1, yerr=0.2)
    ax = sb.plot.noise_budget(score)
    assert ax.containers[0][0].get_width() == pytest.approx(100)
    assert ax.containers[1][0].get_width() == 0
    assert [text.get_text() for text in ax.texts] == ["100 %"]
    assert rows(ax) == ["Mean squared error"]


def test_nothing_observed_to_share_out():
    ax = sb.plot.noise_budget(
        {"copy": sb.mean_squared_error(Y, Y, yerr=0.2), "half": sb.accuracy_score([0, 1], [1, 1], yerr=0.5)}
    )
    assert ax.texts[0].get_text() == "cannot be estimated"
    assert "Mean squared error, Accuracy" in ax.get_xlabel()


def test_a_difference_has_no_noise_share(comparison):
    """There is no perfect model to compare a difference with."""
    difference = comparison.difference("far", "near")
    assert sb.plot.noise_budget(difference).texts[0].get_text() == "cannot be estimated"
    rows_of_answers = rows(sb.plot.distribution(difference))
    assert rows_of_answers[-1] == "perfect cannot be estimated\na perfect model on these labels"


def test_noise_budget_of_scores_by_name():
    ax = sb.plot.noise_budget({name: sb.mean_squared_error(Y, p, yerr=0.3) for name, p in MODELS.items()})
    assert rows(ax) == list(MODELS)


@pytest.mark.parametrize("given", [[1, 2], {}, {"a": 0.5}])
def test_noise_budget_of_anything_else(given):
    with pytest.raises(TypeError, match="scores must be an Evaluation, a mapping of model names to Scores, or a Score"):
        sb.plot.noise_budget(given)


def test_noise_budget_of_a_metric_that_is_not_there():
    with pytest.raises(KeyError, match=r"'r2_score'.* is not in this evaluation"):
        sb.plot.noise_budget(sb.evaluate(Y, MODELS, yerr=0.3, metrics="mean_error"), metric="r2_score")


# forest ------------------------------------------------------------------------------------------


def test_forest(comparison):
    ax = sb.plot.forest(comparison, unit="K")
    assert rows(ax) == ["middle", "far"]  # the best is the reference
    for bar, name in zip(ax.containers, rows(ax), strict=True):
        difference = comparison.difference(name, "near")
        assert bar.lines[0].get_xdata()[0] == difference.expected
        start, end = bar.lines[2][0].get_segments()[0]
        np.testing.assert_allclose([start[0], end[0]], difference.interval(0.95))
    words = [text.get_text() for text in ax.texts]
    assert words[0] == f"{comparison.verdict('middle', 'near')} (<0.001)"
    assert ax.get_xlabel().splitlines() == [
        "mean squared error, model − near (K²)",
        "← better          worse →",
        "95% intervals, labels redrawn from their error bars",
        "shaded: too small to matter (up to 0.01)",
    ]


def test_forest_of_another_reference(comparison):
    assert rows(sb.plot.forest(comparison, reference="far")) == ["near", "middle"]
    with pytest.raises(ValueError, match="there is no model 'best' in this comparison"):
        sb.plot.forest(comparison, reference="best")


def test_forest_where_greater_is_better():
    labels = np.arange(60) % 2
    models = {"bad": 1 - labels, "good": labels, "fair": np.where(np.arange(60) < 40, labels, 0)}
    ax = sb.plot.forest(sb.compare(labels, models, yerr=sb.Flip(0.1), sampling=True))
    assert rows(ax) == ["fair", "bad"]
    assert "← worse          better →" in ax.get_xlabel()
    assert "labels and items vary" in ax.get_xlabel()


def test_forest_cannot_tell():
    twins = {"a": Y + 0.3, "b": Y - 0.3 + 1e-3}
    ax = sb.plot.forest(sb.compare(Y, twins, yerr=0.3))
    assert ax.texts[0].get_text().startswith("cannot tell (")
    assert ax.containers[0].lines[0].get_fillstyle() == "none"


# ranking -----------------------------------------------------------------------------------------


def test_ranking(comparison):
    found = comparison.ranking()
    ax = sb.plot.ranking(comparison)
    assert rows(ax) == found.order()
    np.testing.assert_allclose(ax.images[0].get_array(), [100 * found.probabilities[name] for name in found.order()])
    assert [text.get_text() for text in ax.texts if text.get_text() == "100"]
    assert "mean squared error: labels redrawn from their error bars" in ax.get_xlabel()
    assert sb.plot.ranking(found).get_xlabel() == "rank (1: best)"


@pytest.mark.parametrize("count", [2, 30])
def test_many_models(count):
    models = {f"model {k}": Y + 0.3 * rng.normal(size=50) for k in range(count)}
    many = sb.compare(Y, models, yerr=0.3)
    ax = sb.plot.ranking(many)
    assert len(rows(ax)) == count
    assert bool(ax.texts) == (count < 13)
    forest = sb.plot.forest(many)
    assert len(forest.containers) == count - 1
    height = forest.figure.get_size_inches()[1]
    assert height > 8 if count == 30 else height == 4.8
    forest.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in forest.get_yticklabels()]
    assert all(not a.overlaps(b) for a, b in pairwise(boxes))


@pytest.mark.parametrize("name", ["forest", "ranking", "plan"])
def test_only_what_the_studies_return(name):
    with pytest.raises(TypeError, match=rf"{name} draws a .*, got dict\. Pass what sb\.\w+\(\.\.\.\) returns"):
        getattr(sb.plot, name)({})


# plan --------------------------------------------------------------------------------------------


def test_plan_for_a_difference(texts):
    found = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5)
    ax = sb.plot.plan(found, repeats=[4, 1])
    curve = ax.lines[0]
    x, y = curve.get_data()
    assert curve.get_label() == "1 repeat each"
    np.testing.assert_allclose(y[::50], [found.power_at(labels, 1) for labels in x[::50]])
    star = ax.lines[-1]
    assert star.get_xydata().tolist() == [[found.labels, found.power_at(found.labels, found.repeats)]]
    assert f"cheapest: {found.labels} × {found.repeats}, cost {found.cost:g}" in texts(ax)
    assert "goal: 0.9" in texts(ax)
    assert len({line.get_linestyle() for line in ax.lines[:2]}) == 2


def test_plan_for_a_std():
    found = sb.plan(Y, MODELS["near"], yerr=0.3, std=0.005)
    ax = sb.plot.plan(found, unit="K")
    assert ax.get_ylabel() == "std of the mean squared error (K²)"
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(y[0], found.std_at(x[0], 1))
    low, high = ax.get_xlim()
    assert low < found.labels < high


def test_plan_for_raters():
    labels = rng.integers(0, 2, 300)
    good, fair = (np.where(rng.random(300) < p, labels, 1 - labels) for p in (0.95, 0.8))
    ax = sb.plot.plan(sb.plan(labels, {"good": good, "fair": fair}, yerr=sb.Flip(0.2)))
    raters = [line.get_label() for line in ax.lines if "rater" in line.get_label()]
    assert raters[0] == "1 rater each"
    assert all(int(label.split()[0]) % 2 for label in raters)


@pytest.mark.parametrize(
    ("repeats", "message"),
    [([1, 0], "repeats must be whole numbers of at least 1, got 0 at index 1"), ([], "repeats is empty")],
)
def test_plan_of_bad_repeats(repeats, message):
    with pytest.raises(ValueError, match=message):
        sb.plot.plan(sb.plan(difference=0.1, sampling_variance=1.0), repeats=repeats)
