"""Scores from batches are those of all labels at once."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations

N = 80_000
REGRESSION = ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]
REGRESSION += ["explained_variance_score"]
RATIOS = ["r2_score", "explained_variance_score"]
MEANS = [name for name in REGRESSION if name not in RATIOS]


def situations():
    rng = np.random.default_rng(5)
    y = 3.0 + rng.standard_normal(N)
    p = y + 0.3 * rng.standard_normal(N)
    mixed = np.where(rng.random(N) < 0.1, 0.0, 0.2 * np.exp(0.7 * rng.standard_normal(N)))
    wide = 0.02 * np.exp(2.3 * rng.standard_normal(N))  # six decades
    return {
        "mixed errors, some exact": (y, p, mixed, None),
        "one error for all": (y, p, 0.25, None),
        "six decades, weights": (y, p, wide, np.where(rng.random(N) < 0.05, 0.0, rng.gamma(1.0, size=N))),
        "few labels err": (y, p, np.where(np.arange(N) < 3, 0.5, 0.0), None),
        "exact labels": (y, p, None, None),
        "sorted": (np.sort(y), np.sort(y) + 0.1, np.sort(wide), None),
    }


SITUATIONS = situations()
CUTS = [0, 10, 7_000, 7_000, 75_234, N]


def cut(value, part):
    return value[part] if isinstance(value, np.ndarray) else value


def parts_of(situation, cuts=CUTS):
    for start, stop in pairwise(cuts):
        yield [cut(value, slice(start, stop)) for value in situation]


def accumulated(situation, metrics=REGRESSION, cuts=CUTS):
    total = sb.Accumulator(metrics)
    for y, p, sigma, weight in parts_of(situation, cuts):
        assert total.update(y, p, yerr=sigma, sample_weight=weight) is total
    return total


@pytest.fixture(scope="module", params=SITUATIONS)
def both(request):
    situation = SITUATIONS[request.param]
    y, p, sigma, weight = situation
    whole = sb.evaluate(y, p, yerr=sigma, sample_weight=weight, metrics=MEANS)
    return accumulated(situation, MEANS).result(), whole


@pytest.fixture(scope="module", params=["mixed errors, some exact", "six decades, weights"])
def ratios(request):
    situation = SITUATIONS[request.param]
    y, p, sigma, weight = situation
    whole = sb.evaluate(y, p, yerr=sigma, sample_weight=weight, metrics=RATIOS)
    return accumulated(situation, RATIOS).result(), whole


def require_same_share(one, whole):
    """The noise share needs the truth, which a stream cannot tell of every metric."""
    try:
        assert one.truth is not None
    except sb.UndefinedEstimate:
        assert one.noise_share is None
    else:
        assert one.noise_share == (None if whole.noise_share is None else pytest.approx(whole.noise_share, rel=1e-9))


def require_same_interval(found, expected, width=1e-9):
    assert np.allclose(found, expected, rtol=0, atol=width * (expected.high - expected.low) + 1e-14)


@pytest.mark.parametrize("metric", MEANS)
def test_values_are_those_of_all_labels(both, metric):
    one, whole = (evaluation[metric] for evaluation in both)
    for name in ("observed", "expected", "std", "variance"):
        assert getattr(one, name) == pytest.approx(getattr(whole, name), rel=1e-13, abs=1e-15), name
    assert one.n == whole.n == N
    assert one.name == whole.name


@pytest.mark.parametrize("metric", MEANS)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_intervals_are_those_of_all_labels(both, metric, level):
    one, whole = (evaluation[metric] for evaluation in both)
    require_same_interval(one.interval(level), whole.interval(level))
    # arrays of so many labels go by cumulants, where these are good to 1e-9; streams by bins
    assert one.method == whole.method or (one.method, whole.method) == ("exact", "saddlepoint")


@pytest.mark.parametrize("metric", MEANS)
def test_floor_and_sampling_are_those_of_all_labels(both, metric):
    one, whole = (evaluation[metric] for evaluation in both)
    assert one.perfect == pytest.approx(float(whole.perfect), rel=1e-12)
    assert one.perfect.std == pytest.approx(whole.perfect.std, rel=1e-12)
    require_same_interval(one.perfect.interval(), whole.perfect.interval())
    require_same_share(one, whole)
    assert one.sampling_std == pytest.approx(whole.sampling_std, rel=1e-10, abs=1e-10)
    # a scatter is the root of a difference of sums
    assert one.total_interval() == pytest.approx(whole.total_interval(), rel=1e-8, abs=1e-8 * abs(whole.observed))


@pytest.mark.parametrize("metric", [m for m in MEANS if m != "mean_absolute_error"])
def test_truth_is_that_of_all_labels(both, metric):
    one, whole = (evaluation[metric] for evaluation in both)
    assert one.truth == pytest.approx(float(whole.truth), rel=1e-11)
    assert one.truth.note == whole.truth.note
    assert one.truth.std == pytest.approx(whole.truth.std, rel=1e-11)
    # a truth below 0 has its upper end in a far tail, of which bins tell less
    require_same_interval(one.truth.interval(), whole.truth.interval(), 1e-9 if whole.truth > 0 else 1e-3)
    assert one.truth.total_interval() == pytest.approx(whole.truth.total_interval(), rel=1e-9)
    for repeats in (1, 3):
        assert one.remeasured(repeats) == pytest.approx(float(whole.remeasured(repeats)), rel=1e-11)
        assert one.remeasured(repeats).std == pytest.approx(whole.remeasured(repeats).std, rel=1e-11)


def test_truth_of_the_absolute_error_says_that_it_needs_all_labels(both):
    with pytest.raises(sb.UndefinedEstimate, match="needs all labels at once"):
        _ = both[0]["mean_absolute_error"].truth
    with pytest.raises(sb.UndefinedEstimate, match="needs all labels at once"):
        both[0]["mean_absolute_error"].remeasured(4)
    assert both[0]["mean_absolute_error"].remeasured(1) == pytest.approx(both[1]["mean_absolute_error"].observed)


def test_ratios_are_those_of_all_labels(ratios):
    for metric in RATIOS:
        one, whole = (evaluation[metric] for evaluation in ratios)
        assert one.observed == pytest.approx(whole.observed, rel=1e-13)
        assert one.expected == pytest.approx(whole.expected, rel=1e-13)
        assert one.std == pytest.approx(whole.std, rel=1e-12)  # an integral over the law, here and there
        require_same_interval(one.interval(), whole.interval())
        assert one.perfect == pytest.approx(float(whole.perfect), rel=1e-12)
        assert one.perfect.std == pytest.approx(whole.perfect.std, rel=1e-12)
        require_same_share(one, whole)


def test_truth_of_r2_is_that_of_all_labels():
    y, p, sigma, _ = SITUATIONS["one error for all"]
    for metric in RATIOS:
        one = accumulated((y, p, sigma, None), metric).result()[metric]
        whole = getattr(sb, metric)(y, p, yerr=sigma)
        assert one.truth == pytest.approx(float(whole.truth), rel=1e-11)
        assert one.remeasured(3) == pytest.approx(float(whole.remeasured(3)), rel=1e-11)
        assert one.remeasured(3).std == pytest.approx(whole.remeasured(3).std, rel=1e-11)


def test_errors_of_r2_from_sums_are_those_of_the_labels():
    y, p, sigma, _ = SITUATIONS["one error for all"]
    one = accumulated((y, p, sigma, None), "r2_score").result()["r2_score"]
    whole = sb.r2_score(y, p, yerr=sigma)
    assert one.truth.std == pytest.approx(whole.truth.std, rel=1e-6)
    assert one.truth.total_interval() == pytest.approx(whole.truth.total_interval(), rel=1e-6)
    assert one.total_interval() == pytest.approx(whole.total_interval(), rel=1e-6)
    assert one.sampling_std == pytest.approx(whole.sampling_std, rel=1e-6)


def test_tables_and_sentences_can_be_made(both):
    text = str(both[0])
    assert "mean_absolute_error" in text
    json.loads(both[0].to_json())
    for _, score in both[0]:
        assert score.explain()


def test_few_labels_give_what_evaluate_gives():
    y, p, sigma, weight = (cut(v, slice(0, 300)) for v in SITUATIONS["mixed errors, some exact"])
    one = accumulated((y, p, sigma, weight), cuts=[0, 7, 300]).result()
    whole = sb.evaluate(y, p, yerr=sigma, sample_weight=weight, metrics=REGRESSION)
    assert one.to_dict() == whole.to_dict()


def test_several_models_in_one_pass():
    y, p, sigma, weight = SITUATIONS["six decades, weights"]
    total = sb.Accumulator(["mean_absolute_error", "r2_score"])
    models = {"a": p, "b": 2 * p}
    total.update(y, models, yerr=sigma, sample_weight=weight)
    found = total.result()
    assert found.models == ["a", "b"]
    whole = sb.evaluate(y, models, yerr=sigma, sample_weight=weight, metrics=["mean_absolute_error", "r2_score"])
    assert found["b", "r2_score"].std == pytest.approx(whole["b", "r2_score"].std, rel=1e-12)


def test_berkson_errors_keep_their_kind():
    y, p, sigma, _ = SITUATIONS["mixed errors, some exact"]
    found = sb.Accumulator(REGRESSION).update(y, p, yerr=sb.Normal(sigma, kind="berkson")).result()
    for metric in REGRESSION:
        assert found[metric].truth == found[metric].expected
        with pytest.raises(sb.UndefinedEstimate, match="Berkson"):
            found[metric].remeasured(1)


# merging -------------------------------------------------------------------------------------------


def numbers(accumulator):
    found = accumulator.result()
    out = []
    for _, score in found:
        out += [score.observed, score.expected, score.std, *score.interval(), float(score.perfect)]
    return np.array(out)


@pytest.mark.parametrize("name", ["mixed errors, some exact", "six decades, weights", "sorted"])
def test_merging_is_associative_and_commutative(name):
    a, b, c = (
        sb.Accumulator(MEANS).update(y, p, yerr=s, sample_weight=w)
        for y, p, s, w in parts_of(SITUATIONS[name], [0, 70_000, 72_000, N])
    )
    expected = numbers((a + b) + c)
    for other in (a + (b + c), (c + a) + b, c + (b + a)):
        assert np.allclose(numbers(other), expected, rtol=1e-12, atol=1e-14)
    assert a.n == 70_000
    assert a.merge(b) is a
    assert a.n == 72_000


@pytest.mark.parametrize("centres", [(3.0, 3.0, 3.0), (3.0, 1e3, -5e2), (3.0, 1e6, -5e3)])
def test_merging_ratios_is_associative_and_commutative(centres):
    """Parts that lie far apart leave R2 so close to 1 that its std has digits below those of the score: 1e-16 is theirs."""
    y, p, sigma, _ = SITUATIONS["mixed errors, some exact"]
    cuts = [0, 70_000, 72_000, N]
    far = np.repeat(centres, np.diff(cuts))
    parts = parts_of((y + far, p + far, sigma, None), cuts)
    a, b, c = (sb.Accumulator(RATIOS).update(y, p, yerr=s) for y, p, s, _ in parts)
    expected = numbers(sb.Accumulator(RATIOS).update(y + far, p + far, yerr=sigma))
    for merged in ((a + b) + c, c + (b + a)):
        assert np.allclose(numbers(merged), expected, rtol=1e-12, atol=1e-16)


def test_small_accumulators_merge_into_kept_labels():
    y, p, sigma, weight = (cut(v, slice(0, 3000)) for v in SITUATIONS["six decades, weights"])
    parts = [
        sb.Accumulator(REGRESSION).update(y[k::3], p[k::3], yerr=sigma[k::3], sample_weight=weight[k::3])
        for k in range(3)
    ]
    merged = parts[0] + parts[1] + parts[2]
    assert merged.n == 3000
    assert merged.result()["mean_absolute_error"].truth > 0


def test_the_order_of_labels_of_different_weight_kinds_does_not_matter():
    y, p, sigma, _ = SITUATIONS["six decades, weights"]
    half = N // 2
    one = sb.Accumulator().update(y[:half], p[:half]).update(y[half:], p[half:], yerr=sigma[half:])
    whole = sb.evaluate(y, p, yerr=np.where(np.arange(N) < half, 0.0, sigma))
    assert one.result()["r2_score"].expected == pytest.approx(whole["r2_score"].expected, rel=1e-12)


def test_accumulators_of_threads_merge():
    situation = SITUATIONS["mixed errors, some exact"]
    cuts = list(range(0, N + 1, 8_000))
    with ThreadPoolExecutor(4) as pool:
        parts = list(
            pool.map(lambda part: sb.Accumulator().update(part[0], part[1], yerr=part[2]), parts_of(situation, cuts))
        )
    total = sb.Accumulator()
    for part in parts:
        total.merge(part)
    y, p, sigma, _ = situation
    assert total.result()["mean_error"].std == pytest.approx(sb.mean_error(y, p, yerr=sigma).std, rel=1e-13)


def test_the_numpy_engine_gives_the_same(monkeypatch):
    monkeypatch.setenv("SCOREBARS_ENGINE", "numpy")
    slow = numbers(accumulated(SITUATIONS["six decades, weights"], MEANS))
    monkeypatch.delenv("SCOREBARS_ENGINE")
    assert np.allclose(slow, numbers(accumulated(SITUATIONS["six decades, weights"], MEANS)), rtol=1e-11, atol=1e-13)


def test_a_copy_goes_its_own_way():
    y, p, _, _ = SITUATIONS["one error for all"]
    one = sb.Accumulator().update(y[:10], p[:10])
    other = one.copy().update(y[10:20], p[10:20])
    assert (one.n, other.n) == (10, 20)


def test_later_changes_of_the_arrays_do_not_matter():
    y, p = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    total = sb.Accumulator("mean_squared_error").update(y, p, yerr=0.1)
    p[:] = 0.0
    assert total.result()["mean_squared_error"].observed == pytest.approx(1 / 3)


# keeping -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one error for all", "six decades, weights"])
@pytest.mark.parametrize("size", [0, 500, N])
def test_json_and_pickle_keep_every_bit(name, size):
    total = sb.Accumulator(REGRESSION)
    if size:
        total = accumulated(SITUATIONS[name], cuts=[0, size // 2, size])
    text = total.to_json()
    json.loads(text, parse_constant=lambda value: pytest.fail(f"{value} is no JSON"))
    again = sb.Accumulator.from_json(text)
    assert again.to_json() == text
    assert pickle.loads(pickle.dumps(total)).to_json() == text
    assert copy.deepcopy(total).to_json() == text
    if size == N:
        assert np.array_equal(numbers(again), numbers(total))


def test_a_loaded_accumulator_goes_on():
    y, p, sigma, _ = SITUATIONS["mixed errors, some exact"]
    half = sb.Accumulator().update(y[:70_000], p[:70_000], yerr=sigma[:70_000])
    rest = (y[70_000:], p[70_000:])
    going_on = sb.Accumulator.from_json(half.to_json()).update(*rest, yerr=sigma[70_000:])
    assert going_on.to_json() == half.update(*rest, yerr=sigma[70_000:]).to_json()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "this is not JSON"),
        ("[]", "its schema is None"),
        ('{"schema": "scorebars/evaluation/1"}', "its schema is 'scorebars/evaluation/1'"),
        ('{"schema": "scorebars/accumulator/6"}', "damaged"),
    ],
)
def test_foreign_json_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        sb.Accumulator.from_json(text)


# what it takes -------------------------------------------------------------------------------------


NEED_OPTIONS = {"fbeta_score": "beta", "fraction_within": "tolerance", "interval_score": "level"}


@pytest.mark.parametrize("name", sorted(declarations()))
def test_every_metric_is_taken_or_refused_with_its_reason(name):
    if name in NEED_OPTIONS:
        with pytest.raises(ValueError, match=f"{name} needs its {NEED_OPTIONS[name]}: pass functools"):
            sb.Accumulator(name)
    elif any(name in taken for taken in sb.Accumulator.takes.values()):
        assert sb.Accumulator(name).metrics == (name,)
        assert sb.Accumulator(getattr(sb, name)).metrics == (name,)
    else:
        with pytest.raises(ValueError, match=f"{name} needs all labels at once.*takes: "):
            sb.Accumulator(name)


def test_bad_choices_of_metrics():
    with pytest.raises(ValueError, match="no metric 'mes'"):
        sb.Accumulator("mes")
    with pytest.raises(ValueError, match="metrics is empty"):
        sb.Accumulator([])
    with pytest.raises(ValueError, match="not both: mean_error, accuracy_score"):
        sb.Accumulator(["mean_error", "accuracy_score"])
    with pytest.raises(ValueError, match="task must be"):
        sb.Accumulator(task="ranking")
    with pytest.raises(ValueError, match="is not a metric of scorebars"):
        sb.Accumulator(len)


def test_bad_batches():
    total = sb.Accumulator()
    with pytest.raises(ValueError, match="nothing was accumulated"):
        total.result()
    with pytest.raises(ValueError, match="y_true contains NaN: the first is nan at index 1, 1 in all"):
        total.update([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"y_pred\['b'\] contains infinity: the first is inf at index 0"):
        total.update([1.0], {"a": [1.0], "b": [np.inf]})
    with pytest.raises(ValueError, match=r"yerr has negative values: the first is -1\.0 at index 1"):
        total.update([1.0, 2.0], [1.0, 2.0], yerr=[1.0, -1.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 2 and 1"):
        total.update([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="sample_weight has negative values"):
        total.update([1.0, 2.0], [1.0, 2.0], sample_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="independent normal errors"):
        total.update([1.0, 2.0], [1.0, 2.0], yerr=sb.Laplace(1.0))
    with pytest.raises(ValueError, match="lower and upper errors: an accumulator"):
        total.update([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], yerr=[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    with pytest.raises(ValueError, match="independent normal errors"):
        total.update([1.0, 2.0], [1.0, 2.0], yerr=sb.Normal(cov=np.eye(2)))
    assert total.n == 0
    total.update([1.0], {"a": [1.0]})
    with pytest.raises(ValueError, match="the models are b, but those so far are a"):
        total.update([1.0], {"b": [1.0]})
    with pytest.raises(ValueError, match="kind 'berkson' cannot be mixed"):
        total.update([1.0], {"a": [1.0]}, yerr=sb.Normal(1.0, kind="berkson"))
    with pytest.raises(ValueError, match="different metrics cannot be merged"):
        total.merge(sb.Accumulator("mean_error"))
    with pytest.raises(TypeError, match="only another Accumulator"):
        total.merge(3)
    zero = sb.Accumulator().update([1.0, 2.0], [1.0, 2.0], sample_weight=0.0)
    with pytest.raises(ValueError, match="sample_weight is all zero"):
        zero.result()


def test_empty_batches_and_zero_weights_are_fine():
    y, p, sigma, _ = SITUATIONS["mixed errors, some exact"]
    total = sb.Accumulator().update([], []).update(y, p, yerr=sigma)
    total.update(y + 100, p, sample_weight=np.zeros(N))
    assert total.n == 2 * N
    assert total.result()["mean_error"].expected == pytest.approx(sb.mean_error(y, p, yerr=sigma).expected, rel=1e-12)
