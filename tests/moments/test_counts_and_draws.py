"""Sums over counts and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scorebars import errors, losses
from scorebars.moments import numerical


@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 64, 2**20])
def test_sum_rule_sums_polynomials(size: int) -> None:
    nodes, weights = numerical.sum_rule(size)
    assert len(nodes) == min(size, 16)
    k = np.arange(float(min(size, 5000)))
    for degree in (0, 1, 2, 5):
        if size <= 5000:
            exact = float(np.sum((k / size) ** degree))
        else:  # Faulhaber, leading terms are exact enough at this size
            n = float(size)
            exact = {0: n, 1: (n - 1) / 2, 2: (n - 1) * (2 * n - 1) / (6 * n)}.get(degree, math.nan)
        if not math.isnan(exact):
            assert weights @ (nodes / size) ** degree == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        losses.AbsoluteError(),
        losses.Huber(200.0),
        losses.LogCosh(),
        losses.SymmetricPercentage(),
        losses.Within(500.0),
        losses.CustomLoss(lambda y, p: np.where(y > p, 1.0, 3.0)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_runs_agree_with_the_plain_sum(loss: losses.Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.array([3e5, 3.3e5, 1.7e6])
    p = y + np.array([0.3, -2.0, 0.0]) * np.sqrt(y)
    p[0] = np.round(p[0])
    monkeypatch.setattr(numerical, "_SUMMED", 1e9)
    plain = numerical.sum_over_counts(loss, errors.Poisson(), y, p)
    monkeypatch.setattr(numerical, "_SUMMED", 1e3)
    runs = numerical.sum_over_counts(loss, errors.Poisson(), y, p)
    np.testing.assert_allclose(runs.mean, plain.mean, rtol=1e-12)
    np.testing.assert_allclose(runs.variance, plain.variance, rtol=1e-11)


def test_counts_of_any_size() -> None:
    y = np.array([0.0, 1e-8, 3.0, 1e4, 1e9, 1e12, 1e17])
    p = y + np.sqrt(y)
    found = numerical.sum_over_counts(losses.SquaredError(), errors.Poisson(), y, p)
    np.testing.assert_allclose(found.mean, y + np.square(y - p), rtol=1e-12)
    delta = y - p
    np.testing.assert_allclose(found.variance, y + 2 * y**2 + 4 * y * delta * (1 + delta), rtol=1e-8)


def test_fast_growth_is_followed() -> None:
    found = numerical.sum_over_counts(
        losses.CustomLoss(lambda y, p: np.exp(0.5 * y)), errors.Poisson(), np.array([3.0, 100.0]), np.zeros(2)
    )
    np.testing.assert_allclose(found.mean, np.exp(np.array([3.0, 100.0]) * math.expm1(0.5)), rtol=1e-11)


def test_an_infinite_loss_that_can_happen() -> None:
    pole = losses.CustomLoss(lambda y, p: 1 / np.abs(y - 2))
    found = numerical.sum_over_counts(pole, errors.Poisson(), np.array([3.0]), np.zeros(1))
    assert found.mean[0] == found.variance[0] == math.inf
    model = errors.Empirical([[1.0, 3.0, np.nan], [1.0, 2.0, 4.0]])
    found = numerical.sum_over_draws(pole, model, model.labels(), np.zeros(2))
    np.testing.assert_array_equal(found.mean, [1.0, math.inf])
    np.testing.assert_array_equal(found.variance, [0.0, math.inf])
