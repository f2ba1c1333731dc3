"""Labels on their way into bins: by the compiled loops of _bins.c, or by NumPy, into the same bins.

Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. There are three kinds
of bins (`bins` says what a bin holds):

SQUARES    bins of v = w s^2 with the columns of SQUARE_COLUMNS
RATIO      the same with those of RATIO_COLUMNS
FOLDED     bins of v = w s, split by z = |d|/s, with the moments of z in its bin as columns
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scorebars.engines import config
from scorebars.engines.bins import LARGEST, MOMENTS, Bins, FloatArray, IntArray, Reach, leading_bits
from scorebars.engines.chunks import CHUNK

SQUARE_COLUMNS = ("count", "w", "w d^2", "max(4 w d^2 - 2 v, 2 v)")
RATIO_COLUMNS = (*SQUARE_COLUMNS, "w d", "w c", "w c d", "w c^2")
SQUARE_BITS, FOLDED_BITS = 47, 50
"""32 bins an octave for w s^2, 4 for w s."""
Z_WIDTH = 0.0625
Z_BINS = 192
"""From z = 12 on a folded normal is a normal; such labels share one more bin."""
PRODUCTS = np.triu_indices(5)
"""Of which two of 1, d, c, d^2, c^2 the loop for RATIO sums up the products."""
SAMPLE = 1 << 13
"""Labels that tell where the bins of all begin and end."""
_BELOW, _REACH = 0.5, 2.0**-64
"""Bins begin somewhat below the smallest v of the sample, but not this far below the largest."""
_BLOCK = 1 << 13


@dataclass(frozen=True)
class Labels:
    """Labels, predictions, errors (one for all, or one each), weights, and what labels are counted from."""

    y: FloatArray
    p: FloatArray
    sigma: FloatArray | float
    weight: FloatArray | None
    shift: float

    @property
    def n(self) -> int:
        """How many."""
        return len(self.y)

    def pick(self, part: slice | IntArray) -> Labels:
        """Some of them."""
        sigma = self.sigma[part] if isinstance(self.sigma, np.ndarray) else self.sigma
        return Labels(self.y[part], self.p[part], sigma, None if self.weight is None else self.weight[part], self.shift)

    def weighted(self, values: FloatArray | float) -> FloatArray:
        """A number for all, or one each, times the weights."""
        if self.weight is not None:
            return self.weight * values
        return np.broadcast_to(values, self.y.shape) if np.ndim(values) == 0 else np.asarray(values)

    def contiguous(self) -> tuple[FloatArray, FloatArray, FloatArray | float, FloatArray | None, float]:
        """As the compiled loops take them."""
        y, p = np.ascontiguousarray(self.y), np.ascontiguousarray(self.p)
        sigma = np.ascontiguousarray(self.sigma) if isinstance(self.sigma, np.ndarray) else self.sigma
        weight = None if self.weight is None else np.ascontiguousarray(self.weight)
        return y, p, sigma, weight, self.shift if math.isfinite(self.shift) else 0.0

    # v, minor numbers and columns, as in _bins.c -----------------------------------------------

    def variances(self) -> FloatArray:
        """w s^2"""
        return self.weighted(np.square(self.sigma))

    def scales(self) -> FloatArray:
        """w s"""
        return self.weighted(self.sigma)

    def square_columns(self) -> tuple[IntArray, FloatArray]:
        """Those of SQUARE_COLUMNS; there is one minor number."""
        d, w, v = self.p - self.y, self.weighted(1.0), self.variances()
        squares = w * (d * d)
        columns = [np.ones_like(d), w, squares, np.maximum(4.0 * squares - 2.0 * v, 2.0 * v)]
        return np.zeros(self.n, np.int64), np.stack(columns)

    def ratio_columns(self) -> tuple[IntArray, FloatArray]:
        """Those of RATIO_COLUMNS."""
        minor, squares = self.square_columns()
        d, w, c = self.p - self.y, self.weighted(1.0), self.y - self.shift
        return minor, np.concatenate([squares, np.stack([w * d, w * c, w * c * d, w * c * c])])

    def folded_columns(self) -> tuple[IntArray, FloatArray]:
        """The bin of z and the powers of its place there."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            place = np.abs(self.p - self.y) / self.sigma * (1.0 / Z_WIDTH)
        beyond = ~(place < Z_BINS)
        place[beyond] = 0.0
        minor = place.astype(np.int64)
        u = (place - minor) * 2.0 - 1.0
        minor[beyond], u[beyond] = Z_BINS, 0.0
        return minor, np.stack([u**k for k in range(MOMENTS)])


class Kind(NamedTuple):
    """How labels go into bins: by which loop of _bins.c, by how many bits and minor numbers, with which columns."""

    loop: str
    bits: int
    minors: int
    columns: int
    totals: int
    """Sums over all labels that the loop takes besides."""
    v: Callable[[Labels], FloatArray]
    rows: Callable[[Labels], tuple[IntArray, FloatArray]]
    """Minor numbers and columns."""


SQUARES = Kind("square_bins", SQUARE_BITS, 1, len(SQUARE_COLUMNS), 0, Labels.variances, Labels.square_columns)
RATIO = Kind(
    "square_bins", SQUARE_BITS, 1, len(RATIO_COLUMNS), len(PRODUCTS[0]), Labels.variances, Labels.ratio_columns
)
FOLDED = Kind("folded_bins", FOLDED_BITS, Z_BINS + 1, MOMENTS, 1, Labels.scales, Labels.folded_columns)


class Binned(NamedTuple):
    """The labels with v > 0 in bins, the columns of the others added up, and sums over all labels."""

    bins: Bins
    certain: FloatArray
    totals: FloatArray
    """RATIO: sums of w^2 times products of two of 1, d, c, d^2, c^2. FOLDED: sum w |d| of the labels with v = 0."""


def binned(labels: Labels, kind: Kind, known: Bins | None) -> Binned:
    """Labels in bins, to be merged with those that are `known` already: only above their floor may a label stay apart."""
    floor = 0.0 if known is None else known.floor
    for reach in _reaches(labels, kind, known):
        threshold = max(reach.threshold, floor)
        if config.bin_loops() is None:
            return _by_numpy(labels, kind, threshold)
        table = _Table.of(kind, max(reach.low * _BELOW, reach.high * _REACH), reach.high)
        apart = table.take(labels, threshold)
        if len(apart) <= LARGEST + labels.n // 8:
            break  # else what was known, or the sample, has misled
    totals, left = table.totals.copy(), labels.pick(apart)
    v = kind.v(left)
    top = np.argsort(-v)[:LARGEST]
    top = top[v[top] > threshold]
    rest = np.delete(np.arange(left.n), top)
    without = rest[table.take(left.pick(rest), math.inf)]
    bins = table.bins()
    for start in range(0, without.size, _BLOCK):
        here = left.pick(without[start : start + _BLOCK])
        bins = bins.with_labels(kind.v(here), *kind.rows(here))
    return Binned(bins.with_top(v[top], *kind.rows(left.pick(top))), table.certain, totals)


def _reaches(labels: Labels, kind: Kind, known: Bins | None) -> Iterator[Reach]:
    """Where labels lie, as those that are known tell, as a sample tells, and as all of them tell."""
    expected = None if known is None else known.reach()
    if expected is not None:
        yield expected
    for step in (max(1, labels.n // SAMPLE) | 1, 1):  # odd, for labels that repeat in patterns of 2, 4, 8 ...
        yield Reach.of(kind.v(labels.pick(slice(None, None, step))), labels.n)


def _by_numpy(labels: Labels, kind: Kind, threshold: float) -> Binned:
    bins, certain = Bins.empty(kind.columns, kind.bits, kind.minors), np.zeros(kind.columns)
    totals = np.zeros(kind.totals)
    for start in range(0, labels.n, _BLOCK):
        here = labels.pick(slice(start, start + _BLOCK))
        v, (minor, rows) = kind.v(here), kind.rows(here)
        exact, large = v == 0, v > threshold
        inside = ~(exact | large)
        certain += rows[:, exact].sum(axis=1)
        bins = bins.with_labels(v[inside], minor[inside], rows[:, inside])
        bins = bins.with_top(v[large], minor[large], rows[:, large])
        if kind is FOLDED:
            totals += np.sum(here.weighted(np.abs(here.p - here.y))[exact])
        elif kind is RATIO:
            c, d = here.y - here.shift, here.p - here.y
            terms = np.stack([np.ones_like(c), d, c, d * d, c * c]) * here.weighted(1.0)
            totals += np.einsum("in,jn->ij", terms, terms)[PRODUCTS]
    return Binned(bins, certain, totals)


class _Table:
    """Moments of consecutive bins, from one octave to another, that a loop of _bins.c fills."""

    def __init__(self, kind: Kind, first: int, octaves: int) -> None:
        self._kind, self._first, self._octaves = kind, first, octaves
        self._rows = octaves << (52 - kind.bits)
        self._moments = _aligned_zeros(self._rows * kind.minors + 1, MOMENTS, kind.columns)
        self.totals = np.zeros(kind.totals)

    @classmethod
    def of(cls, kind: Kind, low: float, high: float) -> _Table:
        """Of the octaves from one v to another."""
        first, last = leading_bits(np.array([low, max(low, high)]), 52).tolist()
        return cls(kind, first, last - first + 1)

    def take(self, labels: Labels, threshold: float) -> IntArray:
        """Add labels; the indices of those above the threshold, and of those for which there is no bin."""
        kind, loop = self._kind, getattr(config.bin_loops(), self._kind.loop)
        where = (kind.bits, self._first << (52 - kind.bits), threshold, self._rows, self._moments, self.totals)
        found, apart = [np.empty(0, dtype=np.int64)], np.empty(min(labels.n, CHUNK), dtype=np.int64)
        for start in range(0, labels.n, CHUNK):
            here = labels.pick(slice(start, start + CHUNK))
            count = loop(*here.contiguous(), kind.columns, kind.minors - 1, Z_WIDTH, *where, apart[: here.n])
            found.append(apart[:count] + start)
        return np.concatenate(found)

    @property
    def certain(self) -> FloatArray:
        """The columns of the labels with v = 0, added up."""
        return self._moments[-1, 0].copy()

    def bins(self) -> Bins:
        """All other labels that were added."""
        moments = self._moments[:-1].reshape(self._octaves, -1, MOMENTS, self._kind.columns)
        return Bins.of_octaves(moments, self._first, self._kind.bits, self._kind.minors)


def _aligned_zeros(*shape: int) -> FloatArray:
    """Zeros that begin with a cache line, so that the moments of a bin lie in as few as possible."""
    size = math.prod(shape)
    memory = np.zeros(size + 7)
    start = -(memory.ctypes.data // 8) % 8
    return memory[start : start + size].reshape(shape)
