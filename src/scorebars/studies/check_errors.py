"""Are the quoted label errors believable?"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtr, chdtrc, ndtr, ndtri

from scorebars._shared.score_views import counted, left_out
from scorebars._shared.shown import Printout, Shown
from scorebars.answers.base import PER_CENT
from scorebars.answers.means.squared import chi_squared_answers, perfect_chi_squared, pvalues_of, squared_law
from scorebars.answers.score import Interval
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors import Censored, MeasurementError, Normal
from scorebars.errors.repeats import Repeats
from scorebars.evaluation.study_data import study_data
from scorebars.laws.law import Law
from scorebars.laws.mean_loss_law import mean_law
from scorebars.laws.samples import SampleLaw
from scorebars.losses import SquaredError
from scorebars.measured import Measured
from scorebars.metrics import call
from scorebars.metrics.chi_squared import CHI_SQUARED
from scorebars.numerics import FIXED_SEED

_DEFAULT_SHARE = 0.2
_DOUBT = 0.01
"""p-values below this are doubted."""
_FEWEST = 5
"""At least this many of the noisiest labels are looked at."""
_ANY_SCALE = Interval(0.0, math.inf)


@dataclass(frozen=True, repr=False)
class ErrorCheck(Shown):
    """What the residuals say about the label errors.

    Attributes
    ----------
    pulls
        (n,) residuals p - y in units of the label error, NaN where the error is zero. What a perfect model would show
        on average (the offset of asymmetric errors) is taken off; errors that depend on the truth are those at the
        prediction, which a perfect model has right.
    reduced_chi_squared, pvalue_high, pvalue_low
        Mean squared pull (correlated errors: d' S^-1 d / n), and the probabilities that a perfect model would show one
        at least as high, or as low, under this error model.
    pvalue_noisiest
        The same as `pvalue_low` for the noisiest labels, the few that hold half of the squared label error; None where
        no few labels do, or errors are correlated. A model that was fitted to these labels follows their errors and
        shows here first.
    scale
        By which factors all errors could be multiplied (95 %) so that a perfect model would show a chi-squared as this
        one; 1 is inside where the errors are believable and the model is perfect. A model with errors of its own needs
        less, so the upper end bounds what the errors may be understated by.
    perfect_chi_squared
        What a perfect model shows on average: 1, more where errors come from few repeats.
    noise_share
        Mean squared label error over mean squared residual.
    zero_share, repeated_share, repeated_value
        Labels with error zero, and with the most frequent value.
    growth
        Slope of ``log(error)`` against ``log(|label|)``; 1 for relative errors, 0 for constant ones; None if undefined.
    repeats_ratio, repeats_pvalue
        Quoted variance over that of the repeats, with its two-sided p-value (only `Repeats` compared with quoted
        errors).
    verdict
        What the residuals say of the errors: doubt from p = 0.01 on; where 1 lies outside of `scale` but p does not
        speak against the errors, since their size is known to a fraction only or p is just above 0.01, both are said.
    warnings
        Plain sentences.
    doubts
        Those of them that put every score of this model in doubt: errors of another unit or overstated, a model that
        has seen the labels.
    omitted
        Rows that were left out because they miss a value.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> check = sb.check_errors(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr)
    >>> print(f"{check.noise_share:.3f} {check.pvalue_noisiest:.2f}")
    0.044 0.90
    """

    n: int
    pulls: FloatArray
    reduced_chi_squared: float
    pvalue_high: float
    pvalue_low: float
    noise_share: float
    zero_share: float
    repeated_share: float
    repeated_value: float
    growth: float | None
    repeats_ratio: float | None
    repeats_pvalue: float | None
    warnings: list[str]
    omitted: int = 0
    perfect_chi_squared: float = 1.0
    pvalue_noisiest: float | None = None
    doubts: list[str] = field(default_factory=list)
    scale: Interval = _ANY_SCALE

    @property
    def too_good(self) -> bool:
        """Whether residuals are smaller than the label errors allow, on all labels or on the noisiest ones."""
        return min(self.pvalue_low, 1.0 if self.pvalue_noisiest is None else self.pvalue_noisiest) < _DOUBT

    @property
    def verdict(self) -> str:
        """What the residuals say of the errors, in one sentence."""
        if self.pvalue_low < _DOUBT:
            return "The errors are overstated, or the model has seen these labels."
        if self.too_good:
            return "The model has probably seen these labels, so the residuals do not test the errors."
        if self.repeats_pvalue is not None and self.repeats_pvalue < _DOUBT:
            return "The quoted errors do not agree with the scatter of the repeats."
        if self.pvalue_high < _DOUBT:
            return "The model errs by more than the label errors explain (or these are understated)."
        if not self.scale.low <= 1.0 <= self.scale.high:
            word, p = ("larger", self.pvalue_high) if self.scale.low > 1.0 else ("smaller", self.pvalue_low)
            return (
                f"The residuals are {word} than errors of exactly the quoted size would make them, and consistent with errors "
                f"scaled by {self.scale.low:.3g} to {self.scale.high:.3g}, which the errors as given allow (p = {p:.2g})."
            )
        return "The residuals are as large as the label errors alone would make them."

    def view(self) -> Printout:
        """What printing and notebooks show."""
        lines = [
            f"pulls: mean {np.nanmean(self.pulls):.3g}, std {np.nanstd(self.pulls):.3g} (a perfect model: 0 and "
            f"{math.sqrt(self.perfect_chi_squared):.3g})",
            f"reduced chi-squared {self.reduced_chi_squared:.4g} (a perfect model: {self.perfect_chi_squared:.3g}; at "
            f"least this with probability {self.pvalue_high:.3g})",
            f"consistent with errors scaled by {self.scale.low:.3g} to {self.scale.high:.3g} (95 %), if the model were perfect",
            f"noise share {self.noise_share:.3g}: how much of the mean squared residual is label error",
            f"zero errors {self.zero_share:.1%}; most frequent error {self.repeated_value:g} ({self.repeated_share:.1%})",
        ]
        if self.growth is not None:
            lines.append(f"error grows as |label|^{self.growth:.2f}")
        if self.omitted:
            lines.append(left_out(self.omitted))
        return Printout(
            f"label errors of {counted(self.n, 'label')}: {self.verdict}", notes=lines, warnings=self.warnings
        )


_DRAWN = "each was replaced by a number drawn within it as a perfect model would have it (fixed seed)"


def check_errors(
    y_true: Any,
    y_pred: Any = None,
    *,
    repeats: Repeats | None = None,
    yerr: Any = None,
    prederr: Any = None,
    y: Hashable | None = None,
    pred: Any = None,
    nan_policy: str = "raise",
) -> ErrorCheck:
    r"""Are these label errors consistent with the residuals, and do they look measured?

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions of a model.
    yerr : number, (n,), (2, n) or error model
        The quoted errors.
    prederr : number or (n,), optional
        Standard errors of the predictions: pulls are residuals in units of both errors, and a perfect model is one that errs
        by these alone. With normal errors of the labels only.
    y, pred, nan_policy : as in `evaluate`
        ``check_errors(table, y="mass", pred="model", yerr="mass_err")`` takes columns by name.
    repeats : Repeats, optional
        Repeated measurements of the same labels: are the quoted errors consistent with their scatter?

    Returns
    -------
    ErrorCheck
        Pulls, reduced chi-squared with its p-values, noise share, and warnings in plain words.

    Notes
    -----
    A pull is :math:`(p_i - y_i)/\sigma_i`; the mean of the squared pulls of a perfect model is 1 (correlated errors:
    :math:`d'\Sigma^{-1}d/n`). The p-values say how often a perfect model shows a larger or smaller one under this error
    model: exactly for normal errors, by quadrature or draws for other families. `scale` holds the factors f of all errors for
    which :math:`\chi^2/f^2` lies between the quantiles of a perfect model. Errors whose size is known to a fraction
    (``Normal(sigma, scale_error=0.2)``, ``dof=``) have wider distributions: Fisher's F takes the place of chi-squared.

    References
    ----------
    R. Barlow, *Statistics: A Guide to the Use of Statistical Methods in the Physical Sciences* (Wiley, 1989), chapter 6.

    Examples
    --------
    >>> import scorebars as sb
    >>> supernovae = sb.datasets.load_pantheon(binned=False)
    >>> check = sb.check_errors(supernovae.y, supernovae.predictions["LCDM_Om0.298"], yerr=supernovae.yerr)
    >>> round(check.noise_share, 2), check.warnings[0]
    (1.03, 'more than half of the mean squared residual is label error: better labels would tell more.')
    """
    given = study_data(y_true, y_pred, y=y, pred=pred, yerr=yerr, prederr=prederr, nan_policy=nan_policy)
    if len(given.models) != 1:
        raise ValueError(f"check_errors takes the predictions of one model, got those of {len(given.models)}.")
    if repeats is not None and given.omitted:
        raise ValueError("repeats cannot be given where rows are left out: drop the rows with missing values first.")
    (name, prediction), *_ = given.models.items()
    data = call.measured(given.y_true, prediction, given.yerr, None, given.prederr.get(name))[0]
    data.require_valid()
    limits = data.errors if isinstance(data.errors, Censored) else None
    data = data if limits is None else _drawn_within(limits, data)
    data = _of_both_errors(data, repeats)
    label, d = np.asarray(data.y, float), data.residual
    sd = _error_sizes(data.errors, label)
    found_pulls = _pulls(data)
    known = np.isfinite(found_pulls)
    if not known.any():
        raise ValueError("all label errors are zero: there is nothing to check. Pass yerr.")
    chi_squared = _chi_squared(data, found_pulls, known)
    noisiest = _noisiest(sd) if data.errors.independent else None
    mean_square = float(np.mean(np.square(d)))
    values, times = np.unique(sd, return_counts=True)
    top = int(np.argmax(times))
    ratio, ratio_p = (None, None) if repeats is None else _against_repeats(sd, data.errors.repeats, repeats)
    found = ErrorCheck(
        n=data.n,
        pulls=found_pulls,
        reduced_chi_squared=chi_squared.observed,
        pvalue_high=chi_squared.high,
        pvalue_low=chi_squared.low,
        pvalue_noisiest=None if noisiest is None else _chi_squared(data, found_pulls, noisiest).low,
        perfect_chi_squared=chi_squared.perfect,
        noise_share=float(np.mean(np.square(sd))) / mean_square if mean_square > 0 else math.inf,
        zero_share=float(np.mean(sd == 0)),
        repeated_share=float(times[top]) / data.n,
        repeated_value=float(values[top]),
        growth=_growth(label[sd > 0], sd[sd > 0]),
        repeats_ratio=ratio,
        repeats_pvalue=ratio_p,
        warnings=[],
        omitted=given.omitted,
        scale=chi_squared.scale,
    )
    found.warnings.extend([] if limits is None else [f"{limits.said()}: {_DRAWN}."])
    found.doubts.extend([*([PER_CENT] if data.dwarfed_by_errors else []), *_fitted(found)])
    found.warnings.extend([*found.doubts, *_warnings(found, scalar=bool(np.ptp(sd) == 0))])
    return found


def _drawn_within(limits: Censored, data: Measured) -> Measured:
    """Each limit replaced by a number drawn within it as a perfect model would have it; the seed is fixed.

    If model and errors are right, the numbers drawn and the numbers measured together have unit normal pulls.
    """
    p, s = data.predictions, np.broadcast_to(limits.sigma, (data.n,))
    scale = np.where(s > 0, s, 1.0)
    low, high = (limits.lower - p) / scale, (limits.upper - p) / scale
    flip = low > 0  # the tail that keeps its digits
    first, last = ndtr(np.where(flip, -high, low)), ndtr(np.where(flip, -low, high))
    drawn = ndtri(first + (last - first) * np.random.default_rng(FIXED_SEED).random(data.n))
    z = np.clip(np.where(flip, -drawn, drawn), low, high)
    inside = np.where(s > 0, p + scale * np.where(np.isfinite(z), z, 0.0), limits.nearest(p))
    y = np.where(limits.limits, np.clip(inside, limits.lower, limits.upper), limits.labels())
    return Measured(y, data.p, Normal.trusted(s), data.weight)


def _centre(data: Measured) -> FloatArray:
    """About what labels scatter if the model is perfect: predictions. Under Berkson error predictions scatter about labels."""
    at_label = data.errors.kind == "berkson" or not data.errors.follows_label
    return np.asarray(data.y if at_label else data.p, dtype=np.float64)


def _impossible(data: Measured) -> BoolArray:
    """Predictions that cannot be true values, such as a negative count."""
    return (_centre(data) < 0) & data.errors.non_negative


def _error_sizes(errors: MeasurementError, y: FloatArray) -> FloatArray:
    """Standard deviations of the labels; half the central 68 % where a family has none."""
    variance = errors.label_variance(y)
    if np.all(np.isfinite(variance)):
        return np.sqrt(variance)
    low, high = errors.central_68(y)
    return np.where(np.isfinite(variance), np.sqrt(variance), (high - low) / 2.0)


def _of_both_errors(data: Measured, repeats: Repeats | None) -> Measured:
    """The data with the errors of label less prediction, where predictions have errors of their own."""
    if data.errors.of_predictions() is None:
        return data
    if data.errors.of_labels().normal is None or data.errors.estimated or repeats is not None:
        raise ValueError(
            "check_errors takes prederr with normal label errors of known size, and without repeats: pass yerr=sigma, or check "
            "the label errors without prederr."
        )
    return data.of_difference()


def _offset(errors: MeasurementError, y: FloatArray) -> FloatArray:
    """How far the mean of a fresh label lies from the value behind it; the median where there is no mean."""
    with np.errstate(invalid="ignore"):
        mean = errors.mean(y)
    centre = mean if np.all(np.isfinite(mean)) else np.where(np.isfinite(mean), mean, errors.ppf(y, np.asarray(0.5)))
    return np.asarray(centre - y)


def _pulls(data: Measured) -> FloatArray:
    """Residuals prediction - label less what a perfect model shows on average, in units of the error."""
    centre = np.where(_impossible(data), np.asarray(data.y, dtype=np.float64), _centre(data))
    sign = -1.0 if data.errors.kind == "berkson" else 1.0
    sd, d = _error_sizes(data.errors, centre), sign * _offset(data.errors, centre) - data.residual
    return np.where(sd > 0, d / np.where(sd > 0, sd, 1.0), np.nan)


class _ChiSquared(NamedTuple):
    """A reduced chi-squared, and what a perfect model shows."""

    observed: float
    perfect: float
    """What a perfect model shows on average."""
    low: float
    """Probability that it shows at most the observed one."""
    high: float
    """Probability that it shows at least the observed one."""
    scale: Interval
    """By which factors all errors may be changed."""


def _chi_squared(data: Measured, pulls: FloatArray, known: BoolArray) -> _ChiSquared:
    """The reduced chi-squared of the labels that are `known` to have an error."""
    part = data if known.all() else Measured(data.y[known], data.p[known], data.errors[np.flatnonzero(known)])
    errors, count = part.errors, part.n
    observed = float(np.mean(np.square(pulls[known])))
    normal = errors.normal
    if normal is not None:
        if normal.independent or _regular(normal):
            answers = chi_squared_answers(CHI_SQUARED, part)
            scale = _scales(answers.observed, perfect_chi_squared(answers))
            return _ChiSquared(answers.observed, float(answers.perfect()), *pvalues_of(answers), scale)
        # labels known exactly in some combination: the sum of squared pulls has a distribution of its own
        inverse = 1.0 / errors.label_variance(np.asarray(part.y, dtype=np.float64))
        law: Law = squared_law(normal.label_level(), np.zeros(count), inverse)
        unit = count / float(np.sum(inverse))
        scale = _scales(observed, law, unit)
        return _ChiSquared(observed, 1.0, float(law.cdf(observed * unit)), float(law.sf(observed * unit)), scale)
    if _impossible(part).any():
        return _ChiSquared(observed, 1.0, 1.0, 0.0, _ANY_SCALE)
    centre = _centre(part)
    shares = 1.0 / (count * np.square(_error_sizes(errors, centre)))
    law = mean_law(SquaredError(), errors, centre, centre + _offset(errors, centre), shares)
    least = 1.0 / (len(law.draws) + 1.0) if isinstance(law, SampleLaw) else 0.0
    low, high = (max(p, least) for p in (float(law.cdf(observed)), float(law.sf(observed))))
    return _ChiSquared(observed, float(law.mean), low, high, _scales(observed, law))


def _scales(observed: float, perfect: Law, unit: float = 1.0) -> Interval:
    """By which factors all errors may be changed so that the observed chi-squared is still likely, at 95 %.

    `perfect` is the distribution of `unit` times the chi-squared of a perfect model.
    """
    most, least = float(perfect.ppf(0.975)) / unit, float(perfect.ppf(0.025)) / unit
    return Interval(
        math.sqrt(observed / most) if most > 0 else math.inf, math.sqrt(observed / least) if least > 0 else math.inf
    )


def _noisiest(sd: FloatArray) -> BoolArray | None:
    """The fewest labels that hold half of the squared label error; None where these are not a small group.

    They are chosen by their errors alone, so the residuals of a model that has not seen them are as large as ever.
    """
    order = np.argsort(-sd, kind="stable")
    held = np.cumsum(np.square(sd[order]))
    count = max(int(np.searchsorted(held, held[-1] / 2)) + 1, _FEWEST)
    if count > len(sd) / 4:
        return None
    found = np.zeros(len(sd), dtype=np.bool_)
    found[order[:count]] = True
    return found


def _regular(errors: Normal) -> bool:
    """Whether the covariance has an inverse."""
    if errors.cov is None:
        return bool(np.all(np.asarray(errors.sigma) > 0))
    scale = np.sqrt(np.diagonal(errors.cov))
    return float(np.linalg.eigvalsh(errors.cov / np.outer(scale, scale))[0]) > 1e-13 * len(scale)


def _growth(y: FloatArray, sd: FloatArray) -> float | None:
    """Slope of log error on log |label|, where both vary."""
    use = y != 0
    x, z = np.log(np.abs(y[use])), np.log(sd[use])
    if len(x) < 10 or np.ptp(x) == 0 or np.ptp(z) == 0:
        return None
    return float(np.cov(x, z)[0, 1] / np.var(x, ddof=1))


def _against_repeats(sd: FloatArray, quoted_repeats: FloatArray | float, repeats: Repeats) -> tuple[float, float]:
    """Pooled variance of the repeats over the quoted one; chi-square with the pooled degrees of freedom."""
    repeats.require_size(len(sd), "repeats")
    if repeats.scatter is None:
        raise ValueError("repeats holds no scatter: pass the measurements, Repeats(values), not errors that are known.")
    quoted = np.square(sd) * quoted_repeats
    nu = np.broadcast_to(np.asarray(repeats.repeats) - 1.0, sd.shape)
    use = (nu > 0) & (quoted > 0)
    if not use.any():
        raise ValueError("repeats and yerr have no label in common that has repeats and a quoted error above zero.")
    total = float(np.sum((nu * repeats.scatter.own / np.where(quoted > 0, quoted, 1.0))[use]))
    degrees = float(nu[use].sum())
    p = 2 * min(float(chdtr(degrees, total)), float(chdtrc(degrees, total)))
    return degrees / total if total > 0 else math.inf, min(p, 1.0)


def _fitted(c: ErrorCheck) -> list[str]:
    """What residuals that are too small for the label errors say."""
    if c.pvalue_low < _DOUBT:
        return [
            f"the residuals are smaller than the label errors allow (p = {c.pvalue_low:.2g}): the errors are overstated, or "
            "the model has seen these labels."
        ]
    if c.pvalue_noisiest is None or c.pvalue_noisiest >= _DOUBT:
        return []
    return [
        "on the noisiest labels, which hold half of the squared label error, the residuals are smaller than these errors "
        f"allow (p = {c.pvalue_noisiest:.2g}): the model was probably fitted to these labels, and its score against the "
        "truth is then too good. Judge it on labels it has not seen."
    ]


def _warnings(c: ErrorCheck, scalar: bool) -> list[str]:
    out = []
    if c.noise_share > 0.5 and c.pvalue_low >= _DOUBT:
        out.append("more than half of the mean squared residual is label error: better labels would tell more.")
    if c.zero_share > 0:
        out.append(f"{c.zero_share:.1%} of the labels have an error of exactly zero: are they known, or is it missing?")
    if not scalar and c.repeated_share > _DEFAULT_SHARE and c.repeated_value > 0:
        out.append(
            f"{c.repeated_share:.0%} of the errors are {c.repeated_value:g}: a default rather than a measurement?"
        )
    if c.growth is not None and c.growth > 0.5:
        out.append(f"errors grow with the label (as its power {c.growth:.2f}): relative errors, LogNormal may suit.")
    if c.repeats_pvalue is not None and c.repeats_pvalue < _DOUBT:
        word = "larger" if (c.repeats_ratio or 0) > 1 else "smaller"
        out.append(f"the quoted errors are {word} than the scatter of the repeats shows (p = {c.repeats_pvalue:.2g}).")
    return out
