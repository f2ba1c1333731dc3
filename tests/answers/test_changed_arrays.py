"""A score of many labels keeps references: once an array was changed, nothing more can be derived from it."""

import numpy as np
import pytest

import scorebars as sb

N = 5000
METRICS = {
    "by the engine": lambda y, p, s: sb.mean_absolute_error(y, p, yerr=s),
    "root": lambda y, p, s: sb.root_mean_squared_error(y, p, yerr=s),
    "any loss": lambda y, p, s: sb.huber_loss(y, p, yerr=s),
    "another family": lambda y, p, s: sb.mean_absolute_error(y, p, yerr=sb.Laplace(s)),
    "all labels together": lambda y, p, s: sb.r2_score(y, p, yerr=s),
    "from sums alone": lambda y, p, s: sb.explained_variance_score(y, p, yerr=s),
}


@pytest.mark.parametrize("changed", ["labels", "predictions", "errors"])
@pytest.mark.parametrize("name", METRICS)
def test_changes_are_noticed(name, changed):
    rng = np.random.default_rng(0)
    n = N * 40 if name == "from sums alone" else N
    y = rng.normal(size=n)
    p, s = y + rng.normal(size=n), rng.uniform(0.1, 1.0, n)
    score = METRICS[name](y, p, s)
    {"labels": y, "predictions": p, "errors": s}[changed][7] += 0.5
    with pytest.raises(RuntimeError, match="the arrays of this score were changed after it was computed"):
        _ = score.perfect


def test_few_labels_are_copied():
    y, p, s = np.arange(20.0), np.arange(20.0) + 0.3, np.full(20, 0.1)
    score = sb.huber_loss(y, p, yerr=s)
    before = sb.huber_loss(y, p, yerr=s).perfect
    y[3], s[2] = 9.0, 3.0
    assert float(score.perfect) == float(before)
