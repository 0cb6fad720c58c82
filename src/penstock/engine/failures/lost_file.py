"""The data file whose absence made a query fail."""

from __future__ import annotations

import re

_LOST = re.compile(
    r"FileNotFoundException|FILE_NOT_EXIST|PATH_NOT_FOUND|DELTA_FILE_NOT_FOUND|NoSuchKey|BlobNotFound"
    r"|DELTA_CHANGE_DATA_FILE_NOT_FOUND"
)
_PATH = re.compile(r"((?:[a-z0-9]+:)?/[^\s'\"]*?\.parquet)")


def lost_file(error: BaseException) -> str | None:
    """The file whose absence made a query fail, if that is why it failed: the version can no longer be read."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        text = str(cause)
        if _LOST.search(text):
            found = _PATH.search(text)
            return found.group(1) if found else "a data file"
        cause = cause.__cause__ or cause.__context__
    return None
