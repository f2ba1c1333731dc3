"""What scores of forecasts answer: against other ways to find the same numbers, and by properties."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars.forecasts import IntervalForecast
from scorebars.losses import Crps, IntervalScore, LogScore, QuantileLoss
from scorebars.moments import label_moments
from scorebars.moments.folded_pairs import covariance_at_one, covariance_of_absolute
from scorebars.moments.numerical import integrate_loss
from scorebars.studies import capabilities as table

N = 40
RNG = np.random.default_rng(8)
TRUTH, STD, SIGMA = RNG.normal(size=N), RNG.uniform(0.6, 1.4, N), RNG.uniform(0.1, 0.5, N)
MEAN = TRUTH + STD * RNG.normal(size=N)
Y = TRUTH + SIGMA * RNG.normal(size=N)
NORMAL = sb.NormalForecast(MEAN, STD)
MEMBERS = sb.EnsembleForecast(MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 9)))
QUANTILES = sb.QuantileForecast([0.1, 0.5, 0.8], MEAN[:, None] + STD[:, None] * np.array([-1.3, 0.0, 0.8]))
ENDS = IntervalForecast(MEAN - STD, MEAN + 1.2 * STD)


@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 30.0])
@pytest.mark.parametrize(
    ("loss", "forecast"),
    [
        (Crps(), NORMAL),
        (Crps(), MEMBERS),
        (Crps("fair"), MEMBERS),
        (Crps(), QUANTILES),
        (QuantileLoss(), QUANTILES),
        (IntervalScore(0.8), ENDS),
        (LogScore(), NORMAL),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_closed_forms_against_quadrature(loss, forecast, size):
    errors = sb.Normal(size * SIGMA)
    closed, integrated = label_moments(loss, errors, Y, forecast), integrate_loss(loss, errors, Y, forecast)
    assert closed.mean == pytest.approx(integrated.mean, rel=1e-10)
    assert closed.variance == pytest.approx(integrated.variance, rel=1e-8, abs=1e-14)


def test_covariance_of_folded_normals_two_ways():
    z, rho = np.abs(RNG.normal(0, 2, 200)), RNG.uniform(0.1, 1.0, 200)
    assert covariance_at_one(z, rho) == pytest.approx(covariance_of_absolute(z, z, rho), rel=1e-10)
    assert covariance_at_one(z, np.zeros(200)).tolist() == [0.0] * 200
    tiny = np.full(200, 1e-12)  # to first order rho erf(z/sqrt 2)^2
    assert covariance_at_one(z, tiny) == pytest.approx(1e-12 * (2 * stats.norm.cdf(z) - 1) ** 2, rel=1e-9)


@pytest.mark.parametrize("forecast", [NORMAL, MEMBERS], ids=["normal", "members"])
@pytest.mark.parametrize("weighted", [False, True])
def test_engines_agree(forecast, weighted, monkeypatch):
    found = []
    for engine in ("auto", "numpy"):
        monkeypatch.setenv("SCOREBARS_ENGINE", engine)
        s = sb.crps(Y, forecast, yerr=SIGMA, sample_weight=STD if weighted else None)
        found.append([s.observed, s.expected, s.std])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_correlated_errors_by_simulation():
    shared = sb.Normal(SIGMA, shared=np.full(N, 0.3))
    rows = shared.sample(Y, 20_000, np.random.default_rng(1))
    for forecast, metric in (
        (NORMAL, "crps"),
        (MEMBERS, "crps"),
        (NORMAL, "log_score"),
        (MEMBERS, "dawid_sebastiani_score"),
    ):
        s = getattr(sb, metric)(Y, forecast, yerr=shared)
        loss = {"crps": Crps(), "log_score": LogScore()}.get(metric)
        if loss is None:
            values = np.mean(np.log(forecast.std**2) + (rows - forecast.mean) ** 2 / forecast.std**2, axis=1)
        else:
            values = np.mean(loss(rows, forecast), axis=1)
        assert s.expected == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(len(values)))
        assert s.std == pytest.approx(values.std(), rel=0.05)
        low, high = s.interval(0.9)
        assert np.mean((values >= low) & (values <= high)) == pytest.approx(0.9, abs=0.02)


# against the truth -------------------------------------------------------------------------------


def test_truth_is_unbiased_where_forecasts_are_wide():
    rows = TRUTH + SIGMA * np.random.default_rng(3).normal(size=(300, N))
    for metric in (sb.crps, sb.log_score, sb.dawid_sebastiani_score):
        found = np.array([float(metric(row, NORMAL, yerr=SIGMA).truth) for row in rows])
        exact = metric(TRUTH, NORMAL).observed
        assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(len(found))
        told = metric(rows[0], NORMAL, yerr=SIGMA).truth
        assert told.method == "unbiased" and told.std == pytest.approx(found.std(), rel=0.35)


def test_the_note_says_which_share_is_not_unbiased():
    sigma = np.where(np.arange(N) < 30, 0.3, 2.0)
    truth = sb.crps(Y, NORMAL, yerr=sigma).truth
    assert "below the label error for 25 % of the labels" in truth.note
    low, high = truth.interval(0.95)
    assert low < float(truth) < high
    everywhere = sb.crps(Y, NORMAL, yerr=5.0).truth
    assert "25 %" not in everywhere.note and everywhere.method in ("npmle", "location-scale", "simex")


def test_a_forecast_of_the_label_has_no_truth():
    seen = NORMAL.seen_through(SIGMA)
    for s in (
        sb.crps(Y, seen, yerr=SIGMA),
        sb.log_score(Y, seen, yerr=SIGMA),
        sb.interval_coverage(Y, MEAN - STD, MEAN + STD, yerr=SIGMA, claims="label"),
        sb.crps(Y, seen, yerr=sb.Normal(SIGMA, kind="berkson")),
    ):
        with pytest.raises(sb.UndefinedEstimate, match="claims the label"):
            s.truth  # noqa: B018
        assert s.noise_share is None and np.isfinite(s.observed) and "claims the label" in s.explain()
    with pytest.raises(ValueError, match=r"claim different things \(a the truth, b the label\)"):
        sb.compare(Y, {"a": NORMAL, "b": seen}, yerr=SIGMA)


def test_berkson_truth_is_the_expected_score():
    s = sb.crps(Y, NORMAL, yerr=sb.Normal(SIGMA, kind="berkson"))
    assert float(s.truth) == s.expected


@pytest.mark.parametrize(
    "model", [sb.Normal(SIGMA), sb.Uniform(SIGMA), sb.Laplace(SIGMA)], ids=lambda m: type(m).__name__
)
def test_a_perfect_model_forecasts_the_error(model):
    """Its CRPS is half the mean difference of two labels, its log score the entropy."""
    perfect = sb.crps(Y, NORMAL, yerr=model).perfect
    rng = np.random.default_rng(0)
    gap = np.abs(model.sample(Y, 40_000, rng) - model.sample(Y, 40_000, rng)).mean() / 2
    assert float(perfect) == pytest.approx(gap, rel=0.01)
    entropy = -np.mean(np.log(model.pdf(Y, model.sample(Y, 40_000, rng))))
    assert float(sb.log_score(Y, NORMAL, yerr=model).perfect) == pytest.approx(entropy, rel=0.02)


def test_remeasured_goes_from_observed_to_truth():
    s = sb.crps(Y, NORMAL, yerr=SIGMA)
    assert float(s.remeasured(1)) == s.observed
    values = [float(s.remeasured(k)) for k in (1, 2, 5, 50, 10_000)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(float(s.truth), rel=1e-3)
    log = sb.log_score(Y, NORMAL, yerr=SIGMA)
    assert float(log.remeasured(4)) == pytest.approx(float(log.truth) + np.mean(SIGMA**2 / 4 / (2 * STD**2)))


def test_interval_coverage_equals_fraction_within_for_equal_widths():
    both = (
        sb.interval_coverage(Y, MEAN - 0.7, MEAN + 0.7, yerr=SIGMA),
        sb.fraction_within(Y, MEAN, tolerance=0.7, yerr=SIGMA),
    )
    for answer in ("observed", "expected", "std"):
        assert getattr(both[0], answer) == pytest.approx(getattr(both[1], answer))
    assert both[0].interval(0.9) == pytest.approx(both[1].interval(0.9))
    assert float(both[0].perfect) == pytest.approx(float(both[1].perfect))
    assert float(both[0].truth) == pytest.approx(float(both[1].truth), abs=0.05)


def test_forecasts_may_stand_for_intervals():
    low, high = NORMAL.interval(0.8)
    assert sb.interval_score(Y, NORMAL, level=0.8, yerr=SIGMA) == pytest.approx(
        float(sb.interval_score(Y, low, high, level=0.8, yerr=SIGMA))
    )
    assert sb.interval_coverage(Y, NORMAL, level=0.8).observed == np.mean((low <= Y) & (high >= Y))


# studies -----------------------------------------------------------------------------------------


def test_evaluate_chooses_scores_that_exist():
    found = sb.evaluate(Y, {"gp": (MEAN, STD), "wide": sb.NormalForecast(MEAN, 2 * STD)}, yerr=SIGMA)
    assert found.metrics == ["crps", "log_score", "root_mean_squared_error", "mean_absolute_error"]
    assert found["gp", "crps"] == sb.crps(Y, NORMAL, yerr=SIGMA)
    assert found["gp", "mae"] == sb.mean_absolute_error(Y, MEAN, yerr=SIGMA)
    members = sb.evaluate(Y, MEMBERS, yerr=SIGMA)
    assert members.metrics == ["crps", "root_mean_squared_error", "mean_absolute_error"]
    groups = sb.evaluate(Y, NORMAL, yerr=SIGMA, metrics="crps", by=np.where(TRUTH > 0, "up", "down"))
    up = TRUTH > 0
    assert groups["model", "crps", "up"] == sb.crps(Y[up], NORMAL[up], yerr=SIGMA[up])


def test_compare_by_scores_of_forecasts():
    models = {"a": NORMAL, "b": sb.NormalForecast(MEAN, 3 * STD)}
    for metric in ("crps", "log_score"):
        difference = sb.compare(Y, models, yerr=SIGMA, metric=metric).difference("a", "b")
        one, other = (getattr(sb, metric)(Y, forecast, yerr=SIGMA) for forecast in models.values())
        assert difference.observed == pytest.approx(one.observed - other.observed)
        assert float(difference.truth) == pytest.approx(float(one.truth) - float(other.truth))
        assert difference.std < np.hypot(one.std, other.std)
    assert sb.compare(Y, models, yerr=SIGMA).metric == "crps"
    with pytest.raises(ValueError, match=r"needs its level: .*functools.partial\(sb.interval_score, level=...\)"):
        sb.compare(Y, models, yerr=SIGMA, metric="interval_score", level=0.8)
    assert (
        sb.compare(Y, models, yerr=SIGMA, metric=partial(sb.interval_score, level=0.8)).difference("a", "b").observed
        < 0
    )


def test_scorers_ask_for_the_spread():
    linear = pytest.importorskip("sklearn.linear_model")
    from sklearn.model_selection import cross_val_score

    X = TRUTH[:, None] + RNG.normal(size=(N, 2))
    found = cross_val_score(linear.BayesianRidge(), X, Y, scoring=sb.scorers["neg_crps"], cv=3)
    assert found.shape == (3,) and np.all(found < 0)
    model = linear.BayesianRidge().fit(X, Y)
    expected = sb.crps(Y, model.predict(X, return_std=True), yerr=0.2).truth
    assert sb.scorers.get_scorer("crps", answer="truth", yerr=0.2)(model, X, Y) == pytest.approx(-float(expected))
    with pytest.raises(TypeError, match="Ridge gives no forecasts"):
        sb.scorers["neg_crps"](linear.Ridge().fit(X, Y), X, Y)


def test_pinball_of_the_quantiles_of_a_forecast():
    levels = [0.9, 0.1, 0.5]
    values = MEAN[:, None] + STD[:, None] * stats.norm.ppf(sorted(levels))
    expected = sb.mean_pinball_loss(Y, sb.QuantileForecast(sorted(levels), values), yerr=0.3)
    for forecast in (sb.NormalForecast(MEAN, STD), (MEAN, STD), stats.norm(MEAN, STD)):
        found = sb.mean_pinball_loss(Y, forecast, alpha=levels, yerr=0.3)
        assert found.observed == pytest.approx(expected.observed, rel=1e-12)
        assert float(found.truth) == pytest.approx(float(expected.truth), rel=1e-9)
    one = sb.mean_pinball_loss(Y, sb.NormalForecast(MEAN, STD), alpha=0.9)
    assert one.observed == pytest.approx(sb.mean_pinball_loss(Y, values[:, 2], alpha=0.9).observed, rel=1e-12)
    members = np.random.default_rng(3).gamma(1.0, 1.0, (len(Y), 9))
    median = sb.mean_pinball_loss(Y, sb.EnsembleForecast(members))
    assert median.observed == pytest.approx(np.mean(np.abs(Y - np.median(members, axis=1))) / 2, rel=1e-12)
    labels = sb.mean_pinball_loss(Y, sb.NormalForecast(MEAN, STD, claims="label"), alpha=levels, yerr=0.3)
    with pytest.raises(sb.UndefinedEstimate):
        _ = labels.truth


MODELS = {name: model for _, name, model in table.pairs() if isinstance(model, sb.errors.MeasurementError)}


@pytest.mark.parametrize("model", [None, *MODELS.values()], ids=["exact", *MODELS])
def test_one_level_is_the_same_alone_in_a_list_and_as_a_forecast(model):
    column = table.P[:, None]
    alone = sb.mean_pinball_loss(table.Y, table.P, alpha=0.9, yerr=model)
    listed = sb.mean_pinball_loss(table.Y, column, alpha=[0.9], yerr=model)
    forecast = sb.mean_pinball_loss(table.Y, sb.QuantileForecast([0.9], column), yerr=model)
    twice = sb.crps(table.Y, sb.QuantileForecast([0.9], column), yerr=model)
    for other, factor in ((listed, 1.0), (forecast, 1.0), (twice, 2.0)):
        assert other.observed == pytest.approx(factor * alone.observed, rel=1e-12)
        assert other.expected == pytest.approx(factor * alone.expected, rel=1e-9)
        assert other.std == pytest.approx(factor * alone.std, rel=1e-7)
        assert float(other.perfect) == pytest.approx(factor * float(alone.perfect), rel=1e-9, abs=0.0)
        assert math.isfinite(other.truth) and other.truth.interval(0.9).low <= other.truth.interval(0.9).high
    assert (float(alone.perfect) == 0.0) == (model is None)


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_no_prediction_of_a_quantile_beats_the_perfect_one(model, alpha):
    """Not the true value, and none next to the quantile of the label."""
    least = float(sb.mean_pinball_loss(table.Y, table.P, alpha=alpha, yerr=model).perfect)
    errors = model.for_labels(table.Y)
    best = errors.ppf(table.Y, np.full(len(table.Y), alpha))
    for p in (table.Y, best - 0.05, best + 0.05):
        assert least <= sb.mean_pinball_loss(table.Y, p, alpha=alpha, yerr=model).expected + 1e-12


@pytest.mark.parametrize(("alpha", "side"), [(0.0, "below"), (1.0, "above")])
def test_the_first_and_the_last_quantile_have_no_best_prediction(alpha, side):
    for yerr in (None, 0.3, sb.Uniform(0.3)):
        with pytest.raises(sb.UndefinedEstimate, match=f"any that is {side} all labels has no loss"):
            _ = sb.mean_pinball_loss(Y, MEAN, alpha=alpha, yerr=yerr).perfect


@pytest.mark.parametrize("levels", [[0.1], [0.1, 0.5, 0.8], [0.02, 0.3, 0.7, 0.98]])
def test_perfect_quantiles_of_exact_labels_score_nothing(levels):
    forecast = sb.QuantileForecast(levels, MEAN[:, None] + STD[:, None] * stats.norm.ppf(levels))
    for yerr in (None, 0.0):
        assert float(sb.crps(Y, forecast, yerr=yerr).perfect) == 0.0
        assert float(sb.mean_pinball_loss(Y, forecast, yerr=yerr).perfect) == 0.0


def test_groups_and_prediction_errors_of_several_quantiles():
    values, groups = MEAN[:, None] + STD[:, None] * stats.norm.ppf([0.2, 0.8]), np.arange(len(Y)) // 4
    alone = sb.mean_pinball_loss(Y, values, alpha=[0.2, 0.8], yerr=0.3)
    clustered = sb.mean_pinball_loss(Y, values, alpha=[0.2, 0.8], yerr=0.3, groups=groups)
    assert clustered.sampling_std != alone.sampling_std
    with pytest.raises(ValueError, match="y_pred is a forecast, which has its own spread: leave prederr out"):
        sb.mean_pinball_loss(Y, values, alpha=[0.2, 0.8], prederr=0.1)


def test_compare_takes_pinball_losses_of_several_levels():
    rng, levels = np.random.default_rng(4), [0.1, 0.5, 0.9]
    y = rng.normal(size=80)
    mean = y + 0.5 * rng.normal(size=80)
    given = {"a": mean[:, None] + np.array([-0.6, 0.0, 0.6]), "b": sb.NormalForecast(mean + 0.3, 0.5)}
    found = sb.compare(y, given, yerr=0.2, metric=sb.mean_pinball_loss, alpha=levels)
    one, other = (sb.mean_pinball_loss(y, p, alpha=levels, yerr=0.2).observed for p in given.values())
    assert found.difference("a", "b").observed == pytest.approx(one - other)
    assert math.isfinite(found.difference("a", "b").truth)
    assert "mean_pinball_loss(alpha=[0.1, 0.5, 0.9])" in str(found)
    single = sb.compare(y, {"a": given["a"][:, 2], "b": given["b"]}, yerr=0.2, metric=sb.mean_pinball_loss, alpha=0.9)
    assert "mean_pinball_loss(alpha=0.9)" in str(single)


def test_members_in_an_xarray_are_a_forecast_wherever_models_are_named():
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(5)
    y, members = rng.normal(size=12), rng.normal(size=(12, 4))
    found = sb.evaluate(y, {"a": xr.DataArray(members.T, dims=("member", "i"))}, metrics="crps", by=np.arange(12) % 2)
    assert found["a", "crps"].observed == sb.crps(y, members).observed
    assert found["a", "crps", "1"].observed == pytest.approx(sb.crps(y[1::2], members[1::2]).observed)


@pytest.mark.parametrize(
    "metric", [sb.crps, sb.log_score, sb.dawid_sebastiani_score, partial(sb.interval_score, level=0.8)]
)
@pytest.mark.filterwarnings("ignore")  # that expected or std are infinite
def test_errors_without_a_variance_give_numbers_or_a_reason(metric):
    rng = np.random.default_rng(6)
    y = rng.normal(size=40)
    score = metric(y, (y + 0.5 * rng.normal(size=40), np.full(40, 0.5)), yerr=sb.StudentT(0.4, df=1.5))
    for answer in ("truth", "perfect"):
        try:
            assert math.isfinite(getattr(score, answer))
        except sb.UndefinedEstimate as why:
            assert "variance" in str(why)


@pytest.mark.parametrize("unit", [1e-200, 1e-80, 1e80, 1e200])
@pytest.mark.parametrize(
    "name, logs", [("log_score", 1.0), ("dawid_sebastiani_score", 2.0), ("interval_coverage", 0.0)]
)
def test_scores_without_unit_in_any_unit(name, logs, unit):
    """Log scores gain the logarithm of the unit, shares nothing: also where squares leave the doubles."""
    rng = np.random.default_rng(0)
    y = rng.normal(5.0, 1.0, 12)
    mean = y + rng.normal(0.0, 0.3, 12)

    def answers(unit):
        forecast = sb.NormalForecast(mean * unit, np.full(12, 0.4 * unit))
        options = {"level": 0.9} if name == "interval_coverage" else {}
        s = getattr(sb, name)(y * unit, forecast, yerr=0.2 * unit, **options)
        values = [s.observed, s.expected, *s.interval(), *s.total_interval(), s.truth, *s.truth.interval(), s.perfect]
        return np.array(values, dtype=float), s.std, float(s.distribution.cdf(s.expected))

    (values, std, half), (plain, plain_std, plain_half) = answers(unit), answers(1.0)
    assert values - logs * np.log(unit) == pytest.approx(plain, abs=1e-9)
    assert std == pytest.approx(plain_std, rel=1e-9) and half == pytest.approx(plain_half, abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        sb.Normal(0.3),
        sb.Normal(0.3, scale_error=0.2),
        sb.Normal(0.3, dof=5),
        sb.Laplace(0.2),
        sb.SplitNormal(0.2, 0.4),
        sb.Normal(0.3, kind="berkson"),
    ],
    ids=["normal", "scale", "dof", "laplace", "split", "berkson"],
)
def test_forecasts_of_unit_spread_are_scored_as_squares(model):
    """log v + d^2/v with v = 1 is the squared error, in every answer."""
    rng = np.random.default_rng(4)
    y, p = rng.normal(size=50), rng.normal(size=50)
    squares = sb.mean_squared_error(y, p, yerr=model)
    score = sb.dawid_sebastiani_score(y, sb.NormalForecast(p, np.ones(50)), yerr=model)
    asked = [lambda s: s.truth]
    if model.kind == "classical":
        asked += [lambda s: s.remeasured(1), lambda s: s.remeasured(4)]
    for ask in asked:
        assert float(ask(score)) == pytest.approx(float(ask(squares)), rel=1e-12)
        assert ask(score).std == pytest.approx(ask(squares).std, rel=1e-12)
        assert ask(score).interval() == pytest.approx(ask(squares).interval(), rel=1e-9)
    for name in ("observed", "expected", "std", "sampling_std"):
        assert getattr(score, name) == pytest.approx(getattr(squares, name), rel=1e-12), name


@pytest.mark.parametrize("metric", ["squares", "scores"])
def test_fresh_labels_of_asymmetric_errors(metric):
    """Errors that push labels up push fresh ones up too: the forecast of the next score holds as often as it says."""
    rng = np.random.default_rng(6)
    truth = rng.normal(size=60)
    p, spread, model = truth + 0.4 * rng.normal(size=60), 0.3 + 0.3 * rng.random(60), sb.SplitNormal(0.2, 0.6)

    def score(y):
        if metric == "squares":
            return sb.mean_squared_error(y, p, yerr=model)
        return sb.dawid_sebastiani_score(y, sb.NormalForecast(p, spread), yerr=model)

    held, off = [], []
    for first, fresh, *three in model.sample(truth, 5 * 200, rng).reshape(200, 5, 60):
        found = score(first)
        low, high = found.remeasured(1).interval()
        held.append(low <= score(fresh).observed <= high)
        off.append(found.remeasured(3) - score(np.mean(three, axis=0)).observed)
    assert 0.9 <= np.mean(held) <= 0.99
    assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(len(off))


def test_crps_of_means_of_two_repeats_measured_once_more():
    """A single label errs more than the mean of two: that much error is added, in closed form."""
    y, forecast = np.array([0.3, 1.0, -0.2]), sb.NormalForecast(np.array([0.0, 0.5, 0.1]), np.array([0.4, 0.5, 0.6]))
    again = sb.crps(y, forecast, yerr=sb.Repeats.from_means(sigma=0.3, n=2)).remeasured(1)
    assert float(again) == pytest.approx(sb.crps(y, forecast, yerr=0.3 / math.sqrt(2)).expected, rel=1e-12)
    fewer = sb.crps(y, forecast, yerr=0.3)
    assert float(fewer.remeasured(2)) < float(fewer.remeasured(1)) == fewer.observed


@pytest.mark.parametrize("score", [sb.log_score, sb.dawid_sebastiani_score, sb.crps])
def test_very_many_forecasts_have_all_answers(score):
    """Bins, which serve very many numbers, cannot hold forecasts."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=25_000)
    forecast = sb.NormalForecast(t + rng.normal(size=t.size), 1.0)
    y = t + 0.3 * rng.normal(size=t.size)
    many, few = (score(y[:n], forecast[:n], yerr=0.3) for n in (25_000, 15_000))
    for answer in ("interval", "total_interval"):
        low, high = getattr(many.truth, answer)()
        near, far = getattr(few.truth, answer)()
        assert low < many.truth < high
        assert (high - low) / (far - near) == pytest.approx(np.sqrt(15 / 25), rel=0.05)
    assert many.total_interval().low < many.remeasured(1) < many.total_interval().high
