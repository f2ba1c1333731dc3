"""One server for all tests, and a visitor for each."""

import pytest

from web_server import WebServer

pytest.importorskip("starlette")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with WebServer(within=tmp_path_factory.mktemp("scratch")) as found:
        yield found


@pytest.fixture
def visitor(server):
    with server.visitor() as found:
        yield found
