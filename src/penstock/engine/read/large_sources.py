"""Which tables are worth being narrowed by touched keys, and by which columns.

It pays where a value of the column rules out a good part of the files (`prunes_well`). For a small change it also pays
where all of the table can be read on the driver: then only its touched rows go into a statement, without a scan.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.driver_read import readable, whole
from penstock.engine.read.pruning import prunable, prunes_well


class LargeSources:
    """The (source id, column) pairs that are worth collecting keys for, found out when asked for."""

    def __init__(self, snapshots: Mapping[str, Snapshot]) -> None:
        self._snapshots = snapshots
        self._known: dict[tuple[str, str], bool] = {}

    def __contains__(self, pair: object) -> bool:
        assert isinstance(pair, tuple)
        if pair not in self._known:
            source, column = pair
            snapshot = self._snapshots.get(source)
            self._known[pair] = snapshot is not None and _worth(snapshot, column)
        return self._known[pair]


def _worth(snapshot: Snapshot, column: str) -> bool:
    if prunes_well(snapshot, column):
        return True
    kind = next((each.dataType for each in snapshot.schema.fields if each.name.lower() == column.lower()), None)
    return kind is not None and prunable(kind) and readable(snapshot) and not whole(snapshot)
