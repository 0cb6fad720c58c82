"""How the files of a table lie, and whether laying them out anew would pay: decided from the log alone.

    touched   the share of the files whose ranges hold one key of the clustering columns, by a sample of keys
    expected  the same share if the table were sorted by them into files of `file_size`

Merges spoil a layout: delta-rs writes what a scattered change touches into files that cover the whole range, and many
small commits leave many small files. Nothing here reads a row or starts a Spark job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read import pruning
from penstock.engine.read.pruning import prunable, share_touched
from penstock.engine.write.table_properties import DELETION_VECTORS, TARGET_FILE_SIZE

SMALLEST_FILE = 1024 * 1024
"""Below this a file costs more to open than it spares: a merge into one of four times this size takes some 0.15 s."""

FILES = 128
"""The fewest files for a table that is large enough, so that one key touches little of it."""

CROWD = 8
"""Below this many files, their number alone is no reason."""

SPOILED = 3.0
"""A key may touch this many times the files that it would touch in a sorted table."""

WORTH_TOUCHED = 0.125
"""A smaller share of the files than this is not worth a rewrite."""

HIDDEN_ROWS = 0.1
"""From this share of rows that deletion vectors hide, they are purged."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a table's files lie."""

    files: int
    bytes: int
    rows: int | None
    touched: float | None
    """The share of the files that one key touches; None if that is not known."""
    hidden_rows: int
    """Rows that are still in the files and that deletion vectors hide."""
    deletion_vectors: bool
    """The table writes deletion vectors, or has files with some."""


def file_layout(snapshot: Snapshot, columns: Sequence[str]) -> FileLayout:
    """How a table's files lie for keys of these columns."""
    return FileLayout(
        files=len(snapshot.files),
        bytes=snapshot.bytes,
        rows=snapshot.rows,
        touched=share_touched(snapshot, columns) if columns else None,
        hidden_rows=sum(file.deleted_rows for file in snapshot.files),
        deletion_vectors=snapshot.properties.get(DELETION_VECTORS, "false").lower() == "true"
        or any(file.deletion_vector for file in snapshot.files),
    )


def file_size(size: int) -> int:
    """How large the files of a table of this size should be.

    >>> [file_size(size) >> 20 for size in (1 << 20, 1 << 27, 1 << 40)]
    [1, 1, 32]
    """
    return min(TARGET_FILE_SIZE, max(SMALLEST_FILE, size // FILES))


def files_wanted(size: int) -> int:
    """How many files a table of this size should have."""
    return max(1, -(-size // file_size(size)))


def expected_share(size: int, columns: int) -> float | None:
    """The share of the files that one key would touch if the table were sorted: by one key, or by any of `columns`.

    Files sorted along several columns at once cut each of them into fewer pieces.

    >>> expected_share(1 << 30, 1), round(expected_share(1 << 30, 2), 2)
    (0.0078125, 0.09)
    """
    return files_wanted(size) ** (-1 / columns) if columns else None


def needs_optimizing(snapshot: Snapshot, columns: Sequence[str], along: int = 1) -> str:
    """Why the table should be laid out anew for keys of these columns; empty if it is laid out well.

    `along` is the number of columns that keys come by one at a time: 1 if a key has all of them.
    """
    held = file_layout(snapshot, columns)
    wanted = files_wanted(held.bytes)
    if held.rows is not None and held.hidden_rows > HIDDEN_ROWS * (held.rows + held.hidden_rows):
        return f"deletion vectors hide {held.hidden_rows:,} rows"
    if held.files >= CROWD and held.files > 2 * wanted:
        return f"{held.files} files where {wanted} would do"
    if held.touched is None or (held.rows is not None and held.rows < pruning.WORTH_ROWS):
        return ""
    expected = expected_share(held.bytes, along) or 1.0
    if held.touched > WORTH_TOUCHED and held.touched >= SPOILED * expected:
        return f"a key touches {held.touched:.0%} of {_counted(held.files)}, sorted it would touch {expected:.0%}"
    return ""


def clusterable(snapshot: Snapshot) -> tuple[str, ...]:
    """The columns whose values separate files: of a type to trust, not the partitioning, not known constant."""
    return tuple(
        field.name
        for field in snapshot.schema.fields
        if prunable(field.dataType)
        and field.name not in snapshot.partition_columns
        and not _constant(snapshot, field.name)
    )


def _constant(snapshot: Snapshot, name: str) -> bool:
    values = {repr(bound) for file in snapshot.files for bound in (file.stats.low.get(name), file.stats.high.get(name))}
    return bool(snapshot.files) and len(values) == 1


def _counted(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"
