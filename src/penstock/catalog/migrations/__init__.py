"""The schema of the catalog as a list of steps; step n takes version n − 1 to version n.

A step, once released, never changes. Each runs in a transaction together with the note of its number. The connection
supplies the SQL that differs between databases, so each step is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.catalog.migrations import (
    v0001_initial,
    v0002_rows_at_rest,
    v0003_effort,
    v0004_alerts,
    v0005_changes,
    v0006_place,
)


class Connection(Protocol):
    """What a step needs of a database connection."""

    def execute(self, sql: str, /) -> Any:
        """Run one statement."""

    def epoch(self, moment: str | None, /) -> str:
        """SQL for the seconds since 1970 of a column that holds a moment, or of now."""


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    v0001_initial.up,
    v0002_rows_at_rest.up,
    v0003_effort.up,
    v0004_alerts.up,
    v0005_changes.up,
    v0006_place.up,
)
