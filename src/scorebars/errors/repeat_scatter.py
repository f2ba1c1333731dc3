"""What the scatter of repeats tells of the error of one repeat, and how well it tells it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

from scorebars import checks
from scorebars.errors.base import FloatArray

WAYS = ("per_item", "pooled", "shrunk")


def c4(degrees: FloatArray | float) -> FloatArray | float:
    """E(sample standard deviation) / sigma for a sample of `degrees` + 1 normal values; 1 for known errors.

    >>> round(float(c4(1.0)), 6)
    0.797885
    """
    nu = np.asarray(degrees, dtype=np.float64)
    finite = np.where(np.isfinite(nu), np.maximum(nu, 1e-300), 1.0)
    ratio = np.exp(gammaln((finite + 1) / 2) - gammaln(finite / 2)) * np.sqrt(2 / finite)
    out = np.where(np.isfinite(nu), ratio, 1.0)
    return float(out) if out.ndim == 0 else out


@dataclass(frozen=True)
class RepeatScatter:
    """The error of one repeat of each label, found from the repeats.

    The variance of label i is a mixture of its own sample variance and of the pooled one,
    ``weight * own + (1 - weight) * pooled``: weight 1 is "per_item", 0 is "pooled".
    """

    sigma: FloatArray
    """Standard deviation of one repeat of each label."""
    own: FloatArray
    """Sample variance of each label's own repeats; 0 for a single one."""
    nu: FloatArray
    """Degrees of freedom of `own`."""
    weight: FloatArray
    """Share of `own` in the variance."""
    degrees: FloatArray
    """Degrees of freedom of the Student distribution that a perfect model's residuals over their errors follow."""
    stretch: FloatArray
    """... and the scale of that distribution."""
    absolute: FloatArray
    """Factor from `sigma` to the standard deviation whose mean over the labels is unbiased."""
    pooled_degrees: float
    pooled_variance: float
    """Variance of the pooled variance."""

    @property
    def common(self) -> bool:
        """Whether one error was found for all labels together."""
        return not np.any(self.weight)

    def picked(self, index: Any) -> RepeatScatter:
        """The scatter of a subset of the labels."""
        each = {name: value[index] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **each)

    def scaled(self, factor: float) -> RepeatScatter:
        """The scatter in another unit."""
        f2 = factor * factor
        return replace(
            self, sigma=self.sigma * factor, own=self.own * f2, pooled_variance=self.pooled_variance * f2 * f2
        )

    def variance_of_sum(self, b: FloatArray) -> float:
        """Variance of sum b_i sigma_i^2 over the scatter of the repeats.

        A sample variance v with nu degrees of freedom has variance 2 sigma^4 / nu, for which 2 v^2 / (nu + 2) is unbiased.
        """
        there = self.nu > 0
        each = np.where(there, 2.0 * np.square(self.own) / (self.nu + 2.0), 0.0)
        alone, together = b * self.weight, float(np.sum(b * (1.0 - self.weight)))
        shared = together * float(np.sum(alone * self.nu * each)) / self.pooled_degrees
        return float(np.sum(np.square(alone) * each)) + 2.0 * shared + together**2 * self.pooled_variance


def scatter_of(variances: FloatArray, counts: FloatArray, way: str) -> RepeatScatter:
    """The error of one repeat of each label from the sample variances of `counts` repeats."""
    nu = counts - 1
    if nu.sum() == 0:
        raise ValueError(
            "no label has more than one repeat, so their error cannot be found from repeats. Pass the error of the "
            "instrument instead: Repeats.from_means(sigma=..., n=1) or yerr=sigma."
        )
    single = nu == 0
    if way == "per_item" and single.any():
        raise checks.complain(
            "values",
            "has labels with a single repeat, whose own error cannot be found",
            single,
            counts,
            "Use sigma='pooled' or sigma='shrunk', or Repeats.from_means(sigma=..., n=...).",
        )
    everything = float(nu.sum())
    pooled = float(np.sum(nu * variances) / everything)
    # from the labels' own variances, as they may differ, but never below what equal errors give
    scattered = float(np.sum(np.square(nu * variances) * 2.0 / (nu + 2.0))) / everything**2
    pooled_variance = max(scattered, 2.0 * pooled**2 / everything)
    prior_degrees, prior_variance = shrinkage_prior(variances, nu) if way == "shrunk" else (math.inf, pooled)
    ones = np.ones(len(nu))
    if way == "per_item":
        weight, degrees, stretch, absolute = ones, nu, ones, 1.0 / np.asarray(c4(nu))
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
    return RepeatScatter(sigma, variances, nu, weight, degrees, stretch, absolute, everything, pooled_variance)


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
    degrees = 2 * _inverse_trigamma(excess)
    return degrees, math.exp(centre + float(psi(degrees / 2)) - math.log(degrees / 2))


def _inverse_trigamma(value: float) -> float:
    """x > 0 with trigamma(x) = value, by Newton's method on 1 / trigamma, which is convex and nearly straight."""
    x = 0.5 + 1.0 / value
    for _ in range(60):
        now = float(polygamma(1, x))
        step = now * (1.0 - now / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-14 * x:
            break
    return x
