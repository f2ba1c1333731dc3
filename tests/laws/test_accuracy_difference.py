"""Difference of two accuracies on the same labels: reference, listing, many items."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars.laws.counts.accuracy_difference import TrinomialSum, accuracy_difference_law

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


def test_reference():
    case = CASES["accuracy_diff_M6"]
    y, a, b, q = (np.array(case["inputs"][k]) for k in ("y", "pred_a", "pred_b", "q"))
    p = np.where(y == a, 1 - q, q)[a != b]
    exact = case["exact"]
    for law in (accuracy_difference_law(p, 1 - p, 6), accuracy_difference_law(p, 1 - p, 6, np.ones(p.size))):
        assert law.mean == pytest.approx(float(exact["mean"]), abs=1e-15)
        assert law.var == pytest.approx(float(exact["var"]), abs=1e-15)
        for count, chance in exact["pmf"].items():
            assert law.pmf(int(count) / 6) == pytest.approx(float(chance), abs=1e-15)
        assert law.sf(0.0) == pytest.approx(float(exact["p_a_better"]), abs=1e-15)
        assert law.pmf(0.0) == pytest.approx(float(exact["p_tie"]), abs=1e-15)
        assert law.method == "exact"


def chances(n, kind, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.beta(1, 9, n)
    u = rng.random(n)
    a = np.where(u < 0.5, 1 - q, q / 9)
    b = np.where(u < 0.5, q / 9, np.where(u < 0.8, 1 - q, q / 9))
    if kind == "two classes":
        b = 1 - a
    if kind == "almost two classes":
        b = 1 - a
        b[:4] *= 0.99
    if kind == "rare":
        a, b = a * 1e-5, b * 1e-5
    return a, b


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=0, max_size=6))
def test_listing_all_steps(items):
    a = np.array([x for x, _ in items])
    b = np.array([y * (1 - x) for x, y in items])
    law = TrinomialSum(a, b)
    expected = dict.fromkeys(range(-6, 7), 0.0)
    for steps in itertools.product((1, -1, 0), repeat=len(items)):
        parts = [{1: x, -1: y, 0: max(1 - x - y, 0.0)}[s] for s, x, y in zip(steps, a, b, strict=True)]
        expected[sum(steps)] += math.prod(parts)
    np.testing.assert_allclose(law.pmf(np.arange(-6, 7)), [expected[k] for k in range(-6, 7)], atol=1e-14)
    possible = [k for k, v in expected.items() if v > 1e-12]
    assert law.support[0] <= min(possible) and max(possible) <= law.support[1]
    assert law.mean == pytest.approx(sum(k * v for k, v in expected.items()), abs=1e-12)
    assert law.var == pytest.approx(sum((k - law.mean) ** 2 * v for k, v in expected.items()), abs=1e-12)


@pytest.mark.parametrize("kind", ["several classes", "two classes", "almost two classes", "rare"])
def test_many_items(kind):
    """The generating function at every root of unity, inverted, for more items than keep their tails."""
    n = 3000
    a, b = chances(n, kind)
    law, turn = TrinomialSum(a, b), np.exp(2j * np.pi / (2 * n + 1) * np.arange(2 * n + 1))
    phi = np.array([np.exp(np.sum(np.log(1 + a * (z - 1) + b * (1 / z - 1)))) for z in turn])
    pmf = np.fft.fftshift(np.fft.fft(phi).real / (2 * n + 1))
    np.testing.assert_allclose(law.pmf(np.arange(-n, n + 1)), pmf, atol=1e-13)
    assert law.table.pmf.sum() == pytest.approx(1.0, abs=1e-12)


def test_simulation_with_weights():
    rng = np.random.default_rng(1)
    a, b = chances(80, "several classes")
    w = rng.random(80)
    total = 2 * w.sum()
    u = rng.random((20_000, 80))
    draws = ((u < a) * 1.0 - (u > 1 - b) * 1.0) @ w / total
    law = accuracy_difference_law(a, b, total, w)
    assert law.method == "delta"
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(20_000))
    assert draws.std() == pytest.approx(law.std, rel=0.02)
    binary = accuracy_difference_law(a, 1 - a, total, w)
    draws = ((u < a) * 2.0 - 1) @ w / total
    assert (binary.mean, binary.std) == pytest.approx((draws.mean(), draws.std()), rel=0.05)
    assert binary.cdf(np.quantile(draws, 0.3)) == pytest.approx(0.3, abs=0.02)


def test_exchanging_the_models_mirrors_the_law():
    a, b = chances(300, "several classes")
    ab, ba = accuracy_difference_law(a, b, 1000), accuracy_difference_law(b, a, 1000)
    k = np.arange(-300, 301) / 1000
    np.testing.assert_allclose(ab.pmf(k), ba.pmf(-k), rtol=1e-10)


def test_models_that_never_differ():
    for law in (accuracy_difference_law([], [], 10), accuracy_difference_law([], [], 10.0, [])):
        assert law.mean == 0 and law.std == 0 and law.pmf(0.0) == 1 and law.sf(0.0) == 0
