"""The distribution of the share of absolute error explained, against drawn labels."""

from __future__ import annotations

import numpy as np
import pytest

from scorebars.errors import Normal
from scorebars.laws.absolute_share import absolute_share_law
from scorebars.moments.statistics import d2_absolute

Q = np.array([0.025, 0.16, 0.5, 0.84, 0.975])


@pytest.mark.parametrize("n", [12, 101, 400])
@pytest.mark.parametrize("noise", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("mixed", [False, True], ids=["equal", "mixed sizes and weights"])
def test_it_follows_drawn_labels(n: int, noise: float, mixed: bool) -> None:
    rng = np.random.default_rng(n)
    y = rng.normal(size=n)
    p = y + 0.5 * rng.normal(size=n)
    sigma = noise * (np.exp(rng.normal(0.0, 0.7, n)) if mixed else np.ones(n))
    weight = rng.uniform(0.2, 1.0, n) if mixed else None
    law = absolute_share_law(y, p, Normal(sigma), weight)
    drawn = np.concatenate([d2_absolute(y + sigma * rng.standard_normal((500, n)), p, weight) for _ in range(20)])
    assert law.mean == pytest.approx(np.mean(drawn), abs=0.05 * float(law.std))
    assert law.std == pytest.approx(np.std(drawn), rel=0.04)
    assert [np.mean(drawn <= x) for x in law.ppf(Q)] == pytest.approx(Q, abs=0.025)


def test_labels_that_do_not_count_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=(2, 200))
    weight = np.repeat([1.0, 0.0], [150, 50])
    law, alone = (absolute_share_law(y[:k], p[:k], Normal(np.full(k, 0.3)), weight[:k]) for k in (200, 150))
    assert law.ppf(0.975) == alone.ppf(0.975)


def test_few_labels_with_errors_among_exact_ones() -> None:
    """The median does not move where its neighbours are exact."""
    y = np.linspace(-3.0, 3.0, 301)
    sigma = np.where(np.abs(y) > 2.9, 0.01, 0.0)
    law = absolute_share_law(y, y + 0.5, Normal(sigma), None)
    rng = np.random.default_rng(1)
    drawn = d2_absolute(y + sigma * rng.standard_normal((4000, y.size)), y + 0.5, None)
    assert law.mean == pytest.approx(np.mean(drawn), abs=0.1 * float(law.std))
    assert law.std == pytest.approx(np.std(drawn), rel=0.06)
