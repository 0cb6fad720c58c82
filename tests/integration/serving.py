"""A server in a thread, and clients that speak to it as anybody would: over sockets, with the standard library."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from penstock.serve.server import Server
from penstock.testing.published import PublishedTable

PATIENCE = 60.0
"""Seconds after which something that should have come counts as lost."""


@dataclass(frozen=True)
class Got:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def condition(self) -> str:
        """The condition of an error."""
        assert self.json["ok"] is False
        return str(self.json["error"]["condition"])


def get(port: int, path: str, headers: dict[str, str] | None = None, **parameters: Any) -> Got:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", _address(path, parameters), headers=headers or {})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Got(response.status, found, response.read())
    finally:
        connection.close()


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    kind: str
    id: str | None
    data: Any


class Events:
    """A stream of server-sent events, read as they come."""

    def __init__(self, port: int, path: str, headers: dict[str, str] | None = None, **parameters: Any) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.request("GET", _address(path, parameters), headers=headers or {})
        self.response = self._connection.getresponse()
        self.comments = 0
        self.last_id: str | None = None

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                self.last_id = fields.get("id", self.last_id)
                yield Event(fields.get("event", "message"), fields.get("id"), json.loads(fields["data"]))
                fields = {}
            else:
                fields = {}

    def take(self, count: int, kind: str = "change") -> list[Event]:
        """The next events of a kind."""
        found: list[Event] = []
        for event in self:
            if event.kind == kind:
                found.append(event)
            if len(found) == count:
                break
        return found

    def close(self) -> None:
        self.response.close()
        self._connection.close()

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def row(region: str, total: int) -> dict[str, Any]:
    """A row of the table below."""
    return {"region": region, "total": total}


def sales(server_world: Any, name: str = "sales") -> PublishedTable:
    """A keyed stream table; after this it stands at LSN 4."""
    table: PublishedTable = server_world.keyed(name, {"region": "string", "total": "long"}, key=("region",))
    table.commit(put=[row("east", 5), row("west", 1)])
    table.commit(put=[row("east", 6)], drop=[row("west", 1)])
    return table


def lsns(events: list[Event]) -> list[int]:
    """The positions of change events."""
    return [event.data["lsn"] for event in events]


def _address(path: str, parameters: dict[str, Any]) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


__all__ = ["PATIENCE", "Event", "Events", "Got", "Server", "get", "lsns", "row", "sales"]
