"""Cross-validation with label errors split along."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

import scorebars as sb

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


def test_bootstrap_splits():
    result = sb.cross_validate(LinearRegression(), X, Y, yerr=0.5, metrics="mean_error", bootstrap=7, rng=1)
    assert len(result.folds) == 7 and all(80 < len(test) < 140 for test in result.indices)
    again = sb.cross_validate(LinearRegression(), X, Y, yerr=0.5, metrics="mean_error", bootstrap=7, rng=1)
    assert [float(s) for s in again["mean_error"]] == [float(s) for s in result["mean_error"]]


def test_classes():
    labels = np.where(TRUTH > 0, "yes", "no")
    result = sb.cross_validate(LogisticRegression(), X, labels, yerr=0.1, metrics="accuracy_score", cv=3)
    assert result.mean("accuracy_score") > 0.9


def test_bad_input():
    with pytest.raises(ValueError, match="yerr has shape"):
        sb.cross_validate(LinearRegression(), X, Y, yerr=SIGMA[:10])
    with pytest.raises(ValueError, match="bootstrap must be"):
        sb.cross_validate(LinearRegression(), X, Y, bootstrap=0)
