"""Data, error models and metrics that the property tests go through."""

from __future__ import annotations

import numpy as np

import scorebars as sb

# Residuals of both signs, of any size against the error, one label exact and one prediction exact. All numbers have few
# binary digits, so that shifts and permutations change no residual.
Y = np.array([1.0, -0.5, 2.25, 0.0, 3.5, -0.75, 1.0, 0.5])
P = np.array([0.5, 0.125, 2.0, 0.0, 1.5, -0.5, 0.0, 2.5])
SIGMA = np.array([0.125, 0.5, 1.0, 2.0, 0.0, 0.75, 1.5, 0.25])
SHIFTS = np.array([[0.5, 0.25, -0.25, 0.5, 0.5, 0.0, 0.125, 0.75], [0.0, 0.25, 0.5, -0.5, 0.125, 0.25, 0.0, 0.25]])
COV = np.diag(SIGMA**2) + SHIFTS.T @ SHIFTS
UPPER = np.array([0.25, 0.5, 0.5, 1.0, 0.0, 1.5, 0.75, 0.5])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0, 0.125])

# each takes the unit of the labels and gives the errors of Y in that unit
ERRORS = {
    "one sigma": lambda c=1.0: 0.5 * c,
    "sigmas": lambda c=1.0: SIGMA * c,
    "no error": lambda c=1.0: None,
    "cov": lambda c=1.0: sb.Normal(cov=(COV * c) * c),
    "shared": lambda c=1.0: sb.Normal(SIGMA * c, shared=SHIFTS * c),
    "split": lambda c=1.0: sb.SplitNormal(SIGMA * c, UPPER * c),
    "berkson": lambda c=1.0: sb.Normal(SIGMA * c, kind="berkson"),
}
CORRELATED = ("cov", "shared")

METRICS = {
    "mse": sb.mean_squared_error,
    "rmse": sb.root_mean_squared_error,
    "mae": sb.mean_absolute_error,
    "mean_error": sb.mean_error,
}
DEGREE = {"mse": 2, "rmse": 1, "mae": 1, "mean_error": 1}


def answers(score: sb.Score, degree: int = 1) -> dict[str, tuple[float, int]]:
    """Every answer of a score by name, with the power of the unit that it scales with."""
    law = score.distribution
    found = {name: (getattr(score, name), degree) for name in ("observed", "expected", "std", "correction")}
    found["sampling std"] = score.sampling_std, degree
    found["noise share"] = score.noise_share or 0.0, 0
    _ends(found, "interval", score.interval(0.8), degree)
    _ends(found, "total interval", score.total_interval(0.9), degree)
    found["cdf of median"] = law.cdf(law.ppf(0.5)), 0
    estimates = {"truth": lambda: score.truth, "perfect": lambda: score.perfect}
    estimates |= {f"remeasured {k}": lambda k=k: score.remeasured(k) for k in (1, 3)}
    for name, ask in estimates.items():
        try:
            estimate = ask()
        except sb.UndefinedEstimate:
            continue
        found[name] = estimate.value, degree
        found[f"{name} std"] = estimate.std, degree
        _ends(found, f"{name} interval", estimate.interval(0.9), degree)
    _ends(found, "truth total interval", score.truth.total_interval(0.9), degree)
    return found


def _ends(found: dict[str, tuple[float, int]], name: str, interval: sb.Interval, degree: int) -> None:
    found[f"{name} low"], found[f"{name} high"] = (interval.low, degree), (interval.high, degree)


def assert_same_answers(
    score: sb.Score,
    other: sb.Score,
    *,
    rtol: float = 1e-9,
    scale: float = 1.0,
    skip: tuple[str, ...] = (),
    degree: int = 1,
    drawn: bool = False,
) -> None:
    """All answers of `score` are those of `other` times scale**degree, where they have a unit.

    `drawn` says that laws found by simulation have other draws.
    """
    ours, theirs = answers(score, degree), answers(other, degree)
    assert ours.keys() == theirs.keys()
    size = max(abs(theirs["expected"][0]), theirs["std"][0], abs(theirs["observed"][0]))
    loose = drawn and "simulation" in (score.method, other.method)
    for name, (value, power) in ours.items():
        if name.startswith(skip):
            continue
        expected, reach = theirs[name][0], size if power else 1.0
        for _ in range(power):
            expected, reach = expected * scale, reach * scale
        assert not np.isnan(value), name
        tolerance = (
            0.03 if loose and name.startswith(("interval", "perfect", "cdf", "noise", "truth interval")) else rtol
        )
        if np.isinf(expected):
            assert value == expected, name
        else:
            assert abs(value - expected) <= tolerance * max(abs(expected), reach), f"{name}: {value!r} != {expected!r}"
