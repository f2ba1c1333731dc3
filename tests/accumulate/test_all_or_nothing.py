"""What is refused leaves no trace, and a merge is checked as an update is."""

from functools import partial

import numpy as np
import pytest

import scorebars as sb

N = 70_000
RNG = np.random.default_rng(1)
Y = RNG.normal(size=N)
LABELS = RNG.integers(0, 2, N)
TEXTS = np.array(["no", "yes"])[LABELS]


def held(accumulator):
    return accumulator.to_json(), accumulator.n, accumulator.models, repr(accumulator)


@pytest.mark.parametrize("n", [10, N])
def test_a_first_batch_that_fails_leaves_no_names(n):
    total = sb.Accumulator("mean_error")
    with pytest.raises(ValueError, match="y_pred contains NaN: the first is nan at index 0"):
        total.update(np.zeros(n), {"x": np.full(n, np.nan)})
    assert (total.n, total.models) == (0, [])
    with pytest.raises(ValueError, match="nothing was accumulated"):
        total.result()
    assert total.update([0.0], {"y": [1.0]}).result()["mean_error"] == 1.0


@pytest.mark.parametrize("before", [0, 10, N])
@pytest.mark.parametrize("size", [10, N])
def test_a_failed_update_changes_nothing(before, size):
    total = sb.Accumulator(["mean_error", "reduced_chi_squared"])
    if before:
        total.update(Y[:before], Y[:before] + 1, yerr=0.1)
    known = held(total)
    y, bad = Y[:size], np.where(np.arange(size) == 3, np.inf, Y[:size])
    for arguments, options in (
        ((bad, y), {"yerr": 0.1}),
        ((y, bad), {"yerr": 0.1}),
        ((y, y + 1), {"yerr": np.where(np.arange(size) == 3, -1.0, 0.1)}),
        ((y, y + 1), {"yerr": 0.0}),
        ((y, y + 1), {"yerr": 1e-30}),
        ((y, y + 1), {"yerr": 0.1, "sample_weight": np.where(np.arange(size) == 3, 1e30, 1.0)}),
        ((y, y[1:]), {"yerr": 0.1}),
    ):
        with pytest.raises((ValueError, OverflowError)):
            total.update(*arguments, **options)
        assert held(total) == known


def accumulated(labels, n):
    metrics = ["accuracy_score", partial(sb.f1_score, average="macro")]
    return sb.Accumulator(metrics).update(labels[:n], labels[:n][::-1], yerr=0.1)


@pytest.mark.parametrize("first", [10, N])
@pytest.mark.parametrize("second", [10, N])
def test_a_merge_is_checked_like_an_update(first, second):
    one, other = accumulated(LABELS, first), accumulated(TEXTS, second)
    before = held(one), held(other)
    with pytest.raises(ValueError, match="the classes are texts, but those so far are numbers"):
        one.merge(other)
    with pytest.raises(ValueError, match="the classes are numbers, but those so far are texts"):
        other.update(LABELS[:second], LABELS[:second])
    with pytest.raises(ValueError, match="the classes are unsigned 64-bit numbers"):
        one.merge(accumulated(LABELS.astype(np.uint64), second))
    with pytest.raises(ValueError, match="the models are b, but those so far are model"):
        one.merge(sb.Accumulator(one.metrics).update(LABELS[:second], {"b": LABELS[:second]}))
    with pytest.raises(ValueError, match="kind 'berkson' cannot be mixed"):
        one.merge(sb.Accumulator(one.metrics).update(LABELS[:5], LABELS[:5], yerr=sb.Flip(0.1, kind="berkson")))
    assert (held(one), held(other)) == before
    assert one.result().n == first


def test_a_merge_beyond_the_range_of_doubles_changes_nothing():
    one = sb.Accumulator("mean_squared_error").update(Y, Y + 1.0, yerr=0.1)
    large = sb.Accumulator("mean_squared_error").update(1e60 * Y, Y)
    for a, b in ((one, large), (large, one)):
        before = held(a)
        with pytest.raises(OverflowError, match="differ too much in size to be summed up together"):
            a.merge(b)
        with pytest.raises(OverflowError, match="differ too much in size to be summed up together"):
            a.update(1e60 * Y, Y, yerr=0.1)
        assert held(a) == before


def test_an_accumulator_merges_with_itself():
    total = sb.Accumulator("mean_error").update(Y[:10], Y[:10] + 1, yerr=0.1)
    assert total.merge(total).n == 20
    assert total.result()["mean_error"].std == pytest.approx(0.1 / np.sqrt(20), rel=1e-14)


def test_a_file_that_fails_adds_nothing(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    p = np.where(np.arange(N) == N - 1, np.nan, Y)
    pq.write_table(pa.table({"y": Y, "p": p}), tmp_path / "bad.parquet", row_group_size=20_000)
    total = sb.Accumulator("mean_error").update(Y[:10], {"p": Y[:10]})
    before = held(total)
    with pytest.raises(ValueError, match=f"column 'p' contains NaN: the first is nan in row {N - 1} of the dataset"):
        total.update_from(tmp_path / "bad.parquet", y="y", pred="p")
    assert held(total) == before


# what is no batch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["mean_error", "accuracy_score"])
def test_labels_that_are_no_array(metric):
    total = sb.Accumulator(metric)
    with pytest.raises(ValueError, match="y_true is missing: an accumulator takes the labels themselves"):
        total.update(None, [1, 2])
    with pytest.raises(ValueError, match="y_true is a generator, not an array: give one entry for each label"):
        total.update((k for k in range(2)), [1, 2])
    with pytest.raises(ValueError, match="y_true is a int, not an array"):
        total.update(1, [1])
    with pytest.raises(ValueError, match="y_true is a str, not an array"):
        total.update("ab", [1, 2])
    with pytest.raises(ValueError, match="y_pred is a generator, not an array"):
        total.update([1, 2], (k for k in range(2)))
    with pytest.raises(ValueError, match=r"y_pred\['b'\] is a float, not an array"):
        total.update([1, 2], {"a": [1, 2], "b": 1.0})
    with pytest.raises(ValueError, match=r"y_true and y_pred have inconsistent numbers|y_true is empty"):
        total.update([], [1])
    with pytest.raises(ValueError, match="yerr is of type generator, not an array of numbers"):
        total.update([1, 2], [1, 2], yerr=(k for k in range(2)))
    assert total.n == 0


def test_votes_without_labels():
    with pytest.raises(ValueError, match=r"y_true is missing.*pass y_true=yerr\.labels"):
        sb.Accumulator("accuracy_score").update(None, [0, 1], yerr=sb.Votes([[3, 1], [0, 4]], [0, 1]))
