"""Measure estimates and intervals where they depend on the shape of the residuals: limits, groups, few members, medians.

    python tests/statistical/measure_shapes.py [--count 200] [--only PATTERN] [--fresh]

The table is `tests/statistical/shapes.csv`, which the pages of the theory show. A situation that is in the table is not measured
again, unless --fresh takes out those that match, so an interrupted run goes on where it stopped. Each situation has its own seed.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

import scorebars as sb

TABLE = Path(__file__).with_name("shapes.csv")
COLUMNS = ["topic", "residuals", "n", "setting", "metric", "count", "held", "bias", "bias_error", "mean"]
RESIDUALS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Laplace": lambda rng, n: rng.laplace(0.0, math.sqrt(0.5), n),
    "two points": lambda rng, n: rng.choice([-1.0, 1.0], n),
}
"""Residuals of variance 1."""
LAWS = RESIDUALS | {
    "t5": lambda rng, n: math.sqrt(0.6) * rng.standard_t(5, n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1.0,
}
SPREADS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "alike": lambda rng, n: np.ones(n),
    "1 and 5": lambda rng, n: rng.choice([1.0, 5.0], n),
    "unlike by e": lambda rng, n: np.exp(rng.standard_normal(n)),
}
METRICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean_absolute_error": lambda d: float(np.mean(np.abs(d))),
    "mean_squared_error": lambda d: float(np.mean(d * d)),
    "median_absolute_error": lambda d: float(np.median(np.abs(d))),
    "root_mean_squared_error": lambda d: math.sqrt(float(np.mean(d * d))),
    "mean_error": lambda d: float(np.mean(-d)),
    "huber_loss": lambda d: float(np.mean(np.where(np.abs(d) < 1, d * d / 2, np.abs(d) - 0.5))),
    "mean_pinball_loss": lambda d: float(np.mean(np.where(d > 0, 0.3 * d, -0.7 * d))),
    "fraction_within": lambda d: float(np.mean(np.abs(d) <= 0.7)),
}
"""Of true residuals: truth less prediction."""
FORECASTS: dict[str, Callable[[np.ndarray], float]] = {
    "crps": lambda d: float(
        np.mean(d * (2 * ndtr(d) - 1) + (2 * np.exp(-d * d / 2) - math.sqrt(2)) / math.sqrt(2 * np.pi))
    ),
    "log_score": lambda d: float(np.mean(d * d / 2)) + 0.5 * math.log(2 * math.pi),
}
"""The same of normal forecasts with a spread of one."""
ORDERS: dict[str, Callable[[float], float]] = {
    "concordance_index": lambda share: share,
    "kendall_correlation": lambda share: 2 * share - 1,
}
"""Of the share of pairs that are ordered rightly."""
_NEAR = 1.2
"""A class is predicted rightly where the residual is at most this."""
OPTIONS: dict[str, dict[str, float]] = {
    "huber_loss": {"delta": 1.0},
    "mean_pinball_loss": {"alpha": 0.3},
    "fraction_within": {"tolerance": 0.7},
}
Found = tuple[sb.Interval, float, float]
"""The 95 % interval, the estimate, and what it should be."""
FoundAt = tuple[Callable[[float], sb.Interval], float, float]
"""The same with the interval at any level."""


def limits(rng: np.random.Generator, residuals: str, n: int, setting: str, metric: str) -> Found:
    """Upper limits on a share of the labels, whose errors have a size in units of the residuals' standard deviation."""
    share, sigma = (float(part) for part in setting.split(" limits, errors "))
    p, d = 1.9 * rng.standard_normal(n), RESIDUALS[residuals](rng, n)
    y = p + d + sigma * rng.standard_normal(n)
    limit = np.quantile(y, share)
    labels = sb.Censored(np.where(y < limit, -math.inf, y), np.where(y < limit, limit, y), sigma)
    if metric == SCATTER:
        found = sb.intrinsic_scatter(None, p, yerr=labels)
        return found.interval(0.95), float(found), 1.0
    predicted = sb.NormalForecast(p, np.ones(n)) if metric in FORECASTS else p
    found = getattr(sb, metric)(None, predicted, yerr=labels, **OPTIONS.get(metric, {})).truth
    if metric in ORDERS:
        right = ORDERS[metric](_ordered_rightly(labels, p, p + d))
    else:
        right = (METRICS | FORECASTS)[metric](d)
    return found.interval(0.95), float(found), right


def _ordered_rightly(labels: sb.Censored, p: np.ndarray, truth: np.ndarray) -> float:
    """The concordance index of the true values, over the pairs whose order the labels tell."""
    i, j = np.nonzero(labels.upper[:, None] <= labels.lower)
    i, j = i[i != j], j[i != j]
    return float(np.mean((truth[j] > truth[i]) == (p[j] > p[i])))


def groups(rng: np.random.Generator, residuals: str, n: int, setting: str, metric: str) -> Found:
    """n groups of 2 to 18 items which share a part of the residuals' variance: the population's score."""
    common = float(setting.removesuffix(" common"))
    of = np.repeat(np.arange(n), rng.integers(2, 19, n))
    d = math.sqrt(common) * RESIDUALS[residuals](rng, n)[of] + math.sqrt(1 - common) * RESIDUALS[residuals](
        rng, len(of)
    )
    y, sigma = rng.standard_normal(len(of)), 0.5
    found = getattr(sb, metric)(y + sigma * rng.standard_normal(len(of)), y + d, yerr=sigma, groups=of).truth
    return found.total_interval(0.95), float(found), population(residuals, common, metric)


def unequal_groups(rng: np.random.Generator, residuals: str, n: int, metric: str) -> FoundAt:
    """n groups of 3 to 50 items, of which many are small, which share half of the residuals' variance."""
    sizes = np.exp(rng.uniform(math.log(3), math.log(50), n)).round().astype(int)
    return _in_groups(rng, residuals, np.repeat(np.arange(n), sizes), metric)


def equal_groups(rng: np.random.Generator, residuals: str, n: int, metric: str) -> FoundAt:
    """n groups of 12 items, which share half of the residuals' variance."""
    return _in_groups(rng, residuals, np.repeat(np.arange(n), 12), metric)


def _in_groups(rng: np.random.Generator, residuals: str, of: np.ndarray, metric: str) -> FoundAt:
    d = math.sqrt(0.5) * (LAWS[residuals](rng, of[-1] + 1)[of] + LAWS[residuals](rng, len(of)))
    y = 2.0 * rng.standard_normal(len(of))
    if metric == "accuracy_score":
        labels = (y > 0).astype(int)
        found = sb.accuracy_score(labels, np.where(np.abs(d) <= _NEAR, labels, 1 - labels), groups=of).truth
    else:
        found = getattr(sb, metric)(y, y - d, groups=of).truth
    right = 0.75 if metric == "r2_score" else population(residuals, 0.5, metric)
    return found.total_interval, float(found), right


BY_LEVEL = {"unequal groups": unequal_groups, "equal groups": equal_groups}


@lru_cache(maxsize=1)
def _of_any_level(topic: str, residuals: str, n: int, metric: str, count: int) -> list[FoundAt]:
    """Estimates whose interval can be asked for at any level."""
    rng = np.random.default_rng(zlib.crc32(f"{topic} {residuals} {n} {metric}".encode()))
    return [BY_LEVEL[topic](rng, residuals, n, metric) for _ in range(count)]


def differences_in_groups(rng: np.random.Generator, residuals: str, n: int, setting: str, metric: str) -> Found:
    """Two models on n groups of 3 to 50 items, which share half of the variance of both; the second errs by a fifth more."""
    of = np.repeat(np.arange(n), np.exp(rng.uniform(math.log(3), math.log(50), n)).round().astype(int))
    common, y = LAWS[residuals](rng, n)[of], 2.0 * rng.standard_normal(len(of))
    d = [math.sqrt(0.5) * (common + LAWS[residuals](rng, len(of))) for _ in range(2)]
    models = {"a": y - d[0], "b": y - 1.2 * d[1]}
    found = sb.compare(y, models, metric=metric, groups=of, sampling=True).difference("a", "b")
    power = 2 if metric == "mean_squared_error" else 1
    return found.interval(0.95), float(found), population(residuals, 0.5, metric) * (1 - 1.2**power)


def classes_in_groups(rng: np.random.Generator, alike: str, n: int, setting: str, metric: str) -> Found:
    """n groups of 2 to 18 items that differ in how common the class is (40 % on average) and how often the model errs (20 %)."""
    spread = (
        1.0 / float(alike.removesuffix(" alike")) - 1.0
    )  # of beta laws with this correlation of two items of a group
    of = np.repeat(np.arange(n), rng.integers(2, 19, n))
    share, wrong = (rng.beta(mean * spread, (1 - mean) * spread, n)[of] for mean in (0.4, 0.2))
    y, errs = (rng.random(len(of)) < share).astype(int), rng.random(len(of)) < wrong
    q = float(setting.removesuffix(" % of labels wrong")) / 100
    labels = np.where(rng.random(len(of)) < q, 1 - y, y)
    found = getattr(sb, metric)(labels, np.where(errs, 1 - y, y), yerr=q or None, groups=of).truth
    right = {"accuracy_score": 0.8, "f1_score": 2 * 0.32 / (2 * 0.32 + 0.08 + 0.12)}[metric]
    return found.total_interval(0.95), float(found), right


@cache
def population(residuals: str, common: float, metric: str) -> float:
    if metric in ("mean_squared_error", "mean_error"):
        return float(metric == "mean_squared_error")
    rng = np.random.default_rng(0)
    one, two = (LAWS[residuals](rng, 1_000_000) for _ in range(2))
    d = math.sqrt(common) * one + math.sqrt(1 - common) * two
    return float(np.mean(np.abs(d) <= _NEAR)) if metric == "accuracy_score" else METRICS[metric](d)


def members(rng: np.random.Generator, spreads: str, n: int, setting: str, metric: str) -> Found:
    """The spread factor of calibrated ensembles of few members."""
    count = int(setting.removesuffix(" members"))
    spread = SPREADS[spreads](rng, n)
    y = spread * rng.standard_normal(n)
    found = sb.calibration(y, spread[:, None] * rng.standard_normal((n, count))).spread_factor
    return found.interval(0.95), float(found), 1.0


def medians(rng: np.random.Generator, residuals: str, n: int, setting: str, metric: str) -> Found:
    """Errors of labels, of predictions, or both, together as large as the residuals."""
    part = {"label errors": (1.0, 0.0), "prediction errors": (0.0, 1.0), "both errors": (0.7, 0.7)}[setting]
    t, d = 7.0 * rng.standard_normal(n), RESIDUALS[residuals](rng, n)
    y, p = t + part[0] * rng.standard_normal(n), t + d + part[1] * rng.standard_normal(n)
    given = {name: size for name, size in zip(("yerr", "prederr"), part, strict=True) if size}
    found = getattr(sb, metric)(y, p, **given).truth
    return found.interval(0.95), float(found), METRICS[metric](d)


TOPICS = {
    "limits": limits,
    "groups": groups,
    "differences in groups": differences_in_groups,
    "classes in groups": classes_in_groups,
    "members": members,
    "medians": medians,
}
ABSOLUTE, SQUARED, MEDIAN, *OTHERS = METRICS
SCATTER = "intrinsic_scatter"


def situations() -> Iterator[tuple[str, str, int, str, str]]:
    for residuals in RESIDUALS:
        for n, share, sigma in (
            *product((50, 400), (0.1, 0.3, 0.6), (0.0, 0.5, 1.0)),
            (2000, 0.3, 0.5),
            (2000, 0.6, 1.0),
        ):
            for metric in (ABSOLUTE, SQUARED):
                yield "limits", residuals, n, f"{share} limits, errors {sigma}", metric
        for share, sigma in ((0.3, 0.5), (0.6, 1.0)):
            for metric in (*OTHERS, MEDIAN, *FORECASTS, *ORDERS, SCATTER):
                yield "limits", residuals, 400, f"{share} limits, errors {sigma}", metric
        for share, sigma in ((0.3, 0.5), (0.6, 0.5), (0.3, 1.0)):
            yield "limits", residuals, 50, f"{share} limits, errors {sigma}", "concordance_index"
        for setting in ("label errors", "prediction errors", "both errors"):
            yield "medians", residuals, 400, setting, MEDIAN
    for residuals in ("normal", "Laplace"):
        for common in (0.3, 0.7):
            for n in (5, 10, 30, 100):
                for metric in (SQUARED, ABSOLUTE):
                    yield "groups", residuals, n, f"{common} common", metric
    for topic in ("equal groups", "unequal groups"):
        for residuals in ("normal", "Laplace", "t5", "exponential"):
            for n in (5, 10, 30, 100):
                for metric in (SQUARED, ABSOLUTE, "mean_error", "r2_score", "accuracy_score"):
                    for level in (68, 95):
                        yield topic, residuals, n, f"{level} %", metric
    for residuals in ("normal", "exponential"):
        for n in (5, 10, 30):
            for metric in (SQUARED, ABSOLUTE):
                yield "differences in groups", residuals, n, "95 %", metric
    for alike in (0.1, 0.3):
        for n in (10, 30, 100):
            for wrong in (0, 10):
                for metric in ("accuracy_score", "f1_score"):
                    yield "classes in groups", f"{alike} alike", n, f"{wrong} % of labels wrong", metric
    for spreads in SPREADS:
        for count in (3, 5):
            for n in (20, 200):
                yield "members", spreads, n, f"{count} members", "spread_factor"


def measure(situation: tuple[str, str, int, str, str], count: int) -> dict[str, Any]:
    topic, *about = situation
    if topic in BY_LEVEL:  # both levels of the same test sets
        residuals, n, setting, metric = about
        sets = _of_any_level(topic, residuals, n, metric, count)
        found = [(interval(float(setting.removesuffix(" %")) / 100), *rest) for interval, *rest in sets]
    else:
        rng = np.random.default_rng(zlib.crc32(" ".join(map(str, situation)).encode()))
        found = [TOPICS[topic](rng, *about) for _ in range(count)]
    errors = np.array([estimate - value for _, estimate, value in found])
    held = np.mean([low <= value <= high for (low, high), _, value in found])
    numbers = [count, held, errors.mean(), errors.std() / math.sqrt(count), np.mean([value for *_, value in found])]
    return dict(zip(COLUMNS, [*map(str, situation), *(f"{number:.4g}" for number in numbers)], strict=True))


def read() -> list[dict[str, Any]]:
    """The rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--count", type=int, default=200)
    given.add_argument("--only", default="*")
    given.add_argument("--fresh", action="store_true")
    options = given.parse_args()
    rows = read()
    if options.fresh:
        rows = [row for row in rows if not fnmatch(" ".join(row[name] for name in COLUMNS[:5]), options.only)]
    known = {tuple(row[name] for name in COLUMNS[:5]) for row in rows}
    for situation in situations():
        name = tuple(map(str, situation))
        if name in known or not fnmatch(" ".join(name), options.only):
            continue
        rows.append(measure(situation, options.count))
        print(*rows[-1].values(), sep=", ", flush=True)
        part = TABLE.with_suffix(".part")
        with part.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: [row[name] for name in COLUMNS[:5]]))
        os.replace(part, TABLE)


if __name__ == "__main__":
    main()
