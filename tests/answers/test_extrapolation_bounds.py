"""How far label errors may have raised a mean loss, whatever the true residuals are."""

import math

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers.truth.extrapolation import raised_by_noise
from scorebars.losses import AbsoluteError
from scorebars.measured import Measured


def test_an_absolute_error_is_raised_by_the_kink_at_most():
    """Between 0, for a residual far from the kink, and sqrt(2/pi) s, for one that may be on it."""
    zero, sd = np.zeros(4), np.full(4, 0.3)
    near, far = (Measured(y, zero, sb.Normal(sd)) for y in (zero, np.full(4, 50.0)))
    least, most = raised_by_noise(AbsoluteError(), near, sd)
    assert most == pytest.approx(math.sqrt(2.0 / math.pi) * 0.3, rel=1e-6)
    assert 0.0 <= least < 0.01 * most
    assert raised_by_noise(AbsoluteError(), far, sd) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_labels_measured_as_they_were_need_no_extrapolation():
    rng = np.random.default_rng(2)
    y, sd = rng.normal(size=40), np.full(40, 0.4)
    score = sb.log_cosh_loss(y, y + rng.normal(size=40), yerr=sd)
    assert score.remeasured(1).method == "unbiased"
    assert score.remeasured(4).method != "unbiased"


@pytest.mark.parametrize("errors", [sb.Normal(0.2), sb.Laplace(0.2)], ids=["normal", "laplace"])
def test_labels_that_do_not_count_stand_for_none(errors):
    """Every third label has no weight: those that stand for very many are of the others."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=3000)
    p, weight = y + 0.3 * rng.normal(size=3000), np.tile([0.0, 1.0, 2.0], 1000)
    counts = weight > 0
    found = sb.log_cosh_loss(y, p, yerr=errors, sample_weight=weight)
    plain = sb.log_cosh_loss(y[counts], p[counts], yerr=errors, sample_weight=weight[counts])
    for ask in (lambda s: s.remeasured(3), lambda s: s.truth):
        assert float(ask(found)) == pytest.approx(float(ask(plain)), rel=1e-12)
        assert ask(found).std == pytest.approx(ask(plain).std, rel=1e-9)
