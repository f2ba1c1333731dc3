"""What the user says about labels and errors that no column says: their kind, their size, which rows to leave out.

These answer "what if": what if the errors were twice as large, had a part in common, or one group were left out? The command
line takes them as options, `evaluate` and its sisters as keywords, the page as fields.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scorebars.errors import (
    ClassFlip,
    ErrorModel,
    Flip,
    MeasurementError,
    Normal,
    Repeats,
    Rounding,
    Thresholded,
    Verified,
)
from scorebars.errors.normal import error_model
from scorebars.files.column_names import ERROR_OPTIONS
from scorebars.files.columns import Roles
from scorebars.files.file_labels import TableLabels, load_labels
from scorebars.files.formats import TableSource
from scorebars.files.gold_columns import above_cut
from scorebars.files.problem import TableProblem

_KINDS = ("classical", "berkson")
_COUNTS = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")


@dataclass(frozen=True)
class Supposed:
    """What is supposed; each field is an option of the command line.

    `resolution` and `checked` say what the errors are and stand for a column of errors; the others change what the columns
    say, in the order of the fields.
    """

    resolution: float | None = None
    """The step of the instrument: labels are rounded to it."""
    checked: str | None = None
    """WRONG/CHECKED: how many of the labels that were checked were wrong; for each class as CLASS=WRONG/CHECKED,..."""
    error_kind: str | None = None
    """"classical" (label = truth + error) or "berkson" (truth = label + error)."""
    measurements: int | None = None
    """Each label is the mean of this many measurements; the error given is that of a single one."""
    scale_errors: float | None = None
    """All errors are multiplied by this."""
    systematic: float | None = None
    """Standard deviation of an error that all labels share."""
    cut: float | None = None
    """Labels and predictions above it are class 1, the others class 0."""
    exclude: Sequence[str] | None = None
    """Rows to leave out, as COLUMN=VALUE."""

    def __post_init__(self) -> None:
        numbers = {"resolution": self.resolution, "scale_errors": self.scale_errors, "systematic": self.systematic}
        for name, value in {**numbers, "cut": self.cut}.items():
            if value is not None and not math.isfinite(value):
                raise TableProblem(f"{_option(name)} must be a finite number, got {value!r}.")
            if value is not None and value < 0 and name != "cut":
                raise TableProblem(f"{_option(name)} must be at least 0, got {value!r}.")
        if self.resolution == 0:
            raise TableProblem("--resolution must be above 0: it is the step to which labels are rounded.")
        if self.measurements is not None and (self.measurements < 1 or self.measurements != int(self.measurements)):
            raise TableProblem(f"--measurements must be a whole number of at least 1, got {self.measurements!r}.")
        if self.error_kind is not None and self.error_kind not in _KINDS:
            raise TableProblem(f"--error-kind must be classical or berkson, got {self.error_kind!r}.")
        if self.resolution is not None and self.checked is not None:
            raise TableProblem("--resolution and --checked exclude each other: labels are numbers, or classes.")

    @property
    def changes(self) -> bool:
        """Whether anything is supposed."""
        return any(getattr(self, field.name) not in (None, (), []) for field in fields(self))

    @property
    def is_error(self) -> bool:
        """Whether this says by itself what the errors are, so that no column does."""
        return self.resolution is not None or self.checked is not None

    @property
    def task(self) -> str | None:
        """What labels must be before anything is supposed of them."""
        if self.checked is not None:
            return "classification"
        numbers = (self.resolution, self.measurements, self.systematic, self.cut)
        return None if all(value is None for value in numbers) else "regression"

    def without_columns(self, roles: Mapping[str, Any]) -> dict[str, Any]:
        """What options say of the columns, with none for errors where these are supposed."""
        if not self.is_error:
            return dict(roles)
        option = "--resolution" if self.resolution is not None else "--checked"
        for name in (*ERROR_OPTIONS, "gold"):
            if roles.get(name) and roles[name] != "none":
                raise TableProblem(f"{option} and {_option(name)} exclude each other: errors come from one of them.")
        return {**roles, "yerr": "none"}

    def labels(self, source: TableSource, roles: Roles, task: str | None, nan_policy: str) -> TableLabels:
        """The checked labels of a file, as they are supposed to be."""
        return self._told(load_labels(source, roles, task, nan_policy, self.exclude or ()))

    def _told(self, data: TableLabels) -> TableLabels:
        if not self.changes:
            return data
        errors: Any = data.yerr
        if self.resolution is not None:
            _require_numbers(data, "--resolution")
            errors = Rounding(self.resolution)
        elif self.checked is not None:
            errors = self._counted(data)
        if self.error_kind is not None:
            errors = _of_kind(errors, self.error_kind, data)
        if self.measurements is not None:
            errors = _single(errors, self.measurements, data)
        if self.scale_errors is not None:
            errors = _scaled(errors, self.scale_errors, data)
        if self.systematic:
            errors = _with_common_part(errors, self.systematic, data)
        return replace(data, yerr=errors) if self.cut is None else _cut(data, errors, self.cut)

    def _counted(self, data: TableLabels) -> ErrorModel:
        text = str(self.checked)
        if data.task != "classification":
            raise TableProblem("--checked is for class labels; the labels of this file are measured numbers.")
        alone = _COUNTS.fullmatch(text)
        if alone:
            return Flip.from_counts(int(alone[1]), int(alone[2]))
        counts: dict[Any, tuple[int, int]] = {}
        for part in text.split(","):
            name, _, numbers = part.rpartition("=")
            found = _COUNTS.fullmatch(numbers)
            if not found or not name:
                raise TableProblem(
                    f"--checked must be WRONG/CHECKED, or CLASS=WRONG/CHECKED,... for all classes; got {text!r}."
                )
            counts[_as_class(name.strip(), data.y)] = (int(found[1]), int(found[2]))
        return ClassFlip.from_counts(counts)


SUPPOSED_OPTIONS = tuple(field.name for field in fields(Supposed))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_class(name: str, labels: Any) -> Any:
    return int(name) if labels.dtype.kind in "iu" and name.lstrip("-").isdigit() else name


def _require_numbers(data: TableLabels, option: str) -> None:
    if data.task == "classification":
        raise TableProblem(f"{option} is about measured numbers; the labels of this file are classes.")


def _require_errors(errors: Any, option: str) -> None:
    if errors is None:
        raise TableProblem(f"{option} needs label errors, and there are none: say --yerr COLUMN or a number.")


def _refuse_gold(errors: Any, option: str) -> None:
    if isinstance(errors, Verified):
        raise TableProblem(
            f"{option} is about given errors; gold labels show the errors themselves. Leave out {option}."
        )


def _of_kind(errors: Any, kind: str, data: TableLabels) -> Any:
    """Errors of measured values, or of values that were set and not reached exactly."""
    _require_errors(errors, "--error-kind")
    _refuse_gold(errors, "--error-kind")
    if data.task == "classification":
        model: Any = errors if isinstance(errors, ErrorModel) else Flip(errors)
    else:
        model = error_model(errors, data.y.shape)
    if kind == model.kind:
        return errors
    if model.labels() is not None:
        raise TableProblem(
            f"--error-kind {kind}: labels that come from {type(model).__name__} are measured, and their kind is known."
        )
    found = copy.copy(model)
    found.kind = kind
    return found


def _single(errors: Any, count: int, data: TableLabels) -> Any:
    """The error of each label, where it is the mean of several measurements and this is the error of one."""
    _require_errors(errors, "--measurements")
    _refuse_gold(errors, "--measurements")
    if count == 1:
        return errors
    if data.task == "classification" or isinstance(errors, ErrorModel) or np.ndim(errors) == 2:
        raise TableProblem(
            "--measurements takes one standard error for each label, or one for all: give it with --yerr or --yerr-percent."
        )
    return Repeats.from_means(sigma=errors, n=count)


def _scaled(errors: Any, factor: float, data: TableLabels) -> Any:
    _require_errors(errors, "--scale-errors")
    _refuse_gold(errors, "--scale-errors")
    if factor == 1:
        return errors
    if data.task == "classification":
        if isinstance(errors, ErrorModel) and (not isinstance(errors, Flip) or errors.checked is not None):
            raise TableProblem(
                "--scale-errors is for given probabilities of a wrong label; those that come from votes, counts or "
                "probabilities stay as they are."
            )
        q = np.asarray(errors.q if isinstance(errors, Flip) else errors, dtype=np.float64) * factor
        if np.max(q) > 1:
            raise TableProblem(
                f"--scale-errors {factor:g} makes a probability of a wrong label {np.max(q):g}, above 1."
            )
        return Flip(q, kind=errors.kind) if isinstance(errors, Flip) else q
    model = error_model(errors, data.y.shape)
    found = model.scaled(factor)
    if found is model:
        raise TableProblem(f"--scale-errors: errors of the model {type(model).__name__} cannot be scaled as a whole.")
    if isinstance(found, Repeats) and isinstance(model, Repeats):
        found.means = model.means  # the labels stay where they are
    return found


def _with_common_part(errors: Any, size: float, data: TableLabels) -> Any:
    """The errors with one more that all labels share."""
    _require_numbers(data, "--systematic")
    _refuse_gold(errors, "--systematic")
    model: MeasurementError = error_model(errors, data.y.shape)
    normal = model.normal
    if normal is None or isinstance(model, Repeats) or model.labels() is not None:
        raise TableProblem(
            f"--systematic needs normal errors (--yerr COLUMN or a number, or --cov), not with {type(model).__name__}."
        )
    if normal.cov is not None:
        return Normal(cov=normal.cov + size * size, kind=model.kind)
    return Normal(normal.sigma, shared=np.full((1, len(data.y)), size), kind=model.kind)


def _cut(data: TableLabels, errors: Any, cut: float) -> TableLabels:
    """Classes above and below the cut, wrong where the error carries the value across."""
    _require_numbers(data, "--cut")
    above = {model: (np.asarray(values) > cut).astype(np.int64) for model, values in data.predictions.items()}
    if isinstance(errors, Verified):
        model: Any = above_cut(errors, cut)
    else:
        model = None if errors is None else Thresholded(data.y, errors, cut)
    labels = (data.y > cut).astype(np.int64)
    return replace(data, y=labels, predictions=above, yerr=model, task="classification", unit=None, forecasts={})
