"""The notices that wait for one subscriber, and which of them is due next.

all rows     first, if the subscription begins with them
commits      in their order, as far as the policy lets them wait
a moment     when nothing else waits, and the subscriber asked for progress
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engine.changelog.changelog import Entry
from penstock.subscribe.backpressure import Policy, Waiting
from penstock.subscribe.commit_notice import CommitNotice
from penstock.subscribe.start import Point


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be read next: one of the three, or nothing."""

    snapshot: Entry | None = None
    notices: Sequence[CommitNotice] = ()
    moment: int | None = None


class Inbox:
    """What waits for one subscriber; the subscription's signal guards it."""

    def __init__(self, point: Point, policy: Policy, buffer: int, *, with_progress: bool) -> None:
        self.newest = point.lsn
        """The newest position of the stream table, by the notices so far."""
        self._newest_version = point.version
        self._snapshot = point.snapshot
        self._commits = Waiting(policy, buffer)
        self._on_demand = policy.kind == "demand"
        self._demanded = 0
        self._with_progress = with_progress
        self._moment: int | None = None
        self._delivered_moment: int | None = None

    @property
    def dropped(self) -> int:
        """Events that were left out so far."""
        return self._commits.dropped

    def add(self, notices: Sequence[CommitNotice]) -> None:
        """Commits came."""
        for notice in notices:
            # A feed that was late may send notices of commits before the start.
            if notice.version <= self._newest_version:
                continue
            self._newest_version, self.newest = notice.version, notice.last_lsn
            self._commits.add(notice)
            self.reach(notice.moment)

    def reach(self, moment: int) -> bool:
        """The table stands for this moment; False if it did so before."""
        if self._moment is not None and moment <= self._moment:
            return False
        self._moment = moment
        return True

    def demand(self, commits: int) -> None:
        """The subscriber asks for this number of further commits."""
        self._demanded += commits

    def is_due(self) -> bool:
        """True if there is something to read, in memory or in the log."""
        if self._on_demand and not self._demanded:
            return False
        return self._snapshot is not None or len(self._commits) > 0 or self._commits.behind or self._has_progress()

    def first(self) -> CommitNotice | None:
        """The commit that waits longest, if one waits here."""
        return self._commits.first()

    def has_snapshot(self) -> bool:
        """True if all rows are due next."""
        return self._snapshot is not None

    def must_catch_up(self) -> bool:
        """True if what is due next is only in the log."""
        return self._snapshot is None and not len(self._commits) and self._commits.behind

    def take(self, all_after: int | None) -> Due:
        """What is due next; it waits no longer.

        `all_after` takes all commits together, if the first of them has no events up to that position. Of a commit
        that was delivered in part, the rest comes by itself.
        """
        if self._snapshot is not None:
            snapshot, self._snapshot = self._snapshot, None
            return Due(snapshot=snapshot)
        first = self._commits.first()
        if first is None:
            return Due(moment=self._moment if self._has_progress() else None)
        if all_after is not None and first.before >= all_after:
            return Due(notices=self._commits.take_all())
        return Due(notices=[self._commits.take()])

    def put_back(self, due: Due) -> None:
        """What was taken could not be read, so it is due again."""
        self._snapshot = due.snapshot
        self._commits.put_back(due.notices)

    def catch_up(self, notices: Sequence[CommitNotice]) -> list[CommitNotice]:
        """Commits from the log that there was no room for when they came; returns those that have none now either."""
        self._commits.behind = False
        for at, notice in enumerate(notices):
            self._commits.add(notice)
            if self._commits.behind:
                return list(notices[at:])
        return []

    def commit_delivered(self) -> None:
        """One of the commits that the subscriber asked for was delivered."""
        if self._on_demand:
            self._demanded -= 1

    def moment_delivered(self, moment: int) -> None:
        """The subscriber knows that the table stands for this moment."""
        self._delivered_moment = moment

    def _has_progress(self) -> bool:
        if not self._with_progress or self._moment is None:
            return False
        return self._delivered_moment is None or self._moment > self._delivered_moment
