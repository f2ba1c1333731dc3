"""Scores in experiment trackers: names and values that they accept, and MLflow itself."""

import math
import re

import pytest

import scorebars as sb

Y, P = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]


def test_names_and_numbers():
    score = sb.mean_squared_error(Y, P, yerr=0.5)
    found = score.to_metrics()
    assert found["mean_squared_error/truth"] == 0.125 and found["mean_squared_error/n"] == 4.0
    assert {key.split("/")[1] for key in found} == set(score.to_dict()) - {"name", "method"}
    assert all(type(value) is float and math.isfinite(value) for value in found.values())
    single = sb.mean_squared_error([1.0], [1.5], yerr=0.1)
    assert single.sampling_std == math.inf and "mean_squared_error/sampling_std" not in single.to_metrics()
    assert all(v is None or isinstance(v, str | int | float) for v in score.to_dict().values())


def test_evaluation():
    models = {"MD (GAFF/OPC3) µ": P, "b": Y}
    found = sb.evaluate(Y, models, yerr=0.5, metrics="mean_error", by=["x", "x", "y", "y"]).to_metrics()
    assert found["b/mean_error/observed"] == 0.0 and "b/mean_error/x/std" in found
    assert all(re.fullmatch(r"[\w\-. /]+", key, flags=re.ASCII) for key in found)
    assert "MD _GAFF_OPC3_ _/mean_error/observed" in found


@pytest.mark.filterwarnings("ignore")  # MLflow's own, of its libraries
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_LOGGING", "false")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    score = sb.mean_squared_error(Y, P, yerr=0.5)
    client = mlflow.MlflowClient(tracking_uri=tmp_path.as_uri())
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(tmp_path.as_uri())
    try:
        with mlflow.start_run(experiment_id=client.create_experiment("labels with errors")) as run:
            mlflow.log_metrics(score.to_metrics())
            mlflow.log_metric("plain", score)  # a Score is a float
    finally:
        mlflow.set_tracking_uri(before)
    logged = client.get_run(run.info.run_id).data.metrics
    assert logged == score.to_metrics() | {"plain": score.expected}
