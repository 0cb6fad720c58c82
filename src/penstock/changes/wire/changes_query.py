"""The parameters of `GET /changes`. A value that cannot be read counts as absent; a limit that is too large is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_LIMIT: Final = 100
LARGEST_LIMIT: Final = 10_000

_LARGEST: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """Events after `since_lsn`, at most `limit`."""

    since_lsn: int = 0
    limit: int = DEFAULT_LIMIT

    @classmethod
    def read(cls, since_lsn: str | None = None, limit: str | None = None) -> ChangesQuery:
        """From the texts of the request.

        >>> ChangesQuery.read("7", "many"), ChangesQuery.read(None, "20000")
        (ChangesQuery(since_lsn=7, limit=100), ChangesQuery(since_lsn=0, limit=10000))
        """
        return cls(_number(since_lsn, 0), min(_number(limit, DEFAULT_LIMIT), LARGEST_LIMIT))


def _number(text: str | None, default: int) -> int:
    # More digits than these are out of range, and Python refuses to read thousands of them.
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 20:
        return default
    number = int(text)
    return number if number <= _LARGEST else default
