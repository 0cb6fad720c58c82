"""The ring against a plain list, through random histories (REDDB-50 to 76)."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.changes.ring.batch import Batch
from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.cdc_stats import CdcStats
from penstock.changes.ring.kv_change import KvChange
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run
from penstock.changes.wire.change_operation import ChangeOperation

OPERATIONS = st.sampled_from([ChangeOperation.INSERT, ChangeOperation.UPDATE, ChangeOperation.DELETE])
COLLECTIONS = st.sampled_from(["a", "b"])
IDS = st.integers(0, 2**64 - 1)

Row = tuple[int, int, str, str, int]


def as_row(event: ChangeEvent) -> Row:
    return event.lsn, event.timestamp, event.operation.value, event.collection, event.entity_id


class RingAndList(RuleBasedStateMachine):
    """Whatever is emitted, polled or restored: ring and list tell the same."""

    @initialize(max_size=st.integers(0, 12), sweep_first=st.booleans())
    def begin(self, max_size: int, sweep_first: bool) -> None:
        self.now = 0
        self.max_size = max_size
        self.ring = CdcBuffer(max_size, clock=self.tick)
        self.every: list[Row] = []
        self.current = 0
        if sweep_first:
            # Near the point where evicted entries are swept from the lists.
            for number in range(1020 + max_size):
                self.emit(ChangeOperation.INSERT, "a", number)

    def tick(self) -> int:
        self.now += 1
        return self.now

    def note(self, operation: ChangeOperation, collection: str, ids: list[int], at: int) -> None:
        for entity_id in ids:
            self.current += 1
            self.every.append((self.current, at, operation.value, collection, entity_id))

    @property
    def held(self) -> list[Row]:
        return self.every[-self.max_size :] if self.max_size else []

    @rule(operation=OPERATIONS, collection=COLLECTIONS, entity_id=IDS)
    def emit(self, operation: ChangeOperation, collection: str, entity_id: int) -> None:
        assert self.ring.emit(operation, collection, entity_id, "row") == self.current + 1
        self.note(operation, collection, [entity_id], self.now)

    @rule(operation=OPERATIONS, collection=COLLECTIONS, ids=st.lists(IDS, max_size=20))
    def emit_batch(self, operation: ChangeOperation, collection: str, ids: list[int]) -> None:
        taken = self.ring.emit_batch_same_collection(operation, collection, "row", ids)
        assert list(taken) == [self.current + 1 + number for number in range(len(ids))]
        self.note(operation, collection, ids, self.now)

    @rule(operation=OPERATIONS, sizes=st.lists(st.integers(0, 8), max_size=4), skipped=st.integers(0, 3))
    def emit_rows(self, operation: ChangeOperation, sizes: list[int], skipped: int) -> None:
        batches = [Batch.of_rows(operation, "b", pa.table({"v": range(size)}), ids=range(size)) for size in sizes]
        first = self.current + 1 + skipped
        assert self.ring.emit_batches(batches, timestamp=7, first_lsn=first) == range(first, first + sum(sizes))
        if sum(sizes):
            self.current += skipped
        for size in sizes:
            self.note(operation, "b", list(range(size)), 7)

    @rule(keys=st.lists(st.sampled_from("xyz"), max_size=4))
    def emit_keys(self, keys: list[str]) -> None:
        self.ring.emit_kv_changes([KvChange(ChangeOperation.UPDATE, "a", key, None, key) for key in keys])
        self.note(ChangeOperation.UPDATE, "a", [0] * len(keys), self.now)

    @rule(lsn=st.integers(0, 60))
    def restore(self, lsn: int) -> None:
        self.ring.set_current_lsn(lsn)
        self.current = max(self.current, lsn)

    @rule(back=st.integers(-3, 40), max_count=st.integers(0, 30))
    def poll(self, back: int, max_count: int) -> None:
        since = max(self.current - back, 0)
        wanted = [row for row in self.held if row[0] > since][:max_count]
        polled = self.ring.poll_with_loss(since, max_count)
        assert [as_row(event) for event in polled.events] == wanted
        assert self.ring.poll(since, max_count) == polled.events

        last = wanted[-1][0] if wanted else max(since, self.current) if max_count else since
        assert polled.next_lsn == last
        assert polled.lost == last - since - len(wanted)

        columns = self.ring.poll_columns(since, max_count)
        names = ("lsn", "timestamp", "operation", "collection", "entity_id")
        assert list(zip(*(columns.columns[name].to_pylist() for name in names), strict=True)) == wanted
        assert (columns.next_lsn, columns.lost) == (polled.next_lsn, polled.lost)

        for entry in self.ring.poll_runs(since, max_count).entries:
            if isinstance(entry, Run) and entry.rows is not None and entry.ids is not None:
                assert entry.rows.column("v").to_pylist() == entry.ids.tolist()

    @rule()
    def read_to_the_end_in_pages(self) -> None:
        seen: list[Row] = []
        cursor = lost = 0
        while True:
            polled = self.ring.poll_with_loss(cursor, 3)
            seen += map(as_row, polled.events)
            cursor, lost = polled.next_lsn, lost + polled.lost
            if not polled.events:
                break
        assert seen == self.held
        assert cursor == self.current
        assert lost == self.current - len(seen)

    @invariant()
    def the_figures_agree(self) -> None:
        held = self.held
        assert self.ring.stats() == CdcStats(
            buffered_events=len(held),
            current_lsn=self.current,
            oldest_lsn=held[0][0] if held else None,
            newest_lsn=held[-1][0] if held else None,
            evicted_events=len(self.every) - len(held),
        )


RingAndList.TestCase.settings = settings(stateful_step_count=30, deadline=None)
TestRingAndList = RingAndList.TestCase
