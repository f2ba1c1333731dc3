"""Metrics of the confusion matrix from batches score as from all labels at once."""

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines.class_counts import MOST, ClassCounts, rows_of

N = 70_000
CUTS = (0, 50, 66_000, N)
RNG = np.random.default_rng(4)
LABELS = {k: RNG.integers(0, k, N) for k in (2, 3)}
PREDICTED = {k: np.where(RNG.random(N) < 0.8, y, RNG.integers(0, k, N)) for k, y in LABELS.items()}
FLIPS = {
    "exact": None,
    "one q": 0.07,
    "few q": RNG.choice([0.0, 0.02, 0.1, 1.0], N, p=[0.4, 0.3, 0.299, 0.001]),
    "many q": RNG.beta(1.0, 12.0, N) * np.where(RNG.random(N) < 0.1, 0.0, 0.8),
}
AGREEMENT = ["balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score"]
SHARES = ["precision_score", "recall_score", "specificity_score", "f1_score", "jaccard_score"]
AVERAGES = {
    "precision_score": "macro",
    "recall_score": "weighted",
    "specificity_score": "macro",
    "f1_score": "micro",
    "jaccard_score": "macro",
}
METRICS = {
    2: [*AGREEMENT, *SHARES, partial(sb.fbeta_score, beta=2)],
    3: [*AGREEMENT, *(partial(getattr(sb, name), average=how) for name, how in AVERAGES.items())],
}
NAMES = {2: [*AGREEMENT, *SHARES, "fbeta_score"], 3: [*AGREEMENT, *AVERAGES]}


def cut(value, part):
    return value[part] if isinstance(value, np.ndarray) else value


def accumulated(metrics, y, p, q, cuts=CUTS):
    total = sb.Accumulator(metrics)
    for part in (slice(*ends) for ends in pairwise(cuts)):
        total.update(y[part], p[part], yerr=cut(q, part))
    return total


@pytest.fixture(scope="module", params=[(k, name) for k in METRICS for name in FLIPS], ids=str)
def both(request):
    k, name = request.param
    y, p, q = LABELS[k], PREDICTED[k], FLIPS[name]
    whole = sb.evaluate(y, p, yerr=q, metrics=METRICS[k], task="classification")
    return accumulated(METRICS[k], y, p, q).result(), whole, NAMES[k]


def test_scores_are_those_of_all_labels(both):
    streamed, whole, names = both
    assert streamed.metrics == whole.metrics == names
    for metric in names:
        one, all_at_once = streamed[metric], whole[metric]
        low, high = all_at_once.interval()
        close = 1e-9 * ((high - low) or 1.0)
        assert one.n == N
        assert one.method == all_at_once.method
        assert one.observed == all_at_once.observed
        assert one.expected == pytest.approx(all_at_once.expected, rel=1e-12), metric
        assert one.std == pytest.approx(all_at_once.std, rel=5e-12), metric
        assert one.interval() == pytest.approx((low, high), abs=close), metric
        assert one.perfect == pytest.approx(float(all_at_once.perfect), rel=1e-11)
        assert one.perfect.interval() == pytest.approx(all_at_once.perfect.interval(), abs=close)
        assert one.sampling_std == pytest.approx(all_at_once.sampling_std, rel=1e-10)


def test_truth_is_that_of_all_labels(both):
    streamed, whole, names = both
    for metric in names:
        one, all_at_once = streamed[metric], whole[metric]
        for answer in (lambda score: score.truth, lambda score: score.remeasured(1), lambda score: score.remeasured(3)):
            assert answer(one) == pytest.approx(float(answer(all_at_once)), rel=1e-11), metric
            assert answer(one).std == pytest.approx(answer(all_at_once).std, rel=1e-9), metric
        assert one.truth.total_interval() == pytest.approx(all_at_once.truth.total_interval(), abs=1e-9)
        assert one.total_interval() == pytest.approx(all_at_once.total_interval(), abs=1e-9)


def test_few_labels_are_kept_as_they_are():
    y, p, q = LABELS[3][:1000], PREDICTED[3][:1000], FLIPS["many q"][:1000]
    one = accumulated(METRICS[3], y, p, q, (0, 300, 1000)).result()
    assert one.to_dict() == sb.evaluate(y, p, yerr=q, metrics=METRICS[3], task="classification").to_dict()


def test_common_metrics_are_those_of_evaluate():
    y, p = LABELS[2], PREDICTED[2]
    one = sb.Accumulator(task="classification").update(y, p, yerr=0.1).result()
    assert one.metrics == sb.evaluate(y, p, yerr=0.1, task="classification").metrics


def test_berkson_flips_keep_their_kind():
    found = sb.Accumulator("f1_score").update(LABELS[2], PREDICTED[2], yerr=sb.Flip(0.1, kind="berkson")).result()
    assert found["f1_score"].truth == found["f1_score"].expected


def test_classes_that_come_late_and_texts():
    names = np.array(["emu", "ant", "cat"])
    y, p = names[LABELS[3]], names[PREDICTED[3]]
    order = np.argsort(y == "ant", kind="stable")  # the first class of all comes last
    y, p, q = y[order], p[order], FLIPS["many q"][order]
    metrics = [partial(sb.recall_score, average="macro", labels=["cat", "ant"]), "matthews_corrcoef"]
    parts = [sb.Accumulator(metrics).update(y[s], p[s], yerr=q[s]) for s in (slice(0, 2000), slice(2000, N))]
    whole = sb.evaluate(y, p, yerr=q, metrics=metrics, task="classification")
    for total in (parts[0] + parts[1], parts[1] + parts[0]):
        for metric in ("recall_score", "matthews_corrcoef"):
            assert total.result()[metric].observed == whole[metric].observed
            assert total.result()[metric].expected == pytest.approx(whole[metric].expected, rel=1e-12)


@pytest.mark.parametrize("name", FLIPS)
def test_merging_and_json(name):
    y, p, q = LABELS[3], PREDICTED[3], FLIPS[name]
    metrics = ["matthews_corrcoef", partial(sb.f1_score, average="macro"), "accuracy_score"]
    a, b, c = (
        sb.Accumulator(metrics).update(y[part], p[part], yerr=cut(q, part))
        for part in (slice(0, 66_000), slice(66_000, 66_010), slice(66_010, N))
    )
    one, other = ((a + b) + c).result(), (c + (b + a)).result()
    for metric in one.metrics:
        assert one[metric].expected == pytest.approx(other[metric].expected, rel=1e-12)
        assert one[metric].std == pytest.approx(other[metric].std, rel=5e-12)
    text = (a + b).to_json()
    again = sb.Accumulator.from_json(text)
    assert again.metrics == a.metrics
    assert again.to_json() == text
    assert again.merge(c).to_json() == (a + b).merge(c).to_json()
    assert again.result().to_json() == (a + b).merge(c).result().to_json()


def test_options_travel_to_threads_and_processes():
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    y, p, q = (np.tile(x, 9) for x in (LABELS[3], PREDICTED[3], FLIPS["few q"]))  # more than two batches of a dataset
    metrics = [partial(sb.f1_score, average="macro"), "cohen_kappa_score"]
    table = dataset.dataset(pa.table({"y": y, "p": p, "q": q}))
    streamed = sb.evaluate(table, y="y", pred="p", yerr="q", metrics=metrics, task="classification")
    whole = sb.Accumulator(metrics).update(y, p, yerr=q)
    assert pickle.loads(pickle.dumps(whole)).metrics == whole.metrics
    again = pickle.loads(pickle.dumps(whole)).result()
    for metric in ("f1_score", "cohen_kappa_score"):
        expected = whole.result()[metric]
        assert streamed["p", metric].expected == pytest.approx(expected.expected, rel=1e-13)
        assert again[metric].to_dict() == expected.to_dict()


# few uncertain labels, rare classes ----------------------------------------------------------------


def test_few_uncertain_labels_are_listed():
    y, p = LABELS[3], PREDICTED[3]
    q = np.where(np.arange(N) % 10_000 == 7, 0.3, 0.0)
    one = accumulated("balanced_accuracy_score", y, p, q).result()["balanced_accuracy_score"]
    whole = sb.balanced_accuracy_score(y, p, yerr=q)
    assert one.method == whole.method == "exact"
    assert one.expected == pytest.approx(whole.expected, rel=1e-14)
    assert one.std == pytest.approx(whole.std, rel=1e-12)
    assert one.interval() == pytest.approx(whole.interval(), rel=1e-14)


@pytest.mark.parametrize("many", [False, True], ids=["few q", "many q"])
def test_a_rare_class_is_drawn(many):
    y, p = LABELS[2].copy(), PREDICTED[2].copy()
    y[:12], p[:9] = 2, 2
    q = np.where(np.arange(N) < 100, 0.2, 0.001) * (1 + 0.1 * np.arange(N) / N if many else 1.0)
    metric = partial(sb.recall_score, average="macro")
    one, whole = accumulated(metric, y, p, q).result()["recall_score"], metric(y, p, yerr=q)
    assert one.method == whole.method == "simulation"
    assert one.expected == pytest.approx(whole.expected, abs=0.05 * whole.std)
    assert one.std == pytest.approx(whole.std, rel=0.05)
    assert one.interval() == pytest.approx(whole.interval(), abs=0.2 * whole.std)


def test_no_label_says_anything():
    q = np.where(np.arange(N) < 5, 2 / 3, FLIPS["many q"])
    found = accumulated("matthews_corrcoef", LABELS[3], PREDICTED[3], q).result()["matthews_corrcoef"]
    with pytest.raises(sb.UndefinedEstimate, match=r"q close to 0\.666667, needs all labels at once"):
        _ = found.truth
    q = np.where(np.arange(N) < 5, 2 / 3, 0.1)
    found = accumulated("matthews_corrcoef", LABELS[3], PREDICTED[3], q).result()["matthews_corrcoef"]
    with pytest.raises(sb.UndefinedEstimate, match=r"5 of 70000 labels"):
        _ = found.truth


def test_only_one_class():
    ones = np.ones(N, dtype=int)
    with pytest.warns(UserWarning, match="Specificity is ill-defined"):
        one = sb.Accumulator("specificity_score").update(ones, ones, yerr=0.01).result()["specificity_score"]
    with pytest.warns(UserWarning, match="Specificity is ill-defined"):
        whole = sb.specificity_score(ones, ones, yerr=0.01)
    assert (one.expected, one.std, one.interval()) == (whole.expected, whole.std, whole.interval())


# what is kept --------------------------------------------------------------------------------------


def test_counts_are_those_of_the_labels():
    y, p = LABELS[3][:9000], PREDICTED[3][:9000]
    for q, gathered in ((FLIPS["few q"][:9000], False), (FLIPS["many q"][:9000], True)):
        counts = ClassCounts.of(y[:5000], p[:5000], q[:5000], True).merged(
            ClassCounts.of(y[5000:], p[5000:], q[5000:], True)
        )
        cell, rows, number = rows_of(counts)
        assert (counts.n, counts.gathered) == (9000, gathered)
        assert np.unique(counts.q).size <= MOST
        for power in range(4):
            found = np.bincount(cell, number * rows**power, minlength=9)
            assert found == pytest.approx(np.bincount(y * 3 + p, q**power, minlength=9), rel=1e-12)


def test_the_accuracy_keeps_no_pairs_of_classes():
    y = np.arange(N) % 5000
    (counts,) = sb.Accumulator("accuracy_score").update(y, np.roll(y, 1), yerr=0.1)._stored.values()
    assert counts.count.size == 1
    assert len(counts.classes) == 5000


# options -------------------------------------------------------------------------------------------


def test_bad_options():
    with pytest.raises(
        ValueError, match=r"fbeta_score needs its beta: pass functools\.partial\(scorebars\.fbeta_score"
    ):
        sb.Accumulator("fbeta_score")
    with pytest.raises(
        ValueError, match=r"cannot take f1_score with sample_weight\. The options are: labels, pos_label"
    ):
        sb.Accumulator(partial(sb.f1_score, sample_weight=[1.0]))
    with pytest.raises(ValueError, match=r"cannot take accuracy_score with normalize\. The options are: none"):
        sb.Accumulator(partial(sb.accuracy_score, normalize=False))
    with pytest.raises(ValueError, match="average=None is a score for each class"):
        sb.Accumulator(partial(sb.f1_score, average=None))
    with pytest.raises(ValueError, match="finite numbers, texts or lists of them, and zero_division is nan"):
        sb.Accumulator(partial(sb.f1_score, zero_division=np.nan))
    with pytest.raises(ValueError, match="f1_score is asked for with several options"):
        sb.Accumulator(["f1_score", partial(sb.f1_score, average="macro")])
    with pytest.raises(ValueError, match="f1_score: pass options by name"):
        sb.Accumulator(partial(sb.f1_score, [1, 0]))
    with pytest.raises(ValueError, match="is not a metric of scorebars"):
        sb.Accumulator(partial(max, key=len))
    macro, micro = (sb.Accumulator(partial(sb.f1_score, average=how)) for how in ("macro", "micro"))
    with pytest.raises(
        ValueError, match=r"different metrics.*f1_score\(average='macro'\) and f1_score\(average='micro'\)"
    ):
        macro.merge(micro)


def test_options_of_numpy_are_plain():
    total = sb.Accumulator(partial(sb.fbeta_score, beta=np.float64(2), labels=np.array([0, 1]), average="macro"))
    assert sb.Accumulator.from_json(total.to_json()).metrics == total.metrics
    assert str(total) == "Accumulator(fbeta_score(beta=2.0, labels=[0, 1], average='macro'); n=0)"
