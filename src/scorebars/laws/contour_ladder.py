"""From a cumulant generating function to probabilities, by contours through its saddlepoints.

For a law with mean 0 and variance 1 whose K(t) = log E exp(tX) exists for all real t,

    P(X > x)  = (1/pi) Im int_0^inf exp(K(t) - t x) t'(y)/t dy     on a contour t(y) crossing the real axis at t0 > 0,
    P(X <= x) = minus the same for t0 < 0,    density = (1/pi) Im int_0^inf exp(K(t) - t x) t'(y) dy.

Any t0 is right, but near the saddlepoint K'(t0) = x nothing cancels. The contour does not depend on x, so K is
computed once on each of a ladder of contours, t0 one local standard deviation apart, and every x uses the
nearest rung: a probability then costs a sum over some hundred stored nodes. The contours bend to the right,
t = t0 + iy + (sqrt(y^2 + c^2) - c)/2, because a law that begins with a step (few labels) has a K that falls only
logarithmically along the imaginary direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.special import log_ndtr

from scorebars.laws.folded_cgf import ComplexArray, Expansion, FoldedCgf

_BEND, _KNEE = 0.5, 3.0
_STEP = 1.0 / 6.0  # of a local standard deviation: the trapezoid error is exp(-12 pi) at the pole t = 0
_CENTRAL_REACH = 3.5  # rungs this far from the centre (in standard deviations) share one expansion
_EMPTY = -760.0  # exp of this is zero
_MOST_NODES = 200_000
_FEW_STEPS = 12
_CAUTION = (1.0, 0.99, 0.6, 0.35, 0.2, 0.1, 0.0)  # how small a label must be for the series, tried in turn


@dataclass(frozen=True)
class Rung:
    """One contour, good for all x near K'(t0)."""

    t0: float
    x0: float
    log_height: float  # K(t0) - t0 x0
    spread: float  # sqrt(K''(t0)): how far x may be from x0
    curvature: float

    @property
    def log_tail(self) -> float:
        """Logarithm of about the tail beyond x0, by the approximation of Barndorff-Nielsen."""
        w, u = math.sqrt(-2.0 * self.log_height), abs(self.t0) * self.spread
        return float(log_ndtr(-w - math.log(u / w) / w))


class ContourLadder:
    """Probabilities, densities and quantiles of the law with the given generating function (mean 0, variance 1)."""

    def __init__(self, cgf: FoldedCgf) -> None:
        self._cgf = cgf
        self._centre = cgf.expand(0.0, 1.0, reach=_CENTRAL_REACH)
        self._rungs: dict[int, list[Rung]] = {1: [], -1: []}
        self._nodes: dict[float, tuple[ComplexArray, ComplexArray, float]] = {}

    def tail(self, x: float) -> tuple[float, float]:
        """The tail beyond x on its own side of the mean (P(X > x) for x >= 0, P(X <= x) for x < 0) and the density."""
        side = 1 if x >= 0 else -1
        rung = self._nearest(x, side)
        if rung is None:
            return 0.0, 0.0
        t, log_weight, step = self._contour(rung)
        with np.errstate(under="ignore"):
            terms = np.exp(log_weight - t * x)
        probability = side * step / math.pi * float(np.sum((terms / t).imag))
        density = step / math.pi * float(np.sum(terms.imag))
        return min(max(probability, 0.0), 1.0), max(density, 0.0)

    def ppf(self, q: float) -> float:
        """x with P(X <= x) = q."""
        side, p = (-1, q) if q < 0.5 else (1, 1.0 - q)
        x = self._rough_quantile(p, side)
        found = None if x is None else self._newton(x, p, side)
        if found is not None:
            return found
        above = self.tail(0.0)[0]
        return self._quantile(q, -1) if q < 1.0 - above else self._quantile(1.0 - q, 1)

    def _rough_quantile(self, p: float, side: int) -> float | None:
        """About where the tail holds p, by the saddlepoint approximation at the rungs; None if not beyond the first one.

        No contour is needed for it, and the two ends of an interval take one each instead of all up to them.
        """
        inner: tuple[float, float] | None = None
        for k in count():
            rung = self._rung(k, side)
            if rung is None:
                break
            outer = rung.x0, rung.log_tail - math.log(p)
            if outer[1] < 0:
                if inner is None:
                    break
                share = inner[1] / (inner[1] - outer[1])
                return inner[0] + share * (outer[0] - inner[0])
            inner = outer
        return None

    def _newton(self, x: float, p: float, side: int) -> float | None:
        """The quantile near x, by Newton steps on log(tail), nearly straight in the tails; None where they lead astray."""
        for _ in range(_FEW_STEPS):
            probability, density = self.tail(x)
            if not (density > 0 < probability):
                return None
            miss = math.log(probability / p)
            new = x + side * miss * probability / density
            if abs(miss) < 1e-9:  # the next error is the square of this one
                return new
            if side * new <= 0:
                return None
            x = new
        return None

    def _quantile(self, p: float, side: int) -> float:
        """x on the given side of the mean beyond which the tail holds p (p at most the tail at 0)."""
        outer = inner = 0.0
        k = 0
        while True:
            rung = self._rung(k, side)
            if rung is None:
                outer = math.inf * side
                break
            outer = rung.x0
            if self.tail(outer)[0] < p:
                break
            inner, k = outer, k + 1
        if not math.isfinite(outer):
            return inner
        # Newton on log(tail), kept inside the bracket by bisection.
        low, high = min(inner, outer), max(inner, outer)
        x = 0.5 * (low + high)
        for _ in range(200):
            probability, density = self.tail(x)
            if (probability < p) == (side > 0):
                high = x
            else:
                low = x
            miss = math.log(probability / p) if density > 0 < probability else math.inf
            new = x + side * miss * probability / density if math.isfinite(miss) else x
            if abs(miss) < 1e-9:
                return new
            x = new if low < new < high else 0.5 * (low + high)
            if not low < x < high:
                break
        return x

    def _nearest(self, x: float, side: int) -> Rung | None:
        """Of the two rungs around x the nearer one; None where the tail is zero to double precision."""
        inner: Rung | None = None
        k = 0
        while True:
            outer = self._rung(k, side)
            if outer is None:
                return inner if inner is not None and abs(x - inner.x0) <= inner.spread else None
            if side * (outer.x0 - x) >= 0:
                if inner is None or abs(x - outer.x0) * inner.spread < abs(x - inner.x0) * outer.spread:
                    return outer
                return inner
            inner, k = outer, k + 1

    def _rung(self, k: int, side: int) -> Rung | None:
        rungs = self._rungs[side]
        while len(rungs) <= k:
            if rungs and rungs[-1].log_height < _EMPTY:
                return None
            if len(rungs) > 1 and rungs[-1].x0 == rungs[-2].x0:  # the lower end of the support, to rounding
                return None
            curvature = rungs[-1].curvature if rungs else 1.0
            t0 = (rungs[-1].t0 if rungs else 0.0) + side / math.sqrt(curvature)
            value, slope, second = self._expansion(t0, curvature).derivatives(t0)
            rungs.append(Rung(t0, slope, value - t0 * slope, math.sqrt(second), second))
        return rungs[k]

    def _expansion(self, t0: float, curvature: float, caution: float = 1.0) -> Expansion:
        if caution == 1.0 and abs(t0) <= _CENTRAL_REACH:
            return self._centre
        return self._cgf.expand(t0, curvature, caution=caution)

    def _contour(self, rung: Rung) -> tuple[ComplexArray, ComplexArray, float]:
        """Nodes t, log of exp(K(t)) t'(y), and the step; kept for the next x."""
        if rung.t0 not in self._nodes:
            for caution in _CAUTION:
                expansion = self._expansion(rung.t0, rung.curvature, caution)
                found = self._integrate(rung, expansion)
                if found is not None:
                    self._nodes[rung.t0] = found
                    break
        return self._nodes[rung.t0]

    def _integrate(self, rung: Rung, expansion: Expansion) -> tuple[ComplexArray, ComplexArray, float] | None:
        """Nodes up to where the integrand is negligible; None if the expansion is not good enough on the way."""
        unit = 1.0 / rung.spread
        step = _STEP * min(unit, abs(rung.t0))
        knee = _KNEE * unit
        # of the x that use this rung the one whose integrand falls most slowly
        low_x = 0.0 if rung is self._rung(0, 1) else rung.x0 - 0.6 * rung.spread
        nodes, logs = [], []
        largest = error = 0.0
        block = min(max(32, 2048 // (1 + expansion.a.size)), 128)
        for start in range(0, _MOST_NODES, block):
            y = (np.arange(start, start + block) + 0.5) * step
            root = np.hypot(y, knee)
            t = rung.t0 + _BEND * (root - knee) + 1j * y
            log_weight = expansion(t) + np.log(_BEND * y / root + 1j)
            with np.errstate(under="ignore", over="ignore"):
                size = np.exp(np.minimum((log_weight - t * low_x).real - rung.log_height, 700.0)) / np.abs(t)
                error += float(np.sum(size * np.minimum(expansion.remainder(t), 1.0)))
            nodes.append(t)
            logs.append(log_weight)
            largest = max(largest, float(np.max(size)))
            if error > 1e-13 * largest / _STEP:
                return None
            if size[-1] < 1e-17 * largest:
                break
        return np.concatenate(nodes), np.concatenate(logs), step
