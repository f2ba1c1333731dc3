"""What ends a command early: the exit codes, the one-paragraph error, quiet pipes and Ctrl-C.

======  ==============================================================================
code    meaning
======  ==============================================================================
0       done
1       `check` found something about the label errors that deserves a look
2       the command, a file or its contents cannot be used; the message says what to do
3       a library is missing; the message names what to install
4       an unexpected failure, which is a bug: ``--debug`` shows where
130     stopped with Ctrl-C
141     the reader of the output went away (as ``head`` does)
======  ==============================================================================
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from scorebars.cli.console import note, paragraph

FOUND, BAD_INPUT, MISSING_LIBRARY, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141


class Failure(Exception):
    """Something the user can put right; the text is the whole message."""


class Guard(TyperGroup):
    """The commands, with every failure turned into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        with _terminated_cleanly(), warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _say_warning
            try:
                done = super().invoke(ctx)
                sys.stdout.flush()
                return done
            except BrokenPipeError:
                # Python flushes standard output once more at exit; that has to go somewhere.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(BROKEN_PIPE) from None
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            except (Failure, ValueError, OSError, OverflowError) as why:
                self._end(why, BAD_INPUT, debug, _said(why))
            except ImportError as why:
                self._end(why, MISSING_LIBRARY, debug, str(why))
            except MemoryError as why:
                self._end(why, BAD_INPUT, debug, "there is not enough memory for this file.")
            except Exception as why:
                if hasattr(why, "exit_code"):  # typer's own: a wrong option, --help
                    raise
                kind = type(why).__name__
                text = f"unexpected {kind}: {why}. This is a bug; --debug (before the command) shows where."
                self._end(why, UNEXPECTED, debug, text)

    @staticmethod
    def _end(why: BaseException, code: int, debug: bool, text: str) -> NoReturn:
        if debug:
            raise why
        paragraph(f"scorebars: {text}")
        raise typer.Exit(code) from None


def _said(why: BaseException) -> str:
    if isinstance(why, OSError) and why.strerror and why.filename:
        return f"{why.filename}: {why.strerror.lower()}."
    return str(why)


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"Warning: {message}")


def needs(what: str, extra: str, load: Callable[[], Any]) -> Any:
    """An optional library, or an error that names the extra to install."""
    try:
        return load()
    except ImportError as why:
        raise ImportError(f"{what} needs {extra}: pip install 'scorebars[{extra}]'") from why
