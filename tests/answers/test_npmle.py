"""The score against the truth from the most likely law of the true residuals."""

import math
import pickle

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers.truth.true_residuals import FEWEST, MeanOfLoss, true_residuals
from scorebars.losses import AbsoluteError, Pinball, SquaredError
from scorebars.measured import Measured

LAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "laplace": lambda rng, n: rng.laplace(size=n) / math.sqrt(2),
    "two points": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "80 % zeros": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, math.sqrt(5) * rng.standard_normal(n)),
}
POPULATION = {
    "normal": math.sqrt(2 / math.pi),
    "laplace": math.sqrt(0.5),
    "two points": 1.0,
    "80 % zeros": 0.2 * math.sqrt(10 / math.pi),
}


def sample(law, n, noise, seed):
    rng = np.random.default_rng(seed)
    true = LAWS[law](rng, n)
    sd = np.broadcast_to(noise, (n,))
    return true, true + sd * rng.standard_normal(n), sd


def score(d, sd, **more):
    return sb.mean_absolute_error(d, np.zeros(len(d)), yerr=sd, **more)


# the law of the residuals ------------------------------------------------------------------------


def test_one_fit_serves_every_loss():
    true, d, sd = sample("laplace", 3000, 0.4, seed=1)
    residuals = true_residuals(Measured(d, np.zeros(3000), sb.Normal(sd)))
    assert MeanOfLoss(residuals, AbsoluteError()).value == pytest.approx(np.mean(np.abs(true)), abs=0.06)
    assert MeanOfLoss(residuals, SquaredError()).value == pytest.approx(np.mean(d**2) - 0.16, abs=0.02)
    pinball = np.mean(np.where(true > 0, 0.9 * true, -0.1 * true))
    assert MeanOfLoss(residuals, Pinball(0.9)).value == pytest.approx(pinball, abs=0.03)


def test_labels_without_error_keep_their_residuals():
    true, d, sd = sample("normal", 200, 0.5, seed=2)
    sd = np.where(np.arange(200) < 100, 0.0, sd)
    d = np.where(sd == 0, true, d)
    residuals = true_residuals(Measured(d, np.zeros(200), sb.Normal(sd)))
    assert sorted(residuals.known) == sorted(true[:100]) and residuals.fitted_share == pytest.approx(0.5)
    alone = score(d[100:], sd[100:]).truth
    both = score(d, sd).truth
    assert both == pytest.approx((np.mean(np.abs(true[:100])) + alone) / 2, rel=1e-9)
    assert both.std == pytest.approx(alone.std / 2, rel=1e-3)


# which estimate ----------------------------------------------------------------------------------


def test_method_and_note():
    _, d, sd = sample("normal", FEWEST, 0.5, seed=3)
    many, few = score(d, sd), score(d[:-1], sd[:-1])
    assert (many.truth.method, few.truth.method) == ("npmle", "simex")
    for truth in (many.truth, few.truth):
        assert "<= truth <=" in truth.note and "no unbiased one exists" in truth.note


def test_simex_where_errors_are_correlated_or_labels_count_unequally():
    _, d, sd = sample("normal", 60, 0.5, seed=4)
    assert score(d, sb.Normal(sd, shared=np.full(60, 0.1))).truth.method == "simex"
    assert score(d, sd, sample_weight=np.where(np.arange(60) < 5, 1.0, 1e-6)).truth.method == "simex"
    assert score(d, np.where(np.arange(60) < 20, sd, 0.0)).truth.method == "simex"


def test_errors_too_small_for_the_grid():
    true, d, _ = sample("normal", 500, 1e-6, seed=5)
    truth = score(d, 1e-6).truth
    assert truth == pytest.approx(np.mean(np.abs(true)), abs=1e-6) and truth.std < 1e-6


def test_berkson_errors_need_no_deconvolution():
    _, d, _ = sample("normal", 60, 0.5, seed=6)
    s = score(d, sb.Normal(0.5, kind="berkson"))
    assert s.truth == s.expected


# properties --------------------------------------------------------------------------------------


def answers(truth):
    return [float(truth), truth.std, *truth.interval(0.9), *truth.total_interval(0.9)]


def test_order_sign_and_unit_do_not_matter():
    _, d, sd = sample("laplace", 150, np.linspace(0.2, 0.8, 150), seed=7)
    one = answers(score(d, sd).truth)
    mixed = np.random.default_rng(8).permutation(150)
    assert answers(score(d[mixed], sd[mixed]).truth) == pytest.approx(one, rel=2e-3)
    assert answers(score(-d, sd).truth) == pytest.approx(one, rel=2e-3)
    for unit in (2.0**-700, 2.0**-20, 2.0**600):
        assert np.array(answers(score(d * unit, sd * unit).truth)) / unit == pytest.approx(one, rel=2e-3)


def test_weights_count_like_repeated_labels():
    _, d, sd = sample("normal", 80, 0.5, seed=9)
    count = np.where(np.arange(80) % 2, 1, 3)
    weighted, repeated = score(d, sd, sample_weight=count), score(np.repeat(d, count), np.repeat(sd, count))
    assert float(weighted.truth) == pytest.approx(float(repeated.truth), rel=1e-2)
    assert float(score(d, sd, sample_weight=np.full(80, 7.0)).truth) == pytest.approx(
        float(score(d, sd).truth), rel=1e-9
    )
    # labels of no weight are not there
    padded = score(np.append(d, 1e6), np.append(sd, 0.5), sample_weight=np.append(np.ones(80), 0.0))
    assert answers(padded.truth) == pytest.approx(answers(score(d, sd).truth), rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_intervals_hold_the_estimate_and_grow_with_the_level(law):
    _, d, sd = sample(law, 120, 0.4, seed=10)
    truth = score(d, sd).truth
    last = (float(truth), float(truth))
    for level in (0.3, 0.683, 0.9, 0.99):
        low, high = truth.interval(level)
        assert 0 <= low < last[0] and high > last[1]
        last = (low, high)
    narrow, wide = truth.interval(0.9), truth.total_interval(0.9)
    assert wide.high - wide.low > 0.9 * (narrow.high - narrow.low)
    assert truth.std == pytest.approx((truth.interval(0.6827).high - truth.interval(0.6827).low) / 2, rel=0.01)


def test_no_label_error_leaves_only_the_sample():
    """Towards exact labels the truth is the observed score, and its population interval that of a sample mean."""
    _, d, _ = sample("normal", 400, 0.0, seed=11)
    truth = score(d, 0.03).truth
    assert truth.method == "npmle"
    assert float(truth) == pytest.approx(np.mean(np.abs(d)), abs=3e-3)
    classical = 1.96 * np.std(np.abs(d)) / 20
    low, high = truth.total_interval(0.95)
    assert (high - low) / 2 == pytest.approx(classical, rel=0.08)
    assert truth.std == pytest.approx(0.03 / 20, rel=0.25)


def test_perfect_model():
    rng = np.random.default_rng(12)
    truth = score(0.5 * rng.standard_normal(300), 0.5).truth
    assert float(truth) < 0.12 and truth.interval(0.95).low == 0.0


def test_same_residual_everywhere():
    truth = score(np.zeros(40), 1.0).truth
    low, high = truth.interval(0.95)
    assert float(truth) == pytest.approx(0, abs=0.02) and low == 0 and 0.01 < high < 1 and truth.std > 0
    assert float(score(np.full(40, 3.0), 0.5).truth) == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("ratio", [1e-8, 1e-4, 1e4, 1e8])
def test_errors_of_any_size(ratio):
    _, d, _ = sample("laplace", 60, 0.0, seed=13)
    for sd in (np.full(60, ratio), np.where(np.arange(60) % 3, ratio, 1.0), ratio ** np.linspace(0, 1, 60)):
        found = answers(score(d, sd).truth)
        assert np.all(np.isfinite(found)) and min(found) >= 0
        assert found[2] <= found[0] <= found[3] and found[4] <= found[0] <= found[5]


def test_outliers_do_not_coarsen_the_grid():
    true, d, sd = sample("normal", 400, 0.3, seed=14)
    d[:2] = [1e5, -1e6]
    truth = score(d, sd).truth
    rest = (float(truth) * 400 - 1.1e6) / 398
    assert float(truth) == pytest.approx((np.abs(true[2:]).sum() + 1.1e6) / 400, rel=1e-4)
    assert rest == pytest.approx(np.mean(np.abs(true[2:])), abs=1.0)


def test_several_outputs_are_one_item():
    _, d, _ = sample("normal", 200, 0.4, seed=15)
    twice = np.stack([d, d], axis=1)
    one, two = score(d, 0.4).truth, sb.mean_absolute_error(twice, np.zeros((200, 2)), yerr=0.4).truth
    assert float(two) == pytest.approx(float(one), rel=1e-2)
    width_one, width_two = (t.total_interval(0.9).high - t.total_interval(0.9).low for t in (one, two))
    assert width_two == pytest.approx(width_one, rel=0.05)


def test_uncertainty_is_found_when_asked_for_and_survives_pickling():
    _, d, sd = sample("normal", 100, 0.5, seed=16)
    truth = score(d, sd).truth
    again = pickle.loads(pickle.dumps(truth))
    assert callable(truth.__dict__["_std"]) and callable(again.__dict__["_std"])
    assert again.std == truth.std and not callable(truth.__dict__["_std"])
    assert answers(pickle.loads(pickle.dumps(truth))) == answers(truth)
    assert str(truth) == str(again) and "npmle" in repr(truth)


# labels measured with less error -----------------------------------------------------------------


def test_remeasured_runs_from_observed_to_the_truth():
    true, d, sd = sample("normal", 800, 0.6, seed=17)
    s = score(d, sd)
    repeats = [1, 2, 4, 16, 256, math.inf]
    found = [float(s.remeasured(k)) for k in repeats]
    assert found[0] == s.observed and found[-1] == float(s.truth)
    assert found == sorted(found, reverse=True)
    assert found[-2] == pytest.approx(found[-1], abs=5e-3)
    fresh = np.mean([np.abs(true + 0.3 * np.random.default_rng(k).standard_normal(800)).mean() for k in range(200)])
    assert found[2] == pytest.approx(fresh, abs=0.03)
    assert [s.remeasured(k).method for k in (1, 4)] == ["unbiased", "npmle"]


def test_squared_loss_agrees_with_the_unbiased_estimate():
    """The same law gives the MSE, for which an unbiased estimate and its exact std are known."""
    _, d, sd = sample("normal", 500, 0.5, seed=18)
    mean = MeanOfLoss(true_residuals(Measured(d, np.zeros(500), sb.Normal(sd))), SquaredError())
    unbiased = sb.mean_squared_error(d, np.zeros(500), yerr=sd).truth
    assert mean.value == pytest.approx(float(unbiased), abs=0.01)
    assert mean.std() == pytest.approx(unbiased.std, rel=0.15)
    assert mean.total_interval(0.95) == pytest.approx(unbiased.total_interval(0.95), rel=0.06)


@pytest.mark.parametrize("spread", [0.0, pytest.param(0.7, marks=pytest.mark.slow)])
def test_a_million_labels(spread):
    rng = np.random.default_rng(19)
    n = 10**6
    sd = 0.5 * np.exp(spread * rng.standard_normal(n))
    true = rng.standard_normal(n)
    data = Measured(true + sd * rng.standard_normal(n), np.zeros(n), sb.Normal(sd))
    mean = MeanOfLoss(true_residuals(data), AbsoluteError())
    assert len(mean.residuals.fit.cells.share) <= 8000
    low, high = mean.interval(0.999)
    assert low <= np.mean(np.abs(true)) <= high
    assert mean.value == pytest.approx(np.mean(np.abs(true)), abs=0.02)


# against simulation ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "npmle", "simex"),
    [("normal", 0.0, 0.01), ("laplace", 0.0, 0.04), ("two points", -0.02, -0.06), ("80 % zeros", 0.06, 0.22)],
)
def test_bias_is_below_that_of_simex(law, npmle, simex):
    """Unit-sd residuals, label error 0.7, 500 labels: the bias of both estimates."""
    rows = []
    for seed in range(60):
        true, d, sd = sample(law, 500, 0.7, seed)
        s = score(d, sd)
        rows.append(np.array([s.truth, s._answers._extrapolated(s._answers._labels())]) - np.mean(np.abs(true)))
    found, spread = np.mean(rows, axis=0), np.std(rows, axis=0) / math.sqrt(60)
    assert found[0] == pytest.approx(npmle, abs=0.01 + 3 * spread[0])
    assert found[1] == pytest.approx(simex, abs=0.01 + 3 * spread[1])
    if law in ("two points", "80 % zeros"):
        assert abs(found[0]) < abs(found[1]) / 2


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "noise"), [(40, 0.5), (400, 0.7), (400, 0.2)])
def test_coverage(law, n, noise):
    """95 % intervals: of the items at hand, and of the population they come from. They may hold it more often."""
    items, population = [], []
    for seed in range(200):
        true, d, sd = sample(law, n, noise, seed)
        truth = score(d, sd).truth
        (low, high), (lowest, highest) = truth.interval(0.95), truth.total_interval(0.95)
        items.append(low <= np.mean(np.abs(true)) <= high)
        population.append(lowest <= POPULATION[law] <= highest)
    assert np.mean(items) > 0.88 and np.mean(population) > 0.89


# the bootstrap -----------------------------------------------------------------------------------


def test_bootstrap_agrees_with_the_profile():
    _, d, sd = sample("normal", 120, 0.5, 21)
    truth = score(d, sd).truth
    drawn = truth.bootstrap(30, rng=1)
    assert drawn == truth
    assert drawn.method == "npmle"
    assert drawn.note.endswith("uncertainty from 30 bootstrap draws")
    assert 0.6 < drawn.std / truth.std < 1.6
    for ends, profiled in (
        (drawn.interval(0.8), truth.interval(0.8)),
        (drawn.total_interval(), truth.total_interval()),
    ):
        assert 0.4 < (ends.high - ends.low) / (profiled.high - profiled.low) < 1.8
        assert ends.low < truth.value + truth.std
        assert ends.high > truth.value - truth.std


def test_bootstrap_repeats_with_its_seed():
    _, d, sd = sample("laplace", 40, 0.5, 22)
    sd = sd.copy()
    sd[:5] = 0.0  # labels known exactly keep their residuals
    truth = score(d, sd).truth
    again = pickle.loads(pickle.dumps(truth))
    assert truth.bootstrap(4, rng=3).interval() == truth.bootstrap(4, rng=3).interval()
    assert truth.bootstrap(4, rng=3).interval() == pytest.approx(again.bootstrap(4, rng=3).interval(), rel=1e-9)
    assert truth.bootstrap(4, rng=3).std != truth.bootstrap(4, rng=4).std
    assert sb.huber_loss(d, np.zeros(40), yerr=sd).truth.bootstrap(3).std > 0


def test_only_fitted_laws_have_a_bootstrap():
    _, d, sd = sample("normal", 40, 0.5, 23)
    with pytest.raises(sb.UndefinedEstimate, match="method='unbiased' has no bootstrap"):
        sb.mean_squared_error(d, np.zeros(40), yerr=sd).truth.bootstrap()
    with pytest.raises(ValueError, match="draws must be at least 2, got 1"):
        score(d, sd).truth.bootstrap(1)
