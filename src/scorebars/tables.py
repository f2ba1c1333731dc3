"""Columns of tables: rows that belong together, rows that miss a value, columns by name.

pandas objects carry row labels, so rows can be in the wrong order without anybody noticing. The order is checked, never
mended: a silent realignment would hide the mistake that the labels show.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks


def has_index(value: Any) -> bool:
    """Whether `value` is a Series or DataFrame of pandas, whose rows have labels."""
    return hasattr(value, "iloc") and hasattr(value, "index")


def same_rows(**arguments: Any) -> None:
    """Refuse pandas arguments of equal length whose row labels differ.

    >>> import pandas as pd
    >>> same_rows(y_true=pd.Series([1.0, 2.0], index=["a", "b"]), y_pred=pd.Series([2.0, 1.0], index=["b", "a"]))
    Traceback (most recent call last):
    ValueError: y_true and y_pred have different row labels: the first is 'a' in y_true but 'b' in y_pred at row 0, 2 in
    all. Nothing is realigned: pass y_pred.loc[y_true.index], or y_pred.to_numpy() if the order is right.
    """
    named = {name: value for name, value in arguments.items() if has_index(value)}
    if len(named) < 2:
        return
    first, *others = named
    index = named[first].index
    for name in others:
        other = named[name].index
        if len(other) != len(index) or other.equals(index):
            continue  # different lengths are named by the checks of the shapes
        different = np.fromiter((a != b for a, b in zip(index, other, strict=True)), bool, len(index))
        if not different.any():
            continue
        row = int(np.argmax(different))
        raise ValueError(
            f"{first} and {name} have different row labels: the first is {_shown(index[row])} in {first} but "
            f"{_shown(other[row])} in {name} at row {row}, {int(different.sum())} in all. Nothing is realigned: pass "
            f"{name}.loc[{first}.index], or {name}.to_numpy() if the order is right."
        )


def require_rows(**arguments: Any) -> None:
    """Refuse pandas arguments whose rows do not belong together, or miss a value."""
    named = {name: value for name, value in arguments.items() if has_index(value)}
    if not named:  # as a rule: it must cost nothing then
        return
    same_rows(**named)
    for name, value in named.items():
        missing = missing_rows(value)
        if missing.any():
            raise missing_values(name, value, missing)


def missing_values(argument: str, value: Any, missing: NDArray[np.bool_]) -> ValueError:
    """A ValueError that says in which row a value is missing, in how many, and what to do."""
    row = int(np.argmax(missing))
    where = f"row {_shown(value.index[row])} (position {row})" if has_index(value) else f"row {row}"
    return ValueError(
        f"{argument} contains NaN or missing values: the first in {where}, {int(missing.sum())} in all. Remove these rows, "
        "or leave them out with nan_policy='omit' in evaluate, compare and check_errors."
    )


def missing_rows(value: Any) -> NDArray[np.bool_]:
    """Which rows miss a value: NaN, None, NA, or masked."""
    if hasattr(value, "isna"):
        missing = np.asarray(value.isna())
    elif isinstance(value, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(value) | missing_entries(np.ma.getdata(value))
    else:
        missing = missing_entries(np.asarray(value))
    return missing if missing.ndim < 2 else np.asarray(missing.any(axis=tuple(range(1, missing.ndim))))


def missing_entries(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of an array of any type are missing."""
    if array.dtype.kind in "fc":
        return np.isnan(array)
    if array.dtype.kind == "O":
        with np.errstate(invalid="ignore"):  # some builds of Python compare NaN so that NumPy warns
            return np.asarray(np.frompyfunc(_is_missing, 1, 1)(array), dtype=bool)
    return np.zeros(array.shape, dtype=bool)


def _is_missing(value: Any) -> bool:
    """None, NaN, and what does not even know whether it equals itself (pandas.NA)."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def no_blank_texts(argument: str, values: NDArray[Any], hint: str) -> None:
    """Refuse texts that stand for nothing: an array of texts holds neither None nor NaN, but "nan", or is left empty there."""
    if values.dtype.kind == "U":
        blank = np.isin(values, ["", "nan"])
    elif values.dtype.kind == "O":
        blank = np.asarray(np.frompyfunc(lambda value: isinstance(value, str) and not value, 1, 1)(values), dtype=bool)
    else:
        return
    what = 'has texts that name no class, empty ones or "nan"'
    checks.refuse(argument, what, blank, np.frompyfunc(repr, 1, 1)(values), hint)


# columns by name -----------------------------------------------------------------------------------


def column_names(table: Any) -> list[Any] | None:
    """The names of the columns of a table of pandas, polars, Arrow or astropy, a mapping or a structured array."""
    if hasattr(table, "collect_schema"):  # polars, lazy or not
        return list(table.collect_schema().names())
    if isinstance(table, Mapping):
        return list(table)
    for attribute in ("column_names", "colnames", "columns"):  # Arrow, astropy, pandas
        if hasattr(table, attribute):
            return list(getattr(table, attribute))
    names = getattr(getattr(table, "dtype", None), "names", None)
    return None if names is None else list(names)


def select(table: Any, names: dict[str, Hashable]) -> dict[str, Any]:
    """Columns of a table: for each argument the column it names; a name that is not there gets its near matches."""
    known = column_names(table)
    if known is None:
        raise ValueError(
            f"y and pred name columns, but the first argument is a {type(table).__name__}, not a table. Pass a table of "
            "pandas, polars, Arrow or astropy, or a mapping from name to column."
        )
    for argument, name in names.items():
        if name not in known:
            raise ValueError(
                f"{argument} names a column {name!r} that the table does not have. {near_names(name, known)}"
            )
        if known.count(name) > 1:
            raise ValueError(f"{argument} names a column {name!r} that occurs {known.count(name)} times: rename them.")
    if hasattr(table, "collect"):  # a lazy table of polars: read only what is needed
        table = table.select(list(dict.fromkeys(names.values()))).collect()
    return {argument: table[name] for argument, name in names.items()}


def near_names(name: Hashable, known: list[Any]) -> str:
    """For a message about a column that is not there: those whose names are near, and what columns there are."""
    near = get_close_matches(str(name).lower(), [str(k).lower() for k in known], n=3, cutoff=0.6)
    alike = [repr(k) for k in known if str(k).lower() in near]
    listed = ", ".join(map(repr, known[:20])) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return (f"Near matches: {', '.join(alike)}. " if alike else "") + f"The columns are: {listed}."


def _shown(label: Any) -> str:
    """A row label as its owner wrote it: 3, not np.int64(3)."""
    return repr(label.item() if isinstance(label, np.generic) else label)
