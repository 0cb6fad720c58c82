"""Turns: change the sources, then let every contender carry the change, one right after the other.

What is compared runs within the same seconds, so that a slow minute of the machine slows both sides. Who begins
rotates. The first turns warm up and do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.budget import Budget
from benchmarks.contenders.contender import Contender

LEAST_TURNS = 3
"""Counted turns that are made even if the time is up."""

Item = TypeVar("Item")


def take_turns(
    groups: Sequence[Sequence[Contender]],
    change: Callable[[], None],
    repeats: int,
    budget: Budget,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Fill the contenders' samples; those of one group are compared with each other and stay together."""
    for turn in range(warm_up + repeats):
        if turn >= warm_up + LEAST_TURNS and budget.left <= 0:
            return
        change()
        for group in rotated(groups, turn):
            for contender in rotated(group, turn):
                if (turn - warm_up) % contender.every:
                    continue
                began = clock()
                contender.run()
                if turn >= warm_up:
                    contender.count(clock() - began)


def rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """The items, beginning elsewhere each turn.

    >>> rotated("abc", 1), rotated("abc", 3)
    (['b', 'c', 'a'], ['a', 'b', 'c'])
    """
    start = turn % len(items) if items else 0
    return [*items[start:], *items[:start]]
