"""Write src/scorebars/__init__.pyi, the public names for editors and type checkers. Run: python tools/make_stub.py

A metric gives one Score, or a tuple of them for ``multioutput="raw_values"`` and ``average=None``: then it has two
signatures, made from the one that the function has.
"""

import inspect
import re
from pathlib import Path

import scorebars

TARGET = Path(scorebars.__file__).with_name("__init__.pyi")
SEVERAL = {
    "multioutput": (
        'Literal["raw_values"]',
        'Literal["uniform_average", "variance_weighted"] | Sequence[float] | NDArray[Any]',
    ),
    "average": ("None", "str"),
}
"""The arguments that decide, and their types for several scores and for one."""
HOMES = {
    "Any": "typing",
    "Literal": "typing",
    "Sequence": "collections.abc",
    "NDArray": "numpy.typing",
    "ArrayLike": "numpy.typing",
    "LabelErrors": "scorebars.errors.measurement_error",
    "ForecastLike": "scorebars.forecasts.given_forecast",
}


def signatures(name: str) -> list[str]:
    """A metric as one signature, or as two: for several scores, and for one."""
    signature = inspect.signature(getattr(scorebars, name))
    switch = next((key for key in SEVERAL if key in signature.parameters), None)
    if switch is None or _result(name) != "Score | Scores":
        return [f"def {name}({written(list(signature.parameters.values()))}) -> {_result(name)}: ..."]
    given = signature.parameters[switch]
    found = []
    for kind, result in zip(SEVERAL[switch], ("Scores", "Score"), strict=True):
        default = given.default if result == "Score" else given.empty
        parameters = [
            p.replace(annotation=kind, default=default, kind=p.KEYWORD_ONLY) if p.name == switch else p
            for p in signature.parameters.values()
        ]
        parameters.sort(key=lambda p: p.kind)
        found += ["@overload", f"def {name}({written(parameters)}) -> {result}: ..."]
    return found


def written(parameters: list[inspect.Parameter]) -> str:
    """Parameters as source; defaults as dots, which is what a type checker needs to know of them."""
    parts, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(f"{p.name}: {p.annotation}" + ("" if p.default is p.empty else " = ..."))
    return ", ".join(parts)


def stub() -> str:
    """Explicit re-exports of every public name, and the functions with two signatures."""
    lines = [f"from scorebars import {name} as {name}" for name in scorebars._MODULES]
    functions: list[str] = []
    for home, names in sorted(scorebars._HOMES.items()):
        for name in sorted(names):
            if _result(name) in ("Score", "Score | Scores", "ChiSquaredScore") and "yerr" in signature_of(name):
                functions += signatures(name)
            else:
                lines.append(f"from scorebars.{home} import {name} as {name}")
    used = sorted(name for name in HOMES if re.search(rf"\b{name}\b", "\n".join(functions)))
    head = [f"from {HOMES[name]} import {name}" for name in used]
    constants = ["", "__version__: str", "__all__: list[str]", ""]
    return "\n".join(["from typing import overload", *head, "", *lines, *constants, *functions, ""])


def signature_of(name: str) -> str:
    return str(inspect.signature(getattr(scorebars, name)))


def _result(name: str) -> object:
    value = getattr(scorebars, name)
    return inspect.signature(value).return_annotation if inspect.isfunction(value) else None


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
