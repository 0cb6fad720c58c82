"""Audit: is the stored table the query's result at the stored frontier?

The query is run as its author wrote it, over Delta's own time travel; no file list, no delta rule and no hidden column
of ours takes part. The difference is taken as bags, both ways.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.failures.data_errors import data_errors
from penstock.engine.read.compare import bag_difference
from penstock.errors import StreamTableNotFound
from penstock.names import Frontier
from penstock.refresh.stored_frontier import stored_frontier
from penstock.refresh.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The bag difference between stored and recomputed rows."""

    name: str
    exact: bool
    missing_rows: int
    """Rows that the query returns and the table lacks."""
    extra_rows: int
    """Rows that the table has and the query does not return."""
    samples: tuple[tuple[str, dict[str, Any]], ...]
    """('missing' | 'extra', row), a few of each."""
    frontier: Frontier
    rows: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "exact": self.exact,
            "missing_rows": self.missing_rows,
            "extra_rows": self.extra_rows,
            "samples": [
                {"kind": kind, "row": {name: str(value) for name, value in row.items()}} for kind, row in self.samples
            ],
            "frontier": self.frontier.to_json(),
            "rows": self.rows,
            "seconds": round(self.seconds, 4),
        }


def audit(warehouse: Warehouse, meta: StreamTableMeta) -> AuditReport:
    """Compare the newest stored rows with the query at the frontier where they stand."""
    state = warehouse.storage_state(meta)
    frontier = stored_frontier(meta, state)
    if frontier is None:
        raise StreamTableNotFound(
            name=f"{meta.name} with rows", nearest="Refresh it first: it has not been filled yet."
        )
    started = time.perf_counter()
    definition = Definition.from_json(state.definition)
    workspace = warehouse.workspace(definition)
    workspace.require_sources(definition)
    versions = {workspace.logs.folder(kept): frontier.version(source) for source, kept in definition.sources.items()}
    with workspace.alone(), data_errors(str(meta.name)):
        found = bag_difference(
            workspace.witnessed(definition.query, definition.columns, versions, frontier.data_timestamp),
            workspace.visible_rows(definition, meta.path, state.version),
        )
    return AuditReport(
        name=str(meta.name),
        exact=found.missing == 0 and found.extra == 0,
        missing_rows=found.missing,
        extra_rows=found.extra,
        samples=found.samples,
        frontier=frontier,
        rows=found.rows,
        seconds=time.perf_counter() - started,
    )
