"""Laws of very many labels, built from bins, against those of the labels themselves."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers import evidence
from scorebars.answers.truth import stand_ins
from scorebars.engines.store import summarise
from scorebars.laws import from_cumulants

N = 60_000


def labels(weighted=False, spread=0.5, exact=0):
    rng = np.random.default_rng(4)
    y = rng.normal(size=N)
    sigma = 0.3 * np.exp(spread * rng.standard_normal(N))
    sigma[:exact] = 0.0
    return y, y + rng.normal(0, 0.5, N), sigma, rng.uniform(0.5, 2.0, N) if weighted else None


@pytest.mark.parametrize("metric", [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error])
@pytest.mark.parametrize("case", [{}, {"weighted": True}, {"spread": 2.0}, {"exact": 1000}], ids=str)
def test_bins_give_the_law_of_the_labels(metric, case, monkeypatch):
    monkeypatch.setattr(from_cumulants, "ACCURATE", 0.0)  # cumulants would do for some of them
    y, p, sigma, weight = labels(**case)
    binned = metric(y, p, yerr=sigma, sample_weight=weight)
    found = binned.interval(), binned.interval(0.5), binned.perfect.interval()
    assert any(key.startswith("summary") for key in _shelf(binned))
    monkeypatch.setattr(evidence, "_MANY", 10**9)
    whole = metric(y, p, yerr=sigma, sample_weight=weight)
    assert float(binned) == pytest.approx(float(whole), rel=1e-13)
    for ends, exact in zip(found, (whole.interval(), whole.interval(0.5), whole.perfect.interval()), strict=True):
        assert ends == pytest.approx(exact, abs=1e-9 * (exact.high - exact.low))
    assert not any(key.startswith("summary") for key in _shelf(whole))


@pytest.mark.parametrize("metric", [sb.r2_score, sb.explained_variance_score])
@pytest.mark.parametrize("case", [{}, {"weighted": True}, {"spread": 2.0}, {"exact": 1000}], ids=str)
def test_bins_give_the_law_of_ratios(metric, case, monkeypatch):
    y, p, sigma, weight = labels(**case)
    summaries = []
    monkeypatch.setattr(
        evidence, "summarise", lambda *given, **sums: summaries.append(summarise(*given, **sums)) or summaries[-1]
    )
    binned = metric(y, p, yerr=sigma, sample_weight=weight).interval()
    assert len(summaries) == 1
    monkeypatch.setattr(evidence, "_MANY", 10**9)
    whole = metric(y, p, yerr=sigma, sample_weight=weight).interval()
    assert binned == pytest.approx(whole, abs=1e-9 * (whole.high - whole.low))
    assert len(summaries) == 1  # the other way was taken


@pytest.mark.parametrize("case", [{}, {"spread": 2.0}, {"exact": 1000}], ids=str)
def test_counted_hits_give_the_law_of_the_labels(case, monkeypatch):
    y, p, sigma, _ = labels(**case)
    counted = sb.fraction_within(y, p, yerr=sigma, tolerance=0.4)
    found = counted.interval(), counted.interval(0.5), counted.perfect.interval()
    monkeypatch.setattr(evidence, "_MANY", 10**9)
    whole = sb.fraction_within(y, p, yerr=sigma, tolerance=0.4)
    assert found == (whole.interval(), whole.interval(0.5), whole.perfect.interval())
    assert counted.distribution.mean == pytest.approx(whole.distribution.mean, rel=1e-12)
    assert counted.distribution.std == pytest.approx(whole.distribution.std, rel=1e-11)


def _shelf(score):
    answers = score._answers
    return getattr(answers, "inner", answers)._evidence.data.shelf


def test_other_arrays_take_the_other_way():
    y, p, sigma, _ = labels()
    plain = sb.mean_squared_error(y, p, yerr=sigma)
    strided = sb.mean_squared_error(np.repeat(y, 2)[::2], p, yerr=sigma)
    assert strided.interval() == pytest.approx(plain.interval(), rel=1e-11)
    huge = sb.mean_squared_error(1e120 * y, 1e120 * p, yerr=1e120 * sigma)
    assert huge.interval() == pytest.approx(1e240 * np.array(plain.interval()), rel=1e-11)
    assert pickle.loads(pickle.dumps(plain)).interval() == plain.interval()


@pytest.mark.parametrize(
    "metric", [sb.mean_squared_error, sb.mean_absolute_error, sb.r2_score, partial(sb.fraction_within, tolerance=0.5)]
)
def test_memory_does_not_grow_with_the_labels(metric):
    """64 MB above the inputs are allowed at any size: here less than half of one array of two million labels."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=2_000_000)
    p, sigma = y + 0.3, rng.uniform(0.1, 1.0, y.size)
    metric(y[:N].copy(), p[:N].copy(), yerr=sigma[:N].copy()).interval()
    tracemalloc.start()
    metric(y, p, yerr=sigma).interval()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * y.size


ESTIMATED = [("spearman_correlation", False), ("kendall_correlation", False), ("d2_absolute_error_score", False)]


@pytest.mark.parametrize("name, weighted", [*ESTIMATED, ("d2_absolute_error_score", True)])
def test_part_of_many_labels_shows_how_an_estimate_scatters(name, weighted, monkeypatch):
    """Standard errors, intervals and the shift by more repeats from every third label are those from all of them."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=6000)
    p, sigma = y + rng.normal(0, 0.5, y.size), rng.uniform(0.1, 0.6, y.size)
    options = {"sample_weight": rng.uniform(0.5, 2.0, y.size)} if weighted else {}
    whole = getattr(sb, name)(y, p, yerr=sigma, **options)
    spread, (low, high) = whole.truth.std, whole.truth.total_interval()
    again, sampling = whole.remeasured(2), whole.sampling_std

    monkeypatch.setattr(stand_ins, "_PART", 2000)
    part = getattr(sb, name)(y, p, yerr=sigma, **options)
    assert part.truth.value == whole.truth.value
    assert part.truth.std == pytest.approx(spread, rel=0.15)
    assert np.diff(part.truth.total_interval()) == pytest.approx(high - low, rel=0.25)
    assert part.sampling_std == pytest.approx(sampling, rel=0.25)
    assert part.remeasured(2).value == pytest.approx(again.value, abs=0.4 * again.std)
    assert part.remeasured(2).std == pytest.approx(again.std, rel=0.15)
