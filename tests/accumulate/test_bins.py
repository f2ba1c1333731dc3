"""Labels in bins: the compiled loops and their NumPy twin put the same numbers into the same places."""

import pickle

import numpy as np
import pytest

from scorebars.engines import bins, engine, normal_sums
from scorebars.engines.bins import RATIO_COLUMNS, SQUARE_COLUMNS, Labels
from scorebars.engines.store import summarise

compiled = pytest.mark.skipif(engine.compiled("_bins").module is None, reason="the loops were not compiled")
NEEDS = (["squares"], ["ratio"], ["absolute"], ["ratio", "absolute"])


def labels(n, each, weighted):
    rng = np.random.default_rng(n)
    y = 3.0 + rng.standard_normal(n)
    p = y + rng.standard_normal(n) * np.where(rng.random(n) < 0.05, 20.0, 0.3)  # some beyond the last bin of z
    sigma = np.where(rng.random(n) < 0.1, 0.0, 0.2 * np.exp(1.5 * rng.standard_normal(n))) if each else 0.25
    p = np.where(rng.random(n) < 0.05, y, p)  # and with sigma = 0: 0 / 0
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.gamma(1.0, size=n)) if weighted else None
    return y, p, sigma, weight


def both(monkeypatch, *arguments):
    fast = summarise(Labels(*arguments[:4]), *arguments[4:])
    monkeypatch.setenv("SCOREBARS_ENGINE", "numpy")
    slow = summarise(Labels(*arguments[:4]), *arguments[4:])
    monkeypatch.delenv("SCOREBARS_ENGINE")
    return fast, slow


def require_same(one, other):
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.top_v, other.top_v)
    assert np.array_equal(one.top_minor, other.top_minor)
    assert np.allclose(one.top, other.top, rtol=1e-14, atol=0)
    size = np.abs(other.moments).max(axis=1, keepdims=True) + np.abs(other.moments[:, :1, :1])
    assert np.all(np.abs(one.moments - other.moments) <= 1e-12 * size)


@compiled
@pytest.mark.parametrize("needs", NEEDS, ids=" ".join)
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 5_000])  # 128 labels make a block
def test_both_engines_fill_the_same_bins(monkeypatch, n, weighted, each, needs):
    fast, slow = both(monkeypatch, *labels(n, each, weighted), needs)
    if "absolute" in needs:
        require_same(fast.absolute, slow.absolute)
        assert fast.certain_abs == pytest.approx(slow.certain_abs, rel=1e-13)
    if "absolute" not in needs or len(needs) > 1:
        require_same(fast.squares, slow.squares)
        assert np.allclose(fast.certain, slow.certain, rtol=1e-12, atol=1e-12)
    if "ratio" in needs:
        assert np.allclose(fast.gram, slow.gram, rtol=1e-12, atol=1e-9)
        assert fast.predictions == slow.predictions


@compiled
@pytest.mark.parametrize("weighted", [True, False])
def test_nothing_is_lost_on_the_way_into_the_bins(weighted):
    y, p, sigma, weight = labels(5_000, True, weighted)
    found = summarise(Labels(y, p, sigma, weight), ["ratio"])
    w, d, c = np.ones_like(y) if weight is None else weight, p - y, y - found.shift
    v = w * sigma**2
    columns = [np.ones_like(y), w, w * d**2, np.maximum(4 * w * d**2 - 2 * v, 2 * v), w * d, w * c, w * c * d, w * c**2]
    held = found.squares.moments[:, 0].sum(axis=0) + found.squares.top.sum(axis=1) + found.certain
    assert np.allclose(held, np.sum(columns, axis=1), rtol=1e-12)
    assert found.squares.top_v.size == bins.MOST_APART
    assert found.certain[0] == np.count_nonzero(v == 0)


# the compiled loops trust nobody --------------------------------------------------------------------


def call(name="square_bins", *, columns=4, z_bins=0, rows=3, bits=bins.SQUARE_BITS, sigma=None, **other):
    """Three labels of v = 1, 1.1 and 1.2, for which there are `rows` bins."""
    y, moments = np.zeros(3), np.zeros((rows * (z_bins + 1) + 1, bins.MOMENTS, columns))
    sigma = np.sqrt([1.0, 1.1, 1.2]) if sigma is None else sigma
    first = int(bins.leading_bits(np.ones(1), bits)[0])
    totals = np.zeros(other.get("totals", 1 if z_bins else 15 if columns == len(RATIO_COLUMNS) else 0))
    where = (bits, first, 2.0, rows, moments, totals, np.empty(other.get("apart", 3), np.int64))
    count = getattr(engine.compiled("_bins").module, name)(
        y, y, sigma, None, 0.0, columns, z_bins, bins.Z_WIDTH, *where
    )
    return count, moments, where[-1][:count].tolist()


@compiled
def test_a_label_in_each_bin():
    count, moments, _ = call(rows=8)
    assert count == 0
    assert moments[:, 0, 0].tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert np.array_equal(moments[:, :, 1], moments[:, :, 0])
    assert len(SQUARE_COLUMNS) == moments.shape[2]


@compiled
@pytest.mark.parametrize("name", ["square_bins", "folded_bins"])
@pytest.mark.parametrize(("rows", "without"), [(0, [0, 1, 2]), (1, [1, 2]), (6, [2]), (8, [])])
def test_labels_without_a_bin_are_written_down(name, rows, without):
    folded = {"z_bins": 2, "sigma": np.array([1.0, 1.1, 1.2])} if name == "folded_bins" else {}
    count, moments, apart = call(name, rows=rows, **folded)
    assert (count, apart) == (len(without), without)
    assert moments[:, 0, 0].sum() == 3 - count
    assert not moments[-1].any()  # 6: one bin too few, but the last label must not count as exact


@compiled
@pytest.mark.parametrize("sigma", [np.array([0.5, 1.0, 9.0]), np.array([1e-150, 1.0, 1e150])])
def test_labels_below_and_above_all_bins_are_written_down(sigma):
    count, moments, apart = call(rows=8, sigma=sigma)
    assert (count, apart) == (2, [0, 2])
    assert moments[:, 0, 0].sum() == 1


def of_a_pattern(n, period):
    """Every `period`-th label is very certain, or exact: a sample in steps of that length would see no others."""
    rng = np.random.default_rng(3)
    sigma = np.exp(0.3 * rng.standard_normal(n))
    sigma[::period] = np.where(np.arange(len(sigma[::period])) % 2, 1e-4, 0.0)
    y = rng.standard_normal(n)
    return y, y + rng.standard_normal(n), sigma, None


@compiled
@pytest.mark.parametrize("period", [2, 13, 37])
@pytest.mark.parametrize("needs", NEEDS, ids=" ".join)
def test_labels_in_a_pattern(monkeypatch, needs, period):
    fast, slow = both(monkeypatch, *of_a_pattern(37 * bins.SAMPLE, period), needs)
    for name in ("squares", "absolute"):
        one, other = getattr(fast, name), getattr(slow, name)
        if one is not None:
            require_same(one, other)


@pytest.mark.parametrize("engine", ["numpy", pytest.param("compiled", marks=compiled)])
@pytest.mark.parametrize("needs", NEEDS, ids=" ".join)
@pytest.mark.parametrize("factor", [1.0, 1e-4, 0.7, 1e4, 1e-30, 0.0])
def test_labels_unlike_those_that_are_known(monkeypatch, engine, needs, factor):
    """Known labels tell where more will lie; where they are wrong, nothing is lost."""
    if engine == "numpy":
        monkeypatch.setenv("SCOREBARS_ENGINE", "numpy")
    first, (y, p, sigma, _) = labels(5_000, True, False), labels(6_000, True, False)
    more = y, p, np.where(np.arange(6_000) % 3, factor, 1.0) * sigma, None
    known = summarise(Labels(*first), needs)
    merged = known.merged(summarise(Labels(*more), needs, known))
    both_parts = [np.concatenate(pair) for pair in zip(first[:3], more[:3], strict=True)]
    sums = normal_sums(*both_parts, None, labels=True, about=known.shift) if "ratio" in needs else None
    whole = summarise(Labels(*both_parts, None), needs, sums=sums)
    for name in ("squares", "absolute"):
        if getattr(whole, name) is not None:
            require_same(getattr(merged, name), getattr(whole, name))


def test_known_labels_that_lie_far_apart_tell_nothing():
    near, far = (bins.Bins.empty(1, 47).with_labels(np.ldexp(1.0, np.arange(n)), 0, np.ones((1, n))) for n in (9, 99))
    top = 2.0**9 + np.arange(bins.MOST_APART), np.zeros(bins.MOST_APART, np.int64), np.ones((1, bins.MOST_APART))
    more = Labels(np.zeros(4), np.zeros(4), 3.0, None)
    first = [next(bins._ranges(more, bins.SQUARES, known)) for known in (near.with_top(*top), near, far.with_top(*top))]
    assert first == [(1.0, 512.0, 512.0), (9.0, 9.0, 0.0), (9.0, 9.0, 0.0)]


@compiled
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"columns": 5}, "columns, z_bins, z_width, bits, first or bins is out of range"),
        ({"z_bins": 1}, "columns, z_bins, z_width, bits, first or bins is out of range"),
        ({"name": "folded_bins"}, "columns, z_bins, z_width, bits, first or bins is out of range"),
        ({"totals": 2}, "totals holds 2 numbers, not 0"),
        ({"columns": 8, "totals": 14}, "totals holds 14 numbers, not 15"),
        ({"apart": 2}, "apart holds 2 numbers, not 3"),
        ({"sigma": np.ones(2)}, "sigma holds 2 numbers, not 3"),
    ],
)
def test_arguments_that_do_not_fit(arguments, match):
    with pytest.raises(ValueError, match=match):
        call(**arguments)


def test_a_module_of_another_version_is_not_used(monkeypatch):
    monkeypatch.setitem(engine._LAYOUTS, "_bins", -1)
    found = engine.compiled.__wrapped__("_bins")
    assert found.module is None
    assert found.note == "it was built from another version of the sources; install the package again"


def test_bins_travel_without_their_empty_places():
    y, p, sigma, weight = labels(200_000, True, False)
    found = summarise(Labels(y, p, sigma, weight), ["ratio", "absolute"])
    for part in (found.squares, found.absolute):
        text = pickle.dumps(part)
        again = pickle.loads(text)
        assert len(text) < 1.1 * (part.moments.nbytes + part.keys.nbytes + part.top.nbytes + 10_000)
        assert np.array_equal(again.keys, part.keys)
        assert np.array_equal(again.moments, part.moments)
        assert np.array_equal(again.top, part.top) and np.array_equal(again.top_v, part.top_v)
