"""`GET /tables/{name}/arrow`: the changelog as one Arrow IPC stream, for programs that work in columns.

It has the columns `_lsn`, `_op` and `_weight`, then those of the table, and goes from a position up to what is there
at the time of the request, or holds all rows as they are. The header Penstock-Next-Lsn has the position where it ends.
If a new definition changed the columns, the stream ends before that, because it has one schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from penstock.engine.changelog.changelog import Changelog
from penstock.errors import InvalidValue
from penstock.serve.context import Context
from penstock.serve.http.arrow_schema import MEDIA, changelog_schema
from penstock.serve.http.operation import COLUMNS, START, WHERE, Operation
from penstock.serve.http.query import CHOOSING, STARTING, Query
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.framing import SILENT
from penstock.subscribe.start import Start
from penstock.subscribe.subscription import Subscription

OPERATIONS: Final = {
    "/tables/{name}/arrow": Operation(
        "The changelog of a stream table, or all its rows, as an Arrow IPC stream.",
        (*START, WHERE, COLUMNS),
        content=MEDIA,
        schema={"type": "string", "format": "binary"},
    )
}


def routes(context: Context) -> list[Route]:
    """The routes."""

    async def arrow(request: Request) -> Response:
        """The changelog as an Arrow stream."""
        name = context.table(request)
        query = Query(request, (*STARTING, *CHOOSING))
        start = query.start()
        if start.kind == "now":
            raise InvalidValue(what="start", value="now", allowed="snapshot, or since_lsn, version or timestamp")
        choice = Choice(name, SILENT, where=query.text("where"), columns=query.columns())
        changelog = context.tables.changelog(name)
        loop, threads = asyncio.get_running_loop(), context.broadcasts.threads
        subscription = await loop.run_in_executor(threads, lambda: choice.subscribe(context.tables, start))
        try:
            end = await loop.run_in_executor(threads, _end, changelog, start, subscription.position)
        except BaseException:
            subscription.cancel()
            raise
        return _Stream(subscription, changelog, choice, end)

    return [Route("/tables/{name}/arrow", arrow)]


class _Stream(StreamingResponse):
    """The stream; its subscription ends with it, wherever the client leaves."""

    def __init__(self, subscription: Subscription, changelog: Changelog, choice: Choice, end: int) -> None:
        headers = {"Cache-Control": "no-store", "Penstock-Next-Lsn": str(end)}
        super().__init__(_parts(subscription, changelog, choice, end), headers=headers, media_type=MEDIA)
        self._subscription = subscription

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._subscription:
            await super().__call__(scope, receive, send)


def _end(changelog: Changelog, start: Start, since: int) -> int:
    """The last position with the columns that the stream begins with."""
    if start.kind == "snapshot":
        return since
    entries = changelog.after_lsn(since)
    reached = since
    schema: pa.Schema | None = None
    for entry in entries:
        # Only a new definition brings other columns.
        if schema is None or entry.record.properties is not None:
            held = changelog.schema(entry)
            if schema is not None and held != schema:
                return reached
            schema = held
        reached = entry.last_lsn
    return reached


def _parts(subscription: Subscription, changelog: Changelog, choice: Choice, end: int) -> Iterator[bytes]:
    """The stream, a commit at a time."""
    sink = _Taken()
    rows = _next_rows(subscription, end)
    schema = changelog_schema(changelog, choice.columns) if rows is None else rows.schema
    with pa.ipc.new_stream(sink, schema) as writer:
        while rows is not None:
            writer.write_table(rows.combine_chunks())
            yield sink.taken()
            rows = _next_rows(subscription, end)
    yield sink.taken()


def _next_rows(subscription: Subscription, end: int) -> pa.Table | None:
    commit = subscription.next_commit(0)
    return None if commit is None or commit.last_lsn > end else commit.arrow()


class _Taken:
    """A file whose bytes are taken away as they come."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def flush(self) -> None:
        """Nothing is held back."""

    def writable(self) -> bool:
        """True: pyarrow asks."""
        return True

    def close(self) -> None:
        """There is nothing to let go of."""
        self.closed = True
