"""Answers of the root mean squared error: the square root of the mean squared error's."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from scorebars.answers.generic import SquaredLogAnswers
from scorebars.answers.intervals import Affine, OfLaw, Power
from scorebars.answers.mean_loss import PERFECT
from scorebars.answers.squared import SquaredAnswers
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.chisquare import GeneralizedChiSquare
from scorebars.laws.normal import NormalLaw
from scorebars.laws.one_label import OneLabelLaw
from scorebars.laws.root import SquareRoot
from scorebars.laws.samples import SampleLaw
from scorebars.score import Answers, Declaration, Estimate, Interval


class RootAnswers(Answers):
    """sqrt of a mean squared error. Its expected value is E sqrt(Q), which is below sqrt(E Q)."""

    def __init__(self, declaration: Declaration, squared: SquaredAnswers | SquaredLogAnswers) -> None:
        self.declaration, self.n = declaration, squared.n
        # the root may be in range where the square is not
        self._unit, self._squared = squared.length_unit, squared.in_scaled_units()
        self.observed = math.sqrt(self._squared.scaled_observed) * self._unit
        expanded = self._squared.root_moments()
        mean, self._std = expanded or (float(self._root_law.mean), float(self._root_law.std))
        self.expected = self.observed if self._std == 0 else mean * self._unit

    @cached_property
    def _root_law(self) -> Law:
        return self._existing(root_law(self._squared.scaled_law()))

    def _existing(self, law: Law) -> Law:
        """Draws have a mean even where the law has none."""
        if isinstance(law, SampleLaw) and math.isinf(law.std) and not self._squared.root_exists():
            return SampleLaw(law.draws, mean=math.inf, var=math.inf)
        return law

    @property
    def std(self) -> float:
        return self._std * self._unit

    def law(self) -> Law:
        return self._in_units(self._root_law)

    def _in_units(self, law: Law) -> Law:
        return law if self._unit == 1.0 else ScaledLaw(law, self._unit)

    def _root_interval(self, square: Callable[[float], Interval]) -> Callable[[float], Interval]:
        root = Power(square, 0.5)
        return root if self._unit == 1.0 else Affine(root, self._unit)

    def warnings(self) -> list[str]:
        return self._squared.warnings()

    def why_undefined(self) -> str:
        return self._squared.why_undefined()

    def truth(self) -> Estimate:
        truth = self._squared.truth()
        if self._squared.kind == "berkson":
            return self._of_law(self.law(), truth.note, self._root_interval(truth.total_interval))
        return self._root_of(truth)

    def remeasured(self, repeats: float) -> Estimate:
        return self._root_of(self._squared.remeasured(repeats))

    def perfect(self) -> Estimate:
        return self._of_law(self._in_units(self._existing(root_law(self._squared.scaled_perfect_law()))), PERFECT)

    def _of_law(self, law: Law, note: str, total: Callable[[float], Interval] | None = None) -> Estimate:
        """An estimate that is the mean of a law."""
        return Estimate(
            float(law.mean), float(law.std), method=law.method, note=note, interval=OfLaw(law), total_interval=total
        )

    def noise_share(self) -> float:
        return self._squared.noise_share()

    def item_deviations(self) -> FloatArray:
        """How much each item moves the score, to first order."""
        size = math.sqrt(self._squared.expected if self._squared.kind == "berkson" else self._squared.scaled_observed)
        return self._squared.item_deviations() / (2.0 * size) * self._unit if size > 0 else np.zeros(self.n)

    def sampling_std(self) -> float:
        """By the delta method: std of the MSE over 2 RMSE."""
        square = self._squared.expected if self._squared.kind == "berkson" else self._squared.observed
        return root_std(float(square), self._squared.sampling_std()) * self._unit

    def total_interval(self, level: float) -> Interval:
        return self._root_interval(self._squared.total_interval)(level)

    def _root_of(self, squared: Estimate) -> Estimate:
        return Estimate(
            math.sqrt(max(float(squared), 0.0)) * self._unit,
            root_std(float(squared), squared.std) * self._unit,
            method=squared.method,
            note=squared.note,
            interval=self._root_interval(squared.interval),
            total_interval=self._root_interval(squared.total_interval),
        )


def root_law(squared: Law) -> Law:
    """The law of the square root: exact for quadratic forms and for one label, else from the draws."""
    if isinstance(squared, SampleLaw):
        return root_of_draws(squared)
    if isinstance(squared, OneLabelLaw):
        return squared.root()
    return SquareRoot(squared) if isinstance(squared, GeneralizedChiSquare) else NormalLaw(math.sqrt(squared.mean), 0.0)


def root_of_draws(squared: SampleLaw) -> SampleLaw:
    """Roots of the draws; their mean is freed of most of its scatter by what is known exactly, mean and variance."""
    roots, mean, variance = np.sqrt(squared.draws), float(squared.mean), float(squared.var)
    if not math.isfinite(mean):
        return SampleLaw(roots, var=math.inf)
    centred = (squared.draws - mean) / mean if mean > 0 else squared.draws
    known = [centred] if not math.isfinite(variance) else [centred, np.square(centred) - variance / mean**2]
    design = np.stack([np.ones_like(roots), *known], axis=1)
    expected = float(np.linalg.lstsq(design, roots, rcond=None)[0][0])
    return SampleLaw(roots, mean=min(expected, math.sqrt(mean)), var=float(np.var(roots)))


def root_std(square: float, std: float) -> float:
    """Standard error of sqrt(square): std / (2 sqrt(square)), levelling off where `square` is not above its error."""
    if std == 0 or math.isinf(std):
        return std
    return std / (2.0 * math.sqrt(max(square, std / 4.0)))
