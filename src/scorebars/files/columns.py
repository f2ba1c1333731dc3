"""Which column is what: guessed from names, first values and metadata, overridden by options.

The names that columns may have are in `column_names`. What looks like an error is used or asked about. Where a guess would be
a gamble, the user is asked, with the option that answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

import numpy as np

from scorebars.cells import name_and_unit, names_and_units, read_cells
from scorebars.cells import reads_as_number as reads_as_number  # the pages ask for it here
from scorebars.files import column_names as known
from scorebars.files.formats import Column, TableSource
from scorebars.files.problem import TableProblem

_FEWEST_MEMBERS = 3
"""From this number on, numbered predictions may be the members of one ensemble."""
_NONE, _CELLS, _ROWS = "none", "cells", "rows"
"""What an option says: no such column; errors stand in the cells of the labels; repeats stand in several rows."""


@dataclass(frozen=True, kw_only=True)
class ErrorRoles:
    """Where the errors of the labels stand."""

    yerr: str | tuple[str, ...] | float | None = None
    """A column, several columns, or a number."""
    limits: bool = False
    """Whether they are given as the two ends of an interval."""
    flips: bool = False
    """Whether they are probabilities of a wrong label."""
    sure: bool = True
    """False where a pair has names that may also stand for limits."""
    percent: bool = False
    """Whether they are in percent of the label."""
    added: bool = False
    """Whether the columns are parts to be added in quadrature."""
    in_cells: bool = False
    """Whether they stand in the cells of the labels."""
    unused: tuple[str, ...] = ()
    """Columns that look like errors of the labels and are not used."""

    @property
    def error_columns(self) -> tuple[str, ...]:
        return (self.yerr,) if isinstance(self.yerr, str) else self.yerr if isinstance(self.yerr, tuple) else ()


@dataclass(frozen=True, kw_only=True)
class Roles(ErrorRoles):
    """What each column is."""

    y: str | None
    predictions: tuple[str, ...]
    weight: str | None = None
    by: str | None = None
    groups: str | None = None
    """Which items belong together."""
    id: str | None = None
    model: str | None = None
    """In a long table the column that names the model of each row."""
    repeats: tuple[str, ...] = ()
    repeated_rows: bool = False
    votes: tuple[str, ...] = ()
    probabilities: tuple[str, ...] = ()
    cov: str | None = None
    stds: tuple[tuple[str, str], ...] = ()
    """Columns of predictions, each with that of its spread."""
    members: tuple[tuple[str, ...], ...] = ()
    """Columns that are the members of one ensemble."""
    left_over: bool = False
    """Whether the predictions are the columns that no name explains."""
    guessed_id: bool = field(default=True, compare=False)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns that the labels are made from."""
        return self.repeats or self.votes or self.probabilities or ((self.y,) if self.y is not None else ())

    @property
    def forecast_columns(self) -> tuple[str, ...]:
        """The columns that make forecasts of predictions: their spreads, and the members of ensembles."""
        return (*(std for _, std in self.stds), *(name for group in self.members for name in group))

    @property
    def used(self) -> list[str]:
        """The columns to read, each once."""
        others = (self.weight, self.by, self.groups, self.id, self.model)
        named = (*self.label_columns, *self.error_columns, *self.predictions, *self.forecast_columns, *others)
        return list(dict.fromkeys(name for name in named if name is not None))

    def numbers(self, task: str) -> list[str]:
        """The columns that must hold numbers."""
        measured = (*self.label_columns, *self.predictions) if task == "regression" else self.probabilities
        forecasts = self.forecast_columns if task == "regression" else ()
        return [*measured, *self.error_columns, *forecasts, *([self.weight] if self.weight else [])]

    def models(self) -> dict[str, str]:
        """Column -> name of the model: what follows ``pred_``, where that is still unique."""
        short = {name: _model_name(name) for name in self.predictions}
        return short if len(set(short.values())) == len(short) else {name: name for name in self.predictions}

    def ensembles(self) -> dict[str, tuple[str, ...]]:
        """Name of the model -> columns of its members."""
        return {_model_name(_common_start(group)): group for group in self.members}

    def to_dict(self) -> dict[str, Any]:
        """What the result was made from, as plain data."""
        errors = "limits" if self.limits else "yerr_percent" if self.percent else "yerr"
        found: dict[str, Any] = {"y": self.y, errors: self.yerr, "predictions": self.predictions}
        found |= {"weight": self.weight, "by": self.by, "id": self.id}
        more = {name: getattr(self, name) for name in ("groups", "model", "repeats", "votes", "probabilities", "cov")}
        if self.stds:
            more["std"] = tuple(dict(self.stds).get(name, _NONE) for name in self.predictions)
        if self.members:
            more["members"] = tuple(",".join(group) for group in self.members)
        return found | {name: value for name, value in more.items() if value}

    def described(self, units: Mapping[str, str] | None = None) -> str:
        """One line that says what was taken for what."""
        unit = (units or {}).get(self.label_columns[0]) if self.label_columns else None
        shown = f" ({unit})" if unit and name_and_unit(self.label_columns[0])[1] is None else ""
        parts = [self._labels() + shown, self._errors()]
        more = f", ... ({len(self.predictions)})" if len(self.predictions) > 8 else ""
        left = " (the columns left over)" if self.left_over else ""
        stds = dict(self.stds)
        shown_models = [f"{name} with spread {stds[name]}" if name in stds else name for name in self.predictions[:8]]
        parts += [f"predictions {', '.join(shown_models)}{more}{left}"] if shown_models else []
        parts += [
            f"ensemble {model}: the {len(group)} members {group[0]} to {group[-1]}"
            for model, group in self.ensembles().items()
        ]
        named = [("weights", self.weight), ("groups", self.by), ("models by", self.model)]
        named.append(("items belong together by", self.groups))
        parts += [f"{role} {name}" for role, name in named if name]
        if self.unused:
            parts.append(f"not used: {', '.join(self.unused)}")
        return "; ".join(parts)

    def _labels(self) -> str:
        if self.repeats:
            return f"labels: means of the repeats {', '.join(self.repeats)}"
        if self.votes:
            return f"labels: majority of the votes {', '.join(self.votes)}"
        if self.probabilities:
            return f"labels: class probabilities {', '.join(self.probabilities)}"
        return f"labels {self.y}" + (f" (repeats of one {self.id} are one label)" if self.repeated_rows else "")

    def _errors(self) -> str:
        if self.cov is not None:
            return f"covariance of the labels from {self.cov}"
        if self.repeats or self.repeated_rows:
            return "errors from the scatter of the repeats"
        if self.votes or self.probabilities:
            return "errors from " + ("the votes" if self.votes else "the probabilities")
        if self.in_cells:
            return f"errors in the cells of {self.y}"
        percent = " (percent of the label)" if self.percent else ""
        if self.added:
            return f"errors {' and '.join(self.error_columns)}, added in quadrature{percent}"
        if isinstance(self.yerr, tuple):
            kind = "limits" if self.limits else "lower and upper errors"
            return f"{kind} {self.yerr[0]}, {self.yerr[1]}{percent}"
        if self.yerr is None:
            return "no errors (labels taken as exact)"
        return f"{'probability of a wrong label' if self.flips else 'errors'} {self.yerr}{percent}"


def _model_name(column: str) -> str:
    name = name_and_unit(column)[0]
    for start in known.PREDICTION_STARTS:
        if name.lower().startswith(start) and len(name) > len(start):
            return name[len(start) :]
    inside = re.search(r"_(?:y?pred|prediction|predicted)_(.+)$", name, re.IGNORECASE)
    return inside[1] if inside else re.sub(r"_(pred|prediction|predicted)$", "", name, flags=re.IGNORECASE) or name


def _common_start(columns: Sequence[str]) -> str:
    """What the names of members share, without the sign before their numbers.

    >>> _common_start(["pred_x_1", "pred_x_10"])
    'pred_x'
    """
    found = re.fullmatch(r"(.*?)[\s_.\-]*\d+", name_and_unit(columns[0])[0])
    return found[1] if found else columns[0]


def roles_of(source: TableSource, **options: Any) -> Roles:
    """The roles of the columns of a file: what the options say, the rest guessed from names, values and metadata."""
    return assign(
        source.columns,
        sample=source.first_rows(),
        declared=source.declared_errors(),
        units=source.units(source.columns),
        coordinates=source.coordinates,
        **options,
    )


def assign(
    columns: Sequence[str],
    *,
    y: str | None = None,
    yerr: str | None = None,
    yerr_percent: str | None = None,
    limits: str | None = None,
    pred: Sequence[str] | None = None,
    std: Sequence[str] | None = None,
    members: Sequence[str] | None = None,
    weight: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    id: str | None = None,
    model: str | None = None,
    repeats: Sequence[str] | None = None,
    votes: Sequence[str] | None = None,
    probabilities: Sequence[str] | None = None,
    cov: str | None = None,
    sample: Mapping[str, Column] | None = None,
    declared: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    coordinates: frozenset[str] = frozenset(),
) -> Roles:
    """The roles of the columns: what the options say, the rest guessed.

    `sample` holds the first values of the columns. Without it only names are looked at, and nothing is left over for models.

    >>> assign(["id", "y", "y_err", "pred_a", "pred_b", "Z"]).described()
    'labels y; errors y_err; predictions pred_a, pred_b'
    >>> assign(["mass", "e_mass", "model_pred"]).described()
    'labels mass; errors e_mass; predictions model_pred'
    >>> assign(["y", "y_err", "pred_gp", "pred_gp_std"]).described()
    'labels y; errors y_err; predictions pred_gp with spread pred_gp_std'
    """
    given = {"--yerr": yerr, "--limits": limits, "--yerr-percent": yerr_percent, "--cov": cov}
    twice = [option for option, value in given.items() if value is not None]
    if len(twice) > 1:
        raise TableProblem(f"{twice[0]} and {twice[1]} exclude each other: give the errors once.")
    guess = _Guess(columns, sample, declared or {}, units or {}, coordinates)
    in_rows = list(repeats or ()) == [_ROWS] and _ROWS not in columns
    several: dict[str, Any] = {
        "repeats": () if in_rows else tuple(_given_columns(columns, repeats or (), "--repeats")),
        "votes": tuple(_given_columns(columns, votes or (), "--votes")),
        "probabilities": tuple(_given_columns(columns, probabilities or (), "--probabilities")),
    }
    if sum(map(bool, several.values())) > 1:
        raise TableProblem(
            "--repeats, --votes and --probabilities exclude each other: the labels come from one of them."
        )
    labels = _exact(columns, y, "--y") if y else None
    if not any(several.values()) and labels is None:
        labels, found = guess.labels_or_repeats()
        several |= found
    made = next((key for key, names in several.items() if names), None)
    predicted = _given_columns(columns, pred, "--pred") if pred else None
    if made is not None:
        errors = ErrorRoles()
    elif limits is not None:
        pair = _pair(columns, limits, "--limits")
        if pair is None:
            raise TableProblem(f"--limits needs two columns, lower and upper, as LOW,HIGH; got {limits!r}.")
        errors = ErrorRoles(yerr=pair, limits=True)
    elif yerr is not None or yerr_percent is not None:
        errors = _given_errors(columns, yerr, yerr_percent)
    elif cov is not None or in_rows:
        errors = ErrorRoles()
    else:
        errors = guess.errors(str(labels), predicted or ())
    sources = next((names for names in several.values() if names), () if labels is None else (labels,))
    long = _one(columns, model, "--model", None if predicted and len(predicted) > 1 else guess.model_column())
    others: dict[str, Any] = {
        "weight": _one(columns, weight, "--weight", guess.first(known.WEIGHT_NAMES)),
        "by": _one(columns, by, "--by", guess.first(["group"]) if groups is None else None),
        "groups": _one(columns, groups, "--groups", None),
        "id": _one(columns, id, "--id", guess.first(known.ID_NAMES)),
    }
    taken = {*sources, *errors.error_columns, *filter(None, others.values()), long}
    ensembles = _given_members(columns, members) if members else []
    given_stds = _given_columns(columns, [name for name in std if name != _NONE], "--std") if std else []
    taken |= {*(name for group in ensembles for name in group), *given_stds}
    left_over = False
    if predicted is None and not ensembles:
        predicted, left_over = guess.predictions({name for name in taken if name}, sources, made)
        if members is None:
            ensembles = guess.members(predicted)
            predicted = [name for name in predicted if not any(name in group for group in ensembles)]
    elif predicted is None:
        predicted = guess.named_predictions({name for name in taken if name})
    stds = guess.stds(predicted, taken) if std is None else _paired(predicted, std, columns)
    if long is not None and (len(predicted) != 1 or ensembles):
        if model is not None:
            raise TableProblem(
                f"--model {model} means a long table with one column of predictions, but there are {len(predicted)}: "
                f"{', '.join(predicted)}. Choose one with --pred COLUMN."
            )
        long = None
    if in_rows and others["id"] is None:
        raise TableProblem("--repeats rows needs the column that tells which rows are one label: say --id COLUMN.")
    return Roles(
        **vars(errors),
        y=labels if made is None else None,
        predictions=tuple(predicted),
        **others,
        model=long,
        **several,
        repeated_rows=in_rows,
        cov=cov,
        stds=tuple(stds),
        members=tuple(tuple(group) for group in ensembles),
        left_over=left_over,
        guessed_id=id is None,
    )


def _exact(columns: Sequence[str], name: str, option: str) -> str:
    """The column of this name, with or without its unit; near matches are listed where there is none."""
    if name in columns:
        return name
    for key in (lambda c: c.strip().lower(), lambda c: name_and_unit(c)[0].lower()):
        alike = [column for column in columns if key(column) == name.strip().lower()]
        if len(alike) == 1:
            return alike[0]
    near = get_close_matches(name, columns, 3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise TableProblem(f"{option}: there is no column {name!r}.{hint} The columns are: {first_names(columns)}.")


def first_names(names: Sequence[str], most: int = 20) -> str:
    """Names for a message; of many the first."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _one(columns: Sequence[str], given: str | None, option: str, guessed: str | None) -> str | None:
    if given is None:
        return guessed
    return None if given == _NONE and _NONE not in columns else _exact(columns, given, option)


def _pair(columns: Sequence[str], given: str, option: str) -> tuple[str, str] | None:
    if given in columns or given.count(",") != 1:
        return None
    low, high = given.split(",")
    return _exact(columns, low, option), _exact(columns, high, option)


def _given_errors(columns: Sequence[str], yerr: str | None, percent: str | None) -> ErrorRoles:
    option, given = ("--yerr", yerr) if yerr is not None else ("--yerr-percent", str(percent))
    assert given is not None
    relative = yerr is None
    if given not in columns:
        if given in (_NONE, _CELLS) and not relative:
            return ErrorRoles(in_cells=given == _CELLS)
        if reads_as_number(given):
            return ErrorRoles(yerr=float(given), percent=relative)
        if "+" in given:
            return ErrorRoles(
                yerr=tuple(_exact(columns, part, option) for part in given.split("+")), percent=relative, added=True
            )
    pair = _pair(columns, given, option)
    return ErrorRoles(
        yerr=pair or _exact(columns, given, option), percent=relative, flips=given.strip().lower() in known.FLIP_NAMES
    )


def _given_columns(columns: Sequence[str], given: Sequence[str], option: str) -> list[str]:
    """Names, or patterns such as ``pred_*``; several in one text are parted by commas."""
    found: dict[str, None] = {}
    for name in given:
        matching = [name] if name in columns else [c for c in columns if fnmatchcase(c, name)]
        if not matching and "," in name:
            matching = _given_columns(columns, name.split(","), option)
        found |= dict.fromkeys(matching or [_exact(columns, name, option)])
    return list(found)


def _paired(predicted: Sequence[str], std: Sequence[str], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Each prediction with its spread, as the options name them in the same order."""
    named = [name for given in std for name in ([given] if given in columns or given == _NONE else given.split(","))]
    if named == [_NONE]:
        return []
    if len(named) != len(predicted):
        raise TableProblem(
            f"--std names {len(named)} columns for {len(predicted)} columns of predictions ({', '.join(predicted)}): give one "
            "for each, in their order, none for a model without; or say --pred COLUMN."
        )
    pairs = zip(predicted, named, strict=True)
    return [(name, _exact(columns, given, "--std")) for name, given in pairs if given != _NONE]


def _given_members(columns: Sequence[str], members: Sequence[str]) -> list[list[str]]:
    """The columns of each ensemble: every option, a pattern or names parted by commas, is one."""
    groups = [_given_columns(columns, [given], "--members") for given in members if given != _NONE]
    for given, group in zip(members, groups, strict=False):
        if len(group) < 2:
            raise TableProblem(f"--members {given}: an ensemble has at least 2 members, this is {group[0]} alone.")
    return groups


# names ---------------------------------------------------------------------------------------------


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """The names of columns as they are compared: lower case, words joined by underscores, without their units.

    >>> list(plain_names(["Measured value (MeV)", "yTrue", "y-err", "+/-"]).values())
    ['measured_value', 'y_true', 'y_err', '±']
    """
    return {column: _plain_name(name) for column, (name, _) in names_and_units(columns).items()}


def _plain_name(name: str) -> str:
    if re.fullmatch(r"\s*(±|\+\s*/?\s*[-−])\s*", name):
        return "±"
    name = re.sub(r"([a-z])(True|Pred|Err|Error|Std|Obs|Exp|Sigma|Unc)", r"\1_\2", name)
    name = re.sub(r"%", "_pct_", re.sub(r"±|\+/-", "_±_", name))
    return re.sub(r"[\s\-.:/()\[\]_]+", "_", name).strip("_").lower()


@dataclass(frozen=True)
class _ErrorName:
    """What the name of a column says if it looks like the name of an error."""

    of: str
    """What it is the error of; "" where the name does not say."""
    kind: str = "plain"
    """Or "percent", "relative", "stat", "sys", "total", "wide"."""
    side: str = ""
    """The word for a lower or an upper error; "" for both."""


def _error_name(name: str) -> _ErrorName | None:
    """Read a name as the name of an error; None where it does not look like one.

    >>> _error_name("y_err_stat"), _error_name("masserr2")
    (_ErrorName(of='y', kind='stat', side=''), _ErrorName(of='mass', kind='plain', side='2'))
    """
    words: list[str] = []
    for word in name.split("_"):
        glued = None if word in known.ERROR_WORDS | known.WIDE_WORDS else known.GLUED_ERROR.fullmatch(word)
        words += [part for part in glued.groups() if part] if glued else [word]
    if words[0] == "e" and len(words) > 1:
        words[0] = "err"
    if not known.ERROR_WORDS & set(words):
        return None
    numbered = [w for before, w in pairwise(words) if w in known.NUMBERED_SIDES and before in known.ERROR_WORDS]
    side = next((word for word in words if word in known.SIDE_WORDS), numbered[0] if numbered else "")
    own = [
        word for word in words if word not in known.ERROR_WORDS | known.QUALIFIERS | known.WIDE_WORDS and word != side
    ]
    if known.WIDE_WORDS & set(words):
        return _ErrorName("_".join(own), "wide", side)
    kind = next((kind for kind, marks in known.KINDS_OF_ERROR.items() if marks & set(words)), "plain")
    return _ErrorName("_".join(own), kind, side)


class _Guess:
    """Columns by their plain names; of two that differ only in case the first counts."""

    def __init__(
        self,
        columns: Sequence[str],
        sample: Mapping[str, Column] | None,
        declared: Mapping[str, str],
        units: Mapping[str, str],
        coordinates: frozenset[str],
    ) -> None:
        self.columns, self.sample, self.declared, self.units = columns, sample, declared, units
        self.coordinates = coordinates
        self.plain = plain_names(columns)
        self.by_name: dict[str, str] = {}
        for column, name in self.plain.items():
            self.by_name.setdefault(name, column)
        self.error_names = {
            name: found
            for name, column in self.by_name.items()
            if (found := _error_name(name)) and self._has_numbers(column)
        }

    def first(self, names: Sequence[str]) -> str | None:
        return next((self.by_name[name] for name in names if name in self.by_name), None)

    # what columns hold -----------------------------------------------------------------------------

    def may_be_number(self, column: str) -> bool:
        """Whether the first values of a column are numbers; without values any column may hold them."""
        return self.sample is None or (column in self.sample and holds_numbers(self.sample[column]))

    def _has_numbers(self, column: str) -> bool:
        """Whether a column is not plainly text: what is called an error and has wrong cells, or none, must be noticed."""
        if self.sample is None or column not in self.sample:
            return self.sample is None
        values = self.sample[column]
        if values.dtype.kind != "O":
            return values.dtype.kind in "iuf"
        return all(value is None for value in values) or not np.isnan(read_cells(values).values).all()

    def is_text(self, column: str) -> bool:
        return self.sample is not None and column in self.sample and not holds_numbers(self.sample[column])

    def _is_prediction(self, name: str) -> bool:
        if name in self.error_names or name.startswith(("p_", "prob_")):  # how sure a classifier is, not the class
            return False
        return (
            bool(known.PREDICTED_WORDS & _without_numbers(name))
            or name in ("y_hat",)
            or name.startswith(known.PREDICTION_STARTS)
        )

    def _is_bound(self, name: str) -> bool:
        """Whether it is a limit of another column, as ``pred_lower`` is of ``pred``."""
        base, _, last = name.rpartition("_")
        return last in known.SIDE_WORDS and base in self.by_name

    def _may_be_prediction(self, name: str) -> bool:
        return name not in self.error_names and bool(known.PERHAPS_PREDICTED_WORDS & _without_numbers(name))

    # labels ----------------------------------------------------------------------------------------

    def labels_or_repeats(self) -> tuple[str | None, dict[str, tuple[str, ...]]]:
        """The column of labels; or the columns of repeats or of votes that labels are made from."""
        labels = self._labels()
        if labels is not None:
            return labels, {}
        if repeats := self._repeats():
            return None, {"repeats": repeats}
        votes = tuple(c for n, c in self.by_name.items() if n.startswith(("votes_", "vote_", "n_votes_")))
        if len(votes) > 1:
            return None, {"votes": votes}
        raise self._which_labels([])

    def _labels(self) -> str | None:
        plain = [self.by_name[name] for name in known.LABEL_NAMES if name in self.by_name]
        if plain and self.plain[plain[0]] in ("y_true", "y", "ytrue"):
            return plain[0]
        if not plain:
            plain = [self.by_name[name] for name in known.WEAK_LABEL_NAMES if name in self.by_name]
        if not plain:
            plain = [
                c
                for n, c in self.by_name.items()
                if (known.LABEL_WORDS - {"y", "value"}) & set(n.split("_")) and self._is_candidate(n)
            ]
        if len(plain) == 1:
            return plain[0]
        with_errors = [c for n, c in self.by_name.items() if self._is_candidate(n) and self._own_errors(n, c)]
        if plain:
            choice = [c for c in plain if c in with_errors] or [c for c in plain if not self.is_text(c)]
            if len(choice) == 1:
                return choice[0]
            raise self._which_labels(plain, "may be labels")
        if len(with_errors) == 1:
            return with_errors[0]
        if with_errors:
            raise self._which_labels(with_errors)
        return None

    def _which_labels(self, several: Sequence[str], what: str = "have errors") -> TableProblem:
        why = f"several columns {what} ({', '.join(several)})" if several else "no column has one of the usual names"
        return TableProblem(
            f"which column holds the labels? {why[0].upper()}{why[1:]}: say --y COLUMN. "
            f"The columns are: {', '.join(self.columns)}."
        )

    def _is_candidate(self, name: str) -> bool:
        return not (name in self.error_names or self._is_prediction(name) or self._may_be_prediction(name))

    def _own_errors(self, name: str, column: str) -> bool:
        """Whether other columns are called its errors."""
        if column in self.declared or any(found.of == name for found in self.error_names.values()):
            return True
        return self._sides(name) is not None

    def _repeats(self) -> tuple[str, ...]:
        """Columns such as ``y_1, y_2, y_3`` or ``rep1, rep2`` that can only be repeats of the labels."""
        groups: dict[str, list[str]] = {}
        for name, column in self.by_name.items():
            found = re.fullmatch(r"(.*?[a-z])_?(\d+)", name)
            if found and self.may_be_number(column) and not self._is_prediction(name):
                groups.setdefault(found[1].rstrip("_"), []).append(column)
        words = known.LABEL_WORDS | {"rep", "repeat", "replicate", "run", "trial"}
        good = [names for base, names in groups.items() if len(names) > 1 and set(base.split("_")) & words]
        return tuple(good[0]) if len(good) == 1 else ()

    # errors ----------------------------------------------------------------------------------------

    def _sides(self, base: str) -> tuple[str, str] | None:
        """Columns called after the labels with the words for low and high."""
        for low, high in known.SIDES:
            for join in ("_", ""):
                names = f"{base}{join}{low}", f"{base}{join}{high}"
                if all(name in self.by_name for name in names):
                    return self.by_name[names[0]], self.by_name[names[1]]
        return None

    def errors(self, labels: str, predicted: Sequence[str]) -> ErrorRoles:
        """The errors of these labels; what looks like them and leaves a doubt is asked about."""
        name, flip = self.plain[labels], self.first(known.FLIP_NAMES)
        in_cells = self.sample is not None and labels in self.sample and _errors_in_cells(self.sample[labels])
        if labels in self.declared:
            return ErrorRoles(yerr=self.declared[labels])
        own, plain, other = self._sorted_errors(name, predicted)
        found = self._chosen(own) or self._chosen(plain)
        if found is not None:
            self._require_clear(labels, found)
        if found is not None and in_cells:
            columns = ",".join(found.error_columns)
            raise TableProblem(
                f"the cells of {labels!r} hold errors, and so does {columns}: say --yerr cells or --yerr {columns}."
            )
        if found is not None:
            return found
        if in_cells:
            return ErrorRoles(in_cells=True)
        pair = self._sides(name)
        if pair is not None and flip is None:
            return ErrorRoles(yerr=pair, sure=False)
        if flip is not None:
            return ErrorRoles(yerr=flip, flips=True)
        other += self._suspects(name, predicted)
        if other:
            raise TableProblem(
                f"is {other[0]!r} the error of the labels {labels!r}? Say --yerr {other[0]} if it is a standard deviation, "
                "--limits LOW,HIGH for the ends of a 68 % interval, or --yerr none for exact labels."
            )
        return ErrorRoles()

    def _sorted_errors(self, labels: str, predicted: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Names that look like errors: called after the labels, called after nothing, and after something unknown."""
        words = set(labels.split("_"))
        others = [n for n in self.by_name if n != labels and n not in self.error_names]
        own, plain, other = [], [], []
        for name, found in self.error_names.items():
            if self.by_name[name] in self.declared.values() or self.by_name[name] in predicted:
                continue
            of = set(found.of.split("_")) if found.of else set()
            if found.of == labels or found.of in (f"d{labels}", labels.replace("_", "")):
                own.append(name)
            elif not of:
                plain.append(name)
            elif found.of in others or of & known.PREDICTED_WORDS:
                continue  # the error of another column
            elif of <= words | known.LABEL_WORDS:
                own.append(name)
            elif not any(of <= set(n.split("_")) for n in others):
                other.append(name)
        if not own and f"d{labels}" in self.by_name and self.may_be_number(self.by_name[f"d{labels}"]):
            own.append(f"d{labels}")
            self.error_names[f"d{labels}"] = _ErrorName(labels, "plain", "")
        return own, plain, [self.by_name[n] for n in other]

    def _chosen(self, names: Sequence[str]) -> ErrorRoles | None:
        """Which of several columns of errors count; asks where that is not clear."""
        if not names:
            return None
        kinds: dict[str, list[str]] = {}
        sides: dict[tuple[str, str], dict[str, str]] = {}
        for name in names:
            found = self.error_names[name]
            if found.side:
                sides.setdefault((found.of, found.kind), {})[found.side] = name
            else:
                kinds.setdefault(found.kind, []).append(name)
        for (_, kind), both in sides.items():
            pair = next(
                ((both[a], both[b]) for a, b in (*known.SIDES, known.NUMBERED_SIDES) if a in both and b in both), None
            )
            if pair and kind in ("plain", "total", "stat"):
                low, high = (self.by_name[name] for name in pair)
                rest = tuple(self.by_name[n] for n in names if n not in pair)
                return ErrorRoles(yerr=(low, high), unused=rest)
        everything = [self.by_name[name] for name in names]
        if set(kinds) == {"wide"}:
            raise TableProblem(
                f"{everything[0]!r} looks wider than one standard deviation. Say --yerr {everything[0]} if it is one; else "
                "divide it first (95 % and 2 sigma by 2), or say --yerr none for exact labels."
            )
        for kind in ("plain", "total", "percent", "stat"):
            here = kinds.get(kind, [])
            if kind == "stat" and ("sys" in kinds or "relative" in kinds):
                break
            if len(here) > 1:
                break
            if here:
                column = self.by_name[here[0]]
                percent = kind == "percent" or self.units.get(column) == "%"
                return ErrorRoles(yerr=column, percent=percent, unused=tuple(c for c in everything if c != column))
        if len(everything) == 1 and "relative" in kinds:
            raise TableProblem(
                f"is {everything[0]!r} a fraction or in percent of the labels? Say --yerr-percent {everything[0]} if in "
                "percent; else multiply it by 100 first, or say --yerr none for exact labels."
            )
        raise TableProblem(
            f"which column holds the errors of the labels? These may: {', '.join(everything)}. Say --yerr COLUMN; "
            f"--yerr {'+'.join(everything[:2])} adds them in quadrature, --yerr none takes the labels as exact."
        )

    def _require_clear(self, labels: str, found: ErrorRoles) -> None:
        """Ask where the errors may as well be those of predictions, or of single measurements."""
        column = found.yerr
        if not isinstance(column, str):
            return
        name = self.plain[column]
        words, called = set(name.split("_")), self.error_names[name].of == self.plain[labels]
        place = self.columns.index(column)
        before = self.plain[self.columns[place - 1]] if place else ""
        predicted = self._is_prediction(before) or self._may_be_prediction(before) or before in ("mean", "mu")
        if predicted and not called and (not self.error_names[name].of or words & known.SPREAD_WORDS):
            raise TableProblem(
                f"is {column!r} the error of the labels {labels!r}, or that of {self.columns[place - 1]!r}, which it follows? "
                f"Say --yerr {column} for the labels, or --yerr none for exact labels."
            )
        count = self.first(known.COUNT_NAMES)
        if (
            count is not None
            and words & known.SINGLE_SPREAD_WORDS
            and self.sample is not None
            and _are_counts(self.sample.get(count))
        ):
            raise TableProblem(
                f"is {column!r} the error of the labels {labels!r}, or the scatter of the {count!r} measurements behind each? "
                f"Say --yerr {column} if it is the error of the label; else divide it by the square root of {count!r} first."
            )

    def _suspects(self, labels: str, predicted: Sequence[str]) -> list[str]:
        """Columns whose names may mean errors of the labels, of whatever kind."""
        found = []
        for name, column in self.by_name.items():
            words = name.split("_")
            rest = {word for word in words if word not in known.SUSPECT_WORDS | known.SIDE_WORDS | {"y"}}
            suspect = bool(known.SUSPECT_WORDS & set(words)) or (
                bool(words) and all(word in known.SIDE_WORDS for word in words)
            )
            if (
                suspect
                and rest <= set(labels.split("_")) | known.LABEL_WORDS
                and name != labels
                and column not in predicted
            ):
                found += [column] if self._has_numbers(column) and not self._is_prediction(name) else []
        return found

    # predictions -----------------------------------------------------------------------------------

    def model_column(self) -> str | None:
        """The column of a long table that names the model of each row."""
        found = self.first(known.MODEL_NAMES)
        return found if found is not None and self.is_text(found) else None

    def predictions(self, taken: set[str], labels: Sequence[str], made: str | None) -> tuple[list[str], bool]:
        """The columns of predictions, and whether they are just the ones left over."""
        for is_one in (self._is_prediction, self._may_be_prediction):
            found = [c for n, c in self.by_name.items() if is_one(n) and c not in taken and not self._is_bound(n)]
            if found:
                return found, False
        found, doubtful = self._left_over(taken, labels, made)
        if not found or doubtful:
            why = (
                f"Of the columns left over, {', '.join(doubtful)} do not look like the labels: say --pred COLUMN "
                if doubtful
                else "None is called pred_MODEL, y_pred or the like: say --pred COLUMN "
            )
            raise TableProblem(
                f"which columns hold predictions? {why}(once for each model). The columns are: {', '.join(self.columns)}."
            )
        return found, True

    def named_predictions(self, taken: set[str]) -> list[str]:
        """Columns that are called predictions, besides the members that the options name."""
        return [
            c for n, c in self.by_name.items() if self._is_prediction(n) and c not in taken and not self._is_bound(n)
        ]

    def members(self, predicted: Sequence[str]) -> list[list[str]]:
        """Predictions ``pred_x_1``, ``pred_x_2``, ``pred_x_3``, ... of numbers that are not all whole: one ensemble."""
        groups: dict[str, dict[int, str]] = {}
        for column in predicted:
            found = re.fullmatch(r"(.+)_(\d+)", self.plain[column])
            if found and found[1] not in known.PREDICTED_WORDS | {"y_pred", "y_hat"} and self._has_decimals(column):
                groups.setdefault(found[1], {})[int(found[2])] = column
        several = [numbered for numbered in groups.values() if len(numbered) >= _FEWEST_MEMBERS]
        for numbered in several:
            wanted = range(min(numbered), min(numbered) + len(numbered))
            gone = [number for number in wanted if number not in numbered]
            if gone or min(numbered) > 1:
                missing = gone[0] if gone else 1
                raise TableProblem(
                    f"are {', '.join(list(numbered.values())[:3])}, ... the members of one ensemble? Number {missing} is not "
                    f"there. Say --members '{_common_start(list(numbered.values()))}_*' if they are, or --members none if each "
                    "is a model of its own."
                )
        return [[numbered[k] for k in sorted(numbered)] for numbered in several]

    def _has_decimals(self, column: str) -> bool:
        if self.sample is None or column not in self.sample or not holds_numbers(self.sample[column]):
            return False
        values = as_floats(self.sample[column])
        values = values[np.isfinite(values)]
        return bool(np.any(values != np.floor(values)))

    def stds(self, predicted: Sequence[str], taken: set[Any]) -> list[tuple[str, str]]:
        """Predictions that have a column called their spread."""
        found = []
        for column in predicted:
            name = self.plain[column]
            own = [
                self.by_name[n]
                for n, error in self.error_names.items()
                if error.of == name and error.kind == "plain" and not error.side and self.by_name[n] not in taken
            ]
            if len(own) > 1:
                raise TableProblem(
                    f"which column holds the spread of the prediction {column!r}? These may: {', '.join(own)}. Say --std "
                    "COLUMN, or --std none to leave it out."
                )
            found += [(column, own[0])] if own else []
        return found

    def _left_over(self, taken: set[str], labels: Sequence[str], made: str | None) -> tuple[list[str], list[str]]:
        """Columns that nothing explains: those that look like the labels, and those that do not."""
        if self.sample is None or not labels or labels[0] not in self.sample or made in ("votes", "probabilities"):
            return [], []
        if made == "repeats":
            shown: Any = np.nanmean([as_floats(self.sample[name]) for name in labels], axis=0)
        else:
            shown = self.sample[labels[0]]
        found: list[str] = []
        doubtful: list[str] = []
        for name, column in self.by_name.items():
            explained = column in taken or column in self.coordinates or name in self.error_names
            if explained or name in known.COORDINATE_NAMES or column not in self.sample:
                continue
            if not name or name.startswith("unnamed"):
                continue
            alike = look_alike(shown, self.sample[column])
            if alike is not None:
                (found if alike else doubtful).append(column)
        return found, doubtful


def id_is_unique(roles: Roles) -> bool:
    """Whether the column of ids is one in which an entry should occur once; a column called name need not be."""
    return roles.id is not None and (not roles.guessed_id or plain_names([roles.id])[roles.id] in known.SURE_ID_NAMES)


def _without_numbers(name: str) -> set[str]:
    """The words of a name, model1 as model."""
    return {word.rstrip("0123456789") for word in name.split("_")}


def _are_counts(values: Column | None) -> bool:
    return values is not None and values.dtype.kind in "iu" and bool(np.all((values >= 1) & (values <= 100)))


def holds_numbers(values: Column) -> bool:
    """Whether a column is one of numbers, written as such or as text."""
    if values.dtype.kind in "iuf":
        return not (values.dtype.kind == "f" and len(values) > 0 and bool(np.isnan(values).all()))
    return values.dtype.kind == "O" and read_cells(values).numeric


def as_floats(values: Column) -> Any:
    return values.astype(np.float64) if values.dtype.kind in "iubf" else read_cells(values).values


def _errors_in_cells(values: Column) -> bool:
    return values.dtype.kind == "O" and read_cells(values).upper is not None


def look_alike(labels: Column, values: Column) -> bool | None:
    """Whether a column can be a prediction of the labels; None where it is of another kind."""
    if holds_numbers(labels) != holds_numbers(values):
        return None
    if not holds_numbers(labels):
        classes = {value for value in labels if value is not None}
        return sum(value in classes for value in values) * 2 >= len(values) or None
    rows = min(len(labels), len(values))  # of a text whose rows are cut short
    y, p = as_floats(labels[:rows]), as_floats(values[:rows])
    both = np.isfinite(y) & np.isfinite(p)
    if not both.any():
        return False
    y, p = y[both], p[both]
    spread, size = float(np.std(y)), float(np.max(np.abs(y)))
    distance = float(np.sqrt(np.mean(np.square(p - y))))
    together = len(y) > 2 and spread > 0 and np.std(p) > 0 and float(np.corrcoef(y, p)[0, 1]) > 0.5
    return distance <= max(2.0 * spread, 1e-9 * size) or bool(together and distance <= 5.0 * max(spread, 1e-300))
