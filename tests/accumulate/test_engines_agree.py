"""Both engines of the CPU give the same scores, for every metric that an accumulator takes."""

from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines.engine import compiled

N = 70_000
RNG = np.random.default_rng(9)
Y = RNG.normal(3.0, 1.0, N)
P = Y + 0.3 * RNG.standard_normal(N)
SIGMA = 0.2 * np.exp(0.7 * RNG.standard_normal(N))
LABELS, SHOWN = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
FLIPS = RNG.uniform(0, 0.3, N)
OPTIONS = {"fraction_within": {"tolerance": 0.3}, "fbeta_score": {"beta": 2.0}, "interval_score": {"level": 0.8}}
OPTIONS |= {"interval_coverage": {"level": 0.8}}


def score(metric, task, engine, monkeypatch):
    monkeypatch.setenv("SCOREBARS_ENGINE", engine)
    asked = partial(getattr(sb, metric), **OPTIONS.get(metric, {}))
    data = (LABELS, SHOWN, FLIPS) if task == "classification" else (Y, P, SIGMA)
    if task == "forecast":
        data = (Y[:3000], {"model": sb.NormalForecast(P[:3000], 1.0 + SIGMA[:3000])}, SIGMA[:3000])
    return sb.Accumulator(asked).update(data[0], data[1], yerr=data[2]).result()[metric]


@pytest.mark.skipif(compiled("_kernel").module is None, reason="there is no compiled engine here")
@pytest.mark.parametrize(
    ("task", "metric"), [(task, metric) for task, metrics in sb.Accumulator.takes.items() for metric in metrics]
)
def test_scores_do_not_depend_on_the_engine(task, metric, monkeypatch):
    compiled, plain = (score(metric, task, engine, monkeypatch) for engine in ("kernel", "numpy"))
    for name in ("observed", "expected", "std"):
        assert getattr(compiled, name) == pytest.approx(getattr(plain, name), rel=1e-13)
    low, high = plain.interval()
    assert np.allclose(compiled.interval(), (low, high), rtol=0, atol=1e-9 * (high - low))
    assert float(compiled.perfect) == pytest.approx(float(plain.perfect), rel=1e-12)
    assert compiled.method == plain.method
