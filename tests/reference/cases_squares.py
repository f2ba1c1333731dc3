"""Sums of squares: MSE (independent, correlated, shared, weighted), RMSE, reduced chi-square, difference of two MSEs.

Moments: quadrature label by label where the errors are independent; where they are not, a tensor Gauss-Hermite rule
that is exact for polynomials of the needed degree. Laws: Talbot inversion of the Laplace transform of the sum.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import mpmath as mp
from high_precision import (
    Case,
    Real,
    cdf_from_laplace,
    exact,
    integrate,
    normal_cdf,
    normal_expectation,
    normal_mean_var,
    pieces,
    quantile_from_laplace,
    shares,
    total,
    trapezoid_in_log,
)

Y7 = [0.5, -1.0, 2.25, 0.0, 3.5, -0.75, 1.0]
P7 = [0.3, 0.1, 2.0, 0.0, 1.5, -0.5, 0.0]
MIXED7 = {"y": Y7, "y_pred": P7, "sigma": [0.1, 0.5, 1.0, 2.0, 0.0, 0.7, 1.5]}
COV3 = {
    "y": [1.0, 0.0, -0.5],
    "y_pred": [0.5, 0.25, 0.0],
    "cov": [[1.0, 0.5, 0.25], [0.5, 0.75, -0.125], [0.25, -0.125, 0.5]],
}
MIXED2 = {"y": [1.0, -0.3], "y_pred": [0.6, 0.4], "sigma": [0.35, 0.9]}
ZERO3 = {"y": [0.2, 1.7, -2.5], "y_pred": [0.0, 1.1, -2.45], "sigma": [0.0, 0.4, 1.3]}
MIXED5 = {
    "y": [0.1, 2.3, -1.4, 5.0, 0.75],
    "y_pred": [0.4, 2.3, -0.9, 4.1, 0.8],
    "sigma": [0.05, 0.6, 0.0, 1.1, 0.3],
}
SHARED4 = {
    "y": [1.2, -0.4, 0.9, 2.1],
    "y_pred": [1.0, 0.1, 0.9, 1.5],
    "sigma": [0.3, 0.2, 0.5, 0.1],
    "shared": [[0.25, 0.25, 0.25, 0.25]],
}
SHARED3 = {
    "y": [0.5, -1.0, 2.0],
    "y_pred": [0.1, -0.6, 2.2],
    "sigma": [0.4, 0.0, 0.7],
    "shared": [[0.5, 0.3, -0.2], [0.0, 0.15, 0.6]],
}
WEIGHTED4 = {
    "y": [0.3, 1.6, -0.8, 2.4],
    "y_pred": [0.0, 1.0, -0.5, 2.9],
    "sigma": [0.2, 0.7, 0.0, 1.2],
    "sample_weight": [1.0, 0.5, 2.0, 0.25],
}


def differences(inputs: dict[str, Any]) -> list[Real]:
    return [exact(a) - exact(b) for a, b in zip(inputs["y"], inputs["y_pred"], strict=True)]


def covariance_of(inputs: dict[str, Any]) -> Real:
    """The covariance matrix of the label errors, from `cov`, or from `sigma` and `shared`."""
    if "cov" in inputs:
        return mp.matrix(exact(inputs["cov"]))
    matrix = mp.diag([s * s for s in exact(inputs["sigma"])])
    for shift in exact(inputs.get("shared", [])):
        matrix += mp.matrix(shift) * mp.matrix(shift).T
    return matrix


def error_directions(inputs: dict[str, Any]) -> Real:
    """A matrix L with errors = L z for independent standard normals z."""
    if "cov" in inputs:
        return mp.cholesky(mp.matrix(exact(inputs["cov"])))
    sigma, shared = exact(inputs["sigma"]), exact(inputs.get("shared", []))
    rows = [
        [sigma[i] if i == j else mp.mpf(0) for j in range(len(sigma))] + [shift[i] for shift in shared]
        for i in range(len(sigma))
    ]
    return mp.matrix(rows)


def moments_label_by_label(delta: list[Real], sigma: list[Real], share: list[Real]) -> dict[str, Real]:
    """First four cumulants of the weighted mean of (delta + sigma Z)^2 by quadrature."""
    cumulants = [mp.mpf(0)] * 4
    for d, s, w in zip(delta, sigma, share, strict=True):
        mean = normal_expectation(lambda x: x * x, d, s)
        central = [normal_expectation(lambda x, m=mean, k=k: (x * x - m) ** k, d, s) for k in (2, 3, 4)]
        for k, kappa in enumerate([mean, central[0], central[1], central[2] - 3 * central[0] ** 2]):
            cumulants[k] += w ** (k + 1) * kappa
    return dict(zip(("mean", "var", "kappa3", "kappa4"), cumulants, strict=True))


def moments_by_gauss_hermite(delta: list[Real], directions: Real, share: list[Real]) -> dict[str, Real]:
    """The same for correlated errors: five nodes a direction are exact to degree nine; eight is needed."""
    root = mp.sqrt(10)
    rule = [(mp.mpf(0), mp.mpf(8) / 15)]
    for sign in (1, -1):
        node, weight = mp.sqrt(5 + sign * root), (7 - sign * 2 * root) / 60
        rule += [(node, weight), (-node, weight)]
    values = []
    for combination in product(rule, repeat=directions.cols):
        shift = directions * mp.matrix([node for node, _ in combination])
        q = total(w * (d + e) ** 2 for w, d, e in zip(share, delta, shift, strict=True))
        values.append((q, mp.fprod(weight for _, weight in combination)))
    mean = total(w * q for q, w in values)
    second, third, fourth = (total(w * (q - mean) ** k for q, w in values) for k in (2, 3, 4))
    return {"mean": mean, "var": second, "kappa3": third, "kappa4": fourth - 3 * second**2}


class SumOfSquares:
    """sum_j (b_j + sqrt(v_j) Z_j)^2 + constant: Laplace transform, distribution function and quantiles."""

    def __init__(self, delta: list[Real], covariance: Real, share: list[Real]) -> None:
        size = len(delta)
        root = [mp.sqrt(w) for w in share]
        scaled = mp.matrix(size, size)
        for i, j in product(range(size), repeat=2):
            scaled[i, j] = root[i] * covariance[i, j] * root[j]
        with mp.workdps(140):
            values, vectors = mp.eigsy(scaled)
            squares = [
                (vectors[:, j].T * mp.matrix([r * d for r, d in zip(root, delta, strict=True)]))[0] ** 2
                for j in range(size)
            ]
            largest = max(abs(v) for v in values)
            tiny = largest * mp.mpf(10) ** -50
            self.parts = [(v, b2) for v, b2 in zip(values, squares, strict=True) if v > tiny]
            self.constant = total(b2 for v, b2 in zip(values, squares, strict=True) if v <= tiny)
        self.mean = self.constant + total(v + b2 for v, b2 in self.parts)
        self.std = mp.sqrt(total(2 * v * v + 4 * v * b2 for v, b2 in self.parts))

    def laplace(self, s: Real) -> Real:
        """E exp(-s (Q - constant))."""
        denominators = [1 + 2 * s * v for v, _ in self.parts]
        exponent = total(-s * b2 / den for (_, b2), den in zip(self.parts, denominators, strict=True))
        return mp.exp(exponent) / mp.fprod(mp.sqrt(den) for den in denominators)

    def cdf(self, x: Real) -> Real:
        return cdf_from_laplace(self.laplace, x - self.constant)

    def ppf(self, p: Real) -> Real:
        return self.constant + quantile_from_laplace(self.laplace, p, self.std)


def law_entries(law: SumOfSquares, cdf: list[float], quantiles: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if cdf:
        found["cdf"] = [{"x": x, "p": law.cdf(exact(x))} for x in cdf]
    if quantiles:
        found["quantiles"] = [{"p": p, "x": law.ppf(exact(p))} for p in quantiles]
    return found


def mse(inputs: dict[str, Any], cdf: list[float], quantiles: list[float]) -> dict[str, Any]:
    delta = differences(inputs)
    weights = exact(inputs["sample_weight"]) if "sample_weight" in inputs else None
    share = shares(len(delta), weights)
    if "cov" in inputs or "shared" in inputs:
        found = moments_by_gauss_hermite(delta, error_directions(inputs), share)
    else:
        found = moments_label_by_label(delta, exact(inputs["sigma"]), share)
    if not cdf and not quantiles:
        return found
    return found | law_entries(SumOfSquares(delta, covariance_of(inputs), share), cdf, quantiles)


def rmse(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    """E sqrt(Q) = sqrt(mu) - 1/(2 sqrt pi) int (E e^{-tQ} - e^{-t mu}) t^{-3/2} dt."""
    delta = differences(inputs)
    share = shares(len(delta), None)
    law = SumOfSquares(delta, covariance_of(inputs), share)
    mu = law.mean

    def integrand(t: Real) -> Real:
        return (law.laplace(t) * mp.exp(-t * law.constant) - mp.exp(-t * mu)) * t ** mp.mpf(-1.5)

    first, second = (trapezoid_in_log(integrand, -90, 190, mp.mpf(step)) for step in ("0.1", "0.08"))
    if abs(first - second) > mp.mpf(10) ** -36:
        raise ArithmeticError(f"RMSE steps differ by {mp.nstr(abs(first - second), 3)}")
    mean = mp.sqrt(mu) - second / (2 * mp.sqrt(mp.pi))
    return {
        "mean": mean,
        "var": mu - mean**2,
        "cdf": [{"x": x, "p": law.cdf(exact(x) ** 2)} for x in cdf],
    }


def reduced_chi2(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    delta, sigma = differences(inputs), exact(inputs["sigma"])
    pulls = [d / s for d, s in zip(delta, sigma, strict=True)]
    size = len(pulls)
    share = shares(size, None)
    found = moments_label_by_label(pulls, [mp.mpf(1)] * size, share)
    law = SumOfSquares(pulls, mp.eye(size), share)
    observed = total(pull**2 for pull in pulls) / size

    def chi2_density(x: Real) -> Real:
        return x ** (mp.mpf(size) / 2 - 1) * mp.exp(-x / 2) / (2 ** (mp.mpf(size) / 2) * mp.gamma(mp.mpf(size) / 2))

    start = size * observed
    return {
        "observed": observed,
        "mean": found["mean"],
        "var": found["var"],
        "cdf": [{"x": x, "p": law.cdf(exact(x))} for x in cdf],
        "pvalue_perfect_model": integrate(chi2_density, pieces(start, start + 320, [], 20)),
    }


def mean_error(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    delta, sigma = differences(inputs), exact(inputs["sigma"])
    parts = [normal_mean_var(lambda x: x, d, s) for d, s in zip(delta, sigma, strict=True)]
    size = len(delta)
    mean, var = total(part[0] for part in parts) / size, total(part[1] for part in parts) / size**2
    return {
        "mean": mean,
        "var": var,
        "cdf": [{"x": x, "p": normal_cdf((exact(x) - mean) / mp.sqrt(var))} for x in cdf],
    }


METHOD = (
    "mean/var/kappa: quadrature (independent) or exact Gauss-Hermite (correlated); "
    "cdf and quantiles: Talbot inversion at two orders"
)
RMSE_METHOD = (
    "E sqrt(Q) = sqrt(mu) - (1/2 sqrt(pi)) int (E e^{-tQ}-e^{-t mu}) t^{-3/2} dt, trapezoid in log t at two steps; "
    "cdf: Talbot"
)


def _mse(
    id: str, inputs: dict[str, Any], cdf: list[float], quantiles: list[float], note: str = "", metric: str = "mse"
) -> Case:
    return Case(id, metric, inputs, partial(mse, cdf=cdf, quantiles=quantiles), METHOD, note=note)


def _rmse(id: str, inputs: dict[str, Any], cdf: list[float], metric: str = "rmse") -> Case:
    return Case(id, metric, inputs, partial(rmse, cdf=cdf), RMSE_METHOD, digits=34)


_SHARED = "cov = diag(sigma^2) + shared'shared"
_SHARED_ZERO = f"{_SHARED}, one sigma is zero"
_WEIGHTED = "sum w (y-p)^2 / sum w"

CASES = [
    _mse("mse_M1_sigma0", {"y": [1.25], "y_pred": [1.0], "sigma": [0.0]}, [], []),
    _mse("mse_M1_delta0", {"y": [0.5], "y_pred": [0.5], "sigma": [1.0]}, [0.01, 0.5, 1.0, 4.0], [0.025, 0.5, 0.975]),
    _mse("mse_M1_huge_sigma", {"y": [1.0], "y_pred": [0.0], "sigma": [1e6]}, [1e10, 1e12, 4e12], [0.5]),
    _mse("mse_M7_mixed", MIXED7, [0.6, 1.0, 1.5, 2.0, 4.0, 8.0], [0.025, 0.16, 0.5, 0.84, 0.975]),
    _mse(
        "mse_M7_constant",
        {"y": Y7, "y_pred": P7, "sigma": [0.75] * 7},
        [0.5, 1.0, 1.5, 2.0, 3.0],
        [0.025, 0.5, 0.975],
        note="M/sigma^2*MSE is noncentral chi-square",
    ),
    _mse("mse_M7_all_zero_sigma", {"y": Y7, "y_pred": P7, "sigma": [0.0] * 7}, [], []),
    _mse("mse_M3_cov", COV3, [0.1, 0.5, 1.0, 2.5], [0.025, 0.5, 0.975]),
    _mse("mse_M2_mixed", MIXED2, [0.05, 0.3, 1.0, 3.0], [0.05, 0.5, 0.95]),
    _mse("mse_M3_zero_sigma", ZERO3, [0.02, 0.2, 1.0, 4.0], [0.05, 0.5, 0.95], note="one label without error"),
    _mse("mse_M5_mixed", MIXED5, [0.15, 0.4, 1.0, 2.5], [0.025, 0.5, 0.975]),
    _mse(
        "mse_M2_unequal",
        {"y": [1.0, 0.0], "y_pred": [0.0, 0.5], "sigma": [1e-4, 10.0]},
        [0.6, 5.0, 200.0],
        [0.5],
        note="sigmas differ by 1e5",
    ),
    _mse("mse_M4_shared", SHARED4, [0.05, 0.2, 0.5, 1.0], [0.05, 0.5, 0.95], note=_SHARED, metric="mse_shared"),
    _mse(
        "mse_M3_shared_rank2", SHARED3, [0.05, 0.3, 0.7, 1.5], [0.05, 0.5, 0.95], note=_SHARED_ZERO, metric="mse_shared"
    ),
    _mse("mse_M4_weighted", WEIGHTED4, [0.1, 0.3, 0.6, 1.2], [0.05, 0.5, 0.95], note=_WEIGHTED, metric="mse_weighted"),
    _rmse("rmse_M2", {"y": [1.0, 2.0], "y_pred": [0.5, 2.5], "sigma": [0.25, 1.0]}, [0.5, 1.0]),
    _rmse("rmse_M7_mixed", MIXED7, [1.0, 1.5]),
    _rmse("rmse_M1", {"y": [0.4], "y_pred": [0.1], "sigma": [0.6]}, [0.2, 0.5, 1.0]),
    _rmse("rmse_M3_zero_sigma", ZERO3, [0.3, 0.7, 1.5]),
    _rmse("rmse_M3_cov", COV3, [0.4, 0.8, 1.4], metric="rmse_cov"),
    Case(
        "bias_M7",
        "mean_error",
        MIXED7 | {"sign": "y - y_pred"},
        partial(mean_error, cdf=[0.5]),
        "quadrature; the mean of normals is normal",
    ),
    Case(
        "reduced_chi2_M7",
        "reduced_chi2",
        {"y": Y7, "y_pred": P7, "sigma": [0.1, 0.5, 1.0, 2.0, 0.25, 0.7, 1.5]},
        partial(reduced_chi2, cdf=[3.0, 6.0]),
        "observed = sum pulls^2 / M; remeasured moments by quadrature; p-value: quadrature of the chi-square density "
        "above M observed",
    ),
]
