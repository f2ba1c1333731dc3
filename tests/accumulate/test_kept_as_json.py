"""An accumulator as JSON: every bit comes back, and what was changed on the way is refused."""

import copy
import json
from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.streaming.accumulator_json import array_out

N = 70_000
RNG = np.random.default_rng(6)
Y = RNG.normal(size=N)
H = 2**63


@pytest.mark.parametrize("n", [3, N])
@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, H + 5, H + 6], "u8"),
        np.array([-(2**62) - 1, -(2**62), 2**62 + 1], "i8"),
        np.array([0, 1, 2], "u1"),
        np.array([0, 1, 2], "f4"),
        np.array([False, True, True]),
        np.array(["a", "bb", "ü"]),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_keep_their_bits(n, classes):
    y, p = classes[np.arange(n) % 3], classes[(np.arange(n) % 3).clip(0, 1) + (np.arange(n) % 3 > 0)]
    metrics = ["accuracy_score", "balanced_accuracy_score"]
    total = sb.Accumulator(metrics).update(y, p, yerr=0.1)
    text = total.to_json()
    again = sb.Accumulator.from_json(text)
    assert again.to_json() == text
    assert again.result().to_dict() == total.result().to_dict()
    assert again.result()["accuracy_score"].observed == pytest.approx(np.mean(y == p))
    assert again.update(y, p, yerr=0.1).n == 2 * n
    assert total.merge(sb.Accumulator.from_json(text)).n == 2 * n


# damage --------------------------------------------------------------------------------------------


def texts():
    kept = sb.Accumulator(["mean_squared_error", "reduced_chi_squared"]).update(Y[:10], Y[:10] + 1, yerr=0.1)
    each = sb.Accumulator("mean_error").update(Y[:3], Y[:3], yerr=[0.1, 0.2, 0.3], sample_weight=[1.0, 2.0, 3.0])
    classes = sb.Accumulator("accuracy_score").update(["a", "b"], ["a", "a"], yerr=[0.1, 0.2])
    within = partial(sb.fraction_within, tolerance=0.5)
    folded = sb.Accumulator(["mean_error", within]).update(Y, Y + 1, yerr=0.1)
    counted = sb.Accumulator("accuracy_score").update(Y > 0, Y > 0.1, yerr=0.1)
    return {
        name: json.loads(total.to_json())
        for name, total in {
            "kept": kept,
            "each": each,
            "classes": classes,
            "folded": folded,
            "counted": counted,
        }.items()
    }


TEXTS = texts()


@pytest.mark.parametrize(
    ("name", "path", "value", "match"),
    [
        ("kept", ["kind"], "junk", "kind must be 'classical'"),
        ("kept", ["kind"], "berkson", "label errors of different kinds"),
        ("kept", ["kind"], None, "label errors of different kinds"),
        ("kept", ["batches", 0, "kind"], "junk", "kind must be 'classical'"),
        ("kept", ["task"], "ranking", "there is no task 'ranking'"),
        ("kept", ["task"], "classification", "damaged"),
        ("kept", ["batches"], [], "it names models, but holds no labels"),
        ("kept", ["models"], None, "different models"),
        ("kept", ["metrics"], ["mean_error", "no_metric"], "there is no metric 'no_metric'"),
        ("kept", ["batches", 0, "sigma"], array_out(np.array(np.nan)), "yerr = nan is not finite"),
        ("kept", ["batches", 0, "sigma"], array_out(np.array(-1.0)), "yerr has negative values"),
        ("kept", ["batches", 0, "sigma"], array_out(np.array(0.0)), "yerr has zeros"),
        ("kept", ["batches", 0, "y"], array_out(np.full(10, np.inf)), "y_true contains infinity"),
        ("kept", ["batches", 0, "y"], array_out(np.array([])), "a batch holds no labels"),
        ("each", ["batches", 0, "sigma"], array_out(np.array([0.1])), "different lengths"),
        ("each", ["batches", 0, "weight"], array_out(np.array([1.0, -1.0, 1.0])), "sample_weight has negative values"),
        ("each", ["batches", 0, "models", "model"], array_out(np.array([1.0])), "different lengths"),
        ("classes", ["batches", 0, "q"], array_out(np.array([0.1, 1.5])), r"q has values outside \[0, 1\]"),
        ("classes", ["batches", 0, "q"], array_out(np.array([0.1])), "different lengths"),
        ("classes", ["batches", 0, "y"], array_out(np.array([1, 2])), "classes of different types"),
        ("classes", ["batches", 0, "y", "type"], "<c16", "arrays of type '<c16' are unknown"),
        ("folded", ["folded", "n"], 7, "different numbers of labels"),
        ("folded", ["folded", "n"], 0, "it sums up 0 labels"),
        ("folded", ["folded", "models", "model", "unit"], 10**9, "damaged"),
        ("folded", ["folded", "models"], {}, "different models"),
        ("folded", ["metrics"], ["mean_squared_error"], "its sums are not those of its metrics"),
        ("folded", ["metrics"], ["mean_absolute_error"], "its sums are not those of its metrics"),
        ("folded", ["metrics"], ["r2_score"], "its sums are not those of its metrics"),
        ("folded", ["metrics"], ["reduced_chi_squared"], "its sums are not those of its metrics"),
        ("folded", ["metrics", 1, "options", "tolerance"], 0.25, "its hits are of another tolerance"),
        ("counted", ["metrics"], ["balanced_accuracy_score"], "its counts are not those of its metrics"),
        ("counted", ["metrics"], ["mean_error"], "not both|damaged"),
    ],
)
def test_what_was_changed_is_refused(name, path, value, match):
    data = copy.deepcopy(TEXTS[name])
    sb.Accumulator.from_json(json.dumps(data))
    *way, last = path
    part = data
    for step in way:
        part = part[step]
    part[last] = value
    with pytest.raises(ValueError, match=match):
        sb.Accumulator.from_json(json.dumps(data))


def test_another_version_is_called_one():
    data = TEXTS["kept"] | {"schema": "scorebars/accumulator/99"}
    with pytest.raises(
        ValueError, match=r"saved by another version of scorebars.*accumulator/99.*accumulate the data again"
    ):
        sb.Accumulator.from_json(json.dumps(data))
