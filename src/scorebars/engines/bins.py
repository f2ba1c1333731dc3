"""Many labels in flat memory: moments in narrow bins, and the few largest labels one by one. Bins merge.

The laws of sums over labels need sum_i c_i f(v_i) for smooth functions f of one number v > 0 of the label (its
variance, its scale) and a few columns c (how many labels, their squared offsets, ...). Such sums are kept if

- the labels with the largest v, on whose poles f may come close, stay as they are;
- all others go into narrow bins, each with the sums of c u^k, k < 4, with u the place in the bin from -1 to 1.

Four points in a bin with the same moments then stand for its labels: every f that is a cubic in the bin has its exact
sum. A second number of the label (`minor`) may split the bins; its own moments are columns then.

Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. There are three kinds
of bins, filled by the compiled loops of _bins.c or by NumPy:

SQUARES    bins of v = w s^2 with the columns of SQUARE_COLUMNS
RATIO      the same with those of RATIO_COLUMNS
FOLDED     bins of v = w s, split by z = |d|/s, with the moments of z in its bin as columns
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray, IntArray
from scorebars.engines import engine
from scorebars.engines.engine import CHUNK

MOMENTS = 4
MOST_APART = 256
_FEW_OCTAVES = 24
"""Where known labels lie in no more octaves, a table for more labels is laid out beforehand."""
_BIAS = 1023
"""Bias of the exponents of doubles."""
GRID = np.cos(np.pi * (np.arange(MOMENTS) + 0.5) / MOMENTS)
"""The points in a bin."""
TO_WEIGHTS = np.linalg.inv(np.vander(GRID, increasing=True))
"""Row k: what the k-th moment gives to each point."""

SQUARE_COLUMNS = ("count", "w", "w d^2", "max(4 w d^2 - 2 v, 2 v)")
RATIO_COLUMNS = (*SQUARE_COLUMNS, "w d", "w c", "w c d", "w c^2")
SQUARE_BITS, FOLDED_BITS = 47, 50
"""32 bins an octave for w s^2, 4 for w s."""
Z_WIDTH = 0.0625
Z_BINS = 192
"""From z = 12 on a folded normal is a normal; such labels share one more bin."""
PRODUCTS = np.triu_indices(5)
"""The pairs of 1, d, c, d^2, c^2 whose products the loop for RATIO sums up."""
SAMPLE = 1 << 13
"""Labels that are sampled to find where the bins begin and end."""
_BELOW, _REACH = 0.5, 2.0**-64
"""Bins begin somewhat below the smallest v of the sample, but not this far below the largest."""
_BLOCK = 1 << 13


@dataclass(frozen=True)
class Bins:
    """Moments of the labels in bins, and the largest labels with their columns.

    A bin is one value of the leading bits of v as a double, all but `bits` of its fraction: 2^(52 - bits) bins an octave.
    Its key is that value times `minors` plus the minor number.
    """

    bits: int
    minors: int
    keys: IntArray
    """Numbers of the bins that hold labels, ascending."""
    moments: FloatArray
    """(bins, 4, c)"""
    top_v: FloatArray
    top_minor: IntArray
    top: FloatArray
    """(c, t)"""

    @classmethod
    def empty(cls, columns: int, bits: int, minors: int = 1) -> Bins:
        """Bins without labels."""
        none = np.empty(0, dtype=np.int64)
        return cls(bits, minors, none, np.empty((0, MOMENTS, columns)), np.empty(0), none, np.empty((columns, 0)))

    @property
    def per_octave(self) -> int:
        """Number of bins from one power of two to the next."""
        return self.minors << (52 - self.bits)

    def with_moments(self, keys: IntArray, moments: FloatArray) -> Bins:
        """The same bins with the moments (k, 4, c) of others added; `keys` ascend."""
        if np.array_equal(keys, self.keys):
            return replace(self, moments=self.moments + moments)
        both = np.sort(np.concatenate([self.keys, keys]), kind="stable")  # 0.02 ms where np.union1d takes 0.27
        both = both[np.diff(both, prepend=-1) > 0]
        total = np.zeros((both.size, *moments.shape[1:]))
        total[np.searchsorted(both, self.keys)] = self.moments
        total[np.searchsorted(both, keys)] += moments
        return replace(self, keys=both, moments=total)

    @property
    def floor(self) -> float:
        """A label has to be above this to be among the largest."""
        return float(self.top_v.min()) if self.top_v.size == MOST_APART else 0.0

    def merged(self, other: Bins) -> Bins:
        """The bins of both sets of labels."""
        return self.with_moments(other.keys, other.moments).with_top(other.top_v, other.top_minor, other.top)

    def with_top(self, v: FloatArray, minor: IntArray, columns: FloatArray) -> Bins:
        """The bins with more labels, of which some may be among the largest; the others go into the bins."""
        if not v.size:
            return self
        v, minor = np.concatenate([self.top_v, v]), np.concatenate([self.top_minor, minor])
        columns = np.concatenate([self.top, columns], axis=1)
        order = np.argsort(-v, kind="stable")
        top, rest = order[:MOST_APART], order[MOST_APART:]
        kept = replace(self, top_v=v[top], top_minor=minor[top], top=columns[:, top])
        return kept.with_labels(v[rest], minor[rest], columns[:, rest]) if rest.size else kept

    def with_labels(self, v: FloatArray, minor: NDArray[Any], columns: FloatArray) -> Bins:
        """The bins with more labels, none of which is among the largest."""
        keys, index = np.unique(leading_bits(v, self.bits) * self.minors + minor, return_inverse=True)
        u = place_in_bin(v, self.bits)
        moments = np.empty((keys.size, MOMENTS, len(columns)))
        for c, column in enumerate(columns):
            weight = column
            for k in range(MOMENTS):
                moments[:, k, c] = np.bincount(index, weights=weight, minlength=keys.size)
                weight = weight * u
        return self.with_moments(keys, moments)

    def recombined(self, matrix: FloatArray) -> Bins:
        """The bins with columns that are linear combinations (rows of `matrix`) of the present ones."""
        return replace(self, moments=self.moments @ matrix.T, top=matrix @ self.top)

    def divided(self, power: int, columns: FloatArray) -> tuple[Bins, FloatArray]:
        """The bins of v / 2^power with their columns multiplied, and the columns of labels whose v vanishes, added up."""
        keys, moments = self.keys - power * self.per_octave, self.moments * columns
        top_v, top = np.ldexp(self.top_v, -power), columns[:, None] * self.top
        kept, stay = keys >= self.per_octave, top_v > 0  # bins of normal doubles
        vanished = top[:, ~stay].sum(axis=1) + moments[~kept, 0].sum(axis=0)
        top_minor = self.top_minor[stay]
        return Bins(self.bits, self.minors, keys[kept], moments[kept], top_v[stay], top_minor, top[:, stay]), vanished

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """v (k, 4) of the points that stand for each bin, its minor number (k,), and the columns (c, k, 4) there."""
        major, minor = np.divmod(self.keys, self.minors)
        low, high = (np.ascontiguousarray((major + k) << self.bits).view(np.float64)[:, None] for k in (0, 1))
        v = 0.5 * (low + high) + 0.5 * (high - low) * GRID
        return v, minor, np.einsum("kmc,mp->ckp", self.moments, TO_WEIGHTS)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """v (k,) and columns (c, k) of all points and of the largest labels."""
        v, _, columns = self.points()
        return (
            np.concatenate([self.top_v, v.ravel()]),
            np.concatenate([self.top, columns.reshape(len(columns), -1)], axis=1),
        )


def leading_bits(v: FloatArray, bits: int) -> IntArray:
    """The numbers of the bins of v, whatever the minor number; of 52 bits the exponent."""
    out: IntArray = np.ascontiguousarray(v).view(np.int64) >> bits
    return out


def place_in_bin(v: FloatArray, bits: int) -> FloatArray:
    """Where v lies in its bin, from -1 to 1."""
    rest = np.ascontiguousarray(v).view(np.int64) & ((1 << bits) - 1)
    return np.ldexp(rest.astype(np.float64), 1 - bits) - 1.0


# labels on their way into bins ---------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """Labels, predictions, errors (one for all, or one each), weights, and what labels are counted from."""

    y: FloatArray
    p: FloatArray
    sigma: FloatArray | float
    weight: FloatArray | None
    shift: float = math.nan

    @property
    def n(self) -> int:
        """Number of labels."""
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

    def pulls(self) -> FloatArray:
        """Residuals in units of their errors."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((self.p - self.y) / self.sigma)

    def contiguous(self) -> tuple[FloatArray, FloatArray, FloatArray | float, FloatArray | None, float]:
        """As the compiled loops take them."""
        y, p = np.ascontiguousarray(self.y), np.ascontiguousarray(self.p)
        sigma = np.ascontiguousarray(self.sigma) if isinstance(self.sigma, np.ndarray) else self.sigma
        weight = None if self.weight is None else np.ascontiguousarray(self.weight)
        return y, p, sigma, weight, self.shift if math.isfinite(self.shift) else 0.0


class BinKind(NamedTuple):
    """How labels go into bins: by which loop of _bins.c, by how many bits and minor numbers, with how many columns."""

    loop: str
    bits: int
    minors: int
    columns: int
    totals: int
    """Sums over all labels that the loop takes besides."""

    def v(self, labels: Labels) -> FloatArray:
        """The number by which labels are binned, w s or w s^2, as in _bins.c."""
        return labels.weighted(labels.sigma if self.minors > 1 else np.square(labels.sigma))

    def rows(self, labels: Labels) -> tuple[IntArray, FloatArray]:
        """Minor numbers and columns, as in _bins.c."""
        d = labels.p - labels.y
        if self.minors > 1:  # the bin of z, and the powers of the place there
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                place = np.abs(d) / labels.sigma * (1.0 / Z_WIDTH)
            beyond = ~(place < Z_BINS)
            place[beyond] = 0.0
            minor = place.astype(np.int64)
            u = (place - minor) * 2.0 - 1.0
            minor[beyond], u[beyond] = Z_BINS, 0.0
            return minor, np.stack([u**k for k in range(MOMENTS)])
        w, v, c = labels.weighted(1.0), self.v(labels), labels.y - labels.shift
        squares = w * (d * d)
        columns = [np.ones_like(d), w, squares, np.maximum(4.0 * squares - 2.0 * v, 2.0 * v)]
        columns += [w * d, w * c, w * c * d, w * c * c] if self.totals else []
        return np.zeros(labels.n, np.int64), np.stack(columns)


SQUARES = BinKind("square_bins", SQUARE_BITS, 1, len(SQUARE_COLUMNS), 0)
RATIO = BinKind("square_bins", SQUARE_BITS, 1, len(RATIO_COLUMNS), len(PRODUCTS[0]))
FOLDED = BinKind("folded_bins", FOLDED_BITS, Z_BINS + 1, MOMENTS, 1)


class Binned(NamedTuple):
    """The labels with v > 0 in bins, the columns of the others added up, and sums over all labels."""

    bins: Bins
    certain: FloatArray
    totals: FloatArray
    """RATIO: sums of w^2 times products of two of 1, d, c, d^2, c^2. FOLDED: sum w |d| of the labels with v = 0."""


def binned(labels: Labels, kind: BinKind, known: Bins | None) -> Binned:
    """Labels in bins, to be merged with those that are `known` already: only above their floor may a label stay apart."""
    floor = 0.0 if known is None else known.floor
    for low, high, threshold in _ranges(labels, kind, known):
        threshold = max(threshold, floor)
        if engine.bin_loops() is None:
            return _by_numpy(labels, kind, threshold)
        table = _Table(kind, max(low * _BELOW, high * _REACH), high)
        apart = table.take(labels, threshold)
        if len(apart) <= MOST_APART + labels.n // 8:
            break  # else what was known, or the sample, has misled
    totals, left = table.totals.copy(), labels.pick(apart)
    v = kind.v(left)
    top = np.argsort(-v)[:MOST_APART]
    top = top[v[top] > threshold]
    rest = np.delete(np.arange(left.n), top)
    without = rest[table.take(left.pick(rest), math.inf)]
    bins = table.bins()
    for start in range(0, without.size, _BLOCK):
        here = left.pick(without[start : start + _BLOCK])
        bins = bins.with_labels(kind.v(here), *kind.rows(here))
    return Binned(bins.with_top(v[top], *kind.rows(left.pick(top))), table.certain.copy(), totals)


def _ranges(labels: Labels, kind: BinKind, known: Bins | None) -> Iterator[tuple[float, float, float]]:
    """From which v to which most labels lie, and above which they stay apart: as those that are known tell, where these
    are many and close together, as a sample tells, and as all labels tell.
    """
    if known is not None and known.floor > 0 and known.keys.size:
        first, last = known.keys[[0, -1]] // known.per_octave
        if last - first < _FEW_OCTAVES:
            yield math.ldexp(1.0, int(first) - _BIAS), known.floor, known.floor
    n = labels.n
    for step in (max(1, n // SAMPLE) | 1, 1):  # odd, for labels that repeat in patterns of 2, 4, 8 ...
        v = kind.v(labels.pick(slice(None, None, step)))
        # MOST_APART of all n labels, or somewhat more, are above the threshold
        place = v.size - 1 - min(v.size - 1, math.ceil(1.5 * MOST_APART * v.size / n) + 8)
        threshold = float(np.partition(v, place)[place]) if n > MOST_APART else 0.0
        low, high = float(np.min(v, initial=np.inf, where=v > 0)), float(v.max())
        yield (low, high, threshold) if high > 0 else (1.0, 1.0, 0.0)


def _by_numpy(labels: Labels, kind: BinKind, threshold: float) -> Binned:
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
    """Moments of consecutive bins, from the octave of one v to that of another, that a loop of _bins.c fills."""

    def __init__(self, kind: BinKind, low: float, high: float) -> None:
        first, last = leading_bits(np.array([low, max(low, high)]), 52).tolist()
        self._kind, self._first = kind, first
        self._rows = (last - first + 1) << (52 - kind.bits)
        self._moments = _aligned_zeros(self._rows * kind.minors + 1, MOMENTS, kind.columns)
        self.certain = self._moments[-1, 0]
        """The columns of the labels with v = 0, added up."""
        self.totals = np.zeros(kind.totals)

    def take(self, labels: Labels, threshold: float) -> IntArray:
        """Add labels; the indices of those above the threshold, and of those for which there is no bin."""
        kind, loop = self._kind, getattr(engine.bin_loops(), self._kind.loop)
        where = (kind.bits, self._first << (52 - kind.bits), threshold, self._rows, self._moments, self.totals)
        found, apart = [np.empty(0, dtype=np.int64)], np.empty(min(labels.n, CHUNK), dtype=np.int64)
        for start in range(0, labels.n, CHUNK):
            here = labels.pick(slice(start, start + CHUNK))
            count = loop(*here.contiguous(), kind.columns, kind.minors - 1, Z_WIDTH, *where, apart[: here.n])
            found.append(apart[:count] + start)
        return np.concatenate(found)

    def bins(self) -> Bins:
        """All other labels that were added."""
        kind = self._kind
        used, empty = np.flatnonzero(self._moments[:-1, 0, 0]), Bins.empty(kind.columns, kind.bits, kind.minors)
        return replace(empty, keys=self._first * empty.per_octave + used, moments=self._moments[used])


def _aligned_zeros(*shape: int) -> FloatArray:
    """Zeros that begin with a cache line, so that the moments of a bin lie in as few as possible."""
    size = math.prod(shape)
    memory = np.zeros(size + 7)
    start = -(memory.ctypes.data // 8) % 8
    return memory[start : start + size].reshape(shape)
