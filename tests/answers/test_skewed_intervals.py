"""Intervals of mean squares in the population: on the scale of the logarithm, as far as squares show it."""

import math

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers.intervals import Skewed, Symmetric

RNG = np.random.default_rng(0)
T = RNG.normal(size=40)
Y, P = T + 0.3 * RNG.normal(size=40), T + 0.5 * RNG.normal(size=40)


@pytest.mark.parametrize("huge", [3.0, 10.0, 1e3, 1e6, 1e100])
@pytest.mark.parametrize("groups", [None, np.arange(40) // 8])
def test_one_huge_error_bar_is_no_matter_of_the_logarithm(huge, groups):
    sigma = np.full(40, 0.3)
    sigma[3] = huge
    found = sb.mean_squared_error(Y, P, yerr=sigma, groups=groups).truth
    assert found.total_interval(0.95).high < 3.0 * max(found.std, 1.0)
    assert found.total_interval(0.95).high > 0.0


def test_errors_of_one_size_leave_it_as_it_is():
    seen, noise, std = 0.4, 0.09, 0.08
    plain = Skewed(seen - noise, std, 0.0, math.inf, 39, noise)(0.95)
    far = std * 2.022690920  # Student's quantile, 39 degrees of freedom
    assert plain.low == pytest.approx(seen * math.exp(-far / seen) - noise, rel=1e-8)
    assert plain.high == pytest.approx(seen * math.exp(far / seen) - noise, rel=1e-8)
    assert Skewed(seen - noise, std, 0.0, math.inf, 39, noise, apart=0.0)(0.95) == plain


def test_all_apart_is_symmetric():
    apart = Skewed(0.3, 0.08, -math.inf, math.inf, 39, 0.1, apart=0.08)(0.95)
    assert apart == pytest.approx(Symmetric(0.3, 0.08, df=39)(0.95), rel=1e-12)


@pytest.mark.parametrize("factor", [2.0, 3.0, 5.0])
def test_overstated_errors_leave_room_above_zero(factor):
    """The estimate is below any possible value: that says nothing for certain about the population either."""
    found = sb.mean_squared_error(Y, P, yerr=0.3 * factor).truth
    assert float(found) < 0.0 and found.total_interval(0.95).high > 0.01
