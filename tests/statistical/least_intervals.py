"""How short can intervals of a mean absolute or squared error, or of a share within a tolerance, be, if they hold for residuals
of every distribution?

    python tests/statistical/least_intervals.py

Labels y = p + D + s Z, of which those below a limit are known as limits. Residuals D from one distribution, F0, make data P0.
Another distribution F1, whose mean loss (|D|, D^2, or whether |D| is within 0.7) is `gap` away, makes data P1. Where n labels
hardly tell P1 from P0, whatever is computed from them is nearly the same for both. From the two follow two bounds for everything
that can be computed:

    an interval that holds 95 % for every distribution holds the mean of F1 in all data from P0 that the best test at 5 % of P1
    against P0 does not take for P0. The integral of that probability over `gap` is its least mean length under P0 (Pratt 1961).

    an estimate that is off by no more than b on average for F0 and for F1 scatters under P0 by at least
    (gap - 2 b) / sqrt((1 + chi^2)^n - 1), chi^2 = sum P1^2 / P0 - 1 (Hammersley 1950; Chapman and Robbins 1951).

Both are true for any F1. Those taken are hard to tell: they maximise the expected log likelihood plus a multiple of the mean. The
power of the best test is computed from the distribution of the log likelihood ratio of n labels, by Fourier transform. The
estimates have no part in it. No residual lies beyond the grid: without an end, squares have no least length at all, since a
distribution may have any mean square beyond what the labels show. The table is `tests/statistical/least_intervals.csv`, beside what the estimates reach.
"""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure_shapes import OPTIONS, RESIDUALS
from scipy.special import ndtr, ndtri

import scorebars as sb
from scorebars.moments.deconvolution import Mixture

TABLE = Path(__file__).with_name("least_intervals.csv")
COLUMNS = [
    "metric",
    "residuals",
    "n",
    "setting",
    "least_length",
    "length",
    "held",
    "least_scatter",
    "scatter",
    "bias",
    "count",
]
PREDICTIONS = 1.9
"""Their standard deviation."""
GRID = np.round(np.arange(-4.0, 4.01, 0.1), 10)
LOSSES = {
    "mean_absolute_error": np.abs(GRID),
    "mean_squared_error": np.square(GRID),
    "fraction_within": (np.abs(GRID) < 0.75).astype(float),
}
ABSOLUTE, SQUARED, FRACTION = LOSSES
MEANS = {
    ABSOLUTE: {"normal": math.sqrt(2 / math.pi), "Laplace": math.sqrt(0.5), "two points": 1.0},
    SQUARED: dict.fromkeys(RESIDUALS, 1.0),
    FRACTION: {"normal": 2 * ndtr(0.7) - 1, "Laplace": 1 - math.exp(-0.7 / math.sqrt(0.5)), "two points": 0.0},
}
BIAS = 0.02
LEVEL = 0.95
_TILTS = np.geomspace(0.002, 20.0, 60)
_FAR = 25.0
"""In log likelihood of all labels: nobody takes such distributions for each other."""
_LATTICE = 1 << 16
COUNTS = {50: 200, 400: 100}
Draw = Callable[[np.random.Generator, int], np.ndarray]


def distribution(name: str) -> np.ndarray:
    """Weights on the grid."""
    if name == "two points":
        return np.where(np.abs(np.abs(GRID) - 1.0) < 1e-9, 0.5, 0.0)
    edges = np.concatenate([[-np.inf], (GRID[1:] + GRID[:-1]) / 2, [np.inf]])
    if name == "normal":
        return np.diff(ndtr(edges))
    scale = math.sqrt(0.5)
    below = 0.5 * np.exp(np.minimum(edges, 0.0) / scale)
    return np.diff(np.where(edges < 0, below, 1.0 - 0.5 * np.exp(-np.maximum(edges, 0.0) / scale)))


@dataclass(frozen=True)
class Labels:
    """What is seen of a label: its prediction, and the residual in steps, or that it is a limit. (outcomes, grid)"""

    chance: np.ndarray

    @classmethod
    def of(cls, share: float, sigma: float) -> Labels:
        """With a limit below which this share of all labels lies, and label errors of this size."""
        limit = math.sqrt(PREDICTIONS**2 + 1.0 + sigma**2) * ndtri(share)
        steps = np.arange(GRID[0] - 5 * sigma, GRID[-1] + 5 * sigma, sigma / 6)
        rows = []
        for p in PREDICTIONS * ndtri((np.arange(24) + 0.5) / 24):
            edges = np.concatenate([[-np.inf], steps[steps > limit - p], [np.inf]])
            if limit - p > steps[0]:
                edges = np.insert(edges, 1, limit - p)
            rows.append(np.diff(ndtr((edges[:, None] - GRID) / sigma), axis=0) / 24)
        return cls(np.maximum(np.vstack(rows), 1e-300))

    def hard_to_tell(self, first: np.ndarray, loss: np.ndarray, sign: float, n: int) -> Iterator[np.ndarray]:
        """Distributions whose mean loss is ever farther off, but whose labels look as alike as possible."""
        seen, values = self.chance @ first, sign * loss / loss.max()
        keep = seen > 1e-12
        mixture = Mixture(np.asfortranarray(self.chance[keep]), seen[keep] / seen[keep].sum())
        weights, best = 0.999 * first + 0.001 / len(first), mixture.log_likelihood(first)
        for tilt in _TILTS / math.sqrt(n):
            weights = mixture.most_likely(weights, tilt * values, 1e-9)
            yield weights
            if n * (best - mixture.log_likelihood(weights)) > _FAR:
                return


def power(null: np.ndarray, other: np.ndarray, n: int) -> float:
    """Of the best test at 5 % of `null` against `other`, from n labels."""
    ratio = np.log(other / null)
    spread = math.sqrt(n * float(null @ np.square(ratio - null @ ratio)))
    spread = max(spread, math.sqrt(n * float(other @ np.square(ratio - other @ ratio))))
    centre = (float(null @ ratio) + float(other @ ratio)) / 2
    step = 24.0 * max(spread, n * abs(float(null @ ratio) - centre)) / _LATTICE
    place = np.clip((ratio - centre) / step, -_LATTICE / 4, _LATTICE / 4)
    low = np.floor(place).astype(int)
    laws = []
    for chance in (null, other):  # each outcome is shared between the two points of the lattice around it
        one = np.bincount(low % _LATTICE, chance * (low + 1 - place), _LATTICE)
        one += np.bincount((low + 1) % _LATTICE, chance * (place - low), _LATTICE)
        found = np.fft.irfft(np.fft.rfft(one) ** n, _LATTICE)
        laws.append(np.maximum(np.roll(found, _LATTICE // 2), 0.0))
    size, reached = (np.cumsum(law[::-1]) for law in laws)
    return float(np.interp(1.0 - LEVEL, size, reached))


def least(residuals: str, n: int, setting: str, metric: str = ABSOLUTE) -> tuple[float, float]:
    """The least mean length of an interval, and the least scatter of an estimate off by no more than `BIAS`."""
    share, sigma = (float(part) for part in setting.split(" limits, errors "))
    labels, first, loss = Labels.of(share, sigma), distribution(residuals), LOSSES[metric]
    seen, length, scatter = labels.chance @ first, 0.0, 0.0
    for sign in (1.0, -1.0):
        before = 0.0
        for weights in labels.hard_to_tell(first, loss, sign, n):
            gap, other = sign * float((weights - first) @ loss), labels.chance @ weights
            if gap > before:  # distributions between are harder to tell
                length += (gap - before) * (1.0 - power(other, seen, n))
                before = gap
            apart = n * math.log1p(float(np.sum(np.square(other - seen) / seen)))
            if 0 < apart < 50:
                scatter = max(scatter, (gap - 2 * BIAS) / math.sqrt(math.expm1(apart)))
    return length, scatter


def hardest(residuals: str, n: int, setting: str, sign: float) -> np.ndarray:
    """The distribution of a larger or smaller mean that the best test tells from this one with a probability of 80 %."""
    share, sigma = (float(part) for part in setting.split(" limits, errors "))
    labels, first = Labels.of(share, sigma), distribution(residuals)
    found = list(labels.hard_to_tell(first, LOSSES[ABSOLUTE], sign, n))
    powers = [power(labels.chance @ weights, labels.chance @ first, n) for weights in found]
    weights = found[int(np.argmin(np.abs(np.array(powers) - 0.8)))]
    return np.asarray(weights / weights.sum())


def reached(metric: str, residuals: str, draw: Draw, mean: float, n: int, setting: str, count: int) -> list[float]:
    """Mean length of the interval for the population, how often it holds, scatter and bias of the estimate."""
    share, sigma = (float(part) for part in setting.split(" limits, errors "))
    rng, found = np.random.default_rng(zlib.crc32(f"{residuals} {n} {setting}".encode())), []
    for _ in range(count):
        p, d = PREDICTIONS * rng.standard_normal(n), draw(rng, n)
        y = p + d + sigma * rng.standard_normal(n)
        limit = np.quantile(y, share)
        labels = sb.Censored(np.where(y < limit, -math.inf, y), np.where(y < limit, limit, y), sigma)
        truth = getattr(sb, metric)(None, p, yerr=labels, **OPTIONS.get(metric, {})).truth
        low, high = truth.total_interval(LEVEL)
        found.append((high - low, low <= mean <= high, truth - mean))
    length, held, off = np.array(found, dtype=float).T
    return [length.mean(), held.mean(), off.std(), off.mean()]


def situations() -> Iterator[tuple[str, str, str, int]]:
    for setting in ("0.3 limits, errors 0.5", "0.3 limits, errors 1.0", "0.6 limits, errors 1.0"):
        for residuals in (*RESIDUALS, "larger than normal", "smaller than normal"):
            for n in COUNTS:
                yield ABSOLUTE, residuals, setting, n
    for setting in ("0.1 limits, errors 0.5", "0.1 limits, errors 1.0", "0.6 limits, errors 0.5"):
        for residuals in RESIDUALS:
            for n in COUNTS:
                yield ABSOLUTE, residuals, setting, n
    for setting in (
        "0.1 limits, errors 0.5",
        "0.3 limits, errors 0.5",
        "0.6 limits, errors 0.5",
        "0.6 limits, errors 1.0",
    ):
        for residuals in RESIDUALS:
            for n in COUNTS:
                yield SQUARED, residuals, setting, n
    for setting in ("0.3 limits, errors 0.5", "0.6 limits, errors 1.0"):
        for residuals in RESIDUALS:
            for n in COUNTS:
                yield FRACTION, residuals, setting, n


def measure(metric: str, residuals: str, setting: str, n: int) -> dict[str, Any]:
    count = COUNTS[n]
    if residuals in RESIDUALS:
        mean = MEANS[metric][residuals]
        length, scatter = (f"{number:.4g}" for number in least(residuals, n, setting, metric))
        ours = reached(metric, residuals, RESIDUALS[residuals], mean, n, setting, count)
    else:
        weights = hardest("normal", n, setting, 1.0 if residuals.startswith("larger") else -1.0)
        length = scatter = ""
        mean = float(weights @ LOSSES[ABSOLUTE])
        ours = reached(metric, residuals, lambda rng, n: rng.choice(GRID, n, p=weights), mean, n, setting, count)
    own = [f"{number:.4g}" for number in ours]
    cells = [metric, residuals, n, setting, length, *own[:2], scatter, *own[2:], count]
    return dict(zip(COLUMNS, map(str, cells), strict=True))


def main() -> None:
    """Goes on where it stopped."""
    rows: list[dict[str, str]] = []
    if TABLE.exists():
        with TABLE.open(newline="") as file:
            rows = list(csv.DictReader(file))
    known = {(row["metric"], row["residuals"], row["setting"], int(row["n"])) for row in rows}
    for situation in situations():
        if situation in known:
            continue
        rows.append(measure(*situation))
        print(*rows[-1].values(), sep=", ", flush=True)
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
