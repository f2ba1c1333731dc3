"""The observed score is scikit-learn's, with and without label errors, for all options."""

import warnings

import numpy as np
import pytest
from classification_cases import AVERAGED, METRICS, OF_CLASSES, confusion_matrix

theirs = pytest.importorskip("sklearn.metrics")
RNG = np.random.default_rng(11)
SITUATIONS = []
for classes, texts, weighted in [(2, False, False), (2, True, True), (3, False, True), (4, True, False)]:
    y = RNG.integers(0, classes, 40)
    p = np.where(RNG.random(40) < 0.6, y, RNG.integers(0, classes, 40))
    names = np.array(["ant", "bee", "cow", "dog"]) if texts else np.arange(4)
    SITUATIONS.append((names[y], names[p], RNG.random(40) + 0.1 if weighted else None))
IDS = ["binary", "binary texts weighted", "three weighted", "four texts"]
pytestmark = pytest.mark.filterwarnings("ignore")


def observed(found):
    return np.array([s.observed for s in found]) if isinstance(found, tuple) else found.observed


@pytest.mark.parametrize("yerr", [None, 0.1], ids=["exact", "flips"])
@pytest.mark.parametrize("data", SITUATIONS, ids=IDS)
@pytest.mark.parametrize("name", [n for n in OF_CLASSES if hasattr(theirs, n) and n not in AVERAGED])
def test_metrics_of_all_classes(name, data, yerr):
    y, p, w = data
    ours = METRICS[name][0](y, p, yerr=yerr, sample_weight=w)
    assert ours.observed == pytest.approx(getattr(theirs, name)(y, p, sample_weight=w), abs=1e-14)
    if yerr is None:
        assert float(ours) == ours.observed
        assert ours.std == 0
        assert float(ours.truth) == ours.observed


@pytest.mark.parametrize("average", ["binary", "micro", "macro", "weighted", None])
@pytest.mark.parametrize("data", SITUATIONS, ids=IDS)
@pytest.mark.parametrize("name", [n for n in AVERAGED if hasattr(theirs, n)])
def test_averages(name, data, average):
    y, p, w = data
    classes = np.union1d(y, p)
    options = {"average": average, "sample_weight": w} | {k: v for k, v in METRICS[name][1].items() if k == "beta"}
    if average == "binary":
        if len(classes) > 2:
            with pytest.raises(ValueError, match="Target is multiclass but average='binary'"):
                METRICS[name][0](y, p, **options)
            return
        options["pos_label"] = classes[0].item()
    for labels in (None, [classes[1].item(), classes[0].item()]):
        if labels is not None and average == "binary":
            continue
        ours = METRICS[name][0](y, p, yerr=0.1, labels=labels, **options)
        wanted = getattr(theirs, name)(y, p, labels=labels, **options)
        np.testing.assert_allclose(observed(ours), wanted, atol=1e-14)


@pytest.mark.parametrize("zero_division", ["warn", 0.0, 1.0, np.nan])
@pytest.mark.parametrize("average", ["binary", "macro", "weighted", "micro", None])
@pytest.mark.parametrize("name", ["precision_score", "recall_score", "f1_score"])
def test_zero_division(name, average, zero_division):
    y, p = [0, 0, 0, 0], [0, 0, 0, 0]
    options = {"zero_division": zero_division, "average": average}
    if average != "binary":
        options["labels"] = [0, 1, 2]
    wanted = getattr(theirs, name)(y, p, **options)
    ours = METRICS[name][0](y, p, **options)
    np.testing.assert_allclose(observed(ours), wanted, atol=1e-14)
    never = np.isnan(np.atleast_1d(wanted)) & (name == "precision_score")  # nothing is predicted, whatever the labels
    found = np.atleast_1d(np.asarray(METRICS[name][0](y, p, yerr=0.2, **options), dtype=float))
    np.testing.assert_array_equal(np.isnan(found), never)


@pytest.mark.parametrize(
    "options", [{"weights": "linear"}, {"weights": "quadratic"}, {"labels": [1, 0]}, {"adjusted": True}]
)
def test_options_of_agreement(options):
    y, p, w = SITUATIONS[2]
    name = "balanced_accuracy_score" if "adjusted" in options else "cohen_kappa_score"
    wanted = getattr(theirs, name)(y, p, sample_weight=w, **options)
    assert METRICS[name][0](y, p, yerr=0.1, sample_weight=w, **options).observed == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
@pytest.mark.parametrize("data", SITUATIONS, ids=IDS)
def test_confusion_matrix(data, normalize):
    y, p, w = data
    for labels in (None, np.union1d(y, p)[::-1]):
        wanted = theirs.confusion_matrix(y, p, sample_weight=w, normalize=normalize, labels=labels)
        ours = confusion_matrix(y, p, yerr=0.1, sample_weight=w, normalize=normalize, labels=labels)
        np.testing.assert_allclose(ours.observed, wanted, atol=1e-14)
        assert np.asarray(confusion_matrix(y, p, normalize=normalize)).shape == ours.shape


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["log_loss", "brier_score_loss"])
def test_probabilities(name, classes, weighted):
    y = RNG.integers(0, classes, 40)
    proba = RNG.dirichlet(np.ones(classes), 40)
    proba[0] = np.eye(classes)[0]
    w = RNG.random(40) if weighted else None
    function = METRICS[name][0]
    wanted = getattr(theirs, name)(y, proba, sample_weight=w)
    assert function(y, proba, yerr=0.1, sample_weight=w).observed == pytest.approx(wanted, abs=1e-14)
    if classes == 2:
        wanted = getattr(theirs, name)(y, proba[:, 1], sample_weight=w)
        assert function(y, proba[:, 1], yerr=0.1, sample_weight=w).observed == pytest.approx(wanted, abs=1e-14)
    if name == "log_loss":
        wanted = theirs.log_loss(y, proba, sample_weight=w, normalize=False)
        assert function(y, proba, sample_weight=w, normalize=False).observed == pytest.approx(wanted, rel=1e-14)
    else:
        wanted = theirs.brier_score_loss(y, proba, scale_by_half=False)
        assert function(y, proba, scale_by_half=False).observed == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_rankings(weighted):
    y, s = RNG.integers(0, 2, 50), RNG.normal(size=50).round(1)
    w = RNG.random(50) if weighted else None
    for name in ("roc_auc_score", "average_precision_score"):
        wanted = getattr(theirs, name)(y, s, sample_weight=w)
        assert METRICS[name][0](y, s, yerr=0.1, sample_weight=w).observed == pytest.approx(wanted, abs=1e-14)
    wanted = theirs.average_precision_score(y, s, pos_label=0)
    assert METRICS["average_precision_score"][0](y, s, yerr=0.1, pos_label=0).observed == pytest.approx(
        wanted, abs=1e-14
    )


def test_rankings_of_many_classes():
    y, s = RNG.integers(0, 3, 50), RNG.dirichlet(np.ones(3), 50)
    for average in ("macro", "weighted", "micro", None):
        ours = METRICS["roc_auc_score"][0](y, s, multi_class="ovr", average=average)
        np.testing.assert_allclose(
            observed(ours), theirs.roc_auc_score(y, s, multi_class="ovr", average=average), atol=1e-14
        )
        ours = METRICS["average_precision_score"][0](y, s, average=average)
        np.testing.assert_allclose(observed(ours), theirs.average_precision_score(y, s, average=average), atol=1e-14)
    for average in ("macro", "weighted"):
        ours = METRICS["roc_auc_score"][0](y, s, multi_class="ovo", average=average)
        assert ours.observed == pytest.approx(theirs.roc_auc_score(y, s, multi_class="ovo", average=average), abs=1e-14)


@pytest.mark.parametrize("k", [1, 2])
def test_top_k(k):
    y, s, w = RNG.integers(0, 4, 50), RNG.random((50, 4)).round(1), RNG.random(50)
    for normalize in (True, False):
        wanted = theirs.top_k_accuracy_score(y, s, k=k, sample_weight=w, normalize=normalize)
        ours = METRICS["top_k_accuracy_score"][0](y, s, k=k, yerr=0.1, sample_weight=w, normalize=normalize)
        assert ours.observed == pytest.approx(wanted, rel=1e-14)


def test_bad_input_is_refused_by_both():
    cases = [
        ("precision_score", ([0, 1], [0, 1]), {"average": "none"}),
        ("precision_score", ([0, 1], [0, 1]), {"pos_label": 7}),
        ("precision_score", ([0, 1], [0, 1]), {"zero_division": 2}),
        ("cohen_kappa_score", ([0, 1], [0, 1]), {"weights": "cubic"}),
        ("log_loss", ([0, 1], [0.2, 1.2]), {}),
        ("log_loss", ([1, 1], [0.2, 0.8]), {"labels": None}),
        ("log_loss", ([0, 1, 2], [[0.2, 0.8]] * 3), {"labels": None}),
        ("brier_score_loss", (["a", "b"], [0.2, 0.8]), {}),
        ("roc_auc_score", ([0, 1, 2], [[0.2, 0.5, 0.3]] * 3), {"multi_class": "raise"}),
        ("roc_auc_score", ([0, 1, 2], [[0.2, 0.5, 0.9]] * 3), {"multi_class": "ovr"}),
        ("top_k_accuracy_score", ([0, 1, 2], [[0.2, 0.5]] * 3), {"labels": None}),
        ("top_k_accuracy_score", ([0, 1, 0], [0.2, 0.5, 0.1]), {"k": 0}),
    ]
    for name, args, options in cases:
        with warnings.catch_warnings(), pytest.raises(ValueError):
            warnings.simplefilter("ignore")
            getattr(theirs, name)(*args, **options)
        with pytest.raises(ValueError):
            METRICS[name][0](*args, **options)
