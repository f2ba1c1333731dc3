"""How many of many independent yes/no trials succeed, each with its own probability: the distribution of accuracy.

A label that is wrong with probability q turns a correct prediction into a wrong one. The number of correct predictions
is then a sum of independent Bernoulli trials: it is Poisson-binomial. Few uncertain trials are convolved. For many, the
characteristic function phi(t) = prod_i (1 - p_i + p_i exp(it)) is inverted: with x = exp(it) - 1 and |p_i x| small

    log phi(t) = sum_k (-1)^(k+1)/k x^k sum_i p_i^k

needs only some ten to thirty sums of powers. A trial with p_i above 1/2 is one of rare failures: 1 - p_i and -t. At most
about 500 trials can have a large |p_i x| at a frequency that matters, as they alone make |phi| vanish; those are taken
one by one. SciPy has no such distribution.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len

from scorebars.arrays import BoolArray, ComplexArray, FloatArray
from scorebars.laws.discrete import ListedLaw, ProbabilityTable

_NEGLIGIBLE = 1e-290  # smaller probabilities are dropped at the ends: denormal numbers are slow and say nothing
_NEGLIGIBLE_OF_MANY = 1e-30  # of more steps than are convolved as a rule
_SILENT = 40.0  # -log |phi| at which a frequency no longer counts
_CONVOLVED = 2000  # uncertain trials that are convolved: a few milliseconds
_LEAF = 32  # trials that are convolved at once
_STRIP = 1 << 15  # trials whose powers stay in the cache
_SERIES_REACH = 0.4  # largest |p x| for which log(1 + p x) is summed as a series


class PoissonBinomial(ListedLaw):
    """Number of successes of independent trials with probabilities p.

    Trial i is made count[i] times, so a single p is the binomial distribution. Counts need not be whole where rows stand
    for bins of trials; they add up to whole numbers.
    """

    def __init__(self, p: ArrayLike, count: ArrayLike | None = None) -> None:
        self._p: FloatArray = np.asarray(p, dtype=float).ravel()
        self._count = None if count is None else np.broadcast_to(np.asarray(count, dtype=float), np.shape(p)).ravel()
        certain, impossible = self._number(self._p == 1), self._number(self._p == 0)
        self.trials = self._p.size if self._count is None else round(float(np.add.reduce(self._count)))
        self._uncertain = self.trials - certain - impossible
        self.support = (float(certain), float(certain + self._uncertain))

    def _number(self, rows: BoolArray) -> int:
        return int(np.count_nonzero(rows)) if self._count is None else round(float(self._count @ rows))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        expected = self._p if self._count is None else self._count * self._p
        return float(np.add.reduce(expected)), float(expected @ (1 - self._p))

    @cached_property
    def table(self) -> ProbabilityTable:
        whole = self._count is None or bool(np.all(self._count == np.rint(self._count)))
        if whole and self._uncertain <= _CONVOLVED:
            free = (self._p > 0) & (self._p < 1)
            p = self._p[free] if self._count is None else np.repeat(self._p[free], self._count[free].astype(int))
            first, pmf = convolve_steps(np.stack([1 - p, p], axis=1))
            first += int(self.support[0])
        else:
            first, pmf = self.inverted()
        return ProbabilityTable.of(first + np.arange(pmf.size, dtype=float), pmf)

    def inverted(self) -> tuple[int, FloatArray]:
        """First value and the probabilities from it on, from phi, in a window that leaves out less than 1e-17 of the mass.

        Good to 1e-15, but not relative to small probabilities, as convolved steps are.

        |phi(t)| <= exp(-2 variance sin^2(t/2)): some fifty frequencies matter at any number of trials. With the mean taken
        out of each trial no large phase is ever formed.
        """
        mean, variance = self._moments
        reach = bernstein_halfwidth(variance)
        first = max(int(self.support[0]), math.floor(mean - reach))
        last = min(int(self.support[1]), math.ceil(mean + reach))
        period = next_fast_len(last - first + 1, real=True)
        t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
        heard = 2 * variance * np.sin(t / 2) ** 2 < _SILENT
        log_size, phase = self._centred_log_phi(t[heard])
        phi = np.zeros(t.size, dtype=complex)
        # irfft sums exp(+i t k), the inversion formula exp(-i t k): hence the conjugate
        phi[heard] = np.exp(log_size - 1j * (phase + t[heard] * (mean - first)))
        pmf = np.maximum(irfft(phi, period)[: last - first + 1], 0.0)
        return first, pmf / np.add.reduce(pmf)

    def around(self, rank: int) -> tuple[float, float, float]:
        """P(number < rank), P(number = rank) and P(number > rank)."""
        first, pmf = self.inverted()
        place = min(max(rank - first, 0), pmf.size)
        if rank < first:
            return 0.0, 0.0, 1.0
        at = float(pmf[place]) if place < pmf.size else 0.0
        return float(np.sum(pmf[:place])), at, float(np.sum(pmf[place + 1 :]))

    def _centred_log_phi(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log |phi(t)| and arg phi(t) - t mean."""
        p, count = self._p, self._count
        x = 1j * np.sin(t) - 2 * np.sin(t / 2) ** 2
        farthest = 2 * math.sin(float(t[-1]) / 2)
        out = np.zeros(t.size, dtype=complex)
        reach = 0.5 * farthest  # many trials: no need to look which is the largest
        if reach > 0.1:
            reach = float(np.max(np.minimum(p, 1 - p))) * farthest
        if reach > _SERIES_REACH:
            heavy = np.minimum(p, 1 - p) * farthest > _SERIES_REACH
            out += _log_factors(p[heavy], None if count is None else count[heavy], t)
            p, count = p[~heavy], None if count is None else count[~heavy]
            reach = float(np.max(np.minimum(p, 1 - p), initial=0.0)) * farthest
        terms = max(2, math.ceil(math.log(1e-14 / max(p.size, 1)) / math.log(max(reach, 1e-9))))
        both, signed = _sums_of_powers(p, count, terms)
        order = np.arange(2, terms + 1)
        of_term = (-1.0) ** (order + 1) / order
        powers = np.cumprod(np.broadcast_to(x, (terms, t.size)), axis=0)[1:]
        log_size = out.real + both[0] * x.real + of_term * both[1:] @ powers.real
        return log_size, out.imag + signed[0] * (x.imag - t) + of_term * signed[1:] @ powers.imag


def _log_factors(p: FloatArray, count: FloatArray | None, t: FloatArray) -> ComplexArray:
    """sum_i count_i [log(1 - p_i + p_i exp(it)) - i p_i t], trial by trial."""
    with np.errstate(divide="ignore"):  # p = 1/2 at t = pi: phi is exactly 0
        terms = np.log(1 + p[:, None] * (np.exp(1j * t) - 1)) - 1j * p[:, None] * t
    return np.asarray(np.add.reduce(terms if count is None else count[:, None] * terms, axis=0))


def _sums_of_powers(p: FloatArray, count: FloatArray | None, terms: int) -> tuple[FloatArray, FloatArray]:
    """sum_i count_i r_i^k, k = 1 ... terms, with r the smaller of p and 1 - p; and the same, negative where p > 1/2."""
    both, signed = np.zeros((2, terms))
    for start in range(0, p.size, _STRIP):
        part = p[start : start + _STRIP]
        rare, sign = np.minimum(part, 1 - part), np.where(part > 0.5, -1.0, 1.0)
        power = rare.copy() if count is None else rare * count[start : start + _STRIP]
        for k in range(terms):
            both[k] += np.add.reduce(power)
            signed[k] += power @ sign
            power *= rare
    return both, signed


# many numbers of the same trials at once -----------------------------------------------------------


def around_rank(p: FloatArray, count: FloatArray | None, rank: int) -> FloatArray:
    """P(number < rank), P(number = rank), P(number > rank), three rows, for each row of probabilities p (m, n).

    All numbers of many trials are inverted together, as `PoissonBinomial.inverted` does one by one.
    """
    expected = p if count is None else p * count
    mean, variance = np.add.reduce(expected, axis=1), np.einsum("mn,mn->m", expected, 1.0 - p)
    least, most = float(np.min(variance)), float(np.max(variance))
    half = math.ceil(bernstein_halfwidth(most)) + 1
    farthest = 2.0 * math.sqrt(min(_SILENT / (2.0 * max(least, 1e-300)), 1.0))
    if 0.5 * farthest > _SERIES_REACH:
        return np.array([PoissonBinomial(row, count).around(rank) for row in p]).T
    period = next_fast_len(2 * half + 1, real=True)
    t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
    t = t[2.0 * np.sin(t / 2) <= farthest]
    terms = max(2, math.ceil(math.log(1e-14 / p.shape[1]) / math.log(0.5 * farthest)))
    both, signed = np.zeros((2, terms, len(p)))
    for start in range(0, p.shape[1], _COLUMNS):
        part = p[:, start : start + _COLUMNS]
        rare, sign = np.minimum(part, 1.0 - part), np.where(part > 0.5, -1.0, 1.0)
        power = rare.copy() if count is None else rare * count[start : start + _COLUMNS]
        for k in range(terms):
            both[k] += np.add.reduce(power, axis=1)
            signed[k] += np.einsum("mn,mn->m", power, sign)
            power *= rare
    x = 1j * np.sin(t) - 2 * np.sin(t / 2) ** 2
    order = np.arange(2, terms + 1)
    of_term = ((-1.0) ** (order + 1) / order)[:, None] * np.cumprod(np.broadcast_to(x, (terms, t.size)), axis=0)[1:]
    log_size = np.multiply.outer(both[0], x.real) + both[1:].T @ of_term.real
    phase = np.multiply.outer(signed[0], x.imag - t) + signed[1:].T @ of_term.imag
    first = np.floor(mean) - half
    phi = np.exp(log_size - 1j * (phase + t * (mean - first)[:, None]))
    pmf = np.maximum(irfft(phi, period, axis=1), 0.0)
    pmf /= np.add.reduce(pmf, axis=1)[:, None]
    place = np.clip(rank - first, -1, period).astype(np.intp)
    under = np.pad(np.cumsum(pmf, axis=1), ((0, 0), (1, 1)), mode="edge")
    under[:, 0] = 0.0
    rows, inside = np.arange(len(p)), (place >= 0) & (place < period)
    at = np.where(inside, pmf[rows, np.clip(place, 0, period - 1)], 0.0)
    less = under[rows, np.clip(place, 0, period)]
    return np.stack([less, at, np.maximum(1.0 - less - at, 0.0)])


_COLUMNS = 2048
"""Trials whose powers are taken together, for all numbers."""


# sums of independent whole steps ----------------------------------------------------------------


def convolve_steps(chances: FloatArray) -> tuple[int, FloatArray]:
    """First value and the probabilities from it on, of a sum of steps 0, 1, ... with probabilities in rows (n, s).

    Every term is positive, so each probability keeps its relative accuracy far into both tails.
    """
    n, steps = chances.shape
    rows = max(1, -(-n // _LEAF))
    padded = np.zeros((rows * _LEAF, steps))
    padded[:, 0] = 1.0
    padded[:n] = chances
    pmf = np.zeros((rows, _LEAF * (steps - 1) + 1))
    pmf[:, 0] = 1.0
    for column in padded.reshape(rows, _LEAF, steps).swapaxes(0, 1):
        longer = pmf * column[:, :1]
        for step in range(1, steps):
            longer[:, step:] += pmf[:, :-step] * column[:, step, None]
        pmf = longer
    least = _NEGLIGIBLE if n <= _CONVOLVED else _NEGLIGIBLE_OF_MANY
    parts = [_trimmed(0, row, least) for row in pmf]
    while len(parts) > 1:  # neighbours in pairs
        pairs = zip(parts[::2], parts[1::2], strict=False)
        merged = [_trimmed(i + j, np.convolve(a, b), least) for (i, a), (j, b) in pairs]
        parts = merged + parts[2 * len(merged) :]
    return parts[0]


def _trimmed(first: int, pmf: FloatArray, least: float) -> tuple[int, FloatArray]:
    kept = np.flatnonzero(pmf > least)
    return first + int(kept[0]), pmf[kept[0] : kept[-1] + 1]


def bernstein_halfwidth(variance: float, largest_step: float = 1.0, log_mass: float = 42.0) -> float:
    """Distance from the mean that a sum of independent bounded steps exceeds with probability below exp(-log_mass).

    Bernstein: P(S - E S >= x) <= exp(-x^2 / (2 (variance + step x / 3))), and likewise below.
    """
    linear = log_mass * largest_step / 3
    return linear + math.sqrt(linear * linear + 2 * log_mass * variance)
