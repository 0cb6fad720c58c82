"""The results of stream table statements as tables, like those of the commands that mean the same.

They have fewer columns than the result itself, so that they fit a page; `--json` has all of them. A long value folds
under itself, so that the table stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.render.durations import format_duration, format_moment
from penstock.graph.lag import parse_target_lag

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, Any]
Column = tuple[str, str, Callable[[Row], Any]]


def _column(title: str, name: str, manner: str = "") -> Column:
    return title, manner, lambda row: "" if row[name] is None else row[name]


def _lag(title: str, name: str) -> Column:
    def pick(row: Row) -> str:
        lag = None if row[name] is None else parse_target_lag(row[name])
        return format_duration(lag, missing=row[name] or "–")

    return title, "right", pick


def _why(row: Row) -> str:
    from penstock.compile.reasons import without_link

    return without_link(row["reason"] or "")


def _took(row: Row) -> str:
    return format_duration(row["seconds"], missing="…")


def _mode(row: Row) -> str:
    asked, really = row["refresh_mode"], row["effective_mode"]
    return str(asked if really in {None, asked} else f"{asked} → {really}")


def _share(row: Row) -> str:
    before, after = row["touched_before"], row["touched_after"]
    return "" if before is None or after is None else f"{before:.0%} → {after:.0%}"


_COLUMNS: Final[Mapping[str, Sequence[Column]]] = {
    "show": (
        _column("name", "name"),
        _column("status", "status", "keep"),
        ("mode", "", _mode),
        _lag("lag", "current_lag"),
        _lag("target", "target_lag"),
        ("last refresh (UTC)", "keep", lambda row: format_moment(row["last_refresh"])),
        _column("errors", "errors", "right"),
    ),
    "history": (
        ("started (UTC)", "keep", lambda row: format_moment(row["started_at"])),
        _column("action", "action", "keep"),
        _column("status", "status", "keep"),
        _column("+", "rows_inserted", "right"),
        _column("−", "rows_deleted", "right"),
        _column("read", "rows_read", "right"),
        ("took", "right", _took),
        ("reason", "", _why),
    ),
    "refresh": (
        _column("name", "name"),
        _column("action", "action", "keep"),
        _column("+rows", "rows_inserted", "right"),
        _column("−rows", "rows_deleted", "right"),
        _column("version", "version", "right"),
        ("took", "right", _took),
        ("reason", "", _why),
    ),
    "optimize": (
        _column("name", "name"),
        _column("done", "done"),
        ("files", "", lambda row: f"{row['files_before']} → {row['files_after']}"),
        ("touched", "", _share),
        ("took", "right", _took),
        ("reason", "", _why),
    ),
}


def statement_table(kind: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table | None:
    """The result of a statement as a table; None if it is printed as any other rows are."""
    if kind not in _COLUMNS or not rows:
        return None
    from penstock.cli.render.tables import table

    named = [dict(zip(columns, row, strict=True)) for row in rows]
    chosen = _COLUMNS[kind]
    return table(
        [(title, manner) for title, manner, _ in chosen], [[pick(row) for *_, pick in chosen] for row in named]
    )
