"""Debezium's envelopes.

    c ↔ +I        d ↔ −D        u ↔ −U, +U        r → +I

One envelope is a whole update, so −U and +U must stand next to each other, and an update needs its before image. That a
row was read (r) and not created is lost as a record; `to_envelopes` writes c.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.notations.joined_updates import joined_updates
from penstock.changelog_types.notations.three_labels import ThreeLabels
from penstock.changes.wire.cdc_envelope import CdcEnvelope, CdcSource
from penstock.errors import NotConvertible

T = TypeVar("T")
LETTERS = ThreeLabels("a Debezium op", ("c", "d", "u"), {"r": "c"})


def to_records(envelope: CdcEnvelope[T]) -> tuple[ChangelogRecord[T], ...]:
    """The records of an envelope: one, or two for an update."""
    before, after = envelope.before, envelope.after
    if envelope.op == "u" and before is None:
        raise NotConvertible(
            what="an update without its before image",
            target="records",
            why="the row that goes is not known",
            fix="Have the source send before images (in PostgreSQL: REPLICA IDENTITY FULL).",
        )
    if before is not None and after is not None:
        return ChangelogRecord.retraction(before, after, envelope.ts_ms)
    if after is not None:
        return (ChangelogRecord.insert(after, envelope.ts_ms),)
    assert before is not None
    return (ChangelogRecord.delete(before, envelope.ts_ms),)


def to_envelopes(records: Iterable[ChangelogRecord[T]], source: CdcSource) -> list[CdcEnvelope[T]]:
    """The envelopes of records, numbered from the source's sequence on; a weight of n is n envelopes."""
    made: list[CdcEnvelope[T]] = []
    for gone, come in joined_updates(records):
        place = msgspec.structs.replace(source, sequence=source.sequence + len(made))
        if gone is None and come is not None:
            made.append(CdcEnvelope.insert(come.data, place, come.timestamp))
        elif gone is not None and come is None:
            made.append(CdcEnvelope.delete(gone.data, place, gone.timestamp))
        elif gone is not None and come is not None:
            made.append(CdcEnvelope.update(gone.data, come.data, place, come.timestamp))
    return made
