"""The command ``scorebars``: assembles the verbs, each from its own file, and turns every failure into a message."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import scorebars as sb
from scorebars.cli import output
from scorebars.cli.calibrate_command import calibrate
from scorebars.cli.check_command import check
from scorebars.cli.compare_command import compare
from scorebars.cli.datasets_command import datasets
from scorebars.cli.demo_command import demo
from scorebars.cli.evaluate_command import evaluate
from scorebars.cli.explain_command import explain
from scorebars.cli.options import with_options
from scorebars.cli.plan_command import plan
from scorebars.cli.serve_command import serve

_NO_MEMORY = (
    "there is not enough memory to read this file as a whole: add --stream to evaluate, which reads CSV, Parquet and Feather "
    "files in pieces, or name fewer columns with --y and --pred."
)


class Verbs(TyperGroup):
    """The commands, with every failure turned into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        output.stand_in_for_closed_streams()
        with _terminated_cleanly(), warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = lambda message, *_, **__: output.note_warning(str(message))
            try:
                done = super().invoke(ctx)
                sys.stdout.flush()
                return done
            except BrokenPipeError:
                output.write_nowhere(sys.stdout)
                raise typer.Exit(output.BROKEN_PIPE) from None
            except KeyboardInterrupt:
                raise typer.Exit(output.INTERRUPTED) from None
            except OSError as why:
                text = f"{why.filename}: {why.strerror.lower()}." if why.strerror and why.filename else str(why)
                self._end(why, output.BAD_INPUT, debug, text)
            except (output.Failure, ValueError, OverflowError) as why:
                self._end(why, output.BAD_INPUT, debug, str(why))
            except ImportError as why:
                self._end(why, output.MISSING_LIBRARY, debug, str(why))
            except MemoryError as why:
                self._end(why, output.BAD_INPUT, debug, _NO_MEMORY)
            except Exception as why:
                if hasattr(why, "exit_code"):  # typer's own: a wrong option, --help
                    raise
                kind = type(why).__name__
                text = f"unexpected {kind}: {why}. This is a bug; --debug (before the command) shows where."
                self._end(why, output.UNEXPECTED, debug, text)

    @staticmethod
    def _end(why: BaseException, code: int, debug: bool, text: str) -> NoReturn:
        if debug:
            raise why
        output.note(f"scorebars: {text}", style="")
        raise typer.Exit(code) from None


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


app = typer.Typer(
    name="scorebars",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=output.EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"scorebars {sb.__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Scores with error bars: metrics that know how well the labels were measured."""


for verb in (evaluate, compare, check, calibrate, plan, explain, datasets, demo, serve):
    app.command()(with_options(verb))
