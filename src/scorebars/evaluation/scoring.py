"""Metrics that a user chooses, and the scores of every model, metric and group: in one pass over the data where possible.

A metric is chosen by its name (or short name), by its function, or by a function with options bound by `functools.partial`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from typing import Any

import numpy as np

from scorebars import checks
from scorebars._shared import evaluation_tables as tables
from scorebars._shared.metric_names import SHORT_NAMES, needed_options, options_of
from scorebars._shared.score_views import LIMITS_COUNT, for_trackers
from scorebars._shared.shown import Printout, Shown
from scorebars._shared.writing import as_json
from scorebars.answers.clustered import grouped
from scorebars.answers.score import Declaration, Score
from scorebars.errors import Censored, Verified
from scorebars.evaluation.study_data import StudyData, assumed_task
from scorebars.forecasts import Forecast
from scorebars.forecasts.given_forecast import forecast_of, is_forecast
from scorebars.metrics import call
from scorebars.metrics.registry import Entry, Maker, entry_of

SCHEMA = "scorebars/evaluation/1"


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """The scores of an evaluation: one for each model, metric and group.

    ``evaluation["model", "metric"]`` is a Score (``["model", "metric", group]`` with groups). Printing gives a table;
    notebooks show it as HTML; `to_frame`, `to_dict`, `to_json`, `to_latex`, `to_markdown` and `to_html` carry it on.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "DZ28")}
    >>> evaluation = sb.evaluate(masses.y, models, yerr=masses.yerr, metrics=["rmse", "mae"])
    >>> print(evaluation["DZ28", "rmse"].truth)
    0.3390 ± 0.0060 (labels) ± 0.0062 (sample)
    """

    scores: dict[tuple[str, str, str | None], Score]
    n: int
    omitted: int = 0
    """Rows that were left out because they miss a value (``nan_policy="omit"``)."""
    assumed: str = ""
    """What was assumed about the labels, and how to change it; empty where nothing had to be."""

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(model for model, _, _ in self.scores))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(dict.fromkeys(metric for _, metric, _ in self.scores))

    @property
    def groups(self) -> list[str | None]:
        """Names of the groups; ``[None]`` without groups."""
        return list(dict.fromkeys(group for _, _, group in self.scores))

    def ranked(self) -> list[str]:
        """The models, the best by the first metric (of the first group) first, as observed."""
        metric, group = self.metrics[0], self.groups[0]

        def distance(model: str) -> float:
            score = self.scores.get((model, metric, group))
            return math.inf if score is None else abs(score.observed - score.declaration.perfect)

        return sorted(self.models, key=distance)

    def __getitem__(self, key: str | tuple[str, ...]) -> Score:
        """The score of (model, metric), or (model, metric, group); a bare metric name if there is one model."""
        parts = (key,) if isinstance(key, str) else tuple(key)
        if len(parts) == 1 and len(self.models) == 1:
            parts = (self.models[0], *parts)
        full = (*parts, None) if len(parts) == 2 else parts
        if full not in self.scores:
            full = (*full[:1], *(SHORT_NAMES.get(str(name), name) for name in full[1:2]), *full[2:])
        if full not in self.scores:
            raise KeyError(
                f"{key!r} is not in this evaluation. Models: {', '.join(self.models)}; metrics: {', '.join(self.metrics)}"
                + (f"; groups: {', '.join(map(str, self.groups))}." if self.groups != [None] else ".")
            )
        return self.scores[full]

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str | None], Score]]:
        return iter(self.scores.items())

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, level: float = 0.95, repeats: float = 1) -> list[dict[str, Any]]:
        """One flat record for each score, as `Score.to_dict` gives it, with model and group."""
        found = []
        for (model, metric, group), score in self.scores.items():
            about = {"model": model, **({} if group is None else {"group": group}), "metric": metric}
            found.append({**about, **score.to_dict(level, repeats)})
        return found

    def to_dict(self, level: float = 0.95, repeats: float = 1) -> dict[str, Any]:
        """Plain data: schema name, numbers of labels and of rows left out, and one record for each score.

        Intervals are at this `level`; `remeasured` is for `repeats` new measurements of each label.
        """
        return {"schema": SCHEMA, "n": self.n, "omitted": self.omitted, "scores": self.rows(level, repeats)}

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; infinities are written as the strings "inf" and "-inf"."""
        return as_json(self.to_dict(), **{"indent": None, **options})

    def to_metrics(self) -> dict[str, float]:
        """All finite numbers as ``"model/metric/answer"`` (``"model/metric/group/answer"``): what experiment trackers take."""
        found: dict[str, float] = {}
        for (model, metric, group), score in self.scores.items():
            found |= for_trackers(score, model, metric, *([] if group is None else [group]))
        return found

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row for each score."""
        try:
            import pandas as pd
        except ImportError as why:
            raise ImportError("to_frame needs pandas: pip install 'scorebars[pandas]'") from why
        return pd.DataFrame(self.rows())

    def to_markdown(self) -> str:
        """A Markdown table."""
        return tables.markdown_table(tables.header(self), tables.cells(self))

    def to_latex(self) -> str:
        r"""A LaTeX table with siunitx uncertainties, ``\num{0.594 +- 0.007}``."""
        return tables.latex(self)

    def to_html(self) -> str:
        """An HTML table."""
        return self._repr_html_()

    def view(self) -> Printout:
        """What printing and notebooks show."""
        return tables.view(self)

    def __rich__(self) -> Any:
        return tables.rich_table(self)


DEFAULT = {
    "regression": ("root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"),
    "classification": ("accuracy_score", "balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score"),
    "forecast": ("crps", "log_score", "root_mean_squared_error", "mean_absolute_error"),
}
WITH_LIMITS = ("root_mean_squared_error", "mean_absolute_error", "mean_error", "median_absolute_error")
"""What is shown of labels of which some are limits."""
Metric = str | Callable[..., Score]


@dataclass(frozen=True)
class ChosenMetric:
    """A metric function with its options."""

    function: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def declaration(self) -> Declaration | None:
        """What is declared of the metric; None for a function of the user's own."""
        found = getattr(self.function, "declaration", None)
        return found if isinstance(found, Declaration) else None

    @property
    def keeps(self) -> str | None:
        """What has to be kept of labels that come in pieces; None if it needs all labels at once."""
        return self.declaration.keeps if self.declaration else None

    @property
    def of_quantiles(self) -> bool:
        """Whether it takes the columns of an array as quantiles, one for each of its levels, and not as members."""
        declared = self.declaration
        return declared is not None and declared.keeps == "scores" and declared.takes == "labels"

    @property
    def name(self) -> str:
        """Without options."""
        return self.declaration.name if self.declaration else getattr(self.function, "__name__", "")

    def __str__(self) -> str:
        given = ", ".join(f"{option}={value!r}" for option, value in self.options.items())
        return f"{self.name}({given})" if given else self.name

    @property
    def entry(self) -> Entry | None:
        """Its place in the registry; None for a function of the user's own, and for what `sb.metric` made."""
        with suppress(ValueError):
            entry = entry_of(self.declaration.name) if self.declaration else None
            return entry if entry is not None and entry.function is self.function else None
        return None

    @property
    def maker(self) -> Maker | None:
        """Finds the answers from checked data; None where the function needs the arguments as the user gave them."""
        make: Maker | None = getattr(self.function, "make", None)
        if make is None or not self.options:
            return make
        return partial(make, **self.options) if list(self.options) == ["tolerance"] else None

    @property
    def known_options(self) -> Collection[str]:
        """The options that the function has."""
        return options_of(self.function)

    def require_options(self, how: str) -> None:
        """Refuse options that the metric does not have, and missing ones; `how` says how to give one."""
        for option in self.options:
            if option not in self.known_options:
                listed = ", ".join(self.known_options) or "none"
                raise ValueError(f"{self.name} has no option {option!r}. It has: {listed}.")
        missing = [option for option in needed_options(self.function) if option not in self.options]
        if missing:
            how = how.format(name=self.name, option=missing[0])
            raise ValueError(f"{self.name} needs its {' and '.join(missing)}: {how}.")

    def require_weights_taken(self, instead: str) -> None:
        """Refuse weights that a declared metric does not take."""
        if self.declaration is not None and not self.declaration.weights:
            raise ValueError(f"{self.name} takes no sample_weight. {instead}")

    def __call__(self, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any = None) -> Any:
        """What the function gives for these data."""
        given = {"sample_weight": sample_weight, "prederr": prederr}
        given = {name: value for name, value in given.items() if value is not None}
        if prederr is not None and "prederr" not in signature(self.function).parameters:
            raise ValueError(f"{self.name} takes no prederr: only metrics of measured numbers have prediction errors.")
        return self.function(y_true, y_pred, yerr=yerr, **given, **self.options)


_NO_METRIC = (
    "which is not a metric: give a name, a function or a list of them. scorebars.capabilities() lists the names."
)


def chosen_metric(metric: Any, options: Mapping[str, Any] | None = None) -> ChosenMetric:
    """The metric that a user means, with further options."""
    if isinstance(metric, ChosenMetric):
        return metric
    given = dict(options or {})
    while isinstance(metric, partial):
        if metric.args:
            name = getattr(metric.func, "__name__", "metric")
            raise ValueError(f"{name}: pass options by name, functools.partial(scorebars.{name}, option=value).")
        given, metric = {**metric.keywords, **given}, metric.func
    if not callable(metric) and not isinstance(metric, str):
        raise TypeError(f"metrics holds {metric!r}, {_NO_METRIC}")
    return ChosenMetric(metric if callable(metric) else entry_of(metric).function, given)


def chosen_metrics(metrics: Metric | Iterable[Metric]) -> list[ChosenMetric]:
    """All metrics that a user names, each once."""
    if not isinstance(metrics, Iterable) and not callable(metrics):
        raise TypeError(f"metrics is {metrics!r}, {_NO_METRIC}")
    named = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not named:
        raise ValueError("metrics is empty: name at least one, or leave it out for the common ones.")
    chosen = [chosen_metric(metric) for metric in named]
    return [metric for k, metric in enumerate(chosen) if not any(_same(metric, other) for other in chosen[:k])]


def task_of_metrics(metrics: Metric | Iterable[Metric] | None) -> str | None:
    """What the metrics say about the labels; None where none is declared."""
    chosen = [] if metrics is None else chosen_metrics(metrics)
    return next((metric.declaration.task for metric in chosen if metric.declaration), None)


def require_one_reading(metrics: Sequence[ChosenMetric], models: Mapping[str, Any]) -> None:
    """Refuse an array of several columns that one metric would take as quantiles, and another one as members."""
    quantiles = [
        str(metric) for metric in metrics if metric.of_quantiles and np.ndim(metric.options.get("alpha", 0.5)) > 0
    ]
    members = [m.name for m in metrics if m.declaration is not None and m.declaration.takes in ("forecast", "interval")]
    if not quantiles or not members:
        return
    for argument, given in models.items():
        if not is_forecast(given) and len(np.shape(given)) == 2:
            raise ValueError(
                f"{argument} has shape {np.shape(given)}: to {quantiles[0]} its columns are quantiles, to {members[0]} "
                "members. Say which: scorebars.QuantileForecast(levels, values), with mean_pinball_loss without alpha, or "
                "scorebars.EnsembleForecast(members)."
            )


def _same(one: ChosenMetric, other: ChosenMetric) -> bool:
    try:
        return bool(one == other)
    except ValueError:  # options that are arrays: their names tell whether the scores can be told apart
        return False


# scores ------------------------------------------------------------------------------------------


def evaluate_arrays(data: StudyData, metrics: Metric | Sequence[Metric] | None, task: str | None) -> Evaluation:
    """Every metric of every model and group, from one pass over the data for each model."""
    said = task if metrics is None else task or "regression"
    if metrics is None and task == "forecast":  # an array can only hold members
        made = {name: forecast_of(p, None, f"y_pred[{name!r}]") for name, p in data.models.items()}
        data = data._replace(models=made)
    forecasts = [p for p in data.models.values() if isinstance(p, Forecast)]
    if metrics is None and forecasts and task in (None, "forecast"):
        metrics = common_scores(forecasts)
    if forecasts or task == "forecast":
        said = "regression"
    found, assumed = assumed_task(said, data.labels, data.yerr, list(data.models.values()))
    if isinstance(data.yerr, Censored) and data.yerr.limited:
        metrics = WITH_LIMITS if metrics is None else metrics
        assumed = ". ".join(filter(None, (assumed, f"{data.yerr.said()}: {LIMITS_COUNT}")))
    chosen = chosen_metrics(DEFAULT[found] if metrics is None else metrics)
    for metric in chosen:
        if metric.declaration is not None:
            metric.require_options("pass functools.partial(scorebars.{name}, {option}=...)")
    require_one_reading(chosen, {f"y_pred[{name!r}]": p for name, p in data.models.items()})
    makers = [metric.maker for metric in chosen]
    parts = {None: data, **({} if data.by is None else _groups(data))}
    scores: dict[tuple[str, str, str | None], Score] = {}
    for model in data.models:
        for group, part in parts.items():
            values = _scores(chosen, makers, part, model)
            if part.groups is not None:
                values = {name: grouped(score, part.groups, part.sample_weight) for name, score in values.items()}
            scores.update({(model, name, group): score for name, score in values.items()})
    return Evaluation(scores, next(iter(scores.values())).n, data.omitted, assumed)


def common_scores(forecasts: Sequence[Forecast]) -> list[str]:
    """The common scores of forecasts that exist for all of these."""
    known = all(forecast.has_density for forecast in forecasts)
    return [name for name in DEFAULT["forecast"] if known or name != "log_score"]


def _groups(data: StudyData) -> dict[str | None, StudyData]:
    """The items of each group, in the order in which groups first occur."""
    values = checks.any_array(data.by, "by")
    if values.shape != (data.n,):
        raise ValueError(
            f"by and y_true have inconsistent numbers of samples: {values.shape} and {data.n}. Give the group of each label."
        )
    names = list(dict.fromkeys(values.tolist()))
    return {str(name): data.rows(np.flatnonzero(values == name)) for name in names}


def _scores(metrics: list[ChosenMetric], makers: list[Maker | None], data: StudyData, model: str) -> dict[str, Score]:
    """All metrics of one model; those that can share one pass over the data."""
    given = data.y_true, data.models[model], data.yerr, data.sample_weight, data.prederr.get(model)
    verified = isinstance(data.yerr, Verified)  # each metric asks the gold labels by itself
    shared = call.measured(*given) if any(makers) and not verified else []
    if len(shared) == 1:
        labels = any(metric.keeps == "ratio" for metric in metrics)
        tolerances = {m.options["tolerance"] for m, make in zip(metrics, makers, strict=True) if make and m.options}
        if labels or len(tolerances) == 1:
            call.sum_once(shared[0], labels, tolerances.pop() if len(tolerances) == 1 else None)
    found = [
        call.of_one_output(make, shared[0]) if make is not None and len(shared) == 1 else _score(metric, *given)
        for metric, make in zip(metrics, makers, strict=True)
    ]
    return dict(zip(_names(metrics, found), found, strict=True))


def _score(metric: ChosenMetric, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any) -> Score:
    """The score by the metric's own function."""
    if sample_weight is not None:
        metric.require_weights_taken("Leave it out of metrics, or evaluate without weights.")
    score = metric(y_true, y_pred, yerr, sample_weight, prederr)
    if not isinstance(score, Score):
        raise TypeError(
            f"metrics: {metric.name} gives a {type(score).__name__}, not a Score, so it has no place in this table. Call it "
            "by itself."
        )
    return score


def _names(metrics: Sequence[ChosenMetric], scores: Sequence[Score]) -> list[str]:
    """The names of scores; those of one function with several options carry the options."""
    short = [metric.name or score.name for metric, score in zip(metrics, scores, strict=True)]
    names = [str(m) if short.count(name) > 1 else name for m, name in zip(metrics, short, strict=True)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"metrics: two functions give scores called {twice[0]!r}. Give them different names.")
    return names
