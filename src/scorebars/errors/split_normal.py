"""Asymmetric errors: two half normals that meet at the label."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from scorebars.errors.base import FloatArray, check_kind, picked
from scorebars.errors.continuous import NO_ERROR, Continuous
from scorebars.errors.normal import NORMAL_EDGES, normal_density, standard_deviations
from scorebars.errors.parameters import common_size


class SplitNormal(Continuous):
    r"""Asymmetric errors, as in a quoted value :math:`y^{+b}_{-a}`.

    The density is a half normal of width `lower` below the label and one of width `upper` above it, joined where
    they meet: the label is the *mode*. Its mean is not the label but :math:`y + \sqrt{2/\pi}\,(upper - lower)`.

    Parameters
    ----------
    lower, upper : number or (n,)
        Lower and upper error of each label, as in matplotlib's ``errorbar``. Passing ``yerr`` of shape (2, n) means this.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.SplitNormal(lower=0.1, upper=0.3)
    SplitNormal(lower=0.1, upper=0.3)
    """

    edges = NORMAL_EDGES

    lower: FloatArray | float
    upper: FloatArray | float

    def __init__(self, lower: Any, upper: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.lower = standard_deviations(lower, "lower")
        self.upper = standard_deviations(upper, "upper")
        common_size(lower=self.lower, upper=self.upper)

    @property
    def size(self) -> int | None:
        sizes = [len(v) for v in (self.lower, self.upper) if isinstance(v, np.ndarray)]
        return sizes[0] if sizes else None

    def _part(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.lower, part.upper = self.kind, picked(self.lower, index), picked(self.upper, index)
        return part

    def scaled(self, factor: float) -> Self:
        """The errors of the labels multiplied by `factor`."""
        return self._scaled_by(factor)

    def _scaled_by(self, factor: FloatArray | float) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.lower, part.upper = self.kind, self.lower * factor, self.upper * factor
        return part

    def _widths(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.broadcast_to(self.lower, y.shape), np.broadcast_to(self.upper, y.shape)

    def largest(self, y: FloatArray) -> float:
        return float(max(np.max(self.lower), np.max(self.upper)))

    def mean(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        return y + math.sqrt(2 / math.pi) * (up - low)

    def variance(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        return (1 - 2 / math.pi) * np.square(up - low) + low * up

    def third(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        gap = up - low
        return math.sqrt(2 / math.pi) * gap * ((4 / math.pi - 1) * gap * gap + low * up)

    def fourth(self, y: FloatArray) -> FloatArray:
        """From the moments about the mode: E(x-m)^4 = 3 (p2 s2^4 + p1 s1^4), each half weighted by its width."""
        low, up = self._widths(y)
        total = np.where(low + up > 0, low + up, 1.0)
        shift = math.sqrt(2 / math.pi) * (up - low)
        second = self.variance(y) + shift * shift
        third = 2 * math.sqrt(2 / math.pi) * (up**4 - low**4) / total
        raw = 3 * (up**5 + low**5) / total
        return raw - 4 * shift * third + 6 * shift**2 * second - 3 * shift**4

    # the standard coordinate is that of the half normal on its side ----------------------------

    @property
    def _share_above(self) -> FloatArray:
        """Probability of the upper half."""
        total = np.add(self.lower, self.upper)
        return np.where(total > 0, self.upper / np.where(total > 0, total, 1.0), 0.5)

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        return y + np.where(u >= 0, self.upper, self.lower) * u

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        width = np.where(np.greater_equal(x, y), self.upper, self.lower)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(1.0 / width)

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        gap = np.subtract(x, y)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap * self.slope(y, x))

    def exact(self, y: FloatArray) -> NDArray[np.bool_]:
        return np.broadcast_to(np.less_equal(self.lower, NO_ERROR) & np.less_equal(self.upper, NO_ERROR), y.shape)

    def density(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return 2.0 * np.where(u >= 0, above, 1.0 - above) * normal_density(u)

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        total = np.where(self.exact(y), 1.0, np.add(self.lower, self.upper))
        joined = 2.0 * normal_density(self.coordinate(y, x)) / total
        return np.where(self.exact(y), np.where(x == y, np.inf, 0.0), joined)

    def _lower(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return np.where(u >= 0, 1.0 - 2.0 * above * ndtr(-np.abs(u)), 2.0 * (1.0 - above) * ndtr(-np.abs(u)))

    def _upper(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return np.where(u >= 0, 2.0 * above * ndtr(-np.abs(u)), 1.0 - 2.0 * (1.0 - above) * ndtr(-np.abs(u)))

    def _quantile(self, q: FloatArray) -> FloatArray:
        above = self._share_above
        under = 1.0 - above
        left = ndtri(np.minimum(q / np.where(under > 0, 2.0 * under, 1.0), 0.5))
        right = -ndtri(np.minimum((1.0 - np.asarray(q)) / np.where(above > 0, 2.0 * above, 1.0), 0.5))
        return np.where(np.less(q, under), left, right)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[SplitNormal, FloatArray]:
        model, centre = self._scaled_by(np.sqrt(level)), self.unbiased_label(y)
        return model, 2.0 * centre - model.mean(centre)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        low, up = self._widths(y)
        total = np.where(low + up > 0, low + up, 1.0)
        above = rng.random((size, len(y))) < up / total
        return y + np.where(above, up, -low) * np.abs(rng.standard_normal((size, len(y))))

    def __repr__(self) -> str:
        parts = [
            f"{name}={v:g}" if isinstance(v, float) else f"{name}=<{len(v)} values>"
            for name, v in (("lower", self.lower), ("upper", self.upper))
        ]
        berkson = [] if self.kind == "classical" else ["kind='berkson'"]
        return f"SplitNormal({', '.join(parts + berkson)})"
