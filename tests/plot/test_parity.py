"""Predictions against labels: what is drawn is what was measured."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import scorebars as sb
from scorebars._shared.given_data import plain_labels

Y = np.array([1.0, 2.0, 4.0, 8.0])
P = np.array([1.5, 1.5, 4.5, 7.0])


def ends_of(ax):
    """Where the horizontal error bars begin and end."""
    bars = next(c for c in ax.containers).lines[2][0]
    return np.array([(segment[0][0], segment[1][0]) for segment in bars.get_segments()]).T


def test_points_and_diagonal():
    ax = sb.plot.parity(Y, P, yerr=0.5)
    assert ax.collections[-1].get_offsets().tolist() == np.stack([Y, P], axis=1).tolist()
    low, high = ax.get_xlim()
    assert ax.get_ylim() == (low, high)
    assert low < 0.5
    assert high > 8.5
    assert ax.lines[0].get_xydata().tolist() == [[low, low], [high, high]]


@pytest.mark.parametrize(
    ("yerr", "lower", "upper"),
    [
        (0.5, 0.5, 0.5),
        (np.array([0.1, 0.2, 0.3, 0.4]), [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]),
        ([[0.1] * 4, [0.3] * 4], 0.1, 0.3),
        (sb.Normal(0.2), 0.2, 0.2),
        (sb.Normal(0.3, shared=np.full(4, 0.4)), 0.5, 0.5),
        (sb.SplitNormal(0.1, np.array([0.1, 0.2, 0.3, 0.4])), 0.1, [0.1, 0.2, 0.3, 0.4]),
        (sb.LogNormal(0.1), Y * (1 - np.exp(-0.1)), Y * (np.exp(0.1) - 1)),
        (sb.Repeats.from_means(sigma=0.6, n=4), 0.3, 0.3),
        (sb.Uniform(1.0), 0.6826894921370859, 0.6826894921370859),
    ],
    ids=str,
)
def test_error_bars(yerr, lower, upper):
    low, high = ends_of(sb.plot.parity(Y, P, yerr=yerr))
    np.testing.assert_allclose(Y - low, np.broadcast_to(lower, 4), rtol=1e-9)
    np.testing.assert_allclose(high - Y, np.broadcast_to(upper, 4), rtol=1e-9)


def test_infinite_variance_has_bars():
    """A Cauchy error has no standard deviation, but a middle 68 %."""
    bars = plain_labels(Y, sb.StudentT(0.1, df=1)).bars
    np.testing.assert_allclose(bars, 0.1 * np.tan(np.pi * (0.8413447460685429 - 0.5)), rtol=1e-9)


def test_score_in_the_corner(texts):
    score = sb.mean_squared_error(Y, P, yerr=0.3)
    ax = sb.plot.parity(Y, P, yerr=0.3, metric="mean_squared_error", unit="K")
    corner = ax.texts[0].get_text().splitlines()
    assert corner == [
        "Mean squared error (K²)",
        f"observed {score.observed:.4g}",
        f"expected {score}",
        f"truth {score.truth}",
    ]
    assert ax.get_xlabel() == "measured label (K)"
    assert {"4 labels", "label error", "prediction = label"} <= set(texts(ax))


def test_without_errors(texts):
    ax = sb.plot.parity(Y, P)
    assert not ax.containers
    assert "label error" not in texts(ax)


def test_labels_of_the_model():
    values = np.array([[1.0, 1.2], [2.0, 2.4], [4.0, 4.2]])
    ax = sb.plot.parity(None, P[:3], yerr=sb.Repeats(values))
    assert ax.collections[-1].get_offsets()[:, 0].tolist() == pytest.approx([1.1, 2.2, 4.1])


def test_units_and_errors_that_labels_bring():
    units = pytest.importorskip("astropy.units")
    ax = sb.plot.parity(Y * units.km, 1000 * P * units.m, yerr=500 * units.m)
    assert ax.get_ylabel() == "prediction (km)"
    assert ax.texts[0].get_text().startswith("Root mean squared error (km)")
    assert ax.collections[-1].get_offsets().tolist() == np.stack([Y, P], axis=1).tolist()
    np.testing.assert_allclose(Y - ends_of(ax)[0], 0.5)

    nddata = pytest.importorskip("astropy.nddata")
    labels = nddata.NDData(Y, uncertainty=nddata.VarianceUncertainty(np.full(4, 0.04)), unit=units.K)
    np.testing.assert_allclose(Y - ends_of(sb.plot.parity(labels, P * units.K))[0], 0.2)

    unumpy = pytest.importorskip("uncertainties.unumpy")
    np.testing.assert_allclose(Y - ends_of(sb.plot.parity(unumpy.uarray(Y, 0.25), P))[0], 0.25)


def test_weights_are_areas(texts):
    ax = sb.plot.parity(Y, P, yerr=0.1, sample_weight=[1, 2, 3, 4])
    areas = ax.collections[-1].get_sizes()
    np.testing.assert_allclose(areas / areas[0], [1, 2, 3, 4])
    assert "4 labels, area as their weight" in texts(ax)


@pytest.mark.parametrize("weight", [None, 0.5])
def test_many_points_become_cells(weight, texts):
    rng = np.random.default_rng(0)
    y = rng.normal(size=6000)
    y[0] = 30.0  # an outlier must not be lost
    p = y + 0.3 * rng.normal(size=y.size)
    weights = None if weight is None else np.full(y.size, weight)
    ax = sb.plot.parity(y, p, yerr=[np.full(y.size, 0.1), np.full(y.size, 0.3)], sample_weight=weights)
    cells = next(c for c in ax.collections if isinstance(c, PolyCollection))
    assert cells.get_array().sum() == pytest.approx(y.size * (weight or 1))
    assert cells.get_offsets()[:, 0].max() > 29
    assert "median label error" in texts(ax)
    low, high = ends_of(ax)
    centre = ax.containers[0].lines[0].get_xdata()[0]
    np.testing.assert_allclose([centre - low[0], high[0] - centre], [0.1, 0.3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Y, [1.0, np.nan, 2.0, 3.0], 0.1), "y_pred contains NaN: the first is nan at index 1, 1 in all"),
        ((Y, P[:3], 0.1), "y_true and y_pred have inconsistent numbers of samples: 4 and 3"),
        ((Y, P, -0.1), "yerr = -0.1 is negative"),
        ((Y, P, [0.1, 0.2]), "yerr has shape"),
        ((np.stack([Y, Y], 1), np.stack([P, P], 1), 0.1), "one output is drawn at a time"),
    ],
)
def test_bad_input(arguments, message):
    y, p, yerr = arguments
    with pytest.raises(ValueError, match=message):
        sb.plot.parity(y, p, yerr=yerr)


def test_unknown_metric():
    with pytest.raises(ValueError, match="there is no metric 'nonsense'"):
        sb.plot.parity(Y, P, metric="nonsense")
    with pytest.raises(ValueError, match="gives no Score to draw"):
        sb.plot.parity(Y, P, yerr=0.1, metric=sb.intrinsic_scatter)
