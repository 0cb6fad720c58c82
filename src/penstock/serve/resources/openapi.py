"""`GET /openapi.json`: the API as an OpenAPI 3.1 document, made from the routes that there are.

A resource describes its paths in `OPERATIONS`. A route without an entry there is described by its docstring.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from penstock.serve.http.answer import answer
from penstock.serve.http.operation import Operation, Parameter
from penstock.version import VERSION

PATH: Final = "/openapi.json"
_ERRORS: Final = {
    400: "A parameter is refused; the message says why.",
    401: "There is no token, or none that is known.",
    403: "The token does not open this stream table, or the page may not ask.",
    404: "There is no such stream table.",
    410: "These changes are no longer retained (`earliest` is the oldest that is), or the stream table is gone.",
    503: "Too many clients, or the server stops, or something has to recover; try again.",
}
_PLACE = re.compile(r"{(\w+)(?::\w+)?}")


def route(others: Sequence[BaseRoute], operations: Mapping[str, Operation]) -> Route:
    """The route that describes the others and itself."""

    async def openapi(request: Request) -> Response:
        """This document."""
        return answer(described)

    own = Route(PATH, openapi)
    described = document([*others, own], operations)
    return own


def document(routes: Sequence[BaseRoute], operations: Mapping[str, Operation]) -> dict[str, Any]:
    """The document."""
    paths = {}
    for each in routes:
        if isinstance(each, Route | WebSocketRoute):
            path = _PLACE.sub(r"{\1}", each.path)
            operation = operations.get(path) or Operation(_summary(each.endpoint))
            paths[path] = {"get": _operation(path, operation)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": VERSION,
            "description": "Changes of stream tables: pages, streams and Arrow. Positions (LSNs) are dense per table.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["ok", "error"],
                    "properties": {
                        "ok": {"const": False},
                        "error": {
                            "type": "object",
                            "required": ["condition", "message", "hint"],
                            "properties": {
                                "condition": {"type": "string"},
                                "message": {"type": "string"},
                                "hint": {"type": "string"},
                                "earliest": {"type": ["integer", "string"]},
                            },
                        },
                    },
                }
            },
        },
        "security": [{"token": []}, {}],
    }


def _operation(path: str, operation: Operation) -> dict[str, Any]:
    named = {each.name for each in operation.parameters if each.place == "path"}
    places = [Parameter(name, f"The {name}.", place="path") for name in _PLACE.findall(path) if name not in named]
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "operationId": re.sub(r"\W+", "_", path).strip("_") or "root",
        "summary": operation.summary,
        "parameters": [each.to_json() for each in (*places, *operation.parameters)],
        "responses": {
            "200": {"description": "As asked.", "content": {operation.content: {"schema": operation.schema}}},
            **{str(status): {"description": _ERRORS[status], "content": error} for status in operation.errors},
        },
    }


def _summary(endpoint: Any) -> str:
    return str(endpoint.__doc__ or endpoint.__name__).strip().splitlines()[0]
