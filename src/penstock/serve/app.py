"""The app: all routes behind the guards, errors as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from penstock.errors import PenstockError
from penstock.serve.access.origin import guard_origin
from penstock.serve.context import Context
from penstock.serve.http.answer import on_error
from penstock.serve.http.operation import Operation
from penstock.serve.resources import (
    all_changes,
    arrow,
    health,
    key_watch,
    openapi,
    sse,
    table_changes,
    tables,
    websocket,
)

RESOURCES: Final = (tables, table_changes, sse, websocket, arrow, key_watch, all_changes, health)
"""Modules with `routes(context)`, and `OPERATIONS` for the API document."""


def all_routes(context: Context) -> list[BaseRoute]:
    """Every route there is."""
    made: list[BaseRoute] = [route for module in RESOURCES for route in module.routes(context)]
    operations: dict[str, Operation] = {}
    for module in RESOURCES:
        operations.update(getattr(module, "OPERATIONS", {}))
    return [*made, openapi.route(made, operations)]


def app(context: Context, *, origins: Sequence[str] = (), hosts: Collection[str] | None = None) -> ASGIApp:
    """The app; pages of `origins` may use it, and it answers to the names in `hosts`, or to all."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET"],
        allow_headers=["Authorization", "Last-Event-ID"],
        expose_headers=["Penstock-Next-Lsn", "Penstock-More"],
    )
    inner = Starlette(
        routes=all_routes(context),
        middleware=[cors] if origins else [],
        exception_handlers={PenstockError: on_error, HTTPException: on_error, Exception: on_error},
    )
    return context.connections.around(guard_origin(inner, origins, hosts))
