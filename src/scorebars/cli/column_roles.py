"""Which column is what: guessed from the names, overridden by the options.

Names are compared without regard to case and to blanks around them.

===========  ========================================================================================================
labels       ``y``, ``y_true``, ``label``, ``target``, ``measured``, ...; else the one column ``x`` that has an ``x_err``
errors       for labels ``x``: ``x_err``, ``xerr``, ``x_sigma``, ``e_x``, ``sigma_x``, ...; ``yerr``, ``sigma``, ``unc``;
             lower and upper ones ``x_err_lo``/``x_err_hi``, ``err_lower``/``err_upper``, ``x_lo``/``x_hi``, ...
classes      ``q``, ``flip_prob``, ``p_wrong``: the probability that a label is wrong
predictions  ``pred_*``, ``y_pred*``, ``yhat*``, ``*_pred``, ``pred``, ``prediction`` (not their own errors)
others       ``weight``, ``sample_weight``, ``w``; ``group``; ``id``, ``name``, ``key``
===========  ========================================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from scorebars.cli.console import Failure
from scorebars.cli.source import reads_as_number

_LABELS = "y_true y ytrue label labels y_obs yobs target measured experiment exp value"
_FLIPS = ("q", "flip_prob", "flip_probability", "p_wrong", "p_flip", "label_error_probability")
_ERROR_ENDS = ("err", "error", "sigma", "std", "unc", "uncertainty", "sem")
_ERRORS = ("yerr", "y_err", "err", "sigma", "unc", "uncertainty")
_SIDES = (("lo", "hi"), ("low", "high"), ("lower", "upper"), ("minus", "plus"), ("neg", "pos"))
_PREDICTIONS = ("pred", "prediction", "predicted", "predictions", "y_pred", "ypred", "yhat", "y_hat")
_PREDICTION_STARTS = ("pred_", "prediction_", "y_pred_", "ypred_", "yhat_", "y_hat_")
_WEIGHTS = ("weight", "weights", "sample_weight", "w")
_IDS = ("id", "ids", "name", "key", "identifier")
_NONE = "none"
"""What an option says to switch a guess off."""


@dataclass(frozen=True)
class Roles:
    """What each column is.

    `yerr` is a column, a pair of columns (lower and upper), a number, or None; `flips` says that it holds probabilities of
    a wrong label, `sure` is False where the pair has names that may also stand for limits.
    """

    y: str
    predictions: tuple[str, ...]
    yerr: str | tuple[str, str] | float | None = None
    weight: str | None = None
    by: str | None = None
    id: str | None = None
    limits: bool = False
    flips: bool = False
    sure: bool = True

    @property
    def error_columns(self) -> tuple[str, ...]:
        return (self.yerr,) if isinstance(self.yerr, str) else self.yerr if isinstance(self.yerr, tuple) else ()

    @property
    def used(self) -> list[str]:
        """The columns to read, each once."""
        named = (self.y, *self.error_columns, *self.predictions, self.weight, self.by, self.id)
        return list(dict.fromkeys(name for name in named if name is not None))

    def numbers(self, task: str) -> list[str]:
        """The columns that must hold numbers."""
        measured = (self.y, *self.predictions) if task == "regression" else ()
        return [*measured, *self.error_columns, *([self.weight] if self.weight else [])]

    def models(self) -> dict[str, str]:
        """Column -> name of the model: what follows ``pred_``, where that is still unique."""
        short = {name: _model_name(name) for name in self.predictions}
        return short if len(set(short.values())) == len(short) else {name: name for name in self.predictions}

    def to_dict(self) -> dict[str, Any]:
        """What the result was made from, as plain data."""
        errors = "limits" if self.limits else "yerr"
        found = {"y": self.y, errors: self.yerr, "predictions": self.predictions}
        return found | {"weight": self.weight, "by": self.by, "id": self.id}

    def described(self) -> str:
        """One line that says what was taken for what."""
        if isinstance(self.yerr, tuple):
            errors = f"{'limits' if self.limits else 'lower and upper errors'} {self.yerr[0]}, {self.yerr[1]}"
        elif self.yerr is None:
            errors = "no errors (labels taken as exact)"
        else:
            errors = f"{'probability of a wrong label' if self.flips else 'errors'} {self.yerr}"
        more = f", ... ({len(self.predictions)})" if len(self.predictions) > 8 else ""
        parts = [f"labels {self.y}", errors, f"predictions {', '.join(self.predictions[:8])}{more}"]
        parts += [f"{role} {name}" for role, name in (("weights", self.weight), ("groups", self.by)) if name]
        return "; ".join(parts)


def _model_name(column: str) -> str:
    name = column.strip()
    for start in _PREDICTION_STARTS:
        if name.lower().startswith(start) and len(name) > len(start):
            return name[len(start) :]
    return name.removesuffix("_pred") or name


def assign(
    columns: Sequence[str],
    *,
    y: str | None = None,
    yerr: str | None = None,
    limits: str | None = None,
    pred: Sequence[str] | None = None,
    weight: str | None = None,
    by: str | None = None,
    id: str | None = None,
) -> Roles:
    """The roles of the columns: what the options say, the rest guessed.

    >>> assign(["id", "y", "y_err", "pred_a", "pred_b", "Z"]).described()
    'labels y; errors y_err; predictions pred_a, pred_b'
    >>> assign(["mass", "e_mass", "model_pred"]).described()
    'labels mass; errors e_mass; predictions model_pred'
    """
    if yerr is not None and limits is not None:
        raise Failure("--yerr and --limits exclude each other: give the errors, or the limits.")
    guess = _Guess(columns)
    labels = _exact(columns, y, "--y") if y else guess.labels()
    errors: str | tuple[str, str] | float | None
    if limits is not None:
        given = _pair(columns, limits, "--limits")
        if given is None:
            raise Failure(f"--limits needs two columns, lower and upper, as LOW,HIGH; got {limits!r}.")
        errors, sure, flips = given, True, False
    elif yerr is not None:
        errors, sure, flips = _given_errors(columns, yerr), True, yerr.strip().lower() in _FLIPS
    else:
        errors, sure, flips = guess.errors(labels)
    taken = {labels, *Roles(labels, (), errors).error_columns}
    predictions = _given_predictions(columns, pred) if pred else guess.predictions(taken)
    return Roles(
        labels,
        tuple(predictions),
        errors,
        _one(columns, weight, "--weight", guess.first(_WEIGHTS)),
        _one(columns, by, "--by", guess.first(["group"])),
        _one(columns, id, "--id", guess.first(_IDS)),
        limits is not None,
        flips,
        sure,
    )


def _exact(columns: Sequence[str], name: str, option: str) -> str:
    """The column of this name; near matches are listed where there is none."""
    if name in columns:
        return name
    alike = [column for column in columns if column.strip().lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    near = get_close_matches(name, columns, 3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    raise Failure(f"{option}: there is no column {name!r}.{hint} The columns are: {shown}.")


def _one(columns: Sequence[str], given: str | None, option: str, guessed: str | None) -> str | None:
    if given is None:
        return guessed
    return None if given == _NONE and _NONE not in columns else _exact(columns, given, option)


def _pair(columns: Sequence[str], given: str, option: str) -> tuple[str, str] | None:
    if given in columns or given.count(",") != 1:
        return None
    low, high = given.split(",")
    return _exact(columns, low, option), _exact(columns, high, option)


def _given_errors(columns: Sequence[str], given: str) -> str | tuple[str, str] | float | None:
    if given not in columns and (given == _NONE or reads_as_number(given)):
        return None if given == _NONE else float(given)
    return _pair(columns, given, "--yerr") or _exact(columns, given, "--yerr")


def _given_predictions(columns: Sequence[str], given: Sequence[str]) -> list[str]:
    """Names, or patterns such as ``pred_*``."""
    found: dict[str, None] = {}
    for name in given:
        matching = [name] if name in columns else [c for c in columns if fnmatchcase(c, name)]
        found |= dict.fromkeys(matching or [_exact(columns, name, "--pred")])
    return list(found)


class _Guess:
    """Columns by their lower-case names; of two that differ only in case the first counts."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self.by_name: dict[str, str] = {}
        for column in columns:
            self.by_name.setdefault(column.strip().lower(), column)

    def first(self, names: Sequence[str]) -> str | None:
        return next((self.by_name[name] for name in names if name in self.by_name), None)

    def labels(self) -> str:
        found = self.first(_LABELS.split())
        if found is not None:
            return found
        own = [c for n, c in self.by_name.items() if not _is_prediction(n) and self._own_errors(n) is not None]
        if len(own) == 1:
            return own[0]
        why = f"several columns have errors ({', '.join(own)})" if own else "no column has one of the usual names"
        raise Failure(
            f"which column holds the labels? {why[0].upper()}{why[1:]}: say --y COLUMN. "
            f"The columns are: {', '.join(self.columns)}."
        )

    def _own_errors(self, name: str) -> tuple[str | tuple[str, str], bool] | None:
        """Errors called after the labels, and whether the name leaves no doubt."""
        bases = [f"{name}_{end}" for end in _ERROR_ENDS] + [f"{name}err", f"e_{name}", f"err_{name}", f"sigma_{name}"]
        if found := self._sides(bases) or self.first(bases):
            return found, True
        pair = self._sides([name])
        return (pair, False) if pair else None

    def _sides(self, bases: Sequence[str]) -> tuple[str, str] | None:
        for base, (low, high), join in product(bases, _SIDES, ("_", "")):
            names = f"{base}{join}{low}", f"{base}{join}{high}"
            if all(name in self.by_name for name in names):
                return self.by_name[names[0]], self.by_name[names[1]]
        return None

    def errors(self, labels: str) -> tuple[str | tuple[str, str] | None, bool, bool]:
        """Errors, whether they are surely errors, and whether they are probabilities of a wrong label."""
        flip = self.first(_FLIPS)
        own = self._own_errors(labels.strip().lower())
        if own is not None and not (flip and not own[1]):
            return own[0], own[1], False
        if found := self._sides(_ERRORS) or self.first(_ERRORS):
            return found, True, False
        return flip, True, flip is not None

    def predictions(self, taken: set[str]) -> list[str]:
        found = [c for n, c in self.by_name.items() if _is_prediction(n) and c not in taken]
        if not found:
            raise Failure(
                "which columns hold predictions? None is called pred_MODEL, y_pred or the like: say --pred COLUMN "
                f"(once for each model). The columns are: {', '.join(self.columns)}."
            )
        return found


def _is_prediction(name: str) -> bool:
    """A prediction, and not the error that somebody gave it."""
    if name.endswith(tuple(f"_{end}" for end in _ERROR_ENDS)):
        return False
    if name.endswith("_pred"):
        return not name.startswith(("p_", "prob_"))  # how sure a classifier is of its class, not the class
    return name in _PREDICTIONS or name.startswith(_PREDICTION_STARTS)
