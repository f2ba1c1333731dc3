"""Variance of a mean loss under correlated normal errors, for any loss.

With standardised errors z and normalised Hermite polynomials h_m, a loss is the series f_i(z) = sum_m c_im h_m(z), and
(Mehler) Cov(f_i, f_j) = sum_{m >= 1} rho_ij^m c_im c_jm. The m = 1 term is the delta method; losses with kinks need
more. Each label's own variance is known exactly, so the series serves for pairs of different labels only.

With shared shifts rho_ij = u_i' u_j, and rho^m is a product of powers of the components of u: no pairs are formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import NO_ERROR
from scorebars.errors.normal import normal_density
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments.pair import Moments

_ORDER = 40
_FEATURES = 400
"""Products of shifts that are summed, about."""
_EDGES = np.array([-10.0, -5.0, -2.5, 0.0, 2.5, 5.0, 10.0])
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_BLOCK = 1024


def correlated_variance_of(loss: Loss, data: Measured, own: Moments) -> float:
    """Variance of the weighted mean loss; `own` are the moments of each label alone."""
    errors, a = data.errors, data.shares
    assert isinstance(errors, Normal)
    y, p = np.asarray(data.y, float), np.asarray(data.p, float)
    sigma = np.broadcast_to(errors.total, y.shape)
    counts = np.flatnonzero((sigma > NO_ERROR) & (a > 0))
    alone = float(np.sum(np.square(a) * own.variance, where=a > 0))
    if counts.size < 2 or not math.isfinite(alone):
        return alone
    errors, y, p, a, sigma = errors[counts], y[counts], p[counts], a[counts], sigma[counts]
    if errors.cov is not None:
        rho = errors.cov / np.multiply.outer(sigma, sigma)
        return max(alone + _from_matrix(_coefficients(loss, sigma, y, p, _ORDER), a, rho), 0.0)
    assert errors.shared is not None
    u = errors.shared / sigma
    order = _affordable_order(len(u))
    return max(alone + _from_shifts(_coefficients(loss, sigma, y, p, order), a, u), 0.0)


def _affordable_order(shifts: int) -> int:
    order = 2
    while order < _ORDER and math.comb(order + 1 + shifts, shifts) <= _FEATURES:
        order += 1
    return order


def _coefficients(loss: Loss, sigma: FloatArray, y: FloatArray, p: FloatArray, order: int) -> FloatArray:
    """E f(z) h_m(z) for m = 1 ... order, shape (order, n), by Gauss's rule between the kinks."""
    out = np.empty((order, len(y)))
    for start in range(0, len(y), _BLOCK):
        part = slice(start, start + _BLOCK)
        z, weight = _nodes(loss, sigma[part], y[part], p[part])
        with np.errstate(over="ignore", invalid="ignore"):
            f = loss(y[part] + sigma[part] * z, p[part]) - loss(y[part], p[part])
            mass = np.where(weight > 0, weight * f, 0.0)
        before, h = np.zeros_like(z), np.ones_like(z)
        for m in range(order):
            before, h = h, (z * h - math.sqrt(m) * before) / math.sqrt(m + 1)
            out[m, part] = np.sum(mass * h, axis=0)
    return out


def _nodes(loss: Loss, sigma: FloatArray, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    cuts = np.clip((loss.kinks(p) - y) / sigma, _EDGES[0], _EDGES[-1])
    ends = np.sort(np.concatenate([np.broadcast_to(_EDGES[:, None], (_EDGES.size, len(y))), cuts]), axis=0)
    half = 0.5 * np.diff(ends, axis=0)
    z = (0.5 * (ends[1:] + ends[:-1]))[:, None] + _POINTS[:, None] * half[:, None]
    weight = _WEIGHTS[:, None] * half[:, None] * normal_density(z)
    return z.reshape(-1, len(y)), weight.reshape(-1, len(y))


def _from_matrix(c: FloatArray, a: FloatArray, rho: FloatArray) -> float:
    """sum over pairs of different labels of a_i a_j sum_m rho_ij^m c_im c_jm."""
    rho = np.clip(rho, -1.0, 1.0)
    np.fill_diagonal(rho, 0.0)
    power, total = np.ones_like(rho), 0.0
    for row in c * a:
        power *= rho
        total += float(row @ power @ row)
    return total


def _from_shifts(c: FloatArray, a: FloatArray, u: FloatArray) -> float:
    """The same with rho_ij = u_i' u_j, by the powers of the components of u."""
    total, square = 0.0, np.square(u).sum(axis=0)
    for m, row in enumerate(c * a, start=1):
        for multiplicity, product in _products(u, m):
            total += multiplicity * float(np.sum(row * product)) ** 2
        total -= float(np.sum(np.square(row) * square**m))
    return total


def _products(u: FloatArray, m: int) -> Iterator[tuple[float, FloatArray]]:
    """All products of m components of u, with the number of orders in which each can be written."""
    for choice in combinations_with_replacement(range(len(u)), m):
        counts = [choice.count(j) for j in range(len(u))]
        multiplicity = math.factorial(m) / math.prod(math.factorial(k) for k in counts)
        product = np.ones(u.shape[1])
        for component, k in zip(u, counts, strict=True):
            if k:
                product = product * component**k
        yield multiplicity, product
