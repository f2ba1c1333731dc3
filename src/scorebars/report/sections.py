"""What the sections of the page show, as plain data: labels, scores, models side by side, points, confusion matrices, words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars._shared.given_data import plain_labels
from scorebars._shared.score_views import counted, shortened

_Floats = NDArray[np.float64]
MOST_POINTS = 5_000
_LISTED = 20
_LONGEST_ID = 80
_MOST_CLASSES = 24
_LONGEST_CLASS, _LONGEST_UNIT = 40, 40
# On the same labels these order models alike, so that one comparison serves them.
_ALIKE = {
    "mean_squared_error": "mean_squared_error",
    "root_mean_squared_error": "mean_squared_error",
    "r2_score": "mean_squared_error",
    "accuracy_score": "accuracy_score",
    "zero_one_loss": "accuracy_score",
}


class PageLabels(NamedTuple):
    """Plain labels, their lower and upper errors (2, n) (None: exact, or classes), a name for each, their unit and limits."""

    values: NDArray[Any]
    bars: _Floats | None
    ids: list[Any]
    unit: str
    limits: sb.Censored | None = None

    def residuals(self, p: _Floats) -> _Floats:
        """How far each prediction is above its label; of a limit, above the nearest allowed value."""
        y = np.asarray(self.values, dtype=np.float64)
        return np.asarray(p - (y if self.limits is None else self.limits.nearest(p)))

    def sides(self, index: NDArray[np.intp]) -> list[int] | None:
        """-1 for each upper limit, 1 for each lower limit, 0 for the others; None where no label is a limit."""
        if self.limits is None:
            return None
        low, high = (np.isfinite(end[index]) for end in (self.limits.lower, self.limits.upper))
        return [int(side) for side in low.astype(int) - high.astype(int)]


def page_labels(y_true: Any, yerr: Any, ids: Any = None, unit: str | None = None) -> PageLabels:
    """The labels as the page draws them."""
    values, bars, own = plain_labels(y_true, yerr)
    if ids is None:  # the index of a series, or the row number
        index = getattr(y_true, "index", None)
        ids = map("label {}".format, range(len(values))) if index is None or callable(index) else index
    names = list(ids)
    if len(names) != len(values):
        raise ValueError(
            f"ids has {len(names)} entries but y_true has {len(values)} labels. Give one id for each label."
        )
    limits = yerr if isinstance(yerr, sb.Censored) and yerr.limited else None
    return PageLabels(values, bars, names, shortened(str(unit or own or ""), _LONGEST_UNIT), limits)


_PIT_BINS = 10
_WIDE, _HIGH = 160.0, 56.0
"""Size of a histogram on the page."""


def calibration_rows(y_true: Any, forecasts: Mapping[str, Any], yerr: Any) -> list[dict[str, Any]]:
    """What the page says of each forecast's error bars: texts, and the two histograms of its PIT as shapes."""
    rows: list[dict[str, Any]] = []
    for model, forecast in forecasts.items():
        try:
            found = sb.calibration(y_true, forecast, yerr=yerr)
        except ValueError as why:  # correlated label errors and an ensemble, say
            rows.append({"model": model, "why": str(why)})
            continue
        assert isinstance(found, sb.Calibration)
        shown, ignored = found.to_dict(), found.naive is not found
        between = (shown["spread_factor_low"], shown["spread_factor_high"])
        curve = found.curve([0.68, 0.95]).found
        rows.append(
            {
                "model": model,
                "why": "",
                "calibrated": found.calibrated,
                "verdict": found.verdict,
                "naive": found.naive.verdict if ignored else "",
                "factor": "cannot be estimated" if between[0] is None else f"{shown['spread_factor']:.3g}",
                "between": "" if between[0] is None else f"{between[0]:.3g} to {between[1]:.3g}",
                "bias": "cannot be estimated" if shown["bias"] is None else f"{shown['bias']:.3g}",
                "coverage": f"{100 * curve[0]:.0f} % / {100 * curve[1]:.0f} %",
                "picture": _pit_picture(found),
                "notes": found.notes,
            }
        )
    return rows


def _pit_picture(found: sb.Calibration) -> dict[str, Any]:
    """Histograms of the PIT: bars with label errors allowed for, a line without, and the height of a flat one."""
    heights = [np.histogram(one.pit, _PIT_BINS, (0.0, 1.0))[0] * _PIT_BINS / found.n for one in (found, found.naive)]
    unit = (_HIGH - 2.0) / max(2.5, *(float(height.max()) for height in heights))
    wide = _WIDE / _PIT_BINS
    bars = [
        {
            "x": round(k * wide, 2),
            "y": round(_HIGH - h * unit, 2),
            "width": round(wide - 1.0, 2),
            "height": round(h * unit, 2),
        }
        for k, h in enumerate(heights[0])
    ]
    steps = [f"{x:.2f},{_HIGH - h * unit:.2f}" for k, h in enumerate(heights[1]) for x in (k * wide, (k + 1) * wide)]
    line = " ".join(steps) if found.naive is not found else ""
    return {"bars": bars, "line": line, "flat": round(_HIGH - unit, 2), "wide": _WIDE, "high": _HIGH}


def contest_data(
    scores: Mapping[str, Mapping[str, sb.Score]],
    compare: Callable[..., sb.Comparison],
    given: sb.Comparison | None,
    unit: str | None,
) -> list[dict[str, Any] | None]:
    """For each metric the model that leads, and the probability that it is really better than each other one.

    `labels`: every label redrawn from its error bar; `items`: the items are a sample too. None for metrics whose
    comparison is not exact and quick, unless it is `given`. `scores` maps metric to model to score.
    """
    several = len(next(iter(scores.values()))) > 1
    compared: dict[str, sb.Comparison] = {}
    compared_by = said = ""
    if given is not None:
        compared_by = given.metric if given.metric in scores else given.declaration.name
        compared, said = {_ALIKE.get(compared_by, compared_by): given}, given.sentence(unit)
    quick = {_ALIKE[name] for name in scores if name in _ALIKE and several}
    compared |= {metric: compare(metric=metric) for metric in quick - set(compared)}
    chances: dict[tuple[str, str], dict[str, Any]] = {}
    found: list[dict[str, Any] | None] = []
    for name, of in scores.items():
        by = _ALIKE.get(name, name)
        if by not in compared:
            found.append(None)
            continue
        models = list(of)
        leader = models[int(np.argmin([abs(s.observed - s.declaration.perfect) for s in of.values()]))]
        if (by, leader) not in chances:
            contests = {key: replace(compared[by], sampling=key == "items") for key in ("labels", "items")}
            chances[by, leader] = {
                key: [None if m == leader else round(contest.probability(leader, m), 4) for m in models]
                for key, contest in contests.items()
            }
        sentence = said if name == compared_by else ""
        found.append({"leader": models.index(leader), **chances[by, leader], "sentence": sentence})
    return found


def matrix_data(y_true: Any, labels: Any, predictions: Mapping[str, Any], options: Any) -> dict[str, Any] | None:
    """The confusion matrix of each model; None where the predictions are not classes (probabilities, decision values)."""
    if not all(_are_classes(p, labels) for p in predictions.values()):
        return None
    classes, counts = np.unique(np.concatenate([labels, *predictions.values()]), return_counts=True)
    shown = np.sort(classes[np.argsort(-counts, kind="stable")[:_MOST_CLASSES]])
    return {
        "classes": [shortened(str(name), _LONGEST_CLASS) for name in shown.tolist()],
        "all": len(classes),
        "models": [_cells(sb.confusion_matrix(y_true, p, **options), shown) for p in predictions.values()],
    }


def _are_classes(prediction: Any, classes: Any) -> bool:
    values = np.asarray(prediction)
    return values.ndim == 1 and (values.dtype.kind not in "f" or bool(np.isin(values, classes).all()))


def _cells(matrix: Any, shown: Any) -> dict[str, Any]:
    # a class that this model never meets has an empty row and column
    at = np.searchsorted(matrix.classes, shown).clip(max=len(matrix.classes) - 1)
    met = matrix.classes[at] == shown

    def short(cells: Any) -> list[list[float]]:
        picked = np.where(np.outer(met, met), np.asarray(cells, dtype=float)[np.ix_(at, at)], 0.0)
        return [[float(f"{value:.5g}") for value in row] for row in picked.tolist()]

    cells = {
        "observed": {"value": short(matrix.observed), "std": None},
        "expected": {"value": short(matrix.expected), "std": short(matrix.std)},
    }
    try:
        truth = matrix.truth
    except ValueError:  # the transition is not known: there is no matrix of true classes
        return cells
    return {**cells, "truth": {"value": short(truth.value), "std": short(truth.std)}}


def check_data(check: sb.ErrorCheck) -> dict[str, Any]:
    """Are the label errors believable, judged by the residuals of one model?"""
    doubt = check.doubts[-1] if check.too_good else ""
    return {"lines": [check.verdict, *check.view().notes], "warnings": list(check.warnings), "too_good": doubt}


def headline(
    models: Sequence[str],
    metric: Mapping[str, Any],
    of: Sequence[Mapping[str, Any]],
    contest: Mapping[str, Any] | None,
    checks: Sequence[Mapping[str, Any] | None],
) -> list[tuple[str, str]]:
    """The result in a few sentences: the best model by the first metric, its score, and whether it can be believed.

    `models`, their scores `of` and their `checks` are best first.
    """
    has = "is best, with" if len(models) > 1 else "has"
    found = [("result", f"{metric['title']}: {models[0]} {has} {_published(of[0], metric['unit'])}.")]
    if contest is not None and len(models) > 1:
        alone, both = (_chance(contest[key][1]) for key in ("labels", "items"))
        sure = f"{both} (sample)" if of[0]["law"] is None else f"{alone} (labels alone) and {both} (labels and sample)"
        found.append(("more", f"It is better than {models[1]}, the next, with probability {sure}."))
    doubts = [check["too_good"] if check else "" for check in checks] or [""]
    if doubts[0]:
        found.append(("warning", f"Beware of {models[0]}: {doubts[0]}"))
        if "" in doubts:
            k = doubts.index("")
            its = _published(of[k], metric["unit"])
            found.append(("more", f"The best model without this warning is {models[k]}, with {its}."))
    return found


def _published(score: Mapping[str, Any], unit: str) -> str:
    observed, truth = score["answers"][0], score["answers"][2]
    if truth["value"] is None or score["law"] is None:
        return f"{observed['text']}, the labels taken as exact"
    return f"{truth['text']} against the true values ({observed['cell']}{unit and f' {unit}'} as observed)"


def _chance(probability: float) -> str:
    return "> 0.999" if probability > 0.999 else f"{probability:.3f}"


# points ---------------------------------------------------------------------------------------------


def _relative(y: _Floats, r: _Floats, sd: Any) -> _Floats:
    return np.abs(r) / np.maximum(np.abs(y), np.finfo(float).eps)


def _logarithmic(y: _Floats, r: _Floats, sd: Any) -> _Floats:
    return np.square(np.log1p(y + r) - np.log1p(y))


Part = tuple[str, Callable[[_Floats, _Floats, Any], _Floats]]
_SQUARED: Part = ("squared error", lambda y, r, sd: np.square(r))
_ABSOLUTE: Part = ("absolute error", lambda y, r, sd: np.abs(r))
# what a label adds to the sum behind the observed score; metrics that are not sums over labels are left out
PARTS: dict[str, Part] = {
    "mean_squared_error": _SQUARED,
    "root_mean_squared_error": _SQUARED,
    "r2_score": _SQUARED,
    "mean_absolute_error": _ABSOLUTE,
    "d2_absolute_error_score": _ABSOLUTE,
    "mean_error": ("signed error", lambda y, r, sd: r),
    "mean_absolute_percentage_error": ("relative error", _relative),
    "mean_squared_log_error": ("squared log error", _logarithmic),
    "root_mean_squared_log_error": ("squared log error", _logarithmic),
    "reduced_chi_squared": ("squared pull", lambda y, r, sd: np.square(r / sd)),  # it refuses labels without errors
}


def shares(name: str, labels: PageLabels, residual: _Floats, weight: _Floats | None) -> _Floats:
    """Share of each label in the observed sum behind the metric `name`; of a sum with signs, in the sum without."""
    sd = None if labels.bars is None else labels.bars.mean(axis=0)
    part = PARTS[name][1](np.asarray(labels.values, dtype=np.float64), residual, sd)
    part = part if weight is None else part * weight
    total = float(np.sum(np.abs(part)))
    return part / total if total > 0 else np.zeros_like(part)


def drawn_labels(values: Any, parts: Sequence[_Floats], most: int) -> tuple[NDArray[np.intp], int]:
    """Which labels are drawn, and how many of the largest contributors to each score are certainly among them.

    All where there is room; else the largest contributors to each score, and of the others every k-th by label value.
    """
    n = len(values)
    if n <= most:
        return np.arange(n), n
    listed = min(_LISTED, max(1, most // (2 * max(len(parts), 1))))
    keep = np.zeros(n, dtype=bool)
    for part in parts:
        keep[np.argsort(-np.abs(part), kind="stable")[:listed]] = True
    order = np.argsort(values, kind="stable")
    rest = order[~keep[order]]
    room = max(most - int(keep.sum()), 0)
    keep[rest[np.linspace(0, len(rest) - 1, room).round().astype(int)] if room else rest[:0]] = True
    return np.flatnonzero(keep), listed


def point_data(
    labels: PageLabels, predictions: Mapping[str, _Floats], metrics: Sequence[str], weight: Any, most: int
) -> dict[str, Any]:
    """Everything the point plot needs, for at most `most` labels."""
    kinds = {PARTS[name][0]: name for name in metrics if name in PARTS}
    y = np.asarray(labels.values, dtype=np.float64)
    residuals = {model: p - y for model, p in predictions.items()}
    parts = {
        model: {kind: shares(name, labels, labels.residuals(p), weight) for kind, name in kinds.items()}
        for model, p in predictions.items()
    }
    index, listed = drawn_labels(labels.values, [part for of in parts.values() for part in of.values()], most)
    lower, upper = (None, None) if labels.bars is None else (_short(side[index], 4) for side in labels.bars)
    return {
        "ids": [shortened(str(labels.ids[i]), _LONGEST_ID) for i in index],
        "y": _short(y[index], 9),
        "lower": lower,
        "upper": upper,
        "sides": labels.sides(index),
        "models": [
            {
                "residual": _short(residuals[model][index], 6),
                "shares": {kind: _short(part[index], 3) for kind, part in parts[model].items()},
            }
            for model in predictions
        ],
        "listed": listed,
    }


def _short(values: _Floats, digits: int) -> list[float]:
    """Numbers rounded to a few significant digits, so that the page is smaller than the data."""
    return [float(f"{value:.{digits}g}") for value in values.tolist()]


# words for the paper --------------------------------------------------------------------------------

PAPER = (
    "U. Michelucci and F. Venturini, New Metric Formulas that Include Measurement Errors in Machine Learning for "
    "Natural Sciences, arXiv:2209.15588 (2022)."
)
BIBTEX = f"""@misc{{michelucci2022metrics,
  author        = {{Michelucci, Umberto and Venturini, Francesca}},
  title         = {{New Metric Formulas that Include Measurement Errors in Machine Learning for Natural Sciences}},
  year          = {{2022}},
  eprint        = {{2209.15588}},
  archivePrefix = {{arXiv}},
  primaryClass  = {{cs.LG}},
  doi           = {{10.48550/arXiv.2209.15588}},
  url           = {{https://arxiv.org/abs/2209.15588}}
}}

@software{{scorebars,
  author  = {{{{The scorebars developers}}}},
  title   = {{scorebars: scores with error bars}},
  version = {{{sb.__version__}}},
  license = {{BSD-3-Clause}}
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
    n: int, models: int, methods: Sequence[tuple[str, Sequence[str]]], errors: str, level: float, weighted: bool
) -> str:
    """The paragraph that a methods section needs; `methods`: each metric's title, and how its distributions were found."""
    how: dict[str, list[str]] = {}
    for title, ways in methods:
        for way in dict.fromkeys(ways):
            how.setdefault(_HOW.get(way, way), []).append(title)
    laws = next(iter(how)) if len(how) == 1 else " and ".join(f"{way} ({'; '.join(of)})" for way, of in how.items())
    what = "One model was" if models == 1 else f"{models} models were"
    return (
        f"{what} scored on {counted(n, 'label')} with scorebars {sb.__version__}; {errors}. "
        f"Metrics: {'; '.join(title for title, _ in methods)}{', with sample weights' if weighted else ''}. "
        "For each we report the observed value (labels taken as exact); the expected value and standard deviation if "
        "every label were redrawn from its error bar, after Michelucci and Venturini; the estimate against the true values "
        "behind the labels, from which the part due to label errors is removed; and the score that a perfect model "
        "would have on these labels. Of two errors the first, (labels), is the standard error from the label errors for "
        f"these test items, the second, (sample), that from the choice of the items. Intervals have a level of {level:.0%}. "
        f"The distributions of the metrics were found {laws}."
    )


_KEYWORDS = {"predictions": "pred", "weight": "sample_weight"}
"""What `evaluate` calls the roles of columns, where the command line has other names for them."""


def script(*lines: str) -> str:
    """Python code with the imports that it needs."""
    head = ["from functools import partial", ""] if any("partial(" in line for line in lines) else []
    return "\n".join([*head, "import scorebars as sb", "", *lines])


def code_lines(
    metrics: Sequence[Any],
    labels: Any,
    predictions: Mapping[str, Any],
    yerr: Any,
    source: str | None,
    columns: Mapping[str, Any] | None,
    weighted: bool,
    level: float,
    unit: str,
) -> str:
    """Python code that makes the numbers again: from a shipped data set, a file, or the user's arrays."""
    loader = None if weighted else _loader(source, labels, predictions, yerr)
    if columns is not None and not loader:
        return file_code(metrics, source, columns, unit)
    if loader:
        start = [f"data = sb.datasets.{loader}()"]
        arguments = "data.y, data.predictions" + (", yerr=data.yerr" if yerr is not None else "")
    else:
        extra = [*(["yerr"] if yerr is not None else []), *(["sample_weight"] if weighted else [])]
        held = ", ".join(["y_true", *extra])
        start = [f"# {held}: one value for each label; predictions: a dict from model name to values"]
        start += [f"# all from {source!r}"] if source else []
        arguments = ", ".join(["y_true, predictions", *(f"{name}={name}" for name in extra)])
    last = ("" if level == 0.95 else f", level={level!r}") + (unit and f", unit={unit!r}")
    return script(
        *start,
        _asked(metrics),
        f"print(sb.evaluate({arguments}, metrics=metrics))",
        f'sb.report.save("report.html", {arguments}, metrics=metrics{last})',
    )


def file_code(metrics: Sequence[Any], source: str | None, columns: Mapping[str, Any], unit: str) -> str:
    """Python code that scores a file again."""
    return script(
        _asked(metrics),
        f"found = sb.evaluate({file_arguments(source, columns)}, metrics=metrics)",
        "print(found)",
        f"print(found[found.models[0], found.metrics[0]].sentence({unit and repr(unit)}))",
    )


def _asked(metrics: Sequence[Any]) -> str:
    return f"metrics = [{', '.join(map(metric_code, metrics))}]"


def file_arguments(source: str | None, columns: Mapping[str, Any]) -> str:
    """A file and what its columns are, as arguments of `evaluate`, `compare` and `plan`.

    >>> file_arguments("t.csv", {"y": "mass", "yerr": 0.1, "predictions": ("a", "b"), "weight": None})
    "'t.csv', y='mass', yerr=0.1, pred=['a', 'b']"
    """
    named = {_KEYWORDS.get(name, name): value for name, value in columns.items()}
    lists = ("pred", "std", "members")
    given = [
        f"{name}={list(value) if name in lists and not isinstance(value, Mapping) else value!r}"
        for name, value in named.items()
        if value is not None and value != ()
    ]
    return ", ".join([repr(source), *given])


def metric_code(metric: Any) -> str:
    """A metric as `evaluate` takes it: by its name, with options as a partial function.

    >>> metric_code("mean_error"), metric_code(partial(sb.fraction_within, tolerance=0.5))
    ("'mean_error'", 'partial(sb.fraction_within, tolerance=0.5)')
    """
    if isinstance(metric, partial):
        options = ", ".join(f"{name}={value!r}" for name, value in metric.keywords.items())
        return f"partial(sb.{metric.func.__name__}, {options})"
    return f"sb.{metric.__name__}" if callable(metric) else repr(metric)


def _loader(source: str | None, labels: Any, predictions: Mapping[str, Any], yerr: Any) -> str | None:
    """Name of the loader, where the data are exactly those of a shipped data set."""
    loader = f"load_{(source or '').removeprefix('dataset:')}"
    if not hasattr(sb.datasets, loader):
        return None
    data = getattr(sb.datasets, loader)()
    same = np.array_equal(data.y, labels) and list(data.predictions) == list(predictions)
    same = same and all(np.array_equal(data.predictions[name], p) for name, p in predictions.items())
    return loader if same and np.array_equal(data.yerr, yerr) else None
