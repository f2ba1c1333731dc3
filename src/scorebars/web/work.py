"""What the process of one question does: read the file, ask the library, write the answer. The server only shows it."""

from __future__ import annotations

import base64
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import scorebars as sb
from scorebars._shared.escaping import printable
from scorebars._shared.score_views import ANSWER_NAMES, answer_records, answers_of
from scorebars._shared.writing import as_json
from scorebars.cli import compare_command, evaluate_command, plan_command
from scorebars.cli import options as opt
from scorebars.cli.output import as_csv
from scorebars.files.columns import Roles
from scorebars.files.file_labels import TableLabels, understood
from scorebars.files.problem import TableProblem
from scorebars.report.build import build, parts
from scorebars.web import calculator
from scorebars.web.inquiry import Inquiry
from scorebars.web.jobs import ANSWER, QUESTION
from scorebars.web.limits import Refused, in_words
from scorebars.web.preview import ColumnGuess, groups_of, preview
from scorebars.web.view import View
from scorebars.web.wording import for_page

_SIGNS_OF_TOO_MUCH = ("malloc", "allocate", "launch worker thread", "start new thread")
"""What libraries say in place of a MemoryError; a new thread needs memory for its stack."""


def warm_up() -> None:
    """Load what questions need, before any process is forked."""
    for module in ("jinja2", "pyarrow.csv", "pyarrow.dataset", "scipy.stats", "matplotlib.pyplot"):
        import_module(module)
    sb.report.build([1.0, 2.0, 4.0, 5.0], [1.1, 2.2, 3.9, 5.2], yerr=0.1)


def answer(folder: Path) -> None:
    """Answer the question in `folder`; what is wrong with the file is an answer too."""
    question = json.loads((folder / QUESTION).read_text(encoding="utf-8"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = _ANSWERS[question["kind"]](Inquiry(question, folder))
            found["said"] = list(dict.fromkeys(for_page(str(one.message)) for one in said))[:20]
        except (ValueError, OverflowError, ImportError, zipfile.BadZipFile) as why:
            found = {"problem": for_page(str(why)) or type(why).__name__}
        except MemoryError:
            found = {"problem": _too_much(question)}
        except Exception as why:  # a reader that stumbles over a damaged file
            if any(sign in str(why) for sign in _SIGNS_OF_TOO_MUCH):
                found = {"problem": _too_much(question)}
            else:
                found = {
                    "problem": f"The file cannot be worked on ({type(why).__name__}: {printable(str(why))[:300]})."
                }
    if "problem" in found:
        found["problem"] = _without_paths(found["problem"], question, folder)
    text = as_json(found, indent=None)
    part = folder / f"{ANSWER}.part"
    part.write_text(text, encoding="utf-8")
    part.rename(folder / ANSWER)


def _without_paths(text: str, question: Mapping[str, Any], folder: Path) -> str:
    """A message that names the files as the visitor does."""
    for path in (question.get("path"), question.get("covariance")):
        if path:
            text = text.replace(str(path), Path(path).name).replace(str(Path(path).parent), "")
    return text.replace(str(folder), "")


def _too_much(question: Mapping[str, Any]) -> str:
    return (
        f"This needs more than the {in_words(question['limits']['memory'])} of memory that one question may take. Try a "
        "smaller file, or the command line."
    )


# the result -----------------------------------------------------------------------------------------


def _loaded(asked: Inquiry, brief: bool = False) -> tuple[TableLabels, View, dict[str, Any]]:
    """The arrays, the view with all columns named, and what a page says about them."""
    with asked.source() as source:
        guess = ColumnGuess(source)
        given = asked.view.roles(asked.covariance)
        roles = guess.roles(**given)
        view = asked.view.filled(roles) if not asked.view.is_whole else asked.view
        whole = view.roles(asked.covariance)
        data = asked.labels(source, roles)
        about: dict[str, Any] = {
            "source": asked.shown_name,
            "assumed": for_page(understood(source, roles)),
            "remarks": [for_page(f"{remark[0].upper()}{remark[1:]}.") for remark in data.remarks],
            "omitted": data.omitted,
            "needed": [] if brief else guess.needed(whole, roles),
            "groups": groups_of(source, view, roles) if not brief else [],
            "columns": list(source.columns),
            "named": {} if roles.model else {printable(model): column for column, model in roles.models().items()},
            "models": _model_columns(guess, given, roles),
            "task": data.task,
            "unit": data.unit or "",
            "forecasts": bool(data.forecasts),
            "n": data.n,
            "errors": data.yerr is not None,
        }
    return data, view, about


def _model_columns(guess: ColumnGuess, given: Mapping[str, Any], roles: Roles) -> list[dict[str, str]]:
    """The models that can be switched on and off, each with the column of its predictions."""
    named = roles.models()
    try:
        others = guess.roles(**{**given, "pred": None, "std": None, "members": None}).models()
    except TableProblem:  # only those that are named
        others = {}
    every = {column: (named | others)[column] for column in guess.source.columns if column in named | others}
    return [{"column": column, "model": printable(model)} for column, model in every.items()]


def _evaluated(asked: Inquiry, data: TableLabels) -> tuple[Any, dict[str, Any]]:
    asked.say("Scoring the models")
    metrics = asked.view.metrics
    result = evaluate_command.evaluation_of(data, metrics or data.metrics)
    return result, {"metrics": metrics, "level": asked.view.level, "evaluation": result}


def _again(asked: Inquiry, view: View, about: Mapping[str, Any], metrics: Any) -> dict[str, Any]:
    """The command line and the Python code that make the same numbers."""
    name, matrix = asked.shown_name, asked.covariance_name
    command = view.command("evaluate", name, about["needed"], matrix)
    return {"command": command, "code": view.code(name, metrics, about["unit"], about["named"], matrix)}


def _report_options(data: TableLabels) -> dict[str, Any]:
    return {"yerr": data.yerr, "sample_weight": data.weight, "ids": data.ids, "unit": data.unit, "task": data.task}


def result(asked: Inquiry) -> dict[str, Any]:
    """The report as parts of a page."""
    data, view, about = _loaded(asked)
    evaluation, shown = _evaluated(asked, data)
    again = _again(asked, view, about, shown["metrics"] or evaluation.metrics)
    asked.say("Comparing the models and drawing")
    body = parts(data.y, data.models, title=asked.shown_name, **shown, **_report_options(data), **again)
    numbers = _numbers(evaluation, asked, about, view, again)
    return {
        "body": body,
        "view": view.given,
        "about": about,
        "numbers": numbers,
        **again,
        "metrics": evaluation.metrics,
    }


def numbers(asked: Inquiry) -> dict[str, Any]:
    """All numbers, without the page."""
    data, view, about = _loaded(asked)
    evaluation, shown = _evaluated(asked, data)
    again = _again(asked, view, about, shown["metrics"] or evaluation.metrics)
    return {"numbers": _numbers(evaluation, asked, about, view, again)}


def _numbers(
    evaluation: Any, asked: Inquiry, about: Mapping[str, Any], view: View, again: Mapping[str, str]
) -> dict[str, Any]:
    found = evaluation.to_dict(asked.view.level, asked.view.anew)
    told = {name: about[name] for name in ("source", "omitted", "assumed", "remarks")}
    return {
        **found,
        **told,
        "level": asked.view.level,
        "anew": asked.view.anew,
        "view": view.given,
        **again,
        "scores": found["scores"],
    }


def quick(asked: Inquiry) -> dict[str, Any]:
    """One score, before the whole page is there: the model and metric that the visitor looks at."""
    data, _, about = _loaded(asked, brief=True)
    model, metric = asked.options["model"], asked.options["metric"]
    if model not in data.models:
        raise TableProblem(f"the model {model!r} is not chosen.")
    own = {name: forecast for name, forecast in data.forecasts.items() if name == model}
    one = replace(data, predictions={model: data.predictions[model]}, forecasts=own)
    metrics = asked.view.metrics or data.metrics
    evaluation = evaluate_command.evaluation_of(one, [name for name in metrics or [] if name == metric] or metrics)
    if metric not in evaluation.metrics:
        raise TableProblem(f"the metric {metric} is not chosen.")
    score = evaluation[model, metric]
    answers = answer_records(answers_of(score, ANSWER_NAMES, asked.view.level, asked.view.anew))
    return {"answers": dict(zip(ANSWER_NAMES, answers, strict=True)), "n": about["n"], "anew": asked.view.anew}


# export ---------------------------------------------------------------------------------------------


def export(asked: Inquiry) -> dict[str, Any]:
    """What can be taken along: the text of a file, or a picture."""
    data, view, about = _loaded(asked)
    evaluation, shown = _evaluated(asked, data)
    again = _again(asked, view, about, shown["metrics"] or evaluation.metrics)
    name = str(asked.options["export"])
    asked.say(f"Writing {name}")
    makers: dict[str, Callable[[], str]] = {
        "report.html": lambda: build(
            data.y, data.models, title=asked.shown_name, **shown, **_report_options(data), **again
        ),
        "scores.json": lambda: as_json(_numbers(evaluation, asked, about, view, again)),
        "scores.csv": lambda: as_csv(evaluation.rows(view.level, view.anew)),
        "table.tex": lambda: str(evaluation.to_latex()),
        "table.md": lambda: str(evaluation.to_markdown()),
        "sentence.txt": lambda: evaluate_command.sentences_of(evaluation, evaluation.metrics, data.unit),
        "code.py": lambda: again["code"] + "\n",
        "command.sh": lambda: again["command"] + "\n",
    }
    if name in makers:
        return {"text": makers[name]()}
    return {"picture": base64.b64encode(_picture(name, data, evaluation, asked)).decode()}


FIGURES = ("distribution", "noise_budget", "parity", "forest")


def _picture(name: str, data: TableLabels, evaluation: Any, asked: Inquiry) -> bytes:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    what, _, ending = name.rpartition(".")
    if what not in FIGURES or ending not in ("svg", "png"):
        raise Refused(f"There is no figure {name!r}.", 404)
    models = evaluation.ranked()
    model = str(asked.options.get("model"))
    model = model if model in evaluation.models else models[0]
    metric = asked.options.get("metric") if asked.options.get("metric") in evaluation.metrics else evaluation.metrics[0]
    score = evaluation[model, metric]
    if what == "distribution":
        drawn = sb.plot.distribution(score, level=asked.view.level, unit=data.unit)
    elif what == "noise_budget":
        drawn = sb.plot.noise_budget(evaluation, metric=metric)
    elif what == "parity":
        drawn = sb.plot.parity(data.y, data.predictions[model], yerr=data.yerr, sample_weight=data.weight)
    else:
        drawn = sb.plot.forest(_compared(asked, data), unit=data.unit)
    sink = io.BytesIO()
    figure: Any = drawn.figure
    figure.savefig(sink, format=ending, dpi=200, bbox_inches="tight")
    pyplot.close(figure)
    return sink.getvalue()


# comparison and plan --------------------------------------------------------------------------------


def _compared_metric(asked: Inquiry, data: TableLabels) -> Any:
    name = asked.options.get("metric")
    return opt.asked_metric(str(name)) if name else compare_command.default_metric(data)


def _compared(asked: Inquiry, data: TableLabels) -> sb.Comparison:
    options = {"sampling": bool(asked.options.get("sampling")), "rope": float(asked.options.get("rope") or 0.0)}
    return compare_command.comparison_of(data, _compared_metric(asked, data), level=asked.view.level, **options)


def compare(asked: Inquiry) -> dict[str, Any]:
    """Which model is better, and how sure can the labels make us?"""
    data, view, about = _loaded(asked)
    if len(data.predictions) < 2:
        raise TableProblem("comparing needs at least two models: choose another column of predictions too.")
    asked.say("Comparing the models")
    found = _compared(asked, data)
    ranking = found.ranking()
    reference = asked.options.get("against") or ranking.best()
    if reference not in found.models:
        raise TableProblem(f"there is no model {reference!r}. The models are: {', '.join(found.models)}.")
    settings = {"sampling": found.sampling, "rope": float(asked.options.get("rope") or 0.0), "level": found.level}
    told, texts = compare_command.against_reference(found, ranking, reference, data.n, settings)
    more = [
        *(["--metric", str(asked.options["metric"])] if asked.options.get("metric") else []),
        *(["--against", str(asked.options["against"])] if asked.options.get("against") else []),
        *(["--sampling"] if asked.options.get("sampling") else []),
        *(["--rope", f"{float(asked.options['rope']):.15g}"] if asked.options.get("rope") else []),
        *(["--level", f"{view.level:.15g}"] if view.level != 0.95 else []),
    ]
    given: dict[str, Any] = {"metric": _compared_metric(asked, data)}
    given |= {"sampling": True} if asked.options.get("sampling") else {}
    given |= {"rope": float(asked.options["rope"])} if asked.options.get("rope") else {}
    given |= {"level": view.level} if view.level != 0.95 else {}
    last = f"print(found.sentence({data.unit!r}))" if data.unit else "print(found.sentence())"
    return {
        "numbers": told,
        "rows": texts,
        "title": found.declaration.title,
        "direction": found.declaration.direction,
        "sentence": found.sentence(data.unit),
        "command": view.command("compare", asked.shown_name, about["needed"], asked.covariance_name, more),
        "code": view.study_code("compare", asked.shown_name, about["named"], given, last, asked.covariance_name),
        "view": view.given,
        "about": about,
    }


def plan(asked: Inquiry) -> dict[str, Any]:
    """How many labels and repeats are needed, from the file as a pilot; what is missing for a plan is an answer too."""
    data, view, about = _loaded(asked)
    asked.say("Planning")
    found: dict[str, Any] = {
        "models": list(data.predictions),
        "view": view.given,
        "about": about,
        "chosen": [],
        "best": None,
    }
    try:
        return {**found, **_planned(asked, data, view, about)}
    except ValueError as why:
        return {**found, "lacks": for_page(str(why))}


def _planned(asked: Inquiry, data: TableLabels, view: View, about: Mapping[str, Any]) -> dict[str, Any]:
    options = asked.options
    goal = {name: float(options[name]) for name in ("power", "level", "cost_label", "cost_repeat") if options.get(name)}
    size = float(options["size"]) if options.get("size") else None
    reach = {"std": size} if options.get("goal") == "std" else {"difference": size}
    wanted = 1 if "std" in reach else 2
    chosen = [name for name in options.get("models") or [] if name in data.predictions]
    if len(chosen) != wanted and len(data.predictions) == wanted:
        chosen = list(data.predictions)
    if len(chosen) != wanted:
        raise TableProblem(f"This plan is about {'one model' if wanted == 1 else 'two models'}: choose below.")
    if wanted == 1 and size is None:
        raise TableProblem("Give the standard error that the mean squared error should have.")
    pilot = replace(data, predictions={name: data.predictions[name] for name in chosen}, forecasts={})
    found = plan_command.plan_from_pilot(pilot, reach.get("difference"), reach.get("std"), goal)
    column = {entry["model"]: entry["column"] for entry in about["models"]}
    named = View({**view.given, "pred": [column[name] for name in chosen if name in column]})
    given = {name: value for name, value in {**reach, **goal}.items() if value is not None}
    more = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", f"{value:.15g}")]
    command = named.command("plan", asked.shown_name, about["needed"], asked.covariance_name, more)
    models = {name: about["named"][name] for name in chosen if name in about["named"]}
    code = named.study_code("plan", asked.shown_name, models, given, "", asked.covariance_name)
    told = calculator.plan_told(found, goal, data.task == "classification")
    return {**told, "command": command, "code": code, "chosen": chosen}


def calculate(asked: Inquiry) -> dict[str, Any]:
    """The formulas of the paper and the plan, from a few numbers."""
    return calculator.calculated(asked.options)


_ANSWERS: dict[str, Callable[[Inquiry], dict[str, Any]]] = {
    "preview": preview,
    "result": result,
    "numbers": numbers,
    "quick": quick,
    "export": export,
    "compare": compare,
    "plan": plan,
    "calculate": calculate,
}
