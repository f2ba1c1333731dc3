"""From labels, errors and predictions to the page."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import scorebars as sb
from scorebars.report import prose
from scorebars.report.answers import QUESTIONS, describe
from scorebars.report.contest import contest_data, distance
from scorebars.report.labels import Labels, by_model, plain, read_labels, shortened
from scorebars.report.matrix import matrix_data
from scorebars.report.points import MOST_POINTS, PARTS, point_data
from scorebars.report.render import render

LARGEST = 3_000_000
"""Bytes that a page may have; large data are thinned until it fits."""

MOST_MODELS = 24
_LONGEST_NAME = 120
_NO_ERRORS = (
    "No label errors were given, so the questions below have one answer, as if the labels were exact. Give yerr to learn "
    "how far these numbers can be trusted."
)


def build(
    y_true: Any,
    predictions: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    ids: Any = None,
    metrics: Any = None,
    task: str | None = None,
    unit: str | None = None,
    title: str | None = None,
    command: str | None = None,
    code: str | None = None,
    source: str | None = None,
    level: float = 0.95,
) -> str:
    """How good are these models, and how well do the labels know it? The answer as one HTML page.

    The page needs nothing else: no network, no other file, at most 3 MB whatever the number of labels (above some
    thousands the points are thinned, the numbers never). All texts from the data are shown as text and never run.

    Parameters
    ----------
    y_true, predictions, yerr, sample_weight, metrics, task : as in `evaluate`
        Of more than 24 models the page shows those that do best by the first metric.
    ids : (n,), optional
        A name for each label; by default the index of a series, or the row number.
    unit : str, optional
        Unit of the labels, for the figures; labels that bring one need not say it.
    title : str, optional
        Heading of the page.
    command, code : str, optional
        The command line, and the Python code, that make this page again.
    source : str, optional
        Where the labels come from.
    level : probability
        Of the intervals.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import scorebars as sb
    >>> page = sb.report.build([1.0, 2.0, 4.0], {"linear": [1.1, 2.3, 3.8]}, yerr=0.2, title="Three labels")
    >>> "<title>Three labels</title>" in page
    True
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be a probability strictly between 0 and 1, got {level!r}.")
    every = by_model(predictions)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sb.UndefinedMomentWarning)
        evaluation = sb.evaluate(y_true, every, yerr=yerr, metrics=metrics, sample_weight=sample_weight, task=task)
        labels = read_labels(y_true, yerr, ids, unit)
        shown = _leading(evaluation)
        scores = [[evaluation[model, metric] for metric in evaluation.metrics] for model in shown]
        described = [[describe(score, level) for score in row] for row in scores]
    notes = _pass_on(caught)
    if yerr is None and labels.lower is None:
        notes.insert(0, _NO_ERRORS)
    first = scores[0][0]
    numeric = first.declaration.task == "regression"
    given = {model: every[model] for model in shown}
    columns = {model: plain(values, getattr(y_true, "unit", None)) for model, values in given.items()}
    by_metric = {
        name: {model: scores[i][j] for i, model in enumerate(shown)} for j, name in enumerate(evaluation.metrics)
    }
    errors = prose.error_sentence(labels, yerr, first.declaration.task)
    data = {
        "n": labels.n,
        "notes": notes,
        "level": f"{100 * level:g} %",
        "unit": labels.unit,
        "models": [shortened(model, _LONGEST_NAME) for model in shown],
        "metrics": [_declared(name, row[shown[0]], numeric) for name, row in by_metric.items()],
        "scores": described,
        "checks": [_check(y_true, given[model], yerr, labels) for model in shown] if numeric else [],
        "contests": [contest_data(name, row, y_true, given, yerr, sample_weight) for name, row in by_metric.items()],
        "points": None,
        "matrix": None if numeric else matrix_data(labels, y_true, columns, yerr, sample_weight),
    }
    context = {
        "title": title or (f"Scores with error bars: {source}" if source else "Scores with error bars"),
        "source": source,
        "errors": errors[0].upper() + errors[1:],
        "data": data,
        "questions": QUESTIONS,
        "numeric": numeric,
        "left_out": len(every) - len(shown),
        "methods": prose.methods_paragraph(
            labels,
            len(every),
            {name: list(row.values()) for name, row in by_metric.items()},
            errors,
            level,
            sample_weight is not None,
        ),
        "paper": prose.PAPER,
        "bibtex": prose.BIBTEX,
        "version": sb.__version__,
        "command": command,
        "code": code
        or prose.code_lines(
            evaluation.metrics,
            labels,
            every,
            yerr,
            source=source,
            weighted=sample_weight is not None,
            level=level,
        ),
    }
    if not numeric:
        return render(context)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    most = min(labels.n, MOST_POINTS)
    while True:  # the page without points is small: this ends
        data["points"] = point_data(labels, columns, evaluation.metrics, weight, most)
        page = render(context)
        if len(page.encode()) <= LARGEST or most <= 1:
            return page
        most //= 2


def save(path: str | os.PathLike[str], y_true: Any, predictions: Any, **options: Any) -> None:
    """Write the page that `build` makes, with the same arguments, to a file: wholly, or not at all.

    Examples
    --------
    >>> import scorebars as sb
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sb.report.save(f"{folder}/report.html", [1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2)
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.html']
    """
    page = build(y_true, predictions, **options)
    target = Path(path)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
    ) as file:
        try:
            file.write(page)
            file.close()
            os.chmod(file.name, 0o644)  # temporary files are for their owner only, a report is for others too
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise


def _leading(evaluation: sb.Evaluation) -> list[str]:
    """The models to show, in the given order: all, or those that do best by the first metric."""
    metric = evaluation.metrics[0]
    ranked = sorted(evaluation.models, key=lambda model: distance(evaluation[model, metric]))
    kept = set(ranked[:MOST_MODELS])
    return [model for model in evaluation.models if model in kept]


def _pass_on(caught: list[warnings.WarningMessage]) -> list[str]:
    """Texts of the warnings that the page shows itself; all others go on to the caller."""
    texts = []
    for warning in caught:
        if issubclass(warning.category, sb.UndefinedMomentWarning):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return list(dict.fromkeys(texts))


def _declared(name: str, score: sb.Score, numeric: bool) -> dict[str, Any]:
    """What the page has to know of a metric."""
    declared = score.declaration
    inside = declared.low < declared.perfect < declared.high
    way = (
        f"best at {declared.perfect:g}"
        if inside
        else "larger is better"
        if score.greater_is_better
        else "smaller is better"
    )
    return {
        "name": name,
        "title": declared.title,
        "way": way,
        "unit": "" if score.unit is None else str(score.unit),
        "part": PARTS[name][0] if numeric and name in PARTS else None,
    }


def _check(y_true: Any, prediction: Any, yerr: Any, labels: Labels) -> dict[str, Any] | None:
    """Are the label errors believable, seen from this model? None without errors."""
    if labels.lower is None or labels.upper is None or not (labels.lower + labels.upper).any():
        return None
    check = sb.check_errors(y_true, prediction, yerr)
    lines = str(check).splitlines()[1:]
    return {"lines": [line for line in lines if not line.startswith("Warning: ")], "warnings": list(check.warnings)}
