"""What happens to commits that arrive faster than a subscriber takes them; up to `buffer` of them wait.

    block         nothing is lost: beyond the buffer the subscriber reads the table's own log
    drop_oldest   the longest waiting commit makes room
    drop_newest   the arriving commit is dropped
    sample(n)     every n-th commit is taken, the rest are dropped
    demand        like block, but the subscriber receives only as many commits as it asked for (`request`)

Every dropped event is counted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.errors import InvalidValue
from penstock.subscribe.commit_notice import CommitNotice

PolicyKind = Literal["block", "drop_oldest", "drop_newest", "sample", "demand"]

_SAMPLE = re.compile(r"sample\((\d+)\)")


@dataclass(frozen=True, slots=True)
class Policy:
    """One way to deal with a slow subscriber."""

    kind: PolicyKind = "block"
    every: int = 1

    @classmethod
    def parse(cls, text: str) -> Policy:
        """`block`, `drop_oldest`, `drop_newest`, `sample(n)` or `demand`."""
        match text:
            case "block" | "drop_oldest" | "drop_newest" | "demand":
                return cls(text)
        found = _SAMPLE.fullmatch(text)
        if found is None or int(found[1]) < 1:
            allowed = "block, drop_oldest, drop_newest, sample(n) with n from 1 on, demand"
            raise InvalidValue(what="policy", value=text, allowed=allowed)
        return cls("sample", int(found[1]))

    @property
    def keeps_all(self) -> bool:
        """True if nothing is ever left out."""
        return self.kind in {"block", "demand"}


class Waiting:
    """The commits that wait for one subscriber."""

    def __init__(self, policy: Policy, buffer: int) -> None:
        self._policy = policy
        self._buffer = buffer
        self._notices: deque[CommitNotice] = deque()
        self._arrived = 0
        self.dropped = 0
        """Events that were left out."""
        self.behind = False
        """More commits are in the log than wait here."""

    def __len__(self) -> int:
        return len(self._notices)

    def add(self, notice: CommitNotice) -> None:
        """A commit arrived."""
        if not notice.events:
            return
        if self._policy.kind == "sample":
            self._arrived += 1
            if self._arrived % self._policy.every:
                self.dropped += notice.events
                return
        if self.behind:
            return
        if len(self._notices) >= self._buffer:
            match self._policy.kind:
                case "drop_newest":
                    self.dropped += notice.events
                    return
                case "block" | "demand":
                    self.behind = True
                    return
            self.dropped += self._notices.popleft().events
        self._notices.append(notice)

    def first(self) -> CommitNotice | None:
        """The commit that waits longest; it stays."""
        return self._notices[0] if self._notices else None

    def take(self) -> CommitNotice:
        """The commit that waits longest."""
        return self._notices.popleft()

    def put_back(self, notices: Sequence[CommitNotice]) -> None:
        """Commits that were taken could not be read: they wait again, before all others."""
        self._notices.extendleft(reversed(notices))

    def take_all(self) -> list[CommitNotice]:
        """All that wait."""
        taken = list(self._notices)
        self._notices.clear()
        return taken
