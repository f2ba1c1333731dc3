"""Counting inversions: how many pairs of a row stand in falling order. Many rows at once, without a loop over pairs."""

from __future__ import annotations

import numpy as np

from scorebars.arrays import IntArray


def inversions(place: IntArray) -> IntArray:
    """How many pairs of each row, a permutation of 0 ... n - 1, stand in falling order.

    Places and values are cut into blocks of `size`. Pairs that share a block of places are compared one by one, and so are
    those that share a block of values only. Of all others the numbers in the blocks tell.
    """
    rows, n = place.shape
    size = min(1 << max(5, (n.bit_length() + 1) // 2), max(n, 1))
    blocks = -(-n // size)
    kind = np.int16 if blocks * size < 1 << 15 else np.int32
    filled = np.broadcast_to(np.arange(blocks * size, dtype=kind), (rows, blocks * size)).copy()
    filled[:, :n] = place
    total = _falling_in_blocks(filled, size)
    if blocks == 1:
        return total
    where = np.empty_like(filled)
    np.put_along_axis(where, filled.astype(np.intp), np.arange(blocks * size, dtype=kind)[None, :], axis=1)
    total += _falling_in_blocks(where // size, size)
    cell = (filled // size).astype(np.int32).reshape(rows, blocks, size) + blocks * np.arange(blocks, dtype=np.int32)[
        :, None
    ]
    cell = cell.reshape(rows, -1) + (blocks * blocks) * np.arange(rows)[:, None]
    number = np.bincount(cell.ravel(), minlength=rows * blocks * blocks).reshape(rows, blocks, blocks)
    before = np.cumsum(number, axis=1) - number
    above = np.cumsum(before[:, :, ::-1], axis=2)[:, :, ::-1] - before
    return np.asarray(total + np.einsum("rij,rij->r", number, above))


def _falling_in_blocks(values: IntArray, size: int) -> IntArray:
    """How many pairs of the same block of `size` neighbours stand in falling order, for each row."""
    blocks = values.reshape(-1, size)
    total = np.empty(len(blocks), dtype=np.int64)
    for start in range(0, len(blocks), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        across = np.ascontiguousarray(blocks[part].T)  # long rows are compared at once
        larger = np.zeros(across.shape, dtype=np.uint8 if size <= 256 else np.int16)
        for apart in range(1, size):
            larger[apart:] += (across[:-apart] > across[apart:]).view(np.uint8)
        total[part] = np.sum(larger, axis=0, dtype=np.int64)
    return np.asarray(total.reshape(len(values), -1).sum(axis=1))


_TOGETHER = 2048
"""Blocks that are compared together: few enough for the cache."""
