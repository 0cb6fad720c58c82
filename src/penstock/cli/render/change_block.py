"""One commit of a changelog as people read it: a line of facts, then its rows under marks.

    +  a row came        −  a row went        ~  a row changed, old → new where they differ        =  a row of all rows

A long commit is cut, with a count of what is left. Changes that are too wide for a table are shown one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from penstock.cli.render.durations import format_moment
from penstock.cli.render.tables import as_text, cell, fits, is_numeric, print_fields, table

if TYPE_CHECKING:
    from penstock.changes.wire.commit_changes import CommitChanges

_MARKS = {"insert": ("+", "green"), "delete": ("−", "red"), "update": ("~", "yellow"), "refresh": ("=", "cyan")}


@dataclass(frozen=True, slots=True)
class _Change:
    """One event: the row, and what it was before if it changed."""

    kind: str
    row: tuple[Any, ...]
    was: tuple[Any, ...] | None = None

    @property
    def mark(self) -> Text:
        sign, colour = _MARKS[self.kind]
        return Text(sign, style=f"bold {colour}")

    def cells(self) -> list[Text]:
        if self.was is None:
            return [cell(value) for value in self.row]
        return [_compared(old, new) for old, new in zip(self.was, self.row, strict=True)]


def print_block(out: Console, changes: CommitChanges, limit: int) -> None:
    """Print a commit with at most `limit` of its changes; 0 is all."""
    out.print(_facts(changes))
    columns = changes.schema.names
    events = _count(changes)
    first = list(_first_changes(changes, min(limit, events) if limit else events))
    _print_changes(out, columns, first)
    if left := events - len(first):
        out.print(f"… and {left} more", style="dim")
    out.print()


def counts(changes: CommitChanges) -> tuple[int, int, int]:
    """Rows that came, went and changed. A commit of all rows says nothing of that, so it counts none."""
    return changes.inserts.num_rows, changes.deletes.num_rows, changes.now.num_rows


def tally(came: int, went: int, changed: int) -> str:
    """The three counts with their marks.

    >>> tally(2, 0, 1)
    '+2 −0 ~1'
    """
    return f"+{came} −{went} ~{changed}"


def _facts(changes: CommitChanges) -> Text:
    first, last = changes.first_lsn, changes.last_lsn
    facts = Text.assemble((format_moment(changes.committed_at), "bold"))
    facts.append(f"  version {changes.version}  LSN {first}" + (f"–{last}" if last > first else "") + "  ")
    if changes.refreshed is not None:
        rows = changes.refreshed.num_rows
        return facts.append(f"all {rows} rows" if rows != 1 else "the only row", style="cyan")
    words = tally(*counts(changes)).split()
    coloured = [(word, colour) for (_, colour), word in zip(_MARKS.values(), words, strict=False)]
    return facts.append(Text(" ").join(Text(word, style if word[1:] != "0" else "dim") for word, style in coloured))


def _count(changes: CommitChanges) -> int:
    return changes.refreshed.num_rows if changes.refreshed is not None else changes.events


def _first_changes(changes: CommitChanges, limit: int) -> Iterator[_Change]:
    """The first changes, in the order of their positions."""
    for kind, was, now, _ in changes.runs():
        rows = now if now is not None else was
        assert rows is not None
        part = _rows(rows.slice(0, limit))
        before = _rows(was.slice(0, limit)) if was is not None and now is not None else [None] * len(part)
        limit -= len(part)
        for row, old in zip(part, before, strict=True):
            yield _Change(kind, row, old)


def _rows(rows: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _print_changes(out: Console, columns: Sequence[str], changes: Sequence[_Change]) -> None:
    cells = [change.cells() for change in changes]
    widths = [max([len(name), *(row[at].cell_len for row in cells)]) for at, name in enumerate(columns)]
    if fits(out, [1, *widths]):
        right = [is_numeric(change.row[at] for change in changes) for at in range(len(columns))]
        titles = [("", "keep"), *((name, "right" if right[at] else "") for at, name in enumerate(columns))]
        out.print(table(titles, ([change.mark, *row] for change, row in zip(changes, cells, strict=True))))
        return
    label = min(max(map(len, columns)), out.width // 3)
    for change, row in zip(changes, cells, strict=True):
        out.print(change.mark)
        print_fields(out, list(zip(columns, row, strict=True)), label)


def _compared(old: Any, new: Any) -> Text:
    """A cell of a row that changed; `as_text` decides, so NaN did not change and 1.0 became 1.00."""
    if as_text(old) == as_text(new):
        return cell(new)
    return Text.assemble((as_text(old), "red"), (" → ", "dim"), (as_text(new), "bold green"))
