"""Items that come in groups: the sample is one of groups, in every metric and every study."""

import functools
import math
import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtrit

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies.capabilities import ARGUMENTS

RNG = np.random.default_rng(7)
G, N = 20, 100
GROUPS = np.repeat(np.arange(G), 5)
TRUTH = 6.0 + 2.0 * RNG.standard_normal(N)
P = TRUTH + 0.7 * RNG.standard_normal(G)[GROUPS] + 0.3 * RNG.standard_normal(N)
Y = TRUTH + 0.3 * RNG.standard_normal(N)
LABELS = (RNG.random(N) < 0.5).astype(int)
CLASSES = np.where((RNG.random(G) < 0.75)[GROUPS] | (RNG.random(N) < 0.3), LABELS, 1 - LABELS)
PROBABILITIES = np.clip(0.5 + 0.3 * (2 * CLASSES - 1) + 0.1 * RNG.standard_normal(N), 0.01, 0.99)
METRICS = [name for name, declared in declarations().items() if declared.scored]
BY_LEAVING_OUT = ("median_absolute_error", "d2_absolute_error_score", "kendall_correlation", "spearman_correlation")
BY_LEAVING_OUT += ("concordance_index",)


def score(name, exact=False, **more):
    declared = entry_of(name).declaration
    if declared.task == "regression":
        given, yerr = (Y, P), 0.3
    elif declared.task == "forecast":
        given, yerr = ((Y, P - 0.8, P + 0.8) if declared.takes == "interval" else (Y, (P, np.full(N, 0.8)))), 0.3
    else:
        given, yerr = (LABELS, CLASSES if declared.takes == "labels" else PROBABILITIES), 0.05
    yerr = None if exact and name != "reduced_chi_squared" else yerr
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return entry_of(name).function(*given, yerr=yerr, **ARGUMENTS.get(name, {}), **more)


def asked(question):
    try:
        return question()
    except sb.UndefinedEstimate as why:
        return str(why)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", METRICS)
def test_groups_change_what_test_sets_scatter_by_and_nothing_else(name, exact):
    plain, found = score(name, exact), score(name, exact, groups=GROUPS)
    assert (float(plain), plain.observed, plain.std) == (float(found), found.observed, found.std)
    if name == "max_error":
        with pytest.raises(sb.UndefinedEstimate, match="one item decides it"):
            _ = found.sampling_std
        return
    assert asked(lambda: float(plain.truth)) == asked(lambda: float(found.truth))
    assert asked(lambda: plain.truth.interval(0.9)) == asked(lambda: found.truth.interval(0.9))
    assert found.sampling_std > plain.sampling_std or math.isinf(plain.sampling_std)
    assert np.ptp(found.total_interval(0.8)) > np.ptp(plain.total_interval(0.8))
    wide, narrow = (asked(functools.partial(lambda s: np.ptp(s.truth.total_interval(0.8)), s)) for s in (found, plain))
    assert wide == narrow if isinstance(narrow, str) else wide > narrow


@pytest.mark.parametrize("name", [n for n in METRICS if n != "max_error"])
def test_groups_of_one_item_are_items(name):
    plain, found = score(name), score(name, groups=[f"item {i}" for i in range(N)])
    loose = 0.3 if name in BY_LEAVING_OUT else 1e-6
    if not math.isinf(plain.sampling_std):
        assert found.sampling_std == pytest.approx(plain.sampling_std, rel=loose)
    # intervals of squares in groups lean upwards
    squares = ("reduced_chi_squared", "mean_squared_error", "root_mean_squared_error")
    atol, rtol = 0.05 if loose > 0.1 else 0.01, 0.1 if name in squares else 1e-7
    np.testing.assert_allclose(found.total_interval(0.8), plain.total_interval(0.8), atol=atol, rtol=rtol)


@pytest.mark.parametrize(
    "name", ["mean_absolute_error", "r2_score", "f1_score", "accuracy_score", "roc_auc_score", "log_loss"]
)
def test_the_variance_is_that_of_groups_left_out(name):
    """The jackknife over groups knows nothing of influences."""
    found, declared = score(name, exact=True, groups=GROUPS), entry_of(name).declaration
    p = P if declared.task == "regression" else CLASSES if declared.takes == "labels" else PROBABILITIES
    y = Y if declared.task == "regression" else LABELS
    values = [entry_of(name).function(y[g != GROUPS], p[g != GROUPS]).observed for g in range(G)]
    jackknife = math.sqrt((G - 1) / G * np.sum(np.square(values - np.mean(values))))
    assert found.sampling_std == pytest.approx(jackknife, rel=0.15)


def test_weights_units_outputs_and_names():
    w = np.where(GROUPS == 3, 0.0, 1.0 + GROUPS / 10)
    found = sb.mean_squared_error(Y, P, sample_weight=w, groups=GROUPS)
    kept = w > 0
    same = sb.mean_squared_error(Y[kept], P[kept], sample_weight=w[kept], groups=GROUPS[kept])
    assert found.truth.total_interval(0.9) == pytest.approx(same.truth.total_interval(0.9), rel=1e-2)
    named = sb.mean_squared_error(Y, P, groups=np.array([f"lab {g}" for g in GROUPS], dtype=object))
    assert named.sampling_std == pytest.approx(sb.mean_squared_error(Y, P, groups=GROUPS).sampling_std, rel=1e-12)
    scaled = sb.root_mean_squared_error(1e150 * Y, 1e150 * P, groups=GROUPS)
    assert scaled.sampling_std == pytest.approx(1e150 * sb.root_mean_squared_error(Y, P, groups=GROUPS).sampling_std)
    two = np.stack([Y, Y], axis=1), np.stack([P, P], axis=1)
    for metric in (sb.mean_absolute_error, sb.r2_score):
        assert metric(*two, groups=GROUPS).sampling_std == pytest.approx(metric(Y, P, groups=GROUPS).sampling_std)
        raw = metric(*two, groups=GROUPS, multioutput="raw_values")
        assert [one.sampling_std for one in raw] == pytest.approx([metric(Y, P, groups=GROUPS).sampling_std] * 2)


def test_multilabel_and_averages():
    y, p = (np.stack([x, np.roll(x, 5)], axis=1) for x in (LABELS, CLASSES))
    for average in ("micro", "macro", "samples", "weighted"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain, found = sb.f1_score(y, p, average=average), sb.f1_score(y, p, average=average, groups=GROUPS)
        assert found.sampling_std > plain.sampling_std
    assert len(sb.f1_score(LABELS, CLASSES, average=None, groups=GROUPS)) == 2


def test_estimated_sizes_and_groups_together():
    errors = sb.Normal(0.3, scale_error=0.2)
    plain, found = (sb.mean_squared_error(Y, P, yerr=e, groups=GROUPS) for e in (0.3, errors))
    assert found.truth.std == pytest.approx(math.hypot(plain.truth.std, 0.4 * 0.09))
    assert np.ptp(found.truth.total_interval(0.8)) > np.ptp(plain.truth.total_interval(0.8))


def test_all_right_in_few_groups():
    plain, found = sb.accuracy_score(LABELS, LABELS), sb.accuracy_score(LABELS, LABELS, groups=GROUPS)
    assert found.truth.total_interval().low < plain.truth.total_interval().low < 1.0
    one = sb.mean_squared_error(Y, P, groups=np.zeros(N))
    assert math.isinf(one.sampling_std) and one.truth.total_interval() == (0.0, math.inf)
    assert "in 1 groups only" in one.explain()


def test_scores_can_be_pickled_and_explained():
    for name in ("mean_absolute_error", "root_mean_squared_error", "r2_score", "accuracy_score", "reduced_chi_squared"):
        found = score(name, groups=GROUPS)
        again = pickle.loads(pickle.dumps(found))
        assert again.total_interval() == found.total_interval() and type(again) is type(found)
        assert found.explain() and found.to_dict() and found.sentence()
    assert score("reduced_chi_squared", groups=GROUPS).pvalue == score("reduced_chi_squared").pvalue


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], "groups and y_true have inconsistent numbers of samples"),
        (np.where(np.arange(N) == 4, np.nan, GROUPS), r"groups .*missing"),
        (np.where(np.arange(N) == 4, None, GROUPS.astype(object)), r"groups .*missing"),
    ],
)
def test_bad_groups_are_named(groups, message):
    with pytest.raises(ValueError, match=message):
        sb.mean_squared_error(Y, P, groups=groups)
    with pytest.raises(ValueError, match=message):
        sb.accuracy_score(LABELS, CLASSES, groups=groups)


def test_a_matrix_has_no_groups():
    with pytest.raises((TypeError, ValueError), match="groups"):
        sb.confusion_matrix(LABELS, CLASSES, groups=GROUPS)


def test_metrics_of_users_take_groups():
    metric = sb.metric(lambda y, p: np.abs(y - p) ** 1.5, name="one_and_a_half")
    assert metric(Y, P, groups=GROUPS).sampling_std > metric(Y, P).sampling_std


# studies -----------------------------------------------------------------------------------------


def test_evaluate_takes_groups_from_arrays_and_tables():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"y": Y, "p": P, "lab": GROUPS, "half": np.arange(N) % 2})
    arrays = sb.evaluate(Y, {"p": P}, metrics=["rmse", "r2"], groups=GROUPS, by=table["half"].to_numpy())
    columns = sb.evaluate(table, y="y", pred="p", metrics=["rmse", "r2"], groups="lab", by="half")
    for key, found in arrays:
        assert columns.scores[key].sampling_std == found.sampling_std
    assert arrays["rmse"].sampling_std == sb.root_mean_squared_error(Y, P, groups=GROUPS).sampling_std
    holes = table.assign(lab=[None if i == 3 else f"lab {g}" for i, g in enumerate(GROUPS)])
    with pytest.raises(ValueError, match="groups"):
        sb.evaluate(holes, y="y", pred="p", groups="lab")
    left = sb.evaluate(holes, y="y", pred="p", groups="lab", nan_policy="omit")
    assert left.omitted == 1


def test_streams_refuse_groups():
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pytest.importorskip("pyarrow").table({"y": Y, "p": P, "lab": GROUPS})
    with pytest.raises(ValueError, match="groups needs all labels at once"):
        sb.evaluate(dataset.dataset(table), y="y", pred="p", groups="lab")


@pytest.mark.parametrize(
    "metric",
    ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score", "spearman_correlation"],
)
def test_compare_draws_groups(metric):
    q = P + 0.3 * np.random.default_rng(2).standard_normal(G)[GROUPS]
    given = {"yerr": 0.3, "metric": metric}
    plain = sb.compare(Y, {"a": P, "b": q}, sampling=True, **given).difference("a", "b")
    compared = sb.compare(Y, {"a": P, "b": q}, sampling=True, groups=GROUPS, **given)
    found, alone = compared.difference("a", "b"), sb.compare(Y, {"a": P, "b": q}, groups=GROUPS, **given)
    assert found.std > plain.std
    assert alone.difference("a", "b").std == sb.compare(Y, {"a": P, "b": q}, **given).difference("a", "b").std
    assert np.ptp(found.truth.total_interval()) > np.ptp(plain.truth.total_interval())
    assert sum(p[0] for p in compared.ranking(draws=200).probabilities.values()) == pytest.approx(1.0)


def test_the_difference_of_squares_has_the_formula():
    q = P + 0.3 * np.random.default_rng(2).standard_normal(G)[GROUPS]
    terms = (Y - P) ** 2 - (Y - q) ** 2
    sums = np.bincount(GROUPS, terms - terms.mean())
    std = math.sqrt(G / (G - 1) * np.sum(sums**2)) / N
    found = sb.compare(Y, {"a": P, "b": q}, sampling=True, groups=GROUPS).difference("a", "b")
    assert found.std == pytest.approx(std, rel=1e-12)
    assert np.ptp(found.interval(0.9)) == pytest.approx(2 * stats.t.ppf(0.95, G - 1) * std)


def test_compare_classes_in_groups():
    other = np.where(np.random.default_rng(3).random(N) < 0.3, 1 - LABELS, LABELS)
    for metric in ("accuracy_score", "f1_score"):
        given = {"yerr": 0.05, "metric": metric, "sampling": True}
        plain = sb.compare(LABELS, {"a": CLASSES, "b": other}, **given).difference("a", "b")
        found = sb.compare(LABELS, {"a": CLASSES, "b": other}, groups=GROUPS, **given).difference("a", "b")
        assert found.std > plain.std


def test_cross_validate_knows_groups():
    sklearn = pytest.importorskip("sklearn.linear_model")
    from sklearn.model_selection import GroupKFold

    given = {"yerr": 0.3, "metrics": "root_mean_squared_error", "cv": GroupKFold(4)}
    found = sb.cross_validate(sklearn.LinearRegression(), P[:, None], Y, groups=GROUPS, **given)
    fold, test = found["root_mean_squared_error"][0], found.indices[0]
    same = sb.root_mean_squared_error(Y[test], found.tested[0].predicted, yerr=0.3, groups=GROUPS[test])
    assert fold.sampling_std == same.sampling_std


def test_plan_knows_groups():
    q = P + 0.3 * np.random.default_rng(2).standard_normal(G)[GROUPS]
    plain, found = sb.plan(Y, {"a": P, "b": q}, yerr=0.3), sb.plan(Y, {"a": P, "b": q}, yerr=0.3, groups=GROUPS)
    assert found.labels > 1.5 * plain.labels
    assert sb.plan(Y, P, yerr=0.3, std=0.05, groups=GROUPS).labels > sb.plan(Y, P, yerr=0.3, std=0.05).labels
    other = np.where(np.random.default_rng(1).random(N) < 0.1, 1 - LABELS, LABELS)
    classes = {"a": CLASSES, "b": other}
    assert sb.plan(LABELS, classes, yerr=0.05, groups=GROUPS).labels > sb.plan(LABELS, classes, yerr=0.05).labels
    with pytest.raises(ValueError, match="all items of the pilot are of one group"):
        sb.plan(Y, {"a": P, "b": q}, yerr=0.3, groups=np.zeros(N))
    with pytest.raises(ValueError, match="groups belong to pilot data"):
        sb.plan(difference=0.1, sampling_variance=1.0, groups=GROUPS)


# coverage ----------------------------------------------------------------------------------------


def held(metric, count, runs, of_population, classes=False, seed=0, size=8):
    """How often the 95 % interval of the truth in the population holds it, for `count` groups."""
    rng, inside = np.random.default_rng(seed), 0
    codes = np.repeat(np.arange(count), rng.integers(size // 2, 2 * size, count))
    for _ in range(runs):
        shift = rng.standard_normal(count)[codes]
        if classes:
            y = (rng.random(codes.size) < 0.5).astype(int)
            p = np.where(rng.random(codes.size) < stats.norm.cdf(1.0 + 0.7 * shift), y, 1 - y)
            found = metric(y, p, groups=codes)
        else:
            truth, noise = 2.0 * rng.standard_normal(codes.size), rng.standard_normal((2, codes.size))
            found = metric(truth + 0.3 * noise[0], truth + 0.5 * shift + 0.5 * noise[1], yerr=0.3, groups=codes)
        low, high = found.truth.total_interval(0.95)
        inside += low <= of_population <= high
    return inside / runs


ACCURACY = float(stats.norm.cdf(1.0 / math.sqrt(1 + 0.7**2)))


def test_intervals_hold_for_few_groups():
    assert 0.91 < held(sb.mean_error, 8, 300, 0.0) < 0.985
    assert 0.91 < held(sb.accuracy_score, 12, 300, ACCURACY, classes=True) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 30, 100])
@pytest.mark.parametrize(
    ("metric", "of_population", "classes"),
    [
        (sb.mean_error, 0.0, False),
        (sb.mean_squared_error, 0.5, False),
        (sb.mean_absolute_error, math.sqrt(0.5 * 2 / math.pi), False),
        (sb.r2_score, 1 - 0.5 / 4.0, False),
        (sb.accuracy_score, ACCURACY, True),
        (sb.f1_score, ACCURACY, True),
    ],
    ids=["bias", "mse", "mae", "r2", "accuracy", "f1"],
)
def test_intervals_hold_for_few_and_many_groups(count, metric, of_population, classes):
    share = held(metric, count, 300, of_population, classes, seed=count)
    # groups of 4 to 15 items count for fewer than there are
    nominal = 0.92 if count > 10 or metric is not sb.mean_absolute_error else 0.89
    assert nominal - 2.5 * math.sqrt(nominal * (1 - nominal) / 300) < share < 0.995, share


def test_intervals_of_squares_in_groups_follow_the_jackknife_and_skewness():
    """Against a computation by itself: groups left out one by one, degrees of freedom of unequal groups, Cornish and Fisher."""
    sizes = np.array([1, 2, 3, 3, 4, 6, 9, 12])
    groups = np.repeat(np.arange(8), sizes)
    rng = np.random.default_rng(3)
    d = np.array([0.3, 2.9, 0.5, 1.1, 0.2, 0.6, 0.4, 0.9])[groups] + 0.2 * rng.standard_normal(40)
    mean = np.mean(np.square(d))
    left = np.array([np.mean(np.square(d[groups != g])) for g in range(8)]) - mean
    moved = np.bincount(groups, np.square(d) - mean)
    g = np.sum(moved**3) / np.sum(moved**2) ** 1.5
    s = math.sqrt(left @ left) / mean
    pairs = sizes * (sizes - 1)
    c = (np.sum(np.square(np.bincount(groups, d))) - np.sum(np.square(d))) / pairs.sum()
    shown = np.sum(np.square(np.bincount(groups, d - d.mean()))) * 8 / 7 / 40**2
    m4 = max(np.mean(d) ** 2 - shown, 0.0) ** 2
    v = (mean**2 - m4) * sizes + max(min(max(c, 0.0), mean) ** 2 - m4, 0.0) * pairs
    df = v.sum() ** 2 / (v @ v) - 1
    assert df < 7
    for level in (0.68, 0.95):
        t = stdtrit(df, (1 + level) / 2)
        low, high = sb.mean_squared_error(d, np.zeros(40), groups=groups).truth.total_interval(level)
        assert math.log(low / mean) == pytest.approx(-t * s, rel=1e-9)
        skew, z = max(g, 5 * s), stats.norm.ppf((1 + level) / 2)
        more = (skew - s) / 2 + (2 * skew - 3 * s) * (z * z - 1) / 6
        assert math.log(high / mean) == pytest.approx((t + more) * s, rel=1e-9)
        root = sb.root_mean_squared_error(d, np.zeros(40), groups=groups).truth.total_interval(level)
        assert root == pytest.approx((math.sqrt(low), math.sqrt(high)), rel=1e-9)
    one, two = (sb.mean_squared_error(k * d, np.zeros(40), groups=groups).truth for k in (1.0, 1e100))
    assert two.total_interval() == pytest.approx(np.multiply(one.total_interval(), 1e200), rel=1e-9)
    same = sb.mean_squared_error(np.ones(40), np.zeros(40), groups=groups)  # no group differs from another
    assert same.truth.total_interval() == pytest.approx((1.0, 1.0))


def squares_in_groups(rng, count, alike, draw):
    """Groups of 2 to 18 items and residuals of which they share a part of the variance."""
    groups = np.repeat(np.arange(count), rng.integers(2, 19, count))
    alone = draw(size=len(groups))
    return groups, math.sqrt(alike) * draw(size=count)[groups] + math.sqrt(1 - alike) * alone


def held_squares(count, alike, sigma, runs, laplace=False):
    """How often the 95 % interval over test sets holds the mean square 1 of such residuals in groups."""
    held = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        draw = functools.partial(rng.laplace, 0.0, math.sqrt(0.5)) if laplace else rng.standard_normal
        groups, d = squares_in_groups(rng, count, alike, draw)
        yerr, n = {"yerr": sigma} if sigma else {}, len(d)
        truth = sb.mean_squared_error(d + sigma * rng.standard_normal(n), np.zeros(n), groups=groups, **yerr).truth
        low, high = truth.total_interval(0.95)
        held += low <= 1.0 <= high
    return held / runs


def test_intervals_of_few_groups_hold():
    assert 0.9 < held_squares(10, 0.7, 0.0, 300) < 0.985


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 30, 100])
@pytest.mark.parametrize(("alike", "sigma"), [(0.1, 0.5), (0.3, 0.5), (0.7, 0.0)])
def test_intervals_of_groups_hold(count, alike, sigma):
    """92 to 98 % up to the error of the count."""
    assert 0.92 - 0.015 < held_squares(count, alike, sigma, 1000) < 0.985


@pytest.mark.parametrize("count", [10, pytest.param(30, marks=pytest.mark.slow)])
def test_the_next_test_set_of_groups_falls_into_its_interval(count):
    rng, held = np.random.default_rng(count), 0
    for _ in range(200):
        (groups, d), (_, other) = (squares_in_groups(rng, count, 0.7, rng.laplace) for _ in range(2))
        low, high = sb.mean_squared_error(d, np.zeros(len(d)), groups=groups).total_interval(0.95)
        held += low <= np.mean(np.square(other)) <= high
    assert 0.9 < held / 200 < 0.995


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 30, 100])
def test_intervals_of_groups_with_long_tails_hold(count):
    """Laplace residuals of which groups share most."""
    share = held_squares(count, 0.7, 0.5, 1000, laplace=True)
    assert 0.92 - 0.02 < share < 0.985, share


def test_unequal_groups_have_fewer_degrees_of_freedom():
    """A mean over groups of unequal size, by hand: each group left out in turn, and Satterthwaite's degrees of freedom."""
    rng = np.random.default_rng(2)
    sizes = np.array([12, 3, 5, 8, 9, 6, 11, 7])
    codes, count = np.repeat(np.arange(8), sizes), len(sizes)
    y = rng.normal(size=codes.size) + rng.normal(size=8)[codes]
    found = sb.mean_error(y, np.zeros(y.size), groups=codes)
    values = np.array([-y[codes != g].mean() for g in range(count)])
    variance = (count - 1) / count * np.sum(np.square(values + y.mean()))
    r, a = (y - y.mean()) / y.size, 1 / y.size
    sums, part = np.bincount(codes, r), sizes * a
    pairs = np.sum(part**2 - sizes * a * a)
    alike = (np.sum(sums**2) - np.sum(r**2)) / pairs / (np.sum(r**2) / (y.size * a * a))
    v = sizes * a * a + min(max(alike, 0), 1) * (part**2 - sizes * a * a)
    df = v.sum() ** 2 / (v @ v) - 1
    assert 1 < df < 7
    low, high = found.truth.total_interval(0.9)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.95, df) * math.sqrt(variance), rel=1e-9)
    equal = sb.mean_error(y[:60], np.zeros(60), groups=np.repeat(np.arange(6), 10))
    low, high = equal.truth.total_interval(0.9)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.95, 5) * equal.sampling_std, rel=1e-9)


@pytest.mark.parametrize("metric", ["mean_absolute_error", "mean_squared_error", "accuracy_score", "r2_score"])
def test_differences_in_unequal_groups_as_single_scores(metric):
    """Against a model without errors the difference scatters as the score of the other does, with its degrees of freedom."""
    rng = np.random.default_rng(4)
    of = np.repeat(np.arange(8), [2, 3, 5, 8, 13, 21, 34, 55])
    y = rng.integers(0, 2, len(of)) if metric == "accuracy_score" else rng.standard_normal(len(of))
    off = rng.random(8)[of] > rng.random(len(of))
    p = np.where(off, 1 - y, y)
    alone = getattr(sb, metric)(y, p, groups=of)._answers
    variance, df = alone._unequal
    both = sb.compare(y, {"a": p, "b": y}, metric=metric, groups=of, sampling=True).difference("a", "b")._answers
    assert df < 6.5  # not 7: two groups hold most of the items
    assert both._df == pytest.approx(df, rel=1e-9)
    assert both.std == pytest.approx(np.sqrt(variance), rel=1e-9 if metric != "r2_score" else 0.3)
    equal = np.arange(len(of)) % 3
    apart = sb.compare(y, {"a": p, "b": y}, metric=metric, groups=equal, sampling=True).difference("a", "b")._answers
    assert apart._df == pytest.approx(2)


def test_counted_rates_in_groups_have_few_degrees_of_freedom():
    rng = np.random.default_rng(4)
    of, y = np.repeat(np.arange(6), 20), rng.integers(0, 2, 120)
    models = {"a": np.where(rng.random(120) < 0.1, 1 - y, y), "b": np.where(rng.random(120) < 0.3, 1 - y, y)}
    found = sb.compare(y, models, metric="accuracy_score", yerr=sb.Flip.from_counts(5, 50), groups=of).difference(
        "a", "b"
    )
    assert found.truth._total.df == pytest.approx(5)
