"""The command-line reference: one page for each command, made from the app itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from scorebars.cli.app import app as commands

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _text(found: str | None) -> str:
    """Plain words, as reStructuredText shows them."""
    return re.sub(r"([*|`_\\])", r"\\\1", " ".join((found or "").split()))


def _row(option: Any) -> tuple[str, str]:
    """How an option is written, and what it does."""
    value = option.metavar or option.name.upper()
    if option.param_type_name == "argument":
        return f"``{value}``", _text(option.help)
    value = "" if getattr(option, "is_flag", False) else f" {value}"
    names = [f"``{name}{value}``" for name in (*option.opts, *option.secondary_opts)]
    default = option.default
    if default is None or callable(default) or isinstance(default, bool) or default == ():
        return ", ".join(names), _text(option.help)
    return ", ".join(names), f"{_text(option.help)} Default: ``{default}``."


def page_of(name: str, command: Any) -> str:
    title = f"scorebars {name}"
    arguments = [
        option.metavar or option.name.upper() for option in command.params if option.param_type_name == "argument"
    ]
    lines = [title, "=" * len(title), "", *(line.strip() for line in (command.help or "").splitlines()), ""]
    lines += [".. code-block:: console", "", f"   $ {' '.join([title, '[OPTIONS]', *arguments])}", ""]
    panels: dict[str, list[tuple[str, str]]] = {}
    for option in command.params:
        if not getattr(option, "hidden", False):
            kind = "Arguments" if option.param_type_name == "argument" else "Options"
            panels.setdefault(getattr(option, "rich_help_panel", None) or kind, []).append(_row(option))
    for panel, rows in panels.items():
        lines += [panel, "-" * len(panel), "", ".. list-table::", "   :widths: 35 65", ""]
        for written, does in rows:
            lines += [f"   * - {written}", f"     - {does}"]
        lines += [""]
    return "\n".join(lines)


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "commands"
    folder.mkdir(exist_ok=True)
    group = typer.main.get_command(commands)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        text, file = page_of(name, command), folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in folder.glob("*.rst"):
        if file.stem not in group.commands:  # type: ignore[attr-defined]
            file.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
