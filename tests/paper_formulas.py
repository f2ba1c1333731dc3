"""The formulas of the paper as printed and as they should stand, and ways to find the truth without either.

`printed_...` functions are transcriptions of Michelucci & Venturini, arXiv:2209.15588, errors included. The truth comes
from quadrature or from simulation with fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import integrate, stats
from scipy.special import erf, erfc

DRAWS = 200_000
SQRT_2_PI = np.sqrt(2 / np.pi)
# One regression problem and one classification problem serve most errata.
DELTA = np.array([0.5, -0.5, 1.25, 0.0, -2.0])
SIGMA = np.array([0.2, 0.8, 0.5, 1.0, 1.5])
A, Q, M = 0.85, 0.05, 100
CORRECT = np.arange(M) < round(A * M)


@dataclass(frozen=True)
class Value:
    """A number with its standard error: zero for quadrature and exact arithmetic."""

    value: float
    error: float = 0.0

    def agrees(self, other: float) -> bool:
        return abs(other - self.value) <= 4 * self.error + 1e-10 * max(1.0, abs(self.value))


def mean_of(draws: np.ndarray) -> Value:
    return Value(float(draws.mean()), float(draws.std() / np.sqrt(draws.size)))


def variance_of(draws: np.ndarray) -> Value:
    squares = (draws - draws.mean()) ** 2
    return Value(float(squares.mean()), float(squares.std() / np.sqrt(draws.size)))


def normal_draws(delta: np.ndarray | float, sigma: np.ndarray | float) -> np.ndarray:
    """Fresh differences label - prediction, shape (draws, M)."""
    delta, sigma = np.broadcast_arrays(np.atleast_1d(delta), np.atleast_1d(sigma))
    return delta + sigma * np.random.default_rng(20).standard_normal((DRAWS, delta.size))


def gauss_expectation(function: Callable[[float], float], delta: float, sigma: float, kink: float = 0.0) -> float:
    """E function(delta + sigma Z) by quadrature, split where the function has its kink."""

    def integrand(x: float) -> float:
        return function(x) * float(stats.norm.pdf(x, delta, sigma))

    low, high = delta - 12 * sigma, delta + 12 * sigma
    cuts = [low, *([kink] if low < kink < high else []), high]
    return sum(integrate.quad(integrand, *ends, epsabs=1e-13, limit=200)[0] for ends in pairwise(cuts))


def flipped_accuracy(flips: np.ndarray) -> np.ndarray:
    """Accuracy after flips (draws, M): a flipped label turns right into wrong and wrong into right."""
    return np.mean(flips != CORRECT, axis=1)


def independent_flips(q: float = Q) -> np.ndarray:
    return np.random.default_rng(21).random((DRAWS // 4, M)) < q


def correlated_flips(rho: float) -> np.ndarray:
    """Flips with pairwise correlation rho: each copies one common flip with probability sqrt(rho), else its own."""
    rng = np.random.default_rng(22)
    common = rng.random((DRAWS // 4, 1)) < Q
    own = rng.random((DRAWS // 4, M)) < Q
    return np.where(rng.random(own.shape) < np.sqrt(rho), common, own)


# ------------------------------------------------------------------------------------------------ folded normal, MAE


def printed_folded_mean(mu: np.ndarray | float, sigma: np.ndarray | float) -> np.ndarray:
    return mu * SQRT_2_PI * np.exp(-(mu**2) / (2 * sigma**2)) + mu * erf(mu / (np.sqrt(2) * sigma))


def right_folded_mean(mu: np.ndarray | float, sigma: np.ndarray | float) -> np.ndarray:
    return sigma * SQRT_2_PI * np.exp(-(mu**2) / (2 * sigma**2)) + mu * erf(mu / (np.sqrt(2) * sigma))


def printed_mae(delta: np.ndarray, sigma: np.ndarray) -> float:
    correction = SQRT_2_PI * sigma * np.exp(-(delta**2) / (2 * sigma**2))
    correction = correction - np.abs(delta) * erfc(np.abs(delta) / (np.sqrt(2) * delta))
    return float(np.mean(np.abs(delta)) + np.mean(correction))


def right_mae(delta: np.ndarray, sigma: np.ndarray) -> float:
    correction = SQRT_2_PI * sigma * np.exp(-(delta**2) / (2 * sigma**2))
    correction = correction - np.abs(delta) * erfc(np.abs(delta) / (np.sqrt(2) * sigma))
    return float(np.mean(np.abs(delta)) + np.mean(correction))


def printed_variance_abs(delta: np.ndarray | float, sigma: np.ndarray | float) -> np.ndarray:
    return delta**2 + sigma**2 - printed_folded_mean(delta, sigma)


def right_variance_abs(delta: np.ndarray | float, sigma: np.ndarray | float) -> np.ndarray:
    return delta**2 + sigma**2 - right_folded_mean(delta, sigma) ** 2


def abs_mean(delta: float, sigma: float) -> Value:
    return Value(gauss_expectation(abs, delta, sigma))


def abs_variance(delta: float, sigma: float) -> Value:
    mean = abs_mean(delta, sigma).value
    return Value(gauss_expectation(lambda x: (abs(x) - mean) ** 2, delta, sigma))


# ------------------------------------------------------------------------------------------------ Appendix B

D_B, S_B = 0.7, 0.5
T_B = D_B / (np.sqrt(2) * S_B)  # delta tilde


def appendix_b_integral(low: float, high: float) -> float:
    """The integral of |s sqrt(2) sigma - delta| exp(-s^2) without its prefactor."""
    cuts = [low, *([T_B] if low < T_B < high else []), high]
    return sum(
        integrate.quad(lambda s: abs(s * np.sqrt(2) * S_B - D_B) * np.exp(-s * s), *ends, epsabs=1e-14)[0]
        for ends in pairwise(cuts)
    )


def part_above(half: float) -> float:
    """J_A, with the factor that the paper prints as 1/sqrt(2) and that is 1/2."""
    return float(S_B / np.sqrt(2 * np.pi) * np.exp(-(T_B**2)) - half * D_B * erfc(T_B))


def part_below(half: float) -> float:
    return float(S_B / np.sqrt(2 * np.pi) * np.exp(-(T_B**2)) + half * D_B * erfc(-T_B))


# ------------------------------------------------------------------------------------------------ errors of other shape


def other_errors(kind: str) -> np.ndarray:
    """Errors of mean 0 and variance 1."""
    rng = np.random.default_rng(23)
    if kind == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), 10 * DRAWS)
    if kind == "laplace":
        return rng.laplace(0.0, 1 / np.sqrt(2), 10 * DRAWS)
    return rng.exponential(1.0, 10 * DRAWS) - 1.0


def right_variance_square(kind: str, delta: float) -> float:
    third, fourth = {"uniform": (0.0, 9 / 5), "laplace": (0.0, 6.0), "exponential": (2.0, 9.0)}[kind]
    return fourth - 1 + 4 * delta**2 + 4 * delta * third


# ------------------------------------------------------------------------------------------------ one measurement


def single_measurements() -> tuple[np.ndarray, float, float]:
    """Mean squared error seen on 60 labels measured once, over many repetitions; its truth; mean sigma^2."""
    rng = np.random.default_rng(24)
    true_difference, sigma = rng.normal(0, 1, 60), np.full(60, 0.8)
    seen = true_difference + sigma * rng.standard_normal((DRAWS // 4, 60))
    return np.mean(seen**2, axis=1), float(np.mean(true_difference**2)), 0.64


def generalised_chi2_cdf(x: float) -> float:
    """P(mean (delta + sigma Z)^2 <= x) by Imhof's inversion of the characteristic function."""
    lam, nc = SIGMA**2 / DELTA.size, (DELTA / SIGMA) ** 2

    def integrand(u: float) -> float:
        angle = 0.5 * np.sum(np.arctan(lam * u) + nc * lam * u / (1 + (lam * u) ** 2)) - 0.5 * x * u
        modulus = np.prod((1 + (lam * u) ** 2) ** 0.25) * np.exp(
            0.5 * np.sum(nc * (lam * u) ** 2 / (1 + (lam * u) ** 2))
        )
        return float(np.sin(angle) / (u * modulus))

    tail = sum(integrate.quad(integrand, a, b, limit=400)[0] for a, b in [(1e-12, 5), (5, 50), (50, 500), (500, 5000)])
    return 0.5 - tail / np.pi
