"""Labels that are means of repeats."""

import math

import numpy as np
import pytest

import scorebars as sb
from scorebars.errors.estimated_sizes import c4, shrinkage_prior


def test_three_forms_agree():
    table = [[1.0, 1.2, 1.1], [2.0, 2.4, math.nan]]
    ragged = [[1.0, 1.2, 1.1], [2.0, 2.4]]
    values, groups = [2.0, 1.0, 1.2, 2.4, 1.1], ["b", "a", "a", "b", "a"]
    first, second, third = sb.Repeats(table), sb.Repeats(ragged), sb.Repeats(values, groups)
    assert np.allclose(first.means, second.means) and np.allclose(first.means, third.means[::-1])
    assert np.allclose(first.sigma, [0.1, np.sqrt(0.08)]) and np.allclose(third.sigma, first.sigma[::-1])
    assert first.repeats.tolist() == [3.0, 2.0]
    summary = sb.Repeats.from_summary(sd=first.sigma, n=[3, 2])
    assert np.allclose(summary.sigma, first.sigma) and summary.means is None


def test_c4():
    exact = [0.7978845608028653558, 0.8862269254527580136, 0.9399856029866251884, 0.9726592741215882433]
    assert [c4(float(n - 1)) for n in (2, 3, 5, 10)] == pytest.approx(exact, rel=1e-14)
    assert c4(math.inf) == 1.0


def test_known_errors_against_reference():
    y, p = [1.0, 0.25, -0.5, 2.0], [0.5, 0.5, 0.0, 1.0]
    errors = sb.Repeats.from_means(sigma=[0.5, 0.25, 0.75, 1.0], n=[4, 2, 3, 5])
    s = sb.mean_squared_error(y, p, yerr=errors)
    assert (s.observed, s.expected) == (0.390625, 0.859375)
    assert s.truth.value == pytest.approx(0.2703125, rel=1e-13)
    assert s.truth.std**2 == pytest.approx(0.0561083984375, rel=1e-13)
    assert s.remeasured(1).value == pytest.approx(0.7390625, rel=1e-13)
    assert sb.root_mean_squared_error(y, p, yerr=errors).truth.value == pytest.approx(0.5199158585771355, rel=1e-13)
    a = sb.mean_absolute_error(y, p, yerr=errors)
    assert a.expected == pytest.approx(0.69207090444837686, rel=1e-13)
    assert a.remeasured(1).value == pytest.approx(0.64431681695257117, rel=1e-13)


def test_labels_come_from_the_model():
    repeats = sb.Repeats([[1.0, 1.2], [2.0, 2.4], [0.0, 0.2]])
    assert sb.mean_squared_error(None, [1.0, 2.0, 0.0], yerr=repeats) == sb.mean_squared_error(
        repeats.means, [1.0, 2.0, 0.0], yerr=repeats
    )


@pytest.mark.parametrize("way", ["per_item", "pooled"])
def test_truth_is_unbiased_with_its_stated_variance(way):
    rng = np.random.default_rng(1)
    m = 40
    d, t = rng.normal(0, 0.6, m), rng.normal(0, 3, m)
    sigma = rng.uniform(0.3, 1.2, m) if way == "per_item" else np.full(m, 0.7)
    values, variances = [], []
    for _ in range(800):
        rows = t[:, None] + sigma[:, None] * rng.standard_normal((m, 4))
        rows[::3, 3] = np.nan
        truth = sb.mean_squared_error(None, t - d, yerr=sb.Repeats(rows, sigma=way)).truth
        values.append(truth.value)
        variances.append(truth.std**2)
    noise = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - np.mean(d**2)) < 4 * noise
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.15)


def test_shrinkage_recovers_its_prior_and_the_mean_variance():
    rng = np.random.default_rng(2)
    d0, s0, m, n = 6.0, 0.5, 4000, 3
    true = d0 * s0**2 / rng.chisquare(d0, m)
    rows = np.sqrt(true)[:, None] * rng.standard_normal((m, n))
    degrees, variance = shrinkage_prior(rows.var(axis=1, ddof=1), np.full(m, n - 1.0))
    assert degrees == pytest.approx(d0, rel=0.25) and variance == pytest.approx(s0**2, rel=0.1)
    shrunk = sb.Repeats(rows, sigma="shrunk")
    assert np.mean(np.square(shrunk.sigma)) == pytest.approx(np.mean(true), rel=0.06)


def test_equal_variances_are_pooled():
    rows = np.random.default_rng(3).standard_normal((6, 50))
    assert np.ptp(sb.Repeats(rows, sigma="shrunk").sigma) < 0.2
    single = sb.Repeats([[1.0, 2.0], [3.0]], sigma="pooled")
    assert single.sigma.tolist() == pytest.approx([np.sqrt(0.5)] * 2)


def test_reliability():
    rng = np.random.default_rng(4)
    t = rng.normal(0, 2, 3000)
    rows = t[:, None] + rng.standard_normal((3000, 3))
    assert sb.Repeats(rows).reliability == pytest.approx(0.8, abs=0.02)
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] == pytest.approx(sb.Repeats(rows).reliability, abs=0.02)


def test_subset_and_scale():
    r = sb.Repeats([[1.0, 1.2, 1.1], [2.0, 2.4, 2.2], [0.0, 0.3, 0.1]])
    part = r[[0, 2]]
    assert part.size == 2 and part.repeats.tolist() == [3.0, 3.0] and np.allclose(part.means, r.means[[0, 2]])
    assert np.allclose(r.scaled(10.0).sigma, 10 * r.sigma)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sb.Repeats([[1.0, 2.0], [3.0, math.nan]]),
            "labels with a single repeat.*first is 1.0 at index 1, 1 in all",
        ),
        (lambda: sb.Repeats([[1.0], [3.0]]), "no label has more than one repeat"),
        (lambda: sb.Repeats([[1.0, 2.0]], sigma="guess"), "sigma must be 'per_item', 'pooled' or 'shrunk'"),
        (lambda: sb.Repeats([[math.nan, math.nan], [1.0, 2.0]]), "rows without any repeat"),
        (lambda: sb.Repeats([1.0, 2.0]), "one row of repeats for each label"),
        (lambda: sb.Repeats([1.0, 2.0], [1]), "inconsistent numbers of samples"),
        (lambda: sb.Repeats([[1.0, math.inf]]), "values contains infinity"),
        (lambda: sb.Repeats.from_means(sigma=1.0, n=0), "n = 0 is not a number of repeats"),
        (lambda: sb.Repeats.from_means(sigma=[1.0, 2.0], n=[1, 2, 3]), "different numbers of labels"),
        (lambda: sb.Repeats.from_means(sigma=1.0, n=[1, 2.5]), "first is 2.5 at index 1, 1 in all"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_shrinkage_keeps_the_mean_variance(count):
    """Half of the labels precise: the posterior mean of a wild prior made the noise floor many times too large."""
    rng = np.random.default_rng(5)
    rows = np.where(np.arange(50) % 2, 0.05, 1.0)[:, None] * rng.standard_normal((50, count))
    own, shrunk = sb.Repeats(rows), sb.Repeats(rows, sigma="shrunk")
    assert np.mean(np.square(shrunk.sigma)) == pytest.approx(np.mean(np.square(own.sigma)), rel=1e-12)


def test_explanation_remeasures_with_the_present_repeats():
    errors = sb.Repeats.from_means(sigma=0.5, n=3)
    score = sb.mean_squared_error([1.0, 2.0, 3.5], [1.2, 1.5, 3.0], yerr=errors)
    text = score.explain()
    assert "each the mean of 3 repeats" in text and f"remeasured {score.remeasured(3).value:.2f}"[:13] in text


@pytest.mark.parametrize("repeats", [2, 3, 8])
def test_the_noise_floor_of_shrunk_errors_is_unbiased_where_half_of_the_labels_are_exact(repeats):
    rng = np.random.default_rng(3)
    sigma = np.repeat([0.0, 20.0], 100)
    floors = []
    for _ in range(40):
        errors = sb.Repeats(sigma[:, None] * rng.standard_normal((200, repeats)), sigma="shrunk")
        floors.append(float(sb.mean_squared_error(None, np.zeros(200), yerr=errors).perfect))
    exact = float(np.mean(np.square(sigma))) / repeats
    assert abs(np.mean(floors) - exact) < 4 * np.std(floors) / np.sqrt(len(floors))
