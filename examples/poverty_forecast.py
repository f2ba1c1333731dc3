"""Are the error bars of a Gaussian process right? Judged on labels that have errors themselves.

A Gaussian process predicts the poverty rate of US counties in 2019 from an older survey, on a log scale. It is told the error
of each label (`alpha`), so the spread that it gives is about the true rate, not about what the next survey will find. The
other half of the counties says whether that spread is right: once with their own label errors allowed for, and once, as is
usual, with the labels taken as exact. A second process is not told of the label errors: its spread is that of the label.

`--splits 12` judges the first process on twelve random halves of the counties instead.
"""

import sys
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import scorebars as sb


def forecasts(order: Any = None) -> tuple[Any, Any, dict[str, sb.NormalForecast]]:
    """Labels and label errors of every second county, and the forecasts of processes that were fitted to the others.

    With an `order` the counties are taken in this one.
    """
    counties = sb.datasets.load_acs_poverty()
    assert counties.yerr is not None
    x = np.log(counties.predictions["acs5_2018"])[:, None]
    y, error = np.log(counties.y), counties.yerr / counties.y
    order = np.arange(len(y)) if order is None else order
    known, asked = order[::2], order[1::2]
    found = {}
    for name, alpha, claims in (("told", np.square(error[known]), "truth"), ("not told", 1e-10, "label")):
        kernel = ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(0.01)
        process = GaussianProcessRegressor(kernel, alpha=alpha).fit(x[known], y[known] - y[known].mean())
        mean, std = process.predict(x[asked], return_std=True)
        found[name] = sb.NormalForecast(mean + y[known].mean(), std, claims=claims)
    return y[asked], error[asked], found


def main() -> dict[str, sb.Calibration]:
    y, error, found = forecasts()
    told, other = found["told"], found["not told"]
    print(f"{len(y)} counties; mean label error {error.mean():.3f} in the logarithm of the rate\n")
    judged = sb.calibration(y, told, yerr=error)
    print("A process that was told the label errors:")
    print(judged)
    label = sb.calibration(y, other, yerr=error)
    truth = sb.calibration(y, sb.NormalForecast(other.mean, other.std), yerr=error)
    print(f"\nA process that was not told, its mean spread {label.sharpness:.3f} instead of {judged.sharpness:.3f}:")
    print(f"as a forecast of the label: {label.verdict}")
    print(f"as a forecast of the truth: {truth.verdict}")
    return {"told": judged, "not told": label, "not told, as truth": truth}


def splits(count: int) -> None:
    """The verdict on so many random halves."""
    calibrated = ignored = 0
    for seed in range(count):
        y, error, found = forecasts(np.random.default_rng(seed).permutation(sb.datasets.load_acs_poverty().n))
        judged = sb.calibration(y, found["told"], yerr=error)
        calibrated, ignored = calibrated + judged.calibrated, ignored + judged.naive.calibrated
        print(f"spread factor {judged.spread_factor:.2f}: {judged.verdict}")
    print(f"\n{calibrated} of {count} halves are called calibrated, {ignored} with the label errors ignored")


if __name__ == "__main__":
    splits(int(sys.argv[2])) if sys.argv[1:2] == ["--splits"] else main()
