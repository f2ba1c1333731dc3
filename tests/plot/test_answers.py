"""Figures of one score or one model: lines and markers are the answers of the Score."""

import numpy as np
import pytest

import scorebars as sb
from scorebars._shared.score_views import law_curve

rng = np.random.default_rng(5)
Y = rng.normal(size=40)
P = Y + 0.5 * rng.normal(size=40)
LABELS = rng.integers(0, 2, 60)
CLASSES = np.where(rng.random(60) < 0.8, LABELS, 1 - LABELS)


def line(ax, name):
    return next(found for found in ax.lines if str(found.get_label()).startswith(name))


# distribution ------------------------------------------------------------------------------------


def markers(ax):
    """The drawn answers: name -> (value, half length of the error bar)."""
    found = {}
    for bar in ax.containers:
        half = 0.0
        if bar.has_xerr:
            (start, end) = bar.lines[2][0].get_segments()[0]
            half = (end[0] - start[0]) / 2
        found[bar.get_label().split(":")[0]] = (bar.lines[0].get_xdata()[0], half)
    return found


@pytest.mark.parametrize(
    "score",
    [
        sb.mean_squared_error(Y, P, yerr=0.4),
        sb.mean_absolute_error(Y, P, yerr=[np.full(40, 0.1), np.full(40, 0.3)], sample_weight=np.arange(40)),
        sb.accuracy_score(LABELS, CLASSES, yerr=0.1),
        sb.spearman_correlation(Y, P, yerr=0.3),
    ],
    ids=lambda score: score.name,
)
def test_answers_are_marked(score):
    drawn = markers(sb.plot.distribution(score))
    assert set(drawn) == {"expected", "observed", "truth", "perfect"}
    assert drawn["observed"] == (score.observed, 0.0)
    for name, answer in (("expected", score), ("truth", score.truth), ("perfect", score.perfect)):
        assert drawn[name] == pytest.approx((float(answer), answer.std))


@pytest.mark.parametrize("yerr", [0.1, np.linspace(0, 0.3, 60)])
def test_law_of_single_values(yerr):
    """The bins hold all of the law, and their centres average to its mean."""
    score = sb.accuracy_score(LABELS, CLASSES, yerr=yerr)
    edges, share, binned = law_curve(score.distribution, *score.interval(0.999), score.n)
    assert binned and share.sum() == pytest.approx(1.0, abs=2e-3)
    assert np.sum(share * (edges[:-1] + edges[1:]) / 2) == pytest.approx(score.expected, abs=1 / 60)


def test_law_of_densities():
    score = sb.mean_squared_error(Y, P, yerr=0.4)
    x, density, binned = law_curve(score.distribution, *score.interval(0.999), score.n)
    assert not binned and np.allclose(density, score.distribution.pdf(x), atol=3e-3 * density.max())
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=3e-3)


def test_rows_say_what_they_answer(texts):
    score = sb.mean_squared_error(Y, P, yerr=0.4)
    ax = sb.plot.distribution(score, level=0.68, unit="eV")
    words = "\n".join(texts(ax))
    assert f"expected {score}\nlabels redrawn from their error bars\n(dark: 68% of the time)" in words
    assert f"truth {score.truth}\nagainst the true values" in words
    assert f"perfect {score.perfect}\na perfect model on these labels" in words
    assert ax.get_xlabel() == "Mean squared error (eV²)"


def test_what_cannot_be_had_is_said(texts):
    ax = sb.plot.distribution(sb.accuracy_score(LABELS, CLASSES, yerr=0.5))
    assert "truth cannot be estimated\nagainst the true values" in texts(ax)
    assert "truth" not in markers(ax)


def test_exact_labels():
    ax = sb.plot.distribution(sb.mean_squared_error(Y, P))
    assert not ax.collections or all(len(c.get_paths()) == 0 for c in ax.collections)
    assert {value for name, (value, _) in markers(ax).items() if name != "perfect"} == {
        sb.mean_squared_error(Y, P).observed
    }


def test_infinite_moments(texts):
    with pytest.warns(sb.UndefinedMomentWarning):
        score = sb.mean_squared_error(Y, P, yerr=sb.StudentT(0.2, df=1.5))
    ax = sb.plot.distribution(score)
    assert any(word.startswith("expected inf") for word in texts(ax))
    assert "expected" not in markers(ax)
    assert np.all(np.isfinite(ax.get_xlim()))


def test_distribution_draws_scores_only():
    with pytest.raises(TypeError, match=r"distribution draws a Score, got float\. Pass what a metric returns"):
        sb.plot.distribution(0.5)
    with pytest.raises(ValueError, match="level must be a probability"):
        sb.plot.distribution(sb.mean_squared_error(Y, P, yerr=0.1), level=95)


# pulls -------------------------------------------------------------------------------------------


def test_pulls_are_those_of_the_check(texts):
    check = sb.check_errors(Y, P, yerr=0.2)
    ax = sb.plot.pulls(Y, P, yerr=0.2, bins=10)
    stairs = ax.patches[0].get_data()
    np.testing.assert_allclose(stairs.values * 40, np.histogram(np.clip(check.pulls, -5, 5), stairs.edges)[0])
    beyond = np.count_nonzero(np.abs(check.pulls) > 5)
    assert beyond
    assert f"40 labels, {beyond} beyond ±5 in the end bins" in texts(ax)
    x, y = line(ax, "unit normal").get_data()
    np.testing.assert_allclose(y, np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
    assert f"std {check.pulls.std():.2f}" in ax.texts[0].get_text()


def test_labels_without_error_have_no_pull(texts):
    errors = np.full(40, 0.5)
    errors[:10] = 0.0
    ax = sb.plot.pulls(Y, P, errors)
    assert "25.0% of the labels have error 0" in ax.texts[0].get_text()
    assert any(word.startswith("30 labels") for word in texts(ax))


def test_pulls_of_bad_input():
    with pytest.raises(ValueError, match="all label errors are zero"):
        sb.plot.pulls(Y, P, 0.0)
    with pytest.raises(ValueError, match="bins must be a whole number of at least 1, got 0"):
        sb.plot.pulls(Y, P, 0.1, bins=0)


# sensitivity -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "p", "yerr", "metric"),
    [
        (Y, P, 0.2, "root_mean_squared_error"),
        (Y, P, [np.full(40, 0.1), np.full(40, 0.3)], "mean_absolute_error"),
        (Y, P, sb.Laplace(0.2), "mean_squared_error"),
        (Y, P, 0.2, "pearson_correlation"),
        (LABELS, CLASSES, 0.1, "accuracy_score"),
        (LABELS, CLASSES, sb.Flip(0.1, correlation=0.2), "f1_score"),
    ],
)
def test_sensitivity(y, p, yerr, metric):
    ax = sb.plot.sensitivity(y, p, yerr, metric=metric, scales=[0, 1, 2])
    quoted = getattr(sb, metric)(y, p, yerr=yerr)
    exact = getattr(sb, metric)(y, p)
    for name in ("observed", "expected", "truth", "perfect"):
        x, drawn = line(ax, f"{name}: ").get_data()
        assert x.tolist() == [0, 1, 2]
        assert drawn[1] == pytest.approx(float(getattr(quoted, name)))
    for name in ("observed", "expected", "truth"):
        assert line(ax, f"{name}: ").get_ydata()[0] == pytest.approx(float(exact))
    band = ax.collections[0].get_paths()[0].vertices
    assert quoted.interval(0.95).high == pytest.approx(band[band[:, 0] == 1][:, 1].max())


def test_sensitivity_of_repeats_keeps_their_labels():
    repeats = sb.Repeats(Y[:, None] + 0.1 * rng.normal(size=(40, 3)))
    ax = sb.plot.sensitivity(None, P, yerr=repeats, scales=[1, 2])
    drawn = line(ax, "observed").get_ydata()
    assert drawn[0] == drawn[1] == pytest.approx(sb.root_mean_squared_error(None, P, yerr=repeats).observed)


def test_probabilities_are_scaled_up_to_one():
    ax = sb.plot.sensitivity(LABELS, CLASSES, 0.5, metric="accuracy_score")
    assert line(ax, "expected").get_xdata()[-1] == pytest.approx(2.0)
    assert np.isnan(line(ax, "truth").get_ydata()[24])  # q = 1/2: no truth, hence a gap


@pytest.mark.parametrize(
    ("yerr", "scales", "message"),
    [
        (None, None, "yerr is missing: without label errors there is nothing to scale"),
        (sb.LogNormal(0.1), None, "yerr is LogNormal, whose errors cannot be scaled as a whole"),
        (0.1, [1], "scales must be at least two finite factors of at least 0"),
        (0.1, [-1, 1], "scales must be at least two finite factors of at least 0"),
        (-0.1, None, "yerr = -0.1 is negative"),
    ],
)
def test_sensitivity_of_bad_input(yerr, scales, message):
    with pytest.raises(ValueError, match=message):
        sb.plot.sensitivity(Y + 10, P + 10, yerr, scales=scales)


# accuracy against q ------------------------------------------------------------------------------


def test_accuracy_vs_q(texts):
    ax = sb.plot.accuracy_vs_q(LABELS, CLASSES, q=[0.1, 0, 0.2], marked=0.1)
    observed = np.mean(LABELS == CLASSES)
    q = np.array([0, 0.1, 0.2])
    assert line(ax, "expected").get_xdata().tolist() == q.tolist()
    np.testing.assert_allclose(line(ax, "expected").get_ydata(), observed + q * (1 - 2 * observed))
    np.testing.assert_allclose(line(ax, "truth").get_ydata(), (observed - q) / (1 - 2 * q))
    np.testing.assert_allclose(line(ax, "perfect").get_ydata(), 1 - q)
    assert "q = 0.1" in texts(ax)
    assert ax.get_ylim()[1] < 1.05  # truth beyond 1 is cut off


def test_accuracy_vs_q_berkson():
    ax = sb.plot.accuracy_vs_q(LABELS, CLASSES, q=[0, 0.1], kind="berkson")
    np.testing.assert_allclose(line(ax, "truth").get_ydata(), line(ax, "expected").get_ydata())


def test_accuracy_vs_q_of_bad_input():
    with pytest.raises(ValueError, match=r"q has values outside \[0, 1\]: the first is 1.5 at index 1"):
        sb.plot.accuracy_vs_q(LABELS, CLASSES, q=[0.1, 1.5])
    with pytest.raises(ValueError, match="q must be at least two probabilities"):
        sb.plot.accuracy_vs_q(LABELS, CLASSES, q=0.1)
    with pytest.raises(ValueError, match=r"q = 2.0 is not in \[0, 1\]"):
        sb.plot.accuracy_vs_q(LABELS, CLASSES, marked=2.0)
