"""The figure of a forecast's calibration."""

import numpy as np
import pytest

import scorebars as sb

RNG = np.random.default_rng(2)
SPREAD = RNG.uniform(0.3, 1.0, 300)
CENTRE = RNG.normal(0, 2, 300)
Y = CENTRE + SPREAD * RNG.standard_normal(300) + 0.5 * RNG.standard_normal(300)
FOUND = sb.calibration(Y, (CENTRE, SPREAD), yerr=0.5)


def test_both_histograms_have_the_area_of_a_flat_one(texts):
    ax = sb.plot.calibration(FOUND, bins=10)
    filled, outline, ignored = ax.patches[-3:]
    for stairs, one in ((filled, FOUND), (outline, FOUND), (ignored, FOUND.naive)):
        values, edges, _ = stairs.get_data()
        assert np.sum(values * np.diff(edges)) == pytest.approx(1.0)
        assert values == pytest.approx(np.histogram(one.pit, 10, (0, 1))[0] / 30)
    assert {"label errors allowed for", "label errors ignored"} <= set(texts(ax))


def test_the_curves_are_the_coverage(texts):
    ax = sb.plot.calibration(FOUND, show="coverage")
    allowed, ignored = ax.lines[-2:]
    assert allowed.get_ydata() == pytest.approx(100 * FOUND.curve().found)
    assert ignored.get_ydata() == pytest.approx(100 * FOUND.naive.curve().found)
    assert ignored.get_linestyle() != allowed.get_linestyle()  # told apart without colour


def test_errors_against_spread(texts):
    ax = sb.plot.calibration(FOUND, show="spread", bins=5)
    parts = FOUND.by_spread(5)
    points = ax.containers[0].lines[0]
    assert points.get_xdata() == pytest.approx([part.spread for part in parts])
    assert points.get_ydata() == pytest.approx([part.error for part in parts])
    assert ax.get_xlabel() == "spread that the forecast claims"


@pytest.mark.parametrize("show", ["pit", "coverage", "spread"])
def test_without_label_errors_there_is_one_of_each(show, texts):
    ax = sb.plot.calibration(sb.calibration(CENTRE, (CENTRE + SPREAD, SPREAD)), show=show)
    assert not any("ignored" in text or "allowed" in text for text in texts(ax))
    assert any("300 labels" in text for text in texts(ax))


def test_refusals():
    with pytest.raises(TypeError, match=r"calibration draws a Calibration, got tuple\. Pass what sb.calibration"):
        sb.plot.calibration((CENTRE, SPREAD))
    with pytest.raises(ValueError, match="show must be 'pit', 'coverage' or 'spread', got 'all'"):
        sb.plot.calibration(FOUND, show="all")
    with pytest.raises(ValueError, match="bins must be a whole number of at least 1, got 0"):
        sb.plot.calibration(FOUND, bins=0)
