"""The inbox: what is due next, and in which order."""

from __future__ import annotations

from typing import Any

from penstock.subscribe.backpressure import Policy
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.inbox import Due, Inbox
from penstock.subscribe.start import Point


def notice(version: int, events: int = 1) -> CommitNotice:
    return CommitNotice(version, last_lsn=version * 10, events=events, moment=version * 1000)


def inbox(policy: str = "block", buffer: int = 10, snapshot: Any = None, progress: bool = False) -> Inbox:
    return Inbox(Point(0, 0, snapshot), Policy.parse(policy), buffer, with_progress=progress)


def test_rows_then_commits_then_the_moment() -> None:
    first: Any = object()
    box = inbox(snapshot=first, progress=True)
    box.add([notice(1), notice(2)])
    found = []
    while box.is_due():
        due = box.take(None)
        found.append(due)
        if due.moment is not None:
            box.moment_delivered(due.moment)
    assert found == [
        Due(snapshot=first),
        Due(notices=[notice(1)]),
        Due(notices=[notice(2)]),
        Due(moment=2000),
    ]


def test_a_commit_before_the_start_or_twice_is_not_due() -> None:
    box = inbox()
    box.add([notice(1), notice(2)])
    box.add([notice(2), notice(3)])
    assert [each.version for each in box.take(all_after=0).notices] == [1, 2, 3]
    assert box.newest == 30


def test_all_that_wait_are_due_together_unless_the_first_was_delivered_in_part() -> None:
    box = inbox()
    box.add([notice(1, events=10), notice(2, events=10)])
    assert [each.version for each in box.take(all_after=5).notices] == [1]
    box.add([notice(3, events=10)])
    assert [each.version for each in box.take(all_after=10).notices] == [2, 3]


def test_beyond_the_buffer_the_log_is_due() -> None:
    box = inbox(buffer=1)
    box.add([notice(1), notice(2)])
    assert not box.must_catch_up()
    box.take(None)
    assert box.is_due()
    assert box.must_catch_up()
    box.catch_up([notice(2)])
    assert box.take(None) == Due(notices=[notice(2)])
    assert not box.is_due()


def test_what_could_not_be_read_is_due_again() -> None:
    box = inbox()
    box.add([notice(1), notice(2)])
    due = box.take(None)
    box.put_back(due)
    assert [box.take(None).notices[0].version for _ in range(2)] == [1, 2]


def test_nothing_is_due_without_demand() -> None:
    box = inbox("demand")
    box.add([notice(1), notice(2)])
    assert not box.is_due()
    box.demand(1)
    assert box.is_due()
    box.take(None)
    box.commit_delivered()
    assert not box.is_due()


def test_a_commit_without_events_moves_the_moment_alone() -> None:
    box = inbox(progress=True)
    box.add([notice(1, events=0)])
    assert box.take(None) == Due(moment=1000)
    box.moment_delivered(1000)
    assert not box.is_due()
    assert not box.reach(500)
    assert box.reach(1500)
    assert box.is_due()
