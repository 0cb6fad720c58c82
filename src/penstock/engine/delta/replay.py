"""A snapshot in the making: a checkpoint or an earlier snapshot, then commit after commit.

state(v)  =  newest checkpoint at or before v,  then every commit up to v, in order
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.log_entry import (
    Commit,
    DataFile,
    FileKey,
    Metadata,
    data_file,
    read_metadata,
    read_protocol,
)
from penstock.engine.delta.log_storage import Stamp
from penstock.engine.delta.snapshot import Snapshot
from penstock.errors import FrontierLost


@dataclass(slots=True)
class Replay:
    """The state of the table at `root` after `version`; −1 is before its first commit."""

    root: str
    version: int = -1
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    live: dict[FileKey, DataFile] = field(default_factory=dict)
    txns: dict[str, int] = field(default_factory=dict)

    @classmethod
    def onward(cls, base: Snapshot) -> Replay:
        """Go on from a snapshot, which stays as it is."""
        return cls(base.root, base.version, base.metadata, base.protocol, dict(base.live), dict(base.txns))

    def restore(self, action: Mapping[str, Any]) -> None:
        """Take over one action of a checkpoint."""
        if add := action.get("add"):
            file = data_file(self.root, add)
            self.live[file.key] = file
        elif metadata := action.get("metaData"):
            self.metadata = read_metadata(metadata)
        elif protocol := action.get("protocol"):
            self.protocol = read_protocol(protocol)
        elif txn := action.get("txn"):
            self.txns[txn["appId"]] = txn["version"]

    def apply(self, commit: Commit) -> None:
        """Go on by one commit."""
        for removed in commit.removes:
            self.live.pop(removed.key, None)
        for added in commit.adds:
            self.live[added.file.key] = added.file
        self.metadata = commit.metadata or self.metadata
        self.protocol = commit.protocol or self.protocol
        self.txns.update(commit.txns)
        self.version = commit.version

    def snapshot(self, committed_at: datetime | None, stamp: Stamp | None) -> Snapshot:
        """The snapshot that this has become; FrontierLost if the log did not say what the table is."""
        if self.metadata is None or self.protocol is None:
            raise FrontierLost(source=self.root, version=self.version, why="the log holds no metadata up to there")
        return Snapshot(
            self.root,
            self.version,
            self.metadata,
            self.protocol,
            self.live,
            dict(self.txns),
            committed_at,
            stamp,
        )
