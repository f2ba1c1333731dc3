"""What the process of one question does: read the file, ask the library, write the answer. The server only shows it."""

from __future__ import annotations

import base64
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import scorebars as sb
from scorebars._shared.escaping import printable
from scorebars._shared.score_views import ANSWER_NAMES, answer_records, answers_of, unit_of
from scorebars._shared.writing import as_json, write_text
from scorebars.cli import compare_command, evaluate_command, plan_command
from scorebars.cli import options as opt
from scorebars.cli.output import as_csv
from scorebars.files.columns import Roles, role_finder
from scorebars.files.file_labels import TableLabels, understood
from scorebars.files.problem import TableProblem
from scorebars.report.build import build
from scorebars.web import calculator
from scorebars.web.inquiry import Inquiry
from scorebars.web.jobs import ANSWER, QUESTION
from scorebars.web.limits import in_words
from scorebars.web.preview import groups_of, must_say_none, preview
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
        except Exception as why:
            found = {"problem": _without_paths(_in_words(why, question), question, folder)}
    write_text(folder / ANSWER, as_json(found, indent=None))


def _in_words(why: Exception, question: Mapping[str, Any]) -> str:
    """What went wrong, for the visitor; a damaged file makes a reader stumble in its own way."""
    if isinstance(why, ValueError | OverflowError | ImportError | zipfile.BadZipFile):
        return for_page(str(why)) or type(why).__name__
    if isinstance(why, MemoryError) or any(sign in str(why) for sign in _SIGNS_OF_TOO_MUCH):
        return (
            f"This needs more than the {in_words(question['limits']['memory'])} of memory that one question may take. Try a "
            "smaller file, or the command line."
        )
    return f"The file cannot be worked on ({type(why).__name__}: {printable(str(why))[:300]})."


def _without_paths(text: str, question: Mapping[str, Any], folder: Path) -> str:
    """A message that names the files as the visitor does."""
    for path in (question.get("path"), question.get("covariance")):
        if path:
            text = text.replace(str(path), Path(path).name).replace(str(Path(path).parent), "")
    return text.replace(str(folder), "")


# the result -----------------------------------------------------------------------------------------


def _loaded(asked: Inquiry, brief: bool = False) -> tuple[TableLabels, View, dict[str, Any]]:
    """The arrays, the view with all columns named, and what a page says about them."""
    with asked.source() as source:
        find_roles = role_finder(source)
        given = asked.view.roles(asked.covariance)
        roles = find_roles(**given)
        view = asked.view if asked.view.is_whole else asked.view.filled(roles)
        data = asked.labels(source, roles)
        about: dict[str, Any] = {
            "source": asked.shown_name,
            "assumed": for_page(understood(source, roles)),
            "remarks": [for_page(f"{remark[0].upper()}{remark[1:]}.") for remark in data.remarks],
            "omitted": data.omitted,
            "needed": [] if brief else must_say_none(find_roles, view.roles(asked.covariance), roles),
            "groups": [] if brief else groups_of(source, roles),
            "named": {} if roles.model else {printable(model): column for column, model in roles.models().items()},
            "models": _model_columns(find_roles, source.columns, given, roles),
            "task": data.task,
            "unit": data.unit or "",
            "forecasts": bool(data.forecasts),
            "n": data.n,
            "errors": data.yerr is not None,
        }
    return data, view, about


def _model_columns(
    find_roles: Callable[..., Roles], columns: Sequence[str], given: Mapping[str, Any], roles: Roles
) -> list[dict[str, str]]:
    """The models that can be switched on and off, each with the column of its predictions."""
    named = roles.models()
    try:
        others = find_roles(**{**given, "pred": None, "std": None, "members": None}).models()
    except TableProblem:  # only those that are named
        others = {}
    every = named | others
    return [{"column": column, "model": printable(every[column])} for column in columns if column in every]


@dataclass(frozen=True)
class Scored:
    """A file with its models scored, and how to get the same numbers elsewhere."""

    data: TableLabels
    view: View
    about: dict[str, Any]
    evaluation: sb.Evaluation
    page: dict[str, Any]
    """What a report shows besides labels and models."""
    again: dict[str, str]
    """The command line and the Python code."""

    def report(self, whole: bool) -> str:
        """The report, as a page or as the parts of one."""
        options = {**self.data.report_options, **self.page, **self.again}
        return build(self.data.y, self.data.models, evaluation=self.evaluation, **options, whole=whole)

    def numbers(self) -> dict[str, Any]:
        """All numbers as plain data."""
        told = {name: self.about[name] for name in ("source", "omitted", "assumed", "remarks")}
        settings = {"level": self.view.level, "anew": self.view.anew, "view": self.view.given}
        return {**self.evaluation.to_dict(self.view.level, self.view.anew), **told, **settings, **self.again}


def _scored(asked: Inquiry) -> Scored:
    data, view, about = _loaded(asked)
    asked.say("Scoring the models")
    metrics = view.metrics
    evaluation = evaluate_command.evaluation_of(data, metrics or data.metrics)
    name, matrix = asked.shown_name, asked.covariance_name
    again = {
        "command": view.command("evaluate", name, about["needed"], matrix),
        "code": view.code(name, metrics or evaluation.metrics, about["unit"], about["named"], matrix),
    }
    return Scored(data, view, about, evaluation, {"title": name, "metrics": metrics, "level": view.level}, again)


def result(asked: Inquiry) -> dict[str, Any]:
    """The report as parts of a page."""
    found = _scored(asked)
    asked.say("Comparing the models and drawing")
    told = {"view": found.view.given, "about": found.about, "numbers": found.numbers(), **found.again}
    return {"body": found.report(whole=False), **told, "metrics": found.evaluation.metrics}


def numbers(asked: Inquiry) -> dict[str, Any]:
    """All numbers, without the page."""
    return {"numbers": _scored(asked).numbers()}


def quick(asked: Inquiry) -> dict[str, Any]:
    """One score, before the whole page is there: the model and metric that the visitor looks at."""
    data, view, about = _loaded(asked, brief=True)
    model, metric = asked.options["model"], asked.options["metric"]
    if model not in data.models:
        raise TableProblem(f"the model {model!r} is not chosen.")
    metrics = view.metrics or data.metrics
    chosen = [name for name in metrics or [] if name == metric] or metrics
    evaluation = evaluate_command.evaluation_of(data.with_models([model]), chosen)
    if metric not in evaluation.metrics:
        raise TableProblem(f"the metric {metric} is not chosen.")
    score = evaluation[model, metric]
    answers = answer_records(answers_of(score, ANSWER_NAMES, view.level, view.anew), unit_of(score, data.unit))
    return {"answers": dict(zip(ANSWER_NAMES, answers, strict=True)), "n": about["n"], "anew": view.anew}


# export ---------------------------------------------------------------------------------------------


def export(asked: Inquiry) -> dict[str, Any]:
    """What can be taken along: the text of a file, or a picture."""
    found, name = _scored(asked), str(asked.options["export"])
    evaluation, view = found.evaluation, found.view
    asked.say(f"Writing {name}")
    makers: dict[str, Callable[[], str]] = {
        "report.html": lambda: found.report(whole=True),
        "scores.json": lambda: as_json(found.numbers()),
        "scores.csv": lambda: as_csv(evaluation.rows(view.level, view.anew)),
        "table.tex": evaluation.to_latex,
        "table.md": evaluation.to_markdown,
        "sentence.txt": lambda: evaluate_command.sentences_of(evaluation, evaluation.metrics, found.data.unit),
        "code.py": lambda: found.again["code"] + "\n",
        "command.sh": lambda: found.again["command"] + "\n",
    }
    if name in makers:
        return {"text": makers[name]()}
    return {"picture": base64.b64encode(_picture(name, found.data, evaluation, asked)).decode()}


def _picture(name: str, data: TableLabels, evaluation: sb.Evaluation, asked: Inquiry) -> bytes:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    what, _, ending = name.rpartition(".")
    model, metric = asked.options.get("model"), asked.options.get("metric")
    model = model if model in evaluation.models else evaluation.ranked()[0]
    metric = metric if metric in evaluation.metrics else evaluation.metrics[0]
    if what == "distribution":
        drawn = sb.plot.distribution(evaluation[model, metric], level=asked.view.level, unit=data.unit)
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


def _settings(asked: Inquiry) -> dict[str, Any]:
    """How models are compared."""
    options = asked.options
    sampling, rope = bool(options.get("sampling")), float(options.get("rope") or 0.0)
    return {"sampling": sampling, "rope": rope, "level": asked.view.level}


def _compared(asked: Inquiry, data: TableLabels) -> sb.Comparison:
    return compare_command.comparison_of(data, _compared_metric(asked, data), **_settings(asked))


def compare(asked: Inquiry) -> dict[str, Any]:
    """Which model is better, and how sure can the labels make us?"""
    data, view, about = _loaded(asked)
    if len(data.predictions) < 2:
        raise TableProblem("comparing needs at least two models: choose another column of predictions too.")
    asked.say("Comparing the models")
    found, settings = _compared(asked, data), _settings(asked)
    ranking = found.ranking()
    reference = asked.options.get("against") or ranking.best()
    if reference not in found.models:
        raise TableProblem(f"there is no model {reference!r}. The models are: {', '.join(found.models)}.")
    told, texts = compare_command.against_reference(found, ranking, reference, data.n, settings)
    usual = {"sampling": False, "rope": 0.0, "level": 0.95}
    changed = {name: value for name, value in settings.items() if value != usual[name]}
    chosen = {name: str(asked.options[name]) for name in ("metric", "against") if asked.options.get(name)}
    given = {"metric": _compared_metric(asked, data), **changed}
    last = f"print(found.sentence({data.unit!r}))" if data.unit else "print(found.sentence())"
    name, matrix = asked.shown_name, asked.covariance_name
    return {
        "numbers": told,
        "rows": texts,
        "title": found.declaration.title,
        "direction": found.declaration.direction,
        "sentence": found.sentence(data.unit),
        "command": view.command("compare", name, about["needed"], matrix, {**chosen, **changed}),
        "code": view.study_code("compare", name, about["named"], given, last, matrix),
        "view": view.given,
        "about": about,
    }


def plan(asked: Inquiry) -> dict[str, Any]:
    """How many labels and repeats are needed, from the file as a pilot; what is missing for a plan is an answer too."""
    data, view, about = _loaded(asked)
    asked.say("Planning")
    told = {"models": list(data.predictions), "view": view.given, "about": about, "chosen": [], "best": None}
    try:
        return {**told, **_planned(asked, data, view, about)}
    except ValueError as why:
        return {**told, "lacks": for_page(str(why))}


def _planned(asked: Inquiry, data: TableLabels, view: View, about: Mapping[str, Any]) -> dict[str, Any]:
    options = asked.options
    goal = {name: float(options[name]) for name in ("power", "level", "cost_label", "cost_repeat") if options.get(name)}
    size = float(options["size"]) if options.get("size") else None
    reach = {"std" if options.get("goal") == "std" else "difference": size}
    wanted = 1 if "std" in reach else 2
    chosen = [name for name in options.get("models") or [] if name in data.predictions]
    if len(chosen) != wanted and len(data.predictions) == wanted:
        chosen = list(data.predictions)
    if len(chosen) != wanted:
        raise TableProblem(f"This plan is about {'one model' if wanted == 1 else 'two models'}: choose below.")
    if wanted == 1 and size is None:
        raise TableProblem("Give the standard error that the mean squared error should have.")
    pilot = data.with_models(chosen)
    found = plan_command.plan_from_pilot(pilot, reach.get("difference"), reach.get("std"), goal)
    column = {entry["model"]: entry["column"] for entry in about["models"]}
    named = View({**view.given, "pred": [column[name] for name in chosen if name in column]})
    given = {name: value for name, value in {**reach, **goal}.items() if value is not None}
    models = {name: about["named"][name] for name in chosen if name in about["named"]}
    name, matrix = asked.shown_name, asked.covariance_name
    return {
        **calculator.plan_told(found, goal, data.task == "classification"),
        "command": named.command("plan", name, about["needed"], matrix, given),
        "code": named.study_code("plan", name, models, given, "", matrix),
        "chosen": chosen,
    }


_ANSWERS: dict[str, Callable[[Inquiry], dict[str, Any]]] = {
    "preview": preview,
    "result": result,
    "numbers": numbers,
    "quick": quick,
    "export": export,
    "compare": compare,
    "plan": plan,
    "calculate": lambda asked: calculator.SHEETS[asked.options["sheet"]](asked.options),
}
