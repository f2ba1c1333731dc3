"""What a metric returns: a float that cannot be changed, with answers, texts and a law."""

import copy
import functools
import json
import math
import pickle
import re

import numpy as np
import pytest
from scipy.integrate import trapezoid

import scorebars as sb
from scorebars._shared.score_views import decimals_for, with_error

Y, P = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
LABELS, GUESSES = [1] * 100, [1] * 85 + [0] * 15

MAKERS = {
    "mse": lambda: sb.mean_squared_error(Y, P, yerr=0.5),
    "mse mixed": lambda: sb.mean_squared_error(Y, P, yerr=[0.5, 0.1, 0.0, 1.0]),
    "mse cov": lambda: sb.mean_squared_error(Y, P, yerr=sb.Normal(cov=np.eye(4) + 0.5)),
    "mse shared": lambda: sb.mean_squared_error(Y, P, yerr=sb.Normal(0.5, shared=[0.1, 0.2, 0.3, 0.4])),
    "mse split": lambda: sb.mean_squared_error(Y, P, yerr=sb.SplitNormal(0.1, 0.3)),
    "mse berkson": lambda: sb.mean_squared_error(Y, P, yerr=sb.Normal(0.5, kind="berkson")),
    "mse tiny": lambda: sb.mean_squared_error(np.multiply(Y, 1e-150), np.multiply(P, 1e-150), yerr=0.5e-150),
    "mse exact": lambda: sb.mean_squared_error(Y, P),
    "rmse": lambda: sb.root_mean_squared_error(Y, P, yerr=0.5),
    "rmse split": lambda: sb.root_mean_squared_error(Y, P, yerr=sb.SplitNormal(0.1, 0.3)),
    "mae": lambda: sb.mean_absolute_error(Y, P, yerr=0.5),
    "mae weighted": lambda: sb.mean_absolute_error(Y, P, yerr=0.5, sample_weight=[1, 2, 3, 4]),
    "mae cov": lambda: sb.mean_absolute_error(Y, P, yerr=sb.Normal(cov=np.eye(4) + 0.5)),
    "mae shared": lambda: sb.mean_absolute_error(Y, P, yerr=sb.Normal(0.5, shared=[0.1, 0.2, 0.3, 0.4])),
    "bias": lambda: sb.mean_error(Y, P, yerr=0.5),
    "bias split": lambda: sb.mean_error(Y, P, yerr=sb.SplitNormal(0.1, 0.3)),
    "accuracy": lambda: sb.accuracy_score(LABELS, GUESSES, yerr=0.05),
    "accuracy weighted": lambda: sb.accuracy_score(LABELS, GUESSES, yerr=0.05, sample_weight=np.arange(1, 101)),
    "accuracy correlated": lambda: sb.accuracy_score(LABELS, GUESSES, yerr=sb.Flip(0.05, correlation=0.1)),
    "accuracy berkson": lambda: sb.accuracy_score(LABELS, GUESSES, yerr=sb.Flip(0.05, kind="berkson")),
    "zero-one loss": lambda: sb.zero_one_loss(LABELS, GUESSES, yerr=0.05),
    "zero-one count": lambda: sb.zero_one_loss(LABELS, GUESSES, yerr=0.05, normalize=False),
    "average": lambda: sb.root_mean_squared_error([[1, 2], [3, 4]], [[1, 1], [2, 2]], yerr=0.5),
}
every_score = pytest.mark.parametrize("name", MAKERS)


@functools.cache
def made(name):
    """A score that several tests look at; what it was asked for it remembers."""
    return MAKERS[name]()


def mse():
    return sb.mean_squared_error(Y, P, yerr=0.5)


def everything(score):
    """Every answer as plain numbers: what must survive pickling and copying."""
    return {
        **score.to_dict(),
        "total": score.total_interval(0.9),
        "truth total": score.truth.total_interval(0.9),
        "cdf": score.distribution.cdf(score.expected),
    }


# a float -----------------------------------------------------------------------------------------------------------


@every_score
def test_a_score_is_a_float(name):
    score = made(name)
    assert isinstance(score, float)
    assert isinstance(score, sb.Score)
    assert type(float(score)) is float
    assert float(score) == score.expected
    assert score + 1 == score.expected + 1
    assert score == score.expected
    assert hash(score) == hash(score.expected)
    assert sorted([score, -1e9]) == [-1e9, score]
    assert json.loads(json.dumps({"score": score})) == {"score": float(score)}
    assert np.asarray(score).dtype == np.float64
    assert np.array([score, score]).tolist() == [float(score)] * 2
    assert np.isfinite(score)
    assert math.sqrt(abs(score)) == math.sqrt(abs(float(score)))


@every_score
def test_all_answers_are_plain_floats(name):
    score = made(name)
    numbers = [getattr(score, k) for k in ("observed", "expected", "correction", "std", "variance")]
    numbers += [] if score.noise_share is None else [score.noise_share]
    numbers += [score.sampling_std, *score.interval(), *score.total_interval(), score.truth.value, score.truth.std]
    numbers += [*score.truth.interval(), score.perfect.value, score.perfect.std, *score.perfect.interval()]
    numbers += [*score.truth.total_interval()]
    assert {type(value) for value in numbers} == {float}
    assert not any(math.isnan(value) for value in numbers)
    assert type(score.n) is int
    assert score.method in ("exact", "quadrature", "saddlepoint", "delta", "simulation")
    assert score.variance == pytest.approx(score.std**2)
    assert score.correction == score.expected - score.observed
    assert isinstance(score.interval(), sb.Interval)
    assert score.interval()._fields == ("low", "high")


@every_score
def test_answers_are_computed_once(name):
    score = made(name)
    assert score.distribution is score.distribution
    assert score.truth is score.truth
    assert score.perfect is score.perfect


def test_a_score_cannot_be_changed():
    score = mse()
    for name in ("observed", "expected", "std", "truth", "anything"):
        with pytest.raises(AttributeError, match=f"a Score cannot be changed: {name} was not set"):
            setattr(score, name, 1.0)
    with pytest.raises(AttributeError, match="an Estimate cannot be changed: std was not set"):
        score.truth.std = 0.0
    with pytest.raises(AttributeError, match="an Estimate cannot be changed: value was not set"):
        score.truth.value = 0.0
    with pytest.raises(AttributeError):
        score.interval().low = 0.0
    with pytest.raises(AttributeError, match="cannot assign"):
        score.declaration.name = "mine"


# pickles and copies ------------------------------------------------------------------------------------------------


@every_score
def test_pickles_and_copies(name):
    """Before anything was asked for, and after."""
    score = made(name)
    before = pickle.loads(pickle.dumps(MAKERS[name]()))
    assert everything(before) == everything(score)
    for other in (before, pickle.loads(pickle.dumps(score)), copy.deepcopy(score), copy.copy(score)):
        assert type(other) is sb.Score
        assert (other, other.std, repr(other)) == (score, score.std, repr(score))
        assert other.truth == score.truth


@every_score
def test_estimates_pickle(name):
    score = made(name)
    for estimate in (score.truth, score.perfect):
        for other in (pickle.loads(pickle.dumps(estimate)), copy.deepcopy(estimate)):
            assert type(other) is sb.Estimate
            assert (float(other), other.std, other.method, other.note) == (
                float(estimate),
                estimate.std,
                estimate.method,
                estimate.note,
            )
            assert other.interval(0.8) == estimate.interval(0.8)
    again = pickle.loads(pickle.dumps(score.truth))
    assert again.total_interval(0.8) == score.truth.total_interval(0.8)


@every_score
def test_laws_pickle(name):
    law = made(name).distribution
    again = pickle.loads(pickle.dumps(law))
    x = law.ppf([0.2, 0.7])
    assert again.cdf(x).tolist() == law.cdf(x).tolist()


def test_scores_pickle():
    scores = sb.mean_squared_error(
        [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 2.0]], yerr=0.5, multioutput="raw_values"
    )
    again = pickle.loads(pickle.dumps(scores))
    assert type(again) is sb.Scores
    assert again == scores


# texts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, std, text",
    [
        (0.581123, 0.001234, "0.5811 ± 0.0012"),
        (0.581123, 0.0996, "0.58 ± 0.10"),
        (0.581123, 0.00996, "0.581 ± 0.010"),
        (12.3456, 0.999, "12.3 ± 1.0"),
        (12.3456, 1.23, "12.3 ± 1.2"),
        (12.3456, 45.6, "12 ± 46"),
        (123456.7, 890.1, "123460 ± 890"),
        (0.0, 0.25, "0.00 ± 0.25"),
        (-0.3, 0.021, "-0.300 ± 0.021"),
        (3.2e-12, 4.5e-14, "(3.200 ± 0.045)e-12"),
        (1.5e-300, 2.5e-301, "(1.50 ± 0.25)e-300"),
        (1.25e300, 2.5e299, "(1.25 ± 0.25)e+300"),
        (2e9, 3e7, "(2.000 ± 0.030)e+09"),
        (0.25, 0.0, "0.25"),
        (1 / 3, 0.0, "0.333333"),
        (0.0, 0.0, "0"),
        (math.inf, math.inf, "inf ± inf"),
        (-math.inf, math.inf, "-inf ± inf"),
        (1.0, 5e-324, "1 ± 4.9e-324"),
        (0.0, 5e-324, "(0.0 ± 4.9)e-324"),
        (1.0, 1e-14, "1 ± 1e-14"),
        (1e300, 1e-300, "1e+300 ± 1e-300"),
    ],
)
def test_two_digits_of_the_error(value, std, text):
    assert with_error(value, std) == text


@pytest.mark.parametrize("exponent", range(-320, 308, 7))
@pytest.mark.parametrize("lead", [1.0, 1.04, 1.06, 4.4, 9.4, 9.949, 9.951, 9.99])
def test_digits_rule(exponent, lead):
    """The text of the error has two significant digits, and the value ends at the same place."""
    std = lead * 10.0**exponent
    places = decimals_for(std)
    assert 1 <= round(std * 10.0 ** (places // 2) * 10.0 ** (places - places // 2 - 1), 1) <= 9.95 or places > 300
    text = with_error(3 * std, std)
    assert "±" in text
    assert "nan" not in text


def test_texts_of_a_score():
    score = mse()
    assert str(score) == "0.62 ± 0.35 (labels)"
    assert repr(score) == "Score(mean_squared_error: 0.62 ± 0.35 (labels), n=4)"
    assert f"{score}" == "0.62 ± 0.35 (labels)"
    assert f"{score:.3f}" == "0.625"
    assert f"{score:>8.2e}" == "6.25e-01"
    assert f"{score:10.4f}".strip() == "0.6250"
    assert "%.3f" % score == "0.625"  # noqa: UP031
    assert str(score.truth) == "0.12 ± 0.25 (labels)"
    assert repr(score.truth) == "Estimate(0.12 ± 0.25 (labels), method='unbiased')"
    assert f"{score.truth:.3f}" == "0.125"
    assert str(sb.mean_squared_error(Y, P)) == "0.38 ± 0.22 (sample)"
    assert str(sb.accuracy_score(LABELS, GUESSES, yerr=0.05)) == "0.815 ± 0.022 (labels) ± 0.029 (sample)"


def test_a_score_in_a_notebook():
    def plain(score):
        return re.sub(r' style="[^"]*"', "", score._repr_html_())

    assert plain(mse()) == (
        '<div><table class="scorebars"><caption>Mean squared error, n = 4</caption>'
        "<thead><tr><th></th><th>answer</th><th>question</th></tr></thead><tbody>"
        "<tr><td>observed</td><td>0.375</td><td>What does the classical metric say?</td></tr>"
        "<tr><td>expected</td><td>0.62 ± 0.35 (labels)</td>"
        "<td>What would it be if every label were redrawn from its error bar?</td></tr>"
        "<tr><td>truth</td><td>0.12 ± 0.25 (labels)</td>"
        "<td>How far is the model from the true values behind the labels?</td></tr>"
        "<tr><td>remeasured</td><td>0.38 ± 0.35 (labels)</td><td>What will it be on labels measured afresh?</td></tr>"
        "<tr><td>perfect</td><td>0.25 ± 0.18 (labels)</td>"
        "<td>What would a perfect model score on these labels?</td></tr></tbody></table></div>"
    )
    assert "<td>remeasured</td><td>cannot be estimated</td>" in plain(MAKERS["mse berkson"]())


def test_explanation():
    lines = mse().explain().split("\n")
    assert lines[0] == "Mean squared error of 4 labels (smaller is better)."
    assert lines[1] == "observed 0.38: the classical metric, the labels taken as exact."
    assert lines[2].startswith(
        "expected 0.62 ± 0.35 (labels): the metric if every label were redrawn from its error bar"
    )
    assert "95 % of the time it falls between 0.11 and 1.46." in lines[2]
    assert lines[3].startswith("truth 0.12 ± 0.25 (labels): the metric against the true values behind the labels")
    assert lines[4].startswith("remeasured 0.38 ± 0.35 (labels): the metric to expect on labels measured once more")
    assert lines[5].startswith("perfect 0.25 ± 0.18 (labels): what a perfect model would score on these labels")
    assert lines[7] == "noise share 66.7 %: how much of the observed error is label error."
    assert lines[8].startswith("Warning: more than half of the observed error is label error")
    assert "larger is better" in sb.accuracy_score(LABELS, GUESSES, yerr=0.05).explain()
    assert sb.mean_squared_error([1.0], [2.0]).explain().startswith("Mean squared error of 1 label (")


@pytest.mark.parametrize("metric", [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_error, sb.r2_score])
def test_errors_larger_than_the_spread_of_labels_may_be_per_cent(metric):
    y = np.linspace(0.0, 1.0, 20)
    assert "are these per cent" in metric(y, y + 0.1, yerr=5.0).explain()
    assert "are these per cent" not in metric(y, y + 0.1, yerr=0.2).explain()


@every_score
def test_every_explanation_answers_every_question(name):
    text = made(name).explain()
    for name in ("observed", "expected", "truth", "remeasured", "perfect"):
        assert f"\n{name}" in text
    assert "nan" not in text


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
def test_explanation_keeps_the_power_of_ten(unit):
    score = sb.mean_absolute_error(np.multiply(Y, unit), np.multiply(P, unit), yerr=0.5 * unit)
    observed = float(score.explain().split("\n")[1].split()[1].rstrip(":"))
    assert observed == pytest.approx(score.observed, rel=0.1)


def test_warnings():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(200)
    for function in (sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error):
        text = function(y, y + 0.1 * rng.standard_normal(200), yerr=0.5).explain()
        assert "Warning: the observed score is below the noise floor" in text
        assert "overstated" in text
        text = function(y, y + rng.standard_normal(200), yerr=0.9).explain()
        assert "Warning: more than half of the observed error is label error" in text
        assert "Warning" not in function(y, y + rng.standard_normal(200), yerr=0.1).explain()
    text = sb.mean_squared_error(y, y + 0.1 * rng.standard_normal(200), yerr=0.5).explain()
    assert "negative: the observed error is below the noise floor" in text
    text = sb.accuracy_score([1] * 100, [1] * 100, yerr=0.2).explain()
    assert "Warning: the accuracy is above what a perfect model would reach" in text
    assert "outside [0, 1]" in text
    assert "Warning: some q are above 1/2" in sb.accuracy_score([1, 0, 1], [1, 0, 0], yerr=0.7).explain()
    assert "Warning" not in sb.accuracy_score(LABELS, GUESSES, yerr=0.02).explain()


def test_no_noise_floor_for_a_bias():
    """A mean error below that of a perfect model is no sign of anything: its sign is free."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(50)
    text = sb.mean_error(y, y - 1.0, yerr=0.5).explain()
    assert "Mean error (bias) of 50 labels (best at 0)." in text
    assert "Warning" not in text
    assert "-0.000" not in text
    text = sb.mean_error(y, y - 0.01, yerr=0.5).explain()
    assert "Warning: the label errors alone would give a perfect model a bias as large as this one." in text


# all in one --------------------------------------------------------------------------------------------------------

KEYS = [
    "name",
    "n",
    "observed",
    "expected",
    "correction",
    "std",
    "interval_low",
    "interval_high",
    *("truth", "truth_std", "truth_low", "truth_high", "truth_sampling_std"),
    *(f"{q}{end}" for q in ("remeasured", "perfect") for end in ("", "_std", "_low", "_high")),
    "noise_share",
    "sampling_std",
    "method",
]


@every_score
def test_to_dict(name):
    score = made(name)
    found = score.to_dict()
    assert list(found) == KEYS
    assert all(type(value) in (float, int, str, type(None)) for value in found.values())
    assert json.loads(json.dumps(found)) == found
    assert (found["name"], found["n"], found["expected"]) == (score.name, score.n, score.expected)
    assert (found["truth"], found["truth_low"]) == (score.truth.value, score.truth.interval().low)


def test_to_dict_says_none_where_there_is_no_answer():
    found = sb.accuracy_score([1, 0, 1], [1, 0, 0], yerr=0.5).to_dict()
    assert list(found) == KEYS
    assert found["truth"] is found["truth_std"] is found["truth_low"] is found["truth_high"] is None
    assert found["remeasured"] == pytest.approx(2 / 3)


# the law -----------------------------------------------------------------------------------------------------------


@every_score
def test_the_law(name):
    score = made(name)
    law = score.distribution
    for moment, value in ((law.mean, score.expected), (law.std, score.std), (law.var, score.variance)):
        assert float(moment) == pytest.approx(value, rel=1e-9)
        assert moment() == float(moment)
        assert type(moment()) is float
    q = np.array([0.01, 0.3, 0.5, 0.9])
    x = law.ppf(q)
    assert x.shape == (4,)
    assert np.all(np.diff(x) >= 0)
    assert isinstance(law.ppf(0.5), float)
    assert isinstance(law.cdf(0.5), float)
    assert law.cdf(x).shape == law.sf(x).shape == (4,)
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1.0, atol=1e-12)
    if law.discrete or score.std == 0:
        assert np.all(law.cdf(x) >= q - 1e-12)
    else:
        np.testing.assert_allclose(law.cdf(x), q, atol=1e-4 if law.method == "simulation" else 1e-9)
    assert score.interval(0.6) == pytest.approx((law.ppf(0.2), law.ppf(0.8)))
    assert law.cdf(-1e308) == pytest.approx(0, abs=1e-15)
    assert law.cdf(1e308) == 1
    assert law.sf(1e308) == pytest.approx(0, abs=1e-15)


@every_score
def test_draws(name):
    law = made(name).distribution
    draws = law.rvs(500, rng=1)
    assert draws.shape == (500,)
    assert draws.tolist() == law.rvs(500, rng=1).tolist()
    assert draws.tolist() == law.rvs(500, rng=np.random.default_rng(1)).tolist()
    assert law.rvs((2, 3), rng=1).shape == (2, 3)
    assert np.ndim(law.rvs(rng=1)) == 0
    if law.std > 0:
        assert draws.tolist() != law.rvs(500, rng=2).tolist()
        assert abs(draws.mean() - law.mean) < 4 * law.std / math.sqrt(500)
        assert draws.std() == pytest.approx(law.std, rel=0.3)


def test_density_or_probability():
    continuous, discrete = mse().distribution, sb.accuracy_score(LABELS, GUESSES, yerr=0.05).distribution
    assert not continuous.discrete
    assert discrete.discrete
    with pytest.raises(AttributeError, match="this distribution is continuous: use pdf"):
        continuous.pmf(0.5)
    with pytest.raises(AttributeError, match="this distribution is discrete: use pmf"):
        discrete.pdf(0.5)
    assert discrete.pmf(0.8) > 0
    assert discrete.pmf(0.805) == 0
    assert discrete.pmf(np.arange(101) / 100).sum() == pytest.approx(1, rel=1e-12)
    x = np.linspace(0, 6, 241)
    assert trapezoid(continuous.pdf(x), x) == pytest.approx(1, abs=1e-3)
    assert continuous.pdf(-0.1) == 0


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, 95, math.nan, "0.95", None])
def test_bad_levels(level):
    score = mse()
    for ask in (
        score.interval,
        score.total_interval,
        score.truth.interval,
        score.truth.total_interval,
        score.perfect.interval,
    ):
        with pytest.raises(ValueError, match="level must be a probability strictly between 0 and 1, got"):
            ask(level)


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_bad_quantiles(q):
    for law in (
        MAKERS["mse"]().distribution,
        MAKERS["accuracy"]().distribution,
        MAKERS["zero-one loss"]().distribution,
    ):
        with pytest.raises(ValueError, match="q must be a probability between 0 and 1"):
            law.ppf(q)


def test_perfect_has_no_population():
    with pytest.raises(sb.UndefinedEstimate, match="is about these items only"):
        mse().perfect.total_interval()


# several outputs ---------------------------------------------------------------------------------------------------


def test_scores_are_a_sequence_and_an_array():
    scores = sb.mean_squared_error(
        [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 2.0]], yerr=0.5, multioutput="raw_values"
    )
    assert isinstance(scores, sb.Scores)
    assert isinstance(scores, tuple)
    assert [type(s) for s in scores] == [sb.Score, sb.Score]
    assert np.asarray(scores).tolist() == [0.75, 2.75]
    assert np.asarray(scores).dtype == np.float64
    assert np.asarray(scores, dtype=np.float32).dtype == np.float32
    assert np.mean(scores) == 1.75
    assert (np.array(scores) * 2).tolist() == [1.5, 5.5]
    assert json.loads(json.dumps(scores)) == [0.75, 2.75]
    assert repr(scores) == "Scores(" + ", ".join(map(repr, scores)) + ")"
    assert scores[0].observed == 0.5
    for index in (1, -1, np.int64(1), np.array(1)):
        assert scores[index] is tuple(scores)[1]
    for index in (slice(1, 2), [1], np.array([False, True])):
        assert isinstance(scores[index], sb.Scores)
        assert tuple(scores[index]) == tuple(scores)[1:]
    with pytest.raises(IndexError, match="out of bounds"):
        scores[2]


# the user's arrays -------------------------------------------------------------------------------------------------


def changed_arrays(function, n, **which):
    """A score whose arrays were changed after it was made, and the same score untouched."""
    rng = np.random.default_rng(0)
    arrays = {"y": rng.standard_normal(n), "p": rng.standard_normal(n), "s": rng.random(n), "w": rng.random(n)}

    def score(y, p, s, w):
        yerr = which.get("model", lambda s: s)(s)
        return function(y, p, yerr=yerr, sample_weight=w)

    untouched = score(**{name: a.copy() for name, a in arrays.items()})
    touched = score(**arrays)
    arrays[which["changed"]][:] += 1.0
    return touched, untouched


REGRESSION = [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error, sb.mean_error]
MODELS = {
    "sigma": lambda s: s,
    "Normal": lambda s: sb.Normal(s),
    "column": lambda s: s.reshape(-1, 1),
    "split rows": lambda s: np.broadcast_to(s, (2, len(s))),
    "SplitNormal": lambda s: sb.SplitNormal(s, s),
    "shared": lambda s: sb.Normal(0.5, shared=s),
}


@pytest.mark.parametrize("function", REGRESSION)
@pytest.mark.parametrize(
    "changed, model", [("y", "sigma"), ("p", "sigma"), ("w", "sigma"), *(("s", model) for model in MODELS)]
)
def test_small_arrays_may_be_changed_later(function, changed, model):
    touched, untouched = changed_arrays(function, 10, changed=changed, model=MODELS[model])
    for name in ("observed", "expected", "std", "truth", "perfect", "sampling_std"):
        assert getattr(touched, name) == getattr(untouched, name), name
    assert touched.interval() == untouched.interval()
    assert touched.remeasured() == untouched.remeasured()


@pytest.mark.parametrize("function", REGRESSION)
@pytest.mark.parametrize("changed", ["y", "p", "s", "w"])
def test_large_arrays_must_not_be_changed_later(function, changed):
    touched, untouched = changed_arrays(function, 5000, changed=changed)
    assert (touched.observed, touched.expected, touched.std) == (untouched.observed, untouched.expected, untouched.std)
    for ask in (lambda: touched.truth, lambda: touched.perfect, lambda: touched.sampling_std):
        with pytest.raises(
            RuntimeError, match=r"arrays of this score were changed after it was computed.*again, or pass copies"
        ):
            ask()


@pytest.mark.parametrize("function", [sb.accuracy_score, sb.zero_one_loss])
@pytest.mark.parametrize("n", [30, 5000])
def test_class_arrays_may_be_changed_later(function, n):
    rng = np.random.default_rng(0)
    y, p, q, w = rng.integers(0, 2, n), rng.integers(0, 2, n), 0.3 * rng.random(n), rng.random(n)
    untouched = function(y.copy(), p.copy(), yerr=q.copy(), sample_weight=w.copy())
    for model in (q, sb.Flip(q)):
        copies = [a.copy() for a in (y, p, q, w)]
        touched = function(y, p, yerr=model, sample_weight=w)
        y[:], p[:], q[:], w[:] = 0, 1, 0.5, 1
        assert (touched.std, touched.truth, touched.interval()) == (
            untouched.std,
            untouched.truth,
            untouched.interval(),
        )
        y[:], p[:], q[:], w[:] = copies


@pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")
def test_a_correction_is_a_number_where_squares_overflow():
    s = sb.mean_squared_error([1e200, 3e200], [2e200, 1e200], yerr=1e199)
    assert s.observed == s.expected == s.correction == math.inf
