"""dask arrays and DataFrames give what all labels at once give, to the same bits on every scheduler."""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

import scorebars as sb

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from scorebars.streaming.dask_tree import accumulate_dask  # noqa: E402

N = 150_000
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error"]
RNG = np.random.default_rng(3)
Y = RNG.normal(3.0, 2.0, N)
P = Y + 0.3 * RNG.standard_normal(N)
SIGMA = 0.2 * np.exp(0.5 * RNG.standard_normal(N))
WHOLE = sb.evaluate(Y, P, yerr=SIGMA, metrics=METRICS)


def arrays(chunks=20_000):
    return da.from_array(Y, chunks=chunks), da.from_array(P, chunks=chunks), da.from_array(SIGMA, chunks=35_000)


def frame():
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame({"y": Y, "a": P, "b": P + 1, "err": SIGMA, "w": 1 + np.abs(P)}), npartitions=5)


def test_arrays_give_the_scores_of_all_labels():
    y, p, sigma = arrays()
    found = sb.evaluate(y, p, yerr=sigma, metrics=METRICS)
    for metric in METRICS:
        assert found[metric].expected == pytest.approx(WHOLE[metric].expected, rel=1e-12)
        low, high = WHOLE[metric].interval()
        assert np.allclose(found[metric].interval(), (low, high), rtol=0, atol=1e-9 * (high - low))


def test_frames_give_the_scores_of_all_labels():
    found = sb.evaluate(frame(), y="y", pred=["a", "b"], yerr="err", sample_weight="w", metrics="mean_error")
    whole = sb.evaluate(Y, {"a": P, "b": P + 1}, yerr=SIGMA, sample_weight=1 + np.abs(P), metrics="mean_error")
    for model in "ab":
        assert found[model, "mean_error"].std == pytest.approx(whole[model, "mean_error"].std, rel=1e-12)


def test_every_scheduler_gives_the_same_bits():
    y, p, sigma = arrays()
    texts = set()
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            texts.add(accumulate_dask(y, {"a": p}, yerr=sigma, metrics=METRICS).to_json())
    assert len(texts) == 1


def _slowly(block):
    time.sleep(0.3)
    return block


def test_a_killed_worker_changes_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    y, p, sigma = arrays(10_000)
    expected = accumulate_dask(y, p, yerr=sigma, metrics=METRICS).to_json()
    slow = y.map_blocks(_slowly, dtype=y.dtype)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        from threading import Timer

        killer = Timer(1.0, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = accumulate_dask(slow, p, yerr=sigma, metrics=METRICS).to_json()
        killer.join()
        assert victim not in client.run(os.getpid).values()
    assert found == expected


def test_bad_input_names_the_chunk():
    y, p, sigma = arrays()
    bad = P.copy()
    bad[45_000] = np.nan
    with pytest.raises(ValueError, match="in chunk 2: y_pred contains NaN: the first is nan at index 5000"):
        sb.evaluate(y, da.from_array(bad, chunks=20_000), yerr=sigma)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 150000 and 100"):
        sb.evaluate(y, p[:100])
    with pytest.raises(TypeError, match=r"y_pred\['model'\] is a ndarray, but y_true is a dask array"):
        sb.evaluate(y, P)
    with pytest.raises(ValueError, match="y_pred is missing"):
        sb.evaluate(y)
    with pytest.raises(ValueError, match="needs all labels at once"):
        sb.evaluate(y, p, metrics="median_absolute_error")
    with pytest.raises(
        ValueError, match=r"pred\[0\] names a column 'aa' that the data do not have\. Near matches: 'a'"
    ):
        sb.evaluate(frame(), y="y", pred="aa")
    with pytest.raises(ValueError, match="by needs all labels"):
        sb.evaluate(y, p, by=p)
    with pytest.raises(ValueError, match="name the columns of a DataFrame"):
        sb.evaluate(frame(), y="y")
