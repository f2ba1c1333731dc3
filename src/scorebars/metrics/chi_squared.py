"""Residuals against the errors of the labels: reduced chi-squared, and the model's own error (sigma_th, intrinsic scatter)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.answers.means.intrinsic_scatter import most_likely, of_uncertain_sizes, unit_chi_squared
from scorebars.answers.means.limited_scatter import limited_scatter
from scorebars.answers.means.squared import ChiSquaredScore, chi_squared_answers
from scorebars.answers.score import Estimate, UndefinedMomentWarning
from scorebars.arrays import FloatArray
from scorebars.errors import Censored
from scorebars.errors.measurement_error import LabelErrors
from scorebars.measured import Measured
from scorebars.metrics.call import in_groups, one_output, prediction_errors, regression_declaration
from scorebars.metrics.registry import declares
from scorebars.moments.extra_variance import in_own_units

CHI_SQUARED = regression_declaration("reduced_chi_squared", "Reduced chi-squared", 0, keeps="pulls")


@declares(CHI_SQUARED)
def reduced_chi_squared(
    y_true: ArrayLike | None,
    y_pred: ArrayLike,
    *,
    yerr: LabelErrors,
    prederr: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> ChiSquaredScore:
    r"""Are the residuals as large as the errors of the labels say?

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions.
    yerr : number, (n,), (2, n) or error model
        *Standard deviation* of each label, above zero. Asymmetric errors divide by (lower + upper)/2. Correlated errors
        as ``Normal(cov=...)`` or ``Normal(sigma, shared=...)``. With ``Repeats(values)`` each label is divided by the
        error that its own repeats show: squares of Student's t instead of normals, and :math:`\nu/(\nu-2)` takes the
        place of 1 in all answers (:math:`\nu` repeats less one; infinite up to 3 repeats). ``sigma="pooled"`` divides by
        one error for all, and a perfect model scores :math:`F(n, \nu)`.
    prederr : number or (n,), optional
        Standard error of each prediction: residuals are divided by :math:`\sqrt{s_i^2 + \mathrm{prederr}_i^2}`. The perfect
        model, and `pvalue`, then speak of a model that errs by these standard errors alone.
    sample_weight : (n,), optional
        How much each label counts; not with correlated errors.
    groups : (n,), optional
        Which items belong together, as in every metric.

    Returns
    -------
    Score with `pvalue`

    Notes
    -----
    With residuals :math:`d_i = p_i - y_i` and label errors :math:`s_i`,

    .. math:: \mathrm{observed} = \frac1n\sum \frac{d_i^2}{s_i^2}, \qquad
              \text{correlated errors:}\quad \frac1n\,d' S^{-1} d .

    Nothing is subtracted for fitted parameters. A perfect model scores :math:`\chi^2_n/n`, 1 on average: `perfect`, and
    `pvalue`, the probability that it scores at least the observed value. Labels drawn once more from their error bars
    give :math:`\mathrm{expected} = \mathrm{observed} + 1` and the distribution
    :math:`\chi'^2_n(n\,\mathrm{observed})/n`. Against the true values :math:`\mathrm{truth} = \mathrm{observed} - 1` is
    unbiased for the mean of :math:`D_i^2/s_i^2` (for :math:`D' S^{-1} D/n`), with :math:`D_i` the true residuals.

    References
    ----------
    P. R. Bevington, D. K. Robinson, Data Reduction and Error Analysis, 3rd edition, McGraw-Hill (2003).

    Examples
    --------
    Distance moduli of supernovae in 40 bins against a flat universe:

    >>> import scorebars as sb
    >>> sn = sb.datasets.load_pantheon()
    >>> y, p = sn.y, sn.predictions["LCDM_Om0.298"]
    >>> s = sb.reduced_chi_squared(y, p, yerr=sn.yerr)
    >>> print(f"{s.observed:.4f} {s.pvalue:.3f}", s.perfect)
    0.9942 0.481 1.00 ± 0.22 (labels)
    """
    data = one_output(y_true, y_pred, yerr, sample_weight, "reduced_chi_squared", prederr)
    if yerr is None and prederr is None and data.errors.error_free(data.labels):
        raise ValueError("reduced chi-squared needs yerr, the standard deviation of each label: it divides by it.")
    score = ChiSquaredScore(chi_squared_answers(CHI_SQUARED, data))
    if score.undefined:
        warnings.warn(score.undefined, UndefinedMomentWarning, stacklevel=2)
    return score if groups is None else in_groups(score, groups, sample_weight, y_true)


_METHODS = {"ml": most_likely, "chi2": unit_chi_squared}


def intrinsic_scatter(
    y_true: ArrayLike | None,
    y_pred: ArrayLike,
    *,
    yerr: LabelErrors,
    prederr: ArrayLike | None = None,
    offset: bool = False,
    method: str = "ml",
    sample_weight: ArrayLike | None = None,
) -> Estimate:
    r"""How large is the model's own error, when labels (and predictions) have errors too?

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions.
    yerr : number, (n,), (2, n) or error model
        *Standard deviation* of each label; of asymmetric errors the mean of lower and upper counts.
    prederr : number, (n,) or (2, n), optional
        Standard error of each prediction; of asymmetric ones the mean of lower and upper counts.
    offset : bool
        Allow the model a common offset that is not counted as scatter.
    method : {"ml", "chi2"}
        Maximum likelihood, or unit reduced chi-squared.
    sample_weight : (n,), optional
        How much each label counts.

    Returns
    -------
    Estimate
        `interval` is the likelihood profile (``"ml"``), or holds every scatter whose chi-squared is not too unlikely
        (``"chi2"``), both widened where residuals have heavier tails than normal ones, and more above than below: few
        labels seldom show the largest residuals. It speaks of the population of residuals, so `total_interval` is the same.

    Notes
    -----
    Residuals :math:`d_i = p_i - y_i` are taken as normal with variance :math:`\tau^2 + s_i^2`, where
    :math:`s_i^2 = \mathrm{yerr}_i^2 + \mathrm{prederr}_i^2`. With weights :math:`w_i`, the scatter :math:`\tau`

    .. math::
        \text{"ml":}\quad \text{maximises}\quad
        -\tfrac12\sum w_i\Bigl[\log(\tau^2+s_i^2) + \frac{(d_i-\mu)^2}{\tau^2+s_i^2}\Bigr], \qquad
        \text{"chi2":}\quad \text{solves}\quad \sum w_i\frac{(d_i-\mu)^2}{\tau^2+s_i^2} = \sum w_i ,

    and is 0 where the errors alone explain the residuals. :math:`\mu` is 0, or with `offset` the value that fits best.
    Error sizes that are estimates themselves (``Normal(sigma, dof=)``, ``scale_error=``, `Repeats`) widen the interval.

    References
    ----------
    P. Möller, J. R. Nix, W. D. Myers, W. J. Swiatecki, At. Data Nucl. Data Tables 59 (1995) 185 (the model error).

    Examples
    --------
    The error of a nuclear mass model, the errors of the measured masses removed:

    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> print(sb.intrinsic_scatter(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr))
    0.560 ± 0.014 (labels and sample)
    """
    if method not in _METHODS:
        raise ValueError(f"method must be 'ml' (maximum likelihood) or 'chi2' (unit chi-squared), got {method!r}.")
    if prederr is not None and np.ndim(prederr) == 2 and len(sides := np.asanyarray(prederr)) == 2:
        prederr = _mean_of_sides(sides)
    limits = yerr if isinstance(yerr, Censored) and yerr.limited else None
    data = one_output(y_true, y_pred, yerr, sample_weight, "intrinsic_scatter", prederr if limits is None else None)
    if limits is not None:
        if method != "ml":
            raise ValueError("labels that are limits have no chi-squared: use method='ml'.")
        s = np.broadcast_to(limits.sigma, (data.n,))
        s = s if prederr is None else np.hypot(s, prediction_errors(prederr, (data.n,)))
        return limited_scatter(limits, data.predictions, s, data.weight, bool(offset))
    both, predicted = label_errors(data), data.errors.of_predictions()
    own = 0.0 if predicted is None else np.asarray(predicted.sigma)

    def at(factor: FloatArray | float) -> Estimate:
        """With label errors `factor` times as large."""
        s = np.sqrt(np.maximum(np.square(both) - np.square(own), 0.0)) if predicted is not None else both
        return _METHODS[method](*in_own_units(data.residual, np.hypot(s * factor, own), data.weight, bool(offset)))

    return of_uncertain_sizes(at, data.errors.of_labels())


def label_errors(data: Measured) -> FloatArray:
    """One standard deviation for each label; of asymmetric errors the mean of lower and upper."""
    errors = data.errors
    if errors.kind == "berkson":
        raise ValueError(
            "intrinsic_scatter needs classical errors (label = truth + error): under Berkson error the residuals do "
            "not hold the label errors, so there is nothing to remove."
        )
    if not errors.independent:
        raise ValueError(
            "intrinsic_scatter needs independent errors: pass sigma, the standard deviation of each label, instead of "
            "a covariance or shared shifts."
        )
    s = errors.error_bar(np.asarray(data.y, dtype=np.float64))
    checks.require_finite(s, "yerr (its standard deviation)")
    return s


def _mean_of_sides(values: Any) -> Any:
    """The mean of lower and upper errors; a unit stays."""
    plain = np.asarray(getattr(values, "value", values), dtype=np.float64)
    checks.require_finite(plain, "prederr")
    checks.require_non_negative(plain, "prederr", "prederr is a standard deviation: it cannot be below 0.")
    return values.mean(axis=0)
