"""Mean and variance of any loss under discrete families: sums over the values that a label may take.

Draws are few. Counts are summed one by one as long as there are not too many; a Poisson mean above a million has more
counts than need be looked at. There the sum over a run of neighbouring counts, smooth between the kinks of the loss, is
taken by the Gauss rule for sums: m nodes give the exact sum of every polynomial of degree below 2m over the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from scorebars.errors import Empirical, Normal, Poisson
from scorebars.errors.base import FloatArray
from scorebars.losses import Loss
from scorebars.moments.pair import Moments
from scorebars.moments.quadrature import integrate

_REACH = 14.0
_SUMMED = 1e6
"""Up to this mean all counts are summed."""
_NORMAL = 1e18
"""Above this mean neighbouring doubles are more than one count apart, and a count is normal within 1e-9."""
_ENTRIES = 400_000
"""Values held at once."""
_NODES = 16


def draws(loss: Loss, errors: Empirical, y: FloatArray, p: FloatArray) -> Moments:
    """Averages over the draws of each label."""
    values, probabilities = errors.atoms(y)
    return _averages(loss(values, p), probabilities)


def _averages(f: FloatArray, probabilities: FloatArray) -> Moments:
    """Mean and variance of values with these probabilities (which sum to 1); infinite where a possible value is."""
    f = np.where(probabilities > 0, f, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        pilot = np.sum(probabilities * f, axis=0)
        mean = pilot + np.sum(probabilities * (f - pilot), axis=0)
        variance = np.sum(probabilities * np.square(f - mean), axis=0)
    diverges = ~np.isfinite(f).all(axis=0)
    mean = np.where(diverges, pilot, mean)
    return Moments(mean, np.where(diverges, np.inf, variance))


def counts(loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray) -> Moments:
    """Sums over the counts of each label."""
    mean, variance = np.empty(len(y)), np.empty(len(y))
    order = np.argsort(y, kind="stable")
    few = order[y[order] / errors.unit <= _SUMMED]
    for part in _chunks(errors, y, few):
        mean[part], variance[part] = _summed(loss, errors, y[part], p[part])
    huge = order[y[order] / errors.unit > _NORMAL]
    if huge.size:
        mean[huge], variance[huge] = integrate(
            loss, Normal.trusted(np.sqrt(errors.variance(y[huge]))), y[huge], p[huge]
        )
    many = order[len(few) : order.size - huge.size]
    if many.size:
        octave = np.floor(np.log2(y[many] / errors.unit) / 2)  # labels whose spreads are alike
        for group in np.unique(octave):
            part = many[octave == group]
            for start in range(0, part.size, 256):
                some = part[start : start + 256]
                mean[some], variance[some] = _by_runs(loss, errors, y[some], p[some], int(group))
    return Moments(mean, variance)


def _chunks(errors: Poisson, y: FloatArray, order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Labels in order of their means, so many at a time that their counts fit."""
    start = 0
    while start < order.size:
        stop = min(start + 4096, order.size)
        while stop > start + 1:
            first, last = errors.window(y[order[stop - 1 : stop]], _REACH)
            if (float(last[0]) - float(first[0]) + 1) * (stop - start) <= _ENTRIES:
                break
            stop = start + (stop - start + 1) // 2
        yield order[start:stop]
        start = stop


def _summed(loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray) -> Moments:
    """All counts within reach; further if the loss grows so fast that those beyond still matter."""
    reach = _REACH
    while True:
        first, last = errors.window(y, reach)
        count = first + np.arange(float(np.max(last - first)) + 1)[:, None]
        probability = errors.probability(y, count)
        probability /= probability.sum(axis=0)
        f = loss(count * errors.unit, p)
        found = _averages(f, probability)
        with np.errstate(invalid="ignore", over="ignore"):
            end = probability[-1] * np.square(f[-1] - found.mean)
        if not np.any((end > 1e-20 * found.variance) & (probability[-1] > 0) & np.isfinite(found.variance)):
            return found
        reach *= 1.5


# many counts -----------------------------------------------------------------------------------


@lru_cache(maxsize=128)
def sum_rule(size: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights that give the sum of f(0) ... f(size - 1): Gauss's rule for equal weights (Gram polynomials)."""
    m = min(size, _NODES)
    if m == size:
        return np.arange(float(size)), np.ones(size)
    k = np.arange(1.0, m)
    off = np.sqrt(k * k * (float(size) ** 2 - k * k) / (4.0 * (4.0 * k * k - 1.0)))
    nodes, vectors = eigh_tridiagonal(np.full(m, (size - 1) / 2), off)
    return nodes, size * np.square(vectors[0])


def _by_runs(loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray, octave: int) -> tuple[FloatArray, FloatArray]:
    """Runs of counts between the kinks of the loss, each about as long as the spread or a smaller power of two."""
    pilot = loss(y, p)
    sums = np.zeros((3, len(y)))
    for label, start, size in _runs(loss, errors, y, p, 2**octave):
        nodes, weights = sum_rule(size)
        count = start + nodes[:, None]
        mass = weights[:, None] * errors.probability(y[label], count)
        with np.errstate(invalid="ignore", over="ignore"):
            g = np.where(mass > 0, loss(count * errors.unit, p[label]) - pilot[label], 0.0)
            terms = (mass.sum(axis=0), (mass * g).sum(axis=0), (mass * g * g).sum(axis=0))
        for row, term in enumerate(terms):
            sums[row] += np.bincount(label, term, len(y))
    total, shift, second = sums
    with np.errstate(invalid="ignore"):
        shift, second = shift / total, second / total
        variance = np.maximum(second - shift * shift, 0.0)
    return pilot + shift, np.where(np.isfinite(shift) & np.isfinite(second), variance, math.inf)


def _runs(
    loss: Loss, errors: Poisson, y: FloatArray, p: FloatArray, longest: int
) -> Iterator[tuple[NDArray[np.intp], FloatArray, int]]:
    """Labels, first counts and common length of runs that hold no kink inside; a count at a kink is a run of its own."""
    first, last = errors.window(y, _REACH)
    kinks = np.sort(np.clip(loss.kinks(p) / errors.unit, first - 0.5, last + 0.5), axis=0)
    bounds = np.concatenate([(first - 0.5)[None], kinks, (last + 0.5)[None]])
    index = np.arange(len(y))
    for low, high in pairwise(bounds):
        start, left = np.floor(low) + 1.0, np.maximum(np.ceil(high) - np.floor(low) - 1.0, 0.0)
        whole = np.floor(left / longest).astype(int)
        label = np.repeat(index, whole)
        place = np.arange(label.size) - np.repeat(np.cumsum(whole) - whole, whole)
        yield label, start[label] + longest * place.astype(float), longest
        start, left = start + longest * whole, left - longest * whole
        size = longest // 2
        while size >= 1:
            has = left >= size
            yield index[has], start[has], size
            start, left = start + size * has, left - size * has
            size //= 2
    for j, kink in enumerate(kinks):
        own = (kink == np.floor(kink)) & (kink >= first) & (kink <= last)
        if j:
            own &= kink != kinks[j - 1]
        yield index[own], kink[own], 1
