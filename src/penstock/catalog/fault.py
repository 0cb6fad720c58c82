"""Why a file cannot be used as a catalog, and how such a file is moved aside.

A file with a fault makes every command answer "run penstock repair". A file that is locked, out of reach or of a newer
Penstock has no fault. Penstock deletes nothing: a broken catalog stays beside the new one, whole, under another name.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final

from penstock.catalog.database import REPAIR
from penstock.catalog.open_catalog import CATALOG_FILE, is_address
from penstock.catalog.open_readonly import open_readonly
from penstock.catalog.sqlite import SqliteCatalog, fix_of, make_schema
from penstock.catalog.upgrade import latest, stored_version
from penstock.errors import NOT_WRITABLE, CatalogError, ReadOnly

_BESIDE: Final = ("-wal", "-shm", "-journal")
_ALL: Final = 2**31

_PATIENCE: Final = 2.0
"""Seconds to wait for a process that is writing."""


def fault(place: str | Path) -> str | None:
    """Why the catalog cannot be used; None if it can, if there is none, and if it is on a server."""
    path = Path(place)
    if is_address(place) or not path.exists():
        return None
    if not path.is_file():
        return "it is not a file"
    if path.stat().st_size == 0:
        return "it is empty"
    try:
        with closing(open_readonly(path, _PATIENCE)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                return " ".join(str(verdict).split())
            version = _version(connection)
            if version is None:
                # Under a name that a user chose, another program's database is likelier than a broken catalog.
                return "it is a database, but no catalog" if path.name == CATALOG_FILE else None
            if why := _lack(connection, version):
                return why
    except sqlite3.Error as error:
        return str(error) if fix_of(error) == REPAIR else None
    # One of an older Penstock can be read only after its upgrade.
    return _unreadable(path) if version == latest() else None


def schema_of(path: Path, *, must_exist: bool) -> int:
    """The schema of a catalog without a fault, 0 if it has none yet; raises what opening it would raise."""
    try:
        with closing(open_readonly(path, _PATIENCE)) as connection:
            return stored_version(connection, _shape(connection), str(path), must_exist=must_exist)
    except sqlite3.Error as error:
        raise CatalogError(why=f"{path}: {error}", fix=fix_of(error)) from error


def _version(connection: sqlite3.Connection) -> int | None:
    """The schema, 0 for that of an empty database; None if the database is not a catalog."""
    tables = _shape(connection)
    if not tables:
        return 0
    if "number" not in tables.get("meta", ()):
        return None
    found = connection.execute("SELECT number FROM meta WHERE key = 'schema_version'").fetchone()
    return None if found is None else int(found[0])


def _lack(connection: sqlite3.Connection, version: int) -> str | None:
    """The first table or column of that schema version that the database lacks; None if it lacks none."""
    there = _shape(connection)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as whole:
        make_schema(whole, version)
        for table, columns in _shape(whole).items():
            if table not in there:
                return f"its table {table} is missing"
            if lacking := columns - there[table]:
                return f"its table {table} has no column {min(lacking)}"
    return None


def _shape(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """The columns of every table."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {each: {row[1] for row in connection.execute(f'PRAGMA table_info("{each}")')} for each in tables}


def _unreadable(path: Path) -> str | None:
    """Why Penstock cannot read a value that the catalog holds; None if it can read all."""
    try:
        with SqliteCatalog(path, read_only=True) as catalog:
            for read in (catalog.get_all, catalog.all_dependencies, catalog.known_tables, catalog.subscribers):
                read()
            for read_newest in (catalog.recent_history, catalog.recent_alerts):
                read_newest(max_rows=_ALL)
    except CatalogError as error:
        return str(error.facts["why"]) if error.facts["fix"] == REPAIR else None
    return None


def set_aside(place: str | Path) -> Path:
    """Give a broken catalog another name, with what belongs to it; returns where it lies now."""
    path = Path(place)
    names = (path.with_name(f"{path.stem}.broken-{number}{path.suffix}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    try:
        # The file itself comes last: until then it is the broken catalog, whatever ends this.
        for ending in (*_BESIDE, ""):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.rename(aside.with_name(aside.name + ending))
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise ReadOnly(place=path.parent) from error
    return aside
