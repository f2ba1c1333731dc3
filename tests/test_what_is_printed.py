"""Every printed error says where it comes from, for every metric under every error model."""

import math
import re
import warnings

import numpy as np
import pytest

import scorebars as sb
from scorebars._shared.score_views import with_both_errors
from scorebars.metrics.registry import entry_of
from scorebars.studies import capabilities as table

PAIRS = table.pairs()
NUMBER = r"\(?-?(?:[\d.]+(?:e[+-]\d+)?|inf|nan)"
ERROR = r"(?: ± (?:[\de.+-]+|inf) \({}\))?"
PRINTED = re.compile(rf"{NUMBER}{ERROR.format('labels')}{ERROR.format('sample')}(?:\)e[+-]\d+)?")


def score_of(metric, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return table.sample_score(metric, model)
        except ValueError as why:
            pytest.skip(f"refused: {why}")


@pytest.mark.parametrize(("metric", "family", "model"), PAIRS, ids=[f"{m}-{f}" for m, f, _ in PAIRS])
def test_every_error_is_named(metric, family, model):
    s = score_of(metric, model)
    if not isinstance(s, sb.Score):
        pytest.skip("an estimate or a matrix")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [str(s)]
        for ask in (lambda: s.truth, lambda: s.perfect, lambda: s.remeasured(1)):
            try:
                texts.append(str(ask()))
            except sb.UndefinedEstimate:
                continue
        sentence, explained, share = s.sentence(), s.explain(), s.noise_share
    for text in texts:
        assert PRINTED.fullmatch(text), text
    for line in explained.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("expected", "truth", "remeasured", "perfect") and not rest.startswith("cannot"):
            assert PRINTED.fullmatch(rest.partition(": ")[0]), line
    assert sentence.startswith(entry_of(metric).declaration.title)
    assert re.sub(r"± (?:[\de.+-]+|inf) \((?:labels|sample)\)", "", sentence).count("±") == 0
    assert share is None or 0 <= share <= 1


LOSSES = ["mean_squared_error", "mean_absolute_error", "median_absolute_error", "zero_one_loss", "log_loss"]


@pytest.mark.parametrize("metric", LOSSES)
def test_noise_share_is_what_the_truth_lacks_of_the_observed_error(metric):
    model = next(m for name, _, m in PAIRS if name == metric)
    s = score_of(metric, model)
    assert s.noise_share == pytest.approx(min(max(1 - s.truth / s.observed, 0), 1), rel=1e-12)


def test_noise_share_of_roots_and_shares():
    y, p = np.array([3.0, -0.5, 2.0, 7.0]), np.array([2.5, 0.0, 2.0, 8.0])
    squared, root = sb.mean_squared_error(y, p, yerr=0.3), sb.root_mean_squared_error(y, p, yerr=0.3)
    assert root.noise_share == squared.noise_share == pytest.approx(0.09 / 0.375)
    a = sb.accuracy_score([1] * 100, [1] * 85 + [0] * 15, yerr=0.05)
    assert a.noise_share == pytest.approx(1 - (1 - a.truth) / 0.15)


@pytest.mark.parametrize(
    "score",
    [
        lambda y, p: sb.mean_error(y, p, yerr=0.3),
        lambda y, p: sb.pearson_correlation(y, p, yerr=0.3),
        lambda y, p: sb.kendall_correlation(y, p, yerr=0.3),
        lambda y, p: sb.mean_squared_error(y, p, yerr=sb.Normal(0.3, kind="berkson")),
        lambda y, p: sb.mean_squared_error(y, y, yerr=0.3),
    ],
    ids=["bias", "correlation", "rank correlation", "berkson", "perfect as observed"],
)
def test_noise_share_where_it_has_no_meaning(score):
    assert score(np.array([3.0, -0.5, 2.0, 7.0]), np.array([2.5, 0.0, 2.0, 8.0])).noise_share is None


def test_sample_and_labels_make_the_total():
    masses = sb.datasets.load_nuclear_masses()
    truth = sb.root_mean_squared_error(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr).truth
    low, high = truth.total_interval(0.6826894921370859)
    assert math.hypot(truth.std, truth.sampling_std) == pytest.approx((high - low) / 2)
    assert str(truth) == "0.568 ± 0.005 (labels) ± 0.013 (sample)"


def test_units_are_printed():
    units = pytest.importorskip("astropy.units")
    s = sb.root_mean_squared_error([3.0, -0.5, 2.0] * units.m, [2.5, 0.0, 2.0] * units.m, yerr=[0.1] * 3 * units.m)
    assert str(s).endswith("(sample) m") and " m;" in s.sentence()


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7e-9, 2.5e12, 123456.7])
@pytest.mark.parametrize("labels", [0.0, 1e-12, 0.004, 3e7])
@pytest.mark.parametrize("sample", [None, 0.0, 2e-5, 0.3, 8e8, math.inf])
def test_numbers_can_be_read_back(value, labels, sample):
    text = with_both_errors(value, labels, sample)
    assert PRINTED.fullmatch(text), text
    power = 10.0 ** int(text.rpartition(")e")[2]) if ")e" in text else 1.0
    numbers = [
        float(found) * power
        for found in re.findall(r"-?\d[\d.]*(?:e[+-]\d+)?(?= |$)", text.rpartition(")e")[0] or text)
    ]
    errors = [e for e in (labels, sample) if e and math.isfinite(e)]
    assert len(numbers) == 1 + len(errors)
    for found, error in zip(numbers[1:], errors, strict=True):
        assert found == pytest.approx(error, rel=0.5)
    assert abs(numbers[0] - value) <= 0.05 * max(errors, default=0.0) + 1e-5 * abs(value)
