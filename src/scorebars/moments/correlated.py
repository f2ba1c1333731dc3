"""Variance of a mean loss when the errors of the labels are correlated.

Each label's own variance is known. What correlations add is a sum over pairs of labels. With standardised errors z and
normalised Hermite polynomials h_m, the loss of label i is the series f_i(z) = sum_m c_im h_m(z), and (Mehler)

    Cov(f_i, f_j) = sum_{m >= 1} rho_ij^m c_im c_jm.

The first term is the delta method; losses with kinks need more. With shared shifts rho_ij = u_i' u_j, and rho^m is a sum
of products of powers of the components of u: the sums over i and j part, and no pairs are formed.

For absolute errors the series converges slowly where |rho| is near 1. There the covariance of a pair is closed
(`folded_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import erf

from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.errors.continuous import NO_ERROR
from scorebars.errors.label_and_prediction import LabelAndPrediction
from scorebars.losses import AbsoluteError, DawidSebastiani, LogScore, Loss, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import over_predictions
from scorebars.moments.folded_pairs import absolute_coefficients, covariance_of_absolute
from scorebars.moments.numerical import NORMAL_EDGES, normal_rule
from scorebars.numerics.special import folded_mean, v

_ORDER = 40
"""Terms of the series of a loss without closed pairs."""
_PRODUCTS, _PRODUCTS_OF_ABSOLUTE = 2000, 5000
"""Products of shifts that are summed at most: for any loss, and for absolute errors, whose coefficients are cheap."""
_RULE = np.polynomial.legendre.leggauss(16)
_Z_REACH, _FEWEST_Z, _MOST_Z = 8.5, 101, 2001
"""How far errors of batches are integrated, in standard deviations, and at how many points."""
_LABELS = 1024
"""Labels whose coefficients are integrated together."""
_PAIRS = 1 << 16
"""Pairs at a time."""
_FEW_LABELS, _PAIRS_UP_TO = 100, 4000
"""So few pairs are cheaper than the series; more labels than the second number have too many pairs."""
_TERMS_TIMES_LABELS = 60_000_000


def correlated_variance(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of the loss under correlated normal errors."""
    errors, d = data.errors.normal, data.residual
    if isinstance(data.errors, LabelAndPrediction):
        return _with_prediction_errors(loss, data.errors, data)
    assert errors is not None
    if isinstance(loss, SquaredError):
        return errors.quadratic_terms(data.shares, d).variance
    if isinstance(loss, SignedError):
        return errors.variance_of_sum(d, data.shares)
    if isinstance(loss, LogScore | DawidSebastiani) and (terms := loss.terms(data.p)) is not None:
        return errors.quadratic_terms(data.shares * terms[0], d).variance
    if errors.batches is not None:
        return variance_in_batches(loss, data)
    if isinstance(loss, AbsoluteError):
        if errors.cov is not None:
            return variance_correlated(d, errors.cov, data.weight)
        assert errors.shared is not None
        return variance_shared(d, errors.sigma, errors.shared, data.weight).variance
    return variance_by_series(loss, data)


def _with_prediction_errors(loss: Loss, errors: LabelAndPrediction, data: Measured) -> float:
    """Correlated labels move what is left after an average over predictions; these add a variance of their own."""
    if not np.all(np.isfinite(label_moments(loss, errors, data.labels, data.predictions).variance[data.shares > 0])):
        return math.inf
    mean, own, place = over_predictions(loss, errors, data.predictions)
    assert errors.label.normal is not None
    by_labels = variance_by_series if errors.label.normal.batches is None else variance_in_batches
    moved = by_labels(mean, Measured(data.y, place, errors.label, data.weight))
    each = label_moments(own, errors.label, data.labels, place).mean
    return moved + float(np.sum(np.square(data.shares) * each, where=data.shares > 0))


# errors that batches of labels share -------------------------------------------------------------


def variance_in_batches(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of any loss where the labels of each batch share an error.

    Given the errors z of the batches labels are independent, and batches always are:

        Var = sum_g E Var(sum_g | z) + Var E(sum_g | z),    one integral over z for each batch, all at the same nodes.

    The trapezoid rule converges like exp(-c / step^2) as long as the step is below the width of a label's own error.
    """
    errors, a = data.errors.normal, data.shares
    assert errors is not None and errors.batches is not None
    own, y, p = Normal.trusted(errors.sigma, errors.kind), data.labels, data.predictions
    sigma, shift = np.broadcast_to(errors.sigma, y.shape), errors.batches.shift
    random = (a > 0) & (shift > 0)
    narrow = float(np.min(sigma[random] / shift[random], initial=math.inf))
    steps = int(np.clip(2.0 * _Z_REACH / (0.5 * max(min(narrow, 1.0), 1e-9)), _FEWEST_Z, _MOST_Z))
    nodes = np.linspace(-_Z_REACH, _Z_REACH, steps)
    density = np.exp(-0.5 * np.square(nodes))
    density /= density.sum()
    batch, count = errors.batches.of, errors.batches.number
    within, first, second = 0.0, np.zeros(count), np.zeros(count)
    mean = np.where(a > 0, label_moments(loss, errors, y, p).mean, 0.0)
    if not np.all(np.isfinite(mean)):
        return math.inf
    centre = np.bincount(batch, a * mean, minlength=count)
    for z, share in zip(nodes, density, strict=True):
        found = label_moments(loss, own, y + z * shift, p)
        within += share * float(np.sum(np.square(a) * found.variance, where=a > 0))
        sums = np.bincount(batch, np.where(a > 0, a * found.mean, 0.0), minlength=count) - centre
        first += share * sums
        second += share * np.square(sums)
    return max(within + float(np.sum(second - np.square(first))), 0.0)


# any loss --------------------------------------------------------------------------------------


def variance_by_series(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of any loss, by its Hermite series."""
    errors, a = data.errors.normal, data.shares
    assert errors is not None
    y, p = data.labels, data.predictions
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
    order = _affordable_order(len(errors.shared), _PRODUCTS, _ORDER)
    c = _coefficients(loss, sigma, y, p, order) * a
    return max(alone + _mehler_of_shifts(lambda part, some: c[:some, part], errors.shared / sigma, order), 0.0)


def _coefficients(loss: Loss, sigma: FloatArray, y: FloatArray, p: FloatArray, order: int) -> FloatArray:
    """E f(z) h_m(z) for m = 1 ... order, shape (order, n), by Gauss's rule between the kinks."""
    out = np.empty((order, len(y)))
    for start in range(0, len(y), _LABELS):
        part = slice(start, start + _LABELS)
        z, weight = normal_rule(_RULE, NORMAL_EDGES, (loss.kinks(p[part]) - y[part]) / sigma[part])
        with np.errstate(over="ignore", invalid="ignore"):
            f = loss(y[part] + sigma[part] * z, p[part]) - loss(y[part], p[part])
            mass = np.where(weight > 0, weight * f, 0.0)
        before, h = np.zeros_like(z), np.ones_like(z)
        for m in range(order):
            before, h = h, (z * h - math.sqrt(m) * before) / math.sqrt(m + 1)
            out[m, part] = np.sum(mass * h, axis=0)
    return out


def _mehler(rows: FloatArray, columns: FloatArray, rho: FloatArray) -> float:
    """sum_ij sum_m rho_ij^m rows_mi columns_mj; `einsum`, as the threads of BLAS cost more than they give at this size."""
    power, total = np.ones_like(rho), 0.0
    for row, column in zip(rows, columns, strict=True):
        power *= rho
        total += float(np.sum(row * np.einsum("ij,j->i", power, column)))
    return total


def _affordable_order(shifts: int, products: int, most: int) -> int:
    order = 2
    while order < most and math.comb(order + 1 + shifts, shifts) <= products:
        order += 1
    return order


def _mehler_of_shifts(coefficients: Callable[[slice, int], FloatArray], u: FloatArray, order: int) -> float:
    """The same over pairs of different labels with rho_ij = u_i' u_j; `coefficients(part, order)` are those of some labels.

    Labels are best sorted by |u|: then blocks of labels with small shifts need few terms.

    Products of m components of u are ordered by the last component they hold. The first `parents[j]` of them have none
    beyond component j: multiplied by it they give all products of m + 1 components that end with j.
    """
    shifts, n = u.shape
    sums = [np.zeros(math.comb(m + shifts, shifts - 1)) for m in range(order)]
    total, step = 0.0, max(64, _PAIRS // 4 // max(sums[-1].size, order // 64))
    rooms = np.empty((2, sums[-1].size, step))
    for start in range(0, n, step):
        part = slice(start, start + step)
        some = u[:, part]
        square, power = np.square(some).sum(axis=0), np.ones(some.shape[1])
        products = power[None]
        largest = min(float(np.max(square)), 1.0 - 1e-9)
        enough = min(order, max(2, math.ceil(2.0 * math.log(1e-17) / math.log(largest)))) if largest > 0 else 1
        for m, row in enumerate(coefficients(part, enough)):
            parents = [math.comb(m + j, j) for j in range(shifts)]
            more, at = rooms[m % 2, :, : power.size], 0
            for j, count in enumerate(parents):
                np.multiply(products[:count], some[j], out=more[at : at + count])
                at += count
            products = more[:at]
            sums[m] += np.einsum("ij,j->i", products, row)
            power = power * square
            total -= float(np.sum(np.square(row) * power))
    # in how many orders the components of a product can be written: m! / (factorials of their powers)
    orders, last_power = np.ones(1), np.zeros(1)
    for m, found in enumerate(sums):
        parents = [0, *(math.comb(m + j, j) for j in range(shifts))]
        grown = [np.append(np.zeros(a), last_power[a:b]) + 1.0 for a, b in pairwise(parents)]
        orders = np.concatenate([orders[:count] for count in parents[1:]]) * (m + 1)
        last_power = np.concatenate(grown)
        orders /= last_power
        total += float(orders @ np.square(found))
    return total


# absolute errors -------------------------------------------------------------------------------


def shares_of(weight: FloatArray | None, n: int) -> FloatArray:
    """Weights that sum to 1."""
    if weight is None:
        return np.full(n, 1.0 / n)
    relative = weight / np.max(weight)
    return np.asarray(relative / np.sum(relative))


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
    a, delta, sd = shares_of(weight, delta.size)[random], delta[random], sd[random]
    unit = float(np.max(sd))  # keeps squares of very small or large errors in range

    def correlations(start: int, stop: int) -> FloatArray:
        return np.asarray(cov[np.ix_(random[start:stop], random[start:])] / sd[start:stop, None] / sd[start:])

    with np.errstate(over="ignore"):
        z = delta / sd
    return _variance_by_pairs(a * (sd / unit), z, correlations) * unit * unit


def variance_shared(
    delta: FloatArray, sigma: FloatArray | float, shared: FloatArray, weight: FloatArray | None = None
) -> SharedMoments:
    """Mean and variance of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i; `shared` is (k, n), s shared by all.

    The variance is right to 1e-10 for up to 4000 labels, and for more where errors are shared by up to half of their
    variance and shifts are up to three. It is right to 4e-7 in every case: errors that are all shared, or more shifts.
    """
    a, shared = shares_of(weight, delta.size), principal_shifts(np.atleast_2d(shared))
    total = np.sqrt(np.square(sigma) + np.sum(np.square(shared), axis=0))
    mean = float(np.sum(a * folded_mean(delta, total)))
    unit = float(np.max(total, initial=0.0))
    if unit == 0.0:
        return SharedMoments(mean, 0.0)
    random = np.flatnonzero(total > 0)
    size = np.sqrt(np.sum(np.square(shared[:, random] / total[random]), axis=0))
    largest_first = np.argsort(-size)
    random, size = random[largest_first], size[largest_first]
    with np.errstate(over="ignore"):
        z = delta[random] / total[random]
    b, u = a[random] * (total[random] / unit), shared[:, random] / total[random]
    alone = float(np.sum(np.square(b) * v(z)))
    if len(u) == 0:
        return SharedMoments(mean, alone * unit**2)
    most = _affordable_order(len(u), _PRODUCTS_OF_ABSOLUTE, min(max(_TERMS_TIMES_LABELS // z.size, 60), 1000))
    first = float(np.sum(np.square(u @ (b * erf(z / math.sqrt(2.0))))))
    order = _order_of_absolute(b, size, 1e-12 * (alone + first), most)
    if z.size <= _FEW_LABELS or (order == most and z.size <= _PAIRS_UP_TO):
        variance = _variance_by_pairs(b, z, lambda start, stop: u[:, start:stop].T @ u[:, start:])
    else:
        pairs = _mehler_of_shifts(lambda part, some: b[part] * absolute_coefficients(z[part], some), u, order)
        variance = max(alone + pairs, 0.0)
    return SharedMoments(mean, variance * unit**2)


def _order_of_absolute(b: FloatArray, size: FloatArray, small: float, most: int) -> int:
    """From where on the terms of the series are small; the squared coefficients of |Z + z| fall as m^(-5/2)."""
    order = 4
    while order < most and float(b @ size**order) ** 2 > small * order**2.5:
        order += order // 4
    return min(order, most)


def principal_shifts(shared: FloatArray) -> FloatArray:
    """The same shared shifts turned into orthogonal ones, largest first, without empty rows: the sum keeps its law."""
    _, rotation = np.linalg.eigh(shared @ shared.T)
    turned = rotation.T[::-1] @ shared
    size = np.max(np.abs(turned), axis=1)
    return np.asarray(turned[size > 1e-15 * np.max(size, initial=0.0)])


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
    left, right = (absolute_coefficients(x, order) for x in (h[rows], k[columns]))
    left[0] = 0.0
    return total + _mehler(left * b[rows], right * c[columns], rho)
