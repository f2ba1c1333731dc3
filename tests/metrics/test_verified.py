"""Gold labels of some items: the prediction-powered estimate, for means of losses and metrics of label indicators."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from classification_cases import METRICS, prediction_for
from scipy.stats import t as student

import scorebars as sb
from scorebars.metrics.registry import declarations

FILE = Path(__file__).parents[1] / "reference" / "reference_forecasts.json"
CASES = [case for case in json.loads(FILE.read_text())["cases"] if case["metric"] == "gold_subset"]
ALL = pytest.mark.parametrize("metric", METRICS)


def population_variance(estimate):
    low, high = estimate.total_interval(0.5)
    return ((high - low) / 2 / student.ppf(0.75, estimate._total.df)) ** 2


def subset(shown, gold_of, checked):
    gold = np.full(len(shown), np.nan)
    gold[checked] = gold_of
    return gold


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference(case):
    """mean_error of predictions 0 is minus the mean label: any losses can be put in."""
    given, exact = case["inputs"], {name: float(value) for name, value in case["exact"].items()}
    f = np.array(given["loss_shown"])
    gold = subset(f, -np.array(given["loss_gold"], dtype=float), given["checked"])
    found = sb.mean_error(-f, np.zeros(len(f)), yerr=sb.Verified(gold))
    assert found.observed == pytest.approx(f.mean(), rel=1e-12)
    assert float(found.truth) == pytest.approx(exact["truth"], rel=1e-10)
    assert population_variance(found.truth) == pytest.approx(exact["variance"], rel=1e-10)
    assert f"count by {exact['tuning']:.2f}" in found.truth.note


def judged(n=300, seed=3, share=0.3):
    """True classes, those a judge shows, predictions, scores, and gold labels of a random part."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.15, 1 - true, true)
    score = np.clip(0.5 + 0.2 * (2 * true - 1) + 0.25 * rng.standard_normal(n), 0.02, 0.98)
    gold = np.where(rng.random(n) < share, true, np.nan)
    return true, y, (score > 0.5).astype(int), score, gold


def other_packages():
    try:  # the tests have a module named coverage of their own, which numba takes for another one
        import ppi_py
        import truescore
    except (ImportError, AttributeError) as why:
        pytest.skip(f"ppi-python and truescore cannot be imported: {why}")
    return ppi_py, truescore


@pytest.mark.filterwarnings("ignore")
def test_equals_the_published_estimator():
    ppi, truescore = other_packages()
    true, y, p, _, gold = judged()
    known = ~np.isnan(gold)
    f, h = (y == p).astype(float), (true == p).astype(float)[known]
    found = sb.accuracy_score(y, p, yerr=sb.Verified(gold)).truth
    assert float(found) == pytest.approx(
        float(np.squeeze(ppi.ppi_mean_pointestimate(h, f[known], f[~known]))), rel=1e-10
    )
    other = truescore.ppi_estimate(f, h, np.flatnonzero(known))
    assert float(found) == pytest.approx(other.value if hasattr(other, "value") else other.point, abs=2e-3)
    numbers = np.random.default_rng(0).normal(size=(3, 200))
    labels, predictions, better = numbers[0], numbers[0] + 0.5 * numbers[1], numbers[0] + 0.2 * numbers[2]
    known = np.arange(200) < 50
    mse = sb.mean_squared_error(labels, predictions, yerr=sb.Verified(np.where(known, better, np.nan))).truth
    f, h = (labels - predictions) ** 2, ((better - predictions) ** 2)[known]
    assert float(mse) == pytest.approx(float(np.squeeze(ppi.ppi_mean_pointestimate(h, f[known], f[~known]))), rel=1e-10)


def test_all_metrics_of_the_registry_are_here():
    found = {name for name, one in declarations().items() if one.task == "classification" and one.scored}
    assert set(METRICS) == found


@ALL
def test_every_class_metric(metric):
    """All answers; the truth moves from the observed score towards that with the true classes."""
    true, y, p, score, gold = judged(2000)
    function, options = METRICS[metric]
    given = prediction_for(metric, p, score)
    found = function(y, given, yerr=sb.Verified(gold), **options)
    right = function(true, given, **options).observed
    assert found.observed == pytest.approx(function(y, given, **options).observed, rel=1e-12)
    assert float(found) == found.observed and found.std == 0
    assert abs(float(found.truth) - right) < abs(found.observed - right)
    assert abs(float(found.truth) - right) < 4 * found.truth.std
    (low, high), (far_low, far_high) = found.truth.interval(), found.truth.total_interval()
    assert far_low < low < float(found.truth) < high < far_high
    assert "nothing assumed about how labels err" in found.explain()
    assert "prediction-powered" in found.sentence()
    for ask in (lambda: found.perfect, lambda: found.remeasured(1)):
        with pytest.raises(sb.UndefinedEstimate, match="not how fresh ones would fall"):
            ask()
    again = pickle.loads(pickle.dumps(found))
    assert again.truth.interval() == found.truth.interval()


@ALL
def test_all_checked_is_the_score_with_gold_labels(metric):
    true, y, p, score, _ = judged(120)
    function, options = METRICS[metric]
    given = prediction_for(metric, p, score)
    found = function(y, given, yerr=sb.Verified(true), **options).truth
    assert float(found) == pytest.approx(function(true, given, **options).observed, rel=1e-9)
    low, high = found.interval()
    assert high - low < 1e-6  # these items are known; the population is not
    low, high = found.total_interval()
    assert high - low > 0.02


@ALL
def test_labels_that_are_right_count_fully(metric):
    """Labels equal to gold: the estimate is the observed score, and only its population is uncertain."""
    true, _, p, score, _ = judged(200)
    function, options = METRICS[metric]
    given, gold = prediction_for(metric, p, score), np.where(np.arange(200) % 4 == 0, true, np.nan)
    found = function(true, given, yerr=sb.Verified(gold), **options)
    assert float(found.truth) == pytest.approx(found.observed, abs=0.02)
    low, high = found.truth.interval()
    assert low <= found.observed <= high and high > low  # a wrong label may yet be seen


NUMBERS = [
    sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error, sb.mean_error, sb.mean_pinball_loss,
    sb.huber_loss, sb.log_cosh_loss, sb.metric(lambda y, p: np.abs(y - p) ** 1.5, name="power"),
]  # fmt: skip


@pytest.mark.parametrize("metric", NUMBERS, ids=lambda m: getattr(m, "__name__", "own"))
def test_numbers(metric):
    rng = np.random.default_rng(5)
    true = rng.normal(size=1500)
    p, y = true + 0.3 * rng.standard_normal(1500), true + 0.2 + 0.6 * rng.standard_normal(1500)
    gold = np.where(np.arange(1500) < 300, true, np.nan)
    found = metric(y, p, yerr=sb.Verified(gold))
    right = metric(true, p).observed
    assert abs(float(found.truth) - right) < 4 * found.truth.std < abs(found.observed - right) + 4 * found.truth.std
    low, high = found.truth.total_interval()
    assert low < float(found.truth) < high


def test_metrics_that_are_no_means_say_so():
    rng = np.random.default_rng(5)
    y = rng.normal(size=50)
    gold = np.where(np.arange(50) < 20, y, np.nan)
    for metric in (sb.r2_score, sb.pearson_correlation, sb.median_absolute_error, sb.max_error):
        found = metric(y, y + 0.1 * rng.standard_normal(50), yerr=sb.Verified(gold))
        with pytest.raises(sb.UndefinedEstimate, match="is not a mean over items"):
            found.truth  # noqa: B018


def test_unequal_probabilities_repair_verification_bias():
    """Only labels that the model disputes were looked at, most of the time: gold labels alone mislead."""
    rng = np.random.default_rng(8)
    errors, plain = [], []
    for _ in range(60):
        true = rng.integers(0, 2, 1000)
        y = np.where(rng.random(1000) < 0.1, 1 - true, true)
        p = np.where(rng.random(1000) < 0.1, 1 - true, true)
        chance = np.where(y != p, 0.8, 0.05)
        gold = np.where(rng.random(1000) < chance, true, np.nan)
        right = float(np.mean(true == p))
        errors.append(float(sb.accuracy_score(y, p, yerr=sb.Verified(gold, probability=chance)).truth) - right)
        plain.append(float(sb.accuracy_score(y, p, yerr=sb.Verified(gold)).truth) - right)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(60)
    assert abs(np.mean(plain)) > 0.05


def test_equal_probabilities_change_nothing_but_the_way_to_the_population():
    _, y, p, _, gold = judged(400)
    share = float(np.mean(~np.isnan(gold)))
    known, lot = (sb.accuracy_score(y, p, yerr=sb.Verified(gold, c)).truth for c in (share, None))
    assert float(known) == pytest.approx(float(lot), rel=1e-12) and known.std == pytest.approx(lot.std, rel=1e-12)
    np.testing.assert_allclose(known.total_interval(), lot.total_interval(), rtol=5e-3)


def test_weights_and_repeated_items_agree():
    _, y, p, _, gold = judged(100)
    times = 1 + np.arange(100) % 2
    weighted = sb.f1_score(y, p, yerr=sb.Verified(gold), sample_weight=times).truth
    twice = np.repeat(np.arange(100), times)
    assert float(weighted) == pytest.approx(
        float(sb.f1_score(y[twice], p[twice], yerr=sb.Verified(gold[twice])).truth), abs=5e-3
    )


@ALL
def test_weights_count_once(metric):
    """Where all items were checked it is the weighted score with gold labels."""
    true, y, p, score, _ = judged(150)
    function, options = METRICS[metric]
    given, weight = prediction_for(metric, p, score), np.random.default_rng(1).random(150) ** 3
    found = function(y, given, yerr=sb.Verified(true), sample_weight=weight, **options).truth
    assert float(found) == pytest.approx(function(true, given, sample_weight=weight, **options).observed, rel=1e-9)


@ALL
@pytest.mark.parametrize("by_design", [False, True])
def test_items_of_weight_zero_are_none(metric, by_design):
    _, y, p, score, gold = judged(300)
    rng = np.random.default_rng(2)
    weight = np.where(rng.random(300) < 0.6, 0.2 + rng.random(300), 0.0)
    chance = np.where(y == 1, 0.5, 0.3) if by_design else None
    function, options = METRICS[metric]
    some, given = weight > 0, prediction_for(metric, p, score)
    found = function(y, given, yerr=sb.Verified(gold, chance), sample_weight=weight, **options).truth
    model = sb.Verified(gold[some], None if chance is None else chance[some])
    alone = function(y[some], given[some], yerr=model, sample_weight=weight[some], **options).truth
    assert found.note == alone.note
    for ask in (float, lambda t: t.std, lambda t: t.interval(), lambda t: t.total_interval()):
        assert ask(found) == pytest.approx(ask(alone), rel=1e-8)


def test_weights_that_leave_no_checked_item():
    _, y, p, _, gold = judged(300)
    unknown = np.isnan(gold)
    for found in (
        sb.accuracy_score(y, p, yerr=sb.Verified(gold), sample_weight=unknown),
        sb.mean_squared_error(y * 1.0, p, yerr=sb.Verified(gold), sample_weight=unknown),
        sb.confusion_matrix(y, p, yerr=sb.Verified(gold), sample_weight=unknown),
    ):
        with pytest.raises(sb.UndefinedEstimate, match=f"0 of these {unknown.sum()} items have a gold label"):
            _ = found.truth
    found = sb.accuracy_score(y, p, yerr=sb.Verified(gold), sample_weight=~unknown).truth  # nothing else counts
    assert float(found) == pytest.approx(np.mean(gold[~unknown] == p[~unknown])) and found.std == 0


def test_texts_none_and_several_classes():
    y = np.array(["a", "b", "c", "a", "b", "c"] * 20)
    p = np.array(["a", "b", "c", "b", "b", "a"] * 20)
    gold = np.array([None] * 120, dtype=object)
    gold[::4] = y[::4]  # of all three
    gold[4] = "d"  # a class that nobody showed
    for found in (
        sb.accuracy_score(y, p, yerr=sb.Verified(gold)),
        sb.f1_score(y, p, average="macro", yerr=sb.Verified(gold)),
        *sb.recall_score(y, p, average=None, yerr=sb.Verified(gold)),
    ):
        low, high = found.truth.interval()
        assert low <= float(found.truth) <= high


def test_evaluate_and_subsets():
    true, y, p, _, gold = judged(300)
    table = sb.evaluate(y, {"a": p, "b": true}, yerr=sb.Verified(gold), metrics=["accuracy_score", "f1_score"])
    assert "accuracy_score" in str(table)
    part = sb.Verified(gold)[np.arange(100)]
    assert part.size == 100 and np.array_equal(part.known, ~np.isnan(gold[:100]))


# comparisons ---------------------------------------------------------------------------------------


@ALL
def test_compare_every_class_metric(metric):
    """The difference is the truths' where labels count alike, with less error than of both; probabilities follow it."""
    true, y, p, score, gold = judged(1500)
    rng = np.random.default_rng(4)
    worse = np.where(rng.random(1500) < 0.1, 1 - p, p)
    less = np.clip(score + 0.3 * rng.standard_normal(1500), 0.02, 0.98)
    function, options = METRICS[metric]
    models = {"a": prediction_for(metric, p, score), "b": prediction_for(metric, worse, less)}
    both = {k: sb.compare(y, models, yerr=sb.Verified(gold), metric=function, sampling=k, **options) for k in (0, 1)}
    found = both[0].difference("a", "b")
    right = function(true, models["a"], **options).observed - function(true, models["b"], **options).observed
    single = [function(y, one, yerr=sb.Verified(gold), **options) for one in models.values()]
    assert found.observed == pytest.approx(single[0].observed - single[1].observed, rel=1e-12)
    assert abs(float(found.truth) - right) < 4 * found.truth.std < 4 * math.hypot(*(one.truth.std for one in single))
    assert float(found) == pytest.approx(float(found.truth), rel=1e-12)
    np.testing.assert_allclose(found.interval(0.9), found.truth.interval(0.9), rtol=1e-9)
    np.testing.assert_allclose(both[1].difference("a", "b").interval(0.9), found.truth.total_interval(0.9), rtol=1e-9)
    for comparison in both.values():
        chance = comparison.probability("a", "b")
        ranks = comparison.ranking(draws=20_000)
        assert ranks.probabilities["a"][0] == pytest.approx(chance, abs=0.02)
        assert chance + comparison.probability("b", "a") == pytest.approx(1.0)
    assert "gold labels" in found.explain() and str(both[0])
    with pytest.raises(sb.UndefinedEstimate, match="not how fresh ones would fall"):
        found.remeasured(1)


@pytest.mark.parametrize("metric", NUMBERS, ids=lambda m: getattr(m, "__name__", "own"))
def test_compare_numbers(metric):
    if metric is sb.mean_error:
        pytest.skip("compare takes no mean_error")
    rng = np.random.default_rng(5)
    true = rng.normal(size=1500)
    y = true + 0.2 + 0.6 * rng.standard_normal(1500)
    models = {k: true + size * rng.standard_normal(1500) for k, size in {"a": 0.3, "b": 0.5, "c": 0.31}.items()}
    gold, weight = np.where(np.arange(1500) < 300, true, np.nan), rng.uniform(0.5, 2.0, 1500)
    found = sb.compare(y, models, yerr=sb.Verified(gold), metric=metric, sample_weight=weight, sampling=True)
    for other in "bc":
        right = [metric(true, models[k], sample_weight=weight).observed for k in ("a", other)]
        truth = found.difference("a", other).truth
        assert abs(float(truth) - (right[0] - right[1])) < 4 * truth.std
    assert found.verdict("a", "b") == "better" and found.ranking().order()[-1] == "b"


def test_difference_of_means_is_the_mean_of_differences():
    """What `mean_error` of the per-item differences gives, to rounding: the same estimator, tuned on the difference."""
    rng = np.random.default_rng(6)
    true, y = rng.normal(size=(2, 400))
    y = true + 0.5 * y
    a, b = true + 0.3 * rng.standard_normal(400), true + 0.6 * rng.standard_normal(400)
    known = rng.random(400) < 0.3
    chance = np.where(known, 0.3, 0.3)
    for given in ({}, {"probability": chance}):
        found = sb.compare(y, {"a": a, "b": b}, yerr=sb.Verified(np.where(known, true, np.nan), **given), metric="mse")
        f, h = ((t - a) ** 2 - (t - b) ** 2 for t in (y, true))
        one = sb.mean_error(-f, np.zeros(400), yerr=sb.Verified(np.where(known, -h, np.nan), **given)).truth
        truth = found.difference("a", "b").truth
        assert float(truth) == pytest.approx(float(one), rel=1e-10) and truth.std == pytest.approx(one.std, rel=1e-10)
        np.testing.assert_allclose(truth.total_interval(), one.total_interval(), rtol=1e-10)


def test_compare_in_groups():
    """Items that are copies of each other count once."""
    _, y, p, _, gold = judged(200, share=0.5)
    other = np.where(np.arange(200) % 7 == 0, 1 - p, p)
    times = np.repeat(np.arange(200), 5)
    copies = {"a": p[times], "b": other[times]}
    one = sb.compare(y, {"a": p, "b": other}, yerr=sb.Verified(gold), metric="f1_score", sampling=True)
    five = sb.compare(y[times], copies, yerr=sb.Verified(gold[times]), metric="f1_score", sampling=True, groups=times)
    assert five.difference("a", "b").std == pytest.approx(one.difference("a", "b").std, rel=0.05)
    alone = sb.accuracy_score(y, p, yerr=sb.Verified(gold)).truth.total_interval()
    grouped = sb.accuracy_score(y[times], p[times], yerr=sb.Verified(gold[times]), groups=times).truth.total_interval()
    np.testing.assert_allclose(grouped, alone, rtol=0.01)


# the confusion matrix ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chances", [False, True])
def test_confusion_matrix(weighted, chances):
    """Unbiased, with the covariance that repeated checks show; accuracy is that of the cells."""
    rng = np.random.default_rng(9)
    n, errors, claimed = 300, [], []
    true = rng.integers(0, 3, n)
    y, p = np.where(rng.random(n) < 0.2, (true + 1) % 3, true), np.where(rng.random(n) < 0.2, (true + 2) % 3, true)
    weight = rng.uniform(0.5, 1.5, n) if weighted else None
    right = np.asarray(sb.confusion_matrix(true, p, sample_weight=weight), dtype=float)
    chance = np.where(y == 0, 0.6, 0.3) if chances else None
    for _ in range(150):
        known = rng.random(n) < (0.4 if chance is None else chance)
        yerr = sb.Verified(np.where(known, true, np.nan), chance)
        found = sb.confusion_matrix(y, p, yerr=yerr, sample_weight=weight)
        errors.append((found.truth.value - right).ravel())
        claimed.append(found.truth.covariance)
    errors = np.array(errors)
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / math.sqrt(150))
    ratio = np.diag(np.mean(claimed, axis=0)) / np.mean(np.square(errors), axis=0)
    assert np.all((ratio > 0.7) & (ratio < 1.7))
    assert np.all(np.linalg.eigvalsh(claimed[0]) > -1e-9)
    np.testing.assert_array_equal(found.observed, sb.confusion_matrix(y, p, sample_weight=weight).observed)
    total = float(n if weight is None else weight.sum())
    assert found.truth.value.sum() == pytest.approx(total) and found.truth_constrained.sum() == pytest.approx(total)
    one = sb.accuracy_score(y, p, yerr=yerr, sample_weight=weight).truth
    assert float(np.trace(found.truth.value)) / total == pytest.approx(float(one), abs=0.5 * one.std)
    assert "checked items of 300" in found.truth.note
    for norm, axis in (("true", 1), ("pred", 0), ("all", None)):
        part = sb.confusion_matrix(y, p, yerr=yerr, sample_weight=weight, normalize=norm).truth
        np.testing.assert_allclose(part.value.sum(axis=axis), 1.0)
        assert np.all(part.std > 0)
    for ask in (lambda: found.perfect, lambda: found.remeasured(1)):
        with pytest.raises(sb.UndefinedEstimate, match="not how fresh ones would fall"):
            ask()


def test_confusion_matrix_of_gold_classes_that_nobody_showed():
    gold = np.array(["a", "c", None, "b"] * 10, dtype=object)
    found = sb.confusion_matrix(["a", "b", "a", "b"] * 10, ["a", "a", "b", "b"] * 10, yerr=sb.Verified(gold))
    assert found.classes.tolist() == ["a", "b", "c"] and found.truth.value[2, 0] > 5
    kept = sb.confusion_matrix(
        ["a", "b", "a", "b"] * 10, ["a", "a", "b", "b"] * 10, yerr=sb.Verified(gold), labels=["b", "a"]
    )
    np.testing.assert_allclose(kept.truth.value, found.truth.value[np.ix_([1, 0], [1, 0])], atol=1.0)


# how many to check ---------------------------------------------------------------------------------


def test_plan_reaches_its_std():
    """A study of the planned size has the planned error."""
    rng = np.random.default_rng(3)
    _, y, p, _, gold = judged(2000)
    plan = sb.plan(y, p, yerr=sb.Verified(gold), std=0.02, cost_repeat=0, cost_check=8)
    assert plan.checks < plan.labels and plan.cost == plan.labels + 8 * plan.checks and "of them checked" in str(plan)
    assert plan.std_at(plan.labels) == pytest.approx(0.02, rel=0.01)
    for cheaper in (0.7, 1.4):  # no other mixture is cheaper
        checks = cheaper * plan.checks
        left = plan.target_variance - plan.budget.checking / checks
        assert left <= 0 or plan.budget.sampling / left + 8 * checks > plan.cost - 10
    errors = []
    for _ in range(200):
        true = rng.integers(0, 2, plan.labels)
        shown = np.where(rng.random(plan.labels) < 0.15, 1 - true, true)
        score = 0.5 + 0.2 * (2 * true - 1) + 0.25 * rng.standard_normal(plan.labels)
        known = rng.permutation(plan.labels) < plan.checks
        found = sb.accuracy_score(shown, (score > 0.5).astype(int), yerr=sb.Verified(np.where(known, true, np.nan)))
        errors.append(float(found.truth) - 0.7881)
    assert np.std(errors) == pytest.approx(0.02, rel=0.2)


def test_plan_of_differences_and_numbers():
    _, y, p, _, gold = judged(1000)
    other = np.where(np.arange(1000) % 6 == 0, 1 - p, p)
    plan = sb.plan(y, {"a": p, "b": other}, yerr=sb.Verified(gold), difference=0.05)
    assert (
        plan.power == pytest.approx(0.9, abs=0.01) and plan.power_at(plan.labels // 2, checks=plan.checks // 2) < 0.75
    )
    pilot = sb.plan(y, {"a": p, "b": other}, yerr=sb.Verified(gold))
    assert pilot.difference == pytest.approx(
        float(sb.compare(y, {"a": p, "b": other}, yerr=sb.Verified(gold)).difference("a", "b")), rel=1e-9
    )
    rng = np.random.default_rng(1)
    true = rng.normal(size=500)
    gold = np.where(np.arange(500) < 100, true, np.nan)
    plan = sb.plan(true + 0.3 * rng.standard_normal(500), true + 0.5, yerr=sb.Verified(gold), std=0.02)
    assert plan.labels >= plan.checks
    with pytest.raises(ValueError, match="plan takes no groups together with gold labels"):
        sb.plan(y, p, yerr=sb.Verified(judged(1000)[4]), std=0.02, groups=np.arange(1000) // 5)
    with pytest.raises(ValueError, match="nothing finite reaches it"):
        sb.plan(y, p, yerr=sb.Verified(judged(1000)[4]), std=-1.0)


def test_cross_validate_says_what_to_do():
    linear_model = pytest.importorskip("sklearn.linear_model")
    with pytest.raises(ValueError, match="cross_val_predict"):
        sb.cross_validate(
            linear_model.LinearRegression(), np.ones((9, 1)), np.arange(9.0), yerr=sb.Verified(np.ones(9))
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Verified([[1, 2], [3, 4]]), r"gold must hold one label for each item.*shape \(2, 2\)"),
        (lambda: sb.Verified([np.nan, 1.0, np.nan]), r"gold holds 1 labels: at least two items must have been checked"),
        (lambda: sb.Verified([1, 0, None], [0.5, 0.5]), r"probability has 2 entries, but gold has 3"),
        (lambda: sb.Verified([1, 0, None], [0.5, 0.0, 0.5]), r"never checked: the first is 0.0 at index 1, 1 in all"),
        (lambda: sb.Verified([1, 0, None], 1.5), r"probability"),
        (
            lambda: sb.Verified([1, 0, None], 1.0),
            r"is 1 for items without a gold label: the first is 1.0 at index 2, 1 in",
        ),
        (lambda: sb.Verified([1, 0, None], [1, 1, 1]), r"probability is 1 for items without a gold label"),
        (
            lambda: sb.Verified(np.array(["a", "", "b", "nan"])),
            r"gold has texts.*the first is '' at index 1, 2 in all.*None",
        ),
        (
            lambda: sb.Verified(np.array(["a", "", "b"], dtype=object)),
            r"name no class.*the first is '' at index 1, 1 in all",
        ),
        (
            lambda: sb.accuracy_score([0, 1, 1], [0, 1, 1], yerr=sb.Verified([None, 1, 0.5])),
            r"gold holds continuous values, which is not supported: the first is 0.5 at index 2, 1 in all",
        ),
        (lambda: sb.accuracy_score([0, 1], [0, 1], yerr=sb.Verified([np.inf, 1])), r"gold contains infinity"),
        (
            lambda: sb.accuracy_score([0, 1], [0, 1], yerr=sb.Verified([1, 0, None])),
            r"describes 3 labels but y_true has 2",
        ),
        (lambda: sb.accuracy_score(["a", "b"], ["a", "b"], yerr=sb.Verified([1, 0])), r"mix texts and numbers"),
        (
            lambda: sb.mean_squared_error([1.0, 2.0], [1.0, 2.0], yerr=sb.Verified(["a", "b"])),
            r"gold holds no numbers but str",
        ),
        (
            lambda: sb.intrinsic_scatter([0.1, 1], [0, 1], yerr=sb.Verified([1.0, 0])),
            r"Verified, which metrics, confusion_matrix, evaluate, compare and plan take",
        ),
        (
            lambda: sb.compare([0.1, 1], {"a": [0.2, 1], "b": [1, 1]}, yerr=sb.Verified([1.0, 0]), metric="r2_score"),
            r"r2_score is not a mean over items",
        ),
        (
            lambda: sb.compare([0.1, 1], {"a": [0, 1.0], "b": [1, 1.5]}, yerr=sb.Verified([1.0, 0]), prederr=0.1),
            r"prederr is not taken together with gold labels",
        ),
        (
            lambda: sb.plot.flip_flow([0, 1], [0, 1], yerr=sb.Verified([1, 0])),
            r"Verified, which metrics, confusion_matrix",
        ),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_models_that_no_checked_item_tells_apart():
    """They differ on other items: the interval of their difference leaves room for that, and is not empty."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 60)
    a, b = y.copy(), y.copy()
    b[:6] = 1 - b[:6]
    gold = np.where(np.arange(60) >= 40, y, np.nan)
    found = sb.compare(y, {"a": a, "b": b}, yerr=sb.Verified(gold), sampling=True).difference("a", "b").truth
    assert float(found) == pytest.approx(0.0, abs=1e-12)
    low, high = found.total_interval()
    assert low < -0.02 and high > 0.02
    same = sb.compare(y, {"a": a, "b": a}, yerr=sb.Verified(gold), sampling=True).difference("a", "b").truth
    assert same.total_interval() == (0.0, 0.0)


def test_groups_of_items_with_gold_labels():
    """Equal groups as before: sums of the influences; where sizes differ a large group counts by what leaving it out does."""
    rng = np.random.default_rng(8)
    y = rng.normal(0, 1, 120)
    p, gold = y + rng.normal(0, 1, 120), np.where(rng.random(120) < 0.4, y + rng.normal(0, 0.2, 120), np.nan)
    equal = np.repeat(np.arange(10), 12)
    unequal = np.repeat(np.arange(10), [3, 3, 3, 3, 3, 3, 3, 3, 16, 80])
    width = {}
    for name, groups in (("equal", equal), ("unequal", unequal)):
        low, high = sb.mean_squared_error(y, p, yerr=sb.Verified(gold), groups=groups).truth.total_interval()
        width[name] = high - low
    assert width["unequal"] > 2 * width["equal"]


def test_few_checked_items_are_left_out_in_turn():
    """F1 of a rare class: each gold label is taken away by hand, with the labels counting as before."""
    rng = np.random.default_rng(12)
    true = rng.choice(4, 160, p=[0.4, 0.3, 0.2, 0.1])
    y, p = (np.where(rng.random(160) < q, (true + 1) % 4, true) for q in (0.3, 0.2))
    gold = np.where(rng.permutation(160) < 30, true, np.nan)
    found = sb.f1_score(y, p, yerr=sb.Verified(gold), average="macro")
    answers = found._answers
    (_, beta), values = answers._tuned, []
    for k in np.flatnonzero(np.isfinite(gold)):
        fewer = gold.copy()
        fewer[k] = np.nan
        values.append(sb.f1_score(y, p, yerr=sb.Verified(fewer), average="macro")._answers._corrected(beta).value)
    scatter = (1 - 30 / 160) * 29 / 30 * np.sum(np.square(values - np.mean(values)))
    assert answers._enlarged == pytest.approx(max(math.sqrt(scatter) / found.truth.std, 1.0), rel=1e-9)
    assert answers._enlarged > 1.01
    again = pickle.loads(pickle.dumps(found))
    assert again.truth.interval() == pytest.approx(found.truth.interval(), rel=1e-12)
    assert sb.accuracy_score(y, p, yerr=sb.Verified(gold))._answers._enlarged == 1.0  # a mean is straight


@pytest.mark.parametrize("text", [True, False])
def test_groups_of_which_few_were_checked(text):
    """They have scores, and say why they have none against the truth."""
    rng = np.random.default_rng(3)
    by, y, p = np.arange(60) % 3, rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    known = (np.arange(60) < 20) & (by == 0) | (np.arange(60) == 1)
    gold = [("ab"[k] if text else float(k)) if seen else None for k, seen in zip(y, known, strict=True)]
    y, p = (np.array(list("ab"))[x] if text else x for x in (y, p))
    metrics = ["accuracy", "balanced_accuracy_score"]
    found = sb.evaluate(y, {"m": p}, yerr=sb.Verified(gold), by=by, metrics=metrics)
    assert math.isfinite(found["m", "accuracy_score", "0"].truth)
    for group, said in (("1", "1 of these 20 items has"), ("2", "0 of these 20 items have")):
        for metric in ("accuracy_score", "balanced_accuracy_score"):
            assert found["m", metric, group].observed >= 0
            with pytest.raises(sb.UndefinedEstimate, match=f"{said} a gold label: truth needs at least 2"):
                _ = found["m", metric, group].truth


def test_nan_among_texts_of_a_list():
    """NumPy makes a text of it."""
    found = sb.Verified(["yes", np.nan, "no", None])
    assert found.known.tolist() == [True, False, True, False]
    assert sb.Verified(np.array(["nan", "bread"], dtype=object)).known.all()  # a class, as a text among objects


def test_a_kind_that_no_checked_item_is_of():
    """Recall of a rare class of which none was checked: its observed value is no estimate, let alone an exact one."""
    rng = np.random.default_rng(2)
    true = rng.choice(3, 300, p=[0.6, 0.35, 0.05])
    y, p = (np.where(rng.random(300) < q, (true + 1) % 3, true) for q in (0.1, 0.2))
    gold = np.where((rng.random(300) < 0.1) & (true < 2) & (y < 2), true, np.nan)
    found = sb.recall_score(y, p, average=None, yerr=sb.Verified(gold))
    assert found[0].truth.std > 0 and found[1].truth.std > 0
    with pytest.raises(
        sb.UndefinedEstimate, match=f"the {np.isfinite(gold).sum()} checked items do not tell: none of them"
    ):
        _ = found[2].truth
    constant = sb.cohen_kappa_score(y, np.zeros(300, dtype=int), yerr=sb.Verified(gold))  # 0 whatever the labels are
    assert constant.truth.interval() == pytest.approx((0.0, 0.0), abs=1e-12)


def test_a_share_of_measured_numbers_leaves_room():
    """All checked predictions lie within the tolerance: one more may not. So it is for a metric of one's own."""
    rng = np.random.default_rng(5)
    held = dict.fromkeys(("within", "own"), 0)
    own = sb.metric(lambda y, p: np.where(np.abs(y - p) > 1.2, 1.0, 0.0), name="outside")
    for _ in range(60):
        true = rng.normal(0, 2, 300)
        y, p = true + rng.normal(0, 1, 300), true + rng.normal(0, 0.5, 300)
        gold = np.where(rng.permutation(300) < 30, true, np.nan)
        low, high = sb.fraction_within(y, p, tolerance=1.2, yerr=sb.Verified(gold)).truth.interval()
        held["within"] += low <= np.mean(np.abs(true - p) <= 1.2) <= high
        low, high = own(y, p, yerr=sb.Verified(gold)).truth.interval()
        held["own"] += low <= np.mean(np.abs(true - p) > 1.2) <= high
    assert min(held.values()) >= 57  # 22 without that room


def test_checked_items_that_all_have_the_same_loss():
    """Rounded numbers that the model meets exactly wherever they were checked."""
    rng = np.random.default_rng(1)
    true = rng.normal(0, 2, 200).round()
    y = true + np.where(rng.random(200) < 0.2, 0.7, 0.0)
    gold = np.where(np.arange(200) < 30, true, np.nan)
    for metric in (sb.mean_absolute_error, sb.root_mean_squared_error):
        found = metric(y, true, yerr=sb.Verified(gold)).truth
        assert float(found) == 0 and found.std > 0 and found.interval()[1] > 0.02
    assert sb.plan(y, true, yerr=sb.Verified(gold), std=0.002).checks > 100


def test_a_plan_where_no_label_was_found_wrong():
    """Not 1 check: where 30 agree, one more may not."""
    _, y, p, _, _ = judged(300)
    gold = np.where(np.arange(300) < 30, y, np.nan)
    plan = sb.plan(y, p, yerr=sb.Verified(gold), std=0.02)
    assert 100 < plan.checks < plan.labels
    few = sb.plan(y, p, yerr=sb.Verified(np.where(np.arange(300) < 2, y, np.nan)), std=0.02)
    assert few.labels > 100 and few.checks > 100


def test_one_group_shows_no_scatter_of_groups():
    _, y, p, _, gold = judged(300)
    one = np.zeros(300)
    for metric in (sb.accuracy_score, sb.f1_score):
        assert metric(y, p, yerr=sb.Verified(gold), groups=one).truth.total_interval() == (0.0, 1.0)
    found = sb.compare(y, {"a": p, "b": y}, yerr=sb.Verified(gold), sampling=True, groups=one)
    assert found.difference("a", "b").total_interval() == (-math.inf, math.inf)
    assert found.ranking().probabilities["b"][0] == pytest.approx(0.5, abs=0.05)


def test_two_shares_of_measured_numbers_leave_room_for_what_tells_them_apart():
    """Where both models are within the tolerance on all checked items, one of them may not be on one more."""
    held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        true = rng.normal(0, 2, 300)
        y, a, b = (true + rng.normal(0, sd, 300) for sd in (1.0, 0.5, 0.55))
        gold = np.where(rng.permutation(300) < 30, true, np.nan)
        compared = {"metric": "fraction_within", "tolerance": 1.2, "yerr": sb.Verified(gold)}
        low, high = sb.compare(y, {"a": a, "b": b}, **compared).difference("a", "b").truth.interval()
        inside = [np.mean(np.abs(true - p) <= 1.2) for p in (a, b)]
        held += low <= inside[0] - inside[1] <= high
    assert held >= 38  # 30 without that room
    assert sb.compare(y, {"a": a, "b": a}, **compared).difference("a", "b").truth.interval() == (0.0, 0.0)


def test_one_against_one_says_why_not():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 60), rng.dirichlet([1, 1, 1], 60)
    found = sb.roc_auc_score(y, p, yerr=sb.Verified(np.where(np.arange(60) < 20, y, np.nan)), multi_class="ovo")
    assert found.observed == sb.roc_auc_score(y, p, multi_class="ovo").observed
    with pytest.raises(sb.UndefinedEstimate, match=r"one-vs-one AUC takes no weights.*multi_class='ovr'"):
        _ = found.truth


def test_a_perfect_model_has_no_std_of_rounding():
    """All checked items are right, in a curved metric too: the std is what one more may do, not 1e-13."""
    true, y, _, _, gold = judged(200)
    for metric in (sb.accuracy_score, sb.balanced_accuracy_score, sb.matthews_corrcoef, sb.cohen_kappa_score):
        truth = metric(y, true, yerr=sb.Verified(gold)).truth
        assert float(truth) == pytest.approx(1.0, abs=0.01) and 1e-3 < truth.std < 0.1


def test_a_ranking_leaves_room_for_wrong_labels_like_those_seen():
    """300 gold labels, some 35 of them another: intervals hold, and are not far wider than the estimate scatters."""
    rng = np.random.default_rng(8)
    held, widths, errors = [], [], []
    for _ in range(60):
        true = (rng.random(800) < 0.35).astype(int)
        score = rng.standard_normal(800) + 3.1 * true
        y = np.where(rng.random(800) < np.where(true == 1, 0.2, 0.1), 1 - true, true)
        gold = np.where(np.arange(800) < 300, true, np.nan)
        found = sb.roc_auc_score(y, score, yerr=sb.Verified(gold))
        here = sb.roc_auc_score(true, score).observed
        low, high = found.truth.interval()
        held.append(low <= here <= high)
        widths.append(high - low)
        errors.append(float(found.truth) - here)
    assert np.mean(held) >= 0.88
    assert np.mean(widths) < 1.4 * 3.92 * np.std(errors)


def test_an_expected_score_that_does_not_scatter_has_no_range():
    _, y, p, _, gold = judged()
    text = sb.accuracy_score(y, p, yerr=sb.Verified(gold)).explain()
    assert "the same, since gold labels do not tell how fresh labels would fall." in text and "of the time" not in text
