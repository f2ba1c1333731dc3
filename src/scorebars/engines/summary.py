"""What an accumulator keeps of one model's labels: sums and bins from which all answers follow. Summaries merge.

Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. Besides the engine's
sums there are, as far as they are asked for (`needs`):

"squares"   bins of v = w s^2 with the columns of SQUARES: laws of quadratic forms, for the squared error
"ratio"     the same with those of RATIO, and sums of w^2 times products of two of 1, d, c, d^2, c^2: R2 and its kin
"absolute"  bins of a = w s and z = |d|/s, the moments of z in its bin as columns: laws of folded normals
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.engines import config
from scorebars.engines.bins import MOMENTS, Bins, FloatArray, leading_bits, threshold_of
from scorebars.engines.chunks import over_chunks
from scorebars.engines.merging import merge
from scorebars.engines.sums import NormalSums, normal_sums

SQUARES = ("count", "w", "w d^2", "max(4 w d^2 - 2 v, 2 v)")
RATIO = (*SQUARES, "w d", "w c", "w c d", "w c^2")
SQUARE_BITS, FOLDED_BITS = 47, 50
"""32 bins an octave for v, 4 for a."""
Z_WIDTH = 0.0625
Z_BINS = 192
"""From z = 12 on a folded normal is a normal; such labels share one more bin."""
_PRODUCTS = np.triu_indices(5)
_BLOCK = 1 << 13
_PIECE = 1 << 19
"""Labels that share bins before these are merged: merging costs as much as taking 50,000 labels in."""
_MOST = 2.0**60
"""Fourth powers of larger numbers, summed over many labels, leave the doubles."""

Labels = Callable[["_Chunk"], tuple[FloatArray, NDArray[Any], FloatArray]]
"""v, minor numbers and columns of some labels."""


@dataclass(frozen=True)
class Summary:
    """One model's labels in flat memory."""

    sums: NormalSums
    squares: Bins | None = None
    certain: FloatArray | None = None
    """The columns of `squares` added up over the labels with v = 0."""
    absolute: Bins | None = None
    certain_abs: float = 0.0
    """sum w |d| over the labels with a = 0."""
    gram: FloatArray | None = None
    """(5, 5): sum w^2 m m', m = (1, d, c, d^2, c^2)."""
    predictions: tuple[float, float] = (np.inf, -np.inf)
    """Two predictions of positive weight, the lower first, that differ if any two do."""

    @property
    def shift(self) -> float:
        """What labels are counted from."""
        return self.sums.y_shift

    def merged(self, other: Summary) -> Summary:
        """The summary of both sets of labels; other is brought to the shift of this one."""
        there = other.about(self.shift) if self.gram is not None else other
        return Summary(
            merge([self.sums, other.sums]),
            _merged(self.squares, there.squares),
            None if self.certain is None or there.certain is None else self.certain + there.certain,
            _merged(self.absolute, there.absolute),
            self.certain_abs + there.certain_abs,
            None if self.gram is None or there.gram is None else self.gram + there.gram,
            (min(self.predictions[0], there.predictions[0]), max(self.predictions[1], there.predictions[1])),
        )

    def about(self, shift: float) -> Summary:
        """The bins and products with labels counted from another shift; the engine's sums stay as they are."""
        move = self.shift - shift
        if move == 0 or self.gram is None or self.squares is None or self.certain is None:
            return self
        columns = np.eye(len(RATIO))
        columns[5, 1] = columns[6, 4] = move
        columns[7, 5], columns[7, 1] = 2 * move, move * move
        products = np.eye(5)
        products[2, 0] = move
        products[4, 2], products[4, 0] = 2 * move, move * move
        return replace(
            self,
            squares=self.squares.recombined(columns),
            certain=columns @ self.certain,
            gram=products @ self.gram @ products.T,
        )


def summarise(
    y: FloatArray,
    p: FloatArray,
    sigma: FloatArray | float,
    weight: FloatArray | None,
    needs: Collection[str],
    known: Summary | None = None,
) -> Summary:
    """The summary of these labels, to be merged with what is `known` already: about its shift, above its largest labels."""
    ratio = "ratio" in needs
    about = None if known is None or not math.isfinite(known.shift) else known.shift
    sums = normal_sums(y, p, sigma, weight, labels=ratio, about=about)
    largest = max(sums.max_abs_d, sums.max_sigma, sums.max_weight, sums.max_abs_y if ratio else 0.0)
    if sums.scale != 1 or sums.weight_scale != 1 or largest > _MOST:
        raise OverflowError(
            f"some labels, predictions, errors or weights are too large or too small to be summed up (beyond {_MOST:.0e}): "
            "choose other units, or use scorebars.evaluate on arrays."
        )
    floors = [0.0 if known is None or part is None else part.floor for part in _bins_of(known)]

    def chunk(start: int, stop: int) -> Summary:
        part = slice(start, stop)
        here = _Chunk(y[part], p[part], _cut(sigma, part), None if weight is None else weight[part], sums.y_shift)
        found = Summary(sums)
        if ratio or "squares" in needs:
            found = here.with_squares(found, ratio, floors[0])
        if "absolute" in needs:
            found = here.with_absolute(found, floors[1])
        return found

    whole, *others = over_chunks(chunk, len(y), config.threads(), _PIECE)
    for other in others:
        whole = replace(whole.merged(other), sums=sums)
    return whole


def _bins_of(known: Summary | None) -> tuple[Bins | None, Bins | None]:
    return (None, None) if known is None else (known.squares, known.absolute)


def _merged(one: Bins | None, other: Bins | None) -> Bins | None:
    return None if one is None or other is None else one.merged(other)


def _cut(values: FloatArray | float, part: slice | NDArray[np.intp]) -> FloatArray | float:
    return values[part] if isinstance(values, np.ndarray) else values


def _aligned_zeros(*shape: int) -> FloatArray:
    """Zeros that begin with a cache line, so that the moments of a column never lie in two."""
    size = math.prod(shape)
    memory = np.zeros(size + 7)
    start = -(memory.ctypes.data // 8) % 8
    return memory[start : start + size].reshape(shape)


def _ends(values: FloatArray) -> tuple[float, float, float]:
    """The smallest positive value (1 if there is none), the largest one, and above which value labels stay apart."""
    low, high = float(values.min()), float(values.max())
    if low == 0:
        low = float(np.min(values, initial=np.inf, where=values > 0)) if high > 0 else 1.0
    return low, high, threshold_of(values, 0.0)


@dataclass(frozen=True)
class _Chunk:
    """Some labels on their way into the bins."""

    y: FloatArray
    p: FloatArray
    sigma: FloatArray | float
    weight: FloatArray | None
    shift: float

    def pick(self, part: slice | NDArray[np.intp]) -> _Chunk:
        weight = None if self.weight is None else self.weight[part]
        return _Chunk(self.y[part], self.p[part], _cut(self.sigma, part), weight, self.shift)

    def weighted(self, values: FloatArray | float) -> FloatArray:
        if self.weight is not None:
            return self.weight * values
        return np.broadcast_to(values, self.y.shape) if np.ndim(values) == 0 else np.asarray(values)

    def with_squares(self, found: Summary, ratio: bool, floor: float) -> Summary:
        number = len(RATIO) if ratio else len(SQUARES)

        def labels(here: _Chunk) -> tuple[FloatArray, NDArray[Any], FloatArray]:
            return here.weighted(np.square(here.sigma)), np.zeros(len(here.y), np.int64), here._square_columns(number)

        bins, certain = self._binned("square_bins", labels, number, floor, SQUARE_BITS, 0)
        found = replace(found, squares=bins, certain=certain[:number])
        return self._with_products(found, certain[number:]) if ratio else found

    def with_absolute(self, found: Summary, floor: float) -> Summary:
        def labels(here: _Chunk) -> tuple[FloatArray, NDArray[Any], FloatArray]:
            return here.weighted(here.sigma), *here._folded_columns()

        bins, certain = self._binned("folded_bins", labels, MOMENTS, floor, FOLDED_BITS, Z_BINS)
        return replace(found, absolute=bins, certain_abs=float(certain[0]))

    def _binned(
        self, name: str, labels: Labels, columns: int, floor: float, bits: int, z_bins: int
    ) -> tuple[Bins, FloatArray]:
        """Bins of the labels with v > 0, and the columns of the others added up; by the compiled loop if there is one."""
        low, high, threshold = self._reach(name == "square_bins", floor)
        module = config.bin_loops()
        if module is None:
            return self._by_numpy(labels, columns, threshold, bits, z_bins)
        first, last = (int(leading_bits(np.array([end]), bits)[0]) for end in (low, max(min(high, threshold), low)))
        number = (last - first + 1) * (z_bins + 1)
        moments = _aligned_zeros(number + 1, columns, MOMENTS)  # the last row: labels with v = 0
        totals = np.zeros(1 if z_bins else len(_PRODUCTS[0]) if columns > len(SQUARES) else 0)
        apart = np.empty(len(self.y), dtype=np.int64)
        y, p = np.ascontiguousarray(self.y), np.ascontiguousarray(self.p)
        sigma = np.ascontiguousarray(self.sigma) if isinstance(self.sigma, np.ndarray) else self.sigma
        weight = None if self.weight is None else np.ascontiguousarray(self.weight)
        shift = self.shift if math.isfinite(self.shift) else 0.0
        where = (bits, first, threshold, number, moments, totals, apart)
        count = getattr(module, name)(y, p, sigma, weight, shift, columns, z_bins, Z_WIDTH, *where)
        bins = Bins.of_moments(moments[:-1], first, bits, z_bins + 1)
        certain = totals if z_bins else np.concatenate([moments[-1, :, 0], totals])
        return bins.with_top(*labels(self.pick(apart[:count]))) if count else bins, certain

    def _reach(self, square: bool, floor: float) -> tuple[float, float, float]:
        """The smallest positive and the largest v, and above which v labels stay apart."""
        if self.weight is not None:
            low, high, threshold = _ends(self.weight * (np.square(self.sigma) if square else self.sigma))
        else:
            low, high, threshold = self._sigma_ends
            if square:  # of a few numbers instead of all
                low, high, threshold = low * low, high * high, threshold * threshold
        return low, max(high, low), max(threshold, floor)

    @cached_property
    def _sigma_ends(self) -> tuple[float, float, float]:
        return _ends(self.sigma) if isinstance(self.sigma, np.ndarray) else (self.sigma or 1.0, self.sigma, self.sigma)

    def _by_numpy(
        self, labels: Labels, columns: int, threshold: float, bits: int, z_bins: int
    ) -> tuple[Bins, FloatArray]:
        bins, certain = Bins.empty(columns, bits, z_bins + 1), np.zeros(columns)
        for start in range(0, len(self.y), _BLOCK):
            v, minor, rows = labels(self.pick(slice(start, start + _BLOCK)))
            exact, large = v == 0, v > threshold
            inside = ~(exact | large)
            certain += rows[:, exact].sum(axis=1)
            if z_bins:
                certain[0] += self._exact_abs(slice(start, start + _BLOCK), exact) - np.count_nonzero(exact)
            bins = bins.with_labels(v[inside], minor[inside], rows[:, inside])
            bins = bins.with_top(v[large], minor[large], rows[:, large])
        return bins, certain

    def _exact_abs(self, part: slice, exact: NDArray[np.bool_]) -> float:
        here = self.pick(part)
        return float(np.sum(here.weighted(np.abs(here.p - here.y))[exact]))

    # the columns, as in _bins.c ----------------------------------------------------------------

    def _square_columns(self, number: int) -> FloatArray:
        d, w = self.p - self.y, self.weighted(1.0)
        v = self.weighted(np.square(self.sigma))
        squares = w * (d * d)
        columns = [np.ones_like(d), w, squares, np.maximum(4.0 * squares - 2.0 * v, 2.0 * v)]
        if number > len(SQUARES):
            c = self.y - self.shift
            columns += [w * d, w * c, w * c * d, w * c * c]
        return np.stack(columns)

    def _folded_columns(self) -> tuple[NDArray[np.int64], FloatArray]:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            place = np.abs(self.p - self.y) / self.sigma * (1.0 / Z_WIDTH)
        beyond = ~(place < Z_BINS)
        place[beyond] = 0.0
        minor = place.astype(np.int64)
        u = (place - minor) * 2.0 - 1.0
        minor[beyond], u[beyond] = Z_BINS, 0.0
        return minor, np.stack([u**k for k in range(MOMENTS)])

    # ratios ------------------------------------------------------------------------------------

    def _some_predictions(self) -> FloatArray:
        """Those of positive weight; a few that differ, or all."""
        p = self.p if self.weight is None else self.p[self.weight > 0]
        return p[:8] if p.size and p[:8].min() < p[:8].max() else p

    def _with_products(self, found: Summary, sums: FloatArray) -> Summary:
        """With the products of `Summary.gram`: those that the compiled loop has summed up, else summed up here."""
        p = self._some_predictions()
        gram = np.zeros((5, 5))
        if sums.size:
            gram[_PRODUCTS] = gram.T[_PRODUCTS] = sums
        else:
            c, d = self.y - self.shift, self.p - self.y
            rows = np.stack([np.ones_like(c), d, c, d * d, c * c]) * self.weighted(1.0)
            gram = np.einsum("in,jn->ij", rows, rows)
        low, high = float(p.min(initial=np.inf)), float(p.max(initial=-np.inf))
        return replace(found, gram=gram, predictions=(low, high))
