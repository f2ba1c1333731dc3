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


def test_nddata_without_a_clear_value_is_refused():
    nddata = pytest.importorskip("astropy.nddata")
    masked = nddata.NDData([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(
        ValueError, match=r"y_true has masked entries \(NDData.mask\): the first is 2.0 at index 1, 1 in all"
    ):
        sb.mean_squared_error(masked, P)
    unclear = nddata.NDData([1.0, 2.0, 3.0], uncertainty=nddata.UnknownUncertainty([0.1, 0.1, 0.1]))
    with pytest.raises(ValueError, match=r"y_true.uncertainty does not say what it is: use StdDevUncertainty"):
        sb.mean_squared_error(unclear, P)
    plain = nddata.NDData([1.0, 2.0, 3.0])
    assert sb.mean_squared_error(plain, P, yerr=0.1) == sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=0.1)


def test_uncertainties_in_a_pandas_column():
    pd, unumpy = pytest.importorskip("pandas"), pytest.importorskip("uncertainties.unumpy")
    table = pd.DataFrame({"y": unumpy.uarray([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), "p": P}, index=list("abc"))
    plain = sb.mean_squared_error([1.0, 2.0, 3.0], P, yerr=[0.1, 0.2, 0.3])
    assert sb.mean_squared_error(table["y"], table["p"]) == plain
    assert sb.evaluate(table, y="y", pred="p", metrics="mean_squared_error")["mean_squared_error"] == plain


def test_quantities_in_a_table():
    u, QTable = pytest.importorskip("astropy.units"), pytest.importorskip("astropy.table").QTable
    table = QTable({"y": [1.0, 2.0, 3.0] * u.m, "p": P * 100 * u.cm, "e": [100.0, 200.0, 300.0] * u.mm})
    found = sb.evaluate(table, y="y", pred="p", yerr="e", metrics="mean_absolute_error")["mean_absolute_error"]
    plain = sb.mean_absolute_error([1.0, 2.0, 3.0], P, yerr=[0.1, 0.2, 0.3])
    assert found.expected == pytest.approx(plain.expected, rel=1e-12) and found.unit == u.m
    found = sb.evaluate(table, y="y", pred="p", yerr=("e", "e"), metrics="mean_error", by=[0, 1, 0])[
        "p", "mean_error", "0"
    ]
    assert found.observed == pytest.approx(0.0, abs=1e-12) and found.unit == u.m


def test_labels_that_are_objects_are_numbers_where_they_are():
    """What evaluate takes for a measurement: uncertainties and NDData, not classes."""
    unumpy, nddata = pytest.importorskip("uncertainties.unumpy"), pytest.importorskip("astropy.nddata")
    values = np.arange(9.0)
    for y in (unumpy.uarray(values, 0.1), nddata.NDData(values), values.astype(object)):
        assert "r2_score" in sb.evaluate(y, values + 0.1).metrics
    assert "accuracy_score" in sb.evaluate(np.array(["a", "b"], dtype=object), ["a", "b"]).metrics
