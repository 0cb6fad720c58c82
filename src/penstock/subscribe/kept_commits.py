"""The rows of commits that were read lately, kept by reference for their next readers.

The commits that were asked for longest ago leave first. The newest one stays, however large it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.recently_used import RecentlyUsed

KEPT_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of rows to keep."""

K = TypeVar("K", bound=Hashable)


class KeptCommits(RecentlyUsed[K, CommitChanges]):
    """Safe to use from any number of threads."""

    def __init__(self) -> None:
        super().__init__(KEPT_BYTES, lambda changes: changes.nbytes, least=1)
