"""The page, served in this process on a free port of this machine, and visitors who ask it."""

import asyncio
import contextlib
import socket
import tempfile
import threading
import time

import httpx
import uvicorn

from scorebars.web.limits import Limits
from scorebars.web.scratch import Scratch
from scorebars.web.server import hosts_of, running, site


class WebServer:
    """A server in a thread."""

    def __init__(self, limits=None, within=None):
        self.scratch = Scratch(within or tempfile.gettempdir())
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.site = site(self.scratch, limits or Limits(), hosts_of("127.0.0.1", self.port), f"scorebars-{self.port}")
        self.address = f"http://127.0.0.1:{self.port}"
        self.token = self.site.guard.token
        config = uvicorn.Config(self.site.app, log_level="warning", access_log=False, lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        async def main():
            async with running(self.site):
                await self._server.serve(sockets=[self._listening])

        asyncio.run(main())

    def __enter__(self):
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.02)
        assert self._server.started
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(20)
        self.scratch.close()
        self._listening.close()

    @contextlib.contextmanager
    def visitor(self):
        """Someone with the token, and a session of their own."""
        with httpx.Client(base_url=self.address, timeout=90, headers={"origin": self.address}) as client:
            assert client.get(f"/?token={self.token}").status_code == 303
            yield Visitor(client)


class Visitor:
    def __init__(self, client):
        self.client = client

    def get(self, path, params=None):
        """The page, once it is there."""
        while (answer := self.client.get(path, params=params)).status_code == 202:
            time.sleep(0.2)
        return answer

    def json(self, path, params=None):
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text[:500]
        return answer.json()

    def problem(self, path, params=None):
        """What is said of a question that cannot be answered."""
        answer = self.client.get(path, params=params)
        assert answer.status_code in (400, 404, 413, 422), (answer.status_code, answer.text[:300])
        return answer.json()["problem"]

    def send(self, name, content, path="/upload"):
        return self.client.post(path, files={"file": (name, content)}, headers={"accept": "application/json"})

    def upload(self, name, content):
        """The address of an upload."""
        answer = self.send(name, content)
        assert answer.status_code == 200, answer.text[:300]
        return f"/file/{answer.json()['id']}"
