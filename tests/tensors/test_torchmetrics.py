"""The torchmetrics classes: batches add up to the score of all labels, in one process and in several."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torchmetrics import MetricCollection

import scorebars as sb
from label_draws import draw
from scorebars.adapters import torchmetrics as adapter
from scorebars.metrics.registry import declarations

CLASSES = {
    name: value for name, value in vars(adapter).items() if isinstance(value, type) and hasattr(value, "function")
}
OPTIONS = {
    "fraction_within": {"tolerance": 0.5},
    "fbeta_score": {"beta": 2.0},
    "interval_score": {"level": 0.9},
    "interval_coverage": {"level": 0.9},
}


def batches(*columns: torch.Tensor) -> Any:
    return zip(*(column.split(17) for column in columns), strict=True)


def data_of(function: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Labels, predictions and errors that the metric can be asked about."""
    data = draw(60)
    if declarations()[function].task == "regression":
        y = torch.tensor(np.abs(data["y"]) + 1)
        return y, y * torch.tensor(1 + 0.1 * data["p"] / 10), torch.tensor(data["sigma"] * 0.05 + 0.01)
    rng = np.random.default_rng(1)
    if declarations()[function].task == "forecast":
        mean = torch.tensor(data["p"])
        preds = torch.stack((mean, 0.5 + mean.abs()), dim=1)  # two members: the mean and spread of normal forecasts
        return torch.tensor(data["y"]), preds, torch.tensor(data["sigma"])
    target = torch.tensor(rng.integers(0, 2, 60))
    q = torch.tensor(rng.uniform(0.01, 0.2, 60))
    share = 0.3 + 0.4 * target + torch.tensor(rng.uniform(-0.29, 0.29, 60))
    if function in ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score"):
        return target, share, q
    if function == "top_k_accuracy_score":
        target = torch.tensor(rng.integers(0, 4, 60))
        return target, torch.tensor(rng.dirichlet(np.ones(4), 60)), q
    return target, (share > 0.5).long(), q


def test_every_score_has_a_class_and_every_class_its_direction() -> None:
    scored = {name: declared for name, declared in declarations().items() if declared.scored}
    assert {value.function for value in CLASSES.values()} == set(scored)
    for value in CLASSES.values():
        if hasattr(value, "function"):
            assert value.higher_is_better == scored[value.function].greater_is_better, value


@pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")
@pytest.mark.parametrize("name", sorted(CLASSES))
def test_batches_give_the_score_of_all_labels(name: str) -> None:
    function = CLASSES[name].function
    options = OPTIONS.get(function, {})
    metric = CLASSES[name](**options)
    target, preds, yerr = data_of(function)
    normal = function == "log_score"  # members have none
    for y, p, error in batches(target, preds, yerr):
        metric.update(tuple(p.T) if normal else p, y, yerr=error)
    whole = getattr(sb, function)(target, tuple(preds.T) if normal else preds, yerr=yerr, **options)
    assert metric.compute().item() == pytest.approx(float(whole), rel=1e-6)
    assert metric.compute().ndim == 0
    assert (metric.score.expected, metric.score.observed) == (whole.expected, whole.observed)
    assert metric.score.std == whole.std or math.isinf(whole.std)


@pytest.mark.parametrize("name", [name for name in CLASSES if CLASSES[name].__bases__ == (adapter.ForecastMetric,)])
def test_normal_forecasts_come_as_mean_and_spread_or_as_torch_has_them(name: str) -> None:
    target, preds, yerr = data_of(CLASSES[name].function)
    options = OPTIONS.get(CLASSES[name].function, {})
    whole = getattr(sb, CLASSES[name].function)(target, tuple(preds.T), yerr=yerr, **options)
    metric = CLASSES[name](**options)
    for k, (y, p, error) in enumerate(batches(target, preds, yerr)):
        mean, std = p.T
        metric.update((mean, std) if k % 2 else torch.distributions.Normal(mean, std), y, yerr=error)
    assert metric.score.expected == whole.expected
    with pytest.raises(ValueError, match="members and means"):
        metric.update(preds, target)


def test_number_for_all_labels_and_no_errors() -> None:
    target, preds, _ = data_of("mean_absolute_error")
    metric = adapter.MeanAbsoluteError(yerr=0.25)
    metric.update(preds, target)
    assert metric.score.expected == pytest.approx(sb.mean_absolute_error(target, preds, yerr=0.25).expected, rel=1e-14)
    metric = adapter.MeanAbsoluteError()
    metric.update(preds, target)
    assert metric.score.expected == metric.score.observed == sb.mean_absolute_error(target, preds).observed


def test_weights_and_options() -> None:
    data = draw(40)
    y, p, sigma, weight = (torch.tensor(column) for column in data.values())
    metric = adapter.FractionWithin(tolerance=0.7)
    for batch in batches(y, p, sigma, weight):
        metric.update(batch[1], batch[0], yerr=batch[2], sample_weight=batch[3])
    whole = sb.fraction_within(y, p, tolerance=0.7, yerr=sigma, sample_weight=weight)
    assert (metric.score.expected, metric.score.std) == (whole.expected, whole.std)


def test_several_outputs() -> None:
    rng = np.random.default_rng(0)
    y, p = torch.tensor(rng.normal(size=(20, 3))), torch.tensor(rng.normal(size=(20, 3)))
    error = torch.linspace(0.1, 0.3, 20, dtype=torch.float64)
    metric = adapter.MeanSquaredError(multioutput="raw_values")
    metric.update(p, y, yerr=error)
    whole = sb.mean_squared_error(y, p, yerr=error, multioutput="raw_values")
    assert metric.compute().tolist() == pytest.approx(list(map(float, whole)))
    assert [s.std for s in metric.score] == [s.std for s in whole]


def test_logits_become_classes() -> None:
    logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 0.1, 0.2], [1.0, 3.0, 2.0], [0.5, 0.0, 0.0]])
    target = torch.tensor([0, 2, 2, 0])
    metric = adapter.Accuracy(yerr=0.1)
    metric.update(logits, target)
    assert metric.score.observed == 0.75
    assert metric.score.expected == pytest.approx(sb.accuracy_score([0, 2, 2, 0], [0, 2, 1, 0], yerr=0.1).expected)


def test_forward_gives_the_batch_and_keeps_all() -> None:
    target, preds, yerr = data_of("mean_squared_error")
    metric = adapter.MeanSquaredError()
    for y, p, error in batches(target, preds, yerr):
        assert metric(p, y, yerr=error).item() == pytest.approx(float(sb.mean_squared_error(y, p, yerr=error)))
    assert metric.score.expected == sb.mean_squared_error(target, preds, yerr=yerr).expected
    metric.reset()
    metric.update(preds[:5], target[:5])
    assert metric.score.n == 5


def test_copies_pickles_and_collections() -> None:
    target, preds, yerr = data_of("mean_squared_error")
    metric = adapter.R2Score()
    metric.update(preds, target, yerr=yerr)
    for other in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert other.score.expected == metric.score.expected
    both = MetricCollection([adapter.MeanSquaredError(), adapter.MeanAbsoluteError()])
    for y, p, error in batches(target, preds, yerr):
        both.update(p, y, yerr=error)
    found = both.compute()
    assert found["MeanSquaredError"].item() == pytest.approx(float(sb.mean_squared_error(target, preds, yerr=yerr)))
    assert found["MeanAbsoluteError"].item() == pytest.approx(float(sb.mean_absolute_error(target, preds, yerr=yerr)))


def test_messages() -> None:
    ones = torch.ones(3)
    with pytest.raises(ValueError, match="preds and target have inconsistent numbers of samples: 2 and 3"):
        adapter.MeanSquaredError().update(ones[:2], ones)
    with pytest.raises(ValueError, match=r"yerr has shape \(2,\) but target has shape \(3,\)\. Give a number"):
        adapter.MeanSquaredError().update(ones, ones, yerr=ones[:2])
    with pytest.raises(ValueError, match="yerr is Normal; batches take a number"):
        adapter.MeanSquaredError().update(ones, ones, yerr=sb.Normal(0.1))
    with pytest.raises(ValueError, match="MaxError takes no sample_weight: max_error knows no weights"):
        adapter.MaxError().update(ones, ones, sample_weight=ones)
    with pytest.raises(ValueError, match="MeanSquaredError has seen no labels: call update before compute"):
        metric = adapter.MeanSquaredError()
        metric._update_count = 1  # so that torchmetrics does not warn of the same
        metric.compute()
    metric = adapter.MeanSquaredError()
    metric.update(ones, torch.tensor([1.0, math.nan, 3.0]))
    with pytest.raises(ValueError, match="y_true contains NaN: the first is nan at index 1, 1 in all"):
        metric.compute()


def work(rank: int, address: str, folder: str) -> None:
    """One of two processes: every second batch is its own; what all batches give is stored."""
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    target, preds, yerr = data_of("mean_squared_error")
    metric = adapter.MeanSquaredError()
    for number, (y, p, error) in enumerate(batches(target, preds, yerr)):
        if number % 2 == rank:
            metric.update(p, y, yerr=error)
    value, score = metric.compute(), metric.score
    Path(folder, f"{rank}.pickle").write_bytes(
        pickle.dumps((value.item(), score.n, score.expected, score.std, float(score.truth), len(metric.preds)))
    )
    torch.distributed.destroy_process_group()


def test_two_processes(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(work, args=(f"file://{tmp_path}/meet", str(tmp_path)), nprocs=2)
    target, preds, yerr = data_of("mean_squared_error")
    whole = sb.mean_squared_error(target, preds, yerr=yerr)
    for rank in (0, 1):
        value, n, expected, std, truth, own = pickle.loads((tmp_path / f"{rank}.pickle").read_bytes())
        assert (n, own) == (60, 2)  # the score is of all labels, the state again of this process's batches
        assert value == pytest.approx(whole.expected, rel=1e-14)
        assert (expected, std) == pytest.approx((whole.expected, whole.std), rel=1e-14)
        assert truth == pytest.approx(float(whole.truth), rel=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu() -> None:
    target, preds, yerr = data_of("mean_squared_error")
    metric = adapter.MeanSquaredError().to("cuda")
    for y, p, error in batches(target.cuda(), preds.cuda(), yerr.cuda()):
        metric.update(p, y, yerr=error)
    assert metric.compute().device.type == "cuda"
    whole = sb.mean_squared_error(target, preds, yerr=yerr)
    assert (metric.score.expected, metric.score.std) == pytest.approx((whole.expected, whole.std), rel=1e-13)
