"""delta-rs handles on storages, kept between refreshes and lent to one refresh at a time.

Opening a table replays its log since the newest checkpoint; a kept handle reads only what came since. It is used only
while the log is the very one that it was made from: the commit it stood at is the same file, and its table the same.
"""

from __future__ import annotations

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_storage import Stamp
from penstock.recently_used import RecentlyUsed

HANDLES_KEPT = 64


class Handles:
    """Idle handles, of which the most recently used are kept."""

    def __init__(self) -> None:
        self._held: RecentlyUsed[str, tuple[DeltaTable, Stamp | None]] = RecentlyUsed(HANDLES_KEPT)

    def take(self, log: DeltaLog) -> DeltaTable | None:
        """The handle on a log's table, brought to its newest version; None if there is none that can be trusted."""
        held = self._held.pop(log.root)
        if held is None:
            return None
        handle, stamp = held
        if stamp is None or log.stamp(handle.version()) != stamp:
            return None
        try:
            handle.update_incremental()
            return handle if str(handle.metadata().id) == log.snapshot().table_id else None
        except (DeltaError, OSError):
            return None
        except BaseException as error:
            # A panic in Rust is no Exception, and no reason not to open the table anew.
            if type(error).__name__ != "PanicException":
                raise
            return None

    def give(self, log: DeltaLog, handle: DeltaTable) -> None:
        """Put a handle back that is idle again."""
        self._held.put(log.root, (handle, log.stamp(handle.version())))
