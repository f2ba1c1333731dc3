"""Absolute values: the universal functions of |Z + z|, MAE (independent, weighted, correlated), its law, differences.

Moments: quadrature cut at the kink. Law of the MAE: the folded normal density integrated (M = 1), a convolution
integral (M = 2), and an integral of the moment generating function along a contour (M > 2). Correlated errors: pair by
pair, outer quadrature over one error, inner conditional mean of the other.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath as mp
from cases_squares import (
    COV3,
    MIXED2,
    MIXED5,
    MIXED7,
    SHARED3,
    SHARED4,
    WEIGHTED4,
    ZERO3,
    covariance_of,
    differences,
)
from high_precision import (
    REACH,
    Case,
    Function,
    Real,
    exact,
    integrate,
    mean_of_independent,
    normal_cdf,
    normal_expectation,
    normal_mean_var,
    normal_pdf,
    pieces,
    shares,
    total,
)

# ------------------------------------------------------------------------------------------------ |Z + z|


def universal_row(z: float) -> dict[str, Any]:
    """g, v, g2 and two cumulants of |Z + z| = Z + z + 2R, R = max(-Z - z, 0), without any cancellation.

    Everything that differs from the unfolded normal is an integral over x = -Z > z, so each part keeps its relative
    precision however small it is.
    """
    point = exact(z)

    def tail(power_of_x: int, power_of_r: int) -> Real:
        """Integral over x > z of x^a (x - z)^b times the normal density, with exp(-z^2/2) taken out."""

        def integrand(r: Real) -> Real:
            return (r + point) ** power_of_x * r**power_of_r * mp.exp(-r * r / 2 - r * point)

        reach = min(REACH + 2, 150 / (point + mp.mpf("0.1")))
        scale = mp.exp(-point * point / 2) / mp.sqrt(2 * mp.pi)
        return scale * integrate(integrand, pieces(mp.mpf(0), reach, [], reach / 6))

    r1, r2, r3, r4 = (tail(0, k) for k in (1, 2, 3, 4))
    # E[Z^a R^b] = (-1)^a tail(a, b); W = Z + 2 (R - r1) is |Z + z| minus its mean.
    zr, zr2, zr3 = -tail(1, 1), -tail(1, 2), -tail(1, 3)
    z2r, z2r2, z3r = tail(2, 1), tail(2, 2), -tail(3, 1)
    excess = 4 * zr + 4 * (r2 - r1**2)  # Var - 1
    third_r = r3 - 3 * r1 * r2 + 2 * r1**3
    fourth_r = r4 - 4 * r1 * r3 + 6 * r1**2 * r2 - 3 * r1**4
    kappa3 = 6 * (z2r - r1) + 12 * (zr2 - 2 * r1 * zr) + 8 * third_r
    fourth = 8 * z3r + 24 * (z2r2 - 2 * r1 * z2r + r1**2) + 32 * (zr3 - 3 * r1 * zr2 + 3 * r1**2 * zr) + 16 * fourth_r
    return {
        "z": z,
        "g": 2 * r1,
        "mean_abs": point + 2 * r1,
        "v": 1 + excess,
        "one_minus_v": -excess,
        "g2": r2,
        "kappa3": kappa3,
        "kappa4": fourth - 3 * excess * (2 + excess),
    }


# ------------------------------------------------------------------------------------------------ law of a weighted MAE

LEAN = mp.mpf("0.8")


def folded_density(x: Real, delta: Real, sigma: Real) -> Real:
    return (normal_pdf((x - delta) / sigma) + normal_pdf((x + delta) / sigma)) / sigma


def folded_cdf(x: Real, delta: Real, sigma: Real) -> Real:
    """P(|delta + sigma Z| <= x) by quadrature of the density."""
    if x <= 0:
        return mp.mpf(0)
    return integrate(lambda u: folded_density(u, delta, sigma), pieces(mp.mpf(0), x, [abs(delta)], sigma))


def sum_of_two_cdf(x: Real, first: tuple[Real, Real], second: tuple[Real, Real]) -> Real:
    """Convolution of two folded normals given as (delta, sigma)."""

    def inner(u: Real) -> Real:
        d, s = second
        return normal_cdf((x - u - d) / s) - normal_cdf((u - x - d) / s)

    width = min(first[1], second[1])
    return integrate(lambda u: folded_density(u, *first) * inner(u), pieces(mp.mpf(0), x, [abs(first[0])], width))


def folded_mgf(t: Real, delta: Real, sigma: Real) -> Real:
    """E exp(t |delta + sigma Z|)."""
    z = delta / sigma
    plus, minus = (mp.exp(sign * t * delta) * normal_cdf(sign * z + sigma * t) for sign in (1, -1))
    return mp.exp((sigma * t) ** 2 / 2) * (plus + minus)


def contour_cdf(x: Real, parts: list[tuple[Real, Real]]) -> Real:
    """P(sum |delta + sigma Z| <= x) from the moment generating function along a contour that bends to the right.

    On it both exp(sigma^2 t^2 / 2) and exp(-t x) decay, so the trapezoid rule converges exponentially; a lean of one
    would be the diagonal, where the first no longer does.
    """
    scale = 1 / mp.sqrt(total(s * s for _, s in parts))
    start, bend = mp.mpf(3) / 2 * scale, 3 * scale

    def integrand(y: Real) -> Real:
        root = mp.sqrt(y * y + bend * bend)
        t = mp.mpc(start + LEAN * (root - bend), y)
        slope = mp.mpc(LEAN * y / root, 1)
        return mp.im(mp.fprod(folded_mgf(t, *part) for part in parts) * mp.exp(-t * x) * slope / t)

    def upper_tail(step: Real) -> Real:
        value, y = integrand(mp.mpf(0)) / 2, mp.mpf(0)
        small = 0
        while small < 12:
            y += step
            term = integrand(y)
            value += term
            small = small + 1 if abs(term) < mp.mpf(10) ** -40 * max(abs(value), mp.mpf(10) ** -10) else 0
        return value * step / mp.pi

    # The complex error functions cost most here, and ten digits more than needed are enough.
    with mp.workdps(46):
        coarse, fine = (upper_tail(scale * mp.mpf(step)) for step in ("0.09", "0.075"))
    if abs(coarse - fine) > mp.mpf(10) ** -36:
        raise ArithmeticError(f"contour steps differ by {mp.nstr(abs(coarse - fine), 3)}")
    return 1 - fine


def mae_cdf(x: Real, delta: list[Real], sigma: list[Real], share: list[Real]) -> Real:
    scaled = [(w * d, w * s) for d, s, w in zip(delta, sigma, share, strict=True)]
    parts = [part for part in scaled if part[1] > 0]
    rest = x - total(abs(d) for d, s in scaled if s == 0)
    if len(parts) == 1:
        return folded_cdf(rest, *parts[0])
    if len(parts) == 2:
        return sum_of_two_cdf(rest, *parts)
    return contour_cdf(rest, parts)


def mae(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    delta, sigma = differences(inputs), exact(inputs["sigma"])
    weights = exact(inputs["sample_weight"]) if "sample_weight" in inputs else None
    parts = [normal_mean_var(abs, d, s, [mp.mpf(0)]) for d, s in zip(delta, sigma, strict=True)]
    found: dict[str, Any] = mean_of_independent(parts, weights)
    if cdf:
        share = shares(len(delta), weights)
        found["cdf"] = [{"x": x, "p": mae_cdf(exact(x), delta, sigma, share)} for x in cdf]
    return found


# ------------------------------------------------------------------------------------------------ correlated errors


def abs_covariance(mu1: Real, mu2: Real, s1: Real, s2: Real, rho: Real) -> Real:
    """Cov(|X|, |Y|): outer quadrature over X, inner conditional mean of |Y| given X."""
    if s1 == 0 or s2 == 0 or rho == 0:
        return mp.mpf(0)
    mean_y = normal_expectation(abs, mu2, s2, [mp.mpf(0)])
    spread = s2 * mp.sqrt(1 - rho * rho)

    def inner(x: Real) -> Real:
        """E(|Y| given X = x) - E|Y|."""
        m = mu2 + rho * s2 * (x - mu1) / s1
        if spread == 0:
            return abs(m) - mean_y
        z = m / spread
        return m * (1 - 2 * normal_cdf(-z)) + 2 * spread * normal_pdf(z) - mean_y

    # Where the conditional mean crosses zero the inner function turns, sharply so if rho is near one.
    turn = mu1 - mu2 * s1 / (rho * s2)
    around = [turn + k * spread * s1 / (abs(rho) * s2) for k in (-8, -4, -2, 0, 2, 4, 8)]
    return normal_expectation(lambda x: abs(x) * inner(x), mu1, s1, [mp.mpf(0), *around])


def mae_correlated(inputs: dict[str, Any]) -> dict[str, Any]:
    delta, covariance = differences(inputs), covariance_of(inputs)
    size = len(delta)
    sigma = [mp.sqrt(covariance[i, i]) for i in range(size)]
    parts = [normal_mean_var(abs, d, s, [mp.mpf(0)]) for d, s in zip(delta, sigma, strict=True)]
    found = mean_of_independent(parts)
    for i in range(size):
        for j in range(i):
            rho = covariance[i, j] / (sigma[i] * sigma[j])
            found["var"] += 2 * abs_covariance(delta[i], delta[j], sigma[i], sigma[j], rho) / size**2
    return found


def covariance_table(_: dict[str, Any]) -> dict[str, Any]:
    keys = ("mu1", "mu2", "s1", "s2", "rho")
    return {"table": [dict(zip(keys, row, strict=True)) | {"cov": abs_covariance(*exact(row))} for row in PAIRS]}


PAIRS = [
    [0.5, -1.25, 1.0, 1.0, 0.7],
    [0.0, 0.0, 1.0, 1.0, 0.5],
    [2.0, 0.25, 1.0, 1.0, -0.9],
    [1.0, 1.0, 1.0, 1.0, 0.96875],
    [0.0, 3.0, 0.5, 2.0, -0.25],
    [0.5, 0.5, 1.0, 1.0, 0.0],
    [1.0, -1.0, 1.0, 1.0, 1.0],
    [6.0, 5.0, 1.0, 1.0, 0.5],
]


# ------------------------------------------------------------------------------------------------ two models, same labels


def loss_difference(inputs: dict[str, Any], loss: Function, normal: bool) -> dict[str, Any]:
    parts = []
    for y, a, b, s in zip(*(exact(inputs[key]) for key in ("y", "pred_a", "pred_b", "sigma")), strict=True):
        parts.append(normal_mean_var(lambda x, a=a, b=b: loss(x - a) - loss(x - b), y, s, [a, b]))
    found = mean_of_independent(parts)
    if normal:
        found["p_a_better"] = normal_cdf(-found["mean"] / mp.sqrt(found["var"]))
    return found


TWO_MODELS = {
    "y": [1.0, 0.0, -0.5, 2.0, 0.25],
    "pred_a": [0.75, 0.25, 0.0, 1.0, 0.25],
    "pred_b": [0.5, -0.25, -1.0, 1.5, 0.5],
    "sigma": [0.5, 0.25, 1.0, 0.75, 0.0],
}
TWO_MODELS_FAR = {
    "y": [3.0, -1.2, 0.4],
    "pred_a": [1.0, -1.0, 0.1],
    "pred_b": [1.5, -0.2, 0.9],
    "sigma": [0.2, 0.05, 0.6],
}
METHOD = "quadrature cut at the kink; cdf: folded density (M=1), convolution (M=2), contour inversion (M>2)"
PAIR_METHOD = "quadrature pair by pair, inner conditional mean"
DIFFERENCE_METHOD = "quadrature of the per-item difference"


def _mae(id: str, inputs: dict[str, Any], cdf: list[float], note: str = "", metric: str = "mae") -> Case:
    digits = 36 if cdf and sum(s > 0 for s in inputs["sigma"]) > 2 else 40  # the contour integral is good to 36
    return Case(id, metric, inputs, partial(mae, cdf=cdf), METHOD, digits=digits, note=note)


def _difference(id: str, inputs: dict[str, Any], loss: Function) -> Case:
    squares = id.startswith("mse")
    compute = partial(loss_difference, loss=loss, normal=squares)
    metric = "mse_diff" if squares else "mae_diff"
    return Case(id, metric, inputs, compute, DIFFERENCE_METHOD, note="difference = metric(A)-metric(B)")


def square(x: Real) -> Real:
    return x * x


Z = [0.0, 1e-300, 1e-8, 1e-4, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 5.0, 8.0, 10.0, 20.0, 30.0, 37.0, 38.0, 40.0]

CASES = [
    Case(
        "universal_g_v",
        "universal",
        {"z": Z},
        lambda inputs: {"table": [universal_row(z) for z in inputs["z"]]},
        "quadrature over the folded part",
        note="g(z)=E|Z+z|-|z|, v(z)=Var|Z+z|, g2(z)=int_z^inf g; kappa3,kappa4 of |Z+z|; values below 2.2e-308 are "
        "subnormal/zero in float64",
    ),
    _mae("mae_M1_delta0", {"y": [0.5], "y_pred": [0.5], "sigma": [1.0]}, [0.5, 1.0, 2.0]),
    _mae("mae_M1_sigma0", {"y": [1.25], "y_pred": [1.0], "sigma": [0.0]}, []),
    _mae("mae_M1_z1e-8", {"y": [1e-08], "y_pred": [0.0], "sigma": [1.0]}, []),
    _mae(
        "mae_M1_paper_example",
        {"y": [0.5], "y_pred": [0.0], "sigma": [0.2]},
        [0.4, 0.5, 0.6],
        note="printed formula gives mean .348 and variance -.221",
    ),
    _mae("mae_M7_mixed", MIXED7, [0.6, 1.0, 1.5]),
    _mae("mae_M2_mixed", MIXED2, [0.1, 0.5, 1.0, 2.0]),
    _mae("mae_M3_zero_sigma", ZERO3, [0.2, 0.5, 1.0, 2.0], note="one label without error"),
    _mae(
        "mae_M3_mixed",
        {"y": [0.5, -1.25, 3.0], "y_pred": [0.0, 0.0, 0.25], "sigma": [0.75, 0.5, 1.0]},
        [0.4, 1.0, 1.5, 3.0],
    ),
    _mae("mae_M5_mixed", MIXED5, [0.2, 0.5, 1.0, 1.6]),
    _mae("mae_M4_weighted", WEIGHTED4, [0.2, 0.4, 0.7, 1.1], note="sum w |y-p| / sum w", metric="mae_weighted"),
    Case("cov_abs_bivariate", "cov_abs", {"rows": len(PAIRS)}, covariance_table, PAIR_METHOD, digits=36),
    Case("mae_M3_cov", "mae", COV3, mae_correlated, PAIR_METHOD, digits=34),
    Case(
        "mae_M4_shared",
        "mae_shared",
        SHARED4,
        mae_correlated,
        PAIR_METHOD,
        digits=34,
        note="cov = diag(sigma^2) + shared'shared",
    ),
    Case(
        "mae_M3_shared_rank2",
        "mae_shared",
        SHARED3,
        mae_correlated,
        PAIR_METHOD,
        digits=34,
        note="cov = diag(sigma^2) + shared'shared, one sigma is zero",
    ),
    _difference("mse_diff_M5", TWO_MODELS, square),
    _difference("mae_diff_M5", TWO_MODELS, abs),
    _difference("mse_diff_M3", TWO_MODELS_FAR, square),
    _difference("mae_diff_M3", TWO_MODELS_FAR, abs),
]
