"""What an accumulator keeps of one model's labels: sums and bins from which all answers follow. Summaries merge.

Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. Besides the engine's
sums there are, as far as they are asked for (`needs`), bins of one of the kinds of `binning`:

"squares"   SQUARES: laws of quadratic forms, for the squared error
"ratio"     RATIO, and sums of w^2 times products of two of 1, d, c, d^2, c^2: R2 and its kin
"absolute"  FOLDED: laws of folded normals
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from scorebars.engines import config
from scorebars.engines.binning import FOLDED, PRODUCTS, RATIO, RATIO_COLUMNS, SQUARES, Labels, binned
from scorebars.engines.bins import Bins, FloatArray
from scorebars.engines.chunks import over_chunks
from scorebars.engines.merging import merge
from scorebars.engines.sums import NormalSums, normal_sums

_PIECE = 1 << 20
"""Labels that share bins before these are merged: merging costs as much as taking 50,000 labels in."""
_BLOCK = 1 << 16
_MOST = 2.0**60
"""Fourth powers of larger numbers, summed over many labels, leave the doubles."""


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
    abs_w2: float = 0.0
    """sum w^2 |d| of all labels, where "absolute" was asked for."""
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
            self.abs_w2 + there.abs_w2,
            None if self.gram is None or there.gram is None else self.gram + there.gram,
            (min(self.predictions[0], there.predictions[0]), max(self.predictions[1], there.predictions[1])),
        )

    def about(self, shift: float) -> Summary:
        """The bins and products with labels counted from another shift; the engine's sums stay as they are."""
        move = self.shift - shift
        if move == 0 or self.gram is None or self.squares is None or self.certain is None:
            return self
        columns = np.eye(len(RATIO_COLUMNS))
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
    sums: NormalSums | None = None,
) -> Summary:
    """The summary of these labels, to be merged with what is `known` already: about its shift, above its largest labels.

    Their `sums` may be at hand; for "ratio" with those of the labels' own scatter.
    """
    ratio = "ratio" in needs
    if sums is None:
        about = None if known is None or not math.isfinite(known.shift) else known.shift
        sums = normal_sums(y, p, sigma, weight, labels=ratio, about=about)
    largest = max(sums.max_abs_d, sums.max_sigma, sums.max_weight, sums.max_abs_y if ratio else 0.0)
    if sums.scale != 1 or sums.weight_scale != 1 or largest > _MOST:
        raise OverflowError(
            f"some labels, predictions, errors or weights are too large or too small to be summed up (beyond {_MOST:.0e}): "
            "choose other units, or use scorebars.evaluate on arrays."
        )
    squares, absolute = (None, None) if known is None else (known.squares, known.absolute)

    def chunk(start: int, stop: int) -> Summary:
        labels = Labels(y, p, sigma, weight, sums.y_shift).pick(slice(start, stop))
        found = Summary(sums)
        if ratio or "squares" in needs:
            in_bins = binned(labels, RATIO if ratio else SQUARES, squares)
            found = replace(found, squares=in_bins.bins, certain=in_bins.certain)
            if ratio:
                found = replace(found, gram=_gram(in_bins.totals), predictions=_two_predictions(labels))
        if "absolute" in needs:
            in_bins = binned(labels, FOLDED, absolute)
            found = replace(found, absolute=in_bins.bins, certain_abs=float(in_bins.totals[0]), abs_w2=_abs_w2(labels))
        return found

    whole, *others = over_chunks(chunk, len(y), config.threads(), _PIECE)
    for other in others:
        whole = replace(whole.merged(other), sums=sums)
    return whole


def _merged(one: Bins | None, other: Bins | None) -> Bins | None:
    return None if one is None or other is None else one.merged(other)


def _abs_w2(labels: Labels) -> float:
    parts = []
    for start in range(0, labels.n, _BLOCK):
        some = labels.pick(slice(start, start + _BLOCK))
        size = np.abs(some.p - some.y)
        parts.append(float(np.add.reduce(size if some.weight is None else np.square(some.weight) * size)))
    return math.fsum(parts)


def _gram(products: FloatArray) -> FloatArray:
    out = np.zeros((5, 5))
    out[PRODUCTS] = out.T[PRODUCTS] = products
    return out


def _two_predictions(labels: Labels) -> tuple[float, float]:
    """The lowest and the highest of positive weight, of a few that differ or of all."""
    p = labels.p if labels.weight is None else labels.p[labels.weight > 0]
    if p.size and p[:8].min() < p[:8].max():
        p = p[:8]
    return float(p.min(initial=np.inf)), float(p.max(initial=-np.inf))
