"""A route as the API document describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.subscribe.start import WORDS


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a request; `schema` is JSON Schema."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"

    def to_json(self) -> dict[str, Any]:
        """The parameter in OpenAPI."""
        return {
            "name": self.name,
            "in": self.place,
            "required": self.place == "path",
            "description": self.description,
            "schema": self.schema,
        }


@dataclass(frozen=True, slots=True)
class Operation:
    """One GET: what it is for, its parameters, and what a good answer is."""

    summary: str
    parameters: Sequence[Parameter] = ()
    content: str = "application/json"
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    errors: Sequence[int] = (400, 401, 403, 404, 410, 503)


WHERE = Parameter("where", "A SQL condition on the columns; the server sends only rows that satisfy it.")
COLUMNS = Parameter("columns", "Names of columns, separated by commas; all if left out.")
SINCE = Parameter(
    "since_lsn",
    "Events after this position; 0 is the whole changelog.",
    {"type": "integer", "minimum": 0, "default": 0},
)
START = (
    Parameter(
        "start",
        "Begin with what is committed from now on, or with all rows as they are.",
        {"type": "string", "enum": list(WORDS), "default": "now"},
    ),
    Parameter("since_lsn", "Begin after this position.", {"type": "integer", "minimum": 0}),
    Parameter("version", "Begin after this version of the stream table.", {"type": "integer", "minimum": 0}),
    Parameter(
        "timestamp", "Begin after the newest state for a moment up to this.", {"type": "string", "format": "date-time"}
    ),
)
FORMAT = Parameter(
    "format",
    "How an event looks: our own objects, or Debezium's envelopes.",
    {"type": "string", "enum": ["json", "debezium"], "default": "json"},
)
POLICY = Parameter(
    "policy",
    "What happens if this client is too slow: read what it missed from the log, leave it out, or end the stream.",
    {"type": "string", "enum": ["block", "drop_oldest", "close"], "default": "block"},
)
TOKEN = Parameter("access_token", "The token, where headers cannot be set, as in a browser's EventSource or WebSocket.")
