"""Metrics for torch training loops, Lightning and distributed runs: torchmetrics classes that know the label errors.

>>> import torch
>>> from scorebars.adapters.torchmetrics import MeanAbsoluteError
>>> mae = MeanAbsoluteError()
>>> mae.update(torch.tensor([2.5, 0.0]), torch.tensor([3.0, -0.5]), yerr=0.2)
>>> mae.update(torch.tensor([2.0, 8.0]), torch.tensor([2.0, 7.0]), yerr=torch.tensor([0.1, 0.4]))
>>> mae.compute()
tensor(0.5207)
>>> print(mae.score, mae.score.observed)
0.52 ± 0.12 (labels) ± 0.16 (sample) 0.5

A class is named as in torchmetrics and stands for one function of scorebars. What `compute` returns is `expected`, a
tensor for loggers; `score` is the whole Score. The states are the predictions, labels, errors and weights themselves,
concatenated over batches and processes: every answer of a Score is the same as if all data had come at once.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import scorebars as sb

try:
    import torch
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ImportError as why:
    raise ImportError("scorebars.adapters.torchmetrics needs torchmetrics: pip install 'scorebars[torch]'") from why


class ScoreMetric(Metric):  # type: ignore[misc]
    """A torchmetrics metric made of a function of scorebars.

    Parameters
    ----------
    yerr : number
        Error of every label for which `update` is given none: a standard deviation, or in classification the probability
        that a label is wrong.
    **options
        Options of the function (`tolerance`, `alpha`, `average`, `multioutput`, ...) and of `torchmetrics.Metric`.
    """

    function: ClassVar[str]
    """Name of the function in scorebars."""

    full_state_update = False
    is_differentiable = False

    def __init__(self, yerr: float = 0.0, **options: Any) -> None:
        parameters = inspect.signature(getattr(sb, self.function)).parameters
        own = {name: options.pop(name) for name in parameters if name in options}
        super().__init__(**options)
        self._yerr, self._options, self._weighted = yerr, own, "sample_weight" in parameters
        self._score: sb.Score | sb.Scores | None = None
        for state in ("preds", "target", "yerr", "weight"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    def update(self, preds: Any, target: Any, yerr: Any = None, sample_weight: Any = None) -> None:
        """One batch: predictions, labels, their errors (a number, or one for each label) and weights."""
        preds, target = (torch.atleast_1d(values.detach()) for values in (preds, target))
        if preds.shape[0] != target.shape[0]:
            raise ValueError(
                f"preds and target have inconsistent numbers of samples: {preds.shape[0]} and {target.shape[0]}. Each "
                "label needs its own prediction."
            )
        if sample_weight is not None and not self._weighted:
            raise ValueError(f"{type(self).__name__} takes no sample_weight: {self.function} knows no weights.")
        dtype = target.dtype if target.is_floating_point() else torch.float64
        self.preds.append(preds)
        self.target.append(target)
        self.yerr.append(self._for_each(self._yerr if yerr is None else yerr, "yerr", target.shape, dtype))
        self.weight.append(
            self._for_each(1.0 if sample_weight is None else sample_weight, "sample_weight", target.shape[:1], dtype)
        )

    def _for_each(self, values: Any, argument: str, shape: Any, dtype: Any) -> Any:
        """One value for each label, where there may be one for all of them or for all outputs of an item."""
        if isinstance(values, sb.errors.ErrorModel):
            raise ValueError(
                f"{argument} is {type(values).__name__}; batches take a number, or a tensor with one error for each label. "
                f"Use scorebars.{self.function} on all labels for error models."
            )
        values = torch.as_tensor(values, dtype=dtype, device=self.device).detach()
        if values.ndim == 1 and len(shape) == 2 and values.shape[0] == shape[0]:
            values = values[:, None]
        try:
            return torch.broadcast_to(values, shape).clone()
        except RuntimeError:
            raise ValueError(
                f"{argument} has shape {tuple(values.shape)} but target has shape {tuple(shape)}. Give a number, or one "
                "for each label."
            ) from None

    def compute(self) -> Any:
        """The expected metric as a tensor: of no dimension, or one value for each output with raw values."""
        if isinstance(self.preds, list) and not self.preds:  # gathered from several processes it is a tensor
            raise ValueError(f"{type(self).__name__} has seen no labels: call update before compute.")
        preds, target, yerr, weight = (dim_zero_cat(x) for x in (self.preds, self.target, self.yerr, self.weight))
        kind = preds.dtype if preds.is_floating_point() else torch.get_default_dtype()
        options = dict(self._options)
        if torch.any(yerr != 0):
            options["yerr"] = yerr
        if torch.any(weight != 1):
            options["sample_weight"] = weight
        self._score = getattr(sb, self.function)(target, self._predictions(preds, target), **options)
        values = float(self._score) if isinstance(self._score, float) else [float(s) for s in self._score]
        return torch.tensor(values, dtype=kind, device=self.device)

    def _predictions(self, preds: Any, target: Any) -> Any:
        """The most likely class where there is a score for each and the metric is one of classes."""
        of_classes = not target.is_floating_point() and getattr(sb, self.function).declaration.takes == "labels"
        return preds.argmax(dim=1) if of_classes and preds.ndim == 2 and preds.is_floating_point() else preds

    @property
    def score(self) -> Any:
        """The Score of all labels seen so far, in all processes (Scores with raw values)."""
        self.compute()
        return self._score


class ForecastMetric(ScoreMetric):
    """A torchmetrics metric of forecasts: predictions that are distributions.

    `update` takes members as a tensor (n, m), or normal forecasts as a tuple (mean, std) or a `torch.distributions.Normal`.

    Parameters
    ----------
    yerr : number
        Standard deviation of every label for which `update` is given none.
    **options
        Options of the function (`level`, `estimator`, ...) and of `torchmetrics.Metric`.
    """

    normal: Any
    """Whether the forecasts are normal: 1, or 0 where they are members."""

    def __init__(self, yerr: float = 0.0, **options: Any) -> None:
        super().__init__(yerr, **options)
        self.add_state("normal", default=torch.tensor(0), dist_reduce_fx="max")

    def update(self, preds: Any, target: Any, yerr: Any = None, sample_weight: Any = None) -> None:
        """One batch: members or (mean, std), labels, their errors (a number, or one for each label) and weights."""
        if isinstance(preds, torch.distributions.Normal):
            preds = (preds.mean, preds.stddev)
        normal = isinstance(preds, tuple)
        if self.preds and normal != bool(self.normal):
            raise ValueError(f"{type(self).__name__} was given members and means with their spread: give one of them.")
        if normal:
            mean, std = preds
            preds = torch.stack(torch.broadcast_tensors(torch.as_tensor(mean), torch.as_tensor(std)), dim=-1)
            self.normal = torch.ones_like(self.normal)
        super().update(preds, target, yerr, sample_weight)

    def _predictions(self, preds: Any, target: Any) -> Any:
        return sb.NormalForecast(preds[:, 0], preds[:, 1]) if self.normal else preds


def _metric(name: str, function: str) -> type[ScoreMetric]:
    declared = getattr(sb, function).declaration
    family = ForecastMetric if declared.task == "forecast" else ScoreMetric
    doc = f"`scorebars.{function}` over batches.\n\n{inspect.getdoc(family)}"
    own = {"__doc__": doc, "__module__": __name__, "function": function, "higher_is_better": declared.greater_is_better}
    return type(name, (family,), own)


MeanSquaredError = _metric("MeanSquaredError", "mean_squared_error")
RootMeanSquaredError = _metric("RootMeanSquaredError", "root_mean_squared_error")
MeanAbsoluteError = _metric("MeanAbsoluteError", "mean_absolute_error")
MedianAbsoluteError = _metric("MedianAbsoluteError", "median_absolute_error")
MaxError = _metric("MaxError", "max_error")
MeanError = _metric("MeanError", "mean_error")
R2Score = _metric("R2Score", "r2_score")
ExplainedVariance = _metric("ExplainedVariance", "explained_variance_score")
PearsonCorrCoef = _metric("PearsonCorrCoef", "pearson_correlation")
SpearmanCorrCoef = _metric("SpearmanCorrCoef", "spearman_correlation")
KendallRankCorrCoef = _metric("KendallRankCorrCoef", "kendall_correlation")
ConcordanceCorrCoef = _metric("ConcordanceCorrCoef", "concordance_correlation")
MeanAbsolutePercentageError = _metric("MeanAbsolutePercentageError", "mean_absolute_percentage_error")
SymmetricMeanAbsolutePercentageError = _metric(
    "SymmetricMeanAbsolutePercentageError", "symmetric_mean_absolute_percentage_error"
)
MeanSquaredLogError = _metric("MeanSquaredLogError", "mean_squared_log_error")
RootMeanSquaredLogError = _metric("RootMeanSquaredLogError", "root_mean_squared_log_error")
MeanPinballLoss = _metric("MeanPinballLoss", "mean_pinball_loss")
HuberLoss = _metric("HuberLoss", "huber_loss")
LogCoshError = _metric("LogCoshError", "log_cosh_loss")
FractionWithin = _metric("FractionWithin", "fraction_within")
ReducedChiSquared = _metric("ReducedChiSquared", "reduced_chi_squared")
ConcordanceIndex = _metric("ConcordanceIndex", "concordance_index")
D2AbsoluteErrorScore = _metric("D2AbsoluteErrorScore", "d2_absolute_error_score")

ContinuousRankedProbabilityScore = _metric("ContinuousRankedProbabilityScore", "crps")
LogScore = _metric("LogScore", "log_score")
DawidSebastianiScore = _metric("DawidSebastianiScore", "dawid_sebastiani_score")
IntervalScore = _metric("IntervalScore", "interval_score")
IntervalCoverage = _metric("IntervalCoverage", "interval_coverage")

Accuracy = _metric("Accuracy", "accuracy_score")
ZeroOneLoss = _metric("ZeroOneLoss", "zero_one_loss")
BalancedAccuracy = _metric("BalancedAccuracy", "balanced_accuracy_score")
Precision = _metric("Precision", "precision_score")
Recall = _metric("Recall", "recall_score")
Specificity = _metric("Specificity", "specificity_score")
F1Score = _metric("F1Score", "f1_score")
FBetaScore = _metric("FBetaScore", "fbeta_score")
JaccardIndex = _metric("JaccardIndex", "jaccard_score")
MatthewsCorrCoef = _metric("MatthewsCorrCoef", "matthews_corrcoef")
CohenKappa = _metric("CohenKappa", "cohen_kappa_score")
LogLoss = _metric("LogLoss", "log_loss")
BrierScore = _metric("BrierScore", "brier_score_loss")
AUROC = _metric("AUROC", "roc_auc_score")
AveragePrecision = _metric("AveragePrecision", "average_precision_score")
TopKAccuracy = _metric("TopKAccuracy", "top_k_accuracy_score")
