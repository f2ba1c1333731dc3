"""Labels as many tests draw them."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(n: int, seed: int = 0) -> dict[str, Any]:
    """Labels, predictions, errors (a tenth of them zero) and weights."""
    rng = np.random.default_rng(seed)
    y = rng.normal(3.0, 2.0, n)
    sigma = rng.lognormal(-0.5, 1.0, n)
    sigma[rng.random(n) < 0.1] = 0.0
    return {"y": y, "p": y + rng.normal(0.1, 1.0, n), "sigma": sigma, "weight": rng.exponential(1.0, n)}
