"""Bins of labels on a GPU: the same as `bins` makes on the host, filled where the labels are.

The bins of ten million labels are a few thousand numbers; only these travel to the host. The largest labels are taken out
first, the others are added to a table of consecutive bins: by a Triton kernel, or block by block by torch where Triton is not
installed and where labels lie too far apart for one table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from scorebars.engines.bins import (
    FOLDED,
    MOMENTS,
    MOST_APART,
    PRODUCTS,
    RATIO,
    SQUARES,
    Z_BINS,
    Z_WIDTH,
    BinKind,
    Binned,
    Bins,
)
from scorebars.engines.store import Store
from scorebars.engines.sums import NormalSums

_BLOCK = 1 << 21
"""Labels at a time: their columns take 400 MB."""
_LONGEST = 1 << 18
"""Bins in a row; where labels differ by more, those that hold labels are looked for."""


def device_summary(columns: Any, need: str, sums: NormalSums) -> Store | None:
    """The store of torch tensors (labels, predictions, errors, weights); None for labels of extreme size."""
    ratio = need == "ratio"
    if not sums.ordinary(ratio):
        return None
    kind = {"squares": SQUARES, "ratio": RATIO, "absolute": FOLDED}[need]
    found = _binned(columns, kind, sums.y_shift)
    if need == "absolute":
        certain, abs_w2 = found.totals.tolist()
        return Store(sums, absolute=found.bins, certain_abs=certain, abs_w2=abs_w2)
    store = Store(sums, squares=found.bins, certain=found.certain)
    if not ratio:
        return store
    gram = np.zeros((5, 5))
    gram[PRODUCTS] = gram.T[PRODUCTS] = found.totals
    p = columns.p if columns.weight is None else columns.p[columns.weight > 0]
    return replace(store, gram=gram, predictions=(float(p.min()), float(p.max())))


def _binned(columns: Any, kind: BinKind, shift: float) -> Binned:
    found = _by_triton(columns, kind, shift) if columns.y.is_cuda else None
    return _by_torch(columns, kind, shift) if found is None else found


def _by_triton(columns: Any, kind: BinKind, shift: float) -> Binned | None:
    """All labels in one pass; None where that cannot be."""
    try:
        from scorebars.engines.triton_bins import filled_bins
    except ImportError:
        return None
    y, sigma, w = columns.y, columns.sigma.double(), columns.weight
    v = (sigma if kind is FOLDED else sigma.square()).expand(len(y))
    v = v if w is None else v * w.double()
    largest = v.topk(min(MOST_APART, len(v)), sorted=False) if v.stride(0) else None
    top = v[0] if largest is None else largest.values.min()
    least = v[0] if largest is None else torch.where(v > 0, v, torch.inf).min()
    first, last = (torch.stack([least, top]).view(torch.int64) >> kind.bits).tolist()
    keys = first * kind.minors, (last + 1) * kind.minors
    if not 0 < keys[1] - keys[0] <= _LONGEST or float(top) <= 0:
        return None
    moments, certain, totals = filled_bins(columns, v, kind, keys, top, 0.0 if kind is FOLDED else shift)
    used = np.flatnonzero(moments[:, 0, 0])
    bins = Bins.empty(kind.columns, kind.bits, kind.minors).with_moments(keys[0] + used, moments[used])
    if largest is not None:
        apart = largest.indices[largest.values > top]
        weight = None if w is None else w[apart].double()
        one = sigma[apart] if sigma.ndim else sigma
        minor, rows = _rows(kind, y[apart].double(), columns.p[apart].double(), one, weight, v[apart], shift)
        bins = bins.with_top(*(part.cpu().numpy() for part in (v[apart], minor, rows)))
    return Binned(bins, certain, totals)


def _by_torch(columns: Any, kind: BinKind, shift: float) -> Binned:
    bins, certain, totals = Bins.empty(kind.columns, kind.bits, kind.minors), np.zeros(kind.columns), 0.0
    for start in range(0, columns.y.shape[0], _BLOCK):
        here = slice(start, start + _BLOCK)
        y, p = columns.y[here].double(), columns.p[here].double()
        sigma = (columns.sigma[here] if columns.sigma.ndim else columns.sigma).double()
        w = None if columns.weight is None else columns.weight[here].double()
        v = (sigma if kind is FOLDED else sigma.square()).expand_as(y)
        v = v.contiguous() if w is None else v * w
        minor, rows = _rows(kind, y, p, sigma, w, v, shift)
        exact = v == 0
        certain += (rows * exact).sum(dim=1).cpu().numpy()
        totals = totals + _totals(kind, y, p, w, exact, shift)
        top = v.topk(min(MOST_APART, len(v))).indices
        inside = ~exact
        inside[top] = False
        bins = bins.with_moments(*_moments(kind, v, minor, rows * inside, inside))
        top = top[v[top] > 0]
        bins = bins.with_top(*(part.cpu().numpy() for part in (v[top], minor[top], rows[:, top])))
    return Binned(bins, certain, np.asarray(totals))


def _rows(kind: BinKind, y: Any, p: Any, sigma: Any, w: Any, v: Any, shift: float) -> tuple[Any, Any]:
    """Minor numbers and columns, as `BinKind.rows`."""
    d = p - y
    if kind is FOLDED:
        place = d.abs() / sigma * (1.0 / Z_WIDTH)
        beyond = ~(place < Z_BINS)
        place = place.masked_fill(beyond, 0.0)
        minor = place.long()
        u = ((place - minor) * 2.0 - 1.0).masked_fill(beyond, 0.0)
        return minor.masked_fill(beyond, Z_BINS), _powers(u)
    one = d.new_ones(()).expand_as(d)
    w = one if w is None else w
    squares = w * (d * d)
    columns = [one, w, squares, (4.0 * squares - 2.0 * v).maximum(2.0 * v)]
    if kind is RATIO:
        c = y - shift
        columns += [w * d, w * c, w * c * d, w * c * c]
    return torch.zeros_like(d, dtype=torch.int64), torch.stack(columns)


def _totals(kind: BinKind, y: Any, p: Any, w: Any, exact: Any, shift: float) -> Any:
    """What `Binned.totals` adds up over all labels; FOLDED: and sum w^2 |d|."""
    d = p - y
    if kind is FOLDED:
        once = d.abs() if w is None else w * d.abs()
        return np.array([float((once * exact).sum()), float((once if w is None else w * once).sum())])
    if kind is SQUARES:
        return np.zeros(0)
    c = y - shift
    terms = torch.stack([d.new_ones(()).expand_as(d), d, c, d * d, c * c])
    terms = terms if w is None else terms * w
    return (terms @ terms.T).cpu().numpy()[PRODUCTS]


def _moments(kind: BinKind, v: Any, minor: Any, rows: Any, inside: Any) -> tuple[Any, Any]:
    """Numbers of the bins that hold labels, and the moments there (k, 4, c)."""
    raw = v.view(torch.int64)
    keys = (raw >> kind.bits) * kind.minors + minor
    if not bool(inside.any()):
        return np.empty(0, dtype=np.int64), np.empty((0, MOMENTS, kind.columns))
    first, last = int(keys[inside].min()), int(keys[inside].max())
    if last - first < _LONGEST:
        index, held = (keys - first).clamp(0, last - first), np.arange(first, last + 1)
    else:
        unique, index = keys.unique(return_inverse=True)
        held = unique.cpu().numpy()
    u = (raw & ((1 << kind.bits) - 1)).double() * 2.0 ** (1 - kind.bits) - 1.0
    wide = (_powers(u)[:, None] * rows).reshape(MOMENTS * kind.columns, -1)
    table = wide.new_zeros(len(held), MOMENTS * kind.columns).index_add_(0, index, wide.T.contiguous())
    count = inside.new_zeros(len(held), dtype=wide.dtype).index_add_(0, index, inside.to(wide.dtype)).cpu().numpy()
    moments = table.cpu().numpy().reshape(len(held), MOMENTS, kind.columns)
    return held[count > 0], moments[count > 0]


def _powers(u: Any) -> Any:
    return torch.stack([u**k for k in range(MOMENTS)])
