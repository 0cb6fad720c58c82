"""Trouble is logged when it begins, not for as long as it lasts."""

from __future__ import annotations

import logging

import pytest

from penstock.subscribe.warn_once import PAST_SECONDS, WarnOnce
from penstock.testing.clock import FakeStopwatch

LOG = logging.getLogger("penstock.subscribe")


def test_trouble_that_lasts_is_logged_once_and_again_when_it_is_another_or_comes_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stopwatch = FakeStopwatch()
    trouble = WarnOnce(LOG, "%s: %s", stopwatch)

    def said(name: str, text: str, after: float) -> bool:
        caplog.clear()
        stopwatch.seconds += after
        trouble.warn(name, OSError(text))
        return caplog.messages == [f"{name}: {text}"]

    assert said("a", "gone", 0)
    assert said("b", "gone", 0)
    # It lasts, for longer than it takes to be past.
    assert not any(said("a", "gone", PAST_SECONDS / 2) for _ in range(5))
    assert said("a", "full", 1)
    assert said("a", "gone", 1)
    assert said("a", "gone", PAST_SECONDS + 1)
    assert not said("a", "gone", 1)
