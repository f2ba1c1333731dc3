"""The adaptive rule: accuracy without being told of kinks, and honesty about what does not exist."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from scorebars import errors, losses
from scorebars.moments.numerical import integrate_loss
from scorebars.numerics.integration import GAUSS, KRONROD, NODES

Y, P = np.array([0.3]), np.array([1.0])


def custom(function: object, kinks: object = None) -> losses.CustomLoss:
    return losses.CustomLoss(function, kinks)  # type: ignore[arg-type]


def test_rule_is_exact_for_polynomials() -> None:
    for degree in range(0, 32, 2):
        assert KRONROD @ NODES**degree == pytest.approx(2 / (degree + 1), rel=1e-14)
    for degree in range(0, 20, 2):
        assert GAUSS @ NODES**degree == pytest.approx(2 / (degree + 1), rel=1e-14)


def test_a_jump_nobody_declared() -> None:
    mean, variance = integrate_loss(custom(lambda y, p: np.where(y > 1.234, 1e3, 0.0)), errors.Normal(1.0), Y, P)
    hit = float(ndtr(-(1.234 - 0.3)))
    assert mean[0] == pytest.approx(1e3 * hit, rel=1e-10)
    assert variance[0] == pytest.approx(1e6 * hit * (1 - hit), rel=1e-10)


def test_an_undeclared_kink_costs_little_accuracy() -> None:
    rng = np.random.default_rng(0)
    y, p, s = rng.normal(size=200), rng.normal(size=200), np.exp(rng.normal(size=200))
    found = integrate_loss(
        custom(lambda y, p: np.abs(y - p - 0.37), lambda p: np.empty((0, len(p)))), errors.Normal(s), y, p
    )
    told = integrate_loss(custom(lambda y, p: np.abs(y - p - 0.37), [0.37]), errors.Normal(s), y, p)
    np.testing.assert_allclose(found.mean, told.mean, rtol=1e-5)


def test_kinks_as_a_function() -> None:
    def kinks(p: np.ndarray) -> list[np.ndarray]:
        return [p - 2.0, p**2]

    loss = custom(lambda y, p: np.maximum(y, p**2) + np.abs(y - p + 2), kinks)
    assert loss.kinks(np.array([3.0, 4.0])).tolist() == [[1.0, 2.0], [9.0, 16.0]]
    assert integrate_loss(loss, errors.Normal(0.1), Y, P).mean[0] == pytest.approx(1.0 + 1.3, rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("pole", [0.0, 0.7])
def test_a_pole_makes_the_mean_infinite(sign: float, pole: float) -> None:
    mean, variance = integrate_loss(custom(lambda y, p: sign / np.abs(y - pole)), errors.Normal(1.0), Y, P)
    assert mean[0] == sign * math.inf
    assert variance[0] == math.inf


def test_an_integrable_pole_is_integrated() -> None:
    mean, variance = integrate_loss(custom(lambda y, p: np.log(np.abs(y))), errors.Normal(1.0), Y, P)
    # E log|Z + m|, Var of log|Z| about pi^2/8: from the series in mpmath
    assert mean[0] == pytest.approx(-0.590848403, rel=1e-7)
    assert variance[0] == pytest.approx(1.232398, rel=1e-5)
    mean, variance = integrate_loss(custom(lambda y, p: 1 / np.sqrt(np.abs(y))), errors.Normal(1.0), Y, P)
    assert mean[0] == pytest.approx(1.68209, rel=1e-5)
    assert variance[0] == math.inf


def test_growth_that_the_tails_cannot_hold() -> None:
    normal = errors.Normal(1.0)
    mean, variance = integrate_loss(custom(lambda y, p: np.exp(5 * y)), normal, Y, P)
    assert mean[0] == pytest.approx(math.exp(5 * 0.3 + 12.5), rel=1e-12)
    assert variance[0] == pytest.approx(math.exp(3 + 50) - math.exp(3 + 25), rel=1e-10)
    mean, variance = integrate_loss(custom(lambda y, p: np.exp(0.4 * y * y)), normal, np.zeros(1), P)
    assert mean[0] == pytest.approx(1 / math.sqrt(1 - 0.8), rel=1e-12)
    assert variance[0] == math.inf
    mean, variance = integrate_loss(custom(lambda y, p: np.exp(y * y)), normal, Y, P)
    assert mean[0] == variance[0] == math.inf
    mean, variance = integrate_loss(custom(lambda y, p: np.exp(np.abs(y))), errors.Laplace(0.5), np.zeros(1), P)
    assert mean[0] == pytest.approx(2.0, rel=1e-12)
    assert variance[0] == math.inf


@pytest.mark.parametrize("df", [1.05, 1.5, 2.0, 2.05, 3.0, 40.0])
def test_student_tails_are_extrapolated(df: float) -> None:
    model, delta = errors.StudentT(0.5, df), np.array([0.75])
    mean, variance = integrate_loss(losses.AbsoluteError(), model, delta, np.zeros(1))
    z = delta / 0.5
    gain = 0.5 * model.gain(z)
    assert mean[0] == pytest.approx(float((delta + gain)[0]), rel=1e-10)
    if df <= 2:
        assert variance[0] == math.inf
    else:
        exact = model.variance(delta) - gain * (2 * delta + gain)
        assert variance[0] == pytest.approx(float(exact[0]), rel=1e-9)


def test_no_mean_for_cauchy() -> None:
    mean, variance = integrate_loss(losses.AbsoluteError(), errors.StudentT(0.5, 1.0), np.zeros(1), np.zeros(1))
    assert mean[0] == variance[0] == math.inf


def test_triangular_touching_zero_has_a_mean_but_no_variance() -> None:
    """Density ~ x at the edge: p/x is integrable, its square is not."""
    mean, variance = integrate_loss(losses.PercentageError(), errors.Triangular(1.0), np.ones(1), np.array([2.0]))
    # int_0^1 (2-x)/x x dx + int_1^2 (2-x)/x (2-x) dx
    assert mean[0] == pytest.approx(1.5 + 4 * math.log(2) - 2.5, rel=1e-10)
    assert variance[0] == math.inf


def test_nan_is_refused_with_a_place() -> None:
    with pytest.raises(ValueError, match=r"the loss is NaN at label -[\d.]+ and prediction 1 .*define the loss there"):
        integrate_loss(custom(lambda y, p: np.sqrt(y)), errors.Normal(1.0), np.array([2.0]), P)


def test_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="must return one number for each label"):
        integrate_loss(custom(lambda y, p: 3.0), errors.Normal(1.0), Y, P)


def test_too_wild_a_loss_is_reported() -> None:
    rough = custom(lambda y, p: np.sin(1e9 * y * y))
    with pytest.warns(RuntimeWarning, match="varies too rapidly"):
        integrate_loss(rough, errors.Normal(1.0), Y, P)


def test_many_labels_are_integrated_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    y, p, s = rng.normal(size=1500), rng.normal(size=1500), np.exp(rng.normal(size=1500))
    many = integrate_loss(losses.LogCosh(), errors.Normal(s), y, p)
    for i in (0, 700, 1499):
        one = integrate_loss(losses.LogCosh(), errors.Normal(s[i]), y[i : i + 1], p[i : i + 1])
        assert many.mean[i] == pytest.approx(one.mean[0], rel=1e-14)
        assert many.variance[i] == pytest.approx(one.variance[0], rel=1e-13)
