"""Where results go: standard output, or a file that is there whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from scorebars.cli.console import colour_on, rendered
from scorebars.cli.failures import Failure


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"


_ENDINGS = {".json": Format.json, ".csv": Format.csv, ".tex": Format.latex, ".md": Format.markdown}


def chosen_format(flags: Mapping[Format, bool], output: Path | None) -> Format:
    """The one format that was asked for, or the one that the name of the output file tells."""
    asked = [name for name, on in flags.items() if on]
    if len(asked) > 1:
        raise Failure(f"--{asked[0].value} and --{asked[1].value} exclude each other: choose one.")
    if asked:
        return asked[0]
    return _ENDINGS.get(output.suffix.lower(), Format.table) if output else Format.table


def put(text: str, output: Path | None) -> None:
    """The result to standard output, or to a file in one step."""
    text = text.rstrip("\n") + "\n"
    if output is None:
        # a terminal that cannot show ± gets \xb1 rather than an error
        stream = sys.stdout
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    else:
        replace_file(output, text)


def replace_file(path: Path, text: str) -> None:
    """Write beside the file, then move over it: readers see the old contents or the new, never a part."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as why:
        raise Failure(f"{path} cannot be written: {(why.strerror or str(why)).lower()}.") from why
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


def screen(*parts: Any, output: Path | None, width: int | None = None) -> str:
    """Tables as the terminal shows them; in a file without colour."""
    return rendered(*parts, width=width, colour=output is None and colour_on(sys.stdout))


def as_json(value: Any) -> str:
    """Strict JSON; infinities are the strings "inf" and "-inf"."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for each record; what cannot be had is empty."""
    sink = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sink, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if row.get(name) is None else row[name] for name in names} for row in rows)
    return sink.getvalue()


def as_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


_LATEX = {letter: "\\" + letter for letter in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
}


def as_latex(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    """A booktabs table whose first `texts` columns are left-aligned."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells) + r" \\"

    columns = "l" * texts + "r" * (len(header) - texts)
    body = [line(row) for row in rows]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(header),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
