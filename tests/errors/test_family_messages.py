"""What is refused, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import scorebars as sb
from scorebars import errors

BAD = [
    (lambda: errors.Uniform(-1.0), "halfwidth = -1.0 is negative. halfwidth says how far a label may be off"),
    (
        lambda: errors.Triangular([0.1, -0.2, -0.3]),
        "halfwidth has negative values: the first is -0.2 at index 1, 2 in all",
    ),
    (lambda: errors.Laplace(np.nan), "scale = nan is not finite"),
    (lambda: errors.Laplace([0.1, np.inf]), "scale contains infinity: the first is inf at index 1, 1 in all"),
    (lambda: errors.Rounding("0.1"), "step holds numbers written as texts"),
    (lambda: errors.StudentT(0.1, 0.0), "df = 0.0 is not positive. df is the number of degrees of freedom"),
    (lambda: errors.StudentT(0.1, [3.0, -1.0]), "df has values that are not positive: the first is -1.0 at index 1"),
    (
        lambda: errors.StudentT([0.1, 0.2], [3.0, 4.0, 5.0]),
        "scale and df describe different numbers of labels: 2 and 3",
    ),
    (lambda: errors.LogNormal(-0.1), "sigma_log = -0.1 is negative"),
    (lambda: errors.SplitNormal([0.1, 0.2], [0.1]), "lower and upper describe different numbers of labels: 2 and 1"),
    (lambda: errors.Poisson(kind="exact"), "kind must be 'classical'"),
    (lambda: errors.Empirical([1.0, 2.0]), "samples must have one row of draws for each label"),
    (lambda: errors.Empirical([[1.0, np.inf]]), "samples contains infinity: the first is inf at index (0, 1)"),
    (
        lambda: errors.Empirical([[1.0, 2.0], [np.nan, np.nan]]),
        "samples has rows without any draw: the first is nan at index 1",
    ),
]


@pytest.mark.parametrize(("make", "text"), BAD)
def test_bad_parameters(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        make()


def test_labels_that_a_family_cannot_have() -> None:
    with pytest.raises(
        ValueError, match=r"y_true has values that are not positive.*the first is -1\.0 at index 1, 2 in all"
    ):
        sb.mean_absolute_error([1.0, -1.0, 0.0], [1.0, 1.0, 1.0], yerr=errors.LogNormal(0.1))
    with pytest.raises(
        ValueError, match=r"y_true has negative values, which are not counts: the first is -2\.0 at index 0, 1 in"
    ):
        sb.mean_squared_error([-2.0, 0.0], [1.0, 1.0], yerr=errors.Poisson())
    sb.mean_squared_error([0.0, 2.5], [1.0, 1.0], yerr=errors.Poisson())


def test_wrong_number_of_labels() -> None:
    with pytest.raises(ValueError, match="yerr describes 3 labels but y_true has 2"):
        sb.mean_squared_error([1.0, 2.0], [1.0, 1.0], yerr=errors.Laplace([0.1, 0.2, 0.3]))
    with pytest.raises(ValueError, match="yerr describes 1 labels but y_true has 2"):
        sb.mean_squared_error([1.0, 2.0], [1.0, 1.0], yerr=errors.Empirical([[1.0, 2.0]]))


def test_labels_from_the_model() -> None:
    model = errors.Empirical([[1.0, 1.5, 0.75, 2.0], [3.0, 3.5]])
    without = sb.mean_squared_error(None, [1.0, 3.0], yerr=model)
    assert without.observed == sb.mean_squared_error(model.labels(), [1.0, 3.0], yerr=model).observed
    with pytest.raises(
        ValueError, match="y_true is None, which is allowed only with an error model that holds the labels"
    ):
        sb.mean_squared_error(None, [1.0, 3.0], yerr=0.1)
    with pytest.raises(ValueError, match="y_true is None"):
        sb.mean_squared_error(None, [1.0, 3.0], yerr=errors.Poisson())
