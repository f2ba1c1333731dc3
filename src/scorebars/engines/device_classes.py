"""Class labels in torch tensors on a device: counted there in one pass, so that only a small table travels to the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.arrays import library_of
from scorebars.engines import on_device
from scorebars.engines.array_sums import device_of
from scorebars.engines.class_counts import ClassCounts

_BLOCK = 1 << 24
"""Labels at a time, so that the codes of all labels are never held."""
_MOST = 1024
"""Classes between the smallest and the largest number; a table of more pairs is left to the host."""


def device_class_counts(y_true: Any, y_pred: Any, q: float, pairs: bool) -> ClassCounts | None:
    """Counts of shown and predicted classes whose labels are wrong with probability `q`; None where the host has to count.

    It has to where the arrays are not torch tensors on one device, where classes are not whole numbers, and where these
    lie far apart.
    """
    if library_of(y_true) != "torch" or library_of(y_pred) != "torch" or not on_device.elsewhere(y_true):
        return None
    if device_of(y_true) != device_of(y_pred):
        return None
    import torch

    y, p = (one[:, 0] if one.ndim == 2 and one.shape[1] == 1 else one for one in (y_true.detach(), y_pred.detach()))
    if y.ndim != 1 or y.shape != p.shape or not y.numel():
        return None
    if any(one.is_floating_point() or one.is_complex() for one in (y, p)) or (y.dtype == torch.bool) != (
        p.dtype == torch.bool
    ):
        return None
    kept = torch.empty(0, dtype=torch.promote_types(y.dtype, p.dtype)).numpy().dtype
    y, p = (one.to(torch.uint8) if one.dtype == torch.bool else one for one in (y, p))
    ends = torch.stack([end.long() for one in (y, p) for end in torch.aminmax(one)]).tolist()
    low, k = min(ends), max(ends) - min(ends) + 1
    if k > _MOST:
        return None
    found = torch.zeros(k * k, dtype=torch.int64, device=y.device)
    for start in range(0, y.shape[0], _BLOCK):
        shown, predicted = (one[start : start + _BLOCK].long() - low for one in (y, p))
        found += torch.bincount(shown * k + predicted, minlength=k * k)
    table = found.cpu().numpy().reshape(k, k)
    seen = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
    table, classes = table[np.ix_(seen, seen)], (low + seen).astype(kept)
    counts = table.ravel() if pairs else np.array([np.trace(table), table.sum() - np.trace(table)])
    cell = np.flatnonzero(counts)
    return ClassCounts(classes, pairs, cell, np.full(cell.size, q), counts[cell])
