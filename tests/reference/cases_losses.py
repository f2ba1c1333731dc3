"""Other losses summed over the labels: pinball, Huber, log-cosh, within a tolerance, percentage and logarithmic errors.

All by quadrature label by label, cut at the kinks; the law of a count by multiplying out the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mpmath as mp
from cases_squares import MIXED7, ZERO3
from high_precision import Case, Real, exact, integrate, mean_of_independent, normal_mean_var, normal_pdf, pieces, total

THREE = {"y": [0.5, -1.25, 3.0], "y_pred": [0.0, 0.0, 0.25], "sigma": [0.75, 0.5, 1.0]}
LossOf = Callable[[Real, Real], Real]


def additive(inputs: dict[str, Any], loss: Callable[[Real], Real], kinks: Iterable[Real]) -> dict[str, Any]:
    """Mean and variance of mean loss(y - p)."""
    parts = []
    for y, p, s in zip(*(exact(inputs[key]) for key in ("y", "y_pred", "sigma")), strict=True):
        parts.append(normal_mean_var(loss, y - p, s, kinks))
    return mean_of_independent(parts)


def pinball(inputs: dict[str, Any]) -> dict[str, Any]:
    tau = exact(inputs["tau"])
    return additive(inputs, lambda u: u * (tau - 1) if u < 0 else u * tau, [mp.mpf(0)])


def huber(inputs: dict[str, Any]) -> dict[str, Any]:
    k = exact(inputs["delta"])
    return additive(inputs, lambda u: u * u / 2 if abs(u) <= k else k * (abs(u) - k / 2), [-k, k])


def log_cosh(inputs: dict[str, Any]) -> dict[str, Any]:
    def loss(u: Real) -> Real:
        return abs(u) + mp.log1p(mp.exp(-2 * abs(u))) - mp.log(2)

    # Analytic, but with poles of its derivative at i pi / 2: short pieces keep the quadrature fast.
    return additive(inputs, loss, [mp.mpf(k) for k in (-4, -2, -1, 0, 1, 2, 4)])


def count_law(probabilities: list[Real]) -> list[Real]:
    """Probability of 0, 1, ..., M successes, label by label."""
    law = [mp.mpf(1)]
    for p in probabilities:
        law = [
            (law[k] * (1 - p) if k < len(law) else 0) + (law[k - 1] * p if k > 0 else 0) for k in range(len(law) + 1)
        ]
    return law


def within(inputs: dict[str, Any]) -> dict[str, Any]:
    tolerance = exact(inputs["tol"])
    probabilities = []
    for y, p, s in zip(*(exact(inputs[key]) for key in ("y", "y_pred", "sigma")), strict=True):
        if s == 0:
            probabilities.append(mp.mpf(abs(y - p) <= tolerance))
        else:
            cuts = pieces(y - p - 18 * s, y - p + 18 * s, [-tolerance, tolerance], s)
            inside = [cut for cut in cuts if -tolerance <= cut <= tolerance]
            density = lambda u, d=y - p, s=s: normal_pdf((u - d) / s) / s  # noqa: E731
            probabilities.append(integrate(density, inside) if len(inside) > 1 else mp.mpf(0))
    law = count_law(probabilities)
    size = len(law) - 1
    mean = total(k * chance for k, chance in enumerate(law)) / size
    var = total((mp.mpf(k) / size - mean) ** 2 * chance for k, chance in enumerate(law))
    return {"mean": mean, "var": var, "pmf_count": law}


def mape_lognormal(inputs: dict[str, Any]) -> dict[str, Any]:
    """|y - p| / y with log y normal; quadrature in log y, cut at y = p."""
    parts = []
    for median, s, p in zip(*(exact(inputs[key]) for key in ("median", "sigma_log", "y_pred")), strict=True):
        parts.append(normal_mean_var(lambda u, p=p: abs(1 - p * mp.exp(-u)), mp.log(median), s, [mp.log(p)]))
    return mean_of_independent(parts)


def smape(inputs: dict[str, Any]) -> dict[str, Any]:
    parts = []
    for y, p, s in zip(*(exact(inputs[key]) for key in ("y", "y_pred", "sigma")), strict=True):
        parts.append(normal_mean_var(lambda x, p=p: 2 * abs(x - p) / (abs(x) + abs(p)), y, s, [mp.mpf(0), p]))
    return mean_of_independent(parts)


def msle_lognormal(inputs: dict[str, Any]) -> dict[str, Any]:
    parts = []
    for median, p, s in zip(*(exact(inputs[key]) for key in ("median", "y_pred", "sigma_log1p")), strict=True):
        parts.append(normal_mean_var(lambda u, p=p: (u - mp.log1p(p)) ** 2, mp.log1p(median), s))
    return mean_of_independent(parts)


def _pinball(tau: float, inputs: dict[str, Any] = THREE, suffix: str = "") -> Case:
    return Case(
        f"pinball_tau{tau}{suffix}",
        "pinball",
        inputs | {"tau": tau},
        pinball,
        "quadrature cut at the kink",
        note="loss u(tau-1[u<0]), u=y-y_pred",
    )


def _huber(delta: float, inputs: dict[str, Any] = THREE, suffix: str = "") -> Case:
    return Case(f"huber_k{delta}{suffix}", "huber", inputs | {"delta": delta}, huber, "quadrature cut at the kinks")


def _within(id: str, inputs: dict[str, Any], tol: float) -> Case:
    return Case(
        id, "within_tolerance", inputs | {"tol": tol}, within, "quadrature of the density; count multiplied out"
    )


def _mape(median: float, sigma: float, pred: float) -> Case:
    inputs = {"median": [median], "sigma_log": [sigma], "y_pred": [pred], "family": "lognormal"}
    return Case(f"mape_lognormal_{median}_{sigma}", "mape", inputs, mape_lognormal, "quadrature in log y")


CASES = [
    _pinball(0.1),
    _pinball(0.5),
    _pinball(0.9),
    _pinball(0.25, ZERO3, "_zero_sigma"),
    _huber(0.25),
    _huber(1.0),
    _huber(1.35),
    _huber(4.0),
    _huber(0.5, MIXED7, "_M7"),
    Case("logcosh_a", "log_cosh", THREE, log_cosh, "quadrature"),
    Case(
        "logcosh_wide",
        "log_cosh",
        {"y": [0.0, 4.0, 0.3], "y_pred": [0.1, -1.0, 0.3], "sigma": [6.0, 2.5, 0.0]},
        log_cosh,
        "quadrature",
    ),
    _within("within_tol_M7", MIXED7, 0.5),
    _within("within_tol_M3", THREE, 1.0),
    _within("within_tol_M3_zero_sigma", ZERO3, 0.25),
    _mape(2.0, 0.25, 2.5),
    _mape(1.0, 0.0, 0.75),
    _mape(0.5, 0.8, 0.4),
    Case(
        "smape_M3",
        "smape",
        {"y": [1.0, -0.5, 3.0], "y_pred": [1.25, 0.5, 2.0], "sigma": [0.5, 0.25, 0.0]},
        smape,
        "quadrature cut at 0 and y_pred",
        note="term 2|y-p|/(|y|+|p|), not in percent",
    ),
    Case(
        "msle_lognormal",
        "msle",
        {"median": [1.5], "y_pred": [2.0], "sigma_log1p": [0.25]},
        msle_lognormal,
        "quadrature",
        note="log1p(y) ~ N(log1p(median), sigma^2); with Gaussian y P(y<=-1)>0 and MSLE is undefined with that "
        "probability",
    ),
]
