"""Weights of class labels count by their ratios, also where no mistake was seen."""

import numpy as np
import pytest

import scorebars as sb

RIGHT = np.repeat([0, 1], 20)


@pytest.mark.parametrize("yerr", [None, 0.1])
@pytest.mark.parametrize("metric", [sb.f1_score, sb.matthews_corrcoef, sb.balanced_accuracy_score])
def test_the_unit_of_weights_does_not_matter(metric, yerr):
    plain = metric(RIGHT, RIGHT, yerr=yerr).truth.total_interval()
    tripled = metric(RIGHT, RIGHT, yerr=yerr, sample_weight=np.full(40, 3.0)).truth.total_interval()
    assert tripled == pytest.approx(plain, rel=1e-9)
