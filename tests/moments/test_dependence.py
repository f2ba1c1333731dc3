"""Do true residuals follow the label errors? Seen where they do, rarely where they do not, slopes recovered."""

import numpy as np
import pytest

import scorebars as sb
from scorebars.moments.deconvolution import fitted_trend


def trend_of(seed, n, power, law="normal"):
    rng = np.random.default_rng(seed)
    s = np.exp(rng.uniform(-1, 1, n))
    eta = rng.standard_normal(n) if law == "normal" else rng.laplace(size=n)
    d = s**power * eta + 0.7 * s * rng.standard_normal(n)
    return fitted_trend(d, 0.7 * s, np.full(n, 1 / n)), s


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_no_dependence_is_rarely_seen(law):
    seen = [trend_of(seed, 150, 0.0, law)[0].seen for seed in range(100)]
    assert np.mean(seen) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize("power", [1.0, -0.7, 2.0])
def test_a_power_is_found(power):
    trend, s = trend_of(1, 3000, power)
    assert trend.seen and trend.log_variance[1] / 2 == pytest.approx(power, abs=4 * trend.log_variance_errors[0] / 2)
    centre, scale = trend.at(0.7 * s)
    assert np.max(np.abs(centre)) < 0.4
    assert np.median(scale / s**power) == pytest.approx(1, abs=0.1)


def test_a_centre_that_moves_is_found():
    rng = np.random.default_rng(2)
    s = np.exp(rng.uniform(-1, 1, 1000))
    trend = fitted_trend(2 * np.log(s) + rng.standard_normal(1000) + s * rng.standard_normal(1000), s, np.ones(1000))
    assert trend.seen and trend.middle[1] == pytest.approx(2, abs=4 * trend.middle_errors[0])


def test_equal_errors_or_no_scatter_show_no_trend():
    rng = np.random.default_rng(3)
    assert fitted_trend(rng.standard_normal(50), np.full(50, 0.5), np.ones(50)) is None
    assert fitted_trend(np.zeros(50), rng.uniform(0.5, 1, 50), np.ones(50)) is None


# forecasts: residuals with a spread of their own ------------------------------------------------------


def forecast_trend(seed, n, power_of_spread, power_of_error=0.0, alike=False):
    """D = spread^a s^b eta; the spread and the error are drawn apart, or tell the same."""
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.uniform(-1, 1, n))
    s = 0.7 * spread if alike else 0.7 * np.exp(rng.uniform(-1, 1, n))
    d = spread**power_of_spread * (s / 0.7) ** power_of_error * rng.standard_normal(n) + s * rng.standard_normal(n)
    return fitted_trend(d, s, np.full(n, 1 / n), spread), spread, s


@pytest.mark.parametrize("alike", [False, True])
def test_residuals_in_proportion_to_their_spread_have_no_trend(alike):
    seen = [forecast_trend(seed, 150, 1.0, alike=alike)[0].seen for seed in range(100)]
    assert np.mean(seen) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize(("of_spread", "of_error"), [(0.0, 0.0), (1.0, 1.0), (0.5, -0.7)])
def test_powers_of_spread_and_error_are_found(of_spread, of_error):
    trend, spread, s = forecast_trend(4, 4000, of_spread, of_error)
    assert trend.seen
    slopes = trend.axes.T @ trend.log_variance[1:] / 2
    assert slopes == pytest.approx([of_spread, of_error], abs=4 * max(trend.log_variance_errors) / 2)
    _, scale = trend.at(spread, s)
    assert np.median(scale / (spread**of_spread * (s / 0.7) ** of_error)) == pytest.approx(1, abs=0.1)
    assert len(trend.tilted()) == 4


def test_a_spread_that_tells_the_error_is_followed_once():
    trend = forecast_trend(5, 4000, 0.0, alike=True)[0]
    assert trend.seen and trend.axes.shape == (1, 2) and trend.log_variance[1] == pytest.approx(0.0, abs=0.5)
    assert len(trend.tilted()) == 2
    equal = np.ones(50)
    assert fitted_trend(np.random.default_rng(6).standard_normal(50), equal, equal, equal) is None


def test_large_factors_are_said():
    """Estimates behind labels that are wrong by large factors are too small on average; the note says so."""
    rng = np.random.default_rng(4)
    truth = np.exp(2 + 0.5 * rng.standard_normal(60))
    p = truth * np.exp(0.3 * rng.standard_normal(60))
    notes = {}
    for size in (0.1, 0.5):
        y = truth * np.exp(size * rng.standard_normal(60))
        notes[size] = sb.mean_absolute_error(y, p, yerr=sb.LogNormal(size)).truth.note
    assert "wrong by large factors" in notes[0.5]
    assert "wrong by large factors" not in notes[0.1]
    wide = sb.mean_absolute_error(truth, p, yerr=sb.Laplace(20.0)).truth.note
    assert "wrong by large factors" not in wide
