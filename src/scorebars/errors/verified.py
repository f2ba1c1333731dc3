"""Labels of which some were checked with a better method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks, tables
from scorebars.arrays import BoolArray, FloatArray, to_host
from scorebars.errors.measurement_error import ErrorModel


class Verified(ErrorModel):
    r"""Some items were checked with a better method: a gold label, a precise assay, an expert.

    Nothing is assumed about how labels err. The checked items show it, and the others make the estimate sharper.

    Parameters
    ----------
    gold : (n,)
        The better label where an item was checked; NaN or None elsewhere. Classes or measured numbers, as the labels.
        Of texts None, in an array of objects: ``np.where(checked, labels, None)``.
    probability : number or (n,), optional
        The probability with which each item was chosen to be checked, above 0 for all items. None: the checked items are a
        random sample of all.

    Attributes
    ----------
    known : (n,) of bool
        Which items have a gold label.

    Notes
    -----
    `observed` is the classical metric on the labels that are shown. So are `expected` and its interval, which say nothing
    more: how a fresh label would fall is not known, and `remeasured` and `perfect` raise `UndefinedEstimate`. `truth` is the
    prediction-powered estimate. With f the loss of an item by its label and h by its gold label, :math:`n_g` checked items
    and N others:

    .. math::
        \mathrm{truth} = \bar h_g + \lambda(\bar f_N - \bar f_g), \qquad
        \lambda = \frac{\mathrm{Cov}_g(h, f)}{(1 + n_g/N)\,\mathrm{Var} f} \in [0, 1],

    and its variance in the population is :math:`\mathrm{Var}(h - \lambda f)/n_g + \lambda^2 \mathrm{Var} f/N`, which
    `total_interval` has. `std` and `interval` are those of the mean of h over these very items, of which some were checked by
    lot. Items with unequal `probability` count in means over checked items by 1/probability. Metrics of the confusion matrix
    and of rankings take the same linear combination of label indicators in place of the labels. `compare` estimates
    differences of models so, with :math:`\lambda` tuned for the difference, and `plan` says how many items to check.

    References
    ----------
    A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan, T. Zrnic, Prediction-powered inference, Science 382, 669
    (2023). A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient prediction-powered inference, arXiv:2311.01453.
    D. G. Horvitz and D. J. Thompson, A generalization of sampling without replacement from a finite universe, Journal of
    the American Statistical Association 47, 663 (1952).

    Examples
    --------
    A judge saw 500 answers, an expert 100 of them:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> right = rng.integers(0, 2, 500)
    >>> judged = np.where(rng.random(500) < 0.1, 1 - right, right)
    >>> model = np.where(rng.random(500) < 0.2, 1 - right, right)
    >>> gold = np.where(np.arange(500) < 100, right, np.nan)
    >>> s = sb.accuracy_score(judged, model, yerr=sb.Verified(gold))
    >>> print(s.observed, s.truth, (right == model).mean())
    0.756 0.791 ± 0.024 (labels) ± 0.020 (sample) 0.8
    """

    only_metrics = (
        "yerr is Verified, which metrics, confusion_matrix, evaluate, compare and plan take. Here give an error model, such "
        "as Flip.from_counts(wrong, checked) or Normal(sigma)."
    )
    """What to say where a gold subset is not taken."""
    per_label = ("gold", "known", "probability")

    gold: NDArray[Any]
    known: BoolArray
    probability: FloatArray | float | None

    def __init__(self, gold: ArrayLike, probability: ArrayLike | None = None) -> None:
        self.kind = "classical"
        values = np.asarray(to_host(gold))
        if values.dtype.kind == "U" and not hasattr(gold, "dtype"):
            values = np.array(gold, dtype=object)  # NumPy has turned the NaN of a list into a text
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1 or not values.size:
            raise ValueError(
                f"gold must hold one label for each item, shape (n,), NaN or None where none is known, but has shape "
                f"{values.shape}."
            )
        tables.no_blank_texts(
            "gold", values, "Give None where there is no gold label: np.where(checked, labels, None)."
        )
        self.gold, self.known = values.copy(), ~tables.missing_entries(values)
        if int(np.count_nonzero(self.known)) < 2:
            raise ValueError(f"gold holds {int(self.known.sum())} labels: at least two items must have been checked.")
        self.probability = None
        if probability is not None:
            chance = checks.probabilities(probability, "probability", "It is the chance that an item was checked.")
            if chance.ndim and len(chance) != len(values):
                raise ValueError(
                    f"probability has {len(chance)} entries, but gold has {len(values)}. Give one for each item."
                )
            never = np.atleast_1d(chance <= 0)
            if never.any():
                hint = "An item that could not be checked says nothing; leave such items out and say so."
                raise checks.complain(
                    "probability", "has items that are never checked", never, np.atleast_1d(chance), hint
                )
            chances = np.broadcast_to(chance, self.known.shape)
            hint = (
                "A probability of 1 is for items that were sure to be checked; give the one with which each was chosen."
            )
            checks.refuse(
                "probability", "is 1 for items without a gold label", (chances == 1) & ~self.known, chances, hint
            )
            self.probability = float(chance) if chance.ndim == 0 else chance.copy()

    def chances(self) -> FloatArray:
        """The probability that an item was checked: as given, or the share of items that were."""
        given = self.probability
        known = float(np.mean(self.known)) if given is None else given
        return np.broadcast_to(np.asarray(known, dtype=np.float64), self.gold.shape)

    def gold_classes(self) -> NDArray[Any]:
        """The gold labels of the checked items as classes."""
        found = self.gold[self.known]
        found = np.array(found.tolist()) if found.dtype.kind == "O" else found
        if found.dtype.kind != "f":
            return found
        hint = "Classification metrics need classes: whole numbers, booleans or texts."
        everywhere = np.zeros(self.known.shape)
        everywhere[self.known] = found
        checks.require_finite(everywhere, "gold")
        broken = everywhere != np.floor(everywhere)
        checks.refuse("gold", "holds continuous values, which is not supported", broken, everywhere, hint)
        return found.astype(np.int64)

    def gold_numbers(self, y: FloatArray) -> FloatArray:
        """The labels y with the gold ones in their place."""
        found = np.array(y, dtype=np.float64)
        found[self.known] = np.asarray(checks.real_array(self.gold[self.known], "gold"), dtype=np.float64)
        checks.require_finite(found, "gold")
        return found

    def __repr__(self) -> str:
        count, n = int(np.count_nonzero(self.known)), len(self.gold)
        return self._text(
            f"{count} of {n} labels checked", *([] if self.probability is None else ["known probabilities"])
        )
