"""Class metrics of very many classes say how much memory they would take, instead of taking it."""

import numpy as np
import pytest

import scorebars as sb
from scorebars import checks

N, K = 1000, 200
RNG = np.random.default_rng(0)
Y = np.arange(N) % K
P = np.where(RNG.random(N) < 0.7, Y, RNG.integers(0, K, N))
Q = RNG.uniform(0.01, 0.2, N)


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 30)


@pytest.mark.parametrize("metric", ["balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score", "f1_score"])
def test_the_covariance_that_does_not_fit(small_machine, metric):
    options = {"average": "macro"} if metric == "f1_score" else {}
    with pytest.raises(
        ValueError, match=r"confusion matrix of 200 classes needs .* GiB of memory, and 1\.0 GiB are free\. Merge rare"
    ):
        _ = getattr(sb, metric)(Y, P, yerr=Q, **options).std


def test_the_confusion_matrix_itself(small_machine):
    with pytest.raises(ValueError, match=r"needs .* GiB of memory.*accuracy_score"):
        _ = sb.confusion_matrix(Y, P, yerr=Q).covariance


def test_probabilities_of_each_label(monkeypatch):
    monkeypatch.setattr(checks, "_ALWAYS", 1 << 20)
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 20)
    with pytest.raises(ValueError, match=r"the probabilities of 200 classes for each of 1,000 labels needs"):
        _ = sb.balanced_accuracy_score(Y, P, yerr=Q).std


def test_accuracy_needs_no_more_for_more_classes(monkeypatch):
    monkeypatch.setattr(checks, "_ALWAYS", 0)
    monkeypatch.setattr(checks, "free_memory", lambda: 1)
    assert 0 < sb.accuracy_score(Y, P, yerr=Q).std < 0.1


def test_free_memory_is_a_number():
    assert 1 << 20 < checks.free_memory() <= 1 << 62
