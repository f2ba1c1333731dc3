"""Forecasts as distributions: what they imply for labels, what users may pass, what is refused."""

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

import scorebars as sb
from scorebars.errors import Poisson
from scorebars.forecasts import forecast_of
from scorebars.forecasts.forecast import crps_by_integral

N = 5
RNG = np.random.default_rng(1)
MEAN, STD, SIGMA = RNG.normal(size=N), RNG.uniform(0.3, 1.5, N), RNG.uniform(0.2, 1.0, N)
NORMAL = sb.NormalForecast(MEAN, STD)
ALL = {
    "normal": NORMAL,
    "members": sb.EnsembleForecast(RNG.normal(size=(N, 8))),
    "quantiles": sb.QuantileForecast([0.1, 0.4, 0.9], np.sort(RNG.normal(size=(N, 3)), axis=1)),
    "law": sb.LawForecast(stats.t(5.0, MEAN, STD)),
    "seen": sb.LawForecast(stats.t(5.0, MEAN, STD)).seen_through(SIGMA),
    "dressed": sb.EnsembleForecast(RNG.normal(size=(N, 8))).seen_through(SIGMA),
}


@pytest.mark.parametrize("name", ALL)
def test_like_an_array(name):
    forecast = ALL[name]
    x = np.stack([MEAN, MEAN + 0.3])
    assert len(forecast) == forecast.n == N and forecast.shape == (N,)
    assert np.asarray(forecast) == pytest.approx(forecast.mean)
    for index in (slice(1, 3), [3, 1, 1], np.array([True, False, True, False, False]), 2):
        rows = np.atleast_1d(np.arange(N)[index])
        part = forecast[index]
        assert part.mean == pytest.approx(forecast.mean[rows]) and part.claims == forecast.claims
        assert part.cdf(x[:, rows]) == pytest.approx(forecast.cdf(x)[:, rows])
        assert part.crps(x[0, rows]) == pytest.approx(forecast.crps(x[0])[rows], rel=1e-9)
    copied = pickle.loads(pickle.dumps(forecast.copy()))
    assert copied.crps(MEAN) == pytest.approx(forecast.crps(MEAN))
    double = forecast.scaled(2.0)
    assert double.crps(2 * MEAN) == pytest.approx(2 * forecast.crps(MEAN), rel=1e-9)
    assert double.std == pytest.approx(2 * forecast.std)


@pytest.mark.parametrize("name", ["normal", "law", "dressed"])
def test_quantiles_invert_the_distribution(name):
    forecast = ALL[name]
    for level in (0.05, 0.5, 0.9):
        assert forecast.cdf(forecast.ppf(level)) == pytest.approx(np.full(N, level), abs=1e-9)
    low, high = forecast.interval(0.8)
    assert forecast.cdf(high) - forecast.cdf(low) == pytest.approx(np.full(N, 0.8), abs=1e-9)
    assert forecast.crps(MEAN) == pytest.approx(crps_by_integral(forecast, MEAN), rel=1e-8)


def test_members_and_quantiles_step():
    members = sb.EnsembleForecast([[3.0, 1.0, 2.0, 2.0]])
    x = np.array([[0.5], [1.0], [2.0], [2.5], [3.0]])
    assert members.cdf(x)[:, 0].tolist() == [0.0, 0.25, 0.75, 0.75, 1.0]
    assert members.below(x)[:, 0].tolist() == [0.0, 0.0, 0.25, 0.75, 0.75]
    assert members.std[0] == pytest.approx(np.std([3.0, 1.0, 2.0, 2.0], ddof=1))
    quantiles = sb.QuantileForecast([0.2, 0.6], [[1.0, 3.0]])
    assert quantiles.cdf(np.array([[0.9], [1.0], [2.0], [3.0]]))[:, 0] == pytest.approx([0.0, 0.2, 0.4, 1.0])
    assert quantiles.ppf(np.array([[0.1], [0.4], [0.9]]))[:, 0] == pytest.approx([1.0, 2.0, 3.0])
    draws = quantiles.sample(200_000, np.random.default_rng(0))[:, 0]
    assert draws.mean() == pytest.approx(quantiles.mean[0], abs=0.01)
    assert draws.std() == pytest.approx(quantiles.std[0], abs=0.01)


# seen through label errors -----------------------------------------------------------------------


def test_a_normal_forecast_stays_normal():
    seen = NORMAL.seen_through(SIGMA)
    assert isinstance(seen, sb.NormalForecast) and seen.claims == "label"
    assert seen.std == pytest.approx(np.hypot(STD, SIGMA))
    shared = NORMAL.seen_through(sb.Normal(SIGMA, shared=np.full(N, 0.3)))
    assert np.square(shared.std) == pytest.approx(STD**2 + SIGMA**2 + 0.09)
    repeats = NORMAL.seen_through(sb.Repeats.from_means(sigma=0.8, n=4))
    assert np.square(repeats.std) == pytest.approx(STD**2 + 0.16)
    with pytest.raises(ValueError, match="claims the label already"):
        seen.seen_through(0.1)
    with pytest.raises(ValueError, match="under Berkson error"):
        NORMAL.seen_through(sb.Normal(0.1, kind="berkson"))


def test_other_laws_agree_with_the_normal_one():
    law, normal = sb.LawForecast(stats.norm(MEAN, STD)).seen_through(SIGMA), NORMAL.seen_through(SIGMA)
    x = np.stack([MEAN - 1, MEAN, MEAN + 3])
    assert law.cdf(x) == pytest.approx(normal.cdf(x), abs=1e-12)
    assert law.log_score(MEAN) == pytest.approx(normal.log_score(MEAN), rel=1e-10)
    assert law.crps(MEAN) == pytest.approx(normal.crps(MEAN), abs=1e-6)
    assert law.crps(x) == pytest.approx(normal.crps(x), abs=1e-6)
    assert law.mean == pytest.approx(MEAN) and law.std == pytest.approx(normal.std)


@pytest.mark.parametrize("law", [stats.cauchy(0, 1), stats.t(1.5)], ids=["no mean", "no variance"])
def test_heavy_tails_seen_through_errors(law):
    """Against the integral over a distribution that is convolved by Gauss's rule."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()

    def below(x):
        return float(weight @ law.cdf(x - 0.5 * z))

    y = np.array([0.3, -2.0])
    expected = [
        integrate.quad(lambda x: below(x) ** 2, -np.inf, at, limit=500)[0]
        + integrate.quad(lambda x: below(-x) ** 2, at, np.inf, limit=500)[0]
        for at in y
    ]
    seen = sb.LawForecast(law, n=2).seen_through(0.5)
    assert seen.crps(y) == pytest.approx(expected, rel=1e-7)
    assert seen.cdf(seen.ppf(0.9)) == pytest.approx(0.9)


MODELS = [
    sb.Uniform(SIGMA),
    sb.errors.Triangular(0.5),
    sb.Laplace(SIGMA),
    sb.StudentT(SIGMA, 6.0),
    sb.SplitNormal(SIGMA, 2 * SIGMA),
    sb.Empirical(RNG.normal(size=(N, 6))),
    sb.LogNormal(0.2),
    Poisson(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", ["normal", "members"])
def test_any_errors_by_simulation(model, kind):
    forecast = sb.NormalForecast(MEAN + 9, STD)
    if kind == "members":
        forecast = sb.EnsembleForecast(9 + RNG.normal(size=(N, 7)))
    rng, draws = np.random.default_rng(4), 4000
    truth = forecast.sample(draws, rng)
    labels = np.array([model.measured_again(MEAN + 9, t, 1, rng)[0] for t in truth])
    seen, x = forecast.seen_through(model), MEAN + 9.2
    chance = seen.cdf(x)
    assert np.all(np.abs(np.mean(labels <= x, axis=0) - chance) < 5 * np.sqrt(chance * (1 - chance) / draws) + 1e-3)
    assert np.all(np.abs(labels.mean(axis=0) - seen.mean) < 5 * seen.std / np.sqrt(draws))
    assert labels.std(axis=0) == pytest.approx(seen.std, rel=0.1)


# what users have ---------------------------------------------------------------------------------


def test_pairs_members_and_distributions():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, members = MEAN + 0.1, ALL["members"].members
    normal = sb.crps(y, NORMAL, yerr=0.1)
    for given in (
        (MEAN, STD),
        (pd.Series(MEAN), pd.Series(STD)),
        stats.norm(MEAN, STD),
        [stats.norm(*p) for p in zip(MEAN, STD, strict=True)],
    ):
        assert sb.crps(y, given, yerr=0.1) == pytest.approx(float(normal))
    plain = sb.crps(y, ALL["members"], yerr=0.1)
    for given in (members, members.tolist(), pd.DataFrame(members), pl.DataFrame(members)):
        assert sb.crps(y, given, yerr=0.1) == pytest.approx(float(plain))
    assert len(forecast_of(stats.gamma(2.0), 4)) == 4
    assert isinstance(forecast_of([stats.gamma(2.0), stats.gamma(3.0)]), sb.LawForecast)

    class Normal:  # as torch.distributions has it
        loc, scale, log_prob = MEAN, STD, None

    class Independent:
        base_dist, log_prob = Normal(), None

    class Gumbel:
        loc, scale, log_prob = MEAN, STD, None

    assert sb.crps(y, Normal(), yerr=0.1) == pytest.approx(float(normal))
    assert sb.crps(y, Independent(), yerr=0.1) == pytest.approx(float(normal))
    with pytest.raises(ValueError, match=r"forecast is a Gumbel of .*, of which only Normal is known"):
        sb.crps(y, Gumbel())


def test_members_of_xarray():
    xr = pytest.importorskip("xarray")
    values = RNG.normal(size=(4, 3, 2))
    given = xr.DataArray(values, dims=("number", "time", "place"))
    y = xr.DataArray(RNG.normal(size=(2, 3)), dims=("place", "time"))
    flat = values.transpose(2, 1, 0).reshape(6, 4)
    assert sb.crps(y, given).observed == pytest.approx(sb.crps(y.values.reshape(-1), flat).observed)
    with pytest.raises(ValueError, match="which one counts the members is not clear"):
        forecast_of(given.rename(number="what"))
    with pytest.raises(ValueError, match="Give both the same"):
        sb.crps(y.isel(place=0), given)


def test_units():
    u = pytest.importorskip("astropy.units")
    y, forecast = (MEAN + 0.1) * u.km, sb.NormalForecast(1000 * MEAN * u.m, 1000 * STD * u.m)
    s = sb.crps(y, forecast, yerr=0.1 * u.km)
    assert float(s) == pytest.approx(float(sb.crps(MEAN + 0.1, NORMAL, yerr=0.1))) and s.unit == u.km
    with pytest.raises(ValueError, match="the forecast has no unit but y_true is in km"):
        sb.crps(y, NORMAL)
    with pytest.raises(ValueError, match="the forecast is in m but y_true has no unit"):
        sb.crps(MEAN, forecast)
    with pytest.raises(ValueError, match="the forecast is in m, which cannot be converted to s"):
        sb.crps(MEAN * u.s, forecast)
    with pytest.raises(ValueError, match="std is in s, which cannot be converted to m, the unit of mean"):
        sb.NormalForecast(MEAN * u.m, STD * u.s)
    with pytest.raises(ValueError, match="mean is in m but std has no unit"):
        sb.NormalForecast(MEAN * u.m, STD)


# refused -----------------------------------------------------------------------------------------

REFUSED = [
    (
        lambda: sb.NormalForecast([1.0, 2.0], [0.3, 0.0]),
        "std has values that are not positive: the first is 0.0 at index 1, 1 in all",
    ),
    (lambda: sb.NormalForecast([1.0, 2.0], -1.0), "std = -1.0 is not positive"),
    (lambda: sb.NormalForecast([1.0, np.nan], 1.0), "mean contains NaN: the first is nan at index 1"),
    (lambda: sb.NormalForecast([1.0, 2.0], [1.0, np.inf]), "std contains infinity"),
    (
        lambda: sb.NormalForecast([1.0, 2.0], [1.0, 1.0, 1.0]),
        "mean and std have inconsistent numbers of samples: 2 and 3",
    ),
    (lambda: sb.NormalForecast([[1.0, 2.0]], 1.0), "mean must have one number for each label"),
    (lambda: sb.NormalForecast([1.0], 1.0, claims="both"), "claims must be 'truth' .* got 'both'"),
    (
        lambda: sb.EnsembleForecast([[1.0, 2.0], [np.nan, 1.0]]),
        r"members contains NaN: the first is nan at index \(1, 0\), 1 in all",
    ),
    (lambda: sb.EnsembleForecast([1.0, 2.0]), r"members must have one row of members for each label, shape \(n, m\)"),
    (
        lambda: sb.QuantileForecast([0.1, 0.9], [[2.0, 1.0]]),
        r"values has quantiles that cross: the first is 1.0 at index \(0, 0\), 1 in all",
    ),
    (lambda: sb.QuantileForecast([0.9, 0.1], [[1.0, 2.0]]), "levels is not in increasing order"),
    (
        lambda: sb.QuantileForecast([0.0, 0.5], [[1.0, 2.0]]),
        r"levels has values outside \(0, 1\): the first is 0.0 at index 0",
    ),
    (
        lambda: sb.QuantileForecast([0.2, 0.5], [[1.0, 2.0, 3.0]]),
        r"shape \(n, 2\) for 2 levels, but has shape \(1, 3\)",
    ),
    (lambda: sb.LawForecast(stats.poisson(2.0)), "is a discrete distribution"),
    (lambda: sb.LawForecast(3.0), "not a frozen distribution"),
    (lambda: sb.LawForecast([stats.gamma(2.0), stats.norm(0.0)]), "mixes families"),
    (
        lambda: sb.LawForecast(stats.gamma([2.0, -1.0])),
        "parameters without a distribution: the first is -1.0 at index 1",
    ),
    (lambda: sb.crps([1.0, 2.0], [1.0, 2.0]), "one number for each label is a prediction without a spread"),
    (lambda: sb.crps([1.0, 2.0], ([1.0], [1.0])), "forecast is of 1 labels, y_true has 2"),
    (lambda: sb.crps([1.0, 2.0], np.zeros((3, 2))), r"Pass forecast.T"),
    (lambda: sb.crps([1.0, np.nan], ([1.0, 1.0], 1.0)), "y_true contains NaN"),
    (lambda: sb.crps([1.0], ([1.0], [1.0]), yerr=[-1.0]), "yerr has negative values"),
    (lambda: sb.crps([[1.0, 2.0]] * 2, ([1.0, 1.0], 1.0)), "one output at a time"),
    (lambda: sb.crps([1.0], ([1.0], [1.0]), estimator="fair"), "estimator='fair' is for ensembles"),
    (lambda: sb.crps([1.0], [[1.0]], estimator="fair"), "needs at least 2 members"),
    (lambda: sb.crps([1.0], [[1.0, 2.0]], estimator="best"), "estimator must be 'plain' or 'fair'"),
    (lambda: sb.log_score([1.0], [[1.0, 2.0]]), "members of an ensemble are points"),
    (lambda: sb.log_score([1.0], sb.QuantileForecast([0.5], [[1.0]])), "quantiles do not determine a density"),
    (lambda: sb.dawid_sebastiani_score([1.0], [[1.0, 1.0]]), "has no mean or no spread"),
    (lambda: sb.interval_score([1.0], [2.0], [1.0], level=0.9), "lower is above upper: the first is 2.0 at index 0"),
    (lambda: sb.interval_score([1.0], [0.0], [1.0], level=90), "level must be a probability"),
    (lambda: sb.interval_coverage([1.0], [0.0]), "upper is missing"),
    (lambda: sb.mean_pinball_loss([1.0], [[1.0, 2.0]], alpha=[0.1, 0.5, 0.9]), "one column for each of the 3 levels"),
    (lambda: sb.mean_pinball_loss([1.0], sb.QuantileForecast([0.5], [[1.0]]), alpha=0.5), "leave alpha out"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_law_that_many_labels_share_is_tabulated_once(monkeypatch):
    """A score's distribution needs each forecast at hundreds of values of its label."""
    rows, whole = [], sb.LawForecast._tabulated
    monkeypatch.setattr(sb.LawForecast, "_tabulated", lambda self: (rows.append(len(self)), whole(self))[1])
    repeated = sb.LawForecast(stats.gamma([2.0, 3.0], scale=0.5))[[0, 1, 1, 0, 1]]
    y = np.array([0.1, 0.5, 1.0, 2.0, 9.0])
    alone = [
        float(sb.LawForecast(stats.gamma(a, scale=0.5)).crps([x])[0]) for a, x in zip([2, 3, 3, 2, 3], y, strict=True)
    ]
    assert repeated.crps(y) == pytest.approx(alone, rel=1e-13)
    assert rows == [1, 1, 1, 1, 1, 2]
