"""Scores of forecasts with label errors against scoringrules, which knows none.

    python benchmarks/forecast_peers.py [--quick]

Ours give the observed score, its expected value and its standard deviation from validated input.
"""

from __future__ import annotations

import argparse

import numpy as np
from peers import on_threads
from timing import Row, least_times

import scorebars as sb

TARGET = 3.0
NORMAL, MEMBERS = "scoringrules crps_normal (numba), no errors", "scoringrules crps_ensemble (numba), no errors"


def rows(sizes: tuple[int, ...] = (100_000, 1_000_000), members: int = 50, seconds: float = 4.0) -> list[Row]:
    """The CRPS of normal forecasts and of members, on one thread as scoringrules runs."""
    try:
        import scoringrules as peer
    except ImportError:
        return []
    found = []
    for n in sizes:
        rng = np.random.default_rng(0)
        y, sigma = rng.normal(size=n), rng.uniform(0.1, 1.0, n)
        mean, std = y + rng.normal(size=n), rng.uniform(0.5, 1.5, n)
        forecasts = {NORMAL: sb.NormalForecast(mean, std), MEMBERS: sb.EnsembleForecast(rng.normal(size=(n, members)))}
        theirs = {
            NORMAL: lambda y=y, mean=mean, std=std: peer.crps_normal(y, mean, std, backend="numba").mean(),
            MEMBERS: lambda y=y, x=forecasts[MEMBERS].members: peer.crps_ensemble(y, x, backend="numba").mean(),
        }
        for name, forecast in forecasts.items():

            def ours(y: np.ndarray = y, forecast: sb.Forecast = forecast, sigma: np.ndarray = sigma) -> float:
                return sb.crps(y, forecast, yerr=sigma).std

            times = least_times({"ours": on_threads(1, ours), name: theirs[name]}, seconds, repeats=1)
            what = "normal forecasts" if name is NORMAL else f"{members} members"
            found.append(Row(f"crps of {what}: observed, expected, std", n, times["ours"], name, times[name], TARGET))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    for row in rows((100_000,) if asked.quick else (100_000, 1_000_000), seconds=1.0 if asked.quick else 4.0):
        print(
            f"{row.work}, n = {row.n:g}: {row.seconds:.3g} s, {row.ratio:.2f} times {row.peer} (target {row.target:g})"
        )
