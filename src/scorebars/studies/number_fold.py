"""From the labels of one model to their summary: in a unit in which their powers fit doubles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.hits import Hits
from scorebars.engines.summary import Summary, summarise
from scorebars.engines.sums import typical
from scorebars.errors.base import FloatArray
from scorebars.studies.folded import TOO_DIFFERENT, InUnit, power_above, unit_for

Needs = Mapping[str, Mapping[str, Any]]
"""What the metrics need of a summary, with their options."""


@dataclass(frozen=True, eq=False)
class OneModel:
    """Labels, one model's predictions, errors and weights."""

    y: FloatArray
    p: FloatArray
    sigma: FloatArray | float
    weight: FloatArray | None

    def folded(self, needs: Needs, known: InUnit | None) -> InUnit:
        """The summary, in the unit of what is known where that fits."""
        unit = 0 if known is None else known.unit
        try:
            found = self._in_unit(unit, needs, None if known is None else known.summary)
            if found.ordinary:
                return found
        except OverflowError:
            pass  # of another size than the unit
        own = self._own_unit("ratio" in needs)
        try:
            found = self._in_unit(own, needs, None)
        except OverflowError:
            raise OverflowError(TOO_DIFFERENT) from None
        if not found.ordinary:
            raise OverflowError(TOO_DIFFERENT)
        return found

    def _own_unit(self, ratio: bool) -> int:
        """A unit of the size of these labels, in which the labels themselves are doubles too."""
        counted = slice(None) if self.weight is None else self.weight > 0
        y, p = 0.25 * self.y[counted], 0.25 * self.p[counted]  # differences must not overflow
        errors = max(_largest(p - y), 0.25 * _largest(np.asarray(self.sigma)))
        scatter = power_above(_largest(y - 0.25 * typical(self.y)), 2) if ratio else None
        unit = unit_for(power_above(errors, 2), scatter, 0)
        sizes = [power_above(_largest(values), 0) for values in (self.y, self.p)]
        return max(unit, *(size - 1000 for size in sizes if size is not None))

    def _in_unit(self, unit: int, needs: Needs, known: Summary | None) -> InUnit:
        here = self if unit == 0 else self._divided(unit)
        tolerance = float(np.ldexp(needs["within"]["tolerance"], -unit)) if "within" in needs else None
        return InUnit(here._summary(needs, tolerance, known), unit)

    def _divided(self, unit: int) -> OneModel:
        y, p, sigma = (np.ldexp(values, -unit) for values in (self.y, self.p, self.sigma))
        return OneModel(y, p, sigma if sigma.ndim else float(sigma), self.weight)

    def _summary(self, needs: Needs, tolerance: float | None, known: Any) -> Summary:
        found = summarise(self.y, self.p, self.sigma, self.weight, needs, known)
        if not {"within", "pulls"} & set(needs):
            return found
        hits = None if tolerance is None else Hits.of(self.y, self.p, self.sigma, tolerance)
        pulls = None
        if "pulls" in needs:
            before = None if known is None else known.pulls
            pulls = summarise(np.zeros(len(self.y)), self.pulls(), 1.0, self.weight, ("squares",), before)
        return ExtendedSummary.of(found, hits, pulls)

    def pulls(self) -> FloatArray:
        """Residuals in units of their errors."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((self.p - self.y) / self.sigma)


def _largest(values: FloatArray) -> float:
    return float(np.max(np.abs(values), initial=0.0))
