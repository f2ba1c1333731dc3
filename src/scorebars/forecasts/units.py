"""Values that bring a unit, as astropy's quantities do, made plain."""

from __future__ import annotations

from typing import Any


def has_unit(value: Any) -> bool:
    """Whether the values are a quantity with a unit."""
    return getattr(value, "unit", None) is not None and hasattr(value, "to_value")


def in_one_unit(**values: Any) -> tuple[list[Any], Any]:
    """The values as plain numbers in the unit of the first, and that unit; None where there are no units."""
    named = {name: has_unit(value) for name, value in values.items()}
    if not any(named.values()):
        return list(values.values()), None
    without = [name for name, has in named.items() if not has]
    first = next(name for name, has in named.items() if has)
    unit = values[first].unit
    if without:
        raise ValueError(f"{first} is in {unit} but {without[0]} has no unit. Give {without[0]} a unit too.")
    plain = []
    for name, value in values.items():
        try:
            plain.append(value.to_value(unit))
        except Exception:
            raise ValueError(
                f"{name} is in {value.unit}, which cannot be converted to {unit}, the unit of {first}."
            ) from None
    return plain, unit
