"""Labels that bring their errors or their unit along."""

import numpy as np
import pytest

import scorebars as sb

P = np.array([1.1, 2.3, 2.9])


def test_uncertainties():
    unumpy = pytest.importorskip("uncertainties.unumpy")
    y = unumpy.uarray([1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    plain = sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=[0.1, 0.2, 0.3])
    assert sb.mean_squared_error(y, P) == plain
    assert sb.mean_squared_error(list(y), P).truth == plain.truth
    with pytest.raises(ValueError, match="brings its own errors"):
        sb.mean_squared_error(y, P, yerr=0.1)


def test_correlated_uncertainties_become_a_covariance():
    ufloat = pytest.importorskip("uncertainties").ufloat
    offset = ufloat(0.0, 0.5)
    y = [ufloat(v, 0.1) + offset for v in (1.0, 2.0, 3.0)]
    cov = 0.01 * np.eye(3) + 0.25
    found, plain = sb.mean_squared_error(y, P), sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=sb.Normal(cov=cov))
    assert found.expected == pytest.approx(plain.expected, rel=1e-12) and found.std == pytest.approx(
        plain.std, rel=1e-12
    )


def test_quantities():
    u = pytest.importorskip("astropy.units")
    y = np.array([1.0, 2.0, 3.0]) * u.m
    plain = sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=0.1)
    found = sb.mean_squared_error(y, P * 100 * u.cm, yerr=100 * u.mm)
    assert found.expected == pytest.approx(plain.expected, rel=1e-12) and found.unit == u.m**2
    assert sb.mean_absolute_error(y, P * u.m).unit == u.m and sb.r2_score(y, P * u.m).unit is None
    assert plain.unit is None
    with pytest.raises(ValueError, match="y_pred has no unit but y_true is in m"):
        sb.mean_squared_error(y, P)
    with pytest.raises(ValueError, match="yerr is in s, which cannot be converted to m"):
        sb.mean_squared_error(y, P * u.m, yerr=0.1 * u.s)
    with pytest.raises(ValueError, match="y_pred is in m but y_true has no unit"):
        sb.mean_squared_error([1.0, 2.0, 3.0], P * u.m)


def test_nddata():
    nddata = pytest.importorskip("astropy.nddata")
    u = pytest.importorskip("astropy.units")
    y = nddata.NDData([1.0, 2.0, 3.0], uncertainty=nddata.VarianceUncertainty([0.01, 0.04, 0.09]), unit="m")
    plain = sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=[0.1, 0.2, 0.3])
    found = sb.mean_squared_error(y, P * u.m)
    assert found.expected == pytest.approx(plain.expected, rel=1e-12) and found.unit == u.m**2
