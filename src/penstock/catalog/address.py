"""Telling an address, which names a store, from a path on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

# A scheme has two letters or more: one letter is a drive.
_ADDRESS: Final = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.IGNORECASE | re.DOTALL)


def split_address(place: str | Path) -> tuple[str, str] | None:
    """Scheme and path of an address, None for a path; one slash makes an address, for a `Path` keeps no more.

    >>> split_address("s3a://bucket/x"), split_address(Path("file:///x")), split_address("/a/b:/c")
    (('s3a', '/bucket/x'), ('file', '/x'), None)
    """
    found = _ADDRESS.fullmatch(str(place))
    return None if found is None else (found[1].lower(), f"/{found[2]}")
