"""The process that forks a process for each question: started once with all libraries loaded, so that a fork is ready at once.

It reads lines of JSON, ``{"start": id, "folder": ..., "limits": ...}`` or ``{"stop": id}``, and writes a line
``{"done": id, "signal": 0}`` for each process that ended. When its standard input closes, because the server ended in
whatever way, it ends all of its processes and itself. A process works in its own folder and with limits on memory, time
and the size of files, so that no file can harm the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn


def main() -> None:
    """Serve until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the server, which closes our input
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from scorebars.web import work

    work.warm_up()
    running: dict[int, str] = {}
    rest = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.01 if running else None)
        if ready:
            read = os.read(0, 1 << 16)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                _obey(json.loads(line), running)
        _reap(running)
    for process in running:
        _kill(process)


def _obey(said: dict[str, Any], running: dict[int, str]) -> None:
    if "stop" in said:
        for process, name in running.items():
            if name == said["stop"]:
                _kill(process)
        return
    process = os.fork()
    if process == 0:
        _work(Path(said["folder"]), said["limits"])
    running[process] = said["start"]


def _reap(running: dict[int, str]) -> None:
    while running:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return
        ended = -os.waitstatus_to_exitcode(status)  # below 0 where it could not even write an answer
        line = json.dumps({"done": running.pop(process), "signal": ended}) + "\n"
        os.write(1, line.encode())


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _work(folder: Path, limits: dict[str, Any]) -> NoReturn:
    """Answer one question, in a process of its own that never returns."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.environ["TMPDIR"] = str(folder)
        os.chdir(folder)
        _limit(limits)
        from scorebars.web import work

        work.answer(folder)
        code = 0
    finally:
        os._exit(code)


def _limit(limits: dict[str, Any]) -> None:
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
    )
    for what, most in (
        (resource.RLIMIT_AS, used + limits["memory"]),
        (resource.RLIMIT_CPU, max(int(limits["seconds"]), 1) + 1),
        (resource.RLIMIT_FSIZE, limits["unpacked"]),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # a system that knows no such limit
            resource.setrlimit(what, (wanted, wanted))


if __name__ == "__main__":
    main()
