"""Pieces that cumulant generating functions are made of, against 50 digits."""

import mpmath as mp
import numpy as np
import pytest

from scorebars.laws import contour
from scorebars.laws.quadratic.chisquare import log_excess

SIZES = [1e-9, 1e-4, 3e-3, 0.02, 0.0999, 0.1001, 0.5, 0.9, 3.0, 40.0]


def around(size):
    """Numbers of one size, in all directions but the real axis beyond 1."""
    angles = np.linspace(0.3, 2 * np.pi - 0.3, 9)
    return size * np.exp(1j * angles)


def exact(function, numbers):
    with mp.workdps(50):
        return np.array([complex(function(mp.mpc(u))) for u in np.ravel(numbers).tolist()]).reshape(np.shape(numbers))


@pytest.mark.parametrize("size", SIZES)
def test_excess_keeps_its_digits(size):
    u = around(size)
    expected = exact(lambda u: -(mp.log(1 - u) + u) / 2, u)
    np.testing.assert_allclose(log_excess(u), expected, rtol=2e-14)
    real = np.array([-size, min(size, 0.99)])
    np.testing.assert_allclose(log_excess(real), exact(lambda u: -(mp.log(1 - u) + u) / 2, real).real, rtol=2e-14)


def test_excess_of_sizes_together_is_that_of_each():
    u = np.array([around(size) for size in SIZES])
    np.testing.assert_allclose(log_excess(u), [log_excess(row) for row in u], rtol=1e-14)
    assert np.array_equal(log_excess(np.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize("size", [*SIZES, 1e-150, 1e150])
def test_logarithms_are_principal_values(size):
    x = np.append(around(size), [size, 1j * size, -1j * size])
    np.testing.assert_allclose(contour.log(x), exact(mp.log, x), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(contour.log1p(x), exact(lambda x: mp.log(1 + x), x), rtol=1e-13, atol=1e-15)
    real = np.array([size, 2 * size])
    assert np.array_equal(contour.log(real), np.log(real))
    assert np.array_equal(contour.log1p(real), np.log1p(real))
