"""The study of a forecast's error bars: from labels, forecasts and tables to a `Calibration`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from scorebars import tables
from scorebars.errors import MeasurementError
from scorebars.evaluation.study_data import error_columns
from scorebars.forecasts import Forecast, NormalForecast
from scorebars.metrics.forecast_inputs import forecast_data
from scorebars.studies.calibration.calibration_result import Calibration, Calibrations
from scorebars.studies.calibration.judged_forecast import JudgedForecast

_MOST_CORRELATED = 4_000
"""Correlated label errors are taken apart up to this many labels: it needs an n x n matrix."""


def calibration(
    y_true: Any,
    forecast: Any = None,
    *,
    yerr: Any = None,
    y: Hashable | None = None,
    pred: Any = None,
    std: Hashable | None = None,
) -> Calibration | Calibrations:
    r"""Are a forecast's error bars right, once the errors of the labels are allowed for?

    A perfect forecast of the truth looks over-confident on labels with errors. Here it does not.

    Parameters
    ----------
    y_true : (n,)
        Labels.
    forecast : Forecast, (mean, std), (n, m) members, frozen distribution, or a mapping of several by name
        As in `crps`. A forecast with ``claims="label"`` holds the label error already: it is compared with the labels as
        they are.
    yerr : number, (n,), (2, n) or error model
        Errors of the labels, as in every metric. Correlated errors need normal forecasts.
    y, pred, std : names of columns
        ``calibration(table, y="mass", pred="gp", std="gp_std", yerr="mass_err")`` takes columns of a table by name. A list
        of names in `pred` is one ensemble, its members.

    Returns
    -------
    Calibration
        Printing it shows the verdict and its numbers; `pit`, `spread_factor`, `bias`, `curve`, `by_spread` and others hold
        them, `naive` what ignoring the label errors would have said. Several forecasts give `Calibrations`, a mapping.

    Notes
    -----
    The label of a forecast :math:`F_i` of the truth follows :math:`F_i` convolved with the label error, so

    .. math:: u_i = (F_i * e_i)(y_i), \qquad z_i = \Phi^{-1}(u_i)

    are uniform and standard normal if forecast and label errors are right. An ensemble of m members is right if the label
    is like one more of them: :math:`u_i` is its rank among the members, each with a label error of its own.

    The spread factor :math:`\lambda` maximises the likelihood of :math:`d_i \sim N(0, \lambda^2 v_i + \sigma_i^2)`, where
    :math:`d_i` is the mean forecast less the label and :math:`v_i` the variance of the forecast; its interval is the
    likelihood profile. Of an ensemble :math:`v_i` is :math:`1 + 1/m` times the variance of its members, which m of them
    tell only so well: the likelihood is averaged over the :math:`v_i` that the members of all labels make possible. The
    bias is the mean of the :math:`d_i` with weights :math:`1/(\lambda^2 v_i + \sigma_i^2)` and Student's interval.

    Four tests decide: the common bias of the :math:`z_i`, their scatter about it (chi-square), and Kolmogorov's test of
    the :math:`u_i` and of the coverage :math:`|2u_i - 1|`. Each is exact. A p-value below 0.015 in any of them calls the
    forecast not calibrated, which happens to a calibrated one in 5 % of all cases.

    References
    ----------
    T. Gneiting, F. Balabdaoui and A. E. Raftery, J. R. Stat. Soc. B 69 (2007) 243.

    Examples
    --------
    Labels as uncertain as the forecast is:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=500)
    >>> label = truth + rng.normal(0, 0.3, 500)
    >>> found = sb.calibration(label, (truth + rng.normal(0, 0.3, 500), np.full(500, 0.3)), yerr=0.3)
    >>> found.calibrated, found.naive.calibrated
    (True, False)
    >>> print(found.naive.verdict.partition(";")[0])
    Over-confident: the error bars are too small by a factor of 1.4 (1.31 to 1.49)
    """
    if y is not None or pred is not None or std is not None:
        y_true, forecast, yerr = _from_table(y_true, forecast, y, pred, std, yerr)
    if isinstance(forecast, Mapping):
        if not forecast:
            raise ValueError("forecast is an empty mapping: give at least one forecast by name.")
        return Calibrations({str(name): _calibration(y_true, one, yerr) for name, one in forecast.items()})
    return _calibration(y_true, forecast, yerr)


def _calibration(y_true: Any, given: Any, yerr: Any) -> Calibration:
    data = forecast_data(y_true, given, yerr, None)
    if data.limited:
        raise ValueError(
            "calibration takes no labels that are limits (Censored): where in its forecast such a label falls is not known. "
            "crps, log_score and interval_coverage take them."
        )
    forecast: Forecast = data.p
    said: tuple[str, ...] = ()
    errors: MeasurementError | None = None if data.errors.error_free(data.labels) else data.errors
    if errors is not None and forecast.claims == "label":
        said = ("the forecast claims the label, error and all, so the label errors are not added to its spread.",)
        errors = None
    if errors is not None:
        forecast.seen_through(errors)  # refuses what a forecast cannot be seen through
        if not errors.independent:
            _require_turnable(forecast, data.n)
    unit = "" if data.unit is None else str(data.unit)
    return Calibration(JudgedForecast(data.labels, forecast, errors), unit, said)


def _require_turnable(forecast: Forecast, n: int) -> None:
    """Refuse correlated label errors where residuals cannot be made independent."""
    if not isinstance(forecast, NormalForecast):
        raise ValueError(
            "label errors that are correlated (cov, shared or batch) are allowed for with normal forecasts only: this one is a "
            f"{type(forecast).__name__}. Give NormalForecast(forecast.mean, forecast.std), or the errors of each label alone."
        )
    if n > _MOST_CORRELATED:
        raise ValueError(
            f"{n} labels with correlated errors are too many: calibration takes up to {_MOST_CORRELATED} of them, since it "
            "needs their covariance matrix. Take a part of the labels, forecast[:k] and yerr[:k]."
        )


def _from_table(
    table: Any, forecast: Any, y: Hashable | None, pred: Any, std: Hashable | None, yerr: Any
) -> tuple[Any, Any, Any]:
    """Labels, forecast and errors from the columns that the arguments name."""
    if forecast is not None:
        raise ValueError("give the forecast either as forecast or, for a table, as the names of its columns in pred.")
    if y is None or pred is None:
        raise ValueError("y and pred are needed with a table: name the columns of the labels and of the forecast.")
    members = list(pred) if isinstance(pred, list | tuple) else []
    if not members and std is None:
        raise ValueError("std is missing: name the column with the standard deviation of the forecast.")
    if members and std is not None:
        raise ValueError("pred is a list of members, whose spread is the forecast's: leave std out.")
    names: dict[str, Any] = {"y": y}
    names |= {f"pred[{k}]": name for k, name in enumerate(members)} if members else {"pred": pred, "std": std}
    pair = error_columns(yerr)
    if pair:
        names |= {"yerr[0]": pair[0], "yerr[1]": pair[1]}
    elif isinstance(yerr, str):
        names["yerr"] = yerr
    found = {name: np.asanyarray(column) for name, column in tables.select(table, names).items()}
    if pair:
        yerr = np.stack([found["yerr[0]"], found["yerr[1]"]])
    given: Any = (found["pred"], found["std"]) if not members else None
    if members:
        given = np.stack([found[f"pred[{k}]"] for k in range(len(members))], axis=1)
    return found["y"], given, found.get("yerr", yerr)
