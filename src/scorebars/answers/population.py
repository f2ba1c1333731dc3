"""The test set seen as a sample: where the classical metric falls on the next one, measured in the same way.

The scatter of the observed losses holds both the choice of items and the errors of their labels. This test set and the
next one scatter alike, so the variance of their difference is twice that of one (formula sheet, "Total interval").
"""

from __future__ import annotations

import math

from scorebars.answers.intervals import Symmetric
from scorebars.score import Declaration


def next_test_set(
    observed: float, item_std: float, declaration: Declaration, n: int, shared_std: float = 0.0
) -> Symmetric:
    """The interval of the classical metric on a new test set of n items.

    `item_std` is the standard error of the observed metric over test sets, from the scatter of the items: it holds the
    labels' own errors already. `shared_std` is what errors common to all labels add; the scatter does not show them.
    """
    spread = math.sqrt(2.0) * math.hypot(item_std, shared_std)
    return Symmetric(observed, spread, declaration.low, declaration.high, max(n - 1, 1))
