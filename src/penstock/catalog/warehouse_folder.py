"""Which folder can be a warehouse, and which is one.

A warehouse is a folder of this machine, given by its path. An address (`s3a://…`, `file:///…`) is refused, because the
file system would take it for the name of a folder here. Every function that takes the path of a warehouse asks this
module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from penstock.catalog.address import split_address
from penstock.catalog.identity_file import IDENTITY_FILE, read_identity
from penstock.catalog.model import StreamTableMeta
from penstock.catalog.open_catalog import CATALOG_FILE
from penstock.errors import WarehouseUnusable
from penstock.names import TableName
from penstock.settings import FILE_NAME

STORAGE_FOLDER: Final = "stream_tables"
"""Where the stream tables' own Delta tables lie inside the warehouse."""

TABLES_FOLDER: Final = "tables"
"""Where the plain tables lie whose files are Spark's own."""


def warehouse_folder(path: str | Path) -> Path:
    """The folder that was named, there or not; WarehouseUnusable if no warehouse could be in it."""
    if isinstance(path, str) and not path.strip():
        raise WarehouseUnusable(path=repr(path), why="it names no folder", fix="Give a path; . is this folder.")
    if address := split_address(path):
        scheme, place = address
        if scheme == "file":
            raise WarehouseUnusable(path=path, why="it is written as an address", fix=f"Write it as {unquote(place)}")
        why = f"only folders of this machine can be, and {scheme}: is the address of a store"
        raise WarehouseUnusable(path=path, why=why, fix="Give the path of a folder.")
    root = Path(path).absolute()
    if code := re.search("%[0-9A-Fa-f]{2}", str(root)):
        # As in an address: delta-rs would look for the files in a folder of another name.
        why = f"{code[0]} in its path would be read as another character"
        raise WarehouseUnusable(path=root, why=why, fix="Choose a folder without such a code in its name.")
    return root


@contextmanager
def made(root: Path) -> Iterator[None]:
    """Make the folder if it is not there; if the block then fails, remove the empty folders that this made."""
    missing = [each for each in (root, *root.parents) if not each.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WarehouseUnusable(path=root, why=error.strerror or error, fix="Choose another folder.") from error
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for each in missing:
                each.rmdir()
        raise


def require_warehouse(path: Path) -> None:
    """WarehouseUnusable unless the folder is a warehouse: a command must not turn another folder into one."""
    warehouse_folder(path)
    fix = f"Create one with: penstock init {path}, or name another with -w or PENSTOCK_WAREHOUSE."
    if not path.is_dir():
        why = "it is not a folder" if path.exists() else "there is no such folder"
        raise WarehouseUnusable(path=path, why=why, fix=fix)
    if not is_warehouse(path):
        raise WarehouseUnusable(path=path, why="it is not a Penstock warehouse", fix=fix)


def is_warehouse(path: Path) -> bool:
    """True if the folder holds settings, a catalog or stream tables of Penstock, or says that it is a warehouse."""
    files = (FILE_NAME, CATALOG_FILE, IDENTITY_FILE)
    return any((path / name).exists() for name in files) or holds_stream_tables(path)


def lost_stream_tables(root: Path, known: Iterable[StreamTableMeta]) -> list[TableName]:
    """The stream tables whose rows lie in the folder and that its catalog does not know; reads folders, no file."""
    held = list(known)
    names, folders = {each.name for each in held}, {Path(each.path).name for each in held}
    found = set()
    for log in (root / STORAGE_FOLDER).glob("*/*/_delta_log"):
        name = TableName(log.parent.parent.name, log.parent.name.rpartition("-")[0])
        # Beside the one of its name it is what a killed CREATE or DROP has left.
        if log.parent.name not in folders and name not in names:
            found.add(name)
    return sorted(found)


def had_catalog(path: Path) -> bool:
    """True if a catalog knew what lies in the folder: stream tables, or plain tables of what was a warehouse before."""
    if holds_stream_tables(path):
        return True
    tables = path / TABLES_FOLDER
    found = (log for depth in ("*", "*/*") for log in tables.glob(f"{depth}/_delta_log"))
    return read_identity(path) is not None and next(found, None) is not None


def holds_stream_tables(path: Path) -> bool:
    """True if there is the storage of a stream table in the folder, whatever the catalog says."""
    return next((path / STORAGE_FOLDER).glob("*/*/_delta_log"), None) is not None
