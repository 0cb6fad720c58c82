"""A commit in pieces that are small enough to be sent one after the other, encoded once for all clients.

    the events of a piece are those chosen of (begin, end]; pieces follow each other without a hole

All rows at once are one event in several pieces: whoever has not got the last of them has not got the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.changes.commit_changes import CommitChanges
from penstock.changes.event_json import Format, all_rows, row_events
from penstock.serve.framing import Framing

PIECE_BYTES: Final = 64 * 1024
"""What a connection holds back before it lets its sender wait."""


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


def pieces_of(changes: CommitChanges, form: Format, framing: Framing) -> list[Piece]:
    """The commit, encoded."""
    if changes.refreshed is not None:
        return _snapshot(changes, form, framing)
    lsns, bodies = row_events(changes, form)
    pieces: list[Piece] = []
    begin, done = changes.first_lsn - 1, 0
    for count in _portions(bodies):
        following = done + count
        # The commit ends behind events that were not chosen.
        end = lsns[following - 1] if following < len(lsns) else changes.last_lsn
        data = framing.changes(lsns[done:following], bodies[done:following])
        pieces.append(Piece(begin, end, count, data))
        begin, done = end, following
    return pieces


def _snapshot(changes: CommitChanges, form: Format, framing: Framing) -> list[Piece]:
    rows = all_rows(changes, form)
    lsn, pieces, done = changes.last_lsn, [], 0
    for count in _portions(rows) if rows else [0]:
        part, last = rows[done : done + count], done + count == len(rows)
        data = framing.snapshot(lsn, part, first=done == 0, last=last)
        pieces.append(Piece(lsn - 1, lsn if last else lsn - 1, int(last), data, last))
        done += count
    return pieces


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
