"""Shifted and scaled laws: table found through rounding, tails exchanged, no overflow."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.discrete import DiscreteLaw
from scorebars.laws.law import NormalLaw


@pytest.mark.parametrize("m", [3, 7, 10, 97, 1000, 4999])
def test_every_fraction_is_found(m):
    count = PoissonBinomial([0.4], [m])
    law = ScaledLaw(count, 1 / m)
    k = np.arange(m + 1)
    assert np.array_equal(law.pmf(k / m), count.pmf(k))
    assert np.array_equal(law.cdf(k / m), count.cdf(k))
    assert law.pmf((k[0] + 0.5) / m) == 0
    assert law.discrete and law.support == (0, pytest.approx(1))


@pytest.mark.parametrize("m", [7, 1000, 123457])
def test_atoms_are_found_where_shift_and_scale_cancel(m):
    count = PoissonBinomial([0.5], [m])
    law = ScaledLaw(count, 2 / m, -1.0)
    k = np.arange(m + 1)
    assert np.array_equal(law.pmf((2 * k - m) / m), count.pmf(k))


def test_negative_scale_exchanges_the_tails():
    count = PoissonBinomial(np.random.default_rng(0).random(50))
    loss, k = ScaledLaw(count, -1 / 50, 1.0), np.arange(51)
    assert np.array_equal(loss.pmf(1 - k / 50), count.pmf(k))
    np.testing.assert_allclose(loss.cdf(1 - k / 50), count.sf(k - 1), rtol=1e-13)
    np.testing.assert_allclose(loss.sf(1 - k / 50), np.append(0, count.cdf(k)[:-1]), rtol=1e-13)
    assert loss.mean == pytest.approx(1 - count.mean / 50) and loss.std == pytest.approx(count.std / 50)
    for q in (1e-30, 0.025, 0.5, 0.975):
        v = loss.ppf(q)
        assert loss.cdf(v) >= q and loss.cdf(v - 0.02) < q
    assert loss.ppf([0, 1]).tolist() == [loss.support[0], loss.support[1]]
    draws = loss.rvs(20000, rng=3)
    assert draws.mean() == pytest.approx(loss.mean, abs=5 * loss.std / 140)


def test_continuous_laws():
    law = ScaledLaw(NormalLaw(1.0, 2.0), -3.0, 5.0)
    other = norm(2.0, 6.0)
    x = np.linspace(-20, 25, 31)
    np.testing.assert_allclose(law.cdf(x), other.cdf(x), rtol=1e-13)
    np.testing.assert_allclose(law.sf(x), other.sf(x), rtol=1e-13)
    np.testing.assert_allclose(law.pdf(x), other.pdf(x), rtol=1e-13)
    q = [1e-25, 1e-6, 0.025, 0.5, 0.975]
    np.testing.assert_allclose(law.ppf(q), other.ppf(q), rtol=1e-9)
    assert isinstance(law.cdf(0.0), float) and isinstance(law.ppf(0.5), float)
    with pytest.raises(AttributeError, match="continuous: use pdf"):
        law.pmf(1.0)


def test_scaling_twice_is_scaling_once():
    count = PoissonBinomial([0.3], [10])
    law = ScaledLaw(ScaledLaw(count, 0.1), -2.0, 1.0)
    assert law.law is count and law.pmf(1 - 0.6) == count.pmf(3)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e200, -1e200])
def test_std_does_not_pass_through_the_square(scale):
    law = ScaledLaw(PoissonBinomial([0.5], [4]), scale)
    assert law.std == pytest.approx(abs(scale)) and law.mean == pytest.approx(2 * scale)
    assert law.var >= 0 and not math.isnan(law.var)


def test_a_constant_keeps_its_step():
    for inner in (NormalLaw(2.0, 0.0), DiscreteLaw([2.0], [1.0])):
        for scale in (0.5, -0.5):
            law = ScaledLaw(inner, scale)
            at = 2 * scale
            assert [law.cdf(at - 1e-3), law.cdf(at), law.sf(at - 1e-3), law.sf(at)] == [0, 1, 1, 0]
            assert law.ppf(0.4) == at and law.std == 0


def test_survives_pickling():
    law = ScaledLaw(PoissonBinomial([0.1, 0.6]), 0.5)
    assert pickle.loads(pickle.dumps(law)).pmf(0.5) == law.pmf(0.5)
