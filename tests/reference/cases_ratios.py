"""Ratios of quadratic forms: R2, explained variance, Pearson correlation, concordance.

With A and B > 0 polynomials of normal labels, E(A/B) = int E[A e^{-tB}] dt and E(A^2/B^2) = int t E[A^2 e^{-tB}] dt. The
weight e^{-tB} times a normal density is again a normal density, so each integrand is a moment of a tilted normal law;
the integral over t is a trapezoid sum in log t at two steps. Distribution functions: A/B <= r is A - rB <= 0, a
quadratic form, by Talbot inversion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath as mp
from cases_squares import P7, Y7
from high_precision import Case, Real, cdf_from_laplace, exact, total, trapezoid_in_log

# e^{-t c} is analytic in log t within pi/2 of the axis: the error falls as exp(-pi^2 / step).
STEPS = ("0.15", "0.125")
Vector = list[Real]
Moment = Callable[[Vector, "Covariance"], Real]


def dot(a: Vector, b: Vector) -> Real:
    return total(x * y for x, y in zip(a, b, strict=True))


@dataclass(frozen=True)
class Covariance:
    """diag(w) - k w w', the inverse of a diagonal matrix plus a multiple of the matrix of ones."""

    w: Vector
    k: Real

    def times(self, v: Vector) -> Vector:
        shift = self.k * dot(self.w, v)
        return [w * (x - shift) for w, x in zip(self.w, v, strict=True)]

    def trace(self) -> Real:
        return total(w - self.k * w * w for w in self.w)

    def trace_of_square(self) -> Real:
        squares = total(w * w for w in self.w)
        return squares - 2 * self.k * total(w**3 for w in self.w) + (self.k * squares) ** 2


@dataclass(frozen=True)
class Quadratic:
    """y'(a I + b 11')y + 2 v'y + c: every sum of squares and squared sum that occurs here."""

    a: Real
    b: Real
    v: Vector
    c: Real

    def minus(self, other: Quadratic, factor: Real) -> Quadratic:
        v = [x - factor * y for x, y in zip(self.v, other.v, strict=True)]
        return Quadratic(self.a - factor * other.a, self.b - factor * other.b, v, self.c - factor * other.c)

    def times(self, y: Vector) -> Vector:
        shift = self.b * total(y)
        return [self.a * x + shift for x in y]

    def at(self, y: Vector) -> Real:
        return dot(y, self.times(y)) + 2 * dot(self.v, y) + self.c

    def mean(self, centre: Vector, covariance: Covariance) -> Real:
        """Expectation under N(centre, covariance)."""
        of_ones = total(covariance.times([mp.mpf(1)] * len(centre)))
        return self.at(centre) + self.a * covariance.trace() + self.b * of_ones

    def second(self, centre: Vector, covariance: Covariance) -> Real:
        """Expectation of the square: squared mean + 2 tr(ASAS) + 4 slope'S slope."""
        column = covariance.times([mp.mpf(1)] * len(centre))
        of_ones, of_column = total(column), dot(column, column)
        trace = self.a**2 * covariance.trace_of_square() + 2 * self.a * self.b * of_column + (self.b * of_ones) ** 2
        slope = [x + y for x, y in zip(self.times(centre), self.v, strict=True)]
        return self.mean(centre, covariance) ** 2 + 2 * trace + 4 * dot(slope, covariance.times(slope))


class Labels:
    """Normal labels with independent errors, all greater than zero."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.mean, self.prediction, self.sigma = (exact(inputs[key]) for key in ("y", "y_pred", "sigma"))
        self.size = len(self.sigma)
        self.precision = [1 / s**2 for s in self.sigma]

    def tilted(self, weight: Quadratic, t: Real) -> tuple[Real, Vector, Covariance]:
        """E e^{-tB}, and centre and covariance of the normal law with that weight (Sherman-Morrison)."""
        w = [1 / (p + 2 * t * weight.a) for p in self.precision]
        bend = 1 + 2 * t * weight.b * total(w)
        covariance = Covariance(w, 2 * t * weight.b / bend)
        pull = [p * m - 2 * t * v for p, m, v in zip(self.precision, self.mean, weight.v, strict=True)]
        centre = covariance.times(pull)
        start = total(p * m * m for p, m in zip(self.precision, self.mean, strict=True))
        exponent = (dot(centre, pull) - start) / 2 - t * weight.c
        return mp.sqrt(mp.fprod(w) * mp.fprod(self.precision) / bend) * mp.exp(exponent), centre, covariance

    def integral(self, weight: Quadratic, moment: Moment, power: Real, top: int) -> Real:
        """(1 / Gamma(p)) int t^(p-1) E[moment e^{-tB}] dt = E[moment / B^p], at two steps."""

        def integrand(t: Real) -> Real:
            scale, centre, covariance = self.tilted(weight, t)
            return t ** (power - 1) * scale * moment(centre, covariance)

        # exp(-70) is enough at either end; near t = 0 the integrand in log t falls as t^p.
        bottom = -int(70 / power)
        coarse, fine = (trapezoid_in_log(integrand, bottom, top, mp.mpf(step)) for step in STEPS)
        if abs(coarse - fine) > mp.mpf(10) ** -26 * abs(fine):
            raise ArithmeticError(f"log-t steps differ by {mp.nstr(abs(coarse - fine), 3)}")
        return fine / mp.gamma(power)

    def form_below_zero(self, form: Quadratic) -> Real:
        """P(y'Ay + 2v'y + c <= 0) for a form without negative eigenvalues (a flat direction must not matter at all)."""
        with mp.workdps(140):
            root = mp.diag(self.sigma)
            values, vectors = mp.eigsy(root * (form.a * mp.eye(self.size) + form.b * mp.ones(self.size)) * root)
            slope = [x + y for x, y in zip(form.times(self.mean), form.v, strict=True)]
            tilt = vectors.T * (root * mp.matrix(slope))
            flat = max(values) * mp.mpf(10) ** -100
            if any(v < -flat or (v < flat and abs(h) > flat) for h, v in zip(tilt, values, strict=True)):
                raise ArithmeticError("the form is not bounded below")
            # The form at mean + sigma z is sum l (z + h/l)^2 + constant - sum h^2 / l.
            parts = [(v, h * h / v) for h, v in zip(tilt, values, strict=True) if v > flat]
            rest = total(b2 for _, b2 in parts) - form.at(self.mean)

        def laplace(s: Real) -> Real:
            denominators = [1 + 2 * s * v for v, _ in parts]
            exponent = total(-s * b2 / den for (_, b2), den in zip(parts, denominators, strict=True))
            return mp.exp(exponent) / mp.fprod(mp.sqrt(den) for den in denominators)

        return cdf_from_laplace(laplace, rest)


def centred(values: Vector) -> Vector:
    middle = total(values) / len(values)
    return [x - middle for x in values]


def residual_and_total(labels: Labels, around_mean: bool) -> tuple[Quadratic, Quadratic]:
    """Squared residuals (around their mean or not) and squared deviations of the labels, as quadratic forms."""
    ones = -mp.mpf(1) / labels.size
    prediction = centred(labels.prediction) if around_mean else labels.prediction
    residual = Quadratic(
        mp.mpf(1), ones if around_mean else mp.mpf(0), [-x for x in prediction], dot(prediction, prediction)
    )
    return residual, Quadratic(mp.mpf(1), ones, [mp.mpf(0)] * labels.size, mp.mpf(0))


def explained(inputs: dict[str, Any], around_mean: bool, cdf: list[float]) -> dict[str, Any]:
    """1 - A/B: R2, or with residuals around their mean the explained variance."""
    labels = Labels(inputs)
    residual, spread = residual_and_total(labels, around_mean)
    # The integrand falls as t^(p - (M-1)/2).
    first = labels.integral(spread, residual.mean, mp.mpf(1), top=int(140 / (labels.size - 3)) + 10)
    second = labels.integral(spread, residual.second, mp.mpf(2), top=int(140 / (labels.size - 5)) + 10)
    found: dict[str, Any] = {"mean": 1 - first, "var": second - first**2}
    if cdf:
        # 1 - A/B >= x  is  A - (1 - x) B <= 0.
        forms = [(x, residual.minus(spread, 1 - exact(x))) for x in cdf]
        found["cdf"] = [{"x": x, "p": 1 - labels.form_below_zero(form)} for x, form in forms]
    return found


def line_over_form(labels: Labels, direction: Vector, form: Quadratic, power: Real, top: int) -> dict[str, Any]:
    """Mean and variance of direction'y / B^p."""

    def line(centre: Vector, _: Covariance) -> Real:
        return dot(direction, centre)

    def line_squared(centre: Vector, covariance: Covariance) -> Real:
        return dot(direction, centre) ** 2 + dot(direction, covariance.times(direction))

    mean = labels.integral(form, line, power, top)
    return {"mean": mean, "var": labels.integral(form, line_squared, 2 * power, top) - mean**2}


def pearson(inputs: dict[str, Any]) -> dict[str, Any]:
    """r = L / sqrt(B), L along the centred prediction of length one."""
    labels = Labels(inputs)
    _, spread = residual_and_total(labels, around_mean=True)
    direction = centred(labels.prediction)
    length = mp.sqrt(dot(direction, direction))
    return line_over_form(
        labels, [x / length for x in direction], spread, mp.mpf(1) / 2, top=int(140 / (labels.size - 3)) + 20
    )


def concordance(inputs: dict[str, Any]) -> dict[str, Any]:
    """2 s_xy / (s_x^2 + s_y^2 + (mx - my)^2) with 1/M moments: a line over a quadratic form."""
    labels = Labels(inputs)
    size, prediction = labels.size, labels.prediction
    middle = total(prediction) / size
    deviations = centred(prediction)
    # s_y^2 + my^2 is the mean square of the labels.
    below = Quadratic(
        mp.mpf(1) / size, mp.mpf(0), [-middle / size] * size, dot(deviations, deviations) / size + middle**2
    )
    return line_over_form(labels, [2 * x / size for x in deviations], below, mp.mpf(1), top=12)


SEVEN = {"y": Y7, "y_pred": P7, "sigma": [0.25, 0.5, 0.75, 0.5, 0.25, 0.5, 1.0]}
TEN = {
    "y": [0.2, 1.1, -0.7, 2.4, 0.0, 1.9, -1.3, 0.6, 3.1, -0.2],
    "y_pred": [0.0, 1.0, -0.5, 2.0, 0.3, 1.5, -1.0, 0.9, 2.8, -0.6],
    "sigma": [0.1, 0.4, 0.3, 0.6, 0.2, 0.5, 0.25, 0.15, 0.7, 0.35],
}
RATIO_METHOD = (
    "E(A/B)=int E[A e^{-tB}]dt with tilted normals, trapezoid in log t at two steps; cdf: quadratic form, Talbot"
)
LIN = "Lin's CCC with 1/M moments: 2 s_xy/(s_x^2+s_y^2+(mx-my)^2)"

CASES = [
    Case("r2_M7", "r2", SEVEN, partial(explained, around_mean=False, cdf=[0.25, 0.5, 0.75]), RATIO_METHOD, digits=24),
    Case("r2_M10", "r2", TEN, partial(explained, around_mean=False, cdf=[0.5, 0.8, 0.9]), RATIO_METHOD, digits=24),
    Case(
        "explained_variance_M7",
        "explained_variance",
        SEVEN,
        partial(explained, around_mean=True, cdf=[0.25, 0.5, 0.75]),
        RATIO_METHOD,
        24,
    ),
    Case("pearson_M7", "pearson", SEVEN, pearson, RATIO_METHOD, digits=24),
    Case("pearson_M10", "pearson", TEN, pearson, RATIO_METHOD, digits=24),
    Case("ccc_M7", "concordance", SEVEN, concordance, RATIO_METHOD, digits=24, note=LIN),
    Case("ccc_M10", "concordance", TEN, concordance, RATIO_METHOD, digits=24, note=LIN),
]
