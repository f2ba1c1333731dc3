"""What an accumulator may hold: sums, bins and counts that some labels could have given.

A checksum tells of accidents. These checks refuse what was written by someone else, or by hand: numbers that are not finite,
of the wrong sign, out of range, or that do not belong together would give wrong scores, or run for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scorebars.engines.bins import FOLDED, MOMENTS, MOST_APART, RATIO, SQUARES, BinKind, Bins
from scorebars.engines.class_counts import BINS, ClassCounts
from scorebars.engines.store import Hits, Store
from scorebars.engines.sums import LABEL_SUMS, TOLERANCE_SUMS, NormalSums
from scorebars.forecasts import Forecast
from scorebars.streaming.batches import ClassBatch, MeasuredBatch, NumberBatch, with_prediction_errors_of
from scorebars.streaming.forecast_sums import ForecastBatch, ForecastStore, ScoreSums

_SIGNED = ("d", "d_w2", "y1", "d_var_w2", "y_var_w2", "y_d_var_w2", "y_shift")
"""Sums of terms of both signs."""
_NOT_ALWAYS = (*TOLERANCE_SUMS, *LABEL_SUMS, "max_abs_y", "tolerance", "y_shift")
"""Sums that are NaN where nobody asked for them."""
_ROUNDING = 1e-6
"""How far sums may be from what exact arithmetic gives."""
_LARGEST, _HEAVIEST, _TINY = 2.0**62, 2.0**200, 2.0**-900
"""Labels are divided by a unit in which they are below the first; weights and shifts are below the second."""
_BOUNDS = {
    "w": ("w", 0, 0, 0),
    "w2": ("w2", 0, 0, 0),
    **dict.fromkeys(("d", "abs"), ("w", 1, 0, 0)),
    "sq": ("w", 2, 0, 0),
    "var": ("w", 0, 2, 0),
    "fold": ("w", 0, 1, 0),
    "d_w2": ("w2", 1, 0, 0),
    "sq_w2": ("w2", 2, 0, 0),
    "fourth_w2": ("w2", 4, 0, 0),
    "var_w2": ("w2", 0, 2, 0),
    "foldvar_w2": ("w2", 0, 2, 0),
    "var2_w2": ("w2", 0, 4, 0),
    "sqvar_w2": ("w2", 2, 2, 0),
    "within": ("w", 0, 0, 0),
    "within_p": ("w", 0, 0, 0),
    "within_var_w2": ("w2", 0, 0, 0),
    "y1": ("w", 0, 0, 1),
    "y2": ("w", 0, 0, 2),
    "d_var_w2": ("w2", 1, 2, 0),
    "y_var_w2": ("w2", 0, 2, 1),
    "y2_var_w2": ("w2", 0, 2, 2),
    "y_d_var_w2": ("w2", 1, 2, 1),
}
"""Each sum is no larger than the sum of weights times these powers of the largest |d|, error and |c|."""
_MOST_LABELS = 1 << 62
_LAST_EXPONENT = 2047
"""All finite doubles have smaller exponents."""
_BATCHES = {"regression": NumberBatch, "classification": ClassBatch, "forecast": ForecastBatch}


class ImpossibleState(ValueError):
    """What no labels give; the text says where."""


def require(holds: object, what: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise ImpossibleState(what)


def require_possible(state: Mapping[str, Any]) -> None:
    """Refuse a state that no labels give."""
    task, models, batches, stored = state["task"], state["_models"], state["_batches"], state["_stored"]
    require(task in _BATCHES, "the task is not known")
    require(isinstance(batches, list), "the batches are not a list")
    if models is None:
        nothing = not batches and stored is None and state["_waiting"] == 0 and state["_kind"] is None
        require(nothing, "there are labels of no model")
        return
    named = isinstance(models, tuple) and models and all(isinstance(name, str) for name in models)
    require(named and len(set(models)) == len(models), "the models are not named")
    require(state["_kind"] in ("classical", "berkson"), "the kind of the errors is not known")
    for batch in batches:
        require(type(batch) is _BATCHES[task], "a batch is of another task")
        _require_batch(batch, models, state["_kind"])
    require(state["_waiting"] == sum(batch.n for batch in batches), "the number of labels is not that of the batches")
    require(batches or stored is not None, "there are models without labels")
    if stored is not None:
        _require_stores(task, stored, models)


_KEPT_IN = {"squares": "squares", "ratio": "gram", "absolute": "absolute", "within": "hits", "pulls": "pulls"}
"""The part of a store that a need is met from."""


def require_kept(stored: Mapping[str, Any] | None, needs: Iterable[Any]) -> None:
    """Refuse stores that lack what the metrics need."""
    for store in (stored or {}).values():
        if isinstance(store, ForecastStore):
            require(set(store.sums) == set(map(str, needs)), "the sums are of other metrics")
        for need in needs:
            if isinstance(store, Store) and need in _KEPT_IN:
                require(getattr(store, _KEPT_IN[need]) is not None, f"what {need!r} needs is missing")
            if isinstance(store, ClassCounts) and need == "pairs":
                require(store.pairs, "pairs of classes are missing")


def _require_batch(batch: Any, models: Iterable[str], kind: str) -> None:
    one_kind = batch.kind == kind and isinstance(batch.models, dict) and set(batch.models) == set(models)
    require(one_kind, "a batch is of other models or errors")
    numbers = isinstance(batch, MeasuredBatch)
    columns = [batch.y, *(() if isinstance(batch, ForecastBatch) else batch.models.values())]
    columns += [] if batch.weight is None else [batch.weight]
    columns += [batch.error] if isinstance(batch.error, np.ndarray) else []
    columns += list((batch.prederr or {}).values())
    for column in columns:
        flat = isinstance(column, np.ndarray) and column.ndim == 1 and len(column) == len(batch.y) > 0
        require(flat and (not numbers or column.dtype == np.float64), "the columns of a batch do not belong together")
    require(isinstance(batch.error, np.ndarray | float), "the error of a batch is not a number")
    if isinstance(batch, ForecastBatch):
        for forecast in batch.models.values():
            quantiles = isinstance(forecast, np.ndarray) and forecast.ndim in (1, 2) and forecast.dtype == np.float64
            require(quantiles or isinstance(forecast, Forecast), "a forecast is none")
            require(len(forecast) == batch.n, "a forecast is of another number of labels")
    batch.diagnose()


def _require_stores(task: str, stored: Any, models: tuple[str, ...]) -> None:
    made = {"regression": Store, "classification": ClassCounts, "forecast": ForecastStore}[task]
    allowed = {*models, *map(with_prediction_errors_of, models)}
    named = isinstance(stored, dict) and set(models) <= set(stored) <= allowed
    require(named and all(type(store) is made for store in stored.values()), "the sums are of other models")
    for store in stored.values():
        _REQUIRE[made](store)
    require(len({store.n for store in stored.values()}) == 1, "the models have different numbers of labels")


def _finite(*values: Any) -> bool:
    return all(isinstance(value, float) and math.isfinite(value) for value in values)


def _array(value: Any, kind: str, *shape: int | None) -> bool:
    """Whether this is an array of this kind ("f", "i") and shape; None is any size. Numbers are finite."""
    fits = isinstance(value, np.ndarray) and value.dtype.kind == kind and value.ndim == len(shape)
    fits = fits and all(want in (None, have) for want, have in zip(shape, value.shape, strict=True))
    return bool(fits and (kind == "i" or np.all(np.isfinite(value))))


def _require_count(n: Any) -> None:
    require(type(n) is int and 0 < n <= _MOST_LABELS, "the number of labels is not valid")


def _require_sums(sums: NormalSums) -> None:
    require(isinstance(sums, NormalSums), "the sums are not valid")
    _require_count(sums.n)
    for name, value in sums._asdict().items():
        if name == "n":
            continue
        missing = name in _NOT_ALWAYS and isinstance(value, float) and math.isnan(value)
        require(missing or _finite(value), f"the sum {name!r} is not finite")
        require(missing or name in _SIGNED or value >= 0, f"the sum {name!r} is negative")
    more = 1 + _ROUNDING
    sizes = (sums.max_abs_d, sums.max_sigma, 0.0 if math.isnan(sums.max_abs_y) else sums.max_abs_y)
    require(
        max(sizes) <= _LARGEST and sums.max_weight <= _HEAVIEST, "the largest label, error or weight is out of range"
    )
    require(math.isnan(sums.y_shift) or abs(sums.y_shift) <= _HEAVIEST, "the labels are counted from too far away")
    weights = {"w": sums.n * sums.max_weight, "w2": sums.w * sums.max_weight}
    for name, (weight, *powers) in _BOUNDS.items():
        value = getattr(sums, name)
        bound = (weights[weight] if name in weights else getattr(sums, weight)) * math.prod(map(pow, sizes, powers))
        require(
            math.isnan(value) or abs(value) <= bound * more + _TINY, f"the sum {name!r} is larger than its labels allow"
        )
    ordered = abs(sums.d) <= sums.abs * more and sums.abs**2 <= sums.w * sums.sq * more
    require(ordered and sums.w**2 <= sums.n * sums.w2 * more, "the sums do not belong together")


def _require_bins(bins: Bins | None, *kinds: BinKind, n: int) -> None:
    if bins is None:
        return
    require(isinstance(bins, Bins), "the bins are not valid")
    kind = next((k for k in kinds if (k.bits, k.minors) == (bins.bits, bins.minors)), None)
    require(kind is not None, "the bins are of no known kind")
    assert kind is not None
    columns = bins.moments.shape[-1] if isinstance(bins.moments, np.ndarray) and bins.moments.ndim else -1
    require(columns in {k.columns for k in kinds}, "the bins have other columns")
    require(_array(bins.keys, "i", None), "the numbers of the bins are not valid")
    most = (_LAST_EXPONENT << (52 - kind.bits)) * kind.minors
    ascending = bool(np.all(np.diff(bins.keys) > 0)) and (
        not bins.keys.size or 0 <= bins.keys[0] <= bins.keys[-1] < most
    )
    require(ascending, "the numbers of the bins are out of order")
    require(
        _array(bins.moments, "f", bins.keys.size, MOMENTS, columns), "the moments of the bins are not finite numbers"
    )
    counts, apart = bins.moments[:, 0, 0], bins.top_v.size if isinstance(bins.top_v, np.ndarray) else -1
    largest = (
        _array(bins.top_v, "f", None) and _array(bins.top_minor, "i", apart) and _array(bins.top, "f", columns, apart)
    )
    require(largest and 0 <= apart <= MOST_APART and bool(np.all(bins.top_v > 0)), "the largest labels are not valid")
    require(bool(np.all((bins.top_minor >= 0) & (bins.top_minor < kind.minors))), "the largest labels are in no bin")
    require(
        bool(np.all(counts >= 0)) and counts.sum() + apart <= n * (1 + _ROUNDING) + 0.5,
        "the bins hold more labels than n",
    )


def _require_store(store: Store, pulls: bool = True) -> None:
    _require_sums(store.sums)
    n = store.sums.n
    _require_bins(store.squares, SQUARES, RATIO, n=n)
    _require_bins(store.absolute, FOLDED, n=n)
    columns = None if store.squares is None else store.squares.moments.shape[-1]
    require((store.certain is None) == (columns is None), "sums of exact labels are missing")
    require(store.certain is None or _array(store.certain, "f", columns), "sums of exact labels are not finite")
    require(_finite(store.certain_abs, store.abs_w2), "a sum of absolute residuals is not finite")
    more, sums = 1 + _ROUNDING, store.sums
    inside = 0 <= store.certain_abs <= sums.abs * more and 0 <= store.abs_w2 <= sums.w2 * sums.max_abs_d * more
    require(inside, "a sum of absolute residuals is out of range")
    gram = store.gram is None or (_array(store.gram, "f", 5, 5) and bool(np.all(np.diag(store.gram) >= 0)))
    require(
        gram and (store.gram is None or np.abs(store.gram).max() < sums.w2 * _LARGEST**4),
        "the sums of products are not valid",
    )
    shifted = store.gram is None or not any(math.isnan(getattr(sums, name)) for name in (*LABEL_SUMS, "y_shift"))
    require(shifted, "the sums of labels are missing")
    pair = isinstance(store.predictions, tuple) and len(store.predictions) == 2
    require(
        pair and all(isinstance(p, float) and not math.isnan(p) for p in store.predictions), "predictions are missing"
    )
    require(type(store.unit) is int and abs(store.unit) < _LAST_EXPONENT, "the unit is out of range")
    if store.hits is not None:
        require(isinstance(store.hits, Hits), "the hits are not valid")
        _require_sums(store.hits.sums)
        require(not any(math.isnan(getattr(store.hits.sums, name)) for name in TOLERANCE_SUMS), "the hits have no sums")
        for chances in store.hits[1:]:
            _require_counts(chances, n)
    if store.pulls is not None:
        require(pulls and isinstance(store.pulls, Store), "pulls of pulls")
        _require_store(store.pulls, pulls=False)


def _require_counts(counts: ClassCounts, n: int | None = None) -> None:
    require(isinstance(counts, ClassCounts) and type(counts.pairs) is bool, "the counts are not valid")
    classes = counts.classes
    flat = isinstance(classes, np.ndarray) and classes.ndim == 1
    require(
        flat and len(np.unique(classes)) == len(classes) and bool(np.all(np.sort(classes) == classes)),
        "the classes are out of order",
    )
    require(classes.dtype.kind != "f" or bool(np.all(np.isfinite(classes))), "a class is not finite")
    cells = len(classes) ** 2 if counts.pairs else 2
    size = counts.cell.size if isinstance(counts.cell, np.ndarray) else -1
    arrays = _array(counts.cell, "i", None) and _array(counts.count, "i", size) and _array(counts.q, "f", size)
    require(arrays and bool(np.all((counts.cell >= 0) & (counts.cell < cells))), "a count is of no cell")
    require(bool(np.all((counts.q >= 0) & (counts.q <= 1))), "q is not a probability")
    total = sum(counts.count.tolist())  # exact: the sum of an array may leave its integers
    require(bool(np.all(counts.count >= 0)) and total <= _MOST_LABELS, "a count is negative or too large")
    require((counts.bins is None) == (counts.moments is None), "bins without moments")
    if counts.bins is not None and counts.moments is not None:
        require(_array(counts.bins, "i", None) and bool(np.all(np.diff(counts.bins) > 0)), "bins of q are out of order")
        inside = not counts.bins.size or 0 <= counts.bins[0] <= counts.bins[-1] < cells * BINS
        require(inside and _array(counts.moments, "f", counts.bins.size, 4), "moments of q are not finite")
        first = counts.moments[:, :1]
        bounded = bool(np.all(first >= 0) and np.all(np.abs(counts.moments) <= first * (1 + _ROUNDING)))
        require(bounded and first.sum() <= _MOST_LABELS, "moments of q are out of range")
    require(counts.n == n if n is not None else counts.n > 0, "the counts do not add up to the number of labels")


_TRUTH = ("t", "t_w2", "t2_w2", "tv_w2", "p", "pv_w2")
"""Sums that are NaN where no unbiased term exists, or no perfect model."""
_POSITIVE = ("n", "w", "w2", "v_w2", "x2_w2", "m2_w2", "t2_w2", "own_w2")


def _require_forecast_sums(store: ForecastStore) -> None:
    require(store.claims in ("truth", "label"), "what the forecasts claim is not known")
    require(isinstance(store.sums, dict) and store.sums, "there are no sums")
    for metric, given in store.sums.items():
        require(isinstance(given, tuple) and len(given) == len(ScoreSums._fields), f"sums of {metric} are missing")
        sums = ScoreSums(*given)
        for name, value in sums._asdict().items():
            missing = name in _TRUTH and isinstance(value, float) and math.isnan(value)
            require(missing or _finite(float(value)), f"the sum {name!r} of {metric} is not finite")
            require(missing or name not in _POSITIVE or value >= 0, f"the sum {name!r} of {metric} is negative")
        require(0 < sums.n <= _MOST_LABELS and float(sums.n).is_integer() and sums.w > 0, f"{metric} has no labels")
    require(len({given[0] for given in store.sums.values()}) == 1, "metrics have different numbers of labels")


_REQUIRE: dict[type, Any] = {Store: _require_store, ClassCounts: _require_counts, ForecastStore: _require_forecast_sums}
