"""Variance of a mean loss when the errors of the labels are correlated.

Each label's own variance is known. What correlations add is a sum over pairs of labels. With standardised errors z and
normalised Hermite polynomials h_m, the loss of label i is the series f_i(z) = sum_m c_im h_m(z), and (Mehler)

    Cov(f_i, f_j) = sum_{m >= 1} rho_ij^m c_im c_jm.

The first term is the delta method; losses with kinks need more. With shared shifts rho_ij = u_i' u_j, and rho^m is a
product of powers of the components of u: no pairs are formed.

For absolute errors the series converges slowly where |rho| is near 1. There the covariance of a pair is closed. In
standard units (X = U + h, Y = V + k with h, k >= 0, correlation rho, q = sqrt(1 - rho^2); a negative h turns the sign
of rho)

    Cov(|X|, |Y|) = rho (1 - 2Q(h) - 2Q(k)) + 4 P - g(h) g(k),    P = E (U - h)_+ (V - k)_+
    P = (hk + rho) L + q^2 phi2(h, k) - h phi(k) Q((h - rho k)/q) - k phi(h) Q((k - rho h)/q)

with L = P(U > h, V > k) by Owen's T function. Shared shifts s need no pairs where there is one or labels are many: given s
the labels are independent, so that Var = E[Var given s] + Var(m(s)) with m(s) = sum a_i E|delta_i + shared_i' s + sigma_i Z|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.special import erf, ndtr, ndtri, owens_t

from scorebars.arrays import FloatArray
from scorebars.errors.continuous import NO_ERROR, normal_density
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.numerics.special import exp_minus_half_square, folded_mean, g, g2, v

_ORDER = 40
"""Terms of the series of a loss without closed pairs."""
_PRODUCTS = 400
"""Products of shifts that are summed, about."""
_EDGES = np.array([-10.0, -5.0, -2.5, 0.0, 2.5, 5.0, 10.0])
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LABELS = 1024
"""Labels whose coefficients are integrated together."""
_PAIRS = 1 << 16
"""Pairs at a time."""
_PAIRS_UP_TO = 4000
"""More labels than this have too many pairs."""
_FEW_LABELS = 256
"""With one shared shift, so few pairs are cheaper than nodes."""
_NODES_TIMES_LABELS = 30_000_000


def correlated_variance(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of the loss under correlated normal errors."""
    errors, d = data.errors.normal, data.residual
    assert errors is not None
    if isinstance(loss, SquaredError):
        return errors.quadratic_terms(data.shares, d).variance
    if isinstance(loss, SignedError):
        return errors.variance_of_sum(d, data.shares)
    if isinstance(loss, AbsoluteError):
        if errors.cov is not None:
            return variance_correlated(d, errors.cov, data.weight)
        assert errors.shared is not None
        return variance_shared(d, errors.sigma, errors.shared, data.weight).variance
    return variance_by_series(loss, data)


# any loss --------------------------------------------------------------------------------------


def variance_by_series(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of any loss, by its Hermite series."""
    errors, a = data.errors.normal, data.shares
    assert errors is not None
    y, p = np.asarray(data.y, float), np.asarray(data.p, float)
    sigma = np.broadcast_to(errors.total, y.shape)
    counts = np.flatnonzero((sigma > NO_ERROR) & (a > 0))
    alone = float(np.sum(np.square(a) * label_moments(loss, errors, y, p).variance, where=a > 0))
    if counts.size < 2 or not math.isfinite(alone):
        return alone
    errors, y, p, a, sigma = errors[counts], y[counts], p[counts], a[counts], sigma[counts]
    if errors.cov is not None:
        rho = np.clip(errors.cov / np.multiply.outer(sigma, sigma), -1.0, 1.0)
        np.fill_diagonal(rho, 0.0)
        c = _coefficients(loss, sigma, y, p, _ORDER) * a
        return max(alone + _mehler(c, c, rho), 0.0)
    assert errors.shared is not None
    c = _coefficients(loss, sigma, y, p, _affordable_order(len(errors.shared))) * a
    return max(alone + _mehler_of_shifts(c, errors.shared / sigma), 0.0)


def _coefficients(loss: Loss, sigma: FloatArray, y: FloatArray, p: FloatArray, order: int) -> FloatArray:
    """E f(z) h_m(z) for m = 1 ... order, shape (order, n), by Gauss's rule between the kinks."""
    out = np.empty((order, len(y)))
    for start in range(0, len(y), _LABELS):
        part = slice(start, start + _LABELS)
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


def _mehler(rows: FloatArray, columns: FloatArray, rho: FloatArray) -> float:
    """sum_ij sum_m rho_ij^m rows_mi columns_mj; `einsum`, as the threads of BLAS cost more than they give at this size."""
    power, total = np.ones_like(rho), 0.0
    for row, column in zip(rows, columns, strict=True):
        power *= rho
        total += float(np.sum(row * np.einsum("ij,j->i", power, column)))
    return total


def _affordable_order(shifts: int) -> int:
    order = 2
    while order < _ORDER and math.comb(order + 1 + shifts, shifts) <= _PRODUCTS:
        order += 1
    return order


def _mehler_of_shifts(c: FloatArray, u: FloatArray) -> float:
    """The same over pairs of different labels with rho_ij = u_i' u_j, by the powers of the components of u."""
    total, square = 0.0, np.square(u).sum(axis=0)
    for m, row in enumerate(c, start=1):
        for multiplicity, product in _products(u, m):
            total += multiplicity * float(np.sum(row * product)) ** 2
        total -= float(np.sum(np.square(row) * square**m))
    return total


def _products(u: FloatArray, m: int) -> Iterator[tuple[float, FloatArray]]:
    """All products of m components of u, with the number of orders in which each can be written."""
    for choice in combinations_with_replacement(range(len(u)), m):
        counts = [choice.count(j) for j in range(len(u))]
        multiplicity = math.factorial(m) / math.prod(math.factorial(k) for k in counts)
        yield multiplicity, math.prod((u[j] ** k for j, k in enumerate(counts) if k), start=np.ones(u.shape[1]))


# absolute errors -------------------------------------------------------------------------------


class SharedMoments(NamedTuple):
    """Mean and variance of a weighted mean of absolute errors."""

    mean: float
    variance: float


def variance_correlated(delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> float:
    """Variance of sum w_i |delta_i + e_i| / sum w_i for e ~ N(0, cov); rows of zeros are exact labels."""
    sd = np.sqrt(np.diagonal(cov))
    random = np.flatnonzero(sd > 0)
    if random.size == 0:
        return 0.0
    a, delta, sd = _shares(weight, delta.size)[random], delta[random], sd[random]
    unit = float(np.max(sd))  # keeps squares of very small or large errors in range

    def correlations(start: int, stop: int) -> FloatArray:
        return np.asarray(cov[np.ix_(random[start:stop], random[start:])] / sd[start:stop, None] / sd[start:])

    with np.errstate(over="ignore"):
        z = delta / sd
    return _variance_by_pairs(a * (sd / unit), z, correlations) * unit * unit


def variance_shared(
    delta: FloatArray, sigma: FloatArray | float, shared: FloatArray, weight: FloatArray | None = None
) -> SharedMoments:
    """Mean and variance of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i; `shared` is (k, n), s shared by all."""
    a, shared = _shares(weight, delta.size), principal_shifts(np.atleast_2d(shared))
    total = np.sqrt(np.square(sigma) + np.sum(np.square(shared), axis=0))
    mean = float(np.sum(a * folded_mean(delta, total)))
    unit = float(np.max(total, initial=0.0))
    random = np.flatnonzero(total > 0)
    if unit == 0.0:
        return SharedMoments(mean, 0.0)
    sigma = np.broadcast_to(sigma, delta.shape)[random] / unit
    a, delta, shared, total = a[random], delta[random] / unit, shared[:, random] / unit, total[random] / unit
    with np.errstate(over="ignore"):
        z = delta / total
    u, (k, n) = shared / total, shared.shape
    if k == 0:
        return SharedMoments(mean, float(np.sum(np.square(a * sigma) * v(z))) * unit**2)
    points = _shift_points(delta, sigma, shared)
    if n <= _FEW_LABELS or points is None:
        variance = _variance_by_pairs(a * total, z, lambda start, stop: u[:, start:stop].T @ u[:, start:])
    else:
        variance = _variance_at_points(a, delta, sigma, shared, total, *points)
    return SharedMoments(mean, variance * unit**2)


def principal_shifts(shared: FloatArray) -> FloatArray:
    """The same shared shifts turned into orthogonal ones, largest first, without empty rows: the sum keeps its law."""
    _, rotation = np.linalg.eigh(shared @ shared.T)
    turned = rotation.T[::-1] @ shared
    size = np.max(np.abs(turned), axis=1)
    return np.asarray(turned[size > 1e-15 * np.max(size, initial=0.0)])


def _shift_points(delta: FloatArray, sigma: FloatArray, shared: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Points s (rows) and weights for a mean over the shared shifts; None where pairs of labels are cheaper.

    One shift: the trapezoid rule. |delta + shift s + sigma Z| bends over a width w = sigma/|shift| in s. Products of two
    such bends and the normal density have a spectrum that falls as exp(-k^2 w^2 / (2 (2 + w^2))): that decides the step.
    Labels without error of their own make kinks; where labels are many, as fine a step as is affordable serves.
    Two shifts: Gauss's rule, good to 1e-4 of the variance; more: quasi-random points, good to 0.5 %.
    """
    k, n = shared.shape
    if k > 1 and n <= _PAIRS_UP_TO:
        return None
    if k == 2:
        nodes, weights = np.polynomial.hermite_e.hermegauss(22)
        grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        return grid, np.multiply.outer(weights, weights).reshape(-1) / (2.0 * math.pi)
    if k > 2:
        from scipy.stats import qmc  # loads all of scipy.stats, and is needed here only

        return ndtri(qmc.Sobol(k, rng=np.random.default_rng(0)).random(512)), np.full(512, 1.0 / 512)
    size, reach = np.abs(shared[0]), 8.3
    bends = (np.abs(delta) <= reach * size + 9.0 * sigma) & (size > 0)
    width = float(np.min(sigma[bends] / size[bends], initial=math.inf))
    step = math.pi * math.sqrt(2.0 / 27.0 / (1.0 + 2.0 / max(width * width, 1e-300)))
    finest = 2.0 * reach * n / _NODES_TIMES_LABELS
    if step < finest and n <= _PAIRS_UP_TO:
        return None
    step = max(step, finest)
    s = step * np.arange(-math.floor(reach / step), math.floor(reach / step) + 1.0)
    return s[:, None], step * normal_density(s)


def _variance_at_points(
    a: FloatArray,
    delta: FloatArray,
    sigma: FloatArray,
    shared: FloatArray,
    total: FloatArray,
    points: FloatArray,
    weight: FloatArray,
) -> float:
    """E[Var given s] + Var m(s), of which only the part beyond the second order in s is left to the points.

    With z_i = delta_i/total_i the Hermite coefficients of m(s) are c = sum a_i shared_i erf(z_i/sqrt2) and
    A = sum 2 a_i phi(z_i) shared_i shared_i' / total_i, so Var m = |c|^2 + |A|^2/2 + Var(what is left).
    """
    z = delta / total
    # the part of each label alone: the covariance of |X| with a copy of it that shares only s
    alone = v(z) - covariance_of_absolute(z, z, np.sum(np.square(shared / total), axis=0))
    own = float(np.sum(np.square(a * total) * np.maximum(alone, 0.0)))
    linear = shared @ (a * erf(z / math.sqrt(2.0)))
    quadratic = (shared * (2.0 * a / total * normal_density(z))) @ shared.T
    known = float(linear @ linear) + 0.5 * float(np.sum(np.square(quadratic)))
    means, rows = np.empty(len(points)), max(1, _PAIRS // delta.size)
    for start in range(0, len(points), rows):  # sums by NumPy: BLAS would wake threads
        block = points[start : start + rows]
        centre = delta + sum(block[:, i, None] * shared[i] for i in range(len(shared)))
        means[start : start + rows] = np.add.reduce(folded_mean(centre, sigma) * a, axis=1)
    curved = np.sum((points @ quadratic) * points, axis=1) - np.trace(quadratic)
    left = means - float(np.sum(a * folded_mean(delta, total))) - points @ linear - 0.5 * curved
    return own + known + float(np.sum(weight * np.square(left)))


def _variance_by_pairs(b: FloatArray, z: FloatArray, correlations: Callable[[int, int], FloatArray]) -> float:
    """Variance of sum b_i |U_i + z_i|; `correlations(i, j)` are those of the labels i ... j with the labels i ... n."""
    total, start, n = float(np.sum(np.square(b) * v(z))), 0, b.size
    while start < n:
        stop = min(n, start + max(1, _PAIRS // (n - start)))
        rho = np.clip(correlations(start, stop), -1.0, 1.0)
        rho[:, : stop - start] = np.triu(rho[:, : stop - start], 1)  # each pair once
        total += 2.0 * _pairs(b[start:stop], z[start:stop], b[start:], z[start:], rho)
        start = stop
    return max(total, 0.0)


def _pairs(b: FloatArray, h: FloatArray, c: FloatArray, k: FloatArray, rho: FloatArray) -> float:
    """Sum of b_i c_j Cov(|U_i + h_i|, |V_j + k_j|): the closed form for strong correlations, else the series."""
    size = np.abs(rho)
    few = np.count_nonzero(size > 0.5) <= 0.05 * rho.size  # then 50 terms serve for the others, else 130
    i, j = np.nonzero(size > (0.5 if few else 0.75))
    total = float(np.sum(b[i] * c[j] * covariance_of_absolute(h[i], k[j], rho[i, j])))
    rho[i, j] = 0.0
    total += float(np.sum(b * erf(h / math.sqrt(2.0)) * np.einsum("ij,j->i", rho, c * erf(k / math.sqrt(2.0)))))
    rows, columns = np.abs(h) < 12.0, np.abs(k) < 12.0  # beyond, only the first term is left
    rho = rho[np.ix_(rows, columns)]
    largest = float(np.max(np.abs(rho), initial=0.0))
    if largest == 0.0:
        return total
    order = max(2, math.ceil(math.log(1e-15) / math.log(largest)))
    left, right = (_absolute_coefficients(x, order) for x in (h[rows], k[columns]))
    left[0] = 0.0
    return total + _mehler(left * b[rows], right * c[columns], rho)


def _absolute_coefficients(z: FloatArray, order: int) -> FloatArray:
    """Hermite coefficients of |Z + z|: erf(z/sqrt 2), then 2 phi(z) He_{m-2}(z) / sqrt(m!)."""
    out = np.empty((order, z.size))
    out[0] = erf(z / math.sqrt(2.0))
    near = np.clip(z, -40.0, 40.0)
    before, now = np.zeros(z.shape), math.sqrt(2.0 / math.pi) * exp_minus_half_square(near)
    for m in range(order - 1):
        out[m + 1] = now / math.sqrt((m + 2) * (m + 1))
        before, now = now, (near * now - math.sqrt(m) * before) / math.sqrt(m + 1)
    return out


def covariance_of_absolute(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Cov(|U + h|, |V + k|) of standard normals U, V with correlation rho in [-1, 1]; any sign of h and k."""
    rho = np.clip(np.where((h < 0) != (k < 0), -rho, rho), -1.0, 1.0)
    # nothing changes beyond 40, nor below where doubles lose their digits
    h, k = (np.where(np.abs(x) < 1e-200, 0.0, np.minimum(np.abs(x), 40.0)) for x in (h, k))
    linear = rho * (1.0 - 2.0 * ndtr(-h) - 2.0 * ndtr(-k))
    return np.asarray(linear + 4.0 * _product_of_excesses(h, k, rho) - g(h) * g(k))


def _product_of_excesses(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """E (U - h)_+ (V - k)_+ for h, k >= 0."""
    q = np.sqrt((1.0 - rho) * (1.0 + rho))
    larger = np.maximum(h, k)
    one = np.where(rho > 0, g2(larger) + 0.5 * np.abs(h - k) * g(larger), 0.0)  # rho = 1 or -1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # h - rho k, written so that it keeps its digits near rho = 1
        across_h, across_k = (h - k) + (1.0 - rho) * k, (k - h) + (1.0 - rho) * h
        slope_h = np.where(h > 0, across_k / (h * q), math.inf)
        slope_k = np.where(k > 0, across_h / (k * q), math.inf)
        upper = 0.5 * (ndtr(-h) + ndtr(-k)) - owens_t(h, slope_h) - owens_t(k, slope_k)
        upper = np.where((h == 0) & (k == 0), 0.25 + np.arcsin(rho) / (2.0 * math.pi), upper)
        density = exp_minus_half_square(h) * exp_minus_half_square(np.minimum(np.abs(across_k) / q, 40.0))
        closed = (
            (h * k + rho) * upper
            + q * density / (2.0 * math.pi)
            - h * normal_density(k) * ndtr(-across_h / q)
            - k * normal_density(h) * ndtr(-across_k / q)
        )
    return np.where(q > 0, closed, one)


def _shares(weight: FloatArray | None, n: int) -> FloatArray:
    if weight is None:
        return np.full(n, 1.0 / n)
    relative = weight / np.max(weight)
    return np.asarray(relative / np.sum(relative))
