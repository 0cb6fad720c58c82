"""How far a copy has applied the records of its origin, and what to do with the next one. Pure: it applies nothing.

| the record | then |
|---|---|
| is the first | apply it: it anchors the copy |
| has LSN last + 1 | apply it |
| has LSN last and the same payload | it was sent twice: nothing to do |
| has LSN last and another payload | PAYLOAD_DIVERGED: origin and copy differ, stop |
| has a lower LSN | skip it |
| has a higher LSN | LSN_GAP: something is missing, stop |
| has a lower term than one seen before | STALE_TERM: its sender was replaced, whatever its LSN |

The payload is compared by the SHA-256 of the encoded record without its term: a new sender may send again what the old
one has sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from penstock.changelog_types.change_record import DEFAULT_REPLICATION_TERM, ChangeRecord
from penstock.errors import LsnGap, PayloadDiverged, StaleTerm


class ApplyStep(StrEnum):
    """What to do with a record that is in order."""

    ANCHOR = "anchor"
    NEXT = "next"
    IDEMPOTENT = "idempotent"
    SKIP = "skip"

    @property
    def applies(self) -> bool:
        """True if the record changes the copy."""
        return self in (ApplyStep.ANCHOR, ApplyStep.NEXT)


@dataclass(frozen=True, slots=True)
class ApplyState:
    """Kept with the copy, and written in the same transaction as its rows."""

    term: int = 0
    last_lsn: int | None = None
    last_payload: str = ""
    """SHA-256 of the record at `last_lsn`, in hex."""

    def step(self, record: ChangeRecord) -> tuple[ApplyStep, ApplyState]:
        """What to do, and the state once it is done."""
        if record.term < self.term:
            raise StaleTerm(lsn=record.lsn, term=record.term, current=self.term)
        if self.last_lsn is None:
            return ApplyStep.ANCHOR, _after(record)
        if record.lsn == self.last_lsn + 1:
            return ApplyStep.NEXT, _after(record)
        if record.lsn > self.last_lsn:
            raise LsnGap(last=self.last_lsn, next=record.lsn)
        if record.lsn < self.last_lsn:
            return ApplyStep.SKIP, self._under(record.term)
        payload = payload_hash(record)
        if payload != self.last_payload:
            raise PayloadDiverged(lsn=record.lsn, collection=record.collection, held=self.last_payload, came=payload)
        return ApplyStep.IDEMPOTENT, self._under(record.term)

    def _under(self, term: int) -> ApplyState:
        return ApplyState(term, self.last_lsn, self.last_payload)


def payload_hash(record: ChangeRecord) -> str:
    """SHA-256 of the record without its term."""
    return sha256(record.with_term(DEFAULT_REPLICATION_TERM).encode()).hexdigest()


def _after(record: ChangeRecord) -> ApplyState:
    return ApplyState(record.term, record.lsn, payload_hash(record))
