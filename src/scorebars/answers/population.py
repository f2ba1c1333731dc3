"""The test set seen as a sample: where the classical metric falls on the next one, measured in the same way.

The scatter of the observed losses holds both the choice of items and the errors of their labels. This test set and the
next one scatter alike, so the variance of their difference is twice that of one (docs/theory/new-test-sets.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scorebars.answers.intervals import ScoreInterval, Symmetric
from scorebars.score import Declaration, Interval


def next_test_set(
    observed: float, item_std: float, declaration: Declaration, n: int, shared_std: float = 0.0
) -> Symmetric:
    """The interval of the classical metric on a new test set of n items.

    `item_std` is the standard error of the observed metric over test sets, from the scatter of the items: it holds the
    labels' own errors already. `shared_std` is what errors common to all labels add; the scatter does not show them.
    """
    spread = math.sqrt(2.0) * math.hypot(item_std, shared_std)
    return Symmetric(observed, spread, declaration.low, declaration.high, max(n - 1, 1))


@dataclass(frozen=True)
class NextShare:
    """Where a share falls on the next test set: all values of which this set and the next do not differ too much.

    Both scatter about one population value, of which their mean x is the best guess:
    (next - observed)^2 <= z^2 2 V(x), V(x) = fixed + curve (x - low)(high - x). In terms of the mean that is the score
    interval with V/2 in place of V, and next = 2 x - observed. Unlike a variance taken from the observed share it does
    not vanish where all items are right.
    """

    middle: ScoreInterval

    def __call__(self, level: float) -> Interval:
        ends = (2.0 * end - self.middle.value for end in self.middle(level))
        low, high = (min(max(end, self.middle.low), self.middle.high) for end in ends)
        return Interval(low, high)


def next_share(
    observed: float, curve: float, declaration: Declaration, shared_variance: float = 0.0, df: float = math.inf
) -> NextShare:
    """The interval of a share, or of a metric that scatters like one, on a new test set.

    `curve` is one over the number of items that the share is taken of; `shared_variance` what errors common to all
    labels add.
    """
    middle = ScoreInterval(observed, shared_variance / 2, curve / 2, declaration.low, declaration.high, df)
    return NextShare(middle)
