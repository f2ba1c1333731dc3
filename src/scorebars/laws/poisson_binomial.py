"""How many of many independent yes/no trials succeed, each with its own probability: the law of accuracy.

A label that is wrong with probability q turns a correct prediction into a wrong one. The number of correct
predictions is then a sum of independent Bernoulli trials, the Poisson-binomial law.

Few uncertain trials: the probabilities are convolved directly. Every term is positive, so each probability keeps
its relative accuracy far into both tails.

Many: the characteristic function

    phi(t) = prod_i (1 - p_i + p_i exp(it))

is inverted on a window that holds all but 1e-18 of the mass. |phi| <= exp(-2 variance sin^2(t/2)), so about 50
frequencies matter at any number of trials, and with x = exp(it) - 1 as a rule |p_i x| is small at all of them: then

    log phi(t) = sum_k (-1)^(k+1)/k x^k sum_i p_i^k

needs only some ten to thirty sums of powers. (A trial with p_i above 1/2 is one of rare failures: 1 - p_i and -t.) Very
many p_i, and those for which |p_i x| is not small, are first gathered into bins that keep four moments each (two Gauss
nodes a bin), which makes phi's cost independent of the number of trials.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.laws.base import FloatArray
from scorebars.laws.counts import invert_on_window
from scorebars.laws.discrete import AtomicLaw, Atoms

DIRECT_LIMIT = 2000  # uncertain trials that are convolved directly: a few milliseconds
LEAF = 32
BINS_PER_HALF = 512  # bins for p below and above 1/2: the law then errs by less than 1e-11
BLOCK = 1 << 15
SINGLE = 1 << 16  # trials of which the powers are summed one by one
STRIP = 1 << 13  # trials whose powers stay in the cache
SERIES_REACH = 0.4  # largest |p x| for which log(1 + p x) is summed as a series
NEGLIGIBLE = 1e-290  # smaller probabilities are dropped at the ends: denormal numbers are slow and say nothing


class PoissonBinomial(AtomicLaw):
    """Number of successes of independent trials with probabilities p.

    `count` gives multiplicities: trial i is made count[i] times, so a single p is the binomial law.
    """

    def __init__(self, p: ArrayLike, count: ArrayLike | None = None) -> None:
        self._p: FloatArray = np.asarray(p, dtype=float).ravel()
        self._count: NDArray[np.int64] | None = None
        if count is not None:
            self._count = np.broadcast_to(np.asarray(count, dtype=np.int64), np.shape(p)).ravel()
        self.trials = int(self._p.size if self._count is None else np.add.reduce(self._count))
        self.certain = self._number_at(1.0)
        self.support = (float(self.certain), float(self.trials - self._number_at(0.0)))

    def _number_at(self, value: float) -> int:
        at = self._p == value
        return int(np.count_nonzero(at) if self._count is None else np.add.reduce(self._count[at]))

    def _sum(self, terms: FloatArray) -> float:
        return float(np.add.reduce(terms if self._count is None else self._count * terms))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        variance = 0.0
        for start in range(0, self._p.size, BLOCK):
            p = self._p[start : start + BLOCK]
            terms = p * (1 - p)
            variance += float(
                np.add.reduce(terms if self._count is None else self._count[start : start + BLOCK] * terms)
            )
        return self._sum(self._p), variance

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    @cached_property
    def atoms(self) -> Atoms:
        uncertain = int(self.support[1] - self.support[0])
        if uncertain <= DIRECT_LIMIT:
            keep = (self._p > 0) & (self._p < 1)
            p = self._p[keep] if self._count is None else np.repeat(self._p[keep], self._count[keep])
            first, pmf = convolve_directly(p)
            first += self.certain
            return Atoms.of(first + np.arange(pmf.size, dtype=float), pmf)
        return self._inverted(self._p, None if self._count is None else self._count.astype(float))

    def _inverted(self, p: FloatArray, weight: FloatArray | None) -> Atoms:
        mean, variance = self._moments
        first, pmf = invert_on_window(
            mean,
            variance,
            int(self.support[0]),
            int(self.support[1]),
            lambda t: centred_log_phi(p, weight, t),
            lambda t: 2 * variance * np.sin(t / 2) ** 2,
        )
        return Atoms.of(first + np.arange(pmf.size, dtype=float), pmf)


class GatheredBinomial(PoissonBinomial):
    """The same for many trials that were gathered in bins: nodes p with weights that need not be whole.

    `never` and `always` trials fail and succeed for certain; they are not among the nodes.
    """

    def __init__(self, p: FloatArray, weight: FloatArray, never: int, always: int) -> None:
        self._nodes, self._weight = p, weight
        uncertain = round(float(np.add.reduce(weight)))
        self.trials, self.certain = uncertain + never + always, always
        self.support = (float(always), float(always + uncertain))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        p, weight = self._nodes, self._weight
        return self.certain + float(np.add.reduce(weight * p)), float(np.add.reduce(weight * p * (1 - p)))

    @cached_property
    def atoms(self) -> Atoms:
        return self._inverted(self._nodes, self._weight)


def counted_trials(p: FloatArray, count: FloatArray) -> PoissonBinomial:
    """The law of trials of which row i stands for count[i]; counts of nodes that stand for bins need not be whole."""
    if np.all(count == np.rint(count)):
        return PoissonBinomial(p, count)
    free = (p > 0) & (p < 1)
    never, always = (round(float(np.add.reduce(count[p == end]))) for end in (0, 1))
    return GatheredBinomial(p[free], count[free], never, always)


def convolve_directly(p: FloatArray) -> tuple[int, FloatArray]:
    """First count and the probabilities from it on, by convolution in pairs of neighbours."""
    rows = max(1, -(-p.size // LEAF))
    padded = np.zeros(rows * LEAF)
    padded[: p.size] = p
    pmf = np.zeros((rows, LEAF + 1))
    pmf[:, 0] = 1.0
    for j, column in enumerate(padded.reshape(rows, LEAF).T):
        success = column[:, None]
        pmf[:, 1 : j + 2] = pmf[:, 1 : j + 2] * (1 - success) + pmf[:, : j + 1] * success
        pmf[:, :1] *= 1 - success
    parts = [trim(0, row) for row in pmf]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        merged = [trim(i + j, np.convolve(a, b)) for (i, a), (j, b) in pairs]
        parts = merged + parts[2 * len(merged) :]
    return parts[0]


def trim(first: int, pmf: FloatArray) -> tuple[int, FloatArray]:
    """The same probabilities without negligible ones at the ends."""
    kept = np.flatnonzero(pmf > NEGLIGIBLE)
    return first + int(kept[0]), pmf[kept[0] : kept[-1] + 1]


def centred_log_phi(p: FloatArray, weight: FloatArray | None, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log |phi(t)| and arg phi(t) - t mean: the mean is taken out of each trial, so no large phase is ever formed."""
    if p.size > SINGLE:
        p, weight = gather(p, weight)
    reach = (0.5 - float(np.abs(p - 0.5).min(initial=0.5))) * 2 * math.sin(float(t.max()) / 2)
    if reach <= SERIES_REACH:
        return by_powers(p, weight, t, reach)
    return by_nodes(*gather(p, weight), t)


def by_powers(p: FloatArray, weight: FloatArray | None, t: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """By the series of log(1 + p x), where |p x| <= reach."""
    terms = max(2, math.ceil(math.log(1e-14 / max(p.size, 1)) / math.log(max(reach, 1e-9))))
    versine, sine = 2 * np.sin(t / 2) ** 2, np.sin(t)
    low, high = power_sums(p, weight, terms)
    order = np.arange(2, terms + 1)
    of_term = (-1.0) ** (order + 1) / order
    powers = np.cumprod(np.broadcast_to(1j * sine - versine, (terms, t.size)), axis=0)[1:]
    real, imaginary = (low + high)[1:] * of_term @ powers.real, (low - high)[1:] * of_term @ powers.imag
    return real - (low[0] + high[0]) * versine, imaginary + (low[0] - high[0]) * (sine - t)


def power_sums(p: FloatArray, weight: FloatArray | None, terms: int) -> tuple[FloatArray, FloatArray]:
    """sum w p^k, k = 1 ... terms, over the p up to 1/2; and sum w (1 - p)^k over the others."""
    often = p > 0.5
    rare = [p[~often], 1 - p[often]]
    weights = [None, None] if weight is None else [weight[~often], weight[often]]
    low, high = (_sums_of_powers(x, w, terms) for x, w in zip(rare, weights, strict=True))
    return low, high


def _sums_of_powers(x: FloatArray, weight: FloatArray | None, terms: int) -> FloatArray:
    """sum w x^k, k = 1 ... terms, from few powers: x^(a + s b) = x^a (x^s)^b."""
    side = math.isqrt(terms - 1) + 1
    sums = np.zeros((side, side))
    for start in range(0, x.size, STRIP):
        part = x[start : start + STRIP]
        short, long = np.empty((2, side, part.size))
        short[0], long[0] = part, 1.0 if weight is None else weight[start : start + STRIP]
        for k in range(1, side):
            np.multiply(short[k - 1], part, out=short[k])
        for k in range(1, side):
            np.multiply(long[k - 1], short[-1], out=long[k])
        sums += long @ short.T
    out: FloatArray = sums.ravel()[:terms]
    return out


def gather(p: FloatArray, count: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """A few thousand nodes and weights that stand for all p: two Gauss nodes in each of many narrow bins.

    Probabilities above 1/2 are binned by their distance from 1, so rare failures keep their digits as rare successes
    do. Each bin keeps its number of trials and the first three moments of p; the fourth is off by less than
    (bin width)^4 / 64, which the law does not feel.
    """
    bins = 2 * BINS_PER_HALF
    if p.size <= 2 * bins:
        return p, np.ones(p.size) if count is None else count
    moments = np.zeros((4, bins))
    for start in range(0, p.size, BLOCK):
        part = p[start : start + BLOCK]
        high = part > 0.5
        u = np.where(high, 1 - part, part)
        u *= bins
        index = np.minimum(u.astype(np.intp), BINS_PER_HALF - 1)
        u -= index
        index += BINS_PER_HALF * high
        weight = np.ones(part.size) if count is None else count[start : start + BLOCK].copy()
        for power in range(4):
            moments[power] += np.bincount(index, weight, minlength=bins)
            weight *= u
    nodes, weights = gauss_pairs(moments)
    nodes = (nodes + np.arange(bins) % BINS_PER_HALF) / bins
    nodes[:, BINS_PER_HALF:] = 1 - nodes[:, BINS_PER_HALF:]
    used = weights > 0
    return np.clip(nodes[used], 0.0, 1.0), weights[used]


def gauss_pairs(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two nodes and weights per bin, (2, bins) each, with the bin's four moments sum u^r, r = 0..3."""
    number = np.where(moments[0] > 0, moments[0], 1.0)
    mean, second, third = moments[1:] / number
    variance = np.maximum(second - mean * mean, 0.0)
    variance = np.where(variance > 1e-14 * second, variance, 0.0)
    spread = np.where(variance > 0, variance, 1.0)
    skew = np.where(variance > 0, (third - 3 * mean * second + 2 * mean**3) / spread, 0.0)
    root = np.sqrt(skew * skew / 4 + variance)
    below, above = skew / 2 - root, skew / 2 + root
    width = np.where(root > 0, above - below, 1.0)
    share = np.where(root > 0, above / width, 1.0)
    return mean + np.stack([below, above]), moments[0] * np.stack([share, 1 - share])


def by_nodes(p: FloatArray, weight: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Trial by trial."""
    flip = p > 0.5
    rare = np.where(flip, 1 - p, p)
    sign = np.where(flip, -weight, weight)
    log_size, phase = np.empty(t.size), np.empty(t.size)
    for j, (sine, versine) in enumerate(zip(np.sin(t), 2 * np.sin(t / 2) ** 2, strict=True)):
        with np.errstate(divide="ignore"):  # p = 1/2 at t = pi: phi is exactly 0
            log_size[j] = 0.5 * np.add.reduce(weight * np.log1p(-2 * versine * rare * (1 - rare)))
        phase[j] = np.add.reduce(sign * (np.arctan2(rare * sine, 1 - rare * versine) - rare * t[j]))
    return log_size, phase
