"""Bins of labels on a GPU by one Triton kernel that reads every array once and adds each label to its bin.

Many programs add to few bins, so each of several copies of the table serves some of them; the copies are summed in the end. The
order in which labels are added is not fixed: two runs may differ in the last digits.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# (what Triton compiles has no Python types)

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from scorebars.engines.bins import FOLDED, MOMENTS, RATIO, Z_BINS, Z_WIDTH, BinKind, place_in_bin
from scorebars.engines.triton_sums import processors, readable

_BLOCK, _WARPS = 256, 4
_PROGRAMS_PER_PROCESSOR = 16
_COPIES, _COPIED = 64, 1 << 24
"""Copies of the table at the most, and bytes that all of them may take: they stay in the cache."""

_SQUARES_, _RATIO_, _FOLDED_ = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
_MOMENTS_, _Z_BINS_, _Z_PLACES_ = tl.constexpr(MOMENTS), tl.constexpr(Z_BINS), tl.constexpr(1.0 / Z_WIDTH)


@triton.jit
def _add(table_at, index, inside, u, columns, COLUMNS: tl.constexpr):
    """Each column times the powers of the place in the bin."""
    power = tl.full(u.shape, 1.0, tl.float64)
    for k in tl.static_range(_MOMENTS_):
        for c in tl.static_range(COLUMNS):
            tl.atomic_add(
                table_at + (index * _MOMENTS_ + k) * COLUMNS + c, power * columns[c], mask=inside, sem="relaxed"
            )
        power = power * u


# fmt: off
@triton.jit
def _kernel(
    v_at, y_at, p_at, s_at, w_at, table_at, out_at, n, v_step, y_step, p_step, s_step, w_step, rounds, size, first, top, shift,
    KIND: tl.constexpr, WEIGHTED: tl.constexpr, BITS: tl.constexpr, MINORS: tl.constexpr, COLUMNS: tl.constexpr,
    TOTALS: tl.constexpr, COPIES: tl.constexpr, ONE_BIN: tl.constexpr, BLOCK: tl.constexpr,
):
    # fmt: on
    program, programs = tl.program_id(0), tl.num_programs(0)
    table_at += (program % COPIES).to(tl.int64) * size
    out_at += program * (COLUMNS + TOTALS)
    zero = tl.zeros([BLOCK], tl.float64)
    c0_, c1_, c2_, c3_, c4_, c5_, c6_, c7_ = zero, zero, zero, zero, zero, zero, zero, zero
    t0_, t1_, t2_, t3_, t4_, t5_, t6_, t7_ = zero, zero, zero, zero, zero, zero, zero, zero
    t8_, t9_, t10_, t11_, t12_, t13_, t14_ = zero, zero, zero, zero, zero, zero, zero
    first_, top_, shift_ = tl.load(first), tl.load(top), tl.load(shift)

    for i in range(rounds):
        at = (i * programs + program).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        here = at < n
        v = tl.load(v_at + at * v_step, mask=here, other=0)
        y = tl.load(y_at + at * y_step, mask=here, other=0).to(tl.float64)
        p = tl.load(p_at + at * p_step, mask=here, other=0).to(tl.float64)
        one = here.to(tl.float64)
        w = one
        if WEIGHTED:
            w = tl.load(w_at + at * w_step, mask=here, other=0).to(tl.float64)
        d = p - y
        exact, inside = here & (v == 0), here & (v > 0) & (v <= top_)
        if ONE_BIN:  # too many labels for one place in memory: they are summed as those without error are
            exact, inside = here, v < 0
        sure = exact.to(tl.float64)
        raw = v.to(tl.int64, bitcast=True)
        u = (raw & ((1 << BITS) - 1)).to(tl.float64) * (2.0 / (1 << BITS)) - 1.0
        if KIND == _FOLDED_:
            s = tl.load(s_at + at * s_step, mask=here, other=1).to(tl.float64)
            place = tl.abs(d) / tl.where(s > 0, s, 1.0) * _Z_PLACES_
            beyond = (place >= _Z_BINS_) | (s == 0)
            place = tl.where(beyond, 0.0, place)
            whole = place.to(tl.int64)
            z = tl.where(beyond, 0.0, (place - whole.to(tl.float64)) * 2.0 - 1.0)
            index = (raw >> BITS) * MINORS + tl.where(beyond, _Z_BINS_, whole) - first_
            _add(table_at, index, inside, u, (one, z, z * z, z * z * z), COLUMNS)
            c0_ += sure
            t0_ += sure * w * tl.abs(d)
            t1_ += w * w * tl.abs(d)
        else:
            squares = w * (d * d)
            noise = tl.maximum(4.0 * squares - 2.0 * v, 2.0 * v)
            index = (raw >> BITS) * MINORS - first_
            c0_ += sure
            c1_ += sure * w
            c2_ += sure * squares
            c3_ += sure * noise
            if KIND == _RATIO_:
                c = tl.where(here, y - shift_, 0.0)
                _add(
                    table_at, index, inside, u, (one, w, squares, noise, w * d, w * c, w * c * d, w * c * c), COLUMNS
                )
                c4_ += sure * w * d
                c5_ += sure * w * c
                c6_ += sure * w * c * d
                c7_ += sure * w * c * c
                w2, d2, cc = w * w, d * d, c * c
                t0_ += w2
                t1_ += w2 * d
                t2_ += w2 * c
                t3_ += w2 * d2
                t4_ += w2 * cc
                t5_ += w2 * d2
                t6_ += w2 * d * c
                t7_ += w2 * d * d2
                t8_ += w2 * d * cc
                t9_ += w2 * cc
                t10_ += w2 * c * d2
                t11_ += w2 * c * cc
                t12_ += w2 * d2 * d2
                t13_ += w2 * d2 * cc
                t14_ += w2 * cc * cc
            else:
                _add(table_at, index, inside, u, (one, w, squares, noise), COLUMNS)

    certain = (c0_, c1_, c2_, c3_, c4_, c5_, c6_, c7_)
    totals = (t0_, t1_, t2_, t3_, t4_, t5_, t6_, t7_, t8_, t9_, t10_, t11_, t12_, t13_, t14_)
    for k in tl.static_range(COLUMNS):
        tl.store(out_at + k, tl.sum(certain[k]))
    for k in tl.static_range(TOTALS):
        tl.store(out_at + COLUMNS + k, tl.sum(totals[k]))


def filled_bins(
    columns: Any, v: Any, kind: BinKind, keys: tuple[int, int], top: Any, shift: float
) -> tuple[Any, Any, Any]:
    """Moments of the bins `keys` (from, to) of labels with 0 < v <= top, the columns of those with v = 0, sums over all.

    `columns` are (y, p, sigma, weight). The sums of FOLDED are two: w |d| of the labels with v = 0, and w^2 |d| of all.
    """
    arrays = (v, *(None if column is None else readable(column) for column in columns))
    n, device, row, bins = len(v), v.device, MOMENTS * kind.columns, keys[1] - keys[0]
    copies = int(min(_COPIES, max(1, _COPIED // (8 * bins * row))))
    table = torch.zeros((copies, bins, row), dtype=torch.float64, device=device)
    more = 2 if kind is FOLDED else kind.totals
    programs = min(-(-n // _BLOCK), _PROGRAMS_PER_PROCESSOR * processors(device))
    out = torch.empty((programs, kind.columns + more), dtype=torch.float64, device=device)
    steps = [0 if column is None or column.ndim == 0 else column.stride(0) for column in arrays]
    one_bin = v.stride(0) == 0 and kind is not FOLDED
    which = _FOLDED_ if kind is FOLDED else _RATIO_ if kind is RATIO else _SQUARES_
    numbers = torch.tensor(keys[0], device=device), top, torch.tensor(shift, dtype=torch.float64, device=device)
    with torch.cuda.device_of(v):
        _kernel[(programs,)](
            *arrays, table, out, n, *steps, -(-n // (_BLOCK * programs)), bins * row, *numbers,
            KIND=which, WEIGHTED=arrays[-1] is not None, BITS=kind.bits, MINORS=kind.minors, COLUMNS=kind.columns,
            TOTALS=more, COPIES=copies, ONE_BIN=one_bin, BLOCK=_BLOCK, num_warps=_WARPS,
        )  # fmt: skip
    found = out.sum(dim=0).cpu().numpy()
    certain, totals = found[: kind.columns], found[kind.columns :]
    if one_bin:
        moments = np.vander(place_in_bin(v[:1].cpu().numpy(), kind.bits), MOMENTS, increasing=True)[..., None] * certain
        return moments, np.zeros(kind.columns), totals
    return table.sum(dim=0).cpu().numpy().reshape(bins, MOMENTS, kind.columns), certain, totals
