"""The order in which the workers of one run take the test files: what takes longest first.

A worker takes a whole file at a time, because its tests share warehouses. If a long file came last, one worker would
be at it while the others are done; so the small ones come last, and fill what is left of the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest

# Seconds, roughly: a test on the Spark of the run; one that starts a JVM or servers of its own; any other process.
_SECONDS = {frozenset({"jvm"}): 3.0, frozenset({"jvm", "process"}): 20.0, frozenset({"process"}): 2.0}
_ANY_OTHER = 0.05


def seconds(markers: Iterable[str]) -> float:
    """About how long a test with these markers takes."""
    return _SECONDS.get(frozenset(markers) & {"jvm", "process"}, _ANY_OTHER)


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests, file by file, the files with most to do in front."""
    total: defaultdict[str, float] = defaultdict(float)
    for item in items:
        total[str(item.path)] += seconds(mark.name for mark in item.iter_markers())
    return sorted(items, key=lambda item: -total[str(item.path)])
