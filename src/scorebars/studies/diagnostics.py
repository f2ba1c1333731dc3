"""Are the quoted label errors believable?"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtr, chdtrc

from scorebars._render import text
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.errors.repeats import Repeats
from scorebars.metrics import inputs
from scorebars.studies.gather import gather

_DEFAULT_SHARE = 0.2


@dataclass(frozen=True)
class ErrorCheck:
    """What the residuals say about the label errors.

    Attributes
    ----------
    pulls : (n,) residuals y - p in units of the label error, NaN where the error is zero
    reduced_chi_squared, pvalue_high, pvalue_low : mean squared pull, and the probabilities that a perfect model would
        show one at least as high, or as low
    noise_share : mean squared label error over mean squared residual
    zero_share, repeated_share, repeated_value : labels with error zero, and with the most frequent value
    growth : slope of log(error) against log(|label|); 1 for relative errors, 0 for constant ones; None if undefined
    repeats_ratio, repeats_pvalue : quoted variance over that of the repeats, with its two-sided p-value (only `Repeats`
        compared with quoted errors)
    warnings : plain sentences
    omitted : rows that were left out because they miss a value
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

    def __str__(self) -> str:
        lines = [
            f"label errors of {self.n} labels",
            f"pulls: mean {np.nanmean(self.pulls):.3g}, std {np.nanstd(self.pulls):.3g} (a perfect model: 0 and 1)",
            f"reduced chi-squared {self.reduced_chi_squared:.4g} (p-value of a perfect model {self.pvalue_high:.3g})",
            f"noise share {self.noise_share:.3g}: how much of the mean squared residual is label error",
            f"zero errors {self.zero_share:.1%}; most frequent error {self.repeated_value:g} ({self.repeated_share:.1%})",
        ]
        if self.growth is not None:
            lines.append(f"error grows as |label|^{self.growth:.2f}")
        if self.omitted:
            lines.append(text.left_out(self.omitted))
        return "\n".join([*lines, *(f"Warning: {w}" for w in self.warnings)])


def check_errors(
    y_true: Any,
    y_pred: Any = None,
    yerr: Any = None,
    *,
    y: Hashable | None = None,
    pred: Any = None,
    repeats: Repeats | None = None,
    nan_policy: str = "raise",
) -> ErrorCheck:
    """Are these label errors consistent with the residuals, and do they look measured?

    Parameters
    ----------
    y_true, y_pred : (n,)
        Labels and predictions of a model.
    yerr : number, (n,), (2, n) or error model
        The quoted errors.
    y, pred, nan_policy : as in `evaluate`
        ``check_errors(table, y="mass", pred="model", yerr="mass_err")`` takes columns by name.
    repeats : Repeats, optional
        Repeated measurements of the same labels: are the quoted errors consistent with their scatter?

    Examples
    --------
    >>> import scorebars as sb
    >>> supernovae = sb.datasets.load_pantheon(binned=False)
    >>> check = sb.check_errors(supernovae.y, supernovae.predictions["LCDM_Om0.298"], supernovae.yerr)
    >>> round(check.noise_share, 2), check.warnings[0]
    (1.03, 'more than half of the mean squared residual is label error: better labels would tell more.')
    """
    given = gather(y_true, y_pred, y=y, pred=pred, yerr=yerr, nan_policy=nan_policy)
    if len(given.models) != 1:
        raise ValueError(f"check_errors takes the predictions of one model, got those of {len(given.models)}.")
    if repeats is not None and given.omitted:
        raise ValueError("repeats cannot be given where rows are left out: drop the rows with missing values first.")
    data = inputs.measured(given.y_true, next(iter(given.models.values())), given.yerr, None)[0]
    inputs.diagnose(data)
    label, d = np.asarray(data.y, float), data.residual
    sd = np.sqrt(data.errors.label_variance(label))
    known = sd > 0
    if not known.any():
        raise ValueError("all label errors are zero: there is nothing to check. Pass yerr.")
    pulls = np.full(data.n, np.nan)
    pulls[known] = d[known] / sd[known]
    chi2, count = float(np.sum(np.square(pulls[known]))), int(known.sum())
    if isinstance(data.errors, Normal) and data.errors.cov is not None:
        chi2 = float(d @ np.linalg.lstsq(data.errors.cov, d, rcond=None)[0])
    mean_square = float(np.mean(np.square(d)))
    values, times = np.unique(sd, return_counts=True)
    top = int(np.argmax(times))
    ratio, ratio_p = (None, None) if repeats is None else _against_repeats(sd, data.errors.repeats, repeats)
    found = ErrorCheck(
        n=data.n,
        pulls=pulls,
        reduced_chi_squared=chi2 / count,
        pvalue_high=float(chdtrc(count, chi2)),
        pvalue_low=float(chdtr(count, chi2)),
        noise_share=float(np.mean(np.square(sd))) / mean_square if mean_square > 0 else math.inf,
        zero_share=float(np.mean(~known)),
        repeated_share=float(times[top]) / data.n,
        repeated_value=float(values[top]),
        growth=_growth(label[known], sd[known]),
        repeats_ratio=ratio,
        repeats_pvalue=ratio_p,
        warnings=[],
        omitted=given.omitted,
    )
    found.warnings.extend(_warnings(found, scalar=bool(np.ptp(sd) == 0)))
    return found


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
    quoted = np.square(sd) * quoted_repeats
    nu = np.broadcast_to(np.asarray(repeats.repeats) - 1.0, sd.shape)
    use = (nu > 0) & (quoted > 0)
    if not use.any():
        raise ValueError("repeats and yerr have no label in common that has repeats and a quoted error above zero.")
    total = float(np.sum((nu * np.square(repeats.sigma) / np.where(quoted > 0, quoted, 1.0))[use]))
    degrees = float(nu[use].sum())
    p = 2 * min(float(chdtr(degrees, total)), float(chdtrc(degrees, total)))
    return degrees / total if total > 0 else math.inf, min(p, 1.0)


def _warnings(c: ErrorCheck, scalar: bool) -> list[str]:
    out = []
    if c.pvalue_low < 0.01:
        out.append(
            f"the residuals are smaller than the label errors allow (p = {c.pvalue_low:.2g}): the errors are overstated, or "
            "the model has seen these labels."
        )
    if c.noise_share > 0.5 and c.pvalue_low >= 0.01:
        out.append("more than half of the mean squared residual is label error: better labels would tell more.")
    if c.zero_share > 0:
        out.append(f"{c.zero_share:.1%} of the labels have an error of exactly zero: are they known, or is it missing?")
    if not scalar and c.repeated_share > _DEFAULT_SHARE and c.repeated_value > 0:
        out.append(
            f"{c.repeated_share:.0%} of the errors are {c.repeated_value:g}: a default rather than a measurement?"
        )
    if c.growth is not None and c.growth > 0.5:
        out.append(f"errors grow with the label (as its power {c.growth:.2f}): relative errors, LogNormal may suit.")
    if c.repeats_pvalue is not None and c.repeats_pvalue < 0.01:
        word = "larger" if (c.repeats_ratio or 0) > 1 else "smaller"
        out.append(f"the quoted errors are {word} than the scatter of the repeats shows (p = {c.repeats_pvalue:.2g}).")
    return out
