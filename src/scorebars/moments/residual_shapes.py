"""Smooth shapes of residuals: from Laplace over normal to two points, with one number for the shape.

The most likely distribution on a grid (`deconvolution`) says nothing beyond what was seen, and behind label errors it takes
part of these for its own. A smooth shape goes on beyond. With mean m, standard deviation t, and c between -1 and 1:

    c <= 0   generalised normal, density ~ exp(-|x|^b) with b = 2^(1 + c): normal at 0, Laplace at -1
    c >= 0   half of the residuals about m - t sqrt(c), half about m + t sqrt(c), each normal with variance t^2 (1 - c): two
             points at 1

All have the variance t^2. Tails that fall less than exponentially are left out: few labels tell too little of these.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import gamma, gammainc, ndtr

from scorebars.arrays import FloatArray
from scorebars.moments.deconvolution import Mixture

_SHARPEST = 1e-3
"""The width of a point, in standard deviations of all residuals."""
_LEAST = 1e-300
_FIRST = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 1.0]])
"""The first simplex: shift of the mean in standard deviations, logarithm of their factor, inverse hyperbolic tangent of c."""
_PRECISION = {"xatol": 0.02, "fatol": 0.02, "maxiter": 120}
"""Of the logarithm of a likelihood; 1/2 is one standard deviation."""


def _cdf(x: FloatArray, c: float) -> FloatArray:
    """The share below x of residuals with mean 0 and variance 1."""
    if c >= 0:
        centre, width = math.sqrt(c), max(math.sqrt(1.0 - c), _SHARPEST)
        return np.asarray((ndtr((x - centre) / width) + ndtr((x + centre) / width)) / 2)
    b = 2.0 ** (1.0 + c)
    scale = math.sqrt(gamma(1.0 / b) / gamma(3.0 / b))
    return np.asarray((1.0 + np.sign(x) * gammainc(1.0 / b, np.abs(x / scale) ** b)) / 2)


def shape_weights(grid: FloatArray, mean: float, sd: float, c: float) -> FloatArray:
    """The weights of a shape on a grid.

    >>> shape_weights(np.array([-1.0, 0.0, 1.0]), 0.0, 1.0, 0.999).round(3)
    array([0.5, 0. , 0.5])
    """
    edges = np.concatenate([[-np.inf], (grid[1:] + grid[:-1]) / 2, [np.inf]])
    weights = np.maximum(np.diff(_cdf((edges - mean) / sd, c)), _LEAST)
    return np.asarray(weights / weights.sum())


def most_likely_shape(mixture: Mixture, labels: float, grid: FloatArray, mean: float, sd: float) -> FloatArray:
    """The weights of the shape that makes so many labels most probable; `mean` and `sd` are a first guess.

    Few labels hardly tell the shape, so the normal one is preferred: the square of artanh c is taken from the log likelihood.
    """

    def weights(place: FloatArray) -> FloatArray:
        return shape_weights(grid, mean + sd * place[0], sd * math.exp(place[1]), math.tanh(place[2]))

    def cost(place: FloatArray) -> float:
        return float(place[2] ** 2) - labels * mixture.log_likelihood(weights(place))

    options = {**_PRECISION, "initial_simplex": _FIRST}
    return weights(minimize(cost, _FIRST[0], method="Nelder-Mead", options=options).x)
