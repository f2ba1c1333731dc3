"""scorebars: scores with error bars.

Machine-learning metrics that know how well the labels were measured::

    import scorebars as sb

    s = sb.mean_absolute_error(y_true, y_pred, yerr=0.1)
    print(s, s.observed, s.truth, s.perfect)

Names are loaded when first used, so that importing the package costs nothing; ``__init__.pyi`` lists them for editors and
type checkers.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "adapters.sklearn": "scorers",
    "engines.engine": "show_config",
    "errors": (
        "Censored ClassFlip Empirical Flip LabelProbabilities Laplace LogNormal Normal Poisson Relative Repeats Rounding "
        "SplitNormal StudentT Thresholded Transition Triangular Uniform Verified Votes"
    ),
    "forecasts": "EnsembleForecast Forecast LawForecast NormalForecast QuantileForecast",
    "metrics.all_labels": (
        "concordance_correlation concordance_index d2_absolute_error_score explained_variance_score kendall_correlation "
        "max_error median_absolute_error pearson_correlation r2_score spearman_correlation"
    ),
    "metrics.chi_squared": "intrinsic_scatter reduced_chi_squared",
    "metrics.class_scores": "average_precision_score brier_score_loss log_loss roc_auc_score top_k_accuracy_score",
    "metrics.class_shares": "f1_score fbeta_score jaccard_score precision_score recall_score specificity_score",
    "metrics.forecast_scores": "crps dawid_sebastiani_score interval_coverage interval_score log_score",
    "metrics.mean_losses": (
        "fraction_within huber_loss log_cosh_loss mean_absolute_error mean_absolute_percentage_error mean_error "
        "mean_pinball_loss mean_squared_error mean_squared_log_error metric root_mean_squared_error "
        "root_mean_squared_log_error symmetric_mean_absolute_percentage_error"
    ),
    "metrics.predicted_classes": (
        "accuracy_score balanced_accuracy_score cohen_kappa_score confusion_matrix matthews_corrcoef zero_one_loss"
    ),
    "answers.classes.confusion_matrix": "ConfusionMatrix",
    "answers.means.squared": "ChiSquaredScore",
    "laws.law": "Law",
    "answers.score": "Estimate Interval Score Scores UndefinedEstimate UndefinedMomentWarning",
    "streaming.accumulator": "Accumulator",
    "studies.calibration.calibrate": "calibration",
    "studies.calibration.calibration_result": "Calibration Calibrations",
    "studies.capabilities": "Capabilities capabilities",
    "studies.comparison.compare": "Comparison Ranking compare",
    "studies.cross_validate": "CrossValidation cross_validate",
    "studies.check_errors": "ErrorCheck check_errors",
    "evaluation.scoring": "Evaluation",
    "studies.evaluate": "evaluate",
    "studies.planning.plan": "Plan plan",
    "studies.propagate": "Propagated propagate",
    "studies.triple_collocation": "TripleCollocation triple_collocation",
    "evaluation.study_data": "guess_task",
}
"""The public names by the module that they live in."""

_HOMES = {home: names.split() for home, names in _NAMES.items()}
_MODULES = ["datasets", "errors", "plot", "report"]
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"scorebars.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'scorebars' has no attribute {name!r}")
    value = getattr(import_module(f"scorebars.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
