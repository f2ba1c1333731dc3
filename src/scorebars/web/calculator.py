"""For those without a file: the paper's formulas from a few numbers, noise floor and ceiling, the plan of a campaign.

Each question is asked of the library on labels made so that they have the numbers given: the same functions, the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

import scorebars as sb
from scorebars._shared.score_views import answers_of, percent
from scorebars.cli.plan_command import alternatives
from scorebars.web.limits import Refused
from scorebars.web.view import as_options, number_in

_MOST_LABELS = 1_000_000
_SHOWN = ("observed", "expected", "truth", "perfect")


def _number(given: Mapping[str, Any], name: str, title: str, low: float = 0.0, high: float = math.inf) -> float:
    text = str(given.get(name) or "").strip().replace(",", ".")
    value = number_in(text, title)
    if not (low <= value <= high) or not math.isfinite(value):
        span = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise Refused(f"{title} must be {span}, got {text}.", 422)
    return value


def _count(given: Mapping[str, Any], least: int = 1) -> int:
    value = _number(given, "m", "The number of labels", least, _MOST_LABELS)
    if value != int(value):
        raise Refused(f"The number of labels must be a whole number, got {value:g}.", 422)
    return int(value)


def _told(score: sb.Score, level: float, code: str) -> dict[str, Any]:
    """The answers of a score as numbers and texts; what the choice of items adds is not known from a few numbers."""
    rows = []
    for name, found in answers_of(score, _SHOWN, level).items():
        text = "cannot be estimated" if found.value is None else found.labels_only
        numbers = {key: getattr(found, key) for key in ("value", "std", "low", "high")}
        rows.append({"name": name, **numbers, "text": text, "between": found.between, "note": found.note})
    share = score.noise_share
    noise = None if share is None else percent(share)
    return {"title": score.declaration.title, "answers": rows, "noise": noise, "code": code, "level": level}


def accuracy(given: Mapping[str, Any]) -> dict[str, Any]:
    """a, q, M: of M labels, each wrong with probability q, a share a agrees with the predictions."""
    count = _count(given)
    share = _number(given, "a", "The accuracy", 0.0, 1.0)
    q = _number(given, "q", "The probability of a wrong label", 0.0, 1.0)
    right = round(share * count)
    labels, predictions = np.ones(count, dtype=int), (np.arange(count) < right).astype(int)
    score = sb.accuracy_score(labels, predictions, yerr=sb.Flip(q))
    code = (
        "import numpy as np\nimport scorebars as sb\n\n"
        f"agree = np.arange({count}) < {right}  # {right} of {count} labels agree\n"
        f"score = sb.accuracy_score(np.ones({count}, dtype=int), agree.astype(int), yerr=sb.Flip({q!r}))\n"
        "print(score.explain())"
    )
    found = _told(score, _level(given), code)
    if abs(right / count - share) > 1e-12:
        found["remark"] = f"Of {count} labels {right} agree: an accuracy of {right / count:.6g}."
    return found


def squared_error(given: Mapping[str, Any]) -> dict[str, Any]:
    """MSE, sigma, M: with one sigma for all labels only the mean of the squared residuals matters, not their sizes."""
    count = _count(given)
    error, sigma = _number(given, "mse", "The mean squared error"), _number(given, "sigma", "The standard error")
    score = sb.mean_squared_error(np.zeros(count), np.full(count, math.sqrt(error)), yerr=sigma)
    code = (
        "import numpy as np\nimport scorebars as sb\n\n"
        f"score = sb.mean_squared_error(np.zeros({count}), np.full({count}, {math.sqrt(error)!r}), yerr={sigma!r})\n"
        "print(score.explain())"
    )
    return _told(score, _level(given), code)


def absolute_error(given: Mapping[str, Any]) -> dict[str, Any]:
    """MAE, sigma, M: here the sizes of the residuals matter, so their shape is asked for."""
    count = _count(given)
    error, sigma = _number(given, "mae", "The mean absolute error"), _number(given, "sigma", "The standard error")
    same = given.get("shape") == "same"
    if same:
        residuals = np.full(count, error)
        made = f"np.full({count}, {error!r})"
    else:
        shape = ndtri((np.arange(count) + 0.5) / count)
        scale = float(np.mean(np.abs(shape))) or 1.0
        residuals = shape * (error / scale)
        made = f"r * {error!r} / np.mean(np.abs(r))"
    score = sb.mean_absolute_error(np.zeros(count), residuals, yerr=sigma)
    drawn = "" if same else f"r = ndtri((np.arange({count}) + 0.5) / {count})  # residuals of a normal shape\n"
    extra = "" if same else "from scipy.special import ndtri\n"
    code = (
        f"import numpy as np\n{extra}import scorebars as sb\n\n{drawn}"
        f"score = sb.mean_absolute_error(np.zeros({count}), {made}, yerr={sigma!r})\nprint(score.explain())"
    )
    return _told(score, _level(given), code)


_BOUNDED = {
    "root_mean_squared_error": "regression",
    "mean_absolute_error": "regression",
    "r2_score": "regression",
    "pearson_correlation": "regression",
    "spearman_correlation": "regression",
    "accuracy_score": "classification",
    "f1_score": "classification",
    "matthews_corrcoef": "classification",
}


def floor_and_ceiling(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a perfect model scores: labels of this spread with this error, or classes wrong with this probability."""
    count = min(_count(given, least=4), 20_000)
    sigma = _number(given, "sigma", "The standard error of a label")
    spread = _number(given, "spread", "The spread of the labels")
    q = _number(given, "q", "The probability of a wrong label", 0.0, 1.0)
    share = _number(given, "share", "The share of class 1", 0.0, 1.0)
    level = _level(given)
    if spread <= 0:
        raise Refused("The spread of the labels must be above 0.", 422)
    shape = ndtri((np.arange(count) + 0.5) / count)
    labels = shape * (spread / float(np.std(shape)))
    classes = (np.arange(count) < round(share * count)).astype(int)
    rows = []
    for name, task in _BOUNDED.items():
        exact, errors = (labels, sigma) if task == "regression" else (classes, sb.Flip(q))
        if len(np.unique(exact)) < 2:
            continue
        score = getattr(sb, name)(exact, exact, yerr=errors)
        row = {"name": name, "title": score.declaration.title, "task": task}
        perfect = answers_of(score, ("perfect",), level)["perfect"]
        if perfect.value is None:
            rows.append({**row, "text": "cannot be estimated", "note": perfect.note})
            continue
        numbers = {key: getattr(perfect, key) for key in ("value", "low", "high")}
        best = "at least" if score.greater_is_better is False else "at most"
        rows.append({**row, **numbers, "text": perfect.labels_only, "between": perfect.between, "best": best})
    return {"rows": rows, "level": level, "n": count}


def plan_alone(given: Mapping[str, Any]) -> dict[str, Any]:
    """A campaign from assumed variances."""
    goal = {
        name: _number(given, name, name.replace("_", " ").capitalize())
        for name in ("power", "cost_label", "cost_repeat")
    }
    goal["level"] = _level(given)
    size = _number(given, "size", "The size of the difference or of the standard error")
    reach = {"std": size} if given.get("goal") == "std" else {"difference": size}
    variances = {
        "sampling_variance": _number(given, "sampling_variance", "The variance between items"),
        "measurement_variance": _number(given, "measurement_variance", "The variance of a single measurement"),
    }
    asked_for: dict[str, Any] = {**reach, **variances, **goal}
    found = sb.plan(**asked_for)
    told = ", ".join(f"{name}={value!r}" for name, value in asked_for.items())
    code = f"import scorebars as sb\n\nprint(sb.plan({told}))"
    command = " ".join(["scorebars plan", *as_options(asked_for)])
    return {**plan_told(found, goal, False), "code": code, "command": command}


def plan_told(found: sb.Plan, goal: Mapping[str, float], raters: bool) -> dict[str, Any]:
    """A plan as numbers, what other numbers of repeats would need, and the curve of power or error over labels."""
    costs = goal.get("cost_label", 1.0), goal.get("cost_repeat", 1.0)
    best = {name: getattr(found, name) for name in ("labels", "repeats", "cost", "power", "goal")}
    rows = alternatives(found, *costs, raters)
    return {"best": best, "alternatives": rows, "curve": _curve(found), "text": str(found)}


def _curve(found: sb.Plan) -> dict[str, Any]:
    """Power, or the standard error reached, for up to twice the labels of the plan; with its repeats, and with one."""
    most = max(2 * found.labels, 10)
    counts = np.unique(np.linspace(max(2, most // 50), most, 49).round().astype(int)).tolist()
    value = found.std_at if found.power is None else found.power_at
    name = "standard error" if found.power is None else "power"
    lines = [
        {"repeats": repeats, "y": [value(count, repeats) for count in counts]} for repeats in sorted({found.repeats, 1})
    ]
    return {"x": counts, "lines": lines, "name": name, "at": found.labels, "repeats": found.repeats}


def _level(given: Mapping[str, Any]) -> float:
    level = _number({"level": given.get("level") or "0.95"}, "level", "The level", 0.0, 1.0)
    if not 0 < level < 1:
        raise Refused("The level must lie strictly between 0 and 1.", 422)
    return level


SHEETS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "accuracy": accuracy,
    "mse": squared_error,
    "mae": absolute_error,
    "floor": floor_and_ceiling,
    "plan": plan_alone,
}
DEFAULTS: dict[str, dict[str, str]] = {
    "accuracy": {"a": "0.9", "q": "0.05", "m": "200", "level": "0.95"},
    "mse": {"mse": "0.25", "sigma": "0.3", "m": "200", "level": "0.95"},
    "mae": {"mae": "0.4", "sigma": "0.3", "m": "200", "shape": "normal", "level": "0.95"},
    "floor": {"sigma": "0.3", "spread": "1", "q": "0.05", "share": "0.5", "m": "200", "level": "0.95"},
    "plan": {
        "goal": "difference", "size": "0.15", "sampling_variance": "2", "measurement_variance": "8", "power": "0.9",
        "cost_label": "1", "cost_repeat": "1", "level": "0.95",
    },
}  # fmt: skip
