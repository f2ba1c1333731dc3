"""Weighted number of successes of independent trials: the law of accuracy with sample weights.

X = shift + sum_i w_i B_i with independent B_i ~ Bernoulli(p_i). The same law serves every binary score that is linear
in the labels: the log loss (w = logit of the prediction) and the Brier score (w = 1 - 2 prediction), divided by n.

The exact mean and variance are sum w p and sum w^2 p (1 - p). The law itself, in this order:

- few uncertain trials: all outcomes are listed (exact);
- weights that are whole multiples of one unit: Poisson-binomial laws of each multiple, convolved (exact);
- a few weights that tower above the rest: a mixture over their outcomes;
- enough comparable trials for a smooth law: Fourier series of the density (see `smooth_bernoulli`);
- otherwise the weights are rounded to a fine lattice (see `weight_lattice`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft

from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.counts import CountLaw
from scorebars.laws.discrete import AtomicLaw, DiscreteLaw
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.smooth_bernoulli import smooth_law
from scorebars.laws.weight_lattice import RoundedLaw

ENUMERATED = 16
MOST_TOWERING = 4
TOWERING = 1000.0  # weight / standard deviation of all lighter weights
MOST_MULTIPLES = 64
LONGEST_LATTICE = 1 << 22


class BernoulliSum(Law):
    """The law of shift + sum_i weights[i] B_i with independent B_i ~ Bernoulli(p[i]); weights of either sign."""

    def __init__(self, weights: ArrayLike, p: ArrayLike, shift: float = 0.0) -> None:
        w = np.asarray(weights, dtype=float).ravel()
        prob = np.broadcast_to(np.asarray(p, dtype=float), w.shape).ravel()
        unit = float(np.max(np.abs(w), initial=0.0)) or 1.0
        w = w / unit
        self._exact_mean = shift + unit * float(np.add.reduce(w * prob))
        self._exact_std = unit * math.sqrt(float(np.add.reduce(w * w * prob * (1 - prob))))
        # certain trials only shift; a negative weight is a positive one on the opposite outcome
        uncertain = (prob > 0) & (prob < 1) & (w != 0)
        base = float(np.add.reduce(w[~uncertain] * prob[~uncertain]))
        w, prob = w[uncertain], prob[uncertain]
        base += float(np.add.reduce(np.minimum(w, 0.0)))
        prob = np.where(w < 0, 1 - prob, prob)
        self._law = ScaledLaw(sum_law(np.abs(w), prob), unit, shift + unit * base)
        self.method = self._law.method
        self.discrete = self._law.discrete
        self.support = self._law.support

    def _mean(self) -> float:
        return self._exact_mean

    def _std(self) -> float:
        return self._exact_std

    def _var(self) -> float:
        return self._exact_std * self._exact_std

    def _cdf(self, x: float) -> float:
        return self._law._cdf(x)

    def cdf(self, x: ArrayLike) -> Any:
        """P(value <= x)."""
        return self._law.cdf(x)

    def sf(self, x: ArrayLike) -> Any:
        """P(value > x)."""
        return self._law.sf(x)

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; a discrete law has `pmf` instead."""
        return self._law.pdf(x)

    def pmf(self, x: ArrayLike) -> Any:
        """Probability of the value x; a continuous law has `pdf` instead."""
        return self._law.pmf(x)

    def ppf(self, q: ArrayLike) -> Any:
        """The value below which the metric falls with probability q."""
        return self._law.ppf(q)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        return self._law.rvs(size, rng)


class WeightedBernoulliSum(BernoulliSum):
    """The law of sum_i w_i B_i / sum_i w_i: accuracy with sample weights w >= 0, B_i = 1 for a correct prediction."""

    def __init__(self, w: ArrayLike, p: ArrayLike) -> None:
        weights = np.asarray(w, dtype=float).ravel()
        largest = float(np.max(weights))
        super().__init__(weights / largest / float(np.add.reduce(weights / largest)), p)


class TowerLaw(MixtureLaw):
    """One law at several shifts, the outcomes of a few towering weights."""

    def _cdf(self, x: float) -> float:
        return min(super()._cdf(x), 1.0)

    def _sf(self, x: float) -> float:
        return min(super()._sf(x), 1.0)

    def _ppf(self, q: float) -> float:
        x = super()._ppf(q)
        # the search in a discrete law ends at the lower edge of what counts as an atom: go on to the atom itself
        for part in self.laws:
            if isinstance(part, ScaledLaw) and isinstance(part.law, AtomicLaw):
                back = np.asarray((x - part.shift) / part.scale)
                atom = float(part.law.snap(back, part.law._slack(back) * (1 + 1e-6)))
                if atom > back:
                    return part.shift + part.scale * atom
        return x


def sum_law(w: FloatArray, p: FloatArray, split: bool = True) -> Law:
    """The law of sum w_i B_i for weights in (0, 1], the largest near 1, and 0 < p < 1.

    With `split` a few towering weights may be taken apart first, which is done once.
    """
    if w.size <= ENUMERATED:
        return enumerate_outcomes(w, p)
    multiples = whole_multiples(w)
    if multiples is not None:
        unit, k = multiples
        law = lattice_law(k, p)
        if law is not None:
            return ScaledLaw(law, unit)
    heavy, light = towering(w, p)
    if split and heavy.size:
        unit = float(np.max(w[light]))
        rest, tops = sum_law(w[light] / unit, p[light], split=False), enumerate_outcomes(w[heavy], p[heavy]).atoms
        return TowerLaw([ScaledLaw(rest, unit, float(top)) for top in tops.values], tops.pmf)
    mean = float(np.add.reduce(w * p))
    std = math.sqrt(float(np.add.reduce(w * w * p * (1 - p))))
    return smooth_law(w, p, mean, std) or RoundedLaw.of_trials(w, p)


def towering(w: FloatArray, p: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of up to four weights that dwarf the spread of all lighter ones, and of the others.

    No single scale resolves both, so the law is split into the outcomes of the former.
    """
    order = np.argsort(w)[::-1]
    variance = np.cumsum((w * w * p * (1 - p))[order[::-1]])[::-1]
    dwarfing = w[order[:MOST_TOWERING]] > TOWERING * np.sqrt(variance[1 : MOST_TOWERING + 1])
    number = int(np.flatnonzero(dwarfing)[-1]) + 1 if np.any(dwarfing) else 0
    return order[:number], order[number:]


def enumerate_outcomes(w: FloatArray, p: FloatArray) -> DiscreteLaw:
    """All 2^n outcomes with their probabilities."""
    values, chances = np.zeros(1), np.ones(1)
    for weight, prob in zip(w, p, strict=True):
        values = np.concatenate([values, values + weight])
        chances = np.concatenate([chances * (1 - prob), chances * prob])
    return DiscreteLaw(values, chances)


def whole_multiples(w: FloatArray) -> tuple[float, Any] | None:
    """A unit of which every weight is a whole multiple, and the multiples; None where there is no such unit."""
    if np.unique(w[: 4 * MOST_MULTIPLES]).size > MOST_MULTIPLES:
        return None
    distinct = np.unique(w)
    for divisor in range(1, 13):
        ratio = distinct * (divisor / distinct[0])
        if ratio[-1] <= LONGEST_LATTICE and np.all(np.abs(ratio - np.rint(ratio)) <= 1e-12 * ratio):
            unit = float(distinct[-1] / np.rint(ratio[-1]))
            return unit, np.rint(w / unit).astype(np.int64)
    return None


def lattice_law(k: Any, p: FloatArray) -> Law | None:
    """The law of sum k_i B_i for whole k_i of few kinds: Poisson-binomial laws, spread out and convolved."""
    kinds = np.unique(k)
    if kinds.size > MOST_MULTIPLES:
        return None
    parts = [PoissonBinomial(p[k == kind]).atoms for kind in kinds]
    lengths = [int(kind) * (part.pmf.size - 1) + 1 for kind, part in zip(kinds, parts, strict=True)]
    length = sum(lengths) - len(lengths) + 1
    if length > LONGEST_LATTICE:
        return None
    first = sum(int(kind) * int(part.values[0]) for kind, part in zip(kinds, parts, strict=True))
    spread = [np.zeros(n) for n in lengths]
    for line, kind, part in zip(spread, kinds, parts, strict=True):
        line[:: int(kind)] = part.pmf
    if length <= 2048:  # direct convolution keeps the relative accuracy of the tails
        pmf = spread[0]
        for line in spread[1:]:
            pmf = np.convolve(pmf, line)
    else:
        period = next_fast_len(length, real=True)
        product = rfft(spread[0], period)
        for line in spread[1:]:
            product *= rfft(line, period)
        pmf = np.maximum(irfft(product, period)[:length], 0.0)
    return CountLaw(first, pmf)
