"""Any history, any subscriber: the snapshot at a position and the changes after it give the table as it is.

The histories are random commits to a keyed table and to a bag, replacements of everything among them; subscribers begin
anywhere, take every commit or the net, and read while commits are made.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.testing.changelog_oracle import assert_changelog, bag
from penstock.testing.published import Published, PublishedTable

VALUES = [None, 0, 1, 2]
NUMBERS = [None, 0.0, -0.0, float("nan"), 1.5]

Step = tuple[list[tuple[Any, Any]], list[int], bool]
steps = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(NUMBERS)), max_size=4),
        st.lists(st.integers(0, 7), max_size=3),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=8,
)


def play(table: PublishedTable, step: Step, keyed: bool) -> None:
    put, drop, anew = step
    rows = [{"k": k, "v": v} for k, v in put]
    if keyed:
        rows = list({row["k"]: row for row in rows}.values())
    gone = [table.rows[place] for place in sorted(set(drop)) if place < len(table.rows)]
    if keyed:
        kept = {row["k"] for row in rows}
        gone = [row for row in gone if row["k"] not in kept]
    # A change that comes to nothing is none: no refresh commits it.
    if not anew and Counter(map(repr, rows)) == Counter(map(repr, gone)):
        return
    table.commit(put=rows, drop=[] if anew else gone, anew=anew)


def apply(held: Counter[str], changes: CommitChanges) -> Counter[str]:
    if changes.refreshed is not None:
        return bag(changes.refreshed)
    for gone in (changes.deletes, changes.was):
        held.subtract(bag(gone))
    for come in (changes.now, changes.inserts):
        held.update(bag(come))
    assert all(copies >= 0 for copies in held.values()), held
    return +held


@pytest.mark.parametrize("keyed", [True, False])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(history=steps, delivery=st.sampled_from(["every", "net"]), seed=st.integers(0, 99))
def test_from_any_position_to_the_table_as_it_is(
    keyed: bool, history: list[Step], delivery: Literal["every", "net"], seed: int
) -> None:
    with TemporaryDirectory() as folder, Published.open(Path(folder)) as world:
        columns = {"k": "long", "v": "double"}
        table = world.keyed("t", columns, ("k",)) if keyed else world.bag("t", columns)
        table.commit(put=[{"k": 1, "v": 1.0}], anew=True)
        for step in history:
            play(table, step, keyed)
        changelog = world.tables.changelog("t")
        entries = changelog.after_version(0)
        expected = 1
        for entry in entries:
            assert entry.record.first_lsn == expected
            expected += entry.record.lsn_count
            assert_changelog(changelog, entry)
        newest = bag(changelog.snapshot(changelog.newest()))
        begin = random.Random(seed).choice(entries)
        with world.tables.subscribe("t", version=begin.version, delivery=delivery) as subscription:
            held = bag(changelog.snapshot(begin))
            while subscription.position < expected - 1:
                changes = subscription.next_commit(60)
                assert changes is not None, "a commit did not come"
                held = apply(held, changes)
        assert held == newest


def test_many_subscribers_while_commits_are_made(tmp_path: Path) -> None:
    chance = random.Random(5)
    with Published.open(tmp_path) as world:
        table = world.keyed("t", {"k": "long", "v": "double"}, ("k",))
        table.commit(put=[{"k": 1, "v": 1.0}], anew=True)
        changelog = world.tables.changelog("t")
        last, final = threading.Event(), [0]
        held: dict[int, Counter[str]] = {}
        failures: list[BaseException] = []

        def follow(number: int, begin: int, delivery: Literal["every", "net"]) -> None:
            try:
                with world.tables.subscribe("t", version=begin, delivery=delivery) as subscription:
                    rows = bag(changelog.snapshot(next(e for e in changelog.newest_first() if e.version <= begin)))
                    # Its lag would only speak of commits that it has heard of.
                    while not last.is_set() or subscription.position < final[0]:
                        changes = subscription.next_commit(0.1)
                        if changes is not None:
                            rows = apply(rows, changes)
                    held[number] = rows
            except BaseException as error:
                failures.append(error)

        threads = []
        for number in range(60):
            put = [(chance.randrange(9), float(chance.randrange(5))) for _ in range(3)]
            play(table, (put, [chance.randrange(9)], chance.random() < 0.05), keyed=True)
            if number % 6 == 0:
                begin = changelog.newest().version - (1 if number else 0)
                delivery: Literal["every", "net"] = "net" if number % 12 else "every"
                threads.append(threading.Thread(target=follow, args=(number, max(1, begin), delivery)))
                threads[-1].start()
        final[0] = changelog.newest().last_lsn
        last.set()
        for thread in threads:
            thread.join(60)
        assert not failures, failures
        assert len(held) == len(threads) == 10
        newest = bag(changelog.snapshot(changelog.newest()))
        assert all(rows == newest for rows in held.values())
