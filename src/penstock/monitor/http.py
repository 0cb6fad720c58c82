"""A small HTTP server for looking: every path is a function that makes a page when it is asked.

It only reads, knows no user, and listens on this host alone by default.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.arguments import checked

_POLL: Final = 0.05
"""Seconds within which a server that is closed stops."""

_log = logging.getLogger("penstock.monitor")


@dataclass(frozen=True, slots=True)
class Page:
    """One answer."""

    body: bytes
    content_type: str = "application/json; charset=utf-8"
    status: int = HTTPStatus.OK

    @classmethod
    def of(cls, document: Any, status: int = HTTPStatus.OK) -> Page:
        """A JSON document."""
        return cls(json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n", status=status)


Pages = Mapping[str, Callable[[], Page]]


@checked
class Server:
    """A server at work; `close` ends it."""

    def __init__(self, pages: Pages, host: str, port: int) -> None:
        self._server = _Listener((host, port), _handler(pages))
        self.port: int = self._server.server_address[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), name="penstock-http", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Finish what is being answered, and let go of the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(pages: Pages, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Answer from now on; port 0 takes one that is free. `OSError` if the port is taken."""
    return Server(pages, host, port)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    # Answering threads are waited for no longer than a client keeps its connection: it is closed after each answer.
    block_on_close = True


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "penstock"
        sys_version = ""
        timeout = 10

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, with_body: bool) -> None:
            path = urlsplit(self.path).path.rstrip("/") or "/"
            page = _page(pages, path)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if with_body:
                self.wfile.write(page.body)

        def log_message(self, format: str, *values: Any) -> None:
            _log.debug("%s " + format, self.address_string(), *values)

    return Handler


def _page(pages: Pages, path: str) -> Page:
    make = pages.get(path)
    if make is None:
        return Page.of({"error": f"there is no {path}", "paths": sorted(pages)}, HTTPStatus.NOT_FOUND)
    try:
        return make()
    except Exception as error:
        _log.warning("%s failed: %s: %s", path, type(error).__name__, error, extra={"event": "page_failed"})
        return Page.of({"error": f"{type(error).__name__}: {error}"}, HTTPStatus.INTERNAL_SERVER_ERROR)
