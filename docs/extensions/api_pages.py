"""The API reference: one page for each public name, grouped by what it is for, all read from the package itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scorebars as sb
from scorebars.metrics.registry import declarations

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TASKS = {
    "regression": ("Metrics of numbers", "Predictions are numbers, and so are labels."),
    "forecast": ("Metrics of forecasts", "Predictions are distributions, labels are numbers."),
    "classification": ("Metrics of classes", "Labels are classes that may be wrong."),
}
STUDIES = {
    "studies": ("Studies", "The questions behind the metric."),
    "evaluation": ("Studies", ""),
    "streaming": ("Data in pieces", "Batches, files, dask, Spark."),
    "adapters": ("Other libraries", "Scorers for scikit-learn, metrics for torch, xarray."),
    "engines": ("Other libraries", ""),
}
RESULTS = ("Results", "What metrics and studies return.")
ERRORS = ("Error models", "What you know about the labels.")
FORECASTS = ("Forecasts", "What a model says of each label where that is a distribution.")
MODULES = {
    "datasets": ("Data sets", "Real labels with published errors, and models that predict them."),
    "plot": ("Figures", "Each draws into `ax`, or into a new figure, and returns the axes."),
    "report": ("Report", "One page to read, print and send on."),
}
INHERITED = "   :inherited-members: float, Exception, RuntimeError, ValueError, UserWarning, RuntimeWarning, tuple"
OURS = {"trusted", "from_summary", "view", "declaration"}
HIDDEN = {*dir(float), *dir(Exception), *dir(tuple), *OURS}
HIDDEN |= {"absolute_sd", "total", "width"}  # what error models tell the metrics
OF_FORECASTS = {
    "cdf",
    "claiming",
    "claims",
    "crps",
    "interval",
    "log_score",
    "mean",
    "n",
    "of_columns",
    "pdf",
    "pit",
    "ppf",
}
OF_FORECASTS |= {"sample", "seen_through", "sf", "spread", "std"}
ADAPTERS = ("scorebars.adapters.xarray", "scorebars.adapters.learning_curve")
"""Modules that are imported by their own names."""
TORCHMETRICS = "scorebars.adapters.torchmetrics"
"""Another one. It is described from its source, so that the documentation is built without torch (`autodoc_mock_imports`)."""


def group_of(name: str) -> tuple[str, str]:
    """The group of a public name of the package, with a sentence about it."""
    declared = declarations().get(name)
    if declared is not None:
        return TASKS[declared.task]
    value = getattr(sb, name)
    if inspect.ismodule(value):
        return MODULES.get(name, ERRORS)
    room = (sb._HOME[name]).split(".")[0]
    if room == "errors":
        return ERRORS
    if room == "forecasts":
        return FORECASTS
    if room == "metrics":
        return TASKS["classification" if "class" in sb._HOME[name] else "regression"]
    if inspect.isclass(value) and room in ("answers", "laws", "studies", "evaluation"):
        return RESULTS
    return STUDIES[room][0], next(text for title, text in STUDIES.values() if title == STUDIES[room][0])


def public_names() -> dict[str, Any]:
    """Every public name with what it stands for: those of the package and of its public modules."""
    found = {name: getattr(sb, name) for name in sb.__all__}
    for module in ("datasets", "plot", "report"):
        for name in getattr(sb, module).__all__:
            found[f"{module}.{name}"] = getattr(getattr(sb, module), name)
    for name in sb.errors.__all__:
        if name not in sb.__all__:
            found[f"errors.{name}"] = getattr(sb.errors, name)
    return found


def question_of(value: Any) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def members_of(name: str, value: type) -> list[str]:
    """The members that a user of the class meets; of an error model its makers, and the properties that it alone has."""
    found = [
        m for m in dir(value) if not m.startswith("_") and m not in HIDDEN and inspect.getdoc(getattr(value, m, None))
    ]
    if issubclass(value, sb.Forecast):
        return [m for m in found if m in OF_FORECASTS]
    general = {*dir(sb.errors.MeasurementError), *dir(sb.errors.ClassError)}
    if not issubclass(value, sb.errors.ErrorModel) or name.startswith("errors."):
        return found
    kinds = {m: inspect.getattr_static(value, m) for m in found}
    return [m for m, kind in kinds.items() if isinstance(kind, classmethod | property) and m not in general]


def page_of(name: str, value: Any) -> str:
    """The page of one name."""
    title = name
    lines = [title, "=" * len(title), ""]
    if inspect.ismodule(value):
        lines += [f".. automodule:: scorebars.{name}", "   :no-index:", ""]
        names = [n for n in public_names() if n.startswith(f"{name}.")]
        lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   scorebars.{n}" for n in names)] if names else []
    elif inspect.isclass(value):
        lines += [f".. autoclass:: scorebars.{name}"]
        members = members_of(name, value)
        if members:  # inherited members come whether they are named or not
            lines += [
                f"   :members: {', '.join(members)}",
                INHERITED,
                f"   :exclude-members: {', '.join(sorted(OURS))}",
            ]
    elif not inspect.isroutine(value):
        kind = type(value)
        lines += [f"``scorebars.{name}`` is the one object of this class:", ""]
        lines += [f".. autoclass:: {kind.__module__}.{kind.__name__}", "   :members:"]
    else:
        lines += [f".. autofunction:: scorebars.{name}"]
    if name.startswith("plot."):
        lines += ["", "Drawn in the gallery", "--------------------", "", f".. minigallery:: scorebars.{name}"]
    return "\n".join([*lines, ""])


def adapter_page(name: str) -> str:
    return "\n".join([name, "=" * len(name), "", f".. automodule:: {name}", "   :members:", ""])


def torchmetrics_classes() -> dict[str, str]:
    """The classes of the adapter for torchmetrics, each with the function that it stands for."""
    source = Path(sb.__file__).with_name("adapters") / "torchmetrics.py"
    made = re.findall(r'^(\w+) = _metric\(\s*"\1",\s*"(\w+)"', source.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(made)


def torchmetrics_page() -> str:
    lines = [TORCHMETRICS, "=" * len(TORCHMETRICS), "", f".. automodule:: {TORCHMETRICS}", ""]
    lines += ["The classes", "-----------", "", ".. list-table::", "   :header-rows: 1", ""]
    lines += ["   * - class", "     - function"]
    for name, function in torchmetrics_classes().items():
        lines += [f"   * - ``{name}``", f"     - :doc:`{function} <scorebars.{function}>`"]
    lines += ["", "What they have in common", "------------------------", ""]
    for name in ("ScoreMetric", "ForecastMetric"):
        lines += [f".. autoclass:: {TORCHMETRICS}.{name}", "   :members: update, compute, score", ""]
    return "\n".join(lines)


def index_page(groups: dict[tuple[str, str], list[str]], names: dict[str, Any]) -> str:
    lines = ["API reference", "=============", ""]
    lines += [
        f"The {len(names)} public names of scorebars {sb.__version__}, each with the question that it answers.",
        "",
    ]
    for (title, text), members in groups.items():
        lines += [title, "-" * len(title), "", text, ""]
        lines += [
            ".. toctree::",
            "   :hidden:",
            "",
            *(f"   scorebars.{name}" for name in members if "." not in name),
            "",
        ]
        lines += [".. list-table::", "   :widths: 35 65", "   :class: names", ""]
        for name in members:
            lines += [f"   * - :doc:`{name} <scorebars.{name}>`", f"     - {question_of(names[name])}"]
        lines += [""]
    lines += [
        "Adapters",
        "--------",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        *(f"   {name}" for name in (*ADAPTERS, TORCHMETRICS)),
        "",
    ]
    return "\n".join(lines)


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    names = public_names()
    order = [*TASKS.values(), ERRORS, FORECASTS, STUDIES["studies"], RESULTS, STUDIES["streaming"], *MODULES.values()]
    groups: dict[tuple[str, str], list[str]] = {group: [] for group in [*order, STUDIES["adapters"]]}
    for name in names:
        groups[group_of(name.split(".")[0])].append(name)
    pages = {"index": index_page(groups, names)}
    pages |= {f"scorebars.{name}": page_of(name, value) for name, value in names.items()}
    pages |= {name: adapter_page(name) for name in ADAPTERS} | {TORCHMETRICS: torchmetrics_page()}
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:  # an unchanged page is not read again
            file.write_text(text, encoding="utf-8")


def keep_initials(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """The initial of an author at the beginning of a line is no letter of a list."""
    lines[:] = [re.sub(r"^(\s*)([A-Z]\. [A-Z])", r"\1\\\2", line) for line in lines]


def hide_makers(app: Sphinx, what: str, name: str, value: Any, options: Any, made: str | None, returned: str) -> Any:
    """A class without parameters of its own to tell of is made by the package, not by its users."""
    described = re.search(r"^Parameters\n-", inspect.getdoc(value) or "", re.MULTILINE)
    return ("", None) if what == "class" and made is not None and not described else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-process-signature", hide_makers)
    app.connect("autodoc-process-docstring", keep_initials, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
