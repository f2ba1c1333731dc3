"""Scores as plain text: as many digits as the error allows."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorebars.score import Score


def decimals_for(std: float) -> int | None:
    """Decimal places at which two significant digits of `std` end; None where `std` sets no limit."""
    if not math.isfinite(std) or std <= 0:
        return None
    return 1 - int(f"{std:.1e}".split("e")[1])  # formatting rounds 0.0996 to 1.0e-01


def with_error(value: float, std: float) -> str:
    """``value ± std`` with two significant digits of std, the value to the same place.

    >>> with_error(0.581123, 0.001234)
    '0.5811 ± 0.0012'
    >>> with_error(123456.7, 890.1)
    '123460 ± 890'
    >>> with_error(3.2e-12, 4.5e-14)
    '(3.200 ± 0.045)e-12'
    >>> with_error(0.25, 0.0)
    '0.25'
    """
    places = decimals_for(std)
    if places is None or not math.isfinite(value):
        return f"{value:.6g}" if std == 0 else f"{value:.6g} ± {std:.2g}"
    power = math.floor(math.log10(max(abs(value), std)))
    digits = max(places + power, 0)
    if digits > 14:  # the error is below what a double resolves
        return f"{value:.15g} ± {std:.2g}"
    if -4 <= power < 7:
        return f"{round(value, places):.{max(places, 0)}f} ± {round(std, places):.{max(places, 0)}f}"
    scaled_value, scaled_std = _times_power_of_ten(value, -power), _times_power_of_ten(std, -power)
    return f"({scaled_value:.{digits}f} ± {scaled_std:.{digits}f})e{power:+03d}"


def rounded(value: float, std: float) -> str:
    """`value` alone, to the place where its error allows it.

    >>> rounded(0.581123, 0.001234), rounded(3.2e-12, 4.5e-14), rounded(0.25, 0.0)
    ('0.5811', '3.200e-12', '0.25')
    """
    shown = with_error(value, std)
    head, _, tail = shown.partition(" ± ")
    return head[1:] + tail[tail.index(")") + 1 :] if shown.startswith("(") else head


def _times_power_of_ten(value: float, power: int) -> float:
    half = power // 2
    return value * 10.0**half * 10.0 ** (power - half)


def number(value: float | None, digits: int = 4) -> str:
    """A number that has no error of its own."""
    return "-" if value is None else f"{value:.{digits}g}"


def left_out(rows: int) -> str:
    """What to say of rows that miss a value.

    >>> left_out(1)
    '1 row with missing values was left out'
    """
    return f"{rows} row{' with missing values was' if rows == 1 else 's with missing values were'} left out"


def answer(score: Score, name: str) -> Any:
    """One answer of a score, or None where it cannot be had."""
    try:
        found = getattr(score, name)
        return found() if callable(found) else found
    except ValueError:
        return None


def flat(score: Score) -> dict[str, float | int | str | None]:
    """All answers under flat names, plain floats, for loggers and JSON."""
    interval = answer(score, "interval") or (None, None)
    out: dict[str, float | int | str | None] = {
        "name": score.name,
        "n": score.n,
        "observed": score.observed,
        "expected": score.expected,
        "correction": score.correction,
        "std": score.std,
        "interval_low": interval[0],
        "interval_high": interval[1],
    }
    for name in ("truth", "remeasured", "perfect"):
        estimate = answer(score, name)
        ends = estimate.interval() if estimate is not None else (None, None)
        out[name] = None if estimate is None else float(estimate)
        out[f"{name}_std"] = None if estimate is None else estimate.std
        out[f"{name}_low"], out[f"{name}_high"] = ends
    out["noise_share"] = answer(score, "noise_share")
    out["sampling_std"] = answer(score, "sampling_std")
    out["method"] = score.method
    return out


def for_trackers(score: Score, *names: str) -> dict[str, float]:
    """The finite numbers of `flat` as ``name/answer``, in the letters that experiment trackers allow."""
    prefix = "/".join(re.sub(r"[^\w\-. ]", "_", name, flags=re.ASCII) for name in names)
    numbers = {key: value for key, value in flat(score).items() if isinstance(value, float | int)}
    return {f"{prefix}/{key}": float(value) for key, value in numbers.items() if math.isfinite(value)}
