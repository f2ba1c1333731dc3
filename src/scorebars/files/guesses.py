"""Which column is what, guessed from names, first values and metadata. Where a guess would be a gamble, the user is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.cells import name_and_unit, names_and_units, read_cells
from scorebars.files import column_names as known
from scorebars.files.formats import Column
from scorebars.files.problem import TableProblem, first_names

_FEWEST_MEMBERS = 3
"""From this number on, numbered predictions may be the members of one ensemble."""


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


class Guess:
    """What the columns of a table may be, by their plain names; of two names that differ only in case the first counts."""

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

    def named(self, names: Sequence[str]) -> list[str]:
        """The columns of these names."""
        return [self.by_name[name] for name in names if name in self.by_name]

    def first(self, names: Sequence[str]) -> str | None:
        """The column of the first of these names that there is."""
        return next(iter(self.named(names)), None)

    # what columns hold -----------------------------------------------------------------------------

    def may_be_number(self, column: str) -> bool:
        """Whether the first values of a column are numbers; without values any column may hold them."""
        return self.sample is None or (column in self.sample and holds_numbers(self.sample[column]))

    def _has_numbers(self, column: str) -> bool:
        """Whether a column is not plainly text; one with wrong or empty cells counts, and is complained about later."""
        if self.sample is None:
            return True
        if column not in self.sample:
            return False
        values = self.sample[column]
        if values.dtype.kind != "O":
            return values.dtype.kind in "iuf"
        return all(value is None for value in values) or not np.isnan(read_cells(values).values).all()

    def is_text(self, column: str) -> bool:
        return self.sample is not None and column in self.sample and not holds_numbers(self.sample[column])

    def _is_prediction(self, name: str) -> bool:
        if name in self.error_names or name.startswith(("p_", "prob_")):  # how sure a classifier is, not the class
            return False
        predicted = known.PREDICTED_WORDS & _without_numbers(name)
        return bool(predicted) or name == "y_hat" or name.startswith(known.PREDICTION_STARTS)

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
        named = self.named(known.LABEL_NAMES)
        if named and self.plain[named[0]] in ("y_true", "y", "ytrue"):
            return named[0]
        candidates = {name: column for name, column in self.by_name.items() if self._is_candidate(name)}
        words = known.LABEL_WORDS - {"y", "value"}
        named = named or self.named(known.WEAK_LABEL_NAMES)
        named = named or [column for name, column in candidates.items() if words & set(name.split("_"))]
        if len(named) == 1:
            return named[0]
        with_errors = [column for name, column in candidates.items() if self._own_errors(name, column)]
        choice = with_errors
        if named:
            choice = [c for c in named if c in with_errors] or [c for c in named if not self.is_text(c)]
        if len(choice) == 1:
            return choice[0]
        if named:
            raise self._which_labels(named, "may be labels")
        if with_errors:
            raise self._which_labels(with_errors)
        return None

    def _which_labels(self, several: Sequence[str], what: str = "have errors") -> TableProblem:
        why = f"several columns {what} ({first_names(several)})" if several else "no column has one of the usual names"
        return TableProblem(
            f"which column holds the labels? {why[0].upper()}{why[1:]}: say --y COLUMN. "
            f"The columns are: {first_names(self.columns)}."
        )

    def _is_candidate(self, name: str) -> bool:
        others = self._is_prediction(name) or self._may_be_prediction(name) or self._is_gold(name)
        return not (name in self.error_names or others)

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

    # gold labels -----------------------------------------------------------------------------------

    def _is_gold(self, name: str, labels: str = "") -> bool:
        """Whether a column is called gold labels and is empty in some rows: those that were not checked."""
        of_labels = (f"{labels}_gold", f"gold_{labels}") if labels else ()
        if name not in known.GOLD_NAMES and name not in of_labels:
            return False
        column = self.by_name[name]
        return self.sample is None or (column in self.sample and bool(missing(self.sample[column]).any()))

    def gold(self, labels: str) -> str | None:
        """The column of gold labels of some items."""
        named = self.plain[labels]
        return next((c for n, c in self.by_name.items() if c != labels and self._is_gold(n, named)), None)

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
        """The errors of these labels; where a column may be one or not, the user is asked."""
        name, flip = self.plain[labels], self.first(known.FLIP_NAMES)
        in_cells = self.sample is not None and labels in self.sample and _errors_in_cells(self.sample[labels])
        if labels in self.declared:
            return ErrorRoles(yerr=self.declared[labels])
        own, plain, other = self._sorted_errors(name, predicted)
        found = self._chosen(own) or self._chosen(plain)
        if found is not None:
            self._require_clear(labels, found)
            if in_cells:
                columns = ",".join(found.error_columns)
                raise TableProblem(
                    f"the cells of {labels!r} hold errors, and so does {columns}: say --yerr cells or --yerr {columns}."
                )
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
        """The names that look like errors: called after the labels, after nothing, and after something unknown."""
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
            if len(here) > 1 or (kind == "stat" and ("sys" in kinds or "relative" in kinds)):
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
        """Ask where these may also be the errors of predictions, or of single measurements."""
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
            of_labels = rest <= set(labels.split("_")) | known.LABEL_WORDS and name != labels
            if suspect and of_labels and column not in predicted and not self._is_prediction(name):
                found += [column] if self._has_numbers(column) else []
        return found

    # predictions -----------------------------------------------------------------------------------

    def model_column(self) -> str | None:
        """The column of a long table that names the model of each row."""
        found = self.first(known.MODEL_NAMES)
        return found if found is not None and self.is_text(found) else None

    def predictions(self, taken: set[str], labels: Sequence[str], made: str | None) -> tuple[list[str], bool]:
        """The columns of predictions, and whether they are just the ones left over."""
        for is_one in (self._is_prediction, self._may_be_prediction):
            if found := self._called(is_one, taken):
                return found, False
        found, doubtful = self._left_over(taken, labels, made)
        if not found or doubtful:
            why = (
                f"Of the columns left over, {first_names(doubtful)} do not look like the labels: say --pred COLUMN "
                if doubtful
                else "None is called pred_MODEL, y_pred or the like: say --pred COLUMN "
            )
            raise TableProblem(
                f"which columns hold predictions? {why}(once for each model). The columns are: {first_names(self.columns)}."
            )
        return found, True

    def named_predictions(self, taken: set[str]) -> list[str]:
        """Columns that are called predictions, besides the members that the options name."""
        return self._called(self._is_prediction, taken)

    def _called(self, is_one: Callable[[str], bool], taken: set[str]) -> list[str]:
        return [c for n, c in self.by_name.items() if is_one(n) and c not in taken and not self._is_bound(n)]

    def members(self, predicted: Sequence[str]) -> list[list[str]]:
        """Predictions ``pred_x_1``, ``pred_x_2``, ``pred_x_3``, ... of numbers that are not all whole: one ensemble."""
        groups: dict[str, dict[int, str]] = {}
        for column in predicted:
            found = re.fullmatch(r"(.+)_(\d+)", self.plain[column])
            if found and found[1] not in known.PREDICTED_WORDS | {"y_pred", "y_hat"} and self._may_be_member(column):
                groups.setdefault(found[1], {})[int(found[2])] = column
        several = [numbered for numbered in groups.values() if len(numbered) >= _FEWEST_MEMBERS]
        for numbered in several:
            wanted = range(min(numbered), min(numbered) + len(numbered))
            gone = [number for number in wanted if number not in numbered]
            if gone or min(numbered) > 1:
                missing = gone[0] if gone else 1
                raise TableProblem(
                    f"are {', '.join(list(numbered.values())[:3])}, ... the members of one ensemble? Number {missing} is not "
                    f"there. Say --members '{common_start(list(numbered.values()))}_*' if they are, or --members none if each "
                    "is a model of its own."
                )
        return [[numbered[k] for k in sorted(numbered)] for numbered in several]

    def _may_be_member(self, column: str) -> bool:
        values = (self.sample or {}).get(column)
        return values is not None and holds_numbers(values) and has_decimals(as_floats(values))

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
        """The columns that no name explains: those whose values look like the labels, and those whose do not."""
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
            unnamed = not name or name.startswith("unnamed")
            if explained or unnamed or name in known.COORDINATE_NAMES or column not in self.sample:
                continue
            alike = look_alike(shown, self.sample[column])
            if alike is not None:
                (found if alike else doubtful).append(column)
        return found, doubtful


# how a name is read --------------------------------------------------------------------------------


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


def _without_numbers(name: str) -> set[str]:
    """The words of a name, model1 as model."""
    return {word.rstrip("0123456789") for word in name.split("_")}


def common_start(columns: Sequence[str]) -> str:
    """What the names of members share, without the sign before their numbers.

    >>> common_start(["pred_x_1", "pred_x_10"])
    'pred_x'
    """
    found = re.fullmatch(r"(.*?)[\s_.\-]*\d+", name_and_unit(columns[0])[0])
    return found[1] if found else columns[0]


# what values look like -----------------------------------------------------------------------------


def _are_counts(values: Column | None) -> bool:
    return values is not None and values.dtype.kind in "iu" and bool(np.all((values >= 1) & (values <= 100)))


def holds_numbers(values: Column) -> bool:
    """Whether a column holds numbers, stored as such or written as text."""
    if values.dtype.kind in "iuf":
        return not (values.dtype.kind == "f" and len(values) > 0 and bool(np.isnan(values).all()))
    return values.dtype.kind == "O" and read_cells(values).numeric


def has_decimals(values: Any) -> bool:
    """Whether some of these floats are no whole numbers."""
    finite = values[np.isfinite(values)]
    return bool(np.any(finite != np.floor(finite)))


def missing(values: Column) -> NDArray[np.bool_]:
    """Which cells of a column are empty."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([v is None or v == "" or v != v for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def as_floats(values: Column) -> Any:
    """The numbers of a column, whether stored as such or written as text."""
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
