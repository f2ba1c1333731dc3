"""Every family against SciPy's laws: moments, probabilities, quantiles, draws."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from scorebars import errors
from scorebars.errors.continuous import Continuous

Y = np.array([0.5, 2.0, 7.25])


def split_normal(y: float, low: float, up: float) -> stats.rv_continuous:
    class Law(stats.rv_continuous):
        def _pdf(self, x: float) -> float:
            scale = np.where(x < y, low, up)
            return 2 / (low + up) * np.exp(-0.5 * ((x - y) / scale) ** 2) / np.sqrt(2 * np.pi)

    return Law()


FAMILIES = {
    "normal": (errors.Normal(0.4), lambda y: stats.norm(y, 0.4)),
    "uniform": (errors.Uniform(0.75), lambda y: stats.uniform(y - 0.75, 1.5)),
    "rounding": (errors.Rounding(0.5), lambda y: stats.uniform(y - 0.25, 0.5)),
    "triangular": (errors.Triangular(0.75), lambda y: stats.triang(0.5, y - 0.75, 1.5)),
    "laplace": (errors.Laplace(0.3), lambda y: stats.laplace(y, 0.3)),
    "student": (errors.StudentT(0.3, 6.5), lambda y: stats.t(6.5, y, 0.3)),
    "log_normal": (errors.LogNormal(0.35), lambda y: stats.lognorm(0.35, scale=y)),
    "poisson": (errors.Poisson(), lambda y: stats.poisson(y)),
}
PARAMETERS = pytest.mark.parametrize("name", FAMILIES)


@PARAMETERS
def test_moments(name: str) -> None:
    model, law = FAMILIES[name]
    for i, y in enumerate(Y):
        frozen = law(y)
        mean, variance = frozen.stats("mv")
        skew, kurtosis = frozen.stats("sk")
        assert model.mean(Y)[i] == pytest.approx(float(mean), rel=1e-13)
        assert model.variance(Y)[i] == pytest.approx(float(variance), rel=1e-13)
        assert model.third(Y)[i] == pytest.approx(float(skew * variance**1.5), rel=1e-11, abs=1e-14)
        assert model.fourth(Y)[i] == pytest.approx(float((kurtosis + 3) * variance**2), rel=1e-11)


@PARAMETERS
def test_probabilities(name: str) -> None:
    model, law = FAMILIES[name]
    x = np.array([-0.1, 0.3, 0.5, 1.0, 2.0, 2.2, 3.0, 7.25, 9.0])
    points = np.broadcast_to(x[:, None], (x.size, Y.size))
    cdf, sf, below, at_least = (f(Y, points) for f in (model.cdf, model.sf, model.below, model.at_least))
    for i, y in enumerate(Y):
        np.testing.assert_allclose(cdf[:, i], law(y).cdf(x), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(sf[:, i], law(y).sf(x), rtol=1e-11, atol=1e-300)
        if name == "poisson":
            np.testing.assert_allclose(model.pdf(Y, points)[:, i], law(y).pmf(x), rtol=1e-11)
            np.testing.assert_allclose(below[:, i], law(y).cdf(np.ceil(x) - 1), rtol=1e-11)
        else:
            np.testing.assert_allclose(model.pdf(Y, points)[:, i], law(y).pdf(x), rtol=1e-11, atol=1e-300)
            np.testing.assert_allclose(below[:, i], cdf[:, i], rtol=1e-12)
    np.testing.assert_allclose(below + at_least, 1.0, rtol=1e-13)


@PARAMETERS
def test_quantiles(name: str) -> None:
    model, law = FAMILIES[name]
    q = np.array([1e-9, 0.01, 0.3, 0.5, 0.75, 0.999])
    found = model.ppf(Y, np.broadcast_to(q[:, None], (q.size, Y.size)))
    for i, y in enumerate(Y):
        np.testing.assert_allclose(found[:, i], law(y).ppf(q), rtol=1e-9, atol=1e-12)


@PARAMETERS
def test_draws_follow_the_law(name: str) -> None:
    model, law = FAMILIES[name]
    draws = model.sample(Y, 20_000, np.random.default_rng(1))
    assert draws.shape == (20_000, 3)
    assert np.array_equal(draws, model.sample(Y, 20_000, np.random.default_rng(1)))
    for i, y in enumerate(Y):
        if name == "poisson":
            assert np.mean(draws[:, i] == 0) == pytest.approx(law(y).pmf(0), abs=0.015)
            assert draws[:, i].mean() == pytest.approx(y, abs=0.1)
        else:
            assert stats.kstest(draws[:, i], law(y).cdf).pvalue > 1e-3


def test_split_normal_is_two_half_normals() -> None:
    model, y = errors.SplitNormal(0.3, 0.9), np.array([2.0])
    reference = split_normal(2.0, 0.3, 0.9)
    x = np.array([[0.5], [1.9], [2.0], [2.4], [5.0]])
    np.testing.assert_allclose(model.pdf(y, x)[:, 0], reference.pdf(x[:, 0]), rtol=1e-13)
    np.testing.assert_allclose(model.cdf(y, x)[:, 0], reference.cdf(x[:, 0]), rtol=1e-7)
    q = np.array([[1e-6], [0.2], [0.25], [0.26], [0.9]])
    np.testing.assert_allclose(model.cdf(y, model.ppf(y, q)), q, rtol=1e-12)
    one_sided = errors.SplitNormal(0.0, 1.0)
    assert one_sided.cdf(y, y)[0] == 0.0
    assert one_sided.pdf(y, np.array([1.0]))[0] == 0.0
    assert one_sided.ppf(y, np.array([0.0]))[0] == 2.0


@PARAMETERS
def test_between_takes_both_ends(name: str) -> None:
    model, law = FAMILIES[name]
    low, high = np.array([0.5, 1.0, 9.0]), np.array([0.75, 4.0, 12.0])
    expected = [law(y).cdf(h) - law(y).cdf(a) for y, a, h in zip(Y, low, high, strict=True)]
    if name == "poisson":
        expected = [law(y).cdf(h) - law(y).cdf(np.ceil(a) - 1) for y, a, h in zip(Y, low, high, strict=True)]
    np.testing.assert_allclose(model.between(Y, low, high), expected, rtol=1e-9, atol=1e-15)


EVERY = [
    errors.Uniform(np.array([0.1, 0.0, 0.3])),
    errors.Triangular(np.array([0.1, 0.0, 0.3])),
    errors.Rounding(np.array([0.1, 0.0, 0.3])),
    errors.Laplace(np.array([0.1, 0.0, 0.3])),
    errors.StudentT(np.array([0.1, 0.0, 0.3]), np.array([1.5, 2.0, 9.0])),
    errors.SplitNormal(np.array([0.1, 0.0, 0.3]), np.array([0.2, 0.0, 0.0])),
    errors.LogNormal(np.array([0.1, 0.0, 0.3])),
    errors.Poisson(),
    errors.Empirical([[0.5, 0.6], [2.0, 2.0], [7.0, 8.0]]),
]


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_subset_and_pickle(model: errors.MeasurementError) -> None:
    for index in (np.array([2, 0]), slice(1, 3), np.array([True, False, True])):
        part = model[index]
        np.testing.assert_array_equal(part.variance(Y[index]), model.variance(Y)[index])
        np.testing.assert_array_equal(part.mean(Y[index]), model.mean(Y)[index])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.variance(Y), model.variance(Y))
    assert again.kind == "classical"


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_scaling_scales_everything(model: errors.MeasurementError) -> None:
    c = 2.0**-10
    part = model.scaled(c)
    np.testing.assert_allclose(part.mean(c * Y), c * model.mean(Y), rtol=1e-14)
    np.testing.assert_allclose(part.variance(c * Y), c**2 * model.variance(Y), rtol=1e-13)
    np.testing.assert_allclose(part.fourth(c * Y), c**4 * model.fourth(Y), rtol=1e-12)
    x = np.array([0.55, 2.0, 7.1])
    np.testing.assert_allclose(part.cdf(c * Y, c * x), model.cdf(Y, x), rtol=1e-12)


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_label_without_error(model: errors.MeasurementError) -> None:
    if isinstance(model, errors.Poisson):
        assert model.variance(np.zeros(1))[0] == 0
        return
    y = Y[1:2]
    part = model[np.array([1])]
    assert part.mean(y)[0] == 2.0
    assert part.variance(y)[0] == part.third(y)[0] == part.fourth(y)[0] == 0.0
    assert part.cdf(y, y)[0] == 1.0
    assert part.below(y, y)[0] == 0.0
    assert part.sf(y, y)[0] == 0.0
    assert part.at_least(y, y)[0] == 1.0
    assert part.ppf(y, np.array([0.3]))[0] == 2.0
    assert np.all(part.sample(y, 4, np.random.default_rng(0)) == 2.0)


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("level", [0.5, 2.0])
def test_noisier_adds_variance_about_the_label(model: errors.MeasurementError, level: float) -> None:
    """SIMEX rests on it: extra errors have mean zero about the (unbiased) label and `level` times the variance."""
    more, centre = model.noisier(Y, level)
    finite = np.isfinite(model.variance(Y))
    if isinstance(model, errors.LogNormal):  # there it is the variance of the logarithm
        np.testing.assert_allclose(more.sigma_log, np.sqrt(level) * model.sigma_log)
        return
    np.testing.assert_allclose(more.variance(centre)[finite], level * model.variance(Y)[finite], rtol=1e-12)
    np.testing.assert_allclose(more.mean(centre), model.unbiased_label(Y), rtol=1e-13)


def test_standard_coordinates_have_density_one() -> None:
    from scipy.integrate import quad

    for model in (*(m for m, _ in FAMILIES.values()), errors.SplitNormal(0.3, 0.9)):
        if isinstance(model, Continuous):
            total = sum(
                quad(lambda u: float(model.density(np.array([u]))[0]), a, b, epsabs=1e-14)[0]  # noqa: B023
                for a, b in zip(model.edges[:-1], model.edges[1:], strict=True)
            )
            assert total == pytest.approx(1.0, abs=1e-10)


def test_student_moments_that_do_not_exist() -> None:
    y = np.zeros(1)
    assert errors.StudentT(1.0, 1.0).mean(y)[0] == np.inf
    assert errors.StudentT(1.0, 2.0).variance(y)[0] == np.inf
    assert errors.StudentT(1.0, 2.0).mean(y)[0] == 0.0
    assert errors.StudentT(1.0, 3.0).third(y)[0] == np.inf
    assert errors.StudentT(1.0, 3.5).third(y)[0] == 0.0
    assert errors.StudentT(1.0, 4.0).fourth(y)[0] == np.inf


@pytest.mark.parametrize("df", [0.7, 3.0, 60.0, 1e3, 1e6, 1e12])
def test_student_density_keeps_its_digits(df: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    for u in (0.0, 0.5, 3.0, 30.0):
        with mpmath.workdps(40):
            v, t = mpmath.mpf(df), mpmath.mpf(u)
            exact = (1 + t * t / v) ** (-(v + 1) / 2) / mpmath.sqrt(v) / mpmath.beta(mpmath.mpf(1) / 2, v / 2)
        assert errors.StudentT(1.0, df).density(np.array([u]))[0] == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize(
    ("mean", "count"), [(1e12, 1e12 + 3), (1e12, 1e12 - 5e6), (0.3, 0.0), (50.0, 12.0), (0.0, 0.0)]
)
def test_poisson_probability_keeps_its_digits(mean: float, count: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        m, k = mpmath.mpf(mean), mpmath.mpf(count)
        exact = mpmath.e ** (-m + (k * mpmath.log(m) if mean else 0) - mpmath.loggamma(k + 1))
    found = errors.Poisson().probability(np.array([mean]), np.array([count]))[0]
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_empirical_takes_ragged_rows() -> None:
    model = errors.Empirical([[1.0, 1.5, 0.75, 2.0], [3.0, 3.5], [np.nan, 4.0, np.nan, np.nan]])
    np.testing.assert_allclose(model.labels(), [1.3125, 3.25, 4.0])
    np.testing.assert_array_equal(model.counts, [4, 2, 1])
    y = model.labels()
    np.testing.assert_allclose(model.variance(y), [np.var([1.0, 1.5, 0.75, 2.0]), 0.0625, 0.0])
    np.testing.assert_allclose(model.cdf(y, np.array([1.0, 3.0, 3.9])), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(model.ppf(y, np.array([0.5, 0.51, 0.99])), [1.0, 3.5, 4.0])
    draws = model.sample(y, 500, np.random.default_rng(0))
    assert set(np.unique(draws[:, 0])) == {0.75, 1.0, 1.5, 2.0}
    assert set(np.unique(draws[:, 2])) == {4.0}


def test_repr() -> None:
    assert repr(errors.Uniform(0.5)) == "Uniform(halfwidth=0.5)"
    assert repr(errors.Rounding(0.5, kind="berkson")) == "Rounding(step=0.5, kind='berkson')"
    assert repr(errors.StudentT(np.ones(4), 3)) == "StudentT(scale=<4 values>, df=3)"
    assert repr(errors.LogNormal(0.1)) == "LogNormal(sigma_log=0.1)"
    assert repr(errors.Poisson(kind="berkson")) == "Poisson(kind='berkson')"
    assert repr(errors.Empirical(np.ones((3, 5)))) == "Empirical(<3 labels, 5 draws>)"
