"""Results as JSON, and files that are written whole or not at all, and never over the data."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scorebars._shared.escaping import json_text


def write_text(path: Path, text: str) -> bool:
    """Write a text where `path` leads, and say whether an older file was replaced.

    Links are followed. A regular file is there whole or not at all: readers see the old contents or the new, never a part.
    A pipe, a terminal or /dev/null is written to and stays what it is.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        return False
    older = target.exists()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(target))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return older


def require_apart(output: str | os.PathLike[str] | None, source: str | os.PathLike[str] | None, what: str) -> None:
    """Refuse an output that is the file the data come from, also through links or under another name."""
    if output is None or source is None or not (os.path.exists(output) and os.path.exists(source)):
        return
    inside = [source] if not os.path.isdir(source) else [entry.path for entry in os.scandir(source)]
    for file in inside:
        if os.path.isfile(file) and os.path.samefile(output, file):
            raise ValueError(f"{what} {os.fspath(output)} is the file that the data come from: give another name.")


def _mode_of(path: Path) -> int:
    """The permissions of the file that is replaced, or of a new one."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def as_json(value: Any, indent: int | None = 2, **options: Any) -> str:
    """Strict JSON; infinities are the strings "inf" and "-inf", and NaN is null."""
    return json.dumps(_finite(value), allow_nan=False, indent=indent, **options)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {json_text(str(key)): _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
