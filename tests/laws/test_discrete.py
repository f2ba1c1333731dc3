"""Laws on listed values: merging, tails, quantiles."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars.laws.counts.poisson_binomial import bernstein_halfwidth
from scorebars.laws.discrete import DiscreteLaw


def test_values_are_sorted_and_merged_within_rounding():
    law = DiscreteLaw([0.3, 0.1, 0.1 + 0.2, 0.0, 0.5], [0.25, 0.25, 0.25, 0.25, 0.0])
    assert law.support == (0.0, 0.30000000000000004) or law.support == (0.0, 0.3)
    assert law.pmf([0.0, 0.1, 0.3, 0.1 + 0.2, 0.5]).tolist() == [0.25, 0.25, 0.5, 0.5, 0.0]
    assert law.cdf([0.1, 0.3, 0.29, -1, 1]).tolist() == [0.5, 1.0, 0.5, 0.0, 1.0]
    assert law.sf([0.1, 0.3, 0.29, -1, 1]).tolist() == [0.5, 0.0, 0.5, 1.0, 0.0]
    assert law.below([0.0, 0.1, 0.2]).tolist() == [0.0, 0.25, 0.5]
    assert law.at_least([0.0, 0.1, 0.2]).tolist() == [1.0, 0.75, 0.5]


def test_small_values_near_zero_are_not_merged():
    law = DiscreteLaw([0.0, 1e-20, 2e-20, 1.0], np.full(4, 0.25))
    assert law.cdf([0, 1e-20, 2e-20]).tolist() == [0.25, 0.5, 0.75]


def test_probabilities_are_normalised():
    law = DiscreteLaw([1, 2], [1, 3])
    assert law.pmf([1, 2]).tolist() == [0.25, 0.75] and law.mean == 1.75 and law.var == pytest.approx(0.1875)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_moments_neither_overflow_nor_vanish(scale):
    law = DiscreteLaw(np.array([-1.0, 0.0, 3.0]) * scale, [0.25, 0.5, 0.25])
    assert law.mean == pytest.approx(0.5 * scale) and law.std == pytest.approx(1.5 * scale)


def test_constant():
    law = DiscreteLaw([0.7], [0.3])
    assert law.mean == 0.7 and law.std == 0 and law.ppf([0.0, 0.2, 1.0]).tolist() == [0.7, 0.7, 0.7]


def test_tails_keep_their_digits():
    law = DiscreteLaw(np.arange(4), [1e-30, 0.5, 0.5, 1e-40])
    assert law.cdf(0) == 1e-30 and law.sf(2) == 1e-40
    assert law.ppf(1e-35) == 0 and law.upper_ppf(1e-41) == 3


def test_a_million_atoms():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=10**6), rng.random(10**6)
    law = DiscreteLaw(values, weights)
    share = weights[values <= 0.5].sum() / weights.sum()
    assert law.cdf(0.5) == pytest.approx(share, abs=1e-12)
    assert law.mean == pytest.approx(np.average(values, weights=weights), abs=1e-12)
    assert law.cdf(law.ppf(0.3)) == pytest.approx(0.3, abs=1e-5)
    assert np.array_equal(pickle.loads(pickle.dumps(law)).table.cdf, law.table.cdf)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.floats(1e-6, 1)), min_size=1, max_size=12),
    st.floats(1e-9, 1 - 1e-9),
)
def test_quantiles_from_both_ends(table, q):
    values, weights = map(np.array, zip(*table, strict=True))
    law = DiscreteLaw(values / 7, weights)
    v = law.ppf(q)
    assert law.cdf(v) >= q and law.below(v) < q + 1e-15
    u = law.upper_ppf(q)
    assert law.at_least(u) >= q and law.sf(u) < q + 1e-15
    x = np.linspace(-1, 1, 23)
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1, atol=1e-15)
    np.testing.assert_allclose(law.cdf(x) - law.below(x), law.pmf(x), atol=1e-15)


def test_bernstein_bounds_a_poisson_tail():
    from scipy.stats import poisson

    for mean in (0.01, 1.0, 30.0):
        reach = bernstein_halfwidth(mean)
        assert poisson.sf(math.floor(mean + reach), mean) < math.exp(-42)
