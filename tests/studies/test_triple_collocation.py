"""Errors of three measurements: unbiased, right whatever their units, honest about how well they are known."""

import pickle

import numpy as np
import pytest

import scorebars as sb


def three(n=60, sigma=(0.3, 0.5, 0.7), seed=0, gain=(1.0, 1.3, 0.8)):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    return [g * truth + s * rng.normal(size=n) for g, s in zip(gain, sigma, strict=True)]


def test_variances_are_the_formula_and_sigma_their_root():
    a, b, c = three()
    found, cov = sb.triple_collocation(a, b, c), np.cov([a, b, c])
    expected = [
        cov[0, 0] - cov[0, 1] * cov[0, 2] / cov[1, 2],
        cov[1, 1] - cov[0, 1] * cov[1, 2] / cov[0, 2],
        cov[2, 2] - cov[0, 2] * cov[1, 2] / cov[0, 1],
    ]
    np.testing.assert_allclose(found.variance, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sigma, np.sqrt(expected), rtol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(
            np.square(found.sigma[k].interval(0.9)), np.maximum(found.variance[k].interval(0.9), 0)
        )


def test_the_mean_over_many_studies_is_right_though_some_are_negative():
    sigma = (0.05, 0.5, 0.5)
    found = np.array(
        [[float(v) for v in sb.triple_collocation(*three(100, sigma, seed)).variance] for seed in range(400)]
    )
    error = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - np.square(sigma)) < 4 * error)
    assert 0.1 < np.mean(found[:, 0] < 0) < 0.6


def test_a_negative_variance_is_kept_and_sigma_is_zero_with_a_note():
    seed = next(s for s in range(50) if float(sb.triple_collocation(*three(30, (0.02, 0.5, 0.5), s)).variance[0]) < 0)
    found = sb.triple_collocation(*three(30, (0.02, 0.5, 0.5), seed))
    assert found.variance[0] < 0 and "negative" in found.variance[0].note
    assert found.sigma[0] == 0 and "cannot be below 0" in found.sigma[0].note
    assert found.sigma[0].std > 0 and found.sigma[0].interval(0.95).high > 0
    assert "Warning: a: no error is seen" in str(found)


@pytest.mark.parametrize("unit", [1e-160, 1e-3, 7.0, 1e160])
def test_units_and_offsets_of_each_measurement_are_its_own(unit):
    a, b, c = three()
    plain, moved = sb.triple_collocation(a, b, c), sb.triple_collocation(a, -unit * (b + 3.0), c - 5.0)
    for k, factor in enumerate((1.0, unit, 1.0)):
        np.testing.assert_allclose(float(moved.sigma[k]), factor * float(plain.sigma[k]), rtol=1e-9)
        np.testing.assert_allclose(moved.sigma[k].interval(), np.multiply(factor, plain.sigma[k].interval()), rtol=1e-6)


def test_the_order_of_the_measurements_does_not_matter():
    a, b, c = three()
    one, other = sb.triple_collocation(a, b, c), sb.triple_collocation(c, a, b)
    np.testing.assert_allclose(np.array(one.variance)[[2, 0, 1]], other.variance, rtol=1e-12)
    np.testing.assert_allclose(
        [one.sigma[k].interval() for k in (2, 0, 1)], [s.interval() for s in other.sigma], rtol=1e-9
    )


def test_the_same_digits_every_time_and_after_pickling():
    found = sb.triple_collocation(*three())
    again = pickle.loads(pickle.dumps(sb.triple_collocation(*three())))
    for k in range(3):
        assert found.sigma[k].interval(0.9) == again.sigma[k].interval(0.9)
        assert found.variance[k].total_interval(0.9) == again.variance[k].interval(0.9)


def test_very_many_items_need_no_draws():
    found = sb.triple_collocation(*three(20_000))
    for sigma, true in zip(found.sigma, (0.3, 0.5, 0.7), strict=True):
        low, high = sigma.interval(0.99)
        assert low < true < high and high - low < 0.05


def test_sigma_goes_into_yerr():
    a, b, c = three()
    found = sb.triple_collocation(a, b, c)
    assert float(sb.mean_squared_error(a, b, yerr=found.sigma[0]).perfect) == pytest.approx(float(found.variance[0]))


def coverage(n, sigma, runs, level=0.95):
    held = np.zeros(3)
    for seed in range(runs):
        found = sb.triple_collocation(*three(n, sigma, 1000 + seed))
        ends = np.array([s.interval(level) for s in found.sigma])
        held += (ends[:, 0] <= sigma) & (sigma <= ends[:, 1])
    return held / runs


def test_intervals_hold():
    held = coverage(60, (0.3, 0.5, 0.7), 200)
    assert np.all((held > 0.90) & (held < 0.99)), held


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("sigma", [(0.3, 0.5, 0.7), (0.1, 0.3, 1.0)])
def test_intervals_hold_for_few_and_many_items(n, sigma):
    held = coverage(n, sigma, 300)
    assert np.all((held > 0.92 - 0.02 * (n == 20)) & (held < 0.985)), held


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": [1.0, 2.0]}, "a and c have inconsistent numbers of samples: 6 and 2"),
        ({"b": [1.0, np.nan, 3.0, 4.0, 5.0, 7.0]}, "b contains NaN: the first is nan at index 1, 1 in all"),
        ({"b": [2.0] * 6}, "b does not vary"),
        ({"b": [[1.0, 2.0]] * 6}, "b must have one number for each label"),
        ({"c": [6.0, 5.0, 4.0, 3.0, 2.0, 2.0], "b": [1.0, 2.0, 3.0, 5.0, 4.0, 6.0]}, None),
    ],
)
def test_bad_input_is_named(change, message):
    given = {
        "a": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
        "b": [1.0, 2.5, 3.0, 4.0, 5.0, 6.0],
        "c": [1.0, 2.0, 3.5, 4.0, 5.0, 6.0],
    }
    if message is None:
        sb.triple_collocation(**{**given, **change})  # a measurement may run the other way round
        return
    with pytest.raises(ValueError, match=message):
        sb.triple_collocation(**{**given, **change})


def test_fewer_than_five_items_are_refused():
    with pytest.raises(ValueError, match=r"needs at least 5 items .* got 4"):
        sb.triple_collocation([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 2, 4])


def test_measurements_of_different_things_are_refused():
    a, b, _ = three(40)
    c = a / np.std(a) - b / np.std(b)  # follows one of the two, and the other backwards
    with pytest.raises(sb.UndefinedEstimate, match="do not vary together as measurements of one quantity"):
        sb.triple_collocation(a, b, c)


def test_one_of_three_goes_into_yerr():
    rng = np.random.default_rng(0)
    truth = rng.normal(20.0, 5.0, 200)
    found = sb.triple_collocation(*(truth + rng.normal(0.0, 1.0, (3, 200))))
    assert sb.mean_squared_error(truth, truth + 1, yerr=found.yerr[1]).truth.std > 0
    for whole in (found, found.yerr):
        with pytest.raises(ValueError, match=r"yerr holds 3 error models.*pass that of the labels, found\.yerr\[0\]"):
            sb.mean_squared_error(truth, truth + 1, yerr=whole)
