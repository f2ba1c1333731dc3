"""How large can the true mean squared error be, given the observed one?

The observed mean square q = sum w (D_i + s_i Z_i)^2 / sum w holds the true deviations D and label errors of
standard deviation s. With D_i^2 = theta c_i the distribution of q depends on theta alone, and shifts up with it: the
interval holds the theta that make neither a smaller nor a larger q too improbable,

    P(Q >= q | low) = P(Q <= q | high) = (1 - level) / 2.

A q below what label errors alone make of it (its median without D) is improbable whatever theta is. The high end is then
where it is (1 - level) times as probable as for theta = 0, so that it is above 0 always.

With constant s and c = 1 this is the exact inversion of the non-central chi-square in its non-centrality.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.quadratic.cgf import DiagonalCGF
from scorebars.laws.quadratic.contour import tails
from scorebars.laws.quadratic.label_nodes import DEPTH, compress

_SMALLEST = 1e-250


def noncentrality_interval(
    observed: float,
    sigma: FloatArray,
    level: float = 0.95,
    *,
    weight: FloatArray | None = None,
    shape: FloatArray | None = None,
) -> tuple[float, float]:
    """Interval for theta = sum w D^2 / sum w from the observed mean square.

    `sigma` (n,) label standard deviations, `shape` (n,) c with weighted mean 1 (default: all 1). The low end is 0
    where q is no larger than label errors alone make it; the high end is above 0 even where q is too small for them.
    """
    total = float(sigma.size) if weight is None else float(np.sum(weight))

    def block(part: slice) -> tuple[FloatArray, FloatArray]:
        share = np.full(sigma[part].size, 1.0 / total) if weight is None else weight[part] / total
        b2 = share if shape is None else shape[part] * share
        return sigma[part] ** 2 * share, np.stack([np.ones(share.size), b2])

    nodes, columns, certain = compress(sigma.size, block)
    return interval_from_nodes(observed, nodes, *columns, fixed=float(certain[1]), level=level)


def interval_from_nodes(
    observed: float, nodes: FloatArray, count: FloatArray, b2: FloatArray, *, fixed: float, level: float
) -> tuple[float, float]:
    """The same from compressed labels: variances `nodes`, how many and which shares `b2` of theta each has.

    `fixed` is the share of theta that labels without error hold.
    """
    if nodes.size == 0:
        return observed, observed

    def both(theta: float) -> tuple[float, float]:
        rest = observed - theta * fixed
        return (0.0, 1.0) if rest <= 0 else tails(DiagonalCGF(count, nodes, theta * b2, depth=DEPTH), rest)

    tail = 0.5 * (1.0 - level)
    # start where q is 40 standard deviations away, or at 0: further off, compressed nodes are not exact
    spread = math.sqrt(float(np.sum(2.0 * count * nodes * nodes + 4.0 * observed * b2 * nodes)))
    start = max(observed - float(np.sum(count * nodes)) - 40.0 * spread, 0.0)
    low = 0.0
    below, above = both(start)
    if above < tail:
        low = _solve(lambda theta: both(theta)[1], tail, start, observed)
    tail = min(tail, 2.0 * tail * below) if start == 0 else tail
    if tail < _SMALLEST:
        # so small a q that its probability falls like exp(-sum D^2 / 2 s^2)
        return low, -2.0 * math.log1p(-level) / (float(np.sum(b2 / nodes)) + 2.0 * fixed / max(observed, _SMALLEST))
    reach = observed
    while both(reach)[0] > tail:
        reach *= 2.0
    return low, _solve(lambda theta: both(theta)[0], tail, low, reach)


def _solve(probability: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where the probability meets the target, on the scale of normal quantiles on which it is nearly straight."""

    def miss(theta: float) -> float:
        return float(ndtri(max(probability(theta), 1e-300))) - goal

    goal = float(ndtri(target))
    if miss(low) * miss(high) >= 0:  # closer together than rounding
        return low
    return float(brentq(miss, low, high, xtol=1e-14 * high, rtol=1e-14))
