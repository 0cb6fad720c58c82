"""Failpoints: the lines at which a crash matters most, by name, so that a test can stop a process exactly there.

    reach(point)  =  nothing, unless this process has armed the point

No setting, environment variable, statement or request arms a point: only code that calls `arm` does, and Penstock has
none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from threading import Lock


class Failpoint(StrEnum):
    """The points, in the order in which a refresh reaches them; then those of OPTIMIZE and of CREATE."""

    LEASE_TAKEN = "lease taken"
    STARTED = "started"
    PINNED = "pinned"
    CLASSIFIED = "classified"
    DECIDED = "decided"
    COMPUTED = "computed"
    BEFORE_THE_WRITE = "before the write"
    WRITTEN = "written"
    WRITTEN_BY_SPARK = "written by Spark"
    COMMITTED = "committed"
    BEFORE_THE_DEFINITION = "before the definition"
    DEFINITION_SET = "definition set"
    REDEFINED = "redefined"
    BEFORE_THE_CATALOG = "before the catalog"
    IN_THE_CATALOG = "in the catalog"
    IN_HISTORY = "in history"
    BEFORE_THE_REWRITE = "before the rewrite"
    REWRITTEN = "rewritten"
    STORAGE_MADE = "storage made"
    CATALOG_ROW_MADE = "catalog row made"
    VIEW_MADE = "view made"


_armed: dict[Failpoint, tuple[int, Callable[[], None]]] = {}
_lock = Lock()


def reach(point: Failpoint) -> None:
    """Run the action of this point, if one is armed; the line of the point calls this."""
    if _armed:
        _act(point)


def arm(point: Failpoint, action: Callable[[], None], *, passing: int = 1) -> None:
    """Run an action, once, when this process reaches the point for the n-th time from now."""
    with _lock:
        _armed[point] = passing, action


def _act(point: Failpoint) -> None:
    with _lock:
        left, action = _armed.pop(point, (0, None))
        if action is not None and left > 1:
            _armed[point] = left - 1, action
            return
    if action is not None:
        action()
