"""The API document: every route is in it, and it is what OpenAPI 3.1 asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute, Route, WebSocketRoute

from penstock.serve.access import Access
from penstock.serve.app import RESOURCES, all_routes
from penstock.serve.context import Context
from penstock.serve.http.operation import Operation
from penstock.serve.resources.openapi import document
from penstock.testing.published import Published

TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    with Published.open(tmp_path) as world:
        yield Context(world.tables, Access())


@pytest.fixture
def described(context: Context) -> dict[str, Any]:
    operations: dict[str, Operation] = {}
    for module in RESOURCES:
        operations.update(getattr(module, "OPERATIONS", {}))
    found = document(all_routes(context), operations)
    read: dict[str, Any] = json.loads(json.dumps(found))
    return read


def _plain(route: BaseRoute) -> str:
    assert isinstance(route, Route | WebSocketRoute)
    return re.sub(r"{(\w+):\w+}", r"{\1}", route.path)


def test_every_route_is_described(context: Context, described: dict[str, Any]) -> None:
    routes = all_routes(context)
    assert len(routes) > 7
    for route in routes:
        assert _plain(route) in described["paths"]


def test_nothing_is_described_that_is_not_there(context: Context) -> None:
    paths = {_plain(route) for route in all_routes(context)}
    for module in RESOURCES:
        assert set(getattr(module, "OPERATIONS", {})) <= paths


def test_the_document_has_the_form_that_openapi_asks_for(described: dict[str, Any]) -> None:
    assert described["openapi"].startswith("3.1.")
    assert described["info"]["title"]
    assert described["info"]["version"]
    ids = []
    for path, item in described["paths"].items():
        assert path.startswith("/")
        operation = item["get"]
        ids.append(operation["operationId"])
        assert operation["summary"]
        places = [(each["in"], each["name"]) for each in operation["parameters"]]
        assert len(places) == len(set(places))
        assert {name for place, name in places if place == "path"} == set(re.findall(r"{(\w+)}", path))
        for parameter in operation["parameters"]:
            assert parameter["in"] in {"query", "header", "path"}
            assert parameter["required"] is (parameter["in"] == "path")
            assert parameter["description"]
            _check_schema(parameter["schema"], described)
        assert "200" in operation["responses"]
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d", status)
            assert response["description"]
            for kind, media in response["content"].items():
                assert "/" in kind
                _check_schema(media["schema"], described)
    assert len(ids) == len(set(ids))
    assert all(name in described["components"]["securitySchemes"] for each in described["security"] for name in each)


def _check_schema(schema: dict[str, Any], described: dict[str, Any]) -> None:
    if "$ref" in schema:
        found: Any = described
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        _check_schema(found, described)
        return
    kind: Any = schema.get("type")
    assert "const" in schema or {*([kind] if isinstance(kind, str) else kind)} <= TYPES, schema
    assert set(schema.get("required", ())) <= set(schema.get("properties", {}))
    for each in schema.get("properties", {}).values():
        _check_schema(each, described)
    if kind == "array":
        _check_schema(schema["items"], described)


@pytest.mark.parametrize("name", ["since_lsn", "limit", "wait"])
def test_bounds_are_told_as_they_are(described: dict[str, Any], context: Context, name: str) -> None:
    parameters = {each["name"]: each for each in described["paths"]["/tables/{name}/changes"]["get"]["parameters"]}
    most = {"limit": context.limits.page_events, "wait": context.limits.wait_seconds, "since_lsn": None}[name]
    assert parameters[name]["schema"].get("maximum") == most
