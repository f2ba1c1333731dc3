"""Passages that the docstrings of several metrics share: a line ``$name`` stands for the passage of that name."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_CLASSES = """\
y_true, y_pred : (n,)
    Shown labels and predicted classes: whole numbers, booleans or texts.
    `y_true` may be None where the error model holds the labels.
yerr : number, (n,) or error model of class labels, optional
    Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
    `Thresholded`. Without it the labels are exact and the score equals scikit-learn's."""
_SAMPLE_WEIGHT = """\
sample_weight : (n,), optional
    How much each item counts."""
_YERR = """\
yerr : number, (n,), (2, n) or error model, optional
    *Standard deviation* of each label (not its variance), lower and upper errors as in matplotlib, or a model from
    `scorebars.errors`. Without it the labels are exact and the score equals the classical one."""
_TEXTS = {
    "regression": f"""\
y_true, y_pred : (n,) or (n, outputs)
    Labels and predictions.
{_YERR}
{_SAMPLE_WEIGHT}
multioutput : {{"uniform_average", "raw_values"}} or (outputs,)
    Average over outputs, one Score for each, or weights for the average.

Returns
-------
Score, or Scores for ``multioutput="raw_values"``""",
    "one_output": f"""\
y_true, y_pred : (n,)
    Labels and predictions.
{_YERR}

Returns
-------
Score""",
    "one_output_weighted": f"""\
y_true, y_pred : (n,)
    Labels and predictions.
{_YERR}
{_SAMPLE_WEIGHT}

Returns
-------
Score""",
    "sampl": """\
Partition coefficients of eleven molecules, measured and predicted (SAMPL6):

>>> import scorebars as sb
>>> logp = sb.datasets.load_sampl6_logp()
>>> y, p = logp.y, logp.predictions["yd6ub"]""",
    "black_holes": """\
Black-hole masses from the velocity dispersion of their galaxies (logarithms):

>>> import scorebars as sb
>>> holes = sb.datasets.load_blackholes()
>>> y, p = holes.y, holes.predictions["Msigma"]""",
    "classes": _CLASSES,
    "sample_weight": _SAMPLE_WEIGHT,
    "score": """\
Returns
-------
Score""",
    "scores": """\
Returns
-------
Score, or Scores for ``average=None``""",
    "matrix_notes": """\
Notes
-----
Two classes without weights: the distribution is exact. More classes: exact for few uncertain labels, else by the
delta method or simulated with a fixed seed; `method` says which.""",
    "ranking_notes": """\
Notes
-----
Two classes: mean and variance are exact (delta method beyond 20 000 uncertain labels), the distribution listed or
simulated. More classes: simulated with a fixed seed. `truth` puts unbiased estimates of the true classes in place
of the labels. A perfect model ranks by the probability of the label at hand.""",
    "cifar": """\
>>> import scorebars as sb
>>> cifar = sb.datasets.load_cifar10_label_errors()
>>> predicted = cifar.predictions["cross_validated"]""",
    "right": """\
>>> import scorebars as sb
>>> cifar = sb.datasets.load_cifar10_label_errors()
>>> right = cifar.y == cifar.predictions["cross_validated"]""",
    "cats": """\
Examples
--------
Pictures of cats, and those called cats by a model. At least 54 of these 10,000 labels are wrong:

>>> import scorebars as sb
>>> cifar = sb.datasets.load_cifar10_label_errors()
>>> cat, called = cifar.y == 3, cifar.predictions["cross_validated"] == 3""",
    "accuracy": f"""\
Parameters
----------
{_CLASSES}
normalize : bool
    A share (True) or a count (False).
{_SAMPLE_WEIGHT}

Returns
-------
Score""",
    "information_retrieval": """\
References
----------
C. J. van Rijsbergen, Information Retrieval, 2nd edition, Butterworths (1979).""",
    "labels_only": """\
y_true : (n,) or None
    Shown labels; None where the error model holds them.""",
    "yerr": """\
yerr : number, (n,) or error model of class labels, optional
    Probability that a label is wrong, or a model. Without it the labels are exact and the score equals scikit-learn's.""",
    "columns": """\
labels : sequence of classes in sorted order, optional
    The classes of the columns, needed where `y_true` does not show them all.""",
    "ranking_average": """\
average : {"macro", "weighted", "micro", "samples", None}
    How classes or outputs are averaged; "samples" ranks the labels of each item and averages over items; None gives a
    score for each. Two classes need no average.""",
    "share_parameters": f"""\
{_CLASSES.replace("(n,)", "(n,) or (n, L)", 1).replace("or texts.", "or texts; or 0 and 1 for each of L labels an item.")}
    Several labels an item: a number, (L,), (n, L), `Flip`, `ClassFlip` or `Transition`.
labels : sequence of classes, optional
    The classes that an average runs over, in this order; those of `y_true` and `y_pred` unless given.
pos_label : class
    The class that counts as positive for ``average="binary"``.
average : {{"binary", "micro", "macro", "samples", "weighted", None}}
    One class of two; all decisions pooled; the mean over classes; the mean over items with several labels each;
    weighted by the labels of each class; or (None) a score for each class.
{_SAMPLE_WEIGHT}
zero_division : {{"warn", 0.0, 1.0, np.nan}}
    What stands for 0/0, also inside the expectation; "warn" is 0. With ``np.nan`` such values are left out: the score
    is conditional on being defined. (`jaccard_score` takes no ``np.nan``.)

Returns
-------
Score, or Scores for ``average=None``

Notes
-----
Two classes, or one class against the rest, without weights: the distribution is exact, that of two independent
Poisson-binomial counts. Averages over more classes: exact for few uncertain labels, else by the delta method or
simulated with a fixed seed; `method` says which. `truth` is the score of the label counts carried back through the
label errors, with a delta-method error.""",
}
_TEXTS["share"] = f"Parameters\n----------\n{_TEXTS['share_parameters']}"


def documented(function: _Function) -> _Function:
    """Put the shared passages into the docstring of a function."""
    if function.__doc__:
        function.__doc__ = re.sub(
            r"^( *)\$(\w+)$", lambda found: indent(_TEXTS[found[2]], found[1]), function.__doc__, flags=re.MULTILINE
        )
    return function
