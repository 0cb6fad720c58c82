"""The definition of a stream table as it stands in its own table's configuration.

Everything that decides the result is in it, so a lost catalog can be rebuilt from the tables alone, and so a refresh in
another process, years later, runs under the same settings. Its hash tells whether two definitions give the same rows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Definition:
    """Name, query, and all that the result depends on."""

    id: str
    name: str
    query: str
    database: str
    settings: dict[str, str]
    target_lag_seconds: float | None
    refresh_mode: str
    key: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    """Visible name, storage name, type."""
    weighted: bool
    has_hidden_rows: bool
    sources: dict[str, str] = field(default_factory=dict)
    """Source id → path at the time of definition, inside the warehouse relative to it."""
    views: dict[str, str] = field(default_factory=dict)
    """View → hash of its text."""
    functions: dict[str, str] = field(default_factory=dict)
    """User-defined function → hash of its code; empty if that cannot be read."""
    reads: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """A name in the query → the columns behind it at the time of definition, each with its type."""
    volatile: bool = False
    compiler: int = 1
    created_at: str = ""
    format: int = FORMAT

    @property
    def target_lag(self) -> timedelta | None:
        """None = DOWNSTREAM."""
        return None if self.target_lag_seconds is None else timedelta(seconds=self.target_lag_seconds)

    @property
    def visible_columns(self) -> tuple[str, ...]:
        """The columns by the names that users see."""
        return tuple(visible for visible, _, _ in self.columns)

    @cached_property
    def hash(self) -> str:
        """Changes exactly when the rows or their storage could."""
        parts: dict[str, Any] = {
            "query": self.query,
            "database": self.database,
            "settings": self.settings,
            "key": self.key,
            "columns": self.columns,
            "weighted": self.weighted,
            "hidden": self.has_hidden_rows,
            "views": self.views,
            "compiler": self.compiler,
        }
        if self.functions:
            parts["functions"] = self.functions
        if self.reads:
            parts["reads"] = self.reads
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    def to_json(self) -> str:
        """JSON text for the table configuration."""
        fields = asdict(self)
        # The stored form keeps the name that it began with.
        fields["restless"] = fields.pop("volatile")
        return json.dumps(fields, separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Definition:
        """Read JSON text; ValueError if it is of a later format."""
        return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Definition:
    fields = json.loads(text)
    if fields.get("format") != FORMAT:
        raise ValueError(f"definition format {fields.get('format')!r} is not known; this Penstock reads {FORMAT}")
    fields["key"] = tuple(fields["key"])
    fields["columns"] = tuple(tuple(column) for column in fields["columns"])
    fields["reads"] = {name: tuple(map(tuple, held)) for name, held in fields.get("reads", {}).items()}
    fields["volatile"] = fields.pop("restless", False)
    return Definition(**fields)


def text_hash(text: str) -> str:
    """A short hash of a view's text or a function's code."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
