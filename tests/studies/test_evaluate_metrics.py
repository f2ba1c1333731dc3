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
