"""A loss that a user wrote becomes a metric like any other."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import scorebars as sb
from scorebars import errors

RNG = np.random.default_rng(0)
Y, P = RNG.normal(size=30), RNG.normal(size=30)


def squares(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (y - p) ** 2


def sizes(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.abs(y - p)


@pytest.mark.parametrize("yerr", [0.4, errors.Laplace(0.3), errors.Uniform(0.5), errors.StudentT(0.2, 5.0)])
def test_equals_the_built_in(yerr: object) -> None:
    ours, theirs = sb.metric(squares)(Y, P, yerr=yerr), sb.mean_squared_error(Y, P, yerr=yerr)
    assert ours.observed == pytest.approx(theirs.observed, rel=1e-14)
    assert ours.expected == pytest.approx(theirs.expected, rel=1e-12)
    assert ours.std == pytest.approx(theirs.std, rel=1e-9)
    ours, theirs = sb.metric(sizes, name="size", low=0.0)(Y, P, yerr=yerr), sb.mean_absolute_error(Y, P, yerr=yerr)
    assert ours.expected == pytest.approx(theirs.expected, rel=1e-12)
    assert ours.std == pytest.approx(theirs.std, rel=1e-9)
    assert ours.perfect == pytest.approx(float(theirs.perfect), rel=1e-9)
    if yerr == 0.4:
        assert ours.noise_share == pytest.approx(1 - ours.truth / ours.observed)


def test_residual_losses_find_the_truth_like_the_built_in() -> None:
    rng = np.random.default_rng(1)
    t = rng.normal(size=120)
    p, y = t + rng.normal(size=120), t + 0.5 * rng.normal(size=120)
    ours = sb.metric(sizes, name="size", kinks=[0], of_residual=True, low=0.0)(y, p, yerr=0.5)
    theirs = sb.mean_absolute_error(y, p, yerr=0.5)
    assert ours.truth.method == theirs.truth.method == "npmle"
    assert ours.truth == pytest.approx(float(theirs.truth), rel=1e-9)


def test_weights_and_outputs() -> None:
    mean = sb.metric(squares)
    weight = RNG.random(30)
    assert mean(Y, P, sample_weight=weight) == pytest.approx(np.average((Y - P) ** 2, weights=weight), rel=1e-14)
    two_y, two_p = np.stack([Y, P], axis=1), np.zeros((30, 2))
    raw = mean(two_y, two_p, yerr=0.1, multioutput="raw_values")
    assert len(raw) == 2
    assert mean(two_y, two_p, yerr=0.1).expected == pytest.approx(np.mean(np.asarray(raw)), rel=1e-13)


def test_direction_and_range() -> None:
    def hit(y: np.ndarray, p: np.ndarray) -> np.ndarray:
        return (np.abs(y - p) < 0.5).astype(float)

    share = sb.metric(hit, name="share_of_hits", greater_is_better=True, kinks=[-0.5, 0.5], low=0.0, high=1.0)
    ours, theirs = share(Y, P, yerr=0.3), sb.fraction_within(Y, P, tolerance=0.5, yerr=0.3)
    assert ours.greater_is_better
    assert ours.name == "share_of_hits"
    assert ours.expected == pytest.approx(theirs.expected, rel=1e-12)
    assert ours.std == pytest.approx(theirs.std, rel=1e-12)
    assert ours.noise_share == pytest.approx(min(max(1 - (1 - ours.truth) / (1 - ours.observed), 0), 1))
    assert 0 <= ours.truth.interval().low <= ours.truth.interval().high <= 1


def test_pickle() -> None:
    metric = pickle.loads(pickle.dumps(sb.metric(squares)))
    score = pickle.loads(pickle.dumps(metric(Y, P, yerr=0.1)))
    assert score.expected == pytest.approx(sb.mean_squared_error(Y, P, yerr=0.1).expected, rel=1e-13)
    assert repr(metric) == "<metric squares>"
    assert metric.__name__ == "squares"


def test_an_infinite_expectation_is_reported() -> None:
    inverse = sb.metric(lambda y, p: 1 / np.abs(y), name="inverse")
    with pytest.warns(
        sb.UndefinedMomentWarning, match="expected value of inverse is infinite: the loss has no finite moments"
    ):
        score = inverse([1.0, 2.0], [0.0, 0.0], yerr=0.5)
    assert score.expected == score.std == math.inf
    assert math.isfinite(score.interval().high)


def test_bad_losses() -> None:
    with pytest.raises(TypeError, match="loss must be a function"):
        sb.metric(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is a metric 'mean_squared_error' already"):
        sb.metric(squares, name="mean_squared_error")
    with pytest.raises(ValueError, match="the loss is NaN at label"):
        sb.metric(lambda y, p: np.log(y), name="log")([1.0, 2.0], [0.0, 0.0], yerr=0.5)
    with pytest.raises(ValueError, match=r"must return one number for each label, shape \(2,\)"):
        sb.metric(lambda y, p: np.sum(y), name="total")([1.0, 2.0], [0.0, 0.0])
