"""The events of a commit as JSON, for clients of any language.

    json        {"lsn":7,"op":"update","version":3,"ts_ms":…,"before":{…},"after":{…}}
                insert has only after, delete only before, refresh has all rows in `rows`
    debezium    the envelope of `cdc_envelope.py`, whose source.sequence is the LSN

Events stand in the order of their positions, also where choosing rows has made another order of kinds.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Final, Literal

import pyarrow as pa

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.commit_lines import envelope_lines
from penstock.changes.wire.json_rows import json_rows

Format = Literal["json", "debezium"]
FORMS: Final[tuple[Format, ...]] = ("json", "debezium")


def row_events(changes: CommitChanges, form: Format) -> tuple[list[int], list[bytes]]:
    """Positions and events of a commit, row by row; not for one that put all rows anew."""
    lsns: list[int] = []
    bodies: list[bytes] = []
    for kind, was, now, places in changes.runs():
        numbers: list[int] = places.tolist()
        lsns += numbers
        if form == "json":
            bodies += _objects(kind, changes, numbers, was, now)
    if form == "debezium":
        return sorted(lsns), envelope_lines(changes)
    if any(left > right for left, right in pairwise(lsns)):
        order = sorted(range(len(lsns)), key=lsns.__getitem__)
        lsns, bodies = [lsns[place] for place in order], [bodies[place] for place in order]
    return lsns, bodies


def all_rows(changes: CommitChanges, form: Format) -> list[bytes]:
    """The rows of a commit that put all of them anew: as objects, or as envelopes of rows that were read."""
    assert changes.refreshed is not None
    return list(json_rows(changes.refreshed)) if form == "json" else envelope_lines(changes)


def refresh_event(changes: CommitChanges) -> bytes:
    """A commit that put all rows anew as one event."""
    return _head(changes, "refresh", changes.last_lsn) + b',"rows":[' + b",".join(all_rows(changes, "json")) + b"]}"


def stamp(changes: CommitChanges) -> int:
    """The moment that the rows stand for, or else that of the commit, in milliseconds since 1970."""
    return milliseconds(changes.data_timestamp or changes.committed_at)


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return int(moment.timestamp() * 1000)


def _objects(
    kind: str, changes: CommitChanges, lsns: Iterable[int], was: pa.Table | None, now: pa.Table | None
) -> list[bytes]:
    tail = _head(changes, kind, 0).split(b",", 1)[1]
    before = [b""] * _rows(was, now) if was is None else [b',"before":' + row for row in json_rows(was)]
    after = [b""] * _rows(was, now) if now is None else [b',"after":' + row for row in json_rows(now)]
    return [b'{"lsn":%d,%b%b%b}' % (lsn, tail, old, new) for lsn, old, new in zip(lsns, before, after, strict=True)]


def _head(changes: CommitChanges, kind: str, lsn: int) -> bytes:
    return b'{"lsn":%d,"op":"%b","version":%d,"ts_ms":%d' % (lsn, kind.encode(), changes.version, stamp(changes))


def _rows(was: pa.Table | None, now: pa.Table | None) -> int:
    return next(int(each.num_rows) for each in (was, now) if each is not None)
