"""Counts clients, and refuses those beyond the limit and requests that are too large."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import PenstockError, RequestTooLarge, TooManyClients
from penstock.serve.http.answer import refusal
from penstock.serve.limits import Limits


class Connections:
    """The requests and streams that are being served, and the app in front of which they are counted."""

    def __init__(self, limits: Limits) -> None:
        self.open = 0
        self.most = 0
        self.refused = 0
        self._limits = limits

    def around(self, app: ASGIApp) -> ASGIApp:
        """The app behind the limits."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket"):
                await app(scope, receive, send)
                return
            error = self._why_not(scope)
            if error is not None:
                self.refused += 1
                await refuse(error, scope, receive, send)
                return
            self.open += 1
            self.most = max(self.most, self.open)
            try:
                await app(scope, receive, send)
            finally:
                self.open -= 1

        return guarded

    def _why_not(self, scope: Scope) -> PenstockError | None:
        if self.open >= self._limits.connections:
            return TooManyClients(limit=self._limits.connections)
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value[:20]) > self._limits.request_bytes:
                return RequestTooLarge(size=value.decode(), limit=self._limits.request_bytes)
        return None


async def refuse(error: PenstockError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the error, also where a WebSocket was asked for."""
    if scope["type"] == "websocket":
        # The handshake is read first; before that the server does not take an answer.
        message: Message = await receive()
        assert message["type"] == "websocket.connect"
    await refusal(error)(scope, receive, send)
