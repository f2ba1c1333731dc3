"""What each column of a file is: the options say it, or `guesses` finds it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple

from scorebars.cells import name_and_unit, reads_as_number
from scorebars.files import column_names as known
from scorebars.files.formats import Column, TableSource
from scorebars.files.guesses import ErrorRoles, Guess, common_start, plain_names
from scorebars.files.problem import TableProblem, first_names

_NONE, _CELLS, _ROWS = "none", "cells", "rows"
"""What an option says: no such column; errors stand in the cells of the labels; repeats stand in several rows."""


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
    gold: str | None = None
    """Better labels of the items that were checked; empty elsewhere."""
    gold_probability: str | None = None
    """With which probability each item was chosen to be checked."""
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
    def gold_columns(self) -> tuple[str, ...]:
        """The columns that say which labels were checked, and what was found."""
        return tuple(name for name in (self.gold, self.gold_probability) if name is not None)

    @property
    def has_unique_ids(self) -> bool:
        """Whether an entry of the column of ids should occur once; one of a guessed column called name need not."""
        return self.id is not None and (not self.guessed_id or plain_names([self.id])[self.id] in known.SURE_ID_NAMES)

    @property
    def used(self) -> list[str]:
        """The columns to read, each once."""
        others = (self.weight, self.by, self.groups, self.id, self.model)
        errors = (*self.error_columns, *self.gold_columns)
        named = (*self.label_columns, *errors, *self.predictions, *self.forecast_columns, *others)
        return list(dict.fromkeys(name for name in named if name is not None))

    def numbers(self, task: str) -> list[str]:
        """The columns that must hold numbers."""
        measured = (*self.label_columns, *self.predictions) if task == "regression" else self.probabilities
        forecasts = self.forecast_columns if task == "regression" else ()
        gold = self.gold_columns if task == "regression" else self.gold_columns[1:]
        return [*measured, *self.error_columns, *gold, *forecasts, *([self.weight] if self.weight else [])]

    def models(self) -> dict[str, str]:
        """Column -> name of the model: what follows ``pred_``, where that is unique and does not name the labels."""
        short = {name: _model_name(name) for name in self.predictions}
        labels = {"y", *(_model_name(name) for name in self.label_columns)}
        unclear = len(set(short.values())) < len(short) or not labels.isdisjoint(short.values())
        return {name: name for name in self.predictions} if unclear else short

    def ensembles(self) -> dict[str, tuple[str, ...]]:
        """Name of the model -> columns of its members."""
        return {_model_name(common_start(group)): group for group in self.members}

    @property
    def error_option(self) -> str:
        """The option that names these errors."""
        return "limits" if self.limits else "yerr_percent" if self.percent else "yerr"

    @property
    def error_value(self) -> str | float | None:
        """What that option says; None where there are no errors."""
        if self.in_cells:
            return _CELLS
        return ("+" if self.added else ",").join(self.yerr) if isinstance(self.yerr, tuple) else self.yerr

    def to_dict(self) -> dict[str, Any]:
        """What the result was made from, as plain data."""
        found: dict[str, Any] = {"y": self.y, self.error_option: self.yerr, "predictions": self.predictions}
        found |= {"weight": self.weight, "by": self.by, "id": self.id}
        names = ("groups", "model", "repeats", "votes", "probabilities", "cov", "gold", "gold_probability")
        more = {name: getattr(self, name) for name in names}
        if self.stds:
            more["std"] = tuple(dict(self.stds).get(name, _NONE) for name in self.predictions)
        if self.members:
            more["members"] = tuple(",".join(group) for group in self.members)
        return found | {name: value for name, value in more.items() if value}

    def keywords(self) -> dict[str, Any]:
        """The keywords by which `evaluate` takes the same columns from the file, which an `id` makes it read as a whole."""
        found = {**self.to_dict(), "id": self.id or _NONE}
        found |= {self.error_option: self.error_value} if self.in_cells or self.added else {}
        return found | ({"repeats": _ROWS} if self.repeated_rows else {})

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
        if self.gold is not None:
            by = "" if self.gold_probability is None else f", checked with probability {self.gold_probability}"
            return f"gold labels of those that were checked {self.gold}{by}"
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


def role_finder(source: TableSource) -> Callable[..., Roles]:
    """What finds the roles of the columns of a file: by its options, the rest guessed from names, values and metadata."""
    return partial(
        assign,
        source.columns,
        sample=source.first_rows(),
        declared=source.declared_errors(),
        units=source.units(source.columns),
        coordinates=source.coordinates,
    )


def assign(
    columns: Sequence[str],
    *,
    y: str | None = None,
    yerr: str | None = None,
    yerr_percent: str | None = None,
    limits: str | None = None,
    gold: str | None = None,
    gold_probability: str | None = None,
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

    `sample` holds the first values of the columns. Without it only names count, and no leftover column becomes a model.

    >>> assign(["id", "y", "y_err", "pred_a", "pred_b", "Z"]).described()
    'labels y; errors y_err; predictions pred_a, pred_b'
    >>> assign(["mass", "e_mass", "model_pred"]).described()
    'labels mass; errors e_mass; predictions model_pred'
    >>> assign(["y", "y_err", "pred_gp", "pred_gp_std"]).described()
    'labels y; errors y_err; predictions pred_gp with spread pred_gp_std'
    """
    guess = Guess(columns, sample, declared or {}, units or {}, coordinates)
    said = {"--yerr": yerr, "--limits": limits, "--yerr-percent": yerr_percent, "--cov": cov}
    in_rows = list(repeats or ()) == [_ROWS] and _ROWS not in columns
    named = {"repeats": () if in_rows else repeats, "votes": votes, "probabilities": probabilities}
    labels, several = _labels(guess, y, {name: given or () for name, given in named.items()})
    made = next((name for name, names in several.items() if names), None)
    made_from = several[made] if made is not None else () if labels is None else (labels,)
    found_gold = _gold(columns, guess, labels, gold, said, made or in_rows)
    given_pred = _given_columns(columns, pred, "--pred") if pred else None
    errors = _said_errors(columns, said)
    if made is not None or (gold is not None and found_gold is not None) or (errors is None and in_rows):
        errors = ErrorRoles()  # the labels themselves show how they err
    errors = errors or guess.errors(str(labels), given_pred or ())
    _require_gold_or_errors(found_gold, errors)
    long = _one(columns, model, "--model", None if given_pred and len(given_pred) > 1 else guess.model_column())
    others: dict[str, Any] = {
        "weight": _one(columns, weight, "--weight", guess.first(known.WEIGHT_NAMES)),
        "by": _one(columns, by, "--by", guess.first(["group"]) if groups is None else None),
        "groups": _one(columns, groups, "--groups", None),
        "id": _one(columns, id, "--id", guess.first(known.ID_NAMES)),
    }
    others |= {"gold": found_gold, "gold_probability": _chance_of_gold(columns, guess, found_gold, gold_probability)}
    taken = {*made_from, *errors.error_columns, *others.values(), long}
    predicted = _predicted(guess, given_pred, members, std, taken, made_from, made)
    if long is not None and (len(predicted.columns) != 1 or predicted.ensembles):
        if model is not None:
            raise TableProblem(
                f"--model {model} means a long table with one column of predictions, but there are {len(predicted.columns)}: "
                f"{', '.join(predicted.columns)}. Choose one with --pred COLUMN."
            )
        long = None
    if in_rows and others["id"] is None:
        raise TableProblem("--repeats rows needs the column that tells which rows are one label: say --id COLUMN.")
    return Roles(
        **vars(errors),
        y=labels if made is None else None,
        predictions=tuple(predicted.columns),
        **others,
        model=long,
        **several,
        repeated_rows=in_rows,
        cov=cov,
        stds=tuple(predicted.stds),
        members=tuple(tuple(group) for group in predicted.ensembles),
        left_over=predicted.left_over,
        guessed_id=id is None,
    )


def _gold(
    columns: Sequence[str],
    guess: Guess,
    labels: str | None,
    given: str | None,
    errors: Mapping[str, Any],
    made: str | bool | None,
) -> str | None:
    """The column of gold labels: as given, or found by its name where no option says how labels err."""
    others = [option for option, value in errors.items() if value is not None]
    others += [f"--{made}" if isinstance(made, str) else "--repeats"] if made else []
    if given is None:
        return None if others or labels is None else guess.gold(labels)
    found, others = _one(columns, given, "--gold", None), [o for o in others if errors.get(o) != _NONE]
    if found is not None and others:
        raise TableProblem(
            f"--gold and {others[0]} exclude each other: gold labels show by themselves how the labels err."
        )
    if found is not None and found == labels:
        raise TableProblem(
            f"--gold {given}: this is the column of the labels. Say --y COLUMN for those that were shown."
        )
    return found


def _require_gold_or_errors(gold: str | None, errors: ErrorRoles) -> None:
    """Ask where one column looks like gold labels and others like errors."""
    if gold is not None and (errors.yerr is not None or errors.in_cells):
        where = "the cells of the labels" if errors.in_cells else " and ".join(errors.error_columns)
        raise TableProblem(
            f"{gold!r} looks like gold labels of some items, and {where} like label errors: say --gold {gold}, or --yerr and "
            "--gold none."
        )


class _Predicted(NamedTuple):
    """The columns of predictions, and those that make forecasts of them."""

    columns: list[str]
    ensembles: list[list[str]]
    stds: list[tuple[str, str]]
    left_over: bool


def _predicted(
    guess: Guess,
    given: list[str] | None,
    members: Sequence[str] | None,
    std: Sequence[str] | None,
    taken: set[str | None],
    labels: Sequence[str],
    made: str | None,
) -> _Predicted:
    """Predictions as the options say, else guessed from the columns that nothing else has `taken`."""
    ensembles = _given_members(guess.columns, members) if members else []
    given_stds = _given_columns(guess.columns, [name for name in std if name != _NONE], "--std") if std else []
    used = {
        name for name in (*taken, *(name for group in ensembles for name in group), *given_stds) if name is not None
    }
    left_over = False
    if given is not None:
        columns = given
    elif ensembles:
        columns = guess.named_predictions(used)
    else:
        columns, left_over = guess.predictions(used, labels, made)
        if members is None:
            ensembles = guess.members(columns)
            columns = [name for name in columns if not any(name in group for group in ensembles)]
    stds = guess.stds(columns, used) if std is None else _paired(columns, std, guess.columns)
    return _Predicted(columns, ensembles, stds, left_over)


def _chance_of_gold(columns: Sequence[str], guess: Guess, gold: str | None, given: str | None) -> str | None:
    """The column with the probability of being checked."""
    if gold is None and given not in (None, _NONE):
        raise TableProblem("--gold-probability needs the column of the gold labels: say --gold COLUMN.")
    found = guess.first(known.CHANCE_OF_GOLD_NAMES) if gold is not None else None
    return _one(columns, given, "--gold-probability", found)


def _labels(guess: Guess, y: str | None, given: Mapping[str, Sequence[str]]) -> tuple[str | None, dict[str, Any]]:
    """The column of labels, and the columns of repeats, votes or probabilities that labels are made from."""
    several: dict[str, Any] = {
        name: tuple(_given_columns(guess.columns, names, f"--{name}")) for name, names in given.items()
    }
    if sum(map(bool, several.values())) > 1:
        raise TableProblem(
            "--repeats, --votes and --probabilities exclude each other: the labels come from one of them."
        )
    labels = _exact(guess.columns, y, "--y") if y else None
    if labels is None and not any(several.values()):
        labels, found = guess.labels_or_repeats()
        several |= found
    return labels, several


def _said_errors(columns: Sequence[str], said: Mapping[str, str | None]) -> ErrorRoles | None:
    """The errors that one of the options names; None where none does."""
    given = [(option, value) for option, value in said.items() if value is not None]
    if len(given) > 1:
        raise TableProblem(f"{given[0][0]} and {given[1][0]} exclude each other: give the errors once.")
    for option, value in given:
        if option == "--cov":
            return ErrorRoles()
        if option != "--limits":
            return _given_errors(columns, value, option)
        pair = _pair(columns, value, option)
        if pair is None:
            raise TableProblem(f"--limits needs two columns, lower and upper, as LOW,HIGH; got {value!r}.")
        return ErrorRoles(yerr=pair, limits=True)
    return None


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


def _one(columns: Sequence[str], given: str | None, option: str, guessed: str | None) -> str | None:
    if given is None:
        return guessed
    return None if given == _NONE and _NONE not in columns else _exact(columns, given, option)


def _pair(columns: Sequence[str], given: str, option: str) -> tuple[str, str] | None:
    if given in columns or given.count(",") != 1:
        return None
    low, high = given.split(",")
    return _exact(columns, low, option), _exact(columns, high, option)


def number_or_name(given: str) -> float | str:
    """What ``--yerr`` says: the same error for all labels, or the name of a column."""
    return float(given) if reads_as_number(given) else given


def _given_errors(columns: Sequence[str], given: str, option: str) -> ErrorRoles:
    """What ``--yerr`` or ``--yerr-percent`` names."""
    percent = option == "--yerr-percent"
    if given not in columns:
        if given in (_NONE, _CELLS) and not percent:
            return ErrorRoles(in_cells=given == _CELLS)
        if isinstance(number := number_or_name(given), float):
            return ErrorRoles(yerr=number, percent=percent)
        if "+" in given:
            parts = tuple(_exact(columns, part, option) for part in given.split("+"))
            return ErrorRoles(yerr=parts, percent=percent, added=True)
    column = _pair(columns, given, option) or _exact(columns, given, option)
    return ErrorRoles(yerr=column, percent=percent, flips=given.strip().lower() in known.FLIP_NAMES)


def _given_columns(columns: Sequence[str], given: Sequence[str], option: str) -> list[str]:
    """The columns that names, or patterns such as ``pred_*``, mean; commas part several in one text."""
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
