"""Scores of arrays on a device: the same as NumPy's, from the sums alone, with the same messages for bad input."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest
import torch
from tensor_cases import To

import scorebars as sb
from label_draws import draw
from scorebars.arrays import library_of, to_host
from scorebars.engines.on_device import OnDevice
from scorebars.evaluation.study_data import guess_task

FROM_SUMS = {
    "mean_squared_error": {},
    "mean_absolute_error": {},
    "mean_error": {},
    "fraction_within": {"tolerance": 0.5},
}
FROM_LABELS = ["root_mean_squared_error", "r2_score", "median_absolute_error", "pearson_correlation", "huber_loss"]


def both(name: str, to: To, weighted: bool = True, n: int = 6000, **options: Any) -> tuple[sb.Score, sb.Score]:
    """The score of NumPy arrays and that of the library's."""
    data = draw(n)
    weights = {"sample_weight": data["weight"]} if weighted else {}
    metric = getattr(sb, name)
    plain = metric(data["y"], data["p"], yerr=data["sigma"], **weights, **options)
    weights = {key: to(value) for key, value in weights.items()}
    return plain, metric(to(data["y"]), to(data["p"]), yerr=to(data["sigma"]), **weights, **options)


def data_of(score: sb.Score) -> OnDevice:
    data = score._answers._evidence.data  # type: ignore[attr-defined]
    assert isinstance(data, OnDevice)
    return data


def copied(score: sb.Score) -> bool:
    return "_host" in vars(data_of(score))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [10, 6000])
@pytest.mark.parametrize("name", FROM_SUMS)
def test_the_sums_alone_give_observed_expected_and_std(to: To, name: str, n: int, weighted: bool) -> None:
    plain, score = both(name, to, weighted, n, **FROM_SUMS[name])
    for answer in ("observed", "expected", "std", "correction"):
        scale = plain.std if name == "mean_error" or answer == "correction" else 0.0
        assert getattr(score, answer) == pytest.approx(getattr(plain, answer), rel=1e-13, abs=1e-13 * scale)
    assert score.n == n
    assert not copied(score)
    assert str(score) == str(plain)  # the scatter of the sample needs the labels


@pytest.mark.parametrize("name", FROM_SUMS)
def test_what_needs_the_labels_copies_them(to: To, name: str) -> None:
    plain, score = both(name, to, **FROM_SUMS[name])
    assert score.interval(0.9) == pytest.approx(plain.interval(0.9), rel=1e-9, abs=1e-12)
    assert copied(score) == (name != "mean_error")  # a normal distribution, of which the sums tell all
    assert float(score.truth) == pytest.approx(float(plain.truth), rel=1e-9)
    assert float(score.perfect) == pytest.approx(float(plain.perfect), rel=1e-12, abs=1e-15)
    assert score.sampling_std == pytest.approx(plain.sampling_std, rel=1e-12)


@pytest.mark.parametrize("error", ["each", "one"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score"])
def test_bins_of_torch_tensors_are_those_of_the_host(name: str, weighted: bool, error: str, to: To) -> None:
    """Intervals of many labels need no copy of them; errors range over decades, and some are 0."""
    rng = np.random.default_rng(0)
    n = 300_000 if name == "r2_score" else 20_000
    y = rng.normal(5.0, 2.0, n)
    p, sigma = y + rng.normal(size=n), rng.uniform(0.1, 0.5, n)
    if name != "r2_score":  # whose moments come from the labels where errors are so unlike
        sigma *= np.exp(2.0 * rng.normal(size=n))
    sigma[::100] = 0.0
    if library_of(to(y)) != "torch":
        pytest.skip("others are copied to the host")
    weights = {"sample_weight": rng.uniform(0.5, 2.0, n)} if weighted else {}
    errors = sigma if error == "each" else 0.3
    metric = getattr(sb, name)
    plain = metric(y, p, yerr=errors, **weights)
    moved = {key: to(value) for key, value in weights.items()}
    score = metric(to(y), to(p), yerr=to(errors) if error == "each" else errors, **moved)
    for level in (0.5, 0.999):
        assert score.interval(level) == pytest.approx(plain.interval(level), rel=1e-12)
    answers = score._answers
    data = getattr(answers, "inner", answers)._evidence.data
    assert isinstance(data, OnDevice)
    assert "_host" not in vars(data)


@pytest.mark.parametrize("name", ["root_mean_squared_error", "r2_score"])
def test_the_sums_of_very_many_labels_give_more(to: To, name: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(5.0, 2.0, 200_000)
    p, sigma = y + rng.normal(size=200_000), rng.uniform(0.1, 0.5, 200_000)
    metric = getattr(sb, name)
    plain, score = metric(y, p, yerr=sigma), metric(to(y), to(p), yerr=to(sigma))
    for answer in ("observed", "expected", "std"):
        assert getattr(score, answer) == pytest.approx(getattr(plain, answer), rel=1e-13 if answer != "std" else 1e-11)
    answers = score._answers
    data = answers._evidence.data if name == "r2_score" else answers.inner._evidence.data
    assert isinstance(data, OnDevice)
    assert "_host" not in vars(data)


@pytest.mark.parametrize("name", FROM_LABELS)
def test_other_metrics(to: To, name: str) -> None:
    plain, score = both(name, to, weighted=False, n=500)
    assert score.expected == pytest.approx(plain.expected, rel=1e-13)
    assert score.std == pytest.approx(plain.std, rel=1e-12)


def test_one_error_for_all_and_none(to: To) -> None:
    data = draw(100)
    y, p = data["y"], data["p"]
    plain = sb.mean_absolute_error(y, p, yerr=0.3)
    assert float(sb.mean_absolute_error(to(y), to(p), yerr=0.3)) == pytest.approx(float(plain), rel=1e-14)
    exact = sb.mean_absolute_error(to(y), to(p))
    assert exact.expected == exact.observed == pytest.approx(np.mean(np.abs(y - p)), rel=1e-14)
    assert exact.std == 0


def test_errors_and_weights_of_numpy_go_to_the_device(to: To) -> None:
    data = draw(100)
    score = sb.mean_squared_error(to(data["y"]), to(data["p"]), yerr=data["sigma"], sample_weight=data["weight"])
    plain = sb.mean_squared_error(data["y"], data["p"], yerr=data["sigma"], sample_weight=data["weight"])
    assert library_of(data_of(score).columns.sigma) == library_of(to(data["y"]))
    assert float(score) == pytest.approx(float(plain), rel=1e-14)


def test_columns_are_labels(to: To) -> None:
    data = draw(50)
    table = np.stack([data["y"], data["p"]], axis=1)
    moved = to(table)
    plain = sb.mean_squared_error(data["y"], data["p"], yerr=0.1)
    assert float(sb.mean_squared_error(moved[:, :1], moved[:, 1:], yerr=0.1)) == pytest.approx(float(plain), rel=1e-14)


@pytest.mark.parametrize(
    "yerr",
    [np.full((2, 20), [[0.1], [0.2]]), sb.Laplace(0.1), sb.Normal(0.1, shared=np.full(20, 0.2))],
    ids=["lower and upper", "Laplace", "shared"],
)
def test_other_errors_and_several_outputs_are_for_the_host(to: To, yerr: Any) -> None:
    data = draw(20)
    score = sb.mean_squared_error(to(data["y"]), to(data["p"]), yerr=yerr)
    plain = sb.mean_squared_error(data["y"], data["p"], yerr=yerr)
    assert (score.expected, score.std) == (plain.expected, plain.std)
    y, p = np.stack([data["y"], data["p"]], axis=1), np.zeros((20, 2))
    assert float(sb.mean_squared_error(to(y), to(p), yerr=0.1)) == float(sb.mean_squared_error(y, p, yerr=0.1))


def test_labels_and_predictions_in_different_places(to: To) -> None:
    data = draw(20)
    score = sb.mean_squared_error(data["y"], to(data["p"]), yerr=to(data["sigma"]))
    assert float(score) == float(sb.mean_squared_error(data["y"], data["p"], yerr=data["sigma"]))


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("y", np.nan, "y_true contains NaN: the first is nan at index 3, 1 in all"),
        ("p", np.inf, "y_pred contains infinity: the first is inf at index 3, 1 in all"),
        ("sigma", np.nan, "yerr contains NaN: the first is nan at index 3, 1 in all"),
        ("sigma", -0.5, "yerr has negative values: the first is -0.5 at index 3, 1 in all"),
        ("weight", -1.0, "sample_weight has negative values: the first is -1.0 at index 3, 1 in all"),
        ("weight", np.nan, "sample_weight contains NaN: the first is nan at index 3, 1 in all"),
    ],
)
def test_bad_values_are_named_as_for_numpy(to: To, argument: str, value: float, message: str) -> None:
    data = draw(10)
    data[argument][3] = value
    y, p, sigma, weight = map(to, data.values())
    with pytest.raises(ValueError, match=message):
        sb.mean_squared_error(y, p, yerr=sigma, sample_weight=weight)


def test_bad_shapes_are_named_as_for_numpy(to: To) -> None:
    y, p = to(np.ones(5)), to(np.ones(4))
    with pytest.raises(ValueError, match="y_true and y_pred have inconsistent numbers of samples: 5 and 4"):
        sb.mean_squared_error(y, p)
    with pytest.raises(ValueError, match=r"yerr has shape \(4,\) but y_true has shape \(5,\)"):
        sb.mean_squared_error(y, y, yerr=p)
    with pytest.raises(ValueError, match="sample_weight is all zero"):
        sb.mean_squared_error(y, y, sample_weight=to(np.zeros(5)))
    with pytest.raises(ValueError, match="y_true is empty: at least one label is needed"):
        sb.mean_squared_error(to(np.ones(0)), to(np.ones(0)))
    with pytest.raises(ValueError, match=r"yerr = -0.1 is negative"):
        sb.mean_squared_error(y, y, yerr=-0.1)


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_extreme_sizes(to: To, unit: float) -> None:
    data = draw(30)
    y, p, sigma = (data[name] * unit for name in ("y", "p", "sigma"))
    plain = sb.mean_absolute_error(y, p, yerr=sigma)
    score = sb.mean_absolute_error(to(y), to(p), yerr=to(sigma))
    assert (score.expected, score.std) == pytest.approx((plain.expected, plain.std), rel=1e-13)


def test_pickled_scores_hold_numpy_arrays(to: To) -> None:
    plain, score = both("mean_squared_error", to)
    again = pickle.loads(pickle.dumps(score))
    assert isinstance(data_of(again).columns.y, np.ndarray)
    assert (again.expected, again.std) == (score.expected, score.std)
    assert again.interval() == pytest.approx(plain.interval(), rel=1e-10)


def test_classes_and_probabilities(to: To) -> None:
    rng = np.random.default_rng(0)
    y, p, share = rng.integers(0, 2, 50), rng.integers(0, 2, 50), rng.uniform(size=50)
    q = rng.uniform(0, 0.2, 50)
    assert float(sb.f1_score(to(y), to(p), yerr=to(q))) == float(sb.f1_score(y, p, yerr=q))
    assert float(sb.log_loss(to(y), to(share), yerr=0.1)) == float(sb.log_loss(y, share, yerr=0.1))
    assert float(sb.roc_auc_score(to(y), to(share))) == float(sb.roc_auc_score(y, share))


CLASS_METRICS = {
    **{name: {} for name in ("accuracy_score", "zero_one_loss", "balanced_accuracy_score", "cohen_kappa_score")},
    **{name: {"average": "macro"} for name in ("f1_score", "precision_score", "recall_score", "jaccard_score")},
    "matthews_corrcoef": {},
    "fbeta_score": {"beta": 2.0, "average": "weighted"},
}


@pytest.mark.parametrize("name", CLASS_METRICS)
@pytest.mark.parametrize("yerr", [None, 0.1, sb.Flip(0.05), sb.Flip(0.1, kind="berkson")], ids=str)
def test_classes_of_torch_tensors_are_counted_where_they_are(
    name: str, yerr: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All answers are those of the host, and no label travels."""
    from scorebars.engines import device_classes, on_device
    from scorebars.metrics import class_inputs

    rng = np.random.default_rng(1)
    y = rng.choice([-1, 3, 4], 500)
    p = np.where(rng.random(500) < 0.2, rng.choice([-1, 3, 4], 500), y)
    options = CLASS_METRICS[name]
    plain = getattr(sb, name)(y, p, yerr=yerr, **options)
    monkeypatch.setattr(on_device, "elsewhere", lambda values: True)
    monkeypatch.setattr(device_classes, "_BLOCK", 64)
    monkeypatch.setattr(class_inputs, "class_array", None)
    found = getattr(sb, name)(torch.tensor(y), torch.tensor(p), yerr=yerr, **options)
    assert (found.observed, found.expected) == pytest.approx((plain.observed, plain.expected), rel=1e-12)
    assert found.std == pytest.approx(plain.std, rel=1e-9) and found.n == 500
    assert found.interval(0.9) == pytest.approx(plain.interval(0.9), rel=1e-6)
    if yerr is not None:
        assert float(found.truth) == pytest.approx(float(plain.truth), rel=1e-9)
        assert found.truth.interval(0.9) == pytest.approx(plain.truth.interval(0.9), rel=1e-6)


def test_classes_that_the_host_has_to_count(to: To) -> None:
    """Weights, errors of each label, classes far apart, fractions: the same numbers, and the same messages."""
    rng = np.random.default_rng(2)
    y, weight, q = rng.integers(0, 3, 60), rng.uniform(1, 2, 60), rng.uniform(0, 0.2, 60)
    p = np.where(rng.random(60) < 0.3, (y + 1) % 3, y)
    for yerr, options in ((0.1, {"sample_weight": weight}), (q, {}), (0.1, {})):
        for scale in (1, 10_000):
            moved = {name: to(value) for name, value in options.items()}
            errors = to(yerr) if isinstance(yerr, np.ndarray) else yerr
            found = sb.accuracy_score(to(y * scale), to(p * scale), yerr=errors, **moved)
            assert float(found) == pytest.approx(float(sb.accuracy_score(y, p, yerr=yerr, **options)), rel=1e-12)
    assert float(sb.f1_score(to(y == 1), to(p == 1), yerr=0.1)) == pytest.approx(
        float(sb.f1_score(y == 1, p == 1, yerr=0.1)), rel=1e-12
    )
    with pytest.raises(ValueError, match="continuous values"):
        sb.accuracy_score(to(y + 0.5), to(p + 0.5))
    with pytest.raises(ValueError, match="probability that a label is wrong"):
        sb.accuracy_score(to(y), to(p), yerr=1.5)


def test_studies(to: To) -> None:
    data = draw(60)
    y, yerr = data["y"], data["sigma"] + 0.1
    models = {"one": data["p"], "two": data["p"] + 0.2}
    moved = {name: to(p) for name, p in models.items()}
    metrics = ["mean_squared_error", "mean_error"]
    plain = sb.evaluate(y, models, yerr=yerr, metrics=metrics).to_dict()["scores"]
    for given in (moved, to(np.stack(list(models.values()), axis=1))):
        found = sb.evaluate(to(y), given, yerr=to(yerr), metrics=metrics).to_dict()["scores"]
        for row, expected in zip(found, plain, strict=True):
            assert row["expected"] == pytest.approx(expected["expected"], rel=1e-12)
            assert row["truth"] == pytest.approx(expected["truth"], rel=1e-9)
    found = sb.compare(to(y), moved, yerr=to(yerr)).difference("one", "two")
    expected = sb.compare(y, models, yerr=yerr).difference("one", "two")
    assert (found.expected, found.std) == pytest.approx((expected.expected, expected.std), rel=1e-12)


def classifiers(n: int = 40) -> tuple[Any, dict[str, Any], Any]:
    """Labels, two models' predictions, and weights."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return y, {name: np.where(rng.random(n) < 0.2, 1 - y, y) for name in ("one", "two")}, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("metric", ["accuracy_score", "f1_score"])
def test_comparison_of_classifiers(to: To, metric: str) -> None:
    y, models, weight = classifiers()
    options = {"yerr": 0.1, "metric": metric}
    moved = {name: to(p) for name, p in models.items()}
    found = sb.compare(to(y), moved, sample_weight=to(weight), **options).difference("one", "two")
    expected = sb.compare(y, models, sample_weight=weight, **options).difference("one", "two")
    assert (found.observed, found.expected) == pytest.approx((expected.observed, expected.expected), rel=1e-12)


def test_weighted_comparison_by_drawn_labels(to: To) -> None:
    data = draw(20)
    models = {"one": data["p"], "two": data["p"] + 0.2}
    moved = {name: to(p) for name, p in models.items()}
    options = {"yerr": 0.1, "metric": "median_absolute_error"}
    found = sb.compare(to(data["y"]), moved, sample_weight=to(data["weight"]), **options).difference("one", "two")
    expected = sb.compare(data["y"], models, sample_weight=data["weight"], **options).difference("one", "two")
    assert (found.observed, found.expected) == pytest.approx((expected.observed, expected.expected), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [("float32", "mean_error"), ("float64", "mean_error"), ("int64", "mean_error"), ("bool", "accuracy_score")],
)
def test_the_task_is_guessed_where_the_labels_are(to: To, kind: str, metric: str) -> None:
    y = to(np.array([0, 1, 1, 0, 1]).astype(kind))
    assert guess_task(y, None) == ("classification" if kind == "bool" else "regression")
    assert metric in sb.evaluate(y, y).metrics
    common = "accuracy_score" if kind == "bool" else "mean_squared_error"
    assert sb.compare(y, {"one": y, "two": y}).metric == common


@pytest.mark.parametrize("options", [{}, {"nan_policy": "omit"}])
def test_groups_and_missing_values(to: To, options: dict[str, str]) -> None:
    data = draw(30)
    groups = np.arange(30) % 3
    if options:
        data["y"][4] = data["p"][7] = np.nan
    expected = sb.evaluate(data["y"], data["p"], yerr=data["sigma"], sample_weight=data["weight"], by=groups, **options)
    moved = {name: to(values) for name, values in data.items()}
    found = sb.evaluate(
        moved["y"], moved["p"], yerr=moved["sigma"], sample_weight=moved["weight"], by=to(groups), **options
    )
    assert found.groups == [None, "0", "1", "2"]
    assert found.omitted == expected.omitted == (2 if options else 0)
    for key, score in expected:
        assert found[key].expected == pytest.approx(score.expected, rel=1e-12)
        assert found[key].std == pytest.approx(score.std, rel=1e-12)


def test_missing_values_in_a_comparison(to: To) -> None:
    data = draw(30)
    data["y"][4] = np.nan
    lower_and_upper = np.stack([data["sigma"], data["sigma"]]) + 0.1
    models = {"one": data["p"], "two": data["p"] + 0.2}
    expected = sb.compare(data["y"], models, yerr=lower_and_upper, nan_policy="omit")
    moved = {name: to(p) for name, p in models.items()}
    found = sb.compare(to(data["y"]), moved, yerr=to(lower_and_upper), nan_policy="omit")
    assert found.omitted == expected.omitted == 1
    assert found.difference("one", "two").std == pytest.approx(expected.difference("one", "two").std, rel=1e-12)


def test_other_studies(to: To) -> None:
    data = draw(40)
    y, p, sigma = data["y"], data["p"], data["sigma"] + 0.1
    moved = [to(values) for values in (y, p, sigma)]
    assert sb.check_errors(*moved[:2], yerr=moved[2]).noise_share == pytest.approx(
        sb.check_errors(y, p, yerr=sigma).noise_share, rel=1e-12
    )
    budget = sb.plan(moved[0], moved[1], yerr=moved[2], std=0.1)
    assert str(budget) == str(sb.plan(y, p, yerr=sigma, std=0.1))
    pair = sb.plan(moved[0], [moved[1], to(p + 0.5)], yerr=moved[2])
    assert str(pair) == str(sb.plan(y, [p, p + 0.5], yerr=sigma))
    found = sb.propagate(np.multiply, [moved[0], moved[1]], errors=[moved[2], 0.1])
    assert np.array_equal(found.yerr, sb.propagate(np.multiply, [y, p], errors=[sigma, 0.1]).yerr)


def test_repeats_in_groups(to: To) -> None:
    values, groups = np.array([1.0, 1.2, 3.0, 3.1, 2.9]), np.array([0, 0, 1, 1, 1])
    assert np.array_equal(sb.Repeats(to(values), groups=to(groups)).sigma, sb.Repeats(values, groups=groups).sigma)


def test_cross_validation(to: To) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    data = draw(40)
    X, y, sigma = data["p"][:, None], data["y"], data["sigma"]
    expected = sb.cross_validate(linear_model.LinearRegression(), X, y, yerr=sigma, metrics="mean_squared_error")
    found = sb.cross_validate(
        linear_model.LinearRegression(), to(X), to(y), yerr=to(sigma), metrics="mean_squared_error"
    )
    assert [float(score) for score in found["mean_squared_error"]] == pytest.approx(
        [float(score) for score in expected["mean_squared_error"]], rel=1e-12
    )


@pytest.mark.parametrize("n", [100, 6000])
def test_tensors_that_are_changed(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score of few labels keeps copies; one of many says that its arrays are no longer those it was made of."""
    monkeypatch.setattr("scorebars.engines.on_device.elsewhere", lambda values: True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    y, p = torch.zeros(n, device=device), torch.ones(n, device=device)
    score = sb.mean_squared_error(y, p, yerr=0.5)
    y += 7
    if n == 100:
        assert float(score.truth) == pytest.approx(0.75)
    else:
        with pytest.raises(RuntimeError, match="the arrays of this score were changed after it was computed"):
            score.interval()


def test_tensors_with_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    p = torch.ones(5, requires_grad=True) * 2
    for elsewhere in (False, True):
        monkeypatch.setattr("scorebars.engines.on_device.elsewhere", lambda values, e=elsewhere: e)
        assert sb.mean_squared_error(torch.zeros(5), p, yerr=0.5).expected == 4.25
        assert sb.mean_squared_error(torch.zeros(5), torch.nn.Parameter(torch.ones(5))).observed == 1


def test_tensors_in_host_memory_are_read_without_a_copy() -> None:
    y = torch.zeros(10_000)
    assert np.shares_memory(to_host(y), y.numpy())
    assert sb.mean_squared_error(y, y + 1, yerr=0.5).expected == 1.25


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_other_tensors(dtype: torch.dtype) -> None:
    y, p = torch.tensor([1, 0, 1]).to(dtype), torch.tensor([1, 1, 1]).to(dtype)
    assert sb.mean_squared_error(y, p).observed == pytest.approx(1 / 3)
    assert to_host(y).dtype.kind in "bif"


def test_complex_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="y_true holds complex numbers"):
        sb.mean_squared_error(torch.ones(3, dtype=torch.complex64), torch.ones(3))


def test_jax_bfloat16() -> None:
    jax = pytest.importorskip("jax")
    y = jax.numpy.asarray([1.0, 2.0, 4.0], dtype="bfloat16")
    assert sb.mean_squared_error(y, y + 1, yerr=0.5).expected == 1.25


def test_without_array_api_compat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setattr("scorebars.engines.on_device.elsewhere", lambda values: True)
    with pytest.raises(ImportError, match=r"need array-api-compat: pip install 'scorebars\[array-api\]'"):
        sb.mean_squared_error(torch.ones(3), torch.ones(3))
