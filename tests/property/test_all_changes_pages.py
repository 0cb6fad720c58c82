"""Pollers of all changes against the tables' own changelogs: no gap, no duplicate, no reorder.

Random commits to several tables, rings of any size, pages of any size from any cursor, several processes' worth of
readers, and restarts between any two steps.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.changes.ring.row_event import ChangeEvent
from penstock.subscribe.all_changes import AllChanges
from penstock.testing.published import Published, PublishedTable

KEYS = st.integers(0, 3)
ROWS = st.lists(
    st.builds(lambda k, v: {"k": k, "v": v}, KEYS, st.integers(0, 2)), max_size=4, unique_by=lambda row: row["k"]
)
OPERATIONS = {"-D": "delete", "+U": "update", "+I": "insert", "r": "refresh"}


class Pollers(RuleBasedStateMachine):
    """`self.rings` are readers of one warehouse; `self.cursors` are pollers with what they were given."""

    @initialize(sizes=st.lists(st.sampled_from([0, 1, 2, 5, 100]), min_size=1, max_size=2))
    def open(self, sizes: list[int]) -> None:
        self.folder = TemporaryDirectory()
        self.opening = Published.open(Path(self.folder.name))
        self.world = self.opening.__enter__()
        self.tables: list[PublishedTable] = []
        self.rings = [self.ring(size) for size in sizes]
        self.cursors: dict[int, tuple[int, list[ChangeEvent]]] = {place: (0, []) for place in range(3)}

    def ring(self, size: int) -> AllChanges:
        warehouse = self.world.tables._warehouse
        return AllChanges(warehouse.catalog, warehouse.logs, size)

    @rule(keyed=st.booleans())
    def create(self, keyed: bool) -> None:
        if len(self.tables) < 3:
            name, columns = f"t{len(self.tables)}", {"k": "long", "v": "long"}
            self.tables.append(self.world.keyed(name, columns, ("k",)) if keyed else self.world.bag(name, columns))

    @rule(data=st.data(), put=ROWS, anew=st.booleans())
    def commit(self, data: st.DataObject, put: list[dict[str, Any]], anew: bool) -> None:
        if not self.tables:
            return
        table = data.draw(st.sampled_from(self.tables))
        drop = data.draw(st.lists(st.sampled_from(table.rows), max_size=2, unique_by=id)) if table.rows else []
        # What comes and goes in one commit is no change, and what changes nothing is not committed.
        dropped = {row["k"] for row in drop}
        put = [row for row in put if row["k"] not in dropped and (anew or table.key is None or row not in table.rows)]
        if not anew and not put and not drop:
            return
        table.commit(put=put, drop=[] if anew else drop, anew=anew)

    @rule(data=st.data(), poller=st.integers(0, 2), limit=st.integers(1, 6))
    def poll(self, data: st.DataObject, poller: int, limit: int) -> None:
        every = data.draw(st.sampled_from(self.rings))
        cursor, given = self.cursors[poller]
        page = every.page(cursor, limit)
        assert len(page.events) <= limit
        assert page.next_lsn == cursor + len(page.events)
        assert [event.lsn for event in page.events] == list(range(cursor + 1, page.next_lsn + 1))
        self.cursors[poller] = page.next_lsn, given + page.events

    @rule(data=st.data(), cursor=st.integers(0, 40), limit=st.integers(1, 60))
    def ask(self, data: st.DataObject, cursor: int, limit: int) -> None:
        """Any cursor: the same events that whoever came by there was given."""
        page = data.draw(st.sampled_from(self.rings)).page(cursor, limit)
        for _, given in self.cursors.values():
            known = {event.lsn: event for event in given}
            assert all(known.get(event.lsn, event) == event for event in page.events)

    @rule(data=st.data(), size=st.sampled_from([0, 1, 3, 100]))
    def restart(self, data: st.DataObject, size: int) -> None:
        place = data.draw(st.integers(0, len(self.rings) - 1))
        self.rings[place].close()
        self.rings[place] = self.ring(size)

    @invariant()
    def pollers_agree(self) -> None:
        longest = max((given for _, given in self.cursors.values()), key=len, default=[])
        for _, given in self.cursors.values():
            assert given == longest[: len(given)]

    def teardown(self) -> None:
        if not hasattr(self, "rings"):
            return
        try:
            for every in self.rings:
                self.check(every)
        finally:
            for every in self.rings:
                every.close()
            self.opening.__exit__(None, None, None)
            self.folder.cleanup()

    def check(self, every: AllChanges) -> None:
        whole = self.read_out(every)
        assert [event.lsn for event in whole] == list(range(1, len(whole) + 1))
        for _, given in self.cursors.values():
            assert whole[: len(given)] == given
        for table in self.tables:
            told = [event.operation.value for event in whole if event.collection == table.name]
            assert told == self.changelog(table)

    def read_out(self, every: AllChanges) -> list[ChangeEvent]:
        events: list[ChangeEvent] = []
        while (page := every.page(len(events), 7)).events:
            events += page.events
        return events

    def changelog(self, table: PublishedTable) -> list[str]:
        """What the table itself tells, in its own order."""
        told: dict[int, str] = {}
        log = self.world.tables.changelog(table.name)
        for entry in log.after_lsn(0) if table.storage.pin().record is not None else []:
            changes = log.changes(entry)
            for lsn, op in zip(*(changes.arrow().column(name).to_pylist() for name in ("_lsn", "_op")), strict=True):
                told[lsn] = OPERATIONS.get(op, "update")
            if changes.refreshed is not None:
                told[changes.last_lsn] = "refresh"
        return [told[lsn] for lsn in sorted(told)]


TestPollers = Pollers.TestCase
TestPollers.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
