"""Start and end the server: a port of this machine, the token, and a folder that is gone afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.types import ASGIApp

from scorebars.web.guard import Guard
from scorebars.web.jobs import Jobs
from scorebars.web.limits import Limits
from scorebars.web.pages import Pages
from scorebars.web.scratch import Scratch
from scorebars.web.sessions import Sessions


@dataclass(frozen=True)
class Site:
    """Everything that answers requests, and its parts."""

    app: ASGIApp
    guard: Guard
    sessions: Sessions
    jobs: Jobs


def site(scratch: Scratch, limits: Limits, hosts: frozenset[str], cookie: str = "scorebars") -> Site:
    """The application, not yet served."""
    sessions, jobs = Sessions(scratch, limits), Jobs(scratch, limits)
    pages = Pages(sessions, jobs, limits).app()
    guard = Guard(pages, sessions, hosts, cookie=cookie)
    return Site(guard, guard, sessions, jobs)


def hosts_of(host: str, port: int) -> frozenset[str]:
    """The names under which the server may be visited."""
    names = {host, "127.0.0.1", "localhost", "[::1]"} if host in ("127.0.0.1", "localhost", "::1") else {host}
    named = {f"[{name}]" if ":" in name and not name.startswith("[") else name for name in names}
    return frozenset(
        {f"{name.lower()}:{port}" for name in named} | ({name.lower() for name in named} if port == 80 else set())
    )


@contextlib.asynccontextmanager
async def running(site: Site) -> AsyncIterator[Site]:
    """The site with its workers started, which end with it."""
    await site.jobs.start()
    try:
        yield site
    finally:
        await site.jobs.close()


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    limits: Limits | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C or TERM. The address, with its token, is said first; port 0 takes a free one."""
    import uvicorn

    limits = limits or Limits()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening, Scratch() as scratch:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as why:
            raise ValueError(f"port {port} of {host} cannot be used: {(why.strerror or str(why)).lower()}.") from why
        port = listening.getsockname()[1]
        made = site(scratch, limits, hosts_of(host, port), f"scorebars-{port}")
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/?token={made.guard.token}"
        say(address)
        if browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            made.app, log_level="warning", access_log=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=3, timeout_keep_alive=30, lifespan="off", ws="none",
        )  # fmt: skip

        async def until_stopped() -> None:
            async with running(made):
                await uvicorn.Server(config).serve(sockets=[listening])
                with contextlib.suppress(
                    asyncio.CancelledError
                ):  # Ctrl-C, which uvicorn passes on: the workers end first
                    await asyncio.sleep(0)

        with contextlib.suppress(KeyboardInterrupt, SystemExit):  # both are how it is meant to end
            asyncio.run(until_stopped())
