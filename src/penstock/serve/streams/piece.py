"""A commit in pieces that are small enough to be sent one after the other, encoded once for all clients.

    the events of a piece are the chosen ones of (begin, end]; pieces follow each other without a gap

A refresh with all rows is one event in several pieces: a client without the last of them does not have the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.event_json import Format, all_rows, row_events
from penstock.serve.streams.framing import SILENT, Framing

PIECE_BYTES: Final = 64 * 1024
"""Bytes that a connection buffers before its sender has to wait."""

ENCODED_AT_ONCE: Final = 256 * 1024
"""Bytes of rows that are encoded together, so that a slow client does not hold a whole commit in encoded form."""

LARGE_ROWS: Final = 1000
"""A thread encodes more rows than this, so that the event loop goes on."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to send, and where a reader stands after them."""

    begin: int
    end: int
    events: int
    data: bytes
    whole: bool = True
    """False for a part of all rows that is not the last."""

    @property
    def lost(self) -> int:
        """The first position that can be served without this piece."""
        return self.end if self.whole else self.begin + 1


def rows_of(changes: CommitChanges) -> int:
    """How many rows there are to encode."""
    return changes.events if changes.refreshed is None else int(changes.refreshed.num_rows)


def pieces_of(changes: CommitChanges, form: Format, framing: Framing) -> Iterator[Piece]:
    """The commit, encoded as far as it is asked for; nothing is encoded for who is sent nothing."""
    if framing is SILENT:
        if changes:
            begin = (changes.first_lsn if changes.refreshed is None else changes.last_lsn) - 1
            yield Piece(begin, changes.last_lsn, changes.events, b"")
        return
    if changes.refreshed is not None:
        yield from _snapshot(changes, form, framing)
        return
    at_once, rest = _rows_at_once(changes), changes
    while rest:
        part = rest.first(at_once)
        yield from _events(part, form, framing)
        if part is rest:
            return
        rest = rest.after(part.last_lsn)


def _events(changes: CommitChanges, form: Format, framing: Framing) -> Iterator[Piece]:
    lsns, bodies = row_events(changes, form)
    begin, done = changes.first_lsn - 1, 0
    for count in _portions(bodies):
        following = done + count
        # The commit ends behind events that were not chosen.
        end = lsns[following - 1] if following < len(lsns) else changes.last_lsn
        data = framing.changes(lsns[done:following], bodies[done:following])
        yield Piece(begin, end, count, data)
        begin, done = end, following


def _snapshot(changes: CommitChanges, form: Format, framing: Framing) -> Iterator[Piece]:
    assert changes.refreshed is not None
    lsn, done, every = changes.last_lsn, 0, changes.refreshed
    at_once = _rows_at_once(changes)
    for place in range(0, max(every.num_rows, 1), at_once):
        rows = all_rows(replace(changes, refreshed=every.slice(place, at_once)), form)
        taken = 0
        for count in _portions(rows) if rows else [0]:
            part, last = rows[taken : taken + count], done + count == every.num_rows
            data = framing.snapshot(lsn, part, first=done == 0, last=last)
            yield Piece(lsn - 1, lsn if last else lsn - 1, int(last), data, last)
            taken, done = taken + count, done + count


def _rows_at_once(changes: CommitChanges) -> int:
    return max(1, rows_of(changes) * ENCODED_AT_ONCE // max(changes.nbytes, 1))


def _portions(bodies: Sequence[bytes]) -> Iterator[int]:
    """How many bodies go together, one number after the other."""
    count = size = 0
    for body in bodies:
        if count and size + len(body) > PIECE_BYTES:
            yield count
            count = size = 0
        count, size = count + 1, size + len(body)
    if count:
        yield count
