"""Many draws from a law whose quantiles are costly: quantiles of normal variates, from a table."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ndtr

from scorebars.arrays import FloatArray
from scorebars.laws.law import Law

_SPACING = 0.1


def transformed(law: Law, z: FloatArray, *, logarithm: bool = False) -> FloatArray:
    """The quantile of a continuous law at the probability Phi(z) of each z.

    Few are computed one by one. Many are interpolated in a table of x against z, or of log(x - low) if `logarithm`,
    whose slope is known from the density: the error is below 1e-5 of the std, which no number of draws could show.
    """
    if z.size == 0:
        return np.empty(z.shape)
    first, last = math.floor(float(z.min()) / _SPACING), math.ceil(float(z.max()) / _SPACING)
    if z.size <= last - first + 1:
        return np.asarray(law.ppf(ndtr(z)))
    grid = np.arange(first, last + 1) * _SPACING
    x = np.asarray(law.ppf(ndtr(grid)))
    slope = np.exp(-0.5 * grid * grid) / math.sqrt(2 * math.pi) / np.asarray(law.pdf(x))
    if not logarithm:
        return np.asarray(CubicHermiteSpline(grid, x, slope)(z))
    height = x - law.support[0]
    out: FloatArray = law.support[0] + np.exp(CubicHermiteSpline(grid, np.log(height), slope / height)(z))
    return out
