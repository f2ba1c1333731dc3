"""True variances behind sample variances of few members, and the factor on all of them."""

import numpy as np
import pytest

from scorebars.moments.uncertain_spreads import UncertainScatter, possible_variances


@pytest.mark.parametrize("degrees", [2, 4, 20])
def test_the_mean_given_a_sample_variance(degrees):
    """Against Bayes' rule with the true distribution of the variances, 1 and 25."""
    rng = np.random.default_rng(degrees)
    true = rng.choice([1.0, 25.0], 4000)
    found = true * rng.chisquare(degrees, 4000) / degrees
    told = possible_variances(found, degrees)
    odds = np.exp(-0.5 * degrees * (np.log(25.0) + found / 25.0 - found))
    exact = 1.0 + 24.0 * odds / (1.0 + odds)
    assert np.mean(np.abs(told.mean - exact)) < 0.06 * np.mean(exact)
    assert np.mean(told.mean) == pytest.approx(np.mean(found), rel=0.02)
    assert np.all(told.values > 0) and np.all(np.diff(told.values, axis=1) >= -1e-9)


def test_variances_that_are_alike_are_told_by_each_other():
    rng = np.random.default_rng(0)
    alike = possible_variances(rng.chisquare(4, 2000) / 4, 4)
    unlike = possible_variances(np.exp(rng.normal(0.0, 4.0, 2000)) * rng.chisquare(4, 2000) / 4, 4)
    assert alike.common > 0.8 > 0.2 > unlike.common
    assert alike.mean == pytest.approx(np.ones(2000), abs=0.15)


def test_spreads_that_say_nothing_or_all_the_same():
    assert not possible_variances(np.zeros(3), 2).values.any()
    same = possible_variances(np.full(4, 7.0), 2)
    assert same.common == 1.0 and np.all(same.values == 7.0)
    one = possible_variances(np.array([0.0, 3.0]), 2)
    assert np.all(one.values == 3.0)


@pytest.mark.parametrize("offset", [False, True])
def test_known_variances_give_the_normal_likelihood(offset):
    """Possible values that are all alike: lambda^2 is the mean squared residual, about 0 or about the mean."""
    d = np.random.default_rng(2).normal(0.3, 2.0, 50)
    x, top = UncertainScatter(d, np.ones((50, 12)), np.zeros(50), offset).best()
    assert np.exp(x) == pytest.approx(np.var(d, ddof=1) if offset else np.mean(np.square(d)), rel=1e-4)
    low, high = UncertainScatter(d, np.ones((50, 12)), np.zeros(50), offset).reach(x, top, 1.92)
    assert low < np.exp(x / 2) < high


def test_residuals_smaller_than_the_label_errors_have_no_scatter():
    d = 0.01 * np.random.default_rng(3).standard_normal(40)
    scatter = UncertainScatter(d, np.ones((40, 12)), np.ones(40), False)
    x, top = scatter.best()
    low, high = scatter.reach(x, top, 1.92)
    assert low == 0.0 and 0.0 < high < 1.0
