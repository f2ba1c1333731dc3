"""The command line: ``scorebars evaluate FILE`` and its sisters. Without typer and rich it says what to install."""

import sys

__all__ = ["main"]

try:
    from scorebars.cli.app import app as main
except ImportError as why:
    library = why.name or ""
    if library.split(".")[0] not in ("typer", "rich"):
        raise

    def main() -> None:  # type: ignore[misc]
        """Say which library is missing."""
        sys.stderr.write(f"scorebars: the command line needs {library}: pip install 'scorebars[cli]'\n")
        sys.exit(3)
