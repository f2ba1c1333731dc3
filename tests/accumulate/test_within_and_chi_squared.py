"""The share within a tolerance and the reduced chi-squared from batches score as from all labels at once."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb

N = 70_000
RNG = np.random.default_rng(4)
Y = RNG.normal(100.0, 5.0, N)
P = Y + RNG.normal(0.0, 1.0, N)
WEIGHT = RNG.choice([1.0, 2.0, 3.0], N)
SIGMA = {
    "many errors": RNG.lognormal(-0.5, 1.0, N),
    "few errors": RNG.choice([0.0, 0.3, 1.0], N),
    "one error": 0.7,
    "no error": 0.0,
}
WITHIN = partial(sb.fraction_within, tolerance=0.8)


def cut(value, part):
    return value[part] if isinstance(value, np.ndarray) else value


def accumulated(metrics, sigma, weight=None, cuts=(0, 50, 66_000, N), p=P):
    total = sb.Accumulator(metrics)
    for part in (slice(*ends) for ends in pairwise(cuts)):
        total.update(Y[part], p[part], yerr=cut(sigma, part), sample_weight=cut(weight, part))
    return total


@pytest.mark.parametrize("sigma", SIGMA.values(), ids=SIGMA)
def test_share_within_a_tolerance(sigma):
    total = accumulated([WITHIN, "mean_error"], sigma)
    one, whole = total.result()["fraction_within"], WITHIN(Y, P, yerr=sigma)
    for name in ("n", "observed", "expected", "std", "sampling_std"):
        assert getattr(one, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-15), name
    assert one.interval() == pytest.approx(whole.interval(), abs=1e-12)
    assert one.perfect == pytest.approx(float(whole.perfect), rel=1e-12)
    assert one.perfect.std == pytest.approx(whole.perfect.std, rel=1e-12)
    assert one.perfect.interval() == pytest.approx(whole.perfect.interval(), abs=1e-12)
    assert one.total_interval() == pytest.approx(whole.total_interval(), rel=1e-12)
    assert one.remeasured(1) == pytest.approx(float(whole.remeasured(1)), rel=1e-12)
    assert total.result()["mean_error"].expected == pytest.approx(float(np.mean(P - Y)), rel=1e-10)


def test_share_within_against_the_truth_needs_all_labels():
    one = accumulated(WITHIN, 0.7).result()["fraction_within"]
    with pytest.raises(
        sb.UndefinedEstimate, match="fraction within tolerance against the truth needs all labels at once"
    ):
        _ = one.truth
    with pytest.raises(sb.UndefinedEstimate, match="of labels with less error needs all labels at once"):
        one.remeasured(3)
    berkson = sb.Accumulator(WITHIN).update(Y, P, yerr=sb.Normal(0.7, kind="berkson")).result()["fraction_within"]
    assert berkson.truth == berkson.expected == one.expected


@pytest.mark.parametrize("p", [P, Y + 0.4 * (P - Y)], ids=["large", "as large as the errors"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("sigma", [SIGMA["many errors"] + 0.2, 0.4], ids=["many errors", "one error"])
def test_reduced_chi_squared(sigma, weight, p):
    metrics = ["reduced_chi_squared", "mean_error"]
    one = accumulated(metrics, sigma, weight, p=p).result()["reduced_chi_squared"]
    whole = sb.reduced_chi_squared(Y, p, yerr=sigma, sample_weight=weight)
    width = np.ptp(whole.interval())
    for name in ("n", "observed", "expected", "std", "sampling_std", "noise_share"):
        assert getattr(one, name) == pytest.approx(getattr(whole, name), rel=1e-12), name
    for answer in (lambda score: score, lambda score: score.perfect, lambda score: score.truth):
        assert float(answer(one)) == pytest.approx(float(answer(whole)), rel=1e-11)
        assert answer(one).interval() == pytest.approx(answer(whole).interval(), abs=1e-9 * width)
    assert one.remeasured(3) == pytest.approx(float(whole.remeasured(3)), rel=1e-12)
    assert one.pvalue == pytest.approx(whole.pvalue, rel=1e-6, abs=1e-300)


def test_pvalue_of_a_model_that_is_nearly_perfect():
    p = Y + 0.4 * RNG.standard_normal(N)
    one = accumulated("reduced_chi_squared", 0.4, WEIGHT, p=p).result()["reduced_chi_squared"]
    whole = sb.reduced_chi_squared(Y, p, yerr=0.4, sample_weight=WEIGHT)
    assert 1e-6 < whole.pvalue < 1 - 1e-6
    assert one.pvalue == pytest.approx(whole.pvalue, rel=1e-8)


def test_merging_and_json():
    sigma = SIGMA["many errors"]
    metrics = [WITHIN, "reduced_chi_squared", "r2_score"]
    a, b, c = (
        sb.Accumulator(metrics).update(Y[part], P[part], yerr=sigma[part])
        for part in (slice(0, 66_000), slice(66_000, 66_010), slice(66_010, N))
    )
    one, other = ((a + b) + c).result(), (c + (b + a)).result()
    for metric in one.metrics:
        assert one[metric].expected == pytest.approx(other[metric].expected, rel=1e-12)
        assert one[metric].std == pytest.approx(other[metric].std, rel=1e-12)
    text = ((a + b) + c).to_json()
    again = sb.Accumulator.from_json(text)
    assert again.to_json() == text
    assert again.result().to_json() == one.to_json()
    assert again.metrics == a.metrics


def test_few_labels_are_kept_as_they_are():
    metrics = [WITHIN, "reduced_chi_squared"]
    sigma = SIGMA["many errors"][:300]
    one = accumulated(metrics, sigma, cuts=(0, 100, 300)).result()
    assert one.to_dict() == sb.evaluate(Y[:300], P[:300], yerr=sigma, metrics=metrics).to_dict()


def test_bad_input():
    with pytest.raises(ValueError, match=r"fraction_within needs its tolerance: pass functools\.partial"):
        sb.Accumulator("fraction_within")
    with pytest.raises(ValueError, match="tolerance"):
        sb.Accumulator(partial(sb.fraction_within, tolerance=-1.0))
    with pytest.raises(ValueError, match="cannot take fraction_within with multioutput"):
        sb.Accumulator(partial(sb.fraction_within, tolerance=1.0, multioutput="raw_values"))
    with pytest.raises(ValueError, match="fraction_within counts the labels of an accumulator and cannot weight them"):
        sb.Accumulator(WITHIN).update(Y, P, yerr=1.0, sample_weight=WEIGHT)
    total = sb.Accumulator("reduced_chi_squared").update(Y[:10], P[:10], yerr=0.1)
    with pytest.raises(ValueError, match=r"yerr has zeros.*"):
        total.update(Y[:3], P[:3], yerr=[0.1, 0.0, 0.2])
    assert total.n == 10
    sigma = np.where(np.arange(N) == 7, np.nan, 0.1)
    with pytest.raises(ValueError, match=r"yerr.*index 7"):
        total.update(Y, P, yerr=sigma)
    with pytest.raises(OverflowError, match="y_pred has residuals too many errors large: the first is"):
        total.update(1e10 * Y, P, yerr=1e-300)


def test_truth_far_above_the_label_errors():
    """Nodes that stand for bins of labels with few distinct errors tell nothing about tails that far off."""
    sigma, p = RNG.choice([1.0, 1.2, 2.0], N), Y + 30.0 * RNG.standard_normal(N)
    one = accumulated("mean_squared_error", sigma, p=p).result()["mean_squared_error"]
    whole = sb.mean_squared_error(Y, p, yerr=sigma)
    assert one.truth.interval() == pytest.approx(whole.truth.interval(), abs=1e-8 * whole.truth.std)
    law, mean, std = one.distribution, float(one.expected), float(one.std)
    far = mean + std * np.array([-100.0, -60.0, 60.0, 1e3, 1e6])
    assert law.sf(far).tolist() == [1, 1, 0, 0, 0]
    assert law.cdf(far).tolist() == [0, 0, 1, 1, 1]
    assert law.pdf(far).tolist() == [0, 0, 0, 0, 0]
    near = mean + std * np.array([-30.0, 0.5, 30.0])
    assert law.cdf(near) == pytest.approx(whole.distribution.cdf(near), rel=1e-6)
    assert law.sf(near) == pytest.approx(whole.distribution.sf(near), rel=1e-6)
