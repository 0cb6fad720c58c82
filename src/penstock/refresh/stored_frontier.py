"""Where the stored rows of a stream table stand: one rule, which all readers use.

    the record of the newest commit     the rows were computed to this frontier
    the catalog's frontier              replaces it if it was written for that very commit and does not lie before it:
                                        refreshes since then found no data, and moved the frontier in the catalog alone

A storage that was put back from a backup can reach the catalog's commit version a second time, with other rows. The
catalog's frontier then lies before the record's, and the record wins.
"""

from __future__ import annotations

from penstock.catalog.model import StreamTableMeta
from penstock.engine.write.storage_state import StorageState
from penstock.names import Frontier


def stored_frontier(meta: StreamTableMeta, state: StorageState) -> Frontier | None:
    """The versions at which the stored rows equal the query; None if no commit of ours is known."""
    if state.record is None:
        return None
    stored = state.record.frontier
    later = meta.frontier
    if later is not None and meta.frontier_version == state.record_version and stored <= later:
        return later
    return stored
