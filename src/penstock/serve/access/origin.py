"""Which web pages, and under which names, may reach the server.

A page from elsewhere can make a browser send requests to this host. CORS, off unless switched on, keeps the page from
reading answers; a WebSocket knows no CORS, so its origin is compared here. Without tokens the name in the request must
be one of this host, or any page whose name resolves to 127.0.0.1 could read along.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.errors import PenstockError, RequestRefused
from penstock.serve.access.connections import refuse


def guard_origin(app: ASGIApp, origins: Collection[str], hosts: Collection[str] | None) -> ASGIApp:
    """The app, reached by these origins only; `hosts` None takes every name."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        error = _why_not(scope, origins, hosts) if scope["type"] in ("http", "websocket") else None
        if error is not None:
            await refuse(error, scope, receive, send)
        else:
            await app(scope, receive, send)

    return guarded


def _why_not(scope: Scope, origins: Collection[str], hosts: Collection[str] | None) -> PenstockError | None:
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if hosts is not None and _name(host) not in hosts:
        fix = f"Use one of {', '.join(sorted(hosts))}, or start the server with --tokens."
        return RequestRefused(why=f"it is for {host!r}, which is not a name of this server", fix=fix)
    origin = headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != host and origin not in origins and "*" not in origins
    if scope["type"] == "websocket" and foreign:
        return RequestRefused(why=f"pages of {origin} may not use it", fix=f"Start the server with --cors {origin}.")
    return None


def _name(host: str) -> str:
    """The name without the port: `localhost:8321` → `localhost`, `[::1]:8321` → `::1`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
