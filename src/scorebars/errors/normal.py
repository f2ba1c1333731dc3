"""Normal errors: independent, with a full covariance, or with shared systematic shifts."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars.errors.base import FloatArray, check_kind, picked
from scorebars.errors.continuous import NO_ERROR, Continuous, divisible

NORMAL_EDGES = (-38.0, -12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0, 38.0)
"""Panels of an integral over a standard normal variable; beyond the last the density is zero in doubles."""

_NEGATIVE = "sigma is a standard deviation (not a variance, not a lower error): it cannot be below 0."


def normal_density(u: FloatArray) -> FloatArray:
    """Density of the standard normal law."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-0.5 * np.square(u)) / math.sqrt(2 * math.pi))


def standard_deviations(values: Any, argument: str) -> FloatArray | float:
    """Standard deviations: a number or (n,), finite and not negative."""
    sigma = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if sigma.ndim == 0:
        if not np.isfinite(sigma):
            raise ValueError(f"{argument} = {float(sigma)} is not finite. Give a standard deviation of at least 0.")
        if sigma < 0:
            raise ValueError(f"{argument} = {float(sigma)} is negative. {_NEGATIVE}")
        return float(sigma)
    sigma = checks.column(sigma, argument)
    checks.require_finite(sigma, argument)
    checks.require_non_negative(sigma, argument, _NEGATIVE)
    return sigma


def _covariance_matrix(values: Any) -> FloatArray:
    cov = np.asarray(checks.real_array(values, "cov"), dtype=np.float64)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not cov.size:
        raise ValueError(f"cov must be a square (n, n) matrix, but has shape {cov.shape}.")
    checks.require_finite(cov, "cov")
    largest = float(np.abs(cov).max())
    lopsided = np.abs(cov - cov.T) > 1e-8 * largest
    if lopsided.any():
        raise checks.complain(
            "cov",
            "is not symmetric",
            lopsided,
            cov,
            "Pass a covariance matrix; (cov + cov.T) / 2 if rounding is to blame.",
        )
    cov = (cov + cov.T) / 2
    try:
        linalg.cholesky(cov + (1e-10 * largest or 1.0) * np.eye(len(cov)), check_finite=False)
    except linalg.LinAlgError:
        smallest = float(linalg.eigvalsh(cov, subset_by_index=(0, 0))[0])
        raise ValueError(
            f"cov is not positive semidefinite: its smallest eigenvalue is {smallest:.3g} (largest entry {largest:.3g}). "
            "No errors have this covariance; check its entries."
        ) from None
    return cov


class Normal(Continuous):
    r"""Normal errors, the default for measured numbers.

    Parameters
    ----------
    sigma : number or (n,)
        Standard deviation of each label (not the variance).
    cov : (n, n), optional
        Full covariance matrix of the labels, instead of `sigma`.
    shared : (n,) or (k, n), optional
        Systematic shifts common to all labels: row j says how far each label moves when the j-th source of error is
        one standard deviation off. The covariance is ``diag(sigma**2) + shared.T @ shared``, never formed as a matrix.
    kind : {"classical", "berkson"}
        Whether label = truth + error (a measurement) or truth = label + error (a set point).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.Normal(0.1)
    Normal(sigma=0.1)
    >>> calibration = [0.05, 0.05, 0.10]
    >>> sb.Normal([0.1, 0.2, 0.2], shared=calibration).total
    array([0.1118034 , 0.20615528, 0.2236068 ])
    """

    edges = NORMAL_EDGES

    sigma: FloatArray | float
    cov: FloatArray | None
    shared: FloatArray | None

    def __init__(self, sigma: Any = None, *, cov: Any = None, shared: Any = None, kind: str = "classical") -> None:
        if cov is not None and (sigma is not None or shared is not None):
            raise ValueError(
                "Normal takes either sigma (with or without shared) or cov, not both: cov holds all of it."
            )
        if cov is None and sigma is None and shared is None:
            raise ValueError("Normal needs sigma, cov or shared.")
        self.kind = check_kind(kind)
        self.cov = None if cov is None else _covariance_matrix(cov)
        self.sigma = 0.0 if sigma is None else standard_deviations(sigma, "sigma")
        self.shared = None
        if self.cov is not None:
            self.sigma = np.sqrt(np.maximum(np.diagonal(self.cov), 0.0))
        if shared is not None:
            rows = np.asarray(checks.real_array(shared, "shared"), dtype=np.float64)
            rows = rows[None] if rows.ndim == 1 else rows
            if rows.ndim != 2 or not rows.size:
                raise ValueError(f"shared must have shape (n,) or (k, n), but has shape {np.shape(shared)}.")
            checks.require_finite(rows, "shared")
            if isinstance(self.sigma, np.ndarray) and len(self.sigma) != rows.shape[1]:
                raise ValueError(
                    f"sigma and shared describe different numbers of labels: {len(self.sigma)} and {rows.shape[1]}."
                )
            self.shared = rows

    @classmethod
    def trusted(cls, sigma: FloatArray | float, kind: str = "classical") -> Self:
        """Independent errors whose values were checked elsewhere (or show up as non-finite sums)."""
        model = cls.__new__(cls)
        model.kind, model.sigma, model.cov, model.shared = kind, sigma, None, None  # type: ignore[assignment]
        return model

    @property
    def independent(self) -> bool:
        return self.cov is None and self.shared is None

    @property
    def size(self) -> int | None:
        if self.shared is not None:
            return int(self.shared.shape[1])
        return len(self.sigma) if isinstance(self.sigma, np.ndarray) else None

    @property
    def total(self) -> FloatArray | float:
        """Standard deviation of each label, shared shifts included."""
        if self.shared is None:
            return self.sigma
        return np.sqrt(np.square(self.sigma) + np.square(self.shared).sum(axis=0))

    @property
    def absolute_sd(self) -> FloatArray | float:
        """The standard deviation that enters mean absolute errors; differs from sigma where that was estimated."""
        return self.sigma

    def _part(self, index: Any) -> Self:
        part = self.trusted(picked(self.sigma, index), self.kind)
        if self.cov is not None:
            part.cov = self.cov[index][:, index]
        if self.shared is not None:
            part.shared = self.shared[:, index]
        return part

    def scaled(self, factor: float) -> Self:
        """The errors of the labels multiplied by `factor`."""
        part = self.trusted(self.sigma * factor, self.kind)
        part.cov = None if self.cov is None else self.cov * factor * factor
        part.shared = None if self.shared is None else self.shared * factor
        return part

    def averaged(self, repeats: FloatArray | float) -> Normal:
        """Errors of the mean of `repeats` labels; shared shifts do not average out."""
        part = Normal.trusted(self.sigma / np.sqrt(repeats), self.kind)
        part.cov = None if self.cov is None else self.cov / np.sqrt(np.multiply.outer(repeats, repeats))
        part.shared = self.shared
        return part

    def label_level(self) -> Normal:
        """Errors of the labels at hand, the means of their repeats."""
        return self if np.all(np.equal(self.repeats, 1.0)) else self.averaged(self.repeats)

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        return np.broadcast_to(np.square(self.averaged(repeats).total), y.shape)

    def largest(self, y: FloatArray) -> float:
        if self.shared is None:
            return float(np.max(self.sigma))
        return float(np.max(self.sigma)) + float(np.abs(self.shared).sum(axis=0).max())

    def mean(self, y: FloatArray) -> FloatArray:
        return y

    def variance(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(np.square(self.total), y.shape)

    def third(self, y: FloatArray) -> FloatArray:
        return np.zeros_like(y)

    def fourth(self, y: FloatArray) -> FloatArray:
        return 3.0 * np.square(self.variance(y))

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        return y + self.total * u

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray((x - y) * self.slope(y, x))

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return 1.0 / divisible(self.total)

    def exact(self, y: FloatArray) -> NDArray[np.bool_]:
        return np.broadcast_to(np.less_equal(self.total, NO_ERROR), y.shape)

    def density(self, u: FloatArray) -> FloatArray:
        return normal_density(u)

    def _lower(self, u: FloatArray) -> FloatArray:
        return np.asarray(ndtr(u))

    def _upper(self, u: FloatArray) -> FloatArray:
        return np.asarray(ndtr(-u))

    def _quantile(self, q: FloatArray) -> FloatArray:
        return np.asarray(ndtri(q))

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Normal, FloatArray]:
        return Normal.trusted(np.sqrt(level * self.label_variance(y)), self.kind), y

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        if self.cov is not None:
            values, vectors = np.linalg.eigh(self.cov)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            return y + rng.standard_normal((size, len(y))) @ root.T
        draws = y + self.sigma * rng.standard_normal((size, len(y)))
        if self.shared is not None:
            draws += rng.standard_normal((size, len(self.shared))) @ self.shared
        return draws

    def __repr__(self) -> str:
        berkson = "" if self.kind == "classical" else ", kind='berkson'"
        if self.cov is not None:
            return f"Normal(cov=<{len(self.cov)} x {len(self.cov)}>{berkson})"
        sigma = f"{self.sigma:g}" if isinstance(self.sigma, float) else f"<{len(self.sigma)} values>"
        shared = "" if self.shared is None else f", shared=<{self.shared.shape[0]} x {self.shared.shape[1]}>"
        return f"Normal(sigma={sigma}{shared}{berkson})"
