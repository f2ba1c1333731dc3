"""Sentences for the paper: what was done, how to cite it, how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import scorebars as sb
from scorebars.report.labels import Labels

PAPER = (
    "U. Michelucci and F. Venturini, New Metric Formulas that Include Measurement Errors in Machine Learning for "
    "Natural Sciences."
)
BIBTEX = f"""@article{{michelucci_venturini,
  author = {{Michelucci, Umberto and Venturini, Francesca}},
  title  = {{New Metric Formulas that Include Measurement Errors in Machine Learning for Natural Sciences}}
}}
@software{{scorebars,
  author  = {{{{The scorebars developers}}}},
  title   = {{scorebars: scores with error bars}},
  version = {{{sb.__version__}}}
}}"""

_HOW = {
    "exact": "exactly",
    "quadrature": "by quadrature",
    "saddlepoint": "by saddlepoint approximation",
    "delta": "by expansion to first order",
    "simulation": "by simulation with a fixed seed",
}


def error_sentence(labels: Labels, yerr: Any, task: str) -> str:
    """What is known about the errors of the labels, in half a sentence."""
    if yerr is None and labels.lower is None:
        return "no label errors were given: the labels are taken as exact"
    if isinstance(yerr, sb.errors.ErrorModel):
        kind = "truth = label + error" if yerr.kind == "berkson" else "label = truth + error"
        return f"label errors follow the model {type(yerr).__name__} ({yerr.kind}: {kind})"
    if task == "classification":
        q = np.asarray(yerr, dtype=float)
        if q.ndim == 0:
            return f"each label is wrong with probability {float(q):g}"
        return f"each label has its own probability of being wrong (mean {q.mean():.3g})"
    assert labels.lower is not None and labels.upper is not None
    if not np.array_equal(labels.lower, labels.upper):
        return "label errors are asymmetric, with a lower and an upper error for each label (split normal)"
    low, middle, high = np.quantile(labels.lower, [0.0, 0.5, 1.0])
    if low == high:
        return f"label errors are normal with a standard deviation of {low:.4g}{_in(labels)} for all labels"
    return (
        f"label errors are normal with a standard deviation for each label (median {middle:.3g}{_in(labels)}, from "
        f"{low:.3g} to {high:.3g})"
    )


def methods_paragraph(
    labels: Labels,
    models: int,
    metrics: Mapping[str, Sequence[sb.Score]],
    errors: str,
    level: float,
    weighted: bool,
) -> str:
    """The paragraph that a methods section needs; `metrics` maps each name to the scores shown."""
    titles = [scores[0].declaration.title for scores in metrics.values()]
    how: dict[str, list[str]] = {}
    for title, scores in zip(titles, metrics.values(), strict=True):
        for method in dict.fromkeys(score.method for score in scores):
            how.setdefault(_HOW.get(method, method), []).append(title)
    laws = next(iter(how)) if len(how) == 1 else " and ".join(f"{way} ({'; '.join(of)})" for way, of in how.items())
    what = "One model was" if models == 1 else f"{models} models were"
    return (
        f"{what} scored on {labels.n} labels with scorebars {sb.__version__}; {errors}. "
        f"Metrics: {'; '.join(titles)}{', with sample weights' if weighted else ''}. "
        "For each we report the observed value (labels taken as exact); the expected value and standard deviation when "
        "the labels move within their errors, after Michelucci and Venturini; the estimate against the true values "
        "behind the labels, from which the part due to label errors is removed; and the score that a perfect model "
        f"would have on these labels. Intervals have a level of {level:.0%}. "
        f"The laws of the metrics were found {laws}."
    )


def code_lines(
    metrics: Sequence[str],
    labels: Labels,
    predictions: Mapping[str, Any],
    yerr: Any,
    *,
    source: str | None,
    weighted: bool,
    level: float,
) -> str:
    """Python code that makes the numbers and this page again: from a shipped data set, or from the user's arrays."""
    shipped = _shipped(source, labels, predictions, yerr) if not weighted else None
    extra = (", yerr=yerr" if yerr is not None else "") + (", sample_weight=sample_weight" if weighted else "")
    arguments = f"y_true, predictions{extra}"
    if shipped:
        start = [f"data = sb.datasets.{shipped}()"]
        arguments = "data.y, data.predictions" + (", yerr=data.yerr" if yerr is not None else "")
    else:
        held = ["y_true", *(["yerr"] if yerr is not None else []), *(["sample_weight"] if weighted else [])]
        start = [
            f"# {', '.join(held)}: one value for each label; predictions: a dict from model name to values",
            *([f"# all from {source!r}"] if source else []),
        ]
    return "\n".join(
        [
            "import scorebars as sb",
            "",
            *start,
            f"metrics = {list(metrics)!r}",
            f"print(sb.evaluate({arguments}, metrics=metrics))",
            f'sb.report.save("report.html", {arguments}, metrics=metrics{"" if level == 0.95 else f", level={level!r}"})',
        ]
    )


def _shipped(source: str | None, labels: Labels, predictions: Mapping[str, Any], yerr: Any) -> str | None:
    """Name of the loader, where the data are exactly those of a shipped data set."""
    loader = f"load_{(source or '').removeprefix('dataset:')}"
    if not hasattr(sb.datasets, loader):
        return None
    data = getattr(sb.datasets, loader)()
    same = np.array_equal(data.y, labels.values) and list(data.predictions) == list(predictions)
    same = same and all(np.array_equal(data.predictions[name], p) for name, p in predictions.items())
    return loader if same and np.array_equal(data.yerr, yerr) else None


def _in(labels: Labels) -> str:
    return f" {labels.unit}" if labels.unit else ""
