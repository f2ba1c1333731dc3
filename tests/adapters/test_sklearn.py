"""scikit-learn as it is used: scorers in searches and cross-validation, errors split along with the labels."""

import pickle
import sys

import numpy as np
import pytest

import scorebars as sb

sklearn = pytest.importorskip("sklearn")

from sklearn.inspection import permutation_importance  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import get_scorer as their_scorer  # noqa: E402
from sklearn.metrics import make_scorer  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402

RNG = np.random.default_rng(1)
N = 60
X = RNG.normal(size=(N, 2))
SIGMA = RNG.uniform(0.1, 0.5, N)
Y = X @ [1.0, -2.0] + SIGMA * RNG.standard_normal(N)
CLASSES = (Y > 0).astype(int)
CV = KFold(4)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(metric, yerr, estimator=None, y=Y):
    """The scores of the folds, each with the errors of its own labels."""
    scores = []
    for train, test in CV.split(X):
        model = (estimator or Ridge()).fit(X[train], y[train])
        scores.append(getattr(sb, metric)(y[test], model.predict(X[test]), yerr=yerr[test]))
    return scores


# the mapping ---------------------------------------------------------------------------------------


def test_every_metric_has_a_scorer():
    from scorebars.metrics.registry import declarations

    names = {name if d.greater_is_better else f"neg_{name}" for name, d in declarations().items()} - {"neg_mean_error"}
    assert set(sb.scorers) == names and len(sb.scorers) == len(names)
    assert "r2_score" in sb.scorers and "mean_squared_error" not in sb.scorers
    assert all(sb.scorers[name]._sign == (-1 if name.startswith("neg_") else 1) for name in names)
    assert "neg_max_error" in repr(sb.scorers)


THEIRS = {
    "neg_mean_squared_error": "neg_mean_squared_error",
    "neg_median_absolute_error": "neg_median_absolute_error",
    "r2_score": "r2",
    "accuracy_score": "accuracy",
    "f1_score": "f1",
    "neg_log_loss": "neg_log_loss",
    "neg_brier_score_loss": "neg_brier_score",
    "roc_auc_score": "roc_auc",
    "average_precision_score": "average_precision",
}


@pytest.mark.parametrize("name", THEIRS)
def test_without_errors_they_are_theirs(name):
    classes = getattr(sb, name.removeprefix("neg_")).declaration.task == "classification"
    model, y = (LogisticRegression(), CLASSES) if classes else (Ridge(), Y)
    model.fit(X, y)
    found, wanted = sb.scorers[name](model, X, y), their_scorer(THEIRS[name])(model, X, y)
    assert type(found) is float and found == pytest.approx(wanted, rel=1e-12)


def test_answers_of_a_score():
    model = Ridge().fit(X, Y)
    score = sb.mean_squared_error(Y, model.predict(X), yerr=SIGMA)
    for answer in ("observed", "expected", "truth", "perfect", "std", "noise_share", "sampling_std"):
        scorer = sb.scorers.get_scorer("mean_squared_error", answer=answer, yerr=SIGMA)
        sign = -1 if answer in ("observed", "expected", "truth", "perfect") else 1
        assert scorer(model, X, Y) == sign * float(getattr(score, answer))
        assert pickle.loads(pickle.dumps(scorer))(model, X, Y) == scorer(model, X, Y)


def test_options_go_to_the_metric():
    model = LogisticRegression().fit(X, CLASSES)
    scorer = sb.scorers.get_scorer("f1_score", average="macro", yerr=0.1)
    assert scorer(model, X, CLASSES) == sb.f1_score(CLASSES, model.predict(X), average="macro", yerr=0.1)
    inside = sb.scorers.get_scorer("fraction_within", tolerance=0.5)
    assert inside(Ridge().fit(X, Y), X, Y) > 0.5
    with pytest.raises(TypeError, match="tolerance"):
        sb.scorers["fraction_within"](Ridge().fit(X, Y), X, Y)


def test_bad_names():
    with pytest.raises(ValueError, match=r"there is no scorer 'mean_square_error'. Near matches: mean_squared_error"):
        sb.scorers.get_scorer("mean_square_error")
    with pytest.raises(ValueError, match="mean_error is not a scorer: of two biases neither sign is better"):
        sb.scorers["neg_mean_error"]
    with pytest.raises(ValueError, match=r"answer must be one of observed, expected, .* got 'bias'"):
        sb.scorers.get_scorer("r2_score", answer="bias")


def test_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(ImportError, match=r"scorers needs scikit-learn: pip install 'scorebars\[sklearn\]'"):
        sb.scorers["r2_score"]


# errors go along with the labels -------------------------------------------------------------------

MODELS = {
    "array": SIGMA,
    "list": SIGMA.tolist(),
    "Normal": sb.Normal(SIGMA),
    "Normal for all": sb.Normal(0.3),
    "covariance": sb.Normal(cov=np.diag(SIGMA**2) + 0.01),
    "shared": sb.Normal(SIGMA, shared=0.1 * SIGMA),
    "SplitNormal": sb.SplitNormal(SIGMA, 2 * SIGMA),
    "Uniform": sb.Uniform(SIGMA),
    "StudentT": sb.StudentT(SIGMA, 9.0),
    "Empirical": sb.Empirical(Y[:, None] + SIGMA[:, None] * np.array([-1.0, 0.0, 1.0])),
    "Repeats": sb.Repeats.from_means(sigma=SIGMA, n=np.full(N, 3)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_error_model_is_split(kind, routing):
    yerr = MODELS[kind]
    scorer = sb.scorers["neg_mean_squared_error"].set_score_request(yerr=True)
    found = cross_validate(Ridge(), X, Y, scoring=scorer, cv=CV, params={"yerr": yerr})["test_score"]
    wanted = by_hand("mean_squared_error", np.array(yerr) if isinstance(yerr, list) else yerr)
    np.testing.assert_array_equal(found, [-s for s in wanted])


CLASS_MODELS = {
    "array": np.full(N, 0.1),
    "Flip": sb.Flip(np.linspace(0.0, 0.2, N)),
    "ClassFlip": sb.ClassFlip({0: 0.1, 1: 0.2}),
    "Transition": sb.Transition([[0.9, 0.1], [0.2, 0.8]], [0, 1]),
    "Votes": sb.Votes(np.column_stack([5 - 4 * CLASSES, 1 + 4 * CLASSES]), [0, 1]),
    "LabelProbabilities": sb.LabelProbabilities(np.column_stack([0.9 - 0.8 * CLASSES, 0.1 + 0.8 * CLASSES]), [0, 1]),
    "Thresholded": sb.Thresholded(Y, SIGMA, 0.0),
}


@pytest.mark.parametrize("kind", CLASS_MODELS)
def test_every_class_error_model_is_split(kind, routing):
    yerr = CLASS_MODELS[kind]
    scorer = sb.scorers["accuracy_score"].set_score_request(yerr=True)
    found = cross_validate(LogisticRegression(), X, CLASSES, scoring=scorer, cv=CV, params={"yerr": yerr})
    whole = np.broadcast_to(yerr, (N,)) if kind == "array" else yerr
    wanted = by_hand("accuracy_score", whole, LogisticRegression(), CLASSES)
    np.testing.assert_array_equal(found["test_score"], [float(s) for s in wanted])


def test_a_model_for_all_labels_has_no_shape():
    assert sb.Normal(SIGMA).shape == (N,) and not hasattr(sb.Normal(0.1), "shape")
    assert sb.Normal(SIGMA)[np.array([1, 2]), ...].size == 2


def test_lower_and_upper_errors_need_a_model(routing):
    scorer = sb.scorers["neg_mean_squared_error"].set_score_request(yerr=True)
    with pytest.raises(ValueError, match=r"yerr has shape \(2, 60\) but y_true has shape \(15,\)"):
        cross_val_score(Ridge(), X, Y, scoring=scorer, cv=CV, params={"yerr": [SIGMA, SIGMA]}, error_score="raise")


def test_errors_that_nobody_asked_for_are_refused(routing):
    with pytest.raises((ValueError, TypeError), match="yerr"):  # which one depends on the version
        cross_validate(Ridge(), X, Y, scoring=sb.scorers["r2_score"], params={"yerr": SIGMA})


def test_the_plain_functions_route_too(routing):
    scorer = make_scorer(sb.mean_absolute_error, greater_is_better=False).set_score_request(yerr=True)
    found = cross_validate(Ridge(), X, Y, scoring=scorer, cv=CV, params={"yerr": SIGMA})["test_score"]
    np.testing.assert_array_equal(found, [-s for s in by_hand("mean_absolute_error", SIGMA)])


@pytest.mark.parametrize("jobs", [None, 2])
def test_searches(jobs, routing):
    scoring = {
        answer: sb.scorers.get_scorer("mean_squared_error", answer=answer).set_score_request(yerr=True)
        for answer in ("observed", "truth", "std")
    }
    grid = {"alpha": [0.01, 1.0, 100.0]}
    search = GridSearchCV(Ridge(), grid, scoring=scoring, refit="truth", cv=CV, n_jobs=jobs)
    search.fit(X, Y, yerr=sb.Normal(SIGMA))
    results = search.cv_results_
    for k, alpha in enumerate(grid["alpha"]):
        wanted = by_hand("mean_squared_error", SIGMA, Ridge(alpha=alpha))
        assert results["mean_test_truth"][k] == pytest.approx(-np.mean([float(s.truth) for s in wanted]))
        assert results["mean_test_std"][k] == pytest.approx(np.mean([s.std for s in wanted]))
    assert search.best_params_ == {"alpha": grid["alpha"][int(np.argmax(results["mean_test_truth"]))]}
    drawn = RandomizedSearchCV(Ridge(), grid, n_iter=2, scoring=scoring, refit="truth", cv=CV, random_state=0)
    drawn.fit(X, Y, yerr=SIGMA)
    assert len(drawn.cv_results_["params"]) == 2


def test_permutation_importance():
    model = Ridge().fit(X, Y)
    scorer = sb.scorers.get_scorer("mean_absolute_error", yerr=SIGMA)
    found = permutation_importance(model, X, Y, scoring=scorer, n_repeats=3, random_state=0)
    assert found.importances_mean[1] > found.importances_mean[0] > 0
    score = sb.mean_absolute_error(Y, model.predict(X), yerr=SIGMA)
    assert np.all(-found.importances - score < 0)


def test_pandas_rows(routing):
    pd = pytest.importorskip("pandas")
    rows = [f"r{k}" for k in range(N)]
    y, yerr = pd.Series(Y, index=rows), pd.Series(SIGMA, index=rows)
    scorer = sb.scorers["neg_mean_squared_error"].set_score_request(yerr=True)
    found = cross_validate(LinearRegression(), X, y, scoring=scorer, cv=CV, params={"yerr": yerr})["test_score"]
    np.testing.assert_array_equal(found, [-s for s in by_hand("mean_squared_error", SIGMA, LinearRegression())])
    shuffled = yerr.sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match="y_true and yerr have different row labels"):
        cross_val_score(Ridge(), X, y, scoring=scorer, cv=CV, params={"yerr": shuffled}, error_score="raise")


# a real search -------------------------------------------------------------------------------------


def test_grid_search_of_supernova_magnitudes(capsys):
    """Most of the observed error is label error: against the truth, settings differ by factors, not by a third."""
    import runpy
    from pathlib import Path

    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "grid_search.py"))
    search = example["main"]()
    found = search.cv_results_
    observed, truth, perfect = (-found[f"mean_test_{a}"] for a in ("observed", "truth", "perfect"))
    np.testing.assert_allclose(observed - truth, perfect, rtol=1e-12)
    worst, best = 0, int(np.argmin(truth))
    assert observed[worst] / observed[best] < 1.5 and truth[worst] / truth[best] > 3
    assert search.best_params_["n_neighbors"] == 8
    assert "noise floor" in capsys.readouterr().out
    assert KNeighborsRegressor in type(search.best_estimator_).__mro__
