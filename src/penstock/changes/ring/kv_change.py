"""A change of one key that has no LSN yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.changes.wire.change_operation import ChangeOperation


@dataclass(frozen=True, slots=True)
class KvChange:
    """Before and after are JSON values, or None."""

    op: ChangeOperation
    collection: str
    key: str
    before: Any
    after: Any
    entity_id: int = 0
