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

_HOMES = {
    "adapters.sklearn": ["scorers"],
    "engines.engine": ["show_config"],
    "errors": [
        "ClassFlip",
        "Empirical",
        "Flip",
        "LabelProbabilities",
        "Laplace",
        "LogNormal",
        "Normal",
        "Poisson",
        "Repeats",
        "Rounding",
        "SplitNormal",
        "StudentT",
        "Thresholded",
        "Transition",
        "Triangular",
        "Uniform",
        "Votes",
    ],
    "metrics.accuracy": ["accuracy_score", "zero_one_loss"],
    "metrics.agreement": ["balanced_accuracy_score", "cohen_kappa_score", "matthews_corrcoef"],
    "metrics.chi_squared": ["reduced_chi_squared"],
    "metrics.class_shares": [
        "f1_score",
        "fbeta_score",
        "jaccard_score",
        "precision_score",
        "recall_score",
        "specificity_score",
    ],
    "metrics.confusion_counts": ["confusion_matrix"],
    "metrics.correlations": [
        "concordance_correlation",
        "kendall_correlation",
        "pearson_correlation",
        "spearman_correlation",
    ],
    "metrics.own_metric": ["metric"],
    "metrics.explained": ["d2_absolute_error_score", "explained_variance_score", "r2_score"],
    "metrics.order": ["max_error", "median_absolute_error"],
    "metrics.probabilities": ["brier_score_loss", "log_loss"],
    "metrics.ranking": ["average_precision_score", "roc_auc_score"],
    "metrics.percentages": [
        "mean_absolute_percentage_error",
        "mean_squared_log_error",
        "root_mean_squared_log_error",
        "symmetric_mean_absolute_percentage_error",
    ],
    "metrics.residuals": ["mean_absolute_error", "mean_error", "mean_squared_error", "root_mean_squared_error"],
    "metrics.robust": ["huber_loss", "log_cosh_loss", "mean_pinball_loss"],
    "metrics.scatter": ["intrinsic_scatter"],
    "metrics.tolerance": ["fraction_within"],
    "metrics.top_k": ["top_k_accuracy_score"],
    "answers.classes.confusion_matrix": ["ConfusionMatrix"],
    "answers.means.chi_squared_answers": ["ChiSquaredScore"],
    "laws.law": ["Law"],
    "score": ["Estimate", "Interval", "Score", "Scores", "UndefinedEstimate", "UndefinedMomentWarning"],
    "streaming.accumulator": ["Accumulator"],
    "studies.capabilities": ["Capabilities", "capabilities"],
    "studies.comparison.compare": ["Comparison", "Ranking", "compare"],
    "studies.cross_validate": ["CrossValidation", "cross_validate"],
    "studies.diagnostics": ["ErrorCheck", "check_errors"],
    "evaluation.results": ["Evaluation"],
    "studies.evaluate": ["evaluate"],
    "studies.plan": ["Plan", "plan"],
    "studies.propagate": ["Propagated", "propagate"],
    "evaluation.task": ["guess_task"],
}
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
