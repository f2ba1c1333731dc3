"""Write src/scorebars/__init__.pyi, the public names for editors and type checkers. Run: python tools/make_stub.py"""

from pathlib import Path

import scorebars

TARGET = Path(scorebars.__file__).with_name("__init__.pyi")


def stub() -> str:
    """Explicit re-exports of every public name."""
    lines = [f"from scorebars import {name} as {name}" for name in scorebars._MODULES]
    for home, names in sorted(scorebars._HOMES.items()):
        lines += [f"from scorebars.{home} import {name} as {name}" for name in sorted(names)]
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
