"""Universal functions of the folded normal: reference values, 60-digit mpmath, quadrature, properties."""

import json
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from scorebars.numerics import special

REFERENCE = {
    c["id"]: c for c in json.loads((Path(__file__).parent / "reference" / "reference.json").read_text())["cases"]
}
TABLE = REFERENCE["universal_g_v"]["exact"]["table"]
NORMAL = 1e-300  # below this doubles have fewer digits


@pytest.mark.parametrize("name", ["g", "v", "one_minus_v", "g2"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"z={row['z']}")
def test_reference(row, name):
    expected = float(row[name])
    got = getattr(special, name)(row["z"])
    assert got == pytest.approx(expected, rel=4e-15 if expected > NORMAL else 1e-5, abs=1e-322)


@pytest.mark.parametrize("name", ["kappa3", "kappa4"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"z={row['z']}")
def test_reference_cumulants(row, name):
    assert getattr(special, name)(row["z"]) == pytest.approx(float(row[name]), rel=2e-14, abs=1e-60)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"z={row['z']}")
def test_reference_mean(row):
    assert special.folded_mean(row["z"], 1.0) == pytest.approx(float(row["mean_abs"]), rel=3e-16)


def exact_g(z):
    z = mp.mpf(z)
    return mp.sqrt(2 / mp.pi) * mp.exp(-z * z / 2) - z * mp.erfc(z / mp.sqrt(2))


def exact_g2(z):
    z = mp.mpf(z)
    return (1 + z * z) * mp.erfc(z / mp.sqrt(2)) / 2 - z * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def test_relative_error_up_to_the_last_normal_double():
    z = np.concatenate([np.linspace(0.0, 37.4, 400), np.random.default_rng(0).uniform(0, 4, 200)])
    with mp.workdps(40):  # the differences lose 6 digits at 37
        for function, exact in ((special.g, exact_g), (special.g2, exact_g2)):
            worst = max(abs(mp.mpf(x) / exact(y) - 1) for x, y in zip(function(z).tolist(), z.tolist(), strict=True))
            assert worst < 2e-15


@pytest.mark.parametrize("z", [-9.0, -3.0, -0.5, -1e-9])
def test_g2_below_zero(z):
    assert special.g2(z) == pytest.approx(float(exact_g2(z)), rel=1e-15)


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 2.7, 6.0])
def test_cumulants_by_quadrature(z):
    nodes, weights = np.polynomial.legendre.leggauss(150)

    def moment(r):
        total = 0.0
        for low, high in ((-14.0, -z), (-z, 14.0)):  # on either side of the kink
            x = 0.5 * (high - low) * nodes + 0.5 * (high + low)
            values = (np.abs(x + z) - special.folded_mean(z, 1.0)) ** r * norm.pdf(x)
            total += 0.5 * (high - low) * float(np.sum(weights * values))
        return total

    assert special.v(z) == pytest.approx(moment(2), rel=1e-12)
    assert special.kappa3(z) == pytest.approx(moment(3), abs=1e-12)
    assert special.kappa4(z) == pytest.approx(moment(4) - 3 * moment(2) ** 2, abs=1e-12)


@given(st.floats(-60, 60), st.floats(0, 1e3))
def test_even_and_bounded(z, sigma):
    assert special.g(z) == special.g(-z)
    assert 0 <= special.g(z) <= math.sqrt(2 / math.pi) * (1 + 1e-15)
    assert 1 - 2 / math.pi - 1e-15 <= special.v(z) <= 1
    assert special.folded_mean(z, sigma) >= abs(z)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(-300, 300))
def test_scales_with_the_unit(delta, sigma, power):
    unit = 2.0**power
    assert special.folded_mean(unit * delta, unit * sigma) == unit * special.folded_mean(delta, sigma)
    assert special.folded_variance(unit * delta, unit * sigma) == unit**2 * special.folded_variance(delta, sigma)


def test_extreme_arguments():
    assert special.g([math.inf, -math.inf, 1e300]).tolist() == [0.0, 0.0, 0.0]
    assert special.v(math.inf) == 1.0
    assert special.kappa3(math.inf) == 0.0
    assert special.g2([math.inf, -math.inf]).tolist() == [0.0, math.inf]
    assert special.folded_mean([0.0, 2.0, -3.0, 1e300], [0.0, 0.0, 0.0, 1e-300]).tolist() == [0.0, 2.0, 3.0, 1e300]
    assert special.folded_variance([0.0, 5.0], [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert math.isnan(special.g(math.nan))
    assert special.folded_mean(0.0, 5e-324) == 5e-324


def test_shapes():
    assert isinstance(special.g(1.0), float)
    assert special.g(np.zeros((3, 4))).shape == (3, 4)
    assert special.g(np.zeros((0,))).shape == (0,)
    assert special.folded_mean(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    large = np.linspace(0, 10, 50_001)
    assert special.v(large)[[0, -1]].tolist() == [special.v(0.0), special.v(10.0)]


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, 0.3), (-1.0, 2.0), (2.0, np.inf), (-np.inf, -9.0), (30.0, np.inf), (5.0, 5.5)]
)
def test_moments_between(low, high):
    """Against the integrals in 40 digits."""
    with mp.workdps(40):
        near = float(np.clip(0.0, low, high))
        points = np.clip(near + np.arange(-12.0, 12.1, 0.25), low, high).tolist()
        mass, first, second = (mp.quad(lambda x, k=k: x**k * mp.npdf(x), points) for k in range(3))
        exact = float(first / mass), float(second / mass)
    found = special.moments_between(np.array([low]), np.array([high]))
    assert (found[0][0], found[1][0]) == pytest.approx(exact, rel=1e-9)


def test_moments_between_ends_so_far_out_that_nothing_is_left():
    ends = np.array([1e149, -np.inf, 40.0, -np.inf]), np.array([np.inf, -1e200, 40.0, -6.6e9])
    first, second = special.moments_between(*ends)
    assert first == pytest.approx([1e149, -1e150, 40.0, -6.6e9])
    assert second == pytest.approx(np.square(first))
