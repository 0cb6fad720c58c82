"""Points to begin at: one rule for keywords, whichever way they come."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.errors import InvalidValue
from penstock.subscribe.start import Start

MOMENT = datetime(2026, 1, 31, tzinfo=UTC)
POINTS = [Start(), Start("snapshot"), Start("version", 3), Start("timestamp", MOMENT), Start("lsn", 0)]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.kind)
def test_a_point_is_the_same_in_keywords(point: Start) -> None:
    assert Start.of(**point.keywords()) == point


def test_no_keyword_is_now() -> None:
    assert Start.of() == Start("now") == Start.of("now")


@pytest.mark.parametrize(
    ("point", "lsn"), [(Start.after(7), 7), (Start.after(0), 0), (Start("version", 7), None), (Start(), None)]
)
def test_only_a_position_is_an_lsn(point: Start, lsn: int | None) -> None:
    assert point.lsn == lsn


def test_two_points_are_refused() -> None:
    with pytest.raises(InvalidValue, match="snapshot, version, lsn"):
        Start.of("snapshot", version=1, lsn=0)
    with pytest.raises(InvalidValue, match="yesterday"):
        Start.of("yesterday", lsn=0)
