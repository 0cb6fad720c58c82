"""Notifications: JSON whatever the facts hold, and never longer than PostgreSQL takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.catalog import Alert, AlertEvent
from penstock.catalog.notification import LIMIT, payload

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def told(facts: dict[str, Any], name: str = "default.a") -> Any:
    text = payload(Alert(AlertEvent.REFRESH_FAILED, name, NOON, facts))
    assert text.isascii()
    assert len(text) <= LIMIT
    return json.loads(text)


def test_quotes_and_other_alphabets_survive() -> None:
    facts = {"error": 'it said "no", \\ \n and é 🙂', "lag_seconds": 12.5, "target": None, "good": False}
    assert told(facts) == {"event": "refresh_failed", "st": "default.a", "at": NOON.isoformat(), **facts}


@pytest.mark.parametrize("piece", ["x", '"', "é", "🙂", "\n"])
def test_the_longest_fact_is_cut_and_named(piece: str) -> None:
    found = told({"short": "s" * 100, "error": piece * 9000, "count": 3})
    assert found["cut"] == ["error"]
    assert (found["short"], found["count"]) == ("s" * 100, 3)
    assert found["error"] == piece * (len(found["error"]) - 1) + "…"
    # Hardly less than fits: 12 is what the longest of these takes.
    text = payload(Alert(AlertEvent.REFRESH_FAILED, "default.a", NOON, {"short": "s" * 100, "error": piece * 9000}))
    assert len(text) > LIMIT - 40


def test_facts_are_cut_until_it_fits() -> None:
    found = told({"a": "a" * 7000, "b": "b" * 9000, "c": "c" * 20_000, "d": 1})
    assert found["cut"] == ["c", "b"]
    assert found["a"] == "a" * 7000
    assert found["d"] == 1


def test_a_name_that_is_too_long_is_cut_last() -> None:
    found = told({"error": "e" * 20, "n": 1}, "n" * 9000)
    assert found["cut"][-1] == "st"
    assert found["event"] == "refresh_failed"


def test_what_just_fits_is_whole() -> None:
    empty = len(payload(Alert(AlertEvent.REFRESH_FAILED, "default.a", NOON, {"e": ""})))
    assert "cut" not in told({"e": "x" * (LIMIT - empty)})
    assert told({"e": "x" * (LIMIT - empty + 1)})["cut"] == ["e"]
