"""A file that is named in Python: keywords become the options of the command line, columns become arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from glob import has_magic
from itertools import islice
from numbers import Real
from typing import Any

from scorebars._shared.given_data import as_forecast
from scorebars.errors import Censored
from scorebars.evaluation.scoring import common_scores
from scorebars.evaluation.study_data import (
    StudyData,
    columns_named,
    error_columns,
    predicted_columns,
    put_together,
)
from scorebars.files.column_names import LABEL_SOURCES, without_guesses
from scorebars.files.columns import Roles, role_finder
from scorebars.files.file_labels import understood
from scorebars.files.formats import (
    PREFIX,
    READING_OPTIONS,
    Reading,
    TableSource,
    files_in_pieces,
    opened,
)
from scorebars.files.guesses import holds_numbers
from scorebars.files.problem import TableProblem, as_keywords, said_for_python
from scorebars.files.supposed import SUPPOSED_OPTIONS, Supposed
from scorebars.files.table_rows import limit_columns
from scorebars.forecasts import Forecast

_LISTS = ("std", "members", *LABEL_SOURCES)
_COLUMNS = ("yerr_percent", "limits", "gold", "gold_probability", "model", "id", "cov")
FILE_OPTIONS = (*READING_OPTIONS, *_COLUMNS, *_LISTS, *SUPPOSED_OPTIONS)
"""Keywords that only a file takes."""


@dataclass(frozen=True)
class FileStudy:
    """What a study needs of a file."""

    data: StudyData
    task: str
    metrics: list[str] | None
    """The metrics that suit the predictions where the common ones of the task do not, or not alone."""
    assumed: str
    """What was understood, in words."""
    forecasts: StudyData
    """The data with forecasts in place of the predictions that are their means."""


def require_known(options: Mapping[str, Any], data: Any) -> None:
    """Refuse keywords that mean nothing, and those of files where the data are no file."""
    for name in options:
        if name not in FILE_OPTIONS:
            near = get_close_matches(name, FILE_OPTIONS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{name!r} is not a known keyword.{hint} For files there are: {', '.join(FILE_OPTIONS)}.")
        if not isinstance(data, str | os.PathLike):
            raise TypeError(f"{name!r} says how a file is read, but the data are a {type(data).__name__}, not a path.")


@contextmanager
def file_and_roles(
    path: Any, columns: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[tuple[TableSource, Roles]]:
    """The opened file and what its columns are. Where y and pred are named, nothing else is guessed."""
    y, pred, yerr = (columns.get(name) for name in ("y", "pred", "yerr"))
    name = os.fspath(path)
    if not (name.startswith(PREFIX) or os.path.exists(name) or has_magic(name)):
        raise FileNotFoundError(f"there is no file or folder {name!r}.")
    others = (*READING_OPTIONS, *SUPPOSED_OPTIONS)
    given = {key: _as_option(key, v) for key, v in options.items() if key not in others and v is not None}
    if pred is not None:
        given["pred"] = _every_column(pred)
    named = {"y": y, "weight": columns.get("sample_weight"), "by": columns.get("by"), "groups": columns.get("groups")}
    named |= {"yerr": _error_option(yerr)} if yerr is not None else {}
    for key, value in named.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{key} must be the name of a column of {name}, not a {type(value).__name__}.")
        given |= {} if value is None else {key: value}
    if pred is not None and (y is not None or set(given) & set(LABEL_SOURCES)):
        given = without_guesses(given)
    with said_for_python():
        given = _supposed(options).without_columns(given)
    with (
        said_for_python(),
        opened(name, Reading(**{key: options[key] for key in READING_OPTIONS if key in options})) as source,
    ):
        yield source, role_finder(source)(**given)


def _supposed(options: Mapping[str, Any]) -> Supposed:
    known = {name: options[name] for name in SUPPOSED_OPTIONS if name in options}
    known |= {"exclude": _listed(known["exclude"])} if known.get("exclude") is not None else {}
    with said_for_python():
        return Supposed(**known)


def _as_option(name: str, value: Any) -> Any:
    """A keyword as the command line has it."""
    if name in _LISTS:
        return _listed(value)
    if name == "limits" and not isinstance(value, str):
        return ",".join(value)
    return str(value) if name == "yerr_percent" else value


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _error_option(yerr: Any) -> str:
    pair = error_columns(yerr)
    if pair:
        return f"{pair[0]},{pair[1]}"
    if isinstance(yerr, Real):
        return repr(float(yerr))
    return yerr if isinstance(yerr, str) else "none"  # errors that are no columns are put in afterwards


def study_in_file(
    path: Any, columns: Mapping[str, Any], *, task: str | None, nan_policy: str, options: Mapping[str, Any]
) -> FileStudy:
    """The columns of a file as arrays, read as a whole; `columns` are the arguments that name some of them."""
    pred, yerr = columns.get("pred"), columns.get("yerr")
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy must be 'raise' or 'omit', got {nan_policy!r}.")
    with file_and_roles(path, columns, options) as (source, roles):
        supposed = _supposed(options)
        found = supposed.labels(source, roles, supposed.task or task, nan_policy)
        said = [understood(source, roles), *found.remarks, *([] if yerr is not None else _unused_errors(source, roles))]
    given = yerr is not None and _error_option(yerr) == "none" and not isinstance(yerr, str)
    if given:
        said[0] = said[0].replace("no errors (labels taken as exact)", "errors as given in yerr")
    models, forecasts = (_renamed(named, pred, roles) for named in (found.predictions, found.models))
    errors = found.yerr if not given else yerr if not isinstance(found.yerr, Censored) else found.yerr.with_errors(yerr)
    data = StudyData(found.y, models, errors, found.weight, found.by, found.omitted, groups=found.groups)
    assumed = ". ".join([said[0], *(f"{one[0].upper()}{one[1:]}" for one in said[1:])])
    given_pairs = [p for p in forecasts.values() if isinstance(p, Forecast)]
    alike = len(given_pairs) == len(forecasts) > 0  # beside point predictions, forecasts count by their means
    metrics = found.metrics or (common_scores(given_pairs) if alike else None)
    return FileStudy(data, found.task, metrics, as_keywords(assumed), data._replace(models=forecasts))


def _renamed(predictions: Mapping[str, Any], pred: Any, roles: Roles) -> dict[str, Any]:
    """Predictions under the names that the caller gave them."""
    if pred is None or roles.model is not None:
        return dict(predictions)
    if len(_every_column(pred)) != len(predictions):  # patterns
        return dict(predictions)
    columns = iter(predictions.values())
    return {
        model: as_forecast(put_together(given, list(islice(columns, len(columns_named("", given))))))
        for model, given in predicted_columns(pred)[0].items()
    }


def _every_column(pred: Any) -> list[str]:
    """The names of all columns of predictions."""
    return [str(name) for given in predicted_columns(pred)[0].values() for name in columns_named("", given).values()]


def _unused_errors(source: TableSource, roles: Roles) -> list[str]:
    """A remark where labels are taken as exact although a column looks like their errors."""
    if roles.yerr is not None or roles.y is None or roles.in_cells or roles.cov or roles.repeated_rows or roles.gold:
        return []
    try:
        found = role_finder(source)(y=roles.y, pred=list(roles.predictions))
        if found.gold is not None:
            return [f"what looks like gold labels of some items is not used: {found.gold}. Name it in gold"]
        columns = " and ".join(found.error_columns)
    except TableProblem:
        columns = "several columns"
    return [f"what looks like errors of {roles.y} is not used: {columns}. Name it in yerr"] if columns else []


def remark_on_unused_errors(path: Any, y: Any, pred: Any) -> str:
    """The remark on columns that look like errors and are not used, for a file that is read in pieces."""
    with file_and_roles(path, {"y": y, "pred": pred}, {}) as (source, roles):
        return ". ".join(_unused_errors(source, roles))


def read_in_pieces(path: Any, y: Any, pred: Any, options: Mapping[str, Any]) -> bool:
    """Whether a file is read in pieces: Parquet, Feather or text with named columns, whose numbers need no interpretation."""
    if y is None or pred is None or options or not os.path.exists(path) or str(path).endswith(".zip"):
        return False
    with opened(os.fspath(path)) as source:
        files = files_in_pieces(source)
        columns = [str(y), *_every_column(pred)]
        if marks_limits(source, str(y)):  # they tell about the truth only all together
            return False
        return files is not None and not any(_numbers_as_text(file, columns) for file in files)


def marks_limits(source: TableSource, labels: str) -> bool:
    """Whether a column may say which labels are limits."""
    named = limit_columns(labels, source.columns)
    first = source.first_rows() if named and not any(named.values()) else {}
    return any(sure or (name in first and first[name].dtype.kind == "O") for name, sure in named.items())


def _numbers_as_text(file: TableSource, columns: list[str]) -> bool:
    first = file.first_rows()
    return any(name in first and first[name].dtype.kind == "O" and holds_numbers(first[name]) for name in columns)
