"""Evaluations: the same numbers as the metrics, and their renderings."""

import json

import numpy as np
import pytest

import scorebars as sb

RNG = np.random.default_rng(0)
Y = RNG.normal(size=40)
MODELS = {"linear": Y + RNG.normal(0, 0.3, 40), "forest_1": Y + RNG.normal(0, 0.5, 40)}
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error"]


def evaluation(**options):
    return sb.evaluate(Y, MODELS, yerr=0.2, metrics=METRICS, **options)


def test_scores_are_those_of_the_metrics():
    e = evaluation()
    assert e.models == list(MODELS) and e.metrics == METRICS and e.groups == [None] and len(e) == 6
    for name, p in MODELS.items():
        for metric in METRICS:
            alone = getattr(sb, metric)(Y, p, yerr=0.2)
            assert e[name, metric] == alone and e[name, metric].std == alone.std
            assert e[name, metric].truth == alone.truth


def test_one_pass_serves_several_metrics(monkeypatch):
    from scorebars.answers import evidence

    calls = []
    original = evidence.normal_sums
    monkeypatch.setattr(evidence, "normal_sums", lambda *a, **k: calls.append(1) or original(*a, **k))
    sb.evaluate(Y, MODELS["linear"], yerr=0.2, metrics=["mean_squared_error", "mean_absolute_error", "mean_error"])
    assert len(calls) == 1


def test_forms_of_predictions():
    single = sb.evaluate(Y, MODELS["linear"], yerr=0.2, metrics="mean_error")
    assert single["mean_error"] == sb.mean_error(Y, MODELS["linear"], yerr=0.2)
    columns = sb.evaluate(Y, np.column_stack(list(MODELS.values())), yerr=0.2, metrics=["mean_error"])
    assert columns.models == ["model 1", "model 2"]
    custom = sb.metric(lambda y, p: (y - p) ** 4, name="fourth")
    assert sb.evaluate(Y, MODELS["linear"], yerr=0.2, metrics=[custom]).metrics == ["fourth"]


def test_groups():
    by = np.where(Y > 0, "high", "low")
    e = evaluation(by=by)
    assert e.groups == [None, *dict.fromkeys(by.tolist())]
    high = by == "high"
    expected = sb.mean_absolute_error(Y[high], MODELS["linear"][high], yerr=0.2)
    assert e["linear", "mean_absolute_error", "high"] == expected
    assert "group" in str(e) and "all" in str(e)
    per_label = sb.evaluate(Y, MODELS, yerr=sb.Normal(np.full(40, 0.2)), metrics=METRICS, by=by)
    assert per_label["linear", "mean_absolute_error", "high"] == pytest.approx(expected, rel=1e-14)


def test_classes():
    y, p = ["a", "b", "a", "b"], ["a", "b", "b", "b"]
    assert sb.evaluate(y, p, yerr=0.1)["accuracy_score"] == sb.accuracy_score(y, p, yerr=0.1)
    assert sb.evaluate([1, 0, 1], [1, 1, 1], yerr=sb.Flip(0.1), metrics="accuracy_score").n == 3


def test_renderings():
    e = evaluation()
    lines = str(e).splitlines()
    assert lines[0].split("  ")[0] == "model" and len(lines) == 7
    assert e.to_markdown().splitlines()[1].startswith("| --- |")
    assert r"\num{" in e.to_latex() and r"forest\_1" in e.to_latex() and r"\toprule" in e.to_latex()
    assert "<table" in e.to_html() and e._repr_html_() == e.to_html()
    hostile = sb.evaluate(Y, {"<script>|": Y}, yerr=0.1, metrics="mean_error")
    assert "<script>" not in hostile.to_html() and r"\|" in hostile.to_markdown()


def test_json_schema():
    record = json.loads(evaluation().to_json())
    assert record["schema"] == "scorebars/evaluation/1" and record["n"] == 40 and len(record["scores"]) == 6
    first = record["scores"][0]
    assert list(first) == ["model", "metric", *next(iter(evaluation().scores.values())).to_dict()]
    one = json.loads(sb.evaluate([1.0], [1.5], yerr=0.1, metrics="mean_squared_error").to_json())
    assert one["scores"][0]["sampling_std"] == "inf"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": []}, ValueError, "metrics is empty"),
        ({"metrics": ["nonsense"]}, ValueError, "there is no metric 'nonsense'. The metrics are:"),
        ({"task": "ranking"}, ValueError, "task must be"),
        ({"by": [1, 2]}, ValueError, "by and y_true have inconsistent numbers of samples"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        sb.evaluate(Y, MODELS, yerr=0.2, **options)


def test_unknown_key():
    with pytest.raises(KeyError, match="Models: linear, forest_1; metrics: root_mean_squared_error"):
        evaluation()["linear", "nonsense"]
    with pytest.raises(ValueError, match="holds no predictions"):
        sb.evaluate(Y, {}, yerr=0.1)
