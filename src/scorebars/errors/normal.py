"""Normal errors: independent, with a full covariance, or with shared systematic shifts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from scorebars import checks, tables
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.asymmetric import SplitNormal
from scorebars.errors.continuous import LocationScale
from scorebars.errors.estimated_sizes import EstimatedSizes, common_scale, sizes_of
from scorebars.errors.measurement_error import ErrorModel, MeasurementError, check_kind
from scorebars.errors.parameters import positive_parameter, require_common_size, shown_parameter, standard_deviations
from scorebars.errors.symmetric import StudentT
from scorebars.errors.verified import Verified
from scorebars.numerics.covariances import covariance_root


def _covariance_matrix(values: Any) -> FloatArray:
    cov = np.asarray(checks.real_array(values, "cov"), dtype=np.float64)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not cov.size:
        raise ValueError(f"cov must be a square (n, n) matrix, but has shape {cov.shape}.")
    checks.require_finite(cov, "cov")
    largest = float(np.abs(cov).max())
    hint = "Pass a covariance matrix; (cov + cov.T) / 2 if rounding is to blame."
    checks.refuse("cov", "is not symmetric", np.abs(cov - cov.T) > 1e-8 * largest, cov, hint)
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


class Batches(NamedTuple):
    """Labels that were measured together: all of a batch share one error."""

    of: NDArray[np.intp]
    """The number of the batch of each label."""
    shift: FloatArray
    """How far each label moves when the error of its batch is one standard deviation."""

    @property
    def number(self) -> int:
        """How many batches there are."""
        return int(self.of.max()) + 1

    def sums(self, a: FloatArray) -> FloatArray:
        """sum a_i b_i over the labels of each batch, b_i the shifts: how far it moves a sum of labels."""
        return np.asarray(np.bincount(self.of, a * self.shift), dtype=np.float64)

    def part(self, index: Any) -> Batches:
        """Some of the labels, their batches numbered anew."""
        return Batches(np.unique(self.of[index], return_inverse=True)[1].reshape(-1), self.shift[index])

    def covariance(self) -> FloatArray:
        """What the batches add to the covariance of the labels, (n, n)."""
        return np.where(np.equal.outer(self.of, self.of), np.outer(self.shift, self.shift), 0.0)

    def as_rows(self) -> FloatArray:
        """A row of shifts for each batch, (number, n)."""
        rows = np.zeros((self.number, len(self.of)))
        rows[self.of, np.arange(len(self.of))] = self.shift
        return rows


_MOST_CELLS = 20_000_000
"""Batches times labels that are laid out as rows of shifts."""
_MANY_DEGREES = 100
"""From this many degrees of freedom on, Student's t is taken as normal."""
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
    batch : (n,), optional
        Which labels were measured together (on one plate, in one night), by a number or a name: each batch has an error of
        its own, which all of its labels share. Costs O(n) for any number of batches.
    batch_sigma : number or (n,), optional
        Standard deviation of that shared error; with one for each label it moves each by so much.
    dof : number or (n,), optional
        Degrees of freedom of the variance estimate that `sigma` comes from: each sigma from its own estimate, or a single
        sigma from one estimate for all labels.
    scale_error : number, optional
        Relative standard deviation of one factor that all errors share: 0.2 where the size of the errors is known to 20 %.
    kind : {"classical", "berkson"}
        Whether label = truth + error (a measurement) or truth = label + error (a set point).

    Notes
    -----
    :math:`y = t + e` with :math:`e \sim N(0, S)`, :math:`S` diagonal, `cov`, or
    :math:`\mathrm{diag}(\sigma^2) + \mathrm{shared}^T \mathrm{shared}`. With batches
    :math:`S_{ij} = \sigma_i^2\,[i = j] + b_i b_j\,[\text{same batch}]`.

    Sizes that are estimates themselves widen what depends on them: `truth`, `perfect`, `remeasured`, comparisons. To the
    variance of a mean squared error against the truth, sigmas with :math:`\nu_i` degrees of freedom add
    :math:`\frac1{n^2}\sum 2\sigma_i^4/\nu_i`, one common sigma adds :math:`2\sigma^4/\nu`, and a factor known to the
    fraction r adds :math:`(2r\,\overline{\sigma^2})^2`. Of any other metric the change between :math:`\sigma(1+r)` and
    :math:`\sigma(1-r)`, halved, is what the factor adds. (:math:`2\sigma^4/(\nu+2)` estimates :math:`2\sigma^4/\nu`
    without bias, and is what is used for single labels.)

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

    An error bar that may be wrong by 20 %:

    >>> counties = sb.datasets.load_acs_poverty()
    >>> y, p, sigma = counties.y, counties.predictions["ridge"], counties.yerr
    >>> print(sb.mean_squared_error(y, p, yerr=sigma).truth)
    4.98 ± 0.33 (labels) ± 0.75 (sample)
    >>> print(sb.mean_squared_error(y, p, yerr=sb.Normal(sigma, scale_error=0.2)).truth)
    5.0 ± 1.1 (labels) ± 0.7 (sample)
    """

    per_label: ClassVar[tuple[str, ...]] = ("sigma",)
    standard_moments = (1.0, 3.0)

    sigma: FloatArray | float
    cov: FloatArray | None
    shared: FloatArray | None
    batches: Batches | None = None
    """None where no batches share an error."""
    scatter: EstimatedSizes | None = None
    """How well the error of each label is known; None where it is known exactly, or up to a factor that all share."""

    def __init__(
        self,
        sigma: ArrayLike | None = None,
        *,
        cov: ArrayLike | None = None,
        shared: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        batch_sigma: ArrayLike | None = None,
        dof: ArrayLike | None = None,
        scale_error: float = 0.0,
        kind: str = "classical",
    ) -> None:
        if cov is not None and (sigma is not None or shared is not None or batch is not None):
            raise ValueError(
                "Normal takes either sigma (with or without shared) or cov, not both: cov holds all of it."
            )
        if cov is None and sigma is None and shared is None and batch is None:
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
        if batch is not None or batch_sigma is not None:
            self.batches = self._checked_batches(batch, batch_sigma)
        if dof is not None or (scale_error == 0) is not True:
            self._set_sizes(dof, scale_error)

    def _checked_batches(self, batch: Any, batch_sigma: Any) -> Batches:
        """Errors that the labels of each batch share, from what the user passes."""
        if batch is None or batch_sigma is None:
            raise ValueError("batch and batch_sigma belong together: which labels share an error, and how large it is.")
        if self.shared is not None:
            raise ValueError("give shared or batch, not both: a shift of all labels is one more row of shared.")
        ids = np.asarray(to_host(batch))
        if ids.ndim != 1 or not ids.size:
            raise ValueError(f"batch must name the batch of each label, shape (n,), but has shape {ids.shape}.")
        missing = tables.missing_rows(ids)
        if missing.any():
            raise tables.missing_values("batch", ids, missing)
        shift = standard_deviations(batch_sigma, "batch_sigma")
        require_common_size(sigma=self.sigma, batch=ids, batch_sigma=shift)
        number = np.unique(ids.astype(str) if ids.dtype.kind == "O" else ids, return_inverse=True)[1].reshape(-1)
        return Batches(number, np.array(np.broadcast_to(shift, ids.shape)))

    def _set_sizes(self, dof: Any, scale_error: Any) -> None:
        """How well the sizes of the errors are known."""
        r = checks.at_least_zero(scale_error, "scale_error")
        if r >= 1:
            raise ValueError(
                f"scale_error = {r:g} says that the errors are known to {100 * r:g} %, which is not at all: it must be "
                "below 1. For a factor of 2 either way say 0.5."
            )
        if dof is None:
            self.common_scale = common_scale(r)
            return
        degrees = positive_parameter(dof, "dof", "dof is the number of degrees of freedom of a variance estimate")
        if not self.independent:
            raise ValueError(
                "dof needs sigma alone, one estimate for each label or one for all: it does not say how well cov, "
                "shared or batch_sigma are known. For a common factor of all of them use scale_error."
            )
        if isinstance(self.sigma, np.ndarray):
            require_common_size(sigma=self.sigma, dof=degrees)
            self.scatter = sizes_of(np.square(self.sigma), np.array(np.broadcast_to(degrees, self.sigma.shape)))
            self.common_scale = common_scale(r)
        elif isinstance(degrees, np.ndarray):
            raise ValueError(
                f"dof has {len(degrees)} values but sigma is one number for all labels, which one estimate gave: give one "
                "dof, or a sigma for each label."
            )
        else:
            self.common_scale = common_scale(r, degrees)

    @classmethod
    def trusted(cls, sigma: FloatArray | float, kind: str = "classical") -> Self:
        """Independent errors whose values were checked elsewhere (bad ones show up later, as sums that are not finite)."""
        model = cls.__new__(cls)
        model.kind, model.sigma, model.cov, model.shared = kind, sigma, None, None  # type: ignore[assignment]
        return model

    @property
    def independent(self) -> bool:
        return self.cov is None and self.shared is None and self.batches is None

    plain_normal = independent

    def for_labels(self, y: FloatArray) -> Normal:
        """These errors, whatever the labels."""
        return self

    @property
    def normal(self) -> Normal:
        return self

    @property
    def size(self) -> int | None:
        if self.batches is not None:
            return len(self.batches.of)
        return super().size if self.shared is None else int(self.shared.shape[1])

    @property
    def total(self) -> FloatArray | float:
        """Standard deviation of each label, shared shifts included."""
        if self.batches is not None:
            return np.hypot(self.sigma, self.batches.shift)
        if self.shared is None:
            return self.sigma
        return np.sqrt(np.square(self.sigma) + np.square(self.shared).sum(axis=0))

    @property
    def width(self) -> FloatArray | float:
        return self.total

    @property
    def absolute_sd(self) -> FloatArray | float:
        """sigma for absolute errors: sample standard deviations are too low on average, by the factor c4, which is undone."""
        return self.sigma if self.scatter is None else self.sigma * self.scatter.absolute

    @property
    def estimated(self) -> bool:
        return self.scatter is not None

    def _part(self, index: Any) -> Self:
        part = super()._part(index)
        part.cov = None if self.cov is None else self.cov[index][:, index]
        part.shared = None if self.shared is None else self.shared[:, index]
        if self.scatter is not None:
            part.scatter = self.scatter[index]
        if self.batches is not None:
            part.batches = self.batches.part(index)
        return part

    def scaled(self, factor: float) -> Self:
        cov = None if self.cov is None else self.cov * factor * factor
        found = self._changed(
            sigma=self.sigma * factor, cov=cov, shared=None if self.shared is None else self.shared * factor
        )
        if self.scatter is not None:
            found.scatter = self.scatter.scaled(factor)
        if self.batches is not None:
            found.batches = self.batches._replace(shift=self.batches.shift * factor)
        return found

    def resized(self, factor: FloatArray | float) -> Self:
        return super().resized(factor)._changed(scatter=None)

    def averaged(self, repeats: FloatArray | float) -> Normal:
        """Errors of the mean of `repeats` labels; shared shifts do not average out."""
        part = Normal.trusted(self.sigma / np.sqrt(repeats), self.kind)
        part.cov = None if self.cov is None else self.cov / np.sqrt(np.multiply.outer(repeats, repeats))
        part.shared, part.batches = self.shared, self.batches
        return part

    def label_level(self) -> Normal:
        return self if np.all(np.equal(self.repeats, 1.0)) else self.averaged(self.repeats)

    def in_units_of_labels(self, n: int) -> MeasurementError:
        """Where the errors were estimated the ratio follows Student's t; with one estimate for all it is nearly normal."""
        unit: MeasurementError
        if self.scatter is None:
            repeats = np.asarray(self.repeats, dtype=np.float64)
            unit = Normal.trusted(1.0 if np.all(repeats == 1) else np.sqrt(repeats), self.kind)
        elif self.scatter.common and self.scatter.pooled_degrees > 2:
            return self._in_units_of_one(self.scatter.pooled_degrees / (self.scatter.pooled_degrees - 2.0))
        else:
            unit = StudentT(self.scatter.stretch * np.sqrt(self.repeats), self.scatter.degrees, kind=self.kind)
        unit.repeats = self.repeats
        if self.common_scale is not None:
            unit.common_scale = self.common_scale
        return unit

    def around_truth(self) -> MeasurementError:
        if self.scatter is None or (self.scatter.common and self.scatter.pooled_degrees > _MANY_DEGREES):
            return self.label_level()
        scale = self.scatter.sigma * self.scatter.stretch / np.sqrt(self.repeats)
        return StudentT(scale, self.scatter.degrees, kind=self.kind)

    def shrunk(self) -> MeasurementError:
        if self.scatter is None or self.scatter.common:
            return self
        sizes = sizes_of(self.scatter.own, self.scatter.nu, "shrunk")
        if sizes.common:
            return self._changed(sigma=sizes.sigma, scatter=None).label_level()
        return self._changed(scatter=sizes).around_truth()

    def _in_units_of_one(self, variance: float) -> Self:
        """One error for all labels, divided by itself so that each label has the error variance `variance`."""
        assert self.scatter is not None and self.scatter.common
        one = float(self.scatter.sigma[0])
        root = np.sqrt(np.broadcast_to(self.repeats, self.scatter.sigma.shape))
        pooled = self.scatter.pooled_variance / one**4 * variance**2
        scatter = replace(self.scatter, sigma=root, pooled_variance=pooled)
        return self._changed(means=None, sigma=root * math.sqrt(variance), scatter=scatter)

    def absolute_level(self) -> Normal:
        if not self.independent or self.absolute_sd is self.sigma:
            return self.label_level()
        return Normal.trusted(self.absolute_sd / np.sqrt(self.repeats), self.kind)

    def variance(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(np.square(self.total), y.shape)

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        return self.averaged(repeats).variance(y)

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix of labels whose errors are correlated."""
        if self.cov is not None:
            return self.cov
        if self.batches is not None:
            cov = self.batches.covariance()
        else:
            assert self.shared is not None
            cov = self.shared.T @ self.shared
        np.einsum("ii->i", cov)[:] += np.square(self.sigma)
        return cov

    def covariance_of_sums(self, a: FloatArray) -> FloatArray:
        """Covariance A S A' of the sums of errors with the weights A, of shape (k, n)."""
        if self.cov is not None:
            return np.asarray(a @ self.cov @ a.T)
        out = (a * np.square(self.sigma)) @ a.T
        if self.batches is not None:
            sums = np.stack([self.batches.sums(row) for row in a])
            return np.asarray(out + sums @ sums.T)
        return np.asarray(out if self.shared is None else out + (a @ self.shared.T) @ (self.shared @ a.T))

    def variance_of_sum(self, y: FloatArray, a: FloatArray, repeats: FloatArray | float = 1.0) -> float:
        return float(self.averaged(repeats).covariance_of_sums(a[None])[0, 0])

    def as_shifts(self) -> FloatArray | None:
        """All that labels share as rows of shifts, (k, n): one for each batch, as long as these fit into memory."""
        if self.batches is None:
            return self.shared
        count, n = self.batches.number, len(self.batches.of)
        if count * n > _MOST_CELLS:
            raise ValueError(
                f"{count} batches of {n} labels are too many for this metric, which needs a row of shifts for each: compare "
                "or score fewer labels at a time, or use mean_squared_error, mean_absolute_error or mean_error."
            )
        return self.batches.as_rows()

    def common_shifts(self) -> FloatArray | None:
        """The shared shifts, or what is left of the covariance off its diagonal."""
        if self.batches is not None:
            return self.as_shifts()
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
        if self.batches is not None and not alone:
            shift, sums = self.batches.shift, self.batches.sums
            trace += 2.0 * float(np.sum(v * np.square(shift))) + float(np.sum(np.square(sums(a * shift))))
            form += float(np.sum(np.square(sums(a * d))))
        return QuadraticTerms(trace, form)

    def truth_variance(self, y: FloatArray, p: FloatArray, a: FloatArray) -> float:
        """Variance of sum a_i (d_i^2 - s_i^2), of which the s_i^2 may be estimates; never below that of zero residuals.

        Var d^2 = 4 D^2 s^2 + 2 s^4 is estimated by 4 d^2 s^2 - 2 s^4; the scatter of the s_i^2 themselves comes on top.
        A label's own s^4 is too large on average, by 1 + 2/nu.
        """
        d = np.subtract(y, p, dtype=np.float64)
        if self.scatter is None:
            return self.label_level().quadratic_terms(a, d).unbiased
        s2 = np.broadcast_to(np.square(self.sigma) / self.repeats, y.shape)
        nu, weight = self.scatter.nu, self.scatter.weight
        own_too = weight > 0  # else all of it is the pooled variance, as for a label with a single repeat
        fourth = np.square(s2) * np.where(own_too, nu / np.where(own_too, nu + 2.0 * np.square(weight), 1.0), 1.0)
        extra = self.scatter.variance_of_sum(a / self.repeats)
        a2 = np.square(a)
        own = float(np.sum(a2 * (4.0 * np.square(d) * s2 - 2.0 * fourth)))
        return max(own, 2.0 * float(np.sum(a2 * fourth))) + extra

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
        if self.batches is not None:
            return float(np.max(self.total))
        if self.shared is None:
            return float(np.max(self.sigma))
        return float(np.max(self.sigma)) + float(np.abs(self.shared).sum(axis=0).max())

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Normal, FloatArray]:
        return Normal.trusted(np.sqrt(level * self.label_variance(y)), self.kind), y

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        if self.cov is not None:
            return y + rng.standard_normal((size, len(y))) @ covariance_root(self.cov).T
        draws = y + self.sigma * rng.standard_normal((size, len(y)))
        if self.shared is not None:
            draws += rng.standard_normal((size, len(self.shared))) @ self.shared
        if self.batches is not None:
            draws += rng.standard_normal((size, self.batches.number))[:, self.batches.of] * self.batches.shift
        return draws

    def __repr__(self) -> str:
        sizes = [] if self.common_scale is None else [f"scale_error={self.common_scale.error:.3g}"]
        if self.scatter is not None:
            sizes.insert(0, f"dof={np.min(self.scatter.nu):g} to {np.max(self.scatter.nu):g}")
        elif self.common_scale is not None and math.isfinite(self.common_scale.estimated_with):
            sizes = [f"dof={self.common_scale.estimated_with:g}"]
        if self.cov is not None:
            return self._text(f"cov=<{len(self.cov)} x {len(self.cov)}>", *sizes)
        shared = [] if self.shared is None else [f"shared=<{self.shared.shape[0]} x {self.shared.shape[1]}>"]
        if self.batches is not None:
            shared = [f"batch=<{self.batches.number} batches>"]
        return self._text(shown_parameter("sigma", self.sigma), *shared, *sizes)


def error_model(yerr: Any, shape: tuple[int, ...], copy: bool = False) -> MeasurementError:
    """The error model that `yerr` means: None, a number, (n,), (2, n) for lower and upper errors, or a model.

    With `copy` the model does not change when the user's arrays do.
    """
    if yerr is None:
        return Normal.trusted(0.0)
    if type(yerr) is not np.ndarray and isinstance(yerr, ErrorModel):
        if not isinstance(yerr, MeasurementError):
            if isinstance(yerr, Verified):
                raise ValueError(yerr.only_metrics)
            raise ValueError(
                f"yerr is {type(yerr).__name__}, which describes class labels. Measured numbers need an error model "
                "such as Normal(sigma), or a standard deviation for each label."
            )
        yerr.require_size(shape[0])
        return yerr[np.arange(shape[0])] if copy else yerr
    several = getattr(yerr, "yerr", yerr)
    if isinstance(several, tuple) and several and isinstance(several[0], ErrorModel):
        raise ValueError(
            f"yerr holds {len(several)} error models, one for each measurement (triple_collocation): pass that of the labels, "
            "found.yerr[0] for the first."
        )
    values = yerr
    if type(yerr) is not np.ndarray or yerr.dtype != np.float64:
        checks.no_flags(yerr, "yerr", "says how large the errors of the labels are")
        values = checks.real_array(yerr, "yerr")
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
