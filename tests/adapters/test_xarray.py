"""xarray as climate scientists use it: named dimensions, gaps, weights by latitude, dask behind."""

import sys

import numpy as np
import pytest

import scorebars as sb
from scorebars.adapters.xarray import POSSIBLE, evaluate

xr = pytest.importorskip("xarray")

RNG = np.random.default_rng(4)
TIMES, LATS, LONS = 12, 3, 2


def field(values, *dims):
    coords = {
        "time": np.arange("2000-01", "2001-01", dtype="datetime64[M]").astype("datetime64[ns]"),
        "lat": [-30.0, 0.0, 45.0],
    }
    return xr.DataArray(values, dims=dims, coords={d: coords[d] for d in dims if d in coords})


Y = field(RNG.normal(15, 5, (TIMES, LATS, LONS)), "time", "lat", "lon")
P = Y + RNG.normal(0, 1, Y.shape)
SIGMA = field(RNG.uniform(0.2, 0.8, LATS), "lat")


def plain(metric, lat, lon, yerr=None, **options):
    y, p = (a.isel(lat=lat, lon=lon).values for a in (Y, P))
    return getattr(sb, metric)(y, p, yerr=yerr, **options)


def test_each_place_has_its_score():
    found = evaluate(Y, P, yerr=SIGMA, dim="time", metrics=["mean_squared_error", "mean_error"], answers=POSSIBLE)
    assert found["truth"].dims == ("lat", "lon", "metric") and found["n"].dims == ("lat", "lon")
    assert list(found) == [*POSSIBLE, "n"] and found["lat"].equals(Y["lat"])
    for lat in range(LATS):
        score = plain("mean_squared_error", lat, 1, yerr=float(SIGMA[lat]))
        here = found.isel(lat=lat, lon=1).sel(metric="mean_squared_error")
        flat = score.to_dict()
        for name in POSSIBLE:
            assert float(here[name]) == pytest.approx(flat[name], rel=1e-12), name
    assert (found["n"] == TIMES).all()


def test_all_dimensions():
    found = evaluate(Y, P, yerr=0.5)
    score = sb.mean_absolute_error(Y.values.ravel(), P.values.ravel(), yerr=0.5)
    assert float(found["expected"].sel(metric="mean_absolute_error")) == pytest.approx(score.expected, rel=1e-12)
    assert list(found["metric"].values) == ["root_mean_squared_error", "mean_absolute_error", "mean_error"]
    assert found["expected"].dims == ("metric",)


def test_broadcasting_by_name_whatever_the_order():
    wanted = evaluate(Y, P, yerr=SIGMA, dim="time", metrics="mean_squared_error")
    turned = evaluate(Y, P.transpose("lon", "time", "lat"), yerr=SIGMA, dim=["time"], metrics="mean_squared_error")
    xr.testing.assert_allclose(turned.transpose(*wanted["truth"].dims), wanted)
    both = evaluate(Y, P, yerr=(SIGMA, 2 * SIGMA), dim="time", metrics="mean_squared_error")
    score = plain("mean_squared_error", 2, 0, yerr=sb.SplitNormal(float(SIGMA[2]), 2 * float(SIGMA[2])))
    assert float(both["expected"].isel(lat=2, lon=0, metric=0)) == pytest.approx(score.expected, rel=1e-12)


def test_error_models_and_custom_metrics():
    model = sb.Normal(np.linspace(0.1, 0.5, TIMES), shared=np.full(TIMES, 0.2))
    fourth = sb.metric(lambda y, p: (y - p) ** 4, name="fourth")
    found = evaluate(Y, P, yerr=model, dim="time", metrics=["mean_squared_error"])
    assert float(found["std"].isel(lat=0, lon=0, metric=0)) == pytest.approx(
        plain("mean_squared_error", 0, 0, yerr=model).std, rel=1e-12
    )
    assert evaluate(Y, P, yerr=0.1, dim=("lat", "lon"), metrics=fourth)["observed"].dims == ("time", "metric")


def test_weights_by_latitude():
    weight = np.cos(np.deg2rad(Y["lat"]))
    found = evaluate(Y, P, yerr=0.3, dim=["lat", "lon"], sample_weight=weight, metrics="root_mean_squared_error")
    flat = np.broadcast_to(weight.values[:, None], (LATS, LONS)).ravel()
    score = sb.root_mean_squared_error(Y[0].values.ravel(), P[0].values.ravel(), yerr=0.3, sample_weight=flat)
    assert float(found["expected"].isel(time=0, metric=0)) == pytest.approx(score.expected, rel=1e-12)


def test_several_models():
    models = {"a": P, "b": P + 1.0}
    found = evaluate(Y, models, yerr=0.3, dim="time", metrics="mean_error")
    assert set(found["observed"].dims) == {"model", "lat", "lon", "metric"} and list(found["model"].values) == [
        "a",
        "b",
    ]
    shift = found["observed"].sel(model="b") - found["observed"].sel(model="a")
    np.testing.assert_allclose(shift, 1.0)
    again = evaluate(Y, xr.Dataset(models), yerr=0.3, dim="time", metrics="mean_error")
    xr.testing.assert_allclose(again, found)


def test_gaps():
    y = Y.copy(deep=True)
    y[3, 0, 0] = np.nan
    y[:, 1, 1] = np.nan  # no station here
    with pytest.raises(ValueError, match=r"y_true contains NaN: the first at time=.*, lat=0.0, lon=1, 13 in all"):
        evaluate(y, P, dim="time")
    found = evaluate(
        y, P, yerr=sb.Normal(np.linspace(0.1, 0.5, TIMES)), dim="time", nan_policy="omit", metrics="mean_error"
    )
    assert found["n"].values.tolist() == [[11, 12], [12, 0], [12, 12]]
    assert bool(found["observed"].isel(lat=1, lon=1).isnull().all())
    keep = np.delete(np.arange(TIMES), 3)
    score = sb.mean_error(y[keep, 0, 0].values, P[keep, 0, 0].values, yerr=np.linspace(0.1, 0.5, TIMES)[keep])
    assert float(found["std"].isel(lat=0, lon=0, metric=0)) == pytest.approx(score.std, rel=1e-12)


def test_dask_behind():
    pytest.importorskip("dask.array")
    wanted = evaluate(Y, P, yerr=SIGMA, dim="time", metrics=["mean_squared_error", "mean_absolute_error"])
    lazy = evaluate(
        Y.chunk(time=4, lat=1),
        P.chunk(time=6),
        yerr=SIGMA,
        dim="time",
        metrics=["mean_squared_error", "mean_absolute_error"],
        nan_policy="omit",
    )
    assert lazy["truth"].chunks is not None
    xr.testing.assert_allclose(lazy.compute(scheduler="synchronous"), wanted)


def test_estimates_that_cannot_be_had_are_nan():
    found = evaluate(Y > 15, P > 15, yerr=0.5, metrics="accuracy_score")  # half of the labels wrong: they say nothing
    assert bool(found["truth"].isnull().all()) and found["expected"].item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y_true": Y.values}, TypeError, "y_true must be an xarray.DataArray, got ndarray"),
        ({"y_pred": P.values}, TypeError, "y_pred must be an xarray.DataArray, got ndarray"),
        ({"y_pred": {}}, ValueError, "y_pred holds no predictions"),
        ({"dim": "tme"}, ValueError, r"dim names 'tme'; the dimensions are \['time', 'lat', 'lon'\]"),
        ({"nan_policy": "skip"}, ValueError, "nan_policy must be 'raise' or 'omit', got 'skip'"),
        ({"answers": ["bias"]}, ValueError, "answers must be some of observed, .* got 'bias'"),
        ({"yerr": (0.1, 0.2, 0.3)}, ValueError, "yerr must be one array or a pair of lower and upper errors, got 3"),
        (
            {"y_pred": P.isel(lat=[1, 0, 2])},
            ValueError,
            "the arrays have different coordinates .* Nothing is realigned",
        ),
        ({"y_pred": {"a": P, "b": P.isel(time=slice(2, None))}}, ValueError, "the arrays have different coordinates"),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        evaluate(**({"y_true": Y, "y_pred": P, "dim": "time"} | change))


def test_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"needs xarray: pip install 'scorebars\[xarray\]'"):
        evaluate(Y, P)
