"""Messages of the readers of files, which name options of the command line, in the words of the page."""

from __future__ import annotations

import re

_TITLES = {
    "y": "Labels",
    "pred": "Predictions",
    "yerr": "Errors",
    "yerr-percent": "Errors in percent",
    "limits": "Ends of a 68 % interval",
    "cov": "Covariance matrix",
    "model": "Names the model (long table)",
    "id": "Names the item",
    "repeats": "Repeats",
    "votes": "Votes",
    "probabilities": "Probabilities of classes",
    "std": "Spread of the prediction",
    "members": "Members of an ensemble",
    "weight": "Weights",
    "by": "Groups",
    "groups": "Belong together",
    "nan-policy": "Rows with missing values",
    "task": "Kind of labels",
    "format": "Kind of file",
    "decimal": "Decimal mark",
    "delimiter": "Cells separated by",
    "encoding": "Encoding",
    "sheet": "Sheet",
    "skip-rows": "Lines to skip",
    "resolution": "Resolution",
    "checked": "Checked labels",
    "error-kind": "Measured or set",
    "measurements": "Measurements behind each label",
    "scale-errors": "Scale errors",
    "systematic": "Common systematic error",
    "cut": "Cut",
    "exclude": "Leave out",
    "metric": "Metric",
    "positive": "option pos_label of the metric",
}
_WORDS = {"raise": "stop", "omit": "leave out"}
_SAY_COLUMN = re.compile(r"\b([Ss])ay --([a-z-]+) COLUMN\b")
_OPTION = re.compile(r"--([a-z][a-z-]*)(?:[ =](omit|raise|regression|classification|rows|cells|none|[.,](?= |\.|$)))?")


def for_page(message: str) -> str:
    """A message that names options as one that names fields of the page.

    >>> for_page("which column? Say --y COLUMN, or leave such rows out with --nan-policy omit.")
    'which column? Choose a column for “Labels”, or leave such rows out with “Rows with missing values: leave out”.'
    """

    def chosen(found: re.Match[str]) -> str:
        title = _TITLES.get(found[2])
        return found[0] if title is None else f"{'C' if found[1] == 'S' else 'c'}hoose a column for “{title}”"

    def titled(found: re.Match[str]) -> str:
        title = _TITLES.get(found[1])
        if title is None:
            return found[0]
        value = _WORDS.get(found[2], found[2]) if found[2] else None
        return f"“{title}: {value}”" if value else f"“{title}”"

    return _OPTION.sub(titled, _SAY_COLUMN.sub(chosen, message))
