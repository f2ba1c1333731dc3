"""What has an entry for each of n labels, so that a subset of the labels can be taken."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

_Thing = TypeVar("_Thing")


class PerLabel:
    """An error model or a forecast: some of its attributes hold an entry for each label."""

    per_label: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that hold an entry, or a row, for each label; or one value for all."""

    def __getitem__(self, index: Any) -> Self:
        """The model of a subset of the labels, as a fold of a cross-validation needs it: positions, booleans or a slice."""
        index = index[0] if isinstance(index, tuple) else index  # scikit-learn asks for model[rows, ...]
        if index is ...:
            return self
        return self._part(index if isinstance(index, slice) else np.atleast_1d(index))

    def _part(self, index: Any) -> Self:
        """The model of the labels at `index`: an array of positions or booleans, or a slice."""
        return self._changed(**{name: picked(getattr(self, name), index) for name in self.per_label})

    def _changed(self, **attributes: Any) -> Self:
        """A copy with some attributes replaced, which are not checked again."""
        return changed(self, **attributes)


def changed(thing: _Thing, **attributes: Any) -> _Thing:
    """A copy with some attributes replaced; what cached properties found from the old ones is dropped."""
    new = object.__new__(type(thing))
    cached = {name for name in vars(thing) if isinstance(getattr(type(thing), name, None), cached_property)}
    vars(new).update({name: value for name, value in vars(thing).items() if name not in cached}, **attributes)
    return new


def picked(values: Any, index: Any) -> Any:
    """Values of a subset of the labels; a value that serves all labels stays as it is."""
    one = values is None or isinstance(values, float | int) or (isinstance(values, np.ndarray) and not values.ndim)
    return values if one else values[index]
