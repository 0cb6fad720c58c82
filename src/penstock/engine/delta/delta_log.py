"""A Delta table's log, read in Python: its versions, its snapshots and its commits.

No Spark job is ever started here; asking for the newest version costs a few system calls. Snapshots and commits are
cached under the identity of their commit file, so that a table dropped and created again at the same place is never
mistaken for the old one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from penstock.engine.delta.checkpoint import CHECKPOINT, complete_checkpoints, read_checkpoint
from penstock.engine.delta.log_entry import Commit, entry_name, read_entry
from penstock.engine.delta.log_storage import LogStorage, Stamp, location, log_storage
from penstock.engine.delta.replay import Replay
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.failures.read_failure import READ_ERRORS, unreachable
from penstock.errors import FrontierLost, SourceMissing, StorageUnreachable
from penstock.recently_used import RecentlyUsed

T = TypeVar("T")

SNAPSHOTS_KEPT = 8
COMMITS_KEPT = 256
REPLAY_LIMIT = 500
"""Above this many commits after a cached snapshot, a checkpoint is likely to be the shorter way."""

_ENTRY = re.compile(r"(\d{20})\.json")

_Held = RecentlyUsed[int, tuple[Stamp, T]]
"""Per version, what was read of it, and the commit file for which that is true."""


class DeltaLog:
    """The log of the table at `root`; safe to share between threads.

    `SystemTrouble` if it cannot be read for the moment.
    """

    def __init__(self, root: str) -> None:
        self.root = location(root)
        with self._reading():
            self._storage: LogStorage = log_storage(root)
        self._lock = threading.RLock()
        self._latest: int | None = None
        self._snapshots: _Held[Snapshot] = RecentlyUsed(SNAPSHOTS_KEPT)
        self._commits: _Held[Commit] = RecentlyUsed(COMMITS_KEPT)

    def latest_version(self) -> int:
        """The newest version; `SourceMissing` if there is no Delta table here."""
        with self._lock, self._reading():
            known = self._latest
            if known is None or self._storage.stamp(entry_name(known)) is None:
                known = self._list_latest()
            while self._storage.stamp(entry_name(known + 1)) is not None:
                known += 1
            self._latest = known
            return known

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The table at a version (the newest by default).

        `FrontierLost` if that version cannot be rebuilt any more, `SourceMissing` if there is no table.
        """
        with self._lock, self._reading():
            if version is None:
                version = self.latest_version()
            stamp = self._storage.stamp(entry_name(version))
            found = _held(self._snapshots, version, stamp)
            if found is None:
                found = self._build(version, stamp)
                _hold(self._snapshots, version, stamp, found)
            return found

    def stamp(self, version: int) -> Stamp | None:
        """The identity of a commit's file, or None if there is none."""
        with self._reading():
            return self._storage.stamp(entry_name(version))

    def commits(self, before: int, after: int) -> tuple[Commit, ...]:
        """The commits of the interval `(before, after]`, oldest first; `FrontierLost` if one of them is gone."""
        return tuple(self.commit(version) for version in range(before + 1, after + 1))

    def commit(self, version: int) -> Commit:
        """One commit; `FrontierLost` if its file is gone."""
        with self._lock, self._reading():
            name = entry_name(version)
            stamp = self._storage.stamp(name)
            found = _held(self._commits, version, stamp)
            if found is None:
                try:
                    text = self._storage.read(name)
                except FileNotFoundError:
                    raise FrontierLost(
                        source=self.root, version=version, why="its commit file is no longer in the log"
                    ) from None
                try:
                    found = read_entry(self.root, version, text, stamp)
                except (ValueError, KeyError, TypeError, AttributeError) as broken:
                    # It may be mended, from a copy or by its writer: so it is tried again.
                    why = f"its log entry {name} cannot be read ({broken})"
                    raise StorageUnreachable(name=self.root, why=why) from broken
                _hold(self._commits, version, stamp, found)
            return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except READ_ERRORS as failed:
            raise unreachable(failed, self.root) from failed

    def _names(self) -> list[str]:
        try:
            return self._storage.names()
        except (FileNotFoundError, NotADirectoryError):
            raise SourceMissing(source=self.root, why="there is no Delta log") from None

    def _list_latest(self) -> int:
        names = self._names()
        versions = [int(found[1]) for name in names if (found := _ENTRY.fullmatch(name))]
        versions += [int(found[1]) for name in names if (found := CHECKPOINT.fullmatch(name))]
        if not versions:
            raise SourceMissing(source=self.root, why="its Delta log is empty")
        return max(versions)

    def _build(self, version: int, stamp: Stamp | None) -> Snapshot:
        state = self._nearest_cached(version) or self._from_checkpoint(version)
        for commit in self.commits(state.version, version):
            state.apply(commit)
        return state.snapshot(self.commit(version).committed_at if stamp is not None else None, stamp)

    def _nearest_cached(self, version: int) -> Replay | None:
        for held in sorted(self._snapshots.keys(), reverse=True):
            if not version - REPLAY_LIMIT <= held <= version:
                continue
            base = _held(self._snapshots, held, self._storage.stamp(entry_name(held)))
            whole = base is not None and all(
                self._storage.stamp(entry_name(step)) is not None for step in range(held + 1, version + 1)
            )
            if base is not None and whole:
                return Replay.onward(base)
        return None

    def _from_checkpoint(self, version: int) -> Replay:
        names = self._names()
        if self._storage.stamp(entry_name(version)) is None and version > self._list_latest():
            raise FrontierLost(
                source=self.root, version=version, why=f"the table is only at version {self._list_latest()}"
            )
        for at, parts in complete_checkpoints(names, version):
            try:
                return read_checkpoint(self._storage, self.root, at, parts)
            except FileNotFoundError:
                continue
        return Replay(self.root)


def _held(held: _Held[T], version: int, stamp: Stamp | None) -> T | None:
    found = held.get(version)
    return found[1] if found is not None and found[0] == stamp else None


def _hold(held: _Held[T], version: int, stamp: Stamp | None, value: T) -> None:
    if stamp is not None:
        held.put(version, (stamp, value))
