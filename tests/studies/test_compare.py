"""Comparisons: exact cases, coverage, and what real data tell apart."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars.metrics.registry import declarations
from scorebars.studies import capabilities as table

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
CASES = {case["id"]: case for case in REFERENCE}


def reference(name):
    case = CASES[name]
    return case["inputs"], dict(case["exact"].items())


def pair(inputs, **options):
    models = {"a": inputs["pred_a"], "b": inputs["pred_b"]}
    return sb.compare(inputs["y"], models, **options)


def test_squared_errors_against_reference():
    inputs, exact = reference("mse_diff_M5")
    c = pair(inputs, yerr=inputs["sigma"])
    d = c.difference("a", "b")
    assert d.expected == pytest.approx(float(exact["mean"]), rel=1e-12)
    assert d.variance == pytest.approx(float(exact["var"]), rel=1e-12)
    assert c.probability("a", "b") == pytest.approx(float(exact["p_a_better"]), rel=1e-12)
    assert d.method == "exact"


def test_absolute_errors_against_reference():
    inputs, exact = reference("mae_diff_M5")
    d = pair(inputs, yerr=inputs["sigma"], metric="mean_absolute_error").difference("a", "b")
    assert d.expected == pytest.approx(float(exact["mean"]), rel=1e-12)
    assert d.variance == pytest.approx(float(exact["var"]), rel=1e-12)


def test_accuracies_against_reference():
    inputs, exact = reference("accuracy_diff_M6")
    c = pair(inputs, yerr=sb.Flip(inputs["q"]))
    d = c.difference("a", "b")
    assert d.expected == pytest.approx(float(exact["mean"]), rel=1e-12)
    assert d.variance == pytest.approx(float(exact["var"]), rel=1e-12)
    for count, p in exact["pmf"].items():
        assert d.distribution.pmf(int(count) / 6) == pytest.approx(float(p), rel=1e-12)
    assert c.probability("a", "b") == pytest.approx(float(exact["p_a_better"]), rel=1e-12)
    assert c.probability("b", "a") == pytest.approx(1 - float(exact["p_a_better"]) - float(exact["p_tie"]), rel=1e-12)
    mirrored = pair(inputs, yerr=sb.Flip(inputs["q"]), metric="zero_one_loss")
    assert mirrored.probability("a", "b") == pytest.approx(float(exact["p_a_better"]), rel=1e-12)
    assert mirrored.difference("a", "b").expected == pytest.approx(-float(exact["mean"]), rel=1e-12)


@pytest.mark.parametrize(
    "metric", ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "huber_loss"]
)
@pytest.mark.parametrize("errors", ["independent", "covariance", "shared", "uniform"])
def test_difference_agrees_with_simulation(metric, errors):
    rng = np.random.default_rng(5)
    n = 30
    y = rng.normal(size=n)
    a, b = y + rng.normal(0, 0.5, n), y + rng.normal(0.1, 0.6, n)
    root = rng.normal(0, 0.2, (n, n))
    model = {
        "independent": sb.Normal(rng.uniform(0.1, 0.6, n)),
        "covariance": sb.Normal(cov=root @ root.T / 5 + 0.05 * np.eye(n)),
        "shared": sb.Normal(0.2, shared=np.full(n, 0.4)),
        "uniform": sb.Uniform(0.5),
    }[errors]
    c = sb.compare(y, {"a": a, "b": b}, yerr=model, metric=metric)
    d = c.difference("a", "b")
    labels = model.sample(y, 40_000, rng)

    def score(p):
        r = np.abs(labels - p)
        if metric == "mean_absolute_error":
            return r.mean(axis=1)
        if metric == "huber_loss":
            return np.where(r <= 1, 0.5 * r**2, r - 0.5).mean(axis=1)
        mse = np.square(r).mean(axis=1)
        return np.sqrt(mse) if metric.startswith("root") else mse

    draws = score(a) - score(b)
    drawn = 2_000 if metric == "huber_loss" else 20_000
    noise = draws.std() * np.sqrt(1 / len(draws) + 1 / drawn)
    assert abs(d.expected - draws.mean()) < 4.5 * noise
    assert d.std == pytest.approx(draws.std(), rel=0.08 if drawn < 5000 else 0.03)
    assert c.probability("a", "b") == pytest.approx(np.mean(draws < 0), abs=0.05 if drawn < 5000 else 0.02)


def test_probability_covers_at_nominal_rate():
    """A verdict at 95 % is wrong in at most 2.5 % of the cases in which it is given for the wrong side."""
    rng = np.random.default_rng(7)
    n, wrong, inside = 40, 0, 0
    truth = rng.normal(size=n)
    a, b = truth + rng.normal(0, 0.5, n), truth + rng.normal(0, 0.5, n)
    exact = np.mean((truth - a) ** 2) - np.mean((truth - b) ** 2)
    runs = 400
    for _ in range(runs):
        y = truth + 0.4 * rng.standard_normal(n)
        c = sb.compare(y, {"a": a, "b": b}, yerr=0.4)
        d = c.difference("a", "b")
        low, high = d.truth.interval(0.9)
        inside += low <= exact <= high
        wrong += c.verdict("a", "b") == ("better" if exact > 0 else "worse")
    assert abs(inside / runs - 0.9) < 4 * np.sqrt(0.09 / runs)
    assert wrong / runs < 0.025 + 4 * np.sqrt(0.025 / runs)


def test_sampling_holds_both_parts_once():
    """With `sampling` the std is that of the difference over new test sets with new label errors."""
    rng = np.random.default_rng(11)
    n, runs = 60, 300
    stds, values = [], []
    for _ in range(runs):
        truth = rng.normal(size=n)
        a, b = truth + rng.normal(0, 0.5, n), truth + rng.normal(0, 0.7, n)
        y = truth + 0.5 * rng.standard_normal(n)
        d = sb.compare(y, {"a": a, "b": b}, yerr=0.5, sampling=True).difference("a", "b")
        stds.append(d.std)
        values.append(d.observed)
    assert np.mean(stds) == pytest.approx(np.std(values), rel=0.15)


def test_ranking():
    rng = np.random.default_rng(3)
    y = rng.normal(size=50)
    models = {f"m{k}": y + rng.normal(0, 0.2 + 0.2 * k, 50) for k in range(4)}
    for options in ({}, {"sampling": True}, {"metric": "mean_absolute_error"}):
        ranking = sb.compare(y, models, yerr=0.1, **options).ranking(4000, rng=1)
        table = np.array(list(ranking.probabilities.values()))
        assert np.allclose(table.sum(axis=0), 1) and np.allclose(table.sum(axis=1), 1)
        assert ranking.best() == "m0" and ranking.order() == list(models)
        assert "most likely the best" in str(ranking)
    again = sb.compare(y, models, yerr=0.1).ranking(4000, rng=1)
    first = sb.compare(y, models, yerr=0.1).ranking(4000, rng=1)
    assert all(np.array_equal(again.probabilities[m], first.probabilities[m]) for m in models)


def test_verdicts():
    y = np.zeros(100)
    c = sb.compare(y, {"good": y + 0.1, "same": y - 0.1, "bad": y + 2.0}, yerr=0.2, rope=0.2)
    assert c.verdict("good", "bad") == "better" and c.verdict("bad", "good") == "worse"
    assert c.verdict("good", "same") == "equivalent"
    assert sb.compare(y, {"good": y + 0.1, "same": y - 0.1}, yerr=0.2).verdict("good", "same") == "cannot tell"
    assert c.probability("good", "good") == 0.0
    assert "better" in str(c)


def test_noisy_absolute_errors_warn():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    models = {"a": y + 0.1, "b": y - 0.1}
    noisy = sb.compare(y + rng.normal(0, 1, 200), models, yerr=1.0, metric="mean_absolute_error")
    assert "ranks models by their squared error" in noisy.warnings[0]
    assert not sb.compare(y, models, yerr=0.001, metric="mean_absolute_error").warnings


def test_sampl6_ranking():
    """105 methods on 11 labels: the label errors tell most apart, the eleven molecules do not."""
    d = sb.datasets.load_sampl6_logp()
    c = sb.compare(d.y, d.predictions, yerr=d.yerr)
    ranking = c.ranking(4000)
    assert ranking.best() == "hmz0n"
    with_items = sb.compare(d.y, d.predictions, yerr=d.yerr, sampling=True).ranking(4000)
    assert with_items.probabilities["hmz0n"][0] < ranking.probabilities["hmz0n"][0]


def test_nuclear_masses_told_apart():
    m = sb.datasets.load_nuclear_masses()
    c = sb.compare(m.y, m.predictions, yerr=m.yerr, sampling=True)
    assert c.verdict("WS3_RBF", "DZ28") == "better"
    assert c.verdict("FRDM2012", "HFB26") == "cannot tell"
    p = c.probability("HFB24", "HFB26")
    d = c.difference("HFB24", "HFB26")
    assert p == pytest.approx(stats.t.cdf(-d.expected / d.std, d.n - 1), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_pred": [1.0, 2.0]}, "only one was given"),
        ({"y_pred": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "level": 1.0}, "level must be a probability"),
        ({"y_pred": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "rope": -1.0}, "rope must be a number of at least 0"),
        ({"y_pred": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "metric": "mean_error"}, "does not take mean_error"),
        ({"y_pred": {"a": [1.0, 2.0], "b": [1.0, 2.0]}, "metric": "nonsense"}, "there is no metric 'nonsense'"),
        ({"y_pred": {"a": [1.0, 2.0], "b": [1.0]}}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        sb.compare([1.0, 2.0], yerr=0.1, **arguments)


def test_unknown_model():
    c = sb.compare([1.0, 2.0], {"a": [1.0, 2.0], "b": [2.0, 2.0]}, yerr=0.1)
    with pytest.raises(ValueError, match=r"there is no model 'c' in this comparison. The models are: a, b"):
        c.difference("a", "c")


def test_other_classification_metrics():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 200)
    good, bad = (np.where(rng.random(200) < e, 1 - y, y) for e in (0.05, 0.4))
    c = sb.compare(y, {"good": good, "bad": bad}, yerr=sb.Flip(0.1), metric="f1_score")
    assert c.verdict("good", "bad") == "better" and c.probability("good", "bad") == 1.0
    expected = sb.f1_score(y, good, yerr=0.1).expected - sb.f1_score(y, bad, yerr=0.1).expected
    d = c.difference("good", "bad")
    assert d.expected == pytest.approx(expected, abs=5 * d.std / np.sqrt(1000))


@pytest.mark.parametrize("metric", ["max_error", "spearman_correlation"])
def test_metrics_without_weights(metric):
    y = np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    models = {"a": y + np.array([0.1, -0.2, 0.3, 0.1, 0.0]), "b": y[::-1]}
    c = sb.compare(y, models, yerr=0.1, metric=metric)
    score = getattr(sb, metric)
    assert c.difference("a", "b").observed == score(y, models["a"]).observed - score(y, models["b"]).observed
    with pytest.raises(ValueError, match=f"{metric} takes no sample_weight. Compare without weights"):
        sb.compare(y, models, yerr=0.1, metric=metric, sample_weight=np.ones(5))


def test_metrics_that_need_options():
    y, models = np.arange(6.0), {"a": np.arange(6.0) + 0.5, "b": np.arange(6.0)[::-1]}
    with pytest.raises(
        ValueError, match=r"fraction_within needs its tolerance: compare\(..., metric='fraction_within'"
    ):
        sb.compare(y, models, yerr=0.1, metric="fraction_within")
    with pytest.raises(ValueError, match=r"fraction_within has no option 'beta'. It has: tolerance"):
        sb.compare(y, models, yerr=0.1, metric="fraction_within", beta=2)
    by_name = sb.compare(y, models, yerr=0.1, metric="fraction_within", tolerance=0.7)
    bound = sb.compare(y, models, yerr=0.1, metric=partial(sb.fraction_within, tolerance=0.7))
    assert by_name.metric == bound.metric == "fraction_within(tolerance=0.7)"
    assert by_name.difference("a", "b").observed == bound.difference("a", "b").observed == pytest.approx(1.0)


def test_one_weight_for_all_drawn_labels():
    y, models = np.arange(6.0), {"a": np.arange(6.0) + 0.5, "b": np.arange(6.0)[::-1]}
    plain, weighted = (
        sb.compare(y, models, yerr=0.1, metric="d2_absolute_error_score", sample_weight=w) for w in (None, 2.0)
    )
    assert weighted.difference("a", "b").expected == pytest.approx(plain.difference("a", "b").expected, rel=1e-9)


def two_models(n=100, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    return rng, truth, {"a": truth + rng.normal(0, 0.5, n), "b": truth + rng.normal(0, 0.6, n)}


def test_repeats_count_as_well_as_their_mean_is_known():
    rng, truth, models = two_models()
    model = sb.Repeats(truth[:, None] + rng.normal(0, 1, (100, 16)), sigma="pooled")
    d = sb.compare(None, models, yerr=model).difference("a", "b")
    assert d.std == pytest.approx(2 / 100 * np.linalg.norm(models["a"] - models["b"]) / 4, rel=0.1)
    with pytest.raises(sb.UndefinedEstimate, match="as many repeats as those at hand"):
        d.remeasured(1)
    assert d.remeasured(16).value == d.observed


def test_a_common_shift_stays_with_sampling():
    _, truth, _ = two_models()
    error = sb.Normal(0.1, shared=np.full(100, 0.5))
    for metric, expected in (("mean_squared_error", 2 * 0.05 * 0.5), ("root_mean_squared_error", 0.04)):
        d = sb.compare(truth + 0.5, {"a": truth + 0.05, "b": truth}, yerr=error, metric=metric, sampling=True)
        assert d.difference("a", "b").std >= 0.9 * expected


def test_berkson_errors_enter_with_sampling():
    rng, y, _ = two_models()
    models = {"a": y + rng.normal(0.1, 0.1, 100), "b": y + rng.normal(0.4, 0.1, 100)}
    error = sb.Normal(0.6, kind="berkson")
    d, s = (
        sb.compare(y, models, yerr=error, metric="mean_absolute_error", sampling=sampling).difference("a", "b")
        for sampling in (False, True)
    )
    each = [sb.mean_absolute_error(y, p, yerr=error).expected for p in models.values()]
    assert s.expected == pytest.approx(each[0] - each[1], rel=1e-9)
    assert d.truth.value == pytest.approx(s.truth.value) and abs(d.observed) > 2 * abs(s.expected)


def classes(n, k, seed=0, errors=(0.1, 0.3)):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    models = {
        name: np.where(rng.random(n) < e, (y + rng.integers(1, k, n)) % k, y)
        for name, e in zip("ab", errors, strict=True)
    }
    return rng, y, models


def test_correlated_flips_are_a_mixture():
    _, y, models = classes(200, 2)
    d = sb.compare(y, models, yerr=sb.Flip(0.2, correlation=0.3)).difference("a", "b")
    gap = np.mean(y == models["a"]) - np.mean(y == models["b"])
    discordant = np.mean(models["a"] != models["b"])
    own = 4 * 0.2 * 0.8 * 0.7 * discordant / 200
    assert d.variance == pytest.approx(own + 0.3 * 4 * 0.2 * 0.8 * gap**2, rel=0.02)


def test_truth_of_accuracies_of_several_classes():
    """Value and std against labels that are shown wrong again and again."""
    rng, truth, models = classes(300, 4, errors=(0.2, 0.3))
    exact = np.mean(truth == models["a"]) - np.mean(truth == models["b"])
    found = []
    for _ in range(300):
        y = np.where(rng.random(300) < 0.3, (truth + rng.integers(1, 4, 300)) % 4, truth)
        t = sb.compare(y, models, yerr=sb.Flip(0.3)).difference("a", "b").truth
        found.append((t.value, t.std))
    values, stds = np.array(found).T
    assert values.mean() == pytest.approx(exact, abs=4 * values.std() / np.sqrt(300))
    assert stds.mean() == pytest.approx(values.std(), rel=0.15)


def test_classes_that_no_label_shows():
    y = np.zeros(50, int)
    models = {"a": np.zeros(50, int), "b": np.where(np.arange(50) < 10, 2, 0)}
    d = sb.compare(y, models, yerr=sb.Flip(0.1)).difference("a", "b")
    assert d.std > 0.01
    assert sb.compare(y, models, yerr=sb.Flip(0.1), metric="f1_score", average="macro").difference("a", "b").std > 0


CLASS_MODELS = {
    "Votes": lambda y: sb.errors.Votes(np.where(y[:, None] == [0, 1], 3, 2), [0, 1]),
    "LabelProbabilities": lambda y: sb.errors.LabelProbabilities(np.where(y[:, None] == [0, 1], 0.8, 0.2), [0, 1]),
    "Transition": lambda y: sb.errors.Transition([[0.9, 0.1], [0.2, 0.8]], [0, 1]),
    "ClassFlip": lambda y: sb.errors.ClassFlip({0: 0.1, 1: 0.2}),
    "Thresholded": lambda y: sb.errors.Thresholded(y - 0.3, 0.4, cut=0.0),
}


@pytest.mark.parametrize("name", CLASS_MODELS)
def test_all_models_of_classes(name):
    _, y, models = classes(60, 2)
    yerr = CLASS_MODELS[name](y)
    held = yerr.labels() is not None
    d = sb.compare(None if held else y, models, yerr=yerr).difference("a", "b")
    assert d.std > 0 and np.isfinite(d.total_interval()).all()
    if name == "Thresholded":
        with pytest.raises(sb.UndefinedEstimate, match="cutting a measured number"):
            d.truth  # noqa: B018
    elif name != "Votes":
        assert d.truth.interval().low <= d.truth <= d.truth.interval().high


def test_whole_numbers_of_few_values_are_classes():
    _, y, models = classes(60, 2)
    c = sb.compare(y, models, yerr=0.1)
    assert c.metric == "accuracy_score" and 'task="regression"' in c.warnings[0]
    assert sb.compare(y, models, yerr=0.1, task="regression").metric == "mean_squared_error"
    assert not sb.compare(y, models, yerr=sb.Flip(0.1)).warnings
    evaluation = sb.evaluate(y, models, yerr=0.1)
    assert "accuracy_score" in evaluation.metrics and "taken as classes" in str(evaluation)
    assert "taken as classes" in str(sb.plan(y, models, yerr=0.1))
    assert sb.guess_task(y, 0.1, [np.full(60, 0.3)]) == sb.guess_task(y, 3.0, list(models.values())) == "regression"


def test_truth_of_other_metrics_pairs_the_two():
    rng, truth, models = two_models()
    y = truth + rng.normal(0, 0.3, 100)
    for metric in ("root_mean_squared_error", "r2_score", "huber_loss"):
        d = sb.compare(y, models, yerr=0.3, metric=metric).difference("a", "b")
        each = [getattr(sb, metric)(y, p, yerr=0.3).truth for p in models.values()]
        assert d.truth.value == pytest.approx(each[0].value - each[1].value, rel=1e-9)
        low, high = d.truth.interval()
        assert low < d.truth < high and 0 < d.truth.std < 1.2 * np.hypot(each[0].std, each[1].std)


OTHER = {
    "numbers": table.P + np.array([0.3, -0.2, 0.1, 0.2, -0.4, 0.1, 0.2]),
    "classes": np.array([1, 1, 0, 1, 0, 0, 1]),
    "probabilities": np.array([0.6, 0.3, 0.5, 0.9, 0.3, 0.4, 0.5]),
}
PAIRS = [
    pytest.param(*pair, id=f"{pair[0]}-{pair[1]}", marks=[] if pair[1] in ("Normal(shared)",) else [pytest.mark.slow])
    for pair in table.pairs()
    if pair[0] != "mean_error"
]


@pytest.mark.parametrize(("metric", "family", "model"), PAIRS)
def test_every_metric_under_every_model(metric, family, model):
    """Works, or refuses with a reason; estimates lie in their intervals."""
    given = table.ARGUMENTS.get(metric, {})
    if isinstance(model, sb.errors.MeasurementError):
        y, models = table.Y, {"a": table.P, "b": OTHER["numbers"]}
        if declarations()[metric].task == "forecast":
            models = {name: sb.NormalForecast(p, table.FORECAST.std) for name, p in models.items()}
            metric, given = partial(getattr(sb, metric), **given), {}  # compare has a level of its own
    else:
        held = model.labels()
        y = table.LABELS if held is None else held
        scores = declarations()[metric].takes != "labels"
        first, second = (table.PROBABILITIES, "probabilities") if scores else (table.CLASSES, "classes")
        models = {"a": first, "b": OTHER[second]}
    if metric == "reduced_chi_squared" and not isinstance(model, sb.Normal | sb.SplitNormal):
        with pytest.raises(ValueError, match="reduced chi-squared needs normal errors"):
            sb.compare(y, models, yerr=model, metric=metric)
        return
    c = sb.compare(y, models, yerr=model, metric=metric, sampling=True, **given)
    d = c.difference("a", "b")
    assert np.isfinite([d.observed, d.expected, d.std, *d.interval(), *d.total_interval()]).all()
    assert c.verdict("a", "b") in ("better", "worse", "cannot tell")
    try:
        t = d.truth
    except sb.UndefinedEstimate as why:
        assert len(str(why)) > 20
        return
    assert t.interval().low <= t <= t.interval().high
    if metric == "max_error":
        with pytest.raises(sb.UndefinedEstimate, match="no interval for a population"):
            t.total_interval()
        return
    assert t.total_interval().low <= t <= t.total_interval().high


@pytest.mark.parametrize(("n", "shared_rate"), [(2000, True), (60, True), (90, False)])
def test_drawn_ranks_of_accuracies_agree_with_their_exact_law(n, shared_rate):
    """Normal together for many labels, drawn by kinds of items or one by one for few; ties fall either way."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.15, 1 - y, y)
    models = {"a": first, "b": np.where(rng.random(n) < 0.16, 1 - y, y)}
    found = sb.compare(y, models, yerr=0.05 if shared_rate else rng.beta(1, 30, n), metric="accuracy_score")
    better, worse = found.probability("a", "b"), found.probability("b", "a")
    assert found.ranking().probabilities["a"][0] == pytest.approx(better + 0.5 * (1 - better - worse), abs=0.012)


@pytest.mark.parametrize("n", [40, 2100])
@pytest.mark.parametrize("metric", ["fraction_within", "interval_coverage", "crps"])
def test_shares_and_scores_of_forecasts_follow_the_law_of_their_draws(n, metric):
    rng = np.random.default_rng(4)
    y, sigma = rng.normal(size=n), rng.uniform(0.1, 0.6, n)
    centres = {name: y + rng.normal(0, spread, n) for name, spread in (("a", 0.5), ("b", 0.6))}
    function, models = partial(sb.fraction_within, tolerance=0.5), centres
    if metric == "interval_coverage":
        models = {name: sb.QuantileForecast([0.1, 0.9], p[:, None] + [-0.8, 0.8]) for name, p in centres.items()}
        function = partial(sb.interval_coverage, level=0.8)
    if metric == "crps":
        models, function = {name: sb.NormalForecast(p, 0.7) for name, p in centres.items()}, "crps"
    found = sb.compare(y, models, yerr=sigma, metric=function)
    law, rows = found._models.law("a", "b"), y + sigma * rng.standard_normal((4000, n))
    drawn = found._models.values(rows, "a") - found._models.values(rows, "b")
    assert float(law.mean) == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / math.sqrt(4000))
    assert float(law.std) == pytest.approx(np.std(drawn), rel=0.05)
    better = np.mean(drawn > 0) if metric != "crps" else np.mean(drawn < 0)
    assert found.probability("a", "b") == pytest.approx(better, abs=0.03)
    tied = 0.5 * np.mean(np.abs(drawn) < 1e-9)
    assert found.ranking().probabilities["a"][0] == pytest.approx(better + tied, abs=0.03)


def _grouped(seed, count):
    """Labels in groups of very unequal size, which share half of the residuals of both models."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(count), np.exp(rng.uniform(math.log(3), math.log(50), count)).round().astype(int))
    common, y = rng.standard_normal(count)[of], 2 * rng.standard_normal(len(of))
    a, b, c = (y - 0.7 * size * (common + rng.standard_normal(len(of))) for size in (1.0, 1.1, 1.3))
    return of, y, {"a": a, "b": b, "c": c}


@pytest.mark.parametrize("count", [1, 6, 80])
@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "r2", "spearman_correlation"])
def test_ranks_in_groups_are_those_of_the_differences(count, metric):
    """Two models: the better one is the best one. Three: more of them share the first rank, none is surer than it may be."""
    of, y, models = _grouped(5, count)
    pair = {name: models[name] for name in ("a", "b")}
    kind = {} if count < 80 else {"yerr": sb.Normal(0.3, kind="berkson")}
    found = sb.compare(y, pair, metric=metric, groups=of, sampling=True, **kind)
    ranking = found.ranking()
    wide = 4 * 0.5 / math.sqrt(ranking.draws)
    assert ranking.probabilities["a"][0] == pytest.approx(found.probability("a", "b"), abs=wide)
    several = sb.compare(y, models, metric=metric, groups=of, sampling=True, **kind).ranking()
    assert several.probabilities["a"][0] <= found.probability("a", "b") + wide


def test_ranks_of_classes_in_groups():
    of, y, models = _grouped(6, 8)
    classes = {name: (values > 0).astype(int) for name, values in models.items() if name != "c"}
    for metric in ("accuracy", "f1"):
        found = sb.compare((y > 0).astype(int), classes, metric=metric, groups=of, sampling=True, yerr=0.05)
        ranking = found.ranking()
        wide = 4 * 0.5 / math.sqrt(ranking.draws)
        assert ranking.probabilities["a"][0] == pytest.approx(found.probability("a", "b"), abs=wide)
