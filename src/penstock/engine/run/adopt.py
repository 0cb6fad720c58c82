"""Bring the metadata of stream tables into line with the place of a warehouse that was moved or copied.

Paths below the former place become relative; in a copy every stream table gets an id of its own, and keeps the ids that
it had, because its commits carry them. Each storage is done by one commit that moves no row, made from what was read:
doing it again, or twice at once, changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from penstock.catalog.warehouse_folder import STORAGE_FOLDER
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, FORMER_IDS_KEY, ID_KEY, ids_of
from penstock.errors import CommitConflict, PenstockError
from penstock.places import Places

WAREHOUSE_KEY: Final = "penstock.warehouse"
"""Configuration key of the copy that a stream table's present id was made for; only copies have it."""

_TRIES: Final = 20


def adopt(
    root: Path, logs: Logs, former: str, written_out: Callable[[str, str], bool], warehouse_id: str | None = None
) -> None:
    """Bring every stream table in the folder into line with its place; with `warehouse_id`, as a copy's.

    `written_out(storage, source)`, by their Delta table ids, is True if the query names that source by its path: such a
    path stays as the user wrote it.
    """
    for path in storages(root):
        _one(path, logs, Places(former), written_out, warehouse_id)


def storages(root: Path) -> Iterator[str]:
    """The folders of the stream tables in a warehouse."""
    for log in sorted((root / STORAGE_FOLDER).glob("*/*/_delta_log")):
        yield str(log.parent)


def _one(
    path: str, logs: Logs, former: Places, written_out: Callable[[str, str], bool], warehouse_id: str | None
) -> None:
    for _ in range(_TRIES):
        try:
            found = storage_state(logs.at(path))
            definition = Definition.from_json(found.definition)
        except (PenstockError, KeyError, ValueError):
            # Half made, or not ours: asking for it raises the error.
            return
        moved = replace(definition, sources=_sources(definition, found, former, written_out))
        changes: dict[str, str] = {}
        if warehouse_id is not None and found.configuration.get(WAREHOUSE_KEY) != warehouse_id:
            before = ids_of(found.configuration)
            moved = replace(moved, id=uuid5(NAMESPACE_URL, f"penstock:{warehouse_id}/{before[0]}").hex)
            changes = {ID_KEY: moved.id, FORMER_IDS_KEY: json.dumps(before), WAREHOUSE_KEY: warehouse_id}
        if moved == definition:
            return
        changes |= {**(found.unset or {}), DEFINITION_KEY: moved.to_json()}
        try:
            Storage.open(path).set_configuration(changes, at=found.version)
        except CommitConflict:
            continue
        return
    raise CommitConflict(name=path, why="it was committed to again and again while it was brought into line")


def _sources(
    definition: Definition, found: StorageState, former: Places, written_out: Callable[[str, str], bool]
) -> dict[str, str]:
    return {
        source: kept if kept in definition.query or written_out(found.table_id, source) else former.kept(kept)
        for source, kept in definition.sources.items()
    }
