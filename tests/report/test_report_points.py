"""Shares of the score, and which labels are drawn when there are too many."""

import numpy as np
import pytest
from report_pages import Page

import scorebars as sb
from scorebars import report
from scorebars.report.sections import MOST_POINTS, PARTS, drawn_labels, page_labels, shares


@pytest.fixture(scope="module")
def few():
    rng = np.random.default_rng(3)
    y = rng.uniform(1, 5, 40)
    return y, y + rng.normal(0, 0.5, 40), rng.uniform(0.05, 0.3, 40), rng.uniform(0.2, 2, 40)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_leaving_a_label_out_takes_its_share(few, name):
    """The sum behind the metric without label i is (1 - share) of the whole."""
    y, p, sd, w = few
    labels = page_labels(y, sd)
    part = shares(name, labels, p - y, w)
    sums = {"root_mean_squared_error": "mean_squared_error", "r2_score": "mean_squared_error"}
    sums |= {"root_mean_squared_log_error": "mean_squared_log_error", "d2_absolute_error_score": "mean_absolute_error"}
    metric = getattr(sb, sums.get(name, name))
    needs = {"yerr": sd} if name == "reduced_chi_squared" else {}

    def total(keep):
        kept = {key: value[keep] for key, value in needs.items()}
        return metric(y[keep], p[keep], sample_weight=w[keep], **kept).observed * w[keep].sum()

    everything, without = np.arange(40), np.arange(1, 40)
    lost = total(everything) - total(without)
    whole = np.sum(w * np.abs(p - y)) if name == "mean_error" else total(everything)
    assert part[0] == pytest.approx(lost / whole, rel=1e-9)
    assert np.sum(np.abs(part)) == pytest.approx(1)


def test_the_heaviest_labels_are_always_drawn():
    rng = np.random.default_rng(0)
    labels = rng.normal(size=3000)
    part = rng.exponential(size=3000)
    index, listed = drawn_labels(labels, [part, part[::-1]], 300)
    assert len(index) == 300 and listed == 20 and np.all(np.diff(index) > 0)
    assert set(np.argsort(-part)[:20]) | set(np.argsort(-part[::-1])[:20]) <= set(index)
    quantiles = np.quantile(labels, [0.1, 0.5, 0.9])
    assert np.allclose(np.quantile(labels[index], [0.1, 0.5, 0.9]), quantiles, atol=0.15)
    again, _ = drawn_labels(labels, [part, part[::-1]], 300)
    assert np.array_equal(index, again)


def test_large_data_stay_small_and_say_so():
    rng = np.random.default_rng(1)
    y = rng.normal(size=8_000)
    models = {f"model {k}": y + rng.normal(0, 0.5, y.size) for k in range(24)}
    text = report.build(y, models, yerr=0.1, ids=["x" * 200] * y.size, metrics=["mean_squared_error", "mean_error"])
    page = Page(text)
    drawn = len(page.data["points"]["ids"])
    assert len(text.encode()) <= 3_000_000 and 300 < drawn <= MOST_POINTS
    assert f"{drawn} of 8000 labels are drawn" in text
    assert page.data["points"]["ids"][0] == "x" * 79 + "…"
    s = sb.mean_squared_error(y, models[page.data["models"][0]], yerr=0.1)
    assert page.data["scores"][0][0]["answers"][0]["value"] == s.observed


def test_points_are_the_data(few):
    y, p, sd, _ = few
    ids = [f"n{i}" for i in range(40)]
    data = Page(report.build(y, p, yerr=[sd, 2 * sd], ids=ids, metrics="mean_error", unit="MeV")).data
    points = data["points"]
    assert data["unit"] == "MeV"
    assert np.allclose(points["y"], y, rtol=1e-8) and np.allclose(points["models"][0]["residual"], p - y, rtol=1e-5)
    assert np.allclose(points["lower"], sd, rtol=1e-3) and np.allclose(points["upper"], 2 * sd, rtol=1e-3)
    assert points["ids"][3] == "n3"


def test_labels_from_a_model_a_series_a_quantity_and_uncertain_numbers(few):
    pd = pytest.importorskip("pandas")
    units = pytest.importorskip("astropy.units")
    unumpy = pytest.importorskip("uncertainties.unumpy")
    y, p, sd, _ = few
    rows = y[:, None] + np.array([-0.1, 0.0, 0.1])
    repeats = Page(report.build(None, p, yerr=sb.Repeats(rows), metrics="mean_error")).data["points"]
    assert np.allclose(repeats["y"], y) and np.allclose(repeats["lower"], 0.1 / np.sqrt(3), rtol=1e-3)
    series = pd.Series(y, index=[f"row {i}" for i in range(40)])
    assert Page(report.build(series, p, yerr=0.1, metrics="mean_error")).data["points"]["ids"][2] == "row 2"
    quantity = Page(report.build(y * units.m, p * 100 * units.cm, yerr=sd * units.m, metrics="mean_error")).data
    assert quantity["unit"] == "m" and np.allclose(quantity["points"]["models"][0]["residual"], p - y, rtol=1e-5)
    assert quantity["metrics"][0]["unit"] == "m"
    uncertain = Page(report.build(unumpy.uarray(y, sd), p, metrics="mean_error")).data
    assert np.allclose(uncertain["points"]["lower"], sd, rtol=1e-3) and uncertain["notes"] == []


def test_limits_are_drawn_as_arrows_and_count_by_the_nearest_allowed_value():
    labels = sb.Censored([-np.inf, 1.0, 2.0, 0.5], [1.0, np.inf, 2.0, 1.5], 0.1)
    p = np.array([1.5, 0.5, 2.2, 0.7])
    page = page_labels(None, labels)
    assert page.sides(np.arange(4)) == [-1, 1, 0, 0]
    assert page.residuals(p) == pytest.approx([0.5, -0.5, 0.2, 0.0])
    part = shares("mean_absolute_error", page, page.residuals(p), None)
    assert part == pytest.approx(np.array([0.5, 0.5, 0.2, 0.0]) / 1.2)
    assert sb.mean_absolute_error(None, p, yerr=labels).observed == pytest.approx(1.2 / 4)


def test_long_texts_are_cut():
    long = "x" * 1_000_000
    text = report.build(
        [1.0, 2.0, 4.0], {long: [1.1, 2.3, 3.8]}, yerr=0.2, metrics=["mean_error"], title=long, unit=long
    )
    assert len(text) < 200_000 and "x" * 39 + "…" in text
    assert "<title>5</title>" in report.build([1.0, 2.0, 4.0], [1.1, 2.3, 3.8], metrics=["mean_error"], title=5)
