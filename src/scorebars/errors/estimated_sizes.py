"""Sizes of label errors that are estimates themselves: from few repeats, from a variance estimate, or up to a common factor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtri, poch, polygamma, psi

from scorebars.arrays import FloatArray


@dataclass(frozen=True)
class CommonScale:
    """One unknown factor that all standard deviations share."""

    error: float
    """Relative standard deviation of the factor."""
    estimated_with: float = math.inf
    """Degrees of freedom of the variance estimate that it comes from; infinite where only `error` is known."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance that is known just as well: its relative standard deviation is 2 `error`."""
        return self.estimated_with if math.isfinite(self.estimated_with) else 0.5 / self.error**2

    @property
    def text(self) -> str:
        """In words."""
        if math.isfinite(self.estimated_with):
            return f"the label errors were estimated with {self.estimated_with:g} degrees of freedom"
        return f"the size of the label errors is known to {100 * self.error:.3g} %"

    def reach(self, level: float) -> tuple[float, float]:
        """How far the true variance may lie above and below the one that is given, in units of it."""
        tail = (1.0 - level) / 2
        if math.isfinite(self.estimated_with):
            least, most = (float(chdtri(self.estimated_with, q)) for q in (1.0 - tail, tail))
            return self.estimated_with / least - 1.0, 1.0 - self.estimated_with / most
        return (2.0 * self.error * float(ndtri(1.0 - tail)),) * 2

    def factors(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Factors of the standard deviations that could be the true ones."""
        return np.sqrt(self.degrees / rng.chisquare(self.degrees, count))


def common_scale(error: float, degrees: float = math.inf) -> CommonScale | None:
    """One factor for all errors: known to the fraction `error`, or estimated with few `degrees` of freedom, or both."""
    if math.isinf(degrees):
        return CommonScale(error) if error > 0 else None
    return CommonScale(math.hypot(error, math.sqrt(0.5 / degrees)), degrees if error == 0 else math.inf)


def c4(degrees: FloatArray | float) -> FloatArray | float:
    """E(sample standard deviation) / sigma for a sample of `degrees` + 1 normal values; 1 for known errors.

    >>> round(float(c4(1.0)), 6)
    0.797885
    """
    half = np.where(np.isfinite(degrees), np.maximum(degrees, 1e-300), 1.0) / 2
    return np.where(np.isfinite(degrees), poch(half, 0.5) / np.sqrt(half), 1.0)[()]


@dataclass(frozen=True)
class EstimatedSizes:
    """Standard deviations of one measurement of each label, found from repeats or from other variance estimates.

    The variance of label i is a mixture of its own estimate and of the pooled one,
    ``weight * own + (1 - weight) * pooled``: weight 1 is "per_item", 0 is "pooled".
    """

    sigma: FloatArray
    """Standard deviation of one measurement of each label."""
    own: FloatArray
    """Variance estimate of each label by itself; 0 for a single measurement."""
    nu: FloatArray
    """Degrees of freedom of `own`."""
    weight: FloatArray
    """Share of `own` in the variance."""
    degrees: FloatArray
    """Degrees of freedom of the Student distribution that a perfect model's residuals over their errors follow."""
    stretch: FloatArray
    """The scale of that distribution."""
    absolute: FloatArray
    """Factor from `sigma` to the standard deviation whose mean over the labels is unbiased."""
    pooled_degrees: float
    pooled_variance: float
    """Variance of the pooled variance."""

    @property
    def common(self) -> bool:
        """Whether one error was found for all labels together."""
        return not np.any(self.weight)

    def __getitem__(self, index: Any) -> EstimatedSizes:
        """The sizes of a subset of the labels."""
        each = {name: value[index] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **each)

    def scaled(self, factor: float) -> EstimatedSizes:
        """The sizes in another unit."""
        f2 = factor * factor
        return replace(
            self, sigma=self.sigma * factor, own=self.own * f2, pooled_variance=self.pooled_variance * f2 * f2
        )

    def variance_of_sum(self, b: FloatArray) -> float:
        """Variance of sum b_i sigma_i^2 when the labels are measured again.

        A sample variance v with nu degrees of freedom has variance 2 sigma^4 / nu, for which 2 v^2 / (nu + 2) is unbiased.
        """
        there = self.nu > 0
        each = np.where(there, 2.0 * np.square(self.own) / (self.nu + 2.0), 0.0)
        alone, together = b * self.weight, float(np.sum(b * (1.0 - self.weight)))
        shared = together * float(np.sum(alone * self.nu * each)) / self.pooled_degrees
        return float(np.sum(np.square(alone) * each)) + 2.0 * shared + together**2 * self.pooled_variance

    @property
    def own_steps(self) -> FloatArray:
        """Relative standard deviation of each sigma from its own estimate, independent from label to label."""
        part = np.where(self.nu > 0, self.weight * self.own * np.sqrt(2.0 / (self.nu + 2.0)), 0.0)
        return np.asarray(part / np.where(self.sigma > 0, 2.0 * np.square(self.sigma), 1.0))

    @property
    def common_steps(self) -> FloatArray | None:
        """Relative change of each sigma with one standard deviation of the pooled variance; None where none is pooled."""
        if np.all(self.weight == 1):
            return None
        part = (1.0 - self.weight) * math.sqrt(self.pooled_variance)
        return np.asarray(part / np.where(self.sigma > 0, 2.0 * np.square(self.sigma), 1.0))


WAYS = ("per_item", "pooled", "shrunk")
"""Each variance from its own estimate, one for all, or each drawn towards the common one."""


def sizes_of(variances: FloatArray, nu: FloatArray, way: str = "per_item") -> EstimatedSizes:
    """Standard deviations from variance estimates with `nu` degrees of freedom; one with nu = 0 says nothing."""
    everything = float(np.sum(nu))
    pooled = float(np.sum(nu * variances)) / everything
    # from the labels' own variances, as they may differ, but never below what equal errors give
    scattered = float(np.sum(np.square(nu * variances) * 2.0 / (nu + 2.0))) / everything**2
    pooled_variance = max(scattered, 2.0 * pooled**2 / everything)
    prior_degrees, prior_variance = shrinkage_prior(variances, nu) if way == "shrunk" else (math.inf, pooled)
    ones, single = np.ones(len(nu)), nu == 0
    if way == "per_item":
        weight, degrees, stretch, absolute = ones, nu, ones, ones / c4(nu)
        sigma = np.sqrt(variances)
    elif math.isinf(prior_degrees):
        weight, degrees, stretch = 0.0 * ones, everything * ones, ones
        sigma, absolute = math.sqrt(pooled) * ones, ones / c4(everything)
    else:
        prior = max(prior_degrees - 2.0, 0.0)
        weight = np.where(single, 0.0, nu / np.where(single, 1.0, prior + nu))
        variance = weight * variances + (1.0 - weight) * pooled
        degrees = prior_degrees + nu
        moderated = (prior_degrees * prior_variance + nu * variances) / degrees
        stretch = np.sqrt(moderated / np.where(variance > 0, variance, 1.0))
        if prior == 0:  # errors that differ this much have no common mean: each label's own, as "per_item"
            degrees, stretch = np.where(single, degrees, nu), np.where(single, stretch, 1.0)
        sigma, there = np.sqrt(variance), ~single
        unbiased = float(np.sum(np.sqrt(variances[there]) / c4(nu[there])))
        absolute = ones * unbiased / (float(np.sum(sigma[there])) or 1.0)
    return EstimatedSizes(sigma, variances, nu, weight, degrees, stretch, absolute, everything, pooled_variance)


def shrinkage_prior(variances: FloatArray, nu: FloatArray) -> tuple[float, float]:
    """Scaled inverse chi-square prior of the variances by the moments of their logarithms (Smyth 2004).

    Returns its degrees of freedom (infinite where the variances scatter no more than chance makes them) and variance.
    """
    use = (nu > 0) & (variances > 0)
    if use.sum() < 2:
        return math.inf, float(np.sum(nu * variances) / np.sum(nu))
    v, k = variances[use], nu[use]
    e = np.log(v) - psi(k / 2) + np.log(k / 2)
    count, centre = len(e), float(np.mean(e))
    excess = float(np.mean(np.square(e - centre) * count / (count - 1) - polygamma(1, k / 2)))
    if excess <= 0:
        return math.inf, math.exp(centre)
    # trigamma(x) lies between 1/x + 1/(2 x^2) and 1/x + 1/x^2
    most = 1.5 / excess + 1.0 / math.sqrt(excess)
    degrees = 2 * float(brentq(lambda x: polygamma(1, x) - excess, 1.0 / excess, most))
    return degrees, math.exp(centre + float(psi(degrees / 2)) - math.log(degrees / 2))
