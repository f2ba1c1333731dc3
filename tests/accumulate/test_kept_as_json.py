"""An accumulator as JSON: every bit comes back, and what was changed on the way is refused."""

import json
from functools import partial

import numpy as np
import pytest

import scorebars as sb

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


KEPT = sb.Accumulator(["mean_squared_error", "mean_error"]).update(Y[:10], Y[:10] + 1, yerr=0.1)
SUMMED = sb.Accumulator(["mean_error", partial(sb.fraction_within, tolerance=0.5)]).update(Y, Y + 1, yerr=0.1)
COUNTED = sb.Accumulator("accuracy_score").update(Y > 0, Y > 0.1, yerr=0.1)


def leaves(data, path=()):
    """The way to every value."""
    if isinstance(data, dict | list):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(part, (*path, key))
    else:
        yield path


@pytest.mark.parametrize("total", [KEPT, SUMMED, COUNTED], ids=["kept", "summed", "counted"])
def test_what_was_changed_is_refused(total):
    text = total.to_json()
    for path in leaves(json.loads(text)["state"]):
        data = json.loads(text)
        part = data["state"]
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = 7 if isinstance(part[path[-1]], str) else "changed"
        with pytest.raises(ValueError, match="this accumulator is damaged: its checksum is not that of its contents"):
            sb.Accumulator.from_json(json.dumps(data))


def test_white_space_and_the_order_of_keys_do_not_matter():
    text = json.dumps(json.loads(SUMMED.to_json()), indent=2, sort_keys=True)
    assert sb.Accumulator.from_json(text).to_json() == SUMMED.to_json()


def test_another_version_is_called_one():
    data = json.loads(KEPT.to_json()) | {"schema": "scorebars/accumulator/99"}
    with pytest.raises(
        ValueError, match=r"saved by another version of scorebars.*accumulator/99.*accumulate the data again"
    ):
        sb.Accumulator.from_json(json.dumps(data))
