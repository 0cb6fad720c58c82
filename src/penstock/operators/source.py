"""What a scan reads: a Delta table, or the storage of another stream table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One table, identified by the id in its Delta log and not by its path or name."""

    id: str
    name: str
    path: str
    is_stream_table: bool = False
    weighted: bool = False
    """The storage holds a bag: each physical row stands for `__ps_weight` rows."""
    has_hidden_rows: bool = False
    """The storage holds groups that are not shown (`__ps_shown` is false)."""
    stored_names: tuple[tuple[str, str], ...] = ()
    """Column → name in storage, where the two differ: a Delta table cannot store every name a query can give."""

    def stored_name(self, column: str) -> str:
        """The name under which the storage holds a column."""
        return dict(self.stored_names).get(column, column)
