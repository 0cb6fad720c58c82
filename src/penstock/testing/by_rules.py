"""Creating a stream table whose delta rules are used whatever they cost, so that tests test them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import NotIncremental

if TYPE_CHECKING:
    from penstock.api import StreamTables
    from penstock.ddl.outcome import StreamTableInfo


def create_by_rules(ps: StreamTables, name: str, query: str) -> StreamTableInfo:
    """Mode INCREMENTAL where the query has delta rules, else AUTO, which then is FULL."""
    try:
        return ps.create_stream_table(name, query, refresh_mode="INCREMENTAL")
    except NotIncremental:
        return ps.create_stream_table(name, query)
