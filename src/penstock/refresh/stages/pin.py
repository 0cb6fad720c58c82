"""First stage: one version of every source and one handle on the storage, taken once.

Everything that follows reads at these versions and commits on this handle. What happens to the storage in between makes
the commit a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Logs
from penstock.engine.write.handles import Handles
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import Pin, StorageState, storage_state
from penstock.errors import SourceCopied

Redefine = Callable[[Definition], Definition]
"""From the stored definition to the one that is to be put in force instead."""


@dataclass(frozen=True)
class Pins:
    """One version vector for a whole refresh: source id → version, and the moment it stands for."""

    versions: Mapping[str, int]
    data_timestamp: datetime
    bases: Mapping[str, int] | None = None
    """The base tables' versions that the upstream stream tables among the sources show, if there are any."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Sources whose name stands for another table now: source id → name."""
    copies: tuple[str, str] | None = None
    """Two folders with the id of one Delta table, if both are seen."""

    def require_one_copy(self) -> None:
        """SourceCopied if two folders of one table id are seen, for which there is only one version here."""
        if self.copies is not None:
            raise SourceCopied(folder=self.copies[0], other=self.copies[1])


@dataclass(frozen=True)
class PinnedForReading:
    """A stream table as its log shows it, and the versions that it is to be brought to; good for looking only."""

    meta: StreamTableMeta
    definition: Definition
    state: StorageState
    pins: Pins


@dataclass(frozen=True)
class Pinned(PinnedForReading):
    """The same with a handle on the storage; good for one commit."""

    state: Pin
    storage: Storage
    redefines: bool = False
    """The definition is not in force yet: it comes with the rows of this refresh."""


def pin_for_reading(meta: StreamTableMeta, pins: Pins, logs: Logs) -> PinnedForReading:
    """The stream table by its log alone: no handle is opened, so this is cheap."""
    state = storage_state(logs.at(meta.path))
    return PinnedForReading(meta, Definition.from_json(state.definition), state, pins)


def pin(meta: StreamTableMeta, pins: Pins, wanted: Redefine | None, logs: Logs, handles: Handles) -> Pinned:
    """The stream table with a handle; `wanted` gives a definition to put in force instead of the stored one."""
    log = logs.at(meta.path)
    storage = Storage.open(meta.path, handles.take(log))
    state = storage.pin(log)
    stored = Definition.from_json(state.definition)
    definition = stored if wanted is None else wanted(stored)
    return Pinned(meta, definition, state, pins, storage, redefines=wanted is not None)
