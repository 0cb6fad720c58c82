"""Failpoints do nothing until a test arms one; each stands in the code once, and the code arms none."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock
from penstock import failpoints
from penstock.failpoints import Failpoint, arm, reach

SOURCE = Path(penstock.__file__).parent


@pytest.fixture(autouse=True)
def disarmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failpoints, "_armed", {})


def test_an_armed_point_acts_once_at_the_passing_that_was_asked_for() -> None:
    seen: list[str] = []
    arm(Failpoint.PINNED, lambda: seen.append("pinned"), passing=2)
    for point in (Failpoint.PINNED, Failpoint.COMPUTED):
        reach(point)
    assert seen == []
    for _ in range(3):
        reach(Failpoint.PINNED)
    assert seen == ["pinned"]


def test_an_action_may_reach_and_arm_points_itself() -> None:
    seen: list[int] = []

    def again() -> None:
        seen.append(len(seen))
        reach(Failpoint.PINNED)
        arm(Failpoint.PINNED, again)

    arm(Failpoint.PINNED, again)
    reach(Failpoint.PINNED)
    reach(Failpoint.PINNED)
    assert seen == [0, 1]


def test_every_point_stands_in_the_code_once_and_none_is_armed_there() -> None:
    code = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "failpoints.py"}
    reached = {
        point: sum(text.count(f"reach(Failpoint.{point.name})") for text in code.values()) for point in Failpoint
    }
    assert reached == dict.fromkeys(Failpoint, 1)
    armed = [path for path, text in code.items() if "failpoints" in text and "arm(" in text.replace("disarm(", "")]
    assert not armed
