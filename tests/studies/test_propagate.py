"""Error propagation through a user's formula."""

import math

import numpy as np
import pytest

import scorebars as sb


def test_linear_formulas_are_exact():
    for method in ("first", "second", "unscented"):
        p = sb.propagate(lambda a, b: 3 * a - 2 * b + 1, [[1.0, 2.0], 0.5], [0.1, [0.2, 0.3]], method=method)
        assert p.y == pytest.approx([3.0, 6.0], rel=1e-9)
        assert p.yerr == pytest.approx(np.sqrt([0.09 + 0.16, 0.09 + 0.36]), rel=1e-7)
        assert np.allclose(p.shift, 0, atol=1e-9)


def test_quadratic_formula_is_exact_to_second_order():
    """x^2 of a normal x: mean m^2 + s^2, variance 4 m^2 s^2 + 2 s^4; x^2 - s^2 is unbiased for m^2."""
    p = sb.propagate(np.square, [3.0], [0.5], kind="berkson")
    assert p.y[0] == pytest.approx(9.25, rel=1e-7)
    assert p.yerr[0] ** 2 == pytest.approx(4 * 9 * 0.25 + 2 * 0.5**4, rel=1e-6)
    u = sb.propagate(np.square, [3.0], [0.5], kind="berkson", method="unscented")
    assert u.y[0] == pytest.approx(9.25, rel=1e-12) and u.yerr[0] ** 2 == pytest.approx(9.125, rel=1e-12)
    for method in ("second", "unscented"):
        c = sb.propagate(np.square, [3.0], [0.5], method=method)
        assert c.y[0] == pytest.approx(8.75, rel=1e-7)
        assert c.yerr[0] ** 2 == pytest.approx(4 * 9 * 0.25 - 2 * 0.5**4, rel=1e-3)


@pytest.mark.parametrize("kind", ["classical", "berkson"])
@pytest.mark.parametrize("method", ["second", "unscented"])
def test_agrees_with_simulation(method, kind):
    cov = np.array([[0.01, 0.004], [0.004, 0.02]])

    def formula(a, b):
        return a * np.exp(b)

    options = {"cov": cov, "kind": kind}
    found = sb.propagate(formula, [[1.0, 2.0], [0.5, 0.1]], **options, method=method)
    drawn = sb.propagate(formula, [[1.0, 2.0], [0.5, 0.1]], **options, method="simulation", draws=20_000, rng=0)
    assert found.y == pytest.approx(drawn.y, rel=0.01)
    assert found.yerr == pytest.approx(drawn.yerr, rel=0.04)
    again = sb.propagate(formula, [[1.0, 2.0], [0.5, 0.1]], **options, method="simulation", draws=200, rng=0)
    same = sb.propagate(formula, [[1.0, 2.0], [0.5, 0.1]], **options, method="simulation", draws=200, rng=0)
    assert np.array_equal(again.y, same.y)


FORMULAS = {
    "exp": (np.exp, [0.0], [0.5], 0.015),
    "ratio": (lambda a, b: a / b, [2.0, 1.0], [0.3, 0.12], 0.01),
    "product of squares": (lambda a, b: a * a * b, [1.0, 2.0], [0.3, 0.4], 0.01),
    "logarithm": (np.log, [2.0], [0.12], 0.01),
}


@pytest.mark.parametrize("method", ["second", "unscented", "simulation"])
@pytest.mark.parametrize("name", FORMULAS)
def test_measured_quantities_give_unbiased_labels_with_their_own_error(name, method):
    """Over measurements of one truth the labels average to f(truth), and their mean squared error is what yerr says."""
    f, truth, errors, bias = FORMULAS[name]
    rng, count = np.random.default_rng(1), 4000 if method == "simulation" else 20_000
    x = [t + e * rng.standard_normal(count) for t, e in zip(truth, errors, strict=True)]
    p = sb.propagate(f, x, errors, method=method, draws=1000, rng=2)
    right, spread = float(f(*truth)), float(np.std(p.y))
    assert abs(np.mean(p.y) - right) < bias * max(abs(right), spread) + 4 * spread / math.sqrt(count)
    assert math.sqrt(np.mean(p.yerr**2)) == pytest.approx(spread, rel=0.08)


def test_a_posterior_gives_the_mean_and_scatter_of_the_formula():
    """exp of a normal variable: mean exp(s^2/2), variance exp(2 s^2) - exp(s^2)."""
    exact = math.exp(0.125), math.sqrt(math.exp(0.5) - math.exp(0.25))
    for method, digits in (("second", 0.035), ("unscented", 0.02), ("simulation", 0.02)):
        p = sb.propagate(np.exp, [0.0], [0.5], kind="berkson", method=method, rng=0)
        assert (p.y[0], p.yerr[0]) == pytest.approx(exact, rel=digits) and p.kind == "berkson"


def test_goes_straight_into_a_metric():
    p = sb.propagate(lambda v, r: v / r, [[10.0, 12.0, 9.0], 5.0], [0.1, 0.05])
    assert sb.mean_squared_error(p.y, [2.0, 2.5, 1.7], yerr=p.yerr).std > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.propagate(np.sqrt, [1.0]), "either errors"),
        (lambda: sb.propagate(np.sqrt, [1.0], [0.1], cov=[[1.0]]), "either errors"),
        (lambda: sb.propagate(np.sqrt, [1.0], [-0.1]), r"errors\[0\] has negative values"),
        (lambda: sb.propagate(np.add, [1.0, 2.0], [0.1]), "errors has 1 entries but values has 2"),
        (lambda: sb.propagate(np.add, [[1.0, 2.0], [1.0, 2.0, 3.0]], [0.1, 0.1]), "do not belong to the same labels"),
        (lambda: sb.propagate(np.sqrt, [1.0], [0.1], kind="guess"), "kind must be 'classical'"),
        (lambda: sb.propagate(np.sqrt, [1.0], [0.1], method="guess"), "method must be one of"),
        (lambda: sb.propagate(np.add, [1.0, 2.0], cov=[[1.0, 2.0], [2.0, 1.0]]), "not positive semidefinite"),
        (lambda: sb.propagate(np.add, [1.0, 2.0], cov=[[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
        (lambda: sb.propagate(np.add, [1.0, 2.0], cov=np.eye(3)), "cov has shape"),
        (lambda: sb.propagate(np.sqrt, [np.nan], [0.1]), r"values\[0\] = nan is not finite"),
        (lambda: sb.propagate(lambda a: np.full_like(a, np.inf), [1.0], [0.1]), "not finite within the errors"),
    ],
)
def test_bad_input(call, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        call()
