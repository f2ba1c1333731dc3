"""Are a forecast's error bars right, label errors allowed for?"""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

import scorebars as sb
from scorebars.studies import capabilities as table

REFERENCE = Path(__file__).parents[1] / "reference" / "reference_forecasts.json"
RNG = np.random.default_rng(1)
N = 400
CENTRE = RNG.normal(0, 3, N)
SPREAD = np.exp(RNG.normal(-0.5, 0.4, N))
SIGMA = 0.6 * np.exp(RNG.normal(0, 0.3, N))
TRUTH = CENTRE + SPREAD * RNG.standard_normal(N)
Y = TRUTH + SIGMA * RNG.standard_normal(N)
MEMBERS = CENTRE[:, None] + SPREAD[:, None] * RNG.standard_normal((N, 12))


def likelihood(factor, d, v, s2):
    w = factor * factor * v + s2
    return -0.5 * np.sum(np.log(w) + d * d / w)


# against other ways ---------------------------------------------------------------------------------


def test_exact_values():
    cases = [
        case for case in json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"] if case["metric"] == "spread_factor"
    ]
    assert cases
    for case in cases:
        given = {name: np.array(values) for name, values in case["inputs"].items()}
        found = sb.calibration(given["y"], (given["mean"], given["std"]), yerr=given["sigma"])
        assert float(found.spread_factor) == pytest.approx(float(case["exact"]["value"]), rel=1e-10)
        assert found.pit == pytest.approx(np.array(case["exact"]["pit"], dtype=float), abs=1e-12)


def test_the_pit_of_a_normal_forecast():
    found = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA)
    assert found.pit == pytest.approx(ndtr((Y - CENTRE) / np.hypot(SPREAD, SIGMA)), rel=1e-12)
    assert found.naive.pit == pytest.approx(ndtr((Y - CENTRE) / SPREAD), rel=1e-12)
    assert found.chi_squared == pytest.approx(np.mean((Y - CENTRE) ** 2 / (SPREAD**2 + SIGMA**2)), rel=1e-12)
    assert found.sharpness == pytest.approx(SPREAD.mean())


def test_the_spread_factor_is_the_most_likely_one_and_its_interval_the_profile():
    d, v, s2 = CENTRE - Y, SPREAD**2, SIGMA**2
    best = minimize_scalar(
        lambda x: -likelihood(x, d, v, s2), bounds=(0.1, 4), method="bounded", options={"xatol": 1e-10}
    )
    factor = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA).spread_factor
    assert float(factor) == pytest.approx(best.x, rel=1e-6)
    low, high = factor.interval(0.95)
    drops = [likelihood(best.x, d, v, s2) - likelihood(end, d, v, s2) for end in (low, high)]
    assert drops[0] == pytest.approx(drops[1], rel=1e-6)
    assert drops[0] >= 0.5 * stats.chi2.ppf(0.95, 1) * 0.999


def test_a_bias_is_told_apart_from_the_spread():
    found = sb.calibration(Y - 2.0, (CENTRE, SPREAD), yerr=SIGMA)
    assert float(found.bias) == pytest.approx(2.0, abs=0.2) and found.bias.interval().low > 1.5
    assert found.spread_factor.interval(0.95).low > 1.5
    low, high = found.spread_factor_without_bias.interval(0.95)
    assert low < 1 < high and found.verdict.startswith("Biased: the forecasts are too high by 1.97 (1.88 to")
    assert "too low by" in sb.calibration(Y + 2.0, (CENTRE, SPREAD), yerr=SIGMA).verdict


def test_the_factor_without_bias_maximises_the_restricted_likelihood():
    d, v, s2 = CENTRE - Y[::-1] / 5, SPREAD**2, SIGMA**2

    def minus_log(x):
        w = x * x * v + s2
        b = np.sum(d / w) / np.sum(1 / w)
        return np.sum(np.log(w) + (d - b) ** 2 / w) + np.log(np.sum(1 / w))

    best = minimize_scalar(minus_log, bounds=(0.5, 20), method="bounded", options={"xatol": 1e-9})
    found = sb.calibration(Y[::-1] / 5, (CENTRE, SPREAD), yerr=SIGMA)
    assert float(found.spread_factor_without_bias) == pytest.approx(best.x, rel=1e-6)
    w = best.x**2 * v + s2
    assert float(found.bias) == pytest.approx(np.sum(d / w) / np.sum(1 / w), rel=1e-5)


def test_the_area_against_a_sum_over_a_fine_grid():
    found = sb.calibration(Y[:50], (CENTRE[:50], 2 * SPREAD[:50]), yerr=SIGMA[:50])
    p = (np.arange(200_000) + 0.5) / 200_000
    share = np.searchsorted(np.sort(np.abs(2 * found.pit - 1)), p, side="right") / 50
    assert found.miscalibration_area == pytest.approx(np.mean(np.abs(share - p)), abs=1e-4)
    law = found.area_if_calibrated
    draws = np.sort(np.random.default_rng(8).random((2000, 50)), axis=1)
    areas = [np.mean(np.abs(np.searchsorted(row, p[::200], side="right") / 50 - p[::200])) for row in draws]
    assert law.mean == pytest.approx(np.mean(areas), rel=0.03)
    assert found.area_pvalue == pytest.approx(np.mean(np.array(areas) >= found.miscalibration_area), abs=0.02)


def test_the_curve_and_its_band():
    found = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA)
    curve = found.curve([0.5, 0.9])
    inside = np.abs(Y - CENTRE) <= ndtri([[0.75], [0.95]]) * np.hypot(SPREAD, SIGMA)
    assert curve.found == pytest.approx(inside.mean(axis=1))
    assert curve.high[0] - 0.5 == pytest.approx(stats.kstwo.ppf(0.95, N)) == pytest.approx(0.5 - curve.low[0])
    assert found.curve(level=0.68).high[50] < found.curve().high[50]
    with pytest.raises(ValueError, match=r"levels has values outside \[0, 1\]: the first is 95.0 at index 1"):
        found.curve([0.5, 95])


def test_bins_of_spread_have_the_label_variance_taken_out():
    found = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA)
    bins = found.by_spread(4)
    rows = np.argsort(SPREAD)[:100]
    assert [one.n for one in bins] == [100] * 4
    assert bins[0].spread == pytest.approx(np.sqrt(np.mean(SPREAD[rows] ** 2)))
    assert bins[0].naive == pytest.approx(np.sqrt(np.mean((Y - CENTRE)[rows] ** 2)))
    assert bins[0].error ** 2 == pytest.approx(max(np.mean((Y - CENTRE)[rows] ** 2 - SIGMA[rows] ** 2), 0))
    assert sum(one.low <= one.spread <= one.high for one in bins) >= 3
    assert found.normalised_error < found.naive.normalised_error
    assert len(sb.calibration(Y, (CENTRE, 1.0), yerr=SIGMA).by_spread()) == 1
    with pytest.raises(ValueError, match="whole number from 1 to the number of labels, 400, got 0"):
        found.by_spread(0)


# verdicts -------------------------------------------------------------------------------------------

FORECASTS = {
    "normal": (CENTRE, SPREAD),
    "members": MEMBERS,
    "scipy": stats.norm(CENTRE, SPREAD),
    "quantiles": sb.QuantileForecast(
        [0.1, 0.3, 0.5, 0.7, 0.9], CENTRE[:, None] + SPREAD[:, None] * ndtri([0.1, 0.3, 0.5, 0.7, 0.9])
    ),
    "student": stats.t(30, CENTRE, SPREAD),
}


@pytest.mark.parametrize("name", FORECASTS)
def test_a_right_forecast_is_right_and_looks_over_confident_without_the_label_errors(name):
    found = sb.calibration(Y, FORECASTS[name], yerr=SIGMA)
    assert found.calibrated and found.verdict.startswith("Calibrated: these 400 labels")
    low, high = found.spread_factor.interval(0.95)
    assert low < 1 < high
    assert not found.naive.calibrated and found.naive.verdict.startswith(
        "Over-confident: the error bars are too small by a factor of 1."
    )
    assert sb.calibration(TRUTH, FORECASTS[name]).calibrated


def test_wrong_spreads_are_named():
    narrow = sb.calibration(Y, (CENTRE, SPREAD / 2), yerr=SIGMA)
    assert narrow.verdict.startswith("Over-confident: the error bars are too small by a factor of 2.")
    wide = sb.calibration(Y, (CENTRE, SPREAD * 2), yerr=SIGMA)
    low, high = wide.spread_factor.interval(0.95)
    assert wide.verdict.startswith(
        f"Under-confident: the error bars are too large by a factor of {1 / float(wide.spread_factor):.3g} ({1 / high:.3g} to"
    )
    assert low < 0.5 < high
    members = CENTRE[:, None] + 0.5 * (MEMBERS - CENTRE[:, None])
    assert sb.calibration(Y, members, yerr=SIGMA).verdict.startswith("Over-confident")


@pytest.mark.parametrize("members", [0, 4, 20])
def test_the_verdict_and_the_interval_of_the_factor_agree(members):
    rng = np.random.default_rng(11 + members)
    said = set()
    for factor in np.tile([0.6, 0.8, 1.0, 1.3, 1.7], 12):
        y = CENTRE[:60] + factor * SPREAD[:60] * rng.standard_normal(60) + SIGMA[:60] * rng.standard_normal(60)
        forecast = (CENTRE[:60], SPREAD[:60])
        if members:
            forecast = CENTRE[:60, None] + SPREAD[:60, None] * rng.standard_normal((60, members))
        found = sb.calibration(y, forecast, yerr=SIGMA[:60])
        holds = [low <= 1 <= high for low, high in map(found.spread_factor.interval, (0.95, 0.985))]
        p = found.pvalues["spread"]
        assert ("spread" in found.verdict.partition(";")[2]) == (found.calibrated and not holds[0])
        if found.pvalues["bias"] < 0.015:  # a bias counts as spread in the factor
            continue
        if p >= 0.05:
            assert holds == [True, True]
        elif p >= 0.015:
            assert holds[1]
        elif (float(found.spread_factor) > 1) == found._pit.spread.narrow:
            assert not any(holds)
        said.add((found.calibrated, holds[0]))
    assert said >= {(True, True), (False, False)}


def test_a_calibrated_forecast_without_a_seen_bias_has_no_bias_in_its_interval():
    rng = np.random.default_rng(12)
    for _ in range(30):
        spread = rng.uniform(0.2, 2.0, 15)
        found = sb.calibration(spread * rng.standard_normal(15), (np.zeros(15), spread))
        if found.calibrated and found.pvalues["bias"] >= 0.05:
            low, high = found.bias.interval(0.95)
            assert low <= 0 <= high


def test_a_wrong_shape_is_named():
    y = CENTRE + SPREAD * (stats.expon.rvs(size=N, random_state=3) - 1)
    found = sb.calibration(y, (CENTRE, SPREAD))
    assert "the distribution has the wrong shape" in found.verdict and found.pvalues["shape"] < 1e-3


def test_residuals_below_the_label_errors():
    found = sb.calibration(CENTRE + 0.1 * SIGMA, (CENTRE, 0.1 * SPREAD), yerr=SIGMA)
    assert float(found.spread_factor) == 0 and found.spread_factor.interval().low == 0
    assert "no larger than the label errors" in found.spread_factor.note
    assert found.verdict.startswith("Under-confident: the error bars are too large")


def test_a_forecast_of_the_label_is_compared_as_it_is():
    seen = sb.NormalForecast(CENTRE, SPREAD).seen_through(SIGMA)
    found = sb.calibration(Y, seen, yerr=SIGMA)
    assert found.naive is found and "claims the label" in found.notes[0]
    assert found.pit == pytest.approx(sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA).pit, rel=1e-12)
    members = sb.EnsembleForecast(MEMBERS)
    same = sb.calibration(Y, members.seen_through(SIGMA)), sb.calibration(Y, members, yerr=SIGMA)
    assert same[0].pit == pytest.approx(same[1].pit)
    assert "seen through" not in str(same[0])


def test_few_members_are_not_blamed_for_being_few():
    """With 4 members a normal forecast of their mean and std is too narrow, the ensemble is not."""
    rng = np.random.default_rng(4)
    few = CENTRE[:, None] + SPREAD[:, None] * rng.standard_normal((N, 4))
    assert sb.calibration(Y, few, yerr=SIGMA).calibrated
    assert not sb.calibration(TRUTH, (few.mean(axis=1), few.std(axis=1))).calibrated
    assert sb.calibration(TRUTH, few).calibrated


def test_ranks_count_ties_and_stay_uniform():
    """Rain: labels and members are zero more often than not."""
    rng = np.random.default_rng(5)
    rain = np.maximum(rng.normal(-0.5, 1, (2000, 11)), 0)
    found = sb.calibration(rain[:, 0], rain[:, 1:])
    assert stats.kstest(found.pit, "uniform").pvalue > 0.01
    with pytest.raises(sb.UndefinedEstimate, match="forecasts have no spread"):
        _ = sb.calibration(rain[:3, 0], np.ones((3, 5))).spread_factor


# error models ---------------------------------------------------------------------------------------


def test_correlated_label_errors_are_allowed_for():
    shift = np.linspace(0.5, 1.0, N)
    y = TRUTH + SIGMA * np.random.default_rng(6).standard_normal(N) + 1.5 * shift
    shared = sb.calibration(y, (CENTRE, SPREAD), yerr=sb.Normal(SIGMA, shared=shift))
    assert shared.calibrated and not sb.calibration(y, (CENTRE, SPREAD), yerr=SIGMA).calibrated
    cov = np.diag(SIGMA**2) + np.outer(shift, shift)
    full = sb.calibration(y, (CENTRE, SPREAD), yerr=sb.Normal(cov=cov))
    assert full.pit == pytest.approx(shared.pit, abs=1e-9)
    assert float(full.spread_factor) == pytest.approx(float(shared.spread_factor), rel=1e-7)
    d = CENTRE - y
    assert shared.chi_squared == pytest.approx(d @ np.linalg.solve(np.diag(SPREAD**2) + cov, d) / N, rel=1e-9)

    def minus_log(x):
        total = x * x * np.diag(SPREAD**2) + cov
        return np.linalg.slogdet(total)[1] + d @ np.linalg.solve(total, d)

    best = minimize_scalar(minus_log, bounds=(0.3, 3), method="bounded", options={"xatol": 1e-7})
    assert float(shared.spread_factor) == pytest.approx(best.x, rel=1e-5)
    apart = sb.calibration(y, (CENTRE, SPREAD), yerr=sb.Normal(cov=np.diag(SIGMA**2)))
    plain = sb.calibration(y, (CENTRE, SPREAD), yerr=SIGMA)
    assert apart.pit == pytest.approx(plain.pit, abs=1e-9) and float(apart.bias) == pytest.approx(float(plain.bias))


def test_errors_that_batches_share_are_a_covariance():
    batch, size = np.arange(N) // 7, np.linspace(0.4, 0.9, N)
    found = sb.calibration(Y, (CENTRE, SPREAD), yerr=sb.Normal(SIGMA, batch=batch, batch_sigma=size))
    cov = np.diag(SIGMA**2) + np.outer(size, size) * np.equal.outer(batch, batch)
    full = sb.calibration(Y, (CENTRE, SPREAD), yerr=sb.Normal(cov=cov))
    assert found.verdict == full.verdict
    assert found.pit == pytest.approx(full.pit, abs=1e-9)
    for name in ("spread_factor", "bias", "chi_squared", "miscalibration_area"):
        assert float(getattr(found, name)) == pytest.approx(float(getattr(full, name)), rel=1e-7), name


MODELS = {name: model for _, name, model in table.pairs() if isinstance(model, sb.errors.MeasurementError)}
STD = np.linspace(0.3, 0.6, len(table.P))
KINDS = {
    "normal": sb.NormalForecast(table.P, STD),
    "members": sb.EnsembleForecast(table.P[:, None] + STD[:, None] * np.array([-1.3, -0.2, 0.1, 0.4, 1.1])),
    "quantiles": sb.QuantileForecast([0.1, 0.5, 0.9], table.P[:, None] + STD[:, None] * np.array([-1.3, 0.0, 1.2])),
    "law": sb.LawForecast(stats.gamma(np.square(table.P / STD), scale=np.square(STD) / table.P)),
}


@pytest.mark.parametrize("model", [None, *MODELS.values()], ids=["exact", *MODELS])
@pytest.mark.parametrize("claims", ["truth", "label"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_attribute_under_every_error_model(kind, claims, model):
    """Numbers, or a reason."""
    try:
        found = sb.calibration(table.Y, KINDS[kind].claiming(claims), yerr=model)
    except ValueError as why:
        assert "correlated" in str(why) and kind != "normal" and claims == "truth"
        return
    assert found.verdict and found.naive.verdict and found.calibrated in (True, False)
    curve = found.curve([0.5, 0.9])
    numbers = [found.pit, curve.found, found.miscalibration_area, found.area_pvalue, found.chi_squared, found.sharpness]
    for name in ("spread_factor", "spread_factor_without_bias", "bias"):
        estimate = getattr(found, name)
        low, high = estimate.interval(0.9)
        assert low <= float(estimate) <= high
        numbers += [float(estimate), low, high]
    numbers += [found.normalised_error, *found.pvalues.values()]
    assert all(np.all(np.isfinite(one)) for one in numbers)
    shown = f"{found} {found.explain()} {found.by_spread()}"
    assert "nan" not in shown.split()


def test_correlated_label_errors_need_normal_forecasts_and_not_too_many():
    with pytest.raises(ValueError, match="with normal forecasts only: this one is a EnsembleForecast"):
        sb.calibration(Y, MEMBERS, yerr=sb.Normal(SIGMA, shared=SIGMA))
    many = np.zeros(5000)
    with pytest.raises(ValueError, match="5000 labels with correlated errors are too many"):
        sb.calibration(many, (many, 1.0), yerr=sb.Normal(1.0, shared=many + 1))


def test_no_variance_no_factor_but_a_verdict():
    y = CENTRE + SPREAD * stats.cauchy.rvs(size=N, random_state=1)
    found = sb.calibration(y, stats.cauchy(CENTRE, SPREAD))
    assert found.calibrated
    for name in ("spread_factor", "bias", "chi_squared", "sharpness"):
        with pytest.raises(sb.UndefinedEstimate, match="finite"):
            getattr(found, name)
    assert found.to_dict()["spread_factor"] is None and "nan" not in str(found) and "nan" not in found.explain()


def test_berkson_errors_are_refused():
    with pytest.raises(ValueError, match="under Berkson error"):
        sb.calibration(Y, (CENTRE, SPREAD), yerr=sb.Normal(SIGMA, kind="berkson"))


# what is shown, what is taken ----------------------------------------------------------------------


def test_what_is_printed():
    found = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA)
    text = str(found)
    assert (
        text.startswith("calibration of 400 forecasts: Calibrated") and "label errors ignored: Over-confident" in text
    )
    assert "<table" in found._repr_html_() and found.explain().splitlines()[0] == found.verdict
    exact = str(sb.calibration(TRUTH, (CENTRE, SPREAD)))
    assert "ignored" not in exact and "allowed for" not in exact
    record = found.to_dict()
    assert json.loads(json.dumps(record)) == record and record["spread_factor"] == float(found.spread_factor)
    assert record["naive_verdict"] == found.naive.verdict
    same = pickle.loads(pickle.dumps(found))
    assert same.to_dict() == record
    with pytest.raises(AttributeError):
        found.unit = "m"


def test_the_same_data_give_the_same_draws_and_others_give_others():
    first, second = (sb.calibration(Y, MEMBERS, yerr=SIGMA) for _ in range(2))
    assert np.array_equal(first.pit, second.pit) and "the same data give the same draws" in first.notes[-1]
    moved = sb.calibration(Y + 1, MEMBERS + 1, yerr=SIGMA)
    assert np.mean(moved.pit == first.pit) < 0.1 and np.max(np.abs(moved.pit - first.pit)) > 1 / 13


def test_several_forecasts_make_a_table():
    found = sb.calibration(Y, {"gp": (CENTRE, SPREAD), "ensemble": MEMBERS}, yerr=SIGMA)
    assert list(found) == ["gp", "ensemble"] and found["gp"].calibrated and len(found) == 2
    assert "gp        Calibrated" in str(found) and set(found.to_dict()) == {"gp", "ensemble"}
    with pytest.raises(ValueError, match="empty mapping"):
        sb.calibration(Y, {})


def test_columns_of_a_table():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"y": Y, "e": SIGMA, "gp": CENTRE, "s": SPREAD, **{f"m{k}": MEMBERS[:, k] for k in range(12)}}
    )
    named = sb.calibration(table, y="y", pred="gp", std="s", yerr="e")
    assert np.array_equal(named.pit, sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA).pit)
    members = sb.calibration(table, y="y", pred=[f"m{k}" for k in range(12)], yerr="e")
    assert np.array_equal(members.pit, sb.calibration(Y, MEMBERS, yerr=SIGMA).pit)
    both = sb.calibration(table, y="y", pred="gp", std="s", yerr=("e", "e"))
    assert both.pit == pytest.approx(named.pit, abs=1e-6)
    for wrong, why in (
        ({"y": "y", "pred": "gp"}, "std is missing"),
        ({"y": "y", "pred": ["m0", "m1"], "std": "s"}, "leave std out"),
        ({"pred": "gp", "std": "s"}, "y and pred are needed"),
        ({"y": "y", "pred": "gp", "std": "nothing"}, "nothing"),
    ):
        with pytest.raises((ValueError, KeyError), match=why):
            sb.calibration(table, **wrong)
    with pytest.raises(ValueError, match="either as forecast or"):
        sb.calibration(table, (CENTRE, SPREAD), y="y", pred="gp", std="s")


def test_units_and_repeats():
    units = pytest.importorskip("astropy.units")
    found = sb.calibration(Y * units.m, (100 * CENTRE * units.cm, 100 * SPREAD * units.cm), yerr=SIGMA * units.m)
    assert found.unit == "m" and found.pit == pytest.approx(sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA).pit)
    with pytest.raises(ValueError, match="cannot be converted to m"):
        sb.calibration(Y * units.m, (CENTRE * units.s, SPREAD * units.s), yerr=SIGMA * units.m)
    repeats = TRUTH[:, None] + np.random.default_rng(7).standard_normal((N, 5))
    model = sb.Repeats(repeats, sigma="pooled")
    assert sb.calibration(None, (CENTRE, SPREAD), yerr=model).calibrated
    assert "estimated from repeats" in " ".join(sb.calibration(None, (CENTRE, SPREAD), yerr=model).notes)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_labels(n):
    for forecast in ((CENTRE[:n], SPREAD[:n]), MEMBERS[:n]):
        found = sb.calibration(Y[:n], forecast, yerr=SIGMA[:n])
        assert "nan" not in str(found) and found.calibrated in (True, False)
        assert all(0 <= p <= 1 for p in found.pvalues.values())
    said = "a single label gives no" if n == 1 else f"these {n} labels, which are few, give no"
    assert said in sb.calibration(Y[:n], (Y[:n] + np.arange(n) - 1, 1.0)).verdict
    assert "nan" not in str(sb.calibration(Y[:n], (Y[:n] + 0.1, 1.0)))
    if n == 1:
        with pytest.raises(sb.UndefinedEstimate, match="one label"):
            _ = found.bias


def test_scaling_and_shift_change_nothing_that_has_no_unit():
    first = sb.calibration(Y, (CENTRE, SPREAD), yerr=SIGMA)
    other = sb.calibration(1e6 * Y + 3, (1e6 * CENTRE + 3, 1e6 * SPREAD), yerr=1e6 * SIGMA)
    assert other.pit == pytest.approx(first.pit, abs=1e-9)
    assert float(other.spread_factor) == pytest.approx(float(first.spread_factor), rel=1e-9)
    assert float(other.bias) == pytest.approx(1e6 * float(first.bias), rel=1e-6)


@pytest.mark.parametrize(
    ("forecast", "why"),
    [
        ((CENTRE, -SPREAD), "std has values that are not positive"),
        ((CENTRE[:-1], SPREAD[:-1]), "inconsistent numbers of samples"),
        (CENTRE, "a prediction without a spread, not a forecast"),
        (None, "forecast is missing"),
        (np.where(np.arange(12) == 3, np.nan, MEMBERS), "members"),
    ],
)
def test_bad_forecasts(forecast, why):
    with pytest.raises(ValueError, match=why):
        sb.calibration(Y, forecast, yerr=SIGMA)
