"""The sums of `sums.NAMES` for torch tensors on a GPU: one fused Triton kernel that reads every array once.

Arrays of float64 are computed in float64. Where all arrays are float32 each label's part is computed in float32, four
neighbours are added in float32, and all further sums are in float64: each label's part has a relative error of about 1e-7,
of either sign. Which labels are within a tolerance is decided in float64, and data too large or too small for float32 go
in float64 altogether. Higher sums (`sums.HIGHER`) come from the same pass where they are asked for.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
# (what Triton compiles has no Python types)

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl

from scorebars.engines import coefficients
from scorebars.engines.sums import HIGHER, LARGEST, SMALLEST, SUMS, HigherRows

_FOLD_ROOT = tl.constexpr(coefficients.FOLD_ROOT)
_SINGLE_FOLD_TOP = tl.constexpr(coefficients.SINGLE_FOLD_TOP)
_SINGLE_FOLD_BOTTOM = tl.constexpr(coefficients.SINGLE_FOLD_BOTTOM)
_TAIL_TOP, _TAIL_BOTTOM = tl.constexpr(coefficients.TAIL_TOP), tl.constexpr(coefficients.TAIL_BOTTOM)

_ALIGNED = 16  # Triton knows of a number or an address whether this divides it
_WARPS = 4
_STAGES = 3  # blocks that are on their way from memory while one is summed
_PROGRAMS_PER_PROCESSOR = 64
_JOINED = 1024  # programs whose numbers are joined at a time
_FEW_BLOCKS, _FEW_PROGRAMS = 256, 64  # of so few labels the host joins the numbers: that is quicker than another launch

# Where g(z), the normal tail and the normal numbers end.
_SINGLE = {"FOLD_END": 6.0, "TAIL_END": 13.0, "TINY": 1.1754943508222875e-38, "VECTOR": 4}
_DOUBLE = {
    "FOLD_END": coefficients.FOLD_END,
    "TAIL_END": coefficients.TAIL_END,
    "TINY": 2.2250738585072014e-308,
    "VECTOR": 2,
}
_THREADS = 32 * _WARPS  # each takes one vector of 16 bytes of every array at a time
# What fourth powers in float32 can be taken of.
_SINGLE_LOWEST, _SINGLE_HIGHEST = 2.0**-16, 2.0**30

# What the kernel stores of each program: the sums in the order of SUMS, higher sums, then the largest of LARGEST and SMALLEST,
# of the latter with the other sign.
_ENDS = len(LARGEST) + len(SMALLEST)
_STORED = tuple(len(SUMS) + count + _ENDS for count in (0, *map(len, HIGHER.values())))
"""How many numbers that is, by the kind of higher sums."""
_SQUARES, _RATIO, _ABSOLUTE = (tl.constexpr(list(HIGHER).index(need) + 1) for need in ("squares", "ratio", "absolute"))
_PHI = tl.constexpr(0.3989422804014327)


@triton.jit
def _polynomial(z, TERMS: tl.constexpr, DEGREE: tl.constexpr):
    out = tl.zeros_like(z) + TERMS[DEGREE]
    for k in tl.static_range(DEGREE):
        out = out * z + TERMS[DEGREE - 1 - k]
    return out


@triton.jit
def _fold(z):
    """g(z) = E|Z + z| - z"""
    if z.dtype == tl.float32:
        return tl.exp(-0.5 * z * z) * _polynomial(z, _SINGLE_FOLD_TOP, 3) / _polynomial(z, _SINGLE_FOLD_BOTTOM, 5)
    else:
        root = _polynomial(z, _FOLD_ROOT, 22)
        return root * root * root * root


@triton.jit
def _tail(z):
    """Q(z) = P(Z > z)"""
    return tl.exp(-0.5 * z * z) * _polynomial(z, _TAIL_TOP, 8) / _polynomial(z, _TAIL_BOTTOM, 9)


@triton.jit
def _rows(x, VECTOR: tl.constexpr):
    """Neighbours, which one thread holds, side by side."""
    return tl.reshape(x, [x.shape[0] // VECTOR, VECTOR])


@triton.jit
def _added(total, x, VECTOR: tl.constexpr):
    return total + tl.sum(_rows(x, VECTOR), axis=1).to(tl.float64)


@triton.jit
def _larger(largest, x, VECTOR: tl.constexpr):
    return tl.maximum(largest, tl.max(_rows(x, VECTOR), axis=1))


@triton.jit
def _add_two(own, offset, t, s, d, VECTOR: tl.constexpr):
    """Higher sums of squares, of one order."""
    return _added(own, t * s * s, VECTOR), _added(offset, t * d * d, VECTOR)


@triton.jit
def _add_five(one, d_sum, c_sum, cd_sum, cc_sum, t, d, c, VECTOR: tl.constexpr):
    """Higher sums of one order that ratios need besides."""
    td, tc = t * d, t * c
    one, d_sum, c_sum = _added(one, t, VECTOR), _added(d_sum, td, VECTOR), _added(c_sum, tc, VECTOR)
    return one, d_sum, c_sum, _added(cd_sum, tc * d, VECTOR), _added(cc_sum, tc * c, VECTOR)


# fmt: off
@triton.jit
def _kernel(
    y_at, p_at, s_at, w_at, tolerance_at, reference_at, out_at, n, y_step, p_step, s_step, w_step, out_step, rounds, per_unit,
    per_weight,
    KIND: tl.constexpr, NUMBER: tl.constexpr,
    WEIGHTED: tl.constexpr, WITHIN: tl.constexpr, LABELS: tl.constexpr, FOLD_END: tl.constexpr,
    TAIL_END: tl.constexpr, TINY: tl.constexpr, VECTOR: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):
    # fmt: on
    program, programs = tl.program_id(0), tl.num_programs(0)
    zero = tl.zeros([BLOCK // VECTOR], tl.float64)
    d_, abs_, sq_, var_, fold_, fourth_, var2_, sqvar_, foldvar_ = zero, zero, zero, zero, zero, zero, zero, zero, zero
    w_, w2_, d_w2_, expabs_, sq_w2_, var_w2_ = zero, zero, zero, zero, zero, zero
    within_, within_p_, within_var_ = zero, zero, zero
    y1_, y2_, d_var_, y_var_, y2_var_, y_d_var_ = zero, zero, zero, zero, zero, zero
    own3_, own4_, own5_, own6_, two3_, two4_, two5_, two6_ = zero, zero, zero, zero, zero, zero, zero, zero
    one3_, one4_, one5_, one6_, hd3_, hd4_, hd5_, hd6_ = zero, zero, zero, zero, zero, zero, zero, zero
    hc3_, hc4_, hc5_, hc6_, cd3_, cd4_, cd5_, cd6_ = zero, zero, zero, zero, zero, zero, zero, zero
    cc3_, cc4_, cc5_, cc6_, errors_ = zero, zero, zero, zero, zero
    least = tl.full([BLOCK // VECTOR], float("-inf"), NUMBER)
    max_d, max_s, min_s, max_w, min_w, max_c = least, least, least, least, least, least

    for i in tl.range(rounds, num_stages=STAGES):
        at = (i * programs + program).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        here = at < n
        # beyond the end all is 0, which adds nothing to any sum
        y = tl.load(y_at + at * y_step, mask=here, other=0).to(NUMBER)
        p = tl.load(p_at + at * p_step, mask=here, other=0).to(NUMBER)
        s = tl.load(s_at + at * s_step, mask=here, other=0).to(NUMBER)
        d = p - y
        a, sq, var = tl.abs(d), d * d, s * s
        z = a / (s + TINY)
        gain = tl.where(z < FOLD_END, _fold(tl.minimum(z, FOLD_END)), 0.0)
        fold = s * gain
        foldvar = var - fold * (a + a + fold)
        if WEIGHTED:
            w = tl.load(w_at + at * w_step, mask=here, other=0).to(NUMBER)
            w2 = w * w
            d_, abs_, sq_ = _added(d_, w * d, VECTOR), _added(abs_, w * a, VECTOR), _added(sq_, w * sq, VECTOR)
            var_, fold_ = _added(var_, w * var, VECTOR), _added(fold_, w * fold, VECTOR)
            w_, w2_, d_w2_ = _added(w_, w, VECTOR), _added(w2_, w2, VECTOR), _added(d_w2_, w2 * d, VECTOR)
            expabs_, sq_w2_ = _added(expabs_, w2 * (a + fold), VECTOR), _added(sq_w2_, w2 * sq, VECTOR)
            var_w2_, foldvar_ = _added(var_w2_, w2 * var, VECTOR), _added(foldvar_, w2 * foldvar, VECTOR)
            fourth_, var2_ = _added(fourth_, w2 * sq * sq, VECTOR), _added(var2_, w2 * var * var, VECTOR)
            sqvar_ = _added(sqvar_, w2 * sq * var, VECTOR)
            max_w, min_w = _larger(max_w, w, VECTOR), _larger(min_w, -w, VECTOR)
            max_d, max_s = (
                _larger(max_d, tl.where(w > 0, a, 0.0), VECTOR),
                _larger(max_s, tl.where(w > 0, s, 0.0), VECTOR),
            )
        else:
            w = here.to(NUMBER)
            w2 = w
            d_, abs_, sq_ = _added(d_, d, VECTOR), _added(abs_, a, VECTOR), _added(sq_, sq, VECTOR)
            var_, fold_ = _added(var_, var, VECTOR), _added(fold_, fold, VECTOR)
            fourth_, var2_ = _added(fourth_, sq * sq, VECTOR), _added(var2_, var * var, VECTOR)
            sqvar_, foldvar_ = _added(sqvar_, sq * var, VECTOR), _added(foldvar_, foldvar, VECTOR)
            max_d, max_s = _larger(max_d, a, VECTOR), _larger(max_s, s, VECTOR)
        min_s = _larger(min_s, -s, VECTOR)
        if WITHIN:
            tolerance = tl.load(tolerance_at)
            exact = tl.abs(p.to(tl.float64) - y.to(tl.float64))  # what decides on which side of the edge a label is
            inside = exact <= tolerance
            z_near = tl.abs(tolerance - exact).to(NUMBER) / (s + TINY)
            z_far = (tolerance + exact).to(NUMBER) / (s + TINY)
            near, far = _tail(tl.minimum(z_near, TAIL_END)), _tail(tl.minimum(z_far, TAIL_END))
            # P(the label ends up on the other side of the edge); an exact one stays, even on the edge
            moves = tl.where((s > 0) & (z_near < TAIL_END), tl.where(inside, near + far, near - far), 0.0)
            within_ = _added(within_, tl.where(inside, w, 0.0), VECTOR)
            within_p_ = _added(within_p_, w * tl.where(inside, 1.0 - moves, moves), VECTOR)
            within_var_ = _added(within_var_, w2 * moves * (1.0 - moves), VECTOR)
        if LABELS:
            c = tl.where(w > 0, y - tl.load(reference_at).to(NUMBER), 0.0)
            w2_var = w2 * var
            y1_, y2_, d_var_ = (
                _added(y1_, w * c, VECTOR),
                _added(y2_, w * c * c, VECTOR),
                _added(d_var_, w2_var * d, VECTOR),
            )
            y_var_, y2_var_ = _added(y_var_, w2_var * c, VECTOR), _added(y2_var_, w2_var * c * c, VECTOR)
            y_d_var_, max_c = _added(y_d_var_, w2_var * c * d, VECTOR), _larger(max_c, tl.abs(c), VECTOR)
        if KIND > 0:
            if KIND == _ABSOLUTE:
                near = tl.minimum(z, FOLD_END)
                f = tl.where(z < FOLD_END, tl.exp(-0.5 * near * near) * _PHI, 0.0)
                zz, m, h = near * near, near + gain, gain * (2.0 * near + gain)
                size = (w * per_weight) * (s * per_unit)
                a3 = size * size * size
                a4 = a3 * size
                a5 = a4 * size
                a6 = a5 * size
                errors_ = _added(errors_, size, VECTOR)
                own3_, own4_ = _added(own3_, a3, VECTOR), _added(own4_, a4, VECTOR)
                own5_, own6_ = _added(own5_, a5, VECTOR), _added(own6_, a6, VECTOR)
                two3_ = _added(two3_, a3 * (2.0 * (m * h - f)), VECTOR)
                two4_ = _added(two4_, a4 * (8.0 * m * f - h * (6.0 * h + 4.0 * zz)), VECTOR)
                cumulant = f * (6.0 - 40.0 * h - 22.0 * zz) + 8.0 * m * h * (3.0 * h + zz)
                two5_ = _added(two5_, a5 * cumulant, VECTOR)
                cumulant = m * f * (240.0 * h + 52.0 * zz - 36.0) - h * (120.0 * h * (h + zz) + 16.0 * zz * zz) - 40.0 * f * f
                two6_ = _added(two6_, a6 * cumulant, VECTOR)
            else:
                su, du, wu = s * per_unit, d * per_unit, w * per_weight
                u = wu * su * su
                t3 = u * u * wu
                t4 = t3 * u
                t5 = t4 * u
                t6 = t5 * u
                own3_, two3_ = _add_two(own3_, two3_, t3, su, du, VECTOR)
                own4_, two4_ = _add_two(own4_, two4_, t4, su, du, VECTOR)
                own5_, two5_ = _add_two(own5_, two5_, t5, su, du, VECTOR)
                own6_, two6_ = _add_two(own6_, two6_, t6, su, du, VECTOR)
                if KIND == _RATIO:
                    cu = tl.where(w > 0, y - tl.load(reference_at).to(NUMBER), 0.0) * per_unit
                    one3_, hd3_, hc3_, cd3_, cc3_ = _add_five(one3_, hd3_, hc3_, cd3_, cc3_, t3, du, cu, VECTOR)
                    one4_, hd4_, hc4_, cd4_, cc4_ = _add_five(one4_, hd4_, hc4_, cd4_, cc4_, t4, du, cu, VECTOR)
                    one5_, hd5_, hc5_, cd5_, cc5_ = _add_five(one5_, hd5_, hc5_, cd5_, cc5_, t5, du, cu, VECTOR)
                    one6_, hd6_, hc6_, cd6_, cc6_ = _add_five(one6_, hd6_, hc6_, cd6_, cc6_, t6, du, cu, VECTOR)

    if not WEIGHTED:  # the host knows the sums of weights
        d_w2_, sq_w2_, var_w2_, expabs_ = d_, sq_, var_, abs_ + fold_
    plain = (w_, w2_, d_, abs_, sq_, var_, fold_)
    squared_weights = (d_w2_, sq_w2_, fourth_, expabs_, var_w2_, var2_, sqvar_, foldvar_)
    labels = (y1_, y2_, d_var_, y_var_, y2_var_, y_d_var_)
    sums = plain + squared_weights + (within_, within_p_, within_var_) + labels
    if KIND == _SQUARES:
        squares = (own3_, two3_, own4_, two4_, own5_, two5_, own6_, two6_)
        sums = sums + squares
    if KIND == _ABSOLUTE:
        absolute = (own3_, two3_, own4_, two4_, own5_, two5_, own6_, two6_, errors_)
        sums = sums + absolute
    if KIND == _RATIO:
        third = (own3_, two3_, one3_, hd3_, hc3_, cd3_, cc3_)
        fourth = (own4_, two4_, one4_, hd4_, hc4_, cd4_, cc4_)
        fifth = (own5_, two5_, one5_, hd5_, hc5_, cd5_, cc5_)
        sixth = (own6_, two6_, one6_, hd6_, hc6_, cd6_, cc6_)
        sums = sums + third + fourth + fifth + sixth
    largest = (max_d, max_s, max_w, max_c, min_s, min_w)
    out_at += program
    for k in tl.static_range(len(sums)):
        tl.store(out_at + k * out_step, tl.sum(sums[k]))
    for k in tl.static_range(len(largest)):
        tl.store(out_at + (len(sums) + k) * out_step, tl.max(largest[k]).to(tl.float64))


@triton.jit
def _join(out_at, total_at, programs, SUMS: tl.constexpr, BLOCK: tl.constexpr):
    """One number of all programs: of the first SUMS the sum, of the others the largest."""
    k = tl.program_id(0)
    summed = k < SUMS
    nothing = tl.where(summed, 0.0, float("-inf")).to(tl.float64)
    total = tl.zeros([BLOCK], tl.float64) + nothing
    for start in range(0, programs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(out_at + k * programs + at, mask=at < programs, other=nothing)
        total = tl.where(summed, total + x, tl.maximum(total, x))
    tl.store(total_at + k, tl.where(summed, tl.sum(total), tl.max(total)))


def triton_sums(
    y: Any,
    p: Any,
    sigma: Any,
    weight: Any | None,
    tolerance: float | None = None,
    reference: float | None = None,
    *higher: float,
) -> tuple[float, ...]:
    """The numbers in the order of `sums.NAMES`; those that need a missing tolerance or reference are 0.

    `sigma` is a tensor like y, or one of no dimension that holds for all labels. The `higher` sums follow (`HigherRows`:
    kind, per_unit, per_weight).
    """
    rows = HigherRows(int(higher[0]), *higher[1:]) if higher else _NO_ROWS
    columns = [None if column is None else readable(column) for column in (y, p, sigma, weight)]
    numbers = [
        None if number is None else torch.tensor(number, dtype=torch.float64, device=y.device)
        for number in (tolerance, reference)
    ]
    if all(column.dtype == torch.float32 for column in columns if column is not None and column.ndim):
        found = _pass(columns, numbers, rows, single=True)
        if _fits_single(found):
            return _in_order(found, y.shape[0], weight is not None)
    return _in_order(_pass(columns, numbers, rows, single=False), y.shape[0], weight is not None)


_NO_ROWS = HigherRows(0, 1.0, 1.0)


def readable(column: Any) -> Any:
    """The kernel reads float32 and float64 as they lie in memory."""
    return column if column.dtype in (torch.float32, torch.float64) else column.double()


@cache
def processors(device: Any) -> int:
    """How many multiprocessors the device has."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def _pass(columns: list[Any], numbers: list[Any], higher: HigherRows, single: bool) -> list[float]:
    """What the kernel stores, over all labels."""
    n, device = columns[0].shape[0], columns[0].device
    layout = [None if c is None else (c.dtype, c.ndim and c.stride(0), c.data_ptr() % _ALIGNED) for c in columns]
    asked = (higher.kind, single, numbers[0] is not None, numbers[1] is not None)
    plan = _plan(n, device, *asked, *layout)
    with _current(device):
        out = plan.memory()
        for launch in plan.launches:
            launch(columns, numbers, out, higher)
        if plan.few:
            if device.type == "cuda":
                torch.cuda.current_stream().synchronize()
            found = out.numpy()
            sums, ends = np.add.reduce(found[:-_ENDS], axis=1), np.maximum.reduce(found[-_ENDS:], axis=1)
            return [*sums.tolist(), *ends.tolist()]
        stored, programs = plan.shape
        total = torch.empty(stored, dtype=torch.float64, device=device)
        _join[(stored,)](out, total, programs, SUMS=stored - _ENDS, BLOCK=_JOINED)
        return list(total.tolist())


class _Plan(NamedTuple):
    """How labels are summed: kept for further labels that lie in memory in the same way, while the GPU waits."""

    device: Any
    few: bool
    shape: tuple[int, int]
    """Of what the programs store: numbers, programs."""
    launches: list[_Launch]

    def memory(self) -> Any:
        """Where the programs store it. Of few programs the host reads it there, which is quicker than a copy."""
        if not self.few:
            return torch.empty(self.shape, dtype=torch.float64, device=self.device)
        return torch.empty(self.shape, dtype=torch.float64, pin_memory=self.device.type == "cuda")


@lru_cache(maxsize=4096)
def _plan(n: int, device: Any, kind: int, single: bool, within: bool, labels: bool, *layout: Any) -> _Plan:
    """The number of programs depends on n and the device alone, so that a result does not change.

    The last few labels go alone: numbers are read four at a time only where the kernel knows that n allows it.
    """
    limits = _SINGLE if single else _DOUBLE
    block = _THREADS * int(limits["VECTOR"])
    constants = {
        "KIND": kind,
        "NUMBER": tl.float32 if single else tl.float64,
        "WEIGHTED": layout[3] is not None,
        "WITHIN": within,
        "LABELS": labels,
        **limits,
        "BLOCK": block,
        "STAGES": _STAGES,
    }
    even = n // _ALIGNED * _ALIGNED
    blocks = -(-even // block)
    few = blocks <= _FEW_BLOCKS
    programs = min(blocks, _FEW_PROGRAMS if few else _PROGRAMS_PER_PROCESSOR * processors(device))
    all_programs = programs + (even < n)
    steps = [0 if column is None else column[1] for column in layout]
    parts = [(0, even, 0, programs)] if even else []
    parts += [(even, n - even, programs, 1)] if even < n else []
    launches = [
        _Launch(constants, start, place, number, (count, *steps, all_programs, -(-count // (block * number))))
        for start, count, place, number in parts
    ]
    return _Plan(device, few, (_STORED[kind], all_programs), launches)


@dataclass
class _Launch:
    """One launch of the kernel: over the labels from `start` on, its numbers stored from program `place` on."""

    constants: dict[str, Any]
    """In the order of the kernel's."""
    start: int
    place: int
    programs: int
    sizes: tuple[int, ...]
    """The whole numbers among the kernel's arguments."""
    compiled: Any = None
    """What Triton made of the kernel, which it would look up more slowly."""

    def __call__(self, columns: list[Any], numbers: list[Any], out: Any, higher: HigherRows) -> None:
        if self.start:
            columns = [column if column is None or column.ndim == 0 else column[self.start :] for column in columns]
        if self.place:
            out = out[:, self.place :]
        arguments = (*columns, *numbers, out, *self.sizes, higher.per_unit, higher.per_weight)
        if self.compiled is None:
            self.compiled = _kernel[(self.programs,)](*arguments, **self.constants, num_warps=_WARPS)
        else:
            self.compiled[self.programs, 1, 1](*arguments, *self.constants.values())


def _current(device: Any) -> AbstractContextManager[Any]:
    """Kernels are launched on the current device: this one, unless it is that already."""
    here = device.type != "cuda" or device.index == torch.cuda.current_device()
    return nullcontext() if here else torch.cuda.device(device)


def _fits_single(found: list[float]) -> bool:
    """Whether products of fourth powers and squared weights in float32 neither overflowed nor lost their digits.

    The largest weight and label are minus infinity where they were not looked at.
    """
    ends = found[-_ENDS : -len(SMALLEST)]
    finite = math.isfinite(sum(found[:-_ENDS]))
    return finite and all(end in (0, -math.inf) or _SINGLE_LOWEST <= end < _SINGLE_HIGHEST for end in ends)


def _in_order(found: list[float], n: int, weighted: bool) -> tuple[float, ...]:
    """The numbers of NAMES, then higher sums."""
    *sums, abs_d, sigma, weight, abs_y, min_sigma, min_weight = found
    if not weighted:
        sums[:2], weight, min_weight = (float(n), float(n)), 1.0, -1.0
    first, higher = sums[: len(SUMS)], sums[len(SUMS) :]
    return (*first, abs_d, sigma, weight, max(abs_y, 0.0), -min_sigma, -min_weight, *higher)
