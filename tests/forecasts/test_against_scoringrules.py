"""Labels without errors: the same scores as scoringrules."""

import numpy as np
import pytest
from scipy import stats

import scorebars as sb

peer = pytest.importorskip("scoringrules")
N = 60
RNG = np.random.default_rng(3)
Y, MEAN, STD = RNG.normal(size=N), RNG.normal(size=N), RNG.uniform(0.2, 2.0, N)
MEMBERS = RNG.normal(size=(N, 11))
SAME = {"rel": 1e-12, "abs": 1e-12}


def test_normal_forecasts():
    forecast = sb.NormalForecast(MEAN, STD)
    assert sb.crps(Y, forecast).observed == pytest.approx(peer.crps_normal(Y, MEAN, STD).mean(), **SAME)
    assert sb.log_score(Y, forecast).observed == pytest.approx(peer.logs_normal(Y, MEAN, STD).mean(), **SAME)
    assert forecast.crps(Y) == pytest.approx(peer.crps_normal(Y, MEAN, STD), **SAME)


@pytest.mark.parametrize(("estimator", "theirs"), [("plain", "nrg"), ("fair", "fair")])
def test_members(estimator, theirs):
    expected = peer.crps_ensemble(Y, MEMBERS, estimator=theirs)
    forecast = sb.EnsembleForecast(MEMBERS)
    assert forecast.crps(Y, estimator) == pytest.approx(expected, **SAME)
    assert forecast.crps(np.stack([Y, Y]), estimator)[1] == pytest.approx(expected, **SAME)
    assert sb.crps(Y, forecast, estimator=estimator).observed == pytest.approx(expected.mean(), **SAME)


def test_dawid_sebastiani():
    assert sb.dawid_sebastiani_score(Y, MEMBERS).observed == pytest.approx(
        peer.dssuv_ensemble(Y, MEMBERS).mean(), **SAME
    )
    twice = 2 * sb.log_score(Y, (MEAN, STD)).observed - np.log(2 * np.pi)
    assert sb.dawid_sebastiani_score(Y, (MEAN, STD)).observed == pytest.approx(twice, **SAME)


def test_quantiles_and_intervals():
    levels, values = np.array([0.1, 0.5, 0.9]), np.sort(MEMBERS[:, :3], axis=1)
    forecast = sb.QuantileForecast(levels, values)
    assert sb.crps(Y, forecast).observed == pytest.approx(peer.crps_quantile(Y, values, levels).mean(), **SAME)
    losses = [sb.mean_pinball_loss(Y, values[:, k], alpha=level).observed for k, level in enumerate(levels)]
    assert sb.mean_pinball_loss(Y, forecast).observed == pytest.approx(np.mean(losses), **SAME)
    assert sb.mean_pinball_loss(Y, values[:, ::-1], alpha=levels[::-1]).observed == pytest.approx(
        np.mean(losses), **SAME
    )
    lower, upper = values[:, 0], values[:, 2]
    score = peer.interval_score(Y, lower, upper, 0.2).mean()
    assert sb.interval_score(Y, lower, upper, level=0.8).observed == pytest.approx(score, **SAME)
    assert sb.interval_coverage(Y, lower, upper).observed == np.mean((lower <= Y) & (upper >= Y))


@pytest.mark.parametrize(
    ("frozen", "theirs"),
    [
        (stats.gamma(2 + STD, scale=STD), lambda: peer.crps_gamma(np.abs(Y), 2 + STD, 1 / STD)),
        (stats.t(4.0, MEAN, STD), lambda: peer.crps_t(np.abs(Y), 4.0, MEAN, STD)),
        (stats.logistic(MEAN, STD), lambda: peer.crps_logistic(np.abs(Y), MEAN, STD)),
        (stats.lognorm(STD, scale=np.exp(MEAN)), lambda: peer.crps_lognormal(np.abs(Y), MEAN, STD)),
        (stats.uniform(MEAN, STD), lambda: peer.crps_uniform(np.abs(Y), MEAN, MEAN + STD)),
    ],
    ids=["gamma", "t", "logistic", "lognormal", "uniform"],
)
def test_distributions_of_scipy(frozen, theirs):
    """From a table for each label, to about 1e-8 of its spread."""
    forecast = sb.LawForecast(frozen)
    assert np.max(np.abs(forecast.crps(np.abs(Y)) - theirs()) / forecast.std) < 1e-8
    assert forecast.log_score(np.abs(Y)) == pytest.approx(-frozen.logpdf(np.abs(Y)))
