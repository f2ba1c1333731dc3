"""Passages that the docstrings of several metrics share: a line ``$name`` stands for the passage of that name."""

from __future__ import annotations

from scorebars.passages import passages

_SAMPLE_WEIGHT = """\
sample_weight : (n,), optional
    How much each item counts."""
_GROUPS = """\
groups : (n,), optional
    Which items belong together: molecules of a series, scenes, patients. `sampling_std` and `total_interval` then take
    the groups as the sample, not the items."""
_NUMBERS = """\
y_true, y_pred : (n,)
    Labels and predictions.
yerr : number, (n,), (2, n) or error model, optional
    *Standard deviation* of each label (not its variance), lower and upper errors as in matplotlib, or a model from
    `scorebars.errors`. Without it the labels are exact and the score equals the classical one."""
_FORECASTS = """\
y_true : (n,)
    Labels; None where the error model holds them.
forecast : forecast
    `NormalForecast`, `EnsembleForecast`, `QuantileForecast` or `LawForecast`; or what you have: the pair (mean, std) of
    ``predict(X, return_std=True)``, an (n, m) array, table or xarray of members, a frozen distribution of `scipy.stats`, a
    ``Normal`` of torch."""
_YERR = _NUMBERS.partition("predictions.\n")[2]
_PREDERR = """\
prederr : number or (n,), optional
    *Standard error* of each prediction, where the model has not converged (averages of few runs, finite sampling):
    normal, independent of the label's and of each other. `expected`, `std` and `truth`, which is that of the converged
    model, count it; `remeasured` (the same predictions) and `perfect` do not. Predictions with `uncertainties` bring it."""
_MULTIOUTPUT = """\
multioutput : {"uniform_average", "raw_values"} or (outputs,)
    Average over outputs, one Score for each, or weights for the average."""
_FORCE_FINITE = """\
force_finite : bool
    Labels that do not vary give 1 for perfect predictions and 0 for others, as in scikit-learn. False gives nan and minus
    infinity with a warning, as there, for exact labels; labels with errors are refused then."""
_BY_VARIANCE = """\
multioutput : {"uniform_average", "raw_values", "variance_weighted"} or (outputs,)
    Average over outputs, one Score for each, or an average weighted by the variances of the labels, or as given."""
_CLASSES = """\
y_true, y_pred : (n,)
    Shown labels and predicted classes: whole numbers, booleans or texts.
    `y_true` may be None where the error model holds the labels.
yerr : number, (n,) or error model of class labels, optional
    Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
    `Thresholded`. Without it the labels are exact and the score equals scikit-learn's."""
_SCORED = """\
y_true : (n,) or None
    Shown labels; None where the error model holds them.
yerr : number, (n,) or error model of class labels, optional
    Probability that a label is wrong, or a model. Without it the labels are exact and the score equals scikit-learn's."""
_COLUMNS = """\
labels : sequence of classes in sorted order, optional
    The classes of the columns, needed where `y_true` does not show them all."""
_NORMALIZE = """\
normalize : bool
    A share (True) or a count (False)."""
_RANKING_AVERAGE = """\
average : {"macro", "weighted", "micro", "samples", None}
    How classes or outputs are averaged; "samples" ranks the labels of each item and averages over items; None gives a
    score for each. Two classes need no average."""
_SHARE = """\
    Several labels an item: a number, (L,), (n, L), `Flip`, `ClassFlip` or `Transition`.
labels : sequence of classes, optional
    The classes that an average runs over, in this order; those of `y_true` and `y_pred` unless given.
pos_label : class
    The class that counts as positive for ``average="binary"``.
average : {"binary", "micro", "macro", "samples", "weighted", None}
    One class of two; all decisions pooled; the mean over classes; the mean over items with several labels each;
    weighted by the labels of each class; or (None) a score for each class.
zero_division : {"warn", 0.0, 1.0, np.nan}
    What stands for 0/0, also inside the expectation; "warn" is 0. With ``np.nan`` such values are left out: the score
    is conditional on being defined. (`jaccard_score` takes no ``np.nan``.)"""
_CIFAR = """\
>>> import scorebars as sb
>>> cifar = sb.datasets.load_cifar10_label_errors()
>>> """
_PREDERRS = _PREDERR.replace("number or (n,)", "number, (n,) or (n, outputs)", 1)
_SEVERAL = _NUMBERS.replace("(n,)", "(n,) or (n, outputs)", 1)
_MULTILABEL = _CLASSES.replace("(n,)", "(n,) or (n, L)", 1).replace(
    "or texts.", "or texts; or 0 and 1 for each of L labels an item."
)


def _parameters(*parts: str, returns: str = "Score") -> str:
    return "\n".join([*parts, "", "Returns", "-------", returns])


def _example(text: str, code: str) -> str:
    return f"Examples\n--------\n{text}\n\n{code}"


_OUTPUTS = 'Score, or Scores for ``multioutput="raw_values"``'
_EACH = "Score, or Scores for ``average=None``"
_TEXTS = {
    "regression_parameters": _parameters(_SEVERAL, _PREDERRS, _SAMPLE_WEIGHT, _MULTIOUTPUT, _GROUPS, returns=_OUTPUTS),
    "explained_parameters": _parameters(
        _FORCE_FINITE, _SEVERAL, _PREDERRS, _SAMPLE_WEIGHT, _BY_VARIANCE, _GROUPS, returns=_OUTPUTS
    ),
    "forecast_parameters": _parameters(_FORECASTS, _YERR, _SAMPLE_WEIGHT, _GROUPS),
    "interval_parameters": _parameters(_YERR, _SAMPLE_WEIGHT, _GROUPS),
    "one_output_parameters": _parameters(_NUMBERS, _PREDERR, _GROUPS),
    "one_weighted_parameters": _parameters(_NUMBERS, _PREDERR, _SAMPLE_WEIGHT, _GROUPS),
    "class_parameters": _parameters(_CLASSES, _SAMPLE_WEIGHT, _GROUPS),
    "accuracy_parameters": _parameters(_CLASSES, _NORMALIZE, _SAMPLE_WEIGHT, _GROUPS),
    "columns_parameters": _parameters(_COLUMNS, _SCORED, _SAMPLE_WEIGHT, _GROUPS),
    "ranking_parameters": _parameters(
        _RANKING_AVERAGE,
        _SCORED.replace("(n,) or None", "(n,), (n, L) or None").replace("labels;", "labels, or L for each item;"),
        _SAMPLE_WEIGHT,
        _GROUPS,
        returns=_EACH,
    ),
    "share_parameters": _parameters(_MULTILABEL, _SHARE, _SAMPLE_WEIGHT, _GROUPS, returns=_EACH),
    "classes": _CLASSES,
    "column_labels": _COLUMNS,
    "sample_weight": _SAMPLE_WEIGHT,
    "groups": _GROUPS,
    "rank_notes": """\
Under normal errors its mean and variance are sums over pairs of labels, exact up to 1000 labels; above, the standard
deviation is right to about 1 % (`method` is "delta"), or both are drawn where labels hardly overlap ("simulation").""",
    "matrix_notes": """\
Two classes without weights: the distribution is exact. More classes: exact for few uncertain labels, else by the
delta method or simulated with a fixed seed; `method` says which.""",
    "ranking_notes": """\
Two classes: mean and variance are exact (delta method beyond 20 000 uncertain labels), the distribution listed or
simulated. More classes: simulated with a fixed seed. `truth` puts unbiased estimates of the true classes in place
of the labels. A perfect model ranks by the probability of the label at hand.""",
    "share_notes": """\
Two classes, or one class against the rest, without weights: the distribution is exact, that of two independent
Poisson-binomial counts. Averages over more classes: exact for few uncertain labels, else by the delta method or
simulated with a fixed seed; `method` says which. `truth` is the score of the label counts carried back through the
label errors, with a delta-method error.""",
    "book": "References\n----------\nC. J. van Rijsbergen, Information Retrieval, 2nd edition, Butterworths (1979).",
    "sampl": _example(
        "Partition coefficients of eleven molecules, measured and predicted (SAMPL6):",
        """\
>>> import scorebars as sb
>>> logp = sb.datasets.load_sampl6_logp()
>>> y, p = logp.y, logp.predictions["yd6ub"]""",
    ),
    "black_holes": _example(
        "Black-hole masses from the velocity dispersion of their galaxies (logarithms):",
        """\
>>> import scorebars as sb
>>> holes = sb.datasets.load_blackholes()
>>> y, p = holes.y, holes.predictions["Msigma"]""",
    ),
    "cifar": _example(
        "Pictures of ten classes. At least 54 of these 10,000 labels are wrong:",
        f'{_CIFAR}predicted = cifar.predictions["cross_validated"]',
    ),
    "expansion": _example(
        "Forecasts of three labels, each a mean and a standard deviation:",
        """\
>>> import scorebars as sb
>>> y, forecast = [1.2, 1.5, 2.9], sb.NormalForecast([1.0, 2.0, 3.0], [0.3, 0.5, 0.4])""",
    ),
    "right": _example(
        "How well does a model know when it is right? At least 54 of these 10,000 labels are wrong:",
        f'{_CIFAR}right = cifar.y == cifar.predictions["cross_validated"]',
    ),
    "cats": _example(
        "Pictures of cats, and those called cats by a model. At least 54 of these 10,000 labels are wrong:",
        f'{_CIFAR}cat, called = cifar.y == 3, cifar.predictions["cross_validated"] == 3',
    ),
}
_TEXTS["share_notes_and_book"] = f"{_TEXTS['share_notes']}\n\n{_TEXTS.pop('book')}"
for _name in [name for name in _TEXTS if name.endswith("_parameters")]:
    _TEXTS[_name.removesuffix("_parameters")] = f"Parameters\n----------\n{_TEXTS[_name]}"

documented = passages(**_TEXTS)
"""Put the shared passages into the docstring of a metric."""
