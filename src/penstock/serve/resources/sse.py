"""`GET /tables/{name}/stream`: a stream table's changes as server-sent events, which browsers read by themselves.

    event: change       one event of the changelog
    event: snapshot     a part of all rows: "first" makes everything before it void, "last" completes them
    event: watermark    the table stands for this moment, and every event up to this position was sent
    event: dropped      how many events the server left out (only with policy=drop_oldest)
    event: error        the stream ends, and why
    event: close        the server stops; connect again

`id` is the LSN. A browser that connects again sends it as Last-Event-ID, and the stream goes on without a gap or a
repeat. The first event is a watermark, so even a client that received no change has an id. Of the parts of a snapshot
only the last has one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from penstock.changes.wire.event_json import FORMS
from penstock.errors import PenstockError, ServerStopping
from penstock.serve.context import Context
from penstock.serve.http.answer import error_json
from penstock.serve.http.operation import COLUMNS, FORMAT, POLICY, START, TOKEN, WHERE, Operation, Parameter
from penstock.serve.http.query import CHOOSING, STARTING, Query
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.reader import SLOW_POLICIES, Reader

RETRY_MS: Final = 1000
"""How long a browser waits before it connects again."""

MEDIA: Final = "text/event-stream"
HEADERS: Final = {
    "Cache-Control": "no-store",
    # Proxies of the nginx kind hold a stream back otherwise.
    "X-Accel-Buffering": "no",
}
OPERATIONS: Final = {
    "/tables/{name}/stream": Operation(
        "The changes of a stream table as server-sent events.",
        (
            *START,
            WHERE,
            COLUMNS,
            FORMAT,
            POLICY,
            TOKEN,
            Parameter("Last-Event-ID", "Begin after this position; browsers send it by themselves.", place="header"),
        ),
        content=MEDIA,
        schema={"type": "string"},
    )
}


class Sse:
    """Server-sent events."""

    name = "sse"

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        """One event each."""
        return b"".join(
            [b"event: change\nid: %d\ndata: %b\n\n" % each for each in zip(lsns, bodies, strict=True)],
        )

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        """One part."""
        place = b"id: %d\n" % lsn if last else b""
        head = _compact({"lsn": lsn, "first": first, "last": last})[:-1].encode()
        return b'event: snapshot\n%bdata: %b,"rows":[%b]}\n\n' % (place, head, b",".join(rows))

    def watermark(self, lsn: int, ts_ms: int | None) -> bytes:
        """A moment."""
        return event("watermark", {"lsn": lsn, "ts_ms": ts_ms}, lsn)

    def heartbeat(self, lsn: int) -> bytes:
        """A comment, which clients pass over."""
        return b": heartbeat\n\n"


SSE: Final = Sse()


def event(kind: str, value: Any, lsn: int | None = None) -> bytes:
    """One event; without a position the client keeps the one it has."""
    place = "" if lsn is None else f"id: {lsn}\n"
    return f"event: {kind}\n{place}data: {_compact(value)}\n\n".encode()


def routes(context: Context) -> list[Route]:
    """The routes."""

    async def stream(request: Request) -> Response:
        """Changes as server-sent events."""
        name = context.table(request, in_address=True)
        query = Query(request, (*STARTING, *CHOOSING, "format", "policy"))
        start = query.start(request.headers.get("last-event-id"))
        choice = Choice(name, SSE, query.one_of("format", FORMS, "json"), query.text("where"), query.columns())
        policy = query.one_of("policy", SLOW_POLICIES, "block")
        if request.method == "HEAD":
            return Response(headers=HEADERS, media_type=MEDIA)
        return _Stream(await Reader.open(context.broadcasts, choice, start, policy))

    return [Route("/tables/{name}/stream", stream)]


class _Stream(StreamingResponse):
    """A reader's events until the client or the server ends the stream."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(_frames(reader), headers=HEADERS, media_type=MEDIA)
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._reader:
            await super().__call__(scope, receive, send)


async def _frames(reader: Reader) -> AsyncIterator[bytes]:
    hello = b"retry: %d\n\n" % RETRY_MS
    yield hello + (SSE.watermark(reader.position, reader.moment) if reader.is_live else b"")
    dropped = 0
    try:
        async for pieces in reader.pieces():
            if reader.dropped > dropped:
                yield event("dropped", {"events": reader.dropped - dropped, "total": reader.dropped})
                dropped = reader.dropped
            yield pieces[0].data if len(pieces) == 1 else b"".join([piece.data for piece in pieces])
            for piece in pieces:
                reader.note(piece)
    except ServerStopping:
        yield event("close", {"lsn": reader.sent, "reason": "the server stops"})
    except PenstockError as error:
        yield event("error", {"lsn": reader.sent, **error_json(error)})


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
