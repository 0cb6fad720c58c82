"""The warehouse that owns a catalog, in SQL: a first owner, a move, a copy that becomes a warehouse of its own.

Each step is one transaction and compares before it sets, so processes that open a warehouse at once agree, and the next
one finishes what a killed one began.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from penstock.catalog import rows
from penstock.catalog.database import Row, Statements
from penstock.catalog.model import WarehouseIdentity
from penstock.places import Places, lies_outside

COPIED: Final = "interrupted: the warehouse was copied meanwhile"
"""What the history of a copy says of a refresh that ran in the original when it was copied."""


def record_owner(
    db: Statements, before: WarehouseIdentity | None, after: WarehouseIdentity, former: str | None
) -> None:
    """Record the warehouse that owns this catalog, unless another process has recorded one since `before`."""
    row = _row(db)
    if (None if row is None else rows.read_identity(row)) != before:
        return
    _write(db, after)
    _make_relative(db, former)


def begin_copy(db: Statements, original: WarehouseIdentity, copy: WarehouseIdentity) -> str:
    """The id that the copy at a place is to have: the proposed one, or that of an attempt which was interrupted."""
    row = _row(db)
    if row is not None and row["becoming"] is not None and row["becoming_place"] == copy.place:
        return str(row["becoming"])
    _write(db, original if row is None else rows.read_identity(row), copy)
    return copy.id


def finish_copy(db: Statements, copy: WarehouseIdentity, former: str, now: datetime) -> None:
    """Drop what belongs to the original; does nothing if the copy is a warehouse of its own already."""
    row = _row(db)
    if row is None or row["becoming"] != copy.id:
        return
    _make_relative(db, former)
    db.execute("UPDATE leases SET holder = NULL")
    db.execute(
        "UPDATE refresh_history SET status = 'FAILED', ended_at = ?, error_message = ? WHERE status = 'RUNNING'",
        (rows.moment(now), COPIED),
    )
    db.execute("DELETE FROM subscriptions")
    for known in db.execute("SELECT * FROM known_tables WHERE create_text = 'MANAGED' AND path IS NOT NULL").fetchall():
        # Its files are the original's: they must not go with the copy's name for them.
        if lies_outside(known["path"]):
            db.execute(
                "UPDATE known_tables SET create_text = NULL WHERE schema_name = ? AND table_name = ?",
                (known["schema_name"], known["table_name"]),
            )
    _write(db, copy)


def _row(db: Statements) -> Row | None:
    row: Row | None = db.execute("SELECT * FROM warehouse").fetchone()
    return row


def _write(db: Statements, held: WarehouseIdentity, becoming: WarehouseIdentity | None = None) -> None:
    db.execute("DELETE FROM warehouse")
    values: tuple[Any, ...] = (held.id, held.place, held.host, held.copy_of)
    values += (None, None) if becoming is None else (becoming.id, becoming.place)
    columns = "only_row, id, place, host, copy_of, becoming, becoming_place"
    db.execute(f"INSERT INTO warehouse ({columns}) VALUES (1, ?, ?, ?, ?, ?, ?)", values)


def _make_relative(db: Statements, former: str | None) -> None:
    """Bring paths that an older Penstock wrote down in full into the form in which they can move."""
    places = Places(former)
    for each in db.execute("SELECT id, path FROM stream_tables").fetchall():
        db.execute("UPDATE stream_tables SET path = ? WHERE id = ?", (places.kept(each["path"]), each["id"]))
    for each in db.execute("SELECT * FROM dependencies WHERE source_path IS NOT NULL").fetchall():
        kept = rows.kept_source(each["source_name"], each["source_path"], places)
        where = "WHERE stream_table_id = ? AND source_id = ?"
        db.execute(
            f"UPDATE dependencies SET source_path = ? {where}", (kept, each["stream_table_id"], each["source_id"])
        )
    for each in db.execute("SELECT * FROM known_tables WHERE path IS NOT NULL").fetchall():
        db.execute(
            "UPDATE known_tables SET path = ? WHERE schema_name = ? AND table_name = ?",
            (places.kept(each["path"]), each["schema_name"], each["table_name"]),
        )
