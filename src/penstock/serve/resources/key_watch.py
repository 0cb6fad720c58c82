"""`GET /tables/{name}/watch/{key}`: the changes of one row, or with `….*` of all rows whose keys begin so, as SSE.

    since_lsn=    events after this position of the stream table; without it, from now on
    limit=100     the most events, 1 to 1,000
    follow=true   go on with new events until the client leaves; the limit applies only if it is given

    event: kv
    data: {"after":…,"before":…,"committed_at":…,"dropped_event_count":0,"key":…,"lsn":…,"op":…}

Without `follow` the body ends with the newest event. With it, comments keep the connection open, and an error that ends
the stream is its last frame. The server drops no event: for a slow client it reads the table's own log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from penstock.changes.wire.canonical_json import canonical_json
from penstock.changes.wire.changes_query import DEFAULT_LIMIT, ChangesQuery
from penstock.changes.wire.key_events import key_events
from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.errors import NoKey, PenstockError
from penstock.serve.context import Context
from penstock.serve.http.operation import TOKEN, Operation, Parameter
from penstock.serve.streams.piece import LARGE_ROWS, rows_of
from penstock.subscribe.key_watch import KeyWatch

LARGEST_LIMIT: Final = 1000
QUIET_SECONDS: Final = 15.0
"""After this time without an event the server sends a comment, so that no proxy closes the connection."""

_PATH: Final = "/tables/{name}/watch/{key:path}"
_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_TYPE: Final = "text/event-stream"
OPERATIONS: Final = {
    "/tables/{name}/watch/{key}": Operation(
        "The changes of one row, or with .* at the end of all rows whose keys begin so, as server-sent events.",
        (
            Parameter("key", "Values of the key columns, joined by dots.", place="path"),
            Parameter("since_lsn", "Events after this position; without it, from now on.", {"type": "integer"}),
            Parameter(
                "limit",
                "The most events to send.",
                {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT, "default": DEFAULT_LIMIT},
            ),
            Parameter("follow", "Go on with what comes.", {"type": "boolean", "default": False}),
            TOKEN,
        ),
        content=_TYPE,
        schema={"type": "string"},
    )
}


def routes(context: Context) -> list[Route]:
    """The watch of a stream table's keys."""

    async def watch(request: Request) -> Response:
        name = context.table(request, in_address=True)
        asked = request.query_params
        query = ChangesQuery.read(asked.get("since_lsn"), asked.get("limit"))
        limit = min(max(query.limit, 1), LARGEST_LIMIT)
        since = query.since_lsn if "since_lsn" in asked else None
        opened = await asyncio.to_thread(context.tables.watch, name, request.path_params["key"], since)
        if asked.get("follow") == "true":
            frames = _following(context, opened, limit if "limit" in asked else None)
            return StreamingResponse(frames, headers=_HEADERS, media_type=_TYPE)
        return Response(await asyncio.to_thread(_up_to_now, opened, limit), headers=_HEADERS, media_type=_TYPE)

    return [Route(_PATH, watch, methods=["GET"])]


def _up_to_now(watch: KeyWatch, limit: int) -> bytes:
    frames: list[bytes] = []
    with watch:
        while len(frames) < limit and (event := watch.try_next()) is not None:
            frames.append(event.sse_frame())
    return b"".join(frames)


async def _following(context: Context, watch: KeyWatch, limit: int | None) -> AsyncIterator[bytes]:
    events = _events(context, watch)
    coming: asyncio.Future[bytes] | None = None
    with watch, context.broadcasts.ending(watch.subscription):
        try:
            while limit is None or limit > 0:
                coming = coming or asyncio.ensure_future(_frame(events))
                done, _ = await asyncio.wait([coming], timeout=QUIET_SECONDS)
                if not done:
                    yield b":\n\n"
                    continue
                frame, coming = coming.result(), None
                if not frame:
                    return
                yield frame
                limit = None if limit is None else limit - 1
        except PenstockError as error:
            yield b"event: error\ndata: " + canonical_json(error.to_json()) + b"\n\n"
        finally:
            if coming is not None:
                coming.cancel()


async def _events(context: Context, watch: KeyWatch) -> AsyncIterator[KvWatchEvent]:
    """Every event at the client's pace; a thread searches large commits, so that the event loop goes on."""
    async for changes in watch.subscription.commits_async():
        # A new definition may have taken the key away.
        if not changes.key:
            raise NoKey(name=watch.stream_table)
        found: Iterable[KvWatchEvent] = key_events(changes, watch.key)
        if rows_of(changes) > LARGE_ROWS:
            found = await asyncio.get_running_loop().run_in_executor(context.broadcasts.threads, list, found)
        for event in found:
            yield event


async def _frame(events: AsyncIterator[KvWatchEvent]) -> bytes:
    """The next event as a frame; empty after the last one."""
    event = await anext(events, None)
    return b"" if event is None else event.sse_frame()
