"""`warehouse.json`: which warehouse a folder is, and where it was opened last.

The catalog holds the same, and wins if it lies in the warehouse. Penstock needs the file where the catalog is lost or
lies elsewhere, and to check from another folder whether this one still holds the warehouse.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Final

from penstock.catalog.model import WarehouseIdentity

IDENTITY_FILE: Final = "warehouse.json"

_PARTS: Final = ("id", "place", "host", "copy_of")


def read_identity(root: str | Path) -> WarehouseIdentity | None:
    """What the file says, or None without a file that can be read; a part that it lacks is empty."""
    try:
        fields = json.loads((Path(root) / IDENTITY_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(fields, dict):
        return None
    return WarehouseIdentity(*(str(fields.get(part) or "") for part in _PARTS))


def write_identity(root: str | Path, identity: WarehouseIdentity) -> None:
    """Replace the file as a whole: a reader sees the old one or the new one, never a part."""
    text = json.dumps({part: value for part in _PARTS if (value := getattr(identity, part))}, indent=2)
    draft = Path(root) / f".{IDENTITY_FILE}.{uuid.uuid4().hex}"
    try:
        draft.write_text(text + "\n", "utf-8")
        os.replace(draft, Path(root) / IDENTITY_FILE)
    finally:
        draft.unlink(missing_ok=True)
