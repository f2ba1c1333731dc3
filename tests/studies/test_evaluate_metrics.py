"""Which metrics an evaluation takes."""

from functools import partial

import numpy as np
import pytest

import scorebars as sb

Y, P = np.arange(12.0), np.arange(12.0) + np.tile([0.3, -0.2, 0.1], 4)


@pytest.mark.parametrize("name", ["max_error", "pearson_correlation", "spearman_correlation", "median_absolute_error"])
def test_metrics_of_all_labels(name):
    found = sb.evaluate(Y, P, yerr=0.2, metrics=["mean_error", name])
    assert found.metrics == ["mean_error", name]
    assert float(found[name]) == float(getattr(sb, name)(Y, P, yerr=0.2))


def test_order_is_that_of_the_list():
    names = ["mean_error", "r2_score", "mean_squared_error", "explained_variance_score"]
    assert sb.evaluate(Y, P, yerr=0.2, metrics=names).metrics == names


def test_weights_where_there_are_none():
    with pytest.raises(ValueError, match="max_error takes no sample_weight"):
        sb.evaluate(Y, P, yerr=0.2, metrics="max_error", sample_weight=np.ones(12))


def test_estimates_are_no_scores():
    with pytest.raises(TypeError, match=r"intrinsic_scatter gives a .*, not a Score"):
        sb.evaluate(Y, P, yerr=0.2, metrics=sb.intrinsic_scatter)


def test_no_variance_no_truth():
    score = sb.median_absolute_error(Y, P, yerr=sb.StudentT(0.1, df=1))
    with pytest.raises(sb.UndefinedEstimate, match="no finite variance"):
        _ = score.truth


def test_equal_models_share_their_ranks():
    ranking = sb.compare(Y, {"a": P, "b": P, "c": P + 3.0}, yerr=0.2).ranking(draws=4000)
    assert ranking.probabilities["a"] == pytest.approx([0.5, 0.5, 0.0], abs=0.04)
    assert ranking.probabilities["c"].tolist() == [0.0, 0.0, 1.0]


def test_a_tolerance_shares_the_pass():
    """One pass gives the sums of all; the scores are those that each metric finds alone."""
    within = partial(sb.fraction_within, tolerance=0.25)
    names = ["mean_squared_error", "r2_score", "mean_absolute_error"]
    found = sb.evaluate(Y, P, yerr=0.2, metrics=[*names, within])
    assert found.metrics == [*names, "fraction_within"]
    assert float(found["fraction_within"]) == float(within(Y, P, yerr=0.2))
    assert found["fraction_within"].interval() == within(Y, P, yerr=0.2).interval()
    for name in names:
        assert float(found[name]) == float(getattr(sb, name)(Y, P, yerr=0.2))
    with pytest.raises(ValueError, match="tolerance"):
        sb.evaluate(Y, P, yerr=0.2, metrics=[partial(sb.fraction_within, tolerance=-1.0)])
    with pytest.raises(ValueError, match="y_pred contains NaN: the first is nan at index 2"):
        sb.evaluate(Y, np.where(np.arange(12) == 2, np.nan, P), yerr=0.2, metrics=["r2_score", within])


def test_one_function_with_several_options_gives_several_scores():
    near, far = (partial(sb.fraction_within, tolerance=t) for t in (0.15, 2.0))
    found = sb.evaluate(Y, P, yerr=0.2, metrics=[near, "mean_error", far])
    names = ["fraction_within(tolerance=0.15)", "mean_error", "fraction_within(tolerance=2.0)"]
    assert found.metrics == names
    assert found[names[0]].to_dict() == near(Y, P, yerr=0.2).to_dict()
    assert found[names[2]].to_dict() == far(Y, P, yerr=0.2).to_dict()
    labels, shown = [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 1, 0]
    averages = ["f1_score", partial(sb.f1_score, average="macro")]
    with pytest.raises(ValueError, match="average"):  # that of the plain one: three classes need an average
        sb.evaluate(labels, shown, yerr=0.1, metrics=averages, task="classification")
    averages[0] = partial(sb.f1_score, average="micro")
    found = sb.evaluate(labels, shown, yerr=0.1, metrics=averages)
    assert found.metrics == ["f1_score(average='micro')", "f1_score(average='macro')"]


def test_a_metric_that_is_asked_for_twice_is_given_once():
    within = [partial(sb.fraction_within, tolerance=0.25) for _ in range(2)]
    found = sb.evaluate(Y, P, yerr=0.2, metrics=["mean_error", sb.mean_error, "mean_error", *within])
    assert found.metrics == ["mean_error", "fraction_within"]


def test_two_functions_of_one_name_are_refused():
    one, other = (sb.metric(lambda y, p, power=power: abs(y - p) ** power, name="power") for power in (3, 4))
    with pytest.raises(ValueError, match=r"metrics: two functions give scores called 'power'\. Give them different"):
        sb.evaluate(Y, P, yerr=0.2, metrics=[one, other])


def test_functions_share_one_pass_as_names_do(monkeypatch):
    from scorebars.answers import evidence

    calls, original = [], evidence.normal_sums
    monkeypatch.setattr(evidence, "normal_sums", lambda *a, **k: calls.append(1) or original(*a, **k))
    functions = [sb.mean_squared_error, "mean_absolute_error", sb.mean_error, sb.r2_score]
    found = sb.evaluate(Y, P, yerr=0.2, metrics=functions)
    assert len(calls) == 1
    assert found.metrics == ["mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]
