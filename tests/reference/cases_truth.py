"""Answers about the true values behind the labels, noise floors, sigma from repeats, planning.

The estimates themselves are plain arithmetic; where they claim to be unbiased, the claim is checked here by quadrature
over the label errors before the value is stored. Smoothed absolute errors are quadratures.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import mpmath as mp
from cases_squares import differences, moments_by_gauss_hermite
from high_precision import Case, Function, Real, exact, integrate, normal_cdf, normal_expectation, pieces, total


def average(values: list[Real]) -> Real:
    return total(values) / len(values)


def smoothed_abs(d: Real, variance: Real) -> Real:
    """E|d + sqrt(variance) Z|."""
    return normal_expectation(abs, d, mp.sqrt(variance), [mp.mpf(0)])


def check_unbiased(estimate: Any, target: Any, true_difference: Real, s: Real) -> None:
    """E estimate(D + s Z) = target(D) for the per-label estimate."""
    expected = normal_expectation(estimate, true_difference, s)
    if abs(expected - target(true_difference)) > mp.mpf(10) ** -45:
        raise ArithmeticError("an estimate stored as unbiased is not")


class Repeated:
    """Labels that are means of n repeats with known single-repeat sigma."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.d = [exact(a) - exact(b) for a, b in zip(inputs["ybar"], inputs["y_pred"], strict=True)]
        self.single = [exact(s) ** 2 for s in inputs["sigma_single"]]
        self.of_mean = [v / n for v, n in zip(self.single, inputs["n"], strict=True)]


def truth_mse(inputs: dict[str, Any]) -> dict[str, Any]:
    labels = Repeated(inputs)
    squares = [d * d for d in labels.d]
    for d, v in zip(labels.d, labels.of_mean, strict=True):
        check_unbiased(lambda x, v=v: x * x - v, lambda x: x * x, d, mp.sqrt(v))
        # The variance estimate 4 d^2 s^2 - 2 s^4 against the variance 2 s^4 + 4 D^2 s^2 of d^2.
        check_unbiased(
            lambda x, v=v: 4 * x * x * v - 2 * v * v, lambda x, v=v: 2 * v * v + 4 * x * x * v, d, mp.sqrt(v)
        )
    estimate = average([q - v for q, v in zip(squares, labels.of_mean, strict=True)])
    spread = [4 * q * v - 2 * v * v for q, v in zip(squares, labels.of_mean, strict=True)]
    return {
        "observed": average(squares),
        "estimate": estimate,
        "var_estimate": total(spread) / len(spread) ** 2,
        "rmse_estimate": mp.sqrt(estimate),
        "remeasured_paper_single": average([q + v for q, v in zip(squares, labels.single, strict=True)]),
        "fresh_unbiased_single": estimate + average(labels.single),
        "flat_prior_truth": average([q + v for q, v in zip(squares, labels.of_mean, strict=True)]),
    }


def truth_mae(inputs: dict[str, Any]) -> dict[str, Any]:
    labels = Repeated(inputs)
    rows = list(zip(labels.d, labels.single, labels.of_mean, strict=True))
    observed = average([abs(d) for d in labels.d])
    flat = average([smoothed_abs(d, v) for d, _, v in rows])
    levels = {"0.5": mp.mpf(1) / 2, "1": mp.mpf(1), "1.5": mp.mpf(3) / 2, "2": mp.mpf(2)}
    return {
        "observed": observed,
        "remeasured_paper_single": average([smoothed_abs(d, single) for d, single, _ in rows]),
        "fresh_unbiased_single": average([smoothed_abs(d, single - v) for d, single, v in rows]),
        "flat_prior_truth": flat,
        "mirror": 2 * observed - flat,
        "simex_values": {key: average([smoothed_abs(d, k * v) for d, _, v in rows]) for key, k in levels.items()},
    }


def remeasured(inputs: dict[str, Any]) -> dict[str, Any]:
    """Forecast of the metric on labels measured afresh with so many repeats: smooth by sigma^2/repeats - sigma^2/n."""
    labels = Repeated(inputs)
    found: dict[str, Any] = {"mse": {}, "mae": {}}
    for repeats in inputs["repeats"]:
        extra = [single / repeats - v for single, v in zip(labels.single, labels.of_mean, strict=True)]
        found["mse"][str(repeats)] = average([d * d + e for d, e in zip(labels.d, extra, strict=True)])
        if all(e >= 0 for e in extra):
            found["mae"][str(repeats)] = average([smoothed_abs(d, e) for d, e in zip(labels.d, extra, strict=True)])
    return found


def truth_mse_correlated(inputs: dict[str, Any]) -> dict[str, Any]:
    d, covariance = differences(inputs), mp.matrix(exact(inputs["cov"]))
    size = len(d)
    trace = total(covariance[i, i] for i in range(size))
    indices = list(product(range(size), repeat=2))
    form = total(d[i] * covariance[i, j] * d[j] for i, j in indices)
    square = total(covariance[i, j] ** 2 for i, j in indices)
    observed = average([x * x for x in d])
    shares = [mp.mpf(1) / size] * size
    if abs(moments_by_gauss_hermite(d, mp.cholesky(covariance), shares)["mean"] - observed - trace / size) > 1e-40:
        raise ArithmeticError("an estimate stored as unbiased is not")
    return {
        "observed": observed,
        "estimate": observed - trace / size,
        "var_estimate": (4 * form - 2 * square) / size**2,
    }


def truth_r2(inputs: dict[str, Any]) -> dict[str, Any]:
    y, d, variances = exact(inputs["y"]), differences(inputs), [exact(s) ** 2 for s in inputs["sigma"]]
    size, noise = len(y), total(variances)
    middle = average(y)
    residual, spread = total(x * x for x in d), total((v - middle) ** 2 for v in y)
    return {
        "observed": 1 - residual / spread,
        "estimate": 1 - (residual - noise) / (spread - noise * (size - 1) / size),
        "perfect": 1 - noise / spread,
    }


# ------------------------------------------------------------------------------------------------ classification


def truth_accuracy(inputs: dict[str, Any]) -> dict[str, Any]:
    right, size, q = inputs["n_correct"], inputs["M"], exact(inputs["q"])
    observed = mp.mpf(right) / size
    if "K" in inputs:
        wrong = q / (inputs["K"] - 1)
        return {"estimate": (observed - wrong) / (1 - q - wrong)}
    return {
        "estimate": (observed - q) / (1 - 2 * q),
        "var_estimate": q * (1 - q) / (1 - 2 * q) ** 2 / size,
        "fresh_unbiased": observed,
        "remeasured_paper": observed + q * (1 - 2 * observed),
    }


def truth_accuracy_per_label(inputs: dict[str, Any]) -> dict[str, Any]:
    """Each label's hit (c - q)/(1 - 2q) has the true hit as its mean, whichever that is."""
    q = exact(inputs["q"])
    hits = [int(y == p) for y, p in zip(inputs["y"], inputs["y_pred"], strict=True)]
    values = [(c - x) / (1 - 2 * x) for c, x in zip(hits, q, strict=True)]
    for x, true in product(q, (0, 1)):
        if abs((1 - x) * (true - x) / (1 - 2 * x) + x * (1 - true - x) / (1 - 2 * x) - true) > 1e-50:
            raise ArithmeticError("an estimate stored as unbiased is not")
    return {
        "observed": mp.mpf(sum(hits)) / len(hits),
        "estimate": average(values),
        "var_estimate": total(x * (1 - x) / (1 - 2 * x) ** 2 for x in q) / len(q) ** 2,
        "perfect": average([1 - x for x in q]),
    }


def truth_confusion(inputs: dict[str, Any]) -> dict[str, Any]:
    """(T')^-1 C: rows are the label, columns the prediction."""
    transition, counts = mp.matrix(exact(inputs["transition"])), mp.matrix(exact(inputs["confusion"]))
    columns = [mp.lu_solve(transition.T, counts[:, k]) for k in range(counts.cols)]
    size = total(counts)
    return {
        "estimate": [[columns[k][row] for k in range(counts.cols)] for row in range(counts.rows)],
        "accuracy": total(columns[k][k] for k in range(counts.cols)) / size,
        "expected": (transition.T * counts).tolist(),
    }


def truth_log_loss(inputs: dict[str, Any]) -> dict[str, Any]:
    """((1-q) l(y) - q l(1-y)) / (1-2q) for each label."""
    losses, corrected = [], []
    for y, p, q in zip(inputs["y"], exact(inputs["proba"]), exact(inputs["q"]), strict=True):
        this, other = (-mp.log(p if label else 1 - p) for label in (y, 1 - y))
        losses.append(this)
        corrected.append(((1 - q) * this - q * other) / (1 - 2 * q))
    return {"observed": average(losses), "estimate": average(corrected)}


def majority(inputs: dict[str, Any]) -> dict[str, Any]:
    """P(a majority of n independent votes, each wrong with probability q, is wrong)."""
    q = exact(inputs["q"])
    return {
        "q_majority": [
            total(mp.binomial(n, k) * q**k * (1 - q) ** (n - k) for k in range(n // 2 + 1, n + 1)) for n in inputs["n"]
        ]
    }


# ------------------------------------------------------------------------------------------------ the model's own error


def intrinsic_scatter(inputs: dict[str, Any]) -> dict[str, Any]:
    """tau by maximum likelihood (without and with an offset) and from chi-square = n."""
    d, variances = differences(inputs), [exact(s) ** 2 for s in inputs["sigma"]]

    def slope(tau2: Real, offset: Real) -> Real:
        """Derivative of the log likelihood by tau^2, times two."""
        return total((x - offset) ** 2 / (tau2 + v) ** 2 - 1 / (tau2 + v) for x, v in zip(d, variances, strict=True))

    def best_offset(tau2: Real) -> Real:
        weights = [1 / (tau2 + v) for v in variances]
        return total(w * x for w, x in zip(weights, d, strict=True)) / total(weights)

    def chi2(tau2: Real) -> Real:
        return total(x * x / (tau2 + v) for x, v in zip(d, variances, strict=True)) - len(d)

    plain = positive_root(lambda t: slope(t, mp.mpf(0)))
    shifted = positive_root(lambda t: slope(t, best_offset(t)))
    return {
        "ml": mp.sqrt(plain),
        "ml_offset": mp.sqrt(shifted),
        "offset": best_offset(shifted),
        "chi2": mp.sqrt(positive_root(chi2)),
    }


def positive_root(function: Function) -> Real:
    """Where a function that starts positive crosses zero: doubling, then bisection."""
    low, high = mp.mpf(10) ** -6, mp.mpf(2) * mp.mpf(10) ** -6
    while function(high) > 0:
        low, high = high, 2 * high
    for _ in range(190):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return low


def c4(inputs: dict[str, Any]) -> dict[str, Any]:
    """E s / sigma for the standard deviation of n normal values: chi density integrated."""

    def mean_chi(nu: int) -> Real:
        def density(x: Real, power: int) -> Real:
            return x**power * mp.exp(-x * x / 2)

        cuts = pieces(mp.mpf(0), mp.mpf(24), [], 3)
        return integrate(lambda x: density(x, nu), cuts) / integrate(lambda x: density(x, nu - 1), cuts)

    return {"c4": [mean_chi(n - 1) / mp.sqrt(n - 1) for n in inputs["n"]]}


def planning(inputs: dict[str, Any]) -> dict[str, Any]:
    sampling, measurement, item, repeat, delta, alpha, power = (
        exact(inputs[key])
        for key in ("v_sampling", "v_measurement", "cost_item", "cost_repeat", "delta", "alpha_two_sided", "power")
    )

    def normal_quantile(p: Real) -> Real:
        return mp.findroot(lambda z: normal_cdf(z) - p, 1)

    factor = (normal_quantile(1 - alpha / 2) + normal_quantile(power)) ** 2
    return {
        "n_repeats_continuous": mp.sqrt(measurement * item / (sampling * repeat)),
        "M_at_n4": factor * (sampling + measurement / 4) / delta**2,
    }


def floor(inputs: dict[str, Any]) -> dict[str, Any]:
    sigma = exact(inputs["sigma"])
    return {
        "mse": average([normal_expectation(lambda x: x * x, mp.mpf(0), s) for s in sigma]),
        "mae": average([smoothed_abs(mp.mpf(0), s * s) for s in sigma]),
    }


REPEATED = {
    "ybar": [1.0, 0.25, -0.5, 2.0],
    "y_pred": [0.5, 0.5, 0.0, 1.0],
    "n": [4, 2, 3, 5],
    "sigma_single": [0.5, 0.25, 0.75, 1.0],
}
COVARIANCE3 = {
    "y": [1.5, -0.5, -1.0],
    "y_pred": [0.5, 0.25, 0.0],
    "cov": [[0.0625, 0.03125, 0.0], [0.03125, 0.125, -0.015625], [0.0, -0.015625, 0.25]],
}
TEN = {
    "y": [0.2, 1.1, -0.7, 2.4, 0.0, 1.9, -1.3, 0.6, 3.1, -0.2],
    "y_pred": [0.0, 1.0, -0.5, 2.0, 0.3, 1.5, -1.0, 0.9, 2.8, -0.6],
    "sigma": [0.1, 0.2, 0.0, 0.3, 0.15, 0.05, 0.25, 0.1, 0.4, 0.0],
}
TRANSITION = [[0.875, 0.09375, 0.03125], [0.125, 0.75, 0.125], [0.0, 0.0625, 0.9375]]
ARITHMETIC = "direct arithmetic"
UNBIASED = "direct arithmetic; unbiasedness verified by quadrature"


def _truth(id: str, metric: str, inputs: dict[str, Any], compute: Any, method: str, note: str = "") -> Case:
    return Case(id, metric, inputs, compute, method, question="truth", note=note)


PROBA4 = {"y": [1, 0, 1, 1], "proba": [0.9, 0.2, 0.6, 0.35], "q": [0.05, 0.1, 0.25, 0.0]}

CASES = [
    _truth("truth_mse_known_sigma", "mse", REPEATED, truth_mse, UNBIASED),
    _truth(
        "truth_mae_family",
        "mae",
        REPEATED,
        truth_mae,
        "quadrature; fresh_unbiased uses variance sigma^2-sigma^2/n",
        note="no unbiased estimator of the truth MAE exists",
    ),
    _truth("truth_accuracy_uniform", "accuracy", {"n_correct": 85, "M": 100, "q": 0.05}, truth_accuracy, ARITHMETIC),
    _truth(
        "truth_accuracy_K10",
        "accuracy",
        {"n_correct": 85, "M": 100, "q": 0.05, "K": 10},
        truth_accuracy,
        "direct, uniform flips to the other K-1 classes",
    ),
    Case("c4", "sigma", {"n": [2, 3, 5, 10]}, c4, "quadrature of the chi density"),
    Case(
        "planning_two_stage",
        "planning",
        {
            "v_sampling": 2.0,
            "v_measurement": 8.0,
            "cost_item": 5.0,
            "cost_repeat": 1.0,
            "delta": 0.15,
            "alpha_two_sided": 0.05,
            "power": 0.9,
        },
        planning,
        "normal approximation",
    ),
    Case(
        "floor_M4",
        "noise_floor",
        {"sigma": [0.5, 0.25, 1.0, 0.0], "y": [0.0, 1.0, 3.0, -1.0]},
        floor,
        "perfect predictor against a fresh measurement",
        question="floor",
    ),
    _truth(
        "forecast_repeats",
        "remeasured_repeats",
        REPEATED | {"repeats": [1, 2, 4]},
        remeasured,
        "mse: arithmetic; mae: quadrature",
        note="by number of repeats; mae only where no label needs a negative variance",
    ),
    _truth(
        "truth_mse_cov", "mse", COVARIANCE3, truth_mse_correlated, "direct arithmetic; unbiasedness by Gauss-Hermite"
    ),
    _truth(
        "truth_r2_M10", "r2", TEN, truth_r2, ARITHMETIC, note="1-(SSE-S)/(SST-(1-1/M)S), S=sum sigma^2; perfect 1-S/SST"
    ),
    _truth(
        "truth_accuracy_per_label",
        "accuracy_per_label",
        {"y": [1, 0, 1, 1, 0, 1], "y_pred": [1, 0, 0, 1, 1, 1], "q": [0.05, 0.1, 0.3, 0.0, 0.2, 0.01]},
        truth_accuracy_per_label,
        "direct arithmetic; unbiasedness by enumeration",
    ),
    _truth(
        "truth_confusion_K3",
        "confusion_matrix",
        {"confusion": [[30, 4, 2], [5, 40, 6], [1, 7, 25]], "transition": TRANSITION},
        truth_confusion,
        "linear solve",
        note="rows=label, cols=prediction; transition rows: true class, columns: shown class",
    ),
    _truth("truth_log_loss_M4", "log_loss_truth", PROBA4, truth_log_loss, ARITHMETIC),
    Case("majority_vote", "votes", {"q": 0.1, "n": [1, 3, 5, 7]}, majority, "direct sum", question="truth"),
    _truth("intrinsic_scatter_M10", "intrinsic_scatter", TEN, intrinsic_scatter, "root of the derivative"),
]
