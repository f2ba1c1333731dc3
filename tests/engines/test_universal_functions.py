"""g(z), Var|Z + z| and the normal tail as the engines compute them, against mpmath, for all z."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from plain_sums import g, normal_tail

from scorebars.engines import normal_sums

Z = np.concatenate([[0.0, 5e-324, 1e-300, 1e-16, 1e-8], np.linspace(0.001, 8, 300), np.linspace(8, 25.9, 100)])


@pytest.fixture(scope="module")
def exact() -> list[tuple[mp.mpf, mp.mpf]]:
    with mp.workdps(320):
        return [(g(mp.mpf(z)), normal_tail(mp.mpf(z))) for z in Z]


def test_folded_mean(engine: str, exact: list[tuple[mp.mpf, mp.mpf]]) -> None:
    for z, (g_exact, _) in zip(Z, exact, strict=True):
        s = normal_sums(np.zeros(1), np.array([z]), 1.0)
        fold, variance = s.fold, s.foldvar_w2
        assert abs(fold - g_exact) <= 4.5e-16 * (z + 0.8), z  # against E|Z + z|
        if z <= 4:  # beyond, g itself is no longer known to many digits: it only adds to z
            assert abs(fold / g_exact - 1) <= 2e-10, z
        assert abs(variance / (1 - 2 * mp.mpf(z) * g_exact - g_exact**2) - 1) <= 2e-15, z


def test_normal_tail(engine: str, exact: list[tuple[mp.mpf, mp.mpf]]) -> None:
    """One label in the middle of a band of z sigmas either side: P(1 - P) = 2 Q (1 - 2 Q)."""
    for z, (_, q) in zip(Z, exact, strict=True):
        s = normal_sums(np.zeros(1), np.zeros(1), 1.0, tolerance=z)
        assert abs(s.within_p - (1 - 2 * q)) <= 4e-16, z
        if z > 0.1:
            assert abs(s.within_var_w2 / (2 * q * (1 - 2 * q)) - 1) <= 2e-14 + 4e-16 * z * z, z


def test_far_edge_of_the_tolerance(engine: str) -> None:
    """The far edge adds nothing: only the tail beyond the near one is left, also when that is tiny."""
    s = normal_sums(np.zeros(1), np.array([975.0]), 1.0, tolerance=1000.0)
    assert s.within_var_w2 == pytest.approx(float(mp.erfc(25 / mp.sqrt(2)) / 2), rel=1e-13)
    s = normal_sums(np.zeros(1), np.array([1025.0]), 1.0, tolerance=1000.0)
    assert s.within_p == pytest.approx(float(mp.erfc(25 / mp.sqrt(2)) / 2), rel=1e-13)


@pytest.mark.parametrize("z", [8.3, 26.0, 30.0, 40.0, 1e10, 1e70])
def test_far_from_zero_nothing_is_folded(engine: str, z: float) -> None:
    s = normal_sums(np.zeros(1), np.array([z]), 1.0, tolerance=0.1)
    assert s.fold == 0
    assert s.foldvar_w2 == 1.0
    assert s.within_p < (1e-140 if z >= 26 else 1e-15)


@pytest.mark.parametrize("ratio", [1e-300, 1e-100, 1e-8, 1e8, 1e75])
def test_any_ratio_of_difference_to_error(engine: str, ratio: float) -> None:
    s = normal_sums(np.zeros(1), np.array([ratio]), 1.0)
    mean = np.hypot(ratio, 0) if ratio > 1 else np.sqrt(2 / np.pi)
    assert s.abs + s.fold == pytest.approx(mean, rel=1e-15)
    assert 0.36 < s.foldvar_w2 <= 1.0
