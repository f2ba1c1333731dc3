"""An accumulator as JSON: every bit comes back, and what was changed on the way is refused."""

import base64
import contextlib
import json
import time
import warnings
from functools import partial

import numpy as np
import pytest

import scorebars as sb
from scorebars.streaming import accumulator_json

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


# what no labels give --------------------------------------------------------------------------------


def signed(state):
    """The text of a state that someone wrote by hand, with the right checksum."""
    return json.dumps({"schema": accumulator_json._SCHEMA, "sha256": accumulator_json._checksum(state), "state": state})


def array_of(values, kind="<f8"):
    return {"array": [kind, [len(values)], base64.b64encode(np.array(values, kind).tobytes()).decode()]}


def replaced(state, path, value):
    state = json.loads(json.dumps(state))
    part = state
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return state


NASTY = [
    "nan",
    "inf",
    "-inf",
    "-0x1.0p+0",
    "0x1.0p+1000",
    -1,
    0,
    1 << 62,
    10**30,
    True,
    None,
    "",
    "zz",
    [],
    {},
    {"float": 1},
]
FORECAST = sb.Accumulator("crps").update(Y, sb.NormalForecast(Y + 0.1, np.full(N, 0.5)), yerr=0.1)
RANKED = sb.Accumulator(["r2_score", "mean_absolute_error", "reduced_chi_squared"]).update(Y, Y + 0.3, yerr=0.1)
PAIRS = sb.Accumulator("balanced_accuracy_score").update(Y > 0, Y > 0.1, yerr=RNG.uniform(0.01, 0.3, N))
STATES = {"kept": KEPT, "summed": SUMMED, "counted": COUNTED, "forecast": FORECAST, "ranked": RANKED, "pairs": PAIRS}


@pytest.mark.parametrize("name", STATES)
def test_what_no_labels_give_is_refused_or_harmless(name):
    """Every value in turn becomes a nasty one, under a right checksum: either it is refused in the words of from_json, or a
    result comes of it at once."""
    state = json.loads(STATES[name].to_json())["state"]
    paths = list(leaves(state))
    accepted, start = 0, time.perf_counter()
    for k, path in enumerate(paths):
        for nasty in NASTY[k % 4 :: 4]:
            try:
                total = sb.Accumulator.from_json(signed(replaced(state, path, nasty)))
            except ValueError as why:
                assert "no labels give what it holds" in str(why)
                continue
            accepted += 1
            with (
                warnings.catch_warnings(),
                contextlib.suppress(ValueError, OverflowError),
            ):  # a clear error is right, too
                warnings.simplefilter("ignore")
                total.result().to_dict()
    assert accepted < len(paths)
    assert time.perf_counter() - start < 60


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda state: state | {"_waiting": 3}, "the number of labels is not that of the batches"),
        (lambda state: state | {"_models": None}, "labels of no model"),
        (lambda state: state | {"task": "cooking"}, "the task is not known"),
        (lambda state: state | {"_kind": "psychic"}, "the kind of the errors"),
        (lambda state: state | {"metrics": {"list": [{"list": ["os.system", {"dict": []}]}]}}, "os.system"),
        (lambda state: {name: value for name, value in state.items() if name != "_models"}, "_models"),
    ],
)
def test_parts_that_do_not_belong_together(change, why):
    with pytest.raises(ValueError, match=f"was not written by to_json: no labels give what it holds.*{why}"):
        sb.Accumulator.from_json(signed(change(json.loads(KEPT.to_json())["state"])))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda parts: [["members", parts[0][1]], *parts[1:]], "'members'"),
        (lambda parts: parts[1:], "'mean'"),
        (lambda parts: [*parts, [7, 7]], "'int'"),
        (lambda parts: [parts[0], ["_std", array_of([-0.5] * 5)], *parts[2:]], "std has values that are not positive"),
        (lambda parts: [parts[0], ["_std", array_of([0.5] * 4)], *parts[2:]], "std"),
        (lambda parts: [["_mean", array_of([np.nan] * 5)], *parts[1:]], "mean"),
        (lambda parts: [["claims", "nothing"], *parts[:2]], "claims must be"),
    ],
)
def test_forecasts_that_nobody_can_make(change, why):
    total = sb.Accumulator("crps").update(Y[:5], sb.NormalForecast(Y[:5], 0.5), yerr=0.1)
    state = json.loads(total.to_json())["state"]
    ((_, forecast),) = state["_batches"]["list"][0]["ForecastBatch"][1]["dict"]
    name, parts = forecast["forecast"]
    forecast["forecast"] = [name, {"dict": change(parts["dict"])}]
    with pytest.raises(ValueError, match=f"no labels give what it holds.*{why}"):
        sb.Accumulator.from_json(signed(state))


@pytest.mark.parametrize("name", ["ranked", "pairs", "kept"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e300])
def test_arrays_with_impossible_numbers(name, bad):
    """Every array of numbers, the first one changed: NaN in a moment made the search for a quantile go on for ever."""
    state = json.loads(STATES[name].to_json())["state"]
    arrays = [path[:-1] for path in leaves(state) if path[-1] == 2 and path[-2] == "array"]
    assert arrays
    for path in arrays:
        part = state
        for step in path:
            part = part[step]
        if part[0] != "<f8" or not part[2]:
            continue
        values = np.frombuffer(base64.b64decode(part[2]))
        values = np.concatenate([[bad], values[1:]])
        text = base64.b64encode(values.tobytes()).decode()
        start = time.perf_counter()
        if np.isfinite(bad):  # a number of the labels, or one that may have any sign
            with contextlib.suppress(ValueError, OverflowError):
                sb.Accumulator.from_json(signed(replaced(state, (*path, 2), text)))
        else:
            with pytest.raises(ValueError, match="no labels give what it holds"):
                sb.Accumulator.from_json(signed(replaced(state, (*path, 2), text)))
        assert time.perf_counter() - start < 1


def test_bits_that_would_ask_for_all_memory():
    text = RANKED.to_json()
    for bits in (0, -1, 52, 63):
        state = json.loads(text.replace('{"Bins": [47,', f'{{"Bins": [{bits},'))["state"]
        with pytest.raises(ValueError, match="the bins are of no known kind"):
            sb.Accumulator.from_json(signed(state))


def test_deep_nesting_and_what_is_no_text():
    with pytest.raises(ValueError, match="nested too deeply"):
        sb.Accumulator.from_json("[" * 200_000)
    deep = {"float": 1}
    for _ in range(300):
        deep = {"list": [deep]}
    with pytest.raises(ValueError, match="no labels give what it holds"):
        sb.Accumulator.from_json(signed(json.loads(KEPT.to_json())["state"] | {"_waiting": deep}))
    for given in (None, 5, ["text"], KEPT):
        with pytest.raises(TypeError, match=r"from_json takes the text that to_json wrote, not a"):
            sb.Accumulator.from_json(given)
    assert sb.Accumulator.from_json(KEPT.to_json().encode()).n == KEPT.n


def test_one_changed_character_is_never_another_result():
    """The accidents that a checksum is for: any character of the text may be changed."""
    text, rng = KEPT.to_json(), np.random.default_rng(0)
    want = KEPT.result().to_dict()
    for place in rng.integers(0, len(text), 300):
        changed = text[:place] + chr(33 + (ord(text[place]) * 7) % 90) + text[place + 1 :]
        try:
            found = sb.Accumulator.from_json(changed)
        except ValueError:
            continue
        assert found.result().to_dict() == want
