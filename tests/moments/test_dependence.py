"""Do true residuals follow the label errors? Seen where they do, rarely where they do not, slopes recovered."""

import numpy as np
import pytest

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
