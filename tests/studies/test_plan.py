"""Plans deliver what they promise."""

import numpy as np
import pytest

import scorebars as sb


def test_against_reference():
    p = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5.0, cost_repeat=1.0)
    assert p.repeats_continuous == pytest.approx(4.472135954999579, rel=1e-12)
    assert p.labels_for(4) == pytest.approx(1867.9863220338885, rel=1e-12)
    assert (p.labels, p.repeats, p.cost) == (1868, 4, 1868 * 9)
    assert p.power == pytest.approx(0.9, abs=1e-4) and p.power >= 0.9


def test_two_models_reach_the_promised_power():
    rng = np.random.default_rng(0)

    def data(n, repeats):
        truth = rng.normal(size=n)
        a, b = truth + rng.normal(0, 0.5, n), truth + rng.normal(0.25, 0.6, n)
        return truth + rng.normal(0, 0.8 / np.sqrt(repeats), n), a, b

    y, a, b = data(4000, 1)
    p = sb.plan(y, {"a": a, "b": b}, yerr=0.8, difference=0.1725, cost_label=3)
    found = 0
    for _ in range(600):
        y, a, b = data(p.labels, p.repeats)
        terms = (b - a) * (2 * y - a - b)
        found += abs(terms.mean()) > 1.959964 * terms.std(ddof=1) / np.sqrt(len(y))
    assert found / 600 == pytest.approx(p.power, abs=0.05)
    assert p.allocation.sum() == pytest.approx(1.0)


def test_one_model_reaches_the_std():
    rng = np.random.default_rng(1)

    def data(n, repeats):
        truth = rng.normal(size=n)
        return truth + rng.normal(0, 0.7 / np.sqrt(repeats), n), truth + rng.normal(0, 0.6, n)

    y, model = data(5000, 1)
    p = sb.plan(y, model, yerr=0.7, std=0.05)
    values = []
    for _ in range(400):
        y, model = data(p.labels, p.repeats)
        values.append(np.mean((y - model) ** 2) - 0.49 / p.repeats)
    assert np.std(values) == pytest.approx(0.05, rel=0.12)
    assert p.power is None and p.std_at(p.labels, p.repeats) <= 0.05


def test_raters():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 20_000)
    q = 0.2
    y = np.where(rng.random(20_000) < q, 1 - truth, truth)
    a, b = (np.where(rng.random(20_000) < e, 1 - truth, truth) for e in (0.1, 0.15))
    p = sb.plan(y, [a, b], yerr=sb.Flip(q), difference=0.05, cost_label=4)
    assert p.repeats % 2 == 1 and p.repeats > 1
    found = 0
    for _ in range(400):
        pick = rng.integers(0, 20_000, p.labels)
        votes = (rng.random((p.labels, p.repeats)) < q).sum(axis=1) > p.repeats / 2
        label = np.where(votes, 1 - truth[pick], truth[pick])
        d = (label == a[pick]).astype(float) - (label == b[pick])
        found += abs(d.mean()) > 1.959964 * d.std(ddof=1) / np.sqrt(p.labels)
    assert found / 400 == pytest.approx(p.power, abs=0.06)


def test_curves():
    p = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0)
    powers = [p.power_at(m, 2) for m in (100, 500, 2000)]
    assert powers == sorted(powers)
    assert p.std_at(100, 10**9) == pytest.approx(np.sqrt(2.0 / 100), rel=1e-6)
    assert "to detect a difference of 0.15" in str(p)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"difference": 0.1}, "either pilot data"),
        ({"difference": 0.0, "sampling_variance": 1.0}, "difference must be a number that is not 0"),
        ({"sampling_variance": 1.0}, "say what to reach"),
        ({"difference": 0.1, "std": 0.1, "sampling_variance": 1.0}, "either difference .* or std"),
        ({"difference": 0.1, "sampling_variance": -1.0}, "sampling_variance must be a number of at least 0"),
        ({"difference": 0.1, "sampling_variance": 1.0, "power": 1.0}, "power must be a probability"),
        ({"difference": 0.1, "sampling_variance": 1.0, "cost_label": -1}, "cost_label must be a number of at least 0"),
        ({"difference": 0.1, "sampling_variance": 1.0, "cost_label": 0, "cost_repeat": 0}, "something must cost"),
        ({"y_true": [1.0, 2.0], "y_pred": [[1.0, 2.0], [2.0, 1.0]], "difference": 0.1}, "yerr is missing"),
        ({"y_true": [1.0, 2.0], "y_pred": [1.0, 2.0, 3.0], "yerr": 0.1, "difference": 0.1}, "two models"),
        ({"y_true": [1, 0], "y_pred": [[1, 0], [1, 0]], "yerr": sb.Flip(0.5), "difference": 0.1}, "half of the time"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        sb.plan(**arguments)


SHARED = [{"shared": [0.1, 0.1, 0.1]}, {"batch": [1, 1, 2], "batch_sigma": 0.1}]


@pytest.mark.parametrize(
    "yerr", [*(sb.Normal(0.1, **one) for one in SHARED), sb.Normal(cov=np.full((3, 3), 0.01))], ids=repr
)
@pytest.mark.parametrize("models", [1, 2])
def test_what_labels_share_does_not_average_out(yerr, models):
    y, p = np.array([1.0, 2.0, 4.0]), np.array([1.1, 1.8, 4.4])
    with pytest.raises(ValueError, match=r"errors that labels share \(cov, shared or batch\) do not.*Normal\(sigma\)"):
        sb.plan(y, p, yerr=yerr, std=0.1) if models == 1 else sb.plan(y, [p, y], yerr=yerr, difference=0.1)


@pytest.mark.parametrize(
    ("yerr", "message"),
    [
        (sb.Normal(0.5, scale_error=0.2), r"known to 20 %, which leaves ± 0\.1 however many labels there are"),
        (sb.Normal(0.5, dof=8), r"estimated with 8 degrees of freedom, which leaves ± 0\.12 however many labels"),
    ],
)
def test_an_unknown_size_of_errors_does_not_average_out(yerr, message):
    """The difference of two models does not feel it: what noise adds to a square is the same for both."""
    rng = np.random.default_rng(4)
    y, p = rng.normal(size=(2, 50))
    with pytest.raises(ValueError, match=message):
        sb.plan(y, p, yerr=yerr, std=0.05)
    assert (
        sb.plan(y, [p, 0.5 * p], yerr=yerr, difference=0.1).labels
        == sb.plan(y, [p, 0.5 * p], yerr=0.5, difference=0.1).labels
    )


def test_no_power_without_a_difference():
    p = sb.plan(std=0.1, sampling_variance=1.0, measurement_variance=1.0)
    with pytest.raises(ValueError, match="reaches a std"):
        p.power_at(10)


def test_raters_of_several_classes():
    """The planned std of the difference is the one that is found."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 20_000)
    q = 0.3

    def moved(values, share):
        return np.where(rng.random(len(values)) < share, (values + rng.integers(1, 4, len(values))) % 4, values)

    y, a, b = moved(truth, q), moved(truth, 0.2), moved(truth, 0.25)
    p = sb.plan(y, [a, b], yerr=sb.Flip(q), difference=0.05)
    found = []
    for _ in range(400):
        pick = rng.integers(0, 20_000, 500)
        label = moved(truth[pick], q)
        found.append(np.mean((label == a[pick]).astype(float) - (label == b[pick])) / (1 - q - q / 3))
    assert p.std_at(500, 1) == pytest.approx(np.std(found), rel=0.12)


def test_errors_with_heavy_tails():
    """What repeats average away is not taken for scatter between items."""
    rng = np.random.default_rng(4)
    truth = rng.normal(size=20_000)
    y, model = truth + rng.laplace(0, 0.5, 20_000), truth + rng.normal(0, 0.6, 20_000)
    p = sb.plan(y, model, yerr=sb.Laplace(0.5), std=0.05)
    assert p.budget.sampling == pytest.approx(2 * 0.6**4, rel=0.5)
    values = []
    for _ in range(300):
        t = rng.normal(size=p.labels)
        label = t + rng.laplace(0, 0.5, (p.repeats, p.labels)).mean(axis=0)
        values.append(np.mean(np.square(label - t - rng.normal(0, 0.6, p.labels))) - 0.5 / p.repeats)
    assert np.std(values) < 0.05 * 1.13


def test_a_pilot_in_a_table_or_file(tmp_path):
    masses = sb.datasets.load_nuclear_masses()
    models = {name: masses.predictions[name] for name in ("HFB26", "HFB24")}
    arrays = sb.plan(masses.y, models, yerr=masses.yerr)
    table = {"mass": masses.y, "err": masses.yerr, **models}
    assert str(sb.plan(table, y="mass", pred=list(models), yerr="err")) == str(arrays)
    path = tmp_path / "pilot.csv"
    rows = zip(*table.values(), strict=True)
    path.write_text("\n".join([",".join(table), *(",".join(f"{float(x)!r}" for x in row) for row in rows)]))
    found = sb.plan(path, y="mass", pred=list(models), yerr="err")
    assert (found.labels, found.repeats, found.cost) == (arrays.labels, arrays.repeats, arrays.cost)
    assert "labels mass" in found.assumed and "pilot.csv" in found.assumed
    one = sb.plan(path, y="mass", pred="HFB26", yerr="err", std=0.01)
    assert one.labels == sb.plan(masses.y, models["HFB26"], yerr=masses.yerr, std=0.01).labels
    with pytest.raises(ValueError, match=r"about one model \(std\), but the data have 2: HFB26, HFB24"):
        sb.plan(path, y="mass", pred=list(models), yerr="err", std=0.01)
    with pytest.raises(ValueError, match="give predictions as columns of the file"):
        sb.plan(path, models)
    with pytest.raises(TypeError, match="'delimter' is not a known keyword"):
        sb.plan(path, y="mass", pred=list(models), delimter=";")


COUNTED = {
    "Flip": sb.Flip.from_counts(12, 100),
    "ClassFlip": sb.ClassFlip.from_counts({0: (6, 50), 1: (7, 50)}),
    "Transition": sb.Transition.from_counts([[44, 6], [7, 43]], [0, 1]),
}


def counted_pilot(n=400):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    judged, a, b = (np.where(rng.random(n) < q, 1 - y, y) for q in (0.12, 0.1, 0.2))
    return judged, {"a": a, "b": b}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("groups", [None, np.arange(400) // 8])
def test_two_models_and_counted_rates(name, groups):
    """The plan at the size of the pilot has the standard error of the comparison, and more labels and checks the goal."""
    judged, models = counted_pilot()
    plan = sb.plan(judged, models, yerr=COUNTED[name], groups=groups, cost_check=10)
    found = (
        sb.compare(judged, models, yerr=COUNTED[name], metric="accuracy_score", groups=groups)
        .difference("a", "b")
        .truth
    )
    assert plan.difference == pytest.approx(float(found), rel=1e-12)
    rates = found._total.checked.variance(found._total.slopes)
    assert plan.budget.sampling / 400 + rates == pytest.approx(found._total.fixed[0] + rates, rel=1e-12)
    # 100 checks, spread as is best, leave at most what the 100 of the pilot did
    assert plan.budget.checking / 100 <= rates * (1 + 1e-9)
    assert np.sum(plan.budget.each**2 / found._total.checked.checked) == pytest.approx(rates, rel=1e-9)
    assert plan.power >= 0.9 and plan.power_at(plan.labels, checks=plan.checks) == pytest.approx(plan.power)
    dear = sb.plan(judged, models, yerr=COUNTED[name], groups=groups, cost_check=100)
    assert dear.checks < plan.checks and dear.labels > plan.labels
    assert "checks of how often labels are wrong" in str(plan) and "to detect a difference" in str(plan)


def test_the_accuracy_in_groups_and_counted_rates():
    """Groups were left aside without a word."""
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(40), 10)
    y = rng.integers(0, 2, 400)
    p = np.where(rng.random(400) < rng.choice([0.02, 0.5], 40)[of], 1 - y, y)
    alone, together = (sb.plan(y, p, yerr=COUNTED["Flip"], std=0.02, groups=g) for g in (None, of))
    assert together.labels > 1.5 * alone.labels
    with pytest.raises(ValueError, match="all items of the pilot are of one group"):
        sb.plan(y, p, yerr=COUNTED["Flip"], std=0.02, groups=np.zeros(400))


@pytest.mark.parametrize("yerr", [sb.ClassFlip({0: 0.1, 1: 0.14}), sb.Transition([[0.9, 0.1], [0.1, 0.9]], [0, 1])])
def test_raters_need_one_rate(yerr):
    judged, models = counted_pilot()
    with pytest.raises(ValueError, match=r"takes one probability .* sb\.ClassFlip\.from_counts"):
        sb.plan(judged, models, yerr=yerr, difference=0.05)


def test_counted_rates_and_models_that_agree():
    judged, models = counted_pilot()
    with pytest.raises(ValueError, match="agree on every item"):
        sb.plan(judged, {"a": models["a"], "b": models["a"]}, yerr=COUNTED["Flip"], difference=0.05)
