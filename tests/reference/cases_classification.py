"""Wrong class labels: every pattern of wrong labels enumerated, with its probability.

Sums of at most a few hundred terms at 60 digits; a result below 1e-50 is rounding and is stored as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import mpmath as mp
from cases_losses import count_law
from high_precision import Case, Real, exact, integrate, normal_pdf, pieces, total

Outcomes = list[tuple[Real, Any]]  # probability, value


def chop(x: Real) -> Real:
    return mp.mpf(0) if abs(x) < mp.mpf(10) ** -50 else x


def mean_var(outcomes: Outcomes) -> dict[str, Real]:
    mean = total(p * v for p, v in outcomes)
    return {"mean": chop(mean), "var": chop(total(p * (v - mean) ** 2 for p, v in outcomes))}


def flip_patterns(labels: list[int], q: list[Real]) -> Iterator[tuple[Real, list[int]]]:
    """All 2^M binary label vectors with their probabilities."""
    for flips in product((0, 1), repeat=len(labels)):
        chance = mp.fprod(chance if flip else 1 - chance for flip, chance in zip(flips, q, strict=True))
        if chance > 0:
            yield chance, [y ^ flip for y, flip in zip(labels, flips, strict=True)]


def label_patterns(chances: list[list[Real]]) -> Iterator[tuple[Real, tuple[int, ...]]]:
    """All K^M label vectors with their probabilities."""
    for labels in product(range(len(chances[0])), repeat=len(chances)):
        chance = mp.fprod(row[k] for row, k in zip(chances, labels, strict=True))
        if chance > 0:
            yield chance, labels


# ------------------------------------------------------------------------------------------------ two classes


def ratio(a: int, b: int) -> Real | None:
    return mp.mpf(a) / b if b else None


def matthews(tp: int, fp: int, fn: int, tn: int) -> Real | None:
    norm = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / mp.sqrt(norm) if norm else None


def kappa(tp: int, fp: int, fn: int, tn: int) -> Real | None:
    size = tp + fp + fn + tn
    by_chance = mp.mpf((tp + fp) * (tp + fn) + (tn + fp) * (tn + fn)) / size**2
    return (mp.mpf(tp + tn) / size - by_chance) / (1 - by_chance) if by_chance != 1 else None


def balanced(tp: int, fp: int, fn: int, tn: int) -> Real | None:
    recalls = [ratio(tp, tp + fn), ratio(tn, tn + fp)]
    return None if None in recalls else sum(recalls) / 2


BINARY: dict[str, Callable[[int, int, int, int], Real | None]] = {
    "accuracy": lambda tp, fp, fn, tn: ratio(tp + tn, tp + fp + fn + tn),
    "precision": lambda tp, fp, fn, tn: ratio(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: ratio(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: ratio(tn, tn + fp),
    "f1": lambda tp, fp, fn, tn: ratio(2 * tp, 2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn, tn: ratio(tp, tp + fp + fn),
    "balanced_accuracy": balanced,
    "mcc": matthews,
    "kappa": kappa,
}


def defined_or_zero(outcomes: list[tuple[Real, Real | None]]) -> dict[str, Real]:
    """Moments given that the metric is defined, and with 0 where it is not."""
    defined = [(p, v) for p, v in outcomes if v is not None]
    chance = total(p for p, _ in defined)
    found = {"p_defined": chance}
    if chance > 0:
        given = mean_var([(p / chance, v) for p, v in defined])
        found |= {"mean_given_defined": given["mean"], "var_given_defined": given["var"]}
    zeros = mean_var([(p, mp.mpf(0) if v is None else v) for p, v in outcomes])
    return found | {"mean_zero_division_0": zeros["mean"], "var_zero_division_0": zeros["var"]}


def binary(inputs: dict[str, Any]) -> dict[str, Any]:
    prediction = inputs["y_pred"]
    tables = []
    for chance, labels in flip_patterns(inputs["y"], exact(inputs["q"])):
        pairs = list(zip(labels, prediction, strict=True))
        tables.append((chance, tuple(pairs.count(cell) for cell in ((1, 1), (0, 1), (1, 0), (0, 0)))))
    found: dict[str, Any] = {
        name: defined_or_zero([(chance, function(*table)) for chance, table in tables])
        for name, function in BINARY.items()
    }
    hits = range(len(prediction) + 1)
    found["accuracy"]["pmf_count_correct"] = [total(p for p, t in tables if t[0] + t[3] == k) for k in hits]
    return found


def accuracy_of_many(inputs: dict[str, Any]) -> dict[str, Any]:
    """n_correct of M labels agree with the prediction; each label flips with the same q."""
    right, size, q = inputs["n_correct"], inputs["M"], exact(inputs["q"])
    law = count_law([1 - q] * right + [q] * (size - right))
    outcomes = [(chance, mp.mpf(k) / size) for k, chance in enumerate(law)]
    shared = [(1 - q, mp.mpf(right) / size), (q, mp.mpf(size - right) / size)]
    return mean_var(outcomes) | {
        "cdf_count": [{"k": k, "p": total(law[: k + 1])} for k in (75, 80, 81, 82, 88)],
        "var_shared_flip": mean_var(shared)["var"],
    }


def accuracy_difference(inputs: dict[str, Any]) -> dict[str, Any]:
    a, b = inputs["pred_a"], inputs["pred_b"]
    outcomes = []
    for chance, labels in flip_patterns(inputs["y"], exact(inputs["q"])):
        hits = [sum(y == p for y, p in zip(labels, prediction, strict=True)) for prediction in (a, b)]
        outcomes.append((chance, hits[0] - hits[1]))
    values = sorted({value for _, value in outcomes})
    pmf = {value: total(p for p, v in outcomes if v == value) for value in values}
    return mean_var([(p, mp.mpf(v) / len(a)) for p, v in outcomes]) | {
        "pmf": {str(value): chance for value, chance in pmf.items()},
        "p_a_better": total(p for v, p in pmf.items() if v > 0),
        "p_tie": pmf.get(0, mp.mpf(0)),
    }


def threshold(inputs: dict[str, Any]) -> dict[str, Any]:
    """Labels 1 above a cut of a measured value: the probability that a fresh value falls on the other side."""
    cut, flips, hits = exact(inputs["threshold"]), [], []
    for y, s, prediction in zip(exact(inputs["y"]), exact(inputs["sigma"]), inputs["y_pred"], strict=True):
        distance = abs(y - cut)
        q = mp.mpf(0) if s == 0 else integrate(normal_pdf, pieces(distance / s, distance / s + 18, [], 3))
        flips.append(q)
        hits.append(1 - q if int(y > cut) == prediction else q)
    law = count_law(hits)
    outcomes = [(chance, mp.mpf(k) / len(hits)) for k, chance in enumerate(law)]
    return {"q": flips} | mean_var(outcomes) | {"pmf_count_correct": law}


# ------------------------------------------------------------------------------------------------ scores and ranking


def auc(labels: Iterable[int], score: list[float]) -> Real | None:
    pairs = list(zip(labels, score, strict=True))
    high, low = [s for y, s in pairs if y], [s for y, s in pairs if not y]
    if not high or not low:
        return None
    wins = total(mp.mpf(2 * (a > b) + (a == b)) / 2 for a in high for b in low)
    return wins / (len(high) * len(low))


def average_precision(labels: list[int], score: list[float]) -> Real | None:
    """sum over thresholds of (increase of recall) * precision; ties share a threshold."""
    positives = sum(labels)
    if not positives:
        return None
    found, before = mp.mpf(0), 0
    for cut in sorted(set(score), reverse=True):
        chosen = [y for y, s in zip(labels, score, strict=True) if s >= cut]
        found += mp.mpf(sum(chosen) - before) / positives * sum(chosen) / len(chosen)
        before = sum(chosen)
    return found


def roc_auc(inputs: dict[str, Any]) -> dict[str, Any]:
    patterns = flip_patterns(inputs["y"], exact(inputs["q"]))
    found = defined_or_zero([(chance, auc(labels, inputs["score"])) for chance, labels in patterns])
    return {key: found[key] for key in ("p_defined", "mean_given_defined", "var_given_defined")}


def average_precision_case(inputs: dict[str, Any]) -> dict[str, Any]:
    patterns = flip_patterns(inputs["y"], exact(inputs["q"]))
    return defined_or_zero([(chance, average_precision(labels, inputs["score"])) for chance, labels in patterns])


def log_loss(inputs: dict[str, Any]) -> dict[str, Any]:
    proba = exact(inputs["proba"])
    outcomes = []
    for chance, labels in flip_patterns(inputs["y"], exact(inputs["q"])):
        losses = [-mp.log(p if y else 1 - p) for y, p in zip(labels, proba, strict=True)]
        outcomes.append((chance, total(losses) / len(losses)))
    return mean_var(outcomes)


def brier_binary(inputs: dict[str, Any]) -> dict[str, Any]:
    proba = exact(inputs["proba"])
    outcomes = []
    for chance, labels in flip_patterns(inputs["y"], exact(inputs["q"])):
        losses = [(y - p) ** 2 for y, p in zip(labels, proba, strict=True)]
        outcomes.append((chance, total(losses) / len(losses)))
    return mean_var(outcomes)


# ------------------------------------------------------------------------------------------------ K classes


def brier(inputs: dict[str, Any]) -> dict[str, Any]:
    return proba_scores(inputs, lambda y, row: total((int(k == y) - p) ** 2 for k, p in enumerate(row)))


def log_loss_classes(inputs: dict[str, Any]) -> dict[str, Any]:
    return proba_scores(inputs, lambda y, row: -mp.log(row[y]))


def proba_scores(inputs: dict[str, Any], loss: Callable[[int, list[Real]], Real]) -> dict[str, Any]:
    transition, proba = exact(inputs["transition"]), exact(inputs["proba"])
    outcomes = []
    for chance, labels in label_patterns([transition[y] for y in inputs["y"]]):
        losses = [loss(y, row) for y, row in zip(labels, proba, strict=True)]
        outcomes.append((chance, total(losses) / len(losses)))
    return mean_var(outcomes)


def confusion(inputs: dict[str, Any]) -> dict[str, Any]:
    classes, prediction = inputs["K"], inputs["y_pred"]
    cells = list(product(range(classes), repeat=2))
    tables = []
    for chance, labels in label_patterns(exact(inputs["label_probs"])):
        pairs = list(zip(labels, prediction, strict=True))
        tables.append((chance, [pairs.count(cell) for cell in cells]))
    means = [total(p * t[i] for p, t in tables) for i in range(len(cells))]
    covariance = [
        [chop(total(p * (t[i] - means[i]) * (t[j] - means[j]) for p, t in tables)) for j in range(len(cells))]
        for i in range(len(cells))
    ]
    scores = {
        "accuracy": lambda t: mp.mpf(sum(t[k * classes + k] for k in range(classes))) / sum(t),
        "macro_f1": lambda t: macro_f1(t, classes),
        "balanced_accuracy": lambda t: balanced_classes(t, classes),
        "kappa": lambda t: kappa_classes(t, classes),
        "mcc": lambda t: matthews_classes(t, classes),
    }
    return {
        "mean_confusion": [means[k * classes : (k + 1) * classes] for k in range(classes)],
        "cov_confusion": covariance,
    } | {name: mean_var([(p, score(t)) for p, t in tables]) for name, score in scores.items()}


def margins(table: list[int], classes: int) -> tuple[list[int], list[int], list[int]]:
    """Diagonal, row sums (labels) and column sums (predictions)."""
    rows = [table[k * classes : (k + 1) * classes] for k in range(classes)]
    return (
        [rows[k][k] for k in range(classes)],
        [sum(row) for row in rows],
        [sum(col) for col in zip(*rows, strict=True)],
    )


def macro_f1(table: list[int], classes: int) -> Real:
    scores = [
        mp.mpf(2 * hit) / (row + col) if row + col else mp.mpf(0)
        for hit, row, col in zip(*margins(table, classes), strict=True)
    ]
    return total(scores) / classes


def balanced_classes(table: list[int], classes: int) -> Real:
    """Mean recall of the classes present."""
    recalls = [mp.mpf(hit) / row for hit, row, _ in zip(*margins(table, classes), strict=True) if row]
    return total(recalls) / len(recalls)


def kappa_classes(table: list[int], classes: int) -> Real:
    hits, rows, cols = margins(table, classes)
    size = sum(rows)
    by_chance = mp.mpf(sum(r * c for r, c in zip(rows, cols, strict=True))) / size**2
    return (mp.mpf(sum(hits)) / size - by_chance) / (1 - by_chance) if by_chance != 1 else mp.mpf(0)


def matthews_classes(table: list[int], classes: int) -> Real:
    hits, rows, cols = margins(table, classes)
    size = sum(rows)
    above = sum(hits) * size - sum(r * c for r, c in zip(rows, cols, strict=True))
    norm = (size**2 - sum(r * r for r in rows)) * (size**2 - sum(c * c for c in cols))
    return above / mp.sqrt(norm) if norm else mp.mpf(0)


def accuracy_classes(inputs: dict[str, Any]) -> dict[str, Any]:
    """Uniform flips: a wrong label is any of the other K-1 classes."""
    classes = inputs["K"]
    chances = [
        [1 - q if k == y else q / (classes - 1) for k in range(classes)]
        for y, q in zip(inputs["y"], exact(inputs["q"]), strict=True)
    ]
    law = [mp.mpf(0)] * (len(chances) + 1)
    for chance, labels in label_patterns(chances):
        law[sum(y == p for y, p in zip(labels, inputs["y_pred"], strict=True))] += chance
    outcomes = [(chance, mp.mpf(k) / len(chances)) for k, chance in enumerate(law)]
    return mean_var(outcomes) | {"pmf_count_correct": law}


SEVEN = {"y": [1, 1, 0, 0, 1, 0, 1], "y_pred": [1, 0, 0, 1, 1, 0, 1]}
SCORES7 = {"y": SEVEN["y"], "score": [0.9, 0.4, 0.1, 0.6, 0.8, 0.3, 0.55]}
TIES6 = {"y": [1, 0, 1, 0, 1, 0], "score": [0.8, 0.8, 0.5, 0.5, 0.5, 0.1], "q": [0.1, 0.2, 0.05, 0.3, 0.0, 0.15]}
TRANSITION = [[0.875, 0.09375, 0.03125], [0.125, 0.75, 0.125], [0.0, 0.0625, 0.9375]]
PROBA3 = {"y": [0, 1, 2], "proba": [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]], "transition": TRANSITION}
FLIPS = "enumeration of all flip patterns"
GIVEN = "enumeration; given both classes present"
LABELS = "enumeration of all label vectors"


def _binary(id: str, **inputs: Any) -> Case:
    return Case(id, "binary_confusion", inputs, binary, FLIPS, digits=36)


CASES = [
    _binary("binary_M1_q0.25", y=[1], y_pred=[1], q=[0.25]),
    _binary("binary_M7_q0", **SEVEN, q=[0.0] * 7),
    _binary("binary_M7_q0.5", **SEVEN, q=[0.5] * 7),
    _binary("binary_M7_q0.05", **SEVEN, q=[0.05] * 7),
    _binary("binary_M6_mixed_q", y=[1, 0, 1, 0, 0, 1], y_pred=[1, 1, 0, 0, 0, 1], q=[0.02, 0.3, 0.1, 0.0, 0.45, 0.15]),
    _binary("binary_M6_all_predicted_0", y=[0, 0, 1, 0, 0, 0], y_pred=[0] * 6, q=[0.1, 0.05, 0.2, 0.0, 0.3, 0.01]),
    Case(
        "accuracy_M100_paper",
        "accuracy",
        {"n_correct": 85, "M": 100, "q": 0.05},
        accuracy_of_many,
        "exact convolution",
        note="mean is .815 (printed '0.815%'); printed variance .0475 is wrong by the factor M",
    ),
    Case(
        "kclass_M5_transition",
        "confusion_matrix",
        {"y_pred": [0, 1, 2, 2, 1], "label_probs": [TRANSITION[k] for k in (0, 1, 2, 1, 0)], "K": 3},
        confusion,
        LABELS,
        digits=30,
        note="rows=label, cols=prediction; cov in row-major cell order; absent classes: f1 term 0/0=0, balanced "
        "accuracy over classes present, mcc/kappa 0/0=0",
    ),
    Case(
        "accuracy_M5_K3",
        "accuracy_multiclass",
        {"y": [0, 1, 2, 2, 1], "y_pred": [0, 2, 2, 0, 1], "q": [0.1, 0.25, 0.0, 0.4, 0.05], "K": 3},
        accuracy_classes,
        LABELS,
        note="a wrong label is equally likely any of the other classes",
    ),
    Case(
        "accuracy_M4_K4",
        "accuracy_multiclass",
        {"y": [3, 0, 1, 2], "y_pred": [3, 0, 2, 2], "q": [0.5, 0.9, 0.3, 0.0], "K": 4},
        accuracy_classes,
        LABELS,
        note="a wrong label is equally likely any of the other classes",
    ),
    Case(
        "log_loss_M4",
        "log_loss",
        {"y": [1, 0, 1, 1], "proba": [0.9, 0.2, 0.6, 0.35], "q": [0.05, 0.1, 0.5, 0.0]},
        log_loss,
        "enumeration",
    ),
    Case("log_loss_K3", "log_loss_multiclass", PROBA3, log_loss_classes, LABELS),
    Case("brier_K3", "brier", PROBA3, brier, LABELS, note="sum over classes (range 0..2)"),
    Case(
        "brier_M4",
        "brier_binary",
        {"y": [1, 0, 1, 1], "proba": [0.9, 0.2, 0.6, 0.35], "q": [0.05, 0.1, 0.5, 0.0]},
        brier_binary,
        "enumeration",
        note="(label - proba)^2 (range 0..1)",
    ),
    Case("auc_M7", "roc_auc", SCORES7 | {"q": [0.05] * 7}, roc_auc, GIVEN),
    Case("auc_M7_q0", "roc_auc", SCORES7 | {"q": [0.0] * 7}, roc_auc, GIVEN),
    Case("auc_M6_ties", "roc_auc", TIES6, roc_auc, GIVEN, note="a tie counts one half"),
    Case("average_precision_M7", "average_precision", SCORES7 | {"q": [0.05] * 7}, average_precision_case, FLIPS),
    Case("average_precision_M6_ties", "average_precision", TIES6, average_precision_case, FLIPS),
    Case(
        "threshold_labels_M4",
        "threshold_accuracy",
        {"y": [0.25, 1.5, 0.5, -2.0], "sigma": [0.5, 0.25, 1.0, 0.0], "threshold": 0.5, "y_pred": [0, 1, 1, 0]},
        threshold,
        "quadrature of the normal tail",
        note="y equal to the threshold has q=1/2",
    ),
    Case(
        "accuracy_diff_M6",
        "accuracy_diff",
        {
            "y": [1, 0, 1, 1, 0, 0],
            "pred_a": [1, 0, 0, 1, 0, 1],
            "pred_b": [1, 1, 1, 0, 0, 0],
            "q": [0.05, 0.125, 0.25, 0.0, 0.5, 0.0625],
        },
        accuracy_difference,
        "enumeration",
    ),
]
