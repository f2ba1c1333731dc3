"""Are the quoted errors believable?"""

import numpy as np
import pytest

import scorebars as sb

RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(1, 100, 400)
SIGMA = RNG.uniform(0.5, 1.5, 400)
Y = TRUTH + SIGMA * RNG.standard_normal(400)


def test_right_errors_raise_no_alarm():
    check = sb.check_errors(Y, TRUTH, yerr=SIGMA)
    assert check.reduced_chi_squared == pytest.approx(1.0, abs=0.3)
    assert check.reduced_chi_squared == pytest.approx(sb.reduced_chi_squared(Y, TRUTH, yerr=SIGMA).observed, rel=1e-12)
    assert 0.001 < check.pvalue_high < 0.999 and check.pvalue_high + check.pvalue_low == pytest.approx(1.0)
    assert np.nanstd(check.pulls) == pytest.approx(1.0, abs=0.15)
    assert not any("overstated" in w for w in check.warnings)


def test_overstated_errors():
    check = sb.check_errors(Y, TRUTH, yerr=2 * SIGMA)
    assert check.pvalue_low < 1e-6 and "overstated, or the model has seen these labels" in check.warnings[0]


def test_zero_and_default_errors():
    errors = SIGMA.copy()
    errors[:40], errors[40:200] = 0.0, 1.0
    check = sb.check_errors(Y, TRUTH + 5, yerr=errors)
    assert check.zero_share == 0.1 and check.repeated_value == 1.0 and check.repeated_share == 0.4
    text = str(check)
    assert "exactly zero" in text and "a default rather than a measurement" in text
    assert np.isnan(check.pulls[:40]).all()


def test_relative_errors():
    check = sb.check_errors(Y, TRUTH + 5, yerr=0.05 * Y.clip(0.1))
    assert check.growth == pytest.approx(1.0, abs=0.05) and any("grow with the label" in w for w in check.warnings)


def test_against_repeats():
    rows = TRUTH[:, None] + SIGMA[:, None] * RNG.standard_normal((400, 4))
    repeats = sb.Repeats(rows)
    fair = sb.check_errors(repeats.means, TRUTH + 3, yerr=SIGMA, repeats=repeats)
    assert fair.repeats_ratio == pytest.approx(1.0, abs=0.1) and fair.repeats_pvalue > 0.001
    wrong = sb.check_errors(repeats.means, TRUTH + 3, yerr=0.5 * SIGMA, repeats=repeats)
    assert wrong.repeats_ratio == pytest.approx(0.25, abs=0.05) and wrong.repeats_pvalue < 1e-6
    assert any("smaller than the scatter of the repeats" in w for w in wrong.warnings)


def test_covariance():
    d = sb.datasets.load_pantheon()
    check = sb.check_errors(d.y, d.predictions["LCDM_Om0.298"], yerr=sb.Normal(cov=d.columns["cov_total"]))
    assert check.reduced_chi_squared * 40 == pytest.approx(39.31, abs=0.005)


def test_all_zero():
    with pytest.raises(ValueError, match="all label errors are zero"):
        sb.check_errors(Y, TRUTH, yerr=0.0)
