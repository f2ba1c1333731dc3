"""Several metrics of one or many models, from one read of the data."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from scorebars._shared.score_views import LIMITS_COUNT
from scorebars.evaluation.scoring import Evaluation, Metric, evaluate_arrays, task_of_metrics
from scorebars.evaluation.study_data import PREDERR_OF_FILES, study_data
from scorebars.files.file_study import (
    read_in_pieces,
    remark_on_unused_errors,
    require_known,
    study_in_file,
)
from scorebars.streaming.accumulator import evaluate_dataset
from scorebars.streaming.dask_tree import accumulate_dask


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    yerr: Any = None,
    prederr: Any = None,
    metrics: Metric | Sequence[Metric] | None = None,
    task: str | None = None,
    sample_weight: Any = None,
    by: Any = None,
    groups: Any = None,
    y: Hashable | None = None,
    pred: Any = None,
    nan_policy: str = "raise",
    progress: bool = False,
    **reading: Any,
) -> Evaluation:
    r"""How good are these models, given how well the labels are known?

    Takes arrays, ``evaluate(y_true, y_pred, yerr=sigma)``, a table and the names of its columns,
    ``evaluate(table, y="mass", pred=["a", "b"], yerr="mass_err")``, or a file, ``evaluate("masses.xlsx")``.

    Parameters
    ----------
    y_true : (n,), table, or None
        Labels (None where the error model holds them), or a table of pandas, polars, Arrow or astropy, or a mapping from
        name to column, with the columns that the other arguments name.
    y_pred : (n,), (n, models), mapping or DataFrame
        Predictions of one model, or of several: columns, or a mapping from name to predictions.
    y, pred : names
        In a table: the column of labels, and the column or list of columns of predictions, one for each model, or a
        mapping from model to column. There a forecast has several: ``{"gp": ("mean", "std")}``, or a list of the columns of
        members or quantiles, ``{"qr": ["q10", "q50", "q90"]}``.
    yerr : number, (n,), (2, n) or error model, optional
        Label errors, as in every metric; in a table also the name of a column, or those of lower and upper errors.
    prederr : number, (n,) or mapping, optional
        Standard errors of the predictions, as in every regression metric: the same for all models, or a mapping from model to
        its own. In a table also names of columns.
    sample_weight : (n,), optional
        How much each label counts; in a table also the name of a column.
    by : (n,), optional
        Groups: every score is also given for each group; in a table also the name of a column.
    groups : (n,), optional
        Which items belong together (molecules of a series, scenes, patients), so that other groups may follow: errors from
        the choice of the items are those of groups; in a table also the name of a column.
    metrics : name, function, or list of them, optional
        By default the common ones of the task; ``"rmse"``, ``"mae"``, ``"r2"`` and other short names do. Options go with
        the function, ``functools.partial(sb.fraction_within, tolerance=0.1)``; scores of one function with several options
        have names such as ``fraction_within(tolerance=0.1)``.
    task : {"regression", "classification", "forecast"}, optional
        Guessed from labels, predictions and errors where no metrics are named: texts, booleans, models of class errors, and
        whole numbers of few values that the predictions share mean classes. The result says so where numbers were taken
        as classes.
    nan_policy : {"raise", "omit"}
        Refuse missing values (by their row labels), or leave such rows out for all models and say how many.
    progress : bool
        Show how far the pass over a dataset on disk is.
    **reading
        For files. How they are read, where that is not found by itself: `decimal`, `delimiter`, `encoding`, `sheet`,
        `skip_rows`, `format`. What columns are, as on the command line: `yerr_percent`, `limits` (pairs of columns),
        `model` and `id` (long tables), `repeats`, `votes`, `probabilities` (lists of columns or patterns), `cov` (a file),
        `gold` and `gold_probability` (better labels of the rows that were checked, see `Verified`).

    Returns
    -------
    Evaluation
        ``evaluation["model", "metric"]`` is a `Score`; printing gives a table, `to_frame`, `to_json` and others carry it on.

    Notes
    -----
    Each score answers several questions. For the mean squared error of labels with errors :math:`\sigma_i` and residuals
    :math:`d_i`, observed is :math:`\overline{d_i^2}`, expected (every label redrawn from its error bar once more)
    :math:`\overline{d_i^2 + \sigma_i^2}`, truth (against the true values) :math:`\overline{d_i^2 - \sigma_i^2}`, and a
    perfect model scores :math:`\overline{\sigma_i^2}`. The docstring of each metric has its formulas. Metrics that can
    share one pass over the data do.

    Files are opened as on the command line: texts of all kinds, Excel, OpenDocument, Parquet, Feather, FITS, ECSV, VOTable,
    NetCDF, compressed or not, folders of them, ``dataset:NAME``. Without `y` and `pred` their columns are guessed, and
    `Evaluation.assumed` says what was understood; where a guess would be a gamble, a ValueError asks. With `y` and `pred`
    nothing else is guessed.

    Data that need not fit in memory are summed up batch by batch (see `Accumulator` for the metrics that can be): a
    ``pyarrow.dataset.Dataset``, a ``RecordBatchReader`` or the path of a Parquet, CSV or Feather file or folder, with the
    names of its columns, and arrays and DataFrames of dask, on whatever scheduler is active. There `yerr` is a column (of
    dask arrays: another one), or one number or error model for all labels.

    Arguments from pandas must have the same row labels in the same order; they are never realigned.

    References
    ----------
    R. J. Carroll, D. Ruppert, L. A. Stefanski, C. M. Crainiceanu, *Measurement Error in Nonlinear Models* (Chapman & Hall,
    2006).

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "DZ28")}
    >>> print(sb.evaluate(masses.y, models, yerr=masses.yerr, metrics=["root_mean_squared_error", "mean_error"]))
    model     metric                   observed   expected ± labels  truth ± labels ± sample    perfect ± labels  noise share
    DZ28      root_mean_squared_error  0.36       0.3798 ± 0.0090    0.3390 ± 0.0060 ± 0.0062   0.120 ± 0.016     11.4 %
    DZ28      mean_error               -0.00933   -0.0093 ± 0.0026   -0.0093 ± 0.0026 ± 0.0073  0.0000 ± 0.0026   -
    FRDM2012  root_mean_squared_error  0.5811     0.5936 ± 0.0069    0.568 ± 0.005 ± 0.013      0.120 ± 0.016     4.4 %
    FRDM2012  mean_error               -0.004258  -0.0043 ± 0.0026   -0.004 ± 0.003 ± 0.012     0.0000 ± 0.0026   -
    """
    if reading:
        require_known(reading, y_true)
    if prederr is not None and streamed(y_true):
        raise ValueError(PREDERR_OF_FILES)
    if isinstance(y_true, str | os.PathLike) and not (
        y_pred is None and groups is None and read_in_pieces(y_true, y, pred, reading)
    ):
        if y_pred is not None:
            raise ValueError("give predictions as columns of the file: evaluate(path, pred=...).")
        columns = {"y": y, "pred": pred, "yerr": yerr, "sample_weight": sample_weight, "by": by, "groups": groups}
        task = task or task_of_metrics(metrics)
        study = study_in_file(y_true, columns, task=task, nan_policy=nan_policy, options=reading)
        found = evaluate_arrays(study.forecasts, metrics or study.metrics, study.task)
        limited = f": {LIMITS_COUNT}" if LIMITS_COUNT in found.assumed else ""
        return replace(found, assumed=f"{study.assumed}{limited}")
    if streamed(y_true):
        if groups is not None:
            raise ValueError("groups needs all labels at once: read the data into a table, or leave groups out.")
        return _evaluate_streamed(
            y_true, y_pred, by, nan_policy, progress, y=y, pred=pred, yerr=yerr, sample_weight=sample_weight,
            metrics=metrics, task=task,
        )  # fmt: skip
    columns = {"y": y, "pred": pred, "yerr": yerr, "sample_weight": sample_weight, "by": by, "prederr": prederr}
    columns["groups"] = groups
    data = study_data(y_true, y_pred, nan_policy=nan_policy, **columns)
    return evaluate_arrays(data, metrics, task)


def streamed(data: Any) -> bool:
    """Whether labels come in pieces: from dask, or from files by way of pyarrow."""
    library = type(data).__module__.partition(".")[0]
    return (
        (library in ("dask", "dask_expr") and hasattr(data, "to_delayed"))
        or (library == "pyarrow" and (hasattr(data, "get_fragments") or hasattr(data, "read_next_batch")))
        or isinstance(data, str | os.PathLike)
    )


def _evaluate_streamed(
    data: Any, y_pred: Any, by: Any, nan_policy: str, progress: bool, *, y: Any, pred: Any, **options: Any
) -> Evaluation:
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy must be 'raise' or 'omit', got {nan_policy!r}.")
    if by is not None or (nan_policy == "omit" and hasattr(data, "to_delayed")):
        what = "by needs" if by is not None else "nan_policy='omit' for dask needs"
        raise ValueError(f"{what} all labels at once. Filter the data first, or read them into a table.")
    if hasattr(data, "to_delayed"):
        return accumulate_dask(data, y_pred, y=y, pred=pred, **options).result()
    if y is None or pred is None or y_pred is not None:
        raise ValueError("name the columns of a dataset: evaluate(dataset, y=..., pred=..., yerr=...).")
    result = evaluate_dataset(data, y=y, pred=pred, nan_policy=nan_policy, progress=progress, **options)
    if options["yerr"] is None and isinstance(data, str | os.PathLike):
        return replace(result, assumed=remark_on_unused_errors(data, y, pred))
    return result
