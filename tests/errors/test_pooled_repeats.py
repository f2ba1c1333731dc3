"""One error for all labels from few repeats."""

import numpy as np
import pytest
from scipy.stats import chi

import scorebars as sb


@pytest.mark.parametrize(("labels", "repeats"), [(2, 2), (5, 3)])
def test_a_pooled_error_is_unbiased_after_its_correction(labels, repeats):
    """The root of a variance with nu degrees of freedom is too small by E chi_nu / sqrt(nu) on average."""
    rng = np.random.default_rng(1)
    nu = labels * (repeats - 1)
    values = rng.standard_normal((labels, repeats))
    found, pooled = sb.Repeats(values, sigma="pooled"), np.sqrt(np.mean(np.var(values, axis=1, ddof=1)))
    assert found.sigma == pytest.approx(np.full(labels, pooled))
    assert found.scatter.absolute == pytest.approx(np.full(labels, np.sqrt(nu) / chi.mean(nu)), rel=1e-12)


def test_a_label_with_one_repeat_among_others():
    """It has the pooled error, without a division by its 0 degrees of freedom."""
    values = np.random.default_rng(2).standard_normal((30, 3))
    values[::4, 1:] = np.nan
    with np.errstate(all="raise"):
        truth = sb.mean_squared_error(None, np.zeros(30), yerr=sb.Repeats(values, sigma="shrunk")).truth
    assert np.isfinite([float(truth), truth.std]).all()
