"""Forecasts that come in pieces: the scores of all at once, kept or summed up."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars.streaming import accumulator

N = 900
RNG = np.random.default_rng(2)
TRUTH, STD, SIGMA = RNG.normal(size=N), RNG.uniform(0.5, 1.0, N), RNG.uniform(0.1, 0.4, N)
MEAN, Y = TRUTH + STD * RNG.normal(size=N), TRUTH + SIGMA * RNG.normal(size=N)
WEIGHT = RNG.uniform(0.5, 2.0, N)
FORECASTS = {
    "normal": sb.NormalForecast(MEAN, STD),
    "members": sb.EnsembleForecast(MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 6))),
    "quantiles": sb.QuantileForecast([0.2, 0.7], MEAN[:, None] + np.array([-0.5, 0.4])),
    "law": sb.LawForecast(stats.t(6.0, MEAN, STD)),
}
METRICS = ["crps", "log_score", "dawid_sebastiani_score", partial(sb.interval_score, level=0.8)]
METRICS.append(partial(sb.interval_coverage, level=0.8))


def accumulated(metrics, forecast, weight=None, step=250):
    total = sb.Accumulator(metrics)
    for start in range(0, N, step):
        part = slice(start, start + step)
        total.update(
            Y[part], {"a": forecast[part]}, yerr=SIGMA[part], sample_weight=None if weight is None else weight[part]
        )
    return total


@pytest.mark.parametrize("name", FORECASTS)
def test_few_labels_are_kept(name):
    metrics = METRICS if name == "normal" else ["crps"]
    total = accumulated(metrics, FORECASTS[name])
    found = sb.Accumulator.from_json(total.to_json()).result()
    expected = sb.evaluate(Y, {"a": FORECASTS[name]}, yerr=SIGMA, metrics=metrics)
    for key, score in expected:
        assert float(found.scores[key]) == pytest.approx(float(score)) and found.scores[key].std == pytest.approx(
            score.std
        )


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_many_labels_are_summed_up(weight, monkeypatch):
    monkeypatch.setattr(accumulator, "KEPT", 300)
    total = sb.Accumulator.from_json(accumulated(METRICS, FORECASTS["normal"], weight).to_json())
    assert total.n == N
    found = total.result()
    for (_, metric, _), score in found:
        whole = sb.evaluate(Y, {"a": FORECASTS["normal"]}, yerr=SIGMA, metrics=METRICS, sample_weight=weight)[
            "a", metric
        ]
        for answer in ("observed", "expected", "std"):
            assert getattr(score, answer) == pytest.approx(getattr(whole, answer), rel=1e-12)
        assert float(score.perfect) == pytest.approx(float(whole.perfect), rel=1e-10)
        assert score.total_interval(0.9) == pytest.approx(whole.total_interval(0.9), rel=1e-2)
        assert score.interval(0.9) == pytest.approx(whole.interval(0.9), rel=1e-2)
        if whole.truth.method == "unbiased":
            assert float(score.truth) == pytest.approx(float(whole.truth), rel=1e-10)
            assert score.truth.std == pytest.approx(whole.truth.std, rel=0.02)
            total, of_kept = score.truth.total_interval(0.9), whole.truth.total_interval(0.9)
            if metric == "crps":
                assert total == pytest.approx(of_kept, rel=1e-9)
            else:  # squares are skew, their sums of very many labels are not: nearly the same at 300
                assert total == pytest.approx(of_kept, abs=0.1 * np.ptp(of_kept))
        else:
            with pytest.raises(sb.UndefinedEstimate, match="only unbiased terms can be summed up"):
                score.truth  # noqa: B018
        assert float(score.remeasured(1)) == pytest.approx(score.observed)


def test_merging_and_refusals(monkeypatch):
    monkeypatch.setattr(accumulator, "KEPT", 300)
    one, two = (accumulated("crps", FORECASTS["members"], step=size) for size in (100, 900))
    assert float(one.result()["crps"]) == pytest.approx(float(two.result()["crps"]), rel=1e-12)
    assert (one + two).n == 2 * N
    with pytest.raises(ValueError, match="one number for each label is a prediction"):
        sb.Accumulator("crps").update(Y, {"a": MEAN})
    with pytest.raises(ValueError, match="independent normal errors"):
        sb.Accumulator("crps").update(Y, {"a": FORECASTS["normal"]}, yerr=sb.Uniform(0.1))
    with pytest.raises(ValueError, match="not both"):
        sb.Accumulator(["crps", "mean_squared_error"])
    label = sb.Accumulator("crps").update(Y, {"a": FORECASTS["normal"].seen_through(SIGMA)}, yerr=SIGMA)
    with pytest.raises(ValueError, match="claim"):
        label.merge(sb.Accumulator("crps").update(Y, {"a": FORECASTS["normal"]}, yerr=SIGMA)).result()
