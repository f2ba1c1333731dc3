"""Sums of separate data (batches, files, workers) become the sums of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from scorebars.engines.chunks import exact_sum
from scorebars.engines.extremes import Powers, choose_powers, power_above
from scorebars.engines.names import LARGEST, SUMS
from scorebars.engines.sums import NormalSums


def merge(parts: Iterable[NormalSums]) -> NormalSums:
    """The sums over all data of `parts`, whatever their scales and label references.

    A sum that one part lacks (it was not asked for there) is NaN in the whole. Parts with different
    tolerances cannot be merged.
    """
    parts = list(parts)
    if not parts:
        raise ValueError("there is nothing to merge")
    if len({part.tolerance for part in parts if not math.isnan(part.tolerance)}) > 1:
        raise ValueError("sums with different tolerances cannot be merged")
    tolerance, y_shift = (
        math.nan if any(map(math.isnan, values)) else values[0]
        for values in ([part.tolerance for part in parts], [part.y_shift for part in parts])
    )
    powers = _common_powers(parts)
    aligned = [_about(y_shift, _in_units(powers, part), part.y_shift, powers) for part in parts]
    numbers = {name: exact_sum(part[name] for part in aligned) for name in SUMS}
    numbers |= {name: max(part[name] for part in aligned) for name in LARGEST}
    if math.isnan(y_shift):
        numbers["max_abs_y"] = math.nan
    return NormalSums(
        n=sum(part.n for part in parts),
        **numbers,
        tolerance=tolerance,
        y_shift=y_shift,
        scale=math.ldexp(1.0, powers.label),
        weight_scale=math.ldexp(1.0, powers.weight),
    )


def _powers_of(part: NormalSums) -> Powers:
    return Powers(math.frexp(part.scale)[1] - 1, math.frexp(part.weight_scale)[1] - 1)


def _common_powers(parts: list[NormalSums]) -> Powers:
    """The powers that one pass over all data would have chosen, give or take the new reference."""
    largest = {
        name: max(
            power_above(getattr(part, name)) + units.label * own.label + units.weight * own.weight
            for part, own in ((part, _powers_of(part)) for part in parts)
        )
        for name, units in LARGEST.items()
    }
    way = max(abs(part.y_shift / 4 - parts[0].y_shift / 4) for part in parts)  # between the references
    labels = largest["max_abs_d"], largest["max_sigma"], max(largest["max_abs_y"], power_above(way) + 2)
    return choose_powers(labels, largest["max_weight"])


def _in_units(powers: Powers, part: NormalSums) -> dict[str, float]:
    """The part's numbers as if its data had been divided by these powers of two."""
    own = _powers_of(part)
    up, weight_up = own.label - powers.label, own.weight - powers.weight
    return {
        name: math.ldexp(getattr(part, name), units.label * up + units.weight * weight_up)
        for name, units in (SUMS | LARGEST).items()
    }


def _about(y_shift: float, part: dict[str, float], own_shift: float, powers: Powers) -> dict[str, float]:
    """The label sums about another reference: c becomes c + move."""
    if own_shift == y_shift or math.isnan(y_shift):
        return part
    move = math.ldexp(own_shift, -powers.label) - math.ldexp(y_shift, -powers.label)
    return part | {
        "y1": part["y1"] + move * part["w"],
        "y2": part["y2"] + move * (2.0 * part["y1"] + move * part["w"]),
        "y_var_w2": part["y_var_w2"] + move * part["var_w2"],
        "y2_var_w2": part["y2_var_w2"] + move * (2.0 * part["y_var_w2"] + move * part["var_w2"]),
        "y_d_var_w2": part["y_d_var_w2"] + move * part["d_var_w2"],
        "max_abs_y": part["max_abs_y"] + abs(move),
    }
