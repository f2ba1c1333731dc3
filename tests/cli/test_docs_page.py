"""The commands in docs/command-line.md print what the page shows.

``SCOREBARS_GOLDEN=write`` rewrites the page, as it does the files of test_golden.
"""

import os
import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"```console\n\$ scorebars ([^\n]*)\n(.*?)```", re.DOTALL)


def test_examples(run):
    text = PAGE.read_text(encoding="utf-8")

    def shown(match):
        done = run(*shlex.split(match[1]))
        assert done.exit_code in (0, 1, 2)
        return f"```console\n$ scorebars {match[1]}\n{done.stderr}{done.stdout}```"

    now = BLOCK.sub(shown, text)
    assert now.count("$ scorebars") >= 3
    if os.environ.get("SCOREBARS_GOLDEN") == "write":
        PAGE.write_text(now, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == now


def test_every_command_and_exit_code_is_there():
    from scorebars.cli import output
    from scorebars.cli.app import app

    text = PAGE.read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"`scorebars {command.callback.__name__} " in text or f"`scorebars {command.callback.__name__}`" in text
    codes = {
        0,
        *(
            value
            for name, value in vars(output).items()
            if name.isupper() and name[0] != "_" and isinstance(value, int)
        ),
    }
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes
