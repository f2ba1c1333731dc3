"""Metrics of a K-class confusion matrix against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as sk

from scorebars.moments import confusion_metrics as cm

K = 4


def labels(seed, n=60, missing=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K - missing, n)
    pred = np.where(rng.random(n) < 0.6, y, rng.integers(0, K - missing, n))
    weight = rng.random(n)
    return y, pred, weight, sk.confusion_matrix(y, pred, labels=range(K), sample_weight=weight).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_plain_metrics(seed):
    y, pred, w, c = labels(seed)
    assert cm.accuracy(c) == pytest.approx(sk.accuracy_score(y, pred, sample_weight=w))
    assert cm.matthews(c) == pytest.approx(sk.matthews_corrcoef(y, pred, sample_weight=w))
    for adjusted in (False, True):
        expected = sk.balanced_accuracy_score(y, pred, sample_weight=w, adjusted=adjusted)
        assert cm.balanced_accuracy(c, adjusted) == pytest.approx(expected)
    for weights in (None, "linear", "quadratic"):
        expected = sk.cohen_kappa_score(y, pred, weights=weights, sample_weight=w)
        assert cm.cohen_kappa(c, weights) == pytest.approx(expected)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("missing", [False, True])
def test_averages(average, zero_division, missing):
    y, pred, w, c = labels(7, missing=missing)
    options = {"average": average, "zero_division": zero_division, "sample_weight": w, "labels": range(K)}
    pairs = [
        (cm.precision_per_class(c), sk.precision_score(y, pred, **options)),
        (cm.recall_per_class(c), sk.recall_score(y, pred, **options)),
        (cm.f_beta_per_class(c, 2.0), sk.fbeta_score(y, pred, beta=2.0, **options)),
    ]
    for per_class, expected in pairs:
        assert cm.averaged(per_class, c, average, zero_division) == pytest.approx(expected)


def test_per_class_and_pooled():
    y, pred, w, c = labels(3)
    np.testing.assert_allclose(cm.f_beta_per_class(c), sk.f1_score(y, pred, average=None, sample_weight=w))
    np.testing.assert_allclose(cm.jaccard_per_class(c), sk.jaccard_score(y, pred, average=None, sample_weight=w))
    one_hot = np.eye(K, dtype=int)
    for k in range(K):
        tn, fp, _, _ = sk.confusion_matrix(one_hot[y][:, k], one_hot[pred][:, k], sample_weight=w).ravel()
        assert cm.specificity_per_class(c)[k] == pytest.approx(tn / (tn + fp))
    multi = sk.multilabel_confusion_matrix(one_hot[y], one_hot[pred], sample_weight=w).sum(0)
    np.testing.assert_allclose(cm.pooled(c), multi)
    micro = sk.f1_score(y, pred, average="micro", sample_weight=w)
    assert cm.f_beta_per_class(cm.pooled(c))[1] == pytest.approx(micro)


def test_constant_labels():
    c = np.array([[3.3, 0.7, 1e-3], [0, 0, 0], [0, 0, 0]])
    assert cm.matthews(c) == 0
    only = np.array([[5.0, 0], [0, 0]])
    assert np.isnan(cm.cohen_kappa(only)) and cm.balanced_accuracy(only) == 1.0
    assert np.isnan(cm.balanced_accuracy(only, adjusted=True))
