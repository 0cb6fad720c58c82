"""Turns: who runs when, and what counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from benchmarks.budget import Budget
from benchmarks.contenders.contender import Contender
from benchmarks.turns import LEAST_TURNS, take_turns


@dataclass
class Noted(Contender):
    """Writes down when it runs; each run takes a second of the clock that it owns."""

    journal: list[str] = field(default_factory=list)

    def run(self) -> None:
        self.journal.append(self.name)

    def exact(self) -> bool:
        return True


def _clock() -> float:
    _clock.now += 1.0  # type: ignore[attr-defined]
    return float(_clock.now)  # type: ignore[attr-defined]


_clock.now = 0.0  # type: ignore[attr-defined]


def test_contenders_alternate_and_the_first_turn_does_not_count() -> None:
    journal: list[str] = []
    one, other = Noted("one", journal=journal), Noted("other", journal=journal)
    take_turns([[one, other]], lambda: journal.append("change"), 2, Budget(math.inf), clock=_clock)
    assert journal == ["change", "one", "other", "change", "other", "one", "change", "one", "other"]
    assert one.samples == other.samples == [1.0, 1.0]


def test_a_long_contender_runs_in_every_second_counted_turn() -> None:
    short, long = Noted("short"), Noted("long", every=2)
    take_turns([[short, long]], lambda: None, 5, Budget(math.inf), clock=_clock)
    assert (len(short.journal), len(short.samples)) == (6, 5)
    assert (len(long.journal), len(long.samples)) == (3, 3)


def test_when_the_time_is_up_a_few_turns_are_still_made() -> None:
    contender = Noted("one")
    take_turns([[contender]], lambda: None, 9, Budget(0), clock=_clock)
    assert len(contender.samples) == LEAST_TURNS


def test_a_budget_knows_what_fits() -> None:
    moments = iter([100.0, 160.0, 160.0, 160.0])
    budget = Budget(3, clock=lambda: next(moments))
    assert budget.left == 120.0
    assert budget.allows(2)
    assert not budget.allows(2.1)
