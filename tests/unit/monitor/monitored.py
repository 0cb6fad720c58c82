"""What tests of monitoring share: a moment, alerts, refreshes that have ended, and a receiver that really listens."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock.catalog import Action, Alert, AlertEvent, RefreshRecord, RefreshStatus

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
Add = Callable[..., int]


def alert(event: AlertEvent = AlertEvent.LAG_EXCEEDED, at: datetime = NOON, **facts: Any) -> Alert:
    return Alert(event, "default.revenue", at, facts)


def ended(stream_table_id: int, number: int = 1, seconds: float = 2.0, **fields: Any) -> RefreshRecord:
    """A refresh that has ended."""
    return RefreshRecord(
        **{
            "refresh_id": f"{number:032x}",
            "stream_table_id": stream_table_id,
            "name": "default.revenue",
            "action": Action.INCREMENTAL,
            "status": RefreshStatus.COMPLETED,
            "started_at": NOON,
            "ended_at": NOON + timedelta(seconds=seconds),
            **fields,
        }
    )


class Receiver:
    """An HTTP server that keeps what is posted to it; `answers` are the status codes of the next answers, then 200."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.posted: list[Any] = []
        self.tries = 0
        self.headers: list[dict[str, str]] = []
        self.hold = threading.Event()
        self.hold.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.hold.wait(10)
                receiver.tries += 1
                receiver.headers.append(dict(self.headers))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.posted.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *values: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
