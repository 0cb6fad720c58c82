"""`GET /tables`: the stream tables that the client may read, and where their changelogs stand.
`GET /tables/{name}`: one of them, with its columns."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import PenstockError
from penstock.serve.context import Context
from penstock.serve.http.answer import answer
from penstock.serve.http.operation import Operation
from penstock.serve.http.query import Query

OPERATIONS: Final = {
    "/tables": Operation("The stream tables, and the positions of their newest changes."),
    "/tables/{name}": Operation("One stream table, with its columns."),
}


def routes(context: Context) -> list[Route]:
    """The routes."""

    async def tables(request: Request) -> Response:
        """The stream tables."""
        Query(request, ())
        grant = context.access.of(request)
        rows = await asyncio.to_thread(_tables, context)
        return answer({"ok": True, "tables": [row for row in rows if grant.may_read(row["name"])]})

    async def table(request: Request) -> Response:
        """One stream table."""
        Query(request, ())
        return answer({"ok": True, **await asyncio.to_thread(_table, context, context.table(request))})

    return [Route("/tables", tables), Route("/tables/{name}", table)]


def _tables(context: Context) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "status": row.status,
            "data_timestamp": None if row.data_timestamp is None else row.data_timestamp.isoformat(),
            **_newest(context, row.name),
        }
        for row in context.tables.status()
    ]


def _newest(context: Context, name: str) -> dict[str, Any]:
    try:
        newest = context.tables.changelog(name).newest()
    except PenstockError:
        # It was never filled, or its storage is gone; the others are listed all the same.
        return {"lsn": None, "version": None}
    return {"lsn": newest.last_lsn, "version": newest.version}


def _table(context: Context, name: str) -> dict[str, Any]:
    changelog = context.tables.changelog(name)
    newest = changelog.newest()
    columns = [{"name": field.name, "type": str(field.type)} for field in changelog.schema(newest)]
    moment = newest.record.data_timestamp
    return {
        "name": name,
        "lsn": newest.last_lsn,
        "version": newest.version,
        "data_timestamp": None if moment is None else moment.isoformat(),
        "columns": columns,
    }
