"""Sentences for the paper: what was done, how to cite it, how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import scorebars as sb
from scorebars.report.points import PageLabels

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


def error_sentence(labels: PageLabels, yerr: Any, task: str) -> str:
    """What is known about the errors of the labels, in half a sentence."""
    if yerr is None and labels.bars is None:
        return "no label errors were given: the labels are taken as exact"
    if isinstance(yerr, sb.errors.ErrorModel):
        kind = "truth = label + error" if yerr.kind == "berkson" else "label = truth + error"
        return f"label errors follow the model {type(yerr).__name__} ({yerr.kind}: {kind})"
    if task == "classification":
        q = np.asarray(yerr, dtype=float)
        if q.ndim == 0:
            return f"each label is wrong with probability {float(q):g}"
        return f"each label has its own probability of being wrong (mean {q.mean():.3g})"
    assert labels.bars is not None
    lower, upper = labels.bars
    if not np.array_equal(lower, upper):
        return "label errors are asymmetric, with a lower and an upper error for each label (split normal)"
    unit = f" {labels.unit}" if labels.unit else ""
    low, middle, high = np.quantile(lower, [0.0, 0.5, 1.0])
    if low == high:
        return f"label errors are normal with a standard deviation of {low:.4g}{unit} for all labels"
    return (
        f"label errors are normal with a standard deviation for each label (median {middle:.3g}{unit}, from "
        f"{low:.3g} to {high:.3g})"
    )


def methods_paragraph(
    n: int, models: int, scores: Mapping[str, Mapping[str, sb.Score]], errors: str, level: float, weighted: bool
) -> str:
    """The paragraph that a methods section needs; `scores` maps metric to model to score."""
    titles: list[str] = []
    how: dict[str, list[str]] = {}
    for of in scores.values():
        titles.append(next(iter(of.values())).declaration.title)
        for method in dict.fromkeys(score.method for score in of.values()):
            how.setdefault(_HOW.get(method, method), []).append(titles[-1])
    laws = next(iter(how)) if len(how) == 1 else " and ".join(f"{way} ({'; '.join(of)})" for way, of in how.items())
    what = "One model was" if models == 1 else f"{models} models were"
    return (
        f"{what} scored on {n} labels with scorebars {sb.__version__}; {errors}. "
        f"Metrics: {'; '.join(titles)}{', with sample weights' if weighted else ''}. "
        "For each we report the observed value (labels taken as exact); the expected value and standard deviation if "
        "every label were redrawn from its error bar, after Michelucci and Venturini; the estimate against the true values "
        "behind the labels, from which the part due to label errors is removed; and the score that a perfect model "
        f"would have on these labels. Intervals have a level of {level:.0%}. "
        f"The distributions of the metrics were found {laws}."
    )


def code_lines(
    metrics: Sequence[str],
    labels: Any,
    predictions: Mapping[str, Any],
    yerr: Any,
    source: str | None,
    weighted: bool,
    level: float,
) -> str:
    """Python code that makes the numbers and this page again: from a shipped data set, or from the user's arrays."""
    loader = None if weighted else _loader(source, labels, predictions, yerr)
    if loader:
        start = [f"data = sb.datasets.{loader}()"]
        arguments = "data.y, data.predictions" + (", yerr=data.yerr" if yerr is not None else "")
    else:
        extra = [*(["yerr"] if yerr is not None else []), *(["sample_weight"] if weighted else [])]
        held = ", ".join(["y_true", *extra])
        start = [f"# {held}: one value for each label; predictions: a dict from model name to values"]
        start += [f"# all from {source!r}"] if source else []
        arguments = ", ".join(["y_true, predictions", *(f"{name}={name}" for name in extra)])
    last = "" if level == 0.95 else f", level={level!r}"
    lines = ["import scorebars as sb", "", *start, f"metrics = {list(metrics)!r}"]
    lines.append(f"print(sb.evaluate({arguments}, metrics=metrics))")
    return "\n".join([*lines, f'sb.report.save("report.html", {arguments}, metrics=metrics{last})'])


def _loader(source: str | None, labels: Any, predictions: Mapping[str, Any], yerr: Any) -> str | None:
    """Name of the loader, where the data are exactly those of a shipped data set."""
    loader = f"load_{(source or '').removeprefix('dataset:')}"
    if not hasattr(sb.datasets, loader):
        return None
    data = getattr(sb.datasets, loader)()
    same = np.array_equal(data.y, labels) and list(data.predictions) == list(predictions)
    same = same and all(np.array_equal(data.predictions[name], p) for name, p in predictions.items())
    return loader if same and np.array_equal(data.yerr, yerr) else None
