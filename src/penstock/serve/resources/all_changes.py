"""`GET /changes`: the changes of all stream tables in one order, page by page.

    since_lsn=0   events after this position
    limit=100     the most events, up to 10,000
    wait=0        seconds to wait for the first event if there is none yet, up to 60

    {"events":[{"collection":…,"kind":…,"lsn":…,"operation":…,"rid":…,"timestamp":…}],"next_lsn":…,"ok":true}

`next_lsn` is the cursor for the next request. It also passes over events of tables that the client may not read. The
server ignores a value that it cannot read. If the next event is gone for ever, the answer is 410, NOT_RETAINED, with
the earliest position that can still be read: ask again with one less as `since_lsn`.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.changes.ring.changes_page import changes_page
from penstock.changes.wire.changes_query import DEFAULT_LIMIT, LARGEST_LIMIT, ChangesQuery
from penstock.serve.context import Context
from penstock.serve.http.operation import Operation, Parameter

STOP_SECONDS: Final = 1.0
"""Within this time a request that waits notices that the server stops."""

PATHS: Final = ("/changes", "/v1/ops/cdc/changes")
_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_OPERATION: Final = Operation(
    "The changes of all stream tables in one order, page by page.",
    (
        Parameter("since_lsn", "Events after this position.", {"type": "integer", "minimum": 0, "default": 0}),
        Parameter(
            "limit",
            "The most events to send.",
            {"type": "integer", "minimum": 0, "maximum": LARGEST_LIMIT, "default": DEFAULT_LIMIT},
        ),
        Parameter("wait", "Seconds to wait if there is none yet.", {"type": "number", "minimum": 0, "default": 0}),
    ),
    errors=(401, 410, 503),
)
OPERATIONS: Final = dict.fromkeys(PATHS, _OPERATION)


def routes(context: Context) -> list[Route]:
    """The page under both its names."""

    async def changes(request: Request) -> Response:
        may_read = context.access.of(request).may_read
        asked = request.query_params
        query = ChangesQuery.read(asked.get("since_lsn"), asked.get("limit"))
        until = time.monotonic() + min(_seconds(asked.get("wait")), context.limits.wait_seconds)
        every = await asyncio.to_thread(context.tables.all_changes)
        page = await asyncio.to_thread(every.page, query.since_lsn, query.limit, may_read)
        while not page.events and query.limit and not context.broadcasts.stopping:
            left = until - time.monotonic()
            if left <= 0:
                break
            if await every.wait_async(page.next_lsn, min(left, STOP_SECONDS)):
                page = await asyncio.to_thread(every.page, page.next_lsn, query.limit, may_read)
        return Response(changes_page(page), headers={"cache-control": "no-store"}, media_type="application/json")

    return [Route(path, changes, methods=["GET"]) for path in PATHS]


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and _SECONDS.fullmatch(text) else 0.0
