"""Classification metrics against exact values: every pattern of wrong labels enumerated at 50 digits."""

import json
from pathlib import Path

import numpy as np
import pytest
from classification_cases import METRICS, confusion_matrix

from scorebars.errors import Flip, LabelProbabilities, Thresholded, Transition
from scorebars.metrics.class_shares import f1_score

FILE = Path(__file__).parents[1] / "reference" / "reference.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]}
BINARY = sorted(name for name in CASES if name.startswith("binary_"))
SHARES = {"precision": "precision_score", "recall": "recall_score", "specificity": "specificity_score",
          "f1": "f1_score", "jaccard": "jaccard_score"}  # fmt: skip


def score(name, *args, **options):
    function, given = METRICS[name]
    return function(*args, **(given | options))


def agrees(s, mean, var):
    assert float(s) == pytest.approx(float(mean), rel=1e-12, abs=1e-14)
    assert s.variance == pytest.approx(float(var), rel=1e-12, abs=1e-14)
    assert float(s.distribution.mean) == pytest.approx(float(mean), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("case", BINARY)
@pytest.mark.parametrize("short", SHARES)
@pytest.mark.parametrize("given", [True, False], ids=["given defined", "zero"])
def test_binary_shares(case, short, given):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"][short]
    if given and short == "jaccard":
        pytest.skip("scikit-learn's jaccard_score has no such option")
    if given and float(exact["p_defined"]) == 0:
        s = score(SHARES[short], inputs["y"], inputs["y_pred"], yerr=inputs["q"], zero_division=np.nan)
        assert np.isnan(s)  # no label can give it a value
        return
    s = score(SHARES[short], inputs["y"], inputs["y_pred"], yerr=inputs["q"], zero_division=np.nan if given else 0.0)
    key = "given_defined" if given else "zero_division_0"
    agrees(s, exact[f"mean_{key}"], exact[f"var_{key}"])
    assert s.method == "exact"


@pytest.mark.filterwarnings("ignore:.*only one label in common")  # of the one label of a case
@pytest.mark.parametrize("case", BINARY)
@pytest.mark.parametrize(("short", "name"), [("mcc", "matthews_corrcoef"), ("kappa", "cohen_kappa_score")])
def test_binary_agreement(case, short, name):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"][short]
    s = score(name, inputs["y"], inputs["y_pred"], yerr=inputs["q"])
    agrees(s, exact["mean_zero_division_0"], exact["var_zero_division_0"])


@pytest.mark.parametrize("case", BINARY)
def test_binary_accuracy(case):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]["accuracy"]
    s = score("accuracy_score", inputs["y"], inputs["y_pred"], yerr=inputs["q"])
    agrees(s, exact["mean_zero_division_0"], exact["var_zero_division_0"])


def k_class():
    inputs = CASES["kclass_M5_transition"]["inputs"]
    return (
        inputs["y_pred"],
        LabelProbabilities(inputs["label_probs"], [0, 1, 2]),
        CASES["kclass_M5_transition"]["exact"],
    )


@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "balanced_accuracy", "kappa", "mcc"])
def test_k_classes(name):
    pred, model, exact = k_class()
    names = {"accuracy": "accuracy_score", "balanced_accuracy": "balanced_accuracy_score", "kappa": "cohen_kappa_score",
             "mcc": "matthews_corrcoef"}  # fmt: skip
    s = f1_score(None, pred, yerr=model, average="macro", labels=[0, 1, 2]) if name == "macro_f1" else score(
        names[name], None, pred, yerr=model
    )  # fmt: skip
    agrees(s, exact[name]["mean"], exact[name]["var"])
    assert s.method == "exact"
    assert float(s.truth) == float(s)


def test_confusion_matrix():
    pred, model, exact = k_class()
    c = confusion_matrix(None, pred, yerr=model)
    np.testing.assert_allclose(np.asarray(c), np.array(exact["mean_confusion"], float), atol=1e-14)
    np.testing.assert_allclose(c.covariance, np.array(exact["cov_confusion"], float), atol=1e-14)


ON_SCORES = {
    "log_loss": "log_loss",
    "log_loss_multiclass": "log_loss",
    "brier": "brier_score_loss",
    "brier_binary": "brier_score_loss",
    "roc_auc": "roc_auc_score",
    "average_precision": "average_precision_score",
}


@pytest.mark.parametrize(
    "case", [name for name, case in CASES.items() if case["metric"] in ON_SCORES and "mean" in str(case["exact"])]
)
def test_scores_of_probabilities_and_ranking(case):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]
    many = "transition" in inputs
    error = Transition(inputs["transition"], [0, 1, 2]) if many else inputs["q"]
    options = {"labels": None} if many and "log" in case else {}
    name = ON_SCORES[CASES[case]["metric"]]
    s = score(name, inputs["y"], inputs["proba" if "proba" in inputs else "score"], yerr=error, **options)
    key = {"roc_auc_score": "_given_defined", "average_precision_score": "_zero_division_0"}.get(name, "")
    agrees(s, exact[f"mean{key}"], exact[f"var{key}"])


def test_thresholded_labels():
    inputs, exact = CASES["threshold_labels_M4"]["inputs"], CASES["threshold_labels_M4"]["exact"]
    model = Thresholded(inputs["y"], inputs["sigma"], inputs["threshold"])
    np.testing.assert_allclose(model.q, np.array(exact["q"], float), rtol=1e-12)
    s = score("accuracy_score", None, inputs["y_pred"], yerr=model)
    agrees(s, exact["mean"], exact["var"])
    np.testing.assert_allclose(
        s.distribution.pmf(np.arange(5) / 4), np.array(exact["pmf_count_correct"], float), atol=1e-14
    )


@pytest.mark.parametrize("case", ["truth_accuracy_uniform", "truth_accuracy_K10"])
@pytest.mark.parametrize("model", ["Flip", "Transition"])
def test_truth_of_accuracy(case, model):
    """The closed form, by the fast path of Flip and by the general inversion."""
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]
    k, q = inputs.get("K", 2), inputs["q"]
    y = np.arange(inputs["M"]) % k
    pred = np.where(np.arange(inputs["M"]) < inputs["n_correct"], y, (y + 1) % k)
    error = Flip(q) if model == "Flip" else Transition(Flip(q).transition(np.arange(k)), range(k))
    truth = score("accuracy_score", y, pred, yerr=error).truth
    assert float(truth) == pytest.approx(float(exact["estimate"]), rel=1e-12)
    if "var_estimate" in exact:
        assert truth.std**2 == pytest.approx(float(exact["var_estimate"]), rel=1e-12)


def test_truth_of_log_loss():
    case = CASES["truth_log_loss_M4"]
    s = score("log_loss", case["inputs"]["y"], case["inputs"]["proba"], yerr=case["inputs"]["q"])
    assert s.observed == pytest.approx(float(case["exact"]["observed"]), rel=1e-12)
    assert float(s.truth) == pytest.approx(float(case["exact"]["estimate"]), rel=1e-12)


def test_truth_of_confusion():
    inputs, exact = CASES["truth_confusion_K3"]["inputs"], CASES["truth_confusion_K3"]["exact"]
    pairs = [(k, m) for k in range(3) for m in range(3) for _ in range(inputs["confusion"][k][m])]
    y, pred = np.array(pairs).T
    c = confusion_matrix(y, pred, yerr=Transition(inputs["transition"], [0, 1, 2]))
    np.testing.assert_array_equal(c.observed, inputs["confusion"])
    np.testing.assert_allclose(c.truth.value, np.array(exact["estimate"], float), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(c), np.array(exact["expected"], float), rtol=1e-12)
    assert np.all(c.truth_constrained >= 0)
    np.testing.assert_allclose(c.truth_constrained.sum(axis=0), c.observed.sum(axis=0), rtol=1e-12)
    truth = score("accuracy_score", y, pred, yerr=Transition(inputs["transition"], [0, 1, 2])).truth
    assert float(truth) == pytest.approx(float(exact["accuracy"]), rel=1e-12)


def test_truth_of_accuracy_label_by_label():
    case = CASES["truth_accuracy_per_label"]
    s = score("accuracy_score", case["inputs"]["y"], case["inputs"]["y_pred"], yerr=case["inputs"]["q"])
    assert float(s.truth) == pytest.approx(float(case["exact"]["estimate"]), rel=1e-12)
    assert s.truth.std**2 == pytest.approx(float(case["exact"]["var_estimate"]), rel=1e-12)
    assert float(s.perfect) == pytest.approx(float(case["exact"]["perfect"]), rel=1e-12)
