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


def test_doubts_are_the_warnings_that_spoil_the_scores():
    seen = Y + 0.1 * SIGMA
    errors = np.where(np.arange(400) < 20, 20.0, 0.1)
    assert sb.check_errors(Y, TRUTH + 5, yerr=SIGMA).doubts == []
    per_cent = sb.check_errors(Y, TRUTH, yerr=100 * SIGMA)
    assert "are these per cent" in per_cent.doubts[0] and "overstated" in per_cent.doubts[1]
    fitted = sb.check_errors(Y, np.where(errors > 1, seen, Y + 5), yerr=errors)
    assert (
        [w for w in fitted.doubts if "probably fitted to these labels" in w]
        == fitted.doubts[-1:]
        == fitted.warnings[:1]
    )


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


# labels that the model has seen --------------------------------------------------------------------


def test_the_one_model_that_was_fitted_to_its_labels_is_found():
    masses = sb.datasets.load_nuclear_masses()
    checks = {name: sb.check_errors(masses.y, p, yerr=masses.yerr) for name, p in masses.predictions.items()}
    assert [name for name, check in checks.items() if check.pvalue_noisiest < 0.01] == ["WS3_RBF"]
    fitted = checks["WS3_RBF"]
    assert "probably fitted to these labels" in fitted.warnings[0] and "has probably seen" in fitted.verdict


@pytest.mark.parametrize("error", [0.0, 0.3, 3.0])
def test_a_model_that_has_not_seen_the_labels_is_seldom_blamed(error):
    rng = np.random.default_rng(17)
    found = []
    for _ in range(300):
        sigma, y = np.exp(rng.normal(0.0, 1.2, 150)), rng.normal(size=150)
        check = sb.check_errors(y + sigma * rng.normal(size=150), y + error * rng.normal(size=150), yerr=sigma)
        if check.pvalue_noisiest is not None:
            found.append(check.pvalue_noisiest)
    assert len(found) > 100 and np.mean(np.less(found, 0.05)) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))


def test_a_model_that_follows_its_labels_is_blamed():
    rng = np.random.default_rng(5)
    sigma, y = np.exp(rng.normal(0.0, 1.5, 400)), rng.normal(size=400)
    labels = y + sigma * rng.normal(size=400)
    check = sb.check_errors(labels, labels + 0.3 * rng.normal(size=400), yerr=sigma)
    assert check.pvalue_noisiest < 1e-6


def test_errors_alike_or_correlated_have_no_noisiest_labels():
    rng = np.random.default_rng(6)
    y, p = rng.normal(size=(2, 40))
    assert sb.check_errors(y, p, yerr=0.3).pvalue_noisiest is None
    cov = np.diag(np.exp(rng.normal(0, 2, 40))) + 0.1
    assert sb.check_errors(y, p, yerr=sb.Normal(cov=cov)).pvalue_noisiest is None


def test_pulls_have_the_sign_of_a_bias():
    check = sb.check_errors([1.0, 2.0, 3.0], [1.5, 2.5, 3.5], yerr=0.25)
    assert check.pulls.tolist() == [2.0, 2.0, 2.0]
    assert sb.mean_error([1.0, 2.0, 3.0], [1.5, 2.5, 3.5], yerr=0.25).observed > 0


@pytest.mark.parametrize(
    ("factor", "errors", "words"),
    [
        (1.0, 0.5, "as large as the label errors alone"),
        (1.7, 0.5, "errs by more than the label errors explain"),
        (1.0, sb.Normal(0.5, scale_error=0.2), "as large as the label errors alone"),
        (1.3, sb.Normal(0.5, scale_error=0.2), "larger than errors of exactly the quoted size"),
        (1.7, sb.Normal(0.5, scale_error=0.2), "larger than errors of exactly the quoted size"),
        (0.7, sb.Normal(0.5, scale_error=0.2), "smaller than errors of exactly the quoted size"),
        (2.5, sb.Normal(0.5, scale_error=0.2), "errs by more than the label errors explain"),
    ],
)
def test_the_verdict_agrees_with_p_value_and_scale(factor, errors, words):
    """Errors that are known to a fraction allow larger residuals; "as large as the label errors" would contradict the scale."""
    rng = np.random.default_rng(0)
    truth = rng.normal(20.0, 5.0, 200)
    found = sb.check_errors(truth + factor * 0.5 * rng.standard_normal(200), truth, yerr=errors)
    assert words in found.verdict
    low, high = found.scale
    if "exactly" in words:
        assert not low <= 1 <= high and min(found.pvalue_high, found.pvalue_low) >= 0.01
        p = found.pvalue_high if low > 1 else found.pvalue_low
        assert (
            f"consistent with errors scaled by {low:.3g} to {high:.3g}" in found.verdict
            and f"(p = {p:.2g})" in found.verdict
        )
    elif "as large" in words:
        assert low <= 1 <= high
    else:
        assert found.pvalue_high < 0.01
