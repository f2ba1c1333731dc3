"""Fisher's F against SciPy, and the drawn ratios against their moments."""

import math

import numpy as np
import pytest
from scipy import stats

from scorebars.laws.variance_ratio import VarianceRatio, weighted_ratio


@pytest.mark.parametrize(("n", "nu"), [(1, 3), (2, 2), (5, 4.5), (40, 12), (1000, 300)])
def test_one_estimated_variance_is_fishers_f(n, nu):
    law, known = VarianceRatio(n, nu), stats.f(n, nu)
    assert law.mean == pytest.approx(known.mean() if nu > 2 else math.inf, rel=1e-12)
    assert law.var == pytest.approx(known.var() if nu > 4 else math.inf, rel=1e-12)
    for x in (1e-3, 0.4, 1.0, 3.0, 50.0):
        assert law.cdf(x) == pytest.approx(known.cdf(x), rel=1e-11)
        assert law.sf(x) == pytest.approx(known.sf(x), rel=1e-11, abs=1e-250)
        assert law.pdf(x) == pytest.approx(known.pdf(x), rel=1e-10, abs=1e-250)
    for q in (0.025, 0.5, 0.975):
        assert law.ppf(q) == pytest.approx(known.ppf(q), rel=1e-10)
    assert law.pdf(0.0) == {1: math.inf, 2: 1.0}.get(n, 0.0)


def test_weights_that_differ_are_drawn():
    weight, nu = np.array([0.5, 0.2, 0.2, 0.1]), 30.0
    law = weighted_ratio(weight, nu)
    assert law.mean == pytest.approx(nu / (nu - 2), abs=0.02)
    of_square = (1 + 2 * np.sum(weight**2)) * nu**2 / ((nu - 2) * (nu - 4))
    assert law.var == pytest.approx(of_square - (nu / (nu - 2)) ** 2, rel=0.05)
    assert weighted_ratio(weight, nu).mean == law.mean
