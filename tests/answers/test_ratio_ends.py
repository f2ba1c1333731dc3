"""Ends of the interval of a ratio of two uncertain sums."""

import math

import numpy as np
import pytest

from scorebars.answers.together.ratio_of_sums import _fieller, _not_contradicted

COVARIANCE = np.array([[0.04, 0.01], [0.01, 0.09]])


@pytest.mark.parametrize("x", [3.0, -1.0, 0.4])
def test_at_the_ends_of_a_ratio_the_data_lie_z_standard_deviations_away(x):
    y, z = 5.0, 1.96
    for ratio in _fieller(x, y, COVARIANCE, z):
        direction = np.array([1.0, -ratio])
        assert abs(x - ratio * y) == pytest.approx(z * math.sqrt(direction @ COVARIANCE @ direction), rel=1e-12)


def test_a_denominator_that_may_be_zero_leaves_one_side_open():
    low, high = _fieller(3.0, 0.5, COVARIANCE, 1.96)
    assert math.isinf(high)
    assert 0 < low < 6.0


def test_a_correlation_whose_scatter_is_known_is_off_by_its_numerator():
    x, y, z = 1.0, 4.0, 1.96
    found = _not_contradicted(x, y, np.array([[0.01, 0.0], [0.0, 0.0]]), z)
    assert found == pytest.approx(((x - z * 0.1) / 2.0, (x + z * 0.1) / 2.0), rel=1e-12)
