"""Variance of any mean loss under correlated errors, against the exact ones and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from scorebars import errors, losses
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.correlated import correlated_variance
from scorebars.moments.hermite import correlated_variance_of

RNG = np.random.default_rng(5)
N = 10
Y = RNG.normal(size=N)
P = Y + 0.5 * RNG.normal(size=N)
ROOT = 0.3 * RNG.normal(size=(N, N))
MODELS = {
    "cov": errors.Normal(cov=ROOT @ ROOT.T + 0.05 * np.eye(N)),
    "two shifts": errors.Normal(0.3, shared=0.4 * RNG.normal(size=(2, N))),
    "one shift": errors.Normal(0.2, shared=np.full(N, 0.2)),
}


def series(loss: losses.Loss, data: Measured) -> float:
    return correlated_variance_of(loss, data, label_moments(loss, data.errors, Y, P))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weight", [None, np.linspace(0, 2, N)], ids=["equal", "weighted"])
def test_agrees_with_exact_variances(name: str, weight: np.ndarray | None) -> None:
    data = Measured(Y, P, MODELS[name], weight)
    assert series(losses.SquaredError(), data) == pytest.approx(
        correlated_variance(losses.SquaredError(), data), rel=1e-12
    )
    assert series(losses.SignedError(), data) == pytest.approx(
        correlated_variance(losses.SignedError(), data), rel=1e-12
    )
    assert series(losses.AbsoluteError(), data) == pytest.approx(
        correlated_variance(losses.AbsoluteError(), data), rel=1e-4
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "loss",
    [losses.Pinball(0.2), losses.Huber(0.3), losses.LogCosh(), losses.Within(0.5), losses.SymmetricPercentage()],
    ids=lambda v: type(v).__name__,
)
def test_agrees_with_simulation(name: str, loss: losses.Loss) -> None:
    data = Measured(Y, P, MODELS[name])
    draws = loss(MODELS[name].sample(Y, 100_000, np.random.default_rng(0)), P).mean(axis=1)
    assert correlated_variance(loss, data) == pytest.approx(float(draws.var()), rel=0.025)


def test_without_correlation_the_labels_add_up() -> None:
    loss = losses.Huber(0.3)
    data = Measured(Y, P, errors.Normal(cov=np.diag(np.full(N, 0.09))))
    own = label_moments(loss, errors.Normal(0.3), Y, P).variance
    assert correlated_variance(loss, data) == pytest.approx(float(own.sum()) / N**2, rel=1e-13)
