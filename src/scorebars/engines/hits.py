"""What an accumulator keeps to tell how many labels are predicted to within a tolerance. Hits merge.

Besides the engine's sums these are the probabilities that fresh labels are hits, and those of a perfect model, counted as
`ClassCounts` counts flips: the number of hits is a sum of independent trials, whatever their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from scorebars.engines import config
from scorebars.engines.chunks import over_chunks
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
        nowhere = np.broadcast_to(0.0, len(y))
        ideal = chances_of(nowhere, nowhere, sigma, tolerance)
        return cls(normal_sums(y, p, sigma, None, tolerance), chances_of(y, p, sigma, tolerance), ideal)

    def merged(self, other: Hits) -> Hits:
        """Of both sets of labels."""
        return Hits(merge([self.sums, other.sums]), self.chances.merged(other.chances), self.ideal.merged(other.ideal))


def chances_of(y: FloatArray, p: FloatArray, sigma: FloatArray | float, tolerance: float) -> ClassCounts:
    """P(fresh label within the tolerance) of each label."""

    def chunk(start: int, stop: int) -> ClassCounts:
        part = slice(start, stop)
        errors = Normal.trusted(sigma[part] if isinstance(sigma, np.ndarray) else sigma, "classical")
        return ClassCounts.of_trials(label_moments(Within(tolerance), errors, y[part], p[part]).mean)

    first, *others = over_chunks(chunk, len(y), config.threads(), _BLOCK)
    return reduce(ClassCounts.merged, others, first)
