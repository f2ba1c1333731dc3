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

from scorebars.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from scorebars.laws.discrete import ListedLaw, ProbabilityTable

_NEGLIGIBLE = 1e-290  # smaller probabilities are dropped at the ends: denormal numbers are slow and say nothing
_NEGLIGIBLE_OF_MANY = 1e-30  # of more steps than are convolved as a rule
_SILENT = 40.0  # -log |phi| at which a frequency no longer counts
_CONVOLVED = 2000  # uncertain trials that are convolved: a few milliseconds
_CONVOLVED_TOGETHER = 512  # trials that are convolved for many rows of probabilities at once
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
        """First value and the probabilities from it on, by `invert_numbers`, without values that no trials give."""
        (first,), (pmf,) = invert_numbers(self._p[None], self._count)
        low, high = int(self.support[0]), int(self.support[1])
        pmf = pmf[max(low - first, 0) : high + 1 - first]
        return max(first, low), pmf / np.add.reduce(pmf)


# many numbers of the same trials at once -----------------------------------------------------------


def invert_numbers(p: FloatArray, count: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """First values (m,), and the probabilities from there on (m, k), for each row of probabilities p (m, n), from phi.

    The window leaves out less than 1e-17 of the mass. Good to 1e-15, but not relative to small probabilities, as convolved
    steps are. |phi(t)| <= exp(-2 variance sin^2(t/2)): some fifty frequencies matter at any number of trials. With the mean
    taken out of each trial no large phase is ever formed.
    """
    expected = p if count is None else p * count
    mean, variance = np.add.reduce(expected, axis=1), np.einsum("mn,mn->m", expected, 1.0 - p)
    half = math.ceil(bernstein_halfwidth(float(np.max(variance)))) + 1
    trials = p.shape[1] if count is None else round(float(np.add.reduce(count)))
    width = min(2 * half, trials) + 1
    period = next_fast_len(width, real=True)
    t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
    t = t[2 * float(np.min(variance)) * np.sin(t / 2) ** 2 < _SILENT]
    if len(p) > 1 and math.sin(float(t[-1]) / 2) > _SERIES_REACH:  # rows differ in the frequencies that matter
        parts = [invert_numbers(row[None], count) for row in p]
        longest = max(pmf.size for _, pmf in parts)
        padded = [np.pad(pmf[0], (0, longest - pmf.size)) for _, pmf in parts]
        return np.concatenate([first for first, _ in parts]), np.stack(padded)
    log_size, phase = centred_log_phi(p, count, t)
    first = np.clip(np.floor(mean).astype(np.int64) - half, 0, trials + 1 - width)
    # irfft sums exp(+i t k), the inversion formula exp(-i t k): hence the conjugate
    phi = np.exp(log_size - 1j * (phase + t * (mean - first)[:, None]))
    pmf = np.maximum(irfft(phi, period, axis=1)[:, :width], 0.0)
    return first, pmf / np.add.reduce(pmf, axis=1)[:, None]


def _convolved(p: FloatArray) -> FloatArray:
    """The probabilities of 0 ... n successes for each row of probabilities p (m, n), all of relative accuracy."""
    pmf = np.zeros((p.shape[1] + 1, len(p)))
    pmf[0] = 1.0
    for trial, chance in enumerate(p.T):
        pmf[1 : trial + 2] = pmf[1 : trial + 2] * (1.0 - chance) + pmf[: trial + 1] * chance
        pmf[0] *= 1.0 - chance
    return pmf.T


def around_rank(p: FloatArray, count: FloatArray | None, rank: int) -> FloatArray:
    """P(number < rank), P(number = rank), P(number > rank), three rows, for each row of probabilities p (m, n)."""
    few = count is None and p.shape[1] <= _CONVOLVED_TOGETHER
    first, pmf = (np.zeros(len(p), dtype=np.int64), _convolved(p)) if few else invert_numbers(p, count)
    apart = np.arange(pmf.shape[1]) + (first[:, None] - rank)
    return np.stack([np.sum(pmf, axis=1, where=where) for where in (apart < 0, apart == 0, apart > 0)])


def centred_log_phi(p: FloatArray, count: FloatArray | None, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log |phi(t)| and arg phi(t) - t mean for each row of p."""
    x = 1j * np.sin(t) - 2 * np.sin(t / 2) ** 2
    farthest = 2 * math.sin(float(t[-1]) / 2)
    out = np.zeros((len(p), t.size), dtype=complex)
    reach = 0.5 * farthest  # many trials: no need to look which is the largest
    if reach > 0.1:
        large = np.max(np.minimum(p, 1 - p), axis=0) * farthest
        heavy = large > _SERIES_REACH
        if heavy.any():
            out += [log_factors(row, None if count is None else count[heavy], t) for row in p[:, heavy]]
            p, count, large = p[:, ~heavy], None if count is None else count[~heavy], large[~heavy]
        reach = float(np.max(large, initial=0.0))
    terms = max(2, math.ceil(math.log(1e-14 / max(p.shape[1], 1)) / math.log(max(reach, 1e-9))))
    both, signed = _sums_of_powers(p, count, terms)
    order = np.arange(2, terms + 1)
    powers = ((-1.0) ** (order + 1) / order)[:, None] * np.cumprod(np.broadcast_to(x, (terms, t.size)), axis=0)[1:]
    log_size = out.real + np.multiply.outer(both[0], x.real) + both[1:].T @ powers.real
    return log_size, out.imag + np.multiply.outer(signed[0], x.imag - t) + signed[1:].T @ powers.imag


def log_factors(p: FloatArray, count: FloatArray | None, t: FloatArray) -> ComplexArray:
    """sum_i count_i [log(1 - p_i + p_i exp(it)) - i p_i t], trial by trial."""
    with np.errstate(divide="ignore"):  # p = 1/2 at t = pi: phi is exactly 0
        terms = np.log(1 + p[:, None] * (np.exp(1j * t) - 1)) - 1j * p[:, None] * t
    return np.asarray(np.add.reduce(terms if count is None else count[:, None] * terms, axis=0))


def _sums_of_powers(p: FloatArray, count: FloatArray | None, terms: int) -> tuple[FloatArray, FloatArray]:
    """sum_i count_i r_i^k, k = 1 ... terms, with r the smaller of p and 1 - p; and the same, negative where p > 1/2."""
    both, signed = np.zeros((2, terms, len(p)))
    step = max(1, _STRIP // len(p))
    for start in range(0, p.shape[1], step):
        part = p[:, start : start + step]
        rare, sign = np.minimum(part, 1 - part), np.where(part > 0.5, -1.0, 1.0)[:, :, None]
        power = rare.copy() if count is None else rare * count[start : start + step]
        for k in range(terms):
            both[k] += np.add.reduce(power, axis=1)
            signed[k] += (power[:, None] @ sign)[:, 0, 0]
            power *= rare
    return both, signed


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
