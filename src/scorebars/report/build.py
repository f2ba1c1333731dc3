"""From labels, errors and predictions to the page."""

from __future__ import annotations

import base64
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

import scorebars as sb
from scorebars._shared.answer_colours import ANSWER_COLOURS
from scorebars._shared.escaping import json_text
from scorebars._shared.given_data import as_forecast, named_predictions, plain_array
from scorebars._shared.score_views import QUESTIONS, MetricData, score_data, shortened
from scorebars._shared.writing import require_apart, write_text
from scorebars.report import sections

if TYPE_CHECKING:
    import jinja2

_LARGEST_PAGE = 3_000_000
"""Bytes that a page may have; large data are thinned until it fits."""
_MOST_MODELS = 24
_LONGEST_NAME, _LONGEST_TITLE = 120, 500
_NO_ERRORS = (
    "No label errors were given, so the questions below have one answer, as if the labels were exact. Give yerr to learn "
    "how far these numbers can be trusted."
)
SCRIPTS = ("dom", "scale", "answers", "law", "points", "matrix", "forest", "main")
"""The scripts of the page, in the order in which they need each other."""


def build(
    y_true: Any,
    predictions: Any,
    *,
    evaluation: sb.Evaluation | None = None,
    comparison: sb.Comparison | None = None,
    checks: Mapping[str, sb.ErrorCheck] | None = None,
    level: float = 0.95,
    yerr: Any = None,
    sample_weight: Any = None,
    metrics: Any = None,
    task: str | None = None,
    ids: Any = None,
    unit: str | None = None,
    title: str | None = None,
    source: str | None = None,
    columns: Mapping[str, Any] | None = None,
    command: str | None = None,
    code: str | None = None,
    whole: bool = True,
) -> str:
    """How good are these models, and how sure can the labels make us? The answer as one HTML page.

    The page needs nothing else: no network, no other file, at most 3 MB whatever the number of labels (above some
    thousands the points are thinned, the numbers never). All texts from the data are shown as text and never run.

    Parameters
    ----------
    y_true, predictions, yerr, sample_weight, metrics, task : as in `evaluate`
        Models stand in the order of the first metric, best first; of more than 24 the page shows the first 24.
    ids : (n,), optional
        A name for each label; by default the index of a series, or the row number.
    unit : str, optional
        Unit of the labels; labels that bring one need not say it.
    title : str, optional
        Heading of the page.
    command, code : str, optional
        The command line, and the Python code, that make this page again.
    source : str, optional
        Where the labels come from.
    columns : mapping, optional
        Which columns of the file `source` hold labels (`y`), errors (`yerr`), `predictions` and `weight`, or other
        keywords of ``evaluate(source, ...)``; the code on the page is then this call.
    level : probability
        Of the intervals.
    evaluation : Evaluation, optional
        What `evaluate` returned for these labels and models, to be shown instead of computed again.
    comparison : Comparison, optional
        What `compare` returned for these labels and models, for a metric of the page that is not compared by itself.
    checks : mapping, optional
        What `check_errors` returned for these labels and some of the models, to be shown instead of computed again.
    whole : bool
        False for the header, sections and data alone, without scripts and style, to be put into a page of yours.

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
    every = {name: as_forecast(p) for name, p in named_predictions(predictions).items()}
    options = {"yerr": yerr, "sample_weight": sample_weight}
    if metrics is None and comparison is not None:
        metrics = comparison.metric
    if evaluation is None:
        with warnings.catch_warnings():  # the page itself says what is undefined
            warnings.simplefilter("ignore", sb.UndefinedMomentWarning)
            evaluation = sb.evaluate(y_true, every, metrics=metrics, task=task, **options)
    labels = sections.page_labels(y_true, yerr, ids, unit)
    names, shown = evaluation.metrics, evaluation.ranked()[:_MOST_MODELS]
    if comparison is not None and not {comparison.metric, comparison.declaration.name} & set(names):
        raise ValueError(f"comparison is by {comparison.metric}, but the page shows {', '.join(names)}.")
    scores = {name: {model: evaluation.scores[model, name, None] for model in shown} for name in names}
    all_scores = [score for of in scores.values() for score in of.values()]
    task_shown = all_scores[0].declaration.task
    numeric = task_shown != "classification"
    given = {model: every[model] for model in shown}
    drawn = {model: plain_array(values, getattr(y_true, "unit", None)) for model, values in given.items()}
    errors = sections.error_sentence(labels, yerr, task_shown)
    notes = [_NO_ERRORS] if yerr is None and labels.bars is None else []
    notes += dict.fromkeys(score.undefined for score in all_scores if score.undefined)
    told = labels.unit or None
    rows = iter(score_data(all_scores, level, told))
    seen = {name: [next(rows) for _ in shown] for name in names}
    found = {name: [row.values for row in of] for name, of in seen.items()}
    kinds = [_metric_data(name, of[0].metric, numeric) for name, of in seen.items()]
    contests = sections.contest_data(scores, partial(sb.compare, y_true, given, **options), comparison, told)
    doubts: list[Any] = [None] * len(given) if numeric else []
    if numeric and labels.bars is not None and labels.bars.any():
        doubts = [sections.check_data(check) for check in _checks(y_true, given, yerr, checks or {})]
    short = [shortened(model, _LONGEST_NAME) for model in shown]
    forecasts = {name: p for name, p in zip(short, given.values(), strict=True) if isinstance(p, sb.Forecast)}
    data = {
        "n": len(labels.values),
        "notes": notes,
        "level": f"{100 * level:g} %",
        "unit": labels.unit,
        "models": short,
        "metrics": kinds,
        "scores": [list(of) for of in zip(*found.values(), strict=True)],
        "checks": doubts,
        "contests": contests,
        "normal": float(ndtri((1 + level) / 2)),
        "points": None,
        "matrix": None if numeric else sections.matrix_data(y_true, labels.values, drawn, options),
    }
    weighted = sample_weight is not None
    asked = names if metrics is None else [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    methods = [(kind["title"], [score["method"] for score in found[kind["name"]]]) for kind in kinds]
    context = {
        "title": shortened(
            str(title or "") or f"Scores with error bars{f': {source}' if source else ''}", _LONGEST_TITLE
        ),
        "source": source and shortened(source, _LONGEST_TITLE),
        "headline": sections.headline(short, kinds[0], found[names[0]], contests[0], doubts),
        "errors": errors[0].upper() + errors[1:],
        "data": data,
        "questions": QUESTIONS,
        "numeric": numeric,
        "calibrations": sections.calibration_rows(y_true, forecasts, yerr),
        "left_out": len(every) - len(shown),
        "methods": sections.methods_paragraph(len(labels.values), len(every), methods, errors, level, weighted),
        "paper": sections.PAPER,
        "bibtex": sections.BIBTEX,
        "version": sb.__version__,
        "command": command,
        "code": code
        or sections.code_lines(asked, labels.values, every, yerr, source, columns, weighted, level, labels.unit),
    }
    if not numeric:
        return _filled(context, whole)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return _with_points(context, partial(sections.point_data, labels, drawn, names, weight), len(labels.values), whole)


def _checks(
    y_true: Any, models: Mapping[str, Any], yerr: Any, done: Mapping[str, sb.ErrorCheck]
) -> list[sb.ErrorCheck]:
    """Are the label errors believable, by the residuals of each model (of a forecast: its means)? Some are `done` already."""
    means = {model: np.asarray(p.mean) if isinstance(p, sb.Forecast) else p for model, p in models.items()}
    return [done.get(model) or sb.check_errors(y_true, p, yerr=yerr) for model, p in means.items()]


def _with_points(context: dict[str, Any], points: Callable[[int], Any], n: int, whole: bool) -> str:
    """The page with as many of the n labels as points as fit into it."""
    most = min(n, sections.MOST_POINTS)
    while True:  # the page without points is small: this ends
        context["data"]["points"] = points(most)
        page = _filled(context, whole)
        if len(page.encode()) <= _LARGEST_PAGE or most <= 1:
            return page
        most //= 2


def save(path: str | os.PathLike[str], y_true: Any, predictions: Any, **options: Any) -> None:
    """Write the page that `build` makes, with the same arguments, to a file: wholly, or not at all.

    Links are followed, a pipe or a terminal is written to, and a warning says when an older file was replaced.

    Parameters
    ----------
    path : path
        Where to write the page.
    y_true, predictions, **options
        As in `build`.

    Examples
    --------
    >>> import scorebars as sb
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sb.report.save(f"{folder}/report.html", [1.0, 2.0, 4.0], [1.1, 2.3, 3.8], yerr=0.2)
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.html']
    """
    require_apart(path, options.get("source"), "path")
    if write_text(Path(path), build(y_true, predictions, **options)):
        warnings.warn(f"{os.fspath(path)}: an older file was replaced.", stacklevel=2)


def templates_of(package: str) -> jinja2.Environment:
    """The templates of a package: every text from the data is escaped, a name that is missing is an error."""
    try:
        import jinja2
    except ImportError as why:
        raise ImportError("the report needs jinja2: pip install 'scorebars[report]'") from why
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _metric_data(name: str, of: MetricData, numeric: bool) -> dict[str, Any]:
    """What the page has to know of a metric."""
    part = sections.PARTS[name][0] if numeric and name in sections.PARTS else None
    return {"name": name, "title": of.title, "way": of.direction, "unit": of.unit, "part": part}


def _filled(context: Mapping[str, Any], whole: bool) -> str:
    """The template filled in, with the page's own style and script inside; only these may run, by their hashes."""
    template = templates_of("scorebars.report").get_template("page.html.j2")
    if whole:
        style, script = page_style(), page_script()
        hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
        text = template.render(**context, style=style, script=script, **hashes)
    else:
        text = "".join(template.blocks["parts"](template.new_context(dict(context))))
    return json_text(text)  # half a pair of UTF-16 in a name cannot be written to a file


def page_style() -> str:
    """The style of the page."""
    return _palette() + (files("scorebars.report") / "static" / "page.css").read_text(encoding="utf-8")


def page_script(*more: str) -> str:
    """The script of the page, and after it what a page around it adds; nothing of it is seen from outside."""
    static = files("scorebars.report") / "static"
    texts = [(static / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join([*texts, *more]) + "})();\n"


def _palette() -> str:
    """The colours of the answers as variables of the style; on paper those for a light ground."""
    light, dark = (
        "".join(f"--{name}: {colour[k]}; " for name, colour in ANSWER_COLOURS.items()) for k in (False, True)
    )
    on_dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
    return f":root {{ {light}}}\n{on_dark}@media print {{ :root {{ {light}}} }}\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
