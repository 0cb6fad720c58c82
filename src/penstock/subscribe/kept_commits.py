"""The rows of commits that were read lately, kept by reference for their next readers.

The commits that were asked for longest ago leave first. The newest one stays, however large it is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from penstock.changes.wire.commit_changes import CommitChanges

KEPT_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of rows to keep."""

K = TypeVar("K", bound=Hashable)


class KeptCommits(Generic[K]):
    """Safe to use from any number of threads."""

    def __init__(self) -> None:
        self._commits: OrderedDict[K, CommitChanges] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, commit: K) -> bool:
        with self._lock:
            return commit in self._commits

    def get(self, commit: K) -> CommitChanges | None:
        """The commit's events, if they are kept."""
        with self._lock:
            found = self._commits.get(commit)
            if found is not None:
                self._commits.move_to_end(commit)
            return found

    def keep(self, commit: K, changes: CommitChanges) -> None:
        """Keep a commit's events; others may have to leave."""
        with self._lock:
            if commit not in self._commits:
                self._commits[commit] = changes
                self._bytes += changes.nbytes
            while self._bytes > KEPT_BYTES and len(self._commits) > 1:
                _, gone = self._commits.popitem(last=False)
                self._bytes -= gone.nbytes
