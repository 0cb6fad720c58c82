"""What every resource works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from penstock.api import StreamTables
from penstock.names import TableName
from penstock.serve.access import Access
from penstock.serve.access.connections import Connections
from penstock.serve.limits import Limits
from penstock.serve.streams.broadcasts import Broadcasts


@dataclass(frozen=True, slots=True)
class Context:
    """An open warehouse, who may read what of it, its limits, its streams and its connections."""

    tables: StreamTables
    access: Access
    limits: Limits = field(default_factory=Limits)
    broadcasts: Broadcasts = field(init=False)
    connections: Connections = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "broadcasts", Broadcasts(self.tables, self.limits))
        object.__setattr__(self, "connections", Connections(self.limits))

    def table(self, request: HTTPConnection, *, in_address: bool = False) -> str:
        """The full name of the stream table that the path names, if the client may read it."""
        name = str(TableName.parse(request.path_params["name"]))
        self.access.require(request, name, in_address=in_address)
        return name
