"""Fair timing on a busy machine: candidates take turns, and the least time of each counts."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np

import scorebars as sb
from scorebars.engines import describe

Work = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One comparison: a piece of work by scorebars and by a peer, seconds each, and the ratio that is aimed at."""

    work: str
    n: int
    seconds: float
    peer: str
    peer_seconds: float
    target: float | None = None

    @property
    def ratio(self) -> float:
        """Our time over the peer's: below 1 we are faster."""
        return self.seconds / self.peer_seconds

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


def least_times(candidates: Mapping[str, Work], seconds: float, repeats: int = 3) -> dict[str, float]:
    """Least time of each candidate, run in turns for about so many seconds and at least twice."""
    best = dict.fromkeys(candidates, float("inf"))
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 2 or time.perf_counter() < end:
        for name, run in candidates.items():
            for _ in range(repeats):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
        rounds += 1
    return best


def labels(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, predictions and label errors."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y, y + rng.normal(size=n), rng.uniform(0.1, 2.0, n)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    packages = ("numpy", "scipy", "scikit-learn", "torch", "uncertainties")
    return {
        "processor": _processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages if _version(name)},
        "scorebars": {"version": sb.__version__, **describe()},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]} ({len(names)} cores)"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
