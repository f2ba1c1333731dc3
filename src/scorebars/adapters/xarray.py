"""Scores of labelled arrays: metrics along named dimensions, one for each place, as climate scientists use them.

>>> import numpy as np
>>> import xarray as xr
>>> from scorebars.adapters.xarray import evaluate
>>> rng = np.random.default_rng(0)
>>> measured = xr.DataArray(rng.normal(15, 5, (50, 2)), dims=("time", "station"), coords={"station": ["Bern", "Chur"]})
>>> model = measured + rng.normal(0, 1, (50, 2))
>>> found = evaluate(measured, model, yerr=0.5, dim="time", metrics="mean_squared_error")
>>> found["truth"].dims
('station', 'metric')
>>> bool((found["truth"] < found["observed"]).all())
True
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars._shared.metric_names import SHORT_NAMES
from scorebars._shared.score_views import answers_of

_DEFAULT_ANSWERS = ("observed", "expected", "std", "truth", "perfect")
_ESTIMATES = ("truth", "remeasured", "perfect")
POSSIBLE = (
    *("observed", "expected", "correction", "std", "noise_share", "sampling_std", "interval_low", "interval_high"),
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_std", "_low", "_high")),
)
_METRICS = ("root_mean_squared_error", "mean_absolute_error", "mean_error")


def evaluate(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    dim: str | Sequence[Hashable] | None = None,
    metrics: Any = _METRICS,
    sample_weight: Any = None,
    nan_policy: str = "raise",
    answers: Sequence[str] = _DEFAULT_ANSWERS,
) -> Any:
    """How good is the model at each place, given how well the labels are known?

    Parameters
    ----------
    y_true : DataArray
        Labels.
    y_pred : DataArray, Dataset or mapping from model name to DataArray
        Predictions; several models get a dimension ``model``.
    yerr : number, DataArray, pair of them for lower and upper errors, or error model, optional
        Label errors, broadcast against the labels by the names of their dimensions. An error model with one entry for each
        label describes the labels along `dim` and serves every place.
    dim : name or names, optional
        The dimensions to score along; all unless given. The others stay.
    metrics : name, function, or list of them
        Metrics that give a single Score.
    sample_weight : DataArray, optional
        How much each label counts, broadcast like `yerr`; for example ``np.cos(np.deg2rad(lat))``.
    nan_policy : {"raise", "omit"}
        Refuse missing values, or leave them out place by place. A place without any label gets NaN and ``n`` 0.
    answers : names
        Which answers to give: observed, expected, correction, std, interval_low, interval_high, noise_share, sampling_std,
        and truth, remeasured, perfect, each also with ``_std``, ``_low``, ``_high``. What cannot be estimated is NaN.

    Returns
    -------
    Dataset
        One variable for each answer with a dimension ``metric``, and ``n``, the number of labels. It is lazy where the
        arguments are dask arrays; the scored dimensions become one chunk.

    Coordinates must be equal where dimensions are shared; nothing is realigned.
    """
    try:
        import xarray as xr
    except ImportError as why:
        raise ImportError("adapters.xarray needs xarray: pip install 'scorebars[xarray]'") from why
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy must be 'raise' or 'omit', got {nan_policy!r}.")
    unknown = [name for name in answers if name not in POSSIBLE]
    if unknown or not answers:
        raise ValueError(f"answers must be some of {', '.join(POSSIBLE)}, got {unknown[0] if unknown else 'none'!r}.")
    chosen = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if isinstance(y_pred, Mapping):
        y_pred = _joined(y_pred, xr)
    for name, value in (("y_true", y_true), ("y_pred", y_pred)):
        if not isinstance(value, xr.DataArray):
            raise TypeError(f"{name} must be an xarray.DataArray, got {type(value).__name__}.")
    model = yerr if isinstance(yerr, sb.errors.ErrorModel) else None
    halves = [] if model is not None or yerr is None else list(yerr) if isinstance(yerr, list | tuple) else [yerr]
    if len(halves) > 2:
        raise ValueError(f"yerr must be one array or a pair of lower and upper errors, got {len(halves)}.")
    given = [y_true, y_pred, *halves, *([] if sample_weight is None else [sample_weight])]
    given = [xr.DataArray(value) if np.ndim(value) == 0 else value for value in given]
    _require_equal_coordinates(given, xr)
    arrays = list(xr.broadcast(*given))
    dims = list(y_true.dims) if dim is None else [dim] if isinstance(dim, str) else list(dim)
    absent = [d for d in dims if d not in arrays[0].dims]
    if absent or not dims:
        raise ValueError(
            f"dim names {absent[0] if absent else 'no dimension'!r}; the dimensions are {list(arrays[0].dims)}."
        )
    names = ["y_true", "y_pred", *(["yerr"] * len(halves)), *([] if sample_weight is None else ["sample_weight"])]
    if nan_policy == "raise":
        for name, array in zip(names, arrays, strict=True):
            _require_present(name, array)
    weighted = sample_weight is not None
    score = partial(_scores_of_place, metrics=chosen, answers=tuple(answers), model=model, weighted=weighted)
    lazy = any(array.chunks is not None for array in arrays)
    found = xr.apply_ufunc(
        score,
        *([array.chunk(dict.fromkeys(dims, -1)) for array in arrays] if lazy else arrays),
        input_core_dims=[dims] * len(arrays),
        output_core_dims=[["metric", "answer"]],
        vectorize=True,
        dask="parallelized",
        output_dtypes=[np.float64],
        dask_gufunc_kwargs={"output_sizes": {"metric": len(chosen), "answer": len(answers) + 1}},
    )
    titles = [m if isinstance(m, str) else getattr(m, "__name__", "metric") for m in chosen]
    found = found.assign_coords(metric=titles)
    out = {name: found.isel(answer=k) for k, name in enumerate(answers)}
    return xr.Dataset(out | {"n": found.isel(answer=-1, metric=0, drop=True).astype(np.int64)})


def _scores_of_place(
    *arrays: NDArray[Any], metrics: list[Any], answers: Sequence[str], model: Any, weighted: bool
) -> Any:
    """Scores of one place: flat arrays in, (metrics, answers and n) out."""
    columns = [np.asarray(array).reshape(-1) for array in arrays]
    missing = [np.isnan(c) if c.dtype.kind == "f" else np.zeros(c.shape, bool) for c in columns]
    keep = np.flatnonzero(~np.any(missing, axis=0))
    out = np.full((len(metrics), len(answers) + 1), np.nan)
    out[:, -1] = len(keep)
    if not len(keep):
        return out
    y, p, *rest = (c[keep] for c in columns)
    weight = rest.pop() if weighted else None
    if model is not None:
        yerr = model if model.size is None else model[keep]
    else:
        yerr = None if not rest else rest[0] if len(rest) == 1 else np.stack(rest)
    for row, metric in zip(out, metrics, strict=True):
        function = getattr(sb, SHORT_NAMES.get(metric, metric)) if isinstance(metric, str) else metric
        score = function(y, p, yerr=yerr, sample_weight=weight)
        row[:-1] = [_answer(score, name) for name in answers]
    return out


def _answer(score: sb.Score, name: str) -> float:
    """One answer as a number; NaN where it cannot be estimated."""
    base, _, end = name.rpartition("_")
    if base not in (*_ESTIMATES, "interval"):
        base, end = name, "value"
    asked = "expected" if base == "interval" else base
    found = answers_of(score, [asked], 0.95 if end in ("low", "high") else None)[asked]
    return float("nan") if found.value is None else float(getattr(found, end))


def _joined(models: Mapping[Any, Any], xr: Any) -> Any:
    """Several models as one array with a dimension ``model``."""
    arrays = list(models.values())
    if not arrays:
        raise ValueError("y_pred holds no predictions. Give a DataArray, or a mapping from model name to DataArray.")
    _require_equal_coordinates(arrays, xr)
    joined = xr.concat(arrays, combine_attrs="drop", dim="model", join="override", coords="minimal", compat="override")
    return joined.assign_coords(model=[str(name) for name in models])


def _require_equal_coordinates(arrays: list[Any], xr: Any) -> None:
    try:
        xr.align(*arrays, join="exact", copy=False)
    except ValueError as why:
        raise ValueError(
            f"the arrays have different coordinates ({why}). Nothing is realigned: use .sel or .reindex_like first."
        ) from None


def _require_present(name: str, array: Any) -> None:
    """Refuse missing values by their coordinates; those of dask arrays are read for it."""
    missing = array.isnull()
    count = int(missing.sum())
    if count:
        first = np.unravel_index(int(np.argmax(missing.values)), missing.shape)
        place = array.isel(dict(zip(array.dims, map(int, first), strict=True)))
        labels = {
            d: place.coords[d].item() if d in place.coords else int(k) for d, k in zip(array.dims, first, strict=True)
        }
        where = ", ".join(f"{d}={label!r}" for d, label in labels.items())
        raise ValueError(
            f"{name} contains NaN: the first at {where}, {count} in all. Fill them in, or leave them out with "
            "nan_policy='omit'."
        )
