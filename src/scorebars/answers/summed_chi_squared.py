"""Answers of the reduced chi-squared when labels were summed up instead of kept."""

from __future__ import annotations

from functools import cached_property

from scipy.special import chdtrc

from scorebars.answers.summed import SummedSquared


class SummedChiSquared(SummedSquared):
    """Mean of the squared pulls, from the summary of pulls."""

    @cached_property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one."""
        s = self._sums
        if s.w == s.w2 == s.n:  # all weights are 1
            return float(chdtrc(float(s.n), s.n * self.observed))
        return float(self.scaled_perfect_law().sf(self.observed))
