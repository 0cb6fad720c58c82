"""The place of a warehouse: before anything else, opening compares the folder with the one of the last time.

    the same place                             go on
    elsewhere, and it still lies there too     a copy: it becomes a warehouse of its own
    elsewhere, and nowhere else                it was moved: the new place is recorded

All processes that open a catalog outside the warehouse share it, so a copy may not use the original's. A warehouse that
seems to have moved to another machine may be one folder with two paths, so the user has to say what it is. Every step
can be repeated: the next process that opens finishes what a killed one began, and several that open at once agree.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from penstock.catalog.identity_file import IDENTITY_FILE, read_identity, write_identity
from penstock.catalog.model import KnownKind, WarehouseIdentity
from penstock.catalog.open_catalog import is_address
from penstock.catalog.warehouse_folder import STORAGE_FOLDER, is_warehouse
from penstock.catalog.writer import CatalogWriter
from penstock.engine.run.adopt import adopt
from penstock.engine.run.workspace import Logs
from penstock.errors import CatalogUnusable
from penstock.places import is_written_out
from penstock.settings import without_password

_log = logging.getLogger("penstock.refresh")


@dataclass(frozen=True, slots=True)
class Opened:
    """A warehouse as it is being opened."""

    root: Path
    catalog: CatalogWriter
    catalog_place: str | Path
    logs: Logs
    now: datetime


def claim_place(opened: Opened) -> None:
    """Record the place of the warehouse; `CatalogUnusable` if the catalog is not for a warehouse here."""
    catalog, here = opened.catalog, str(opened.root)
    held, noted = catalog.identity(), read_identity(here)
    if held is not None and held == noted and held.place == here:
        return
    known = held or noted or WarehouseIdentity("", "", "")
    former = None if held is not None else _written_before(catalog)
    was = replace(known, place=known.place or former or here)
    former = former or was.place
    now = replace(was, id=was.id or uuid.uuid4().hex, place=here, host=socket.gethostname())
    # Without an id, a user has written it by hand: that word is final.
    said = noted is not None and not noted.id and noted.place == here
    copied = not said and not _is_here(was.place, here) and _holds(was)
    if _is_outside(opened.root, opened.catalog_place):
        _refuse_foreign(opened, held, noted, was, copied=copied, said=said)
    if catalog.read_only or not _is_writable(opened.root):
        # Looking is harmless, and nothing else can be done here.
        return
    if copied:
        _become_own(opened, was, replace(now, id=uuid.uuid4().hex, copy_of=was.place), former)
        return
    if former != here:
        adopt(opened.root, opened.logs, former, _written_out(catalog))
        _log.info("the warehouse was moved from %s to %s", former, here, extra={"event": "moved"})
    if held is None or held.place != here:
        catalog.record_owner(held, now, former)
    write_identity(here, catalog.identity() or now)


def _become_own(opened: Opened, original: WarehouseIdentity, proposed: WarehouseIdentity, former: str) -> None:
    copy = replace(proposed, id=opened.catalog.begin_copy(original, proposed))
    adopt(opened.root, opened.logs, former, _written_out(opened.catalog), copy.id)
    # Before the catalog: with one that lies elsewhere, the folder must say who is on the way.
    write_identity(opened.root, copy)
    opened.catalog.finish_copy(copy, former, now=opened.now)
    places = (copy.place, original.place)
    _log.warning("%s is a copy of %s: it is a warehouse of its own from here on", *places, extra={"event": "copied"})


def _is_here(place: str, here: str) -> bool:
    try:
        return os.path.samefile(place, here)
    except OSError:
        return False


def _holds(was: WarehouseIdentity) -> bool:
    """True if the warehouse still lies where it was opened last; reads its files, and writes none."""
    there = Path(was.place)
    noted = read_identity(there)
    if noted is not None and noted.id and was.id:
        return noted.id == was.id
    # One of an older Penstock does not say who it is.
    return is_warehouse(there)


def _is_outside(root: Path, place: str | Path) -> bool:
    """True if the catalog lies outside the warehouse."""
    return is_address(place) or not Path(place).resolve().is_relative_to(root)


def _refuse_foreign(
    opened: Opened,
    held: WarehouseIdentity | None,
    noted: WarehouseIdentity | None,
    was: WarehouseIdentity,
    *,
    copied: bool,
    said: bool,
) -> None:
    here, place = str(opened.root), without_password(str(opened.catalog_place))
    own, word = _own_catalog(here), _word(here)
    if held is None and not opened.catalog.get_all():
        # No warehouse owns it yet.
        return
    if noted is not None and held is not None and noted.id not in {"", held.id}:
        raise CatalogUnusable(place=place, why=f"it belongs to another warehouse, {held.place}", fix=own)
    if copied:
        raise CatalogUnusable(
            place=place,
            why=f"{here} is a copy of {was.place}, whose catalog it is",
            fix=f"{own} If {was.place} is the copy, say so: {word}.",
        )
    if not said and was.place != here and not _is_here(was.place, here) and was.host != socket.gethostname():
        raise CatalogUnusable(
            place=place,
            why=f"its warehouse lies at {was.place} on {was.host or 'a machine that is not named'}, and this is {here}",
            fix=f"If these are two paths of one folder, mount it under the same path here. If the warehouse was moved, "
            f"say so: {word}. If this is a copy: {own}",
        )


def refuse_broken_foreign(root: Path, place: str | Path) -> None:
    """CatalogUnusable if a broken catalog may be that of the warehouse of which this one is a copy."""
    here, noted = str(root), read_identity(root)
    if noted is None or _is_here(noted.place or here, here) or not _is_outside(root, place):
        return
    if _holds(noted) or noted.host != socket.gethostname():
        raise CatalogUnusable(
            place=place,
            why=f"it is broken, and may be the one of {noted.place}, from where {here} comes",
            fix=f"{_own_catalog(here)} If the warehouse was moved here, say so: {_word(here)}.",
        )


def _own_catalog(here: str) -> str:
    return (
        f'Give {here} a catalog of its own: set `catalog` in {here}/penstock.toml to another place (or to "", a file '
        "in the warehouse), then run `penstock repair`."
    )


def _word(here: str) -> str:
    """What a user does to say that the warehouse lies here, and nowhere else."""
    return f'write {{"place": "{here}"}} into {here}/{IDENTITY_FILE}'


def _is_writable(root: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=root):
            return True
    except OSError:
        return False


def _written_before(catalog: CatalogWriter) -> str | None:
    """Where a warehouse lay whose catalog an older Penstock wrote with whole paths; None if that cannot be seen."""
    for meta in catalog.get_all():
        folder = Path(meta.path)
        if len(folder.parents) > 2 and folder.parents[1].name == STORAGE_FOLDER:
            return str(folder.parents[2])
    for known in catalog.known_tables():
        if known.kind is KnownKind.TABLE and known.text == "MANAGED" and known.path is not None:
            parts = known.path.removeprefix("file:").rsplit("/tables/", 1)
            if len(parts) == 2:
                return "/" + parts[0].lstrip("/")
    return None


def _written_out(catalog: CatalogWriter) -> Callable[[str, str], bool]:
    names = {each.id: each.table_id for each in catalog.get_all()}
    named = {
        (names[each.stream_table_id], each.source_id)
        for each in catalog.all_dependencies()
        if each.stream_table_id in names and is_written_out(each.source_name)
    }
    return lambda table_id, source_id: (table_id, source_id) in named
