"""Numbers and words: as many digits as the error allows."""

from __future__ import annotations

import math


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


def percent(share: float) -> str:
    """A share in per cent; of a score near zero the label error is a huge share, which says nothing more."""
    return f"{share * 100:.1f} %" if share < 10 else "> 999 %"


def counted(number: int, what: str) -> str:
    """``1 label``, ``12 labels``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def left_out(rows: int) -> str:
    """What to say of rows that miss a value.

    >>> left_out(1)
    '1 row with missing values was left out'
    """
    return f"{rows} row{' with missing values was' if rows == 1 else 's with missing values were'} left out"


def shortened(text: str, longest: int) -> str:
    """The text, cut where it is too long to show.

    >>> shortened("uranium-238", 8)
    'uranium…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"
