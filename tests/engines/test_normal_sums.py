"""The sums against their definitions, against exact reference values, and their properties."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_sums import defined_sums
from scipy import integrate, stats

from label_draws import draw
from scorebars.engines import NormalSums, normal_sums

SIGNED = {"d", "d_w2", "y1", "d_var_w2", "y_var_w2", "y_d_var_w2"}
REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]


def check(sums: NormalSums, exact: dict[str, Any], rtol: float = 2e-15) -> None:
    """All terms of a sum are positive unless it is SIGNED: then its error is measured by what it cancels."""
    size = {"d": "abs", "d_w2": "expabs_w2"}
    for name, value in exact.items():
        scale = abs(float(value))
        if name in SIGNED:
            scale = float(exact[size[name]]) if name in size else 10 * scale + 1e-3 * float(exact["sq"] + exact["var"])
        assert abs(getattr(sums, name) - value) <= rtol * scale, name


@pytest.mark.parametrize("n", [1, 2, 7, 9, 63, 513])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_what_they_are_defined_to_be(engine: str, n: int, weighted: bool) -> None:
    data = draw(n)
    if not weighted:
        data["weight"] = None
    sums = normal_sums(**data, tolerance=0.5, labels=True)
    exact = defined_sums(**data, tolerance=0.5, y_shift=sums.y_shift)
    check(sums, exact, rtol=1e-14)
    d = np.abs(data["p"] - data["y"])
    assert sums.n == n
    assert (sums.max_abs_d, sums.max_sigma) == (d.max(), data["sigma"].max())
    assert sums.max_weight == (data["weight"].max() if weighted else 1.0)
    assert sums.max_abs_y == np.abs(data["y"] - sums.y_shift).max()
    assert sums.y_shift in data["y"]
    assert sums.tolerance == 0.5


@pytest.mark.parametrize(
    "case", [c for c in REFERENCE if c["metric"] in ("mse", "mae") and "sigma" in c["inputs"]], ids=lambda c: c["id"]
)
def test_reference_values(engine: str, case: dict[str, Any]) -> None:
    inputs = {name: np.array(values) for name, values in case["inputs"].items()}
    s = normal_sums(inputs["y"], inputs["y_pred"], inputs["sigma"])
    if case["metric"] == "mse":
        mean, variance = (s.sq + s.var) / s.w, (2 * s.var2_w2 + 4 * s.sqvar_w2) / s.w**2
    else:
        mean, variance = (s.abs + s.fold) / s.w, s.foldvar_w2 / s.w**2
    assert mean == pytest.approx(float(case["exact"]["mean"]), rel=1e-15, abs=0)
    assert variance == pytest.approx(float(case["exact"]["var"]), rel=2e-15, abs=0)


@pytest.mark.parametrize(("d", "s"), [(0.0, 1.0), (0.3, 0.2), (-1.0, 2.0), (4.0, 1.0)])
def test_one_label_by_quadrature(engine: str, d: float, s: float) -> None:
    sums = normal_sums(np.zeros(1), np.array([d]), s, tolerance=0.5)

    def mean(loss: Any, *breaks: float) -> float:
        low, high = d - 12 * s, d + 12 * s
        edges = sorted({low, *(b for b in breaks if low < b < high), high})
        pieces = pairwise(edges)
        return sum(
            integrate.quad(lambda x: loss(x) * stats.norm.pdf(x, d, s), a, b, epsabs=1e-14)[0] for a, b in pieces
        )

    expected = mean(abs, 0.0)
    assert sums.abs + sums.fold == pytest.approx(expected, rel=1e-12)
    assert sums.foldvar_w2 == pytest.approx(mean(np.square) - expected**2, rel=1e-10)
    assert sums.within_p == pytest.approx(integrate.quad(stats.norm(d, s).pdf, -0.5, 0.5, epsabs=1e-14)[0], rel=1e-11)


def test_simulated_labels(engine: str) -> None:
    data = draw(40) | {"weight": None}
    sums = normal_sums(**data, tolerance=0.7)
    rng = np.random.default_rng(1)
    fresh = data["p"] - data["y"] + data["sigma"] * rng.normal(size=(100_000, 40))
    totals = np.abs(fresh).sum(axis=1)
    assert totals.mean() == pytest.approx(sums.abs + sums.fold, abs=4 * totals.std() / 316)
    assert totals.var() == pytest.approx(sums.foldvar_w2, rel=0.02)
    inside = (np.abs(fresh) <= 0.7).sum(axis=1)
    assert inside.mean() == pytest.approx(sums.within_p, abs=4 * inside.std() / 316)
    assert inside.var() == pytest.approx(sums.within_var_w2, rel=0.02)


def test_engines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = draw(300_000, seed=3)
    found = {}
    for engine in ("auto", "numpy"):
        monkeypatch.setenv("SCOREBARS_ENGINE", engine)
        found[engine] = normal_sums(**data, tolerance=0.5, labels=True)
    scale = found["numpy"].loss2_sq
    for name, value in found["numpy"]._asdict().items():
        assert getattr(found["auto"], name) == pytest.approx(value, rel=1e-13, abs=1e-15 * scale), name


def test_sums_that_were_not_asked_for_are_nan(engine: str) -> None:
    sums = normal_sums(**draw(5))
    missing = {name for name, value in sums._asdict().items() if np.isnan(value)}
    labels = {"y1", "y2", "d_var_w2", "y_var_w2", "y2_var_w2", "y_d_var_w2", "max_abs_y", "y_shift"}
    assert missing == labels | {"within", "within_p", "within_var_w2", "tolerance"}


def test_exact_labels(engine: str) -> None:
    """sigma = 0: nothing moves, not even a label exactly on the edge of the tolerance."""
    y, p = np.zeros(4), np.array([0.0, 0.5, -0.5, 2.0])
    for sigma in (0.0, 0, np.zeros(4), np.float64(0.0), np.zeros(())):
        s = normal_sums(y, p, sigma, tolerance=0.5)
        assert (s.fold, s.foldvar_w2, s.var, s.var2_w2, s.sqvar_w2) == (0, 0, 0, 0, 0)
        assert (s.within, s.within_p, s.within_var_w2) == (3, 3, 0)
        assert s.loss2_abs == s.sq_w2


def test_constant_sigma_and_unit_weights(engine: str) -> None:
    data = draw(1000)
    one = normal_sums(data["y"], data["p"], 0.3, tolerance=0.5, labels=True)
    assert one == normal_sums(data["y"], data["p"], np.full(1000, 0.3), tolerance=0.5, labels=True)
    weighted = normal_sums(data["y"], data["p"], 0.3, np.ones(1000), tolerance=0.5, labels=True)
    np.testing.assert_allclose(weighted, one, rtol=1e-14, atol=1e-12)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 200), st.integers(0, 2**32), st.integers(-60, 60))
def test_units_and_order_do_not_matter(engine: str, n: int, seed: int, power: int) -> None:
    data = draw(n, seed)
    sums = normal_sums(**data)
    unit = 2.0**power
    scaled = normal_sums(data["y"] * unit, data["p"] * unit, data["sigma"] * unit, data["weight"])
    assert scaled.abs == sums.abs * unit
    assert scaled.fold == sums.fold * unit
    assert scaled.foldvar_w2 == sums.foldvar_w2 * unit**2
    assert scaled.var2_w2 == sums.var2_w2 * unit**4
    mirrored = normal_sums(-data["y"], -data["p"], data["sigma"], data["weight"])
    assert mirrored.d == -sums.d
    assert mirrored.fold == sums.fold
    order = np.random.default_rng(seed).permutation(n)
    shuffled = normal_sums(**{name: column[order] for name, column in data.items()})
    for name in ("w", "w2", "abs", "sq", "var", "fold", "foldvar_w2", "sqvar_w2", "fourth_w2"):
        assert getattr(shuffled, name) == pytest.approx(getattr(sums, name), rel=5e-15), name
    assert 0.36 * sums.var_w2 <= sums.foldvar_w2 <= sums.var_w2 * (1 + 1e-14)
    assert 0 <= sums.fold <= np.sqrt(2 / np.pi) * np.sum(data["weight"] * data["sigma"]) * (1 + 1e-14)


def test_scatter_of_labels_far_from_zero(engine: str) -> None:
    """Labels of 1e9 with a spread of 1: the reference keeps the digits of the spread."""
    y = 1e9 + np.random.default_rng(0).normal(size=10_000)
    s = normal_sums(y, y, 0.1, labels=True)
    assert s.y2 / s.w - (s.y1 / s.w) ** 2 == pytest.approx(np.var(y - 1e9), rel=1e-13)
    assert s.y_shift + s.y1 / s.w == pytest.approx(1e9 + np.mean(y - 1e9), rel=1e-16)
