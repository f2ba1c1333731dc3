"""Clients of the torchmetrics classes: a plain training loop and a Lightning module, on measured black-hole masses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import scorebars as sb
from scorebars.adapters.torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score
from scorebars.datasets import load_blackholes


def tensors() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """log10 velocity dispersion about 200 km/s, log10 black-hole mass about 1e8 suns, and its error."""
    holes = load_blackholes()
    x = torch.tensor(np.log10(holes.columns["sigma"] / 200.0), dtype=torch.float64)[:, None]
    y, yerr = torch.tensor(holes.y) - 8.0, torch.tensor(holes.yerr.mean(axis=0))
    return x, y, yerr


def test_training_loop_logs_scores_with_error_bars() -> None:
    torch.manual_seed(0)
    x, y, yerr = tensors()
    model = torch.nn.Linear(1, 1, dtype=torch.float64)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
    loader = DataLoader(TensorDataset(x, y, yerr), batch_size=16, shuffle=True)
    metric, log = MeanSquaredError(), []
    for _ in range(40):
        metric.reset()
        for features, labels, errors in loader:
            predictions = model(features)[:, 0]
            loss = torch.nn.functional.mse_loss(predictions, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            metric.update(predictions, labels, yerr=errors)
        log.append({"mse": metric.compute().item(), "std": metric.score.std, "n": metric.score.n})
    assert all(entry["n"] == 78 and entry["std"] > 0 for entry in log)
    assert log[-1]["mse"] < 0.3 * log[0]["mse"]
    slope = model.weight.item()
    assert 4.0 < slope < 7.0  # McConnell & Ma find 5.64
    metric.reset()
    metric.update(model(x)[:, 0], y, yerr=yerr)
    assert metric.score.perfect < metric.score.truth < metric.score.observed


@pytest.mark.filterwarnings("ignore")  # Lightning's advice on workers, logging and its own dependencies
def test_lightning_logs_the_metric() -> None:
    lightning = pytest.importorskip("pytorch_lightning")
    x, y, yerr = tensors()

    class Relation(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(1, 1, dtype=torch.float64)
            self.mae, self.r2 = MeanAbsoluteError(), R2Score()

        def forward(self, features: Any) -> Any:
            return self.line(features)[:, 0]

        def training_step(self, batch: Any, _: int) -> Any:
            return torch.nn.functional.mse_loss(self(batch[0]), batch[1])

        def validation_step(self, batch: Any, _: int) -> None:
            features, labels, errors = batch
            for name, metric in (("mae", self.mae), ("r2", self.r2)):
                metric.update(self(features), labels, yerr=errors)
                self.log(name, metric, on_epoch=True)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.2)

    torch.manual_seed(0)
    module = Relation()
    loader = DataLoader(TensorDataset(x, y, yerr), batch_size=16)
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader, loader)
    logged = trainer.callback_metrics
    with torch.no_grad():
        predictions = module(x)
    assert logged["mae"].item() == pytest.approx(float(sb.mean_absolute_error(y, predictions, yerr=yerr)), rel=1e-6)
    assert logged["r2"].item() == pytest.approx(float(sb.r2_score(y, predictions, yerr=yerr)), rel=1e-6)
