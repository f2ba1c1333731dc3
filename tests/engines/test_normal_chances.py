"""Normal probabilities, compiled and by SciPy."""

import numpy as np
import pytest
from scipy.special import ndtr

from scorebars.engines.normal_chances import normal_below


@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_agrees_with_scipy_into_both_tails(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_ENGINE", engine)
    x = np.linspace(-25.9, 25.9, 20_001).reshape(3, -1)
    assert normal_below(x) == pytest.approx(ndtr(x), rel=2e-13)
    near = x[np.abs(x) < 6]
    assert normal_below(near) == pytest.approx(ndtr(near), rel=2e-15)
    assert normal_below(x[:, ::2]).shape == x[:, ::2].shape


@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_far_out(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOREBARS_ENGINE", engine)
    far = np.repeat([-np.inf, -1e300, -40.0, 40.0, 1e300, np.inf], 20)
    assert normal_below(far) == pytest.approx(np.repeat([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], 20), abs=1e-147)
