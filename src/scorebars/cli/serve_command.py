"""``scorebars serve``: the page for those who do not program."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from scorebars.cli.output import Failure, note, option_under

_limit = option_under("Limits for one visitor")


def serve(
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", metavar="N")] = 8765,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Others than 127.0.0.1 can be reached from the network.", metavar="HOST"
        ),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    max_size: Annotated[float, _limit("Largest upload, in MB.", "MB")] = 200,
    max_rows: Annotated[int, _limit("Most labels.", "N")] = 2_000_000,
    max_columns: Annotated[int, _limit("Most columns.", "N")] = 2_000,
    max_seconds: Annotated[float, _limit("Longest time for one question.", "S")] = 120,
    max_memory: Annotated[float, _limit("Most memory for one question, in GB.", "GB")] = 4,
) -> None:
    """A page on this machine: drop a file, see the numbers, ask "what if". Nothing leaves the machine.

    The first line printed is the address, with a token that lets you in. Ctrl-C ends the server and removes all uploads.
    """
    if not hasattr(os, "fork"):
        raise Failure("scorebars serve needs a system that can fork: Linux, macOS, or Windows with WSL.")
    if not 0 <= port <= 65535:
        raise Failure(f"--port must be between 0 and 65535, got {port}.")
    for option, value in (("size", max_size), ("rows", max_rows), ("columns", max_columns), ("seconds", max_seconds),
                          ("memory", max_memory)):  # fmt: skip
        if value <= 0:
            raise Failure(f"--max-{option} must be above 0, got {value:g}.")
    try:
        from scorebars.web.limits import Limits
        from scorebars.web.server import serve as serve_pages
    except ImportError as why:
        raise ImportError(f"the page needs {why.name}: pip install 'scorebars[web]'") from why
    limits = Limits(
        bytes=int(max_size * (1 << 20)),
        rows=max_rows,
        columns=max_columns,
        seconds=max_seconds,
        memory=int(max_memory * (1 << 30)),
        disk=max(4 << 30, int(4 * max_size * (1 << 20))),
        processes=max(os.cpu_count() or 1, 1),
    )

    def say(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        note(
            "scorebars serves this page until Ctrl-C. Files that you drop stay on this machine and are removed at the end."
        )
        if host not in ("127.0.0.1", "localhost", "::1"):
            note(
                "Others in your network can reach this address. Whoever has the token can use it, and nothing is encrypted."
            )

    serve_pages(host, port, limits, browser, say)
    note("scorebars has stopped; uploads are removed.")
