"""Who may ask: the token, the name of the server, the origin of a form; nobody sees the files of another."""

import re

import httpx
import pytest
from web_tables import NUMBERS, csv_bytes

PAGES = ["/", "/calculator", "/file/dataset:pantheon/columns", "/static/page.css", "/nowhere", "/file/nothing/result"]


def test_without_the_token_nothing_is_shown(server):
    for path in [*PAGES[:3], "/index.json", "/file/dataset:pantheon/result.json"]:
        answer = httpx.get(server.address + path)
        assert answer.status_code == 403 and "token" in answer.text, path
        assert httpx.get(f"{server.address}{path}?token=wrong").status_code == 403
    assert httpx.get(server.address + "/static/page.css").status_code == 200


def test_the_token_opens_and_leaves_the_address(server):
    answer = httpx.get(f"{server.address}/calculator?sheet=mse&token={server.token}")
    assert answer.status_code == 303 and answer.headers["location"] == "/calculator?sheet=mse"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and server.token not in cookie
    assert httpx.get(f"{server.address}//evil.example/?token={server.token}").headers["location"].startswith("/evil")
    assert httpx.get(f"{server.address}/index.json?token={server.token}").json()["files"] == []
    assert (
        httpx.get(f"{server.address}/index.json", headers={"authorization": f"token {server.token}"}).status_code == 200
    )


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_of_the_host_is_refused(server, host):
    """A page of another site that points its name at this machine (DNS rebinding)."""
    answer = httpx.get(f"{server.address}/?token={server.token}", headers={"host": host.format(port=server.port)})
    assert answer.status_code in (400, 421)
    assert (
        httpx.get(f"{server.address}/?token={server.token}", headers={"host": f"localhost:{server.port}"}).status_code
        == 303
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://127.0.0.1"}, 403),
        ({"origin": "", "sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"authorization": "token TOKEN"}, 200),
    ],
)
def test_a_form_of_another_site_is_refused(server, visitor, headers, status):
    given = {name: value.replace("TOKEN", server.token) for name, value in headers.items()}
    given["cookie"] = "; ".join(f"{name}={value}" for name, value in visitor.client.cookies.items())
    files = {"file": ("t.csv", csv_bytes(NUMBERS))}
    answer = httpx.post(f"{server.address}/upload", files=files, headers={"accept": "application/json", **given})
    assert answer.status_code == status


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_carries_the_policy(visitor, path):
    answer = visitor.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy and answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.headers["content-type"].startswith("text/html"):
        scripts = re.findall(r"<script(?![^>]*(?:src=|application/json))[^>]*>", answer.text)
        assert scripts == [] and not re.search(r"\son\w+=|style=|https?://", answer.text)


def test_the_result_has_no_script_inside(visitor):
    page = visitor.get("/file/dataset:pantheon/result").text
    assert re.findall(r"<script(?![^>]*(?:src=|application/json))[^>]*>", page) == [] and "<style" not in page
    assert not re.search(r"<[^>]+\sstyle=", page)


def test_nobody_sees_the_files_of_another(server):
    with server.visitor() as one, server.visitor() as other:
        at = one.upload("mine.csv", csv_bytes(NUMBERS))
        assert one.json("/index.json")["files"][0]["name"] == "mine.csv"
        assert other.json("/index.json")["files"] == []
        for page in ("columns.json", "result.json", "compare.json", "plan.json", "export/scores.json", "quick.json"):
            assert (
                "no such file"
                in other.client.get(f"{at}/{page}", headers={"accept": "application/json"}).json()["problem"]
            )
        assert other.client.post(f"{at}/forget").status_code == 404
        assert one.get(f"{at}/columns").status_code == 200
        assert one.client.post(f"{at}/forget").status_code == 303
        assert one.get(f"{at}/columns").status_code == 404


def test_a_forgotten_file_is_gone_from_the_disk(server, visitor):
    before = len(list(server.scratch.path.rglob("mine*")))
    at = visitor.upload("mine.csv", csv_bytes(NUMBERS))
    assert len(list(server.scratch.path.rglob("mine*"))) == before + 1
    visitor.client.post(f"{at}/forget")
    assert len(list(server.scratch.path.rglob("mine*"))) == before
