"""An error that all labels share does not average out, however many items there are: intervals of a population hold it too."""

import warnings

import numpy as np
import pytest
from experiment import Situation, predictions_of
from worlds import WORLDS

import scorebars as sb
from scorebars.metrics.registry import declarations

NUMBERS = [name for name, one in declarations().items() if one.scored and one.task in ("regression", "forecast")]
N, SHARED = 120, 0.7


@pytest.mark.parametrize("kind", ["shared", "batch"])
@pytest.mark.parametrize("metric", NUMBERS)
def test_population_interval_holds_what_labels_share(metric, kind):
    world, rng = WORLDS["Normal"], np.random.default_rng(3)
    items = world.items(rng, N)
    y = items.truth + items.size * rng.standard_normal(N) + 0.5
    given = {"shared": np.full(N, SHARED)} if kind == "shared" else {"batch": np.arange(N) // 60, "batch_sigma": SHARED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = Situation(metric, world, N).score(
            y, predictions_of(metric, world, items.prediction), yerr=sb.Normal(items.size, **given)
        )
    try:
        here, everywhere = score.truth.interval(0.68), score.truth.total_interval(0.68)
    except sb.UndefinedEstimate:
        assert metric == "max_error" or "percentage" in metric or "log_error" in metric
        return
    assert everywhere.high - everywhere.low > 0.85 * (here.high - here.low)
