"""Where a classical score is 0/0 the user is told, as by scikit-learn."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import scorebars as sb

UNDEFINED = pytest.importorskip("sklearn.exceptions").UndefinedMetricWarning
ONES = [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sb.precision_score([0, 1], [0, 0]),
            "Precision is ill-defined and being set to 0.0 due to no predicted samples",
        ),
        (lambda: sb.recall_score([0, 0], [0, 1]), "Recall is ill-defined and being set to 0.0 due to no true samples"),
        (lambda: sb.f1_score([0, 0], [0, 0]), "F-score is ill-defined .* due to no true nor predicted samples"),
        (lambda: sb.jaccard_score([0, 0], [0, 0]), "Jaccard is ill-defined .* due to no true or predicted samples"),
        (lambda: sb.specificity_score([1, 1], [0, 1]), "Specificity is ill-defined .* no true negative samples"),
        (lambda: sb.precision_score([0, 1], [0, 0], average="macro"), "in labels with no predicted samples"),
        (lambda: sb.precision_score([0, 1], [0, 1], average="micro", labels=[2]), "due to no predicted samples"),
        (lambda: sb.cohen_kappa_score(ONES, ONES), "have only one label in common"),
        (lambda: sb.cohen_kappa_score([0, 1], [2, 2], labels=[0, 1]), "contains no labels that are present in both"),
        (lambda: sb.roc_auc_score(ONES, [0.1, 0.2, 0.3]), "Only one class is present in y_true"),
        (lambda: sb.average_precision_score(ONES, [0.1, 0.2, 0.3]), "No positive class found in y_true"),
        (
            lambda: sb.top_k_accuracy_score([0, 1], [0.1, 0.9], k=2),
            r"'k' \(2\) greater than or equal to 'n_classes' \(2\)",
        ),
    ],
)
def test_undefined_scores_warn(call, message):
    with pytest.warns(UNDEFINED, match=message):
        call()


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_no_warning_where_the_user_has_decided(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (sb.precision_score, sb.recall_score, sb.f1_score, sb.specificity_score):
            function([0, 1], [1, 0], zero_division=value)
        sb.precision_score([0, 1], [0, 0], zero_division=value)


def test_without_scikit_learn_it_is_a_plain_warning():
    code = (
        "import warnings, scorebars as sb\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    sb.precision_score([0, 1], [0, 0])\n"
        "print(*[w.category.__name__ for w in seen])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "UserWarning"


def test_other_warnings_of_the_namesakes():
    with pytest.warns(UserWarning, match="A single label was found in 'y_true' and 'y_pred'"):
        assert sb.confusion_matrix(ONES, ONES).shape == (1, 1)
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        sb.balanced_accuracy_score([0, 0], [0, 1])
    with pytest.warns(UserWarning, match=r"Labels passed were \['b', 'a'\]. .* Pass the ordered labels=\['a', 'b'\]"):
        sb.log_loss(["a", "b"], [[0.9, 0.1], [0.2, 0.8]], labels=["b", "a"])


def test_pairs_of_the_classes_that_are_there():
    """One-vs-one AUC leaves out pairs with a class that no label shows, as scikit-learn does."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.array([[0.2, 0.0, 0.8], [0.6, 0.0, 0.4], [0.55, 0.0, 0.45], [0.4, 0.0, 0.6]])
    for average in ("macro", "weighted"):
        options = {"labels": [0, 1, 2], "multi_class": "ovo", "average": average}
        found = sb.roc_auc_score([0, 2, 0, 2], scores, **options)
        assert found.observed == pytest.approx(metrics.roc_auc_score([0, 2, 0, 2], scores, **options), rel=1e-14)
        noisy = sb.roc_auc_score([0, 2, 0, 2], scores, yerr=0.1, **options)
        assert 0 <= noisy.expected <= 1 and np.isfinite(noisy.std)


def test_a_confusion_matrix_reads_like_an_array():
    y, p = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1]
    exact, noisy = sb.confusion_matrix(y, p), sb.confusion_matrix(y, p, yerr=0.1)
    tn, fp, fn, tp = exact.ravel()
    assert (tn, fp, fn, tp) == (2, 0, 1, 2) and exact.dtype == np.int64 and exact.sum() == 5
    assert exact[1, 0] == 1 and len(exact) == 2 and exact.tolist() == [[2, 0], [1, 2]]
    np.testing.assert_allclose(noisy / noisy.sum(), noisy.expected / 5)
    np.testing.assert_array_equal(exact.T, [[2, 1], [0, 2]])
    with pytest.raises(AttributeError, match="'ConfusionMatrix' object has no attribute 'iloc'"):
        exact.iloc  # noqa: B018


def test_scores_are_indexed_like_arrays():
    scores = sb.recall_score([0, 1, 2], [0, 1, 1], average=None)
    assert isinstance(scores[0], sb.Score) and list(scores[[2, 0]]) == [0.0, 1.0]
    assert list(scores[np.array([True, False, True])]) == [1.0, 0.0] and isinstance(scores[1:], sb.Scores)
