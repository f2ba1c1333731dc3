"""What works with what: every metric under every error model, found by asking."""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from scorebars import errors
from scorebars._shared.evaluation_tables import markdown_table
from scorebars._shared.shown import Printout, Shown, Table
from scorebars.answers.score import Score, UndefinedMomentWarning
from scorebars.arrays import FloatArray, IntArray
from scorebars.errors import ErrorModel
from scorebars.forecasts import Forecast, NormalForecast
from scorebars.metrics.registry import declarations, entry_of

Y = np.array([1.2, 2.0, 3.1, 4.0, 5.2, 6.1, 6.9])
P = np.array([1.0, 2.3, 3.0, 4.4, 5.0, 5.8, 7.2])
LABELS = np.array([1, 0, 1, 1, 0, 1, 0])
CLASSES = np.array([1, 0, 0, 1, 0, 1, 1])
PROBABILITIES = np.array([0.9, 0.2, 0.4, 0.8, 0.1, 0.7, 0.6])
FORECAST = NormalForecast(P, np.linspace(0.3, 0.6, len(P)))
ARGUMENTS: dict[str, dict[str, Any]] = {
    "fraction_within": {"tolerance": 0.5},
    "interval_coverage": {"level": 0.8},
    "interval_score": {"level": 0.8},
    "top_k_accuracy_score": {"k": 1},
    "fbeta_score": {"beta": 2.0},
}
"""What some metrics cannot do without."""


def _families() -> dict[str, ErrorModel]:
    """One error model of each kind for the seven labels above."""
    n = len(Y)
    return {
        "Normal": errors.Normal(np.linspace(0.2, 0.5, n)),
        "Normal(cov)": errors.Normal(cov=0.05 * np.eye(n) + 0.02),
        "Normal(shared)": errors.Normal(0.2, shared=np.full(n, 0.1)),
        "Normal(batch)": errors.Normal(0.2, batch=np.arange(n) // 3, batch_sigma=0.1),
        "Normal(dof)": errors.Normal(np.linspace(0.2, 0.5, n), dof=8),
        "Normal(scale_error)": errors.Normal(np.linspace(0.2, 0.5, n), scale_error=0.15),
        "SplitNormal": errors.SplitNormal(0.2, 0.4),
        "Uniform": errors.Uniform(0.4),
        "Triangular": errors.Triangular(0.5),
        "Laplace": errors.Laplace(0.2),
        "StudentT": errors.StudentT(0.2, 9.0),
        "LogNormal": errors.LogNormal(0.1),
        "Poisson": errors.Poisson(),
        "Rounding": errors.Rounding(0.5),
        "Empirical": errors.Empirical(Y[:, None] + np.array([-0.3, -0.1, 0.0, 0.4])),
        "Repeats": errors.Repeats.from_means(sigma=0.3, n=3),
        "Flip": errors.Flip(0.1),
        "Flip(correlation)": errors.Flip(0.1, correlation=0.2),
        "Flip.from_counts": errors.Flip.from_counts(20, 200),
        "ClassFlip": errors.ClassFlip({0: 0.05, 1: 0.15}),
        "Transition": errors.Transition([[0.9, 0.1], [0.2, 0.8]], [0, 1]),
        "LabelProbabilities": errors.LabelProbabilities(np.column_stack([1 - PROBABILITIES, PROBABILITIES]), [0, 1]),
        "Votes": errors.Votes([[1, 4], [5, 0], [2, 3], [0, 5], [4, 1], [1, 4], [3, 2]], [0, 1]),
        "Thresholded": errors.Thresholded(Y, 0.5, 3.5),
    }


def predictions_for(metric: str) -> FloatArray | IntArray | Forecast:
    """Predictions of the kind that the metric takes."""
    declared = entry_of(metric).declaration
    if declared.task == "classification":
        return CLASSES if declared.takes == "labels" else PROBABILITIES
    return FORECAST if declared.task == "forecast" else P


def sample_score(metric: str, model: ErrorModel) -> Score:
    """The metric on seven labels under this model; refuses a combination with a ValueError."""
    entry = entry_of(metric)
    labels: Any = Y
    if entry.declaration.task == "classification":
        labels = model.labels() if hasattr(model, "labels") and model.labels() is not None else LABELS
    found = entry.function(labels, predictions_for(metric), yerr=model, **ARGUMENTS.get(metric, {}))
    assert isinstance(found, Score)
    return found


def pairs() -> list[tuple[str, str, ErrorModel]]:
    """Every metric that gives Scores with every error model of its task."""
    return [
        (metric, name, model)
        for name, model in _families().items()
        for metric, declared in declarations().items()
        if isinstance(model, errors.MeasurementError) == (declared.task != "classification") and declared.scored
    ]


ANSWERS = ("interval", "total_interval", "truth", "truth.total_interval", "remeasured", "perfect")
"""What can be asked of a score and comes with an interval."""
MISSING = "-"


@dataclass(frozen=True, repr=False)
class Capabilities(Shown):
    """One answer of every metric under every error model: how it is found, and how often its 95 % interval holds.

    Examples
    --------
    >>> import scorebars as sb
    >>> pair = ("mean_squared_error", "Normal")
    >>> found = sb.Capabilities("truth", methods={pair: "unbiased"}, coverage={pair: 0.95})
    >>> print(found.to_markdown().splitlines()[-1])
    | mean_squared_error | unbiased 95% |
    """

    answer: str
    methods: dict[tuple[str, str], str]
    """How it is found; "-" where it does not exist."""
    coverage: dict[tuple[str, str], float]
    """In which share of simulated test sets the 95 % interval held what it promises; made by ``make test-coverage``."""

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for metric, _ in self.methods))

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(model for _, model in self.methods))

    def _cell(self, metric: str, model: str) -> str:
        method, held = self.methods.get((metric, model), MISSING), self.coverage.get((metric, model))
        return method if held is None or method == MISSING else f"{method} {held:.0%}"

    def _tables(self) -> list[list[list[str]]]:
        """One table for measured numbers, one for forecasts of them, one for classes."""
        out = []
        for task in ("regression", "forecast", "classification"):
            metrics = [m for m in self.metrics if entry_of(m).declaration.task == task]
            models = [e for e in self.models if any((m, e) in self.methods for m in metrics)]
            if metrics:
                out.append([["metric", *models], *([m, *(self._cell(m, e) for e in models)] for m in metrics)])
        return out

    def to_markdown(self) -> str:
        """GitHub tables."""
        return "\n".join(markdown_table(table[0], table[1:]) + "\n" for table in self._tables())

    def view(self) -> Printout:
        """What printing and notebooks show."""
        return Printout(tables=[Table(table[0], table[1:]) for table in self._tables()])


def capabilities(answer: str = "interval") -> Capabilities:
    """What does each metric answer under each error model, how is it found, and how well does its interval hold?

    Parameters
    ----------
    answer : {"interval", "total_interval", "truth", "truth.total_interval", "remeasured", "perfect"}
        Which answer of a score: ``"interval"`` stands for its distribution, the others for the attribute of that name.

    Returns
    -------
    Capabilities
        `methods` by (metric, model): "exact" needs no approximation, "quadrature" is deterministic numerical
        integration, "delta" a first- or second-order expansion, "simulation" draws with a fixed seed; estimates name
        their own method; "-" means that the answer does not exist. `coverage` by (metric, model): how often the 95 %
        interval held in simulated test sets of 40 labels.

    Notes
    -----
    Methods are found by asking every combination on seven labels, so the table cannot be out of date. Expected values
    are closed forms or quadrature even where the distribution is drawn.

    References
    ----------
    T. P. Morris, I. R. White, M. J. Crowther, Stat. Med. 38 (2019) 2074 (how to measure how often intervals hold).

    Examples
    --------
    >>> import scorebars as sb
    >>> table = sb.capabilities()
    >>> table.methods["mean_squared_error", "Normal"], table.methods["accuracy_score", "Flip"]
    ('exact', 'exact')
    """
    if answer not in ANSWERS:
        raise ValueError(f"answer must be one of {', '.join(map(repr, ANSWERS))}, got {answer!r}.")
    methods = {}
    for metric, name, model in pairs():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMomentWarning)
                methods[metric, name] = _method(sample_score(metric, model), answer, model)
        except ValueError:
            methods[metric, name] = MISSING
    return Capabilities(answer, methods, _measured(answer))


def _method(score: Score, answer: str, model: ErrorModel) -> str:
    """How the answer is found; raises where it does not exist."""
    if answer == "interval":
        return score.method
    if answer == "total_interval":
        score.total_interval(0.5)
        return "scatter of items"
    if answer == "remeasured":
        return score.remeasured(float(np.max(getattr(model, "repeats", 1)))).method
    if answer == "truth.total_interval":
        score.truth.total_interval(0.5)
    return score.perfect.method if answer == "perfect" else score.truth.method


_LABELS = "40"
"""In each of the test sets whose coverage is shown."""


def _measured(answer: str) -> dict[tuple[str, str], float]:
    """How often the 95 % interval held with so many labels."""
    text = (files("scorebars") / "data" / "coverage.csv").read_text()
    rows = (row for row in csv.DictReader(text.splitlines()) if row["answer"] == answer and row["n"] == _LABELS)
    return {(row["metric"], row["model"]): int(row["held95"]) / int(row["count"]) for row in rows}
