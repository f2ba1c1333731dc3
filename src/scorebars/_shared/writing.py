"""Results as JSON and as files that are there whole or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def replace_file(path: Path, text: str) -> None:
    """Write beside the file, then move over it: readers see the old contents or the new, never a part."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """The permissions of the file that is replaced, or those that a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def as_json(value: Any, indent: int | None = 2, **options: Any) -> str:
    """Strict JSON; infinities are the strings "inf" and "-inf"."""
    return json.dumps(_finite(value), allow_nan=False, indent=indent, **options)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value
