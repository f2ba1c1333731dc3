"""Metrics as scikit-learn scorers, with label errors routed as metadata.

>>> import numpy as np
>>> import scorebars as sb
>>> import sklearn
>>> from sklearn.linear_model import Ridge
>>> from sklearn.model_selection import cross_validate
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(60, 2))
>>> y = X @ [1.0, -2.0] + rng.normal(0, 0.3, 60)
>>> with sklearn.config_context(enable_metadata_routing=True):
...     scorer = sb.scorers["neg_mean_squared_error"].set_score_request(yerr=True)
...     found = cross_validate(Ridge(), X, y, scoring=scorer, params={"yerr": np.full(60, 0.3)})
>>> found["test_score"].shape
(5,)

scikit-learn splits what has one entry for each row along with y: arrays, and error models such as ``sb.Normal(sigma)`` or
``sb.SplitNormal(lower, upper)``. An array of lower and upper errors has the wrong shape for that; make it a ``SplitNormal``.
Where metadata are not routed (``permutation_importance``), bind them: ``sb.scorers.get_scorer(name, yerr=sigma)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import scorebars as sb
from scorebars._shared.metric_names import SHORT_NAMES, declared_metrics

_SIGNED = ("observed", "expected", "truth", "perfect")
"""Answers in the unit of the metric: negated where smaller is better."""
_SIZES = ("std", "noise_share", "sampling_std")
"""Answers that say how sure a score is; they have no better direction and stay as they are."""
_RESPONSES = {
    "labels": "predict",
    "probabilities": "predict_proba",
    "scores": ("decision_function", "predict_proba"),
}
"""What the model is asked for, by what the metric takes."""


class AnswerFunction:
    """One answer of a metric as a plain score function, which can be pickled for parallel workers."""

    def __init__(self, metric: str, answer: str) -> None:
        self.metric, self.answer = metric, answer
        self.__name__ = metric if answer == "expected" else f"{metric} ({answer})"

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the metric: scikit-learn reads from it which metadata can be routed."""
        return inspect.signature(getattr(sb, self.metric))

    def __call__(self, y_true: Any, y_pred: Any, **options: Any) -> float:
        found = getattr(getattr(sb, self.metric)(y_true, y_pred, **options), self.answer)
        return float("nan") if found is None else float(found)  # a correlation has no noise share


class Scorers(Mapping[str, Any]):
    """Every metric as a scikit-learn scorer; greater is better, so errors and losses are negated and called ``neg_...``.

    ``sb.scorers["neg_mean_absolute_error"]`` or ``sb.scorers.get_scorer(...)`` give objects as
    `sklearn.metrics.make_scorer` makes them. ``set_score_request(yerr=True)`` asks scikit-learn to hand them the label
    errors of each fold.

    Examples
    --------
    >>> import scorebars as sb
    >>> from sklearn.dummy import DummyRegressor
    >>> y = [3.0, -0.5, 2.0, 7.0]
    >>> model = DummyRegressor().fit([[0]] * 4, y)
    >>> scorer = sb.scorers.get_scorer("mean_squared_error", yerr=0.5)
    >>> round(scorer(model, [[0]] * 4, y), 4), "neg_mean_squared_error" in sb.scorers
    (-7.5469, True)
    """

    def get_scorer(self, name: str, *, answer: str = "expected", **options: Any) -> Any:
        """The scorer of a metric.

        Parameters
        ----------
        name : text
            A name of this mapping, or that of the metric itself (``"mean_absolute_error"`` or ``"mae"``, negated too).
        answer : {"expected", "observed", "truth", "perfect", "std", "noise_share", "sampling_std"}
            Which answer of the Score; the last three say how sure it is and are never negated.
        **options
            Passed to the metric, such as ``average="macro"``, ``tolerance=0.1``, or ``yerr`` itself.

        Examples
        --------
        >>> import scorebars as sb
        >>> sb.scorers.get_scorer("mean_absolute_error", answer="truth")
        make_scorer(mean_absolute_error (truth), greater_is_better=False, response_method='predict')
        """
        if answer not in (*_SIGNED, *_SIZES):
            raise ValueError(f"answer must be one of {', '.join((*_SIGNED, *_SIZES))}, got {answer!r}.")
        metric = self._metric(name)
        try:
            from sklearn.metrics import make_scorer
        except ImportError as why:
            raise ImportError("scorers needs scikit-learn: pip install 'scorebars[sklearn]'") from why
        declared = getattr(sb, metric).declaration
        if declared.task == "forecast":
            return forecast_scorer(metric, answer, answer in _SIZES or declared.greater_is_better, options)
        return make_scorer(
            AnswerFunction(metric, answer),
            greater_is_better=answer in _SIZES or declared.greater_is_better,
            response_method=_RESPONSES[declared.takes],
            **options,
        )

    def _metric(self, name: str) -> str:
        bare = str(name).removeprefix("neg_")
        name = str(name).replace(bare, SHORT_NAMES.get(bare, bare))
        if name == "mean_error" or name == "neg_mean_error":
            raise ValueError(
                "mean_error is not a scorer: of two biases neither sign is better. Use neg_mean_squared_error, which holds the "
                "bias too."
            )
        known = _metrics()
        plain = name if name in known.values() else known.get(name)
        if plain is None:
            near = get_close_matches(str(name), [*known, *known.values()], n=3)
            hint = f"Near matches: {', '.join(near)}. " if near else ""
            raise ValueError(f"there is no scorer {name!r}. {hint}The scorers are: {', '.join(sorted(known))}.")
        return plain

    def __getitem__(self, name: str) -> Any:
        return self.get_scorer(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_metrics()))

    def __len__(self) -> int:
        return len(_metrics())

    def __contains__(self, name: object) -> bool:
        return name in _metrics()

    def __repr__(self) -> str:
        return f"Scorers({', '.join(self)})"


def forecast_scorer(metric: str, answer: str, greater_is_better: bool, options: Mapping[str, Any]) -> Any:
    """The scorer of a metric of forecasts, which the model is asked for by ``predict(X, return_std=True)``."""
    from sklearn.metrics import make_scorer

    plain = make_scorer(AnswerFunction(metric, answer), greater_is_better=greater_is_better, **options)

    class ForecastScorer(type(plain)):  # type: ignore[misc]
        def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **metadata: Any) -> float:
            given = {**self._kwargs, **metadata}
            return float(self._sign * self._score_func(y_true, _forecast_by(estimator, X), **given))

        def __reduce__(self) -> Any:
            return forecast_scorer, (metric, answer, greater_is_better, options), self.__dict__

    plain.__class__ = ForecastScorer
    return plain


def _forecast_by(estimator: Any, X: Any) -> Any:
    try:
        mean, std = estimator.predict(X, return_std=True)
    except (TypeError, ValueError) as why:
        raise TypeError(
            f"{type(estimator).__name__} gives no forecasts: predict(X, return_std=True) must return mean and std, as Gaussian "
            f"processes and Bayesian regressions do ({why})."
        ) from why
    return sb.NormalForecast(mean, std)


def _metrics() -> dict[str, str]:
    """Metric by scorer name."""
    known = declared_metrics(sb).items()
    return {name if one.greater_is_better else f"neg_{name}": name for name, one in known if name != "mean_error"}


scorers = Scorers()
"""Every metric as a scorer."""
