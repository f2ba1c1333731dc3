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
from difflib import get_close_matches
from fnmatch import fnmatchcase

from scorebars.cli.failures import Failure
from scorebars.cli.roles import PREDICTION_STARTS, Roles

LABELS = (
    "y_true",
    "y",
    "ytrue",
    "label",
    "labels",
    "y_obs",
    "yobs",
    "target",
    "measured",
    "experiment",
    "exp",
    "value",
)
FLIPS = ("q", "flip_prob", "flip_probability", "p_wrong", "p_flip", "label_error_probability")
_ERROR_ENDS = ("err", "error", "sigma", "std", "unc", "uncertainty", "sem")
_ERRORS = ("yerr", "y_err", "err", "sigma", "unc", "uncertainty")
_SIDES = (("lo", "hi"), ("low", "high"), ("lower", "upper"), ("minus", "plus"), ("neg", "pos"))
_PREDICTIONS = ("pred", "prediction", "predicted", "predictions", "y_pred", "ypred", "yhat", "y_hat")
_WEIGHTS = ("weight", "weights", "sample_weight", "w")
_IDS = ("id", "ids", "name", "key", "identifier")
_GROUPS = ("group",)
NONE = "none"
"""What an option says to switch a guess off."""


def assign(
    columns: Sequence[str],
    *,
    y: str | None = None,
    yerr: str | None = None,
    limits: str | None = None,
    pred: Sequence[str] = (),
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
    labels = exact(columns, y, "--y") if y else guess.labels()
    errors: str | tuple[str, str] | float | None
    if limits is not None:
        given = _pair(columns, limits, "--limits")
        if given is None:
            raise Failure(f"--limits needs two columns, lower and upper, as LOW,HIGH; got {limits!r}.")
        errors, sure, flips = given, True, False
    elif yerr is not None:
        errors, sure, flips = _given_errors(columns, yerr), True, yerr.strip().lower() in FLIPS
    else:
        errors, sure, flips = guess.errors(labels)
    taken = {labels, *([errors] if isinstance(errors, str) else errors if isinstance(errors, tuple) else [])}
    predictions = _given_predictions(columns, pred) if pred else guess.predictions(taken)
    return Roles(
        labels,
        tuple(predictions),
        errors,
        _one(columns, weight, "--weight", guess.first(_WEIGHTS)),
        _one(columns, by, "--by", guess.first(_GROUPS)),
        _one(columns, id, "--id", guess.first(_IDS)),
        limits is not None,
        flips,
        sure,
    )


def exact(columns: Sequence[str], name: str, option: str) -> str:
    """The column of this name; near matches are listed where there is none."""
    if name in columns:
        return name
    folded = [column for column in columns if column.strip().lower() == name.strip().lower()]
    if len(folded) == 1:
        return folded[0]
    near = get_close_matches(name, columns, 3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    raise Failure(f"{option}: there is no column {name!r}.{hint} The columns are: {shown}.")


def _one(columns: Sequence[str], given: str | None, option: str, guessed: str | None) -> str | None:
    if given is None:
        return guessed
    return None if given == NONE and NONE not in columns else exact(columns, given, option)


def _pair(columns: Sequence[str], given: str, option: str) -> tuple[str, str] | None:
    if given in columns or given.count(",") != 1:
        return None
    low, high = given.split(",")
    return exact(columns, low, option), exact(columns, high, option)


def _given_errors(columns: Sequence[str], given: str) -> str | tuple[str, str] | float | None:
    if given in columns:
        return given
    if given == NONE:
        return None
    try:
        return float(given)
    except ValueError:
        return _pair(columns, given, "--yerr") or exact(columns, given, "--yerr")


def _given_predictions(columns: Sequence[str], given: Sequence[str]) -> list[str]:
    """Names, or patterns such as ``pred_*``."""
    found: dict[str, None] = {}
    for name in given:
        matching = [name] if name in columns else [c for c in columns if fnmatchcase(c, name)]
        found |= dict.fromkeys(matching or [exact(columns, name, "--pred")])
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
        found = self.first(LABELS)
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
        if pair := self._sides(bases):
            return pair, True
        if single := self.first(bases):
            return single, True
        pair = self._sides([name])
        return (pair, False) if pair else None

    def _sides(self, bases: Sequence[str]) -> tuple[str, str] | None:
        for base in bases:
            for low, high in _SIDES:
                for join in ("_", ""):
                    names = f"{base}{join}{low}", f"{base}{join}{high}"
                    if all(n in self.by_name for n in names):
                        return self.by_name[names[0]], self.by_name[names[1]]
        return None

    def errors(self, labels: str) -> tuple[str | tuple[str, str] | None, bool, bool]:
        """Errors, whether they are surely errors, and whether they are probabilities of a wrong label."""
        flip = self.first(FLIPS)
        own = self._own_errors(labels.strip().lower())
        if own is not None and not (flip and not own[1]):
            return own[0], own[1], False
        if pair := self._sides(_ERRORS):
            return pair, True, False
        if single := self.first(_ERRORS):
            return single, True, False
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
    return name in _PREDICTIONS or name.startswith(PREDICTION_STARTS)
