"""Correlations, R2, medians, maxima: reference values, scikit-learn and SciPy, existence, simulation."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
from scipy import stats
from scipy.special import beta

import scorebars as sb

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
FUNCTIONS = {
    "r2": sb.r2_score,
    "explained_variance": sb.explained_variance_score,
    "pearson": sb.pearson_correlation,
    "concordance": sb.concordance_correlation,
    "spearman": sb.spearman_correlation,
    "kendall": sb.kendall_correlation,
    "max_error": sb.max_error,
    "median_ae": sb.median_absolute_error,
}
SCORES = [*list(FUNCTIONS.values()), sb.d2_absolute_error_score]


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["metric"] in FUNCTIONS and c["question"] == "remeasured"], ids=lambda c: c["id"]
)
def test_reference(case):
    given, exact = case["inputs"], case["exact"]
    s = FUNCTIONS[case["metric"]](given["y"], given["y_pred"], yerr=given["sigma"])
    assert s.expected == pytest.approx(float(exact["mean"]), rel=1e-10)
    assert s.variance == pytest.approx(float(exact["var"]), rel=1e-10)
    for point in exact.get("cdf", []):
        assert s.distribution.cdf(point["x"]) == pytest.approx(float(point["p"]), abs=1e-12)


def test_r2_against_the_truth():
    case = next(c for c in CASES if c["id"] == "truth_r2_M10")
    s = sb.r2_score(case["inputs"]["y"], case["inputs"]["y_pred"], yerr=case["inputs"]["sigma"])
    assert s.truth.value == pytest.approx(float(case["exact"]["estimate"]), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multioutput", ["uniform_average", "raw_values", [0.3, 0.7]])
@pytest.mark.parametrize(
    "name", ["r2_score", "explained_variance_score", "d2_absolute_error_score", "median_absolute_error"]
)
def test_equals_scikit_learn(name, multioutput, weighted):
    rng = np.random.default_rng(0)
    for n in (2, 3, 30, 31):
        y = rng.normal(size=(n, 2))
        p = y + rng.normal(size=(n, 2))
        weight = rng.uniform(0.1, 2, n) if weighted else None
        ours = getattr(sb, name)(y, p, sample_weight=weight, multioutput=multioutput)
        theirs = getattr(sklearn.metrics, name)(y, p, sample_weight=weight, multioutput=multioutput)
        assert np.allclose(np.asarray(ours), theirs, rtol=1e-14, atol=1e-14)


def test_equals_scikit_learn_in_corner_cases():
    y = np.ones(4)
    assert sb.r2_score(y, y) == sklearn.metrics.r2_score(y, y) == 1.0
    assert sb.r2_score(y, y + 1) == sklearn.metrics.r2_score(y, y + 1) == 0.0
    rng = np.random.default_rng(1)
    y, p = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    assert sb.r2_score(y, p, multioutput="variance_weighted") == pytest.approx(
        sklearn.metrics.r2_score(y, p, multioutput="variance_weighted"), rel=1e-14
    )
    assert sb.max_error(y[:, 0], p[:, 0]) == sklearn.metrics.max_error(y[:, 0], p[:, 0])


def test_equals_scipy():
    rng = np.random.default_rng(2)
    y = rng.normal(size=40).round(1)  # with ties
    p = (y + rng.normal(size=40)).round(1)
    assert sb.pearson_correlation(y, p) == pytest.approx(stats.pearsonr(y, p).statistic, rel=1e-14)
    assert sb.spearman_correlation(y, p) == pytest.approx(stats.spearmanr(y, p).statistic, rel=1e-14)
    assert sb.kendall_correlation(y, p) == pytest.approx(stats.kendalltau(y, p).statistic, rel=1e-14)


@pytest.mark.parametrize("score", [sb.r2_score, sb.explained_variance_score])
def test_moments_that_do_not_exist(score):
    y, p = [0.0, 1.0, 3.0, 2.0, 5.0], [0.1, 1.2, 2.5, 2.2, 4.0]
    with pytest.warns(sb.UndefinedMomentWarning, match="expected value of .* is infinite.*ppf"):
        three = score(y[:3], p[:3], yerr=0.3)
    assert three.expected == -math.inf and three.std == math.inf
    rng = np.random.default_rng(3)
    labels = np.array(y[:3]) + 0.3 * rng.standard_normal((2_000, 3))
    name = "r2_score" if score is sb.r2_score else "explained_variance_score"
    drawn = [getattr(sklearn.metrics, name)(row, p[:3]) for row in labels]
    assert three.distribution.ppf(0.5) == pytest.approx(np.median(drawn), abs=0.05)
    with pytest.warns(sb.UndefinedMomentWarning, match="std of .* is infinite"):
        five = score(y, p, yerr=0.3)
    assert math.isfinite(five.expected) and five.std == math.inf
    low, high = five.interval(0.8)
    assert low < five.observed < 1 and high <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(y[:3], p[:3], yerr=0.0).std == 0.0


@pytest.mark.parametrize("score", SCORES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_unit(score, factor):
    rng = np.random.default_rng(4)
    y = rng.normal(size=12)
    p, sigma = y + rng.normal(0, 0.3, 12), rng.uniform(0.05, 0.4, 12)
    degree = 1 if score in (sb.max_error, sb.median_absolute_error) else 0
    one, other = score(y, p, yerr=sigma), score(factor * y, factor * p, yerr=factor * sigma)
    assert other.expected == pytest.approx(one.expected * factor**degree, rel=1e-9)
    assert other.std == pytest.approx(one.std * factor**degree, rel=1e-8)
    assert other.truth.value == pytest.approx(one.truth.value * factor**degree, rel=1e-7)
    assert other.interval()[0] == pytest.approx(one.interval()[0] * factor**degree, rel=1e-7)


@pytest.mark.parametrize("score", SCORES, ids=lambda f: f.__name__)
def test_order_of_labels_does_not_matter(score):
    rng = np.random.default_rng(5)
    y = rng.normal(size=11)
    p, sigma = y + rng.normal(0, 0.3, 11), rng.uniform(0.0, 0.4, 11)
    sigma[2] = 0.0
    shuffled = rng.permutation(11)
    one, other = score(y, p, yerr=sigma), score(y[shuffled], p[shuffled], yerr=sigma[shuffled])
    tolerance = 0.03 if one.method == "simulation" else 1e-9
    assert other.expected == pytest.approx(one.expected, rel=tolerance)
    assert other.std == pytest.approx(one.std, rel=tolerance)


@pytest.mark.parametrize(
    "score",
    [sb.r2_score, sb.explained_variance_score, sb.pearson_correlation, sb.concordance_correlation],
    ids=lambda f: f.__name__,
)
def test_truth_takes_label_errors_out(score):
    rng = np.random.default_rng(6)
    truth = rng.normal(size=400)
    p = 0.9 * truth + rng.normal(0, 0.3, 400) + 0.1
    exact = score(truth, p).observed
    values = []
    for _ in range(12):
        s = score(truth + 0.5 * rng.standard_normal(400), p, yerr=sb.Uniform(0.5 * math.sqrt(3)))
        values.append([s.observed, s.truth.value])
    observed, corrected = np.mean(values, axis=0)
    assert abs(corrected - exact) < 0.25 * abs(observed - exact)


def test_sampl_statistics_are_reproduced():
    """All 141 rows: RMSE, MAE, ME (experiment minus calculation) and R2 as squared Pearson r, to 1e-12."""
    rows = 0
    for load in (sb.datasets.load_sampl6_logp, sb.datasets.load_sampl7_logp):
        data = load()
        for method, published in data.published.items():
            p = data.predictions[method]
            assert sb.root_mean_squared_error(data.y, p) == pytest.approx(published["RMSE"], rel=1e-12)
            assert sb.mean_absolute_error(data.y, p) == pytest.approx(published["MAE"], rel=1e-12)
            assert -sb.mean_error(data.y, p) == pytest.approx(published["ME"], rel=1e-12, abs=1e-13)
            with warnings.catch_warnings():
                if np.ptp(p) == 0:  # one method predicts the same for all: no correlation, published as 0
                    warnings.simplefilter("ignore")
                found = sb.pearson_correlation(data.y, p) ** 2
            assert found == pytest.approx(published["R2"], rel=1e-12, abs=1e-13)
            rows += 1
    assert rows == 141


@pytest.mark.parametrize("score", SCORES, ids=lambda f: f.__name__)
def test_needs_two_labels(score):
    if score in (sb.max_error, sb.median_absolute_error):
        assert score([1.0], [1.5], yerr=0.1).n == 1
    else:
        with pytest.raises(ValueError, match=r"is not defined with 1 label\(s\): it needs at least 2"):
            score([1.0], [1.5], yerr=0.1)


def test_max_error_takes_one_output():
    with pytest.raises(ValueError, match="Multioutput not supported in max_error"):
        sb.max_error(np.ones((3, 2)), np.ones((3, 2)))


def weighted_pearson(y, p, w):
    c = np.cov(y, p, aweights=w, ddof=0)
    return c[0, 1] / math.sqrt(c[0, 0] * c[1, 1])


def weighted_concordance(y, p, w):
    c, apart = np.cov(y, p, aweights=w, ddof=0), np.average(y - p, weights=w)
    return 2 * c[0, 1] / (c[0, 0] + c[1, 1] + apart**2)


@pytest.mark.parametrize(
    ("metric", "classical"),
    [(sb.pearson_correlation, weighted_pearson), (sb.concordance_correlation, weighted_concordance)],
    ids=["pearson", "concordance"],
)
def test_weights_of_correlations(metric, classical):
    rng = np.random.default_rng(5)
    y, s, w = rng.normal(size=60), rng.uniform(0.1, 0.5, 60), rng.exponential(size=60)
    p = y + 0.5 * rng.normal(size=60)
    score = metric(y, p, yerr=s, sample_weight=w)
    assert score.observed == pytest.approx(classical(y, p, w), rel=1e-13)
    draws = np.array([classical(y + s * rng.standard_normal(60), p, w) for _ in range(4000)])
    assert abs(score.expected - draws.mean()) < 4 * score.std / math.sqrt(4000)
    assert score.std == pytest.approx(draws.std(), rel=0.05)
    for share in (0.05, 0.5, 0.95):
        assert abs(score.distribution.cdf(np.quantile(draws, share)) - share) < 4 * math.sqrt(
            share * (1 - share) / 4000
        )
    # equal weights are none, and whole ones stand for repeated labels
    plain, equal = metric(y, p, yerr=s), metric(y, p, yerr=s, sample_weight=np.full(60, 3.0))
    for ask in (lambda x: x.expected, lambda x: x.truth, lambda x: x.perfect, lambda x: x.remeasured(4)):
        assert ask(equal) == pytest.approx(ask(plain), rel=1e-12)
    count = rng.integers(1, 4, 60)
    repeated = metric(np.repeat(y, count), np.repeat(p, count)).observed
    assert metric(y, p, sample_weight=count).observed == pytest.approx(repeated, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [sb.pearson_correlation, sb.concordance_correlation], ids=["pearson", "concordance"])
def test_truth_of_weighted_correlations_holds(metric):
    rng, s, held = np.random.default_rng(6), np.random.default_rng(7).uniform(0.1, 0.5, 60), 0
    for _ in range(300):
        truth, w = rng.normal(size=60), 0.1 + rng.exponential(size=60)
        p, y = truth + 0.4 * rng.normal(size=60), truth + s * rng.normal(size=60)
        low, high = metric(y, p, yerr=s, sample_weight=w).truth.interval(0.95)
        held += low <= metric(truth, p, sample_weight=w).observed <= high
    assert 0.90 <= held / 300 <= 0.99


@pytest.mark.parametrize("df", [1.02, 1.5, 2.0])
def test_mean_of_the_largest_error_without_variance(df):
    """One label and no residual: E|t| in closed form; draws without a variance miss it by per cent."""
    with pytest.warns(UserWarning, match="std of max_error is infinite"):
        score = sb.max_error([1.0], [1.0], yerr=sb.StudentT(0.3, df))
    assert score == pytest.approx(0.6 * math.sqrt(df) / ((df - 1) * beta(df / 2, 0.5)), rel=1e-8)
    assert score.std == math.inf
    assert float(score.perfect) == pytest.approx(float(score), rel=1e-12)


@pytest.mark.parametrize("metric", [sb.d2_absolute_error_score, sb.median_absolute_error])
def test_perfect_model_where_sizes_of_errors_are_estimates(metric):
    """Standard deviations from few repeats are too small on average; absolute errors of a perfect model are not."""
    rng, dof, n = np.random.default_rng(2), 4, 400
    y, p = rng.normal(size=(2, n))
    c4 = math.sqrt(2 / dof) * math.gamma((dof + 1) / 2) / math.gamma(dof / 2)
    estimated = float(metric(y, p, yerr=sb.Normal(np.full(n, 0.3), dof=dof)).perfect)
    raised, known = (float(metric(y, p, yerr=sb.Normal(size)).perfect) for size in (0.3 / c4, 0.3))
    assert abs(estimated - raised) < 0.2 * abs(raised - known)
