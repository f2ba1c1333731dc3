"""The one set of input checks.

Everything a user passes is checked here, once, at the border. A message names the argument, the first
offending index, how many offend, and what to do; the layers below trust their arguments.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray, to_host

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of what the user passed. The warning names the line that called the library, however deep it was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def complain(argument: str, what: str, bad: NDArray[np.bool_], values: NDArray[Any], hint: str) -> ValueError:
    """A ValueError that says where the first bad value is, how many there are and what to do."""
    where = np.flatnonzero(bad)
    first = np.unravel_index(int(where[0]), bad.shape)
    index = int(first[0]) if len(first) == 1 else tuple(int(i) for i in first)
    value = values[first]
    text = f"{argument} {what}: the first is {value!s} at index {index}, {where.size} in all. {hint}"
    return ValueError(text)


def refuse(argument: str, what: str, bad: NDArray[np.bool_], values: NDArray[Any], hint: str) -> None:
    """Complain where any value is bad."""
    if bad.any():
        raise complain(argument, what, bad, values, hint)


def real_array(values: Any, argument: str) -> NDArray[Any]:
    """`values` as an array of float32 or float64; whether its entries are finite is not checked here."""
    if type(values) is np.ndarray and values.dtype.char in "df" and values.dtype.isnative:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise complain(
            argument,
            "has masked entries",
            np.ma.getmaskarray(values),
            np.ma.getdata(values),
            "Drop these rows from all arguments (for example with .compressed() on a common mask).",
        )
    array = any_array(values, argument, "numbers")
    if array.dtype in (np.float64, np.float32):
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"{argument} holds complex numbers. Complex data not supported: give its real part.")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        return _from_objects(array, argument)
    if array.dtype.kind in "US":
        raise _texts(array, argument)
    raise ValueError(
        f"{argument} holds values of type {array.dtype}, not numbers. Convert the column to floats before scoring."
    )


def any_array(values: Any, argument: str, what: str = "values") -> NDArray[Any]:
    """`values` as an array of any type; lists of lists that differ in length are refused."""
    try:
        return values if type(values) is np.ndarray else np.asarray(to_host(values))
    except ValueError as why:
        one = {"probabilities": "probability"}.get(what, what.removesuffix("s"))
        raise ValueError(
            f"{argument} cannot be read as an array of {what} ({why}). Give one {one} for each label."
        ) from None


def _texts(array: NDArray[Any], argument: str) -> ValueError:
    """The error for texts where numbers are needed; it names the first that is not a number."""
    bad = _where_float_fails(array.astype(object), ValueError)
    if not bad.any():
        return ValueError(
            f"{argument} holds numbers written as texts. Convert them: np.asarray({argument}, dtype=float)."
        )
    if array.ndim == 0:
        return ValueError(f"{argument} = {array.item()!r} is a text, not a number. Give a number.")
    limits = argument == "y_true" and any(map(_is_limit, array[bad].flat))
    hint = _FIX_LIMIT if limits else "Correct these rows, or drop them."
    return complain(argument, "holds texts that are not numbers", bad, array, hint)


FIX_CENSORED_DATA = "Of a scipy.stats.CensoredData pass y_true=None and yerr=sb.Censored(data, sigma=...)."
_FIX_LIMIT = (
    "Limits are measurements too: pass y_true=None and yerr=sb.Censored.from_strings(labels, sigma=...). To leave such rows "
    "out would bias the score."
)


def _is_limit(value: Any) -> bool:
    """Whether a text is written as a limit, such as "< 0.5"."""
    return isinstance(value, str) and bool(re.match(r"\s*[<>≤≥]\s*=?\s*[+-]?[\d.]", value))


def _where_float_fails(array: NDArray[Any], how: type[Exception]) -> NDArray[np.bool_]:
    """Where float(value) fails with this exception."""

    def fails(value: Any) -> bool:
        try:
            float(value)
        except how:
            return True
        return False

    return np.asarray(np.frompyfunc(fails, 1, 1)(array), dtype=bool)


def _from_objects(array: NDArray[Any], argument: str) -> FloatArray:
    """Numbers out of an object array; None and texts are named, not guessed at."""
    other = np.frompyfunc(lambda v: not isinstance(v, numbers.Real | np.number | np.bool_), 1, 1)
    bad = np.asarray(other(array), dtype=bool)
    if bad.any():
        first = array[bad].flat[0]
        if isinstance(first, dict):
            raise ValueError(
                f"{argument} is a dict, which has no order. A probability of being wrong for each class is "
                "sb.ClassFlip({class: probability}); numbers for each label are an array in the order of the labels."
            )
        if array.ndim == 0:
            what = "None" if first is None else f"of type {type(first).__name__}"
            hint = "Give one number for each label as an array or a list, which list(...) makes of a generator."
            if hasattr(first, "num_censored"):
                hint = FIX_CENSORED_DATA
            raise ValueError(f"{argument} is {what}, not an array of numbers. {hint}")
        types = ", ".join(sorted({type(v).__name__ for v in array[bad].flat}))
        hint = "Convert the column to floats, or drop these rows."
        if argument == "y_true" and any(map(_is_limit, array[bad].flat)):
            hint = _FIX_LIMIT
        if hasattr(first, "nominal_value"):
            hint = (
                f"Errors of {argument} are not used by this metric: score the values alone, "
                f"[v.nominal_value for v in {argument}]. Only errors of labels enter, through y_true or yerr."
            )
        raise complain(
            argument,
            f"mixes numbers with other values ({types})" if not bad.all() else f"holds no numbers but {types}",
            bad,
            array,
            hint,
        )
    try:
        return array.astype(np.float64)
    except OverflowError:
        large = _where_float_fails(array, OverflowError)
        shown = np.asarray(np.frompyfunc(_size_of, 1, 1)(array), dtype=object)
        hint = "No double holds them: choose another unit, or correct these rows."
        if array.ndim == 0:
            raise ValueError(f"{argument} is {shown.item()}. {hint}") from None
        raise complain(argument, "holds numbers beyond 1.8e308", large, shown, hint) from None


def _size_of(value: Any) -> str:
    """A number that may be too long to write, in words."""
    return f"a number of about {value.bit_length() * 0.30103:.0f} digits" if isinstance(value, int) else "a number"


def require_finite(array: NDArray[Any], argument: str) -> None:
    """Refuse NaN and infinity."""
    with np.errstate(over="ignore", invalid="ignore"):  # a sum of finite values may overflow; then look at each
        if np.isfinite(np.add.reduce(array, axis=None)):
            return
    bad = ~np.isfinite(array)
    if not bad.any():
        return
    if array.ndim == 0:
        raise ValueError(f"{argument} = {float(array)} is not finite. Give a number.")
    nan = np.isnan(array)
    what = "contains NaN" if nan.any() else "contains infinity"
    raise complain(argument, what, nan if nan.any() else bad, array, "Remove these rows or fill in the values.")


def require_non_negative(array: NDArray[Any], argument: str, hint: str) -> None:
    """Refuse values below zero."""
    if array.ndim == 0 and array < 0:
        raise ValueError(f"{argument} = {array!s} is negative. {hint}")
    if array.size and np.minimum.reduce(array, axis=None) < 0:
        raise complain(argument, "has negative values", array < 0, array, hint)


def column(values: Any, argument: str) -> NDArray[Any]:
    """One number for each label: shape (n,), where (n, 1) is taken as (n,)."""
    array = real_array(values, argument)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{argument} must have one number for each label, shape (n,), but has shape {array.shape}. "
            "Pass a flat array."
        )
    return array


def finite_column(values: Any, argument: str) -> FloatArray:
    """One finite number for each label, (n,); a single number is one label."""
    found = np.asarray(column(np.atleast_1d(real_array(values, argument)), argument), dtype=np.float64)
    require_finite(found, argument)
    return found


def same_length(first: NDArray[Any], second: NDArray[Any], name_first: str, name_second: str) -> None:
    """Refuse arguments that do not belong to the same labels."""
    if first.shape[0] != second.shape[0]:
        raise ValueError(
            f"{name_first} and {name_second} have inconsistent numbers of samples: {first.shape[0]} and "
            f"{second.shape[0]}. Each label needs its own entry in both."
        )


def outputs(values: Any, argument: str) -> NDArray[Any]:
    """Labels or predictions of one or several outputs: shape (n,) or (n, k)."""
    array = real_array(values, argument)
    if array.ndim == 0:
        raise ValueError(f"{argument} is a single number, not an array. Pass a sequence with one entry for each label.")
    if array.ndim > 2:
        raise ValueError(f"{argument} has shape {array.shape}; at most (n, outputs) is meaningful.")
    if not array.size:
        raise ValueError(f"{argument} is empty: at least one label is needed (found array with 0 sample(s)).")
    return array


def pair(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels and predictions, aligned: both (n,), or both (n, k) with k outputs. Values are not looked at yet."""
    y, p = outputs(y_true, "y_true"), outputs(y_pred, "y_pred")
    if y.ndim == 1 and y.shape == p.shape:
        return y, p
    same_length(y, p, "y_true", "y_pred")
    if y.ndim != p.ndim:
        y, p = (a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for a in (y, p))
    if y.shape != p.shape:
        raise ValueError(
            f"y_true and y_pred have different number of output: shapes {y.shape} and {p.shape}. "
            "Give one prediction for each label."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y, p = y[:, 0], p[:, 0]
    return y, p


def weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Sample weights: None, a number, or (n,), finite, not negative, not all zero."""
    if sample_weight is None:
        return None
    w = np.asarray(real_array(sample_weight, "sample_weight"), dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    w = column(w, "sample_weight")
    if w.shape[0] != n:
        raise ValueError(
            f"sample_weight and y_true have inconsistent numbers of samples: {w.shape[0]} and {n}. "
            f"Each label needs its own weight. (Found input variables with inconsistent numbers of samples: [{n}, {n}, "
            f"{w.shape[0]}])"
        )
    require_finite(w, "sample_weight")
    require_non_negative(w, "sample_weight", "A weight says how much a label counts; it cannot be below 0.")
    if not np.any(w > 0):
        raise ValueError("sample_weight is all zero: at least one label must count.")
    return w


def probability(value: Any, argument: str) -> float:
    """A level or probability strictly between 0 and 1."""
    return _number(value, argument, lambda x: 0 < x < 1, "a probability strictly between 0 and 1")


def probabilities(values: Any, argument: str, hint: str = "") -> FloatArray:
    """Probabilities: a number or (n,), each in [0, 1]."""
    q = np.asarray(real_array(values, argument), dtype=np.float64)
    if q.ndim:
        q = column(q, argument)
    require_finite(q, argument)
    if q.size and not (np.minimum.reduce(q, axis=None) >= 0 and np.maximum.reduce(q, axis=None) <= 1):
        hint = hint or "A probability lies between 0 and 1."
        if q.ndim == 0:
            raise ValueError(f"{argument} = {float(q)} is not in [0, 1]. {hint}")
        raise complain(argument, "has values outside [0, 1]", (q < 0) | (q > 1), q, hint)
    return q


def repeats(value: Any) -> float:
    """The number of repeats of a fresh measurement: a whole number, or infinity for the truth itself."""
    what = "a whole number of at least 1 (or math.inf)"
    return _number(value, "repeats", lambda x: x >= 1 and (math.isinf(x) or x % 1 == 0), what)


def fraction(value: Any, argument: str) -> float:
    """A number between 0 and 1, both allowed."""
    return _number(value, argument, lambda x: 0 <= x <= 1, "a number between 0 and 1")


def no_flags(values: Any, argument: str, meant: str) -> None:
    """True and False are refused where a size is meant: they would count as 1 and 0."""
    if isinstance(values, bool) or (type(values) is not float and getattr(values, "dtype", None) == np.bool_):
        raise ValueError(f"{argument} holds True and False, but it {meant}. Give numbers.")


def above_zero(value: Any, argument: str) -> float:
    """A finite number above 0."""
    return _number(value, argument, lambda x: 0 < x < math.inf, "a positive number")


def at_least_zero(value: Any, argument: str) -> float:
    """A finite number of at least 0."""
    return _number(value, argument, lambda x: 0 <= x < math.inf, "a number of at least 0")


def _number(value: Any, argument: str, allowed: Callable[[float], bool], what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not allowed(float(value)):
        raise ValueError(f"{argument} must be {what}, got {value!r}.")
    return float(value)


# memory ---------------------------------------------------------------------------------------------

_ALWAYS = 1 << 28
"""Up to this many bytes are taken without asking how much memory there is."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system tells."""
    found = []
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:
        found.append(1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")))
    for limit in _LIMITS:
        with suppress(OSError, ValueError), open(limit, encoding="ascii") as file:
            found.append(int(file.read()))
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=1 << 62)


def require_memory(needed: int, what: str, instead: str) -> None:
    """Refuse what would take more memory than there is: say how much, and what to do instead."""
    if needed <= _ALWAYS:
        return
    there = free_memory()
    if needed > there:
        raise ValueError(
            f"{what} needs {needed / 2**30:,.1f} GiB of memory, and {there / 2**30:,.1f} GiB are free. {instead}"
        )
