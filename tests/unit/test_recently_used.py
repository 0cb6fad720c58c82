"""The most recently used values, within limits of size and of time."""

from __future__ import annotations

from penstock.recently_used import RecentlyUsed
from penstock.testing.clock import FakeStopwatch


def test_the_value_used_longest_ago_goes_when_there_are_too_many() -> None:
    held: RecentlyUsed[str, int] = RecentlyUsed(2)
    held.put("a", 1)
    held.put("b", 2)
    assert held.get("a") == 1
    held.put("c", 3)
    assert (held.get("a"), held.get("b"), held.get("c")) == (1, None, 3)
    assert held.keys() == ["a", "c"]


def test_sizes_add_up_and_another_value_of_a_key_takes_the_place_of_the_first() -> None:
    held: RecentlyUsed[str, bytes] = RecentlyUsed(10, len)
    held.put("a", b"12345678")
    held.put("a", b"1234")
    held.put("b", b"123456")
    assert held.keys() == ["a", "b"]
    held.put("b", b"1234567")
    assert held.keys() == ["b"]


def test_a_value_that_is_larger_than_the_limit_is_kept_only_if_one_must_be() -> None:
    for least, kept in ((0, ["small"]), (1, ["large"])):
        held: RecentlyUsed[str, bytes] = RecentlyUsed(2, len, least=least)
        held.put("small", b"1")
        held.put("large", b"123")
        assert held.keys() == kept


def test_a_value_that_is_too_large_leaves_none_of_its_key() -> None:
    held: RecentlyUsed[str, bytes] = RecentlyUsed(3, len)
    held.put("other", b"1")
    held.put("grows", b"12")
    held.put("grows", b"1234")
    assert held.keys() == ["other"]
    assert held.get("grows") is None


def test_an_idle_value_goes_when_the_next_one_comes() -> None:
    stopwatch = FakeStopwatch()
    held: RecentlyUsed[str, int] = RecentlyUsed(9, idle=60, stopwatch=stopwatch)
    held.put("idle", 1)
    stopwatch.seconds = 30
    held.put("used", 2)
    stopwatch.seconds = 61
    assert held.get("used") == 2
    assert "idle" in held
    held.put("new", 3)
    assert held.keys() == ["used", "new"]


def test_a_value_that_was_taken_away_takes_no_room() -> None:
    held: RecentlyUsed[str, bytes] = RecentlyUsed(3, len)
    held.put("a", b"123")
    assert held.pop("a") == b"123"
    assert held.pop("a") is None
    held.put("b", b"12")
    held.put("c", b"1")
    assert held.keys() == ["b", "c"]
