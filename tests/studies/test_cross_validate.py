"""Cross-validation with label errors split along."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

import scorebars as sb
from scorebars.studies.cross_validate import TestedFold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TRUTH = X @ [1.0, -2.0, 0.5]
SIGMA = RNG.uniform(0.2, 1.0, 300)
Y = TRUTH + SIGMA * RNG.standard_normal(300)


def test_errors_are_split_with_the_labels():
    result = sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA, metrics=["mean_squared_error"], cv=KFold(5))
    for (train, test), score in zip(KFold(5).split(X), result["mean_squared_error"], strict=True):
        p = LinearRegression().fit(X[train], Y[train]).predict(X[test])
        assert score == pytest.approx(sb.mean_squared_error(Y[test], p, yerr=SIGMA[test]), rel=1e-12)
    models = sb.cross_validate(
        LinearRegression(), X, Y, yerr=sb.Normal(SIGMA), metrics="mean_squared_error", cv=KFold(5)
    )
    assert models["mean_squared_error"][0] == result["mean_squared_error"][0]


def test_a_right_model_varies_by_its_label_errors_alone():
    result = sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA, metrics="mean_squared_error", cv=10)
    name = "mean_squared_error"
    assert result.spread(name) == pytest.approx(result.label_std(name), rel=0.8)
    assert result.beyond_labels(name) <= result.spread(name)
    assert "10 folds" in str(result) and "of which label errors" in str(result)


@pytest.mark.parametrize(
    ("metric", "model"),
    [
        ("mean_squared_error", sb.Normal(0.5)),
        ("mean_squared_error", sb.Repeats.from_means(sigma=1.0, n=4)),
        ("mean_absolute_error", sb.Normal(0.5)),
        ("r2_score", sb.Normal(0.5)),
        ("mean_error", sb.Normal(0.5)),
    ],
)
def test_the_label_part_is_the_scatter_of_the_observed_score_given_the_truth(metric, model):
    """The model does not learn here, so that only the labels of the fold scatter."""
    rng = np.random.default_rng(3)
    truth, predicted = rng.normal(0, 1.0, 60), rng.normal(0, 0.6, 60)
    error = 0.5
    score = getattr(sb, metric)
    observed, label = [], []
    for k in range(400):
        y = truth + error * rng.standard_normal(60)
        observed.append(score(y, truth + predicted).observed)
        if k < 20:
            fold = TestedFold(y, truth + predicted, model, metric, "regression")
            once, twice = fold.label_variances(metric)
            label.append(max(2 * once - twice, once / 3))
    assert np.sqrt(np.mean(label)) == pytest.approx(np.std(observed), rel=0.13)


def test_label_errors_are_counted_once():
    """Labels that are all error: their part is the whole spread, not 1.7 times it."""
    rng = np.random.default_rng(4)
    y = 0.5 * rng.standard_normal(3000)
    result = sb.cross_validate(
        LinearRegression(), rng.normal(size=(3000, 1)), y, yerr=0.5, cv=30, metrics="mean_squared_error"
    )
    label = result.label_std("mean_squared_error")
    assert label == pytest.approx(0.25 * np.sqrt(2 / 100), rel=0.1)
    assert label == pytest.approx(result.spread("mean_squared_error"), rel=0.4)


def test_set_points_have_no_label_part():
    result = sb.cross_validate(
        LinearRegression(), X, Y, yerr=sb.Normal(0.5, kind="berkson"), metrics="mean_squared_error"
    )
    assert result.label_std("mean_squared_error") == 0.0


def test_bootstrap_splits():
    result = sb.cross_validate(LinearRegression(), X, Y, yerr=0.5, metrics="mean_error", bootstrap=7, rng=1)
    assert len(result.folds) == 7 and all(80 < len(test) < 140 for test in result.indices)
    again = sb.cross_validate(LinearRegression(), X, Y, yerr=0.5, metrics="mean_error", bootstrap=7, rng=1)
    assert [float(s) for s in again["mean_error"]] == [float(s) for s in result["mean_error"]]


def test_classes():
    labels = np.where(TRUTH > 0, "yes", "no")
    result = sb.cross_validate(LogisticRegression(), X, labels, yerr=0.1, metrics="accuracy_score", cv=3)
    assert result.mean("accuracy_score") > 0.9
    assert result.label_std("accuracy_score") == pytest.approx(np.sqrt(0.09 / 100), rel=0.01)


def test_bad_input():
    with pytest.raises(ValueError, match="yerr has shape"):
        sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA[:10])
    with pytest.raises(ValueError, match="bootstrap must be"):
        sb.cross_validate(LinearRegression(), X, Y, bootstrap=0)


@pytest.mark.parametrize("split", [{"cv": 5}, {"bootstrap": 4}])
def test_groups_stay_together(split):
    """Items of a group on both sides would let the model see what it is tested on."""
    names = np.array([f"plate {k}" for k in range(30)])[RNG.permutation(np.repeat(np.arange(30), 10))]
    result = sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA, metrics="mse", groups=names, **split)
    for test in result.indices:
        assert not set(names[test]) & set(names[np.setdiff1d(np.arange(300), test)])
    assert all(fold.groups is not None for fold in result.tested)
    with pytest.raises(ValueError, match=r"groups and y_true have inconsistent numbers of samples: shape \(299,\)"):
        sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA, metrics="mse", groups=names[1:], **split)


def test_bootstrap_splits_of_one_group():
    with pytest.raises(ValueError, match="at least two items, or two groups"):
        sb.cross_validate(LinearRegression(), X, Y, metrics="mse", groups=np.zeros(300), bootstrap=2)
