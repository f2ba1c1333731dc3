"""Learning curves: the scores are those of the folds, the bands and the floor are drawn where they belong."""

import sys

import numpy as np
import pytest

import scorebars as sb
from scorebars.adapters.learning_curve import LearningCurveDisplay

pytest.importorskip("sklearn")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402

RNG = np.random.default_rng(2)
N = 80
X = RNG.normal(size=(N, 3))
SIGMA = RNG.uniform(0.2, 0.6, N)
Y = X @ [1.0, -2.0, 0.5] + SIGMA * RNG.standard_normal(N)


def curve(**options):
    given = {"yerr": SIGMA, "train_sizes": [6, 20, 60], "cv": KFold(4)} | options
    return LearningCurveDisplay.from_estimator(LinearRegression(), X, Y, **given)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_scores_are_those_of_the_folds():
    display = curve()
    assert display.train_sizes.tolist() == [6, 20, 60] and len(display.scores) == 3
    for k, (train, test) in enumerate(KFold(4).split(X)):  # the largest size takes the whole training fold
        model = LinearRegression().fit(X[train], Y[train])
        wanted = sb.mean_squared_error(Y[test], model.predict(X[test]), yerr=SIGMA[test])
        assert display.scores[2][k].observed == pytest.approx(wanted.observed, rel=1e-9)
        assert float(display.scores[2][k].perfect) == pytest.approx(float(wanted.perfect), rel=1e-12)
    assert display.observed[0] > display.observed[2] > 0
    assert display.perfect == pytest.approx([np.mean(SIGMA**2)] * 3)


def test_label_errors_are_counted_once():
    """The band is the spread of a fold's score over repeated measurements of the same items, not twice the error."""
    rng = np.random.default_rng(5)
    x, sigma = rng.normal(size=(400, 2)), 0.5
    truth = x @ [1.0, -2.0]
    display = LearningCurveDisplay.from_estimator(
        LinearRegression(), x, truth + sigma * rng.standard_normal(400), yerr=sigma, train_sizes=[300], cv=KFold(4)
    )
    # squared residuals of a model that is nearly perfect: variance 2 sigma^4 / n
    assert display.label_std[0] == pytest.approx(np.sqrt(2 / 100) * sigma**2, rel=0.1)


def test_drawing():
    ax = plt.figure().subplots()
    display = curve(ax=ax, metric="mean_absolute_error", yerr=sb.Normal(SIGMA))
    assert display.ax_ is ax and ax.get_ylabel() == "Mean absolute error"
    line, floor = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), display.observed)
    np.testing.assert_array_equal(floor.get_ydata(), display.perfect)
    low, high = display.observed - display.label_std, display.observed + display.label_std
    corners = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx(low.min()) and corners.max() == pytest.approx(high.max())
    assert {t.get_text() for t in ax.get_legend().get_texts()} >= {"a perfect model", "label errors (± 1 std)"}
    assert display.plot().ax_ is not ax


def test_forms_of_input():
    pd = pytest.importorskip("pandas")
    plain = curve(yerr=np.stack([SIGMA, SIGMA]), train_sizes=(0.1, 1.0))
    assert plain.train_sizes.tolist() == [6, 60]
    table = LearningCurveDisplay.from_estimator(
        LinearRegression(), pd.DataFrame(X), pd.Series(Y), yerr=0.3, train_sizes=[60], cv=KFold(4)
    )
    assert table.observed[0] == pytest.approx(plain.observed[1])
    classes = LearningCurveDisplay.from_estimator(
        LogisticRegression(), X, Y > 0, yerr=0.1, metric="roc_auc_score", train_sizes=[60], cv=KFold(4)
    )
    assert classes.perfect[0] < 1 and classes.spread[0] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"train_sizes": [0.5, 1.5]},
            r"train_sizes has 1.5 at index 1, 1 such values in all: give fractions in \(0, 1\]",
        ),
        ({"train_sizes": [10, 61]}, "whole numbers up to 60, the size of the smallest training fold"),
        ({"train_sizes": []}, "train_sizes must be a list of fractions or of numbers of items"),
        ({"yerr": SIGMA[:5]}, r"yerr has shape \(5,\) but y has 80 labels"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        curve(**options)


def test_absent(monkeypatch):
    display = LearningCurveDisplay("mean_squared_error", np.array([3]), [])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'scorebars\[plot\]'"):
        display.plot()
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ImportError, match=r"needs scikit-learn: pip install 'scorebars\[sklearn\]'"):
        curve()
