"""The command-line reference: one page for each command, made from the app itself."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.testing import CliRunner

from scorebars.cli.app import app as commands

if TYPE_CHECKING:
    from sphinx.application import Sphinx


EXAMPLES = {
    "calibrate": "dataset:blackholes --pred pred_Msigma --std prederr_Msigma --model none --id none -q",
    "check": "dataset:nuclear_masses --pred pred_WS3_RBF -q",
    "compare": "dataset:nuclear_masses --pred pred_HFB24 --pred pred_HFB26 --sampling -q",
    "datasets": "",
    "demo": "",
    "evaluate": "dataset:nuclear_masses -m rmse --pred pred_DZ28 -q",
    "explain": "rmse",
    "plan": "dataset:nuclear_masses --pred pred_HFB24 --pred pred_HFB26 --difference 0.02 -q",
    "serve": None,
}
"""What follows each command in its example, which is run; None: it is not, since the command waits for a browser."""


def example_of(name: str) -> list[str]:
    """An example, and what it prints."""
    given = EXAMPLES[name]
    lines = [
        "Example",
        "-------",
        "",
        ".. code-block:: console",
        "",
        f"   $ {' '.join(['scorebars', name, given or '']).strip()}",
    ]
    if given is not None:
        done = CliRunner().invoke(commands, [name, *shlex.split(given)], env={"COLUMNS": "90", "TERM": "dumb"})
        lines += [f"   {line}".rstrip() for line in done.stdout.rstrip().splitlines()]
    return [*lines, ""]


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
    lines += example_of(name)
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
