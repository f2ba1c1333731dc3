"""How probable is a label if the truth behind it is this? The likelihood of true values, for every error family.

A family says how fresh labels scatter about a value, p(label | value). Read as a function of the value, for the label at
hand, that is the likelihood of the value to be the truth. Families known by draws have no density: it is smoothed.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.errors import Empirical, LogNormal, MeasurementError, Poisson
from scorebars.errors.base import FloatArray

_ONE_SIGMA = 0.8413447460685429
_MOST_DRAWS = 64
"""Of more draws of a label as many quantiles stand for all."""


def label_likelihood(errors: MeasurementError, y: FloatArray, truth: FloatArray) -> FloatArray:
    """p(y | truth) for labels y (n,) and candidates truth (n, k), each row relative to its largest entry.

    A row of zeros: none of the candidates makes the label possible.
    """
    if isinstance(errors, Empirical):
        density = _smoothed(errors, y, truth)
    elif isinstance(errors, LogNormal):
        possible = truth > 0
        density = np.where(possible, errors.pdf(np.where(possible, truth, 1.0).T, y).T, 0.0)
    elif isinstance(errors, Poisson):
        possible = truth >= 0
        density = np.where(possible, errors.probability(np.where(possible, truth, 0.0).T, y / errors.unit).T, 0.0)
    else:
        density = errors.pdf(truth.T, y).T
    density = np.where(np.isfinite(density), density, 0.0)
    largest = density.max(axis=1, keepdims=True)
    return np.asfortranarray(density / np.where(largest > 0, largest, 1.0))


def central_half_width(errors: MeasurementError, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A median-unbiased estimate of each true value, and half the width that holds 68 % of fresh labels.

    Both exist for every family, even without moments.
    """
    low, middle, high = (errors.ppf(y, np.full(len(y), q)) for q in (1.0 - _ONE_SIGMA, 0.5, _ONE_SIGMA))
    if errors.discrete:  # steps of single values
        return errors.unbiased_label(y), np.sqrt(errors.variance(y))
    return 2.0 * y - middle, (high - low) / 2


def _smoothed(errors: Empirical, y: FloatArray, truth: FloatArray) -> FloatArray:
    """A normal kernel about each draw's error; draws are drawn in so that the variance stays what it was."""
    error = errors.samples - y[:, None]
    if error.shape[1] > _MOST_DRAWS:
        error = np.nanquantile(error, (np.arange(_MOST_DRAWS) + 0.5) / _MOST_DRAWS, axis=1).T
    count = np.sum(~np.isnan(error), axis=1, keepdims=True)
    centre = np.nanmean(error, axis=1, keepdims=True)
    spread = np.sqrt(np.nanmean(np.square(error - centre), axis=1, keepdims=True))
    kernel = np.minimum(1.06 * count**-0.2, 0.9)
    points = centre + np.sqrt(1.0 - np.square(kernel)) * (error - centre)
    width = np.where(spread > 0, kernel * spread, 1.0)
    density = np.zeros_like(truth)
    for column in points.T:
        z = (y[:, None] - truth - column[:, None]) / width
        density += np.where(np.isnan(z), 0.0, np.exp(-0.5 * np.square(np.minimum(np.abs(z), 1e3))))
    return density / math.sqrt(2.0 * math.pi) / width
