"""``scorebars compare FILE``: which model is better, and how sure can the labels make us?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.escaping import latex_text
from scorebars._shared.evaluation_tables import booktabs, markdown_table
from scorebars._shared.score_views import counted, unit_of, unnamed
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli import output
from scorebars.files.file_labels import TableLabels

_STYLES = {"better": "green", "worse": "red", "equivalent": "cyan", "reference": "dim"}


def compare(
    file: opt.FileArgument,
    columns: opt.ComparedOptions,
    out: output.PaperOptions,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="The metric to compare, with options as NAME:OPTION=VALUE; mean_squared_error or accuracy_score.",
            metavar="NAME",
            autocompletion=opt.metrics_beginning,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare every model with this one (default: the one most likely the best).", metavar="MODEL"
        ),
    ] = None,
    sampling: Annotated[
        bool, typer.Option("--sampling", help="The rows are a sample too: speak of all items, not only of these.")
    ] = False,
    rope: Annotated[float, typer.Option(help="Differences up to this size do not matter.", metavar="SIZE")] = 0.0,
    level: Annotated[float, typer.Option(help="How sure a verdict must be.", metavar="P")] = 0.95,
    report: output.ReportOption = None,
) -> None:
    """Which model is better, and how sure can the labels make us?

    All models are compared on the same labels, so errors that they share cancel.
    """
    output.keep_apart([*file, columns.cov], out, report)
    asked = opt.asked_metric(metric) if metric else None
    data = opt.labels_in(file, columns, out.quiet, opt.asked_task([asked] if asked else None))
    checks = output.note_doubts(data, out.quiet)
    chosen = asked or default_metric(data)
    options: dict[str, Any] = {"sampling": sampling, "rope": rope, "level": level}
    found = comparison_of(data, chosen, **options)
    ranking = found.ranking()
    reference = ranking.best() if against is None else against
    if reference not in found.models:
        raise output.Failure(f"--against: there is no model {reference!r}. The models are: {', '.join(found.models)}.")
    if report:
        shown = {"metrics": [chosen], "comparison": found, "level": level, "checks": checks}
        output.write_report(report, data, out.quiet, **shown, **opt.in_python(file, data.roles, columns))
    # with --sampling the one error holds both
    error = "difference ± labels with sample" if sampling else "difference ± labels ± sample"
    head = ["model", "P(best)", "mean rank", error, "P(better)", "verdict"]
    record, texts = against_reference(found, ranking, reference, data.n, options)
    out.put(
        "compare",
        table=lambda: _shown(found, data, reference, ranking.statement, head, texts, out),
        json=lambda: as_json(record),
        csv=lambda: output.as_csv(record["models"]),
        latex=lambda: booktabs(head, [list(map(latex_text, row)) for row in texts], 1),
        markdown=lambda: markdown_table(head, texts),
        sentence=lambda: found.sentence(data.unit),
    )
    if not out.quiet:
        for warning in found.warnings:
            output.note_warning(f"{warning}.")


def default_metric(data: TableLabels) -> str:
    """The metric that suits the labels and predictions."""
    if data.task == "regression":
        return "mean_squared_error"
    return "brier_score_loss" if data.probable else "accuracy_score"


def comparison_of(data: TableLabels, metric: opt.AskedMetric, **options: Any) -> sb.Comparison:
    """The comparison of all models of the checked arrays."""
    models = data.models if opt.asked_task([metric]) == "forecast" else data.predictions
    return sb.compare(
        data.y, models, yerr=data.yerr, metric=metric, sample_weight=data.weight, groups=data.groups, **options
    )


def against_reference(
    found: sb.Comparison, ranking: sb.Ranking, reference: str, n: int, options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[list[str]]]:
    """The comparison of all models with the reference, as a record and as rows of texts; the likeliest best first."""
    rows = [_row_against(found, ranking, model, reference) for model in ranking.order()]
    said = {"against": reference, "statement": ranking.statement, "warnings": found.warnings}
    record = {"schema": "scorebars/comparison/1", "metric": found.metric, "n": n, **options, **said}
    return {**record, "models": [row for row, _ in rows]}, [cells for _, cells in rows]


def _row_against(
    found: sb.Comparison, ranking: sb.Ranking, model: str, reference: str
) -> tuple[dict[str, Any], list[str]]:
    """One model against the reference, as a record and as texts; the reference has no difference from itself."""
    best, rank = float(ranking.probabilities[model][0]), ranking.expected_rank(model)
    row: dict[str, Any] = {"model": model, "probability_best": best, "mean_rank": rank, "against": reference}
    texts = [model, f"{best:.3f}", f"{rank:.1f}"]
    if model == reference:
        return row, [*texts, "-", "-", "reference"]
    difference, probability = found.difference(model, reference), found.probability(model, reference)
    low, high = difference.interval(found.level)
    verdict = found.verdict(model, reference)
    row |= {"difference": float(difference), "std": difference.std, "low": low, "high": high}
    row |= {"probability_better": probability, "verdict": verdict}
    return row, [*texts, unnamed(str(difference)).replace(" (labels and sample)", ""), f"{probability:.3f}", verdict]


def _shown(
    found: sb.Comparison,
    data: TableLabels,
    reference: str,
    statement: str,
    head: list[str],
    texts: list[list[str]],
    out: output.PaperOptions,
) -> str:
    declared = found.declaration
    scope = "label errors and finite test set" if found.sampling else "label errors alone"
    unit = unit_of(found.difference(*found.models[:2]), data.unit)
    facts = ", ".join([declared.direction, *([f"in {unit}"] if unit else []), counted(data.n, "label")])
    facts = f"  {facts}\n{scope}, level {found.level * 100:g} %"
    coloured: list[list[str | Text]] = [[*row[:-1], Text(row[-1], style=_STYLES.get(row[-1], ""))] for row in texts]
    tables = output.grid(head, coloured, left=("model", "verdict"))
    meanings = {
        "difference": f"{found.metric} of the model minus that of {reference}",
        "P(better)": f"probability that the model is strictly better than {reference}",
        "verdict": f"what can be said at a level of {found.level * 100:g} %, from {scope}",
    }
    parts = [Text.assemble((declared.title, "bold"), (facts, "dim")), *tables, "", Text(statement)]
    return out.screen(*parts, meanings=meanings)
