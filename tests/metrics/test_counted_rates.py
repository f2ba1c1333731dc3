"""Error rates that were counted: their variance is in the truth of every classification metric."""

import json
import math
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from classification_cases import METRICS, confusion_matrix, prediction_for, situation

import scorebars as sb
from scorebars.metrics.registry import declarations

FILE = Path(__file__).parents[1] / "reference" / "reference_forecasts.json"
CASES = {
    name: [case for case in json.loads(FILE.read_text())["cases"] if case["metric"] == name]
    for name in ("flip_from_counts", "rogan_gladen")
}
MODELS = {
    "Flip": (lambda t: sb.Flip.from_counts(6 * t, 60 * t), lambda: sb.Flip(0.1)),
    "ClassFlip": (
        lambda t: sb.ClassFlip.from_counts({0: (2 * t, 40 * t), 1: (6 * t, 30 * t)}),
        lambda: sb.ClassFlip({0: 0.05, 1: 0.2}),
    ),
    "Transition": (
        lambda t: sb.Transition.from_counts([[36 * t, 4 * t], [5 * t, 15 * t]], [0, 1]),
        lambda: sb.Transition([[0.9, 0.1], [0.25, 0.75]], [0, 1]),
    ),
}
EACH = pytest.mark.parametrize("model", MODELS)
ALL = pytest.mark.parametrize("metric", METRICS)


def judged(n):
    """Labels of which one in eight is wrong, predictions and scores."""
    y, pred, scores, _ = situation(n)
    y[::8] = 1 - y[::8]
    return y, pred, scores


def score(metric, model, n=150, **options):
    y, pred, scores = judged(n)
    function, given = METRICS[metric]
    return function(y, prediction_for(metric, pred, scores), yerr=model, **given, **options)


def test_all_metrics_of_the_registry_are_here():
    found = {name for name, one in declarations().items() if one.task == "classification" and one.scored}
    assert set(METRICS) == found


@pytest.mark.parametrize("case", CASES["flip_from_counts"], ids=lambda case: case["id"])
def test_one_rate_against_reference(case):
    given, exact = case["inputs"], {name: float(value) for name, value in case["exact"].items()}
    y = np.ones(given["items"], dtype=int)
    p = (np.arange(given["items"]) < given["agree"]).astype(int)
    known = sb.accuracy_score(y, p, yerr=given["wrong"] / given["checked"]).truth
    counted = sb.accuracy_score(y, p, yerr=sb.Flip.from_counts(given["wrong"], given["checked"])).truth
    assert float(counted) == pytest.approx(exact["truth"], rel=1e-10)
    assert known.std**2 == pytest.approx(exact["variance_labels"], rel=1e-10)
    assert counted.std**2 == pytest.approx(exact["variance_labels"] + exact["variance_rate"], rel=1e-10)


@pytest.mark.parametrize("case", CASES["rogan_gladen"], ids=lambda case: case["id"])
def test_sensitivity_and_specificity_against_reference(case):
    """A model that calls everybody sick is right as often as people are sick: its accuracy is the prevalence."""
    given, exact = case["inputs"], {name: float(value) for name, value in case["exact"].items()}
    y = (np.arange(given["items"]) < given["shown_positive"]).astype(int)
    model = sb.ClassFlip.from_counts(
        {
            1: (given["positives_checked"] - given["true_positive"], given["positives_checked"]),
            0: (given["negatives_checked"] - given["true_negative"], given["negatives_checked"]),
        }
    )
    found = sb.accuracy_score(y, np.ones_like(y), yerr=model).truth
    share = float(found)
    assert share == pytest.approx(exact["prevalence"], rel=1e-10)
    # the formula holds the choice of the items too, a share of sick ones
    assert found.std**2 + share * (1 - share) / given["items"] == pytest.approx(exact["variance"], rel=1e-10)


@ALL
@EACH
def test_rates_add_their_variance(metric, model):
    counted, known = MODELS[model][0](1), MODELS[model][1]()
    now, before = score(metric, counted), score(metric, known)
    assert (now.observed, float(now)) == pytest.approx((before.observed, float(before)), rel=1e-12)
    assert float(now.truth) == pytest.approx(float(before.truth), rel=1e-12)
    assert now.truth.std > before.truth.std
    for ask in ("interval", "total_interval"):
        (low, high), (low_known, high_known) = (getattr(s.truth, ask)(0.95) for s in (now, before))
        assert low <= float(now.truth) <= high and high - low > 0.98 * (high_known - low_known)
    assert "60 checked labels" in now.explain() or "70 checked labels" in now.explain()
    again = pickle.loads(pickle.dumps(now)).truth
    assert again.interval() == now.truth.interval() and again.std == now.truth.std


@ALL
@EACH
def test_many_checks_are_as_good_as_knowing(metric, model):
    """What is left of the difference are draws instead of a formula, and for one q the law of a count instead of normal."""
    now, before = (score(metric, m).truth for m in (MODELS[model][0](10**9), MODELS[model][1]()))
    assert now.std == pytest.approx(before.std, rel=1e-6)
    for ask in ("interval", "total_interval"):
        wide = np.diff(getattr(before, ask)(0.9))[0]
        assert getattr(now, ask)(0.9) == pytest.approx(getattr(before, ask)(0.9), abs=0.13 * wide)


@ALL
@EACH
def test_std_is_that_of_the_estimate_with_other_rates(metric, model):
    """The derivative by each rate, as the difference of estimates with rates a little larger and smaller."""
    _, known = MODELS[model][0](1), MODELS[model][1]()
    matrix = np.asarray(known.transition(np.array([0, 1])))
    checked = {"Flip": [60], "ClassFlip": [40, 30], "Transition": [40, 20]}[model]

    def truth(rates):
        rows = np.array([[1 - rates[0], rates[0]], [rates[-1], 1 - rates[-1]]])
        return float(score(metric, sb.Transition(rows, [0, 1])).truth)

    rates = [matrix[0, 1]] if model == "Flip" else [matrix[0, 1], matrix[1, 0]]
    variance, h = 0.0, 1e-4
    for k, m in enumerate(checked):
        up, down = ([r + sign * h * (j == k) for j, r in enumerate(rates)] for sign in (1, -1))
        variance += ((truth(up) - truth(down)) / (2 * h)) ** 2 * rates[k] * (1 - rates[k]) / m
    labels = score(metric, known).truth.std
    assert score(metric, MODELS[model][0](1)).truth.std == pytest.approx(math.hypot(labels, variance**0.5), rel=1e-4)


@ALL
def test_none_wrong_of_a_few_leaves_doubt(metric):
    """No checked label was wrong: q may still be 10 %, which moves the score one way only."""
    found = score(metric, sb.Flip.from_counts(0, 20))
    exact = score(metric, None)
    assert float(found.truth) == pytest.approx(exact.observed, rel=1e-12)
    assert found.truth.std > 0
    low, high = found.truth.interval()
    beyond, before = (high, low) if found.greater_is_better else (low, high)
    assert abs(beyond - exact.observed) > 3 * abs(before - exact.observed)
    assert "trust the interval" in found.truth.note


@ALL
@EACH
def test_berkson(metric, model):
    """The rates say how the truth scatters about the labels: its expected value moves with them."""
    counted = MODELS[model][0](1)
    counted.kind = "berkson"
    known = MODELS[model][1]()
    known.kind = "berkson"
    now, before = score(metric, counted).truth, score(metric, known).truth
    assert float(now) == pytest.approx(float(before), rel=1e-12)
    assert now.std > before.std
    for ask in ("interval", "total_interval"):
        low, high = getattr(now, ask)()
        assert low <= float(now) <= high and high - low > 0.98 * np.diff(getattr(before, ask)())[0]


@EACH
@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrix(model, normalize):
    y, pred, _ = judged(150)
    found = confusion_matrix(y, pred, yerr=MODELS[model][0](1), normalize=normalize).truth
    known = confusion_matrix(y, pred, yerr=MODELS[model][1](), normalize=normalize).truth
    np.testing.assert_allclose(found.value, known.value, rtol=1e-12)
    assert np.all(np.linalg.eigvalsh(found.covariance) > -1e-8)
    assert np.all(found.std >= known.std) and np.any(found.std > 1.02 * known.std)
    if normalize is None:  # the share of right ones is the accuracy
        right = np.array([1, 0, 0, 1]) / len(y)
        accuracy = score("accuracy_score", MODELS[model][0](1)).truth
        rates = right @ (found.covariance - known.covariance) @ right
        assert rates == pytest.approx(accuracy.std**2 - score("accuracy_score", MODELS[model][1]()).truth.std ** 2)


def three_classes(n=400, seed=1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    p = rng.dirichlet([1, 1, 1], n) + 0.25 * np.eye(3)[truth]
    y = np.where(rng.random(n) < 0.1, (truth + 1) % 3, truth)
    return y, p / p.sum(axis=1, keepdims=True)


OF_THREE = {
    "accuracy": lambda y, p, **k: sb.accuracy_score(y, p.argmax(axis=1), **k),
    "f1 macro": lambda y, p, **k: sb.f1_score(y, p.argmax(axis=1), average="macro", **k),
    "f1 weighted": lambda y, p, **k: sb.f1_score(y, p.argmax(axis=1), average="weighted", **k),
    "f1 of one": lambda y, p, **k: sb.f1_score(y, p.argmax(axis=1), average=None, **k)[1],
    "kappa": lambda y, p, **k: sb.cohen_kappa_score(y, p.argmax(axis=1), **k),
    "matthews": lambda y, p, **k: sb.matthews_corrcoef(y, p.argmax(axis=1), **k),
    "auc ovr": lambda y, p, **k: sb.roc_auc_score(y, p, multi_class="ovr", **k),
    "auc ovo": lambda y, p, **k: sb.roc_auc_score(y, p, multi_class="ovo", **k),
    "average precision": lambda y, p, **k: sb.average_precision_score(y, p, **k),
    "log loss": lambda y, p, **k: sb.log_loss(y, p, **k),
}


@pytest.mark.parametrize("metric", OF_THREE)
def test_several_classes(metric):
    """Where a class is never wrong into another its rate is 0; the std is that of estimates with other rates."""
    y, p = three_classes(150)
    counts = np.array([[40, 6, 4], [3, 44, 3], [8, 0, 42]])
    found = OF_THREE[metric](y, p, yerr=sb.Transition.from_counts(counts, [0, 1, 2])).truth
    rows = counts / 50
    known = OF_THREE[metric](y, p, yerr=sb.Transition(rows, [0, 1, 2])).truth
    variance, h = 0.0, 1e-4
    for k in range(3):
        slopes = np.zeros(3)
        for j in range(3):
            if j == k:
                continue
            moved = []
            for sign in (1, -1) if rows[k, j] > 0 else (1, 0):
                changed = rows.copy()
                changed[k, j] += sign * h
                changed[k, k] -= sign * h
                moved.append(float(OF_THREE[metric](y, p, yerr=sb.Transition(changed, [0, 1, 2])).truth))
            slopes[j] = (moved[0] - moved[1]) / (h * (2 if rows[k, j] > 0 else 1))
        variance += (rows[k] @ slopes**2 - (rows[k] @ slopes) ** 2) / 50
    assert found.std == pytest.approx(math.hypot(known.std, variance**0.5), rel=2e-3)
    low, high = found.interval()
    assert low < float(found) < high


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples", None])
@EACH
def test_several_labels_an_item(model, average):
    y, pred, _ = judged(60)
    many, called = np.stack([y, 1 - y, y], axis=1), np.stack([pred, 1 - pred, y], axis=1)
    now, before = (
        sb.f1_score(many, called, average=average, yerr=m) for m in (MODELS[model][0](1), MODELS[model][1]())
    )
    pairs = zip(now, before, strict=True) if average is None else [(now, before)]
    for counted, known in pairs:
        assert float(counted.truth) == pytest.approx(float(known.truth), rel=1e-12)
        assert counted.truth.std > known.truth.std
        low, high = counted.truth.interval()
        assert 0 <= low <= min(float(counted.truth), 1.0) <= high <= 1


def test_counts_of_agreements_and_weights():
    y, pred, _ = judged(80)
    weight = np.linspace(1, 2, 80)
    share = sb.zero_one_loss(y, pred, yerr=sb.Flip.from_counts(3, 40), sample_weight=weight).truth
    number = sb.zero_one_loss(y, pred, yerr=sb.Flip.from_counts(3, 40), sample_weight=weight, normalize=False).truth
    assert number.interval() == pytest.approx(tuple(weight.sum() * end for end in share.interval()))
    assert number.std == pytest.approx(weight.sum() * share.std)
    right = sb.accuracy_score(y, pred, yerr=sb.Flip.from_counts(3, 40), sample_weight=weight).truth
    assert share.interval() == pytest.approx(tuple(1 - end for end in right.interval()[::-1]))


def test_remeasured_by_several_votes_knows_it():
    y, pred, _ = judged(200)
    counted, known = (sb.accuracy_score(y, pred, yerr=m) for m in (sb.Flip.from_counts(6, 60), sb.Flip(0.1)))
    assert counted.remeasured(3).std > known.remeasured(3).std
    assert counted.remeasured(1).value == known.remeasured(1).value == known.observed


# studies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["accuracy_score", "zero_one_loss", "f1_score", "roc_auc_score", "log_loss"])
@EACH
def test_compare(metric, model):
    y, pred, scores = judged(150)
    rng = np.random.default_rng(0)
    other = np.clip(scores + rng.normal(0, 0.3, len(y)), 0.02, 0.98)
    given = {"a": pred, "b": (other > 0.5).astype(int)} if "score" in metric and "roc" not in metric else None
    given = given or ({"a": pred, "b": (other > 0.5).astype(int)} if metric == "zero_one_loss" else None)
    given = given or {"a": scores, "b": other}
    now, before = (
        sb.compare(y, given, yerr=m, metric=metric).difference("a", "b").truth
        for m in (MODELS[model][0](1), MODELS[model][1]())
    )
    assert float(now) == pytest.approx(float(before), rel=1e-12)
    assert now.std >= 0.98 * before.std
    for ask in ("interval", "total_interval"):
        low, high = getattr(now, ask)()
        assert low <= float(now) <= high
    assert "checked labels" in now.note


def test_what_rates_do_to_a_difference_of_accuracies():
    """Both truths are divided by the same 1 - 2q: the difference moves by 2 / (1 - 2q) times itself."""
    y, pred, _ = judged(400)
    models = {"a": pred, "b": 1 - y}
    models["b"][:150] = y[:150]
    q, m = 0.1, 60
    known, counted = (
        sb.compare(y, models, yerr=e).difference("a", "b").truth for e in (sb.Flip(q), sb.Flip.from_counts(6, m))
    )
    rates = (2 / (1 - 2 * q) * float(known)) ** 2 * q * (1 - q) / m
    assert counted.std**2 == pytest.approx(known.std**2 + rates, rel=1e-10)
    berkson = sb.compare(y, models, yerr=sb.Flip.from_counts(6, m, kind="berkson")).difference("a", "b").truth
    plain = sb.compare(y, models, yerr=sb.Flip(q, kind="berkson")).difference("a", "b").truth
    assert berkson.std > plain.std


def test_plan_says_how_many_to_check():
    y, p = np.ones(1000, dtype=int), (np.arange(1000) < 800).astype(int)
    found = sb.plan(y, p, yerr=sb.Flip.from_counts(20, 200), std=0.02, cost_label=1, cost_repeat=0, cost_check=10)
    labels, checks = 0.25, (0.6 / 0.8**2) ** 2 * 0.09  # variances that one label and one check leave
    both = math.sqrt(labels * checks)
    assert found.labels == pytest.approx((labels + both * math.sqrt(10)) / 0.02**2, rel=5e-3)
    assert found.checks == pytest.approx((checks + both / math.sqrt(10)) / 0.02**2, rel=5e-3)
    assert found.std_at(found.labels) <= 0.02 * (1 + 1e-9)
    assert found.std_at(found.labels, checks=10 * found.checks) < found.std_at(found.labels)
    cheaper = [(found.labels + d * 50) + 10 * c for d in (-1, 1) for c in [
        checks / (0.02**2 - labels / (found.labels + d * 50))]]  # fmt: skip
    assert min(cheaper) > 0.999 * found.cost
    assert "checks" in str(found)


def test_plan_spreads_checks_over_classes():
    y, p = (np.arange(1000) < 300).astype(int), (np.arange(1000) < 600).astype(int)
    model = sb.ClassFlip.from_counts({0: (5, 100), 1: (20, 100)})
    found = sb.plan(y, p, yerr=model, std=0.02)
    assert found.allocation.shape == (2,) and found.allocation.sum() == pytest.approx(1.0)
    m = found.checks * found.allocation
    again = sb.ClassFlip.from_counts({0: (round(m[0] * 0.05), round(m[0])), 1: (round(m[1] * 0.2), round(m[1]))})
    many = np.arange(found.labels) * 1000 // found.labels
    reached = sb.accuracy_score(y[many], p[many], yerr=again).truth
    low, high = reached.total_interval(0.6827)
    assert (high - low) / 2 == pytest.approx(0.02, rel=0.1)
    with pytest.raises(ValueError, match="must both cost something"):
        sb.plan(y, p, yerr=model, std=0.02, cost_check=0)
    with pytest.raises(ValueError, match="std must be a number above 0"):
        sb.plan(y, p, yerr=model, std=-0.02)
    with pytest.raises(ValueError, match=r"error rates that were counted: yerr=sb.Flip.from_counts"):
        sb.plan(y, p, yerr=0.1, std=0.02)


def test_streams_do_not_drop_it():
    with pytest.raises(ValueError, match=r"Flip.from_counts\(3, 60\).*accumulator counts labels"):
        sb.Accumulator("accuracy_score").update([0, 1], [0, 1], yerr=sb.Flip.from_counts(3, 60))


# what is passed ----------------------------------------------------------------------------------


def test_text():
    assert repr(sb.Flip.from_counts(3, 60)) == "Flip.from_counts(3, 60)"
    model = sb.ClassFlip.from_counts({"a": (0, 5), "b": (1, 9)}, kind="berkson")
    assert repr(model) == "ClassFlip.from_counts({'a': (0, 5), 'b': (1, 9)}, kind='berkson')"
    assert model.q == {"a": 0.0, "b": 1 / 9}
    assert repr(sb.Transition.from_counts([[5, 0], [1, 4]], [0, 1])) == "Transition.from_counts(2 classes, 10 checked)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Flip.from_counts(3.5, 60), r"wrong must be a whole number of at least 0, got 3.5"),
        (lambda: sb.Flip.from_counts(-1, 60), r"wrong must be a whole number of at least 0, got -1"),
        (lambda: sb.Flip.from_counts(3, 0), r"checked is 0: no label was checked"),
        (lambda: sb.Flip.from_counts(7, 6), r"wrong is 7 of 6 checked: no more can be wrong than were checked"),
        (lambda: sb.Flip.from_counts([3], 6), r"wrong must be a whole number of checked labels, got \[3\]"),
        (lambda: sb.Flip.from_counts(float("nan"), 6), r"wrong must be a whole number of checked labels, got nan"),
        (lambda: sb.ClassFlip.from_counts({}), r"counts must map each class to \(wrong, checked\)"),
        (lambda: sb.ClassFlip.from_counts({0: 3}), r"counts\[0\] must be \(wrong, checked\), got 3"),
        (lambda: sb.ClassFlip.from_counts({"a": (1, 0)}), r"checked of class 'a' is 0"),
        (lambda: sb.Transition.from_counts([[1, 2]], [0]), r"matrix must be square"),
        (
            lambda: sb.Transition.from_counts([[0.9, 0.1], [0, 1]], [0, 1]),
            r"not whole: the first is 0.9 at index \(0, 0\), 2",
        ),
        (
            lambda: sb.Transition.from_counts([[1, 0], [0, 0]], [0, 1]),
            r"rows without checked labels: the first is 0.0 at index 1",
        ),
        (lambda: sb.Transition.from_counts([[1, -1], [0, 1]], [0, 1]), r"matrix has negative values"),
        (lambda: sb.Transition.from_counts([[1, 0], [0, 1]], [0, 0]), r"labels names classes twice"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_judge_no_better_than_a_coin():
    y, pred, _ = judged(50)
    with pytest.raises(sb.UndefinedEstimate, match="says nothing about the true class"):
        sb.accuracy_score(y, pred, yerr=sb.Flip.from_counts(10, 20)).truth  # noqa: B018
    low, high = sb.accuracy_score(y, pred, yerr=sb.Flip.from_counts(8, 20)).truth.interval()
    assert low < high and np.isfinite([low, high]).all()


def test_differences_leave_room_for_labels_that_are_wrong_more_often():
    """With few checked labels, or none wrong, a drawn rate has more wrong labels than the counted one: these scatter, too."""
    held, count = 0, 400
    for seed in range(count):
        rng = np.random.default_rng(seed)
        true = rng.integers(0, 2, 300)
        y, a, b = (np.where(rng.random(300) < q, 1 - true, true) for q in (0.1, 0.15, 0.2))
        found = sb.compare(
            y, {"a": a, "b": b}, yerr=sb.Flip.from_counts(rng.binomial(20, 0.1), 20), metric="accuracy_score"
        )
        low, high = found.difference("a", "b").truth.interval()
        held += low <= np.mean(a == true) - np.mean(b == true) <= high
    assert held / count > 0.91  # 0.86 where all rates have the scatter of the counted one
    never = sb.compare(y, {"a": a, "b": b}, yerr=sb.Flip.from_counts(0, 20)).difference("a", "b").truth
    low, high = never.interval()
    assert low < float(never) - 0.01 and high > float(never) + 0.02


@pytest.mark.parametrize("model", ["Flip", "ClassFlip", "Transition"])
@pytest.mark.parametrize("metric", [sb.accuracy_score, partial(sb.f1_score, average="macro")], ids=["accuracy", "f1"])
def test_few_wrong_labels_make_an_estimate_skew(metric, model):
    """Its third moment over fresh labels; and the interval reaches farther on the side of the skewness."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 60)
    prediction = np.where(rng.random(60) < 0.85, truth, (truth + 1) % 3)
    errors = {
        "Flip": lambda: sb.Flip.from_counts(300, 10_000),
        "ClassFlip": lambda: sb.ClassFlip.from_counts(dict.fromkeys(range(3), (300, 10000))),
        "Transition": lambda: sb.Transition.from_counts(np.where(np.eye(3) > 0, 9700, 150), [0, 1, 2]),
    }[model]()
    slopes = None
    sums, thirds = [], []
    for k in range(4000):
        y = np.where(rng.random(60) < 0.03, (truth + rng.integers(1, 3, 60)) % 3, truth)
        if slopes is None:
            answers = metric(truth, prediction, yerr=errors)._answers
            slopes = answers._slopes(answers.data.indicators)
        data = sb.accuracy_score(y, prediction, yerr=errors)._answers.data
        sums.append(float(np.sum(slopes * data.indicators)))
        if k < 1000:
            thirds.append(data.label_third(slopes))
    expected = np.mean((np.array(sums) - np.mean(sums)) ** 3)
    assert np.mean(thirds) == pytest.approx(expected, rel=0.2)
    found = metric(truth, prediction, yerr=errors).truth
    low, high = found.interval(0.95)
    assert expected < 0 and high - float(found) > 1.1 * (float(found) - low)
