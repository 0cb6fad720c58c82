"""Distinguish an address, which names a store, from a path on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

# A scheme has two letters or more: one letter is a drive. Without a slash it is one that is known to be a store's.
_STORES: Final = "file|s3[an]?|hdfs|webhdfs|viewfs|abfss?|wasbs?|adl|gs|dbfs|oss|cosn|https?|ftps?|postgres(?:ql)?"
_ADDRESS: Final = re.compile(rf"\s*(?:([a-z][a-z0-9+.-]+):/+|({_STORES}):)(.*)", re.IGNORECASE | re.DOTALL)


def split_address(place: str | Path) -> tuple[str, str] | None:
    """Scheme and path of an address, None for a path; one slash makes an address, because a `Path` keeps only one.

    >>> split_address("s3a://bucket/x"), split_address(Path("file:///x")), split_address("/a/b:/c")
    (('s3a', '/bucket/x'), ('file', '/x'), None)
    >>> split_address(" s3a:bucket"), split_address("file:shop"), split_address("2026:shop")
    (('s3a', 'bucket'), ('file', 'shop'), None)
    """
    found = _ADDRESS.fullmatch(str(place))
    if found is None:
        return None
    return (found[1].lower(), f"/{found[3]}") if found[1] else (found[2].lower(), found[3])
