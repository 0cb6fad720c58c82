"""Which record a copy applies next, and when it stops (REDDB-X4, 18, 19, 88)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changelog_types.apply_state import ApplyState, ApplyStep, payload_hash
from penstock.changelog_types.change_record import ChangeRecord
from penstock.changelog_types.entity import Entity
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.errors import LsnGap, PayloadDiverged, Retry, StaleTerm


def record(lsn: int, value: int = 0, term: int = 1) -> ChangeRecord:
    entity = Entity(lsn, {"v": value})
    return ChangeRecord.from_entity(lsn, 0, ChangeOperation.INSERT, "t", "row", entity).with_term(term)


def after(*records: ChangeRecord) -> ApplyState:
    state = ApplyState()
    for each in records:
        _, state = state.step(each)
    return state


def test_the_first_record_anchors_wherever_it_is() -> None:
    step, state = ApplyState().step(record(500, term=3))
    assert step is ApplyStep.ANCHOR
    assert step.applies
    assert (state.last_lsn, state.term) == (500, 3)


def test_lsn_zero_is_a_position_too() -> None:
    step, state = after(record(0)).step(record(1))
    assert (step, state.last_lsn) == (ApplyStep.NEXT, 1)


def test_the_next_one_is_applied() -> None:
    step, state = after(record(5)).step(record(6, value=9))
    assert step is ApplyStep.NEXT
    assert step.applies
    assert state == ApplyState(1, 6, payload_hash(record(6, value=9)))


def test_the_same_record_twice_is_harmless() -> None:
    state = after(record(5), record(6))
    step, again = state.step(record(6))
    assert step is ApplyStep.IDEMPOTENT
    assert not step.applies
    assert again == state


def test_another_payload_under_the_same_lsn_stops() -> None:
    with pytest.raises(PayloadDiverged) as caught:
        after(record(5)).step(record(5, value=1))
    assert caught.value.facts["lsn"] == 5
    assert caught.value.retry is Retry.REINITIALIZE


def test_an_older_record_is_skipped() -> None:
    state = after(record(5), record(6))
    step, again = state.step(record(5, value=1))
    assert step is ApplyStep.SKIP
    assert not step.applies
    assert again == state


def test_a_gap_stops_and_says_where() -> None:
    with pytest.raises(LsnGap) as caught:
        after(record(5)).step(record(7))
    assert caught.value.text == "LSN gap on apply: last=5 next=7"


@pytest.mark.parametrize("lsn", [4, 5, 6, 7])
def test_a_sender_that_was_replaced_is_fenced_whatever_it_sends(lsn: int) -> None:
    with pytest.raises(StaleTerm):
        after(record(5, term=2)).step(record(lsn, term=1))


@pytest.mark.parametrize(("lsn", "step"), [(4, ApplyStep.SKIP), (5, ApplyStep.IDEMPOTENT), (6, ApplyStep.NEXT)])
def test_a_newer_term_begins_with_any_record_of_it(lsn: int, step: ApplyStep) -> None:
    found, state = after(record(5, term=1)).step(record(lsn, term=2))
    assert (found, state.term) == (step, 2)
    with pytest.raises(StaleTerm):
        state.step(record(state.last_lsn or 0, term=1))


def test_an_error_leaves_the_state_as_it_was() -> None:
    state = after(record(5))
    for wrong in (record(7), record(5, value=1)):
        with pytest.raises((LsnGap, PayloadDiverged)):
            state.step(wrong)
    assert state.step(record(6))[0] is ApplyStep.NEXT


def test_the_payload_is_a_sha256_of_the_record_under_the_first_term() -> None:
    assert payload_hash(record(1, term=9)) == hashlib.sha256(record(1, term=1).encode()).hexdigest()


@dataclass
class Copy:
    """A copy of collections, kept by records alone."""

    rows: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    state: ApplyState = field(default_factory=ApplyState)

    def receive(self, each: ChangeRecord) -> None:
        step, self.state = self.state.step(each)
        if not step.applies:
            return
        kept = [row for row in self.rows.get(each.collection, []) if row[0] != each.entity_id]
        if each.refresh_records is not None:
            kept = list(enumerate(each.refresh_records))
        elif each.entity_bytes is not None:
            kept.append((each.entity_id, each.entity_bytes))
        self.rows[each.collection] = kept


@st.composite
def histories(draw: st.DrawFn) -> list[ChangeRecord]:
    records = []
    for lsn in range(1, draw(st.integers(1, 12)) + 1):
        collection = draw(st.sampled_from("ab"))
        if draw(st.booleans()):
            records.append(ChangeRecord.for_refresh(lsn, 0, collection, draw(st.lists(st.binary(max_size=3)))))
        else:
            operation = draw(st.sampled_from([ChangeOperation.INSERT, ChangeOperation.DELETE, ChangeOperation.UPDATE]))
            entity = Entity(draw(st.integers(0, 3)), {"v": lsn})
            records.append(ChangeRecord.from_entity(lsn, 0, operation, collection, "row", entity))
    return records


@given(histories(), st.data())
def test_records_sent_again_and_again_give_the_same_copy(history: list[ChangeRecord], data: st.DataObject) -> None:
    once, often = Copy(), Copy()
    for position, each in enumerate(history):
        once.receive(each)
        often.receive(each)
        # A sender that lost its place starts again somewhere before.
        for repeated in history[data.draw(st.integers(0, position)) : position + 1]:
            often.receive(ChangeRecord.decode(repeated.encode()))
    assert often.rows == once.rows
    assert often.state == once.state
