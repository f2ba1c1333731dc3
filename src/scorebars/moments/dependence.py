"""Do true residuals grow with the label error? If so: how their centre and their scale follow it.

Deconvolution takes the true residuals D as independent of the label errors s. Hard items are often both measured badly and
predicted badly. Then D = m(s) + c(s) eta with one law of eta for all labels (Chen 2023, "Empirical Bayes when estimation
precision predicts parameters"). Here m and log c^2 are straight lines in x = log s, so that c is a power of s. They are
fitted by the first two moments of the observed residuals alone, E d = m and Var d = c^2 + s^2, whatever the law of eta.

Lines are used only where a likelihood-ratio test sees dependence: following noise would double the scatter of the estimate.
Where it does not, the lines that fit best still tell how much unseen dependence may change an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from scorebars.errors.base import FloatArray

_LEVEL = 5.99
"""Chi-squared with 2 degrees of freedom at 95 %: beyond it, dependence is seen."""
_LEAST_SPREAD = 0.05
"""Errors that spread less than this (in log s) cannot show a trend."""
_STEEPEST = 6.0
"""Of the line log c^2: c grows at most with the third power of s."""
_MOST_LABELS = 20_000
"""More labels than this are thinned out before lines are fitted."""
_LEAST_SCALE = 0.1
"""c is at least this part of s: smaller true residuals cannot be seen behind such an error."""
_ROUNDS = 3


@dataclass(frozen=True)
class Trend:
    """m and log c^2 as lines in log s - centre, with the standard errors of both slopes.

    `seen`: whether a test at 5 % prefers it to residuals that do not depend on the errors.
    """

    centre: float
    middle: tuple[float, float]
    log_variance: tuple[float, float]
    errors: tuple[float, float]
    seen: bool

    def at(self, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Centre m and scale c of the true residuals of labels with this error."""
        x = np.log(sd) - self.centre
        scale = np.exp(0.5 * np.clip(self.log_variance[0] + self.log_variance[1] * x, -600.0, 600.0))
        return self.middle[0] + self.middle[1] * x, np.maximum(scale, _LEAST_SCALE * sd)

    def tilted(self) -> tuple[Trend, ...]:
        """The same trend with one slope after the other steeper by its standard error."""
        (a, b), (u, v), (first, second) = self.middle, self.log_variance, self.errors
        return replace(self, middle=(a, b + first)), replace(self, log_variance=(u, v + second))


def fitted_trend(residual: FloatArray, sd: FloatArray, share: FloatArray) -> Trend | None:
    """How the true residuals follow the label errors; None where errors are alike or residuals do not scatter."""
    step = max(1, len(residual) // _MOST_LABELS)
    d, s, a = residual[::step], sd[::step], share[::step] / float(np.sum(share[::step]))
    x = np.log(s)
    centre = float(a @ x)
    x = x - centre
    flat = _common(d, np.square(s), a) if math.sqrt(float(a @ np.square(x))) >= _LEAST_SPREAD else None
    return None if flat is None else _fitted(d, np.square(s), a, x, flat, centre)


def _common(d: FloatArray, s2: FloatArray, a: FloatArray) -> tuple[float, float] | None:
    """Mean and variance of true residuals that do not depend on the errors; None where they do not scatter."""
    mean, tau2 = float(a @ d), max(float(a @ (np.square(d - float(a @ d)) - s2)), 0.0)
    for _ in range(30):
        weight = a / np.square(tau2 + s2)
        pull = a / (tau2 + s2)
        mean = float(pull @ d) / float(np.sum(pull))
        tau2 = max(float(weight @ (np.square(d - mean) - s2)) / float(np.sum(weight)), 0.0)
    return (mean, tau2) if tau2 > 1e-3 * float(np.min(s2)) else None


def _fitted(
    d: FloatArray, s2: FloatArray, a: FloatArray, x: FloatArray, flat: tuple[float, float], centre: float
) -> Trend:
    """Weighted least squares for m and the normal likelihood for c^2 in turn; standard errors hold for any law."""
    lines = np.stack([np.ones_like(x), x])
    level = math.log(flat[1])
    theta, c2 = np.array([level, 0.0]), np.full_like(d, flat[1])
    for _ in range(_ROUNDS):
        pull = lines * (a / (c2 + s2))
        middle = np.linalg.pinv(pull @ lines.T) @ (pull @ d)
        r2 = np.square(d - middle @ lines)

        def cost(theta: FloatArray, r2: FloatArray = r2) -> tuple[float, FloatArray]:
            c2 = np.exp(np.clip(theta @ lines, -600.0, 600.0))
            v = c2 + s2
            return float(a @ (np.log(v) + r2 / v)), lines @ (a * c2 / v * (1.0 - r2 / v))

        bounds = [(level - 12.0, level + 12.0), (-_STEEPEST, _STEEPEST)]
        theta = minimize(cost, theta, jac=True, method="L-BFGS-B", bounds=bounds).x
        c2 = np.exp(np.clip(theta @ lines, -600.0, 600.0))
    v = c2 + s2
    first = _slope_error(lines, a / v, a / v * (d - middle @ lines))
    second = _slope_error(lines, a * np.square(c2 / v), a * c2 / np.square(v) * (r2 - v))
    # residuals that are not normal scatter the likelihood ratio by as much more as their squares scatter
    flat_v = flat[1] + s2
    gain = np.log(flat_v / v) + np.square(d - flat[0]) / flat_v - r2 / v
    excess = max(float(a @ np.square(r2 / v - 1.0)) / 2, 1.0)
    seen = float(a @ gain) / float(np.sum(np.square(a))) / excess > _LEVEL
    return Trend(
        centre,
        (float(middle[0]), float(middle[1])),
        (float(theta[0]), float(theta[1])),
        (first, min(second, _STEEPEST)),
        seen,
    )


def _slope_error(lines: FloatArray, information: FloatArray, score: FloatArray) -> float:
    """Standard error of a line's slope from the scatter of the labels' scores (sandwich)."""
    inverse = np.linalg.pinv((lines * information) @ lines.T)
    spread = inverse @ ((lines * np.square(score)) @ lines.T) @ inverse
    return math.sqrt(max(float(spread[1, 1]), 0.0))
