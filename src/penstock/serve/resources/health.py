"""`GET /health`: whether the warehouse is well, and what the server is doing; `GET /ready`: whether it can serve.

Both need no token, so they name no table.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.serve.context import Context
from penstock.serve.http.answer import answer
from penstock.serve.http.operation import Operation

OPERATIONS: Final = {
    "/health": Operation(
        "Whether the warehouse is well, with counts of clients and of what they missed.", errors=(503,)
    ),
    "/ready": Operation("Whether requests can be served.", errors=(503,)),
}


def routes(context: Context) -> list[Route]:
    """The routes."""

    async def health(request: Request) -> Response:
        """Whether the warehouse is well."""
        found = await asyncio.to_thread(context.tables.health)
        counts, connections = context.broadcasts.counts, context.connections
        facts = {
            "ok": found.healthy,
            "problems": len(found.problems),
            "stream_tables": found.stream_tables,
            "connections": {"open": connections.open, "most": connections.most, "refused": connections.refused},
            "broadcasts": len(context.broadcasts),
            "dropped_events": counts.dropped_events,
            "cut_off_clients": counts.cut_off_clients,
            "caught_up": counts.caught_up,
        }
        return answer(facts, 200 if found.healthy else 503)

    async def ready(request: Request) -> Response:
        """Whether requests can be served."""
        found = await asyncio.to_thread(context.tables.health)
        able = found.catalog and not context.broadcasts.stopping
        return answer({"ok": able}, 200 if able else 503)

    return [Route("/health", health), Route("/ready", ready)]
