"""The server as a process: what it prints, how it ends, and that it leaves nothing behind, whatever ends it."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from web_tables import NUMBERS, csv_bytes

from scorebars.web.scratch import Scratch, remove_left_overs
from web_server import Visitor


class ServeProcess:
    """``scorebars serve`` with a folder for temporary files of its own."""

    def __init__(self, folder, *options):
        environment = {**os.environ, "TMPDIR": str(folder)}
        command = [sys.executable, "-m", "scorebars", "serve", "--port", "0", "--no-browser", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
        )
        self.first = self.process.stdout.readline().strip()
        self.address, _, self.token = self.first.partition("/?token=")

    @contextmanager
    def visitor(self):
        with httpx.Client(base_url=self.address, timeout=60, headers={"origin": self.address}) as client:
            until = time.monotonic() + 30
            while True:
                try:
                    assert client.get(f"/?token={self.token}").status_code == 303
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < until
                    time.sleep(0.1)
            yield Visitor(client)

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(20)
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, said


def gone(process):
    """Whether a process, not a child of ours, has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0] == "Z"
    except OSError:
        return True


def forks_of(process):
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(tmp_path, how):
    served = ServeProcess(tmp_path)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", served.first)
    with served.visitor() as visitor:
        visitor.upload("t.csv", csv_bytes(NUMBERS))
    if how == signal.SIGTERM:
        assert len(uploads_at_once(served, 6, 200)) == 6
    assert len(list(tmp_path.glob("scorebars-serve-*"))) == 1
    workers = forks_of(served.process.pid)
    assert workers
    code, said = served.end(how)
    assert code == 0 and "has stopped; uploads are removed" in said and "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    assert all(map(gone, workers))


def test_what_a_killed_server_leaves_is_removed_at_the_next_start(tmp_path):
    served = ServeProcess(tmp_path)
    with served.visitor() as visitor:
        visitor.upload("secret.csv", csv_bytes(NUMBERS))
    workers = forks_of(served.process.pid)
    served.end(signal.SIGKILL)
    assert list(tmp_path.rglob("secret.csv"))
    other = tmp_path / "scorebars-serve-not-ours"
    other.symlink_to(tmp_path)  # never followed
    with Scratch(tmp_path) as living:
        assert list(tmp_path.rglob("secret.csv")) == [] and other.is_symlink()
        assert remove_left_overs(tmp_path) == [] and living.path.exists()
    until = time.monotonic() + 10
    while not all(map(gone, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert all(map(gone, workers))


def test_a_port_that_is_taken(tmp_path, run_serve):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_serve("--port", str(taken.getsockname()[1]))
    assert done.exit_code == 2 and "cannot be used" in done.stderr
    assert run_serve("--port", "70000").exit_code == 2
    assert "--max-size must be above 0" in run_serve("--max-size", "0").stderr


@pytest.fixture
def run_serve():
    from typer.testing import CliRunner

    from scorebars.cli.app import app

    return lambda *words: CliRunner().invoke(app, ["serve", "--no-browser", *words], prog_name="scorebars")


def table_of(k, rows):
    """A table whose score tells which one it is."""
    y = np.arange(rows) / 7.0
    lines = [f"{value:.6f},0.125,{value + k:.6f}" for value in y]
    return ("y,y_err,pred_a\n" + "\n".join(lines) + "\n").encode()


def uploads_at_once(served, count, rows):
    """Seconds that each visitor waited, from the upload to the result."""

    def visit(k):
        with served.visitor() as visitor:
            start = time.monotonic()
            at = visitor.upload(f"table{k}.csv", table_of(k, rows))
            found = visitor.json(f"{at}/columns.json")
            waited = time.monotonic() - start
            assert found["name"] == f"table{k}.csv"
            result = visitor.json(f"{at}/result.json", {"metric": "mean_error"})
            assert result["scores"][0]["observed"] == pytest.approx(k, abs=1e-5)  # nothing is mixed up
            return waited

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(visit, range(count)))


def resident(process):
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_fifty_uploads_at_once(tmp_path):
    served = ServeProcess(tmp_path)
    try:
        with served.visitor() as first:
            first.json("/calculator.json")  # the workers are ready
        waited = uploads_at_once(served, 50, 37_000)  # 1 MB each
        print(f"p95 {np.quantile(waited, 0.95):.1f} s, largest {max(waited):.1f} s")
        assert np.quantile(waited, 0.95) < 10
    finally:
        served.end(signal.SIGTERM)


@pytest.mark.slow
def test_memory_does_not_grow(tmp_path):
    served = ServeProcess(tmp_path)
    try:
        with served.visitor() as visitor:
            at = visitor.upload("t.csv", csv_bytes(NUMBERS))

            def ask(count):
                for k in range(count):
                    visitor.client.get("/")
                    visitor.json(f"{at}/columns.json", {"y": "y", "pred": "pred_a", "yerr": str(k % 50 + 1)})

            ask(100)
            before = resident(served.process.pid)
            ask(500)  # 1,000 requests
            grown = resident(served.process.pid) - before
        print(f"grown by {grown / 2**20:.1f} MB")
        assert grown < 8 << 20
        assert len(list(tmp_path.glob("scorebars-serve-*/*"))) < 20
    finally:
        served.end(signal.SIGTERM)
