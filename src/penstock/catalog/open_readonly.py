"""A connection to a SQLite file that changes nothing, also where this user may not write to its folder."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def open_readonly(path: Path, patience: float) -> sqlite3.Connection:
    """A connection for one look; take a new one each time, because another user's writer may have come or gone."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _connected(address, patience)
    except sqlite3.OperationalError:
        # Without a writer there is no index of the log, and here none can be made. Then the log is empty, too, or
        # this must fail: the file alone would be an older state.
        log = Path(f"{path}-wal")
        if not path.is_file() or (log.exists() and log.stat().st_size):
            raise
        return _connected(f"{address}&immutable=1", patience)


def _connected(address: str, patience: float) -> sqlite3.Connection:
    # `mode=ro` neither creates the file nor takes a lock that a running scheduler would notice.
    connection = sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
