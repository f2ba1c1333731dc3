"""Who may ask: those who have the token, from a page of this server, by its own name.

A page of another site could make the browser ask this server. It fails three times: a host name that is not ours (DNS
rebinding), a form or script from another origin, and the missing token; the cookie that stands for the token is never
sent along from other sites.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scorebars.web.sessions import Sessions

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_NO_TOKEN = (
    "This page needs the token that was printed when scorebars was started. Open the address from the terminal, the one that "
    "ends in ?token=..."
)


@dataclass
class Guard:
    """Lets through what comes from our own pages with the token; everything else gets a short refusal."""

    app: ASGIApp
    sessions: Sessions
    hosts: frozenset[str]
    """The names, with port, under which this server is visited."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = "scorebars"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if "fresh" in scope:  # never sent along from pages of other sites
                    headers.append("set-cookie", f"{self.cookie}={scope['fresh']}; HttpOnly; SameSite=Strict; Path=/")
                message["headers"] = headers.raw
            await send(message)

        answer = self._judged(scope)
        await (self.app if answer is None else answer)(scope, receive, sent)

    def _judged(self, scope: Scope) -> Response | None:
        """The refusal, or None for what may pass; then the visitor stands in the scope."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            return _refusal(
                "This server is not known under that name. Use the address that was printed at its start.", 421
            )
        given = self._given_token(scope, headers)
        if scope["method"] not in ("GET", "HEAD") and not self._from_here(headers, host, given):
            return _refusal("This request did not come from a page of this server.", 403)
        if scope["path"].startswith("/static/"):
            return None
        session = self.sessions.find(self._given_cookie(headers))
        if session is None and not given:
            return _refusal(_NO_TOKEN, 403)
        if session is None:
            session = self.sessions.new()
            scope["fresh"] = session.id
        scope["session"] = session
        shown = given and "token=" in scope["query_string"].decode("latin-1")
        if shown and scope["method"] == "GET" and not scope["path"].endswith(".json"):
            return RedirectResponse(_without_token(scope), 303)  # so that the token does not stay in the address bar
        return None

    def _given_token(self, scope: Scope, headers: Headers) -> bool:
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        sent = headers.get("authorization", "").removeprefix("token ")
        return any(secrets.compare_digest(one.encode(), self.token.encode()) for one in (asked, sent))

    def _given_cookie(self, headers: Headers) -> str | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return None if found is None else found.value

    def _from_here(self, headers: Headers, host: str, token: bool) -> bool:
        """Whether a page of ours sent this; a program that is not a browser names no origin, and shows the token."""
        origin = headers.get("origin")
        if origin is not None:
            return origin.lower() == f"http://{host}"
        site = headers.get("sec-fetch-site")
        return site == "same-origin" if site is not None else token


def _without_token(scope: Scope) -> str:
    rest = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1"), True) if pair[0] != "token"]
    path = "/" + scope["path"].lstrip("/\\")
    return path + (f"?{urlencode(rest)}" if rest else "")


def _refusal(text: str, status: int) -> Response:
    return Response(text + "\n", status, media_type="text/plain; charset=utf-8")
