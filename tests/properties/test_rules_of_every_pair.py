"""Every metric under every error model obeys the rules that any score with error bars obeys.

Each pair of the registry meets one rule in the quick tests, a different one from pair to pair, and all of them in the slow ones.
"""

import math
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorebars as sb
from scorebars.metrics.registry import declarations

sys.path.insert(0, str(Path(__file__).parents[1] / "statistical"))
from experiment import predictions_of, situations

N = 10
"""Two batches; a world whose errors depend on the place of a label looks the same from both ends."""
ADDITIVE = ("Normal", "Normal(cov)", "Normal(shared)", "Normal(batch)", "Normal(dof)", "SplitNormal", "Uniform", "Triangular",
            "Laplace", "StudentT", "Rounding", "Repeats", "Normal(berkson)")  # fmt: skip
"""Worlds whose errors know nothing of the size of the label."""


class Data:
    """Labels, predictions and error model of one pair, and ways to change them."""

    def __init__(self, situation, seed):
        self.situation, world = situation, situation.world
        rng = np.random.default_rng(seed)
        self.items = world.items(rng, situation.n)
        if world.task == "classification":  # every class is there
            self.items.truth[: world.classes] = np.arange(world.classes)
        self.measured = world.measure(rng, self.items)
        self.labels = world.shown(self.measured)
        self.model = world.model(self.measured, self.items)
        self.predictions = predictions_of(situation.metric, world, self.items.prediction)

    def score(self, labels=None, predictions=None, model=None, **options):
        labels = self.labels if labels is None else labels
        predictions = self.predictions if predictions is None else predictions
        return self.situation.score(labels, predictions, yerr=self.model if model is None else model, **options)

    def reversed(self):
        """The same items from the last to the first."""
        found = object.__new__(Data)
        found.situation, world = self.situation, self.situation.world
        arrays = {name: value[::-1] for name, value in vars(self.items).items() if value is not None}
        found.items = replace(self.items, **arrays)
        found.measured = self.measured[::-1]
        found.labels = world.shown(found.measured)
        found.model = world.model(found.measured, found.items)
        found.predictions = predictions_of(self.situation.metric, world, found.items.prediction)
        return found

    def moved(self, factor=1.0, shift=0.0):
        """Labels and predictions in another unit or from another origin."""
        return self.labels * factor + shift, moved(self.predictions, factor, shift)


def moved(predictions, factor, shift):
    if isinstance(predictions, sb.NormalForecast):
        return sb.NormalForecast(predictions.mean * factor + shift, predictions.std * factor)
    return predictions * factor + shift


def alike(one, other, exact=1e-9, drawn=0.2):
    """The same expected value and std; scores that are drawn agree to their noise."""
    assert one.observed == pytest.approx(other.observed, rel=1e-9, abs=1e-12)
    simulated = "simulation" in (one.method, other.method)
    if not math.isfinite(other.expected) or not math.isfinite(other.std):
        assert (one.expected, one.std) == (other.expected, other.std)
        return
    slack = drawn * other.std if simulated else 0.0
    assert one.expected == pytest.approx(other.expected, rel=exact, abs=slack + 1e-12)
    # a std far below the value is the difference of two large numbers
    assert one.std == pytest.approx(other.std, rel=max(1e-6, drawn * simulated), abs=1e-9 * abs(other.expected) + 1e-12)


def order(data):
    alike(data.reversed().score(), data.score())


def origin(data):
    if data.situation.world.name not in ADDITIVE:
        return
    labels, predictions = data.moved(shift=3.0)
    before, after = data.score(), data.score(labels, predictions)
    if after.observed == pytest.approx(before.observed, rel=1e-12, abs=1e-14):  # a metric that knows no origin
        alike(after, before)


def unit(data):
    if data.situation.world.task == "classification":
        return
    labels, predictions = data.moved(factor=4.0)
    degree = declarations()[data.situation.metric].degree
    if degree is None:
        return
    before, after = data.score(), data.score(labels, predictions, data.model.scaled(4.0))
    scale = 4.0**degree
    if after.observed != pytest.approx(
        scale * before.observed, rel=1e-12
    ):  # an option has a unit, or there is a logarithm
        return
    if not math.isfinite(before.expected):
        assert not math.isfinite(after.expected)
        return
    slack = 0.2 * before.std if before.method == "simulation" else 0.0
    assert after.expected / scale == pytest.approx(before.expected, rel=1e-9, abs=slack + 1e-12)
    assert after.std / scale == pytest.approx(before.std, rel=0.2 if slack else 1e-6, abs=1e-9 * abs(before.expected))


def tiny_errors(data):
    """Errors that vanish leave the classical metric."""
    if data.situation.world.task == "classification" or data.situation.metric == "reduced_chi_squared":
        return
    small = data.model.scaled(1e-9)
    if small is data.model or data.situation.world.name in ("Poisson", "Empirical", "LogNormal"):
        return  # their size is that of the labels
    if len(np.unique(data.labels)) < len(data.labels):
        return  # labels that are equal: the smallest error breaks the tie, and ranks follow
    s = data.score(model=small)
    if not math.isfinite(s.expected):  # long tails reach a label of 0, by which a percentage divides
        return
    assert s.expected == pytest.approx(s.observed, rel=1e-6, abs=1e-6)
    assert s.std <= 1e-6 * max(abs(s.observed), 1.0)


def nesting(data):
    """A higher level never has a shorter interval."""
    s = data.score()
    asks = {
        "interval": lambda: s,
        "truth": lambda: s.truth,
        "remeasured": lambda: s.remeasured(data.situation.world.repeats),
    }
    for name, ask in {**asks, "perfect": lambda: s.perfect}.items():
        try:
            found = [ask().interval(level) for level in (0.5, 0.9, 0.99)]
        except sb.UndefinedEstimate as why:
            assert len(str(why)) > 20
            continue
        for inner, outer in pairwise(found):
            slack = 1e-9 * max(map(abs, (*inner, 1e-12)))
            assert outer[0] <= inner[0] + slack and inner[1] <= outer[1] + slack, name


def quantiles(data):
    """The quantile function is the inverse of the distribution function, which never falls."""
    law = data.score().distribution
    ends = [float(law.ppf(q)) for q in (0.05, 0.3, 0.5, 0.8, 0.97)]
    assert ends == sorted(ends)
    for q, x in zip((0.05, 0.3, 0.5, 0.8, 0.97), ends, strict=True):
        if not math.isfinite(x):
            continue
        step = 1e-7 * max(abs(x), 1e-12)
        assert float(law.cdf(x + step)) >= q - 1e-5 and float(law.cdf(x - step)) <= q + 1e-5
    found = [float(law.cdf(x)) for x in np.linspace(ends[0], ends[-1], 9)] if all(map(math.isfinite, ends)) else [0, 1]
    assert all(after >= before - 1e-9 for before, after in pairwise(found))


def single_precision(data):
    """Labels in single precision are the numbers that they are."""
    if data.situation.world.task == "classification" or isinstance(data.predictions, sb.Forecast):
        return
    labels, predictions = data.labels.astype(np.float32), data.predictions.astype(np.float32)
    alike(data.score(labels, predictions), data.score(labels.astype(float), predictions.astype(float)), exact=1e-6)


def pickled(data):
    s = data.score()
    again = pickle.loads(pickle.dumps(s))
    assert (again.expected, again.std, again.observed) == (s.expected, s.std, s.observed)
    assert tuple(again.interval(0.9)) == pytest.approx(tuple(s.interval(0.9)), rel=1e-12)


def threads(data):
    """Scores computed side by side are those of one after the other, to the last bit."""
    alone = data.score()
    with ThreadPoolExecutor(3) as pool:
        found = [one.result() for one in [pool.submit(data.score) for _ in range(3)]]
    for s in found:
        assert (s.expected, s.std) == (alone.expected, alone.std) or not math.isfinite(alone.expected)


def equal_weights(data):
    """One weight for all is none."""
    if not declarations()[data.situation.metric].weights:
        return
    try:
        weighted = data.score(sample_weight=np.full(len(data.labels), 2.0))
    except ValueError as why:
        assert "sample_weight" in str(why)
        return
    alike(weighted, data.score(), exact=1e-8)


RULES = (order, origin, unit, tiny_errors, nesting, quantiles, single_precision, pickled, threads, equal_weights)
PAIRS = situations(N)


def obeys(situation, rule, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scores that do not exist say so in other tests
        try:
            data = Data(situation, seed)
            data.score()
        except ValueError as why:  # a model that the metric refuses, said clearly
            assert len(str(why)) > 20
            return
        rule(data)


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=lambda k: f"{PAIRS[k].metric}-{PAIRS[k].world.name}")
def test_one_rule(place):
    obeys(PAIRS[place], RULES[(place + place // len(RULES)) % len(RULES)], seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("situation", PAIRS, ids=lambda s: f"{s.metric}-{s.world.name}")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule(situation, rule):
    obeys(situation, rule, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.integers(0, len(PAIRS) - 1), seed=st.integers(0, 2**32 - 1))
def test_other_data(rule, place, seed):
    obeys(PAIRS[place], rule, seed)


def test_every_rule_is_met_by_every_world():
    """The rotation leaves no error model out of any rule that it could break."""
    met = {(RULES[(k + k // len(RULES)) % len(RULES)].__name__, s.world.name) for k, s in enumerate(PAIRS)}
    assert len(met) > 0.8 * len(RULES) * len({s.world.name for s in PAIRS})
