"""Asymmetric errors: two half normals that meet at the label."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.continuous import NO_ERROR, Continuous, normal_density
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.parameters import require_common_size, standard_deviations


class SplitNormal(Continuous):
    r"""Asymmetric errors, as in a quoted value :math:`y^{+b}_{-a}`.

    Parameters
    ----------
    lower, upper : number or (n,)
        Lower and upper error of each label, as in matplotlib's ``errorbar``. Passing ``yerr`` of shape (2, n) means this.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The density is a half normal of width `lower` below the label and one of width `upper` above it, joined where
    they meet: the label is the *mode*. Its mean is not the label but :math:`y + \sqrt{2/\pi}\,(upper - lower)`.

    References
    ----------
    K. F. Wallis, Statistical Science 29 (2014) 106: the two-piece normal of Fechner (1897).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.SplitNormal(lower=0.1, upper=0.3)
    SplitNormal(lower=0.1, upper=0.3)
    """

    per_label = shown = ("lower", "upper")

    lower: FloatArray | float
    upper: FloatArray | float

    def __init__(self, lower: Any, upper: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.lower = standard_deviations(lower, "lower")
        self.upper = standard_deviations(upper, "upper")
        require_common_size(lower=self.lower, upper=self.upper)

    def scaled(self, factor: FloatArray | float) -> Self:
        return self._changed(lower=self.lower * factor, upper=self.upper * factor)

    def _widths(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.broadcast_to(self.lower, y.shape), np.broadcast_to(self.upper, y.shape)

    def largest(self, y: FloatArray) -> float:
        return float(max(np.max(self.lower), np.max(self.upper)))

    def error_bar(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to((np.asarray(self.lower) + self.upper) / 2, y.shape)

    def in_units_of_labels(self, n: int) -> MeasurementError:
        bar = self.error_bar(np.zeros(n))
        return self.scaled(1.0 / np.where(bar > 0, bar, 1.0))

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

    def exact(self, y: FloatArray) -> BoolArray:
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
        model, centre = self.scaled(np.sqrt(level)), self.unbiased_label(y)
        return model, 2.0 * centre - model.mean(centre)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        low, up = self._widths(y)
        total = np.where(low + up > 0, low + up, 1.0)
        above = rng.random((size, len(y))) < up / total
        return y + np.where(above, up, -low) * np.abs(rng.standard_normal((size, len(y))))
