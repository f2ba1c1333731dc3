"""Votes: ties by lot, items of unequal difficulty, raters of unequal skill."""

import numpy as np
import pytest

import scorebars as sb


def votes(rng, truth, raters, wrong, classes=2):
    other = (truth[:, None] + rng.integers(1, classes, (len(truth), raters))) % classes
    return np.where(rng.random((len(truth), raters)) < wrong, other, truth[:, None])


def counted(cast, classes=2):
    return (cast[:, :, None] == np.arange(classes)).sum(axis=1)


def situation(n=4000, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    return rng, truth, np.where(rng.random(n) < 0.146, (truth + 1) % classes, truth)


def test_the_order_of_columns_changes_nothing():
    """Two raters, each wrong 15 % of the time: half of their ties would go to whatever column comes first."""
    rng, truth, model = situation(20_000)
    counts = counted(votes(rng, truth, 2, 0.15))
    one, other = sb.Votes(counts, [0, 1]), sb.Votes(counts[:, ::-1], [1, 0])
    assert np.array_equal(one.labels(), other.labels())
    first, second = (sb.accuracy_score(None, model, yerr=v).truth for v in (one, other))
    assert float(first) == float(second) and first.interval() == second.interval()
    assert float(first) == pytest.approx(
        np.mean(truth == model), abs=0.02
    )  # .93 or .78 when the first column wins ties


def test_ties_fall_to_either_class():
    labels = sb.Votes(np.full((2000, 2), 2), ["x", "y"]).labels()
    assert np.mean(labels == "x") == pytest.approx(0.5, abs=0.05)
    three = sb.Votes(np.tile([1, 0, 1], (2000, 1)), [0, 1, 2])
    assert set(three.labels()) == {0, 2}
    part = three[np.arange(50, 80)]
    assert np.array_equal(part.labels(), three.labels()[50:80])


def test_uncertain_votes_widen_the_truth():
    """The error of a vote is found from these votes: more items tell it better than the label errors alone would say."""
    rng, truth, model = situation(300)
    cast = votes(rng, truth, 5, 0.2)
    found = sb.accuracy_score(None, model, yerr=sb.Votes(counted(cast), [0, 1]))
    assert "the error rates come from the votes on 300 items" in found.truth.note
    known = sb.accuracy_score(found._answers.data.names, model, yerr=sb.Flip(1 - found._answers.data.own.matrix[0, 0]))
    assert float(found.truth) == pytest.approx(float(known.truth), rel=1e-9)
    assert found.truth.std > known.truth.std


def test_items_of_unequal_difficulty():
    rng, truth, model = situation()
    hard = rng.random(len(truth)) < 0.2
    found = sb.accuracy_score(
        None, model, yerr=sb.Votes(counted(votes(rng, truth, 5, np.where(hard, 0.4, 0.1)[:, None])), [0, 1])
    )
    right = np.mean(truth == model)
    assert "items differ in difficulty" in found.truth.note and "items differ in difficulty" in found.explain()
    low, high = found.truth.interval()
    assert low <= right <= high
    wrong = np.mean(found._answers.data.shown != truth)
    assert 1 - found._answers.data.own.matrix[0, 0] == pytest.approx(wrong, abs=0.015)
    # 51 votes an item, one item in ten a toss-up: one rate would say that the majority never errs
    toss = np.where(rng.random(len(truth)) < 0.1, 0.5, 0.02)[:, None]
    many = sb.accuracy_score(None, model, yerr=sb.Votes(counted(votes(rng, truth, 51, toss)), [0, 1]))
    low, high = many.truth.interval()
    assert many.truth.std > 0.002 and low < right < high


def test_items_alike_are_not_suspected():
    rng, truth, model = situation()
    found = sb.accuracy_score(None, model, yerr=sb.Votes(counted(votes(rng, truth, 5, 0.15)), [0, 1]))
    assert "difficulty" not in found.truth.note
    few = sb.accuracy_score(None, model, yerr=sb.Votes(counted(votes(rng, truth, 3, 0.15)), [0, 1]))
    assert "cannot show whether some items are harder" in few.truth.note


@pytest.mark.parametrize("classes", [2, 4])
def test_raters_who_are_wrong_together(classes):
    """Known raters see hard items too: without them the interval of five raters misses the truth by far."""
    rng, truth, model = situation(2000, classes=classes)
    wrong = np.where(rng.random((len(truth), 1)) < 0.2, 0.4, np.linspace(0.03, 0.15, 5))
    found = sb.Votes(ratings=votes(rng, truth, 5, wrong, classes))
    score = sb.accuracy_score(None, model, yerr=found)
    assert "raters are wrong together more often than their skills allow" in score.truth.note
    assert "Warning: items differ in difficulty" in score.explain()
    low, high = score.truth.interval()
    assert low <= np.mean(truth == model) <= high
    apart = []
    for _ in range(4):
        again = sb.Votes(ratings=votes(rng, truth, 5, wrong, classes))
        apart.append(np.array(again.hard_items) - np.mean(again.labels() != truth))
    corrected, alike = np.abs(np.mean(apart, axis=0))
    assert corrected < 0.4 * alike
    # raters who err independently are not suspected, though some of them err often; three cannot show it
    fair = sb.Votes(ratings=votes(rng, truth, 5, [0.05, 0.1, 0.2, 0.3, 0.4], classes))
    assert fair.hard_items is None
    assert "difficulty" not in sb.accuracy_score(None, model, yerr=fair).truth.note
    three = sb.accuracy_score(None, model, yerr=sb.Votes(ratings=votes(rng, truth, 3, 0.15, classes)))
    assert "cannot show whether some items are harder" in three.truth.note


def test_the_order_of_raters_changes_nothing():
    rng, truth, model = situation(300)
    cast = votes(rng, truth, 4, [0.05, 0.1, 0.2, 0.3])
    for raters in ([0, 1], [0, 1, 2], [0, 1, 2, 3]):
        first, second = (
            sb.accuracy_score(None, model, yerr=sb.Votes(ratings=cast[:, order])).truth
            for order in (raters, raters[::-1])
        )
        assert float(first) == pytest.approx(float(second), abs=1e-6)
        assert first.interval() == pytest.approx(second.interval(), abs=1e-3)


def test_a_label_with_few_votes():
    """The label of a good rater against two bad ones is no label that is "more often wrong than right"."""
    rng, truth, model = situation(400)
    score = sb.accuracy_score(None, model, yerr=sb.Votes(ratings=votes(rng, truth, 3, [0.02, 0.3, 0.3])))
    assert "some labels have less than half of the votes." in score.explain()


def test_a_single_vote_is_not_known_to_be_right():
    """One vote an item says nothing of how often a vote is wrong."""
    rng, truth, model = situation(100)
    alone = sb.Votes(np.eye(2)[votes(rng, truth, 1, 0.2)[:, 0]], [0, 1])
    for metric in (sb.accuracy_score, sb.f1_score, sb.log_loss):
        found = metric(None, model, yerr=alone)
        for ask in (lambda found=found: found.truth, lambda found=found: found.perfect):
            with pytest.raises(sb.UndefinedEstimate, match="no item has two votes"):
                ask()


@pytest.mark.parametrize("classes", [2, 4])
def test_raters_of_unequal_skill(classes):
    """Dawid and Skene: who errs how often is found from the votes alone, and the best raters decide."""
    rng, truth, model = situation(classes=classes)
    rates = np.array([0.05, 0.1, 0.35, 0.4, 0.45])
    cast = votes(rng, truth, 5, rates, classes)
    found = sb.Votes(ratings=cast)
    errors = [1 - np.mean(np.diag(found.raters[r])) for r in range(5)]
    np.testing.assert_allclose(errors, rates, atol=0.04)
    plain = sb.Votes(counted(cast, classes), range(classes))
    assert np.mean(found.labels() != truth) < np.mean(plain.labels() != truth)
    score = sb.accuracy_score(None, model, yerr=found)
    low, high = score.truth.interval()
    assert low <= np.mean(truth == model) <= high
    assert "the votes of 5 raters on 4000 items" in score.truth.note
    assert "5 raters" in repr(found)


def test_ratings_with_gaps_names_and_texts():
    rng, truth, model = situation(600)
    cast = votes(rng, truth, 4, 0.15).astype(object)
    cast[rng.random(cast.shape) < 0.2] = None
    cast[:, 0] = truth  # one vote for each item
    names = dict(zip("abcd", np.where(cast == 1, "yes", np.where(cast == 0, "no", None)).T, strict=True))
    found = sb.Votes(ratings=names)
    assert list(found.raters) == ["a", "b", "c", "d"] and found.classes().tolist() == ["no", "yes"]
    np.testing.assert_allclose(found.raters["a"], np.eye(2), atol=0.02)
    assert np.array_equal(found.repeats, [sum(v is not None for v in row) for row in cast])
    assert sb.accuracy_score(None, np.where(model == 1, "yes", "no"), yerr=found).truth.std > 0
    assert np.array_equal(found[10:20].labels(), found.labels()[10:20])
    pandas = pytest.importorskip("pandas")
    assert list(sb.Votes(ratings=pandas.DataFrame(names)).raters) == ["a", "b", "c", "d"]
    two = sb.Votes(ratings=cast[:, :2].astype(object))
    assert two.raters is None and two.vote_error > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Votes(), r"either counts .* or ratings"),
        (lambda: sb.Votes([[1, 2]], [0, 1], ratings=[[0, 1]]), r"either counts .* or ratings"),
        (lambda: sb.Votes([[1, 2]]), r"labels is missing"),
        (lambda: sb.Votes(ratings=[0, 1, 1]), r"shape \(items, raters\)"),
        (
            lambda: sb.Votes(ratings=[[0, 1, 5], [1, 1, 0]], labels=[0, 1]),
            r"does not name: the first is 5 at index 2, 1 in all",
        ),
        (lambda: sb.Votes(ratings=[[0.5, 1, 1], [1, 1, 0]]), r"ratings must hold classes"),
        (
            lambda: sb.Votes(ratings=[[None, None], [1, 0]]),
            r"ratings has items without votes: the first is 0.0 at index 0",
        ),
        (
            lambda: sb.Votes(ratings=[[1, 1, 1], [1, 1, 1]]),
            r"ratings has one class only: .* Name all of them in labels",
        ),
        (lambda: sb.Votes(ratings={"a": [0, 1], "b": [1]}), r"one vote for each item from every rater"),
        (
            lambda: sb.Votes(ratings=np.array([["a", "b"], ["nan", "a"], ["", "b"]])),
            r'ratings has texts that name no class, empty ones or "nan": the first is .nan. at index \(1, 0\), 2 in all',
        ),
        (lambda: sb.Votes(ratings={"a": ["x", "y"], "b": ["", "y"]}), r"the first is '' at index 0, 1 in all.*None"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_labels_must_be_those_of_the_raters():
    rng, truth, model = situation(100)
    found = sb.Votes(ratings=votes(rng, truth, 4, 0.2))
    with pytest.raises(ValueError, match="differs from the likeliest classes by the votes of these raters"):
        sb.accuracy_score(1 - found.labels(), model, yerr=found)
    assert sb.accuracy_score(found.labels(), model, yerr=found).n == 100


def test_rows_of_raters_are_drawn_together_as_far_as_they_are_alike():
    """Four classes: each pair is mixed up about once by each of four alike raters. One who differs keeps his own row."""
    rng, truth, _ = situation(400, classes=4)
    alike = np.stack(list(sb.Votes(ratings=votes(rng, truth, 4, 0.05, 4)).raters.values()))
    off = ~np.eye(4, dtype=bool)
    assert np.max(np.std(alike[:, off], axis=0)) < 0.008  # of counts it is some 0.015
    mixed = sb.Votes(ratings=votes(rng, truth, 4, [0.03, 0.05, 0.05, 0.4], 4))
    wrong = [1.0 - np.mean(np.diag(matrix)) for matrix in mixed.raters.values()]
    assert max(wrong[:3]) < 0.12 and 0.3 < wrong[3] < 0.5
