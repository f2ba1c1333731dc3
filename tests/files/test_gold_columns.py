"""Files in which some rows have a gold label: found by name or said, with what was understood, and scored as in Python."""

import numpy as np
import pytest

import scorebars as sb

N = 60
RNG = np.random.default_rng(3)
TRUE = RNG.choice(["cat", "dog"], N)
SHOWN = np.where(RNG.random(N) < 0.2, np.where(TRUE == "cat", "dog", "cat"), TRUE)
A, B = (np.where(RNG.random(N) < q, np.where(TRUE == "cat", "dog", "cat"), TRUE) for q in (0.1, 0.3))
CHANCE = np.where(SHOWN == "cat", 0.5, 0.25)
CHECKED = RNG.random(N) < CHANCE
GOLD = np.where(CHECKED, TRUE, "")
Y, BETTER, P = (np.round(x, 3) for x in (RNG.normal(5, 1, N), RNG.normal(5, 1, N), RNG.normal(5, 1, N)))
MODEL = sb.Verified([g or None for g in GOLD])
BY_CHANCE = sb.Verified([g or None for g in GOLD], CHANCE)


def written(tmp_path, **columns):
    path = tmp_path / "judged.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n", "utf-8")
    return path


def same(found, expected):
    assert (float(found), float(found.truth), found.truth.std) == pytest.approx(
        (float(expected), float(expected.truth), expected.truth.std), rel=1e-12
    )
    assert found.truth.total_interval() == pytest.approx(expected.truth.total_interval(), rel=1e-12)


@pytest.mark.parametrize("name", ["gold", "Gold label", "y_gold", "label_gold", "gold_standard"])
def test_found_by_name(tmp_path, name):
    path = written(tmp_path, **{"label": SHOWN, name: GOLD, "pred_a": A})
    found = sb.evaluate(path, metrics=["accuracy", "balanced_accuracy_score"])
    same(found["a", "accuracy_score"], sb.accuracy_score(SHOWN, A, yerr=MODEL))
    same(found["a", "balanced_accuracy_score"], sb.balanced_accuracy_score(SHOWN, A, yerr=MODEL))
    wrong = int(np.sum(GOLD[CHECKED] != SHOWN[CHECKED]))
    said = f"{CHECKED.sum()} of {N} labels were checked by lot, and {wrong} of these have another gold label"
    assert said in found.assumed and f"gold labels of those that were checked {name}" in found.assumed


@pytest.mark.parametrize("name", ["p_checked", "gold_probability"])
def test_probabilities_are_found_too(tmp_path, name):
    path = written(tmp_path, **{"label": SHOWN, "gold": GOLD, name: CHANCE, "pred_a": A, "pred_b": B})
    found = sb.evaluate(path, metrics="accuracy")
    same(found["a", "accuracy_score"], sb.accuracy_score(SHOWN, A, yerr=BY_CHANCE))
    assert f"checked with the probabilities in {name}" in found.assumed
    same(
        sb.evaluate(path, gold_probability="none", metrics="accuracy")["a", "accuracy_score"],
        sb.accuracy_score(SHOWN, A, yerr=MODEL),
    )
    ours = sb.compare(path, sampling=True)
    expected = sb.compare(SHOWN, {"a": A, "b": B}, yerr=BY_CHANCE, sampling=True)
    assert ours.probability("a", "b") == pytest.approx(expected.probability("a", "b"), rel=1e-12)
    assert any(f"{CHECKED.sum()} of {N} labels were checked" in text for text in ours.warnings)


def test_said(tmp_path):
    path = written(tmp_path, judge=SHOWN, expert=GOLD, chance=CHANCE, a=A)
    found = sb.evaluate(path, y="judge", pred="a", gold="expert", gold_probability="chance", metrics="accuracy")
    same(found["a", "accuracy_score"], sb.accuracy_score(SHOWN, A, yerr=BY_CHANCE))


def test_where_columns_are_named_nothing_is_guessed_but_said(tmp_path):
    path = written(tmp_path, label=SHOWN, gold=GOLD, pred_a=A)
    found = sb.evaluate(path, y="label", pred="pred_a", metrics="accuracy")
    assert float(found["pred_a", "accuracy_score"].truth) == np.mean(SHOWN == A)
    assert "what looks like gold labels of some items is not used: gold. Name it in gold" in found.assumed


def test_whole_numbers_as_classes(tmp_path):
    """A column with empty cells holds 1 as 1.0."""
    shown, a = (np.where(x == "cat", 1, 0) for x in (SHOWN, A))
    gold = np.where(CHECKED, np.where(TRUE == "cat", "1", "0"), "")
    found = sb.evaluate(written(tmp_path, label=shown, gold=gold, pred_a=a), metrics="f1")
    model = sb.Verified(np.where(CHECKED, (TRUE == "cat").astype(float), np.nan))
    same(found["a", "f1_score"], sb.f1_score(shown, a, yerr=model))


def test_numbers_and_a_cut(tmp_path):
    path = written(tmp_path, y=Y, y_gold=np.where(CHECKED, BETTER.astype(str), ""), pred_a=P)
    gold = np.where(CHECKED, BETTER, np.nan)
    same(
        sb.evaluate(path, metrics="rmse")["a", "root_mean_squared_error"],
        sb.root_mean_squared_error(Y, P, yerr=sb.Verified(gold)),
    )
    above = np.where(CHECKED, (BETTER > 5).astype(float), np.nan)
    same(
        sb.evaluate(path, cut=5.0, metrics="accuracy")["a", "accuracy_score"],
        sb.accuracy_score((Y > 5).astype(int), (P > 5).astype(int), yerr=sb.Verified(above)),
    )


def test_rows_that_are_left_out_take_their_gold_label_along(tmp_path):
    predicted = A.astype(object)
    predicted[:5] = ""
    path = written(tmp_path, label=SHOWN, gold=GOLD, group=np.arange(N) % 3, pred_a=predicted)
    kept = np.arange(N) >= 5
    expected = sb.accuracy_score(SHOWN[kept], A[kept], yerr=sb.Verified([g or None for g in GOLD[kept]]))
    same(sb.evaluate(path, by="none", nan_policy="omit", metrics="accuracy")["a", "accuracy_score"], expected)
    kept &= np.arange(N) % 3 != 1
    expected = sb.accuracy_score(SHOWN[kept], A[kept], yerr=sb.Verified([g or None for g in GOLD[kept]]))
    found = sb.evaluate(path, by="none", nan_policy="omit", exclude="group=1", metrics="accuracy")
    same(found["a", "accuracy_score"], expected)


def test_long_tables(tmp_path):
    item = np.tile(np.arange(N), 2)
    columns = {"id": item, "label": np.tile(SHOWN, 2), "gold": np.tile(GOLD, 2)}
    columns |= {"model": np.repeat(["a", "b"], N), "pred": np.concatenate([A, B])}
    found = sb.evaluate(written(tmp_path, **columns), metrics="accuracy")
    same(found["b", "accuracy_score"], sb.accuracy_score(SHOWN, B, yerr=MODEL))


def test_a_full_column_called_gold_is_left_alone(tmp_path):
    found = sb.evaluate(written(tmp_path, label=SHOWN, gold=TRUE, pred_a=A), metrics="accuracy")
    assert "no errors (labels taken as exact)" in found.assumed


@pytest.mark.parametrize("said", [{"yerr": 0.1}, {"yerr": "none"}, {"checked": "3/40"}, {"gold": "none"}])
def test_errors_that_are_said_go_before_names(tmp_path, said):
    found = sb.evaluate(written(tmp_path, label=SHOWN, gold=GOLD, pred_a=A), metrics="accuracy", **said)
    assert "were checked" not in found.assumed


REFUSED = [
    ({"gold": "gold", "yerr": 0.1}, "gold and yerr exclude each other"),
    ({"gold": "gold", "checked": "3/40"}, "checked and gold exclude each other"),
    ({"gold": "label"}, "this is the column of the labels. Say y=COLUMN"),
    ({"gold": "golden"}, "there is no column 'golden'. Did you mean 'gold'"),
    ({"gold": "few"}, f"column 'few' has gold labels for 1 of {N} rows: at least 2"),
    ({"gold_probability": "wrong"}, "column 'wrong' is not a probability above 0 in row 2"),
    ({"gold_probability": "sure"}, "column 'sure' is 1 where there is no gold label in row 2"),
    ({"gold": "none", "gold_probability": "chance"}, "gold_probability needs the column of the gold labels"),
    ({"error_kind": "berkson"}, "error_kind is about given errors; gold labels show the errors themselves"),
    ({"scale_errors": 2.0}, "scale_errors is about given errors"),
    ({"votes": ["label", "few"], "gold": "gold"}, "gold and votes exclude each other"),
]


@pytest.mark.parametrize(("said", "why"), REFUSED)
def test_refused(tmp_path, said, why):
    few, wrong = np.where(np.arange(N) == 7, "cat", ""), np.where(np.arange(N) == 1, 0.0, CHANCE)
    path = written(tmp_path, label=SHOWN, gold=GOLD, few=few, wrong=wrong, sure=np.ones(N), chance=CHANCE, pred_a=A)
    with pytest.raises(ValueError, match=why):
        sb.evaluate(path, metrics="accuracy", **said)


def test_gold_labels_beside_errors_are_asked_about(tmp_path):
    path = written(tmp_path, label=SHOWN, gold=GOLD, flip_prob=np.full(N, 0.1), pred_a=A)
    with pytest.raises(
        ValueError, match="'gold' looks like gold labels of some items, and flip_prob like label errors"
    ):
        sb.evaluate(path)
    found = sb.evaluate(path, gold="gold", metrics="accuracy")
    same(found["a", "accuracy_score"], sb.accuracy_score(SHOWN, A, yerr=MODEL))
