"""The events of a commit as JSON, one object per line.

    changelog    {"_lsn":7,"_op":"+I","_weight":1,…columns}                     an update is two lines, -U and +U
    envelopes    {"op":"c","ts_ms":…,"source":{…,"sequence":7},"after":{…}}     an update is one line, with both rows

All rows anew have `_op` r and op r, and all of them stand at one position.
"""

from __future__ import annotations

from operator import itemgetter

from penstock.changes.wire.cdc_envelope import CdcSource
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.changes.wire.envelope_batch import envelopes
from penstock.changes.wire.json_rows import json_rows
from penstock.names import TableName

SOURCE = "penstock"
"""The connector that envelopes name as their origin."""


def changelog_lines(changes: CommitChanges) -> list[bytes]:
    """The changelog's rows, as `CommitChanges.arrow` has them."""
    return list(json_rows(changes.arrow()))


def envelope_lines(changes: CommitChanges) -> list[bytes]:
    """Debezium's envelopes; `sequence` is the position, `ts_ms` the moment that the rows stand for."""
    table = TableName.parse(changes.table)
    source = CdcSource(SOURCE, table.schema, table.table)
    stamp = int((changes.data_timestamp or changes.committed_at).timestamp() * 1000)
    lines: list[tuple[int, bytes]] = []
    for kind, was, now, lsns in changes.runs():
        fresh = kind == "refresh"
        places = [changes.last_lsn] * now.num_rows if fresh and now is not None else lsns.tolist()
        written = envelopes(source, stamp, before=was, after=now, snapshot=fresh, sequences=places)
        lines += zip(places, written, strict=True)
    # An update that is seen as a row that goes or comes keeps its place among the updates.
    return [line for _, line in sorted(lines, key=itemgetter(0))]
