"""Labels within a tolerance under normal errors: the form by distances against 400 digits and the form of all families."""

import mpmath as mp
import numpy as np
import pytest

from scorebars.engines.class_counts import rows_of
from scorebars.engines.store import chances_of
from scorebars.errors import Normal
from scorebars.losses import Within
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import within_any, within_normal

DISTANCES = [0.0, 1e-9, 0.3, 0.5, 0.5000001, 0.9, 4.0, 1e6]


@pytest.mark.parametrize("sigma", [1e-6, 0.02, 0.3, 2.0, 1e4])
def test_chances_and_their_complements_keep_their_digits(sigma):
    p = np.array(DISTANCES)
    mean, variance = within_normal(Within(0.5), Normal(sigma), np.zeros_like(p), p)
    with mp.workdps(400):
        edges = [((mp.mpf(d) - 0.5) / mp.mpf(sigma), (mp.mpf(d) + 0.5) / mp.mpf(sigma)) for d in DISTANCES]
        chance = [(mp.erfc(low / mp.sqrt(2)) - mp.erfc(high / mp.sqrt(2))) / 2 for low, high in edges]
        exact, spread = [float(c) for c in chance], [float(c * (1 - c)) for c in chance]
    np.testing.assert_allclose(mean, exact, rtol=1e-11 if sigma > 100 else 2e-13, atol=1e-300)
    np.testing.assert_allclose(variance, spread, rtol=1e-11 if sigma > 100 else 2e-13, atol=1e-300)


@pytest.mark.parametrize("kind", ["classical", "berkson"])
def test_as_for_all_families_and_exact_labels_stay_where_they_are(kind):
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    p = y + rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 500)
    errors = Normal(rng.choice([0.0, 1e-310, 0.1, 3.0], 500), kind=kind)
    found, expected = (form(Within(0.5), errors, y, p) for form in (within_normal, within_any))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-12, atol=1e-15)
    exact = errors.sigma < 1e-300
    assert np.array_equal(found.mean[exact], (np.abs(p - y) <= 0.5)[exact])
    assert not np.any(found.variance[exact])
    assert np.array_equal(label_moments(Within(0.5), errors, y, p).mean, found.mean)


@pytest.mark.parametrize("sigma", [0.3, "each", "some exact"])
def test_chances_compiled_and_by_numpy(sigma, monkeypatch):
    rng = np.random.default_rng(3)
    y, p, width = rng.normal(size=5000), rng.normal(size=5000), rng.uniform(0.01, 2.0, 5000)
    if sigma == "some exact":
        width[::7] = 0.0
        p[::14] = y[::14] + 0.5  # just inside
    given = 0.3 if sigma == 0.3 else width
    exact = label_moments(Within(0.5), Normal.trusted(given), y, p).mean
    for engine in ("auto", "numpy"):
        monkeypatch.setenv("SCOREBARS_ENGINE", engine)
        found = chances_of(y, p, given, 0.5)
        assert found.n == 5000
        _, q, count = rows_of(found)
        for power in (1, 2, 3):
            assert count @ q**power == pytest.approx(np.sum(exact**power), rel=1e-9)
        assert count[q == 1].sum() == np.count_nonzero(exact == 1)
