"""`GET /tables/{name}/changes`: the events after a position, page by page.

    next_lsn    the position for the next request: the page has every chosen event up to it
    more        True if there is more after it already

An empty page waits up to `wait` seconds for an event. If reading takes too long, the page ends early, possibly before
the first chosen event.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.changes.wire.arrow_stream import batches_to_bytes
from penstock.changes.wire.changes_query import DEFAULT_LIMIT
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import all_rows, refresh_event, row_events
from penstock.serve.context import Context
from penstock.serve.http.answer import encoded
from penstock.serve.http.arrow_schema import MEDIA, changelog_schema
from penstock.serve.http.operation import COLUMNS, SINCE, WHERE, Operation, Parameter
from penstock.serve.http.query import CHOOSING, Query
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.framing import SILENT
from penstock.serve.streams.reader import Reader
from penstock.subscribe.start import Start
from penstock.subscribe.subscription import Subscription

FORMATS: Final = ("json", "debezium", "arrow")
READING_SECONDS: Final = 2.0
"""If reading takes longer, the page ends where the reading has got to, even without an event."""

OPERATIONS: Final = {
    "/tables/{name}/changes": Operation(
        "The events of a stream table after a position.",
        (
            SINCE,
            Parameter(
                "limit",
                "The most events in one page.",
                {"type": "integer", "minimum": 1, "maximum": 10_000, "default": DEFAULT_LIMIT},
            ),
            WHERE,
            COLUMNS,
            Parameter(
                "format",
                "Our own objects, Debezium's envelopes, or an Arrow stream (with next_lsn in Penstock-Next-Lsn).",
                {"type": "string", "enum": list(FORMATS), "default": "json"},
            ),
            Parameter(
                "wait",
                "Seconds that an empty page waits for an event.",
                {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
            ),
        ),
        schema={
            "type": "object",
            "required": ["ok", "table", "events", "next_lsn", "more"],
            "properties": {
                "ok": {"const": True},
                "table": {"type": "string"},
                "events": {"type": "array", "items": {"type": "object"}},
                "next_lsn": {"type": "integer"},
                "more": {"type": "boolean"},
            },
        },
    )
}


@dataclass(frozen=True, slots=True)
class Page:
    """Commits, the last of them possibly cut, and the position after them."""

    commits: Sequence[CommitChanges]
    next_lsn: int
    more: bool


def routes(context: Context) -> list[Route]:
    """The routes."""
    limits = context.limits

    async def changes(request: Request) -> Response:
        """Events after a position."""
        name = context.table(request)
        query = Query(request, ("since_lsn", "limit", *CHOOSING, "format", "wait"))
        since = query.whole("since_lsn", 0, 0, 2**63 - 1)
        limit = query.whole("limit", DEFAULT_LIMIT, 1, limits.page_events)
        wait = query.seconds("wait", limits.wait_seconds)
        form = query.one_of("format", FORMATS, "json")
        choice = Choice(name, SILENT, where=query.text("where"), columns=query.columns())
        loop, threads = asyncio.get_running_loop(), context.broadcasts.threads
        page = await loop.run_in_executor(threads, _page, context, choice, since, limit)
        if not page.commits and not page.more and wait:
            # The end of the page is where the wait begins, so nothing that comes in between is slept through.
            async with await Reader.open(context.broadcasts, choice, Start.after(page.next_lsn)) as reader:
                came = await reader.wait(wait)
            if came and not context.broadcasts.stopping:
                page = await loop.run_in_executor(threads, _page, context, choice, page.next_lsn, limit)
        return await loop.run_in_executor(None, _answer, context, name, choice, page, form)

    return [Route("/tables/{name}/changes", changes)]


def _page(context: Context, choice: Choice, since: int, limit: int) -> Page:
    commits, left, at = list[CommitChanges](), limit, since
    with choice.subscribe(context.tables, Start.after(since)) as subscription, _within(READING_SECONDS, subscription):
        head = subscription.metrics().lag + since
        while left and (commit := subscription.next_commit(0)) is not None:
            if commits and commit.schema != commits[0].schema:
                return Page(commits, at, True)
            given = commit.first(left)
            commits.append(given)
            left -= given.events
            at = given.last_lsn
        # Behind the last event there may be others, which were read and not chosen.
        at = subscription.position if left else at
    return Page(commits, at, at < head)


@contextmanager
def _within(seconds: float, subscription: Subscription) -> Iterator[None]:
    """End the subscription after a time, even while it searches for the first chosen event."""
    timer = threading.Timer(seconds, subscription.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _answer(context: Context, name: str, choice: Choice, page: Page, form: str) -> Response:
    if form == "arrow":
        tables = [commit.arrow() for commit in page.commits]
        if not tables:
            tables = [changelog_schema(context.tables.changelog(name), choice.columns).empty_table()]
        batches = [batch for table in tables for batch in (table.to_batches() or [_nothing(table)])]
        headers = {
            "Cache-Control": "no-store",
            "Penstock-Next-Lsn": str(page.next_lsn),
            "Penstock-More": "true" if page.more else "false",
        }
        return Response(batches_to_bytes(batches), 200, headers, MEDIA)
    events: list[bytes] = []
    for commit in page.commits:
        if commit.refreshed is None:
            events += row_events(commit, "json" if form == "json" else "debezium")[1]
        else:
            events += [refresh_event(commit)] if form == "json" else all_rows(commit, "debezium")
    more = b"true" if page.more else b"false"
    body = b'{"ok":true,"table":%b,"events":[%b],"next_lsn":%d,"more":%b}'
    return encoded(body % (json.dumps(name).encode(), b",".join(events), page.next_lsn, more))


def _nothing(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], table.schema)
