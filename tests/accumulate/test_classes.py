"""Class labels from batches score as all of them at once."""

from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines.class_counts import MOST

N = 70_000
METRICS = ["accuracy_score", "zero_one_loss"]
RNG = np.random.default_rng(4)
LABEL = RNG.integers(0, 3, N)
SHOWN = np.where(RNG.random(N) < 0.8, LABEL, RNG.integers(0, 3, N))
FLIPS = {
    "exact": None,
    "one q": 0.07,
    "few q": RNG.choice([0.0, 0.02, 0.1, 1.0], N, p=[0.4, 0.3, 0.299, 0.001]),
    "many q": RNG.beta(1.0, 12.0, N) * np.where(RNG.random(N) < 0.1, 0.0, 0.8),
}


def cut(value, part):
    return value[part] if isinstance(value, np.ndarray) else value


def accumulated(y, p, q, cuts=(0, 50, 66_000, N)):
    total = sb.Accumulator(METRICS)
    for start, stop in pairwise(cuts):
        part = slice(start, stop)
        total.update(y[part], p[part], yerr=cut(q, part))
    return total


@pytest.fixture(scope="module", params=FLIPS)
def both(request):
    q = FLIPS[request.param]
    return accumulated(LABEL, SHOWN, q).result(), sb.evaluate(
        LABEL, SHOWN, yerr=q, metrics=METRICS, task="classification"
    )


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_all_labels(both, metric):
    one, whole = (evaluation[metric] for evaluation in both)
    assert one.n == N
    for name in ("observed", "expected", "std", "sampling_std", "noise_share"):
        assert getattr(one, name) == pytest.approx(getattr(whole, name), rel=1e-11, abs=1e-15), name
    assert one.interval() == pytest.approx(whole.interval(), abs=1e-12)
    assert one.interval(0.9999) == pytest.approx(whole.interval(0.9999), abs=1e-12)
    assert one.perfect == pytest.approx(float(whole.perfect), rel=1e-12)
    assert one.perfect.interval() == pytest.approx(whole.perfect.interval(), abs=1e-12)
    assert one.total_interval() == pytest.approx(whole.total_interval(), rel=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_truth_is_that_of_all_labels(both, metric):
    one, whole = (evaluation[metric] for evaluation in both)
    answers = whole._answers.inner if metric == "zero_one_loss" else whole._answers
    if np.ndim(answers._q) and whole.truth.std:
        assert one.truth.std == pytest.approx(whole.truth.std, rel=1e-9)
    assert one.truth == pytest.approx(float(whole.truth), rel=1e-9)
    assert one.truth.interval() == pytest.approx(whole.truth.interval(), abs=1e-9)
    assert one.remeasured(1) == pytest.approx(float(whole.remeasured(1)), rel=1e-9)
    assert one.remeasured(3) == pytest.approx(float(whole.remeasured(3)), rel=1e-9)


def test_truth_next_to_a_useless_label_needs_all_labels():
    q = np.where(np.arange(N) < 5, 2 / 3, FLIPS["many q"])
    with pytest.raises(sb.UndefinedEstimate, match=r"q close to 0\.666667, needs all labels at once"):
        _ = accumulated(LABEL, SHOWN, q).result()["accuracy_score"].truth


def test_q_are_gathered_only_where_they_are_many():
    for name, gathered in (("few q", False), ("many q", True)):
        (counts,) = (accumulated(LABEL, SHOWN, FLIPS[name], (0, N)) + sb.Accumulator(METRICS))._stored.values()
        assert counts.gathered == gathered
        assert counts.n == N
        assert np.unique(counts.q).size <= MOST


def test_merging_and_json():
    for q in FLIPS.values():
        a, b, c = (
            sb.Accumulator(METRICS).update(LABEL[part], SHOWN[part], yerr=cut(q, part))
            for part in (slice(0, 66_000), slice(66_000, 66_010), slice(66_010, N))
        )
        one, other = ((a + b) + c).result(), (c + (b + a)).result()
        for metric in METRICS:
            assert one[metric].expected == pytest.approx(other[metric].expected, rel=1e-13)
            assert one[metric].interval() == pytest.approx(other[metric].interval(), abs=1e-13)
        text = (a + b).to_json()
        assert sb.Accumulator.from_json(text).to_json() == text
        assert sb.Accumulator.from_json(text).merge(c).to_json() == (a + b).merge(c).to_json()


def test_texts_and_few_labels():
    names = np.array(["cat", "dog", "emu"])
    total = sb.Accumulator("accuracy_score").update(names[LABEL[:100]], names[SHOWN[:100]], yerr=0.1)
    again = sb.Accumulator.from_json(total.to_json())
    expected = sb.accuracy_score(names[LABEL[:100]], names[SHOWN[:100]], yerr=0.1)
    assert again.result()["accuracy_score"].to_dict() == expected.to_dict()
    with pytest.raises(ValueError, match="the classes are numbers, but those so far are texts"):
        total.copy().update(LABEL[:10], SHOWN[:10]).result()
    large = sb.Accumulator("accuracy_score").update(names[LABEL], names[SHOWN])
    with pytest.raises(ValueError, match="the classes are numbers, but those so far are texts"):
        large.update(LABEL, SHOWN)
    assert large.n == N


def test_berkson_flips_keep_their_kind():
    found = sb.Accumulator("accuracy_score").update(LABEL, SHOWN, yerr=sb.Flip(0.1, kind="berkson")).result()
    assert found["accuracy_score"].truth == found["accuracy_score"].expected


def test_bad_batches():
    total = sb.Accumulator("accuracy_score")
    with pytest.raises(ValueError, match="cannot weight them"):
        total.update([1, 0], [1, 1], sample_weight=[1, 2])
    with pytest.raises(ValueError, match="wrong independently of each other"):
        total.update([1, 0], [1, 1], yerr=sb.Flip(0.1, correlation=0.2))
    with pytest.raises(ValueError, match="wrong independently of each other"):
        total.update([1, 0], [1, 1], yerr=sb.ClassFlip({0: 0.1, 1: 0.2}))
    with pytest.raises(ValueError, match="yerr has values outside"):
        total.update([1, 0], [1, 1], yerr=[0.1, 1.2])
    assert total.update([], []).n == 0


def test_unsigned_classes_beside_signed_ones():
    """NumPy would make floats of both, in which classes above 2^53 run together."""
    y, p = np.array([0, 1, 2**62 + 1], "u8"), np.array([0, 1, 2**62], "i8")
    total = sb.Accumulator("accuracy_score").update(y, p).update(p, y)
    assert total.result()["accuracy_score"].observed == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="y_pred holds numbers, but the labels are unsigned 64-bit numbers"):
        total.update(y + np.uint64(2**63), p)
    with pytest.raises(ValueError, match="y_pred holds texts, but the labels are numbers"):
        total.update(p, np.array(["a", "b", "c"]))
    with pytest.raises(ValueError, match="the classes are unsigned 64-bit numbers, but those so far are numbers"):
        total.update(y, y)
    assert total.n == 6
