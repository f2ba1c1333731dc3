"""The command line: ``scorebars evaluate FILE`` and its sisters."""

import sys


def main() -> None:
    """Run the command; without typer and rich say what to install."""
    try:
        from scorebars.cli.app import app
    except ImportError as why:
        if (why.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(f"scorebars: the command line needs {why.name}: pip install 'scorebars[cli]'\n")
        sys.exit(3)
    app()
