"""Questions to the library, started, watched and stopped here; other processes answer them: the server never reads a file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scorebars.web.limits import Limits, Refused, in_words
from scorebars.web.scratch import Scratch

ANSWER, QUESTION, PROGRESS = "answer.json", "question.json", "progress"


@dataclass
class Job:
    """One question, its folder, and how it went."""

    name: str
    folder: Path
    started: float = field(default_factory=time.monotonic)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    problem: str = ""
    status: int = 200
    task: asyncio.Task[None] | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def stage(self) -> str:
        """What is being done now, in words."""
        try:
            return (self.folder / PROGRESS).read_text(encoding="utf-8")
        except OSError:
            return "Waiting for a free process"

    def answer(self) -> dict[str, Any]:
        """What was found; what went wrong is raised in words."""
        if not self.problem:
            try:
                found = json.loads((self.folder / ANSWER).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                self.problem, self.status = "The file could not be worked on. Try again, or with a smaller file.", 500
            else:
                if "problem" not in found:
                    return dict(found)
                self.problem, self.status = found["problem"], 422
        raise Refused(self.problem, self.status)

    def remove(self) -> None:
        """Forget the answer."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Jobs:
    """The questions that are being worked on, a few at once."""

    def __init__(self, scratch: Scratch, limits: Limits) -> None:
        self._scratch, self._limits = scratch, limits
        self._free = asyncio.Semaphore(limits.processes)
        self._ended: dict[str, asyncio.Future[int]] = {}
        self._waiting = 0
        self._server: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the process that forks; called again where that one died."""
        async with self._starting:
            if self._server is not None and self._server.returncode is None:
                return
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
            source = str(Path(__file__).parents[2])
            known = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
            environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([source, *known]))
            self._server = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "scorebars.web.fork_server",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment, start_new_session=True,
            )  # fmt: skip
            self._reader = asyncio.create_task(self._read(self._server))

    async def _read(self, server: asyncio.subprocess.Process) -> None:
        assert server.stdout is not None
        while line := await server.stdout.readline():
            said = json.loads(line)
            found = self._ended.pop(said["done"], None)
            if found is not None and not found.done():
                found.set_result(said["signal"])
        for found in self._ended.values():
            if not found.done():
                found.set_result(-1)
        self._ended.clear()

    async def close(self) -> None:
        """Stop everything."""
        for task in list(self._tasks):
            task.cancel()
        if self._server is not None and self._server.stdin is not None:
            self._server.stdin.close()
            try:
                await asyncio.wait_for(self._server.wait(), 5)
            except TimeoutError:
                self._server.kill()
                await self._server.wait()
        if (
            self._reader is not None
        ):  # to the end of what it says: pipes that are left open complain after the loop is closed
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._reader, 5)

    def submit(self, kind: str, question: Mapping[str, Any]) -> Job:
        """Ask a question; its answer comes later."""
        if self._waiting >= self._limits.waiting:
            raise Refused("Too many questions are waiting. Try again in a minute.", 503)
        job = Job(secrets.token_hex(8), self._scratch.new_folder())
        text = json.dumps({"kind": kind, "limits": asdict(self._limits), **question})
        (job.folder / QUESTION).write_text(text, encoding="utf-8")
        job.task = asyncio.create_task(self._run(job))
        self._tasks.add(job.task)
        job.task.add_done_callback(self._tasks.discard)
        return job

    async def _run(self, job: Job) -> None:
        self._waiting += 1
        try:
            async with self._free:
                job.started = time.monotonic()
                ended = await asyncio.wait_for(self._worked(job), self._limits.seconds)
            self._judge(job, ended)
        except TimeoutError:
            await self._send({"stop": job.name})
            job.problem = (
                f"This took longer than the {self._limits.seconds:g} seconds that one question may take, so it was stopped. "
                "Choose fewer models or metrics, or a smaller file."
            )
            job.status = 422
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.shield(self._send({"stop": job.name}))
            job.problem, job.status = job.problem or "This question was stopped.", 409
        except Exception:
            job.problem, job.status = "The worker could not be reached. Try again.", 500
        finally:
            self._waiting -= 1
            job.done.set()

    async def _worked(self, job: Job) -> int:
        await self.start()
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ended[job.name] = ended
        limits = {**asdict(self._limits), "unpacked": self._limits.unpacked}
        await self._send({"start": job.name, "folder": str(job.folder), "limits": limits})
        return await ended

    async def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server is not None and self._server.stdin is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")
        await self._server.stdin.drain()

    def _judge(self, job: Job, ended: int) -> None:
        """Say what it means where a signal ended the process."""
        if ended == 0:
            return
        most = in_words(self._limits.memory)
        reasons = {
            signal.SIGXCPU: f"This took longer than the {self._limits.seconds:g} seconds that one question may take.",
            signal.SIGXFSZ: f"Unpacked, the file is larger than the {in_words(self._limits.unpacked)} that are allowed.",
        }
        job.problem = reasons.get(
            signal.Signals(ended) if ended > 0 else signal.SIGKILL,
            f"The file could not be read within {most} of memory, or is damaged. Try a smaller file, or another format.",
        )
        job.status = 422


async def stop(job: Job) -> None:
    """Stop working on a question."""
    if job.task is not None and not job.done.is_set():
        job.task.cancel()
        await job.done.wait()
