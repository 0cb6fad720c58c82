"""Whether a source is there: its newest version can be rebuilt from its log, and has columns.

If the log is missing, or parts of it are away, the source counts as missing, and the stored rows stay. So does a table
without columns, which is what Spark leaves when it registers a Delta table at an empty place.
"""

from __future__ import annotations

from penstock.engine.delta.delta_log import DeltaLog
from penstock.errors import FrontierLost, SourceMissing


def require_readable(log: DeltaLog) -> None:
    """SourceMissing if the log is not that of a table as it is now."""
    try:
        newest = log.snapshot()
    except FrontierLost as gap:
        raise SourceMissing(source=log.root, why=f"parts of its Delta log are away: {gap.text}") from gap
    if not newest.schema.fields:
        raise SourceMissing(
            source=log.root,
            why="an empty table without columns is in its place, as is left where a table is registered without its "
            f"files; remove {log.root}/_delta_log, then move the files of the source back",
        )
