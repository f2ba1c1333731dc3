"""A mixture against the distributions it is made of."""

import numpy as np
import pytest
from scipy import stats

from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.variance_ratio import VarianceRatio

PARTS, WEIGHTS = [VarianceRatio(5, 40), VarianceRatio(400, 300)], [0.3, 0.7]


def test_values_are_means_over_the_parts():
    law = MixtureLaw(PARTS, WEIGHTS)
    known = stats.f([5, 400], [40, 300])
    assert law.mean == pytest.approx(known.mean() @ WEIGHTS, rel=1e-12)
    assert law.var == pytest.approx((known.var() + known.mean() ** 2) @ WEIGHTS - law.mean**2, rel=1e-11)
    for x in (0.3, 1.0, 1.8):
        assert law.cdf(x) == pytest.approx(known.cdf(x) @ WEIGHTS, rel=1e-11)
        assert law.sf(x) == pytest.approx(known.sf(x) @ WEIGHTS, rel=1e-11)
        assert law.pdf(x) == pytest.approx(known.pdf(x) @ WEIGHTS, rel=1e-10)
    assert law.cdf(law.ppf(0.9)) == pytest.approx(0.9, abs=1e-10)


def test_draws_are_of_the_mixture():
    law = MixtureLaw(PARTS, WEIGHTS)
    draws = law.rvs((50, 80), rng=1)
    assert draws.shape == (50, 80) and np.array_equal(draws, law.rvs((50, 80), rng=1))
    assert stats.kstest(draws.ravel(), np.vectorize(law.cdf)).pvalue > 1e-3
    assert isinstance(law.rvs(rng=1), float)
