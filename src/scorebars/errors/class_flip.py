"""Class labels of which some classes are shown wrong more often than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.errors.base import FloatArray, check_kind
from scorebars.errors.class_error import ClassError, Classes, named_classes, positions


class ClassFlip(ClassError):
    r"""An item of class k is shown wrong with probability q_k; a wrong label is equally likely any other class.

    Parameters
    ----------
    q : mapping of class to number
        For each class the probability that an item of this true class is shown as another one. Every class that occurs
        in labels or predictions needs an entry. `expected` takes the shown label as the true one.
    kind : {"classical", "berkson"}
        ``"classical"``: q_k = P(shown wrong | true class k). ``"berkson"``: q_k = P(true class differs | shown as k),
        calibrated and independent of the prediction.

    Examples
    --------
    Sick people are overlooked more often than healthy ones are called sick:

    >>> import scorebars as sb
    >>> model = sb.errors.ClassFlip({"sick": 0.2, "well": 0.01})
    >>> model
    ClassFlip({'sick': 0.2, 'well': 0.01})
    """

    classwise = True

    def __init__(self, q: Mapping[Any, float], *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        if not isinstance(q, Mapping) or not q:
            raise ValueError(f"q must map each class to the probability that it is shown wrong, got {q!r}.")
        self._classes = named_classes(list(q), len(q), "the keys of q", "entries")
        self._q = np.atleast_1d(
            checks.probabilities(list(q.values()), "q", "q is the probability that an item of a class is shown wrong.")
        )

    @property
    def q(self) -> dict[Any, float]:
        """Class to probability."""
        return dict(zip(self._classes.tolist(), self._q.tolist(), strict=True))

    @property
    def size(self) -> int | None:
        return None

    def _part(self, index: Any) -> Self:
        return self

    def classes(self) -> Classes:
        return self._classes

    def transition(self, classes: Classes) -> FloatArray:
        unknown = np.setdiff1d(classes, self._classes)
        if unknown.size:
            raise ValueError(
                f"ClassFlip has no probability for class {unknown[0]!r} ({unknown.size} such classes). Give one for each "
                "class of y_true and y_pred."
            )
        k = len(classes)
        order = np.argsort(self._classes, kind="stable")
        q = self._q[order][positions(classes, self._classes[order])]
        return np.where(np.eye(k, dtype=bool), 1.0 - q[:, None], q[:, None] / (k - 1))

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return np.asarray(self.transition(classes)[positions(labels, classes)])

    def __repr__(self) -> str:
        return f"ClassFlip({self.q}{'' if self.kind == 'classical' else ', kind=' + repr(self.kind)})"
