"""Checkpoints of a Delta log: which are complete, and the state that one holds.

A checkpoint is one Parquet or JSON file, or several parts of which every one must be there; its sidecars are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from penstock.engine.delta.log_entry import actions
from penstock.engine.delta.log_storage import LogStorage
from penstock.engine.delta.replay import Replay

CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(parquet|json)")
"""The name of a checkpoint's file, or of one part of it."""


def complete_checkpoints(names: Iterable[str], version: int) -> list[tuple[int, list[str]]]:
    """Complete checkpoints at or before a version, newest first."""
    single: list[tuple[int, list[str]]] = []
    many: dict[tuple[int, int], list[str]] = {}
    for name in names:
        found = CHECKPOINT.fullmatch(name)
        if not found or int(found[1]) > version:
            continue
        if found[2]:
            many.setdefault((int(found[1]), int(found[3])), []).append(name)
        else:
            single.append((int(found[1]), [name]))
    whole = [(at, sorted(parts)) for (at, count), parts in many.items() if len(parts) == count]
    return sorted(single + whole, key=lambda found: found[0], reverse=True)


def read_checkpoint(storage: LogStorage, root: str, version: int, parts: Iterable[str]) -> Replay:
    """The state that a checkpoint holds; FileNotFoundError if one of its files is gone."""
    state = Replay(root, version)
    sidecars: list[str] = []
    for part in parts:
        for action in actions(storage.read(part)) if part.endswith(".json") else _parquet_actions(storage, part):
            state.restore(action)
            if action.get("sidecar"):
                sidecars.append(action["sidecar"]["path"])
    for sidecar in sidecars:
        for action in _parquet_actions(storage, f"_sidecars/{unquote(sidecar)}"):
            state.restore(action)
    return state


def _parquet_actions(storage: LogStorage, name: str) -> list[dict[str, Any]]:
    file = pq.ParquetFile(storage.parquet(name))
    try:
        wanted = {"add", "metaData", "protocol", "txn", "sidecar"}
        # `stats_parsed` and `partitionValues_parsed` repeat what is there as text.
        leaves = [
            path
            for path in (file.schema.column(i).path for i in range(len(file.schema)))
            if path.split(".")[0] in wanted and not path.startswith(("add.stats_parsed", "add.partitionValues_"))
        ]
        rows: list[dict[str, Any]] = file.read(columns=leaves).to_pylist()
        return rows
    finally:
        file.close()
