"""What an accumulator keeps to tell how many labels are predicted to within a tolerance. Hits merge.

Besides the engine's sums these are the probabilities that fresh labels are hits, and those of a perfect model, counted as
`ClassCounts` counts flips: the number of hits is a sum of independent trials, whatever their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorebars.engines.class_counts import ClassCounts, FloatArray
from scorebars.engines.merging import merge
from scorebars.engines.sums import NormalSums, normal_sums
from scorebars.errors import Normal
from scorebars.losses import Within
from scorebars.moments import label_moments

_BLOCK = 1 << 16


@dataclass(frozen=True)
class Hits:
    """One model's labels within a tolerance."""

    sums: NormalSums
    chances: ClassCounts
    """Of P(fresh label within the tolerance)."""
    ideal: ClassCounts
    """The same for a model that predicts the labels themselves."""

    @classmethod
    def of(cls, y: FloatArray, p: FloatArray, sigma: FloatArray | float, tolerance: float) -> Hits:
        """Of these labels."""
        sums = normal_sums(y, p, sigma, None, tolerance)
        counts: list[ClassCounts | None] = [None, None]
        for start in range(0, len(y), _BLOCK):
            part = slice(start, start + _BLOCK)
            errors = Normal.trusted(sigma[part] if isinstance(sigma, np.ndarray) else sigma, "classical")
            nowhere = np.zeros(len(y[part]))
            for k, (label, prediction) in enumerate(((y[part], p[part]), (nowhere, nowhere))):
                chance = label_moments(Within(tolerance), errors, label, prediction).mean
                found, before = ClassCounts.of_trials(chance), counts[k]
                counts[k] = found if before is None else before.merged(found)
        chances, ideal = counts
        assert chances is not None and ideal is not None
        return cls(sums, chances, ideal)

    def merged(self, other: Hits) -> Hits:
        """Of both sets of labels."""
        return Hits(merge([self.sums, other.sums]), self.chances.merged(other.chances), self.ideal.merged(other.ideal))
