"""What the reference cases share: exact inputs, quadrature, transform inversion, and how a case is written down.

Every case runs at 60 digits (`Case.entry` sets and restores the precision). Inputs are IEEE doubles taken at their exact
binary value (`exact(0.1)` is 0.1000000000000000055...), so float code and reference see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath as mp

DIGITS = 60
# Beyond 17.5 sigma a normal density is below 1e-66.
REACH = mp.mpf("17.5")
Real = Any  # an mpf: mpmath has no type hints
Function = Callable[[Real], Real]


@dataclass(frozen=True)
class Case:
    """One entry of reference.json: what goes in, how it is computed, and how many digits are kept."""

    id: str
    metric: str
    inputs: dict[str, Any]
    compute: Callable[[dict[str, Any]], dict[str, Any]]
    method: str
    digits: int = 40
    question: str = "remeasured"
    note: str = ""

    def entry(self) -> dict[str, Any]:
        """The case with its exact values as decimal text."""
        with mp.workdps(DIGITS):
            values = as_text(self.compute(self.inputs), self.digits)
        found = {
            "id": self.id,
            "metric": self.metric,
            "question": self.question,
            "inputs": self.inputs,
            "exact": values,
            "method": self.method,
            "digits": self.digits,
        }
        return found | ({"note": self.note} if self.note else {})


def as_text(value: Any, digits: int) -> Any:
    """Nested numbers as decimal strings; Python floats and ints (arguments, not results) stay as they are."""
    if isinstance(value, dict):
        return {key: as_text(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(item, digits) for item in value]
    if isinstance(value, mp.mpf):
        return mp.nstr(value, digits, strip_zeros=True)
    return value


def exact(value: Any) -> Any:
    """A double, or nested lists of doubles, at the exact binary value."""
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return mp.mpf(value)


def total(values: Iterable[Real]) -> Real:
    return mp.fsum(values)


def normal_pdf(z: Real) -> Real:
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def normal_cdf(z: Real) -> Real:
    return mp.erfc(-z / mp.sqrt(2)) / 2


def integrate(function: Function, cuts: Sequence[Real]) -> Real:
    """Quadrature over consecutive pieces, with the error estimate checked."""
    value, error = mp.quad(function, list(cuts), error=True, maxdegree=9)
    if error > mp.mpf(10) ** -45 * max(1, abs(value)):
        raise ArithmeticError(f"quadrature reached only {mp.nstr(error, 3)} on {mp.nstr(cuts, 5)}")
    return value


def pieces(low: Real, high: Real, kinks: Iterable[Real], width: Real) -> list[Real]:
    """Cut [low, high] at the kinks, and further into pieces no longer than width."""
    ends = [low, *sorted(kink for kink in kinks if low < kink < high), high]
    cuts = [low]
    for start, stop in pairwise(ends):
        parts = max(1, int(mp.ceil((stop - start) / width)))
        cuts += [start + (stop - start) * part / parts for part in range(1, parts + 1)]
    return cuts


def normal_expectation(function: Function, mean: Real, sigma: Real, kinks: Iterable[Real] = ()) -> Real:
    """E function(mean + sigma Z), cut where the function is not smooth."""
    if sigma == 0:
        return function(mean)
    cuts = pieces(mean - REACH * sigma, mean + REACH * sigma, kinks, 4 * sigma)
    return integrate(lambda x: function(x) * normal_pdf((x - mean) / sigma) / sigma, cuts)


def normal_mean_var(loss: Function, mean: Real, sigma: Real, kinks: Iterable[Real] = ()) -> tuple[Real, Real]:
    """Mean and variance of loss(mean + sigma Z)."""
    kinks = list(kinks)
    first = normal_expectation(loss, mean, sigma, kinks)
    return first, normal_expectation(lambda x: (loss(x) - first) ** 2, mean, sigma, kinks)


def mean_of_independent(parts: Sequence[tuple[Real, Real]], weights: Sequence[Real] | None = None) -> dict[str, Real]:
    """Mean and variance of the weighted mean of independent losses, given (mean, variance) of each."""
    share = shares(len(parts), weights)
    return {
        "mean": total(w * part[0] for w, part in zip(share, parts, strict=True)),
        "var": total(w * w * part[1] for w, part in zip(share, parts, strict=True)),
    }


def shares(n: int, weights: Sequence[Real] | None) -> list[Real]:
    """Weights that sum to one."""
    if weights is None:
        return [mp.mpf(1) / n] * n
    return [w / total(weights) for w in weights]


def talbot(transform: Function, t: Real, nodes: int) -> Real:
    """Inverse Laplace transform at t on the fixed Talbot contour (Abate & Valko 2004): about 0.6 digits a node."""
    with mp.workdps(nodes + 10):
        r = mp.mpf(2) * nodes / (5 * t)
        value = transform(r) * mp.exp(r * t) / 2
        for k in range(1, nodes):
            theta = k * mp.pi / nodes
            cot = mp.cot(theta)
            s = r * theta * mp.mpc(cot, 1)
            slope = mp.mpc(1, theta + (theta * cot - 1) * cot)
            value += mp.re(mp.exp(t * s) * transform(s) * slope)
        return value * r / nodes


def cdf_from_laplace(transform: Function, x: Real) -> Real:
    """P(Q <= x) for Q >= 0 from E exp(-s Q); the order grows until two successive ones agree."""
    if x <= 0:
        return mp.mpf(0)
    previous = mp.inf
    for nodes in (84, 110, 150, 210, 300, 420):
        value = talbot(lambda s: transform(s) / s, x, nodes)
        if abs(value - previous) < mp.mpf(10) ** -42:
            return +value
        previous = value
    raise ArithmeticError(f"no two Talbot orders agree at x = {mp.nstr(x, 5)}")


def quantile_from_laplace(transform: Function, p: Real, scale: Real) -> Real:
    """x with P(Q <= x) = p for Q >= 0: bisection at 13 digits, then Newton steps at full precision."""

    def rough(x: Real) -> Real:
        return talbot(lambda s: transform(s) / s, x, 36)

    low, high = mp.mpf(0), scale
    while rough(high) < p:
        low, high = high, 2 * high
    while high - low > high * mp.mpf(10) ** -11:
        middle = (low + high) / 2
        low, high = (middle, high) if rough(middle) < p else (low, middle)
    x = (low + high) / 2
    slope = talbot(transform, x, 84)
    for _ in range(8):
        step = (cdf_from_laplace(transform, x) - p) / slope
        x -= step
        if abs(step) < mp.mpf(10) ** -40 * x:
            return x
    raise ArithmeticError(f"quantile {mp.nstr(p, 5)} not found")


def trapezoid_in_log(function: Function, low: int, high: int, step: Real) -> Real:
    """Integral of function(t) over t > 0 by the trapezoid rule in log t from exp(low) to exp(high).

    For a function analytic around the positive axis the error falls as exp(-2 pi^2 / step).
    """
    count = int((high - low) / step)
    nodes = (mp.exp(low + k * step) for k in range(count + 1))
    return step * total(t * function(t) for t in nodes)


def sign(x: Real) -> int:
    return int(x > 0) - int(x < 0)
