"""DESCRIBE STREAM TABLE: the columns of its rows; with EXTENDED, its definition and its state too.

The form is that of Spark's DESCRIBE TABLE EXTENDED: a blank line, a heading with #, then names and values.
"""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.graph.lag import format_lag

Line = tuple[str, str]


def columns_of(definition: Definition) -> list[Line]:
    """Every column that a user sees, with its type."""
    return [(visible, kind) for visible, _, kind in definition.columns]


def details_of(definition: Definition, meta: StreamTableMeta, sources: list[str]) -> list[Line]:
    """What DESCRIBE EXTENDED adds."""
    effective = meta.effective_mode.value if meta.effective_mode else None
    known = [
        ("Name", definition.name),
        ("Target lag", format_lag(definition.target_lag)),
        ("Refresh mode", definition.refresh_mode),
        ("Maintained", effective),
        ("Reason", meta.reason),
        ("Key", ", ".join(definition.key)),
        ("Status", meta.status.value),
        ("Data timestamp", meta.data_timestamp.isoformat(sep=" ") if meta.data_timestamp else None),
        ("Last refresh", meta.last_refresh_at.isoformat(sep=" ") if meta.last_refresh_at else None),
        ("Sources", ", ".join(sources)),
        ("Schema of the query", definition.database),
        ("Query", definition.query),
        ("Location", meta.path),
    ]
    return [("", ""), ("# Stream table", ""), *((name, value) for name, value in known if value)]
