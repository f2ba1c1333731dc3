"""Forecasts that come in pieces: the scores of all at once, kept or summed up."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

import scorebars as sb
from scorebars.answers.means import forecast_answers
from scorebars.metrics.registry import declarations
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
LEVELS = [0.1, 0.5, 0.9]
OPTIONS = {
    "interval_score": {"level": 0.8},
    "interval_coverage": {"level": 0.8},
    "mean_pinball_loss": {"alpha": LEVELS},
}
METRICS = [
    partial(getattr(sb, name), **OPTIONS.get(name, {})) for name, one in declarations().items() if one.keeps == "scores"
]
PINBALL = partial(sb.mean_pinball_loss, alpha=LEVELS)
QUANTILES = MEAN[:, None] + STD[:, None] * stats.norm.ppf(LEVELS)


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
    monkeypatch.setattr(forecast_answers, "SKEW_LABELS", 0)  # so many labels as are summed up are not corrected
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
        assert score.sampling_std == pytest.approx(whole.sampling_std, rel=1e-6)
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


# predicted quantiles -----------------------------------------------------------------------------

PREDICTED = {
    "several levels": (PINBALL, QUANTILES),
    "in another order": (partial(sb.mean_pinball_loss, alpha=[0.9, 0.1, 0.5]), QUANTILES[:, [2, 0, 1]]),
    "one level": (partial(sb.mean_pinball_loss, alpha=0.9), QUANTILES[:, 2]),
    "the median": ("mean_pinball_loss", QUANTILES[:, 1]),
    "of a forecast": (PINBALL, FORECASTS["members"]),
    "levels of their own": ("mean_pinball_loss", FORECASTS["quantiles"]),
}


@pytest.mark.parametrize("kept", [300, 10_000], ids=["summed up", "kept"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("name", PREDICTED)
def test_pinball_losses_come_in_pieces(name, weight, kept, monkeypatch):
    monkeypatch.setattr(accumulator, "KEPT", kept)
    metric, given = PREDICTED[name]
    total = sb.Accumulator.from_json(accumulated(metric, given, weight).to_json())
    merged = accumulated(metric, given, weight, step=400) + total
    score, whole = (
        found["a", "mean_pinball_loss"]
        for found in (
            total.result(),
            sb.evaluate(Y, {"a": given}, yerr=SIGMA, metrics=metric, sample_weight=weight),
        )
    )
    options = metric.keywords if isinstance(metric, partial) else {}
    assert whole.observed == sb.mean_pinball_loss(Y, given, yerr=SIGMA, sample_weight=weight, **options).observed
    for answer in ("observed", "expected", "std", "perfect", "sampling_std"):
        assert float(getattr(score, answer)) == pytest.approx(float(getattr(whole, answer)), rel=1e-9), answer
    assert score.interval(0.9) == pytest.approx(whole.interval(0.9), rel=1e-2)
    assert merged.result()["a", "mean_pinball_loss"].observed == pytest.approx(whole.observed, rel=1e-12)
    assert merged.n == 2 * N
    if kept > N:
        assert float(score.truth) == float(whole.truth)
    else:
        with pytest.raises(sb.UndefinedEstimate, match="only unbiased terms"):
            score.truth  # noqa: B018


def test_wrong_quantiles_are_refused():
    with pytest.raises(ValueError, match=r"shape \(900, 2\), but mean_pinball_loss.*a column for each of the 3 levels"):
        sb.Accumulator(PINBALL).update(Y, {"a": QUANTILES[:, :2]})
    with pytest.raises(ValueError, match=r"outside \(0, 1\)"):
        sb.Accumulator(partial(sb.mean_pinball_loss, alpha=[0.1, 1.0]))
    with pytest.raises(ValueError, match="NaN"):
        sb.Accumulator(PINBALL).update(Y, {"a": np.where(QUANTILES > 1, np.nan, QUANTILES)})
    both = [PINBALL, "crps"]
    for judge in (
        lambda: sb.Accumulator(both).update(Y, {"a": QUANTILES}),
        lambda: sb.evaluate(Y, {"a": QUANTILES}, metrics=both),
    ):
        with pytest.raises(ValueError, match="its columns are quantiles, to crps members"):
            judge()
    with pytest.raises(ValueError, match="forecasts \\(and quantiles\\), not both"):
        sb.Accumulator([PINBALL, "mean_squared_error"])


# several columns of a model ----------------------------------------------------------------------

TABLE = {"y": Y, "error": SIGMA, "mean": MEAN, "spread": STD, **dict(zip(("q1", "q5", "q9"), QUANTILES.T, strict=True))}


def as_frame(folder):
    return pytest.importorskip("pandas").DataFrame(TABLE)


def as_parquet(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(TABLE), folder / "t.parquet", row_group_size=200)
    return str(folder / "t.parquet")


def as_text(folder):
    as_frame(folder).to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def as_reader(folder):
    return pytest.importorskip("pyarrow").table(TABLE).to_reader(max_chunksize=200)


def as_dask(folder):
    return pytest.importorskip("dask.dataframe").from_pandas(as_frame(folder), npartitions=3)


@pytest.mark.parametrize("source", [as_frame, as_parquet, as_text, as_reader, as_dask])
def test_several_columns_of_a_table_file_or_stream(source, tmp_path):
    columns = {"y": "y", "yerr": "error"}
    for pred, given, metric in (
        (["q1", "q5", "q9"], QUANTILES, PINBALL),
        (["q1", "q5", "q9"], QUANTILES, "crps"),  # as members
        (("mean", "spread"), (MEAN, STD), "log_score"),
    ):
        found = sb.evaluate(source(tmp_path), pred={"a": pred}, metrics=metric, **columns)
        ((_, expected),) = sb.evaluate(Y, {"a": given}, yerr=SIGMA, metrics=metric)
        ((_, score),) = found
        assert score.observed == pytest.approx(expected.observed, rel=1e-12)
        assert float(score.truth) == pytest.approx(float(expected.truth), rel=1e-9)
    assert {"crps", "log_score"} <= set(
        sb.evaluate(source(tmp_path), pred={"a": ("mean", "spread")}, **columns).metrics
    )
    with pytest.raises(ValueError, match=r"pred\['a'\]\[1\] names a column 'q7'"):
        sb.evaluate(source(tmp_path), pred={"a": ["q1", "q7"]}, metrics=PINBALL, **columns)
    with pytest.raises(ValueError, match="levels"):
        sb.evaluate(source(tmp_path), pred={"a": ["q1", "q5"]}, metrics=PINBALL, **columns)
    if source is not as_frame:
        with pytest.raises(ValueError, match="members or quantiles"):
            sb.evaluate(source(tmp_path), pred={"a": ["q1", "q5"]}, **columns)


def test_a_file_that_is_read_as_a_whole(tmp_path):
    expected = sb.mean_pinball_loss(Y, QUANTILES, alpha=LEVELS, yerr=SIGMA)
    found = sb.evaluate(
        as_text(tmp_path), y="y", pred={"a": ["q1", "q5", "q9"]}, yerr="error", metrics=PINBALL, delimiter=","
    )
    assert found["a", "mean_pinball_loss"].observed == pytest.approx(expected.observed, rel=1e-12)
    normal = sb.evaluate(as_text(tmp_path), y="y", pred={"a": ("mean", "spread")}, yerr="error", delimiter=",")
    assert normal["a", "crps"].observed == pytest.approx(
        sb.crps(Y, FORECASTS["normal"], yerr=SIGMA).observed, rel=1e-12
    )


def test_dask_arrays_of_forecasts():
    da = pytest.importorskip("dask.array")
    y, sigma, mean, std = (da.from_array(column, chunks=250) for column in (Y, SIGMA, MEAN, STD))
    quantiles = da.from_array(QUANTILES, chunks=(200, 2))
    found = sb.evaluate(y, {"a": quantiles}, yerr=sigma, metrics=PINBALL)["a", "mean_pinball_loss"]
    assert found.observed == pytest.approx(sb.mean_pinball_loss(Y, QUANTILES, alpha=LEVELS).observed, rel=1e-12)
    normal = sb.evaluate(y, {"a": (mean, std)}, yerr=sigma)
    assert normal["a", "crps"].observed == pytest.approx(sb.crps(Y, FORECASTS["normal"]).observed, rel=1e-12)
