"""A perfect model raises an alarm of `check_errors` at the 1 % level in 1 % of runs, whatever the error model."""

import math
import warnings

import numpy as np
import pytest

import scorebars as sb

N = 40
SHIFT = np.linspace(0.5, 1.0, N)
TRUTH = np.linspace(3.0, 12.0, N)


def additive(model):
    return lambda rng: (model.sample(TRUTH, 1, rng)[0], TRUTH, model)


def repeated(count, way, scatter=1.0):
    def draw(rng):
        sigma = np.exp(scatter * rng.standard_normal(N)) if scatter else np.ones(N)
        rows = TRUTH[:, None] + sigma[:, None] * rng.standard_normal((N, count))
        model = sb.Repeats(rows, sigma=way)
        return model.means, TRUTH, model

    return draw


def set_points(model):
    return lambda rng: (TRUTH, model.sample(TRUTH, 1, rng)[0], model)


def from_draws(rng):
    errors = rng.gamma(2.0, 1.0, (N, 400))
    label = TRUTH + rng.gamma(2.0, 1.0, N) - 2.0
    return label, TRUTH, sb.Empirical(label[:, None] + errors - 2.0)


CASES = {
    "normal": additive(sb.Normal(0.7)),
    "covariance": additive(sb.Normal(cov=0.5 * np.eye(N) + np.outer(SHIFT, SHIFT))),
    "shared shift": additive(sb.Normal(0.4, shared=SHIFT)),
    "shared shift alone": additive(sb.Normal(shared=SHIFT)),
    "uniform": additive(sb.Uniform(1.0)),
    "triangular": additive(sb.Triangular(1.0)),
    "rounding": additive(sb.Rounding(1.0)),
    "Laplace": additive(sb.Laplace(0.5)),
    "Student 5": additive(sb.StudentT(0.5, df=5)),
    "Student 1.5": additive(sb.StudentT(0.5, df=1.5)),
    "split normal": additive(sb.SplitNormal(0.3, 1.2)),
    "log-normal": additive(sb.LogNormal(0.4)),
    "Poisson": additive(sb.Poisson()),
    "draws": from_draws,
    "set points": set_points(sb.SplitNormal(0.3, 1.2, kind="berkson")),
    "2 repeats": repeated(2, "per_item"),
    "4 repeats": repeated(4, "per_item"),
    "2 repeats, pooled": repeated(2, "pooled", 0.0),
    "4 repeats, pooled": repeated(4, "pooled", 0.0),
    "3 repeats, shrunk": repeated(3, "shrunk"),
    "4 repeats, shrunk, equal": repeated(4, "shrunk", 0.0),
}


def checked(data):
    y, p, yerr = data
    return sb.check_errors(y, p, yerr=yerr)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [10, pytest.param(400, marks=pytest.mark.slow)])
def test_false_alarms(case, count):
    rng = np.random.default_rng(7)
    low, high = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.UndefinedMomentWarning)
        for _ in range(count):
            check = checked(CASES[case](rng))
            low.append(check.pvalue_low)
            high.append(check.pvalue_high)
    for p in (low, high):
        for level, wrong in ((0.01, 0.01), (0.2, 0.03)):  # draws and the prior of shrunk errors are not exact
            allowed = level + wrong + 4 * math.sqrt(level * (1 - level) / count)
            assert np.mean(np.array(p) < level) <= allowed, (case, level)


def test_mean_of_repeats_is_said():
    rng = np.random.default_rng(8)
    found = [checked(CASES["4 repeats"](rng)) for _ in range(200)]
    assert found[0].perfect_chi_squared == pytest.approx(3.0) and "a perfect model: 3" in str(found[0])
    assert np.median([c.reduced_chi_squared for c in found]) == pytest.approx(2.2, abs=0.4)


def test_impossible_predictions():
    check = sb.check_errors([3.0, 4.0, 0.0], [3.0, -1.0, 2.0], yerr=sb.Poisson())
    assert check.pvalue_high == 0.0 and np.isfinite(check.reduced_chi_squared)
