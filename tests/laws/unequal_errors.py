"""Labels whose errors differ by orders of magnitude, where the integrand of a law falls in another direction at each scale."""

import numpy as np


def unequal(seed):
    """Labels, predictions, errors, and for half of the seeds weights."""
    rng = np.random.default_rng([0, seed])
    n = int(10 ** rng.uniform(0.6, 2.6))
    y = rng.normal(size=n) * 10 ** rng.uniform(-1, 2)
    p = y + rng.normal(size=n) * 10 ** rng.uniform(-1, 2)
    sigma = np.exp(rng.normal(size=n) * rng.uniform(0, 4)) * 10 ** rng.uniform(-3, 1)
    return y, p, sigma, None if seed % 2 else np.exp(rng.normal(size=n) * 2)


def require_drawn_law(law, draws):
    """The distribution function agrees with draws, grows, and is undone by the quantiles."""
    shares = np.array([0.005, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995])
    cdf = law.cdf(np.quantile(draws, shares))
    assert np.all(np.abs(cdf - shares) < 5 * np.sqrt(shares * (1 - shares) / len(draws)))
    x = law.ppf(shares)
    assert np.all(np.diff(x) > 0)
    np.testing.assert_allclose(law.cdf(x), shares, rtol=1e-8)
