"""What is known about the labels.

Which one do I use?

=====================================================  ============================================================
what you know                                          model
=====================================================  ============================================================
a standard deviation, one for all or one a label       ``Normal(sigma)``, or the plain number or array
a covariance matrix of all labels                      ``Normal(cov=matrix)``
independent errors and common systematic shifts        ``Normal(sigma, shared=shifts)``
a standard deviation from few measurements             ``Normal(sigma, dof=degrees_of_freedom)``
error bars that may all be wrong by one factor         ``Normal(sigma, scale_error=0.2)``
labels measured in batches, each with its own shift    ``Normal(sigma, batch=ids, batch_sigma=0.1)``
a quoted value with upper and lower error              ``SplitNormal(lower, upper)``, or an array of shape (2, n)
a tolerance: anything within, nothing outside          ``Uniform(halfwidth)``
a tolerance, small errors more likely                  ``Triangular(halfwidth)``
labels rounded to a step                               ``Rounding(step)``
a mean absolute error, exponential tails               ``Laplace(scale)``
now and then a gross error                             ``StudentT(scale, df)``
a fraction of the label, 5 %                           ``Relative(0.05)``
a relative error, a factor                             ``LogNormal(sigma_log)``
counts                                                 ``Poisson()``
draws of each label                                    ``Empirical(samples)``
limits among the labels, "< 0.5"                       ``Censored(lower, upper, sigma)``, ``Censored.from_strings``
repeated measurements of each label                    ``Repeats(values)``, or ``Repeats.from_means(sigma=..., n=...)``
the probability that a class label is wrong            ``Flip(q)``, or the plain number or array
the same, class by class                               ``ClassFlip({label: q})``
which classes are shown as which                       ``Transition(matrix, labels)``
how many of some checked labels were wrong             ``Flip.from_counts(wrong, checked)``, also of the other two
the probability of each class for each item            ``LabelProbabilities(p, labels)``
votes on each item                                     ``Votes(counts, labels)``
better labels of some items                            ``Verified(gold)``
classes made by cutting a measured number              ``Thresholded(values, yerr, cut)``
=====================================================  ============================================================

Every model has a `kind`: ``"classical"`` if the label is the truth plus an error (a measurement), ``"berkson"`` if
the truth is the label plus an error (a set point, a calibrated posterior).
"""

from scorebars.errors.asymmetric import LogNormal, SplitNormal
from scorebars.errors.censored import Censored
from scorebars.errors.class_error import ClassError, Flip
from scorebars.errors.empirical import Empirical
from scorebars.errors.measurement_error import ErrorModel, MeasurementError
from scorebars.errors.named_classes import ClassFlip, LabelProbabilities, Transition
from scorebars.errors.normal import Normal
from scorebars.errors.poisson import Poisson
from scorebars.errors.relative import Relative
from scorebars.errors.repeats import Repeats
from scorebars.errors.symmetric import Laplace, Rounding, StudentT, Triangular, Uniform
from scorebars.errors.thresholded import Thresholded
from scorebars.errors.verified import Verified
from scorebars.errors.votes import Votes

__all__ = ["ClassError", "ClassFlip", "Flip", "LabelProbabilities", "Thresholded", "Transition", "Votes"]
__all__ += [
    "Censored",
    "Empirical",
    "ErrorModel",
    "Laplace",
    "LogNormal",
    "MeasurementError",
    "Normal",
    "Poisson",
    "Repeats",
]
__all__ += ["Relative", "Rounding", "SplitNormal", "StudentT", "Triangular", "Uniform", "Verified"]
