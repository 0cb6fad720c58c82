"""Writing one entry of a Delta log on the local disk: whole, or not at all, and never over another one.

The text goes into a file of another name first; a hard link then gives it its place, which fails if the place is taken.
So of two writers of one version exactly one succeeds, and no reader sees half an entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from penstock.errors import CommitConflict


def put_entry(root: str, version: int, actions: Iterable[Mapping[str, Any]]) -> None:
    """Make these actions the commit of a version; CommitConflict if there is one already."""
    folder = os.path.join(root, "_delta_log")
    draft = os.path.join(folder, f".{version:020d}.json.{uuid4()}.tmp")
    try:
        with open(draft, "x", encoding="utf-8") as file:
            file.writelines(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
        try:
            os.link(draft, os.path.join(folder, f"{version:020d}.json"))
        except FileExistsError as taken:
            # A disk in the network may have made the link, lost its answer, and refused it when asked again.
            if os.stat(draft).st_nlink < 2:
                raise CommitConflict(name=root, why=f"it has made version {version}") from taken
    finally:
        # The entry stands by now, or never will: a draft that stays is no reason to say otherwise.
        with suppress(OSError):
            os.unlink(draft)
