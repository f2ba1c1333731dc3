"""Normal errors: independent, with a full covariance, or with shared systematic shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.continuous import LocationScale, SplitNormal
from scorebars.errors.measurement_error import (
    ErrorModel,
    MeasurementError,
    check_kind,
    require_common_size,
    shown_parameter,
    standard_deviations,
)

if TYPE_CHECKING:
    from scorebars.errors.repeats import RepeatScatter


def _covariance_matrix(values: Any) -> FloatArray:
    cov = np.asarray(checks.real_array(values, "cov"), dtype=np.float64)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not cov.size:
        raise ValueError(f"cov must be a square (n, n) matrix, but has shape {cov.shape}.")
    checks.require_finite(cov, "cov")
    largest = float(np.abs(cov).max())
    lopsided = np.abs(cov - cov.T) > 1e-8 * largest
    if lopsided.any():
        hint = "Pass a covariance matrix; (cov + cov.T) / 2 if rounding is to blame."
        raise checks.complain("cov", "is not symmetric", lopsided, cov, hint)
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


class QuadraticTerms(NamedTuple):
    """What decides the variance of Q = sum a_i (d_i + e_i)^2 for normal e of covariance S, with W = diag(a), u = W d."""

    trace: float
    """tr((W S)^2)"""
    form: float
    """u' S u"""

    @property
    def variance(self) -> float:
        """Var Q = 2 tr((W S)^2) + 4 u' S u, with the residuals d taken as true means."""
        return 2.0 * self.trace + 4.0 * self.form

    @property
    def unbiased(self) -> float:
        """Unbiased estimate of Var Q where d itself carries these errors, never below that of zero residuals."""
        return max(4.0 * self.form - 2.0 * self.trace, 2.0 * self.trace)


NEGATIVE_YERR = "yerr is a standard deviation (not a variance): it cannot be below 0."


class Normal(LocationScale):
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

    Notes
    -----
    :math:`y = t + e` with :math:`e \sim N(0, S)`, :math:`S` diagonal, `cov`, or
    :math:`\mathrm{diag}(\sigma^2) + \mathrm{shared}^T \mathrm{shared}`.

    References
    ----------
    W. A. Fuller, Measurement Error Models, Wiley (1987).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.Normal(0.1)
    Normal(sigma=0.1)
    >>> calibration = [0.05, 0.05, 0.10]
    >>> sb.Normal([0.1, 0.2, 0.2], shared=calibration).total
    array([0.1118034 , 0.20615528, 0.2236068 ])
    """

    per_label: ClassVar[tuple[str, ...]] = ("sigma",)
    standard_moments = (1.0, 3.0)

    sigma: FloatArray | float
    cov: FloatArray | None
    shared: FloatArray | None
    scatter: RepeatScatter | None = None
    """What repeats tell of the error; None where the error is known."""

    def __init__(
        self,
        sigma: ArrayLike | None = None,
        *,
        cov: ArrayLike | None = None,
        shared: ArrayLike | None = None,
        kind: str = "classical",
    ) -> None:
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
            require_common_size(sigma=self.sigma, shared=rows[0])
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

    plain_normal = independent

    def for_labels(self, y: FloatArray) -> Normal:
        """These errors, whatever the labels."""
        return self

    @property
    def normal(self) -> Normal:
        return self

    @property
    def size(self) -> int | None:
        return super().size if self.shared is None else int(self.shared.shape[1])

    @property
    def total(self) -> FloatArray | float:
        """Standard deviation of each label, shared shifts included."""
        if self.shared is None:
            return self.sigma
        return np.sqrt(np.square(self.sigma) + np.square(self.shared).sum(axis=0))

    @property
    def width(self) -> FloatArray | float:
        return self.total

    @property
    def absolute_sd(self) -> FloatArray | float:
        """The standard deviation that enters mean absolute errors; differs from sigma where that was estimated."""
        return self.sigma

    def _part(self, index: Any) -> Self:
        part = super()._part(index)
        part.cov = None if self.cov is None else self.cov[index][:, index]
        part.shared = None if self.shared is None else self.shared[:, index]
        return part

    def scaled(self, factor: float) -> Self:
        cov = None if self.cov is None else self.cov * factor * factor
        return self._changed(
            sigma=self.sigma * factor, cov=cov, shared=None if self.shared is None else self.shared * factor
        )

    def averaged(self, repeats: FloatArray | float) -> Normal:
        """Errors of the mean of `repeats` labels; shared shifts do not average out."""
        part = Normal.trusted(self.sigma / np.sqrt(repeats), self.kind)
        part.cov = None if self.cov is None else self.cov / np.sqrt(np.multiply.outer(repeats, repeats))
        part.shared = self.shared
        return part

    def label_level(self) -> Normal:
        return self if np.all(np.equal(self.repeats, 1.0)) else self.averaged(self.repeats)

    def in_units_of_labels(self, n: int) -> MeasurementError:
        repeats = np.asarray(self.repeats, dtype=np.float64)
        unit = Normal.trusted(1.0 if np.all(repeats == 1) else np.sqrt(repeats), self.kind)
        unit.repeats = self.repeats
        return unit

    def absolute_level(self) -> Normal:
        if not self.independent or self.absolute_sd is self.sigma:
            return self.label_level()
        return Normal.trusted(self.absolute_sd / np.sqrt(self.repeats), self.kind)

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        return np.broadcast_to(np.square(self.averaged(repeats).total), y.shape)

    def covariance_of_sums(self, a: FloatArray) -> FloatArray:
        """Covariance A S A' of the sums of errors with the weights A, of shape (k, n)."""
        if self.cov is not None:
            return np.asarray(a @ self.cov @ a.T)
        out = (a * np.square(self.sigma)) @ a.T
        return np.asarray(out if self.shared is None else out + (a @ self.shared.T) @ (self.shared @ a.T))

    def variance_of_sum(self, y: FloatArray, a: FloatArray, repeats: FloatArray | float = 1.0) -> float:
        return float(self.averaged(repeats).covariance_of_sums(a[None])[0, 0])

    def common_shifts(self) -> FloatArray | None:
        """The shared shifts, or what is left of the covariance off its diagonal."""
        if self.cov is None:
            return self.shared
        values, vectors = np.linalg.eigh(self.cov - np.diag(np.diagonal(self.cov)))
        large = values > 1e-9 * max(float(np.max(np.diagonal(self.cov))), 0.0)
        return (vectors[:, large] * np.sqrt(values[large])).T if large.any() else None

    def quadratic_terms(self, a: FloatArray, d: FloatArray, alone: bool = False) -> QuadraticTerms:
        """What decides the variance of sum a_i (d_i + e_i)^2; `alone`: with independent errors of the same sizes."""
        if self.cov is not None and not alone:
            u = a * d
            return QuadraticTerms(float(a @ np.square(self.cov) @ a), float(u @ self.cov @ u))
        sigma = self.total if alone else self.sigma
        v = np.square(a * sigma)
        trace, form = float(np.sum(v * np.square(sigma))), float(np.sum(v * np.square(d)))
        if self.shared is not None and not alone:
            s = self.shared
            trace += 2.0 * float(np.sum(v * np.square(s).sum(axis=0))) + float(np.sum(np.square((s * a) @ s.T)))
            form += float(np.sum(np.square(s @ (a * d))))
        return QuadraticTerms(trace, form)

    def truth_variance(self, y: FloatArray, p: FloatArray, a: FloatArray) -> float:
        return self.label_level().quadratic_terms(a, np.subtract(y, p, dtype=np.float64)).unbiased

    def error_bar(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(np.asarray(self.label_level().total, dtype=np.float64), y.shape)

    def error_free(self, y: FloatArray) -> bool:
        return self.largest(y) == 0

    def require_valid(self, argument: str, hint: str) -> None:
        if isinstance(self.sigma, np.ndarray):
            checks.require_finite(self.sigma, argument)
            checks.require_non_negative(self.sigma, argument, hint)

    def standard_draws(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal(len(y))

    def measured_again(
        self, y: FloatArray, truth: FloatArray, size: int, rng: np.random.Generator, repeats: float | None = None
    ) -> FloatArray:
        return (self.label_level() if repeats is None else self.averaged(repeats)).sample(truth, size, rng)

    def largest(self, y: FloatArray) -> float:
        if self.shared is None:
            return float(np.max(self.sigma))
        return float(np.max(self.sigma)) + float(np.abs(self.shared).sum(axis=0).max())

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
        if self.cov is not None:
            return self._text(f"cov=<{len(self.cov)} x {len(self.cov)}>")
        shared = [] if self.shared is None else [f"shared=<{self.shared.shape[0]} x {self.shared.shape[1]}>"]
        return self._text(shown_parameter("sigma", self.sigma), *shared)


def error_model(yerr: Any, shape: tuple[int, ...], copy: bool = False) -> MeasurementError:
    """The error model that `yerr` means: None, a number, (n,), (2, n) for lower and upper errors, or a model.

    With `copy` the model does not change when the user's arrays do.
    """
    if yerr is None:
        return Normal.trusted(0.0)
    if type(yerr) is not np.ndarray and isinstance(yerr, ErrorModel):
        if not isinstance(yerr, MeasurementError):
            raise ValueError(
                f"yerr is {type(yerr).__name__}, which describes class labels. Measured numbers need an error model "
                "such as Normal(sigma), or a standard deviation for each label."
            )
        yerr.require_size(shape[0])
        return yerr[np.arange(shape[0])] if copy else yerr
    values = yerr if type(yerr) is np.ndarray and yerr.dtype == np.float64 else checks.real_array(yerr, "yerr")
    if values.ndim == 0:
        return Normal.trusted(standard_deviations(values, "yerr"))
    if copy:
        values = values.copy()
    if values.shape == shape:
        return Normal.trusted(values)
    if values.shape == (2, *shape):
        for half, name in zip(values, ("yerr[0] (lower errors)", "yerr[1] (upper errors)"), strict=True):
            checks.require_finite(half, name)
            checks.require_non_negative(half, name, NEGATIVE_YERR)
        return SplitNormal(*(np.asarray(half, dtype=np.float64).reshape(-1) for half in values))
    if len(shape) == 1 and values.shape == (shape[0], 1):
        return Normal.trusted(values[:, 0])
    if len(shape) == 1 and values.shape == (shape[0], shape[0]):
        raise ValueError(
            f"yerr has shape {values.shape}, one row and column for each label. A covariance matrix is yerr=sb.Normal(cov=...)."
        )
    raise ValueError(
        f"yerr has shape {values.shape} but y_true has shape {shape}: inconsistent numbers of samples. Give a number, "
        f"one standard deviation for each label, or shape (2, {shape[0]}) for lower and upper errors."
    )
