"""Without label errors every metric is scikit-learn's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import scorebars as sb

metrics = pytest.importorskip("sklearn.metrics")

CLOSE = 1e-14


def signed(y, p, *, sample_weight=None, multioutput="uniform_average"):
    """The mean error, which scikit-learn does not have."""
    raw = np.average(np.asarray(p, float) - np.asarray(y, float), axis=0, weights=sample_weight)
    if isinstance(multioutput, str) and multioutput == "raw_values":
        return raw
    return np.average(raw, weights=None if isinstance(multioutput, str) else multioutput) if np.ndim(raw) else raw


REGRESSION = {
    sb.mean_squared_error: metrics.mean_squared_error,
    sb.root_mean_squared_error: metrics.root_mean_squared_error,
    sb.mean_absolute_error: metrics.mean_absolute_error,
    sb.mean_error: signed,
}
CLASSES = {sb.accuracy_score: metrics.accuracy_score, sb.zero_one_loss: metrics.zero_one_loss}

every_regression = pytest.mark.parametrize("ours, theirs", REGRESSION.items(), ids=lambda f: f.__name__)
every_class_metric = pytest.mark.parametrize("ours, theirs", CLASSES.items(), ids=lambda f: f.__name__)
no_error = pytest.mark.parametrize("yerr", [None, 0, 0.0], ids=["none", "zero", "zero point zero"])


def same(score, other, size=0.0):
    """Equal to 1e-14 of the value, or of the size of the terms where these cancel."""
    tolerance = CLOSE * max(abs(other), size)
    assert abs(score.observed - other) <= tolerance, (score.observed, other)
    assert abs(score.expected - other) <= tolerance, (score.expected, other)
    assert float(score) == score.expected
    assert score.std == 0
    assert score.variance == 0
    assert score.correction == 0


def size_of(ours, y, p):
    """The mean error is a sum that cancels."""
    return float(np.max(np.abs(np.subtract(y, p, dtype=float)))) if ours is sb.mean_error else 0.0


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    y = 10 * rng.standard_normal(211)
    return y, y + rng.standard_normal(211), rng.random(211)


@every_regression
@no_error
@pytest.mark.parametrize("weighted", [False, True])
def test_one_output(ours, theirs, yerr, weighted, data):
    y, p, w = data
    weight = w if weighted else None
    same(ours(y, p, yerr=yerr, sample_weight=weight), theirs(y, p, sample_weight=weight), size_of(ours, y, p))


@every_regression
def test_errors_of_zero_for_each_label(ours, theirs, data):
    y, p, w = data
    same(ours(y, p, yerr=np.zeros(len(y)), sample_weight=w), theirs(y, p, sample_weight=w), size_of(ours, y, p))
    same(ours(y, p, yerr=sb.Normal(0)), theirs(y, p), size_of(ours, y, p))
    same(ours(y, p, yerr=np.zeros((2, len(y)))), theirs(y, p), size_of(ours, y, p))


@every_regression
@pytest.mark.parametrize(
    "read",
    [
        lambda v: v.tolist(),
        lambda v: tuple(v.tolist()),
        lambda v: v.reshape(-1, 1),
        lambda v: v[::-1][::-1],
        lambda v: v.astype(">f8"),
        lambda v: v.astype(object),
        lambda v: np.repeat(v, 2)[::2],
    ],
    ids=["list", "tuple", "column", "reversed twice", "big endian", "objects", "strided"],
)
def test_containers(ours, theirs, read, data):
    y, p, _ = data
    same(ours(read(y), read(p)), theirs(y, p), size_of(ours, y, p))
    same(ours(y, read(p)), theirs(y, p), size_of(ours, y, p))
    same(ours(read(y), p), theirs(y, p), size_of(ours, y, p))


@every_regression
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, np.float32, np.longdouble, bool])
def test_number_types(ours, theirs, dtype):
    rng = np.random.default_rng(2)
    y, p = (rng.integers(0, 2 if dtype is bool else 100, 50).astype(dtype) for _ in range(2))
    same(ours(y, p), theirs(y.astype(float), p.astype(float)), 100.0 if ours is sb.mean_error else 0.0)


@every_regression
def test_float32_is_summed_in_double(ours, theirs, data):
    y, p, _ = (v.astype(np.float32) for v in data)
    same(ours(y, p), theirs(y.astype(float), p.astype(float)), size_of(ours, y, p))
    assert ours(y, p) == pytest.approx(float(theirs(y, p)), rel=1e-5)


@every_regression
@pytest.mark.parametrize("weighted", [False, True])
@no_error
def test_several_outputs(ours, theirs, weighted, yerr):
    rng = np.random.default_rng(3)
    y, p = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    weight = rng.random(40) if weighted else None
    size = size_of(ours, y, p)
    same(ours(y, p, yerr=yerr, sample_weight=weight), theirs(y, p, sample_weight=weight), size)
    same(ours(y.tolist(), p.tolist(), yerr=yerr, sample_weight=weight), theirs(y, p, sample_weight=weight), size)
    for weights in ([0.2, 0.3, 0.5], [1, 2, 3], [1.0, 0.0, 0.0]):
        other = theirs(y, p, sample_weight=weight, multioutput=weights)
        same(ours(y, p, yerr=yerr, sample_weight=weight, multioutput=weights), other, size)
    raw = ours(y, p, yerr=yerr, sample_weight=weight, multioutput="raw_values")
    other = theirs(y, p, sample_weight=weight, multioutput="raw_values")
    assert isinstance(raw, sb.Scores)
    assert len(raw) == 3
    for one, value in zip(raw, other, strict=True):
        same(one, value, size)


@every_regression
def test_raw_values_of_one_output(ours, theirs, data):
    y, p, _ = data
    raw = ours(y, p, multioutput="raw_values")
    assert len(raw) == 1
    same(raw[0], theirs(y, p, multioutput="raw_values").item(), size_of(ours, y, p))


@every_regression
def test_scikit_learns_worked_example(ours, theirs):
    y, p = [[0.5, 1], [-1, 1], [7, -6]], [[0, 2], [-1, 2], [8, -5]]
    for multioutput in ("uniform_average", [0.3, 0.7]):
        same(ours(y, p, multioutput=multioutput), theirs(y, p, multioutput=multioutput), 1.0)


finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def regression_data(draw):
    n = draw(st.integers(1, 30))
    weight = draw(st.none() | arrays(float, n, elements=st.floats(1e-3, 1e3)))
    return draw(arrays(float, n, elements=finite)), draw(arrays(float, n, elements=finite)), weight


@every_regression
@given(regression_data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_data(ours, theirs, data):
    y, p, weight = data
    same(ours(y, p, sample_weight=weight), float(theirs(y, p, sample_weight=weight)), size_of(ours, y, p))


# classes -----------------------------------------------------------------------------------------------------------


@every_class_metric
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@no_error
@pytest.mark.parametrize(
    "names",
    [
        [0, 1],
        [-1, 1],
        [False, True],
        ["cat", "dog"],
        ["a", "bb", "ccc"],
        [0.0, 1.0, 2.0],
        [3, 1, 4, 15, 9, 2, 6],
        [7],
    ],
    ids=str,
)
def test_classes(ours, theirs, names, weighted, normalize, yerr):
    rng = np.random.default_rng(4)
    y, p = rng.choice(names, 97), rng.choice(names, 97)
    weight = rng.random(97) if weighted else None
    options = {"normalize": normalize, "sample_weight": weight}
    other = float(theirs(y, p, **options))
    size = 0.0 if ours is sb.accuracy_score else 1.0 if normalize else 97.0  # one minus the accuracy cancels
    same(ours(y, p, yerr=yerr, **options), other, size)
    same(ours(y.tolist(), p.tolist(), yerr=yerr, **options), other, size)
    same(ours(y.astype(object), p.astype(object), yerr=yerr, **options), other, size)
    same(ours(y.reshape(-1, 1), p, yerr=yerr, **options), other, size)
    same(ours(y, p, yerr=np.zeros(97), **options), other, size)


@every_class_metric
def test_counts_of_whole_numbers_are_whole(ours, theirs):
    rng = np.random.default_rng(5)
    for n in range(1, 200):
        y, p = rng.integers(0, 3, n), rng.integers(0, 3, n)
        assert ours(y, p, normalize=False).observed == theirs(y, p, normalize=False)


@every_class_metric
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_classes(ours, theirs, pairs):
    y, p = zip(*pairs, strict=True)
    same(ours(y, p), float(theirs(y, p)), 1.0)


@every_class_metric
def test_texts_of_different_length(ours, theirs):
    y, p = ["yes", "no", "perhaps", "no"], ["yes", "no", "no", "perhaps"]
    same(ours(y, p), float(theirs(y, p)))
    same(ours(np.array(y), np.array(p, dtype=object)), float(theirs(y, p)))


def test_pandas_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"y": [1.0, 2.0, 4.0], "p": [1.5, 2.0, 3.0], "label": ["a", "b", "a"], "guess": ["a", "a", "a"]}
    )
    frame = frame.set_index(pd.Index([5, 3, 9]))
    same(sb.mean_squared_error(frame["y"], frame["p"]), metrics.mean_squared_error(frame["y"], frame["p"]))
    same(sb.accuracy_score(frame["label"], frame["guess"]), metrics.accuracy_score(frame["label"], frame["guess"]))
    assert math.isclose(sb.mean_absolute_error(frame[["y"]], frame["p"]), 0.5)
